"""hutch behind a real HAProxy, with the configuration that is shipped."""

import http.client
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import time

import pytest

from conftest import needs
from hutch_client import MODERN, PATIENCE
from http_server import Events, HttpClient, JSON_HEADERS, Server, hang_up, modern

CONFIGURATION = pathlib.Path(__file__).resolve().parents[2] / "packaging" / "haproxy.cfg"


class ThroughProxy:
    """It serves HttpClient as Server does, over TLS."""

    def __init__(self, port, certificate):
        self.port = port
        self.context = ssl.create_default_context(cafile=certificate)

    def connection(self, timeout=60):
        return http.client.HTTPSConnection("localhost", self.port, timeout=timeout * PATIENCE,
                                           context=self.context)

    request = Server.request
    post = Server.post


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def proxy(state, tmp_path):
    haproxy = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    needs(haproxy is not None, "haproxy")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout",
                    tmp_path / "key.pem", "-out", tmp_path / "certificate.pem"],
                   check=True, capture_output=True)
    both = tmp_path / "both.pem"
    both.write_text((tmp_path / "certificate.pem").read_text() + (tmp_path / "key.pem").read_text())
    with Server(state, "--behind-proxy") as server:
        port = free_port()
        process = subprocess.Popen(
            [haproxy, "-f", str(CONFIGURATION), "-db"],
            env={"HUTCH_PROXY_BIND": f"127.0.0.1:{port}", "HUTCH_PROXY_CERTIFICATE": str(both),
                 "HUTCH_PROXY_SERVER": f"127.0.0.1:{server.address[1]}"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        through = ThroughProxy(port, tmp_path / "certificate.pem")
        try:
            deadline = time.monotonic() + 20 * PATIENCE
            while True:
                assert process.poll() is None, process.stderr.read()
                try:
                    if through.request("GET", "/readyz")[0] == 200:
                        break
                except OSError:
                    assert time.monotonic() < deadline
            yield through
        finally:
            process.terminate()
            process.wait(20 * PATIENCE)


def test_code_runs_through_the_proxy(proxy):
    legacy = HttpClient(proxy, "2025-11-25")
    legacy.call("run_code", code="x = 41")
    assert legacy.call("run_code", code="x + 1")["outputs"][-1]["text"] == "42"
    assert HttpClient(proxy, MODERN).call("run_code", code="1")["status"] == "completed"


def test_events_come_as_they_happen_and_closing_cancels(proxy):
    client = HttpClient(proxy, MODERN)
    message, headers = modern(1, "tools/call", {
        "name": "run_code", "arguments": {"code": "import time\ntime.sleep(30)"},
        "_meta": {"progressToken": 1}})
    connection = proxy.connection()
    connection.request("POST", "/mcp", json.dumps(message), {**JSON_HEADERS, **headers})
    connection.answer = connection.getresponse()
    events = Events(connection.answer)
    started = time.monotonic()
    run_id = events.message()["params"]["message"].split(" ")[0]
    assert time.monotonic() - started < 15 * PATIENCE, "not when the run has ended"
    hang_up(connection)
    deadline = time.monotonic() + 20 * PATIENCE
    while (status := client.call("get_run", run_id=run_id, wait_seconds=1)["status"]) != "cancelled":
        assert time.monotonic() < deadline, status


def test_what_the_proxy_keeps_out(proxy):
    assert proxy.request("GET", "/metrics")[0] == 404
    message, headers = modern(1, "server/discover")
    assert proxy.post(message, {**headers, "Origin": "https://evil.example"})[0] == 403
    assert proxy.request("POST", "/mcp", "x", {**JSON_HEADERS,
                                               "Content-Encoding": "gzip"})[0] == 415
