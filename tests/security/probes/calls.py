"""System calls that must not get as far as the kernel's own answer.

The arguments are chosen so that the kernel, once reached, says neither EPERM nor ENOSYS and does
nothing: a wrong flag, a bad pointer, a descriptor of -1. So an answer of EPERM or ENOSYS is the
filter's, and without the filter the probe sees something else. Numbers are those of x86-64.
"""

import ctypes
import fcntl
import mmap
import os
import socket

from probes.base import ENOSYS, EPERM, attempt, contained, escaped, probe, refused, syscall

BAD = 1  # a pointer to where nothing is
EOPNOTSUPP = 95
F_SETLEASE, F_NOTIFY, F_SETDELEG = 1024, 1026, 1040

# name: (number, arguments, why)
CALLS = {
    "io_uring_setup": ((425, 0, 0), "opens files and sockets past the filter"),
    "io_uring_enter": ((426, -1, 0, 0, 0, 0, 0), "the same, on a ring that somebody passed"),
    "io_uring_register": ((427, -1, 99, 0, 0), "the same"),
    "userfaultfd": ((323, 1), "stops the kernel in the middle of a copy: wide race windows"),
    "bpf": ((321, 1, 0, 99999), "bugs of the verifier"),  # 0 may be refused before its size is
    "perf_event_open": ((298, BAD, 0, -1, -1, 0xffff), "bugs, and a side channel"),
    "keyctl": ((250, 0, -3, 0), "keyrings are not namespaced"),
    "add_key": ((248, BAD, BAD, 0, 0, 0), "keyrings are not namespaced"),
    "request_key": ((249, BAD, BAD, 0, 0), "keyrings are not namespaced; starts a host program"),
    "ptrace_traceme": ((101, 0, 0, 0, 0), "steals from siblings"),
    "process_vm_readv": ((310, os.getpid(), 0, 0, 0, 0, 0), "reads other processes"),
    "process_vm_writev": ((311, os.getpid(), 0, 0, 0, 0, 0), "writes other processes"),
    "process_madvise": ((440, -1, 0, 0, 0, 0), "acts on other processes"),
    "process_mrelease": ((448, -1, 1), "acts on other processes"),
    "kcmp": ((312, os.getpid(), os.getpid(), 0, 0, 0), "tells which kernel objects are shared"),
    "umount2": ((166, BAD, 0xff00), "changes the tree"),
    "fsconfig": ((431, -1, 99, 0, 0, 0), "CVE-2022-0185"),
    "mount_setattr": ((442, -100, BAD, 0xff0000, 0, 0), "changes the tree"),
    "setns": ((308, -1, 0), "enters namespaces"),
    "unshare": ((272, 0x200), "makes namespaces"),
    "chroot": ((161, ctypes.c_char_p(b"/nowhere")), "changes the root"),
    "open_by_handle_at": ((304, -1, ctypes.create_string_buffer(16), 0), "opens by number"),
    "settimeofday": ((164, BAD, 0), "the host's clock"),
    "clock_settime": ((227, 0, BAD), "the host's clock"),
    "clock_adjtime": ((305, 0, BAD), "the host's clock"),
    "adjtimex": ((159, BAD), "the host's clock"),
    "iopl": ((172, 4), "ports of the machine"),
    "ioperm": ((173, 70000, 1, 1), "ports of the machine"),
    "quotactl": ((179, 0x7fffff00 | 0xff, 0, 0, 0), "administers file systems"),
    "quotactl_fd": ((443, -1, 0x7fffff00, 0, 0), "administers file systems"),
    "fanotify_init": ((300, 0x200, 0), "watches whole mounts"),
    "fanotify_mark": ((301, -1, 1, 0, -1, 0), "watches whole mounts"),
    "mbind": ((237, 1, 4096, 99, 0, 0, 0), "use-after-free history"),
    "set_mempolicy": ((238, 99, 0, 0), "use-after-free history"),
    "get_mempolicy": ((239, 0, 0, 0, 0, 99), "placement is a side channel"),
    "migrate_pages": ((256, 0, 0, BAD, BAD), "moves pages of others"),
    "move_pages": ((279, 0, 1, BAD, 0, 0, 99), "moves pages of others"),
    "modify_ldt": ((154, 0, ctypes.create_string_buffer(64), 64), "legacy segments"),
    "personality": ((135, 0x0040000), "switches the random layout off"),
    "vmsplice": ((278, -1, 0, 0, 0), "pages that change under their reader"),
    "remap_file_pages": ((216, 0, 0, 0, 0, 0), "obsolete"),
    "ustat": ((136, 0, 0), "obsolete"),
    "sysfs": ((139, 3), "obsolete; lists file systems of the kernel"),
    "clone3": ((435, 0, 0), "flags behind a pointer"),
    "memfd_secret": ((447, 0xff), "memory that nobody else can see"),
    "statmount": ((457, BAD, BAD, 0, 0), "tells of the host's mounts"),
    "listmount": ((458, BAD, BAD, 0, 0), "tells of the host's mounts"),
    "lsm_list_modules": ((461, BAD, BAD, 1), "tells of the host's protection"),
    "cachestat": ((451, -1, BAD, BAD, 0), "what others have in the page cache"),
    "futex_wake": ((454, BAD, 0, 0, 0xff), "the new futex calls: use-after-free"),
    "futex_requeue": ((456, 0, 0xff, 0, 0), "CVE-2026-43499"),
    "mseal": ((462, 1, 4096, 0xff), "a call that the policy does not know"),
    "getxattrat": ((464, -100, BAD, 0, BAD, BAD, 0), "a call that the policy does not know"),
    "futex_wait_requeue_pi": ((202, BAD, 11, 0, 0, BAD, 0), "use-after-free history"),
    "futex_cmp_requeue_pi": ((202, BAD, 12, 1, 0, BAD, 0), "use-after-free history"),
    "shmctl_lock": ((31, 0x7fffff, 11, 0), "pins memory"),
    "fcntl_notify": ((72, -1, F_NOTIFY, 1), "signals that nobody needs"),
    "fcntl_setdeleg": ((72, -1, F_SETDELEG, BAD), "a lease by another name"),
    "ioctl_fssetxattr": ((16, -1, 0x401c5820, BAD), "a byte takes gigabytes of an XFS"),
    "ioctl_tiocsti": ((16, 0, 0x5412, BAD), "types into a terminal"),
    "ioctl_tioclinux": ((16, 0, 0x541c, BAD), "pastes into a console"),
}


