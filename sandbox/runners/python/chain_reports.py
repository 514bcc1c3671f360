"""TracebackException for failures of any size: what it would format of all their frames and causes is chosen before."""

import sys
import traceback
from _collections import deque

from hutch_runner import frame_runs, imported_files

NEWEST, OLDEST = 10, 10  # exceptions of a chain
GROUP_WIDTH, GROUP_DEPTH = 15, 10  # as Python's own tracebacks have them
_WORDS_LEAST = 12  # characters; fewer may stand there by chance
TOLD_MAX = 200  # exceptions, with those of groups


def text_of(failure):
    return "".join(_Reports().of(failure).format())


class UserStack(traceback.StackSummary):
    """A stack of frames, with lines of text between them."""

    def format(self, **options):
        lines, part = [], traceback.StackSummary()
        for frame in self:
            if isinstance(frame, str):
                lines += part.format(**options)
                lines.append(frame)
                part = traceback.StackSummary()
            else:
                part.append(frame)
        return lines + part.format(**options)


class _Reports:
    def __init__(self):
        self._seen = set()  # their ids: chains may be circles
        self._told = 0

    def of(self, failure, depth=0):
        """The report of an exception, with those that it came from."""
        newest, left_out, oldest = self._chain(failure)
        before = None
        for one in reversed(oldest):
            before = self._one(one, before, depth)
        for number, one in enumerate(reversed(newest)):
            before = self._one(one, before, depth, left_out if number == 0 else 0)
        return before

    def _chain(self, one):
        """The exceptions that `one` came from, itself the first, and how many are left out before the oldest."""
        newest, oldest, left_out = [], deque(), 0
        while one is not None:
            self._seen.add(id(one))
            (newest if len(newest) < NEWEST else oldest).append(one)
            if len(oldest) > OLDEST:
                oldest.popleft()
                left_out += 1
            one = self._before(one)
        return newest, left_out, oldest

    def _before(self, one):
        for before in (one.__cause__, None if one.__suppress_context__ else one.__context__):
            if before is not None and id(before) not in self._seen:
                return before
        return None

    def _one(self, one, before, depth, left_out=0):
        self._told += 1
        # With a set of those seen it follows no chain: all of a long one would be too much.
        report = traceback.TracebackException(
            type(one), one, one.__traceback__, limit=0, max_group_width=GROUP_WIDTH, max_group_depth=GROUP_DEPTH, _seen=set())
        if before is not None and _says_no_more(before, report):
            before = before.__cause__ or before.__context__
        is_cause = before is not None and one.__cause__ is not None
        report.__cause__, report.__context__ = (before, None) if is_cause else (None, before)
        report.stack = _stack_of(one.__traceback__, left_out) or None
        report.exceptions = None
        if isinstance(one, BaseExceptionGroup) and depth <= GROUP_DEPTH + 1 and self._told < TOLD_MAX:
            # The others are counted only.
            told = [self.of(inner, depth + 1) for inner in one.exceptions[:GROUP_WIDTH]]
            report.exceptions = told + [None] * (len(one.exceptions) - len(told))
        return report


def _says_no_more(before, report):
    """Is true where a library has caught `before` in its own frames alone, and raised its words again: pandas' KeyError, and
    the three failures that lead to that of requests."""
    if before.stack or before.exceptions:
        return False
    old, new = ("".join(one.format_exception_only()).strip() for one in (before, report))
    words = old.partition(": ")[2]
    return old == new or len(words) >= _WORDS_LEAST and words in new


def _stack_of(step, left_out):
    stack = UserStack()
    if left_out:
        stack.append(f"  ... {left_out:,} more exceptions, between the one above and this one, left out here\n")
    limit = getattr(sys, "tracebacklimit", None)
    if limit is None or limit > 0:
        stack.extend(piece if isinstance(piece, str) else _frame_of(piece) for piece in frame_runs.pieces(step))
    return stack


def _frame_of(step):
    frame = traceback.extract_tb(step, limit=1)[0]
    if not imported_files.has_changed(frame.filename):
        return frame
    # The line that stands there now is not the one that ran.
    return traceback.FrameSummary(frame.filename, frame.lineno, frame.name, lookup_line=False, line="")
