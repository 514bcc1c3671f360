"""How hosts treat a server on standard input: probed, started twice, dropped, fed anything at all.

Whatever comes in, what goes out are whole messages, and the process ends with its input.
"""

import json
import random
import signal
import statistics
import subprocess
import time

import pytest

from hutch_client import MODERN, PATIENCE, Client, hutch_binary

ENVELOPE = {"_meta": {"io.modelcontextprotocol/protocolVersion": MODERN,
                      "io.modelcontextprotocol/clientCapabilities": {}}}
DISCOVER = json.dumps({"jsonrpc": "2.0", "id": "server-discover-probe-1",
                       "method": "server/discover", "params": ENVELOPE}).encode() + b"\n"
PING = b'{"jsonrpc":"2.0","id":"last","method":"ping"}\n'
STARTS = 20


def command(state):
    return [hutch_binary(), "stdio", "--state-dir", state, "--log-level", "error"]


def messages(output):
    """Every line is a whole message, the last one too."""
    assert output == b"" or output.endswith(b"\n")
    parsed = [json.loads(line) for line in output.splitlines()]
    assert all(message["jsonrpc"] == "2.0" for message in parsed)
    return parsed


def answers(state, data):
    """Returns what hutch says to these bytes and their end; it then ends, as it should."""
    ended = subprocess.run(command(state), input=data, capture_output=True, timeout=60 * PATIENCE)
    assert ended.returncode == 0, ended.stderr
    return messages(ended.stdout)


def start(state):
    return subprocess.Popen(command(state), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def probe(process):
    process.stdin.write(DISCOVER)
    process.stdin.flush()
    found = json.loads(process.stdout.readline())
    assert found["id"] == "server-discover-probe-1"
    assert found["result"]["supportedVersions"] == [MODERN]


def seconds(action):
    started = time.monotonic()
    action()
    return time.monotonic() - started


def test_a_probe_is_answered_at_once(state):
    """Within 100 ms of the start; on a machine that is slow to start anything, within what it takes
    to start a small program thirty times."""
    probed, plain = [], []
    for _ in range(STARTS):
        plain.append(seconds(lambda: subprocess.run(["/bin/true"], check=True)))
        started = time.monotonic()
        process = start(state)
        probe(process)
        probed.append(time.monotonic() - started)
        process.communicate(timeout=30 * PATIENCE)
    print(f"discovered in {statistics.median(probed) * 1000:.1f} ms, best {min(probed) * 1000:.1f}; "
          f"/bin/true in {statistics.median(plain) * 1000:.1f} ms")
    allowed = max(0.1, 30 * statistics.median(plain)) * PATIENCE
    assert statistics.median(probed) < allowed or min(probed) < 0.1


def test_started_twice_and_the_probe_dropped(state):
    """As clients do that probe a sibling: both are there, the first goes, the second serves."""
    first, second = start(state), Client(state)
    probe(first)
    with second:
        assert second.value("n = 1; n") == "1"
        first.kill()
        first.communicate()
        assert second.value("n + 1") == "2"


@pytest.mark.parametrize("sent", [0, 1, len(DISCOVER) // 2, len(DISCOVER)])
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_ended_while_probed(state, sent, ending):
    process = start(state)
    process.stdin.write(DISCOVER[:sent])
    process.stdin.flush()
    process.send_signal(ending)
    output, errors = process.communicate(timeout=30 * PATIENCE)
    # SIGTERM may come before it is there to handle it.
    assert process.returncode == -ending or (ending == signal.SIGTERM and process.returncode == 0), errors
    assert len(messages(output)) <= 1
    assert answers(state, PING) == [{"jsonrpc": "2.0", "id": "last", "result": {}}]


@pytest.mark.parametrize("half, said", [
    *[(half, None) for half in (b"", b"\n", b"\r\n \n\t\n", b"{", b'"', b"\xe2\x82", b"\x00", b"[[[[", b"5")],
    (DISCOVER[:-20], "server-discover-probe-1"),
    (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code"', 1)])
def test_half_a_message_and_the_end(state, half, said):
    for message in answers(state, half):
        assert message["error"]["code"] in (-32700, -32600) and message.get("id") == said
    assert answers(state, half + b"\n" + PING)[-1]["id"] == "last"


@pytest.mark.parametrize("value", [
    b"[" * 200_000 + b"]" * 200_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    b'"\xff\xfe"', b'"\\ud800"', b"1e999999", b"-" + b"9" * 100_000, b'"' + b"x" * (8 << 20) + b'"',
    b"{" + b",".join(b'"k%d":0' % n for n in range(200_000)) + b"}"],
    ids=["arrays", "objects", "bytes", "surrogate", "exponent", "digits", "long", "wide"])
def test_anything_as_an_argument_of_a_good_message(state, value):
    call = (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
            b'{"name":"list_files","arguments":{"path":' + value + b"}}}\n")
    first, last = answers(state, call + PING)
    if first.get("id") == "last":
        first, last = last, first
    assert last == {"jsonrpc": "2.0", "id": "last", "result": {}}
    assert "error" in first or first["result"]["isError"]


def test_thousands_of_spoilt_messages(state):
    """One process takes them all; each line gets at most one answer, and the last is answered."""
    chance = random.Random(20)
    call = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": ENVELOPE}).encode()
    lines = []
    for _ in range(3000):
        line = bytearray(chance.choice([DISCOVER[:-1], call, PING[:-1]]))
        for _ in range(chance.randrange(1, 6)):
            line[chance.randrange(len(line))] = chance.choice(b'{}[]",:0\\\xff\x00e')
        lines.append(bytes(line))
    said = answers(state, b"\n".join(lines) + b"\n" + PING)
    assert len(said) <= len(lines) + 1
    assert {"jsonrpc": "2.0", "id": "last", "result": {}} in said
