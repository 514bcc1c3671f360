"""The level of each limit: told alike by a session, its record and doctor, and kept to."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

from boxes import processes_of, until
from changed_host import changed_hutch, why_not
from conftest import end_boxes, needs
from hutch_client import PATIENCE, Client, hutch_binary

LIMITS = {"memory_mb", "cpus", "processes", "disk_mb", "files", "open_files", "run_seconds", "output_mb"}
LEVELS = {"hard", "watched", "none"}
SMALL = {"memory_mb": 128, "cpus": 1, "processes": 24, "disk_mb": 8, "files": 200, "open_files": 80,
         "run_seconds": 2, "output_mb": 1}


def hutch(state, *arguments):
    done = subprocess.run([hutch_binary(), *arguments, "--state-dir", state], capture_output=True, text=True,
                          timeout=120 * PATIENCE)
    assert done.returncode == 0, done
    return done.stdout


def levels_of(findings):
    return {finding["layer"]: finding["level"] for finding in findings if "level" in finding}


def test_a_session_its_record_and_doctor_say_the_same(state):
    with Client(state) as client:
        made = client.result("create_session", name="told")
        enforcement = made["structuredContent"]["enforcement"]
        assert set(enforcement) == LIMITS == set(made["structuredContent"]["limits"])
        assert set(enforcement.values()) <= LEVELS
        for level in set(enforcement.values()) - {"hard"}:  # the text says what the kernel does not hold
            names = ", ".join(sorted(name for name, one in enforcement.items() if one == level))
            assert f"{level} limits: {names}" in made["content"][0]["text"]
        (listed,) = client.call("list_sessions")["sessions"]
        assert listed["enforcement"] == enforcement
        assert client.call("pause_session", session_id="told")["enforcement"] == enforcement
        # A session whose box does not run tells what it had last.
        (box,) = processes_of(state)
        os.kill(box, signal.SIGKILL)
        until(lambda: not processes_of(state), what="the end of the box")
        (listed,) = client.call("list_sessions")["sessions"]
        assert listed["enforcement"] == enforcement
    assert json.loads(hutch(state, "sessions", "show", "told", "--json"))["enforcement"] == enforcement
    assert levels_of(json.loads(hutch(state, "doctor", "--json"))) == enforcement


def test_the_levels_follow_from_what_the_box_found(shared):
    made = shared.call("create_session")
    isolation, enforcement = made["isolation"], made["enforcement"]
    cgroups = {"memory_mb": "memory", "cpus": "cpus", "processes": "processes"}
    for limit, layer in cgroups.items():
        if isolation[layer].startswith("cgroup"):
            assert enforcement[limit] == "hard"
    assert (enforcement["memory_mb"] == "hard") == isolation["memory"].startswith("cgroup")
    assert (enforcement["disk_mb"] == "hard") == (isolation["disk"] == "project quota")
    assert enforcement["files"] == enforcement["disk_mb"]
    for always in ("open_files", "run_seconds", "output_mb"):
        assert enforcement[always] == "hard"


# Each level promises something. `hard`: more is not to be had. `watched`: whoever is seen beyond is ended with the
# cause. Each program asks for several times its limit and says what it got.
GREEDY = {
    "memory_mb": ("oom", "kept = [bytearray(b'x' * (4 << 20)) for _ in range(500)]\nprint('got', 500 * 4)"),
    # For some tens of seconds: where the disk is watched, the looks at it are as far apart as the machine is busy.
    "disk_mb": ("disk", "import os, time\nfor i in range(600):\n    open(f'hog{i}', 'wb').write(os.urandom(1 << 20))\n"
                        "    time.sleep(0.05)\nprint('got', 600)"),
    "files": ("disk", "import time\nfor i in range(15000):\n    open(f'hog{i}', 'w').close()\n"
                      "    if i % 20 == 0: time.sleep(0.05)\nprint('got', 15000)"),
    "processes": (None, "import os\ngot = 0\nwhile got < 200:\n    try: pid = os.fork()\n    except OSError: break\n"
                        "    if pid == 0:\n        import time; time.sleep(5); os._exit(0)\n    got += 1\n"
                        "print('got', got)"),
    "open_files": (None, "import os\ngot = 0\nwhile got < 5000:\n    try: os.open('/dev/null', os.O_RDONLY)\n"
                         "    except OSError: break\n    got += 1\nprint('got', got)"),
    "output_mb": ("output", "for _ in range(8 << 10): print('x' * 1023)"),
    "run_seconds": ("timeout", "import time\ntime.sleep(60)"),
}


@pytest.mark.parametrize("limit", GREEDY)
def test_a_level_keeps_its_promise(shared, limit):
    session = shared.call("create_session", limits=SMALL if limit == "run_seconds" else {**SMALL, "run_seconds": 60})
    level = session["enforcement"][limit]
    if level == "none":
        pytest.skip(f"enforcement of this host's sessions: {limit} is none ({session['isolation']})")
    cause, code = GREEDY[limit]
    run = shared.run(code, session_id=session["session_id"])
    got = [int(line.split()[1]) for line in run["stdout"].splitlines() if line.startswith("got ")]
    if cause:
        assert run.get("error", {}).get("cause") == cause and not got, (level, run)
    elif level == "hard":
        assert got and got[0] <= SMALL[limit], (level, run)
    if limit == "output_mb":
        kept = pathlib.Path(shared.state, "sessions", session["session_id"], "runs", run["run_id"], "stdout")
        assert kept.stat().st_size <= (1 << 20) + 4096
    shared.call("delete_session", session_id=session["session_id"])


@pytest.mark.slow
def test_memory_that_one_run_uses_up_ends_no_other(shared):
    session = shared.call("create_session", limits={**SMALL, "run_seconds": 60})["session_id"]
    goes_on = shared.start_tool("run_code", language="bash", code="for i in $(seq 60); do [ -e end ] && break; sleep 0.5; done; echo done",
                                session_id=session)
    until(lambda: shared.call("get_run", session_id=session)["runs"], what="the run of bash")
    run = shared.run(GREEDY["memory_mb"][1], session_id=session)
    assert run["error"]["cause"] == "oom", run
    shared.run("import time; time.sleep(3)", session_id=session)  # longer than a run is let wait for what was killed
    shared.call("write_file", path="end", content="", session_id=session)
    other = shared.reply(goes_on)["result"]["structuredContent"]
    assert (other["status"], other["stdout"]) == ("completed", "done\n"), other
    shared.call("delete_session", session_id=session)


def test_processors_are_no_more_than_asked_for(shared):
    session = shared.call("create_session", limits={**SMALL, "run_seconds": 60})
    if session["enforcement"]["cpus"] != "hard":
        pytest.skip(f"enforcement of this host's sessions: cpus is {session['enforcement']['cpus']}")
    run = shared.run("import os, time\nbegin = time.monotonic()\nchildren = []\nfor _ in range(3):\n"
                     "    pid = os.fork()\n    if pid == 0:\n        while time.monotonic() - begin < 2: pass\n"
                     "        os._exit(0)\n    children.append(pid)\nfor pid in children: os.waitpid(pid, 0)\n"
                     "used = os.times()\nprint((used.children_user + used.children_system) / (time.monotonic() - begin))",
                     session_id=session["session_id"])
    # Shares are counted in periods of 100 ms.
    assert float(run["stdout"]) <= 1.25, run
    shared.call("delete_session", session_id=session["session_id"])


def test_the_process_limit_of_a_root_without_cgroups_and_ids(state, tmp_path):
    """As in a container that maps one id: the kernel spares the host's root the rlimit, and nobody else."""
    needs(not why_not(), f"a mount namespace of our own ({why_not().strip()})")
    inner = tmp_path / "inner"
    inner.mkdir()
    hidden = "umount -R /sys/fs/cgroup 2>/dev/null || mount -t tmpfs none /sys/fs/cgroup"
    nested = changed_hutch(inner, hidden)
    if os.geteuid() == 0:
        text = pathlib.Path(nested).read_text()
        pathlib.Path(nested).write_text(text.replace("unshare --mount", "unshare --user --map-root-user --mount"))
    with Client(state, binary=nested) as client:
        made = client.call("create_session", limits={**SMALL, "run_seconds": 60, "memory_mb": 512})
        assert made["isolation"]["ids"] == "the server's own user id", made
        assert not made["isolation"]["processes"].startswith("cgroup"), made
        run = client.run(GREEDY["processes"][1], session_id=made["session_id"])
        got = int(run["stdout"].split()[-1]) if "got" in run["stdout"] else 0
        if os.geteuid() == 0:
            assert made["enforcement"]["processes"] == "none" and got > SMALL["processes"], (made, run)
        else:
            assert made["enforcement"]["processes"] == "hard" and 0 < got <= SMALL["processes"], (made, run)
    end_boxes(state)
