"""How much of the network one session may use, as the operator says it."""

import os
import signal
import subprocess

import pytest

from hutch_client import Client, hutch_binary
from origins import http_origin, plain_origin, port_of, tls_origin
from test_network import door_of, refused


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    folder = tmp_path_factory.mktemp("quota")
    with http_origin() as web, plain_origin() as plain, tls_origin(folder, "api.test") as api:
        config = folder / "config.toml"
        config.write_text(f"""
[network]
allow = ["web.test:{port_of(web)}", "plain.test:{port_of(plain)}", "api.test:{port_of(api)}"]
session_mb = 2
connections = 3
principal_connections = 5
requests_per_second = 20
[network.addresses]
"web.test" = "127.0.0.1"
"plain.test" = "127.0.0.1"
"api.test" = "127.0.0.1"
""")
        with Client(module_state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(folder / "roots.pem")}) as client:
            client.web, client.plain, client.api = f"web.test:{port_of(web)}", f"plain.test:{port_of(plain)}", f"api.test:{port_of(api)}"
            client.asked, client.folder = web.asked, folder
            yield client


@pytest.mark.parametrize("url", ["http://{0.web}", "https://{0.api}"], ids=["looked-into", "passed-through"])
def test_bytes_that_are_used_up(world, url):
    url = url.format(world)
    session = world.call("create_session")["session_id"]
    run = world.run(f"head -c 600000 /dev/zero > sent; curl -sS --data-binary @sent {url}/ | wc -c", "bash", session_id=session)
    assert run["stdout"] == "600000\n", run
    run = world.run(f"head -c 20000000 /dev/zero > more; curl -sS --data-binary @more {url}/ | wc -c", "bash", session_id=session)
    assert int(run["stdout"]) < 2 << 20 and "session_mb in [network]" in refused(run)[""], run
    again = f"curl -sS {url}/"
    run = world.run(again, "bash", session_id=session)
    assert run["status"] == "failed" or "has used up" in run["stdout"], run
    assert any("has used up" in reason for reason in refused(run).values()), run
    # With its processes it does not begin anew.
    subprocess.run([hutch_binary(), "--state-dir", world.state, "sessions", "allow", session, "other.test:9999", "--restart"], check=True,
                   capture_output=True)
    run = world.run(again, "bash", session_id=session)
    assert any("has used up" in reason for reason in refused(run).values()), run
    run = world.run(again, "bash", session_id=world.call("create_session")["session_id"])
    assert "GET /" in run["stdout"], "other sessions have theirs"


OPEN = """
import socket
host, port = '{0.plain}'.split(':')
kept = [socket.create_connection((host, int(port)), 20) for _ in range({1})]
for one in kept: one.settimeout(20)
print([one.recv(100) for one in kept].count(b'hello\\n'))
"""


def test_bytes_of_a_day_that_all_sessions_have_together(world, state):
    config = world.folder / "daily.toml"
    config.write_text((world.folder / "config.toml").read_text().replace("session_mb = 2", "principal_daily_mb = 1"))
    fetch = f"head -c 400000 /dev/zero > sent; curl -sS --data-binary @sent http://{world.web}/ | wc -c"
    environment = {"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(world.folder / "roots.pem")}
    with Client(state, env=environment) as client:
        sessions = [client.call("create_session")["session_id"] for _ in range(2)]
        assert client.run(fetch, "bash", session_id=sessions[0])["stdout"] == "400000\n"
        run = client.run(fetch, "bash", session_id=sessions[1])
        assert int(run["stdout"]) < 400_000 and "principal_daily_mb" in refused(run)[""], run
        run = client.run(f"curl -sS http://{world.web}/", "bash", session_id=sessions[0])
        assert any("today (UTC)" in reason for reason in refused(run).values()), run
        for session in sessions:
            client.call("delete_session", session_id=session)
    # No server, no box and no door is left that could know.
    with Client(state, env=environment) as client:
        run = client.run(f"curl -sS http://{world.web}/", "bash")
        assert any("today (UTC)" in reason for reason in refused(run).values()), run


HELD = """
import socket
host, port = '{0.plain}'.split(':')
held = socket.create_connection((host, int(port)), 20)
line = b'x' * (2 << 20) + b'\\n'
held.sendall(line)
got = 0
while got < len(line) + 6:
    part = held.recv(1 << 20)
    if not part: break
    got += len(part)
print(got)
"""


def test_bytes_of_connections_that_are_open_at_the_end(world, state):
    config = world.folder / "held.toml"
    config.write_text((world.folder / "config.toml").read_text().replace("session_mb = 2", "principal_daily_mb = 5"))
    with Client(state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(world.folder / "roots.pem")}) as client:
        session = client.call("create_session")["session_id"]
        run = client.run(HELD.format(world), session_id=session)
        assert int(run["stdout"]) == (2 << 20) + 7, run
        client.call("delete_session", session_id=session)
        for door in door_of(state):  # as one that has been alone for a while: none is left that has counted
            os.kill(door, signal.SIGKILL)
        session = client.call("create_session")["session_id"]
        run = client.run(HELD.format(world), session_id=session)
        assert "today (UTC)" in str(refused(run)), run


def test_connections_at_once(world):
    first, second = (world.call("create_session")["session_id"] for _ in range(2))
    run = world.run(OPEN.format(world, 4), session_id=first)
    assert run["stdout"] == "3\n" and "the session has 3 connections open, which is the most" in str(run["network"]["refused"]), run
    run = world.run(OPEN.format(world, 3), session_id=second)
    assert run["stdout"] == "2\n" and "of its principal have 5 connections open" in str(run["network"]["refused"]), run
    for session in (first, second):
        world.call("delete_session", session_id=session)


@pytest.mark.slow
def test_requests_a_second(world):
    session = world.call("create_session")["session_id"]
    run = world.run(f"import time, http.client\nc = http.client.HTTPConnection('{world.web}')\nbegan = time.monotonic()\n"
                    "for _ in range(80):\n    c.request('GET', '/'); c.getresponse().read()\nprint(time.monotonic() - began)", session_id=session)
    assert float(run["stdout"]) > 1.5, "40 at once, then 20 a second"
