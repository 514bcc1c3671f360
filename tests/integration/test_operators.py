"""Tests what those who run `hutch serve` see of it: whether it is ready, what it logs, what it makes of SIGHUP."""

import json
import os
import pathlib
import pty
import shutil
import signal
import sqlite3
import subprocess

import pytest

from boxes import until
from changed_host import changed_hutch, why_not
from conftest import needs
from hutch_client import MODERN, PATIENCE, hutch_binary
from http_server import HttpClient, Server, hang_up, modern, open_stream, token

FOREIGN_HOSTS = ("10.0.0.7:8931", "evil.example.org", "10-0-0-7.default.pod.cluster.local:8931")
ALONE = {"start_new_session": True}  # without a controlling terminal


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return str(path)


def said(server, words, times=1):
    until(lambda: sum(words in line for line in server.errors) >= times, what=f"a line with {words!r}")
    return [line for line in server.errors if words in line][-1]


def answer_at(server, host, path="/openapi.json"):
    return server.request("GET", path, headers={"Host": host})[0]


# Readiness

@pytest.mark.parametrize("arguments", [(), ("--allow-host", "hutch.example.org"),
                                       ("--behind-proxy", "--allow-host", "hutch.example.org")])
def test_probes_are_answered_whatever_host_they_name(state, arguments):
    with Server(state, *arguments) as server:
        for host in FOREIGN_HOSTS:
            for path, body in (("/healthz", b"ok\n"), ("/readyz", b"ready\n")):
                assert server.request("GET", path, headers={"Host": host})[0::2] == (200, body), host
                assert server.request("HEAD", path, headers={"Host": host})[0] == 200
                foreign = {"Host": host, "Origin": "https://evil.example.org"}
                assert server.request("GET", path, headers=foreign)[0] == 403
            for path in ("/metrics", "/openapi.json", "/mcp", "/nothing"):
                assert answer_at(server, host, path) in (403, 404), (host, path)
            assert answer_at(server, "evil.example.org", path="/metrics") == 403


def test_whoever_is_connected_hears_that_it_drains(state):
    with Server(state) as server:
        half = server.socket()
        half.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n")
        server.process.send_signal(signal.SIGTERM)

        def is_closed():
            try:
                server.socket().close()
            except ConnectionError:
                return True
        until(is_closed, what="the end of new connections")
        half.sendall(b"\r\n")
        assert half.recv(4096).startswith(b"HTTP/1.1 503 ")
        assert server.process.wait(30 * PATIENCE) == 0


def metric(server, name):
    text = server.request("GET", "/metrics")[2].decode()
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(name + " "))


def test_a_host_on_which_no_sandbox_starts_is_not_ready(state, tmp_path):
    said_why = why_not()
    needs(not said_why, f"a mount namespace of our own ({said_why.strip()})")
    box = pathlib.Path(hutch_binary()).resolve().parent / "hutch-box"
    # One that ends with a word: of what ends at once without any, nobody can know that it was not killed.
    binary = changed_hutch(tmp_path, f"mount --bind {shutil.which('expr')} {box}")
    with Server(state, "--log-format", "json", binary=binary) as server:
        assert server.request("GET", "/readyz")[0::2] == (200, b"ready\n")
        assert server.request("POST", "/sandboxes", "{}", {"Host": "localhost"})[0] == 500
        status, _, body = server.request("GET", "/readyz")
        assert (status, body) == (503, b"not ready: no sandbox starts on this host\n")
        assert server.request("GET", "/healthz")[0] == 200
        assert metric(server, "hutch_ready") == 0
        line = json.loads(said(server, "a sandbox did not start"))
        assert line["level"] == "warning" and line["principal"] and line["session"].startswith("session_")


def test_what_a_caller_asks_for_wrongly_keeps_it_ready(state):
    with Server(state) as server:
        assert server.request("POST", "/sandboxes", '{"templateID": "no such"}')[0] == 404
        assert server.request("GET", "/readyz")[0::2] == (200, b"ready\n")
        assert metric(server, "hutch_ready") == 1


