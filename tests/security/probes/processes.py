"""Processes of the host, and init of the box: seen, signalled, traced, read."""

import ctypes
import os
import signal

from probes.base import attempt, contained, escaped, probe, read_some, syscall

PTRACE_SEIZE = 0x4206


def command_lines():
    for name in os.listdir("/proc"):
        if name.isdigit():
            line, error = attempt(read_some, f"/proc/{name}/cmdline")
            if error is None:
                yield int(name), line


@probe("proc")
def see_a_process_of_the_host(facts):
    """The command line of a process that stands outside, found in /proc."""
    seen = [pid for pid, line in command_lines() if facts["victim_token"].encode() in line]
    return escaped(seen) if seen else contained("not in /proc")


@probe("proc")
def names_of_processes(facts):
    """Nothing runs in sight but init, interpreters and what they started: programs, and who stores what they know."""
    names = {(attempt(read_some, f"/proc/{pid}/comm")[0] or b"").strip().decode()
             for pid, _ in command_lines()}
    foreign = names - {"hutch-init", "python3", "python", "node", "bash", "MainThread", "hutch-snapshot", ""}
    return escaped(sorted(foreign)) if foreign else contained(sorted(names))


@probe("pid", "proc")
def signal_a_process_of_the_host(facts):
    """The victim has the box's own user id on the host: only its number is out of reach."""
    _, error = attempt(os.kill, facts["victim"], 0)
    return contained(error) if error else escaped(f"kill({facts['victim']}, 0)")


@probe("pid", "proc")
def hold_a_process_of_the_host(facts):
    """pidfd_open() on the victim, and a signal through it."""
    held, error = syscall(434, facts["victim"], 0)
    if held == -1:
        return contained(os.strerror(error))
    result, error = syscall(424, held, 0, 0, 0)
    return escaped("pidfd_send_signal") if result == 0 else contained(os.strerror(error))


@probe(outside="held by the user namespace, without which no box can be made")
def read_a_process_of_the_host(facts):
    """/proc/<pid>/environ of the victim: the server's secrets lie in such files."""
    data, error = attempt(read_some, f"/proc/{facts['victim']}/environ")
    if error is not None:
        return contained(error)
    return escaped("environ") if facts["victim_token"].encode() in data else contained("another process")


@probe("pid", "proc")
def the_resource_limits_of_a_process_of_the_host(facts):
    """prlimit() reaches into other processes of the same user."""
    import resource
    _, error = attempt(resource.prlimit, facts["victim"], resource.RLIMIT_NOFILE)
    return contained(error) if error else escaped("prlimit")


@probe("pid", "proc")
def the_priority_of_a_process_of_the_host(facts):
    """getpriority() and setpriority() by number."""
    _, error = attempt(os.getpriority, os.PRIO_PROCESS, facts["victim"])
    return contained(error) if error else escaped("getpriority")


@probe("dumpable")
def read_the_memory_of_init(facts):
    """/proc/1/mem: init has the code's own user id."""
    opened, error = attempt(os.open, "/proc/1/mem", os.O_RDONLY)
    return contained(error) if error else escaped("opened")


@probe("dumpable")
def write_the_memory_of_init(facts):
    """/proc/1/mem for writing would make init do anything."""
    opened, error = attempt(os.open, "/proc/1/mem", os.O_RDWR)
    return contained(error) if error else escaped("opened")


@probe("dumpable")
def read_the_environment_of_init(facts):
    """/proc/1/environ"""
    _, error = attempt(read_some, "/proc/1/environ")
    return contained(error) if error else escaped("opened")


@probe("dumpable")
def read_the_address_space_of_init(facts):
    """/proc/1/maps would undo the random layout."""
    data, error = attempt(read_some, "/proc/1/maps")
    return contained(error) if error else escaped(data[:40])


@probe("seccomp", "dumpable")
def trace_init(facts):
    """ptrace() on init; detached at once where it works."""
    result, error = syscall(101, PTRACE_SEIZE, 1, 0, 0)
    if result == -1:
        return contained(os.strerror(error))
    return escaped("seized")  # the end of this process lets go of it


@probe("seccomp", "dumpable")
def copy_the_memory_of_init(facts):
    """process_vm_readv() at an address that need not exist: asked for rights first."""
    class Piece(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
    room = ctypes.create_string_buffer(8)
    here, there = Piece(ctypes.addressof(room), 8), Piece(0x1000, 8)
    result, error = syscall(310, 1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    EFAULT = 14
    return escaped(error) if result >= 0 or error == EFAULT else contained(os.strerror(error))


@probe("seccomp")
def trace_a_child(facts):
    """A child of one's own: who may trace can change calls after the filter has seen them."""
    ready, _ = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(ready, 1)
        os._exit(0)
    result, error = syscall(101, PTRACE_SEIZE, child, 0, 0)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return contained(os.strerror(error)) if result == -1 else escaped("seized")


@probe("oom_score")
def be_the_last_one_killed(facts):
    """When memory runs out, boxes go before the host's processes."""
    score = int(read_some("/proc/self/oom_score_adj"))
    return contained(score) if score >= 500 else escaped(score)


@probe("pid", "proc")
def be_a_process_of_the_host(facts):
    """Numbers of processes are the box's own: pid 1 is its init, and hidden."""
    comm, _ = attempt(read_some, "/proc/1/comm")
    return contained("hidden") if comm is None else escaped(comm)
