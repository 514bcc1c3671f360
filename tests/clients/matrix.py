"""The clients of the matrix, installed once, and how a test drives one of them.

Each client sits in a process of its own, behind a bridge (bridge.mjs, python_mcp.py) that knows
one exchange: a line asks for a tool or for the list of them, a line answers with what an agent on
that client would see.
"""

import fcntl
import json
import os
import pathlib
import platform
import queue
import shutil
import subprocess
import sys
import threading

from hutch_client import PATIENCE, ROOT

HERE = pathlib.Path(__file__).resolve().parent
INSTALLED = ROOT / "build/clients"

# client: {transport: eras}. "legacy" opens with `initialize`, "auto" asks `server/discover` first
# and takes what is offered, "modern" is held to 2026-07-28. SSE knows no modern era.
CLIENTS = {
    "sdk1": {"stdio": ["legacy"], "http": ["legacy"], "sse": ["legacy"]},
    "client2": {"stdio": ["legacy", "auto", "modern"], "http": ["legacy", "auto", "modern"],
                "sse": ["legacy"]},
    "ai_sdk": {"stdio": ["legacy", "auto"], "http": ["legacy", "auto"], "sse": ["legacy"]},
    "openai_agents": {"stdio": ["auto"], "http": ["auto"], "sse": ["legacy"]},
    "langchain": {"stdio": ["legacy"], "http": ["legacy"], "sse": ["legacy"]},
    "inspector": {"stdio": ["legacy", "auto", "modern"], "http": ["legacy", "auto", "modern"],
                  "sse": ["legacy"]},
    "python_mcp": {"stdio": ["legacy", "auto", "modern"], "http": ["legacy", "auto", "modern"],
                   "sse": ["legacy"]},
}
CASES = [(client, transport, era) for client, transports in CLIENTS.items()
         for transport, eras in transports.items() for era in eras]
# These show progress and can be told to give a call up.
CANCELLING = [case for case in CASES if case[0] in ("sdk1", "client2", "python_mcp")]


def install():
    """The packages of package-lock.json under build/, and the bridges beside them."""
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with open(INSTALLED / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        wanted = (HERE / "package-lock.json").read_bytes()
        stamp = INSTALLED / "installed-lock.json"
        if not stamp.exists() or stamp.read_bytes() != wanted:
            stamp.unlink(missing_ok=True)
            for name in ("package.json", "package-lock.json", ".npmrc"):
                shutil.copy(HERE / name, INSTALLED / name)
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"],
                           cwd=INSTALLED, check=True, timeout=900)
            stamp.write_bytes(wanted)
        for bridge in HERE.glob("*.mjs"):  # node looks for packages from where a module lies
            shutil.copy(bridge, INSTALLED / bridge.name)


def node():
    machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    return str(INSTALLED / f"node_modules/node-linux-{machine}/bin/node")


class ClientFailure(Exception):
    """The client itself has given up."""


class Bridge:
    """One client, connected. Use as a context manager."""

    def __init__(self, client, target):
        command = ([sys.executable, str(HERE / "python_mcp.py")] if client == "python_mcp"
                   else [node(), str(INSTALLED / "bridge.mjs"), client])
        environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen(command + [json.dumps(target)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment)
        self._lines = queue.Queue()
        self.errors = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr),
                         daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _answer(self):
        try:
            line = self._lines.get(timeout=90 * PATIENCE)
        except queue.Empty:
            raise ClientFailure(f"no answer in time: {''.join(self.errors)}") from None
        if line is None:
            self.process.wait(10 * PATIENCE)
            raise ClientFailure(f"the client ended: {''.join(self.errors)}")
        return json.loads(line)

    def _ask(self, question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def __enter__(self):
        self.revision = self._answer()["revision"]
        return self

    def __exit__(self, *failure):
        try:
            self.process.stdin.close()
            status = self.process.wait(30 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = "not ended in time"
        if failure == (None, None, None):
            assert status == 0, (status, "".join(self.errors))

    def tools(self):
        answer = self._ask({})
        assert "tools" in answer, answer
        return answer["tools"]

    def call(self, tool, /, **arguments):
        return self._ask({"tool": tool, "arguments": arguments})

    def give_up(self, tool, /, **arguments):
        """Gives the call up at its first progress; what that said."""
        return self._ask({"tool": tool, "arguments": arguments, "give_up": True})["text"]
