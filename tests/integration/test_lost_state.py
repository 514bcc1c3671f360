"""State that is lost while nothing runs is told of: the next result names it, and never says that it was kept."""

import contextlib
import sqlite3

import pytest

from hutch_client import Client, ToolError


def test_an_interpreter_that_is_killed_while_idle_is_told_of(state):
    with Client(state) as client:
        client.run("x = 1")
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
        client.run("import os, threading, time\nx = 1\n"
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
