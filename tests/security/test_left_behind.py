"""Tests what stays after a run: what a stopped run started goes with it, what works against a limit is ended, and
what only met a limit is left alone."""

import shutil
import time

import pytest

from conftest import needs
from test_greedy import ALIVE, made, server, session  # noqa: F401 (the fixtures)
from hutch_client import ToolError
from trial import Trial


def until(condition, timeout=60):
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def alive(server, session):
    return server.run(ALIVE, session_id=session)["stdout"].split()


@pytest.mark.parametrize("language,code", [
    ("bash", "sleep 300 & sleep 300"),
    ("python", "import subprocess, time\nsubprocess.Popen(['sleep', '300'])\ntime.sleep(300)"),
    ("javascript", "require('child_process').spawn('sleep', ['300']); await new Promise(() => {})")])
def test_a_stopped_run_takes_with_it_what_it_started(server, session, language, code):
    run = server.run(code, language, session_id=session, timeout_seconds=1)
    assert run["status"] == "timed_out"
    until(lambda: "sleep" not in alive(server, session))  # killed by now, and gone once the kernel got to it


def test_it_leaves_what_earlier_runs_left_behind(server, session):
    server.run("import subprocess\nkept = subprocess.Popen(['sleep', '300'])", session_id=session)
    time.sleep(0.05)  # the kernel's clock of process starts has steps of a hundredth
    run = server.run("import time\ntime.sleep(300)", session_id=session, timeout_seconds=1)
    assert run["status"] == "timed_out"
    assert alive(server, session).count("sleep") == 1


def test_what_was_left_behind_makes_room_for_a_run_and_variables_stay(server, session):
    server.run("import subprocess\nkeep = 41\n"
               "while subprocess.run(['setsid', '--fork', 'sleep', '300'], stderr=subprocess.DEVNULL).returncode == 0: pass\n"
               "last = subprocess.Popen(['sleep', '300'])", session_id=session)
    run = server.run("echo started", "bash", session_id=session)
    assert run["status"] == "completed" and run["stdout"] == "started\n", run
    assert "left behind were ended to make room" in run["note"], run
    assert server.run("keep + 1", session_id=session)["outputs"][0]["text"] == "42"
    assert "sleep" not in alive(server, session)


BASH_BOMB = ":(){ :|:& };:"
# Forks, and ends in all the parents: none of its processes is there for long.
COMET = "import os\nwhile True:\n    try:\n        if os.fork(): os._exit(0)\n        if os.fork() == 0: continue\n    except OSError: pass"
STAYS = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"


def in_own_session(code):
    return f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True, stderr=-3)\n1"


BOMBS = {"bash": ("bash", BASH_BOMB, False), "bash in the background": ("bash", BASH_BOMB, True),
         "bash of python": ("python", f"import subprocess\nsubprocess.Popen(['bash', '-c', {BASH_BOMB!r}], stderr=-3)\n1", False),
         "python": ("python", in_own_session(STAYS), False), "comet": ("python", in_own_session(COMET), False),
         "comet of bash": ("bash", f"python3 -c {COMET!r} & disown; true".replace("python3 -c '", "python3 -c $'"), False)}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_is_left_of_a_bomb_costs_no_later_run(server, session, bomb):
    language, code, background = BOMBS[bomb]
    server.run("keep = 7", session_id=session)
    run = server.run(code, language, session_id=session, background=background)
    if background:
        server.until_ended(run["run_id"], timeout=60)
    for i in range(5):
        run = server.run("echo start; (true); ls / | wc -l", "bash", session_id=session)
        # Nothing of a comet is older than a run that begins right behind it: that one may be what makes it known.
        if i == 0 and bomb.startswith("comet") and run["status"] == "failed":
            continue
        assert run["status"] == "completed" and run["stdout"].startswith("start\n"), run
        assert "start fewer" not in run.get("note", ""), run
    until(lambda: set(alive(server, session)) <= {"bash", "python3"} and len(alive(server, session)) <= 3)


def test_what_filled_the_process_table_before_a_run_is_ended_and_named(server, session):
    server.run("for i in $(seq 29); do sleep 300 & done 2>/dev/null", "bash", session_id=session)
    run = server.run("for i in 1 2 3 4 5 6 7 8; do sleep 2 & done; wait; echo fine", "bash", session_id=session)
    assert run["status"] == "completed" and run["stdout"] == "fine\n", run
    assert "earlier runs" in run["note"] and "sleep" not in alive(server, session), run


