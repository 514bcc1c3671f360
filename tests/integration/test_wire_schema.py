"""Holds what a server sends against the official JSON schemas: the golden replies of every revision, and
that the check itself can fail. Beside this, every message of every stdio test is checked by
hutch_client.Client."""

import json
import pathlib

import pytest

from wire_schema import wrong_message

DATA = pathlib.Path(__file__).resolve().parent.parent / "unit/mcp/data"
GOLDEN = sorted(DATA.rglob("*.reply.json"))


def method_of(request_text):
    try:
        request = json.loads(request_text)
        return request.get("method") if isinstance(request, dict) else None
    except (ValueError, RecursionError):
        return None


def of_revision(reply, revision, method):
    """A reply of one revision may answer a request that claims another."""
    if method == "initialize" and "result" in reply:
        return reply["result"]["protocolVersion"]
    return "2026-07-28" if "resultType" in reply.get("result", {}) else revision


def test_there_are_golden_replies():
    assert len(GOLDEN) > 400


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: f"{p.parent.name}/{p.name[:-len('.reply.json')]}")
def test_golden_replies_fit_their_schema(path):
    reply = json.loads(path.read_text())
    if reply is None:
        return
    method = method_of(path.with_name(path.name.replace(".reply.", ".request.")).read_bytes())
    for one in reply["in_order"] if isinstance(reply, dict) and "in_order" in reply else [reply]:
        for message in one if isinstance(one, list) else [one]:
            revision = of_revision(message, path.parent.name, method)
            asked = None if isinstance(one, list) or "method" in message else method
            assert wrong_message(revision, message, asked) is None


@pytest.mark.parametrize("revision,message,method", [
    ("2025-06-18", {"jsonrpc": "2.0", "id": 1, "result": {}}, "tools/list"),
    ("2025-06-18", {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "x"}]}}, "tools/list"),
    ("2025-11-25", {"jsonrpc": "2.0", "id": 1.5, "result": {"tools": []}}, "tools/list"),
    ("2026-07-28", {"jsonrpc": "2.0", "id": 1, "result": {"tools": []}}, "tools/list"),
    ("2026-07-28", {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}, "tools/call"),
    ("2024-11-05", {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "audio", "data": "", "mimeType": ""}]}},
     "tools/call"),
    ("2025-03-26", {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "resource_link", "uri": "x", "name": "x"}]}},
     "tools/call"),
    ("2025-06-18", {"jsonrpc": "2.0", "id": 1, "error": {"message": "x"}}, "ping"),
    ("2025-06-18", {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}, None),
    ("2025-06-18", {"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {}}, None),
])
def test_a_wrong_message_is_found(revision, message, method):
    assert wrong_message(revision, message, method)
