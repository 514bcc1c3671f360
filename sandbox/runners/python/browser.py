"""The environment's browser, for what nothing else can draw: started when it is first needed, kept for the session.

It is spoken to in the Chrome DevTools Protocol (https://chromedevtools.github.io/devtools-protocol/) over two pipes: JSON
texts, each ended by a zero byte. It ends when it is told to, or when nobody has its pipes open any more, as after the end of
this interpreter. It is no child of the interpreter: code that waits for its children is not to find one that it has not started.
"""

import _signal as signal
import _thread
import fcntl
import json
import os
import select
import time

from hutch_runner.folders import make_folder, remove_folder

PROGRAM = "/environment/bin/chromium"
KEPT_BYTES_MAX = 300_000_000  # one that has more than that is ended: when it has drawn, before it draws again, and at the end of each run
BUSY_BYTES_MAX = 1_200_000_000  # while it draws: a surface in 3D takes 500 MB, the largest figures (plotly_pictures.py) a gigabyte
ROOM_BYTES_MIN = 400_000_000  # without so much memory left it would be the session's processes that end
TRIED_AGAIN_SECONDS = 60  # after a start that failed
_FLAGS = ("--headless", "--single-process", "--remote-debugging-pipe", "--no-startup-window", "--no-pings", "--disable-extensions",
          "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
          "--font-render-hinting=none", "--hide-scrollbars")
# Variables that a run has for itself are none of the browser's, which stays.
_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR", "FONTCONFIG_FILE")
# Descriptors 3 and 4 are what --remote-debugging-pipe means; the number of the process comes through 5. Where memory runs
# out all the same, the browser is what ends.
_START = 'echo 1000 > /proc/self/oom_score_adj; "$@" 5>&- & echo $! >&5'
_START_SECONDS = 20
_END_SECONDS = 2
_LOOK_SECONDS = 0.1  # at its memory, while it draws
_READ_BYTES = 1 << 20
_WORDS_BYTES = 300  # that an error gives of its last line


class NoBrowser(Exception):
    """The environment has none, or it did not do what it was asked; the words say which."""


class _Ended(NoBrowser):
    def __init__(self, last_words=""):
        super().__init__(f"the browser has ended: {last_words}" if last_words else "the browser has ended")


def is_there():
    return os.access(PROGRAM, os.X_OK)


class Page:
    """A page of a browser of its own, which has executed `scripts()`: an iterable of JavaScript texts.

    Safe from several threads, and after a fork: a copy of this process gets a browser of its own.
    """

    def __init__(self, scripts):
        self._scripts = scripts
        self._failed_at = None
        self._forget()
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def evaluate(self, expression, seconds):
        """The value of the expression, or of the promise that it is; NoBrowser when that fails or takes longer."""
        return self._ask(lambda connection: connection.evaluate(expression), seconds)

    def print_svg(self, svg, width, height, seconds):
        """The picture as a PDF of one page, in base64; sizes in CSS pixels."""
        return self._ask(lambda connection: connection.print_svg(svg, width, height), seconds)

    def _ask(self, question, seconds):
        with self._lock:
            try:
                return question(self._connected(seconds))
            except BaseException as failure:  # whatever is still to come from it would be taken for the next answer
                self._end()
                if isinstance(failure, (OSError, ValueError)):
                    raise NoBrowser(f"the browser failed: {failure}") from failure
                raise
            finally:
                self._end_if_large()

    def look(self):
        """Ends a browser that has grown while nobody asked it anything; who asks it looks at it, too."""
        if self._connection is not None and self._lock.acquire(blocking=False):
            try:
                self._end_if_large()
            finally:
                self._lock.release()

    def end(self):
        with self._lock:
            self._end()

    def _end_if_large(self):
        if self._connection is not None and self._connection.is_large():
            self._end()

    def _connected(self, seconds):
        self._end_if_large()
        if self._connection is None:
            self._check_start()
            try:
                try:
                    self._connection = _Connection(self._scripts)
                except _Ended:  # now and then it ends as it starts, on a machine that is busy with others
                    self._connection = _Connection(self._scripts)
            except (NoBrowser, OSError, ValueError):
                self._failed_at = time.monotonic()
                raise
        self._connection.deadline = time.monotonic() + seconds
        return self._connection

    def _check_start(self):
        if not is_there():
            raise NoBrowser("this environment has no browser")
        if self._failed_at is not None and time.monotonic() < self._failed_at + TRIED_AGAIN_SECONDS:
            raise NoBrowser("the browser did not start a moment ago")
        free = _free_bytes()
        if 0 < free < ROOM_BYTES_MIN:
            raise NoBrowser(f"a browser takes {ROOM_BYTES_MIN // 1_000_000} MB, and the session has {free // 1_000_000} MB of memory left")

    def _leave_to_parent(self):
        if self._connection is not None:
            self._connection.leave()
        self._forget()

    def _forget(self):
        self._connection = None
        self._lock = _thread.allocate_lock()  # the parent's may be held by a thread that this process has not

    def _end(self):
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.end()


