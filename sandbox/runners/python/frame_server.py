"""Lends this interpreter's DataFrames to the other languages of the session.

While the interpreter is idle it listens on a Unix socket, or on loopback in sessions with folders of
the host, which have none. Whoever asks is answered by a child, which
has the DataFrames as they were when it was forked: whatever they are, and however long writing them
takes, the next run can begin.
"""

import _signal as signal  # without the module around it, which costs a millisecond
import os
import sys
import time
from _thread import _count as count_threads

from hutch_runner.json_text import decode as _decode
from hutch_runner.json_text import encode as _encode

CHILD_SECONDS = 120
FORK_SECONDS = 5
REQUEST_BYTES_MAX = 1 << 16
NAMES_MAX = 20
LEASES_MAX = 4

# Bound now: user code may replace anything in the modules it can import.
_open = open
_fork, _exit_process, _waitpid, _kill = os.fork, os._exit, os.waitpid, os.kill


def _name_process():
    """So that it is not taken for a process that the user's code has left running (kOwnFrames)."""
    try:
        with _open("/proc/self/comm", "w") as file:
            file.write("hutch-frames")
    except OSError:
        pass  # no more descriptors: then it is told of


class FrameServer:
    def __init__(self, namespace):
        self._namespace = namespace
        self._folder = os.environ.get("HUTCH_STATE_DIR", "/run/hutch/state")
        self._pid = os.getpid()
        self._socket = None
        self._run_file = -1
        self._leases = []  # one for each copy that waits for another question: this end of a pipe
        os.register_at_fork(after_in_child=self._abandon)

    def fileno(self):
        return -1 if self._socket is None else self._socket.fileno()

    def run_begins(self, run_id):
        """Says who is busy: requests that come now are answered after the run."""
        self._end_leases()
        if self._run_file < 0:
            self._open_run_file()
        self._write_run(run_id)

    def run_is_over(self):
        """To be called when the host has its answer: the first time this takes a while."""
        if self._socket is None and self._run_file >= 0:
            self._listen()
        self._write_run("")

    def _open_run_file(self):
        try:
            path = os.path.join(self._folder, "python.run")
            self._run_file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        except OSError:
            pass  # no state folder, or it is full: SQL says that Python has not run

    def _listen(self):
        import _socket
        for name in ("python.socket", "python.port"):
            try:
                os.unlink(os.path.join(self._folder, name))  # left by an interpreter before this one
            except OSError:
                pass
        try:
            self._socket = self._listen_by_path(_socket)
        except OSError:
            try:
                self._socket = self._listen_on_loopback(_socket)
            except OSError:
                return

    def _listen_by_path(self, _socket):
        kind = _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK
        listening = _socket.socket(_socket.AF_UNIX, kind)
        listening.bind(os.path.join(self._folder, "python.socket"))
        listening.listen(8)
        return listening

    def _listen_on_loopback(self, _socket):
        kind = _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC | _socket.SOCK_NONBLOCK
        listening = _socket.socket(_socket.AF_INET, kind)
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        file = os.open(os.path.join(self._folder, "python.port"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, str(listening.getsockname()[1]).encode())
        finally:
            os.close(file)
        return listening

    def _write_run(self, run_id):
        try:
            if self._run_file >= 0:
                os.pwrite(self._run_file, run_id.encode()[:128].ljust(128), 0)
        except OSError:
            self._run_file = -1  # the code has closed it

    def _end_leases(self):
        for lease in self._leases:
            try:
                os.close(lease)
            except OSError:
                pass  # the code has closed it
        self._leases = []

    def _abandon(self):
        self._end_leases()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def answer(self):
        """Hands the next request to a child of a child: nobody has to wait for its end."""
        import _socket
        try:
            connection = _socket.socket(fileno=self._socket._accept()[0])
        except BlockingIOError:
            return
        except OSError:
            self._socket = None  # the code has closed it; the next run makes another
            return
        lease = end = -1
        try:
            lease, end = self._new_lease()
            child = _fork()
            if child == 0:
                self._be_child(connection, lease, end)
            self._keep_lease(end)
            self._reap(child)
        except OSError as error:
            _say(connection, {"accepted": True})
            _say(connection, {"message": f"Python cannot fork: {error.strerror}"})
        finally:
            connection.close()
            if lease >= 0:
                os.close(lease)

    def _new_lease(self):
        """Makes a pipe, or none: an old copy is not to tell of values that a thread may change meanwhile."""
        return os.pipe2(os.O_CLOEXEC) if count_threads() == 0 else (-1, -1)

    def _keep_lease(self, end):
        if end >= 0:
            self._leases.append(end)
        for old in self._leases[:-LEASES_MAX]:
            os.close(old)
        del self._leases[:-LEASES_MAX]

    def _reap(self, child):
        """It ends at once, unless hooks of user code keep it."""
        deadline = time.monotonic() + FORK_SECONDS
        try:
            while _waitpid(child, os.WNOHANG)[0] == 0:
                if time.monotonic() > deadline:
                    _kill(child, signal.SIGKILL)
                    _waitpid(child, 0)
                    return
                time.sleep(0.0005)
        except ChildProcessError:
            pass  # somebody else has waited for it: a handler of SIGCHLD

    def _be_child(self, connection, lease, end):
        try:
            if end >= 0:
                os.close(end)
            if _fork() == 0:
                _name_process()
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
                signal.alarm(CHILD_SECONDS)
                connection.settimeout(FORK_SECONDS)
                self._serve(connection, lease)
        finally:
            _exit_process(0)

    def _serve(self, connection, lease):
        _say(connection, {"accepted": True, "process": os.getpid()})
        data = b""
        while not data.endswith(b"\n"):
            part = connection.recv(1 << 16)
            data += part
            if not part or len(data) > REQUEST_BYTES_MAX:
                return
        request = _decode(data.decode())
        if "query" in request:
            from hutch_runner.frame_copy import FrameCopy
            FrameCopy(connection, lease, self._namespace).serve(request)
            return
        try:
            reply = self._export(request["name"], request["kind"], request["path"])
        except BaseException as error:
            reply = {"message": f"{type(error).__name__}: {error}"[:1000]}
        _say(connection, reply)

    def _export(self, name, kind, path):
        from hutch_runner import data_frames
        if name not in self._namespace:
            names = [str(n) for n, v in self._namespace.items()
                     if not n.startswith("_") and _is_frame(v)]
            names.sort(key=lambda one: one.lower() != name.lower())  # names that differ by case alone come first
            return {"missing": True, "names": names[:NAMES_MAX]}
        frame = data_frames.as_frame(self._namespace[name])
        if frame is None:
            return {"missing": True, "type": type(self._namespace[name]).__name__}
        data_frames.write_file(frame, kind, path)
        return {"ok": True}


def _is_frame(value):
    return any(isinstance(value, getattr(sys.modules.get(module), name, ()))
               for module, name in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")))


def _say(connection, reply):
    try:
        connection.sendall(_encode(reply).encode() + b"\n")
    except OSError:
        pass  # whoever asked has gone
