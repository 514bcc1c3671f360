"""hutch logs --trace: where the time of a run went, in each process that had it."""

import ctypes
import json
import pathlib
import platform
import re
import struct
import subprocess
import time

import pytest

from boxes import children_of, processes_of
from http_server import Server, token
from hutch_client import PATIENCE, Client, hutch_binary
from test_sandbase import Api

LINE = re.compile(r" *([\d.]+) ms  \+([\d.]+) +(hutch|hutch-box|interpreter) +(.+)")
SERVER = ["the call came in", "its session was found", "its box was found, or started", "its row was written"]
BOX_FIRST = ["the run was accepted", "its turn came"]
BOX_LAST = ["its end was heard of", "changed files were found; the record is about to be written",
            "the end was seen; its row is about to be written"]
CODE = ["the code began", "the code ended"]


def trace_of(state, *run):
    """Milliseconds since the first by place, in the order in which they were printed."""
    said = subprocess.run([hutch_binary(), "logs", "--trace", *run, "--state-dir", state],
                          capture_output=True, text=True, timeout=60 * PATIENCE, check=True).stdout
    lines = [LINE.fullmatch(line) for line in said.splitlines()]
    assert lines and all(lines), said
    return {line[4]: float(line[1]) for line in lines}


def active(client, session):
    return [run for run in client.call("get_run", session_id=session)["runs"] if run["status"] in ("queued", "running")]


def test_each_language_says_where_its_time_went(state):
    with Client(state) as client:
        for language, code, takes_ms in (
                ("python", "import time; time.sleep(0.3); print(1)", 300),
                ("javascript", "await new Promise((done) => setTimeout(done, 300)); console.log(1)", 300),
                ("sql", "SELECT 1", 0),
                ("bash", "sleep 0.3; echo 1", 300)):
            run = client.call("run_code", language=language, code=code)
            at = trace_of(state, run["run_id"])
            assert list(at.values()) == sorted(at.values()), at
            for place in [*SERVER, *BOX_FIRST, *BOX_LAST]:
                assert place in at, (language, place, at)
            begun, ended = "its turn came", "its end was heard of"
            if language != "bash":
                assert "its code was sent" in at
                begun, ended = CODE
            assert at[ended] - at[begun] >= takes_ms - 5, (language, at)


def test_a_run_that_waits_says_so(state):
    with Client(state) as client:
        session = client.call("create_session")["session_id"]
        ahead = client.start_tool("run_code", session_id=session, code="""
import os, time
while not os.path.exists("go"): time.sleep(0.01)
""")
        deadline = time.monotonic() + 60 * PATIENCE
        while not active(client, session):
            assert time.monotonic() < deadline
        behind = client.start_tool("run_code", session_id=session, code="1")
        while len(active(client, session)) < 2:
            assert time.monotonic() < deadline
        waits_since = time.monotonic()
        waiting = active(client, session)[0]
        waited_ms = (time.monotonic() - waits_since) * 1000
        client.call("write_file", session_id=session, path="go", content="")
        client.reply(ahead)
        client.reply(behind)
        at = trace_of(state, waiting["run_id"])
        assert at["its turn came"] - at["the run was accepted"] >= waited_ms - 1, at


def test_the_record_has_it_and_no_client_does(state):
    with Client(state) as client:
        run = client.call("run_code", code="print(1)")
        assert "trace" not in run
        assert "trace" not in client.call("get_run", run_id=run["run_id"])
        session = client.call("list_sessions")["sessions"][0]["session_id"]
    record = json.loads((pathlib.Path(state) / "sessions" / session / "runs" / run["run_id"] / "record.json").read_text())
    first, *since = record["trace"]
    assert first > 1.7e15 and len(since) == 14 and since[0] == 0
    assert all(later is None or later >= 0 for later in since)
    assert since[-1] is None, "the server sees it once the record is there"


def records(state):
    return set(pathlib.Path(state).glob("sessions/*/runs/*/record.json"))


