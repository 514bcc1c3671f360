"""Fixtures of tests with E2B's SDK for Python: a server, how the SDK finds it, and a sandbox."""

import pytest
from e2b_code_interpreter import Sandbox

import environments
from http_server import Server, token
from hutch_client import PATIENCE


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state, no_auth=False, env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as started:
        yield started


@pytest.fixture(scope="module")
def options(server, module_state):
    url = "http://%s:%d" % server.address
    return {"api_key": token(module_state), "api_url": url, "sandbox_url": url, "request_timeout": 60 * PATIENCE}


@pytest.fixture(scope="module")
def sandbox(options):
    made = Sandbox.create(timeout=3600, envs={"WHO": "hutch"}, **options)
    yield made
    made.kill()
