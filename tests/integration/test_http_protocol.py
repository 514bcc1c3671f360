"""The rules of HTTP transports: which status and which error answers what, in both eras."""

import base64
import contextlib
import json
import os
import pathlib

import pytest

from boxes import until
from hutch_client import LEGACY, MODERN
from http_server import HttpClient, JSON_HEADERS, Server, hang_up, modern, open_stream


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state, "--allow-origin",
                "https://app.example.org") as started:
        yield started


def ask(server, message, headers=None, without=()):
    fields = {k: v for k, v in {**JSON_HEADERS, **(headers or {})}.items() if k not in without}
    status, answered, body = server.request(
        "POST", "/mcp", message if isinstance(message, (str, bytes)) else json.dumps(message),
        fields)
    return status, json.loads(body) if body else None, answered


def code_of(answer):
    return answer["error"]["code"]


def test_modern_requests_are_answered_as_json(server):
    status, answer, fields = ask(server, *modern(0, "server/discover"))
    assert status == 200 and fields["Content-Type"] == "application/json"
    assert answer["id"] == 0 and answer["result"]["supportedVersions"] == [MODERN]
    assert "Mcp-Session-Id" not in fields


@pytest.mark.parametrize("method", ["initialize", "ping", "logging/setLevel", "nonsense/method",
                                    "resources/subscribe"])
def test_unknown_and_removed_modern_methods_are_not_found(server, method):
    status, answer, _ = ask(server, *modern("a", method))
    assert (status, code_of(answer), answer["id"]) == (404, -32601, "a")


@pytest.mark.parametrize("headers,without,code", [
    ({"MCP-Protocol-Version": "2025-11-25"}, (), -32020),
    ({"Mcp-Method": "TOOLS/LIST"}, (), -32020),
    ({"Mcp-Method": "tools/call"}, (), -32020),
    ({}, ("MCP-Protocol-Version",), -32020),
    ({}, ("Mcp-Method",), -32020),
])
def test_headers_say_what_the_body_says(server, headers, without, code):
    message, fields = modern(1, "tools/list")
    status, answer, _ = ask(server, message, {**fields, **headers}, without)
    assert (status, code_of(answer), answer["id"]) == (400, code, 1)


def test_white_space_around_header_values_is_none_of_theirs(server):
    message, fields = modern(1, "tools/list", headers={"Mcp-Method": "  tools/list \t"})
    assert ask(server, message, fields)[0] == 200


def test_an_unknown_revision_is_named_in_the_error(server):
    status, answer, _ = ask(server, *modern(1, "tools/list", revision="v999.0.0"))
    assert (status, code_of(answer)) == (400, -32022)
    assert answer["error"]["data"] == {"supported": [MODERN], "requested": "v999.0.0"}


def test_a_mismatched_header_comes_before_an_unknown_revision(server):
    message, fields = modern(1, "tools/list", revision="v999.0.0")
    status, answer, _ = ask(server, message, {**fields, "MCP-Protocol-Version": MODERN})
    assert (status, code_of(answer)) == (400, -32020)


def test_meta_is_needed_where_the_header_is_modern(server):
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/list"}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list"}
    status, answer, _ = ask(server, message, headers)
    assert (status, code_of(answer), answer["id"]) == (400, -32602, 7)
    message["method"] = "initialize"
    assert code_of(ask(server, message, headers)[1]) == -32020
    message, fields = modern(1, "tools/list")
    del message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"]
    status, answer, _ = ask(server, message, fields)
    assert (status, code_of(answer)) == (400, -32602)


def encoded(text):
    return "=?base64?" + base64.b64encode(text.encode()).decode() + "?="


@pytest.mark.parametrize("name,ok", [
    ("list_sessions", True), (encoded("list_sessions"), True), ("LIST_SESSIONS", False),
    ("other", False), ("=?base64?bGlzdF9zZXNzaW9ucw?=", False), ("=?base64?!!!!?=", False),
    ("=?base64?bGlzdF9zZXNzaW9ucw==", False), ("list%5Fsessions", False), (None, False)])
def test_mcp_name_is_the_name_in_the_body(server, name, ok):
    message, fields = modern(1, "tools/call", {"name": "list_sessions", "arguments": {}})
    fields["Mcp-Name"] = name
    status, answer, _ = ask(server, message, {k: v for k, v in fields.items() if v is not None})
    assert (status == 200) == ok
    if not ok:
        assert (status, code_of(answer)) == (400, -32020)


