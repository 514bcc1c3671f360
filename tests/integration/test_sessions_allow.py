"""hutch sessions allow: a host for one session while it lives, and back again."""

import json
import subprocess

import pytest

from hutch_client import Client, hutch_binary
from origins import http_origin, port_of
from test_network import refused


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    with http_origin() as web, http_origin() as other:
        config = tmp_path_factory.mktemp("allow") / "config.toml"
        config.write_text(f"""
[network]
allow = ["web.test:{port_of(web)}"]
[network.addresses]
"web.test" = "127.0.0.1"
"more.test" = "127.0.0.1"
""")
        with Client(module_state, env={"HUTCH_CONFIG": str(config)}) as client:
            client.port, client.other = port_of(web), port_of(other)
            yield client


def allow(client, *arguments, status=0):
    """Without the server's own flags and configuration, as in another shell."""
    done = subprocess.run([hutch_binary(), "--state-dir", client.state, "sessions", "allow", *arguments], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == status, done
    return done.stdout + done.stderr


def ask(client, session, host="more.test", port=None):
    return client.run(f"curl -sS http://{host}:{port or client.port}/", "bash", session_id=session)


def test_a_host_for_a_session_that_lives(world):
    session = world.call("create_session", name="living")["session_id"]
    world.run("kept = 1", session_id=session)
    run = ask(world, session)
    assert run["status"] == "failed" and f"sessions allow {session} more.test (at once)" in refused(run)["more.test"], run
    allow(world, "living", "more.test")
    run = ask(world, session)
    assert f"sessions allow {session} more.test:{world.port} (at once)" in next(iter(refused(run).values())), "what is said helps"
    assert allow(world, "living", f"more.test:{world.port}") == f"living may reach more.test:{world.port}\n"
    assert ask(world, session)["stdout"].startswith("GET / more.test")
    shown = world.call("list_sessions")["sessions"]
    assert f"more.test:{world.port}" in next(one for one in shown if one["session_id"] == session)["network"]["allow"]
    assert world.run("print(kept)", session_id=session)["stdout"] == "1\n", "nothing was started anew"
    allow(world, "living", "--take-back", f"more.test:{world.port}")
    assert ask(world, session)["status"] == "failed"
    assert ask(world, session, "web.test")["status"] == "completed", "what the configuration allows stays"


def test_what_was_allowed_outlives_its_processes(world):
    session = world.call("create_session", name="again")["session_id"]
    allow(world, session, f"more.test:{world.port}")
    assert ask(world, session)["status"] == "completed"
    world.call("delete_session", session_id=world.call("create_session")["session_id"])
    subprocess.run([hutch_binary(), "--state-dir", world.state, "sessions", "allow", session, f"more.test:{world.other}", "--restart"], check=True)
    assert ask(world, session)["status"] == "completed" and ask(world, session, port=world.other)["status"] == "completed"
    said = subprocess.run([hutch_binary(), "--state-dir", world.state, "sessions", "show", session], capture_output=True, text=True, check=True).stdout
    assert "network_allowed" in said and f"more.test:{world.other}" in said


def test_a_session_without_a_network_has_its_first_host_at_once(world):
    session = world.call("create_session", network={"block_outbound": True})["session_id"]
    world.run("kept = 1", session_id=session)
    closed = ask(world, session)
    assert closed["status"] == "failed" and f"sessions allow {session} HOST" in closed["note"], closed
    said = json.loads(allow(world, session, f"more.test:{world.port}", "--json"))
    assert said == {"session_id": session, "rules": [f"more.test:{world.port}"], "allowed": True, "holds": "now"}
    run = ask(world, session)
    assert run["stdout"].startswith("GET / more.test") and run["network"]["allowed"], run
    assert world.run(f"import urllib.request\nprint(kept, urllib.request.urlopen('http://more.test:{world.port}/').status)",
                     session_id=session)["stdout"] == "1 200\n", "in the interpreter that there was"
    assert ask(world, session, "web.test")["status"] == "failed", "nothing besides"
    allow(world, session, "--take-back", f"more.test:{world.port}")
    assert ask(world, session)["status"] == "failed"
    allow(world, session, f"more.test:{world.port}")
    assert ask(world, session)["status"] == "completed"
    audit = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json"], capture_output=True, text=True, check=True).stdout
    assert [row["host"] for row in map(json.loads, audit.splitlines()) if row["session_id"] == session and row["verdict"] == "allowed"] == ["more.test"] * 3


def test_another_port_is_there_at_once(world):
    session = world.call("create_session")["session_id"]
    world.run("kept = 1", session_id=session)
    assert "may reach" in allow(world, session, f"more.test:{world.other}")
    assert ask(world, session, port=world.other)["status"] == "completed" and ask(world, session, "web.test")["status"] == "completed"
    assert world.run("print(kept)", session_id=session)["stdout"] == "1\n"


def test_also_while_it_is_paused(world):
    session = world.call("create_session", network={"block_outbound": True})["session_id"]
    world.run("kept = 1", session_id=session)
    world.call("pause_session", session_id=session)
    assert allow(world, session, f"more.test:{world.port}").endswith(f"may reach more.test:{world.port}\n")
    assert world.call("list_sessions")["sessions"], "it answers"
    assert ask(world, session)["status"] == "completed" and world.run("print(kept)", session_id=session)["stdout"] == "1\n"


def test_what_a_box_cannot_have_any_more(world):
    session = world.call("create_session")["session_id"]
    said = allow(world, session, f"GET more.test:{world.port}/public/*")
    assert "from the next start of its processes on: its processes do not trust the door" in said and "--restart" in said


def test_a_port_that_code_has_taken(world):
    session = world.call("create_session", network={"block_outbound": True})["session_id"]
    world.run(f"import socket\ntaken = socket.create_server(('0.0.0.0', {world.other}))", session_id=session)
    said = allow(world, session, f"more.test:{world.other}")
    assert f"from the next start of its processes on: bind to port {world.other}: Address already in use" in said
    world.run("taken.close()", session_id=session)
    assert allow(world, session, f"more.test:{world.other}").endswith(f"may reach more.test:{world.other}\n"), "what went wrong has left nothing"
    assert ask(world, session, port=world.other)["status"] == "completed"


def test_packages_are_allowed_beside_what_the_configuration_does(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[network]\nallow = ["web.test"]\n')
    with Client(state, "--packages", env={"HUTCH_CONFIG": str(config)}) as client:
        client.run("1")
        allowed = client.call("list_sessions")["sessions"][0]["network"]["allow"]
    assert "web.test" in allowed and len(allowed) > 2, allowed


def test_what_is_no_session_and_no_host(world):
    assert "no such session" in allow(world, "nobody", "more.test", status=1)
    assert "127.0.0.1" in allow(world, "living", "127.0.0.1", status=1)
    assert "--help" in allow(world, "living", status=2)
