"""kill -9 at random moments: no run lost, no row half-written, nothing left behind."""

import collections
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

import pytest

from boxes import everything_left, processes_of, until
from database import check_database, rows
from hutch_client import Client, ToolError, hutch_binary
from server_process import PATIENCE

# As a server is that nobody configures; the other tests have neither.
DEFAULTS = {"HUTCH_ZYGOTE": "1", "HUTCH_SPARE_SESSIONS": "1"}


@pytest.mark.parametrize("env", [{}, DEFAULTS], ids=["plain", "defaults"])
def test_kill_at_random_moments(state, env):
    kill_at_random_moments(state, rounds=5, runs=5, env=env)


@pytest.mark.slow
@pytest.mark.parametrize("env", [{}, DEFAULTS], ids=["plain", "defaults"])
def test_kill_at_many_random_moments(state, env):
    kill_at_random_moments(state, rounds=20, runs=20, env=env)


def rounds_until_enough(state, rounds, runs):
    """More than asked for where the machine is so slow that hardly a run begins before a kill."""
    yield from range(rounds)
    deadline = time.monotonic() + 60 * PATIENCE
    while rows(state, "SELECT count(*) FROM runs")[0][0] < runs:
        assert time.monotonic() < deadline, "the servers were killed before they accepted runs"
        rounds += 1
        yield rounds


def kill_at_random_moments(state, rounds, runs, env):
    seed = int(os.environ.get("HUTCH_CRASH_SEED") or random.randrange(1_000_000))
    print(f"HUTCH_CRASH_SEED={seed}")
    chance = random.Random(seed)
    started = {}  # run_id: (round, number)
    refused = []  # The queue of the interpreter was full, and the client was told so.
    for round_number in rounds_until_enough(state, rounds, runs):
        with_kill = Client(state, "--session", "crash", env=env)
        with_kill.__enter__()
        kill_at = time.monotonic() + chance.uniform(0.0, 0.6)
        requests = []
        for number in range(runs):
            if time.monotonic() >= kill_at:
                break
            try:
                requests.append((number, with_kill.start_tool(
                    "run_code", code=f"import time\ntime.sleep(0.02)\nprint('run', {round_number}, {number})",
                    background=False)))
            except OSError:
                break
            time.sleep(chance.uniform(0, 0.02))
        while time.monotonic() < kill_at:
            time.sleep(0.005)
        with_kill.kill()
        for number, request in requests:
            reply = with_kill._replies.get(request)
            if not reply or "result" not in reply:
                continue
            if reply["result"].get("isError") and "structuredContent" not in reply["result"]:
                assert "too many runs wait" in reply["result"]["content"][0]["text"], reply
                refused.append((round_number, number))
            else:
                started[reply["result"]["structuredContent"]["run_id"]] = (round_number, number)
        check_database(state)

    with Client(state, "--session", "crash", env=env) as client:
        ids = [row[0] for row in rows(state, "SELECT id FROM runs")]
        assert set(started) <= set(ids), "a run that was answered is in the database"
        for run_id in ids:
            run = client.until_ended(run_id)
            if run_id in started:
                assert run["status"] == "completed", run
                expected = "run %d %d\n" % started[run_id]
                assert run["stdout"] == expected
            else:
                # Its answer never seen: it ran, whole, or its box never had it, and it is reported lost.
                if run["status"] == "completed":
                    assert run["stdout"].startswith("run ")
                else:
                    assert run["error"]["cause"] == "sandbox_lost" and not run["stdout"], run
                    assert not pathlib.Path(state, "sessions", run["session_id"], "runs", run_id).exists(), run
            assert run["stdout"] not in ["run %d %d\n" % r for r in refused], "refused, and ran"
        assert client.value("'alive'") == "'alive'"
        for session in client.call("list_sessions")["sessions"]:
            client.call("delete_session", session_id=session["session_id"])
    check_database(state)
    until(lambda: not everything_left(state), what=f"cleaning up of {everything_left(state)}")


