"""The wire: both eras over stdio, garbage, and the official client library."""

import asyncio
import json
import re
import subprocess

import mcp
import pytest
from mcp import StdioServerParameters

from boxes import until
from hutch_client import MODERN, Client, hutch_binary

TOOLS = ["run_code", "get_run", "cancel_run", "read_file", "write_file", "edit_file", "list_files", "share_file",
         "share_port", "install_packages", "create_session", "list_sessions", "pause_session", "resume_session",
         "delete_session"]


@pytest.mark.parametrize("asked,answered", [
    ("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-03-26"), ("2025-06-18", "2025-06-18"),
    ("2025-11-25", "2025-11-25"), ("2026-07-28", "2025-11-25"), ("1999-01-01", "2025-11-25")])
def test_negotiation(state, asked, answered):
    with Client(state, revision="none") as client:
        pass
    client = Client(state)
    result = client.request("initialize", {"protocolVersion": asked, "capabilities": {},
                                           "clientInfo": {"name": "t", "version": "1"}})
    assert result["protocolVersion"] == answered
    assert result["serverInfo"]["name"] == "hutch"
    assert "logging" not in result["capabilities"], "no tool of it sends log messages"
    client.close()


def as_sent(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_tools_list_is_small_and_whole(shared):
    tools = shared.request("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    size = sum(len(as_sent({k: t[k] for k in ("name", "description", "inputSchema")})) for t in tools)
    assert size <= 8000, size
    printed = sum(len(as_sent(t["outputSchema"])) for t in tools)
    print(f"names, descriptions and input schemas: {size} of 8000 characters; output schemas: {printed} of 6000")
    assert printed <= 6000, printed
    for tool in tools:
        assert tool["title"] and tool["annotations"] and tool["outputSchema"]["type"] == "object"
        # Clients hand it to a model as it is, and APIs of models take no choice of forms at its top.
        assert tool["inputSchema"]["type"] == "object" and not {"anyOf", "oneOf", "allOf", "not", "enum"} & tool["inputSchema"].keys(), tool["name"]


def test_results_fit_their_output_schemas(shared):
    import jsonschema
    schemas = {t["name"]: t["outputSchema"] for t in shared.request("tools/list")["tools"]}
    tried = set()
    for name, arguments in (
            ("run_code", {"code": "print(1)\n2"}), ("run_code", {"code": "1/0"}),
            ("write_file", {"path": "s.txt", "content": "x"}), ("read_file", {"path": "s.txt"}),
            ("edit_file", {"path": "s.txt", "old_text": "x", "new_text": "y"}), ("get_run", {}),
            ("list_files", {}), ("share_file", {"path": "s.txt"}), ("list_sessions", {}),
            ("create_session", {"name": "whole"}), ("pause_session", {"session_id": "whole"}),
            ("resume_session", {"session_id": "whole"}), ("delete_session", {"session_id": "whole"})):
        tried.add(name)
        jsonschema.validate(shared.call(name, **arguments), schemas[name])
    run_id = shared.run("import time; time.sleep(60)", background=True)["run_id"]
    jsonschema.validate(shared.call("get_run", run_id=run_id), schemas["get_run"])
    jsonschema.validate(shared.call("cancel_run", run_id=run_id), schemas["cancel_run"])
    assert schemas.keys() - tried == {"cancel_run", "install_packages", "share_port"}, "which can only be an error yet"


def required_by(schema):
    """Names that a result has in one of its forms."""
    return set(schema.get("required", [])).union(*map(required_by, schema.get("anyOf", [])))


FORMS = {"text", "markdown", "latex", "html", "json", "svg", "csv", "chart"}


def silent_members(value, kept=frozenset(), path=""):
    """Members that say nothing. The forms of an output are data of the code, in which all says something."""
    if isinstance(value, list):
        for at, entry in enumerate(value):
            yield from silent_members(entry, path=f"{path}[{at}]")
    if not isinstance(value, dict):
        return
    for name, member in value.items():
        if name in FORMS and re.search(r"\.outputs\[\d+\]$", path):
            continue
        if name not in kept and (member is None or member is False or member in ("", [], {})):
            yield f"{path}.{name}"
        yield from silent_members(member, path=f"{path}.{name}")


def test_what_says_nothing_is_left_out(state):
    """Every tool's answer leaves it out, but for what its schema requires."""
    with Client(state, "--packages") as client:
        schemas = {t["name"]: t["outputSchema"] for t in client.request("tools/list")["tools"]}
        tried = set()

        def call(tool, /, **arguments):
            tried.add(tool)
            answer = client.call(tool, **arguments)
            assert list(silent_members(answer, required_by(schemas[tool]))) == [], (tool, arguments, answer)
            assert required_by(schemas[tool]) - {"runs"} <= answer.keys() or "runs" in answer, (tool, answer)
            return answer

        call("get_run")
        call("list_files")
        call("list_sessions")
        runs = [call("run_code", code=code, language=language) for language, code in (
            ("python", "''"), ("python", "1"), ("python", "raise ValueError()"), ("python", "raise SystemExit"), ("python", "import os; os._exit(3)"),
            ("python", "[None, '', False, {}, []]"), ("python", "class A:\n    def __repr__(self): return ''\nA()"),
            ("python", "import json\nclass B:\n    def _repr_html_(self): return ''\n    def _repr_json_(self): return {}\nB()"),
            ("bash", "true"), ("bash", "exit 3"), ("bash", "kill -9 $$"), ("javascript", "undefined"), ("javascript", "null"),
            ("javascript", "throw new Error()"), ("sql", "SELECT NULL AS a, '' AS b, false AS c"), ("sql", "SELECT 1 WHERE false"),
            ("python", "open('made', 'w').close()"), ("bash", "rm made; mkdir empty"), ("python", "import socket\nsocket.create_connection(('evil.test', 80))"))]
        assert {"outputs", "files_changed", "stdout", "stderr"} <= runs[1].keys() and runs[1]["stdout"] == "", "what is required stays"
        call("get_run", run_id=runs[1]["run_id"])
        call("get_run", run_id=runs[2]["run_id"], stdout_offset=0)
        serves = call("run_code", code="python3 -m http.server 3000", language="bash", background=True)["run_id"]
        until(lambda: not client.result("share_port", port=3000)["isError"], what="the server")
        call("share_port", port=3000)
        call("get_run")
        call("list_sessions")
        call("cancel_run", run_id=serves)
        call("write_file", path="empty.txt", content="")
        call("read_file", path="empty.txt")
        call("edit_file", path=call("write_file", path="full.txt", content="x")["path"], old_text="x", new_text="")
        call("list_files", path="/workspace/empty")
        call("list_files", recursive=True, changed_since=runs[0]["run_id"])
        call("share_file", path="empty.txt")
        call("install_packages", packages=["-r none.txt"])
        session = call("create_session")["session_id"]
        call("create_session", name="named", network={"allow": []}, filesystem={"blocked": ["/etc"]}, env={})
        call("pause_session", session_id=session)
        call("resume_session", session_id=session)
        call("list_sessions")
        call("delete_session", session_id=session)
        call("get_run", session_id="named")
        assert tried == schemas.keys()


@pytest.mark.parametrize("language, code, form, value", [
    ("javascript", "({ [Symbol.for('Jupyter.display')]: () => ({ 'application/json': [] }) })", "json", []),
    ("python", "class J:\n    def _repr_json_(self): return {}\nJ()", "json", {}),
    ("python", "class J:\n    def _repr_json_(self): return False\nJ()", "json", False),
    ("python", "class J:\n    def _repr_json_(self): return ''\nJ()", "json", ""),
    ("python", "class J:\n    def _repr_json_(self): return {'a': None, 'b': [], 'c': {'d': ''}}\nJ()", "json", {"a": None, "b": [], "c": {"d": ""}}),
    ("python", "class E:\n    def __repr__(self): return ''\nE()", "text", ""),
])
def test_what_the_code_gives_is_never_left_out(shared, language, code, form, value):
    (output,) = shared.run(code, language)["outputs"]
    assert form in output["formats"] and output[form] == value and type(output[form]) is type(value), output


def test_a_label_without_words_is_one_in_a_chart_too(shared):
    (output,) = shared.run("({ type: 'bar', data: { labels: ['', ''], datasets: [{ label: '', data: [1, 2] }] } })", "javascript")["outputs"]
    assert output["chart"]["elements"] == [{"label": "", "value": 1}, {"label": "", "value": 2}], output


def test_modern_era(state):
    with Client(state, revision=MODERN) as client:
        found = client.request("server/discover")
        assert found["supportedVersions"] == [MODERN] and found["resultType"] == "complete"
        assert found["ttlMs"] >= 0 and found["cacheScope"] in ("public", "private")
        result = client.result("run_code", code="x = 3; x")
        assert result["resultType"] == "complete"
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "hutch"
        assert client.value("x") == "3"
        reply = client.reply(client.start("ping"))
        assert reply["error"]["code"] == -32601


def test_both_eras_on_one_pipe(state):
    with Client(state, revision=MODERN) as client:
        client.request("server/discover")
        client.revision = "2025-11-25"
        assert client.__enter__().initialized["protocolVersion"] == "2025-11-25"
        assert client.value("1") == "1"


def test_old_revisions_get_what_they_know(state):
    with Client(state, revision="2024-11-05") as client:
        tool = client.request("tools/list")["tools"][0]
        assert set(tool) == {"name", "description", "inputSchema"}
        client.result("write_file", path="f", content="x")
        result = client.result("share_file", path="f")
        assert set(result) == {"content", "isError"}
        assert {block["type"] for block in result["content"]} == {"text"}
        assert f"{state}/hutch/f" in result["content"][0]["text"]


@pytest.mark.parametrize("line,code", [
    (b"garbage\n", -32700), (b"{\n", -32700), (b"[]\n", -32600), (b"5\n", -32600),
    (b'{"jsonrpc":"1.0","id":null,"method":"ping"}\n', -32600),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
    (b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}\n', -32600),
    (b"[" * 100000 + b"\n", -32600),
    (b"\xff\xfe\xfa\n", -32700),
    (b'{"jsonrpc":"2.0"}\n', -32600),
])
def test_garbage_gets_an_error_and_the_server_lives(state, line, code):
    with Client(state) as client:
        client.send_raw(line)
        assert client.wait_for_stray()[0]["error"]["code"] == code
        assert client.request("ping") == {}


def test_unknown_methods_tools_and_cursors(shared):
    for method, params, code in (("nonsense", {}, -32601), ("resources/list", {"cursor": "x"}, -32602),
                                 ("tools/call", {"name": "nothing"}, -32602),
                                 ("tools/call", {}, -32602),
                                 ("tools/call", {"name": "run_code", "arguments": [1]}, -32602),
                                 ("tools/list", {"cursor": "x"}, -32602)):
        assert shared.reply(shared.start(method, params))["error"]["code"] == code


def test_a_duplicate_id_in_flight_is_refused(client):
    request = client.start_tool("run_code", code="import time; time.sleep(2); 'first'")
    client.send({"jsonrpc": "2.0", "id": request, "method": "tools/call",
                 "params": {"name": "list_sessions", "arguments": {}}})
    assert client.reply(request)["error"]["code"] == -32600
    assert client.reply(request)["result"]["structuredContent"]["outputs"][0]["text"] == "'first'"


def test_nothing_but_messages_on_standard_output(state):
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "run_code", "arguments": {"code": "print('to the pipe, not to stdout')"}}}]
    process = subprocess.run([hutch_binary(), "stdio", "--state-dir", state, "--log-level", "trace"],
                             input="".join(json.dumps(m) + "\n" for m in messages), text=True,
                             capture_output=True, timeout=60)
    assert process.returncode == 0
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    assert [line["id"] for line in lines] == [1, 2]
    assert "serving" in process.stderr


