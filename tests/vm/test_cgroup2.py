"""Tests what only a machine with cgroup version 2 and systemd shows: which limits hold, and how.

HUTCH_VM_LIMITS says what the place where this runs must give: "cgroup v2", or "none" where an
ordinary user may make no cgroup. HUTCH_VM_PLACE, where it is given, what lies around the cgroups.
"""

import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from boxes import processes_of, until
from hutch_client import PATIENCE, Client, hutch_binary
from trial import Trial

TOP = pathlib.Path("/sys/fs/cgroup")
LIMITS = os.environ["HUTCH_VM_LIMITS"]
PLACE = os.environ.get("HUTCH_VM_PLACE")
VERSION2 = LIMITS == "cgroup v2"
RELEASE = tuple(int(number) for number in os.uname().release.split(".")[:2])

only_version2 = pytest.mark.skipif(not VERSION2, reason="a place without cgroups")


def cgroups_of(session):
    return [pathlib.Path(path) for path, _, _ in os.walk(TOP)
            if os.path.basename(path).startswith(f"hutch-{session}-")]


def cgroup_of(session):
    found = cgroups_of(session)
    assert len(found) == 1, found
    return found[0]


def number(path, key=None):
    lines = path.read_text().splitlines()
    return int(lines[0]) if key is None else next(int(v) for k, v in map(str.split, lines) if k == key)


def test_this_is_version_2():
    assert (TOP / "cgroup.controllers").exists()
    assert pathlib.Path("/proc/self/cgroup").read_text().startswith("0::/")


def test_doctor_and_a_session_say_the_same(state):
    doctor = subprocess.run([hutch_binary(), "doctor", "--json", "--state-dir", state], text=True,
                            capture_output=True, timeout=60 * PATIENCE)
    findings = {f["layer"]: f for f in json.loads(doctor.stdout)}
    for layer in ("memory_mb", "processes", "cpus", "pause"):
        assert (findings[layer]["detail"] == "cgroup v2") == VERSION2, findings[layer]
    assert findings["cgroups"]["state"] == ("good" if VERSION2 else "weaker"), findings["cgroups"]
    if not VERSION2:
        assert "systemd-run --user --scope -p Delegate=yes" in findings["cgroups"]["remedy"]
    assert findings["a real box"]["state"] == "good", findings["a real box"]
    with Client(state) as client:
        session = client.call("create_session")
    isolation, enforcement = session["isolation"], session["enforcement"]
    assert enforcement["memory_mb"] == ("hard" if VERSION2 else "watched")
    assert enforcement == {layer: f["level"] for layer, f in findings.items() if "level" in f}
    for part in ("memory", "processes", "cpus", "pause"):
        assert (isolation[part] == "cgroup v2") == VERSION2, isolation


@only_version2
def test_the_limits_are_in_the_files(client):
    session = client.call("create_session", limits={"memory_mb": 200, "processes": 30, "cpus": 1})
    cgroup = cgroup_of(session["session_id"])
    assert number(cgroup / "memory.max") == 200 << 20
    assert number(cgroup / "memory.swap.max") == 0
    assert number(cgroup / "memory.oom.group") == 0, "one run is ended, not the session"
    assert number(cgroup / "pids.max") == 31
    assert (cgroup / "cpu.max").read_text().split() == ["100000", "100000"]
    if PLACE:
        assert PLACE in str(cgroup), cgroup


@only_version2
def test_everything_of_a_box_is_in_its_cgroup_and_hutch_is_not(client):
    session = client.run("import subprocess; kept = subprocess.Popen(['sleep', '600'])")["session_id"]
    inside = {pathlib.Path(f"/proc/{p}/comm").read_text().strip()
              for p in (cgroup_of(session) / "cgroup.procs").read_text().split()}
    assert inside == {"hutch-init", "python3", "sleep"}
    if os.geteuid() == 0:  # init shows its descriptors to nobody else
        init = next(p for p in (cgroup_of(session) / "cgroup.procs").read_text().split()
                    if pathlib.Path(f"/proc/{p}/comm").read_text() == "hutch-init\n")
        assert not [link for link in pathlib.Path(f"/proc/{init}/fd").iterdir() if "cgroup" in os.readlink(link)]
    mine = pathlib.Path(f"/proc/{client.process.pid}/cgroup").read_text()
    assert session not in mine


def start_traced(directory, helper, options):
    """Returns what a helper's strace wrote, and what the code of its session sees of its cgroups."""
    trial = Trial(directory)
    trial.trace(helper, options)
    with trial.client() as client:
        session = client.run("import subprocess; kept = subprocess.Popen(['sleep', '600'])")["session_id"]
        inside = {pathlib.Path(f"/proc/{p}/comm").read_text().strip()
                  for p in (cgroup_of(session) / "cgroup.procs").read_text().split()}
        assert inside == {"hutch-init", "python3", "sleep"}
        assert client.run("print(open('/proc/self/cgroup').read())", session_id=session)["stdout"] == "0::/\n\n"
        client.call("delete_session", session_id=session)
        trial.until_nothing_is_left(client.process.pid, [session], seconds=30)
    return trial.log_of(helper).read_text()


@only_version2
def test_a_box_starts_in_its_cgroup(tmp_path):
    calls = start_traced(tmp_path, "hutch-init", "-y -e trace=clone3,write")
    assert re.search(r"clone3\(.*CLONE_INTO_CGROUP.*cgroup=\d+.*\) = \d+\n", calls), calls
    assert "cgroup.procs" not in calls, "nothing was moved"


