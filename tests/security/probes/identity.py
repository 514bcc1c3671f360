"""Who one is: ids, groups, names, variables; and what is shared with others of that name."""

import ctypes
import os

from probes.base import attempt, contained, escaped, probe, syscall


@probe("environment")
def secrets_of_the_server(facts):
    """The environment is built from nothing."""
    found = [name for name, value in os.environ.items() if facts["secret"] in value]
    return escaped(found) if found else contained(sorted(os.environ))


@probe("groups", only_root=True)
def groups_of_the_server(facts):
    """Supplementary groups (docker, disk, kvm) would keep their power over files.

    An ordinary user cannot give them up (SECURITY.md), so this is for root."""
    groups = [line.split("\t")[1].split() for line in open("/proc/self/status")
              if line.startswith("Groups:")][0]
    return escaped(groups) if groups else contained("none")


@probe(outside="the map is written from outside, and what it holds is what the posture test reads")
def ids_of_others(facts):
    """The map has one id: no other can be taken on."""
    lines = open("/proc/self/uid_map").read().splitlines() + open("/proc/self/gid_map").read().splitlines()
    wide = [line for line in lines if line.split()[2] != "1"]
    taken = [n for n in (0, 1, 999, 1001, 65534) if attempt(os.setresuid, n, n, n)[1] is None]
    return escaped((wide, taken)) if wide or taken else contained(lines)


@probe("keyring", "seccomp")
def keys_of_the_server(facts):
    """The session keyring is inherited by default; keys in it are the server's."""
    found, error = syscall(250, 10, -3, ctypes.c_char_p(b"user"),
                           ctypes.c_char_p(facts["key"].encode()), 0)
    return escaped(found) if found > 0 else contained(os.strerror(error))


@probe("ipc")
def shared_memory_of_others(facts):
    """System V segments have no path: any process of the namespace finds them by number."""
    found, error = syscall(29, facts["shm_key"], 0, 0)
    return escaped(found) if found != -1 else contained(os.strerror(error))


@probe("ipc", "seccomp")
def message_queue_of_others(facts):
    """System V queues, the same."""
    found, error = syscall(68, facts["shm_key"], 0)
    return escaped(found) if found != -1 else contained(os.strerror(error))


@probe("ipc", "seccomp")
def semaphores_of_others(facts):
    """System V semaphores, the same."""
    found, error = syscall(64, facts["shm_key"], 0, 0)
    return escaped(found) if found != -1 else contained(os.strerror(error))


@probe("ipc", "seccomp")
def posix_queue_of_others(facts):
    """POSIX message queues live in the ipc namespace as well."""
    opened, error = syscall(240, ctypes.c_char_p(facts["queue"].encode()), 0, 0, 0)
    return escaped("opened") if opened != -1 else contained(os.strerror(error))
