"""Tests that what a server inherits (signals, mask, limits, descriptors) changes nothing.

ctest, timeout and node put some of it right before a test sees it, so it is set here, at the last moment.
"""

import os
import resource
import signal
import stat
import subprocess

import pytest

from conftest import end_boxes
from hutch_client import Client, hutch_binary

IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE, signal.SIGTERM,
           signal.SIGUSR1, signal.SIGALRM)
BLOCKED = {signal.SIGINT, signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2}
LEAKED = range(5, 45)


def unfriendly():
    """In the child, just before the server is executed."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    os.umask(0o777)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    null = os.open("/dev/null", os.O_RDONLY)
    for place in LEAKED:
        if place != null:
            os.dup2(null, place, inheritable=True)


@pytest.fixture
def client(state):
    with Client(state, popen={"preexec_fn": unfriendly, "close_fds": False}) as started:
        yield started


@pytest.mark.parametrize("language,code", [
    ("python", "import time\nkept = 1\nwhile True: time.sleep(0.01)"),
    ("javascript", "globalThis.kept = 1; while (true) {}"),
    ("bash", "sleep 60")])
def test_a_timeout_interrupts(client, language, code):
    client.run("1", language)  # the run's second has no start of its interpreter in it
    run = client.run(code, language, timeout_seconds=1)
    assert run["status"] == "timed_out" and run["error"]["cause"] == "timeout", run
    if language != "bash":
        assert "variables kept" in run["error"]["survived"], run
        assert client.value("kept", language) == "1"


def test_ends_are_noticed_and_signals_are_as_they_come(client):
    run = client.run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert run["error"]["cause"] == "interpreter_died" and client.value("1") == "1"
    background = client.run("sleep 60", "bash", background=True)
    assert client.call("cancel_run", run_id=background["run_id"])["status"] == "cancelled"
    assert client.run("exit 5", "bash")["exit_code"] == 5
    ignored = client.run("grep -E '^Sig(Blk|Ign)' /proc/self/status", "bash")["stdout"].split()
    assert int(ignored[1], 16) == 0, "nothing is blocked"
    # Signals above 31 are the C library's own.
    assert int(ignored[3], 16) & 0x7fffffff & ~(1 << (signal.SIGPIPE - 1)) == 0, "nothing is ignored"


def test_files_have_ordinary_rights(client):
    client.call("write_file", path="written.txt", content="by the tool")
    client.run("open('made.txt', 'w').write('by the code')")
    assert client.run("open('written.txt').read() + open('made.txt').read()")["status"] == "completed"
    modes = client.value("import os\n[oct(os.stat(n).st_mode & 0o777) for n in ('written.txt', 'made.txt')]")
    assert modes == "['0o644', '0o644']"
    assert client.call("read_file", path="made.txt")["content"] == "by the code"


def test_no_descriptor_comes_along(client):
    """The code has its streams and, in Python, its two channels; so has a background process."""
    listed = client.run("ls -1 /proc/self/fd", "bash")["stdout"].split()
    assert set(map(int, listed)) <= {0, 1, 2, 3}, listed  # 3 is the directory that ls looks at
    inside = client.value("import os\nsorted(map(int, os.listdir('/proc/self/fd')))")
    assert not {5, 20, 44} & set(eval(inside)), inside


def test_a_new_server_goes_on_and_everything_ends(state, client):
    client.run("x = 3")
    session = client.run("x")["session_id"]
    client.kill()
    with Client(state, popen={"preexec_fn": unfriendly, "close_fds": False}) as second:
        assert second.run("x", session_id=session)["outputs"][0]["text"] == "3"
        assert second.call("delete_session", session_id=session)["status"] == "destroyed"


def test_commands_work_as_well(tmp_path):
    source = tmp_path / "hello.py"
    source.write_text("print('hello')")
    state = str(tmp_path / "state")
    ended = subprocess.run([hutch_binary(), "run", "--state-dir", state, str(source)], capture_output=True,
                           text=True, timeout=60, preexec_fn=unfriendly, close_fds=False)
    end_boxes(state)
    assert (ended.returncode, ended.stdout) == (0, "hello\n"), ended.stderr
