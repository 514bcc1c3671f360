"""`hutch sessions show` has all that was not kept."""

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
# It ends its reader.
TRAP = "class Trap:\n    def __reduce__(self): return exec, (\"import os; os._exit(7)\",)\ntrap = Trap(); x = 1"


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


def test_what_was_set_aside_is_shown(state):
    with Client(state) as client:
        run = client.run(TRAP)
        session = run["session_id"]
        stored_after(state, session, run)
        kill_boxes(state)
        looks = [client.run("'x' in globals()") for _ in range(3)]
        assert looks[-1]["outputs"][0]["text"] == "False" and "set aside" in looks[-1]["note"], looks
        assert losses(state, session)["set_aside"] == "its interpreters ended before they had read it"
        assert "stored variables were set aside" in sessions_command(state, "show", session).stdout
        pathlib.Path(state, "sessions", session, "state", "python.bad").write_bytes(b"damaged")
        assert losses(state, session)["set_aside"].startswith("it is damaged")
