"""Drives one language runner outside a box, as hutch-box does inside: pipes as descriptors 3 and 4."""

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

RUNNERS = Path(__file__).resolve().parents[2] / "sandbox" / "runners"
PROGRAMS = {
    "python": ["/usr/bin/python3", str(RUNNERS / "python/runner.py")],
    "javascript": ["/usr/bin/node", "--no-warnings", str(RUNNERS / "javascript/runner.mjs")],
    "sql": ["/usr/bin/python3", str(RUNNERS / "sql/runner.py")],
}
DEADLINE_SECONDS = 60  # for what takes milliseconds: on two busy, shared processors


def environment(home):
    """Returns what a box gives its processes, with the paths of a test's own directory."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb",
            "MPLBACKEND": "Agg", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
            "TMPDIR": str(home / "tmp"), "HUTCH_STATE_DIR": str(home / "state"), "HUTCH_DATA_DIR": str(home / "data")}


@dataclass
class Ending:
    """It holds what a run came to."""

    done: dict
    outputs: list = field(default_factory=list)
    images: list = field(default_factory=list)
    parts: list = field(default_factory=list)  # the long forms of each output: {name: bytes}
    stdout: str = ""
    stderr: str = ""

    @property
    def ok(self):
        return self.done["ok"]

    @property
    def error(self):
        return self.done.get("error")

    @property
    def main(self):
        """The main result, or None."""
        return next((o for o in self.outputs if o["is_main_result"]), None)

    @property
    def text(self):
        return self.main["text"] if self.main else None


class Keeper:
    """Takes the snapshots of one runner after the other, and gives the last to the next."""

    def __init__(self, path, bytes_max=256 << 20):
        self.path = Path(path)
        self.bytes_max = bytes_max
        self.is_older = False  # as a hutch-box that a newer one has replaced on the disk: it goes on, and starts newer runners
        self.reads = self._answers = -1
        self.large = 0  # the number of the file of large values that is kept
        self.large_path = self.path.with_suffix(".large")
        self._unread = b""
        self.theirs = []

    def give(self, waits=True):
        for fd in (self.reads, self._answers):
            if fd >= 0:
                os.close(fd)
        self.reads, takes = os.pipe()
        answers, self._answers = os.pipe()
        self._unread = b""
        files = [path for path in (self.path, self.large_path) if self.path.exists() and path.exists()]
        of_large = len(files) - 1 if files else 0
        os.write(self._answers, b"%d/%d " % (self.bytes_max, of_large) if self.is_older else b"0/%d/%d " % (of_large, self.bytes_max))
        self.theirs = [takes, answers]
        for fd in self.theirs:
            os.set_blocking(fd, waits)
        return [*self.theirs, *(os.open(path, os.O_RDONLY) for path in files)]

    def given(self):
        """They are the runner's now."""
        for fd in self.theirs:
            os.close(fd)
        self.theirs = []

    def hear(self, seconds):
        """Takes what is there: nobody who writes a snapshot waits for room in the pipe."""
        if self.reads >= 0 and select.select([self.reads], [], [], seconds)[0]:
            self._unread += os.read(self.reads, 1 << 20)

    def packet(self):
        """The next one: its letter and content."""
        while len(self._unread) < 3 or len(self._unread) < 3 + int.from_bytes(self._unread[1:3], "little"):
            assert select.select([self.reads], [], [], DEADLINE_SECONDS)[0], "no snapshot came"
            read = os.read(self.reads, 1 << 20)
            assert read, "nobody can write any more"
            self._unread += read
        size = 3 + int.from_bytes(self._unread[1:3], "little")
        assert size <= select.PIPE_BUF
        packet, self._unread = self._unread[:size], self._unread[size:]
        return packet[:1], packet[3:]

    def take_bytes(self):
        """Waits for a snapshot; returns how many bytes all that is kept has."""
        self.take()
        return sum(path.stat().st_size for path in (self.path, self.large_path) if path.exists())

    def has_nothing(self):
        return not self._unread and not select.select([self.reads], [], [], 0)[0]

    def take(self):
        """Waits for a snapshot; returns its bytes, or None for one of nothing."""
        parts = {}
        while True:
            letter, content = self.packet()
            if letter == b"N":
                self.large = 0
                self.answer()
                for path in (self.path, self.large_path):
                    path.unlink(missing_ok=True)
                return None
            if letter == b"B":
                self.last_begin = content
                parts = {b"D": []}
            elif letter == b"L":
                self.large = int(content)
                parts[b"A"] = []
            elif letter in b"DA":
                parts[letter].append(content)
            elif letter == b"E":
                self.last_end = content
                return self._keep(content, *(b"".join(parts[letter]) if letter in parts else None for letter in (b"D", b"A")))

    def _keep(self, end, whole, large):
        size, _, needed, *_ = (*map(int, end.split()), 0, 0)
        assert size == len(whole) + len(large or b"")
        assert needed in (0, self.large)
        for path, content in ((self.large_path, large), (self.path, whole)):
            if content is not None:
                fresh = path.with_suffix(".new")  # a mapped file stays as it is
                fresh.write_bytes(content)
                fresh.rename(path)
        if not needed:
            self.large_path.unlink(missing_ok=True)
        self.large = needed
        self.answer()
        return whole

    def answer(self):
        """The next may come at once."""
        os.write(self._answers, b"0/%d " % self.large if self.is_older else b"0/%d/%d " % (self.large, self.bytes_max))


