"""Tests what counts as a session, what goes by itself and what never does, whatever the clock says."""

import contextlib
import json
import pathlib
import sqlite3
import subprocess

import pytest

from boxes import boxes_of, until
from database import rows
from http_server import HttpClient, Server
from hutch_client import PATIENCE, Client, ToolError, hutch_binary

WEEK_MS = 7 * 86_400_000


def configured(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)
    return ["--config", str(path)]


def change(state, *statements):
    with contextlib.closing(sqlite3.connect(f"{state}/hutch.db", timeout=30)) as database, database:
        for statement in statements:
            database.execute(statement)


def command(state, *words, check=True):
    return subprocess.run([hutch_binary(), "--state-dir", str(state), *words], capture_output=True, text=True,
                          timeout=120 * PATIENCE, check=check)


def live(state):
    return {row[0] for row in rows(state, "SELECT id FROM sessions WHERE status <> 'destroyed'")}


def said(errors):
    return "".join(line if isinstance(line, str) else line.decode() for line in errors)


def test_conversations_that_were_closed_leave_room_for_the_next(state, tmp_path):
    options = configured(tmp_path, "[session]\nmax_sessions = 3\n")
    for number in range(5):
        with Client(state, *options) as client:
            run = client.run(f"open('kept', 'w').write('{number}')")
            assert run["status"] == "completed"
    assert len(live(state)) == 5, "their files stay"
    with Client(state, *options) as client:
        for number, (session,) in enumerate(rows(state, "SELECT id FROM sessions ORDER BY created_at")[:3]):
            assert client.call("read_file", path="kept", session_id=session)["content"] == str(number)


def test_so_they_do_over_http(state, tmp_path):
    options = configured(tmp_path, "[session]\nmax_sessions = 3\n")
    with Server(state, *options) as server:
        for number in range(5):
            client = HttpClient(server)
            assert client.call("run_code", code=f"open('kept', 'w').write('{number}')")["status"] == "completed"
            assert server.request("DELETE", "/mcp", headers=client.headers)[0] in (200, 204)
        assert len(live(state)) == 5


def test_processes_that_somebody_uses_do_not_give_way(state, tmp_path):
    options = configured(tmp_path, "[session]\nmax_sessions = 2\n")
    with Client(state, *options) as first, Client(state, *options) as other:
        kept = first.run("x = 1")["session_id"]
        lasting = other.call("create_session", name="lasting")["session_id"]
        with pytest.raises(ToolError, match=f"there are 2 sessions already.*max_sessions.*: {kept}, lasting"):
            other.call("create_session")
        assert first.run("x")["outputs"][0]["text"] == "1"
        first.call("delete_session", session_id=kept)
        assert other.call("create_session")["status"] == "ready"
        assert lasting in boxes_of(state)


def test_a_conversation_without_anything_leaves_nothing(state):
    with Client(state) as client:
        client.run("import this; print(1)")
        full = client.call("create_session")["session_id"]
        client.call("write_file", path="file", content="x", session_id=full)
        packed = client.call("create_session")["session_id"]
        client.run("CREATE TABLE t (n int)", "sql", session_id=packed)
        unread = client.call("create_session")["session_id"]
        run = client.run("import time; time.sleep(1); print('said')", session_id=unread, background=True)["run_id"]
        named = client.call("create_session", name="named")["session_id"]
    until(lambda: set(boxes_of(state)) == {named}, what="the end of the boxes")
    with Client(state, "--log-level", "info") as client:
        until(lambda: len(live(state)) < 5, what="the sweep")
        until(lambda: len(list(pathlib.Path(state, "sessions").iterdir())) < 5, what="the end of its files")
        assert {full, unread, named} <= live(state)
        assert client.call("get_run", run_id=run)["stdout"] == "said\n"
        until(lambda: "its connection has ended, and there was nothing in it" in said(client.errors), what="a line")


def age_all(state, ms):
    """As a clock does that leaps: everything was longer ago, the last sweep too."""
    change(state, f"UPDATE sessions SET created_at = created_at - {ms}, last_used_at = last_used_at - {ms}")
    with contextlib.suppress(sqlite3.OperationalError):
        change(state, f"UPDATE upkeep SET swept_at = swept_at - {ms}")


