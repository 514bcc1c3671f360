"""Questions about DataFrames of the session's Python and nothing else, which a copy of it answers where they lie.

The copy (../python/frame_copy.py) stays for the next question as long as Python does not run: what asks often
has the DataFrames handed over to it once. Whatever stands in the way, the answer is None: the caller then has
the DataFrames come to it, and tells what is wrong with them or with the statement.
"""

import io
import json
import math
import os
import pickle
import time

from hutch_runner import duckdb_start
from hutch_runner.folders import remove_folder
from hutch_runner.python_frames import IDLE_SECONDS, Replies, busy_words, connect, saying_what_it_waits_for

ANSWER_BYTES_MAX = 64 << 20
END_SECONDS = 1
# DuckDB makes values of these types, beside those that need no name.
_VALUES = {("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")} | {
    ("decimal", "Decimal"), ("uuid", "UUID"), ("uuid", "SafeUUID"), ("pytz", "_p"), ("pytz", "_UTC")}


class FrameQueries:
    def __init__(self):
        self._connection = None
        self._replies = None
        self._copy = None  # its process

    def ask(self, sql, names, check_interrupt):
        """Columns as pairs of name and type, and rows; or None."""
        question = {"query": sql, "names": names, "folder": _working_directory()}
        for is_new in (False, True):
            if not is_new and self._connection is None:
                continue
            try:
                reply = self._put(question, is_new, check_interrupt)
                return _answer_of(reply, self._replies) if reply else None
            except (OSError, ValueError, KeyError, TypeError, pickle.UnpicklingError, EOFError):
                self.close()  # it has ended since, or what came is no answer
            except BaseException:
                self.close()  # which ends what it was busy with
                raise
        return None

    def close(self):
        if self._connection is not None:
            self._connection.close()
            _remove_spilled(self._copy)
        self._connection = self._replies = self._copy = None

    def _put(self, question, is_new, check_interrupt):
        if is_new:
            import socket
            self._connection = connect(socket)
            self._replies = Replies(self._connection, check_interrupt)
        self._replies.check_interrupt = saying_what_it_waits_for(check_interrupt) if is_new else check_interrupt
        self._connection.sendall(json.dumps(question).encode() + b"\n")
        if is_new:
            accepted = self._replies.next(IDLE_SECONDS)
            if accepted is None:
                raise LookupError(f"no such table: {question['names'][0]}; if it is a DataFrame: {busy_words()}")
            self._copy = accepted.get("process")
            self._replies.check_interrupt = check_interrupt
        return self._replies.next(math.inf)


def _answer_of(reply, replies):
    if reply.get("ok") is not True or not 0 <= reply["size"] <= ANSWER_BYTES_MAX:
        return None
    columns, rows = _Values(io.BytesIO(replies.bytes(reply["size"]))).load()
    return [(str(name), str(kind)) for name, kind in columns], list(rows)


def _remove_spilled(process):
    """Removes what DuckDB had moved out of memory, which outlasts its process."""
    folder = duckdb_start.spill_directory(process)
    deadline = time.monotonic() + END_SECONDS
    while os.path.isdir(folder):
        if _is_over(process):
            return remove_folder(folder)
        if time.monotonic() > deadline:
            return
        time.sleep(0.001)


def _is_over(process):
    """It has no memory any more, though its parent may not have waited for it yet."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as command:
            return not command.read(1)
    except OSError:
        return True


class _Values(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) in _VALUES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


def _working_directory():
    try:
        return os.getcwd()
    except OSError:
        return "/"


class Rows:
    """Gives rows that are all there as an Answer gives its rows."""

    def __init__(self, rows):
        self._rows, self._next = rows, 0

    def fetchmany(self, size):
        part = self._rows[self._next:self._next + size]
        self._next += len(part)
        return part
