"""Limits: of files, memory, processes, core dumps. Each stops short of hurting the machine."""

import ctypes
import mmap
import os
import resource
import signal
import time

from probes.base import EINVAL, ENOSYS, EPERM, attempt, contained, escaped, libc, probe, refused, syscall, text

MEGABYTE = 1 << 20
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_SET_MODE_FILTER, SECCOMP_RET_ALLOW, BPF_RET = 1, 0x7fff0000, 6
SECONDS_TO_BE_SEEN = 5
CORE, LOWER_CORES = resource.RLIMIT_CORE, (ctypes.c_ulong * 2)(0, 1)


@probe("rlimits")
def core_dumps(facts):
    """1, not 0: with 0 a piped core_pattern still starts its program on the host."""
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    return contained(limits) if limits == (1, 1) else escaped(limits)


@probe("seccomp")
def let_cores_be_piped(facts):
    """With a lower limit than 1 a crash would start the program of a piped core_pattern on the host. Who asks for it
    is told that it was done, as sanitizers and shells need it, and the limit stays."""
    told = {how: syscall(*call, LOWER_CORES, 0)[1]
            for how, call in (("setrlimit", (160, CORE)), ("prlimit64", (302, 0, CORE)))}
    limits = resource.getrlimit(CORE)
    return contained(told) if limits == (1, 1) else escaped((limits, told))


@probe("seccomp")
def change_the_limits_of_init(facts):
    """Without descriptors init could start nothing more. (Its own limit, given to it again.)"""
    limit = (ctypes.c_ulong * 2)()
    libc.syscall(302, 1, resource.RLIMIT_NOFILE, None, limit)
    return refused(*syscall(302, 1, resource.RLIMIT_NOFILE, limit, 0))


@probe("seccomp")
def take_huge_pages(facts):
    """Neither a cgroup nor the watch counts them."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000
    reached = [how for how, call in (("mmap", (9, 0, 1 << 21, 3, flags, -1, 0)),
                                     ("memfd_create", (319, text("huge"), 4)))
               if syscall(*call)[1] not in (EPERM, ENOSYS)]
    return escaped(reached) if reached else contained("refused")


@probe("seccomp")
def install_a_filter(facts):
    """Filters are programs in the kernel, from room that is the whole host's: who uses it up keeps other boxes from
    starting. (One instruction, which allows everything, in a child of this process.)"""
    allow_all = (ctypes.c_ulonglong * 1)(SECCOMP_RET_ALLOW << 32 | BPF_RET)
    program = (ctypes.c_ulonglong * 2)(1, ctypes.addressof(allow_all))
    calls = {"seccomp": (317, SECCOMP_SET_MODE_FILTER, 0, program), "prctl": (157, PR_SET_SECCOMP, 2, program)}
    reached = []
    for how, call in calls.items():
        child = os.fork()
        if child == 0:
            libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            result, error = syscall(*call)
            os._exit(0 if result == -1 and error == EINVAL else 1)
        if os.waitpid(child, 0)[1] != 0:
            reached.append(how)
    return escaped(reached) if reached else contained("as by a kernel without filters")


@probe("seccomp")
def operations_of_prctl(facts):
    """Each kernel adds some: of hashes for futexes a process takes a gigabyte that nobody counts (Linux 6.16; here it
    asks for little), events of perf are turned off by every kernel."""
    size = ctypes.c_uint()
    calls = {"PR_FUTEX_HASH": (157, 78, 1, 16, 0, 0), "PR_TASK_PERF_EVENTS_DISABLE": (157, 31, 0, 0, 0, 0),
             "PR_SET_MM": (157, 35, 15, ctypes.byref(size), 0, 0), "PR_SET_PTRACER": (157, 0x59616d61, -1, 0, 0, 0)}
    reached = [how for how, call in calls.items() if syscall(*call)[1] != EINVAL]
    return escaped(reached) if reached else contained("refused")


@probe("rlimits")
def open_many_files(facts):
    """Descriptors of one process."""
    kept, most = [], facts["limits"]["open_files"] + 64
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, most * 2), hard))
    for _ in range(most):
        opened, error = attempt(os.open, "/dev/null", os.O_RDONLY)
        if error is not None:
            return contained(f"{error} after {len(kept)}")
        kept.append(opened)
    return escaped(len(kept))


@probe("rlimits")
def make_a_large_file(facts):
    """A sparse file larger than the disk of the session: costs nothing here, much in a copy."""
    path = "/workspace/large"
    with open(path, "wb") as file:
        _, error = attempt(os.ftruncate, file.fileno(), (facts["limits"]["disk_mb"] + 1) * MEGABYTE)
    os.unlink(path)
    return contained(error) if error else escaped("made")


@probe("rlimits")
def make_a_large_memory_file(facts):
    """memfd_create() and ftruncate(), the same limit."""
    file = os.memfd_create("large")
    _, error = attempt(os.ftruncate, file, (facts["limits"]["disk_mb"] + 1) * MEGABYTE)
    return contained(error) if error else escaped("made")


@probe("rlimits")
def queue_many_messages(facts):
    """Bytes in POSIX queues are the kernel's memory."""
    _, hard = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    return contained(hard) if hard == 819200 and facts["host_msgqueue"] != 819200 \
        else escaped(hard) if hard != 819200 else limit_of_files(facts)


