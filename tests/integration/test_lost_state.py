"""State that is lost while nothing runs is told of: the next result names it, and never says that it was kept."""

import contextlib
import sqlite3

import pytest

from hutch_client import Client, ToolError


def test_an_interpreter_that_is_killed_while_idle_is_told_of(state):
    with Client(state) as client:
        client.run("x = (n for n in [1])")  # a generator is not stored
        client.run("var j = 1", "javascript")
        killed = client.run("pkill -KILL -f runner.py; pkill -KILL -f runner.mjs; sleep 0.5; true", "bash")
        assert killed["status"] == "completed", killed
        after = client.run("x")
        assert after["error"]["name"] == "NameError"
        told = killed.get("note", "") + after.get("note", "")
        for language in ("python", "javascript"):
            assert f"the interpreter of {language} was killed by signal 9 while it ran nothing" in told, (killed, after)
        assert "note" not in client.run("typeof j", "javascript")  # said once


def test_an_interpreter_that_ends_itself_between_runs_is_told_of(state):
    with Client(state) as client:
        client.run("import os, threading, time\nx = (n for n in [1])\n"
                   "def end():\n    while not os.path.exists('/workspace/go'): time.sleep(0.01)\n    os._exit(3)\n"
                   "threading.Thread(target=end).start()")
        client.call("write_file", path="go", content="")
        looks = [client.run("pgrep -f runner.py", "bash")]
        while looks[-1]["status"] == "completed":
            looks.append(client.run("sleep 0.1; pgrep -f runner.py", "bash"))
        run = client.run("x")
        assert run["error"]["name"] == "NameError"
        notes = [look["note"] for look in [*looks, run] if "note" in look]
        assert len(notes) == 1 and "exited with code 3 while it ran nothing" in notes[0], notes


def test_what_was_asked_for_is_not_told_as_a_loss(state):
    with Client(state) as client:
        client.run("x = 1")
        restarted = client.run("'x' in globals()", restart=True)
        assert "ran nothing" not in restarted.get("note", ""), restarted
        stopped = client.run("import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass",
                             timeout_seconds=1)
        assert stopped["status"] == "timed_out" and "ran nothing" not in stopped.get("note", ""), stopped
        assert "ran nothing" not in client.run("1").get("note", "")


def test_a_session_whose_lifetime_is_over_is_over(state):
    with Client(state) as client:
        made = client.call("create_session", lifetime_seconds=3600, name="short")
        client.run("q = 1", session_id="short")
        with contextlib.closing(sqlite3.connect(f"{state}/hutch.db", timeout=30)) as database, database:
            database.execute("UPDATE sessions SET created_at = created_at - 3600 * 1000 WHERE name = 'short'")
        for _ in range(2):
            with pytest.raises(ToolError, match="lifetime_seconds are over|no such session|was deleted"):
                client.run("q = 2", session_id=made["session_id"])
        assert client.call("create_session", name="short")["session_id"] != made["session_id"]


def test_bash_that_became_another_program_says_that_it_kept_nothing(client):
    session = client.run("export KEPT=1; cd /tmp", "bash")["session_id"]
    run = client.run("KEPT=2; cd /; exec true", "bash", session_id=session)
    assert run["status"] == "completed"
    assert "working directory and variables are as before this run" in run["note"]
    after = client.run("echo $KEPT $PWD", "bash", session_id=session)
    assert after["stdout"] == "1 /tmp\n" and "note" not in after


def test_a_run_at_the_end_of_its_session_is_told_that_files_are_lost(client):
    session = client.call("create_session", lifetime_seconds=2)["session_id"]
    error = client.run("import time; time.sleep(60)", session_id=session)["error"]
    assert error["message"] == "the session's lifetime is over" and "survived" not in error
    assert error["lost"] == "the session has ended: files, variables and processes lost"


def test_changes_since_a_run_that_has_not_started_are_none_from_before(client):
    session = client.run("open('before', 'w').close()")["session_id"]
    until_changed = "import os, time\nwhile os.stat('before').st_ctime + 0.1 > time.time(): pass\nprint('on', flush=True)\ntime.sleep(60)"
    running = client.start_tool("run_code", code=until_changed, language="python", session_id=session)
    listed = []
    while not listed or not client.call("get_run", run_id=listed[0]["run_id"])["stdout"]:
        listed = [run for run in client.call("get_run", session_id=session)["runs"] if run["status"] == "running"]
    queued = client.start_tool("run_code", code="1", language="python", session_id=session)
    runs = []
    while len(runs) < 3:
        runs = client.call("get_run", session_id=session)["runs"]
    (waiting,) = {run["run_id"] for run in runs if run["status"] in ("queued", "running")} - {listed[0]["run_id"]}
    changed = client.call("list_files", changed_since=waiting, session_id=session)
    assert changed["entries"] == []
    client.call("cancel_run", run_id=listed[0]["run_id"])
    for request in (running, queued):
        client.reply(request)
