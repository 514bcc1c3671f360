"""Code and hosts that break the rules of the door: it refuses, goes on, and nobody else notices."""

import pytest

from hutch_client import Client
from origins import http_origin, port_of
from test_network import PROXY, door_of, refused

# In a box: what the door says to bytes that are sent to its proxy.
ASK = """import socket
def ask(*parts, port=3128, host="127.0.0.1"):
    with socket.create_connection((host, port), 30) as s:
        answer = b""
        try:
            for part in parts: s.sendall(part)
            while part := s.recv(65536): answer += part
        except OSError:
            pass
    return answer.decode().partition("\\r\\n")[0]
"""


@pytest.fixture(scope="module")
def world(module_state, tmp_path_factory):
    with http_origin() as web:
        config = tmp_path_factory.mktemp("network") / "config.toml"
        config.write_text(f"""
[network]
allow = ["web.test:{port_of(web)}", "plain.test", "own.test"]
[network.addresses]
"web.test" = "127.0.0.1"
"plain.test" = "127.0.0.1"
""")
        with Client(module_state, env={"HUTCH_CONFIG": str(config)}) as client:
            client.web, client.asked = f"web.test:{port_of(web)}", web.asked
            client.run(ASK, "python")
            yield client


@pytest.fixture
def same_door(world):
    """The door is there after the test as it was before."""
    (before,) = door_of(world.state)
    yield
    assert world.run(f"curl -sS http://{world.web}/still", "bash")["stdout"] == f"GET /still {world.web}\n"
    assert door_of(world.state) == [before]


@pytest.mark.parametrize("path", ["two-codings", "two-lengths", "long-extension", "long-trailer", "long-head"])
def test_answers_that_are_none(world, same_door, path):
    run = world.run(f"curl -sS -m 20 -o /dev/null -w '%{{http_code}}' -x {PROXY} http://{world.web}/{path}", "bash")
    assert run["stdout"] == "502" or run["exit_code"] != 0, run


@pytest.mark.parametrize("head,body", [
    ("Transfer-Encoding: chunked", "b'1;' + b'x' * 200_000 + b'\\r\\na\\r\\n0\\r\\n\\r\\n'"),
    ("Transfer-Encoding: chunked", "b'0\\r\\na: ' + b'x' * 200_000 + b'\\r\\n\\r\\n'"),
    ("Transfer-Encoding: chunked", "b'0\\r\\n' + b'a: b\\r\\n' * 50_000 + b'\\r\\n'"),
    ("A: ' + 'x' * 200_000 + '", "b''"),
])
def test_requests_without_end(world, same_door, head, body):
    world.run(f"print(ask(('POST http://{world.web}/ HTTP/1.1\\r\\nHost: {world.web}\\r\\n{head}\\r\\n\\r\\n').encode(), {body}))", "python")


@pytest.mark.parametrize("line", ["'GET http://{web}/' + '\\x22' * 15_000", "'GET http://other.test/' + '\\x22' * 15_000", "'M' * 15_000 + ' http://{web}/'"])
def test_a_long_request_ends_no_other_connection(world, same_door, line):
    run = world.run(f"""import http.client
kept = http.client.HTTPConnection('127.0.0.1', 3128)
def again(): kept.request('GET', 'http://{world.web}/kept'); return kept.getresponse().read().decode()
print(again(), ask(({line.format(web=world.web)} + ' HTTP/1.1\\r\\nHost: {world.web}\\r\\nConnection: close\\r\\n\\r\\n').encode()), again(), kept.sock is not None)""")
    assert run["stdout"].count("GET /kept") == 2 and run["stdout"].endswith("True\n"), run


