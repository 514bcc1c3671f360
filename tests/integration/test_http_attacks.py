"""Tests what hostile clients send, each of it against a server that goes on answering others."""

import json
import resource
import select
import socket
import time

import pytest

from boxes import until
from hutch_client import PATIENCE
from http_server import HttpClient, JSON_HEADERS, Server, modern, token

# Each of these is shorter than what the server grants one client (mcp/http/bounds.h): 15 seconds for a head or a
# body that has begun, 30 for a reader, 75 for a request. Whoever was held up by another would take longer.
BESIDE_SLOW, BESIDE_DEAF, BESIDE_IDLE = 12 * PATIENCE, 25 * PATIENCE, 30 * PATIENCE

MIB = 1 << 20
BODY_MAX = 112 * MIB


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state) as started:
        yield started


@pytest.fixture(autouse=True)
def others_are_answered(server):
    yield
    assert server.is_well() < 30 * PATIENCE
    assert server.process.poll() is None


def head(*lines, request="POST /mcp HTTP/1.1"):
    fields = ["Host: localhost", "Content-Type: application/json",
              "Accept: application/json, text/event-stream"]
    return "\r\n".join([request, *fields, *lines, "", ""]).encode()


def answer_to(server, *pieces, timeout=30):
    """Returns what a raw connection gets back, until the server closes it."""
    with server.socket(timeout) as raw:
        try:
            for piece in pieces:
                raw.sendall(piece)
        except OSError:
            pass  # refused while still sending
        return read_all(raw)


def read_all(raw):
    got = b""
    try:
        while piece := raw.recv(65536):
            got += piece
    except ConnectionResetError:
        pass
    return got


def status_of(answer):
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    return int(answer.split()[1])


def closing(body, **headers):
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return head(f"Content-Length: {len(body)}", "Connection: close", *lines) + body


def valid(**extra):
    message, fields = modern(1, "server/discover")
    return closing(json.dumps(message).encode(),
                   **{name.replace("-", "_"): value for name, value in fields.items()}, **extra)


def test_the_yardstick_itself_is_answered(server):
    assert status_of(answer_to(server, valid())) == 200


def test_a_body_that_says_it_is_too_large(server):
    assert status_of(answer_to(server, head(f"Content-Length: {BODY_MAX + 1}"))) == 413
    assert status_of(answer_to(server, head("Content-Length: 99999999999999999999999"))) == 413


def test_a_chunked_body_that_never_says_so(server):
    before = server.memory_kib()
    chunk = b"%x\r\n%s\r\n" % (MIB, b" " * MIB)
    with server.socket(60) as raw:
        raw.sendall(head("Transfer-Encoding: chunked"))
        for _ in range(200):
            raw.sendall(chunk)
        answer = read_all(raw)
    # The rest after too much is read for a moment, so that the client sees why, and not kept.
    assert status_of(answer) == 413
    assert server.memory_kib() - before < 300 * 1024


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, identity"])
def test_encoded_bodies_are_refused(server, encoding):
    assert status_of(answer_to(server, closing(b"\x1f\x8b", Content_Encoding=encoding))) == 415


@pytest.mark.parametrize("body", [
    b"-2\r\nabc", b"0x10\r\n", b"+5\r\nhello\r\n0\r\n\r\n", b" 5\r\nhello", b"5;ext=1\r\nhello",
    b"\r\n", b"g\r\n", b"fffffffffffffffff\r\n", b"5\r\nhelloX\r\n", b"5\nhello\r\n",
    b"0\r\nTrailer: x\r\n\r\n"])
def test_chunks_that_are_none(server, body):
    assert status_of(answer_to(server, head("Transfer-Encoding: chunked") + body)) == 400


def test_an_endless_chunk_size(server):
    answer = answer_to(server, head("Transfer-Encoding: chunked"), b"0" * MIB)
    assert status_of(answer) == 400


def test_good_chunks_are_read(server):
    message, fields = modern(1, "server/discover")
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in fields.items()]
    chunks = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in body) + b"0\r\n\r\n"
    assert status_of(answer_to(server, head("Transfer-Encoding: chunked", "Connection: close",
                                            *lines) + chunks)) == 200


@pytest.mark.parametrize("lines", [
    ["Content-Length: 5", "Content-Length: 6"], ["Content-Length: 5", "Transfer-Encoding: chunked"],
    ["Content-Length: -5"], ["Content-Length: +5"], ["Content-Length: 5, 5"],
    ["Content-Length: 0x5"], ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]])
def test_two_ways_to_read_a_length(server, lines):
    assert status_of(answer_to(server, head(*lines) + b"hello")) == 400


def test_an_unknown_transfer_coding(server):
    assert status_of(answer_to(server, head("Transfer-Encoding: gzip, chunked"))) == 501


def test_half_a_request_and_gone(server):
    for part in (b"P", b"POST /mcp", head()[:-2], head("Content-Length: 100") + b"{"):
        with server.socket() as raw:
            raw.sendall(part)


