"""Open descriptors that should not be there: each is a door past all mounts (CVE-2024-21626)."""

import os
import stat
import subprocess
import sys

from probes.base import attempt, contained, escaped, probe, refused, syscall

O_PATH = 0o10000000


def descriptors():
    """[(number, what it is)]"""
    result = []
    for name in os.listdir("/proc/self/fd"):
        target, error = attempt(os.readlink, f"/proc/self/fd/{name}")
        if error is None:
            result.append((int(name), target))
    return result


def directories():
    return [fd for fd, _ in descriptors()
            if attempt(os.fstat, fd)[1] is None and stat.S_ISDIR(os.fstat(fd).st_mode)]


@probe("descriptors")
def open_through_a_leaked_directory(facts):
    """A directory descriptor of the host opens any file below it."""
    for fd in directories():
        found, error = attempt(lambda fd=fd: os.open(facts["marker"].lstrip("/"), os.O_RDONLY, dir_fd=fd))
        if error is None:
            return escaped(f"descriptor {fd}")
    return contained("no directory leads there")


@probe("descriptors")
def step_out_through_a_descriptor(facts):
    """fchdir() to a directory of the host, then upwards."""
    for fd in directories():
        if attempt(os.fchdir, fd)[1] is None:
            os.chdir("../" * 20)
            if os.path.exists("." + facts["marker"]):
                return escaped(f"descriptor {fd}")
    return contained("all lead into the box")


@probe("descriptors")
def walk_through_the_links_of_proc(facts):
    """/proc/self/fd/N/ is a magic link: it leads where the descriptor leads, past the root."""
    for fd, _ in descriptors():
        if os.path.exists(f"/proc/self/fd/{fd}{facts['marker']}"):
            return escaped(f"descriptor {fd}")
    return contained("none leads out")


@probe("descriptors")
def what_a_program_inherits(facts):
    """A program that the code starts gets its three streams, and nothing of the channel."""
    code = ("import os\nfor n in os.listdir('/proc/self/fd'):\n"
            "    try: print(n, os.readlink('/proc/self/fd/' + n))\n    except OSError: pass")
    listed = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, close_fds=False,
                            capture_output=True, text=True).stdout
    extra = [line for line in listed.splitlines() if int(line.split()[0]) > 2
             and "/proc/" not in line and "/dev/null" not in line and "pipe:" not in line]
    return escaped(extra) if extra else contained("three streams")


@probe("descriptors")
def descriptors_of_the_interpreter(facts):
    """Pipes, its own channel, null, state of the box: no file or directory of the host."""
    allowed = ("pipe:", "socket:", "/dev/", "anon_inode:", "/proc/", "/workspace", "/runs",
               "/run/hutch/state")
    extra = [what for what in descriptors() if not what[1].startswith(allowed)]
    return escaped(extra) if extra else contained("only its own")


@probe("dumpable")
def list_descriptors_of_init(facts):
    """/proc/1/fd names init's socket to the host's side."""
    listed, error = attempt(os.listdir, "/proc/1/fd")
    return contained(error) if error else escaped(listed)


@probe("dumpable")
def open_a_descriptor_of_init(facts):
    """/proc/1/fd/N opens anew what init holds."""
    for number in range(8):
        if attempt(os.readlink, f"/proc/1/fd/{number}")[1] is None:
            return escaped(f"descriptor {number}")
    return contained("closed")


@probe("seccomp", "dumpable")
def take_a_descriptor_of_init(facts):
    """pidfd_getfd() on init's socket: whoever holds it gives orders to the host's side."""
    init, error = syscall(434, 1, 0)
    if init == -1:
        return contained(f"pidfd_open: {os.strerror(error)}")
    taken, error = syscall(438, init, 4, 0)
    return escaped("init's socket") if taken >= 0 else contained(os.strerror(error))


@probe("seccomp")
def take_a_descriptor_of_oneself(facts):
    """pidfd_getfd() at all: the call is not for code in a box."""
    own, error = syscall(434, os.getpid(), 0)
    if own == -1:
        return contained(f"pidfd_open: {os.strerror(error)}")
    return refused(*syscall(438, own, 0, 0))


@probe("descriptors")
def reopen_a_directory_by_path_descriptor(facts):
    """open_tree-like reopening: O_PATH of '.' below a leaked directory."""
    for fd in directories():
        top, error = attempt(lambda fd=fd: os.open("..", O_PATH | os.O_DIRECTORY, dir_fd=fd))
        if error is None and attempt(os.stat, facts["marker"].lstrip("/"))[1]:
            if attempt(lambda top=top: os.stat(facts["marker"].lstrip("/"), dir_fd=top))[1] is None:
                return escaped(f"descriptor {fd}")
    return contained("none")


@probe("seccomp", "dumpable")
def compare_descriptors_with_init(facts):
    """kcmp() tells which objects of the kernel two processes share."""
    result, error = syscall(312, os.getpid(), 1, 0, 0, 0)
    return escaped(result) if result >= 0 else contained(os.strerror(error))
