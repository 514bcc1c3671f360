"""A small MCP client over stdio that hides nothing: tests see every message."""

import json
import os
import pathlib
import queue
import signal
import subprocess
import threading
import time

import zygote
from server_process import PATIENCE, ServerProcess
from wire_schema import wrong_message

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEGACY = "2025-06-18"
MODERN = "2026-07-28"


def hutch_binary():
    return os.environ.get("HUTCH_BINARY") or str(ROOT / "build/release/bin/hutch")


class ToolError(Exception):
    """The tool answered with isError."""


class Client:
    """One `hutch stdio`, at home in its state directory. Use as a context manager; kill() ends it the hard way."""

    def __init__(self, state, *arguments, revision=LEGACY, env=None, binary=None, popen=None):
        self.state = state
        self.revision = revision
        self.capabilities = {}
        self._next_id = 0
        self._replies = {}
        self._asked = {}  # id to revision and method
        self.wrong = []  # messages that were sent against the schema of its revision
        self._sending = threading.Lock()
        self._condition = threading.Condition()
        self.notifications = queue.Queue()
        self.errors = []  # lines of its standard error
        self.stray = []  # replies nobody asked for
        self._ended = False  # nothing more will come
        # The caller's own home is not for tests: what is shared lands in it, and its configuration counts.
        environment = {"PATH": os.environ["PATH"], "HOME": state,
                       "HUTCH_ZYGOTE": "1" if zygote.IS_TESTED else "0",
                       "HUTCH_SPARE_SESSIONS": "0", **(env or {})}
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        self.process = ServerProcess(
            [binary or hutch_binary(), "stdio", "--state-dir", state, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
            **(popen or {}))
        if environment["HUTCH_ZYGOTE"] == "1":
            built = os.path.join(environment.get("HUTCH_ENVIRONMENTS_DIR", ""), "code_interpreter")
            usual = os.readlink(built) if os.path.islink(built) else ""
            zygote.wait_until_warm(state, self.process, usual)
        threading.Thread(target=self._read, daemon=True).start()
        self._errors_reader = threading.Thread(target=self._read_errors, daemon=True)
        self._errors_reader.start()

    def __enter__(self):
        if self.revision != MODERN:
            self.initialized = self.request("initialize", {
                "protocolVersion": self.revision, "capabilities": self.capabilities,
                "clientInfo": {"name": "test", "version": "1"}})
            self.notify("notifications/initialized")
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self, timeout=60, also=()):
        """Ends its input, and looks at its end (ServerProcess.end)."""
        code = self.process.end(self._end_input, timeout, self._said, also)
        assert not self.wrong, self.wrong
        return code

    def _end_input(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass

    def _said(self):
        self._errors_reader.join(10)  # a box that has its end, too, may hold it open
        return b"".join(self.errors[-40:]).decode(errors="replace")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60 * PATIENCE)

    @property
    def alive(self):
        return self.process.poll() is None

    def send_raw(self, data):
        with self._sending:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def send(self, message):
        self.send_raw(json.dumps(message).encode() + b"\n")

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def start(self, method, params=None):
        """Sends a request without waiting; returns its id."""
        with self._sending:
            self._next_id += 1
            request_id = self._next_id
        params = dict(params or {})
        if self.revision == MODERN:
            params["_meta"] = {**params.get("_meta", {}),
                               "io.modelcontextprotocol/protocolVersion": MODERN,
                               "io.modelcontextprotocol/clientCapabilities": self.capabilities}
        self._asked[request_id] = (self.revision, method)
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def reply(self, request_id, timeout=90):
        with self._condition:
            came = self._condition.wait_for(
                lambda: request_id in self._replies or self._ended, timeout * PATIENCE)
            if request_id not in self._replies:
                why = "no reply in time" if not came else f"server ended: {b''.join(self.errors)!r}"
                raise AssertionError(why)
            return self._replies.pop(request_id)

    def is_answered(self, request_id):
        with self._condition:
            return request_id in self._replies

    def request(self, method, params=None, timeout=90):
        reply = self.reply(self.start(method, params), timeout)
        assert "error" not in reply, reply
        return reply["result"]

    def start_tool(self, tool, /, **arguments):
        return self.start("tools/call", {"name": tool, "arguments": arguments})

    def result(self, tool, /, **arguments):
        """The whole CallToolResult."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call(self, tool, /, **arguments):
        """structuredContent; ToolError with the text when the tool says isError."""
        result = self.result(tool, **arguments)
        if result["isError"]:
            raise ToolError(result["content"][0]["text"])
        return result["structuredContent"]

    def run(self, code, language="python", **arguments):
        return self.call("run_code", code=code, language=language, **arguments)

    def value(self, code, language="python"):
        """The text of the last value of a run that must complete."""
        run = self.run(code, language)
        assert run["status"] == "completed", run
        return run["outputs"][-1]["text"] if run["outputs"] else None

    def until_ended(self, run_id, timeout=60):
        deadline = time.monotonic() + timeout * PATIENCE
        while time.monotonic() < deadline:
            run = self.call("get_run", run_id=run_id, wait_seconds=10)
            if run["status"] not in ("queued", "running"):
                return run
        raise AssertionError(f"{run_id} has not ended: {run}")

    def until_output(self, run_id, text, timeout=30):
        deadline = time.monotonic() + timeout * PATIENCE
        seen, offset = "", 0
        while text not in seen:
            assert time.monotonic() < deadline, f"{text!r} did not come, but {seen!r}"
            run = self.call("get_run", run_id=run_id, wait_seconds=2, stdout_offset=offset)
            seen, offset = seen + run["stdout"], run["stdout_next_offset"]
        return seen

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            self._check(message)
            with self._condition:
                if isinstance(message, list):
                    self.stray.append(message)
                elif "method" in message:
                    self.notifications.put(message)
                elif isinstance(message.get("id"), int):
                    self._replies[message["id"]] = message
                else:
                    self.stray.append(message)
                self._condition.notify_all()
        with self._condition:
            self._ended = True
            self._condition.notify_all()

    def _check(self, message):
        one = message if isinstance(message, dict) else {}
        revision, method = self._asked.get(one.get("id") if "method" not in one else None,
                                           (self.revision, None))
        if method == "initialize":
            revision = one.get("result", {}).get("protocolVersion", revision)
        if revision == "none":
            return
        why = wrong_message(revision, message, method)
        if why:
            self.wrong.append((why, str(message)[:500]))

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def wait_for_stray(self, count=1, timeout=20):
        with self._condition:
            assert self._condition.wait_for(lambda: len(self.stray) >= count, timeout * PATIENCE), \
                "nothing came"
            return self.stray
