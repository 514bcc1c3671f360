"""A traceback as it is told: without the runner's frames, runs of frames as one, and of very many the first and last.

All frames are walked, and few are formatted: a recursion may leave a million.
"""

import os
import sys
from _collections import deque  # nothing can be imported any more where no file can be opened

FIRST, LAST = 50, 50  # runs of frames
REPEATED = 1  # so often a line stands there before it is only counted

_RUNNER = tuple(os.path.join(path, "") for path in sys.modules["hutch_runner"].__path__)
_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_LIBRARY = "library"


def is_runner(filename):
    return filename.startswith(_RUNNER)


def is_library(filename):
    return (filename.startswith((_STANDARD, "<frozen ")) or "/site-packages/" in filename
            or "/dist-packages/" in filename or filename.endswith((".pyx", ".pxi")))


def pieces(step):
    """Returns what to tell of the traceback from `step` on: steps of it, and lines of text about the others."""
    first, last, left_out = [], deque(), 0
    for run in _runs(step):
        if len(first) < FIRST:
            first.append(run)
            continue
        last.append(run)
        if len(last) > LAST:
            left_out += last.popleft().count
    told = [piece for run in first for piece in run.pieces()]
    if left_out:
        told.append(f"  ... {left_out:,} more frames, left out here\n")
    return told + [piece for run in last for piece in run.pieces()]


class _Run:
    """Frames that follow one another: of one line, or of libraries."""

    __slots__ = ("place", "steps", "count")

    def __init__(self, place, step):
        self.place, self.steps, self.count = place, [step], 1

    def add(self, step):
        self.count += 1
        if self.place is _LIBRARY:
            self.steps[0] = step
        elif len(self.steps) < REPEATED:
            self.steps.append(step)

    def pieces(self):
        if self.place is _LIBRARY:
            code, line = self.steps[0].tb_frame.f_code, self.steps[0].tb_lineno
            count = "1 frame" if self.count == 1 else f"{self.count} frames"
            return [f"  ... {count} in libraries, last: {code.co_filename}, line {line}, in {code.co_name}\n"]
        more = self.count - len(self.steps)
        return self.steps + ([f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]\n"] if more else [])


def _runs(step):
    places, run = {}, None
    while step is not None:
        code = step.tb_frame.f_code
        key = (id(code), step.tb_lasti)
        place = places.get(key)
        if place is None:
            place = places[key] = _place(code, step)
        if run is not None and place == run.place:
            run.add(step)
        # Frames before the first of the user's are how the runner got there.
        elif place and (run is not None or place is not _LIBRARY):
            if run is not None:
                yield run
            run = _Run(place, step)
        step = step.tb_next
    if run is not None:
        yield run


def _place(code, step):
    """Empty for frames of the runner."""
    if is_runner(code.co_filename):
        return ()
    return _LIBRARY if is_library(code.co_filename) else (code.co_filename, step.tb_lineno, code.co_name)
