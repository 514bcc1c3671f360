"""Tests that what Python knows outlives its process: killed boxes and servers, interpreters that end, restarts by hutch's own hand."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from boxes import boxes_of, until
from conftest import needs
from hutch_client import Client, hutch_binary

CODE = """
import random, math
import collections as c
shared = [1, 2, 3]
alias = {"same": shared}
offset = 40
def add(n):
    return n + offset
class Point:
    def __init__(self, x): self.x = x
    def twice(self): return self.x * 2
point = Point(3)
def counter():
    count = [0]
    def step():
        count[0] += 1
        return count[0]
    return step
step = counter(); step()
ring = []; ring.append(ring)
random.seed(7); random.random()
"""
LOOK = """
import inspect
shared.append(4); offset = 1
print(alias["same"], add(1), point.twice(), type(point) is Point, step(), ring[0] is ring, math.pi > 3, c.__name__)
print(inspect.getsource(add).splitlines()[0], random.random())
"""


def snapshots(state, session):
    return list(pathlib.Path(state, "sessions", session, "state").glob("python"))


def stored_after(state, session, run):
    """Waits for the snapshot that has what there was after the run."""
    def is_there():
        return any(run["run_id"].encode() in snapshot.read_bytes() for snapshot in snapshots(state, session))
    until(is_there, what="a snapshot")


def kill_boxes(state):
    boxes = list(boxes_of(state).values())
    for pid in boxes:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not boxes_of(state), what="the end of the boxes")


def test_variables_are_there_after_everything_was_killed(state):
    with Client(state) as client:
        session = client.call("create_session", name="kept")["session_id"]
        run = client.run(CODE, session_id="kept")
        assert run["status"] == "completed", run
        last = client.run("import random; state = random.getstate(); value = random.random(); random.setstate(state); value",
                          session_id="kept")
        wanted = last["outputs"][0]["text"]
        stored_after(state, session, last)
        client.kill()
    kill_boxes(state)
    with Client(state) as client:
        looked = client.run(LOOK, session_id="kept")
        assert looked["status"] == "completed", looked
        first, second = looked["stdout"].splitlines()
        assert first == "[1, 2, 3, 4] 2 6 True 2 True True collections"
        assert second == f"def add(n): {wanted}"
        assert "a new Python has the" in looked["note"] and "lost" not in looked["note"], looked["note"]
        assert len(looked["note"]) <= 300
        assert "note" not in client.run("1", session_id="kept")


def container(directory):
    """A program that is hutch in a container: all that it starts ends with it, and the next one counts its processes anew."""
    unshare = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
    why_not = subprocess.run([*unshare, "true"], capture_output=True, text=True).stderr
    needs(not why_not, f"a pid namespace of our own ({why_not.strip()})")
    program = directory / "container"
    program.write_text(f"#!/bin/sh\nexec {' '.join(unshare)} {hutch_binary()} \"$@\"\n")
    program.chmod(0o755)
    return str(program)


def test_a_container_that_is_started_anew_has_what_its_volume_has(state, tmp_path):
    program = container(tmp_path)
    known = {"python": ("x = [1]; y = x", "x, y is x", "([1], True)"), "javascript": ("let x = { n: 1 }, y = x", "y === x", "true"),
             "bash": ("x=5", "echo $x", "5")}
    with Client(state, binary=program) as client:
        for language, (code, *_) in known.items():
            run = client.run(code, language)
            session = run["session_id"]
            copies = pathlib.Path(state, "sessions", session, "state")
            has = b"declare -- x" if language == "bash" else run["run_id"].encode()
            until(lambda: any(has in copy.read_bytes() for copy in copies.glob(f"{language}*") if not copy.name.endswith(".new")), what="it being stored")
        client.kill()
    until(lambda: not boxes_of(state), what="the end of all that was in it")
    with Client(state, binary=program) as client:
        assert session in client.run("1")["note"], "it is offered"
        assert client.call("list_sessions", status="stored")["sessions"][0]["session_id"] == session
        for language, (_, look, wanted) in known.items():
            looked = client.run(look, language, session_id=session)
            assert wanted in (looked["stdout"] or looked["outputs"][0]["text"]) and "lost" not in looked.get("note", ""), looked


def test_variables_of_javascript_are_there_after_everything_was_killed(state):
    with Client(state) as client:
        session = client.call("create_session", name="kept")["session_id"]
        run = client.run("const shared = [1]; const alias = { same: shared }; class Point { constructor(x) { this.x = x; } twice() { return 2 * this.x; } }\n"
                         "const point = new Point(3); function add(n) { return n + offset; } var offset = 40;", "javascript", session_id="kept")
        assert run["status"] == "completed", run
        snapshot = pathlib.Path(state, "sessions", session, "state", "javascript")
        until(lambda: snapshot.exists() and run["run_id"].encode() in snapshot.read_bytes(), what="a snapshot")
        client.kill()
    kill_boxes(state)
    with Client(state) as client:
        looked = client.run("shared.push(2); offset = 1; [alias.same.length, point.twice(), point instanceof Point, add(1)].join()", "javascript",
                            session_id="kept")
        assert looked["outputs"][0]["text"] == "'2,6,true,2'", looked
        assert looked["note"] == f"a new JavaScript has the 6 names that there were after {run['run_id']}", looked
        assert "note" not in client.run("1", "javascript", session_id="kept")


def test_an_interpreter_that_is_killed_comes_back_with_what_it_had(state):
    with Client(state) as client:
        run = client.run("x = [1]; y = x")
        session = run["session_id"]
        stored_after(state, session, run)
        killed = client.run("x.append(2); import os; os.kill(os.getpid(), 9)")
        assert killed["status"] == "failed"
        assert f"what was made since {run['run_id']}; the next has what was stored then" in killed["error"]["lost"], killed
        back = client.run("x is y, x")
        assert back["outputs"][0]["text"] == "(True, [1])", back


def test_an_interpreter_that_memory_ends_comes_back_with_what_there_was_after_the_run_before(state):
    with Client(state) as client:
        made = client.call("create_session", limits={"memory_mb": 512}, name="small")
        if made["enforcement"]["memory_mb"] == "none":
            pytest.skip(f"memory of this host's sessions: none ({made['isolation']})")
        session = made["session_id"]
        client.run("before = [1]; alias = before", session_id=session)
        stored = client.run("before.append(2)", session_id=session)
        stored_after(state, session, stored)
        ended = client.run("before.append(3); hog = [bytearray(b'x' * (4 << 20)) for _ in range(500)]", session_id=session)
        assert ended["error"]["cause"] == "oom" and f"what was made since {stored['run_id']}; the next has" in ended["error"]["lost"], ended
        back = client.run("before, alias is before, 'hog' in globals()", session_id=session)
        assert back["outputs"][0]["text"] == "([1, 2], True, False)", back


def test_a_writer_that_memory_ends_ends_no_run_and_is_told_of(state):
    with Client(state) as client:
        made = client.call("create_session", limits={"memory_mb": 512}, name="small")
        if made["enforcement"]["memory_mb"] == "none":
            pytest.skip(f"memory of this host's sessions: none ({made['isolation']})")
        session = made["session_id"]

        def of_bash(code):
            run = client.run(code, language="bash", session_id=session)
            assert run["status"] == "completed", run
            return run["stdout"]
        client.run("import os\nclass Hog:\n    def __reduce__(self):\n        open('began', 'w').close()\n"
                   "        return list, ([bytearray(b'x' * (4 << 20)) for _ in range(500)],)\n"
                   "kept = [1]; alias = kept; hog = Hog(); pid = os.getpid()", session_id=session)
        until(lambda: of_bash("ls began 2>/dev/null || true"), what="a writer that takes memory")
        until(lambda: not of_bash("grep -l hutch-snapshot /proc/[0-9]*/comm 2>/dev/null || true"), what="the end of the writer")
        told = []

        def is_told():
            told.append(client.run("pid == os.getpid()", session_id=session))
            assert (told[-1]["status"], told[-1]["outputs"][0]["text"]) == ("completed", "True"), told
            return "variables could not be stored: " in told[-1].get("note", "")
        until(is_told, what="a note of it", interval=2)  # an interpreter without rest does not look for its writer
        stored = client.run("del hog", session_id=session)
        stored_after(state, session, stored)
        kill_boxes(state)
        assert client.run("kept, alias is kept", session_id=session)["outputs"][0]["text"] == "([1], True)"


@pytest.mark.slow
def test_large_values_stay_as_they_are_on_the_disk_until_they_change(state):
    with Client(state) as client:
        run = client.run("import numpy as np\nlarge = np.arange(1_000_000.0)")
        session = run["session_id"]
        stored_after(state, session, run)
        def files():
            # A number of an inode is taken again by the next file, so the time of its writing tells them apart.
            kept = pathlib.Path(state, "sessions", session, "state").glob("python*")
            return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in kept}
        before = files()
        assert len(before) == 2, before
        for code in ("small = 1", "small += 1"):
            stored_after(state, session, client.run(code))
            assert {name for name, written in files().items() if written not in before.values()} == {"python"}
        kill_boxes(state)
        last = client.run("float(large.sum()), small")
        assert last["outputs"][0]["text"] == "(499999500000.0, 2)", last
        stored_after(state, session, last)
        assert {name for name, written in files().items() if written not in before.values()} == {"python"}
        changed = client.run("large[0] = 5.0")
        stored_after(state, session, changed)
        until(lambda: len(files()) == 2, what="the end of the file that is not needed any more")
        assert not set(files().values()) & set(before.values())
        kill_boxes(state)
        assert client.run("float(large.sum())")["outputs"][0]["text"] == "499999500005.0"


def test_what_cannot_be_kept_is_named_and_costs_nothing_else(state):
    with Client(state) as client:
        run = client.run("import socket, threading\nconn = socket.socket()\nlock = threading.Lock()\n"
                             "squares = (n * n for n in range(3))\nkept = 'yes'\n"
                             "class Slow:\n    def __reduce__(self):\n        raise ValueError('not me')\nslow = Slow()")
        session = run["session_id"]
        stored_after(state, session, run)
        kill_boxes(state)
        run = client.run("kept")
        assert run["outputs"][0]["text"] == "'yes'"
        for name in ("conn (socket.socket", "lock (_thread.lock", "squares (generator"):
            assert name in run["note"], run["note"]
        assert client.run("conn")["error"]["name"] == "NameError"


@pytest.mark.slow
def test_waking_that_takes_long_says_so(state):
    with Client(state) as client:
        run = client.run("import time\ndef make(seconds):\n    time.sleep(seconds)\n    return Slow()\n"
                         "class Slow:\n    def __reduce__(self): return make, (5,)\nslow = Slow()")
        stored_after(state, run["session_id"], run)
        kill_boxes(state)
        ended = client.request("tools/call", {"name": "run_code", "arguments": {"code": "type(slow) is Slow"}, "_meta": {"progressToken": "p"}})
        assert ended["structuredContent"]["outputs"][0]["text"] == "True", ended
        told = []
        while not client.notifications.empty():
            told.append(client.notifications.get()["params"].get("message", ""))
        assert any(message.startswith("reading the session's stored variables") for message in told), told


LEAVES = {
    "python": "".join(f"number{n} = (n for n in ())\n" for n in range(40)) + "kept = 5",
    "javascript": "".join(f"let number{n} = new WeakMap();\n" for n in range(40)) + "let kept = 5",
}


@pytest.mark.parametrize("first, second", [("python", "javascript"), ("javascript", "python")])
def test_all_languages_together_tell_of_one_waking_in_300_characters(state, first, second):
    with Client(state) as client:
        session = client.call("create_session", name="kept")["session_id"]
        for language, code in LEAVES.items():
            run = client.run(code, language, session_id=session)
            snapshot = pathlib.Path(state, "sessions", session, "state", language)
            until(lambda: snapshot.exists() and run["run_id"].encode() in snapshot.read_bytes(), what="a snapshot")
        shell = client.run("set -euo pipefail; readonly FIXED=1", "bash", session_id=session)
        assert "note" not in shell, shell
        copies = pathlib.Path(state, "sessions", session, "state")
        until(lambda: any("FIXED" in copy.read_text() for copy in copies.glob("bash.[01]")), what="a copy of the shell's state")
        kill_boxes(state)
        notes = [client.run("kept", language, session_id=session)["note"] for language in (first, second)]
        assert sum(map(len, notes)) <= 300, notes
        for language, note in zip((first, second), notes):
            found = re.search(r"; not kept: ((?:number.+\)) and )?(\d+) (more|values and other things): `hutch sessions show`$", note)
            assert found and (found[1] or "").count("number") + int(found[2]) == 40, (language, notes)
            assert "note" not in client.run("kept", language, session_id=session)
        shell = client.run("FIXED=2; false; echo $FIXED $-", "bash", session_id=session)
        assert "but for: errexit, nounset, pipefail, readonly of FIXED" in shell["note"] and "e" not in shell["stdout"].split()[1], shell
        assert "note" not in client.run("true", "bash", session_id=session)


@pytest.mark.parametrize("language, code, said, look, shown", [
    ("python", "x = 41", "variables", "x + 1", "42"), ("javascript", "let x = 41", "variables", "x + 1", "42"),
    ("bash", "x=41; f() { echo $((x + 1)); }", "a shell's state", "f", "42")])
def test_a_conversation_that_comes_back_is_offered_what_it_knew_alone(state, language, code, said, look, shown):
    with Client(state) as client:
        session = client.run(code, language)["session_id"]
    until(lambda: not boxes_of(state), what="the end of the box")
    with Client(state, "--log-level", "info") as client:
        plain = client.run("echo nothing; ls /; cd /usr", "bash")
        assert re.search(rf"earlier ones with files or variables: {session} \(\d{{4}}-\d\d-\d\d, {said}\)", plain["note"]), plain
    until(lambda: not boxes_of(state), what="the end of the box")
    with Client(state, "--log-level", "info") as client:
        # The sweep is over once the other one is gone, whose shell knew nothing.
        until(lambda: plain["session_id"] not in os.listdir(f"{state}/sessions"), what="the end of a session with nothing in it")
        note = client.run("1")["note"]
        assert session in note and plain["session_id"] not in note, note
        looked = client.run(look, language, session_id=session)
        assert shown in (looked["stdout"] or looked["outputs"][0]["text"]), looked


def test_who_begins_anew_has_nothing(state):
    with Client(state) as client:
        run = client.run("x = 1")
        session = run["session_id"]
        stored_after(state, session, run)
        assert client.run("'x' in globals()", restart=True)["outputs"][0]["text"] == "False"
        assert not snapshots(state, session)
        kill_boxes(state)
        assert client.run("'x' in globals()")["outputs"][0]["text"] == "False"


def test_what_was_deleted_does_not_come_back(state):
    with Client(state) as client:
        session = client.run("x = 1; y = 2")["session_id"]
        stored_after(state, session, client.run("del x"))
        kill_boxes(state)
        assert client.run("sorted({'x', 'y'} & globals().keys())")["outputs"][0]["text"] == "['y']"
        client.run("del y")
        until(lambda: not snapshots(state, session), what="the end of the snapshot")


def test_a_snapshot_that_ends_its_reader_is_set_aside(state):
    with Client(state) as client:
        run = client.run("class Trap:\n    def __reduce__(self):\n        import os\n        return os._exit, (7,)\ntrap = Trap(); x = 1")
        session = run["session_id"]
        stored_after(state, session, run)
        kill_boxes(state)
        looks = [client.run("'x' in globals()") for _ in range(4)]
        last = looks[-1]
        assert last["status"] == "completed" and last["outputs"][0]["text"] == "False", looks
        assert any("set aside" in look.get("note", "") for look in looks), looks
        assert pathlib.Path(state, "sessions", session, "state", "python.bad").exists()


@pytest.mark.parametrize("said", ["autosave_mb = 0", "autosave = false", "autosave = false\nautosave_mb = 8"])
def test_nothing_is_on_the_disk_where_nobody_wants_it(state, tmp_path, said):
    (tmp_path / "config.toml").write_text(f"[session]\n{said}\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        session = client.run("x = 1")["session_id"]
        client.run("x = 2")
        assert not pathlib.Path(state, "sessions", session, "state").exists()
        kill_boxes(state)
        run = client.run("x")
        assert run["error"]["name"] == "NameError" and "variables of python" in run["note"]


def test_what_was_stored_is_deleted_where_nobody_wants_it_any_more(state, tmp_path):
    with Client(state) as client:
        session = client.call("create_session", name="kept")["session_id"]
        run = client.run("x = 1", session_id=session)
        stored_after(state, session, run)
        client.call("pause_session", session_id=session)
        until(lambda: not boxes_of(state), what="the end of its box")
        status = {one["session_id"]: one["status"] for one in client.call("list_sessions")["sessions"]}
        assert status == {session: "stored"}
    (tmp_path / "config.toml").write_text("[session]\nautosave = false\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        status = {one["session_id"]: one["status"] for one in client.call("list_sessions")["sessions"]}
        assert status == {session: "stopped"}
        run = client.run("x", session_id=session)
        assert run["error"]["name"] == "NameError" and "what was stored of its variables is deleted" in run["note"], run
        assert not snapshots(state, session) and "note" not in client.run("y = 1", session_id=session)
        kill_boxes(state)
    with Client(state) as client:
        run = client.run("x", session_id=session)
        assert run["error"]["name"] == "NameError" and "variables of python" in run["note"], run


def test_a_snapshot_is_nobody_elses_and_goes_with_its_session(state):
    with Client(state) as client:
        run = client.run("secret = 'x' * 100")
        session = run["session_id"]
        stored_after(state, session, run)
        (snapshot,) = snapshots(state, session)
        assert snapshot.stat().st_mode & 0o777 == 0o600 and snapshot.parent.stat().st_mode & 0o777 == 0o700
        assert client.run("ls -a / /workspace /home/user | grep -c state", "bash")["stdout"] == "0\n"
        client.call("delete_session", session_id=session)
        until(lambda: not pathlib.Path(state, "sessions", session, "state").exists())


def test_hutch_sessions_shows_and_forgets_what_is_stored(state):
    def hutch(*arguments):
        return json.loads(subprocess.run([hutch_binary(), "sessions", *arguments, "--json", "--state-dir", state],
                                         capture_output=True, text=True, check=True).stdout)

    with Client(state) as client:
        run = client.run("x = 'y' * 10_000")
        session = run["session_id"]
        stored_after(state, session, run)
        assert hutch("show", session)["stored_bytes"] > 10_000
        assert hutch("forget-state", session)["forgotten"] is True
        assert hutch("forget-state", session)["forgotten"] is False
        assert "stored_bytes" not in hutch("show", session)
        kill_boxes(state)
        assert client.run("x")["error"]["name"] == "NameError"


@pytest.mark.parametrize("code", ["import numpy as np\na = np.arange(100_000); b = a\na2 = a.reshape(1000, 100)\n",
                                  "import pandas as pd\na = pd.DataFrame({'n': range(1000), 's': ['x'] * 1000}); b = a\na2 = a.n\n"])
def test_arrays_and_tables_are_writable_and_shared(state, code):
    with Client(state) as client:
        run = client.run(code)
        if run["status"] == "failed" and run["error"]["name"] == "ModuleNotFoundError":
            pytest.skip(f"Python packages of this host: {run['error']['message']}")
        session = run["session_id"]
        stored_after(state, session, run)
        kill_boxes(state)
        look = client.run("a is b, len(a), len(a2)")
        assert look["outputs"][0]["text"] == "(True, 100000, 1000)" if "arange" in code else "(True, 1000, 1000)", look
        write = "b[0] = 7; int(a[0])" if "arange" in code else "b.loc[0, 'n'] = 7; int(a.n[0])"
        assert client.run(write)["outputs"][0]["text"] == "7"


def test_what_is_stored_lies_beside_the_limit_of_the_disk(state):
    with Client(state) as client:
        session = client.call("create_session", name="small disk", limits={"disk_mb": 16})["session_id"]
        run = client.run("import os; big = os.urandom(24 << 20)", session_id=session)
        assert run["status"] == "completed", run
        stored_after(state, session, run)
        next_run = client.run("import time; time.sleep(1); open('/workspace/file', 'wb').write(bytes(8 << 20))", session_id=session)
        assert next_run["status"] == "completed", next_run
        kill_boxes(state)
        assert client.run("len(big)", session_id=session)["outputs"][0]["text"] == str(24 << 20)
