"""`hutch serve` for tests, and HTTP that hides nothing: raw sockets where a test needs them."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from hutch_client import LEGACY, MODERN, PATIENCE, ToolError, hutch_binary
from server_process import ServerProcess

JSON_HEADERS = {"Content-Type": "application/json",
                "Accept": "application/json, text/event-stream"}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Server:
    """One `hutch serve` on a free port; `options` are Popen's. Use as a context manager."""

    def __init__(self, state, *arguments, listen="127.0.0.1:0", no_auth=True, env=None,
                 binary=None, **options):
        command = [binary or hutch_binary(), "serve", "--state-dir", state, "--listen", listen,
                   *(["--no-auth"] if no_auth else []), *arguments]
        environment = {"PATH": os.environ["PATH"], "HOME": state,
                       "HUTCH_ZYGOTE": "0", "HUTCH_SPARE_SESSIONS": "0",
                       **(env or {})}
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS"):
            if name in os.environ:
                environment[name] = os.environ[name]
        self.process = ServerProcess(command, stderr=subprocess.PIPE, text=True, env=environment, **options)
        self.errors = []
        self.address = self._wait_for_address()
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()

    def _wait_for_address(self):
        for line in self.process.stderr:
            self.errors.append(line)
            found = re.search(r"serving MCP on (?:http://(\S+):(\d+)/mcp|unix:(\S+))", line)
            if found and found[3]:
                return found[3]
            if found:
                return found[1], int(found[2])
        raise AssertionError(f"the server has not started: {self.errors}")

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stop()

    def stop(self, timeout=60):
        """Ends it with SIGTERM, and looks at its end (ServerProcess.end)."""
        status = self.process.end(self._terminate, timeout, self._said)
        self._reader.join(timeout * PATIENCE)  # its last lines are in `errors` too
        return status

    def _terminate(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)

    def _said(self):
        self._reader.join(10)
        return "".join(self.errors[-40:])

    def socket(self, timeout=30):
        if isinstance(self.address, str):
            raw = socket.socket(socket.AF_UNIX)
        else:
            raw = socket.socket()
        raw.settimeout(timeout * PATIENCE)
        raw.connect(self.address)
        return raw

    def connection(self, timeout=90):
        if isinstance(self.address, str):
            return UnixConnection(self.address, timeout * PATIENCE)
        return http.client.HTTPConnection(*self.address, timeout=timeout * PATIENCE)

    def request(self, method, path, body=None, headers=None, timeout=90):
        """One request on a connection of its own: status, headers, body."""
        connection = self.connection(timeout)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def post(self, message, headers=None, path="/mcp", timeout=90):
        body = message if isinstance(message, (bytes, str)) else json.dumps(message)
        return self.request("POST", path, body, {**JSON_HEADERS, **(headers or {})}, timeout)

    def is_well(self):
        """How long it takes to answer others."""
        started = time.monotonic()
        status, _, body = self.post(*modern(1, "server/discover"), timeout=60)
        assert status == 200 and b"supportedVersions" in body, (status, body)
        return time.monotonic() - started

    def memory_kib(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])


def token(state, *arguments):
    """Returns what hutch token create gives."""
    done = subprocess.run([hutch_binary(), "--state-dir", state, "token", "create", *arguments], capture_output=True, text=True,
                          timeout=60 * PATIENCE, check=True)
    return done.stdout.split()[-1]


def modern(request_id, method, params=None, headers=None, revision=MODERN):
    """Message and headers of one request of 2026-07-28."""
    params = dict(params or {})
    params["_meta"] = {"io.modelcontextprotocol/protocolVersion": revision,
                       "io.modelcontextprotocol/clientCapabilities": {},
                       **params.get("_meta", {})}
    fields = {"MCP-Protocol-Version": revision, "Mcp-Method": method}
    name = params.get("name") or params.get("uri")
    if name:
        fields["Mcp-Name"] = name
    return ({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params},
            {**fields, **(headers or {})})


class Events:
    """The events of a stream, one by one."""

    def __init__(self, response):
        self.response = response
        self.comments = 0
        self.retry = None

    def next(self):
        """A dictionary of id, event and data; nothing at the end."""
        event = {}
        while True:
            line = self.response.readline()
            if not line:
                return None
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line == "":
                if event:
                    return event
            else:
                name, _, value = line.partition(": ")
                event[name.rstrip(":")] = value

    def message(self):
        """The next event with data, parsed."""
        while True:
            event = self.next()
            if event is None:
                return None
            if event.get("data"):
                return json.loads(event["data"])


def open_stream(server, method, path, body=None, headers=None):
    """A response that goes on: the connection, the response, its events."""
    connection = server.connection()
    connection.request(method, path, body, headers or {})
    connection.ports = [address[1] for address in (connection.sock.getpeername(), connection.sock.getsockname())]
    response = connection.getresponse()
    connection.answer = response
    return connection, response, Events(response)


def hang_up(connection):
    """Closes the connection of a stream: its response holds the socket as well."""
    connection.answer.close()
    connection.close()


class HttpClient:
    """A client of one era over Streamable HTTP, as simple as the one over stdio."""

    def __init__(self, server, revision=LEGACY, headers=None):
        self.server = server
        self.revision = revision
        self.headers = dict(headers or {})
        self.notifications = []
        self._next_id = 0
        if revision != MODERN:
            status, fields, body = self._post({
                "jsonrpc": "2.0", "id": 0, "method": "initialize",
                "params": {"protocolVersion": revision, "capabilities": {},
                           "clientInfo": {"name": "test", "version": "1"}}})
            assert status == 200, (status, body)
            self.initialized = json.loads(body)["result"]
            self.headers["Mcp-Session-Id"] = fields["Mcp-Session-Id"]
            self.headers["MCP-Protocol-Version"] = self.initialized["protocolVersion"]
            status, _, _ = self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})
            assert status == 202

    def _post(self, message, headers=None):
        return self.server.post(message, {**self.headers, **(headers or {})})

    def envelope(self, method, params=None):
        self._next_id += 1
        if self.revision == MODERN:
            message, headers = modern(self._next_id, method, params)
            return message, {**self.headers, **headers}
        return ({"jsonrpc": "2.0", "id": self._next_id, "method": method,
                 "params": params or {}}, self.headers)

    def reply(self, method, params=None):
        message, headers = self.envelope(method, params)
        _, fields, body = self.server.post(message, headers)
        if fields["Content-Type"] == "application/json":
            return json.loads(body)
        answer = None
        for line in body.decode().splitlines():
            if line.startswith("data: {"):
                one = json.loads(line[6:])
                if "method" in one:
                    self.notifications.append(one)
                else:
                    answer = one
        return answer

    def request(self, method, params=None):
        reply = self.reply(method, params)
        assert "error" not in reply, reply
        return reply["result"]

    def result(self, tool, /, _meta=None, **arguments):
        params = {"name": tool, "arguments": arguments}
        if _meta:
            params["_meta"] = _meta
        return self.request("tools/call", params)

    def call(self, tool, /, **arguments):
        result = self.result(tool, **arguments)
        if result["isError"]:
            raise ToolError(result["content"][0]["text"])
        return result["structuredContent"]
