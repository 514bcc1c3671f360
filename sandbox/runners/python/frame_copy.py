"""A copy of this interpreter that answers questions about its DataFrames (../database/frame_queries.py asks them).

It has them as they were when it was forked, and ends when the interpreter runs again, when whoever asks has gone,
or after a while without a question.
"""

import _signal as signal
import fcntl
import json
import os
import pickle
import select

SECONDS_WITHOUT_QUESTION = 30
ROWS_MAX = 10_000  # more are no answer that is looked at: the caller reads the DataFrames itself


class FrameCopy:
    def __init__(self, connection, lease, namespace):
        """`lease`: a descriptor that is at its end once the interpreter runs again, or -1: then there is one question."""
        self._connection = connection
        self._lease = lease
        self._namespace = namespace
        self._engine = None
        self._known = {}  # names as they are written, by those that DuckDB tells apart

    def serve(self, question):
        signal.alarm(0)  # a question may take as long as its run
        while question:
            with _EndsWithCaller(self._connection):
                reply, data = self._answer(question)
            self._connection.sendall(json.dumps(reply).encode() + b"\n" + data)
            question = self._next() if self._lease >= 0 else None

    def _next(self):
        poll = select.poll()
        poll.register(self._lease, 0)  # its end only
        poll.register(self._connection, select.POLLIN)
        data = b""
        while not data.endswith(b"\n"):
            ready = [number for number, _ in poll.poll(SECONDS_WITHOUT_QUESTION * 1000)]
            if ready != [self._connection.fileno()]:
                return None
            part = self._connection.recv(1 << 16)
            if not part:
                return None
            data += part
        return json.loads(data)

    def _answer(self, question):
        try:
            os.chdir(question["folder"])
            if len({name.lower() for name in question["names"]}) < len(question["names"]):
                return {"ambiguous": True}, b""
            for name in question["names"]:
                if not self._has(name):
                    return {"missing": name}, b""
            self._engine.execute(question["query"])
            columns = [(column[0], str(column[1])) for column in self._engine.description or ()]
            rows = self._engine.fetchmany(ROWS_MAX + 1)
            if len(rows) > ROWS_MAX:
                self._engine.execute("SELECT 1")  # lets go of the rest
                return {"large": True}, b""
            data = pickle.dumps((columns, rows))
            return {"ok": True, "size": len(data)}, data
        except Exception as failure:  # the caller finds out itself, and tells
            return {"failed": str(failure)[:1000]}, b""

    def _has(self, name):
        from hutch_runner import data_frames, duckdb_start
        if self._known.get(name.lower()) == name:
            return True
        frame = data_frames.as_frame(self._namespace.get(name))
        if frame is None:
            return False
        if self._engine is None:
            self._engine = duckdb_start.connect()
        data_frames.register(self._engine, name, frame)
        self._known[name.lower()] = name
        return True


class _EndsWithCaller:
    """While it lasts, the end of the connection ends this process, whatever it is busy with (fcntl(2), F_SETOWN)."""

    def __init__(self, connection):
        self._file = connection.fileno()
        self._flags = fcntl.fcntl(self._file, fcntl.F_GETFL)
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
        fcntl.fcntl(self._file, fcntl.F_SETOWN, os.getpid())

    def __enter__(self):
        fcntl.fcntl(self._file, fcntl.F_SETFL, self._flags | os.O_ASYNC)

    def __exit__(self, *_):
        fcntl.fcntl(self._file, fcntl.F_SETFL, self._flags)
