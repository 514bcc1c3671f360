"""/api/sandbox, as Agentcop documents it: its sample request, statuses, bounds, what is wrong."""

import time

import pytest

from hutch_client import PATIENCE
from http_server import Server, token
from test_sandbase import Api

# The sample of its page, but for the image's name, which it has too.
SAMPLE = {
    "agent_id": "data-processor",
    "mode": "container",
    "config": {
        "image": "agentcop/agent-sandbox:latest",
        "filesystem": {"read_only": ["/workspace/data"], "read_write": ["/workspace/output"], "blocked": ["/etc", "/root"]},
        "network": {"allow": ["api.company.com"], "block_outbound": True},
        "resources": {"cpu": "0.5", "memory": "512m", "timeout": 30},
    },
}


@pytest.fixture(scope="module")
def api(module_state):
    with Server(module_state, "--allow", "api.company.com", no_auth=False) as server:
        yield Api(server, token(module_state))


@pytest.fixture
def sandbox(api):
    status, made = api("POST", "/api/sandbox/create", {})
    assert status == 201, made
    yield f"/api/sandbox/{made['sandbox_id']}"
    api("DELETE", f"/api/sandbox/{made['sandbox_id']}")


def poll(api, path, until, seconds=30):
    deadline = time.monotonic() + seconds * PATIENCE
    while not until(answer := api("GET", path)):
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    return answer[1]


def test_the_sample(api):
    # But for its end, which a slow machine would meet.
    sample = {**SAMPLE, "config": {**SAMPLE["config"], "resources": {**SAMPLE["config"]["resources"], "timeout": 600}}}
    status, made = api("POST", "/api/sandbox/create", sample)
    assert status == 201 and set(made) == {"sandbox_id", "status", "mode", "created_at", "expires_at"}, made
    assert made["status"] == "ready" and made["mode"] == "container" and made["expires_at"] > made["created_at"]
    path = f"/api/sandbox/{made['sandbox_id']}"
    status, ran = api("POST", path + "/run", {"code": "import os\nprint(os.listdir('/etc'), sorted(os.listdir('.')))\n"
                                                      "open('output/a', 'w').write('kept')\nopen('data/a', 'w')", "timeout": 30})
    assert status == 200 and ran["status"] == "failed" and ran["stdout"] == "[] ['data', 'output']\n", ran
    assert "Read-only file system" in ran["error"]["message"] and ran["exit_code"] is None or ran["exit_code"] != 0, ran
    _, ran = api("POST", path + "/run", {"code": "import resource; print(open('output/a').read(), len(os.sched_getaffinity(0)) > 0)"})
    assert ran["stdout"] == "kept True\n" and ran["status"] == "completed", ran
    assert api("DELETE", path) == (204, b"")
    status, kept = api("GET", path)
    assert status == 200 and kept["status"] == "destroyed" and kept["sandbox_id"] == made["sandbox_id"]
    assert api("DELETE", path)[0] == 204
    status, refusal = api("POST", path + "/run", {"code": "1"})
    assert status == 409 and "destroyed" in refusal["error"]["message"]


def test_it_is_destroyed_with_its_timeout(api):
    made = api("POST", "/api/sandbox/create", {"config": {"resources": {"timeout": 1}}})[1]
    poll(api, f"/api/sandbox/{made['sandbox_id']}", lambda answer: answer[1]["status"] == "destroyed")


def test_runs(api, sandbox):
    run = sandbox + "/run"
    status, ran = api("POST", run, {"code": "x = 20\nprint('a')\nx + 22"})
    assert status == 200 and (ran["status"], ran["stdout"], ran["exit_code"]) == ("completed", "a\n", 0), ran
    assert ran["outputs"][0]["text"] == "42", ran
    assert api("POST", run, {"code": "print(x)"})[1]["stdout"] == "20\n", "state stays"
    _, ran = api("POST", run, {"code": "1/0"})
    assert ran["status"] == "failed" and ran["error"]["name"] == "ZeroDivisionError" and "Traceback" in ran["error"]["traceback"], ran
    _, ran = api("POST", run, {"code": "import time; time.sleep(60)", "timeout": 1})
    assert ran["status"] == "timed_out", ran


