"""Sessions made ahead of need: whoever asks gets one, nobody sees them before, and none is left over."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

import pytest

from hutch_client import PATIENCE, Client, ToolError, hutch_binary
from trial import Trial
from zygote import made_from_it, pids, wait_until

PIDS = pathlib.Path("/proc")


@contextlib.contextmanager
def server(state, *arguments, spares=1, **environment):
    with Client(state, *arguments, env={"HUTCH_SPARE_SESSIONS": str(spares), **environment}) as client:
        yield client


def rows(state, what="principal_id = 'spare' AND status = 'ready'"):
    with contextlib.closing(sqlite3.connect(f"{state}/hutch.db", timeout=30)) as database:
        return [row[0] for row in database.execute(f"SELECT id FROM sessions WHERE {what}")]


def spares(state, count=1):
    """Their ids, once there are so many and each has its interpreter."""
    wait_until(lambda: len(rows(state)) == count and all(has_python(state, spare) for spare in rows(state)), "no spare session")
    return rows(state)


def box_of(state, session):
    """The hutch-box that has the session's locked file open; none without one."""
    lock = f"{state}/sessions/{session}/lock"
    for entry in PIDS.glob("[0-9]*"):
        try:
            if (entry / "comm").read_text() == "hutch-box\n" and os.readlink(entry / "fd/5") == lock:
                return int(entry.name)
        except OSError:
            continue
    return None


def descendants(pid):
    try:
        children = [child for task in os.listdir(f"/proc/{pid}/task")
                    for child in (PIDS / str(pid) / "task" / task / "children").read_text().split()]
    except OSError:
        return []
    return [*map(int, children), *(below for child in children for below in descendants(child))]


def has_python(state, session):
    box = box_of(state, session)
    return box is not None and any(b"python" in command(pid) for pid in descendants(box))


