"""E2B's own SDKs, with another address and key. The newest for Python, where it waits: tests/integration/test_e2b.py."""

import json
import os
import subprocess
import sys
from urllib.request import Request, urlopen

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
    with TlsProxy(tmp_path, "hutch.localhost", "*.hutch.localhost") as proxy:
        domain = "hutch.localhost:%d" % proxy.port
        with serve(state, "--behind-proxy", "--public-url", "https://" + domain, "--allow-host", "api.hutch.localhost") as server:
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
              "cells", "results", "contexts", "commands", "terminal", "files", "newer", "life", "killed")


def test_the_newest_by_its_domain(domain):
    install()
    drive([node(), "--import", str(INSTALLED / "hutch_test_names.mjs"), str(INSTALLED / "e2b.mjs")],
          domain, "cells", "results", "contexts", "commands", "terminal", "files", "newer", "life", "killed")


def test_an_older_one_by_its_domain(domain):
    install()
    drive([node(), "--import", str(INSTALLED / "hutch_test_names.mjs"), str(INSTALLED / "e2b.mjs")],
          {**domain, "E2B_SDK": "e2b-code-interpreter-2.0"}, "cells", "commands", "terminal", "files", "life", "killed")


def test_an_older_one_of_python_by_its_domain(domain):
    packages = packages_of_python("e2b-older", "e2b-code-interpreter==2.0.0", "e2b==2.0.0")
    drive([sys.executable, str(HERE / "e2b_older.py")], {**domain, "PYTHONPATH": packages}, "code", "commands", "files", "life", "killed")


STEPS_THAT_DO_NOT_WAIT = "cells", "results", "contexts", "commands", "files", "life", "git", "killed"


def test_one_that_does_not_wait(state):
    with serve(state) as server:
        url = "http://%s:%d" % server.address
        drive([sys.executable, str(HERE / "e2b_async.py")],
              {"PATH": os.environ["PATH"], "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "E2B_API_KEY": token(state).replace("hutch_", "e2b_")},
              *STEPS_THAT_DO_NOT_WAIT)


def test_one_that_does_not_wait_by_its_domain(domain):
    drive([sys.executable, str(HERE / "e2b_async.py")], {**domain, "E2B_API_KEY": domain["E2B_API_KEY"].replace("hutch_", "e2b_")},
          *STEPS_THAT_DO_NOT_WAIT)


def test_an_agent_of_openai_works_in_it(state):
    packages = packages_of_python("openai-agents-e2b", "openai-agents[e2b]==0.24.0")
    with serve(state) as server:
        url = "http://%s:%d" % server.address
        drive([sys.executable, str(HERE / "openai_agents_e2b.py")],
              {"PATH": os.environ["PATH"], "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "PYTHONPATH": packages,
               "E2B_API_KEY": token(state).replace("hutch_", "e2b_")}, "It", "is", "42.")


def test_langchains_own_tests_of_a_sandbox(state):
    packages = packages_of_python("langchain-e2b", "langchain-e2b==0.0.6", "langchain-tests==1.1.9")
    with serve(state) as server:
        url = "http://%s:%d" % server.address
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-o", "asyncio_mode=auto", "-p", "no:cacheprovider", "--rootdir", str(HERE),
             str(HERE / "langchain_e2b_standard.py")], capture_output=True, text=True, timeout=600 * PATIENCE,
            env={"PATH": os.environ["PATH"], "E2B_API_URL": url, "E2B_SANDBOX_URL": url, "PYTHONPATH": packages,
                 "E2B_API_KEY": token(state).replace("hutch_", "e2b_")})
    assert ended.returncode == 0 and " passed" in ended.stdout and "skipped" not in ended.stdout, ended.stdout[-3000:] + ended.stderr


def test_its_command_line(state, tmp_path):
    install()
    with serve(state) as server:
        url = "http://%s:%d" % server.address
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "E2B_API_URL": url, "E2B_SANDBOX_URL": url,
                       "E2B_API_KEY": token(state).replace("hutch_", "e2b_")}

        def e2b(*words, status=0, **options):
            ended = subprocess.run([node(), str(INSTALLED / "node_modules/@e2b/cli/dist/index.js"), *words], capture_output=True, text=True,
                                   timeout=120 * PATIENCE, env=environment, **options)
            assert ended.returncode == status, (words, ended.stdout, ended.stderr)
            return ended.stdout

        made = json.loads(urlopen(Request(url + "/v2/sandboxes", json.dumps({"templateID": "host", "metadata": {"for": "me"}}).encode(),
                                          {"X-API-Key": environment["E2B_API_KEY"], "Content-Type": "application/json"})).read())["sandboxID"]
        assert [one["sandboxId"] for one in json.loads(e2b("sandbox", "list", "--format", "json", "--metadata", "for=me"))] == [made]
        assert made in e2b("sandbox", "info", made) and made in e2b("sandbox", "list")
        assert e2b("sandbox", "exec", made, "--", "pwd").strip() == "/home/user"
        e2b("sandbox", "exec", made, "--", "sh", "-c", "echo said; exit 3", status=3)
        assert "said" in e2b("sandbox", "logs", made)
        lines = [json.loads(line) for line in e2b("sandbox", "logs", made, "--format", "json").splitlines() if line.startswith("{")]
        assert 3 in [line.get("exit_code") for line in lines], lines
        e2b("sandbox", "pause", made)
        assert "paused" in e2b("sandbox", "list", "--state", "paused").lower()
        e2b("sandbox", "resume", made)
        assert "host" in [one["templateID"] for one in json.loads(e2b("template", "list", "--format", "json"))]
        e2b("sandbox", "kill", made)
        assert made not in e2b("sandbox", "list")
