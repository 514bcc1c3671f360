"""`hutch sessions show` has all that was not kept, and `retry-state` brings back what was set aside."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

from boxes import boxes_of, until
from hutch_client import Client, hutch_binary

MANY = 60  # more than a note has room for
LEAVES = {
    "python": "".join(f"n{number} = (n for n in ())\n" for number in range(MANY)) + "kept = 5",
    "javascript": "".join(f"let n{number} = new WeakMap();\n" for number in range(MANY)) + "let kept = 5",
}
# It ends its reader where a file of the session is not there.
TRAP = ("class Trap:\n    def __reduce__(self): return exec, (\"import os; os.path.exists('/workspace/well') or os._exit(7)\",)\n"
        "trap = Trap(); x = 1")


def sessions_command(state, *arguments):
    return subprocess.run([hutch_binary(), "sessions", *arguments, "--state-dir", state], capture_output=True, text=True)


def losses(state, session, language="python"):
    shown = sessions_command(state, "show", session, "--json")
    return json.loads(shown.stdout).get("losses", {}).get(language, {})


def stored_after(state, session, run, language="python"):
    """Waits for the snapshot that has what there was after the run."""
    file = pathlib.Path(state, "sessions", session, "state", language)
    until(lambda: file.exists() and run["run_id"].encode() in file.read_bytes(), what="a snapshot")


def kill_boxes(state):
    for pid in boxes_of(state).values():
        os.kill(pid, signal.SIGKILL)
    until(lambda: not boxes_of(state), what="the end of the boxes")


@pytest.mark.parametrize("language", LEAVES)
def test_all_that_is_not_kept_is_shown_before_and_after_it_is_gone(state, language):
    with Client(state) as client:
        run = client.run(LEAVES[language], language)
        session = run["session_id"]
        stored_after(state, session, run, language)
        wanted = {f"n{number}" for number in range(MANY)}
        before = losses(state, session, language)
        assert {words.split(" (")[0] for words in before["not_stored"]} == wanted and "not_woken" not in before, before
        kill_boxes(state)
        woken = client.run("kept", language)
        assert woken["outputs"][0]["text"] == "5" and len(woken["note"]) < 400, woken
        stored_after(state, session, woken, language)
        after = losses(state, session, language)
        assert {words.split(" (")[0] for words in after["not_woken"]} == wanted, after
        assert after["woken_as_after"] == run["run_id"] and "not_stored" not in after, after
        text = sessions_command(state, "show", session).stdout
        assert text.count(f"\n  {language}: not brought back after {run['run_id']}: n") == MANY, text


def test_a_name_steers_no_terminal(state):
    with Client(state) as client:
        run = client.run("globals()['\\x1b[31mred\\nrun_forged  python  completed'] = (n for n in ())")
        stored_after(state, run["session_id"], run)
        text = sessions_command(state, "show", run["session_id"]).stdout
        assert "python: not stored: \\x1B[31mred\\nrun_forged" in text and "\x1b" not in text and "\nrun_forged" not in text, text


def set_aside(client, state):
    """The session of which Python's first snapshot was set aside, and another one is there."""
    run = client.run(TRAP)
    session = run["session_id"]
    stored_after(state, session, run)
    kill_boxes(state)
    looks = [client.run("'x' in globals()") for _ in range(3)]
    assert looks[-1]["outputs"][0]["text"] == "False" and "retry-state" in looks[-1]["note"], looks
    stored_after(state, session, client.run("y = 2"))
    return session


def test_what_was_set_aside_can_be_brought_back(state):
    with Client(state) as client:
        session = set_aside(client, state)
        assert losses(state, session)["set_aside"] == "its interpreters ended before they had read it"
        assert "retry-state" in sessions_command(state, "show", session).stdout
        client.run("open('well', 'w').close()")
        retried = sessions_command(state, "retry-state", session, "--json")
        assert json.loads(retried.stdout)["retried"] == ["python"], retried
        assert client.run("x, 'y' in globals()")["outputs"][0]["text"] == "(1, False)"
        # The one that it took the place of is set aside now, and comes back the same way.
        assert "begins with what was set aside" in sessions_command(state, "retry-state", session).stdout
        assert client.run("y, 'x' in globals()")["outputs"][0]["text"] == "(2, False)"


def test_what_is_tried_again_in_vain_costs_nothing(state):
    with Client(state) as client:
        session = set_aside(client, state)
        assert sessions_command(state, "retry-state", session).returncode == 0
        looks = [client.run("globals().get('y')") for _ in range(3)]
        assert looks[-1]["outputs"][0]["text"] == "2", looks
        assert "set_aside" in losses(state, session)


def test_nothing_is_tried_again_under_a_run_or_where_nothing_was_set_aside(state):
    with Client(state) as client:
        session = client.run("x = 1")["session_id"]
        assert "nothing was set aside" in sessions_command(state, "retry-state", session).stdout
        (box,) = boxes_of(state).values()
        pathlib.Path(state, "sessions", session, "state", "python.bad").write_bytes(b"damaged")
        assert losses(state, session)["set_aside"].startswith("it is damaged")
        run = client.run("import time; time.sleep(600)", background=True)
        refused = sessions_command(state, "retry-state", session)
        assert refused.returncode != 0 and list(boxes_of(state).values()) == [box], refused
        assert client.call("get_run", run_id=run["run_id"])["status"] == "running"