def test_what_is_cut_says_so_and_keeps_its_end(api, sandbox):
    begun = api("POST", sandbox + "/run", {"code": 'print("x" * 3000000); print("END")', "async": True})[1]
    polled = poll(api, f"{sandbox}/run/{begun['run_id']}", lambda answer: answer[1]["status"] == "completed")
    for ran in (api("POST", sandbox + "/run", {"code": 'print("x" * 3000000); print("END")'})[1], polled):
        assert ran["status"] == "completed" and ran["truncated"] is True and ran["stdout_bytes"] == 3000005 and "stderr_bytes" not in ran, ran.keys()
        assert ran["stdout"].startswith("xxx") and ran["stdout"].endswith("x\nEND\n") and " bytes left out ..." in ran["stdout"]
        of_files = f"/sandboxes/{sandbox.rpartition('/')[2]}/files?path={ran['stdout_file']}"
        assert api("GET", of_files)[1].endswith(b"x\nEND\n")
    assert "truncated" not in api("POST", sandbox + "/run", {"code": "print(1)"})[1]


def test_a_run_that_is_polled(api, sandbox):
    status, begun = api("POST", sandbox + "/run", {"code": "print('begun', flush=True)\nwhile not __import__('os').path.exists('go'): "
                                                           "__import__('time').sleep(0.02)\nprint('done')", "async": True})
    assert status == 202 and begun["status"] in ("queued", "running"), begun
    path = f"{sandbox}/run/{begun['run_id']}"
    assert poll(api, path, lambda answer: answer[1]["stdout"] == "begun\n")["status"] == "running"
    assert api("GET", sandbox)[1]["status"] == "running"
    api("POST", f"/sandboxes/{sandbox.rpartition('/')[2]}/files?path=go", raw=b"")
    ended = poll(api, path, lambda answer: answer[1]["status"] == "completed")
    assert ended["stdout"] == "begun\ndone\n" and ended["exit_code"] == 0
    assert api("GET", sandbox)[1]["status"] == "ready"
    other = api("POST", "/api/sandbox/create", {})[1]["sandbox_id"]
    assert api("GET", f"/api/sandbox/{other}/run/{begun['run_id']}")[0] == 404
    assert api("GET", sandbox + "/run/run_0")[0] == 404


def test_deleting_ends_the_run(api):
    made = api("POST", "/api/sandbox/create", {})[1]["sandbox_id"]
    begun = api("POST", f"/api/sandbox/{made}/run", {"code": "import time; time.sleep(600)", "timeout": 600, "async": True})[1]
    assert api("DELETE", f"/api/sandbox/{made}")[0] == 204
    assert poll(api, f"/api/sandbox/{made}/run/{begun['run_id']}", lambda answer: answer[1]["status"] == "cancelled")


@pytest.mark.parametrize("body, says", [
    ({"mode": "wasm"}, "wasm"), ({"mode": "vm"}, "mode must be"), ({"config": []}, "config"), ({"agent_id": 5}, "agent_id"),
    ({"config": {"image": 5}}, "config.image"), ({"config": {"resources": {"timeout": 3601}}}, "1 to 3600"),
    ({"config": {"resources": {"cpu": "many"}}}, "config.resources.cpu"), ({"config": {"resources": {"cpu": "-1"}}}, "config.resources.cpu"),
    ({"config": {"resources": {"cpu": "nan"}}}, "config.resources.cpu"), ({"config": {"resources": {"memory": "512x"}}}, "config.resources.memory"),
    ({"config": {"resources": {"memory": "999999999999g"}}}, "memory"), ({"config": {"resources": {"memory": "1m"}}}, "memory_mb"),
    ({"config": {"resources": {"disk": "1g"}}}, "disk"), ({"config": {"filesystem": []}}, "config.filesystem"),
    ({"config": {"filesystem": {"read_only": ["/srv/data"]}}}, "not granted"), ({"config": {"filesystem": {"blocked": ["/usr"]}}}, "cannot be blocked"),
    ({"config": {"network": {"allow": ["other.company.com"]}}}, "other.company.com"), ({"config": {"network": "open"}}, "config.network")])
def test_what_is_wrong_is_told(api, body, says):
    status, refusal = api("POST", "/api/sandbox/create", body)
    assert status == 400 == refusal["error"]["code"] and says in refusal["error"]["message"], refusal


def test_what_is_not_there(api, sandbox):
    assert api("POST", "/api/sandbox/create", {"config": {"image": "other/image:1"}})[0] == 404
    for method, path, status in [("GET", "/api/sandbox/session_0", 404), ("DELETE", "/api/sandbox/session_0", 404), ("POST", "/api/sandbox/session_0/run", 400),
                                 ("PUT", sandbox, 405), ("GET", sandbox + "/run", 405), ("POST", sandbox + "/run", 400)]:
        assert api(method, path, {} if method == "POST" else None)[0] == status, (method, path)
    status, refusal = api("POST", sandbox + "/run", {"code": "1", "timeout": 601})
    assert status == 400 and "1 to 600" in refusal["error"]["message"]
