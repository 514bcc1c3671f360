"""Measures what a run of nothing costs by each door of `hutch serve`, beside a tool of the official TypeScript server that does nothing.

    tests/bench/doors.py [--calls N] [--rounds N]

All in turns, in one process, each over a connection of its own that stays open; requests are whole before the clock starts. With E2B's SDK
the clock has the SDK's own time in it. Needs node and the packages of tests/clients (build/clients).
"""

import argparse
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/clients"), str(ROOT / "tests/support")]
from matrix import INSTALLED, install, node  # noqa: E402

BUILD = os.environ.get("HUTCH_BUILD", str(ROOT / "build/release"))
NOTHING = """
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { randomUUID } from "node:crypto";
const server = new McpServer({ name: "nothing", version: "1" });
server.registerTool("nothing", { description: "Does nothing." }, async () => ({ content: [{ type: "text", text: "" }] }));
const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
await server.connect(transport);
const listener = createServer((request, response) => transport.handleRequest(request, response));
listener.listen(0, "127.0.0.1", () => console.log(listener.address().port));
"""
MCP_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Connection:
    def __init__(self, port):
        self.http = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def ask(self, method, path, body, headers):
        self.http.request(method, path, body, headers)
        answer = self.http.getresponse()
        return answer, answer.read()


class Mcp:
    """One session of 2025-11-25, and one tool called in it."""

    def __init__(self, port, token, tool, arguments):
        self.connection = Connection(port)
        self.headers = {**MCP_HEADERS, **({"Authorization": "Bearer " + token} if token else {})}
        answer, _ = self._post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}, 0)
        self.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        self.headers["MCP-Protocol-Version"] = "2025-11-25"
        self._post("notifications/initialized", {})
        self.body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})

    def _post(self, method, params, request_id=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if request_id is None else {"id": request_id})}
        return self.connection.ask("POST", "/mcp", json.dumps(message), self.headers)

    def __call__(self):
        answer, got = self.connection.ask("POST", "/mcp", self.body, self.headers)
        assert answer.status == 200 and b"isError\":true" not in got, got


class Door:
    def __init__(self, port, path, body, headers):
        self.connection, self.path, self.body = Connection(port), path, json.dumps(body)
        self.headers = {"Content-Type": "application/json", **headers}

    def __call__(self):
        answer, got = self.connection.ask("POST", self.path, self.body, self.headers)
        assert answer.status in (200, 201, 202), (answer.status, got)


def doors_of(port, token):
    key = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}

    def made(path, body):
        answer, got = Connection(port).ask("POST", path, json.dumps(body), key)
        assert answer.status in (200, 201), got
        return json.loads(got)

    sandbase = made("/sandboxes", {"templateID": "host", "timeout": 3600})["sandboxID"]
    agentcop = made("/api/sandbox/create", {})["sandbox_id"]
    e2b = made("/v2/sandboxes", {"templateID": "host", "timeout": 3600})
    of_e2b = {"E2b-Sandbox-Id": e2b["sandboxID"], "X-Access-Token": e2b["envdAccessToken"]}
    return {
        "MCP run_code": Mcp(port, token, "run_code", {"language": "python", "code": "pass"}),
        "MCP run_code, bash": Mcp(port, token, "run_code", {"language": "bash", "code": "/bin/true"}),
        "Sandbase process (bash)": Door(port, f"/sandboxes/{sandbase}/processes", {"cmd": "true"}, key),
        "Agentcop run": Door(port, f"/api/sandbox/{agentcop}/run", {"code": "pass", "language": "python"}, key),
        "E2B /execute": Door(port, "/execute", {"code": "pass"}, of_e2b),
    }


def of_the_sdk(port, token):
    from e2b_code_interpreter import Sandbox
    url = "http://127.0.0.1:%d" % port
    sandbox = Sandbox.create(api_key=token, api_url=url, sandbox_url=url, template="host", timeout=3600)
    return {"E2B's SDK, run_code": lambda: sandbox.run_code("pass"), "E2B's SDK, commands.run (bash)": lambda: sandbox.commands.run("true")}


def measure(call, calls):
    took = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        took.append((time.perf_counter() - begun) * 1000)
    return took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    install()
    (INSTALLED / "nothing_server.mjs").write_text(NOTHING)
    with tempfile.TemporaryDirectory(prefix="hutch-bench-") as state:
        hutch = subprocess.Popen([BUILD + "/bin/hutch", "serve", "--listen", "127.0.0.1:0", "--state-dir", state], stderr=subprocess.PIPE, text=True)
        other = subprocess.Popen([node(), str(INSTALLED / "nothing_server.mjs")], stdout=subprocess.PIPE, text=True)
        try:
            port = int(re.search(r":(\d+)/mcp", hutch.stderr.readline())[1])
            made = subprocess.run([BUILD + "/bin/hutch", "token", "create", "--state-dir", state], capture_output=True, text=True, check=True)
            token = made.stdout.split()[-1]
            calls = {"TypeScript, no-op tool": Mcp(int(other.stdout.readline()), "", "nothing", {}), **doors_of(port, token), **of_the_sdk(port, token)}
            took = {name: [] for name in calls}
            for call in calls.values():
                measure(call, 10)
            for _ in range(options.rounds):
                for name, call in calls.items():
                    took[name] += measure(call, options.calls)
        finally:
            for process in (hutch, other):
                process.terminate()
                process.wait(60)
    first = statistics.median(took["MCP run_code"])
    print(f"{'':32} {'median ms':>9} {'p99 ms':>8} {'a second':>9}  beside MCP run_code")
    for name, times in took.items():
        times.sort()
        median = statistics.median(times)
        print(f"{name:32} {median:9.2f} {times[int(len(times) * 0.99)]:8.2f} {1000 / statistics.mean(times):9.0f}  {median - first:+.2f} ms")


if __name__ == "__main__":
    main()
