"""Tests what people run into in their first hour: identities, memory, the size of the machine, errors told twice."""

import os
import pathlib
import shutil
import subprocess

import pytest

from boxes import until
from conftest import needs
from copies import needs_copies_to_start
from hutch_client import Client, hutch_binary


@pytest.fixture(scope="module")
def small(module_state):
    """A session that is smaller than the host."""
    with Client(module_state) as client:
        session = client.call("create_session", limits={"memory_mb": 600, "cpus": 1})["session_id"]
        yield lambda code, language="python", **options: client.run(code, language, session_id=session, **options)


def said(run):
    assert run["status"] == "completed", run
    return run["stdout"].strip()


COMMIT = "cd $(mktemp -d) && git init -q && echo a >a && git add a && git commit -qm first && git log --format='%an <%ae>' && git branch --show-current"


def test_a_commit_needs_no_identity_and_takes_ones_own(client):
    needs(client.run("git --version", "bash")["status"] == "completed", "git")
    assert said(client.run(COMMIT, "bash")) == "user <user@hutch.invalid>\nmain"
    assert said(client.run(f"git config --global user.name Ada; {COMMIT}", "bash")).startswith("Ada <user@")


@pytest.mark.parametrize("allocate", ["bytearray(3 << 30)", "__import__('numpy').zeros(3 << 30, 'u1')",
                                      "__import__('pandas').DataFrame({'a': range(9)}).loc[[0] * (1 << 28)]"])
def test_one_allocation_beyond_the_memory_is_an_error_and_costs_nothing(small, allocate):
    said(small("kept = 'still here'"))
    run = small(f"more = {allocate}")
    assert (run["error"]["cause"], run["error"]["survived"]) == ("exception", "variables kept, files kept"), run
    assert "MemoryError" in run["error"]["name"], run
    assert said(small("print(kept)")) == "still here"


def test_so_it_is_in_javascript(small):
    small("var kept = 'still here'", "javascript")
    run = small("new ArrayBuffer(3 * 2 ** 30)", "javascript")
    assert run["error"]["name"] == "RangeError", run
    assert said(small("console.log(kept)", "javascript")) == "still here"


SIZES = {
    "free": ("bash", "free -m | awk '/^Mem/ {print $2}'", "600"),
    "meminfo": ("bash", "awk '/^MemTotal/ {print $2}' /proc/meminfo", str(600 * 1024)),
    "cpuinfo": ("bash", "grep -c ^processor /proc/cpuinfo", "1"),
    "nproc": ("bash", "nproc", "1"),
    "python": ("python", "import os; print(os.cpu_count())", "1"),
    "node": ("javascript", "const os = require('os'); console.log(os.totalmem() >> 20, require('v8').getHeapStatistics()"
                           ".heap_size_limit >> 20 <= 600)", "600 true"),
}


@pytest.mark.parametrize("who", SIZES)
def test_the_machine_looks_as_large_as_the_session(small, who):
    language, code, size = SIZES[who]
    needs(who != "free" or small("free", "bash")["status"] == "completed", "free")
    assert said(small(code, language)) == size


def test_the_kernels_own_files_stay_as_they_are(small):
    assert "ro," in said(small("grep ' /sys' /proc/self/mountinfo || echo ro,", "bash"))
    run = small("echo 1 >/proc/meminfo || echo 1 >/sys/fs/cgroup/memory.max", "bash")
    assert run["status"] == "failed" and "denied" in run["stderr"].lower() + "denied" * ("Read-only" in run["stderr"]), run


def test_an_error_is_told_once(client):
    result = client.result("run_code", code="raise ValueError('only once')")
    text = result["content"][0]["text"]
    assert text.count("only once") == 2, text  # the line of code, and the message
    assert "error (" not in text and "survived" not in text, "the traceback says it, and nothing is lost"
    text = client.result("run_code", code="exit 3", language="bash")["content"][0]["text"]
    assert text.startswith("failed, exit code 3") and "error (" not in text, "which is all that there is to say"


