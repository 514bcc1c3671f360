"""`hutch stdio` as a fast client drives it: one line out, one line in, nothing checked.

tests/support/hutch_client.py judges every message by its schema, which takes longer than a warm run.
"""

import json
import os
import subprocess
import threading


class LeanClient:
    def __init__(self, binary, state, environment):
        names = ("PATH", "HOME")
        self.process = subprocess.Popen(
            [binary, "stdio", "--state-dir", state], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**{name: os.environ[name] for name in names if name in os.environ}, **environment})
        self._next_id = 0
        self._sending = threading.Lock()
        self._request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                     "clientInfo": {"name": "bench", "version": "1"}})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self):
        self.process.stdin.close()
        self.process.wait(120)

    def _write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _request(self, method, params):
        request = self.send(method, params)
        while True:
            answered, result = self.read()
            if answered == request:
                return result

    def send(self, method, params):
        """Without waiting; the id of the request."""
        with self._sending:
            self._next_id += 1
            self._write({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
            return self._next_id

    def send_tool(self, tool, **arguments):
        return self.send("tools/call", {"name": tool, "arguments": arguments})

    def read(self):
        """The next reply: the id it answers, and its result."""
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("hutch has ended")
            message = json.loads(line)
            if "method" in message:
                continue
            if "error" in message:
                raise SystemExit(f"hutch refuses: {message['error']}")
            return message["id"], message["result"]

    def call(self, tool, **arguments):
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        if result["isError"]:
            raise SystemExit(f"{tool}: {result['content'][0]['text']}")
        return result["structuredContent"]

    def run(self, session, code, language="python"):
        run = self.call("run_code", session_id=session, code=code, language=language)
        if run["status"] != "completed":
            raise SystemExit(f"{language}: {run.get('error')}")
        return run

    def new_session(self):
        return self.call("create_session")["session_id"]
