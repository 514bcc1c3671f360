"""Devices: only null, zero, full, random and urandom; no terminal, disk or memory of the host."""

import os
import stat

from probes.base import attempt, contained, escaped, probe

ALLOWED = {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "shm",
           "ptmx", "pts", "tty"}  # the last three only as an instance of the box's own


@probe("dev")
def unknown_devices(facts):
    """Nothing stands in /dev but what the plan names."""
    extra = sorted(set(os.listdir("/dev")) - ALLOWED)
    return escaped(extra) if extra else contained("none")


@probe("dev")
def disks(facts):
    """No block device, by any name."""
    found = [name for name in os.listdir("/dev")
             if attempt(os.stat, "/dev/" + name)[1] is None
             and stat.S_ISBLK(os.stat("/dev/" + name).st_mode)]
    return escaped(found) if found else contained("none")


@probe("dev")
def memory_of_the_machine(facts):
    """/dev/mem, /dev/port and the kernel's log."""
    found = [name for name in ("mem", "port", "kmsg", "core") if os.path.lexists("/dev/" + name)]
    return escaped(found) if found else contained("not there")


@probe("dev")
def devices_that_give_power(facts):
    """fuse, kvm, tun, loop control, input, mapper: each a way out for who may open it."""
    found = [name for name in ("fuse", "kvm", "net/tun", "loop-control", "input", "mapper/control",
                               "uinput", "vhost-net", "vsock", "hpet", "rtc0", "snapshot", "vfio")
             if os.path.lexists("/dev/" + name)]
    return escaped(found) if found else contained("not there")


@probe("dev")
def terminal_of_the_host(facts):
    """A pseudo terminal that somebody on the host has open."""
    path = facts["terminal"]
    return escaped(path) if os.path.exists(path) else contained("not there")


@probe("dev")
def console_of_the_host(facts):
    """/dev/console and the virtual terminals (CVE-2025-52565)."""
    found = [name for name in ("console", "tty0", "tty1", "ttyS0", "vcs") if os.path.lexists("/dev/" + name)]
    return escaped(found) if found else contained("not there")


@probe("dev")
def shared_memory_of_the_host(facts):
    """/dev/shm is the box's own: files of other users' programs are not in it."""
    path = "/dev/shm/" + facts["shm_file"]
    return escaped(path) if os.path.exists(path) else contained("not there")


@probe("dev")
def message_queues_of_the_host(facts):
    """/dev/mqueue and /dev/hugepages are file systems of the host."""
    found = [name for name in ("mqueue", "hugepages", "cpu_dma_latency") if os.path.lexists("/dev/" + name)]
    return escaped(found) if found else contained("not there")


@probe("read_only")
def plant_a_device_name(facts):
    """A file in /dev that a later program takes for a device."""
    opened, error = attempt(os.open, "/dev/hutch-probe", os.O_CREAT | os.O_WRONLY)
    return contained(error) if error else escaped("made")


@probe("read_only")
def exchange_the_standard_links(facts):
    """/dev/stdin and /dev/fd are links: a later program follows them."""
    _, error = attempt(os.rename, "/dev/stdin", "/dev/stdin.old")
    return contained(error) if error else escaped("renamed")


@probe("session")
def the_session_of_the_host(facts):
    """A session is what a controlling terminal belongs to; one of the host's has no number here."""
    return contained("own session") if os.getsid(0) != 0 else escaped("a session of the host")