@pytest.mark.slow
def test_a_database_that_others_keep_is_not_ready(state):
    with Server(state, "--log-format", "json") as server:
        client = HttpClient(server, MODERN)
        session = client.call("create_session")["session_id"]
        other = sqlite3.connect(f"{state}/hutch.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert client.result("run_code", code="1", session_id=session)["isError"]
        assert server.request("GET", "/readyz")[0::2] == (503, b"not ready: the database cannot be written\n")
        assert json.loads(said(server, "database is locked"))["level"] == "warning"
        other.execute("ROLLBACK")
        other.close()
        client.call("run_code", code="1", session_id=session)
        assert server.request("GET", "/readyz")[0::2] == (200, b"ready\n")


def test_a_full_disk_is_507_and_reading_and_deleting_go_on(state, tmp_path):
    said_why = why_not()
    needs(not said_why, f"a mount namespace of our own ({said_why.strip()})")
    binary = changed_hutch(tmp_path, f"mount -t tmpfs -o size=24m,mode=0700 none {state}")
    with Server(state, "--log-format", "json", binary=binary) as server:
        def create():
            status, _, body = server.request("POST", "/sandboxes", "{}")
            return status, json.loads(body)
        ids = [create()[1]["sandboxID"] for _ in range(2)]
        path = f"/sandboxes/{ids[0]}/files?path=/workspace/a.txt"
        assert server.request("POST", path, b"kept", {"Content-Type": "application/octet-stream"})[0] == 201
        large = f"/sandboxes/{ids[1]}/files?path=/workspace/large"  # the deleted file makes room for the record of that
        assert server.request("POST", large, b"x" * 200_000, {"Content-Type": "application/octet-stream"})[0] == 201
        assert metric(server, "hutch_disk_full") == 0
        filler = pathlib.Path(f"/proc/{server.process.pid}/root{state}/filler")
        with open(filler, "wb", buffering=0) as file:
            for step in (1 << 20, 4096):
                try:
                    while file.write(b"x" * step) == step:
                        pass
                except OSError:
                    pass
        status, body = create()
        assert status == 507, body
        assert server.request("GET", "/readyz")[0::2] == (200, b"ready\ndegraded: disk\n")
        assert metric(server, "hutch_disk_full") == 1 and metric(server, "hutch_ready") == 1
        assert server.request("POST", path, b"x" * 200_000, {"Content-Type": "application/octet-stream"})[0] == 507
        assert server.request("GET", path)[0::2] == (200, b"kept")
        assert server.request("DELETE", f"/sandboxes/{ids[1]}")[0] in (200, 204)
        filler.unlink()
        assert create()[0] == 201
        assert server.request("GET", "/readyz")[0::2] == (200, b"ready\n")
        server.stop()
        lines = [json.loads(line) for line in server.errors]
        assert any(line["level"] == "warning" and ("full" in line["message"] or "space" in line["message"])
                   for line in lines), lines
        assert not any(line["level"] == "error" for line in lines), lines


# The log

def test_every_line_is_json_from_the_first_on(state):
    with Server(state, "--log-level", "info", "--log-format", "json", no_auth=False) as server:
        bearer = {"Authorization": f"Bearer {token(state, '--principal', 'alice')}"}
        client = HttpClient(server, MODERN, {**bearer, "X-Request-Id": "of-the-client-7"})
        run = client.call("run_code", code="1 + 1")
        client.call("delete_session", session_id=run["session_id"])
        assert server.request("GET", "/nothing%0a%22")[0] == 404
        server.stop()
        lines = [json.loads(line) for line in server.errors]
        assert all({"time", "level", "message"} <= line.keys() for line in lines)
        assert any("no token exists" in line["message"] for line in lines)
        call = next(line for line in lines if line.get("tool") == "run_code")
        assert (call["level"], call["session"], call["run"]) == ("info", run["session_id"], run["run_id"])
        assert call["request_id"] == "of-the-client-7" and call["principal"].startswith("principal_")
        access = next(line for line in lines if "POST /mcp 200" in line["message"])
        assert (access["request_id"], access["principal"]) == ("of-the-client-7", call["principal"])
        deleted = next(line for line in lines if "session deleted" in line["message"])
        assert (deleted["level"], deleted["session"]) == ("info", run["session_id"])
        assert deleted["tool"] == "delete_session" and deleted["request_id"] == "of-the-client-7"


@pytest.mark.parametrize("arguments,env", [(["--log-format", "json"], {}), ([], {"HUTCH_LOG_FORMAT": "json"})])
def test_why_it_does_not_start_is_json_as_well(state, arguments, env):
    config = write(f"{state}/config.toml", "[serve]\nport = 1\n")
    for more in (["--config", config], ["--listen", "nowhere"]):
        ended = subprocess.run([hutch_binary(), "serve", "--state-dir", state, *arguments, *more], text=True,
                               stderr=subprocess.PIPE, timeout=60 * PATIENCE,
                               env={**os.environ, "HUTCH_ZYGOTE": "0", "HUTCH_SPARE_SESSIONS": "0", **env})
        assert ended.returncode in (1, 2)
        lines = [json.loads(line) for line in ended.stderr.splitlines()]
        assert [line["level"] for line in lines] == ["error"], lines


def test_tokens_are_told_of(state):
    run = [hutch_binary(), "--state-dir", state, "--log-level", "info", "--log-format", "json", "token"]
    made = subprocess.run([*run, "create"], capture_output=True, text=True, check=True)
    name = made.stdout.split()[0]
    gone = subprocess.run([*run, "revoke", name], capture_output=True, text=True, check=True)
    for done, words in ((made, f"token {name} made"), (gone, f"token {name} taken back")):
        line = json.loads(done.stderr)
        assert (line["level"], line["message"]) == ("info", words) and line["principal"]
        assert made.stdout.split()[-1] not in done.stderr


def test_a_request_keeps_its_name(state):
    with Server(state) as server:
        client = HttpClient(server, "2025-11-25")
        for path, method in (("/healthz", "GET"), ("/nothing", "GET"), ("/mcp", "PUT"), ("/sandboxes", "GET")):
            fields = server.request(method, path, headers={"X-Request-Id": "a-1"})[1]
            assert fields.get_all("X-Request-Id") == ["a-1"], path
        message, fields = modern(1, "tools/list")
        assert server.post(message, {**fields, "X-Request-Id": "a-2"})[1]["X-Request-Id"] == "a-2"
        connection, response, _ = open_stream(server, "GET", "/mcp", None, {
            "Accept": "text/event-stream", "X-Request-Id": "a-3", **client.headers})
        assert response.headers["X-Request-Id"] == "a-3"
        hang_up(connection)
        made = {server.request("GET", "/healthz")[1]["X-Request-Id"] for _ in range(2)}
        assert len(made) == 2 and all(made)
        forged = server.request("GET", "/healthz", headers={"X-Request-Id": "x" * 129})[1]["X-Request-Id"]
        assert forged != "x" * 129 and forged


# SIGHUP

def test_sighup_takes_what_can_change_and_names_the_rest(state):
    config = write(f"{state}/config.toml", '[session]\nmax_sessions = 1\n[serve]\nallow_hosts = ["old.example"]\n')
    with Server(state, "--config", config, **ALONE) as server:
        client = HttpClient(server, MODERN)
        client.call("create_session")
        assert client.result("create_session")["isError"]
        assert answer_at(server, "old.example") == 200 and answer_at(server, "new.example") == 403

        write(config, 'log_level = "info"\nstate_dir = "/elsewhere"\n[session]\nmax_sessions = 2\n[serve]\n'
                      'allow_hosts = ["new.example"]\nallow_origins = ["https://page.example"]\n'
                      'drain_seconds = 3\n[limits]\nmemory_mb = 300\n')
        server.process.send_signal(signal.SIGHUP)
        line = said(server, "hold with the next start only")
        assert "state_dir" in line and "serve.drain_seconds" in line and "allow_hosts" not in line
        line = said(server, "was read anew")
        for key in ("log_level", "session.max_sessions", "serve.allow_hosts", "serve.allow_origins",
                    "limits.memory_mb"):
            assert key in line, line
        assert answer_at(server, "old.example") == 403 and answer_at(server, "new.example") == 200
        origin = server.request("OPTIONS", "/mcp", headers={"Origin": "https://page.example"})[1]
        assert origin["Access-Control-Allow-Origin"] == "https://page.example"
        made = client.call("create_session")
        assert made["limits"]["memory_mb"] == 300
        assert client.result("create_session")["isError"]
        said(server, "GET /openapi.json 200")  # the level

        # Settings that wait are told of again.
        server.process.send_signal(signal.SIGHUP)
        assert "state_dir" in said(server, "hold with the next start only", times=2)
        assert "changed: nothing" in said(server, "was read anew", times=2)


@pytest.mark.parametrize("broken,where", [("[serve]\nallow_hosts = [\n", ":"), ("\nlog_level = 'loud'\n", ":2: "),
                                          ("[serve]\nport = 1\n", ":2: "), ("[network]\nallow = ['a b']\n", ":2: ")])
def test_a_broken_configuration_changes_nothing(state, broken, where):
    config = write(f"{state}/config.toml", '[serve]\nallow_hosts = ["old.example"]\n')
    check = [hutch_binary(), "serve", "--check", "--config", config, "--state-dir", f"{state}/none"]
    with Server(state, "--config", config, **ALONE) as server:
        write(config, broken)
        server.process.send_signal(signal.SIGHUP)
        assert config + where in said(server, "nothing has changed")
        assert answer_at(server, "old.example") == 200
        checked = subprocess.run(check, capture_output=True, text=True)
        assert checked.returncode == 2 and config + where in checked.stderr and checked.stdout == ""
        os.unlink(config)
        server.process.send_signal(signal.SIGHUP)
        assert config in said(server, "nothing has changed", times=2)
        assert answer_at(server, "old.example") == 200
        write(config, '[serve]\nallow_hosts = ["new.example"]\n')
        server.process.send_signal(signal.SIGHUP)
        said(server, "was read anew")
        assert answer_at(server, "new.example") == 200
    checked = subprocess.run(check, capture_output=True, text=True)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, f"ok: {config}\n", "")
    assert not os.path.exists(f"{state}/none")


