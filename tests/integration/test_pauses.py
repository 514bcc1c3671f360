"""Tests what a pause stops, what goes on after it, and what wakes a session up."""

import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

from boxes import cgroups_of, children_of, is_frozen, processes_of, start_of, until
from database import rows
from hutch_client import Client, hutch_binary


def test_pause_freezes_and_use_thaws(client):
    session = client.call("create_session")["session_id"]
    run = client.run("import time\nfor i in range(100000):\n    print(i, flush=True)\n"
                     "    time.sleep(0.02)", background=True, session_id=session)
    client.until_output(run["run_id"], "3\n")
    paused = client.call("pause_session", session_id=session)
    assert paused["status"] == "paused"

    def offset():
        return client.call("get_run", run_id=run["run_id"])["stdout_next_offset"]

    def stands_still():
        seen = offset()
        time.sleep(0.5)  # a running one would print 25 lines in this time
        return offset() == seen

    until(stands_still, what="the end of what was on its way as it was paused")
    before = offset()
    assert client.call("resume_session", session_id=session)["status"] == "running"
    client.call("get_run", run_id=run["run_id"], stdout_offset=before, wait_seconds=10)
    after = client.call("get_run", run_id=run["run_id"])["stdout_next_offset"]
    assert after > before
    client.call("pause_session", session_id=session)
    until(stands_still, what="the end of what was on its way as it was paused again")
    before = offset()
    assert client.call("get_run", run_id=run["run_id"], stdout_offset=before, wait_seconds=30)["stdout"], "a wait wakes"
    client.call("pause_session", session_id=session)
    assert client.run("'awake'", session_id=session)["outputs"][0]["text"] == "'awake'"
    assert client.call("list_sessions")["sessions"][0]["status"] == "running"


@pytest.mark.slow
def test_a_pause_does_not_use_up_the_time_of_a_run(client):
    session = client.run("1")["session_id"]  # the run's time has no start of its interpreter in it
    request = client.start_tool("run_code", code="import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)",
                                timeout_seconds=10, session_id=session)
    until(lambda: client.call("list_sessions")["sessions"][0].get("active_runs"))
    client.call("pause_session", session_id=session)
    time.sleep(11)  # longer than the timeout of the run
    client.call("resume_session", session_id=session)
    client.call("write_file", path="go", content="", session_id=session)
    assert client.reply(request)["result"]["structuredContent"]["status"] == "completed"


# As much of it is written at a time as takes longer than a client waits for.
SLOW_TO_STORE = """class Slow:
    def __reduce__(self):
        import time; time.sleep(9); return int, ()
for n in range(9): globals()[f'slow{n}'] = Slow()"""


def test_runs_have_their_limits_while_what_they_are_paused_with_is_stored(client, state):
    """They go on meanwhile, also one that does not listen."""
    session = client.run(SLOW_TO_STORE)["session_id"]
    run = client.run("trap '' INT; echo begun; while :; do sleep 0.1; done", "bash", background=True, timeout_seconds=3,
                     session_id=session)
    client.until_output(run["run_id"], "begun")
    client.call("pause_session", session_id=session)
    (box,) = processes_of(state)
    until(lambda: "error" in client.call("get_run", run_id=run["run_id"]), timeout=15, what="the end of its time")
    assert client.call("list_sessions")["sessions"][0]["status"] == "paused" and not is_frozen(box), "it was being stored"
    assert client.call("get_run", run_id=run["run_id"])["error"]["cause"] == "timeout"


@pytest.mark.slow
def test_who_pauses_again_and_again_does_not_keep_a_run_from_its_end(client):
    """The time in which it may listen does not begin anew with each."""
    session = client.call("create_session")["session_id"]
    run = client.run("trap '' INT; echo begun; while :; do sleep 0.1; done", "bash", background=True, session_id=session)
    client.until_output(run["run_id"], "begun")
    start = awake_since = time.monotonic()
    cancelled = client.start_tool("cancel_run", run_id=run["run_id"])
    awake, looks = 0.0, 0
    while client.call("list_sessions")["sessions"][0].get("active_runs"):
        looks += 1  # frozen each time that half a second is over, after which it would be asked anew
        time.sleep(max(0.0, start + 0.5 * looks - 0.15 - time.monotonic()))
        awake += time.monotonic() - awake_since
        assert awake < 5, "it goes on"
        client.call("pause_session", session_id=session)
        time.sleep(max(0.0, start + 0.5 * looks + 0.1 - time.monotonic()))
        client.call("resume_session", session_id=session)
        awake_since = time.monotonic()
    assert looks > 1, "it was never frozen while it was asked to end"
    assert client.reply(cancelled)["result"]["structuredContent"]["status"] == "cancelled"