def test_errors_of_the_body(server):
    assert ask(server, "{")[0] == 400
    assert code_of(ask(server, "{")[1]) == -32700
    assert "id" not in ask(server, "{")[1]
    assert code_of(ask(server, "[]")[1]) in (-32600, -32000)
    message, fields = modern(1, "tools/list")
    status, answer, _ = ask(server, [message], fields)
    assert (status, code_of(answer)) == (400, -32600)
    status, answer, _ = ask(server, {"jsonrpc": "2.0", "id": None, "method": "tools/list"}, fields)
    assert (status, code_of(answer)) == (400, -32600)
    status, answer, _ = ask(server, *modern(5, "tools/call", {"name": "no such tool"}))
    assert (status, code_of(answer), answer["id"]) == (200, -32602, 5)


def test_modern_notifications_are_accepted_and_ignored(server):
    message, fields = modern(1, "notifications/cancelled", {"requestId": 1})
    del message["id"]
    status, answer, _ = ask(server, message, fields)
    assert (status, answer) == (202, None)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "HEAD"])
def test_only_post_without_a_session(server, method):
    status, fields, _ = server.request(method, "/mcp", headers={"Accept": "text/event-stream"})
    assert (status, fields["Allow"]) == (405, "POST")


def test_what_is_accepted_and_what_is_sent(server):
    message, fields = modern(1, "tools/list")
    assert ask(server, message, {**fields, "Accept": "application/json"})[0] == 406
    assert ask(server, message, {**fields, "Accept": "text/event-stream"})[0] == 406
    assert ask(server, message, {**fields, "Accept": "*/*"})[0] == 200
    assert ask(server, message, fields, without=("Accept",))[0] == 406
    assert ask(server, message, {**fields, "Content-Type": "text/plain"})[0] == 415
    assert ask(server, message, fields, without=("Content-Type",))[0] == 415
    assert ask(server, message, {**fields, "Content-Type": "application/json; charset=utf-8"})[0] \
        == 200


def test_the_life_of_a_session(server):
    client = HttpClient(server, "2025-11-25")
    session = client.headers["Mcp-Session-Id"]
    assert len(session) >= 32 and all(0x21 <= ord(c) <= 0x7e for c in session)
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    status, answer, _ = ask(server, listing, client.headers)
    assert status == 200 and "resultType" not in answer["result"]
    assert ask(server, listing)[0] == 400, "no session id"
    unknown = {**client.headers, "Mcp-Session-Id": "nobody"}
    assert ask(server, listing, unknown)[0] == 404
    assert ask(server, listing, {**client.headers, "MCP-Protocol-Version": "1.0"})[0] == 400
    assert server.request("DELETE", "/mcp", headers=unknown)[0] == 404
    assert server.request("DELETE", "/mcp", headers=client.headers)[0] == 204
    assert ask(server, listing, client.headers)[0] == 404
    assert server.request("DELETE", "/mcp", headers=client.headers)[0] == 404


def test_initialize_answers_errors_without_a_session(server):
    status, answer, fields = ask(server, {"jsonrpc": "2.0", "id": 1, "method": "initialize"})
    assert (status, code_of(answer)) == (200, -32602) and "Mcp-Session-Id" not in fields
    status, answer, fields = ask(server, {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": MODERN, "capabilities": {},
                   "clientInfo": {"name": "t", "version": "1"}}})
    assert answer["result"]["protocolVersion"] == "2025-11-25"


