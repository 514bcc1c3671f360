"""The door ends by SIGKILL while sessions use it: nothing leaves without policy, code gets an error and then goes on, nothing stays behind."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from hutch_client import Client, hutch_binary
from origins import http_origin, port_of
from test_network import door_of

KILLS = 8

# Asks an allowed host and another one, directly and by the proxy, until it is told to stop; says what came of it.
LOAD = """
import collections, json, os, threading, urllib.request
counts = collections.Counter()
def ask(kind, url, proxy):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({{'http': 'http://127.0.0.1:3128'}} if proxy else {{}}))
    while not os.path.exists('stop'):
        try:
            with opener.open(url, timeout=20) as answer:
                counts[kind + ' ' + answer.read().decode().split()[0]] += 1
        except urllib.error.HTTPError as e: counts[kind + f' {{e.code}}'] += 1
        except (OSError, urllib.error.URLError, __import__('http').client.HTTPException) as e: counts[kind + ' error'] += 1
threads = [threading.Thread(target=ask, args=(kind, url, proxy)) for proxy in (0, 1) for kind, url in
           [('allowed', 'http://{web}/'), ('allowed', 'http://{web}/'), ('other', 'http://{other}/'), ('other', 'http://127.0.0.1:{port}/')]]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(json.dumps(counts))
"""


@pytest.fixture
def world(state, tmp_path):
    with http_origin() as web, http_origin() as other:
        config = tmp_path / "config.toml"
        config.write_text(f"""
[network]
allow = ["web.test:{port_of(web)}"]
[network.addresses]
"web.test" = "127.0.0.1"
"other.test" = "127.0.0.1"
""")
        with Client(state, env={"HUTCH_CONFIG": str(config)}) as client:
            client.web, client.other, client.port = f"web.test:{port_of(web)}", f"other.test:{port_of(other)}", port_of(other)
            client.asked, client.forbidden = web.asked, other.asked
            yield client


def wait_for(what):
    deadline = time.monotonic() + 60
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


def new_door(state, killed):
    return next((pid for pid in door_of(state) if pid not in killed), None)


def test_doors_that_are_killed_under_load(world):
    sessions = [world.call("create_session")["session_id"] for _ in range(2)]
    runs = [world.call("run_code", code=LOAD.format(web=world.web, other=world.other, port=world.port), language="python", session_id=session,
                       background=True)["run_id"] for session in sessions]
    killed = set()
    for _ in range(KILLS):
        pid = wait_for(lambda: new_door(world.state, killed))
        before = len(world.asked)
        wait_for(lambda: len(world.asked) > before + 20)  # it serves
        os.kill(pid, signal.SIGKILL)
        killed.add(pid)
    for session in sessions:
        world.call("write_file", path="stop", content="", session_id=session)
    for run in map(world.until_ended, runs):
        assert run["status"] == "completed", run
        counts = json.loads(run["stdout"])
        assert counts["allowed GET"] > 20, counts
        assert set(counts) <= {"allowed GET", "allowed error", "allowed 502", "other error", "other 403", "other 502"}, counts
        assert counts["other 403"] > 0, counts
    assert world.forbidden == []
    run = world.run(f"curl -sS http://{world.web}/", "bash", session_id=sessions[0])
    assert run["stdout"].startswith("GET /"), run
    for session in sessions:
        world.call("delete_session", session_id=session)
    audit = subprocess.run([hutch_binary(), "--state-dir", world.state, "audit", "--json", "-n", "100000"], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in audit.stdout.splitlines()]
    assert len([row for row in rows if row["verdict"] == "allowed"]) >= len(world.asked) and not any("open" in row for row in rows)
    wait_for(lambda: not door_of(world.state))
    (place,) = (entry for entry in (Path(world.state) / "egress").iterdir() if entry.is_dir() and entry.name != "downloads")
    assert {file.name for file in place.iterdir()} <= {"egress.sock", "lock", "egress.log"}
    assert "goes on after" not in (place / "egress.log").read_text()
