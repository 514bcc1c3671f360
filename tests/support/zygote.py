"""The zygote of a state directory, as tests see it.

Suites run without one, each interpreter started plainly; with HUTCH_TEST_ZYGOTE=1 a server is only
used once its zygote is warm, so that every Python comes from it.
"""

import os
import pathlib
import socket
import time

IS_TESTED = os.environ.get("HUTCH_TEST_ZYGOTE") == "1"
PATIENCE = 60 * float(os.environ.get("HUTCH_TEST_PATIENCE", "1"))


FORKED = "forked from the zygote"  # as a session says of its Python


def made_from_it(make, origin_of, delete):
    """Returns what make() gives. On a machine that is very busy a box does not wait for the zygote: then another one."""
    origins = []
    for _ in range(5):
        made = make()
        origins.append(origin_of(made))
        if origins[-1] == FORKED:
            return made
        delete(made)
    raise AssertionError(f"none is {FORKED}: {origins}")


def directory_of(state, environment=""):
    """`environment`: the id of the one that it is for."""
    return pathlib.Path(state, "zygote", environment)


def pids(state, environment=""):
    """Returns that of the zygote in this state directory: one, or none. Its copies in boxes have other command lines."""
    lock = directory_of(state, environment) / "zygote.lock"
    if not lock.exists():
        return []
    inode = lock.stat().st_ino
    holders = [line.split() for line in open("/proc/locks") if "FLOCK" in line and "->" not in line]
    return [int(fields[4]) for fields in holders if int(fields[5].rpartition(":")[2]) == inode]


def all_pids(state):
    """Returns those of environments, too."""
    locks = directory_of(state).glob("*/zygote.lock")
    return pids(state) + [pid for lock in locks for pid in pids(state, lock.parent.name)]


def is_warm(state, environment=""):
    return bool(pids(state, environment)) and accepts(state, environment)


def log(state, environment=""):
    path = directory_of(state, environment) / "zygote.log"
    return path.read_text() if path.exists() else ""


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def wait_until_warm(state, server=None, environment=""):
    ended = lambda: server is not None and server.poll() is not None  # noqa: E731
    wait_until(lambda: is_warm(state, environment) or ended(), "no zygote: " + log(state, environment))


def accepts(state, environment=""):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        try:
            probe.connect(str(directory_of(state, environment) / "zygote.sock"))
        except OSError:
            return False
    return True


def children(pid):
    return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
