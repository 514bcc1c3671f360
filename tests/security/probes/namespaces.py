"""Namespaces: each is the box's own, none can be entered, left or made, and no mount be changed."""

import ctypes
import os

from probes.base import (attempt, contained, escaped, is_read_only, mount_points, probe, read_some,
                         refused, syscall, text)

CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET = 0x10000000, 0x00020000, 0x40000000
MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND = 2, 4, 32, 4096
SIGCHLD = 17
MOUNT, UMOUNT2, PIVOT_ROOT, CHROOT, UNSHARE, SETNS, CLONE = 165, 166, 155, 161, 272, 308, 56


def own_namespace(kind, facts):
    """The link's number differs from that of the process that made the test."""
    link = os.readlink(f"/proc/self/ns/{kind}")
    return escaped(f"{link} is the host's") if link == facts["namespaces"][kind] else contained(link)


@probe("net")
def network_namespace(facts):
    """Not the host's network."""
    return own_namespace("net", facts)


@probe("ipc")
def ipc_namespace(facts):
    """Not the host's System V objects and message queues."""
    return own_namespace("ipc", facts)


@probe("uts")
def uts_namespace(facts):
    """Not the host's name."""
    return own_namespace("uts", facts)


@probe("cgroup_namespace")
def cgroup_namespace(facts):
    """Not the host's view of the cgroup tree."""
    return own_namespace("cgroup", facts)


@probe("pid", "proc")
def pid_namespace(facts):
    """Not the host's processes."""
    return own_namespace("pid", facts)


@probe(outside="without it the set-up steps would change the host's own mounts")
def mount_namespace(facts):
    """Not the host's mounts."""
    return own_namespace("mnt", facts)


@probe(outside="without it the set-up steps fail, or run with the host's rights")
def user_namespace(facts):
    """Not the host's user ids."""
    return own_namespace("user", facts)


@probe("cgroup_namespace")
def cgroup_paths_of_the_host(facts):
    """/proc/self/cgroup says '/' for every hierarchy: no names of the host."""
    paths = {line.strip().split(":", 2)[2] for line in open("/proc/self/cgroup")}
    if facts["cgroup_paths"] == ["/"] and paths == {"/"}:
        # On the host it says '/' as well: then the namespace itself is what can be told.
        return own_namespace("cgroup", facts)
    return contained(paths) if paths <= {"/"} else escaped(sorted(paths))


@probe("uts")
def the_name_of_the_host(facts):
    """uname() says the box's name."""
    name = os.uname().nodename
    return contained(name) if name == "hutch" else escaped(name)


@probe("user_namespaces")
def more_user_namespaces_are_allowed(facts):
    """user.max_user_namespaces is 0: it holds where a filter would not."""
    value = int(read_some("/proc/sys/user/max_user_namespaces"))
    return contained(value) if value == 0 else escaped(value)


@probe("read_only", "capabilities")
def allow_more_user_namespaces(facts):
    """The number above cannot be raised again (written: what it is)."""
    path = "/proc/sys/user/max_user_namespaces"
    opened, error = attempt(os.open, path, os.O_WRONLY)
    return contained(error) if error else escaped("opened for writing")


@probe("seccomp", "user_namespaces")
def unshare_a_user_namespace(facts):
    """All rights in a new user namespace: the first step of most kernel exploits."""
    return refused(*syscall(UNSHARE, CLONE_NEWUSER), refusals=(1, 38, 28))


@probe("seccomp", "user_namespaces")
def clone_a_user_namespace(facts):
    """Tries it through clone()."""
    result, error = syscall(CLONE, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)
    if result == 0:
        os._exit(0)
    return refused(result, error, refusals=(1, 38, 28))


@probe("seccomp", "user_namespaces")
def clone3_a_user_namespace(facts):
    """Tries it through clone3(), whose flags no filter can see."""
    arguments = (ctypes.c_uint64 * 11)(CLONE_NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0, 0, 0, 0)
    result, error = syscall(435, ctypes.byref(arguments), 64)
    if result == 0:
        os._exit(0)
    return refused(result, error, refusals=(1, 38, 28))


@probe("seccomp", "capabilities")
def unshare_a_network(facts):
    """A network of one's own has interfaces and tables to attack."""
    return refused(*syscall(UNSHARE, CLONE_NEWNET))


