"""How much one principal has at work at once over HTTP, and that nobody else waits for it."""

import concurrent.futures
import json
import select
import threading

import pytest

from boxes import until
from http_server import JSON_HEADERS, HttpClient, Server
from hutch_client import LEGACY, MODERN
from test_http_auth import bearer, token


@pytest.fixture
def configuration(tmp_path):
    def write(text):
        path = tmp_path / "config.toml"
        path.write_text(text)
        return str(path)
    return write


def test_what_waits_for_a_run_is_not_at_work(state):
    """More calls than there are threads for one principal wait, and the next one is answered at once."""
    with Server(state, no_auth=False) as server:
        client = HttpClient(server, MODERN, bearer(token(state, "--principal", "alice")))
        run = client.call("run_code", code="sleep 300", language="bash", background=True)
        waiting = []
        for _ in range(140):
            message, fields = client.envelope("tools/call", {
                "name": "get_run", "arguments": {"run_id": run["run_id"], "wait_seconds": 50}})
            connection = server.connection()
            connection.request("POST", "/mcp", json.dumps(message), {**JSON_HEADERS, **fields})
            waiting.append((connection, connection.sock))
        answers = [connection.getresponse() for connection, _ in waiting]
        assert all(answer.headers["Content-Type"] == "text/event-stream" for answer in answers)
        # Answered while they all go on, which nothing but time and the end of their run ends.
        [session] = client.call("list_sessions")["sessions"]
        assert [one["run_id"] for one in session["active_runs"]] == [run["run_id"]]
        ended, _, _ = select.select([sock for _, sock in waiting], [], [], 0)
        assert ended == []
        client.call("cancel_run", run_id=run["run_id"])
        assert b'"status":"cancelled"' in answers[0].read()


def test_a_rate_is_for_others_than_local_alone(state, configuration):
    path = configuration("[serve]\ncalls_per_minute = 2\n")
    with Server(state, "--config", path, no_auth=False) as server:
        alice = bearer(token(state, "--principal", "alice"))
        client = HttpClient(server, LEGACY, alice)
        for _ in range(2):
            assert client.call("list_sessions")["sessions"] == []
        refused = client.result("list_sessions")
        assert refused["isError"] and "try again in 30 seconds" in refused["content"][0]["text"]
        assert refused["_meta"]["retryAfterSeconds"] == 30
        code, fields, body = server.request("POST", "/sandboxes", json.dumps({}).encode(),
                                            {**alice, "Content-Type": "application/json"})
        assert code == 429 and int(fields["Retry-After"]) in range(1, 31), (fields, body)
        local = HttpClient(server, LEGACY, bearer(token(state)))
        for _ in range(5):
            assert local.call("list_sessions")["sessions"] == []


def test_a_flood_of_starts_keeps_nobody_else_from_starting(state):
    """Places for starts are all principals': whose calls wait in turns does not take them all."""
    at_once, each = 52, 4  # far more than are started at once on a small machine
    with Server(state, no_auth=False) as server, concurrent.futures.ThreadPoolExecutor(at_once) as threads:
        alice = HttpClient(server, MODERN, bearer(token(state, "--principal", "alice")))
        bob = HttpClient(server, MODERN, bearer(token(state, "--principal", "bob")))
        is_answered = threading.Event()
        started = []

        def flood():
            for _ in range(each):
                if not is_answered.is_set():
                    started.append(alice.call("create_session")["status"])

        flooders = [threads.submit(flood) for _ in range(at_once)]
        until(lambda: started, what="the first of hers")
        session = bob.call("create_session")
        before = len(started)
        is_answered.set()
        assert bob.call("run_code", code="6 * 7", session_id=session["session_id"])["status"] == "completed"
        for one in flooders:
            one.result()
        assert before < at_once * each // 2, "he waited for most of hers"
        assert set(started) <= {"ready", "running"}