def command(pid):
    try:
        return (PIDS / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def test_whoever_asks_gets_one_and_it_is_replaced(state):
    with server(state) as client:
        [spare] = spares(state)
        assert client.call("list_sessions")["sessions"] == []
        before = time.time()
        made = client.call("create_session", name="mine")
        assert made["session_id"] == spare and made["name"] == "mine"
        [next_one] = spares(state)
        assert next_one != spare
        assert client.run("x = 6 * 7; x", session_id="mine")["outputs"][-1]["text"] == "42"
        [listed] = client.call("list_sessions")["sessions"]
        assert listed["session_id"] == spare and listed["name"] == "mine"
        assert rows(state, f"id = '{spare}' AND created_at >= {int(before * 1000) - 1}") == [spare]
        client.call("delete_session", session_id="mine")
        assert not pathlib.Path(state, "sessions", spare).exists()


def test_the_session_of_a_connection_is_one_and_ends_with_it(state):
    with server(state) as client:
        [spare] = spares(state)
        assert client.call("run_code", code="1")["session_id"] == spare
        assert box_of(state, spare)
    wait_until(lambda: box_of(state, spare) is None, "it lives on")
    assert pathlib.Path(state, "sessions", spare, "workspace").is_dir(), "files stay"


@pytest.mark.parametrize("wish", [{"limits": {"memory_mb": 300}}, {"env": {"A": "b"}}, {"network": {"block_outbound": True}}])
def test_whoever_wants_something_special_gets_another(state, wish):
    with server(state) as client:
        [spare] = spares(state)
        made = client.call("create_session", **wish)["session_id"]
        assert made != spare and rows(state) == [spare]
        assert client.run("1", session_id=made)["status"] == "completed"
        # A wish for what is so anyhow is nothing special.
        assert client.call("create_session", limits={"cpus": 2})["session_id"] == spare


def test_one_with_a_lifetime_is_given_away_and_ends_when_that_is_over(state):
    with server(state) as client:
        [spare] = spares(state)
        made = client.call("create_session", lifetime_seconds=2)
        assert made["session_id"] == spare and "ends_at" in made
        assert client.run("1", session_id=spare)["status"] == "completed"
        wait_until(lambda: box_of(state, spare) is None, "it lives on")
        with pytest.raises(ToolError, match="lifetime_seconds are over"):
            client.run("1", session_id=spare)


def test_limits_of_names_and_numbers_hold(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[session]\nmax_sessions = 2\n")
    with server(state, "--config", str(config)) as client:
        [first] = spares(state)
        client.call("create_session", name="a")
        [second] = spares(state)
        with pytest.raises(ToolError, match="already"):
            client.call("create_session", name="a")
        assert rows(state) == [second], "it waits for the next"
        assert client.call("create_session", name="b")["session_id"] == second
        spares(state)
        with pytest.raises(ToolError, match="there are 2 sessions already"):
            client.call("create_session")
        client.call("delete_session", session_id=first)
        assert client.run("1", session_id=client.call("create_session")["session_id"])["status"] == "completed"


def test_nobody_has_it_before_it_is_given(state):
    with server(state) as client:
        [spare] = spares(state)
        for tool, more in (("run_code", {"code": "1"}), ("read_file", {"path": "x"}), ("delete_session", {})):
            with pytest.raises(ToolError, match="no such session"):
                client.call(tool, session_id=spare, **more)
        shown = subprocess.run([hutch_binary(), "sessions", "ls", "--state-dir", state], capture_output=True, text=True,
                               timeout=60 * PATIENCE, check=True)
        assert spare not in shown.stdout
        assert rows(state) == [spare]


def test_one_that_has_died_is_not_given(state):
    with server(state) as client:
        [spare] = spares(state)
        os.kill(box_of(state, spare), signal.SIGKILL)
        wait_until(lambda: box_of(state, spare) is None, "it lives on")
        made = client.call("create_session")["session_id"]
        assert client.run("1 + 1", session_id=made)["outputs"][-1]["text"] == "2"
        assert made != spare and spares(state) != [spare]


def test_many_at_once_get_one_each(state):
    with server(state, spares=3) as client:
        spares(state, 3)
        requests = [client.start_tool("run_code", code=f"import os; print({number}, os.getpid())",
                                      session_id=client.call("create_session", name=f"s{number}")["session_id"])
                    for number in range(8)]
        said = [client.reply(request)["result"]["structuredContent"] for request in requests]
        assert [run["stdout"].split()[0] for run in said] == [str(number) for number in range(8)]
        assert len({run["session_id"] for run in said}) == 8


def test_those_that_are_refused_leave_the_number_as_it_is(state):
    with server(state) as client:
        spares(state)
        client.call("create_session", name="taken")
        spares(state)
        for _ in range(5):
            requests = [client.start_tool("create_session", name="taken") for _ in range(16)]
            assert all(client.reply(request)["result"]["isError"] for request in requests)
        [spare] = spares(state)
        assert client.call("create_session")["session_id"] == spare


def test_one_that_has_rested_is_as_new(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[session]\nidle_seconds = 1\n")
    with server(state, "--config", str(config)) as client:
        [spare] = spares(state)
        wait_until(lambda: is_frozen(box_of(state, spare)), "it is not paused")
        made = client.call("create_session")
        assert made["session_id"] == spare and made["status"] == "ready"
        assert client.run("1", session_id=spare)["status"] == "completed"


def is_frozen(box):
    """Its Python is stopped, or in a frozen cgroup."""
    pythons = [pid for pid in descendants(box) if b"python" in command(pid)]
    return bool(pythons) and all(state_of(pid) == "T" or freezer_of(pid) == "FROZEN" for pid in pythons)


def state_of(pid):
    return (PIDS / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]


def freezer_of(pid):
    for line in (PIDS / str(pid) / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for file, frozen in ((f"/sys/fs/cgroup/freezer{path}/freezer.state", "FROZEN"),
                             (f"/sys/fs/cgroup{path}/cgroup.freeze", "1")):
            if controllers in ("freezer", "") and os.path.exists(file):
                return "FROZEN" if pathlib.Path(file).read_text().strip() == frozen else "THAWED"
    return None


def test_one_that_does_not_answer_keeps_nobody_waiting(state):
    with server(state) as client:
        [spare] = spares(state)
        box = box_of(state, spare)
        os.kill(box, signal.SIGSTOP)
        begin = time.monotonic()
        made = client.call("create_session")["session_id"]
        assert made != spare and time.monotonic() - begin < 10 * PATIENCE
        assert client.run("1", session_id=made)["status"] == "completed"
        [next_one] = [other for other in spares(state) if other != spare]
        os.kill(box_of(state, next_one), signal.SIGSTOP)
        begin = time.monotonic()
        client.close()
        assert time.monotonic() - begin < 10 * PATIENCE
        for stopped in (box, box_of(state, next_one)):
            os.kill(stopped, signal.SIGCONT)


def test_what_a_python_says_at_its_start_is_of_its_first_run(tmp_path):
    trial = Trial(tmp_path)
    runner = trial.directory / "share/hutch/runners/python/runner.py"
    runner.write_text("import os\nos.write(2, b'noise\\n')\n" + runner.read_text())
    with trial.client(env={"HUTCH_SPARE_SESSIONS": "1"}) as client:
        [spare] = spares(trial.state)
        run = client.run("import sys\nprint('said', file=sys.stderr)", session_id=client.call("create_session")["session_id"])
        assert run["session_id"] == spare and run["stderr"] == "noise\nsaid\n"


def test_a_server_that_ends_takes_them_along(state):
    with server(state, spares=2):
        made = spares(state, 2)
        boxes = [box_of(state, spare) for spare in made]
    assert rows(state, "principal_id = 'spare' AND status <> 'destroyed'") == []
    for spare, box in zip(made, boxes):
        assert not pathlib.Path(state, "sessions", spare).exists()
        assert b"hutch-box" not in command(box)


def test_those_of_a_killed_server_are_swept(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[session]\ndetach_seconds = 0\n")
    with server(state, "--config", str(config)) as client:
        [spare] = spares(state)
        client.kill()
    wait_until(lambda: box_of(state, spare) is None, "it lives on without its server")
    with contextlib.closing(sqlite3.connect(f"{state}/hutch.db", timeout=30)) as database, database:
        database.execute("UPDATE sessions SET created_at = created_at - 100000 WHERE id = ?", (spare,))
    with server(state, spares=0):
        wait_until(lambda: not pathlib.Path(state, "sessions", spare).exists(), "its files are there")
        wait_until(lambda: rows(state, "principal_id = 'spare' AND status <> 'destroyed'") == [], "its row is there")


def test_it_is_forked_from_a_warm_zygote(state):
    """Not before: what it waits for is what makes it small."""
    def origin_of_the_first():
        with server(state, HUTCH_ZYGOTE="1") as client:
            wait_until(lambda: rows(state), "no spare session")
            [spare] = rows(state)
            assert client.call("create_session")["session_id"] == spare
            (made,) = client.call("list_sessions")["sessions"]
            client.call("delete_session", session_id=spare)
        return made["isolation"]["python"]

    def let_the_zygote_go(_):
        """Each first one has a zygote of its own: any later one finds it warm."""
        wait_until(lambda: not pids(state), "the zygote stays without a server")

    made_from_it(origin_of_the_first, origin_of=str, delete=let_the_zygote_go)


@pytest.mark.parametrize("wrong", ["-1", "101", "many", "1.5"])
def test_a_wrong_number_is_refused(state, wrong):
    ended = subprocess.run([hutch_binary(), "stdio", "--state-dir", state], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=60 * PATIENCE,
                           env={**os.environ, "HUTCH_SPARE_SESSIONS": wrong})
    assert ended.returncode == 2 and "HUTCH_SPARE_SESSIONS must be from 0 to 100" in ended.stderr


def interpreters_of(state, session):
    """By what they run, as processes of the host."""
    below = {pid: command(pid) for pid in descendants(box_of(state, session))}
    return {name: {pid for pid, line in below.items() if mark in line}
            for name, mark in (("python", b"python/runner.py"), ("javascript", b"runner.mjs"), ("sql", b"sql/runner.py"),
                               ("bash", b"--ahead"))}


def use_all_languages(client, state):
    spares(state)
    for language, code in (("javascript", "1"), ("sql", "SELECT 1"), ("bash", "true")):
        client.run(code, language=language)
    spares(state)
    client.call("create_session")  # the spare of before then
    [spare] = spares(state)
    wait_until(lambda: all(interpreters_of(state, spare).values()), "not all are started")
    return spare


def test_languages_that_were_used_lately_are_started_in_it_too(state):
    with server(state) as client:
        spare = use_all_languages(client, state)
        before = interpreters_of(state, spare)
        assert client.call("create_session", name="mine")["session_id"] == spare
        assert client.run("6 * 7", language="javascript", session_id="mine")["outputs"][-1]["text"] == "42"
        assert client.run("SELECT 6 * 7 AS n", language="sql", session_id="mine")["status"] == "completed"
        assert client.call("run_code", code="echo 42", language="bash", session_id="mine")["stdout"] == "42\n"
        after = interpreters_of(state, spare)
        assert after["javascript"] == before["javascript"] and after["sql"] == before["sql"]


@pytest.mark.slow
def test_those_that_its_session_does_not_use_end(state):
    with server(state) as client:
        spare = use_all_languages(client, state)
        assert client.call("create_session", name="mine")["session_id"] == spare
        until = time.monotonic() + 120
        while any(interpreters_of(state, spare)[name] for name in ("javascript", "sql", "bash")):
            assert time.monotonic() < until, "they are still there"
            time.sleep(1)
        assert client.run("6 * 7", language="javascript", session_id="mine")["outputs"][-1]["text"] == "42"
        assert not client.run("1", language="javascript", session_id="mine").get("note")