def test_each_door_says_when_the_call_came(state, tmp_path):
    """And of another principal's runs their records do, to whoever can read them."""
    with Server(state, no_auth=False) as server:
        api = Api(server, token(state, "--principal", "somebody"))
        agentcop = api("POST", "/api/sandbox/create", {})[1]["sandbox_id"]
        sandbase = api("POST", "/sandboxes", {"templateID": "base"})[1]["sandboxID"]
        program = tmp_path / "program.py"
        program.write_text("print(1)\n")
        hutch = [hutch_binary(), "--state-dir", state]
        for call in (lambda: api("POST", "/v1/responses", {"input": "1"}),
                     lambda: api("POST", f"/api/sandbox/{agentcop}/run", {"code": "1"}),
                     lambda: api("POST", f"/sandboxes/{sandbase}/processes", {"cmd": "true"}),
                     lambda: subprocess.run([*hutch, "run", "--session", "mine", program], check=True, timeout=60 * PATIENCE),
                     lambda: subprocess.run([*hutch, "shell", "mine", "--", "true"], check=True, timeout=60 * PATIENCE, stdin=subprocess.DEVNULL)):
            before = records(state)
            said = call()
            (record,) = records(state) - before
            at = trace_of(state, "--record", str(record))
            assert list(at)[:4] == SERVER and BOX_LAST[-2] in at, (said, at)


@pytest.mark.parametrize("arguments, words", [
    ([], "id is required"), (["--record", "none"], "--trace"), (["--trace", "--record", "none", "run_x"], "--record"),
    (["--trace", "--record", "none"], "none: No such file"), (["--trace", "--record", "/dev/null"], "not the record of a run")])
def test_what_is_no_record_is_refused(state, arguments, words):
    said = subprocess.run([hutch_binary(), "logs", *arguments, "--state-dir", state], capture_output=True, text=True, check=False)
    assert said.returncode and words in said.stderr, said


def test_a_record_without_a_trace_says_so(state, tmp_path):
    record = tmp_path / "record.json"
    record.write_text('{"run_id": "run_x"}')
    said = subprocess.run([hutch_binary(), "logs", "--trace", "--record", record, "--state-dir", state], capture_output=True, text=True, check=False)
    assert said.returncode == 1 and "has no trace" in said.stderr, said


@pytest.mark.parametrize("arguments, words", [
    (["--trace", "-f", "x"], "--trace"), (["--trace", "run_x"], "no run or session run_x of yours"), (["x"], " sessions ls`")])
def test_what_it_cannot_show_it_says(state, arguments, words):
    said = subprocess.run([hutch_binary(), "logs", *arguments, "--state-dir", state], capture_output=True, text=True, check=False)
    assert said.returncode and words in said.stderr


def time_slice_us(pid):
    """struct sched_attr's `runtime`: Linux tells it since 6.12."""
    numbers = {"x86_64": 315, "aarch64": 275}  # numbers of sched_getattr(2), for which there is no function
    attributes = ctypes.create_string_buffer(56)
    if ctypes.CDLL(None, use_errno=True).syscall(numbers[platform.machine()], pid, attributes, len(attributes), 0) != 0:
        raise OSError(ctypes.get_errno(), "sched_getattr")
    return struct.unpack_from("Q", attributes, 24)[0] // 1000


def test_hutch_box_has_short_turns_and_the_code_those_of_the_host(state):
    usual = time_slice_us(0)
    if usual == 0:
        pytest.skip("this kernel has time slices of one length: it is older than Linux 6.12")
    with Client(state, env={"HUTCH_ZYGOTE": "0"}) as client:  # a copy of the zygote is no child of hutch-box
        client.run("x = 1")
        (box,) = processes_of(state)
        init = children_of(box)[0]
        interpreter = children_of(init)[0]  # the oldest: one that stores what it knows comes later
        assert time_slice_us(box) == 500 != usual
        assert [time_slice_us(pid) for pid in (init, interpreter)] == [usual, usual]