KILLS = int(os.environ.get("HUTCH_CRASH_KILLS", "500"))
SESSIONS = ["one", "two", "three"]
CLIENTS = 3
SECONDS = 180  # 500 kills take about two minutes on two busy CPUs
# A run may say these that was in something killed; a run of bash is a process of its own.
KILLED = {"sandbox_lost", "interpreter_died", "signal"}


def children_of(pid):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


class Load:
    """One client that uses all sessions, and starts a new server whenever its own was killed."""

    def __init__(self, state, number, chance, over):
        self.state, self.number, self.chance, self.over = state, number, chance, over
        self.answered = {}  # run_id: the output that the client has seen, of a run that completed
        self.accepted = {}  # run_id: the output it will have
        self.refused, self.problems, self.client = [], [], None
        self.thread = threading.Thread(target=self.go)
        self.thread.start()

    def go(self):
        try:
            while not self.over.is_set():
                self.client = Client(self.state)
                try:
                    self.client.__enter__()
                    while not self.over.is_set():
                        self.use()
                except (OSError, AssertionError) as ended:
                    try:
                        if self.client.process.wait(5) != -signal.SIGKILL:
                            self.problems.append(f"{ended!r}, and the server ended with {self.client.process.returncode}")
                    except subprocess.TimeoutExpired:
                        self.problems.append(f"{ended!r}, and the server lives")
                        self.client.kill()
        except Exception as unexpected:  # a thread must not die in silence
            self.problems.append(repr(unexpected))

    def use(self):
        word = f"{self.number}-{self.chance.getrandbits(64):x}"
        bash = self.chance.random() < 0.3
        try:
            run = self.client.run(f"sleep 0.02; echo {word}" if bash else
                                  f"import time; time.sleep(0.02); print('{word}')",
                                  "bash" if bash else "python", session_id=self.chance.choice(SESSIONS),
                                  background=self.chance.random() < 0.2)
        except ToolError as refused:
            self.refused.append(str(refused))
            return
        if run["status"] == "completed":
            self.answered[run["run_id"]] = run["stdout"]
            if run["stdout"] != word + "\n":
                self.problems.append(run)
        elif run["status"] in ("queued", "running"):
            self.accepted[run["run_id"]] = word + "\n"
        elif run["error"]["cause"] not in KILLED:
            self.problems.append(run)


def someone_to_kill(state, chance, loads):
    """(what it is, its pid), or None when there is none of that kind just now."""
    kind = chance.choice(["server", "box", "init", "interpreter"])
    if kind == "server":
        pids = [load.client.process.pid for load in loads if load.client and load.client.alive]
    else:
        pids = processes_of(state)
        if kind != "box":
            pids = [child for box in pids for child in children_of(box)]
        if kind == "interpreter":
            pids = [child for init in pids for child in children_of(init)]
    return (kind, chance.choice(pids)) if pids else None


@pytest.mark.slow
def test_many_kills_of_everything_under_load(state):
    seed = int(os.environ.get("HUTCH_CRASH_SEED", time.time_ns() % 1_000_000))
    print("seed", seed)
    chance, over, killed = random.Random(seed), threading.Event(), collections.Counter()
    with Client(state) as client:
        for name in SESSIONS:
            client.call("create_session", name=name)
    loads = [Load(state, number, random.Random(seed + 1 + number), over) for number in range(CLIENTS)]
    deadline = time.monotonic() + SECONDS
    try:
        while killed.total() < KILLS:
            assert time.monotonic() < deadline, f"only {killed} in {SECONDS} seconds"
            time.sleep(chance.uniform(0, 0.4))  # the moment of the kill is what is random
            if victim := someone_to_kill(state, chance, loads):
                try:
                    os.kill(victim[1], signal.SIGKILL)
                    killed[victim[0]] += 1
                except ProcessLookupError:
                    pass
    finally:
        over.set()
        for load in loads:
            load.thread.join(90)
        for load in loads:
            if load.client and load.client.alive:
                load.client.close(also=(-signal.SIGKILL,))
    answered = {run: text for load in loads for run, text in load.answered.items()}
    accepted = {run: text for load in loads for run, text in load.accepted.items()}
    refused = collections.Counter(text for load in loads for text in load.refused)
    print(dict(killed), len(answered), "answered", len(accepted), "accepted", refused)
    assert not [problem for load in loads for problem in load.problems]
    assert not [text for text in refused if "internal error" in text]
    assert len(answered) > KILLS / 10, "there was load"
    check_database(state)

    with Client(state) as client:
        ids = {row[0] for row in rows(state, "SELECT id FROM runs")}
        assert set(answered) | set(accepted) <= ids
        for run_id in ids:
            run = client.until_ended(run_id)
            if run_id in answered:
                assert (run["status"], run["stdout"]) == ("completed", answered[run_id]), run
            elif run["status"] == "completed":
                assert run["stdout"] == accepted.get(run_id, run["stdout"]) and run["stdout"], run
            else:
                assert run["error"]["cause"] in KILLED, run
        for name in SESSIONS:
            assert client.run("print('alive')", session_id=name)["stdout"] == "alive\n"
            client.call("delete_session", session_id=name)
    check_database(state)
    until(lambda: not everything_left(state), what=f"cleaning up of {everything_left(state)}")