def test_json_logs(state):
    process = subprocess.run([hutch_binary(), "stdio", "--state-dir", state, "--log-level", "info",
                              "--log-format", "json"], input="", text=True, capture_output=True, timeout=60)
    entries = [json.loads(line) for line in process.stderr.splitlines()]
    assert entries and {"time", "level", "message"} <= set(entries[0])


def test_a_line_of_a_hundred_megabytes_does_not_hurt(state):
    with Client(state) as client:
        client.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"')
        for _ in range(120):
            client.send_raw(b"x" * (1 << 20))
        client.send_raw(b'"}}\n')
        assert client.reply(1)["error"]["code"] == -32600
        assert client.request("ping") == {}


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_official_client(state, mode):
    async def use():
        server = StdioServerParameters(command=hutch_binary(), args=["stdio", "--state-dir", state])
        async with mcp.Client(server, mode=mode) as client:
            assert [t.name for t in (await client.list_tools()).tools] == TOOLS
            first = await client.call_tool("run_code", {"code": "v = 20"})
            assert not first.is_error
            second = await client.call_tool("run_code", {"code": "v + 1"})
            assert second.structured_content["outputs"][0]["text"] == "21"
            wrong = await client.call_tool("read_file", {"path": "absent"})
            assert wrong.is_error

    asyncio.run(use())
