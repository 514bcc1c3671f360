"""Runners of Python and SQL for tests as sessions have them: copies of a process that has imported their libraries."""

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time

ORIGIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "runner_origin.py")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
MESSAGE_BYTES = 64 * 1024


class RunnerForks:
    """Starts copies. Of each it has what a Popen has: pid, poll(), wait(), returncode."""

    def __init__(self, python):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._home = tempfile.TemporaryDirectory()  # for what libraries keep of their first use
        with theirs:
            environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MPLBACKEND": "Agg", "HOME": self._home.name,
                           "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", **dict.fromkeys(THREADS, "1")}
            self._server = subprocess.Popen([str(python), ORIGIN], stdin=theirs, env=environment)
        self._statuses = {}

    def start(self, language, cwd, environment, descriptors):
        """`descriptors` become 0, 1, 2, … of the copy."""
        request = {"language": language, "cwd": str(cwd), "environment": {**environment, **dict.fromkeys(THREADS, "1")}}
        socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)
        while True:
            message = self._receive(None)
            if "started" in message:
                return Fork(self, message["started"])

    def status_of(self, pid, seconds):
        """As wait() has it; None: it has not ended by then."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while pid not in self._statuses:
            message = self._receive(None if deadline is None else max(0, deadline - time.monotonic()))
            if message is None:
                return None
        return self._statuses[pid]

    def _receive(self, seconds):
        if not select.select([self._socket], [], [], seconds)[0]:
            return None
        text = self._socket.recv(MESSAGE_BYTES)
        if not text:
            raise EOFError("what runners are copies of has ended")
        message = json.loads(text)
        if "ended" in message:
            self._statuses[message["ended"]] = message["status"]
        return message

    def close(self):
        self._socket.close()
        self._server.wait(60)
        self._home.cleanup()


class Fork:
    def __init__(self, forks, pid):
        self._forks, self.pid, self.returncode = forks, pid, None

    def poll(self):
        return self._look(0)

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout=None):
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired("a runner", timeout)
        return self.returncode

    def _look(self, seconds):
        if self.returncode is None:
            self.returncode = self._forks.status_of(self.pid, seconds)
        return self.returncode
