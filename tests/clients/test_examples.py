"""The examples that a user copies, run as they stand."""

import os
import shutil
import subprocess
import sys

import pytest

from conftest import end_boxes, needs
from http_server import Server
from hutch_client import PATIENCE, ROOT, hutch_binary
from matrix import INSTALLED, install, node

EXAMPLES = ROOT / "examples"


@pytest.fixture
def home(tmp_path):
    """A user's home: the state lies where it lies by default."""
    yield tmp_path
    end_boxes(str(tmp_path / ".local/state/hutch"))


def run(home, *command, **environment):
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120 * PATIENCE,
                           env={"PATH": os.environ["PATH"], "HOME": str(home), **environment})
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def typescript():
    """Node looks for packages from where a program lies."""
    needs(shutil.which("npm"), "npm")
    install()
    shutil.copy(EXAMPLES / "typescript_agent/agent.ts", INSTALLED / "agent.ts")
    return node(), str(INSTALLED / "agent.ts")


def assert_typescript(said):
    assert "result:\n[1, 2, 3]\n" in said and "IndexError" in said and "result:\n144\n" in said


@pytest.fixture
def address(home):
    """A `hutch serve` that wants a token, and one: as the examples say to make them."""
    state = str(home / ".local/state/hutch")
    with Server(state, no_auth=False) as server:
        made = run(home, hutch_binary(), "token", "create", "--state-dir", state)
        host, port = server.address
        yield f"http://{host}:{port}/mcp", made.splitlines()[-1]


def test_agent_loop(home):
    said = run(home, sys.executable, str(EXAMPLES / "agent_loop/agent_loop.py"), hutch_binary())
    assert "answer: 28.27" in said and "the variable is still there: True" in said


def test_http_agent(home, address):
    url, token = address
    said = run(home, sys.executable, str(EXAMPLES / "http_agent/http_agent.py"), url,
               HUTCH_TOKEN=token)
    assert "total: 89" in said and "chart: image/png" in said


def test_typescript_agent_over_stdio(home):
    assert_typescript(run(home, *typescript(), hutch_binary()))


def test_typescript_agent_over_http(home, address):
    url, token = address
    assert_typescript(run(home, *typescript(), url, HUTCH_TOKEN=token))