def test_a_flag_beats_what_is_read_anew(state):
    config = write(f"{state}/config.toml", 'log_level = "error"\n')
    with Server(state, "--config", config, "--log-level", "info", **ALONE) as server:
        write(config, 'log_level = "debug"\n')
        server.process.send_signal(signal.SIGHUP)
        assert "log_level" in said(server, "a flag or a variable says otherwise")
        server.request("GET", "/healthz")
        said(server, "GET /healthz 200")


@pytest.fixture
def terminal():
    """Options of a process that has a terminal of its own."""
    ours, theirs = pty.openpty()
    name = os.ttyname(theirs)
    # The first that the leader of a session opens becomes its terminal.
    yield {"start_new_session": True, "preexec_fn": lambda: os.close(os.open(name, os.O_RDWR))}
    os.close(theirs)
    os.close(ours)


def test_sighup_of_a_terminal_ends_it_as_sigterm_does(state, terminal):
    with Server(state, **terminal) as server:
        client = HttpClient(server, MODERN)
        session = client.call("run_code", code="x = 1")["session_id"]
        server.process.send_signal(signal.SIGHUP)
        assert server.process.wait(30 * PATIENCE) == 0
    with Server(state) as server:
        run = HttpClient(server, MODERN).call("run_code", code="x + 1", session_id=session)
        assert run["outputs"][-1]["text"] == "2"


def test_nohup_holds(state, terminal):
    leave = terminal["preexec_fn"]

    def ignore():
        leave()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Server(state, **{**terminal, "preexec_fn": ignore}) as server:
        server.process.send_signal(signal.SIGHUP)
        assert server.is_well() is not None
        assert server.process.poll() is None


@pytest.mark.parametrize("command", [["stdio"], ["run", "-l", "python", "-"]])
def test_sighup_ends_other_commands_as_sigterm_does(state, command):
    ended = []
    for number in (signal.SIGTERM, signal.SIGHUP):
        with subprocess.Popen([hutch_binary(), *command, "--state-dir", f"{state}/{number}"], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **ALONE,
                              env={**os.environ, "HUTCH_ZYGOTE": "0", "HUTCH_LOG_LEVEL": "info"}) as process:
            if command[0] == "run":
                process.stdin.write("import time\nprint('on', flush=True)\ntime.sleep(600)\n")
                process.stdin.close()
                assert process.stdout.readline() == "on\n"
            else:
                assert "serving MCP" in process.stderr.readline()
            process.send_signal(number)
            ended.append(process.wait(60 * PATIENCE))
    assert ended[0] == ended[1] and ended[0] >= 0, ended
