"""A session that rests gives its memory back, where all that it knows can be stored; else it is frozen."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

from boxes import boxes_of, children_of, is_frozen, processes_of, until
from hutch_client import Client, ToolError, hutch_binary


def row_of(client, session):
    return next(one for one in client.call("list_sessions")["sessions"] if one["session_id"] == session)


def status_of(client, session):
    return row_of(client, session)["status"]


def until_it_is(client, session, status):
    try:
        until(lambda: status_of(client, session) == status)
    except AssertionError as late:
        raise AssertionError(f"the session is not {status}: {row_of(client, session)}") from late


def test_a_paused_session_is_stored_and_wakes_with_all_that_it_knew(client, state):
    session = client.call("create_session", name="kept")["session_id"]
    client.run("import decimal, os, random\nrows = [1, 2]; alias = rows\ndef total(): return sum(rows)\n"
               "os.environ['MODE'] = 'mine'; decimal.getcontext().prec = 5; random.seed(1); random.random()\nstate = random.getstate()",
               session_id=session)
    client.run("mkdir -p deep/er; cd deep/er; greeting='hello you'; say() { echo \"$greeting from ${PWD##*/}\"; }; alias ll='echo listed'",
               "bash", session_id=session)
    client.run("CREATE TABLE t AS SELECT 42 AS n", "sql", session_id=session)
    client.run("import path from 'path';\nclass Point { constructor(x) { this.x = x; } twice() { return 2 * this.x; } }\n"
               "const points = new Map([['a', new Point(4)]]); const same = points.get('a'); const base = (name) => path.basename(name);",
               "javascript", session_id=session)
    client.call("pause_session", session_id=session)
    until_it_is(client, session, "stored")
    until(lambda: not boxes_of(state), what="the end of the box")
    woken = client.run("alias.append(3); print(total(), os.environ['MODE'], decimal.Decimal(1) / 3, random.getstate() == state)",
                       session_id=session)
    assert woken["stdout"] == "6 mine 0.33333 True\n", woken
    assert "a new Python has the" in woken["note"] and "lost" not in woken["note"], woken
    script = client.run("same.x = 5; [points.get('a').twice(), same instanceof Point, base('/a/b')].join(' ')", "javascript", session_id=session)
    assert script["outputs"][0]["text"] == "'10 true b'" and "a new JavaScript has the" in script["note"], script
    shell = client.run("say; ll", "bash", session_id=session)
    assert shell["stdout"] == "hello you from er\nlisted\n" and "lost" not in shell.get("note", ""), shell
    table = client.run("SELECT n FROM t", "sql", session_id=session)
    assert "42" in table["outputs"][0]["text"] and "note" not in table, table


@pytest.mark.slow
def test_an_idle_session_gives_its_memory_back(state, tmp_path):
    (tmp_path / "config.toml").write_text("[session]\nidle_seconds = 1\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        session = client.run("kept = bytearray(b'x' * 300_000_000)")["session_id"]  # more than what is stored after each run
        until_it_is(client, session, "stored")
        assert client.run("len(kept), kept[-1]")["outputs"][0]["text"] == "(300000000, 120)"


def test_an_idle_session_that_is_frozen_is_stored_before(state, tmp_path):
    (tmp_path / "config.toml").write_text("[session]\nidle_seconds = 1\nautosave_mb = 8\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        session = client.run("import subprocess\nkept = bytearray(b'x' * 20_000_000)\nsubprocess.Popen(['sleep', '3600']).pid > 0")["session_id"]
        (box,) = processes_of(state)
        until(lambda: is_frozen(box), what="the session being frozen")
        assert status_of(client, session) == "paused"
        os.kill(box, signal.SIGKILL)
        until(lambda: not boxes_of(state), what="the end of the box")
        assert client.run("len(kept)")["outputs"][0]["text"] == "20000000"


BESIDE = {
    "what a run has left": ("import subprocess\nbeside = subprocess.Popen(['sleep', '3600']).pid", {}, r"process \d+ \(sleep 3600\)"),
    "a port that is listened to": ("import subprocess\nbeside = subprocess.Popen(['python3', '-m', 'http.server', '8123']).pid", {},
                                   r"process \d+ \(python3 -m http.server 8123\)"),
    "a run in the background": ("beside = 1", {"code": "import time; time.sleep(3600)", "background": True}, r"a run is not over \(run_\w+\)"),
    "a file in memory": ("beside = open('/dev/shm/shared', 'w').write('x')", {}, "there are files in /dev/shm"),
    "what is not kept": ("beside = (n for n in [1])", {}, "python knows something that cannot be stored"),
}


@pytest.mark.parametrize("name", BESIDE)
def test_a_paused_session_that_is_frozen_is_stored_before_and_says_why(state, tmp_path, name):
    code, other, why = BESIDE[name]
    (tmp_path / "config.toml").write_text("[session]\nautosave_mb = 8\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        session = client.run(f"kept = bytearray(b'x' * 20_000_000)\n{code}")["session_id"]  # more than what is stored after each run
        if other:
            client.run(**other)
        paused = client.call("pause_session", session_id=session)
        assert (paused["status"], paused["tier"]) == ("paused", "frozen") and "wakes by itself" in paused["note"], paused
        (box,) = processes_of(state)
        until(lambda: is_frozen(box), what="the session being frozen")
        (listed,) = client.call("list_sessions")["sessions"]
        assert (listed["status"], listed["tier"]) == ("paused", "frozen"), listed
        assert re.search(f"it stays in memory, since {why}; what can be stored of it is stored", listed["note"]), listed
        assert client.call("pause_session", session_id=session)["note"] == listed["note"]
        os.kill(box, signal.SIGKILL)
        until(lambda: not boxes_of(state), what="the end of the box")
        assert client.run("len(kept)")["outputs"][0]["text"] == "20000000"


def test_processes_that_end_with_a_paused_session_are_named(state, tmp_path):
    (tmp_path / "config.toml").write_text("[session]\npaused_max_seconds = 1\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        session = client.run("import subprocess\nbeside = subprocess.Popen(['sleep', '3600']); kept = 1")["session_id"]
        client.run("sleep 3700 >/dev/null 2>&1 &", "bash")
        client.call("pause_session", session_id=session)
        until(lambda: not boxes_of(state), what="the end of the box")
        woken = client.run("kept")
        assert woken["outputs"][0]["text"] == "1", woken
        assert re.search(r"lost, because [^:]*: processes (sleep 3600, sleep 3700|sleep 3700, sleep 3600); files kept", woken["note"]), woken
        assert "sleep" not in client.run("kept").get("note", "")


def test_where_the_share_of_the_disk_is_used_up_that_is_said(client, state):
    session = client.run("large = bytearray(b'x' * 9_000_000)\nn = (n for n in [1])")["session_id"]
    full = pathlib.Path(state, "sessions", session, "state/full")
    full.parent.mkdir(exist_ok=True)
    full.touch()  # as its server does then (kShareUsedUp)
    client.call("pause_session", session_id=session)
    (box,) = processes_of(state)
    until(lambda: is_frozen(box), what="the session being frozen")
    (listed,) = client.call("list_sessions")["sessions"]
    why = "what your sessions have stored takes a tenth of the disk, and python knows more than may be stored beside it"
    assert f"it stays in memory, since {why}" in listed["note"], listed
    shown = subprocess.run([hutch_binary(), "sessions", "show", session, "--state-dir", state], capture_output=True, text=True, check=True).stdout
    assert why in shown, shown


def test_a_stored_session_leaves_its_place_to_another(state, tmp_path):
    (tmp_path / "config.toml").write_text("[session]\nmax_sessions = 1\nspare_sessions = 0\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        first = client.call("create_session", name="first")["session_id"]
        client.run("x = 5", session_id=first)
        with pytest.raises(ToolError, match="max_sessions"):
            client.call("create_session", name="second")
        client.call("pause_session", session_id=first)
        until_it_is(client, first, "stored")
        second = client.call("create_session", name="second")["session_id"]
        with pytest.raises(ToolError, match="max_sessions"):
            client.run("x", session_id=first)
        client.call("delete_session", session_id=second)
        assert client.run("x", session_id=first)["outputs"][0]["text"] == "5"


def test_each_tier_is_told_with_what_happens_next(client, state):
    def listed(**arguments):
        return client.call("list_sessions", **arguments)["sessions"][0]

    session = client.call("create_session", name="kept")["session_id"]
    assert "tier" not in listed()
    client.run("x = 1", session_id=session)
    paused = client.result("pause_session", session_id=session)
    assert (paused["structuredContent"]["status"], paused["structuredContent"]["tier"]) == ("paused", "frozen")
    assert "what it knows is being stored; it wakes by itself at the next use" in paused["content"][0]["text"], paused
    until_it_is(client, session, "stored")
    assert listed(status="stored")["tier"] == "stored"
    resumed = client.call("resume_session", session_id=session)
    assert resumed["status"] == "ready" and resumed["note"] == "it was stored: each language has its variables again with its next run", resumed
    assert "tier" not in resumed
    client.run("n = (n for n in [1])", session_id=session)
    client.call("pause_session", session_id=session)
    (box,) = processes_of(state)
    until(lambda: is_frozen(box), what="the session being frozen")
    assert client.call("resume_session", session_id=session)["note"] == "it was frozen, and goes on as it was"
    assert "note" not in client.call("resume_session", session_id=session), "it was awake"
    files = client.call("create_session", name="files")["session_id"]
    os.kill(boxes_of(state)[files], signal.SIGKILL)
    until_it_is(client, files, "stopped")
    assert client.call("pause_session", session_id=files)["tier"] == "files"
    assert client.call("resume_session", session_id=files)["note"] == "it had its files alone: its interpreters begin anew"


def slow_to_store(times):
    return ("class Slow:\n    def __reduce__(self):\n        import time; time.sleep(9); return int, ()\n"
            f"for n in range({times}): globals()[f'slow{{n}}'] = Slow()")


@pytest.mark.slow
def test_a_client_does_not_wait_long_for_what_it_pauses(client, state):
    """Programs that go on beside that while it is stored stop after a while, whatever storing takes."""
    session = client.run("class Slow:\n    def __reduce__(self):\n        import time; time.sleep(9); return int, ()\n"
                         "slow = [Slow() for n in range(9)]\nfor n in range(9): globals()[f'slow{n}'] = slow[n]\n"
                         "import subprocess; beside = subprocess.Popen(['sleep', '3600'])")["session_id"]
    client.call("pause_session", session_id=session)
    (box,) = processes_of(state)
    until(lambda: is_frozen(box), timeout=40, what="the session being frozen")
    assert client.run("len(slow)")["outputs"][0]["text"] == "9"


@pytest.mark.slow
def test_a_client_does_not_wait_long_for_what_idleness_has_paused_before(state, tmp_path):
    (tmp_path / "config.toml").write_text("[session]\nidle_seconds = 1\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        session = client.run(slow_to_store(9) + "\nimport subprocess; beside = subprocess.Popen(['sleep', '3600'])")["session_id"]
        until_it_is(client, session, "paused")
        (box,) = processes_of(state)
        assert not is_frozen(box), "it is being stored"
        client.call("pause_session", session_id=session)
        until(lambda: is_frozen(box), timeout=40, what="the session being frozen")


@pytest.mark.slow
def test_a_run_that_ends_while_its_session_is_stored_does_not_keep_it_in_memory(client, state):
    session = client.run(slow_to_store(3))["session_id"]
    run = client.run("import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)", background=True, session_id=session)
    client.call("pause_session", session_id=session)
    pathlib.Path(state, "sessions", session, "workspace", "go").touch()
    until(lambda: client.call("get_run", run_id=run["run_id"])["status"] == "completed", what="the end of the run")
    until(lambda: status_of(client, session) == "stored", timeout=60, what="the session being stored")


WRITERS = {
    "python": ("kept = ['x' * 1000 + str(n) for n in range(300_000)]", "len(kept)", "300000"),
    "javascript": ("const kept = []; for (let n = 0; n < 60_000; n++) kept.push({ n, text: 'x'.repeat(100) + n }); 5", "kept.length", "60000"),
}


@pytest.mark.parametrize("language", WRITERS)
def test_who_writes_or_reads_back_is_the_first_to_be_chosen_for_memory(client, state, language):
    code, look, wanted = WRITERS[language]
    session = client.run(code, language)["session_id"]
    seen = set()

    def look_below(pid):
        for child in children_of(pid):
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{child}/comm").read_text() == "hutch-snapshot\n":
                    seen.add(pathlib.Path(f"/proc/{child}/oom_score_adj").read_text().strip())
                look_below(child)

    def is_first():
        with contextlib.suppress(OSError):
            look_below(box)
        return "1000" in seen

    box = boxes_of(state)[session]
    client.call("pause_session", session_id=session)
    until(is_first, interval=0.002, what=f"a writer with 1000, and not {seen} alone")
    assert client.run(look, language)["outputs"][0]["text"] == wanted


FROZEN = {
    "what is not kept": ("python", "numbers = (n for n in range(9)); next(numbers)", "next(numbers)", "1"),
    "a thread": ("python", "import threading\ngate = threading.Event\nwaits = [threading.Thread(target=lambda: __import__('time').sleep(3600), daemon=True)]\n"
                           "waits[0].start()", "waits[0].is_alive()", "True"),
    "a process": ("python", "import subprocess\nsubprocess.Popen(['sleep', '3600']).pid > 0", "1 + 1", "2"),
    "a module of the user's": ("python", "open('counter.py', 'w').write('seen = []')\nimport counter\ncounter.seen.append(1)", "counter.seen", "[1]"),
    "a temporary table": ("sql", "CREATE TEMP TABLE t AS SELECT 7 AS n", "SELECT n FROM t", "7"),
    "a closure of JavaScript": ("javascript", "function make() { let n = 1; return () => n += 1; }\nlet counts = make()", "counts()", "2"),
    "a module that would be another one": (
        "javascript", "require('fs').writeFileSync('mod.mjs', 'export class Kind {}');\nimport { Kind } from './mod.mjs'; const x = new Kind();\n"
        "require('fs').writeFileSync('mod.mjs', 'export class Other {}')", "x instanceof Kind", "true"),
    "a descriptor": ("python", "import os\nlog = os.open('log', os.O_CREAT | os.O_RDWR); os.write(log, b'x')", "os.lseek(log, 0, os.SEEK_CUR)", "1"),
    "a timer": ("javascript", "let ticks = 0; setInterval(() => { ticks += 1; }, 3_600_000); 5", "ticks", "0"),
}


@pytest.mark.parametrize("name", FROZEN)
def test_a_session_that_would_lose_something_is_frozen(client, state, name):
    language, code, look, wanted = FROZEN[name]
    session = client.call("create_session", name="kept")["session_id"]
    assert client.run(code, language, session_id=session)["status"] == "completed"
    client.call("pause_session", session_id=session)
    (box,) = processes_of(state)
    until(lambda: is_frozen(box), what="the session being frozen")
    assert status_of(client, session) == "paused" and processes_of(state) == [box]
    looked = client.run(look, language, session_id=session)
    assert wanted in looked["outputs"][0]["text"], looked


def test_what_a_shell_knew_survives_the_death_of_its_box(client, state):
    session = client.call("create_session", name="kept")["session_id"]
    client.run("mkdir sub; cd sub; counter=5; list=(a 'b c'); double() { echo $(($1 * 2)); }; shopt -s nullglob", "bash",
               session_id=session, env={"TOKEN": "not-for-the-disk"})
    until(lambda: list(pathlib.Path(state, "sessions", session, "state").glob("bash.*")), what="the copy of the shell's state")
    for copy in pathlib.Path(state, "sessions", session, "state").glob("bash.*"):
        assert copy.stat().st_mode & 0o777 == 0o600 and b"not-for-the-disk" not in copy.read_bytes()
    for pid in boxes_of(state).values():
        os.kill(pid, signal.SIGKILL)
    until(lambda: not boxes_of(state), what="the end of the box")
    looked = client.run("echo $PWD ${list[1]} $(double $counter) *.none; shopt -q nullglob && echo on", "bash", session_id=session)
    assert looked["stdout"] == "/workspace/sub b c 10\non\n", looked
    assert "lost" not in looked.get("note", ""), looked


def test_a_use_while_it_is_stored_finds_everything(client, state):
    session = client.call("create_session", name="kept")["session_id"]
    client.run("kept = ['x' * 100_000_000]", session_id=session)
    for number in range(10):
        client.call("pause_session", session_id=session)
        run = client.run(f"kept.append({number}); len(kept[0]), len(kept)", session_id=session)
        assert run["outputs"][0]["text"] == f"(100000000, {number + 2})", run