# These get another answer, by which the C library falls back to writing.
TAKING_SPACE = {
    "fallocate": ((285, -1, 1, 0, 4096), "disk that no limit of a file's size sees"),
    "ioctl_resvsp": ((16, -1, 0x40305828, BAD), "fallocate by another name"),
    "ioctl_resvsp64": ((16, -1, 0x4030582a, BAD), "fallocate by another name"),
    "ioctl_zero_range": ((16, -1, 0x40305839, BAD), "fallocate by another name"),
}


def add_call(name, arguments, why, refusals=(EPERM, ENOSYS)):
    def run(facts):
        number, *rest = arguments
        return refused(*syscall(number, *rest), refusals)
    run.__doc__ = why
    probe("seccomp", name=f"call_{name}")(run)


for _name, (_arguments, _why) in CALLS.items():
    add_call(_name, _arguments, _why)
for _name, (_arguments, _why) in TAKING_SPACE.items():
    add_call(_name, _arguments, _why, (EOPNOTSUPP,))


@probe("seccomp")
def lease_a_file(facts):
    """Whoever else opens a leased file waits for its holder: other boxes of the user, the server."""
    path = "/workspace/leased"
    file = os.open(path, os.O_RDONLY | os.O_CREAT)
    _, error = attempt(fcntl.fcntl, file, F_SETLEASE, fcntl.F_WRLCK)
    os.unlink(path)
    os.close(file)
    return contained(error) if error else escaped("leased")


