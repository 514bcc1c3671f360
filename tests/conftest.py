"""Fixtures of the Python tests: the real binary over stdio, a state directory of its own."""

import os
import pathlib
import shutil
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from hutch_client import Client, hutch_binary  # noqa: E402

pytest_plugins = ("case_report",)


@pytest.fixture
def state():
    """A state directory; afterwards nothing of it may be left alive."""
    path = tempfile.mkdtemp(prefix="hutch-test-", dir="/tmp")
    yield path
    end_boxes(path)
    shutil.rmtree(path, ignore_errors=True)


def end_boxes(state_directory):
    import subprocess

    listed = subprocess.run([hutch_binary(), "sessions", "ls", "--json", "--state-dir", state_directory],
                            capture_output=True, text=True, timeout=60)
    if listed.returncode == 0:
        import json

        for session in json.loads(listed.stdout):
            subprocess.run([hutch_binary(), "sessions", "rm", session["session_id"], "--state-dir",
                            state_directory], capture_output=True, timeout=60)


@pytest.fixture
def client(state):
    with Client(state) as started:
        yield started


@pytest.fixture(scope="module")
def shared():
    """One server and one default session for tests that only look."""
    path = tempfile.mkdtemp(prefix="hutch-test-", dir="/tmp")
    with Client(path) as started:
        yield started
    end_boxes(path)
    shutil.rmtree(path, ignore_errors=True)


def needs(condition, what):
    """Skips where the host lacks something; in CI that is a failure."""
    if condition:
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} is missing, and CI must have it")
    pytest.skip(f"{what} is missing on this host")
