"""/v1/responses, in the shapes that Perplexity's Agent API documents for its sandbox."""

import json
import subprocess
import time

import pytest

from hutch_client import PATIENCE
from http_server import Server, token
from test_sandbase import Api

CSV = "open('squares.csv', 'w').write('\\n'.join(f'{i},{i*i}' for i in range(1, 11)))"


@pytest.fixture(scope="module")
def api(module_state):
    with Server(module_state, no_auth=False) as server:
        yield Api(server, token(module_state))


def post(api, code, **more):
    return api("POST", "/v1/responses", {"input": code, **more})


def test_an_item_is_as_documented(api):
    code = "vals = [(i, i*i) for i in range(1, 4)]\nprint('\\n'.join(f'{a},{b}' for a, b in vals))"
    status, answer = post(api, code, call_id="call_Y1Lo4H6cGFgNVsn4mwC0oSgc")
    assert status == 200 and answer["object"] == "response" and answer["status"] == "completed" and answer["error"] is None, answer
    [item] = answer["output"]
    assert set(item) == {"type", "call_id", "container_id", "language", "code", "status", "results"}
    assert item["type"] == "sandbox_results" and item["call_id"] == "call_Y1Lo4H6cGFgNVsn4mwC0oSgc" and item["language"] == "python"
    assert item["code"] == code and item["status"] == "completed"
    [result] = item["results"]
    assert set(result) == {"stdout", "stderr", "exit_code", "duration_ms", "status"}
    assert (result["stdout"], result["stderr"], result["exit_code"], result["status"]) == ("1,1\n2,4\n3,9\n", "", 0, "completed")
    assert isinstance(result["duration_ms"], int) and isinstance(answer["created_at"], int)
    assert answer["usage"]["tool_calls_details"]["sandbox"]["invocation"] == 1


def test_one_id_is_one_container(api):
    first = post(api, "x = 41", id="resp_mine")[1]
    second = post(api, "print(x + 1)", id="resp_mine", language="python")[1]
    third = post(api, "ls", id="resp_mine", language="bash")[1]
    assert first["id"] == "resp_mine" and len({item["container_id"] for item in third["output"]}) == 1
    assert second["output"][1]["results"][0]["stdout"] == "42\n"
    assert [item["language"] for item in third["output"]] == ["python", "python", "bash"]
    assert third["usage"]["tool_calls_details"]["sandbox"]["invocation"] == 3
    assert api("GET", "/v1/responses/resp_mine") == (200, third)


def test_what_is_cut_says_so_and_keeps_its_end(api):
    answer = post(api, 'print("x" * 3000000); print("END")', id="resp_long")[1]
    [result] = answer["output"][0]["results"]
    assert result["truncated"] is True and result["stdout_bytes"] == 3000005 and "stderr_file" not in result and "truncated" not in answer
    assert result["stdout"].startswith("xxx") and result["stdout"].endswith("x\nEND\n") and " bytes left out ..." in result["stdout"]
    shared = api("POST", "/v1/responses/resp_long/files", {"path": result["stdout_file"]})[1]
    assert len(api("GET", f"/v1/responses/resp_long/files/{shared['id']}/content")[1]) == 3000005


def test_the_oldest_of_very_many_calls_are_left_out_aloud(api):
    for i in range(100):
        answer = post(api, f"print({i})", id="resp_many")[1]
    assert len(answer["output"]) == 100 and "truncated" not in answer
    answer = post(api, "print(100)", id="resp_many")[1]
    assert answer["truncated"] is True and [item["results"][0]["stdout"] for item in answer["output"]] == [f"{i}\n" for i in range(1, 101)]


