"""Tests what goes on and on: WebSockets, streams of events, and large bodies, by each way through the door."""

import pytest

from hutch_client import Client
from origins import http_origin, port_of, tls_origin
from test_credentials import credential

WEB_SOCKET = r"""
import base64, os, socket, ssl
def web_socket(host, port, tls, proxy):
    s = socket.create_connection(('127.0.0.1', 3128) if proxy else (host, port), 20)
    if proxy:
        s.sendall(f'CONNECT {host}:{port} HTTP/1.1\r\n\r\n'.encode())
        assert b' 200' in s.recv(4096)
    if tls: s = ssl.create_default_context().wrap_socket(s, server_hostname=host)
    key = base64.b64encode(os.urandom(16)).decode()
    s.sendall(f'GET /ws HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
              f'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n'.encode())
    head = s.recv(4096).split(b'\r\n')[0]
    for part in (b'one', b'two'):
        s.sendall(part)
        assert s.recv(100) == part
    return head.decode()
"""
EVENTS = """
import urllib.request
with urllib.request.urlopen('{0}/events') as answer:
    for line in answer:
        if line.strip():
            print(line.decode().strip())
            urllib.request.urlopen('{0}/next').read()
"""


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    with tls_origin(folder, "*.api.test") as api, http_origin() as web:
        hosts = ["through.api.test", "inside.api.test", "token.api.test", "web.test", "limited.test"]
        config = folder / "config.toml"
        config.write_text(f'[network]\nallow = ["through.api.test:{port_of(api)}", "inside.api.test:{port_of(api)}/*", "web.test:{port_of(web)}", '
                          f'"GET limited.test:{port_of(web)}/*"]\ncredentials = ["token"]\n[network.addresses]\n'
                          + "".join(f'"{host}" = "127.0.0.1"\n' for host in hosts))
        credential(module_state, "set", "token", "--host", f"token.api.test:{port_of(api)}", value="s3cr3t-of-streams")
        with Client(module_state, env={"HUTCH_CONFIG": str(config), "SSL_CERT_FILE": str(folder / "roots.pem")}) as client:
            client.port_of = lambda host: port_of(api if "api" in host else web)
            assert client.run(WEB_SOCKET, "python")["status"] == "completed"
            yield client


WAYS = ["through.api.test", "inside.api.test", "token.api.test", "web.test", "limited.test"]


@pytest.mark.parametrize("proxy", [False, True])
@pytest.mark.parametrize("host", WAYS)
def test_a_web_socket(world, host, proxy):
    run = world.run(f"print(web_socket('{host}', {world.port_of(host)}, {'api' in host}, {proxy}))", "python")
    assert run["stdout"] == "HTTP/1.1 101 Switching Protocols\n", run


@pytest.mark.parametrize("host", WAYS)
def test_events_come_as_they_are_sent(world, host):
    scheme = "https" if "api" in host else "http"
    run = world.run(EVENTS.format(f"{scheme}://{host}:{world.port_of(host)}"), "python", timeout_seconds=100)
    assert run["stdout"] == "data: 0\ndata: 1\ndata: 2\n", run


def test_programs_that_bring_their_own_certificates_trust_the_door(world):
    run = world.run("import certifi, ssl, urllib.request\ncontext = ssl.create_default_context(cafile=certifi.where())\n"
                    f"print(urllib.request.urlopen('https://inside.api.test:{world.port_of('api')}/x', context=context).status)", "python")
    if "No module named 'certifi'" in run["stderr"]:
        pytest.skip("this machine's Python has no certifi")
    assert run["stdout"] == "200\n", run
