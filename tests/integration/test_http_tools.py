"""Tools over HTTP, for real: state from call to call, pictures, progress, cancellation."""

import json
import time

import pytest

from hutch_client import LEGACY, MODERN, PATIENCE, ToolError
from http_server import HttpClient, JSON_HEADERS, Server, hang_up, modern, open_stream

PICTURE = """
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.plot([1, 2, 3])
plt.show()
"""


@pytest.fixture
def server(state):
    with Server(state) as started:
        yield started


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_legacy_session_keeps_its_variables(server, revision):
    client = HttpClient(server, revision)
    assert client.result("run_code", code="x = 41")["isError"] is False
    text = client.result("run_code", code="print(x + 1)")["content"][0]["text"]
    assert "42" in text
    picture = client.result("run_code", code=PICTURE)
    assert "image" in [block["type"] for block in picture["content"]], picture


def test_a_modern_call_names_the_session_it_goes_on_in(server):
    client = HttpClient(server, MODERN)
    first = client.result("run_code", code="x = 41")
    session = first["structuredContent"]["session_id"]
    assert first["content"][0]["text"].startswith(f"New session {session}: pass it as session_id")
    second = client.result("run_code", code="x + 1", session_id=session)
    assert second["structuredContent"]["outputs"][-1]["text"] == "42"
    assert "New session" not in second["content"][0]["text"]
    other = client.call("run_code", code="x")
    assert other["session_id"] != session and other["status"] == "failed"
    written = client.call("write_file", path="a.txt", content="a")
    assert client.call("read_file", path="a.txt", session_id=written["session_id"])["content"] == "a"
    for tool in ("read_file", "share_file"):
        with pytest.raises(ToolError, match="session_id is needed"):
            client.call(tool, path="a.txt")
    with pytest.raises(ToolError, match="session_id is needed"):
        client.call("list_files")
    picture = client.result("run_code", code=PICTURE, session_id=session)
    assert "image" in [block["type"] for block in picture["content"]], picture


@pytest.mark.slow
def test_of_sessions_nobody_asked_for_ten_keep_a_box(server, state):
    client = HttpClient(server, MODERN)
    first, *others = [client.call("run_code", code=f"x = (n for n in [{i}])")["session_id"] for i in range(12)]  # never stored
    alive = {session["session_id"] for session in client.call("list_sessions")["sessions"]
             if session["status"] == "ready"}
    assert alive == set(others[1:])
    again = client.call("run_code", code="x", session_id=first)
    assert again["status"] == "failed" and "x (generator" in again["note"], again
    asked_for = client.call("create_session")["session_id"]
    assert client.call("run_code", code="x = 1", session_id=asked_for)["status"] == "completed"


@pytest.mark.slow
def test_of_sessions_nobody_asked_for_none_that_works_gives_way(server):
    client = HttpClient(server, MODERN)
    busy = [client.call("run_code", code="sleep 300", language="bash", background=True) for _ in range(10)]
    with pytest.raises(ToolError, match="still at work: pass session_id"):
        client.call("run_code", code="1")
    client.call("cancel_run", run_id=busy[4]["run_id"])
    client.call("get_run", run_id=busy[4]["run_id"], wait_seconds=30)
    assert client.call("run_code", code="1")["status"] == "completed"
    states = {session["session_id"]: session["status"] for session in client.call("list_sessions")["sessions"]}
    assert [states[run["session_id"]] for run in busy] == ["running"] * 4 + ["stopped"] + ["running"] * 5


def test_two_legacy_sessions_are_strangers(server):
    first, second = HttpClient(server), HttpClient(server)
    first.call("run_code", code="secret = 1")
    assert second.call("run_code", code="secret")["status"] == "failed"


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_progress_comes_before_the_answer(server, revision):
    client = HttpClient(server, revision)
    client.result("run_code", code="print('hello')", _meta={"progressToken": 0})
    seen = [one["params"] for one in client.notifications]
    assert seen and all(one["progressToken"] == 0 for one in seen)
    assert seen[0]["message"].startswith("run_")


def start_long_run(server, client):
    """A run that sleeps, on a stream: its connection, events and run id."""
    message, headers = client.envelope("tools/call", {
        "name": "run_code", "arguments": {"code": "import time\ntime.sleep(30)"},
        "_meta": {"progressToken": "p"}})
    connection, response, events = open_stream(server, "POST", "/mcp", json.dumps(message),
                                               {**JSON_HEADERS, **headers})
    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.headers["X-Accel-Buffering"] == "no"
    assert response.headers["Cache-Control"] == "no-cache, no-transform"
    first = events.message()
    run_id, _, session_id = first["params"]["message"].partition(" in ")
    return message["id"], connection, events, run_id, session_id


