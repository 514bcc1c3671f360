"""E2B's own SDK for JavaScript, with another address and key. The one for Python: tests/integration/test_e2b.py."""

import os
import subprocess

import environments
from http_server import Server, token
from hutch_client import PATIENCE
from matrix import INSTALLED, install, node


def test_what_its_users_do(state):
    install()
    with Server(state, no_auth=False, env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as server:
        url = "http://%s:%d" % server.address
        ended = subprocess.run([node(), str(INSTALLED / "e2b.mjs")], capture_output=True, text=True, timeout=180 * PATIENCE,
                               env={"PATH": os.environ["PATH"], "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_API_KEY": token(state)})
    assert ended.returncode == 0 and ended.stdout.split() == ["cells", "commands", "terminal", "files", "life", "killed"], ended