def test_batches_are_for_2025_03_26_only(server):
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"},
             {"jsonrpc": "2.0", "method": "notifications/x"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    old = HttpClient(server, "2025-03-26")
    status, answer, _ = ask(server, batch, old.headers)
    assert status == 200 and sorted(one["id"] for one in answer) == [1, 2]
    assert ask(server, batch[1:2], old.headers)[0] == 202
    assert ask(server, [], old.headers)[0] == 400
    assert ask(server, [1], old.headers)[0] == 400
    for revision in ("2025-06-18", "2025-11-25"):
        status, answer, _ = ask(server, batch, HttpClient(server, revision).headers)
        assert (status, code_of(answer)) == (400, -32600)


def test_responses_are_taken_in_sessions_only(server):
    response = {"jsonrpc": "2.0", "id": 9, "result": {}}
    assert ask(server, response, HttpClient(server).headers)[0] == 202
    assert ask(server, response)[0] == 400


@pytest.mark.parametrize("last", ["", "x", "1", "-", "0-", "-1", "1-0-0", "00-0", "9-0", "0-7",
                                  "18446744073709551616-0", "0-0x", "0- 0"])
def test_nobody_resumes_what_never_was(server, last):
    client = HttpClient(server, "2025-11-25")
    status, _, _ = server.request("GET", "/mcp", headers={
        "Accept": "text/event-stream", "Last-Event-ID": last or "?", **client.headers})
    assert status == 400


def test_the_stream_of_a_session(server):
    for revision, primed in (("2025-06-18", False), ("2025-11-25", True)):
        client = HttpClient(server, revision)
        connection, response, events = open_stream(
            server, "GET", "/mcp", None, {"Accept": "text/event-stream", **client.headers})
        assert response.status == 200
        assert response.headers["Content-Type"] == "text/event-stream"
        if primed:
            assert events.next()["id"] == "0-0"
        assert server.request("DELETE", "/mcp", headers=client.headers)[0] == 204
        assert events.next() is None, "the stream ends with its session"
        hang_up(connection)
    assert server.request("GET", "/mcp", headers={**HttpClient(server).headers,
                                                  "Accept": "application/json"})[0] == 406


def inode_of_connection(ports):
    ends = [f"0100007F:{port:04X}" for port in ports]
    found = []

    def is_found():  # the kernel lists connections in pieces: one that is there may be missing
        found.extend(fields[9] for fields in map(str.split, open("/proc/net/tcp")) if fields[1:3] == ends)
        return found

    until(is_found, what="the connection in /proc/net/tcp")
    return found[0]


def test_a_client_that_has_gone_leaves_no_socket_behind(state):
    with Server(state) as server:
        client = HttpClient(server)
        assert client.call("run_code", code="1")["status"] == "completed"

        def sockets():
            found = set()
            for fd in pathlib.Path(f"/proc/{server.process.pid}/fd").iterdir():
                with contextlib.suppress(FileNotFoundError):  # it has just been closed
                    found.add(os.readlink(fd))
            return found

        with contextlib.ExitStack() as streams:
            connection, response, _ = open_stream(
                server, "GET", "/mcp", None, {"Accept": "text/event-stream", **client.headers})
            streams.callback(hang_up, connection)
            assert response.status == 200
            stream = f"socket:[{inode_of_connection(connection.ports)}]"
            assert stream in sockets()
        until(lambda: stream not in sockets(), what="the end of the stream that nobody reads")


@pytest.mark.parametrize("headers,status", [
    ({}, 200), ({"Host": "localhost"}, 200), ({"Host": "[::1]:1234"}, 200),
    ({"Host": "evil.example.com"}, 403), ({"Host": "localhost.evil.com"}, 403),
    ({"Origin": "http://evil.example.com"}, 403), ({"Origin": "null"}, 403),
    ({"Origin": "http://localhost:1"}, 403), ({"Origin": "https://app.example.org"}, 200),
    ({"Origin": "https://app.example.org.evil.com"}, 403),
    ({"Host": "localhost:1234", "Origin": "http://localhost:1234"}, 200)])
def test_host_and_origin(server, headers, status):
    message, fields = modern(1, "server/discover")
    got, _, answered = ask(server, message, {**fields, **headers})
    assert got == status
    allowed = headers.get("Origin") == "https://app.example.org"
    assert answered["Access-Control-Allow-Origin"] == (headers["Origin"] if allowed else None)


def test_a_browser_asks_beforehand(server):
    asked = {"Origin": "https://app.example.org", "Access-Control-Request-Method": "POST",
             "Access-Control-Request-Headers": "content-type, mcp-param-region, x-evil"}
    status, fields, body = server.request("OPTIONS", "/mcp", headers=asked)
    assert (status, body) == (204, b"")
    allowed = fields["Access-Control-Allow-Headers"]
    assert "mcp-param-region" in allowed and "authorization" in allowed and "x-evil" not in allowed
    assert "DELETE" in fields["Access-Control-Allow-Methods"]
    status, fields, _ = server.request("OPTIONS", "/mcp",
                                       headers={**asked, "Origin": "https://other.org"})
    assert status == 403 and fields["Access-Control-Allow-Origin"] is None


def test_an_event_stream_has_no_ids_in_the_modern_era(server):
    message, fields = modern(3, "tools/call", {
        "name": "run_code", "arguments": {"code": "print(1)"}, "_meta": {"progressToken": 1}})
    connection, response, events = open_stream(server, "POST", "/mcp", json.dumps(message),
                                               {**JSON_HEADERS, **fields})
    assert response.headers["Content-Type"] == "text/event-stream"
    while (event := events.next()) is not None:
        assert event["event"] == "message" and "id" not in event
    hang_up(connection)


def test_paths_of_nothing(server):
    for path in ("/", "/mcp/", "/mcp2", "/%2e%2e/etc/passwd", "/metrics/x"):
        assert server.request("GET", path)[0] == 404
    assert server.request("POST", "/healthz", "")[0] == 405
