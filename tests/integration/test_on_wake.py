"""A background run that its session has lost is started anew when the session wakes, if it was to be."""

import os
import signal

import pytest

from boxes import boxes_of, until
from hutch_client import ToolError

SERVER = """
import http.server, os
print('from', os.environ['WHOSE'], flush=True)
http.server.HTTPServer(('127.0.0.1', 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def start(client, code=SERVER, **arguments):
    return client.run(code, background=True, on_wake="restart", **arguments)


def kill_box(state, session):
    os.kill(boxes_of(state)[session], signal.SIGKILL)
    until(lambda: session not in boxes_of(state), what="the end of the box")


def background_runs(client, session):
    runs = client.call("get_run", session_id=session)["runs"]
    return {run["run_id"]: run["status"] for run in runs if run.get("background")}


def test_a_server_is_there_again(client, state):
    session = client.call("create_session", name="kept")["session_id"]
    first = start(client, session_id=session, env={"WHOSE": "mine"})["run_id"]
    kill_box(state, session)
    woken = client.run("import urllib.request, time\nfor _ in range(200):\n    try:\n        print(urllib.request.urlopen('http://127.0.0.1:8000').status); break\n"
                       "    except OSError: time.sleep(0.05)", session_id=session)
    assert woken["stdout"] == "200\n" and f"{first} as run_" in woken["note"], woken
    (second,) = [run for run, status in background_runs(client, session).items() if status == "running"]
    told = client.call("get_run", run_id=second)
    assert told["stdout"] == "from mine\n" and f"in place of {first}" in told["note"], told
    kill_box(state, session)
    third = client.run("1", session_id=session)["note"]
    assert f"{second} as run_" in third, third
    assert list(background_runs(client, session).values()).count("running") == 1


def test_one_that_ended_by_itself_or_by_a_clients_wish_stays_ended(client, state):
    session = client.call("create_session", name="kept")["session_id"]
    ended = start(client, "print('over')", session_id=session)
    until(lambda: client.call("get_run", run_id=ended["run_id"])["status"] == "completed", what="its end")
    failed = start(client, "1 / 0", session_id=session)
    until(lambda: client.call("get_run", run_id=failed["run_id"])["status"] == "failed", what="its end")
    cancelled = start(client, "import time; time.sleep(600)", session_id=session)
    client.call("cancel_run", run_id=cancelled["run_id"])
    other = client.run("import time; time.sleep(600)", background=True, session_id=session)
    kill_box(state, session)
    note = client.run("1", session_id=session)["note"]
    assert "anew" not in note and f"the background run {other['run_id']} (get_run has what was printed)" in note, note
    assert "running" not in background_runs(client, session).values()
    assert client.call("get_run", run_id=other["run_id"])["error"]["cause"] == "sandbox_lost"


def test_a_session_that_is_deleted_starts_nothing(client, state):
    session = client.call("create_session", name="gone")["session_id"]
    start(client, "import time; time.sleep(600)", session_id=session)
    client.call("delete_session", session_id=session)
    until(lambda: session not in boxes_of(state), what="the end of the box")
    assert not os.path.exists(f"{state}/sessions/{session}/restarts")


def test_it_is_for_background_runs(client):
    with pytest.raises(ToolError, match="background: true"):
        client.run("1", on_wake="restart")
