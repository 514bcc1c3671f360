"""hutch serve itself: where it listens, what operators ask it, how it ends."""

import json
import os
import signal
import stat
import subprocess
import time

from hutch_client import LEGACY, MODERN, PATIENCE, hutch_binary
from http_server import JSON_HEADERS, HttpClient, Server, hang_up, modern, open_stream
from test_sessions import until


def refused(state, *arguments, env=None):
    ended = subprocess.run([hutch_binary(), "serve", "--state-dir", state, *arguments],
                           capture_output=True, text=True, timeout=60 * PATIENCE,
                           env={**os.environ, **(env or {})})
    assert ended.returncode != 0 and ended.stdout == ""
    return ended.stderr


def test_addresses_of_the_network_are_refused(state):
    assert "--behind-proxy" in refused(state, "--listen", "0.0.0.0:0")
    assert "the whole network" in refused(state, "--no-auth", "--behind-proxy", "--listen",
                                          "0.0.0.0:0")
    for wrong in ("8931", "example.org:1", "127.0.0.1:99999", "127.0.0.1:x", "unix:relative",
                  "unix:/" + "a" * 200):
        assert "cannot listen" in refused(state, "--no-auth", "--listen", wrong)
    assert "cannot listen" in refused(state, "--no-auth", env={"HUTCH_LISTEN": "nowhere"})


def test_an_address_that_is_taken(state):
    with Server(state) as server:
        host, port = server.address
        assert "in use" in refused(state, "--no-auth", "--listen", f"{host}:{port}")


def test_a_unix_socket(state):
    path = f"{state}/hutch.sock"
    with Server(state, listen=f"unix:{path}") as server:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        client = HttpClient(server, LEGACY)
        assert client.call("run_code", code="1 + 1")["outputs"][-1]["text"] == "2"
        server.process.kill()
        server.process.wait()
    assert os.path.exists(path), "a killed server leaves it"
    with Server(state, listen=f"unix:{path}") as server:
        assert server.is_well() is not None
    assert not os.path.exists(path)


def test_a_file_in_the_way_of_a_socket_stays(state):
    path = f"{state}/precious"
    with open(path, "w") as file:
        file.write("precious")
    assert "in use" in refused(state, "--no-auth", "--listen", f"unix:{path}")
    assert open(path).read() == "precious"


def test_no_auth_says_so(state):
    with Server(state) as server:
        server.stop()
        assert any("--no-auth" in line for line in server.errors)


def test_what_operators_ask(state):
    with Server(state) as server:
        assert server.request("GET", "/healthz")[0::2] == (200, b"ok\n")
        assert server.request("GET", "/readyz")[0::2] == (200, b"ready\n")
        client = HttpClient(server, "2025-11-25")
        client.call("run_code", code="1")
        server.request("GET", "/no/such/path")
        connection, _, _ = open_stream(server, "GET", "/mcp", None,
                                       {"Accept": "text/event-stream", **client.headers})
        # A stream counts from when it has been handed to those that stay open, just after its head is sent.
        until(lambda: b"hutch_http_streams 1" in server.request("GET", "/metrics")[2], what="the stream in the count")
        status, fields, body = server.request("GET", "/metrics")
        text = body.decode()
        assert status == 200 and fields["Content-Type"].startswith("text/plain; version=0.0.4")
        assert 'hutch_http_requests_total{route="other",status="404"} 1' in text
        assert "hutch_mcp_legacy_sessions 1" in text
        assert "hutch_http_streams 1" in text
        assert 'hutch_runs{status="completed"} 1' in text
        names = {line.split("{")[0].split(" ")[0] for line in text.splitlines()
                 if not line.startswith("#")}
        described = {line.split(" ")[2] for line in text.splitlines() if line.startswith("# TYPE")}
        for name in names:
            base = name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count")
            assert name in described or base in described, name
        hang_up(connection)


def test_the_access_log_is_json_when_asked(state):
    with Server(state, "--log-level", "info", "--log-format", "json") as server:
        server.post(*modern(1, "tools/list"))
        server.stop()
        lines = [json.loads(line) for line in server.errors if line.startswith("{")]
        assert any("POST /mcp 200" in line["message"] for line in lines)


def test_nobody_writes_lines_into_the_log(state):
    with Server(state, "--log-level", "info") as server:
        server.request("GET", "/a%0ahutch:%20info:%20forged%1b[31m")
        server.stop()
        log = "".join(server.errors)
        assert "/a?hutch:?info:?forged?[31m 404" in log and "\nhutch: info: forged" not in log


def test_origins_from_environment_and_file(state):
    config = f"{state}/config.toml"
    with open(config, "w") as file:
        file.write('[serve]\nallow_origins = ["https://file.example"]\n')
    for env, origin in (({}, "https://file.example"),
                        ({"HUTCH_ALLOW_ORIGINS": " https://a.example, https://b.example "},
                         "https://b.example")):
        with Server(state, "--config", config, env=env) as server:
            message, fields = modern(1, "server/discover")
            assert server.post(message, {**fields, "Origin": origin})[0] == 200
            assert server.post(message, {**fields, "Origin": "https://c.example"})[0] == 403
    with open(config, "w") as file:
        file.write("[serve]\nport = 1\n")
    assert "unknown key serve.port" in refused(state, "--no-auth", "--config", config)


def test_a_drain_ends_in_time_whatever_is_open(state):
    config = f"{state}/config.toml"
    with open(config, "w") as file:
        file.write("[serve]\ndrain_seconds = 2\n")
    with Server(state, "--config", config) as server:
        client = HttpClient(server, "2025-11-25")
        _, _, events = open_stream(server, "GET", "/mcp", None,
                                   {"Accept": "text/event-stream", **client.headers})
        idle = server.socket()
        half = server.socket()
        half.sendall(b"POST /mcp HTTP/1.1\r\n")
        started = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(30 * PATIENCE) == 0
        assert time.monotonic() - started < 10 * PATIENCE
        while events.next() is not None:
            pass
        assert idle.recv(1) == b""
        half.close()


def test_whoever_connected_before_the_end_is_answered(state):
    with Server(state) as server:
        legacy = HttpClient(server, "2025-11-25")
        ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        fields = {"Host": "localhost", "Content-Length": len(ping), **JSON_HEADERS, **legacy.headers}
        post = "".join(["POST /mcp HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in fields.items()),
                        "\r\n", ping])
        os.kill(server.process.pid, signal.SIGSTOP)
        waiting = [server.socket() for _ in range(200)]
        for number, client in enumerate(waiting):
            client.sendall(post.encode() if number % 2 else b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        silent = [server.socket() for _ in range(10)]
        server.process.send_signal(signal.SIGTERM)
        os.kill(server.process.pid, signal.SIGCONT)
        for client in waiting:
            assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
        for client in silent:
            assert client.recv(1) == b""
        assert server.process.wait(30 * PATIENCE) == 0


def test_without_the_end_of_its_time_a_session_of_a_killed_server_lives_on(state):
    with Server(state) as server:
        session = HttpClient(server, MODERN).call("run_code", code="x = 1")["session_id"]
        server.process.kill()
        server.process.wait()
    with Server(state) as server:
        client = HttpClient(server, MODERN)
        assert client.call("run_code", code="x + 1", session_id=session)["outputs"][-1]["text"] \
            == "2"