class RunnerClient:
    """A started runner. Use as a context manager."""

    def __init__(self, language, home, cwd=None, extra_env=None, program=None, forks=None, keeper=None):
        self.language = language
        self.home = Path(home)
        self.cwd = Path(cwd or self.home / "workspace")
        for folder in (self.home / "state", self.home / "data", self.home / "tmp", self.cwd):
            folder.mkdir(parents=True, exist_ok=True)
        their_input, self._to_runner = os.pipe()
        self._from_runner, their_output = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()

        ends = their_input, their_output, out_write, err_write
        self._keeper = keeper  # as hutch-box's kept_state, of descriptors 5 and 6
        start = self._start if forks is None else lambda *ends: self._fork(forks, *ends)
        self.process = start(program or PROGRAMS[language], extra_env or {}, *ends)
        for end in ends:
            os.close(end)
        self._incoming = {self._from_runner: bytearray(), out_read: bytearray(), err_read: bytearray()}
        self._open = set(self._incoming)
        self._out, self._err = out_read, err_read
        self.runs = 0
        self.ready = None

    def _start(self, program, extra_env, channel_in, channel_out, out, err):
        kept = self._keeper.give(waits=self.language != "javascript") if self._keeper else []

        def place_channel():  # in the child: first out of the way of the places
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in (channel_in, channel_out, *kept)]
            for place, fd in enumerate(high, 3):
                os.dup2(fd, place, inheritable=True)
                os.close(fd)

        started = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=self.cwd,
                                   env={**environment(self.home), **extra_env}, close_fds=False, preexec_fn=place_channel,
                                   start_new_session=True)
        if self._keeper:
            self._keeper.given()
        return started

    def _fork(self, forks, _program, extra_env, channel_in, channel_out, out, err):
        with open(os.devnull) as null:
            return forks.start(self.language, self.cwd, {**environment(self.home), **extra_env},
                               [null.fileno(), out, err, channel_in, channel_out])

    def __enter__(self):
        self.ready, _ = self.receive()
        assert self.ready["type"] == "ready"
        return self

    def __exit__(self, *_failure):
        self.close_channel()
        try:
            if self._keeper:
                eventually(self._has_ended, "the runner ends")
            self.wait_for_end()
        except (subprocess.TimeoutExpired, TimeoutError):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            if _failure == (None, None, None):
                raise AssertionError("the runner did not end with its channel") from None
        finally:
            # Processes that it has started end with it, as in a box.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            os.close(self._out)
            os.close(self._err)

    def close_channel(self):
        if self._to_runner < 0:
            return
        self._open.discard(self._from_runner)
        os.close(self._to_runner)
        os.close(self._from_runner)
        self._to_runner = self._from_runner = -1

    def send(self, message):
        self.send_frame(b"J", json.dumps(message).encode())

    def send_frame(self, kind, payload):
        self.send_bytes(len(payload).to_bytes(4, "little") + kind + payload)

    def send_bytes(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self._to_runner, view):]

    def _pump(self, enough):
        """Reads channel, stdout and stderr, as they come, until `enough()`."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not enough():
            ready, _, _ = select.select(list(self._open), [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"nothing in time; stderr: {self._incoming[self._err]!r}")
            # The channel last: its end may come together with what was said before it.
            for fd in sorted(ready, key=lambda fd: fd == self._from_runner):
                if fd == self._from_runner and enough():
                    return
                self._read(fd)

    def _read(self, fd):
        data = os.read(fd, 1 << 20)
        if not data:
            self._open.discard(fd)
            if not self._open or fd == self._from_runner:
                raise EOFError(f"the runner ended; stderr: {self.take_stderr()}")
        self._incoming[fd] += data

    def _take(self, fd):
        while fd in self._open and select.select([fd], [], [], 0)[0]:
            data = os.read(fd, 1 << 20)
            self._incoming[fd] += data
            if not data:
                self._open.discard(fd)
        text = self._incoming[fd].decode("utf-8", "replace")
        self._incoming[fd].clear()
        return text

    def take_stdout(self):
        """All so far. Complete after "done": runners write everything before they say so."""
        return self._take(self._out)

    def take_stderr(self):
        return self._take(self._err)

    def wait_for_stdout(self, text):
        self._pump(lambda: text.encode() in self._incoming[self._out])

    def wait_for_stderr(self, text):
        self._pump(lambda: text.encode() in self._incoming[self._err])

    def _exactly(self, size):
        buffer = self._incoming[self._from_runner]
        self._pump(lambda: len(buffer) >= size)
        data = bytes(buffer[:size])
        del buffer[:size]
        return data

    def receive(self):
        """The next message and the blob before it, if there was one."""
        blob = None
        while True:
            head = self._exactly(5)
            payload = self._exactly(int.from_bytes(head[:4], "little"))
            if head[4:] == b"B":
                blob = payload
            else:
                assert head[4:] == b"J", head
                return json.loads(payload, parse_constant=_no_constant), blob

    def start(self, code, env=None, language=None, after_interrupt=False, background=False):
        self.runs += 1
        self.send({"type": "run", "run_id": f"run_{self.runs}", "code": code, "env": env or {},
                   "language": language or self.language, "after_interrupt": after_interrupt, "background": background})

    def finish(self):
        ending, parts = Ending(done={}), {}
        while True:
            message, blob = self.receive()
            if message["type"] == "part":
                parts[message["format"]] = parts.get(message["format"], b"") + blob
            elif message["type"] == "output":
                ending.outputs.append(message["output"])
                ending.parts.append(parts)
                parts = {}
                if "image" in message:
                    ending.images.append(blob)
            elif message["type"] == "done":
                ending.done = message
                ending.stdout, ending.stderr = self.take_stdout(), self.take_stderr()
                return ending

    def run(self, code, env=None, language=None, background=False):
        self.start(code, env, language, background=background)
        return self.finish()

    def interrupt(self):
        """As the box does it: a frame for runners that want one, else the signal."""
        if self.ready["interrupt"] == "frame":
            self.send({"type": "interrupt"})
        else:
            os.kill(self.process.pid, signal.SIGINT)

    def wait_until_idle(self):
        """Until signals sent so far have been dealt with: none pending, and asleep again."""
        def idle():
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            return int(fields["ShdPnd"], 16) == 0 and fields["State"].split()[0] == "S"
        eventually(idle, "the runner did not come to rest")

    def wait_until_busy(self):
        """Until it has computed for a while: what was started is in its midst."""
        def ticks():
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return int(fields[11])  # utime
        before = ticks()
        eventually(lambda: ticks() >= before + 5, "the runner does nothing")

    def _has_ended(self):
        self._keeper.hear(0)
        return self.process.poll() is not None

    def wait_for_end(self):
        return self.process.wait(DEADLINE_SECONDS)


def _no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def eventually(condition, what):
    """Polls for what another process does in its own time."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.005)


def chart_of(runner, code):
    """The data of the figure that `code` draws; None for one without."""
    ending = runner.run(f"{code};")
    assert ending.ok, ending.stderr
    return ending.outputs[0].get("chart")
