"""Threads that earlier cells have left: what they print comes in between the output of this run, and is marked as theirs."""

import functools
from _thread import get_ident

from hutch_runner.standard_modules import loaded
from hutch_runner.streams import Stream

_PARTIALS_MAX = 20  # one in the other: a partial can be made to have itself in it

_marks = {}  # what is before their lines, by the number of the thread
_within = set()  # who is within a line: stream and thread


class _Marking(Stream):
    """What a stream is while there are such threads."""

    def write(self, text):
        mark = _marks.get(get_ident())
        if mark is None or not isinstance(text, str) or not text:
            return super().write(text)
        place = (id(self), get_ident())
        lines = text.split("\n")
        first = lines[0] if place in _within or not lines[0] else mark + lines[0]
        super().write("\n".join([first, *(line and mark + line for line in lines[1:])]))
        _within.discard(place) if text.endswith("\n") else _within.add(place)
        return len(text)


class LateThreads:
    def __init__(self, streams):
        self._streams = streams
        self._runs = {}  # of those threads that have outlived their run: its id

    def run_begins(self):
        _marks.clear()
        _within.clear()
        self._runs = {thread: run for thread, run in self._runs.items() if thread.is_alive()}
        _marks.update((thread.ident, f"[thread of {run}] ") for thread, run in self._runs.items())
        self._streams.become(_Marking if _marks else Stream)

    def run_is_over(self, run_id):
        threading = loaded("threading")
        if threading is None or threading.active_count() == 1:
            return
        for thread in threading.enumerate():
            if _is_a_cells(thread):
                self._runs.setdefault(thread, run_id)


def _is_a_cells(thread):
    """Not those of pools, which work for whatever run is on."""
    works = getattr(thread, "_target", None) or getattr(thread, "function", None) or type(thread)
    for _ in range(_PARTIALS_MAX):
        if not isinstance(works, functools.partial):
            break
        works = works.func
    return getattr(works, "__module__", "") == "__main__"