def test_variables_survive_a_pause(client):
    session = client.call("create_session")["session_id"]
    client.run("x = 5", session_id=session)
    client.call("pause_session", session_id=session)
    assert client.run("x", session_id=session)["outputs"][0]["text"] == "5"


def test_what_waits_for_a_run_does_not_start_in_a_pause(client):
    """The end of the first may be on its way to hutch-box as the session is paused."""
    seed = random.randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    session = client.call("create_session")["session_id"]
    client.run("x=kept", "bash", session_id=session)
    for number in range(15):
        requests = [client.start_tool("run_code", language="bash", code=f"echo {number} {i} $x", session_id=session)
                    for i in range(3)]
        time.sleep(chance.uniform(0, 0.03))
        client.call("pause_session", session_id=session)
        time.sleep(chance.uniform(0, 0.05))
        client.call("resume_session", session_id=session)
        for i, request in enumerate(requests):
            run = client.reply(request)["result"]["structuredContent"]
            assert (run["status"], run["stdout"]) == ("completed", f"{number} {i} kept\n"), run


def processes_in(box):
    """Pids of init and of what it has started, with what tells them from others that get the same numbers later."""
    found = []
    for pid in children_of(box):
        found += [pid, *children_of(pid)]
    return {pid: start for pid in found if (start := start_of(pid)) is not None}


def status_of(state, session):
    return rows(state, f"SELECT status FROM sessions WHERE id = '{session}'")[0][0]


@pytest.mark.parametrize("asleep", ["on request", "killed as it is made"])
def test_what_is_frozen_ends_with_its_box_and_nobody_needs_to_ask(client, state, asleep):
    """A freezer keeps what is in it from ending, also when the box that froze it is killed."""
    session = client.call("create_session")["session_id"]
    client.run("kept = (n for n in [1]); open('kept', 'w').write('k')", session_id=session)
    (box,) = processes_of(state)
    frozen = processes_in(box)
    assert len(frozen) >= 2
    if asleep == "on request":
        client.call("pause_session", session_id=session)
        until(lambda: is_frozen(box), what="the session being frozen")
        os.kill(box, signal.SIGKILL)
    else:
        request = client.start_tool("pause_session", session_id=session)
        os.kill(box, signal.SIGKILL)
        client.reply(request)
    until(lambda: not any(start_of(pid) == start for pid, start in frozen.items()),
          timeout=40, what="the end of what was frozen")  # a server sweeps once a minute
    until(lambda: status_of(state, session) == "stopped", timeout=40, what="the row saying what is so")
    until(lambda: not cgroups_of([session]), what="the end of the cgroups")
    assert client.call("list_sessions")["sessions"][0]["status"] in ("stored", "stopped")  # the writer may have been killed
    assert client.call("read_file", path="kept", session_id=session)["content"] == "k"
    assert client.run("kept", session_id=session)["error"]["name"] == "NameError"


def test_a_paused_session_whose_processes_were_killed_is_not_shown_as_paused(client, state):
    """Frozen, they say nothing of it themselves."""
    session = client.call("create_session")["session_id"]
    client.run("held = (n for n in [1])", session_id=session)
    client.call("pause_session", session_id=session)
    (box,) = processes_of(state)
    until(lambda: is_frozen(box), what="the session being frozen")
    for pid in processes_in(box):
        os.kill(pid, signal.SIGKILL)
    until(lambda: client.call("list_sessions")["sessions"][0]["status"] == "stored", timeout=40, what="the true status")
    until(lambda: status_of(state, session) == "stopped", timeout=40, what="the row saying what is so")
    assert not processes_of(state)
    assert client.run("'new'", session_id=session)["outputs"][0]["text"] == "'new'"


def test_what_is_left_frozen_ends_when_sessions_are_listed(state):
    """After everything was killed: the command is the first to look."""
    with Client(state) as client:
        session = client.call("create_session", name="kept")["session_id"]  # one without name and files goes
        client.run("held = (n for n in [1])", session_id=session)
        client.call("pause_session", session_id=session)
        (box,) = processes_of(state)
        until(lambda: is_frozen(box), what="the session being frozen")
        frozen = processes_in(box)
        client.kill()
    os.kill(box, signal.SIGKILL)
    until(lambda: not processes_of(state), what="the end of hutch-box")
    listed = subprocess.run([hutch_binary(), "sessions", "ls", "--state-dir", state], capture_output=True, text=True,
                            env={"PATH": os.environ["PATH"], "HOME": state}, check=True)
    assert "paused" not in listed.stdout and "stored" in listed.stdout, listed
    assert status_of(state, session) == "stopped"
    until(lambda: not any(start_of(pid) == start for pid, start in frozen.items()), what="the end of what was frozen")
    assert not cgroups_of([session])