def test_a_clock_that_leaps_deletes_nothing_until_somebody_lets_it(state):
    with Client(state) as client:
        for name in ("one", "two"):
            client.call("create_session", name=name)
            client.call("write_file", path="file", content=name, session_id=name)
        shared = client.call("share_file", path="file", session_id="one", expires_in_seconds=3600)
        until(lambda: rows(state, "SELECT swept_at FROM upkeep") != [], what="a sweep")
    age_all(state, WEEK_MS + 86_400_000)
    change(state, f"UPDATE shares SET expires_at = expires_at - {WEEK_MS}")
    with Client(state) as client:
        until(lambda: "`hutch sessions rm --expired` deletes it now" in said(client.errors), what="a line of it")
        assert client.call("read_file", path="file", session_id="one")["content"] == "one"
        assert rows(state, "SELECT id FROM shares") == [(shared["id"],)]
    told = command(state, "doctor", "--json", check=False)
    (finding,) = (entry for entry in json.loads(told.stdout) if entry["layer"] == "deletion")
    assert "ahead of the last time that hutch looked" in finding["detail"], finding
    # It is not told again, and holds for the next server.
    with Client(state) as client:
        assert client.call("read_file", path="file", session_id="two")["content"] == "two"
        assert "--expired" not in said(client.errors)
    change(state, f"UPDATE sessions SET last_used_at = last_used_at - {2 * WEEK_MS} WHERE name = 'two'")
    assert "deleted what is over its time" in command(state, "sessions", "rm", "--expired").stdout
    assert rows(state, "SELECT name FROM sessions WHERE status <> 'destroyed'") == [("one",)]
    assert "nothing was held back" in command(state, "sessions", "rm", "--expired").stdout


def test_a_sweep_that_would_delete_very_much_waits(state):
    with Client(state) as client:
        principal = rows(state, "SELECT id FROM principals WHERE name = 'local'")[0][0]
        client.call("create_session", name="in_use")
    columns = ("(id, principal_id, template, status, ends_with_connection, limits, env, idle_seconds, "
               "retention_seconds, created_at, last_used_at)")
    change(state, *(f"INSERT INTO sessions {columns} VALUES ('session_{number:012}', '{principal}', 'host', 'stopped', "
                    f"0, '{{}}', '{{}}', 600, 604800, 1, 1)" for number in range(25)))
    with Client(state) as client:
        until(lambda: "25 of 26 sessions would be deleted at once" in said(client.errors), what="a line of it")
    assert len(live(state)) == 26


def test_runs_of_the_past_go_in_steps(state):
    with Client(state) as client:
        old = client.run("print('old')")
        session = old["session_id"]
        client.run("open('kept', 'w').close()")
    assert pathlib.Path(state, "sessions", session, "runs", old["run_id"]).is_dir()
    year_ms = 366 * 86_400_000
    change(state, f"UPDATE runs SET queued_at = queued_at - {year_ms}, finished_at = finished_at - {year_ms} "
                  f"WHERE id = '{old['run_id']}'",
           "WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 1100) "
           "INSERT INTO runs (id, session_id, language, status, background, code_sha256, server_id, queued_at, "
           "finished_at, record, was_read) "
           "SELECT 'run_' || n, session_id, language, status, n % 2, '', '', queued_at + 1, "
           f"finished_at + 1, record, n > 10 FROM runs, number WHERE runs.id = '{old['run_id']}'")
    with Client(state, "--log-level", "info") as client:
        until(lambda: rows(state, "SELECT count(*) FROM runs WHERE was_read = 1")[0][0] <= 1000, what="the sweep")
        until(lambda: "they ended before runs_days" in said(client.errors), what="a line of it")
        assert not pathlib.Path(state, "sessions", session, "runs", old["run_id"]).exists()
        assert rows(state, "SELECT count(*) FROM runs WHERE was_read = 0") == [(10,)]
        assert 995 <= rows(state, "SELECT count(*) FROM runs")[0][0] <= 1010
        with pytest.raises(ToolError, match="no such run"):
            client.call("get_run", run_id=old["run_id"])
        assert client.run("1 + 1", session_id=session)["status"] == "completed"
