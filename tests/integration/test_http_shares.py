"""Tests what is shared over HTTP: a client that may be on another machine is told no path of this one."""

import json
import os
import pathlib

import pytest

from hutch_client import LEGACY, MODERN
from http_server import HttpClient, Server, hang_up, open_stream


@pytest.fixture
def server(state):
    with Server(state, env={"HOME": state, "HUTCH_SHARE_DIR": f"{state}/hutch"}) as started:
        yield started


class OldTransport:
    """A client of HTTP+SSE."""

    def __init__(self, server):
        self.server = server
        self.connection, _, self.events = open_stream(server, "GET", "/sse", None, {"Accept": "text/event-stream"})
        self.target = self.events.next()["data"]
        self.request("initialize", {"protocolVersion": "2024-11-05", "capabilities": {},
                                    "clientInfo": {"name": "t", "version": "1"}})

    def request(self, method, params):
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert self.server.post(message, path=self.target)[0] == 202
        while "result" not in (message := self.events.message()):
            pass  # a notification
        return message["result"]

    def result(self, tool, **arguments):
        return self.request("tools/call", {"name": tool, "arguments": arguments})


@pytest.fixture(params=["/mcp " + LEGACY, "/mcp " + MODERN, "/sse"])
def client(request, server):
    if request.param == "/sse":
        opened = OldTransport(server)
        yield opened
        hang_up(opened.connection)
    else:
        yield HttpClient(server, request.param.split()[1])


def read(client, shared):
    uri = f"sandbox://shared/{shared}/f%20g.txt"
    return uri, client.request("resources/read", {"uri": uri})["contents"][0]["text"]


def test_no_path_of_the_host_is_told(client, state):
    results = [client.result("create_session", name="work"),
               client.result("write_file", path="f g.txt", content="x", session_id="work"),
               client.result("share_file", path="f g.txt", session_id="work"),
               client.result("list_sessions")]
    for result in results:
        assert result["isError"] is False and state not in json.dumps(result), result
    shared = next(name for name in os.listdir(pathlib.Path(state, "shared")))
    text = results[2]["content"][0]["text"]
    assert shared in text and f"\nto be read as sandbox://shared/{shared}/f%20g.txt" in text
    assert "host_path" not in json.dumps(results[2]) and "file://" not in json.dumps(results[2])
    uri, content = read(client, shared)
    assert content == "x" and uri in json.dumps(results[2]["content"])
    assert not pathlib.Path(state, "hutch").exists(), "the folder is of who works at this machine"


def test_not_even_of_what_fails(client, state):
    assert client.result("create_session", name="work")["isError"] is False
    client.result("write_file", path="f", content="x", session_id="work")
    store = pathlib.Path(state, "shared")
    store.rmdir()
    store.write_text("in the way")
    refused = client.result("share_file", path="f", session_id="work")
    assert refused["isError"] is True and state not in json.dumps(refused), refused
    assert refused["content"][0]["text"] == "make a place for the copy: Not a directory"


def test_the_answer_is_as_its_schema_says(server):
    client = HttpClient(server, MODERN)
    tool = next(tool for tool in client.request("tools/list")["tools"] if tool["name"] == "share_file")
    assert "host_path" in tool["outputSchema"]["properties"]
    assert "host_path" not in tool["outputSchema"]["required"]