@only_version2
def test_where_the_kernel_cannot_start_it_there_it_is_moved(tmp_path):
    calls = start_traced(tmp_path, "hutch-init", "-y -e trace=clone3,write -e inject=clone3:error=EINVAL:when=1")
    assert re.search(r"CLONE_INTO_CGROUP.* \(INJECTED\)\n.*cgroup\.procs>, \"0\", 1\) += 1\nclone3\(", calls), calls


@only_version2
def test_the_end_of_a_box_is_the_kill_of_its_cgroup(tmp_path):
    if RELEASE < (5, 14):
        pytest.skip("this kernel has no cgroup.kill (Linux 5.14)")
    calls = start_traced(tmp_path, "hutch-box", "-y -e trace=write")
    assert re.search(r"/hutch-[\w-]+/cgroup\.kill>, \"1\", 1\) += 1\n", calls), calls[-4000:]


@only_version2
def test_out_of_memory_ends_the_run_and_nothing_else(client):
    session = client.call("create_session", limits={"memory_mb": 256})["session_id"]
    client.run("const kept = 5", "javascript", session_id=session)
    run = client.run("data = bytearray()\nwhile True: data += b'x' * (8 << 20)", session_id=session,
                     timeout_seconds=120)
    assert run["status"] == "failed" and run["error"]["cause"] == "oom", run
    cgroup = cgroup_of(session)
    assert number(cgroup / "memory.events", "oom_kill") == 1
    if RELEASE >= (5, 19):  # where there is a memory.peak
        assert 200 << 20 < number(cgroup / "memory.peak") <= 256 << 20
    # Its program's files are gone from the cache, and are read again.
    for language, code, value in (("javascript", "kept", "5"), ("python", "6 * 7", "42")):
        after = client.run(code, language, session_id=session, timeout_seconds=120)
        assert [output["text"] for output in after["outputs"]] == [value], after


@only_version2
def test_the_process_limit_has_its_cause(client):
    session = client.call("create_session", limits={"processes": 20})["session_id"]
    run = client.run("import subprocess\nkept = [subprocess.Popen(['sleep', '600']) for _ in range(100)]",
                     session_id=session)
    assert run["error"]["cause"] == "pids", run
    cgroup = cgroup_of(session)
    assert number(cgroup / "pids.events", "max") >= 1
    assert number(cgroup / "pids.current") <= 21


@only_version2
def test_pause_is_the_freezer(client):
    session = client.call("create_session")["session_id"]
    client.run("kept = 3", session_id=session)
    cgroup = cgroup_of(session)
    client.call("pause_session", session_id=session)
    assert number(cgroup / "cgroup.freeze") == 1
    assert number(cgroup / "cgroup.events", "frozen") == 1
    client.call("resume_session", session_id=session)
    assert number(cgroup / "cgroup.events", "frozen") == 0
    assert client.run("kept", session_id=session)["outputs"][0]["text"] == "3"


@only_version2
def test_the_cgroup_of_a_deleted_session_is_gone(client):
    running = client.call("create_session")["session_id"]
    client.run("import time; time.sleep(600)", session_id=running, background=True)
    frozen = client.call("create_session")["session_id"]
    client.call("pause_session", session_id=frozen)
    for session in (running, frozen):
        assert cgroups_of(session)
        client.call("delete_session", session_id=session)
        until(lambda: not cgroups_of(session), what="the end of the cgroup")


@only_version2
def test_busy_sessions_divide_the_part_of_their_principal(state):
    with Client(state) as client:
        sessions = [client.call("create_session")["session_id"] for _ in range(2)]
        runs = [client.run("while True: pass", session_id=session, background=True)["run_id"] for session in sessions]
        until(lambda: [number(cgroup_of(session) / "cpu.weight") for session in sessions] == [500, 500], what="half of it for each")
        client.call("cancel_run", run_id=runs[0])
        until(lambda: number(cgroup_of(sessions[1]) / "cpu.weight") == 1000, what="all of it for the one that is left")


@only_version2
def test_a_frozen_session_without_its_box_is_ended(state):
    """Frozen processes cannot see that their box is dead: only a kill of the cgroup ends them, by the server at once."""
    with Client(state, "--session", "frozen") as client:
        session = client.run("kept = 1")["session_id"]
        client.call("pause_session", session_id=session)
        assert (cgroup_of(session) / "cgroup.procs").read_text()
        (box,) = processes_of(state)
        os.kill(box, signal.SIGKILL)
        until(lambda: not processes_of(state) and not cgroups_of(session), what="the end of the box and of its cgroup")
        client.call("delete_session", session_id=session)


@only_version2
def test_processors_are_limited(client):
    with open(__file__) as everybodys:
        # Places that are tested side by side would share the processors, and none reach its limit.
        fcntl.flock(everybodys, fcntl.LOCK_EX)
        session = client.call("create_session", limits={"cpus": 1})["session_id"]
        client.run("import os\nfor _ in range(3):\n    if os.fork() == 0:\n        while True: pass\n"
                   "for _ in range(3): os.wait()", session_id=session, background=True)
        # When other programs leave more than one processor to them.
        until(lambda: number(cgroup_of(session) / "cpu.stat", "nr_throttled") > 0, what="throttling")
        client.call("delete_session", session_id=session)


def test_nothing_is_left(state):
    with Client(state) as client:
        session = client.run("1")["session_id"]
        client.call("delete_session", session_id=session)
    assert cgroups_of(session) == []
    if not VERSION2:
        return
    # Around a place that is not ours, nothing stays either.
    mine = PLACE or "/hutch-sessions/"
    until(lambda: not any(f"{path}/".endswith(mine) for path, _, _ in os.walk(TOP)),
          what="the end of the group of sessions")