def until_status(client, run_id, wanted, timeout=20):
    deadline = time.monotonic() + timeout * PATIENCE
    while (status := client.call("get_run", run_id=run_id, wait_seconds=1)["status"]) != wanted:
        assert time.monotonic() < deadline, status


def test_closing_a_modern_stream_cancels_its_run(server):
    client = HttpClient(server, MODERN)
    _, connection, _, run_id, _ = start_long_run(server, client)
    assert client.call("get_run", run_id=run_id)["status"] in ("queued", "running")
    hang_up(connection)
    until_status(client, run_id, "cancelled")


def test_losing_a_legacy_stream_cancels_nothing_and_it_is_taken_up_again(server):
    client = HttpClient(server, "2025-11-25")
    message, headers = client.envelope("tools/call", {
        "name": "run_code", "arguments": {"code": "import time\ntime.sleep(2)\nprint('late')"}})
    connection, response, events = open_stream(server, "POST", "/mcp", json.dumps(message),
                                               {**JSON_HEADERS, **headers})
    primed = events.next()
    assert primed["data"] == "" and int(primed["retry"]) > 0
    hang_up(connection)
    connection, response, events = open_stream(
        server, "GET", "/mcp", None,
        {"Accept": "text/event-stream", "Last-Event-ID": primed["id"], **client.headers})
    assert response.status == 200
    answer = events.message()
    assert answer["id"] == message["id"]
    assert answer["result"]["structuredContent"]["stdout"] == "late\n"
    assert events.next() is None, "the stream ends with its answer"


def test_a_legacy_call_is_cancelled_by_a_notification(server):
    client = HttpClient(server, LEGACY)
    request_id, connection, events, run_id, _ = start_long_run(server, client)
    status, _, _ = server.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                                "params": {"requestId": request_id}}, client.headers)
    assert status == 202
    while (message := events.message()) is not None:
        assert "result" not in message and "error" not in message
    until_status(client, run_id, "cancelled")


def test_the_old_transport_runs_code(server):
    connection, response, events = open_stream(server, "GET", "/sse", None,
                                               {"Accept": "text/event-stream"})
    assert response.status == 200
    endpoint = events.next()
    assert endpoint["event"] == "endpoint"
    target = endpoint["data"]
    assert target.startswith("/messages?sessionId=")

    def ask(request_id, method, params):
        status, _, body = server.post({"jsonrpc": "2.0", "id": request_id, "method": method,
                                       "params": params}, path=target)
        assert (status, body) == (202, b"Accepted")
        return events.message()["result"]

    opened = ask(1, "initialize", {"protocolVersion": "2024-11-05", "capabilities": {},
                                   "clientInfo": {"name": "t", "version": "1"}})
    assert opened["protocolVersion"] == "2024-11-05"
    ask(2, "tools/call", {"name": "run_code", "arguments": {"code": "x = 6"}})
    result = ask(3, "tools/call", {"name": "run_code", "arguments": {"code": "print(x * 7)"}})
    assert "42" in result["content"][0]["text"]
    assert server.post({}, path="/messages?sessionId=nobody")[0] == 404
    assert server.post({}, path="/messages")[0] == 400
    status, _, _ = server.post(modern(9, "tools/list")[0], path=target)
    assert status == 400, "nothing of the modern era is served there"
    # The session goes with its stream.
    hang_up(connection)
    deadline = time.monotonic() + 20 * PATIENCE
    while server.post({"jsonrpc": "2.0", "method": "notifications/initialized"},
                      path=target)[0] != 404:
        assert time.monotonic() < deadline


def test_runs_are_handed_over_when_the_server_is_to_stop(state):
    with Server(state) as server:
        client = HttpClient(server, LEGACY)
        _, _, events, run_id, _ = start_long_run(server, client)
        server.process.terminate()
        while (message := events.message()) is not None and "method" in message:
            pass
        assert message["result"]["structuredContent"]["status"] == "running"
        assert message["result"]["structuredContent"]["run_id"] == run_id
        assert server.process.wait(20 * PATIENCE) == 0
