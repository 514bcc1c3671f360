"""The network over HTTP: each principal's sessions ask for it, within what the operator allows, and have a share of their own."""

import contextlib

import pytest

from hutch_client import ToolError
from http_server import HttpClient, Server
from origins import http_origin, port_of
from test_http_auth import bearer, token
from test_network import refused


@pytest.fixture
def world(state, tmp_path):
    config = tmp_path / "config.toml"
    with contextlib.ExitStack() as stack:
        web = stack.enter_context(http_origin())
        config.write_text(f'[network]\nallow = ["GET,POST web.test:{port_of(web)}/*"]\nprincipal_daily_mb = 1\n[network.addresses]\n"web.test" = "127.0.0.1"\n')
        secrets = [token(state, "--principal", name) for name in ("ann", "bob")]
        server = stack.enter_context(Server(state, no_auth=False, env={"HUTCH_CONFIG": str(config)}))
        clients = [HttpClient(server, headers=bearer(secret)) for secret in secrets]
        yield clients, f"web.test:{port_of(web)}"


def run(client, session, code):
    return client.call("run_code", language="bash", code=code, session_id=session)


def test_sessions_have_what_they_ask_for_and_the_operator_allows(world):
    (ann, _), web = world
    fetch = f"curl -sS http://{web}/a; curl -sS -o /dev/null -w ' %{{http_code}}' -X DELETE http://{web}/a"
    unasked = run(ann, ann.call("create_session")["session_id"], fetch)
    assert unasked["status"] == "failed" and "GET" not in unasked["stdout"], unasked
    asked = run(ann, ann.call("create_session", network={"allow": [f"GET {web}/a"]})["session_id"], fetch)
    assert asked["stdout"] == f"GET /a {web}\n 403", asked
    for wider in (["other.test"], [web], ["*"], ["packages"], [f"DELETE {web}/a"]):
        with pytest.raises(ToolError, match="allow"):
            ann.call("create_session", network={"allow": wider})


def test_what_one_principal_has_used_up_another_still_has(world):
    (ann, bob), web = world
    sessions = [client.call("create_session", network={"allow": [f"GET,POST {web}/*"]})["session_id"] for client in (ann, bob, ann)]
    send = f"head -c 400000 /dev/zero > sent; curl -sS --data-binary @sent http://{web}/ | wc -c"
    assert run(ann, sessions[0], send)["stdout"] == "400000\n"
    other = run(ann, sessions[2], send)
    assert int(other["stdout"]) < 400_000 and "principal_daily_mb" in refused(other)[""], other
    assert run(bob, sessions[1], send)["stdout"] == "400000\n"
