"""/proc: what tells of the machine is masked, what changes it is read-only."""

import os
import stat

from probes.base import attempt, contained, escaped, is_read_only, probe, read_some

NULL = os.makedev(1, 3)


def masked(*paths):
    """Absent, the null device, or an empty directory: by kind, since some are root's anyway."""
    open_ones = []
    for path in paths:
        status, error = attempt(os.stat, path)
        if error is not None:
            continue
        if stat.S_ISDIR(status.st_mode):
            listed, error = attempt(os.listdir, path)
            good = error is None and not listed
        else:
            good = stat.S_ISCHR(status.st_mode) and status.st_rdev == NULL
        if not good:
            open_ones.append(path)
    return escaped(open_ones) if open_ones else contained("masked")


@probe("masks")
def memory_through_proc(facts):
    """The kernel's memory and its layout."""
    return masked("/proc/kcore", "/proc/kallsyms", "/proc/kpagecount", "/proc/kpageflags",
                  "/proc/kpagecgroup", "/proc/vmallocinfo", "/proc/slabinfo")


@probe("masks")
def keys_through_proc(facts):
    """Keyrings are not namespaced: names of other users' keys."""
    return masked("/proc/keys", "/proc/key-users")


@probe("masks")
def hardware_through_proc(facts):
    """Buses, interrupts, disks, sound: write access to some has been an escape."""
    return masked("/proc/bus", "/proc/irq", "/proc/scsi", "/proc/acpi", "/proc/asound", "/proc/tty",
                  "/proc/fs")


@probe("masks")
def timers_through_proc(facts):
    """They tell what other processes wait for."""
    return masked("/proc/timer_list", "/proc/sched_debug", "/proc/schedstat", "/proc/latency_stats")


@probe("masks")
def the_kernel_through_proc(facts):
    """Its configuration, log and statistics, and the key that restarts it."""
    return masked("/proc/sysrq-trigger", "/proc/config.gz", "/proc/kmsg", "/proc/vmstat", "/proc/zoneinfo", "/proc/sysvipc")


@probe("masks")
def masks_are_the_null_device(facts):
    """CVE-2025-31133: a mask whose source was exchanged shows, or takes, something else."""
    names = ("kallsyms", "key-users", "timer_list", "sysrq-trigger", "kcore")
    kinds = {name: os.stat("/proc/" + name) for name in names if os.path.exists("/proc/" + name)}
    wrong = [name for name, status in kinds.items()
             if not stat.S_ISCHR(status.st_mode) or status.st_rdev != NULL]
    return escaped(wrong) if wrong or not kinds else contained(sorted(kinds))


@probe("read_only")
def kernel_settings(facts):
    """/proc/sys is read-only as a mount, whoever owns a file in it."""
    writable = [path for path in ("/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches",
                                  "/proc/sys/kernel/core_pattern", "/proc/sys/net/ipv4/ip_forward")
                if os.path.exists(path) and not is_read_only(path)]
    return escaped(writable) if writable else contained("read-only")


@probe("read_only", "capabilities")
def change_settings_of_the_box(facts):
    """Settings of namespaces belong to whoever has rights in them."""
    opened, error = attempt(os.open, "/proc/sys/net/ipv4/ip_default_ttl", os.O_WRONLY)
    return contained(error) if error else escaped("opened for writing")


@probe("read_only_binds")
def overwrite_the_running_program(facts):
    """CVE-2019-5736: /proc/self/exe of a program of the host."""
    if facts["forked_on_host_mounts"]:  # no copy is made of a program that its user may change
        opened, error = attempt(os.open, "/proc/self/exe", os.O_WRONLY)
        changed, refusal = attempt(os.chmod, "/proc/self/exe", 0o777)
        return contained(error) if error and refusal else escaped("writable")
    return contained("read-only") if is_read_only("/proc/self/exe") else escaped("writable for its owner")


@probe("dumpable")
def find_the_program_of_init(facts):
    """CVE-2019-5736: /proc/1/exe leads to the host's hutch-init, past all mounts."""
    link, error = attempt(os.readlink, "/proc/1/exe")
    return contained(error) if error else escaped(link)


@probe("dumpable")
def run_the_program_of_init(facts):
    """Opening /proc/1/exe for reading is enough to hold the host's file."""
    opened, error = attempt(os.open, "/proc/1/exe", os.O_RDONLY)
    return contained(error) if error else escaped("opened")


@probe("proc")
def count_the_processes_of_the_host(facts):
    """Numbers in /proc are those of the box."""
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    names = {pid: attempt(read_some, f"/proc/{pid}/comm")[0] for pid in numbers}
    return contained(len(numbers)) if 1 not in names else escaped(len(numbers))


@probe("environment")
def secrets_in_proc(facts):
    """Environments and command lines of every process in sight: no secret, no path of the server."""
    found = []
    for pid in (name for name in os.listdir("/proc") if name.isdigit()):
        for file in ("environ", "cmdline"):
            data, _ = attempt(read_some, f"/proc/{pid}/{file}", 65536)
            if data and (facts["secret"].encode() in data or facts["state"].encode() in data):
                found.append(f"{pid}/{file}")
    return escaped(found) if found else contained("none")
