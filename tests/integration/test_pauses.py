"""What a pause stops, what goes on after it, and what wakes a session up."""

import random
import time

from boxes import until


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


def test_a_pause_does_not_use_up_the_time_of_a_run(client):
    session = client.run("1")["session_id"]  # of the run's time, none is for the start of its interpreter
    request = client.start_tool("run_code", code="import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)",
                                timeout_seconds=10, session_id=session)
    until(lambda: client.call("list_sessions")["sessions"][0]["active_runs"])
    client.call("pause_session", session_id=session)
    time.sleep(11)  # longer than the timeout of the run
    client.call("resume_session", session_id=session)
    client.call("write_file", path="go", content="", session_id=session)
    assert client.reply(request)["result"]["structuredContent"]["status"] == "completed"


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
