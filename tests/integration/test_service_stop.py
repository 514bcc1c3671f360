"""A service that ends takes the processes of its sessions: what they know is stored before, whatever has just been run."""

import os
import signal

from boxes import boxes_of, processes_of, until
from hutch_client import MODERN, Client
from http_server import HttpClient, Server

ENDS = ("--store-at-end",)


def stop(server):
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(60)


def text(answer):
    return answer["outputs"][-1]["text"]


def test_what_sessions_know_is_stored_before_their_processes_end(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[session]\nautosave_mb = 8\n")
    with Server(state, *ENDS, "--log-level", "info", "--config", str(config)) as server:
        client = HttpClient(server, MODERN)
        names = ["one", "two", "three"]
        for name in names:
            client.call("create_session", name=name)
            client.call("run_code", session_id=name, code=f"x = ['{name}']; alias = x")
        client.call("run_code", session_id="two", language="bash", code="cd /tmp; where() { pwd; }")
        client.call("pause_session", session_id="three")
        # No snapshot has it yet, and one as large as that is never written after a run.
        client.call("run_code", session_id="one", code="big = bytearray(b'x' * 30_000_000); alias.append(2)")
        stop(server)
        assert any("stored, and ended" in line for line in server.errors), server.errors
    assert not boxes_of(state) and not processes_of(state)
    with Server(state, *ENDS) as server:
        client = HttpClient(server, MODERN)
        assert text(client.call("run_code", session_id="one", code="x, x is alias, len(big), big[-1]")) == "(['one', 2], True, 30000000, 120)"
        assert text(client.call("run_code", session_id="two", code="x is alias")) == "True"
        shell = client.call("run_code", session_id="two", language="bash", code="where")
        assert shell["stdout"] == "/tmp\n" and "lost" not in shell.get("note", ""), shell
        assert text(client.call("run_code", session_id="three", code="x is alias")) == "True"


def test_a_run_in_progress_ends_and_costs_what_it_had_not_finished(state):
    with Server(state, *ENDS) as server:
        client = HttpClient(server, MODERN)
        client.call("create_session", name="busy")
        first = client.call("run_code", session_id="busy", code="x = 1")
        snapshot = f"{state}/sessions/{first['session_id']}/state/python"
        until(lambda: os.path.exists(snapshot), what="a snapshot")
        run = client.call("run_code", session_id="busy", background=True, code="import time; time.sleep(600)")
        stop(server)
    assert not boxes_of(state)
    with Server(state, *ENDS) as server:
        client = HttpClient(server, MODERN)
        ended = client.call("get_run", run_id=run["run_id"])
        assert ended["status"] == "cancelled" and "the service that it ran in was stopped" in ended["error"]["message"], ended
        assert text(client.call("run_code", session_id="busy", code="x")) == "1"


def test_a_run_that_is_to_be_started_anew_is_after_a_stop(state):
    serves = "import os, time\nprint('from', os.environ['WHOSE'], flush=True)\ntime.sleep(600)"
    with Server(state, *ENDS) as server:
        client = HttpClient(server, MODERN)
        client.call("create_session", name="serving")
        first = client.call("run_code", session_id="serving", background=True, on_wake="restart", code=serves, env={"WHOSE": "mine"})["run_id"]
        until(lambda: client.call("get_run", run_id=first).get("stdout") == "from mine\n", what="its word")
        stop(server)
    assert not boxes_of(state)
    with Server(state, *ENDS) as server:
        client = HttpClient(server, MODERN)
        woken = client.call("run_code", session_id="serving", code="1")
        assert f"{first} as run_" in woken["note"], woken
        assert client.call("get_run", run_id=first)["status"] == "cancelled"
        runs = client.call("get_run", session_id="serving")["runs"]
        (second,) = [run["run_id"] for run in runs if run["status"] == "running"]
        until(lambda: client.call("get_run", run_id=second).get("stdout") == "from mine\n", what="its word")
        client.call("cancel_run", run_id=second)


def test_without_the_option_sessions_live_on(state):
    with Client(state) as keeper:
        with Server(state) as server:
            session = HttpClient(server, MODERN).call("run_code", code="x = 1")["session_id"]
            stop(server)
        assert session in boxes_of(state)
        assert keeper.process.poll() is None