@probe("seccomp")
def take_space_without_writing(facts):
    """fallocate() with KEEP_SIZE: blocks behind the end of a file, which no limit of its size holds."""
    file = os.memfd_create("taken")  # on a file system that can do it, whatever the workspace is on
    result, error = syscall(285, file, 1, 0, 1 << 20)
    os.close(file)
    return refused(result, error, (EOPNOTSUPP,))


@probe("seccomp", "capabilities")
def call_reboot(facts):
    """reboot() with a wrong magic number; with the right one it would end the pid namespace."""
    return refused(*syscall(169, 0, 0, 0, 0))


@probe(outside="the kernel answers EPERM to all but the host's root before it looks at anything")
def call_init_module(facts):
    """Code in the kernel."""
    return refused(*syscall(175, BAD, 0, BAD))


@probe(outside="the kernel answers EPERM to all but the host's root before it looks at anything")
def call_swapon(facts):
    """Memory of others on a file of one's own."""
    return refused(*syscall(167, BAD, 0))


def call_code(code):
    """Runs machine code and returns what it leaves in eax."""
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return function()


@probe("seccomp", death="SIGSYS")
def call_of_32_bits(facts):
    """int 0x80 has other numbers: a filter of 64-bit ones would not see it."""
    # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
    return escaped(call_code(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3"))


@probe("seccomp", death="SIGSYS")
def call_of_x32(facts):
    """Bit 30 of the number selects another table."""
    result, error = syscall(0x40000000 | 39)
    return escaped(f"the kernel answered {result} {os.strerror(error)}")


@probe("seccomp")
def call_tiocsti_with_high_bits(facts):
    """CVE-2019-10063: the kernel looks at 32 bits of the request, a filter may look at 64."""
    return refused(*syscall(16, 0, 0x1_0000_5412, BAD))


@probe("seccomp")
def call_of_a_number_with_high_bits(facts):
    """The kernel takes the number from 32 bits of the register or from all: both are refused."""
    return refused(*syscall(-(1 << 32) | 425, 0, 0))


@probe("seccomp")
def setsockopt_ulp(facts):
    """TCP_ULP loads kTLS: many bugs."""
    plain = socket.socket()
    return refused(*syscall(54, plain.fileno(), 6, 31, ctypes.c_char_p(b"tls"), 3))


@probe("seccomp")
def setsockopt_large_buffer(facts):
    """Buffers of sockets are memory that nobody is charged for."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        before = plain.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, before // 4)
        after = plain.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    return contained(f"{after} as before") if after == before else escaped(f"{before}, now {after}")


@probe("seccomp")
def setsockopt_attach_filter(facts):
    """A program in the kernel takes from room that all boxes need for theirs."""
    program = (ctypes.c_ubyte * 8)(0x06, 0, 0, 0, 0xff, 0xff, 0, 0)  # ret
    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("program", ctypes.c_void_p)]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as plain:
        filter_ = Filter(1, ctypes.addressof(program))
        return refused(*syscall(54, plain.fileno(), 1, 26, ctypes.byref(filter_), ctypes.sizeof(filter_)))


@probe("seccomp")
def hide_from_the_watch(facts):
    """A process that is not dumpable shows its memory and files to nobody but the host's root."""
    from probes.base import libc
    libc.prctl(4, 0, 0, 0, 0)
    hidden = libc.prctl(3, 0, 0, 0, 0) == 0
    libc.prctl(4, 1, 0, 0, 0)
    return escaped("hidden") if hidden else contained("still to be seen")


@probe("seccomp")
def call_choose_processors(facts):
    """A process that leaves the CPUs it was given; the filter answers as if it had."""
    before = os.sched_getaffinity(0)
    narrower = {min(before)} if len(before) > 1 else set(range(64))
    try:
        os.sched_setaffinity(0, narrower)
    except OSError as error:
        return contained(error)
    after = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before)
    return contained("it stays where it was") if after == before else escaped(after)


@probe("seccomp")
def call_take_the_filter_off(facts):
    """PR_GET_SECCOMP says that a filter is on; it cannot be taken off."""
    from probes.base import libc
    mode = libc.prctl(21, 0, 0, 0, 0)
    return contained(mode) if mode == 2 else escaped(mode)
