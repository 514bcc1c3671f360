"""A thin layer over the official MCP client: calls tools of hutch, prints steps for people."""

import os
import pathlib
import signal
import sys
import time

import mcp
from mcp import StdioServerParameters

BOLD, DIM, RESET = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")
_count = 0


def step(title: str) -> None:
    global _count
    _count += 1
    print(f"\n{BOLD}{_count}. {title}{RESET}", flush=True)


def show(*texts: str) -> None:
    for text in texts:
        for line in text.splitlines():
            print(f"   {DIM}{line}{RESET}", flush=True)


class Hutch:
    """One `hutch stdio` process and a client connected to it."""

    def __init__(self, binary: str, state: str, *arguments: str):
        self.state = state
        self.images = 0
        self._client = mcp.Client(StdioServerParameters(
            command=binary, args=["stdio", "--state-dir", state, "--log-level", "error", *arguments],
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}))

    async def __aenter__(self) -> "Hutch":
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *exception) -> None:
        await self._client.__aexit__(*exception)

    async def tools(self):
        return (await self._client.list_tools()).tools

    async def call(self, name: str, **arguments):
        """The tool's structured result; a tool error becomes a RuntimeError with its text."""
        result = await self._client.call_tool(name, arguments)
        if result.is_error:
            raise RuntimeError(result.content[0].text)
        self.images += sum(block.type == "image" for block in result.content)
        return result.structured_content

    async def run(self, code: str, language: str = "python", check: bool = True, unless_missing: str = ""):
        """A run that has to complete, unless that package is not on this machine."""
        run = await self.call("run_code", code=code, language=language)
        missing = unless_missing and f"No module named '{unless_missing}'" in run["stderr"]
        if check and not missing and run["status"] != "completed":
            raise SystemExit(f"quickstart: the run {run['status']}:\n{run['stderr']}\n{run.get('error')}")
        return run

    async def until_ended(self, run_id: str):
        while True:
            run = await self.call("get_run", run_id=run_id, wait_seconds=20)
            if run["status"] not in ("queued", "running"):
                return run

    async def until_output(self, run_id: str, text: str) -> None:
        deadline = time.monotonic() + 30
        seen, offset = "", 0
        while text not in seen:
            if time.monotonic() > deadline:
                raise SystemExit(f"quickstart: the run printed {seen!r} in 30 s, not {text!r}")
            run = await self.call("get_run", run_id=run_id, wait_seconds=1, stdout_offset=offset)
            seen, offset = seen + run["stdout"], run["stdout_next_offset"]

    def kill(self) -> int:
        """SIGKILL to the server, the hard way; returns its pid."""
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if command[0].endswith(b"/hutch") and self.state.encode() in command:
                os.kill(int(entry.name), signal.SIGKILL)
                return int(entry.name)
        raise SystemExit("quickstart: the server is not there to be killed")