def test_the_run_goes_on_when_the_server_is_killed(state):
    client = Client(state, "--session", "s")
    client.__enter__()
    run = client.run("import time\nfor i in range(20):\n    print(i, flush=True)\n    time.sleep(0.1)",
                     background=True)
    client.until_output(run["run_id"], "2\n")
    client.kill()
    with Client(state, "--session", "s") as successor:
        ended = successor.until_ended(run["run_id"])
        assert ended["status"] == "completed"
        assert ended["stdout"] == "".join(f"{i}\n" for i in range(20))


WAIT_FOR_GO = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n"


def go(state, session):
    """Made by the test itself: the session may have no server, or an init that is stopped."""
    pathlib.Path(state, "sessions", session, "workspace/go").touch()


def test_a_foreground_run_outlives_its_server(state):
    client = Client(state, "--session", "s")
    client.__enter__()
    session = client.run("1")["session_id"]
    client.start_tool("run_code", code=WAIT_FOR_GO + "print('done'); 5")
    active = []
    until(lambda: active.extend(client.call("list_sessions")["sessions"][0].get("active_runs", [])) or active)
    run_id = active[0]["run_id"]
    client.kill()
    go(state, session)
    with Client(state, "--session", "s") as successor:
        ended = successor.until_ended(run_id)
        assert (ended["status"], ended["stdout"], ended["outputs"][0]["text"]) == (
            "completed", "done\n", "5")


def test_variables_survive_the_death_of_the_server(state):
    client = Client(state, "--session", "s")
    client.__enter__()
    client.run("x = 77")
    client.kill()
    with Client(state, "--session", "s") as successor:
        assert successor.value("x") == "77"


def test_a_killed_box_ends_its_runs_truly_and_the_next_use_starts_a_new_one(client, state):
    client.run("x = (n for n in [1]); open('kept','w').write('k')")
    request = client.start_tool("run_code", code="print('begun', flush=True)\nimport time; time.sleep(60)")
    until(lambda: client.call("list_sessions")["sessions"][0].get("active_runs"))
    for pid in processes_of(state):
        os.kill(pid, 9)
    run = client.reply(request)["result"]["structuredContent"]
    assert run["status"] == "failed" and run["error"]["cause"] == "sandbox_lost"
    assert run["error"]["lost"]
    assert client.run("x")["error"]["name"] == "NameError"
    assert client.call("read_file", path="kept")["content"] == "k"


def test_a_killed_init_ends_its_runs_truly(client, state):
    client.run("1")
    request = client.start_tool("run_code", code="import time; time.sleep(60)")
    until(lambda: client.call("list_sessions")["sessions"][0].get("active_runs"))
    box = processes_of(state)[0]
    children = pathlib.Path(f"/proc/{box}/task/{box}/children").read_text().split()
    for pid in children:
        os.kill(int(pid), 9)
    run = client.reply(request)["result"]["structuredContent"]
    assert run["status"] == "failed" and run["error"]["cause"] == "sandbox_lost"
    assert client.value("2") == "2"


def system_call_of(pid):
    return pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[0]