@probe("seccomp", "capabilities")
def unshare_mounts(facts):
    """Mounts of one's own, to be changed at will."""
    return refused(*syscall(UNSHARE, CLONE_NEWNS))


@probe("seccomp", "capabilities")
def enter_a_namespace(facts):
    """setns(), here to the network that one is in already."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    return refused(*syscall(SETNS, own, CLONE_NEWNET))


@probe("seccomp", "capabilities", "dumpable")
def enter_the_namespaces_of_init(facts):
    """setns() to init's, by pidfd."""
    init, error = syscall(434, 1, 0)
    if init == -1:
        return contained(os.strerror(error))
    return refused(*syscall(SETNS, init, 0x04000000))


@probe("seccomp", "capabilities")
def mount_a_file_system(facts):
    """mount() of a tmpfs over the workspace."""
    return refused(*syscall(MOUNT, text("none"), text("/home/user"), text("tmpfs"), MS_NOSUID, 0))


@probe("seccomp", "capabilities")
def bind_over_the_runners(facts):
    """A bind mount puts one's own file in place of a runner or of /usr."""
    return refused(*syscall(MOUNT, text("/workspace"), text("/run/hutch/state"), 0, MS_BIND, 0))


@probe("seccomp", "capabilities")
def make_programs_writable_again(facts):
    """A remount of /usr without its read-only flag."""
    flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV
    return refused(*syscall(MOUNT, text("none"), text("/usr"), 0, flags, 0))


@probe("seccomp", "capabilities")
def make_the_root_writable_again(facts):
    """mount_setattr() that clears read-only on /."""
    attributes = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    return refused(*syscall(442, -100, text("/"), 0, ctypes.byref(attributes), 32))


@probe("seccomp", "capabilities")
def uncover_what_is_masked(facts):
    """umount() of a mask shows the file below it."""
    masks = [point for point, _ in mount_points() if point.startswith("/proc/")]
    result, error = syscall(UMOUNT2, text(masks[-1]), 2)
    return escaped(masks[-1]) if result == 0 else contained(os.strerror(error))


@probe("seccomp", "capabilities")
def mount_another_proc(facts):
    """A new procfs has no masks."""
    result, error = syscall(MOUNT, text("proc"), text("/home/user"), text("proc"), 0, 0)
    # The kernel itself refuses it where /proc is covered by masks; to be asked is already too far.
    EPERM = 1
    if result == -1 and error == EPERM:
        plain, _ = syscall(MOUNT, text("none"), text("/home/user"), text("tmpfs"), 0, 0)
        return escaped("mount() reaches the kernel") if plain == 0 else contained("refused")
    return refused(result, error)


@probe("seccomp", "capabilities")
def copy_the_tree(facts):
    """open_tree(CLONE) takes a copy of mounts out of the tree."""
    return refused(*syscall(428, -100, text("/usr"), 1))


@probe("seccomp")
def open_the_tree(facts):
    """open_tree() without a copy needs no right."""
    return refused(*syscall(428, -100, text("/"), 0))


@probe("seccomp", "capabilities")
def open_a_file_system(facts):
    """fsopen() and what follows: CVE-2022-0185 was in there."""
    return refused(*syscall(430, text("tmpfs"), 0))


@probe("seccomp", "capabilities")
def exchange_the_root(facts):
    """pivot_root(), to a place that is not there: it would work for all of the box."""
    return refused(*syscall(PIVOT_ROOT, text("/nowhere"), text("/nowhere")))


@probe("seccomp", "capabilities")
def leave_by_chroot(facts):
    """The classic: chroot() below, then climb from outside of it."""
    os.makedirs("/workspace/below", exist_ok=True)
    return refused(*syscall(CHROOT, text("/workspace/below")))


@probe(outside="without it mounts of the test would appear on the host")
def mounts_reach_the_host(facts):
    """No mount of the box is shared: nothing done here shows outside."""
    shared = [line.split()[4] for line in open("/proc/self/mountinfo")
              if any(f.startswith("shared:") for f in line.split(" - ")[0].split()[6:])]
    return escaped(shared) if shared else contained("none is shared")


@probe("read_only")
def the_root_can_be_written(facts):
    """The mount of / itself."""
    return contained("read-only") if is_read_only("/") else escaped("writable")
