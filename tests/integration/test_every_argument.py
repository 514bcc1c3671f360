"""Each argument of each tool, as tools/list has them, with what no caller should send.

test_bad_input.py says what the errors are; here none may be missing, crash, or grow with the input.
"""

import json

import pytest

from hutch_client import Client
from test_bad_input import GOOD

BOUND = 62_000  # for a text, with some room
WRONG = {"string": [5, True, [], {}], "integer": ["x", True, [], 1.5], "number": ["x", True, []], "boolean": ["x", 1, []],
         "array": ["x", 5, {}], "object": ["x", 5, []]}
LARGE = "x" * 500_000
FORGED = "a\nfile 9 forged\x1b[2K"
BAD_TEXTS = (FORGED, LARGE, "nul\0")
LONG_TEXTS = ("code", "content", "new_text", "old_text")  # may be as large as that


def bad_values(name, schema):
    """Each with whether an error must come."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    for value in WRONG.get(kinds[0] if kinds else "", ()):
        yield value, True
    if "string" in kinds:
        for text in BAD_TEXTS:
            yield text, "enum" in schema or (text is LARGE and name not in LONG_TEXTS)
    if "array" in kinds:
        yield from (([text], False) for text in BAD_TEXTS)
        yield [7], True
    if "object" in kinds:
        yield from (({text: "v"}, False) for text in BAD_TEXTS)
        yield from (({"key": text}, False) for text in BAD_TEXTS)


@pytest.fixture(scope="module")
def client(module_state):
    with Client(module_state) as started:
        started.call("write_file", path="kept.txt", content="kept")
        yield started


@pytest.mark.parametrize("tool", sorted(GOOD))
def test_no_value_of_an_argument_is_too_much(client, tool):
    [listed] = [one for one in client.request("tools/list")["tools"] if one["name"] == tool]
    tried = 0
    for name, schema in listed["inputSchema"]["properties"].items():
        for value, must_fail in bad_values(name, schema):
            result = client.result(tool, **{**GOOD[tool], name: value})
            tried += 1
            shown = f"{tool}({name}={json.dumps(value)[:80]})"
            assert client.alive, shown
            text = "".join(block.get("text", "") for block in result["content"])
            assert len(text) < BOUND, f"{shown}: {len(text)} characters"
            assert len(json.dumps(result.get("structuredContent", ""))) < BOUND + 20_000, shown
            assert result["isError"] or not must_fail, f"{shown} was taken: {text[:300]}"
            if result["isError"]:
                assert "\x1b" not in text and text.strip(), shown
    assert tried > 0 or not listed["inputSchema"]["properties"]
    assert client.call("read_file", path="kept.txt")["content"] == "kept"


@pytest.mark.parametrize("tool", sorted(GOOD))
def test_half_a_character_fails_no_message(client, tool):
    """A result tells what became of it in any text; in a number or the like it is of the wrong type."""
    [listed] = [one for one in client.request("tools/list")["tools"] if one["name"] == tool]
    for name, schema in listed["inputSchema"]["properties"].items():
        value = {"array": ["HALF"], "object": {"a": "HALF"}}.get(schema["type"], "HALF")
        seen = len(client.stray)
        message = json.dumps({"jsonrpc": "2.0", "id": "half", "method": "tools/call", "params": {"name": tool, "arguments": {**GOOD[tool], name: value}}})
        client.send_raw(message.replace("HALF", "\\ude00").encode() + b"\n")
        result = client.wait_for_stray(seen + 1)[-1]["result"]
        said = result["content"][0]["text"]
        assert name in said and "half a character" in said, (name, said)
    client.call("edit_file", path="kept.txt", old_text="kept", new_text="kept")


@pytest.mark.parametrize("tool", sorted(GOOD))
def test_no_argument_takes_bytes_that_are_no_utf8(client, tool):
    [listed] = [one for one in client.request("tools/list")["tools"] if one["name"] == tool]
    for name in listed["inputSchema"]["properties"]:
        seen = len(client.stray)
        call = {"name": tool, "arguments": {**GOOD[tool], name: "bad"}}
        message = json.dumps({"jsonrpc": "2.0", "id": "bytes", "method": "tools/call", "params": call})
        client.send_raw(message.encode().replace(b'"bad"', b'"\xff"') + b"\n")
        answer = client.wait_for_stray(seen + 1)[-1]
        assert answer["error"] == {"code": -32700, "message": "message is not JSON in UTF-8"}, name
    assert client.call("read_file", path="kept.txt")["content"] == "kept"