@pytest.mark.parametrize("code", ["bomb() { bomb | bomb; }; bomb", "bomb() { setsid sleep 300 & bomb | bomb; }; bomb"])
def test_a_run_that_is_the_bomb_is_ended_and_spares_what_is_left(server, session, code):
    server.run("setsid sleep 301 & disown", "bash", session_id=session)
    run = server.run(code, "bash", session_id=session, timeout_seconds=20)
    assert run["status"] == "failed" and run["error"]["cause"] == "pids", run
    assert "sleep 301" in server.run("ps ax -o args || cat /proc/[0-9]*/cmdline | tr '\\0' ' '", "bash", session_id=session)["stdout"]


def test_all_that_a_run_leaves_is_counted(server, session):
    note = server.run("for i in $(seq 12); do sleep 300 & done", "bash", session_id=session)["note"]
    assert note.count("sleep 300 (pid ") == 5 and ", and 7 more; kill PID ends one" in note, note
    assert server.run("kill -9 -1", "bash", session_id=session)
    until(lambda: "sleep" not in alive(server, session))


def test_an_interpreter_that_fills_the_process_table_gives_way(server, session):
    server.run("import os\nfor _ in range(60):\n    try: child = os.fork()\n    except OSError: break\n"
               "    if child == 0: os._exit(0)", session_id=session)  # zombies: nobody waits for them
    run = server.run("echo started", "bash", session_id=session)
    assert run["status"] == "completed" and run["stdout"] == "started\n", run
    assert "variables lost" in run["note"], run
    note = "was ended to make room in the session's process table: its variables are lost"
    lost = server.run("1", session_id=session)
    assert f"the interpreter of python {note}" in lost["note"] and "javascript" not in lost["note"]
    assert "note" not in server.run("1", session_id=session)


def test_files_made_by_something_left_behind_have_an_end(server, session):
    server.run("keep = 41", session_id=session)
    server.run("(setsid bash -c 'i=0; while :; do : > /workspace/f$((i++)); done' &) >/dev/null 2>&1", "bash",
               session_id=session)
    until(lambda: "bash" not in alive(server, session))
    assert server.run("keep + 1", session_id=session)["outputs"][0]["text"] == "42"
    assert server.run("rm -rf /workspace/*; true", "bash", session_id=session)["status"] == "completed"


@pytest.mark.slow
def test_what_a_thread_of_an_earlier_run_writes_has_an_end(server, session):
    """Nothing is on and no process is left: an interpreter that waits looks like this, too."""
    server.run("import os, threading, time\ndef write():\n    time.sleep(2)\n    for i in range(500):\n"
               "        open(f't{i}', 'wb').write(os.urandom(1 << 20)); time.sleep(0.03)\n"
               "threading.Thread(target=write, daemon=True).start()", session_id=session)
    counts = []

    def has_ended():
        entries = server.call("list_files", path="/workspace", session_id=session)["entries"]
        counts.append(sum(entry["path"].startswith("/workspace/t") for entry in entries))
        return len(counts) > 20 and counts[-1] > 0 and counts[-20] == counts[-1]
    until(has_ended)
    assert counts[-1] < 450, counts[-1]
    assert server.run("1 + 1", session_id=session)["outputs"][0]["text"] == "2"


def test_a_run_may_clean_up_where_the_disk_is_full(server, session):
    # A disk that is watched is looked at less often on a busy machine.
    full = server.run("import os, time\nopen('big', 'wb').write(os.urandom(15 << 20))\n"
                      "open('big2', 'wb').write(os.urandom(15 << 20))\ntime.sleep(60)", session_id=session)
    assert full["error"]["cause"] == "disk"
    run = server.run("import os, time\ntime.sleep(2)\nos.remove('big')\ntime.sleep(1)\nprint('made room')",
                     session_id=session)
    assert run["stdout"] == "made room\n", run


def test_refusals_that_a_program_handles_cost_nothing(server, session):
    server.run("keep = 7", session_id=session)
    run = server.run(
        "import threading, time\nthreads, refused, go = [], 0, threading.Event()\nfor _ in range(60):\n"
        "    thread = threading.Thread(target=go.wait)\n"
        "    try: thread.start(); threads.append(thread)\n    except RuntimeError: refused += 1\ngo.set()\n"
        "for thread in threads: thread.join()\nprint(refused > 10)", session_id=session)
    assert run["status"] == "completed" and run["stdout"] == "True\n", run
    time.sleep(1)  # longer than the box watches for a bomb
    assert server.run("keep", session_id=session)["outputs"][0]["text"] == "7"


