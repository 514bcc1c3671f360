"""Processes that cells have started and that go on. Each is told of once."""

import os
import time

_HELPERS = ("multiprocessing.resource_tracker", "multiprocessing.forkserver", "loky.backend")
_TOLD_MOST = 5
_COMMAND_CHARACTERS_MAX = 80
_ENDED = (FileNotFoundError, ProcessLookupError, PermissionError)  # the last: it is somebody else's, by now


class Children:
    def __init__(self):
        self._told = set()
        self._is_late = False  # an earlier run could not tell

    def left_running(self):
        """Returns what is new of that, as a done frame has it; None where that is nothing, or nothing can be opened any more: then a later run tells."""
        if not _has_any():
            self._told, self._is_late = set(), False
            return None
        try:
            pids = _pids()
            left = [{"pids": [pid], "command": command} for pid in sorted(pids - self._told) if (command := _command(pid))]
        except OSError:
            self._is_late = True
            return None
        self._told = pids
        is_late, self._is_late = self._is_late, False
        return {"processes": left[:_TOLD_MOST], "more": max(0, len(left) - _TOLD_MOST), "of_earlier_run": is_late, "has_objects": True} if left else None


def _has_any():
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return True
    except OSError:
        return False


def _pids():
    pids = set()
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children") as file:
                pids.update(map(int, file.read().split()))
        except _ENDED:
            pass
    return pids


def _command(pid):
    """Empty for a zombie, and for what libraries keep for themselves."""
    try:
        line, ours = _line_of(pid), _line_of("self")
        for _ in range(5):
            with open(f"/proc/{pid}/stat", "rb") as file:
                name, _, state = file.read().partition(b"(")[2].rpartition(b") ")
            if line or state.startswith((b"Z", b"X")):
                break
            time.sleep(0.001)  # it is just about to be another program
            line = _line_of(pid)
        else:
            line = name
    except _ENDED:
        return ""
    if line == ours:
        return "a fork of this interpreter"
    text = line.rstrip(b"\0").replace(b"\0", b" ").decode(errors="backslashreplace")
    if any(name in text for name in _HELPERS):
        return ""
    return text if len(text) <= _COMMAND_CHARACTERS_MAX else text[:_COMMAND_CHARACTERS_MAX] + "..."


def _line_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read(4096)
