"""/sandboxes, as Sandbase documents it: its quick start, and every route with what is wrong."""

import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import environments
from hutch_client import PATIENCE
from http_server import Server, token

SAMPLE = Path(__file__).parent / "samples/002_sandbase_quick_start.py"


class Api:
    def __init__(self, server, secret):
        self.server = server
        self.headers = {"Authorization": f"Bearer {secret}"}

    def __call__(self, method, path, body=None, headers=None, raw=None):
        """Status and what was answered."""
        status, fields, got = self.server.request(method, path, raw if raw is not None else body and json.dumps(body),
                                                  {**self.headers, **(headers or {})})
        return status, json.loads(got) if fields["Content-Type"] == "application/json" else got

    def upload(self, sandbox, content, **parts):
        lines = [f'--xyz\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode() for name, value in parts.items()]
        lines.append(b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="up.bin"\r\n\r\n' + content + b"\r\n--xyz--\r\n")
        return self("POST", f"/sandboxes/{sandbox}/files", raw=b"".join(lines), headers={"Content-Type": "multipart/form-data; boundary=xyz"})


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state, no_auth=False) as started:
        yield started


@pytest.fixture(scope="module")
def api(server, module_state):
    return Api(server, token(module_state))


@pytest.fixture
def sandbox(api):
    status, made = api("POST", "/sandboxes", {"templateID": "base", "timeout": 600})
    assert status == 201, made
    yield made["sandboxID"]
    api("DELETE", f"/sandboxes/{made['sandboxID']}")


def test_the_quick_start_runs_as_it_is_but_for_address_and_key(state, tmp_path):
    with Server(state, no_auth=False, env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as server:
        sample = SAMPLE.read_text().replace("https://api.sandbase.ai", "http://%s:%d" % server.address)
        sample = sample.replace("sk-sb-YOUR_KEY", token(state))
        (tmp_path / "data.csv").write_text("city,people\nBern,134794\nUri,37000\n")
        ran = subprocess.run([sys.executable, "-c", sample], capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    version, *rest = ran.stdout.splitlines()
    assert version.count(".") == 2 and "Rows: 2, Columns: ['city', 'people']" in rest and "134794.0" in ran.stdout, ran.stdout


def test_the_life_of_a_sandbox(api):
    status, made = api("POST", "/sandboxes", {"templateID": "base", "timeout": 300})
    assert status == 201 and made["state"] == "running" and made["timeout"] == 300 and made["endAt"] > made["startedAt"], made
    assert (made["cpuCount"], made["memoryMB"], made["diskSizeMB"]) == (2, 4096, 10240)
    path = f"/sandboxes/{made['sandboxID']}"
    assert made["sandboxID"] in [one["sandboxID"] for one in api("GET", "/sandboxes")[1]]
    assert api("GET", path)[1]["state"] == "running"
    assert api("POST", path + "/pause")[1]["state"] == "paused" == api("GET", path)[1]["state"]
    assert api("POST", path + "/resume")[1]["state"] == "running"
    assert api("DELETE", path)[0] == 204
    for method, below in [("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("GET", "/files")]:
        status, refusal = api(method, path + below)
        assert status == 404 == refusal["code"] and made["sandboxID"] in refusal["message"], (method, below, refusal)
    assert made["sandboxID"] not in [one["sandboxID"] for one in api("GET", "/sandboxes")[1]]


def test_it_ends_with_its_timeout(api):
    sandbox = api("POST", "/sandboxes", {"templateID": "base", "timeout": 1})[1]["sandboxID"]
    deadline = time.monotonic() + 20 * PATIENCE
    while (status := api("GET", f"/sandboxes/{sandbox}")[0]) == 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert status == 404
    assert api("POST", f"/sandboxes/{sandbox}/processes", {"cmd": "true"})[0] == 404


def test_processes(api, sandbox):
    path = f"/sandboxes/{sandbox}/processes"
    status, ran = api("POST", path, {"cmd": "python3", "args": ["-c", "import sys, os\nprint('out', os.environ['A'], os.getcwd())\n"
                                                                "print('err', file=sys.stderr)\nsys.exit(3)"],
                                     "cwd": "/tmp", "envVars": {"A": "it's"}})
    assert status == 200 and (ran["stdout"], ran["stderr"], ran["exitCode"]) == ("out it's /tmp\n", "err\n", 3), ran
    _, ran = api("POST", path, {"cmd": "pwd", "cwd": "-", "envVars": {"CDPATH": "/usr", "OLDPWD": "/tmp"}})
    assert ran["exitCode"] != 0 and not ran["stdout"], ran
    # Nothing of one reaches the next, and an argument is what it is.
    hard = ["a b", "$HOME", "it's", '"', "`id`", "\n", "*", "", "\\", "-n", "ä"]
    _, ran = api("POST", path, {"cmd": "python3", "args": ["-c", "import sys, os; print(ascii(sys.argv[1:]), os.getcwd())", *hard]})
    assert ran["stdout"] == f"{ascii(hard)} /workspace\n", ran
    _, ran = api("POST", path, {"cmd": "nothing-of-that-name"})
    assert ran["exitCode"] == 127 and ran["status"] == "failed" and "nothing-of-that-name" in ran["stderr"]
    _, ran = api("POST", path, {"cmd": "sleep", "args": ["60"], "timeout": 1})
    assert ran["exitCode"] == 124 and ran["status"] == "timed_out", ran
    _, ran = api("POST", path, {"cmd": "head", "args": ["-c", "9000000", "/dev/zero"]})
    assert 6 * ran["stdout"].count("\0") == pytest.approx(1 << 20, abs=200) and ran["stdoutFile"].endswith("/stdout") and ran["exitCode"] == 0
    assert len(api("GET", f"/sandboxes/{sandbox}/files?path={ran['stdoutFile']}")[1]) == 9000000 == ran["stdoutBytes"]


def left_out(text):
    """How many bytes an answer's stream says that it lacks."""
    [number] = re.findall(r"^\.\.\. (\d+) bytes left out \.\.\.$", text, re.MULTILINE)
    return int(number)


def test_what_is_cut_says_so_and_keeps_its_end(api, sandbox):
    path = f"/sandboxes/{sandbox}/processes"
    _, ran = api("POST", path, {"cmd": "bash", "args": ["-c", "seq 2000000; echo THE ERROR; seq 300000 >&2; printf whole"]})
    assert ran["truncated"] is True and (ran["stdoutBytes"], ran["stderrBytes"]) == (14888896 + 10 + 5, 1988895), ran.keys()
    assert ran["stdout"].startswith("1\n2\n3\n") and ran["stdout"].endswith("\n2000000\nTHE ERROR\nwhole"), ran["stdout"][-100:]
    assert ran["stderr"].startswith("1\n2\n") and ran["stderr"].endswith("\n300000\n")
    for stream in ("stdout", "stderr"):
        whole = api("GET", f"/sandboxes/{sandbox}/files?path={ran[stream + 'File']}")[1]
        head, tail = re.split(r"\n\.\.\. \d+ bytes left out \.\.\.\n", ran[stream])
        assert whole.startswith(head.encode()) and whole.endswith(tail.encode()) and len(whole) == ran[stream + "Bytes"]
        assert len(head) + left_out(ran[stream]) + len(tail) == len(whole)
        assert len(json.dumps(ran[stream])) <= (1 << 20) + 2, "as it is printed"
    # Characters stay whole, whatever they are, and bytes that are none are marks.
    for code in ("print('ä€😀' * 300_000)", "import sys; sys.stdout.buffer.write(b'\\xff\\x80' * 700_000)"):
        _, ran = api("POST", path, {"cmd": "python3", "args": ["-c", code]})
        assert ran["truncated"] and left_out(ran["stdout"]) > 0 and set(re.sub(r"\n\.\.\. .*\n", "", ran["stdout"]).strip()) <= set("ä€😀" if "print" in code else "\ufffd")
        assert len(json.dumps(ran["stdout"], ensure_ascii=False).encode()) <= (1 << 20) + 2
    _, ran = api("POST", path, {"cmd": "seq", "args": ["100000"]})
    assert not {"truncated", "stdoutBytes", "stdoutFile", "stderrBytes", "stderrFile"} & set(ran) and ran["stdout"].endswith("\n100000\n")


def test_a_line_for_a_shell_is_told_how_it_works(api, sandbox):
    path = f"/sandboxes/{sandbox}/processes"
    _, ran = api("POST", path, {"cmd": "echo hi; pwd"})
    assert ran["exitCode"] == 127 and 'cmd "bash" with args ["-c", LINE]' in ran["note"], ran
    assert "note" not in api("POST", path, {"cmd": "nothing-of-that-name"})[1]
    assert api("POST", path, {"cmd": "bash", "args": ["-c", "echo hi; pwd"]})[1]["stdout"] == "hi\n/workspace\n"


def test_half_a_character_is_content_in_arguments_and_refused_in_names(api, sandbox):
    path = f"/sandboxes/{sandbox}/processes"
    status, ran = api("POST", path, raw=rb'{"cmd": "printenv", "args": ["A"], "envVars": {"A": "a\ud83d"}}')
    assert status == 200 and ran["stdout"] == "a\ufffd\n", ran
    status, ran = api("POST", path, raw=rb'{"cmd": "echo", "args": ["\ude00b"]}')
    assert status == 200 and ran["stdout"] == "\ufffdb\n", ran
    for raw, name in ((rb'{"cmd": "\ud83d"}', "cmd"), (rb'{"cmd": "true", "cwd": "/\ud83d"}', "cwd"), (rb'{"cmd": "true", "envVars": {"\ud83d": ""}}', "envVars")):
        status, refusal = api("POST", path, raw=raw)
        assert status == 400 and refusal["message"].startswith(name) and "half a character" in refusal["message"], refusal
    status, refusal = api("POST", "/sandboxes", raw=rb'{"templateID": "\ud83d"}')
    assert status == 400 and refusal["message"].startswith("templateID has half a character"), refusal


def test_codes_of_terminals_come_as_they_were_written(api, sandbox):
    written = "\x1b[31mred\x1b[0m one\x1b[1Gtwo\x1b[2Jrest a\bb 10%\r20%\n" + "same\n" * 500
    _, ran = api("POST", f"/sandboxes/{sandbox}/processes", {"cmd": "python3", "args": ["-c", f"import sys; sys.stdout.write({written!r}); sys.stderr.write({written!r})"]})
    assert ran["stdout"] == written and ran["stderr"] == written, ran


def test_a_list_is_never_shortened(api, sandbox):
    api("POST", f"/sandboxes/{sandbox}/processes", {"cmd": "python3", "args": ["-c", "import os\nos.makedirs('many/deep')\nfor i in range(700): open(f'many/{i:03}', 'w').close()"]})
    _, listed = api("GET", f"/sandboxes/{sandbox}/files?path=/workspace/many")
    assert [entry["name"] for entry in listed["entries"]] == [*(f"{i:03}" for i in range(700)), "deep"] and listed["truncated"] is False, listed["truncated"]


def test_files(api, sandbox):
    path = f"/sandboxes/{sandbox}/files"
    every_byte = bytes(range(256)) * 300 + b"\r\n--xy"
    status, made = api.upload(sandbox, every_byte, path="/workspace/a/b ü.bin")
    assert status == 201 and made == {"name": "b ü.bin", "path": "/workspace/a/b ü.bin", "type": "file", "size": len(every_byte)}
    assert api("GET", path + "?path=/workspace/a/b%20%C3%BC.bin")[1] == every_byte
    assert api.upload(sandbox, b"x", path="/workspace/a/")[1]["path"] == "/workspace/a/up.bin"
    assert api.upload(sandbox, b"x")[1]["path"] == "/workspace/up.bin"
    assert api("POST", path + "?path=raw.txt", raw=b"raw")[1]["size"] == 3
    status, listed = api("GET", path + "?path=/workspace")
    assert [(entry["name"], entry["type"], entry["size"]) for entry in listed["entries"] if entry["type"] == "file"] == \
        [("raw.txt", "file", 3), ("up.bin", "file", 1)] and not listed["truncated"]
    assert ("a", "dir") in [(entry["name"], entry["type"]) for entry in listed["entries"]]
    status, fields, body = api.server.request("GET", path + "?path=raw.txt", headers={**api.headers, "Range": "bytes=1-"})
    assert (status, body, fields["Content-Range"]) == (206, b"aw", "bytes 1-2/3")
    assert fields["Content-Disposition"] == 'attachment; filename="raw.txt"'
    assert api("GET", path + "?path=/nothing")[0] == 404


def test_an_upload_of_100_mib(api, sandbox):
    large = b"0123456789abcdef" * (100 << 16)
    status, made = api.upload(sandbox, large, path="large")
    assert status == 201 and made["size"] == len(large) == 100 << 20, made
    assert api("GET", f"/sandboxes/{sandbox}/files?path=large")[1] == large
    status, refusal = api("POST", f"/sandboxes/{sandbox}/files?path=more", raw=large + b"x")
    assert status == 413 == refusal["code"] and "104857600 bytes (100 MiB)" in refusal["message"] and "hutch cp" in refusal["message"], refusal
    # Also where no path takes so much: the client sends all of it before it reads why not.
    for more in (large * 2, large * 4):
        status, refusal = api("POST", f"/sandboxes/{sandbox}/files?path=more", raw=more)
        assert status == 413 == refusal["code"] and "104857600 bytes (100 MiB)" in refusal["message"], refusal
        assert "hutch cp" in refusal["message"] and "--mount" in refusal["message"] and "pieces" in refusal["message"], refusal
    # A client that goes in the middle leaves nothing.
    connection = api.server.connection()
    connection.putrequest("POST", f"/sandboxes/{sandbox}/files?path=half")
    connection.putheader("Content-Length", str(len(large)))
    connection.putheader("Authorization", api.headers["Authorization"])
    connection.endheaders(large[:1 << 20])
    connection.close()
    assert api("GET", f"/sandboxes/{sandbox}/files?path=half")[0] == 404


@pytest.mark.parametrize("path, body, says", [
    ("/sandboxes", {"timeout": 3601}, "1 to 3600"), ("/sandboxes", {"timeout": 0}, "1 to 3600"), ("/sandboxes", {"timeout": "5"}, "whole number"),
    ("/sandboxes", {"templateID": 5}, "templateID must be"), ("/sandboxes", {"envVars": {"A": 1}}, "strings"),
    ("/sandboxes", {"envVars": {"A=B": ""}}, "no name of a variable"), ("/sandboxes", [1], "JSON object"),
    ("{}/processes", {}, "missing argument cmd"), ("{}/processes", {"cmd": ""}, "cmd"), ("{}/processes", {"cmd": "true", "args": "x"}, "args"),
    ("{}/processes", {"cmd": "true", "args": [1]}, "strings"), ("{}/processes", {"cmd": "true", "args": ["\0"]}, "NUL"),
    ("{}/processes", {"cmd": "true", "timeout": 601}, "1 to 600"), ("{}/files", None, "path is missing")])
def test_what_is_wrong_is_told(api, sandbox, path, body, says):
    status, refusal = api("POST", path.format(f"/sandboxes/{sandbox}"), body)
    assert status == 400 == refusal["code"] and says in refusal["message"], refusal


def test_no_json_and_unknown_templates(api, sandbox):
    assert api("POST", "/sandboxes", raw=b"{") == (400, {"code": 400, "message": "the body must be a JSON object"})
    status, refusal = api("POST", "/sandboxes", {"templateID": "claude"})
    assert status == 404 and "claude" in refusal["message"] and "host" in refusal["message"]
    status, refusal = api("POST", f"/sandboxes/{sandbox}/processes", raw=b"[" * 100_000)
    assert status == 400, refusal


def test_who_may(api, server, module_state, sandbox):
    path = f"/sandboxes/{sandbox}"
    status, refusal = Api(server, "sk-sb-wrong")("GET", path)
    assert status == 401 == refusal["code"] and "token" in refusal["message"], refusal
    other = Api(server, token(module_state, "--principal", "other"))
    assert other("GET", path)[0] == 404 and other("DELETE", path)[0] == 404 and other("GET", "/sandboxes")[1] == []
    reader = Api(server, token(module_state, "--scope", "read"))
    assert reader("GET", path)[0] == 200 == reader("GET", path + "/files")[0]
    for method, below, body in [("POST", "/processes", {"cmd": "true"}), ("DELETE", "", None), ("POST", "/pause", None), ("POST", "/files?path=x", {})]:
        status, refusal = reader(method, path + below, body)
        assert status == 403 == refusal["code"] and "may only read" in refusal["message"], refusal
    assert reader("POST", "/sandboxes", {})[0] == 403


def test_a_process_ends_when_its_client_has_gone(api, sandbox):
    path = f"/sandboxes/{sandbox}"
    connection = api.server.connection()
    connection.request("POST", path + "/processes", json.dumps({"cmd": "sh", "args": ["-c", "touch begun; sleep 600; touch ended"]}), api.headers)
    deadline = time.monotonic() + 30 * PATIENCE
    while api("GET", path + "/files?path=begun")[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    connection.close()
    assert api("POST", path + "/processes", {"cmd": "echo", "args": ["next"]})[1]["stdout"] == "next\n"


def test_a_body_that_is_held_back(api, sandbox):
    """As curl holds back one of a MiB."""
    body = json.dumps({"cmd": "echo", "args": ["x", "-n"], "more": "y" * (1 << 20)}).encode()
    with api.server.socket() as raw:
        raw.sendall(f"POST /sandboxes/{sandbox}/processes HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                    f"Authorization: {api.headers['Authorization']}\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 100 ")
        raw.sendall(body)
        answer = raw.recv(10000)
    assert b"Content-Length: " in answer and b"x -n" in answer, answer


def test_others_are_served_while_processes_run(api, sandbox):
    waits = threading.Thread(target=api, args=("POST", f"/sandboxes/{sandbox}/processes", {"cmd": "sh", "args": ["-c", "while [ ! -e go ]; do sleep 0.05; done"]}))
    waits.start()
    assert api("GET", f"/sandboxes/{sandbox}")[0] == 200
    assert api("POST", f"/sandboxes/{sandbox}/files?path=go", raw=b"")[0] == 201
    waits.join(60 * PATIENCE)
    assert not waits.is_alive()


def test_what_is_served_is_described(server):
    status, headers, got = server.request("GET", "/openapi.json")
    described = json.loads(got)
    assert status == 200 and headers["Content-Type"] == "application/json" and described["openapi"] == "3.1.0"
    made = described["paths"]["/sandboxes"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert made["properties"]["templateID"] == {"type": "string"}
    execute = described["paths"]["/execute"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "code" in execute["properties"] and "requestBody" not in described["paths"]["/files"]["get"]
    for path, method, names in (("/sandboxes/{id}/files", "get", ["path"]), ("/sandboxes/{id}/files", "post", ["path"]), ("/sandboxes/{id}/archive", "get", ["path"]),
                                ("/files", "get", ["path", "signature", "signature_expiration", "username"]), ("/sandboxes/{id}/metrics", "get", ["end", "start"])):
        of_query = [one for one in described["paths"][path][method]["parameters"] if one["in"] == "query"]
        assert sorted(one["name"] for one in of_query) == names and all(one["description"] and not one["required"] for one in of_query), (path, method)
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert operation.get("summary") and len(operation["summary"]) < 160 and "\n" not in operation["summary"], (method, path)
    look = described["paths"]["/sandboxes/{id}"]["get"]
    assert look["parameters"] == [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    # Each is there, and asks for what it says.
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            status = server.request(method.upper(), path.replace("{", "").replace("}", ""), "{}")[0]
            is_open = operation.get("security") == []
            assert (status == 401) == (not is_open) and status != 405 and (is_open or status in (400, 401, 404, 502)), (method, path, status)


def test_a_text_says_that_it_is_utf8_where_it_is(server, api, sandbox):
    for name, content, kind in (("a.txt", "hällo".encode(), "text/plain; charset=utf-8"), ("b.txt", "hällo".encode("latin-1"), "text/plain"),
                                ("c.json", '"ü"'.encode(), "application/json")):
        status, written = api.upload(sandbox, content, path=f"/workspace/{name}")
        assert status == 201, written
        status, fields, got = server.request("GET", f"/sandboxes/{sandbox}/files?path=/workspace/{name}", None, api.headers)
        assert status == 200 and fields["Content-Type"] == kind, (name, fields)
