"""Fixtures of the Python tests: the real binary over stdio, a state directory of its own."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

import zygote  # noqa: E402
from hutch_client import Client, hutch_binary  # noqa: E402

pytest_plugins = ("case_report", "long_cases")


def state_directory():
    path = tempfile.mkdtemp(prefix="hutch-test-", dir="/tmp")
    yield path
    end_boxes(path)
    for pid in zygote.all_pids(path):  # one that is still warming up would write there
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(path, ignore_errors=True)


# A state directory; afterwards nothing of it may be left alive.
state = pytest.fixture(state_directory, name="state")
module_state = pytest.fixture(state_directory, name="module_state", scope="module")


def end_boxes(state_directory):
    listed = subprocess.run([hutch_binary(), "sessions", "ls", "--json", "--state-dir", state_directory],
                            capture_output=True, text=True, timeout=60)
    if listed.returncode == 0:
        for session in json.loads(listed.stdout):
            subprocess.run([hutch_binary(), "sessions", "rm", session["session_id"], "--state-dir",
                            state_directory], capture_output=True, timeout=60)


@pytest.fixture
def client(state):
    with Client(state) as started:
        yield started


@pytest.fixture(scope="module")
def shared(module_state):
    """One server and one default session for tests that only look."""
    with Client(module_state) as started:
        yield started


def needs(condition, what):
    """Skips where the host lacks something; in CI that is a failure."""
    if condition:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing, and CI must have it")
    pytest.skip(f"{what} is missing on this host")
