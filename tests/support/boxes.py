"""The hutch-box processes of a state directory, and waiting for what becomes of them."""

import os
import pathlib
import time

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


def processes_of(state):
    return list(boxes_of(state).values())


def until(condition, timeout=60, what="the condition"):
    deadline = time.monotonic() + timeout * PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come true"
        time.sleep(0.05)