@pytest.mark.parametrize("lines", [
    "Transfer-Encoding: identity\\r\\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\\r\\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding: xchunked", "Content-Length: 5\\r\\nContent-Length: 6", "Content-Length: 5\\r\\nTransfer-Encoding: chunked",
    "Content-Length: +5", "Content-Length: 5, 5", "Connection: transfer-encoding\\r\\nTransfer-Encoding: identity",
])
def test_requests_with_two_ends(world, same_door, lines):
    world.asked.clear()
    first = f"POST http://{world.web}/two-ends HTTP/1.1\\r\\nHost: {world.web}\\r\\n{lines}\\r\\n\\r\\n"
    run = world.run(f"print(ask(('{first}' + '0\\r\\n\\r\\nGET http://{world.web}/hidden HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n').encode()))", "python")
    assert run["stdout"].startswith("HTTP/1.1 400"), run
    assert world.asked == []


def test_a_tunnel_to_the_port_of_http_is_looked_into(world, same_door):
    run = world.run("print(ask(b'CONNECT plain.test:80 HTTP/1.1\\r\\n\\r\\nSSH-2.0-none\\r\\n'))\n"
                    "def last(text):\n    with socket.create_connection(('127.0.0.1', 3128), 30) as s:\n        s.sendall(text.encode())\n"
                    "        answer = b''\n        while part := s.recv(65536): answer += part\n    return answer.decode()\n"
                    "connect = 'CONNECT plain.test:80 HTTP/1.1\\r\\n\\r\\n'\nprint(last(connect + 'SSH-2.0-none\\r\\n\\r\\n'))\n"
                    "print(last(connect + 'GET / HTTP/1.1\\r\\nHost: other.test\\r\\n\\r\\n'))", "python")
    assert "400 this is no HTTP" in run["stdout"] and "403 the client asks this host for another one: other.test" in run["stdout"], run


def test_more_refusals_than_anybody_reads(world, same_door):
    run = world.run("s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', 53)); s.settimeout(20)\n"
                    "def query(i): name = b'n%d' % i; return b'aa\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + bytes([len(name)]) + name + b'\\4evil\\0\\0\\1\\0\\1'\n"
                    "for i in range(20_000): s.send(query(i)); s.recv(512)\nprint('asked')", "python")
    assert run["stdout"] == "asked\n" and len(refused(run)) > 5, run


def test_a_client_that_goes_takes_its_request_with_it(world, same_door):
    world.asked.clear()
    for how in ("", f"-x {PROXY}"):
        world.run(f"curl -sS -m 1 {how} http://{world.web}/until-you-go", "bash")
    for _ in range(600):
        if world.asked == ["began", "gone"] * 2:
            break
        world.run("import time; time.sleep(0.1)", "python")
    assert world.asked == ["began", "gone"] * 2


def test_a_host_that_has_ended_is_connected_to_again(world, same_door):
    run = world.run(f"for i in 1 2 3 4 5; do curl -sS -x {PROXY} http://{world.web}/last http://{world.web}/last; done", "bash")
    assert run["stdout"] == f"GET /last {world.web}\n" * 10, run


def test_answers_without_a_body_and_clients_of_long_ago(world, same_door):
    run = world.run(f"curl -sSi -m 20 -x {PROXY} http://{world.web}/nothing http://{world.web}/after; "
                    f"curl -sSi0 -x {PROXY} http://{world.web}/chunked", "bash")
    nothing, _, rest = run["stdout"].partition("\r\n\r\n")
    assert nothing.startswith("HTTP/1.1 204") and "hunked" not in nothing and "GET /after" in rest
    old = rest[rest.index("GET /after"):]
    assert "hunked\r\n" not in old and old.endswith(f"GET /chunked {world.web}\n"), run


def test_a_session_has_no_more_connections_than_its_share(world, same_door):
    run = world.run(f"many = [socket.create_connection(('127.0.0.1', 3128), 30) for _ in range(300)]\nimport select\n"
                    "p = select.poll()\n[p.register(s, select.POLLIN) for s in many]\nprint(len(p.poll(20_000)) >= 1)\n"
                    "[s.close() for s in many]", "python")
    assert run["stdout"] == "True\n" and "256 connections open" in str(run["network"]), run
