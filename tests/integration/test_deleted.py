"""Tests what a deleted session leaves: its record and the audit, and nothing that its user said, wrote or named."""

import os
import pathlib

import pytest

from boxes import until
from database import rows
from hutch_client import Client, ToolError

SECRET = "marmalade"
NOTE = "its session was deleted, and its output with it"


def files_with(state, text):
    """Returns such files of the state directory; what was shared is somebody else's by now."""
    found = []
    for directory, _, names in os.walk(state):
        for path in (pathlib.Path(directory, name) for name in names):
            try:
                if path.is_file() and not path.is_relative_to(f"{state}/shared") and text.encode() in path.read_bytes():
                    found.append(str(path))
            except OSError:
                pass  # a file that is gone by now
    return found


def used_session(client):
    session = client.call("create_session", env={"TOKEN": SECRET})["session_id"]
    runs = [client.run(f"print('{SECRET}')", session_id=session),
            client.run(f"open('{SECRET}.txt', 'w').write('x'); raise OSError('{SECRET}')", session_id=session),
            client.run(f"exit 3  # {SECRET}", "bash", session_id=session),
            client.run(f"'{SECRET}' * 100000", session_id=session)]
    client.call("write_file", path=f"{SECRET}.csv", content="1", session_id=session)
    return session, [run["run_id"] for run in runs]


def test_runs_are_known_by_how_they_ended(state):
    with Client(state) as client:
        session, runs = used_session(client)
        before = [client.call("get_run", run_id=run) for run in runs]
        client.call("delete_session", session_id=session)
        after = [client.call("get_run", run_id=run) for run in runs]
        for was, now in zip(before, after):
            for kept in ("run_id", "session_id", "language", "status", "exit_code", "duration_ms"):
                assert now.get(kept) == was.get(kept), kept
            assert (now["stdout"], now["stderr"], now["outputs"], now["files_changed"]) == ("", "", [], [])
            assert now["note"] == NOTE and SECRET not in str(now)
        assert [run.get("error", {}).get("cause") for run in after] == [None, "exception", "exit", None]
        assert NOTE in client.result("get_run", run_id=runs[1])["content"][0]["text"]
        listed = client.result("get_run", session_id=session)
        assert [run["run_id"] for run in listed["structuredContent"]["runs"]] == runs[::-1]
        for said in (listed["structuredContent"]["note"], listed["content"][0]["text"]):
            assert "this session was deleted, and the output of its runs with it" in said
        with pytest.raises(ToolError, match="this session was deleted"):
            client.run("1", session_id=session)


def test_a_session_without_runs(state):
    with Client(state) as client:
        session = client.call("create_session")["session_id"]
        client.call("delete_session", session_id=session)
        listed = client.result("get_run", session_id=session, wait_seconds=1)
        assert listed["structuredContent"]["runs"] == []
        assert listed["content"][0]["text"].startswith(f"No run in {session}\nnote: this session was deleted")
        assert "this did not wait" in listed["structuredContent"]["note"]


def test_nothing_is_left_on_disk_and_the_database_shrinks(state):
    with Client(state) as client:
        session, _ = used_session(client)
        for _ in range(6):
            client.run(f"for _ in range(60): display('{SECRET}' * 2000)", session_id=session)
        assert files_with(state, SECRET)
        client.call("delete_session", session_id=session)
        assert rows(state, "SELECT count(*) FROM files") == [(0,)]
        assert rows(state, "SELECT count(*), min(env), max(env) FROM sessions WHERE buried = 1") == [(1, "{}", "{}")]
    large = os.path.getsize(f"{state}/hutch.db")
    assert large > 5_000_000
    with Client(state):  # it sweeps as it starts, and every minute
        until(lambda: os.path.getsize(f"{state}/hutch.db") < 500_000, what=f"a database of less than {large} bytes")
        until(lambda: not files_with(state, SECRET), what=f"no trace in {files_with(state, SECRET)}")


def test_what_a_kill_interrupts_the_next_server_finishes(state):
    client = Client(state)
    client.__enter__()
    session, runs = used_session(client)
    for _ in range(30):
        client.run("0", session_id=session)
    client.start_tool("delete_session", session_id=session)
    until(lambda: rows(state, "SELECT status FROM sessions") == [("destroyed",)], what="the beginning of the end")
    client.kill()
    with Client(state) as successor:
        until(lambda: rows(state, "SELECT buried FROM sessions") == [(1,)], what="the end")
        assert successor.call("get_run", run_id=runs[0])["note"] == NOTE
        until(lambda: not files_with(state, SECRET), what=f"no trace in {files_with(state, SECRET)}")


def test_a_run_of_a_deleted_session_is_told_what_is_lost(state):
    with Client(state) as client, Client(state) as other:
        session = client.call("create_session")["session_id"]
        client.run("1", session_id=session)
        running = client.start_tool("run_code", code="import time\nprint('on', flush=True)\ntime.sleep(600)", language="python",
                                    session_id=session)
        until(lambda: client.call("list_sessions")["sessions"][0].get("active_runs"), what="the run")
        other.call("delete_session", session_id=session)
        error = client.reply(running)["result"]["structuredContent"]["error"]
        assert error["cause"] == "cancelled" and "survived" not in error
        assert error["lost"] == "the session has ended: files, variables and processes lost"
