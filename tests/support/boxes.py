"""The hutch-box processes of a state directory, and waiting for what becomes of them."""

import os
import pathlib
import time

from database import rows
from server_process import PATIENCE


def boxes_of(state):
    """{session id: host pid} of those that live; each has its session's log open."""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "comm").read_text() == "hutch-box\n":
                log = pathlib.Path(os.readlink(entry / "fd/2"))
                if log.is_relative_to(state):
                    found[log.parent.name] = int(entry.name)
        except OSError:
            continue  # it has ended
    return found


def session_of_cgroup(name):
    """ "session_k2" of "hutch-session_k2-801-1c40", and of "hutch-session_k2", as it was called before."""
    return name.removeprefix("hutch-").split("-")[0]


def cgroups_of(session_ids):
    """Directories of those sessions, whosever copy they are."""
    return [f"{directory}/{name}" for directory, names, _ in os.walk("/sys/fs/cgroup")
            for name in names if name.startswith("hutch-") and session_of_cgroup(name) in session_ids]


def processes_of(state):
    return list(boxes_of(state).values())


def start_of(pid):
    """When it was started, which tells it from others that get its number later; None once it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def children_of(pid):
    """Zombies too."""
    children = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        children += [int(child) for child in (task / "children").read_text().split()]
    return children


def is_frozen(box):
    """Whether what runs in the box has come to a stand: in the freezer of its cgroup, or by a signal."""
    init = children_of(box)[0]
    paths = pathlib.Path(f"/proc/{init}/cgroup").read_text()
    for line in paths.splitlines():
        path = line.split(":", 2)[2]
        for top in ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            for file, frozen in (("freezer.state", "FROZEN"), ("cgroup.freeze", "1")):
                found = pathlib.Path(top + path, file)
                if found.exists() and found.read_text().strip() == frozen:
                    return True
    states = [pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] for pid in children_of(init)]
    return bool(states) and all(one == "T" for one in states)


def has_come_to_rest(state, session):
    """Whether the session has no box, or one that is frozen."""
    box = boxes_of(state).get(session)
    try:
        return box is None or is_frozen(box)
    except (OSError, IndexError):  # it ends at this moment
        return False


def until(condition, timeout=60, what="the condition", interval=0.05):
    deadline = time.monotonic() + timeout * PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true"
        time.sleep(interval)


def everything_left(state):
    """Processes, mounts, cgroups, sockets and directories of the sessions of this state but spare ones."""
    sessions = [row[0] for row in rows(state, "SELECT id FROM sessions WHERE principal_id != 'spare'")]
    spares = [row[0] for row in rows(state, "SELECT id FROM sessions WHERE principal_id = 'spare'")]
    left = [f"process {pid}" for session, pid in boxes_of(state).items() if session not in spares]
    mounts = pathlib.Path("/proc/self/mounts").read_text()
    left += [f"mount of {s}" for s in sessions if s in mounts]
    for directory, names, _ in os.walk("/sys/fs/cgroup"):
        left += [f"cgroup {directory}/{n}" for n in names if session_of_cgroup(n) in sessions]
    left += [f"directory {n}" for n in os.listdir(f"{state}/sessions") if n not in spares]
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "comm").read_text().strip() == "hutch-init" and \
                    os.readlink(entry / "cwd") == "/" and \
                    any(s in (entry / "mountinfo").read_text() for s in sessions):
                left.append(f"init {entry.name}")
        except OSError:
            continue
    return left