def test_the_last_word_of_a_dead_interpreter_is_not_taken_for_the_next_runs(client, state):
    """It says "done" and is killed; the box hears of its death first, and starts the next run."""
    session = client.run("1")["session_id"]
    (box,) = processes_of(state)
    (init,) = children_of(box)
    (interpreter,) = children_of(init)
    idle = set()
    until(lambda: idle.add(system_call_of(interpreter)) or idle != {"running"}, what="the interpreter waiting")
    active = lambda: len(client.call("list_sessions")["sessions"][0].get("active_runs", []))  # noqa: E731
    first = client.start_tool("run_code", code=WAIT_FOR_GO + "print('first')")
    until(lambda: active() == 1)
    second = client.start_tool("run_code", code="print('second')")
    until(lambda: active() == 2)
    until(lambda: system_call_of(interpreter) not in idle | {"running"}, what="the interpreter asleep")
    os.kill(init, signal.SIGSTOP)
    waiting = system_call_of(box)
    third = client.start_tool("run_code", code="echo third", language="bash")
    until(lambda: system_call_of(box) not in (waiting, "running"), what="the box waiting for init alone")
    go(state, session)
    until(lambda: system_call_of(interpreter) in idle - {"running"}, what="the interpreter waiting again")
    os.kill(interpreter, signal.SIGKILL)
    os.kill(init, signal.SIGCONT)
    runs = [client.reply(request)["result"]["structuredContent"] for request in (first, second, third)]
    assert runs[0]["status"] == "completed" or runs[0]["error"]["cause"] == "interpreter_died", runs[0]
    # When "done" is heard first, the next run is sent to one that is dead by then, and is said to be lost.
    assert (runs[1]["status"], runs[1]["stdout"]) == ("completed", "second\n") or (
        "error" in runs[1] and runs[1]["error"]["cause"] == "interpreter_died"), runs[1]
    assert runs[2]["stdout"] == "third\n"


def test_the_next_start_sweeps_a_box_that_died_frozen(state):
    client = Client(state, "--session", "s")
    client.__enter__()
    session = client.run("1")["session_id"]
    client.call("pause_session", session_id=session)
    client.kill()
    for pid in processes_of(state):
        os.kill(pid, 9)
    with Client(state) as successor:
        until(lambda: successor.call("list_sessions")["sessions"][0]["status"] == "stopped")
        assert successor.run("2", session_id=session)["status"] == "completed"
        successor.call("delete_session", session_id=session)
    until(lambda: not everything_left(state), what=f"cleaning up of {everything_left(state)}")


def test_a_box_without_a_server_ends_by_itself(tmp_path, state):
    config = tmp_path / "c.toml"
    config.write_text("[session]\ndetach_seconds = 1\n")
    client = Client(state, "--config", str(config), "--session", "s")
    client.__enter__()
    run = client.run("import time; time.sleep(3); print('finished first')", background=True)
    client.kill()
    assert processes_of(state)
    until(lambda: not processes_of(state), what="the end of the box")
    with Client(state) as successor:
        ended = successor.call("get_run", run_id=run["run_id"])
        assert (ended["status"], ended["stdout"]) == ("completed", "finished first\n")


def test_deleting_leaves_the_record_and_nothing_else(state):
    with Client(state) as client:
        session = client.call("create_session")["session_id"]
        run = client.run("print('x')", session_id=session)
        client.run("sleep 100 & disown", "bash", session_id=session)
        client.call("delete_session", session_id=session)
        until(lambda: not everything_left(state), what=f"cleaning up of {everything_left(state)}")
        again = client.call("get_run", run_id=run["run_id"])
        assert again["status"] == "completed"
    assert rows(state, "SELECT action FROM audit ORDER BY id") == [
        ("create_session",), ("session_ready",), ("session_destroyed",)]


def test_a_damaged_database_is_a_clear_error(state):
    pathlib.Path(state, "hutch.db").write_bytes(b"this is no database" * 1000)
    failed = subprocess.run([hutch_binary(), "sessions", "ls", "--state-dir", state], capture_output=True,
                            text=True)
    assert failed.returncode == 1 and "damaged" in failed.stderr
