"""The order of checks: of two things that are wrong with a request, the answer names the one that
is looked at first. Raw sockets, so that nothing is repaired on the way."""

import copy
import itertools
import json
import pathlib
import socket
import sys

import pytest

from hutch_client import MODERN, PATIENCE, ROOT, hutch_binary

sys.path.append(str(ROOT / "tests" / "conformance"))

import servers  # noqa: E402

META = "io.modelcontextprotocol/"
HOST = "localhost"


@pytest.fixture(scope="module")
def port():
    with servers.fixtures(pathlib.Path(hutch_binary()).parent / "hutch-conformance-server") as one:
        yield int(one.url.split(":")[2].split("/")[0])


def post(port, headers, body):
    """Status, headers and parsed body of the answer to exactly these headers and this body."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = ["POST /mcp HTTP/1.1", f"Content-Length: {len(body)}", "Connection: close",
             *(f"{name}: {value}" for name, value in headers.items())]
    with socket.create_connection(("127.0.0.1", port), 30 * PATIENCE) as raw:
        raw.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    head, _, rest = answer.partition(b"\r\n\r\n")
    status_line, *fields = head.decode().split("\r\n")
    fields = dict(line.lower().split(": ", 1) for line in fields)
    return int(status_line.split()[1]), fields, json.loads(rest) if rest else None


class Request:
    """Headers and message, which each fault spoils a little."""

    def __init__(self, headers, message):
        self.headers = {"Host": HOST, "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream", **headers}
        self.message = message
        self.body = None  # sent instead of the message

    @property
    def meta(self):
        return self.message["params"]["_meta"]

    def send(self, port):
        return post(port, self.headers, self.message if self.body is None else self.body)


def modern_call():
    """A call of 2026-07-28 that every check lets through."""
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call",
               "params": {"name": "test_x_mcp_header", "arguments": {"region": "north"},
                          "_meta": {META + "protocolVersion": MODERN,
                                    META + "clientCapabilities": {}}}}
    return Request({"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call",
                    "Mcp-Name": "test_x_mcp_header", "Mcp-Param-Region": "north"}, message)


def set_header(name, value):
    return lambda request: request.headers.update({name: value})


def drop_header(name):
    return lambda request: request.headers.pop(name)


def replace_body(body):
    def spoil(request):
        request.body = body
    return spoil


def send_in_array(request):
    request.body = json.dumps([request.message]).encode()


def claim_unknown_revision(request):
    # The header goes along, unless another fault has changed it.
    if request.headers.get("MCP-Protocol-Version") == MODERN:
        request.headers["MCP-Protocol-Version"] = "2099-01-01"
    request.meta[META + "protocolVersion"] = "2099-01-01"


def ask_for_nothing_known(request):
    if request.headers.get("Mcp-Method") == request.message["method"]:
        request.headers["Mcp-Method"] = "nothing/known"
    request.message["method"] = "nothing/known"


def name_an_unknown_tool(request):
    request.message["params"]["name"] = request.headers["Mcp-Name"] = "nothing"


# Name, what it spoils, how, and the answer: status, code, a word of the message. In the order of
# the checks. Two that spoil the same cannot be tried together.
DOOR = [
    ("host", {"host"}, set_header("Host", "evil.example.com"), (403, -32000, "Host")),
    ("origin", {"origin"}, set_header("Origin", "http://evil.example.com"),
     (403, -32000, "Origin")),
    ("accept", {"accept"}, set_header("Accept", "application/json"), (406, -32000, "Accept")),
    ("content type", {"type"}, set_header("Content-Type", "text/plain"),
     (415, -32000, "Content-Type")),
    ("no json", {"body"}, replace_body(b'{"jsonrpc": "2.0", "id": 7,'), (400, -32700, "")),
]
MODERN_LADDER = [
    *DOOR,
    ("array", {"body", "id"}, send_in_array, (400, -32600, "batch")),
    ("id", {"id"}, lambda request: request.message.update(id=None), (400, -32600, "id")),
    ("capabilities", {"meta"}, lambda request: request.meta.pop(META + "clientCapabilities"),
     (400, -32602, "clientCapabilities")),
    ("other version", {"version"}, set_header("MCP-Protocol-Version", "2025-11-25"),
     (400, -32020, "MCP-Protocol-Version")),
    ("other method", {"method"}, set_header("Mcp-Method", "tools/list"),
     (400, -32020, "Mcp-Method")),
    ("unknown version", {"claim"}, claim_unknown_revision, (400, -32022, "version")),
    ("no version", {"version"}, drop_header("MCP-Protocol-Version"),
     (400, -32020, "MCP-Protocol-Version")),
    ("no method", {"method"}, drop_header("Mcp-Method"), (400, -32020, "Mcp-Method")),
    ("no name", {"name"}, drop_header("Mcp-Name"), (400, -32020, "Mcp-Name")),
    ("unknown method", {"name", "parameter"}, ask_for_nothing_known, (404, -32601, "method")),
    ("parameter", {"parameter"}, set_header("Mcp-Param-Region", "south"),
     (400, -32020, "Mcp-Param-Region")),
    ("unknown tool", {"name", "parameter"}, name_an_unknown_tool, (200, -32602, "tool")),
]


def pairs(ladder):
    return [pytest.param(first, second, id=f"{first[0]}, {second[0]}")
            for first, second in itertools.combinations(ladder, 2) if not first[1] & second[1]]


def check(port, request, expected, has_id=True):
    status, fields, answer = request.send(port)
    code, word = expected[1:]
    assert (status, answer["error"]["code"]) == (expected[0], code), answer
    assert word in answer["error"]["message"]
    assert fields["content-type"] == "application/json" and "mcp-session-id" not in fields
    # A message that was read has its id, another has none; null is no id.
    assert ("id" in answer) == has_id
    if has_id:
        assert answer["id"] == 7


def id_is_read(*rungs):
    return not any(rung in DOOR or rung[0] in ("array", "id") for rung in rungs)


def test_the_call_itself_passes(port):
    status, _, answer = modern_call().send(port)
    assert (status, answer["result"]["resultType"]) == (200, "complete")


@pytest.mark.parametrize("rung", [pytest.param(rung, id=rung[0]) for rung in MODERN_LADDER])
def test_each_fault_alone(port, rung):
    request = modern_call()
    rung[2](request)
    check(port, request, rung[3], id_is_read(rung))


@pytest.mark.parametrize("first,second", pairs(MODERN_LADDER))
def test_the_earlier_of_two_faults_is_named(port, first, second):
    request = modern_call()
    first[2](request)
    second[2](request)
    if first[0] == "array" and request.body is not None:
        first[2](request)  # with what the second has changed
    check(port, request, first[3], id_is_read(first))


def initialize(port, **headers):
    message = {"jsonrpc": "2.0", "id": 7, "method": "initialize",
               "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                          "clientInfo": {"name": "test", "version": "1"}}}
    return Request(headers, message).send(port)


@pytest.fixture(scope="module")
def session(port):
    status, fields, _ = initialize(port)
    assert status == 200
    return fields["mcp-session-id"]


def unknown_legacy_method(request):
    request.message["method"] = "nothing/known"


LEGACY_LADDER = [
    *DOOR,
    ("id", {"body", "id"}, lambda request: request.message.update(id=None), (400, -32600, "id")),
    ("no session", {"session"}, drop_header("Mcp-Session-Id"), (400, -32000, "Mcp-Session-Id")),
    ("version", {"version"}, set_header("MCP-Protocol-Version", "1999-01-01"),
     (400, -32000, "MCP-Protocol-Version")),
    ("unknown session", {"session"}, set_header("Mcp-Session-Id", "nobody"),
     (404, -32000, "session")),
    ("array", {"body", "id"}, send_in_array, (400, -32600, "batch")),
    ("unknown method", {"body"}, unknown_legacy_method, (200, -32601, "method")),
]


def legacy_list(session):
    return Request({"Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"},
                   {"jsonrpc": "2.0", "id": 7, "method": "tools/list"})


@pytest.mark.parametrize("rung", [pytest.param(rung, id=rung[0]) for rung in LEGACY_LADDER])
def test_each_legacy_fault_alone(port, session, rung):
    request = legacy_list(session)
    rung[2](request)
    check(port, request, rung[3], rung[0] == "unknown method")


@pytest.mark.parametrize("first,second", pairs(LEGACY_LADDER))
def test_the_earlier_of_two_legacy_faults_is_named(port, session, first, second):
    request = legacy_list(session)
    first[2](request)
    second[2](request)
    check(port, request, first[3], first[0] == "unknown method")


def test_no_error_of_the_modern_era_answers_a_legacy_client(port, session):
    # Clients take these codes for a server that speaks their revision.
    for rung in LEGACY_LADDER:
        assert rung[3][1] not in (-32020, -32021, -32022)
    status, fields, answer = initialize(port, **{"MCP-Protocol-Version": "1999-01-01"})
    assert status == 200 and answer["result"]["protocolVersion"] == "2025-11-25"
    assert fields["mcp-session-id"] != session


@pytest.mark.parametrize("arguments,headers,ok", [
    ({}, {}, True),
    ({"region": None}, {}, True),
    ({"region": "north"}, {"Mcp-Param-Region": "north"}, True),
    ({"region": "north"}, {"mcp-param-region": " north "}, True),
    ({"region": "north"}, {"Mcp-Param-Region": "=?base64?bm9ydGg=?="}, True),
    ({"region": "=?base64?bm9ydGg="}, {"Mcp-Param-Region": "=?base64?bm9ydGg="}, True),
    ({"region": ""}, {"Mcp-Param-Region": ""}, True),
    ({"region": "grün"}, {"Mcp-Param-Region": "=?base64?Z3LDvG4=?="}, True),
    ({"region": "north"}, {}, False),
    ({}, {"Mcp-Param-Region": "north"}, False),
    ({"region": None}, {"Mcp-Param-Region": "null"}, False),
    ({"region": "north"}, {"Mcp-Param-Region": "North"}, False),
    ({"region": "north"}, {"Mcp-Param-Region": "=?base64?bm9ydGg?="}, False),
    ({"region": "north"}, {"Mcp-Param-Region": "=?base64?bm9y*Gg=?="}, False),
    ({"region": "north"}, {"Mcp-Param-Region": "n%6Frth"}, False),
    ({"priority": 42}, {"Mcp-Param-Priority": "42"}, True),
    ({"priority": 42}, {"Mcp-Param-Priority": "42.0"}, True),
    ({"priority": -1}, {"Mcp-Param-Priority": "-1"}, True),
    ({"priority": 42}, {"Mcp-Param-Priority": "43"}, False),
    ({"priority": 42}, {"Mcp-Param-Priority": "0x2a"}, False),
    ({"priority": 9007199254740993}, {"Mcp-Param-Priority": "9007199254740992"}, False),
    ({"dry_run": True}, {"Mcp-Param-Dry-Run": "true"}, True),
    ({"dry_run": True}, {"Mcp-Param-Dry-Run": "True"}, False),
    ({"dry_run": False}, {"Mcp-Param-Dry-Run": "0"}, False),
])
def test_headers_repeat_arguments(port, arguments, headers, ok):
    request = modern_call()
    request.message["params"]["arguments"] = copy.deepcopy(arguments)
    del request.headers["Mcp-Param-Region"]
    request.headers.update(headers)
    status, _, answer = request.send(port)
    assert (status, answer.get("error", {}).get("code")) == ((200, None) if ok else (400, -32020))