def test_in_the_background(api):
    status, begun = post(api, "import os, time\nwhile not os.path.exists('go'): time.sleep(0.02)\nprint('done')", background=True)
    assert status == 202 and begun["status"] in ("queued", "in_progress") and begun["background"] and begun["output"][0]["results"] == []
    post(api, "touch go", id=begun["id"], language="bash")
    deadline = time.monotonic() + 30 * PATIENCE
    while (polled := api("GET", f"/v1/responses/{begun['id']}")[1])["status"] in ("queued", "in_progress"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert polled["status"] == "completed" and polled["output"][0]["results"][0]["stdout"] == "done\n"
    begun = post(api, "import time; time.sleep(600)", background=True)[1]
    deadline = time.monotonic() + 30 * PATIENCE
    assert api("POST", f"/v1/responses/{begun['id']}/cancel")[0] == 200
    while (polled := api("GET", f"/v1/responses/{begun['id']}")[1])["status"] != "cancelled":
        assert time.monotonic() < deadline, polled
        time.sleep(0.05)


def test_the_table_of_errors(api):
    _, late = post(api, "while True: pass", timeout_seconds=1)
    assert late["status"] == "failed" and late["error"]["code"] == "timed_out", late
    assert late["output"][0]["status"] == late["output"][0]["results"][0]["status"] == "timed_out"
    _, wrong = post(api, "print('before')\n1/0")
    assert wrong["status"] == "completed" and wrong["error"] is None
    result = wrong["output"][0]["results"][0]
    assert result["exit_code"] != 0 and "ZeroDivisionError" in result["stderr"] and result["stdout"] == "before\n"
    _, wrong = post(api, "exit 3", language="bash")
    assert wrong["output"][0]["results"][0]["exit_code"] == 3
    _, large = post(api, "for (;;) console.log('x'.repeat(1 << 20))", language="javascript", timeout_seconds=60)
    assert large["status"] == "failed" and large["error"]["type"] == "limit_exceeded", large["error"]


def test_its_files(api, tmp_path):
    answer = post(api, CSV, id="resp_files")[1]
    status, shared = api("POST", "/v1/responses/resp_files/files", {"path": "squares.csv"})
    assert status == 200 and shared["object"] == "file"
    status, listed = api("GET", "/v1/responses/resp_files/files")
    assert listed == {"object": "list", "data": [shared]} and set(shared) == {"bytes", "created_at", "filename", "id", "object"}
    assert shared["filename"] == "squares.csv" and shared["bytes"] == 48 and shared["id"] != answer["id"]
    item = api("GET", "/v1/responses/resp_files")[1]["output"][-1]
    assert item["type"] == "share_file" and item["file_id"] == shared["id"]
    # The sample of its page.
    sample = ('curl https://api.perplexity.ai/v1/responses/$RESPONSE_ID/files/$FILE_ID/content \\\n'
              '    -H "Authorization: Bearer $PERPLEXITY_API_KEY" \\\n    -o anthropic_news.csv')
    sample = sample.replace("https://api.perplexity.ai", "http://%s:%d" % api.server.address)
    subprocess.run(["bash", "-ec", sample], cwd=tmp_path, check=True, timeout=60, capture_output=True, env={
        "PATH": "/usr/bin:/bin", "RESPONSE_ID": "resp_files", "FILE_ID": shared["id"], "PERPLEXITY_API_KEY": api.headers["Authorization"].split()[1]})
    assert (tmp_path / "anthropic_news.csv").read_text().splitlines()[9] == "10,100"
    status, fields, _ = api.server.request("GET", f"/v1/responses/resp_files/files/{shared['id']}/content", headers=api.headers)
    assert fields["Content-Type"] == "text/csv; charset=utf-8" and fields["Content-Disposition"] == 'attachment; filename="squares.csv"'
    assert api("GET", f"/v1/responses/{answer['id']}x/files")[0] == 404
    other = post(api, "1", id="resp_other")[1]["id"]
    assert api("GET", f"/v1/responses/{other}/files/{shared['id']}/content")[0] == 404
    assert api("DELETE", "/v1/responses/resp_files")[1]["deleted"] and api("GET", "/v1/responses/resp_files")[0] == 404


@pytest.mark.parametrize("body, says", [
    ({"model": "openai/gpt-5.5", "input": "Create a CSV with the first 10 Fibonacci numbers and their squares.", "tools": [{"type": "sandbox"}]}, "no model here"),
    ({}, "missing argument input"), ({"input": ""}, "input"), ({"input": 5}, "input"), ({"input": "1", "language": "cobol"}, "language"),
    ({"input": "1", "timeout_seconds": 601}, "1 to 600"), ({"input": "1", "id": "a/b"}, "name"), ({"input": "1", "id": "session_x"}, "name")])
def test_what_is_wrong_is_told(api, body, says):
    status, refusal = api("POST", "/v1/agent", body)
    assert status == 400 and refusal["error"]["type"] == "invalid_request" and says in refusal["error"]["message"], refusal


def test_who_may(api, module_state):
    post(api, "1", id="resp_whose")
    other = Api(api.server, token(module_state, "--principal", "other"))
    assert other("GET", "/v1/responses/resp_whose")[0] == 404 and other("GET", "/v1/responses/resp_whose/files")[0] == 404
    status, refusal = Api(api.server, "wrong")("GET", "/v1/responses/resp_whose")
    assert status == 401 and refusal["error"]["type"] == "authentication_error"
    assert json.dumps(refusal)