COUNTED = "ps -e --no-headers | wc -l || ls -d /proc/[0-9]* | wc -l"


def processes_in(client, session):
    return int(said(client.run(COUNTED, "bash", session_id=session)).split()[0])


@pytest.mark.parametrize("bomb", ["import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(100)",
                                  "import subprocess\nstarted = [subprocess.Popen(['sleep', '100']) for _ in range(1000)]",
                                  "import os\nwhile True:\n    if os.fork() == 0: os._exit(0)"])
def test_a_full_process_table_costs_no_variables(state, bomb):
    with Client(state) as client:
        made = client.call("create_session", limits={"processes": 60})
        session = made["session_id"]
        said(client.run("kept = 1", session_id=session))
        assert said(client.run("globalThis.kept = 2; kept", "javascript", session_id=session)) == ""
        run = client.run(bomb, session_id=session)
        assert run["error"]["cause"] == "pids" and "the processes that this run had started were ended" in run["note"], run
        run = client.run(COUNTED, "bash", session_id=session)
        assert "variables lost" not in run.get("note", ""), run
        # The interpreter waits for what was ended only once the run is over, beside the next run.
        until(lambda: processes_in(client, session) < 12, timeout=20, what="the end of what the run had started")
        assert said(client.run("print(kept)", session_id=session)) == "1"
        assert said(client.run("console.log(kept)", "javascript", session_id=session)) == "2"


def test_who_filled_the_process_table_learns_how_its_processes_ended(state):
    with Client(state) as client:
        session = client.call("create_session", limits={"processes": 30})["session_id"]
        fill = "import multiprocessing, subprocess, time\nforked = multiprocessing.get_context('fork').Process(target=time.sleep, args=(60,)); forked.start()\n"
        run = client.run(fill + "started = []\nfor _ in range(60): started.append(subprocess.Popen(['sleep', '60']))", session_id=session)
        assert run["error"]["cause"] == "pids" and "left running" not in run["note"], run
        told = "print(len(started) > 9, {one.poll() for one in started}, forked.exitcode)"
        assert said(client.run(told, session_id=session)) == "True {-9} -9"


def test_a_run_that_is_stopped_leaves_nothing_running(client):
    run = client.run("import subprocess, time\nstarted = subprocess.Popen(['sleep', '60'])\ntime.sleep(60)", timeout_seconds=1)
    assert run["error"]["cause"] == "timeout" and "left running" not in run.get("note", ""), run


def test_after_a_bomb_the_next_run_is_clean(state):
    with Client(state) as client:
        made = client.call("create_session", limits={"processes": 40})
        needs(made["enforcement"]["processes"] != "none", "a limit of processes")
        session = made["session_id"]
        run = client.run(":(){ :|:& };:; wait; sleep 20", "bash", session_id=session)
        assert run["error"]["cause"] == "pids", run
        run = client.run("raise ValueError('mine')", session_id=session)
        assert (run["error"]["cause"], run["error"]["name"]) == ("exception", "ValueError"), run
        until(lambda: processes_in(client, session) < 12, timeout=20, what="the end of what the bomb had started")


def test_in_a_closed_home_it_works_for_its_owner_and_says_so_to_root(state, tmp_path):
    """Root's sessions run under other ids, and what hutch has for them lies in that home."""
    needs_copies_to_start()
    home = tmp_path / "home"
    home.mkdir()
    built = pathlib.Path(hutch_binary()).resolve().parent.parent
    for folder in ("bin", "share"):
        shutil.copytree(built / folder, home / folder)
    home.chmod(0o700)
    run = [home / "bin/hutch", "--state-dir", state, "run", "-"]
    done = subprocess.run(run, input="print(6 * 7)", capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "42\n"), done
    if os.geteuid() == 0:
        os.chown(home, 65534, 65534)
        done = subprocess.run(run, input="print(6 * 7)", capture_output=True, text=True, timeout=120)
        assert done.returncode != 0 and f"{home} is closed to all but its owner" in done.stderr, done
