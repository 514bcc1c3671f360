"""Standard streams that a run cannot break for the next one."""

import io
import os
import sys

from hutch_runner.descriptors import high_copy


class Stream(io.TextIOWrapper):
    """A class of Python's, so that Streams.become() can make another one of it."""


class Streams:
    """Keeps descriptors 1 and 2 and the objects on top; `renew()` puts them back."""

    def __init__(self):
        self._kept = {fd: high_copy(fd) for fd in (1, 2)}
        self._objects = {}
        self.renew()

    def renew(self):
        for fd, name in ((1, "stdout"), (2, "stderr")):
            try:
                os.dup2(self._kept[fd], fd)
            except OSError:
                pass  # user code closed ours too: nothing left to put back
            if not self._usable(fd):
                self._objects[fd] = _line_buffered(fd)
            setattr(sys, name, self._objects[fd])
            setattr(sys, f"__{name}__", self._objects[fd])
        if sys.stdin is None or sys.stdin.closed:  # exit() closes it
            self._renew_stdin()

    def _renew_stdin(self):
        try:
            sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(os.open(os.devnull, os.O_RDONLY))))
        except OSError:
            pass  # nothing can be opened any more: the next run tries it again

    def _usable(self, fd):
        try:
            return not self._objects[fd].closed
        except (KeyError, ValueError):  # not made yet; detached
            return False

    def become(self, kind):
        """Makes the streams ones of this class, a subclass of Stream without attributes of its own."""
        for stream in self._objects.values():
            stream.__class__ = kind

    def flush(self):
        """Everything the run has written is in the pipes afterwards."""
        for stream in {id(s): s for s in (sys.stdout, sys.stderr, *self._objects.values())}.values():
            try:
                stream.flush()
            except Exception:  # closed, replaced by anything, or a pipe without a reader
                pass


def _line_buffered(fd):
    # closefd=False: sys.stdout.close() must not free the number for the next file.
    raw = io.FileIO(fd, "w", closefd=False)
    return Stream(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)
