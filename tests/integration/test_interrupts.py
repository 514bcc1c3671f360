"""Runs that are stopped: the interrupt comes first, variables survive, and nobody else gets it."""

import time

import pytest

from boxes import boxes_of, until
from hutch_client import PATIENCE, Client


@pytest.mark.parametrize("language,setup,loop,check,expected", [
    ("python", "kept = 7", "while True: pass", "kept", "7"),
    ("python", "kept = 8", "import time; time.sleep(60)", "kept", "8"),
    ("javascript", "const kept = 7", "while (true) {}", "kept", "7"),
    ("javascript", "const kept = 8", "await new Promise(() => {})", "kept", "8"),
    ("javascript", "const kept = 9", "require('child_process').execSync('sleep 60')", "kept", "9"),
    ("javascript", "const kept = 10", "require('child_process').spawnSync('sleep', [60]); while (true) {}", "kept", "10"),
])
def test_timeout_interrupts_and_variables_survive(client, language, setup, loop, check, expected):
    client.run(setup, language)
    run = client.run(loop, language, timeout_seconds=1)
    assert run["status"] == "timed_out" and run["error"]["cause"] == "timeout"
    assert "variables kept" in run["error"]["survived"]
    assert client.value(check, language) == expected


def test_code_that_ignores_the_interrupt_loses_its_interpreter_only(client):
    client.run("kept = (n for n in [1])")  # which is not stored
    client.call("write_file", path="f.txt", content="kept")
    run = client.run("import time\nwhile True:\n    try:\n        time.sleep(60)\n"
                     "    except KeyboardInterrupt:\n        pass", timeout_seconds=1)
    assert run["status"] == "timed_out"
    assert "interpreter restarted" in run["error"]["lost"]
    assert client.run("kept")["error"]["name"] == "NameError"
    assert client.call("read_file", path="f.txt")["content"] == "kept"


@pytest.mark.slow
@pytest.mark.parametrize("language,code", [
    ("python", "import time\ntry:\n    time.sleep(60)\nexcept BaseException:\n    print('partial')"),
    ("bash", "python3 -c 'import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print(\"partial\")'; true"),
    ("python", "import time\ntry:\n    time.sleep(60)\nexcept BaseException:\n    raise ValueError('gave up')"),
])
def test_a_timeout_that_the_code_catches_is_told(client, language, code):
    client.run("true" if language == "bash" else "1", language)
    run = client.run(code, language, timeout_seconds=2)
    assert run["status"] == "timed_out" and run["error"]["cause"] == "timeout", run
    assert "variables kept" in run["error"]["survived"]


@pytest.mark.slow
def test_bash_keeps_what_a_stopped_run_has_set(client):
    client.run("export SAID=before", "bash")
    run = client.run("cd /tmp; export SAID=during; sleep 60", "bash", timeout_seconds=2)
    assert run["status"] == "timed_out"
    assert run["error"]["survived"] == "files kept; working directory and variables kept"
    assert client.run("pwd; echo $SAID", "bash")["stdout"] == "/tmp\nduring\n"
    run = client.run("cd /; trap '' INT; while true; do sleep 1; done", "bash", timeout_seconds=2)
    assert run["error"]["survived"] == "files kept; working directory and variables as before this run"
    assert client.run("pwd", "bash")["stdout"] == "/tmp\n"
    run = client.run("cd /; exec sleep 60", "bash", timeout_seconds=2)
    assert run["error"]["survived"] == "files kept; working directory and variables as before this run"
    assert client.run("pwd", "bash")["stdout"] == "/tmp\n"
    run = client.run("cd /; exit 3", "bash")
    assert run["error"]["survived"] == "files kept; working directory and variables kept"


def test_os_system_is_interrupted(client):
    client.run("1")  # the run's second has no start of its interpreter in it
    started = time.monotonic()
    run = client.run("import os\nos.system('sleep 60')", timeout_seconds=1)
    assert run["status"] == "timed_out"
    assert time.monotonic() - started < 20
    assert "variables kept" in run["error"]["survived"]


def test_cancelled_notification_interrupts_and_sends_nothing(client):
    client.run("kept = 5")
    request = client.start_tool("run_code", code="import time; time.sleep(60)")
    deadline = time.monotonic() + 60 * PATIENCE
    while not any(s.get("active_runs") for s in client.call("list_sessions")["sessions"]):
        assert time.monotonic() < deadline
    client.notify("notifications/cancelled", {"requestId": request})
    assert client.value("kept") == "5"
    assert request not in client._replies


@pytest.mark.slow
def test_a_wait_that_is_cancelled_does_not_end_the_session(client, state):
    session = client.run("kept = 5")["session_id"]
    run = client.run("import time; time.sleep(1)", background=True)["run_id"]
    other = Client(state).__enter__()  # the rest of it is the measure of the time
    measure = other.run("1")["session_id"]
    wait = client.start_tool("get_run", run_id=run, wait_seconds=50)
    client.notify("notifications/cancelled", {"requestId": wait})
    client.request("ping")
    other.kill()
    until(lambda: measure not in boxes_of(state), what="the end of a session that nobody uses")
    assert session in boxes_of(state)
    assert client.value("kept") == "5"


@pytest.mark.parametrize("language,first,then", [
    ("python", "import time; time.sleep({ms} / 1000)", "sum(range(200000))"),
    pytest.param("javascript", "await new Promise(r => setTimeout(r, {ms}))", "let s = 0; for (let i = 0; i < 1e6; i++) s += i; s", marks=pytest.mark.slow),
    ("sql", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000 * {ms}) SELECT max(i) FROM n",
     "SELECT 1")])
def test_a_late_interrupt_never_hits_the_next_run(client, language, first, then):
    client.run(then, language)
    cancelled, milliseconds = 0, 10
    for _ in range(60):
        request = client.start_tool("run_code", code=first.format(ms=round(milliseconds)), language=language)
        following = client.start_tool("run_code", code=then, language=language)
        active = []
        while not active and request not in client._replies:
            active = [run for run in client.call("list_sessions")["sessions"][0].get("active_runs", [])
                      if run["status"] == "running"]
        for run in active:
            client.call("cancel_run", run_id=run["run_id"])
        first_run = client.reply(request)["result"]["structuredContent"]
        next_run = client.reply(following)["result"]["structuredContent"]
        assert first_run["status"] in ("completed", "cancelled"), first_run
        if first_run["status"] == "cancelled":
            cancelled += 1
            assert next_run["status"] == "completed", next_run
        # Towards a run that ends as it is cancelled, whatever this machine takes for either.
        milliseconds = min(500, max(1, milliseconds * (0.8 if first_run["status"] == "cancelled" else 1.5)))
    assert cancelled > 0
