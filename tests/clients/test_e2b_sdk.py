"""E2B's own SDKs, with another address and key. The newest for Python: tests/integration/test_e2b.py."""

import os
import subprocess
import sys

import pytest

import environments
from http_server import Server, token
from hutch_client import PATIENCE, ROOT
from matrix import HERE, INSTALLED, install, node
from tls_proxy import TlsProxy


def packages_of_python(name, *wanted):
    """Where they are, apart from those of the tests."""
    installed = ROOT / "build" / name
    if not installed.exists():
        made = installed.with_suffix(".part")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--target", str(made), *wanted], check=True, timeout=600 * PATIENCE)
        made.rename(installed)
    return str(installed)


def serve(state, *arguments):
    return Server(state, *arguments, no_auth=False, env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())})


@pytest.fixture
def domain(state, tmp_path):
    """hutch where E2B_DOMAIN finds it: the API and each port of each sandbox at names below it, by TLS."""
    with TlsProxy(tmp_path, "hutch.test", "*.hutch.test") as proxy:
        domain = "hutch.test:%d" % proxy.port
        with serve(state, "--behind-proxy", "--public-url", "https://" + domain, "--allow-host", "api.hutch.test") as server:
            proxy.address = server.address
            yield {"PATH": os.environ["PATH"], "E2B_DOMAIN": domain, "E2B_API_KEY": token(state), "SSL_CERT_FILE": str(proxy.certificate),
                   "NODE_EXTRA_CA_CERTS": str(proxy.certificate)}


def drive(command, env, *steps):
    ended = subprocess.run(command, capture_output=True, text=True, timeout=180 * PATIENCE, env=env)
    assert ended.returncode == 0 and ended.stdout.split() == list(steps), ended.stdout + ended.stderr


def test_what_its_users_do(state):
    install()
    with serve(state) as server:
        url = "http://%s:%d" % server.address
        drive([node(), str(INSTALLED / "e2b.mjs")],
              {"PATH": os.environ["PATH"], "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_API_KEY": token(state)},
              "cells", "contexts", "commands", "terminal", "files", "life", "killed")


def test_an_older_one_by_its_domain(domain):
    install()
    drive([node(), "--import", str(INSTALLED / "hutch_test_names.mjs"), str(INSTALLED / "e2b.mjs")],
          {**domain, "E2B_SDK": "e2b-code-interpreter-2.0"}, "cells", "commands", "terminal", "files", "life", "killed")


def test_an_older_one_of_python_by_its_domain(domain):
    packages = packages_of_python("e2b-older", "e2b-code-interpreter==2.0.0", "e2b==2.0.0")
    drive([sys.executable, str(HERE / "e2b_older.py")], {**domain, "PYTHONPATH": packages}, "code", "commands", "files", "life", "killed")


def test_an_agent_of_openai_works_in_it(state):
    packages = packages_of_python("openai-agents-e2b", "openai-agents[e2b]==0.24.0")
    with serve(state) as server:
        url = "http://%s:%d" % server.address
        drive([sys.executable, str(HERE / "openai_agents_e2b.py")],
              {"PATH": os.environ["PATH"], "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "PYTHONPATH": packages,
               "E2B_API_KEY": token(state).replace("hutch_", "e2b_")}, "It", "is", "42.")
