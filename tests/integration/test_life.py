"""Who owns a session, how long its processes stay when a server goes, and what a pause keeps."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from boxes import boxes_of, processes_of, until
from hutch_client import Client, ToolError, hutch_binary
from http_server import HttpClient, Server
from trial import Trial

# Each is mostly waiting.
ONE_IN_THE_GATE = [pytest.param("end of input", marks=pytest.mark.slow), pytest.param("SIGTERM", marks=pytest.mark.slow),
                   "SIGKILL"]
# Longer than a box without a server, client or name lives, shorter than any other.
SOON = 5


def end(client, way):
    """One thing to the boxes, however it happens."""
    if way == "end of input":
        client.close()
        return
    client.process.send_signal(signal.SIGTERM if way == "SIGTERM" else signal.SIGKILL)
    client.process.wait(60)


def boxes(state):
    """Session ids of the boxes that live."""
    return set(boxes_of(state))


def configured(tmp_path, **session):
    path = tmp_path / "config.toml"
    path.write_text("[session]\n" + "".join(f"{key} = {value}\n" for key, value in session.items()))
    return ["--config", str(path)]


@pytest.mark.parametrize("way", ONE_IN_THE_GATE)
def test_idle_processes_of_sessions_without_a_name_end_soon_and_named_ones_wait(state, way):
    client = Client(state).__enter__()
    default = client.run("open('kept', 'w').write('k')")["session_id"]
    unnamed = client.call("create_session")["session_id"]
    client.call("write_file", path="kept", content="k", session_id=unnamed)  # else it would go as a whole
    named = client.call("create_session", name="lasting")["session_id"]
    client.run("x = 9", session_id=named)
    assert boxes(state) == {default, unnamed, named}
    gone = time.monotonic()
    end(client, way)
    until(lambda: boxes(state) == {named}, what="the end of those without a name")
    assert time.monotonic() - gone >= SOON - 2, "not at once: another server may come"
    with Client(state) as successor:
        assert {s["session_id"]: s["status"] for s in successor.call("list_sessions")["sessions"]} == {
            default: "stopped", unnamed: "stopped", named: "ready"}
        assert successor.call("read_file", path="kept", session_id=default)["content"] == "k"
        assert successor.run("x", session_id=named)["outputs"][0]["text"] == "9"


@pytest.mark.parametrize("way", ONE_IN_THE_GATE)
def test_a_run_in_progress_is_let_finish_and_is_recorded(state, way):
    client = Client(state).__enter__()
    client.start_tool("run_code", code="import time\nprint('begun', flush=True)\n"
                                       "time.sleep(9)\nopen('made', 'w').write('m')\nprint('done')")
    until(lambda: any(s.get("active_runs") for s in client.call("list_sessions")["sessions"]))
    end(client, way)
    assert len(processes_of(state)) == 1
    until(lambda: not processes_of(state), what="the end of the box")
    with Client(state) as successor:
        [session] = successor.call("list_sessions")["sessions"]
        [listed] = successor.call("get_run", session_id=session["session_id"])["runs"]
        run = successor.call("get_run", run_id=listed["run_id"])
        assert (run["status"], run["stdout"]) == ("completed", "begun\ndone\n"), run
        assert successor.call("read_file", path="made", session_id=session["session_id"])["content"] == "m"


@pytest.mark.slow
def test_a_background_run_with_a_deadline_is_let_finish_too(state):
    client = Client(state).__enter__()
    run_id = client.run("import time\ntime.sleep(75)\nprint('done')", background=True, timeout_seconds=100)["run_id"]
    end(client, "end of input")
    until(lambda: not processes_of(state), timeout=120, what="the end of the box")
    with Client(state) as successor:
        run = successor.call("get_run", run_id=run_id)
        assert (run["status"], run["stdout"]) == ("completed", "done\n"), run


@pytest.mark.slow
def test_the_output_of_a_run_stays_while_somebody_who_came_back_for_it_reads_on(state):
    with Client(state) as client:
        run_id = client.run("import time\ntime.sleep(1)\nprint('done')", background=True, timeout_seconds=100)["run_id"]
    until(lambda: not processes_of(state), what="the end of the box")
    for _ in range(3):  # each has a sweep at its start
        with Client(state) as successor:
            run = successor.call("get_run", run_id=run_id)
            assert (run["status"], run["stdout"]) == ("completed", "done\n"), run


@pytest.mark.slow
def test_another_server_that_comes_in_time_keeps_it_alive(state):
    first = Client(state).__enter__()
    session = first.run("x = 5")["session_id"]
    first.call("create_session")
    with Client(state) as second:  # started by then: the box waits for its first word only
        first.close()
        assert second.run("x", session_id=session)["outputs"][0]["text"] == "5"
        until(lambda: boxes(state) == {session}, what="the end of the one that nobody came for")
        assert second.run("x", session_id=session)["outputs"][0]["text"] == "5"
    until(lambda: not processes_of(state), what="the end of the box")


@pytest.mark.slow
def test_those_of_serve_wait_for_the_server_and_end_with_their_connection(state):
    with Server(state) as server:
        client = HttpClient(server, "2025-11-25")
        session = client.call("run_code", code="x = 6")["session_id"]
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(60)
    with Client(state) as probe:  # its own are the measure of the time
        measure = probe.run("1")["session_id"]
    until(lambda: measure not in boxes(state), what="the end of the other")
    assert boxes(state) == {session}
    with Server(state) as server:
        client = HttpClient(server, "2025-11-25")
        assert client.call("run_code", code="x", session_id=session)["outputs"][0]["text"] == "6"
        assert client.call("run_code", code="1")["session_id"] in boxes(state)
        assert server.request("DELETE", "/mcp", headers=client.headers)[0] == 204
        until(lambda: boxes(state) == {session}, what="the end of the default session's box")


def test_a_pause_that_is_too_long_keeps_the_files_and_the_next_run_is_told(state, tmp_path):
    with Client(state, *configured(tmp_path, paused_max_seconds=2, autosave_mb=0)) as client:
        session = client.call("create_session", name="s")["session_id"]
        client.run("x = (n for n in [1]); open('kept', 'w').write('k')", session_id=session)
        client.run("var y = 2", "typescript", session_id=session)
        request = client.start_tool("run_code", code="import time; time.sleep(60)", session_id=session)
        until(lambda: client.call("list_sessions")["sessions"][0].get("active_runs"))
        client.call("pause_session", session_id=session)
        until(lambda: not processes_of(state), what="the end of the box")
        run = client.reply(request)["result"]["structuredContent"]
        assert run["status"] == "cancelled" and "paused for 2 seconds" in run["error"]["message"], run
        assert client.call("list_sessions")["sessions"][0]["status"] == "stopped"
        assert client.call("read_file", path="kept", session_id=session)["content"] == "k"
        result = client.result("run_code", code="'x' in globals()", session_id=session)
        run = result["structuredContent"]
        assert run["outputs"][0]["text"] == "False"
        for word in ("paused for 2 seconds", "variables of python", "variables of javascript", "files kept"):
            assert word in run["note"] and word in result["content"][0]["text"], run["note"]
        assert "sql" not in run["note"] and "bash" not in run["note"]
        assert "note" not in client.run("1", session_id=session), "told once"


@pytest.mark.slow
def test_falling_asleep_is_a_pause_and_a_waking_box_has_lost_nothing(state, tmp_path):
    with Client(state, *configured(tmp_path, idle_seconds=1, paused_max_seconds=8)) as client:
        session = client.run("x = 1; held = (n for n in [1])")["session_id"]  # which cannot be stored
        until(lambda: client.call("list_sessions")["sessions"][0]["status"] == "paused")
        woken = client.run("x")
        assert woken["outputs"][0]["text"] == "1" and "note" not in woken
        until(lambda: not processes_of(state), what="the end of the box")
        assert "held (generator" in client.run("1", session_id=session)["note"]


def test_a_paused_session_outlives_its_server(state):
    client = Client(state).__enter__()
    paused = client.run("x = 7; held = (n for n in [1])")["session_id"]  # which cannot be stored
    other = client.call("create_session")["session_id"]
    client.call("pause_session", session_id=paused)
    client.kill()
    until(lambda: other not in boxes(state), what="the end of the one that was not paused")
    assert boxes(state) == {paused}
    with Client(state) as successor:
        assert successor.run("x", session_id=paused)["outputs"][0]["text"] == "7"


@pytest.mark.slow
def test_a_lifetime_goes_on_in_a_pause(client, state):
    session = client.call("create_session", lifetime_seconds=15)["session_id"]
    assert client.call("pause_session", session_id=session)["status"] == "paused"
    until(lambda: not processes_of(state), what="the end of the box")
    with pytest.raises(ToolError, match="lifetime_seconds are over|was deleted"):
        client.run("1", session_id=session)


@pytest.mark.parametrize("wrong", ["0", "-1", "'x'", "1.5"])
def test_a_wrong_time_of_pause_is_refused(state, tmp_path, wrong):
    client = Client(state, *configured(tmp_path, paused_max_seconds=wrong))
    assert client.process.wait(60) == 2
    until(lambda: any(b"paused_max_seconds must be a whole number" in line for line in client.errors))


def test_the_next_run_is_told_when_a_box_was_killed(state, tmp_path):
    with Client(state, *configured(tmp_path, autosave_mb=0)) as client:
        session = client.run("x = 1")["session_id"]
        client.run("export A=1", "bash")
        [box] = processes_of(state)
        os.kill(box, signal.SIGKILL)
        until(lambda: box not in processes_of(state))
        client.call("list_files", session_id=session)  # starts one, and tells nothing
        note = client.run("1", "sql")["note"]
        assert "variables of python" in note and "variables of bash" in note and "killed" in note, note
        assert "note" not in client.run("1")


CLIENT = """
import json, subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    server.stdin.flush()
send(id=1, method="initialize", params={"protocolVersion": "2025-11-25", "capabilities": {},
                                        "clientInfo": {"name": "c", "version": "1"}})