def test_a_body_that_never_comes_holds_nobody_up(server):
    waiting = []
    for _ in range(100):
        raw = server.socket()
        raw.sendall(head("Content-Length: 100") + b"{")
        waiting.append(raw)
    assert server.is_well() < BESIDE_SLOW
    for raw in waiting:
        raw.close()


def test_a_form_is_not_taken_apart(server):
    form = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n'
    lines = ["Content-Type: multipart/form-data; boundary=b", f"Content-Length: {len(form)}",
             "Connection: close"]
    request = "\r\n".join(["POST /mcp HTTP/1.1", "Host: localhost", "Accept: */*", *lines, "", ""])
    assert status_of(answer_to(server, request.encode() + form)) == 415


def test_an_endless_header_line(server):
    before = server.memory_kib()
    answer = answer_to(server, b"GET / HTTP/1.1\r\nX: ", *[b"x" * MIB] * 50)
    assert not answer or status_of(answer) == 431
    assert server.memory_kib() - before < 20 * 1024


def test_a_million_headers(server):
    before = server.memory_kib()
    answer = answer_to(server, b"GET / HTTP/1.1\r\n", *[b"a: b\r\n" * 100_000] * 10)
    assert not answer or status_of(answer) == 431
    assert server.memory_kib() - before < 20 * 1024


def test_more_headers_than_anyone_needs(server):
    assert status_of(answer_to(server, head(*["a: b"] * 200))) == 431
    assert status_of(answer_to(server, head("a: " + "b" * 9000))) == 431
    assert status_of(answer_to(server, head(request="GET /" + "a" * 5000 + " HTTP/1.1"))) == 414


@pytest.mark.parametrize("lines", [
    ["a : b"], [" folded: line"], ["a: b\rc: d"], ["a: b\nc: d"], ["a: \x01"], ["noname"],
    [": b"], ["a\x00: b"], ["a: b\x00"]])
def test_heads_that_two_readers_read_differently(server, lines):
    assert status_of(answer_to(server, head(*lines))) == 400


@pytest.mark.parametrize("request_line", [
    "GET /mcp", "GET  /mcp HTTP/1.1", "GET /mcp HTTP/1.1 x", "GET mcp HTTP/1.1",
    "BREW /mcp HTTP/1.1", "GET /mcp HTTP/2.0", "GET /\x7f HTTP/1.1", "\x16\x03\x01 / HTTP/1.1"])
def test_request_lines_that_are_none(server, request_line):
    assert status_of(answer_to(server, head(request=request_line))) == 400


def test_percent_in_a_header_is_a_percent(server):
    # Decoded, this would be a line of its own, or a name that was not sent.
    answer = answer_to(server, valid(X="%0d%0aSet-Cookie: a=b"))
    assert status_of(answer) == 200 and b"Set-Cookie" not in answer
    message, fields = modern(1, "tools/call", {"name": "list%5Fsessions", "arguments": {}})
    status, _, body = server.post(message, fields)
    assert (status, json.loads(body)["error"]["code"]) == (200, -32602)


def test_nobody_says_where_he_comes_from(state):
    with Server(state, "--log-level", "info") as server:
        answer_to(server, valid(REMOTE_ADDR="6.6.6.6", REMOTE_PORT="1"))
        server.stop()
        log = "".join(server.errors)
        assert "127.0.0.1 POST /mcp 200" in log and "6.6.6.6" not in log


def test_a_range_and_an_encoding_change_nothing(server):
    plain = answer_to(server, valid(X_Request_Id="one"))
    assert answer_to(server, valid(X_Request_Id="one", Range="bytes=0-1", Accept_Encoding="gzip")) == plain
    assert status_of(answer_to(server, valid(Range="bytes=" + "1-," * 2000))) == 200


def test_an_error_says_nothing_of_the_inside(server):
    answer = answer_to(server, head("Content-Length: 1", "Connection: close") + b"{")
    assert b"EXCEPTION" not in answer.upper().split(b"\r\n\r\n")[0]


def test_slow_loris(server):
    """Hundreds of heads, a byte at a time: they hold no thread."""
    slow = [server.socket() for _ in range(500)]
    for turn in range(5):
        for raw in slow:
            raw.sendall(b"GET / HTTP/1.1\r\n"[turn:turn + 1])
        assert server.is_well() < BESIDE_SLOW
    for raw in slow:
        raw.close()


def test_ten_thousand_idle_connections(server):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = min(10_000, hard - 500)
    before = server.memory_kib()
    idle = []
    try:
        for _ in range(wanted):
            idle.append(server.socket())
        assert server.is_well() < BESIDE_IDLE
        assert (server.memory_kib() - before) / wanted < 8, "KiB for one that says nothing"
    finally:
        for raw in idle:
            raw.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_idle_keep_alives_delay_nobody(server):
    kept = []
    for _ in range(50):
        connection = server.connection()
        message, fields = modern(1, "server/discover")
        connection.request("POST", "/mcp", json.dumps(message), {**JSON_HEADERS, **fields})
        assert connection.getresponse().read()
        kept.append(connection)
    assert server.is_well() < BESIDE_IDLE
    for connection in kept:
        connection.close()


