"""hutch audit: every request and every refusal of sessions, for as long as the database lasts."""

import json
import os
import signal
import subprocess
import threading

import pytest

from boxes import boxes_of, until
from hutch_client import Client, hutch_binary
from origins import http_origin, port_of
from test_network import PROXY


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    with http_origin() as web:
        config = tmp_path_factory.mktemp("audit") / "config.toml"
        config.write_text(f"[network]\nrequests_per_second = 5000\nprincipal_requests_per_second = 5000\nallow = [\"GET,POST web.test:{port_of(web)}/*\", \"raw.test:{port_of(web)}\"]\n"
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
    assert found[1]["reason"].endswith(f"can allow it: hutch sessions allow {session} web.test:{world.port} (at once), --allow web.test:{world.port} when it starts, "
                                       "or allow in [network] of the configuration"), found
    assert [entry["host"] for entry in entries(world, "--refused", "--session", session)] [::2] == ["web.test", "evil.example"]
    assert len(entries(world, "-n", "2")) == 2
    lines = audit(world, "--session", session).splitlines()
    assert f"allowed  POST web.test:{world.port}/a  200  " in lines[0] and lines[-1].endswith("refused  GET evil.example:80/  not allowed by this session's network policy")


def test_it_outlives_the_session(world):
    session = world.call("create_session")["session_id"]
    world.run(f"curl -sS http://web.test:{world.port}/kept", "bash", session_id=session)
    world.call("delete_session", session_id=session)
    assert [entry["path"] for entry in entries(world, "--session", session)] == ["/kept"]


# A connection that nobody looks into; what was asked on it is answered, and it stays open.
TUNNEL = """
import socket
tunnel = socket.create_connection(("raw.test", {0.port}))
tunnel.sendall(b"GET /SECRET HTTP/1.1\\r\\nHost: raw.test:{0.port}\\r\\n\\r\\n")
answer = b""
while b"GET /SECRET" not in answer:
    piece = tunnel.recv(9000)
    assert piece, answer
    answer += piece
print(answer[-30:])
"""


def test_what_is_open_at_the_end_of_its_session(world):
    session = world.call("create_session")["session_id"]
    assert "GET /SECRET" in world.run(TUNNEL.format(world), session_id=session)["stdout"]
    (found,) = entries(world, "--session", session)
    assert (found["verdict"], found["host"], found["open"]) == ("allowed", "raw.test", True)
    world.call("delete_session", session_id=session)
    (found,) = entries(world, "--session", session)
    assert found["sent_bytes"] > 40 and found["received_bytes"] > 100 and "open" not in found, found


def test_requests_under_way_at_the_end_of_their_session(world):
    world.web.asked.clear()
    session = world.call("create_session")["session_id"]
    world.run(f"""
import socket
asked = socket.create_connection(("web.test", {world.port}))
asked.sendall(b"GET /until-you-go HTTP/1.1\\r\\nHost: web.test:{world.port}\\r\\n\\r\\n")""", session_id=session)
    until(lambda: "began" in world.web.asked)
    (found,) = entries(world, "--session", session)
    assert (found["method"], found["path"], found["open"]) == ("GET", "/until-you-go", True)
    world.call("delete_session", session_id=session)
    (found,) = entries(world, "--session", session)
    assert found["path"] == "/until-you-go" and found["sent_bytes"] > 40 and "open" not in found, found


def test_a_box_that_is_killed_has_told_what_was_open(world):
    session = world.call("create_session")["session_id"]
    world.run(TUNNEL.format(world), session_id=session)
    os.kill(boxes_of(world.state)[session], signal.SIGKILL)
    until(lambda: world.run("print(1)", session_id=session)["status"] == "completed")  # by another box
    (found,) = entries(world, "--session", session)
    assert found["host"] == "raw.test" and "open" not in found, found


# Requests that say as much as a line of the journal takes; the host answers each in one piece.
FLOOD = """
import socket
asked = socket.create_connection(("web.test", {0.port}))
asked.sendall(b"POST /exfil HTTP/1.1\\r\\nHost: web.test:{0.port}\\r\\nContent-Length: 5\\r\\n\\r\\n12345")
answers = asked.makefile("rb")
for part in range({1} // 20):
    asked.sendall(b"".join(b"GET /location/%d/" % at + b"\\xc3\\xa9" * 1000 + b" HTTP/1.1\\r\\nHost: web.test:{0.port}\\r\\n\\r\\n" for at in range(20)))
    for at in range(20):
        size = 0
        while (line := answers.readline()) != b"\\r\\n":
            assert line
            if line.lower().startswith(b"content-length:"): size = int(line.split()[1])
        assert len(answers.read(size)) == size
"""


def test_many_requests_make_no_other_go(world):
    session = world.call("create_session")["session_id"]
    requests = 1000  # more than the 2 MB that a journal has
    run = world.until_ended(world.call("run_code", code=FLOOD.format(world, requests), language="python", session_id=session, background=True)["run_id"],
                            timeout=300)
    assert run["status"] == "completed", run
    until(lambda: not any("open" in one for one in entries(world, "--session", session, "-n", "3")))
    found = entries(world, "--session", session, "-n", "100000")
    assert (found[0]["method"], found[0]["path"]) == ("POST", "/exfil"), found[0]
    assert len(found) == 1 + requests and all(one["status"] == 200 for one in found)


def test_refusals_that_come_too_fast_are_counted(world):
    session = world.call("create_session")["session_id"]
    run = world.run("""
import socket
for at in range(320):
    try: socket.gethostbyname(f"junk-{at}.example")
    except OSError: pass
try: socket.gethostbyname("evil-refused.example")
except OSError: pass""", session_id=session)
    assert run["status"] == "completed", run
    world.call("delete_session", session_id=session)
    found = entries(world, "--session", session, "-n", "100000")
    more = sum(one.get("more", 0) for one in found)
    assert more > 0 and len([one for one in found if "more" not in one]) + more >= 321, (len(found), more)
    assert f"refused  {next(one for one in found if 'more' in one)['more']} more refusals" in audit(world, "--session", session, "-n", "100000")


def test_it_is_followed(world):
    follower = subprocess.Popen([hutch_binary(), "--state-dir", world.state, "audit", "-f", "--json", "-n", "1"], stdout=subprocess.PIPE, text=True)
    patience = threading.Timer(60, follower.kill)
    patience.start()
    try:
        follower.stdout.readline()  # a line about what was there
        world.run(f"curl -sS http://web.test:{world.port}/followed", "bash")
        assert json.loads(follower.stdout.readline())["path"] == "/followed"
        session = world.call("create_session")["session_id"]
        world.run(TUNNEL.format(world), session_id=session)
        told = next(one for one in map(json.loads, follower.stdout) if one["session_id"] == session)
        assert told["host"] == "raw.test" and told["open"], told
        world.run("tunnel.close()", session_id=session)
        told = next(map(json.loads, follower.stdout))
        assert told["host"] == "raw.test" and told["received_bytes"] > 100 and "open" not in told, told
    finally:
        patience.cancel()
        follower.kill()
        follower.wait()


def test_names_cannot_pretend_to_be_lines(world):
    world.run("curl -sS -x " + PROXY + " --path-as-is $'http://web.test:" + str(world.port) + "/a%0a%1b[31m\\x1b]0;x\\x07'", "bash")
    text = audit(world, "-n", "3")
    assert "\x1b" not in text and "\x07" not in text
