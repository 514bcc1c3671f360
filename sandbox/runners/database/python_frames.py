"""DataFrames of the session's Python interpreter, for the other processes of the session.

The interpreter listens on a Unix socket while it is idle (../python/frame_server.py). It may be busy,
not there, or taken apart by the code that it runs: every wait here has an end.
"""

import json
import os
import time

from hutch_runner.engine import FrameSource, near_name, way_to_frame

IDLE_SECONDS = 5  # for a run of Python to end
EXPORT_SECONDS = 120
NAMES_SECONDS, SOON_SECONDS = 1, 0.1  # a note is worth no longer wait
LOOK_SECONDS = 0.1  # between looks at whether this run was interrupted
REPLY_BYTES_MAX = 1 << 20


def state_path(name):
    return os.path.join(os.environ.get("HUTCH_STATE_DIR", "/run/hutch/state"), name)


def connect(socket):
    port = ""
    try:
        with open(state_path("python.port"), encoding="ascii") as file:
            port = file.read(5)
    except (OSError, ValueError):
        pass  # it listens by path
    family, address = (socket.AF_INET, ("127.0.0.1", int(port))) if port.isdecimal() else (
        socket.AF_UNIX, state_path("python.socket"))
    connection = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        connection.settimeout(LOOK_SECONDS)
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


class PythonFrames(FrameSource):
    def __init__(self, kind):
        self._kind = kind  # the format that the engine reads: sqlite or parquet
        self._why = {}
        self._queries = None
        self._names, self._names_of = (), None  # Python's DataFrames are called so, after that run

    def find(self, name, check_interrupt):
        import socket  # sessions without DataFrames need none of this
        self._why.pop(name, None)
        deadline = time.monotonic() + IDLE_SECONDS
        check_while_waiting = saying_what_it_waits_for(check_interrupt)
        while True:
            was_busy = busy_run()  # first: it may come to its end, and listen, before it can be asked for
            try:
                with connect(socket) as connection:
                    return self._ask(connection, name, check_interrupt)
            except OSError:
                # It listens from the end of its first run on.
                if not was_busy:
                    self._why[name] = "; and Python has not run in this session: there are no DataFrames"
                    return None
            check_while_waiting()
            if time.monotonic() > deadline:
                raise LookupError(f"no such table: {name}; if it is a DataFrame: {busy_words()}")
            time.sleep(0.01)

    def query(self, sql, names, check_interrupt):
        if self._queries is None:
            from hutch_runner.frame_queries import FrameQueries
            self._queries = FrameQueries()
        return self._queries.ask(sql, names, check_interrupt)

    def has(self, name):
        last_run = self.version()
        if last_run != self._names_of:
            self._names, self._names_of = _names(self._kind), last_run
        return name in self._names

    def version(self):
        try:
            status = os.stat(state_path("python.run"))  # which each run writes to
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino

    def busy(self):
        return bool(busy_run())

    def why_missing(self, name):
        return self._why.get(name, "")

    def _ask(self, connection, name, check_interrupt):
        import tempfile

        from hutch_runner.data_frames import FrameFile
        handle, path = tempfile.mkstemp(prefix=".hutch-frame-")
        os.close(handle)
        replies = Replies(connection, saying_what_it_waits_for(check_interrupt))
        frame = None
        try:
            request = {"name": name, "kind": self._kind, "path": path}
            connection.sendall(json.dumps(request).encode() + b"\n")
            if replies.next(IDLE_SECONDS) is None:
                raise LookupError(f"no such table: {name}; if it is a DataFrame: {busy_words()}")
            replies.check_interrupt = check_interrupt
            reply = replies.next(EXPORT_SECONDS)
            if reply is None:
                raise LookupError(f"the DataFrame {name} did not come from Python within {EXPORT_SECONDS} seconds")
            if reply.get("ok") is True:
                frame = FrameFile(path)
            elif reply.get("missing") is True:
                self._why[name] = _words_of(name, reply)
            else:
                raise LookupError(f"the DataFrame {name} cannot be a table: {reply.get('message')}")
        except OSError:
            raise LookupError(f"no such table: {name}; and Python, asked for a DataFrame of that name, "
                              "went away") from None
        finally:
            if frame is None:
                os.unlink(path)
        return frame


def _words_of(name, reply):
    kind, names = reply.get("type"), reply.get("names")
    if isinstance(names, list) and (near := near_name(name, map(str, names))):
        return near
    if kind:
        return f"; and in Python that is no DataFrame, but of type {kind}{way_to_frame(name, kind)}"
    if isinstance(names, list) and names:
        return f"; and no DataFrame of that name in Python; those there are: {', '.join(map(str, names))}"
    return "; and no DataFrame in Python"


def _names(kind):
    """Asks for what no variable is called, and learns which names DataFrames have; none where Python is busy."""
    import socket
    deadline = time.monotonic() + SOON_SECONDS
    while busy_run():  # it says that it is not, a moment after its answer
        if time.monotonic() > deadline:
            return ()
        time.sleep(0.005)
    try:
        with connect(socket) as connection:
            replies = Replies(connection, lambda: None)
            connection.sendall(json.dumps({"name": "", "kind": kind, "path": ""}).encode() + b"\n")
            reply = replies.next(NAMES_SECONDS) and replies.next(NAMES_SECONDS)
    except OSError:
        return ()
    names = reply.get("names") if reply else None
    return names if isinstance(names, list) else ()


def busy_run():
    """The run that Python is busy with, or nothing."""
    try:
        with open(state_path("python.run"), encoding="utf-8") as file:
            return file.read(200).strip()
    except (OSError, ValueError):
        return ""


def busy_words():
    run_id = busy_run()
    which = f" with {run_id}" if run_id else ""
    return f"Python is busy{which}, and can be asked for DataFrames only between its runs"


def saying_what_it_waits_for(check_interrupt):
    """So that whoever has given a run too little time for the wait does not take it for slow."""
    def check():
        try:
            check_interrupt()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"it waited for DataFrames: {busy_words()}") from None
    return check


class Replies:
    """Lines of JSON from a connection, each within its time."""

    def __init__(self, connection, check_interrupt):
        self._connection = connection
        self.check_interrupt = check_interrupt
        self._bytes = b""

    def next(self, seconds):
        """None when the time is up."""
        deadline = time.monotonic() + seconds
        while b"\n" not in self._bytes:
            if time.monotonic() > deadline:
                return None
            if len(self._bytes) > REPLY_BYTES_MAX:
                raise OSError("no line")
            self._receive()
        line, _, self._bytes = self._bytes.partition(b"\n")
        try:
            reply = json.loads(line)
        except (ValueError, RecursionError):
            raise OSError("no JSON") from None
        if not isinstance(reply, dict):
            raise OSError("no object")
        return reply

    def bytes(self, count):
        """Returns the bytes that follow a line, once."""
        while len(self._bytes) < count:
            self._receive()
        data, self._bytes = self._bytes[:count], self._bytes[count:]
        return data

    def _receive(self):
        self.check_interrupt()
        try:
            data = self._connection.recv(1 << 16)
        except TimeoutError:
            return
        if not data:
            raise OSError("closed")
        self._bytes += data