def test_five_hundred_connect_at_once(server):
    started = time.monotonic()
    connected = []
    for _ in range(500):
        raw = socket.socket()
        raw.setblocking(False)
        raw.connect_ex(server.address)
        connected.append(raw)
    for raw in connected:
        raw.settimeout(30 * PATIENCE)
        raw.sendall(b"")
        assert raw.getpeername()
    assert time.monotonic() - started < 30 * PATIENCE
    for raw in connected:
        raw.close()


@pytest.fixture
def two(state):
    """A server for alice, whose token may only read, and bob."""
    with Server(state, no_auth=False) as started:
        yield started, *("Authorization: Bearer " + token(state, "--principal", name, *more)
                         for name, more in (("alice", ["--scope", "read"]), ("bob", [])))


def first_answered(raws, timeout=60):
    """The status that one of them has got, which is none of them any more."""
    ready = select.select(raws, [], [], timeout * PATIENCE)[0]
    assert ready, "nobody is answered"
    raws.remove(ready[0])
    with ready[0]:
        return status_of(read_all(ready[0]))


@pytest.mark.slow  # half a gigabyte goes through it
def test_bodies_of_one_keep_nobody_elses_out(two):
    server, alice, bob = two
    key = {"Authorization": bob.split(": ")[1]}
    made = server.request("POST", "/sandboxes", b'{"templateID": "base", "timeout": 3600}', {**key, "Content-Type": "application/json"})
    path = "/sandboxes/%s/files?path=there" % json.loads(made[2])["sandboxID"]
    upload = {**key, "Content-Type": "application/octet-stream"}
    piece, unfinished, before = bytes(MIB), [], server.memory_kib()
    for size in (90, 90, 90, 90, 90, 67):  # but for the first of each all that there is, and a little less
        unfinished.append(server.socket())
        unfinished[-1].sendall(head("Content-Length: %d" % (100 * MIB), alice))
        for _ in range(size):
            unfinished[-1].sendall(piece)
    until(lambda: server.memory_kib() - before > 510 * 1024, what="hers hold all the room")
    for _ in range(3):
        assert server.request("POST", path, piece * 4, upload)[0] == 201
    for raw in unfinished:
        raw.close()


def test_slow_bodies_of_one_keep_nobody_elses_out(two):
    server, alice, bob = two
    slow = []
    for _ in range(40):
        slow.append(server.socket())
        slow[-1].sendall(head("Content-Length: 100", alice) + b"{")
    for _ in range(8):
        assert first_answered(slow) == 503, "32 is what there is"
    message, fields = modern(1, "server/discover")
    body = json.dumps(message).encode()
    lines = ["%s: %s" % field for field in fields.items()]
    with server.socket() as raw:
        raw.sendall(head("Content-Length: %d" % len(body), "Connection: close", bob, *lines) + body[:-1])
        assert first_answered(slow) == 503, "she has more than her part"
        raw.sendall(body[-1:])
        assert status_of(read_all(raw)) == 200
    for raw in slow:
        raw.close()


def test_pipelined_requests_are_answered_in_order(server):
    message, fields = modern(1, "server/discover")
    one = [json.dumps({**message, "id": number}).encode() for number in range(20)]
    lines = [f"{name}: {value}" for name, value in fields.items()]
    wire = b"".join(head(f"Content-Length: {len(body)}", *lines) + body for body in one[:-1])
    wire += head(f"Content-Length: {len(one[-1])}", "Connection: close", *lines) + one[-1]
    answer = answer_to(server, wire)
    ids = [int(part.split(b",")[0].split(b"}")[0]) for part in answer.split(b'"id":')[1:]]
    assert ids == list(range(20))


def test_answers_nobody_reads(server):
    """A thousand requests for a listing, on connections that are never read from."""
    before = server.memory_kib()
    message, fields = modern(1, "tools/list")
    body = json.dumps(message).encode()
    lines = [f"{name}: {value}" for name, value in fields.items()]
    wire = (head(f"Content-Length: {len(body)}", *lines) + body) * 200
    deaf = []
    for _ in range(20):
        raw = server.socket(5)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setblocking(False)
        try:
            raw.send(wire)
        except OSError:
            pass
        deaf.append(raw)
    assert server.is_well() < BESIDE_DEAF
    assert server.memory_kib() - before < 100 * 1024
    for raw in deaf:
        raw.close()


def test_a_stream_nobody_reads(server):
    """A session's stream is left alone while its session goes on."""
    client = HttpClient(server, "2025-11-25")
    raw = server.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    fields = "".join(f"{name}: {value}\r\n" for name, value in client.headers.items())
    raw.sendall(f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n{fields}\r\n"
                .encode())
    for _ in range(50):
        assert client.request("tools/list")["tools"]
    raw.close()
