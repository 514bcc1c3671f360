"""hutch audit: every request and every refusal of sessions, for as long as the database lasts."""

import json
import subprocess
import threading

import pytest

from hutch_client import Client, hutch_binary
from origins import http_origin, port_of
from test_network import PROXY


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    with http_origin() as web:
        config = tmp_path_factory.mktemp("audit") / "config.toml"
        config.write_text(f"[network]\nallow = [\"GET,POST web.test:{port_of(web)}/*\", \"raw.test:{port_of(web)}\"]\n"
                          "[network.addresses]\n\"web.test\" = \"127.0.0.1\"\n\"raw.test\" = \"127.0.0.1\"\n")
        with Client(module_state, env={"HUTCH_CONFIG": str(config)}) as client:
            client.web, client.port = web, port_of(web)
            yield client


def audit(world, *arguments):
    done = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def entries(world, *arguments):
    return [json.loads(line) for line in audit(world, "--json", *arguments).splitlines()]


def test_requests_connections_and_refusals(world):
    session = world.call("create_session", name="audited")["session_id"]
    world.run(f"curl -sS -d 12345 http://web.test:{world.port}/a?b=c; curl -sS -X PUT -x {PROXY} http://web.test:{world.port}/no; "
              f"curl -sS http://raw.test:{world.port}/; curl -sS http://evil.example/; curl -sS -x {PROXY} http://evil.example/", "bash",
              session_id=session)
    found = entries(world, "--session", "audited")
    assert {entry["session_id"] for entry in found} == {session}
    told = [(entry["verdict"], entry["host"], entry["port"], entry.get("method"), entry.get("path"), entry.get("status")) for entry in found]
    raw = ("allowed", "raw.test", world.port, None, None, None)  # told at its end, which is when the host likes
    assert raw in told
    assert [one for one in dict.fromkeys(told) if one != raw] == [
        ("allowed", "web.test", world.port, "POST", "/a", 200), ("refused", "web.test", world.port, "PUT", "/no", None),
        ("refused", "evil.example", 0, None, None, None), ("refused", "evil.example", 80, "GET", "/", None)], found
    assert found[0]["sent_bytes"] > 100 and found[0]["received_bytes"] > 50 and "PUT /no of this host" in found[1]["reason"]
    assert [entry["host"] for entry in entries(world, "--refused", "--session", session)] [::2] == ["web.test", "evil.example"]
    assert len(entries(world, "-n", "2")) == 2
    lines = audit(world, "--session", session).splitlines()
    assert f"allowed  POST web.test:{world.port}/a  200  " in lines[0] and "refused  GET evil.example:80/  not allowed" in lines[-1]


def test_it_outlives_the_session(world):
    session = world.call("create_session")["session_id"]
    world.run(f"curl -sS http://web.test:{world.port}/kept", "bash", session_id=session)
    world.call("delete_session", session_id=session)
    assert [entry["path"] for entry in entries(world, "--session", session)] == ["/kept"]


def test_it_is_followed(world):
    follower = subprocess.Popen([hutch_binary(), "--state-dir", world.state, "audit", "-f", "--json", "-n", "1"], stdout=subprocess.PIPE, text=True)
    patience = threading.Timer(60, follower.kill)
    patience.start()
    try:
        follower.stdout.readline()  # of what was there
        world.run(f"curl -sS http://web.test:{world.port}/followed", "bash")
        assert json.loads(follower.stdout.readline())["path"] == "/followed"
    finally:
        patience.cancel()
        follower.kill()
        follower.wait()


def test_names_cannot_pretend_to_be_lines(world):
    world.run("curl -sS -x " + PROXY + " --path-as-is $'http://web.test:" + str(world.port) + "/a%0a%1b[31m\\x1b]0;x\\x07'", "bash")
    text = audit(world, "-n", "3")
    assert "\x1b" not in text and "\x07" not in text
