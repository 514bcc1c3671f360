"""The power goes before any write of the database, of a server or of a box: what is there afterwards is whole.

strace ends the program with SIGKILL before the Nth call that changes something on the disk, for N from 1
until it comes through. A kill leaves what a power cut leaves of a file system that keeps the order of
writes and flushes, which is what SQLite asks of it.
"""

import os
import shutil
import signal
import subprocess

import pytest

from conftest import needs
from boxes import processes_of, until
from hutch_client import Client, ToolError
from test_crash import check_database, everything_left, rows
from trial import Trial

# SQLite writes with these, and they make and remove its files. All but the reply goes through these.
DATABASE_CALLS = ("pwrite64", "fdatasync", "ftruncate", "unlink", "mkdir")
# A box writes records, streams and images with these.
BOX_CALLS = ("write", "renameat", "mkdirat")
ROUNDS_MAX = 800


@pytest.fixture
def trial(tmp_path):
    needs(shutil.which("strace"), "strace")
    return Trial(tmp_path)


def end_orphans(state):
    for pid in processes_of(state):
        os.kill(pid, signal.SIGKILL)
    until(lambda: not processes_of(state), what="the end of boxes")


def wholly_migrated(state):
    """The tables of a database that no kill has touched, or none at all."""
    return {row[0] for row in rows(state, "SELECT name FROM sqlite_master WHERE type = 'table'")}


@pytest.mark.parametrize("call", DATABASE_CALLS)
def test_cut_before_each_write_of_a_new_database(trial, call):
    """From nothing to one session with one run: the migrations are whole or not there."""
    server, killed = str(trial.directory / "bin/hutch"), 0
    whole = None
    for number in range(1, ROUNDS_MAX):
        state = str(trial.directory / f"state{number}")
        os.mkdir(state, 0o700)
        wrapper = trial.directory / "bin/cut"
        wrapper.write_text(f"#!/bin/sh\nexec {shutil.which('strace')} -D -f -qq -o /dev/null "
                           f"-e inject={call}:signal=KILL:when={number} {server} \"$@\"\n")
        wrapper.chmod(0o755)
        survived = use_once(state, str(wrapper), trial)
        with Client(state, binary=server) as client:
            check_database(state)
            tables = wholly_migrated(state)
            whole = whole or tables
            assert tables == whole, number
            assert client.run("echo works", "bash")["stdout"] == "works\n", number
            for session in client.call("list_sessions")["sessions"]:
                client.call("delete_session", session_id=session["session_id"])
        end_orphans(state)
        assert not everything_left(state), number
        shutil.rmtree(state)
        if survived:
            break
        killed += 1
    else:
        raise AssertionError(f"still killed after {ROUNDS_MAX} writes")
    print(killed, "cuts before", call)
    assert killed > 0, "this call was never made"


CUT = (-signal.SIGKILL,)


def use_once(state, binary, trial):
    """True when the server came through all of it."""
    client = Client(state, binary=binary)
    try:
        client.__enter__()
        session = client.call("create_session")["session_id"]
        run = client.run("echo one", "bash", session_id=session)
        assert run["stdout"] == "one\n"
        client.call("delete_session", session_id=session)
        return client.close(also=CUT) == 0
    except (AssertionError, OSError):
        assert client.process.wait(10) in CUT, client.errors
        return False
    except ToolError as refused:  # not the server was killed, but a program that it had started
        assert "internal error" not in str(refused)
        client.close(also=CUT)
        return False


@pytest.mark.parametrize("call", BOX_CALLS)
def test_cut_before_each_write_of_a_box(trial, call):
    """A run whose box dies at any of its writes is whole or lost, never half; the session goes on."""
    killed = 0
    with trial.client() as client:
        for number in range(1, ROUNDS_MAX):
            session = client.call("create_session")["session_id"]
            (box,) = [pid for pid in processes_of(trial.state)
                      if session in os.readlink(f"/proc/{pid}/fd/2")]
            tracer = subprocess.Popen(
                ["strace", "-o", "/dev/null", "-p", str(box),
                 "-e", f"inject={call}:signal=KILL:when={number}"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            assert "attached" in tracer.stderr.readline()
            code = "echo out; echo err >&2; echo file > /workspace/f"
            try:
                run = client.run(code, "bash", session_id=session)
            except ToolError as refused:
                assert "internal error" not in str(refused)
                run = None
            # A box that lives does not end before it is asked to.
            survived = tracer.poll() is None and box in processes_of(trial.state)
            tracer.send_signal(signal.SIGINT)
            tracer.communicate(timeout=10)
            if run is not None:
                again = client.call("get_run", run_id=run["run_id"])
                assert again["status"] == run["status"]
                if run["status"] == "completed":
                    assert (run["stdout"], run["stderr"]) == ("out\n", "err\n"), (number, run)
                else:
                    assert run["error"]["cause"] == "sandbox_lost", (number, run)
            assert client.run("echo next", "bash", session_id=session)["stdout"] == "next\n"
            client.call("delete_session", session_id=session)
            check_database(trial.state)
            if survived:
                break
            killed += 1
        else:
            raise AssertionError(f"still killed after {ROUNDS_MAX} writes")
    print(killed, "cuts before", call)
    assert killed > 0
    assert not everything_left(trial.state)