def limit_of_files(facts):
    # Where the host's own limit of queues is the same, the one of files tells whether ours are set.
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    return contained(hard) if hard == facts["limits"]["disk_mb"] * MEGABYTE else escaped(hard)


@probe("cgroups", bare_layers=("rlimits",))
def start_many_processes(facts):
    """More processes than the session may have; they wait, and end with this one."""
    most = facts["limits"]["processes"] + 16
    children, error = [], None
    while len(children) < most and error is None:
        child, error = attempt(os.fork)
        if child == 0:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            signal.pause()
            os._exit(0)
        if child:
            children.append(child)
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return contained(f"{error} after {len(children)}") if error else escaped(len(children))


@probe("cgroups", bare_layers=("rlimits",))
def start_many_threads(facts):
    """Threads count as processes."""
    import threading
    stop, threads, most = threading.Event(), [], facts["limits"]["processes"] + 16
    threading.stack_size(64 * 1024)
    refusal = None
    for _ in range(most):
        thread = threading.Thread(target=stop.wait, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            refusal = error
            break
        threads.append(thread)
    stop.set()
    return contained(f"{refusal} after {len(threads)}") if refusal else escaped(len(threads))


@probe("cgroups", bare_layers=(), bare_outside="the watch over memory stands outside of init",
       death="SIGKILL")
def take_much_memory(facts):
    """More memory than the session may have: refused, or the end of the one that takes it."""
    megabytes = facts["limits"]["memory_mb"] + 64
    try:
        kept = bytearray(megabytes * MEGABYTE)
    except MemoryError as error:
        return contained(repr(error))
    for at in range(0, len(kept), resource.getpagesize()):
        kept[at] = 1
    if not facts["has_cgroups"]:
        time.sleep(SECONDS_TO_BE_SEEN)  # holding it until the watch ends this, or never does
    return escaped(f"{megabytes} MB")


@probe(bare_layers=("rlimits",))
def reserve_much_memory(facts):
    """Where no cgroup counts, a process may not even ask for much more than the session has."""
    try:
        memory = mmap.mmap(-1, (facts["limits"]["memory_mb"] + 520) * MEGABYTE,
                           mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        return contained(error)
    return escaped(len(memory))


@probe(bare_layers=("cpus",))
def use_many_processors(facts):
    """Where no cgroup counts, the box has as many processors as the session may use."""
    have = len(os.sched_getaffinity(0))
    return contained(have) if have <= facts["limits"]["cpus"] else escaped(have)


@probe("rlimits")
def raise_limits_again(facts):
    """A hard limit can be lowered, never raised."""
    raised = []
    for which in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        soft, hard = resource.getrlimit(which)
        if hard == resource.RLIM_INFINITY or attempt_raise(which, soft, hard):
            raised.append(which)
    return escaped(raised) if raised else contained("refused")


def attempt_raise(which, soft, hard):
    try:
        resource.setrlimit(which, (soft, hard + 1))
        return resource.getrlimit(which) != (soft, hard)  # that of core files is only said to be set
    except (ValueError, OSError):
        return False