server.stdout.readline()
send(method="notifications/initialized")
send(id=2, method="tools/call", params={"name": "run_code", "arguments": {"timeout_seconds": 60, "code":
     "import os, time\\nprint('x' * 100000)\\nwhile not os.path.exists('go'): time.sleep(0.05)\\nprint('done')"}})
print(server.pid, flush=True)
time.sleep(1000)
"""


def test_a_client_that_is_killed_takes_its_server_along_but_no_run(state):
    client = subprocess.Popen([sys.executable, "-c", CLIENT, hutch_binary(), "stdio", "--state-dir", state],
                              stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "HOME": state, "HUTCH_ZYGOTE": "0",
                                                           "HUTCH_SPARE_SESSIONS": "0"})
    with client:
        server = int(client.stdout.readline())
        until(lambda: database(state, "SELECT status FROM runs") == ["running"], what="the run")
        client.kill()
    until(lambda: not is_alive(server), what="the end of its server")
    run = database(state, "SELECT id FROM runs")[0]
    with Client(state) as successor:
        assert successor.call("get_run", run_id=run)["status"] == "running"
        successor.call("write_file", path="go", content="", session_id=database(state, "SELECT session_id FROM runs")[0])
        ended = successor.until_ended(run)
        assert ended["status"] == "completed" and ended["stdout"].endswith("done\n"), ended


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("wanted, retention_seconds", [({}, 7 * 86400), ({"retention_seconds": 3600}, 3600)])
def test_what_nobody_uses_is_kept_as_long_as_was_said_and_no_longer(state, tmp_path, wanted, retention_seconds):
    options = configured(tmp_path, **wanted)
    with Client(state, *options) as client:
        for name in ("kept", "over"):
            client.call("create_session", name=name)
            client.call("write_file", path="file", content=name, session_id=name)
    over = database(state, "SELECT id FROM sessions WHERE name = 'over'")[0]
    for name, since_ms in (("over", retention_seconds * 1000), ("kept", retention_seconds * 1000 - 1_800_000)):
        database(state, f"UPDATE sessions SET last_used_at = last_used_at - {since_ms} WHERE name = '{name}'")
    with Client(state, *options) as client:
        until(lambda: database(state, "SELECT name FROM sessions WHERE status = 'destroyed'") == ["over"], what="the sweep")
        assert client.call("read_file", path="file", session_id="kept")["content"] == "kept"
        with pytest.raises(ToolError, match="no such session"):
            client.call("read_file", path="file", session_id="over")
        until(lambda: not os.path.exists(f"{state}/sessions/{over}"), what="the end of its files")


def mark(state, session):
    """Something that every sweep of this session removes."""
    path = pathlib.Path(state, "sessions", session, "box.sock")
    path.unlink(missing_ok=True)
    path.touch()
    return path


def kill_box_of(state, session):
    os.kill(boxes_of(state)[session], signal.SIGKILL)
    until(lambda: session not in boxes(state))


def hold_up(client, state, session):
    """The client's server as it starts a box: it has the session's lock, and the log that it opens is a FIFO.

    The log, and the call that waits.
    """
    log = pathlib.Path(state, "sessions", session, "box.log")
    log.unlink()
    os.mkfifo(log)
    request = client.start_tool("run_code", code="'made'", session_id=session)
    until(lambda: waits_for_fifo(client.process.pid), what="the server at the log")
    return log, request


def test_a_server_does_not_sweep_what_another_is_making(state):
    with Client(state) as first:
        making = first.call("create_session", name="making")["session_id"]
        dead = first.call("create_session", name="dead")["session_id"]
        for session in (making, dead):
            kill_box_of(state, session)
        log, request = hold_up(first, state, making)
        marks = [mark(state, session) for session in (making, dead)]
        with Client(state) as second:
            until(lambda: not marks[1].exists(), what="the sweep of the dead one")
            asked = second.start_tool("run_code", code="'of the second'", session_id=making)
            second.call("list_sessions")
            assert marks[0].exists(), "swept while it was being made"
            reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
            log.unlink()
            for client, number, value in ((first, request, "'made'"), (second, asked, "'of the second'")):
                run = client.reply(number)["result"]["structuredContent"]
                assert run["status"] == "completed" and run["outputs"][0]["text"] == value, run
            os.close(reader)
        assert boxes(state) == {making}


def waits_for_fifo(pid):
    """One of its threads stays in the same openat(2)."""
    seen = opens_of(pid)
    time.sleep(0.1)
    return seen & opens_of(pid)


def opens_of(pid):
    calls = set()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            call = (task / "syscall").read_text()
        except OSError:
            continue
        if call.split()[0] == OPENAT:
            calls.add((task.name, call))
    return calls


OPENAT = "257" if os.uname().machine == "x86_64" else "56"


def test_the_lock_is_the_boxs_before_its_server_can_die(tmp_path):
    """The helper is held up before it is hutch-box; its server is killed, another sweeps, and the box comes up."""
    trial = Trial(tmp_path)
    go = tmp_path / "go"
    os.mkfifo(go)
    trial.replace("hutch-box", f"#!/bin/sh\nread -r line < {go}\nexec {trial.directory}/real/hutch-box\n")
    first = trial.client("--session", "s").__enter__()
    first.start_tool("run_code", code="1")
    sessions = pathlib.Path(trial.state, "sessions")
    until(lambda: list(sessions.glob("*/lock")) and trial.processes())
    [session] = [path.name for path in sessions.iterdir()]
    first.kill()
    marked = mark(trial.state, session)
    dead = sessions / ("session_" + "0" * 32)  # nobody's: what a sweep has done last is remove it
    dead.mkdir()
    with trial.client() as second:
        until(lambda: not dead.exists(), what="a sweep")
        assert marked.exists(), "swept although it has an owner"
        go.write_text("\n")
        until(lambda: marked.exists() and marked.is_socket(), what="the box")
        assert second.run("'here'", session_id=session)["outputs"][0]["text"] == "'here'"
        second.call("delete_session", session_id=session)
        trial.until_nothing_is_left(second.process.pid, [session])


@pytest.mark.slow
def test_a_server_that_was_stopped_in_the_middle_goes_on(state):
    """While it stands still with the lock, others say so and leave the session alone."""
    with Client(state) as first, Client(state) as second:
        made = first.call("create_session", name="a")["session_id"]
        kill_box_of(state, made)
        log, request = hold_up(first, state, made)
        first.process.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(ToolError, match="deleted, but its sandbox has not ended"):
                second.call("delete_session", session_id=made)
        finally:
            first.process.send_signal(signal.SIGCONT)
        reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
        result = first.reply(request)["result"]
        assert result["isError"] and "deleted" in result["content"][0]["text"], result
        os.close(reader)
        until(lambda: not processes_of(state), what="the end of what nobody may have any more")


@pytest.mark.slow
def test_an_old_server_keeps_the_schema_and_says_so(state):
    """A newer one brings the database up to date only when it is alone."""
    with Client(state) as client:
        client.run("1")
        version = database(state, "PRAGMA user_version")[0]
        database(state, f"PRAGMA user_version = {version - 1}")
        newer = Client(state)
        assert newer.process.wait(60) == 1
        until(lambda: any(b"older hutch" in line for line in newer.errors))
        assert database(state, "PRAGMA user_version")[0] == version - 1
        assert client.value("1 + 1") == "2"
        database(state, f"PRAGMA user_version = {version}")


def test_a_newer_schema_is_refused(state):
    with Client(state) as client:
        client.run("1")
        version = database(state, "PRAGMA user_version")[0]
        database(state, "PRAGMA user_version = 99")
        newer = Client(state)
        assert newer.process.wait(60) == 1
        database(state, f"PRAGMA user_version = {version}")
        until(lambda: any(b"newer hutch (schema 99" in line for line in newer.errors))


def database(state, statement):
    with contextlib.closing(sqlite3.connect(f"{state}/hutch.db", timeout=30, isolation_level=None)) as opened:
        return [row[0] for row in opened.execute(statement)]