class _Connection:
    def __init__(self, scripts):
        self.deadline = time.monotonic() + _START_SECONDS
        self._number = 0
        self._received = bytearray()
        self._searched = 0  # as far as there is no zero byte
        self._descriptors = []
        self._process = None
        self._pid = 0  # none yet
        # By this directory the box knows which browser is none of the user's (kOwnBrowser).
        self._profile = make_folder("/tmp/.hutch-browser-")
        try:
            self._to, self._from = self._start()
            target = self._call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for script in scripts():
                self.evaluate(script, has_value=False)
        except BaseException:
            self.end()
            raise

    def evaluate(self, expression, has_value=True):
        answer = self._call("Runtime.evaluate", self._session, expression=expression, awaitPromise=True, returnByValue=has_value)
        failure = answer.get("exceptionDetails")
        if failure is not None:
            said = failure.get("exception", {}).get("description") or failure.get("text") or "an exception"
            raise NoBrowser(str(said).partition("\n")[0][:500])
        return answer.get("result", {}).get("value")

    def print_svg(self, svg, width, height):
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        frame = self._call("Page.getFrameTree", session)["frameTree"]["frame"]["id"]
        self._call("Page.setDocumentContent", session, frameId=frame, html=f"<style>body {{margin: 0}} svg {{display: block}}</style>{svg}")
        inch = 96  # https://www.w3.org/TR/css-values-3/#absolute-lengths
        pdf = self._call("Page.printToPDF", session, paperWidth=width / inch, paperHeight=height / inch, printBackground=True,
                         marginTop=0, marginBottom=0, marginLeft=0, marginRight=0, pageRanges="1")["data"]
        self._call("Target.closeTarget", targetId=target)
        return pdf

    def is_large(self):
        return self.memory_bytes() > KEPT_BYTES_MAX

    def memory_bytes(self):
        """0 as long as there is no browser, or none any more."""
        try:
            with open(f"/proc/{self._pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            return 0

    def end(self):
        if self._process is not None:
            try:
                signal.pidfd_send_signal(self._process, signal.SIGKILL)
            except OSError:
                pass  # it has ended by itself
            ending = select.poll()  # until then it holds its memory, and writes into its directory
            ending.register(self._process, select.POLLIN)
            ending.poll(_END_SECONDS * 1000)
        self.leave()
        remove_folder(self._profile)

    def leave(self):
        """Closes this process's ends of it: another one goes on with the browser."""
        descriptors, self._descriptors = self._descriptors, []
        for descriptor in descriptors:
            try:
                os.close(descriptor)
            except OSError:
                pass  # code that has closed all of its descriptors has closed these

    def _call(self, method, session=None, **parameters):
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            request["sessionId"] = session
        self._send(json.dumps(request).encode() + b"\0")
        while True:
            answer = json.loads(self._receive())
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise NoBrowser(str(answer["error"].get("message"))[:500])
                return answer["result"]

    def _send(self, message):
        left = memoryview(message)
        while left:
            self._wait(self._to, select.POLLOUT)
            try:
                left = left[os.write(self._to, left):]
            except BlockingIOError:
                pass
            except BrokenPipeError as failure:
                raise self._ended() from failure

    def _receive(self):
        while (end := self._received.find(b"\0", self._searched)) < 0:
            self._searched = len(self._received)
            self._wait(self._from, select.POLLIN)
            some = os.read(self._from, _READ_BYTES)
            if not some:
                raise self._ended()
            self._received += some
        message = bytes(self._received[:end])
        del self._received[:end + 1]
        self._searched = 0
        return message

    def _ended(self):
        size = os.lseek(self._errors, 0, os.SEEK_END)
        said = os.pread(self._errors, _WORDS_BYTES, max(0, size - _WORDS_BYTES)).decode(errors="replace").strip()
        return _Ended(said.rpartition("\n")[2])

    def _wait(self, descriptor, event):
        waiting = select.poll()
        waiting.register(descriptor, event)
        while not waiting.poll(max(0, min(_LOOK_SECONDS, self.deadline - time.monotonic())) * 1000):
            if time.monotonic() >= self.deadline:
                raise NoBrowser("the browser did not answer in time")
            if self.memory_bytes() > BUSY_BYTES_MAX:
                raise NoBrowser(f"a browser takes more than {BUSY_BYTES_MAX // 1_000_000} MB for it")

    def _start(self):
        """Gives back the descriptors to write to it with, and to read from it."""
        its_input, to = self._pipe()
        from_, its_output = self._pipe()
        number, its_number = self._pipe()
        self._errors = self._above(os.memfd_create("hutch-browser-errors"))
        given = [(os.POSIX_SPAWN_OPEN, descriptor, "/dev/null", flags, 0) for descriptor, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY))]
        given += [(os.POSIX_SPAWN_DUP2, ours, its)
                  for ours, its in ((self._errors, 2), (its_input, 3), (its_output, 4), (its_number, 5))]
        environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
        arguments = ["sh", "-c", _START, "sh", PROGRAM, f"--user-data-dir={self._profile}", *_FLAGS]
        shell = os.posix_spawn("/bin/sh", arguments, environment, file_actions=given, setsid=True)
        for descriptor in (its_input, its_output, its_number):
            self._close(descriptor)
        try:
            os.waitpid(shell, 0)
        except ChildProcessError:
            pass  # the user's code waits for all of its children, or ignores them
        self._wait(number, select.POLLIN)
        self._pid = int(os.read(number, 100))
        self._close(number)
        try:
            self._process = os.pidfd_open(self._pid)
        except ProcessLookupError as failure:
            raise self._ended() from failure
        self._descriptors.append(self._process)
        os.set_blocking(to, False)
        return to, from_

    def _pipe(self):
        return [self._above(end) for end in os.pipe()]

    def _above(self, descriptor):
        """Moves it to a number that none of the descriptors has that the browser is given."""
        try:
            moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
            self._descriptors.append(moved)
            return moved
        finally:
            os.close(descriptor)

    def _close(self, descriptor):
        self._descriptors.remove(descriptor)
        os.close(descriptor)


def _free_bytes():
    """Memory that the session has left; 0 where that is not known."""
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":") for line in file)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, ValueError, KeyError):
        return 0