def test_a_child_that_nobody_waits_for_hides_nothing(server, session):
    """To an ordinary user its descriptors are closed, as are those of a process that hides."""
    run = server.run("import subprocess, time\nkeep = subprocess.Popen(['true'])\ntime.sleep(3)\nprint('fine')",
                     session_id=session)  # long enough for some looks
    assert run["status"] == "completed" and run["stdout"] == "fine\n", run


def test_a_program_whose_first_thread_has_ended_goes_on(server, session):
    code = ("import ctypes, os, threading, time\nif os.fork() == 0:\n"
            "    threading.Thread(target=lambda: (time.sleep(3), os.write(1, b'fine\\n'))).start()\n"
            "    ctypes.CDLL(None).syscall(60, 0)  # exit(2) of this thread alone\nos.wait(); 1")
    run = server.run(code, session_id=session)
    assert run["status"] == "completed" and "fine" in run["stdout"], run


def test_one_session_does_not_use_up_the_inotify_of_the_others(server, session):
    hoard = ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\nkept = []\n"
             "while (fd := libc.inotify_init()) >= 0: kept.append(fd)\nprint(len(kept))")
    assert int(server.run(hoard, session_id=session)["stdout"]) <= 16
    other = server.call("create_session")["session_id"]
    assert int(server.run("import ctypes; print(ctypes.CDLL(None).inotify_init())", session_id=other)["stdout"]) >= 0
    server.call("delete_session", session_id=other)


def test_cancel_is_heard_while_room_is_made(server, session):
    """A process table full of what nobody can end: the run that waits for a place can still be cancelled."""
    server.run("import os\nfor _ in range(28):\n    if os.fork() == 0: os._exit(0)", session_id=session)
    request = server.start_tool("run_code", code="sleep 30", language="bash", session_id=session)
    until(lambda: server.call("list_sessions")["sessions"][0].get("active_runs"))
    for run in server.call("list_sessions")["sessions"][0]["active_runs"]:
        server.call("cancel_run", run_id=run["run_id"])
    assert server.reply(request)["result"]["structuredContent"]["status"] == "cancelled"


def test_what_stops_everything_is_ended_for_the_next_run(server, session):
    """Whatever a process of the box starts is stopped before it becomes a program, by something left behind."""
    server.run("(setsid bash -c 'while :; do kill -STOP -1; done' &) >/dev/null 2>&1; sleep 60", "bash",
               session_id=session, timeout_seconds=1)
    run = server.run("print('usable')", session_id=session)
    assert run["status"] == "completed" and run["stdout"] == "usable\n", run
    assert "bash" not in alive(server, session)


def test_orphans_that_end_are_no_work_for_the_host(tmp_path):
    """Init reaps them, within the session's limits; hutch-box, which has none, does not hear of it."""
    needs(shutil.which("strace"), "strace")
    trial = Trial(tmp_path)
    trial.trace("hutch-box", "-e trace=recvmsg")
    with trial.client() as client:
        session = client.call("create_session")["session_id"]
        ended = client.run("import os\nfor _ in range(600):\n    child = os.fork()\n    if child == 0:\n"
                           "        os.fork()\n        os._exit(0)\n    os.waitpid(child, 0)\n"
                           "print(len([e for e in os.listdir('/proc') if e.isdigit()]))", session_id=session)
        assert ended["status"] == "completed", ended
        client.call("delete_session", session_id=session)
        trial.until_nothing_is_left(client.process.pid, [session])
    assert trial.log_of("hutch-box").read_text().count("recvmsg(") < 300


@pytest.mark.parametrize("place", ["", *(pytest.param(one, marks=pytest.mark.slow) for one in ("/mnt/../workspace/", "/mnt/data/"))])
def test_file_tools_write_no_more_than_the_limit_of_the_disk(server, session, place):
    """LIMITS allow 20 MB, wherever no quota answers for itself."""
    piece = "x" * (4 << 20)
    written = 0
    with pytest.raises(ToolError, match=r"limits\.disk_mb|no space left|No space left|quota"):
        for i in range(12):
            server.call("write_file", path=f"{place}piece{i}", content=piece, session_id=session)
            written += 1
    assert 3 <= written <= 5, written
    server.run("import os\nfor name in os.listdir('.'):\n    if name.startswith('piece'): os.remove(name)",
               session_id=session)
    server.call("write_file", path="piece", content=piece, session_id=session)
    server.call("edit_file", path="piece", old_text="x" * 1024, new_text="y", all=True, session_id=session)
