"""The channel between an interpreter and hutch-box, in the hands of hostile code."""

import os
import time

import pytest

import posture
from boxes import boxes_of
from channel import CHANNEL, SEND
from hutch_client import Client


@pytest.fixture(scope="module")
def box(module_state):
    with Client(module_state) as client:
        yield client


def test_a_hostile_runner_is_ended_and_nothing_else_suffers(box):
    box.run("kept = 1", "javascript")
    box.run("const kept = 1", "javascript")
    code = CHANNEL + "os.write(writes, b'\\xff' * 5000)\nimport time; time.sleep(100)"
    run = box.run(code)
    assert run["status"] == "failed"
    assert run["error"]["cause"] in ("interpreter_died", "signal"), run["error"]
    assert box.value("kept", "javascript") == "1"
    assert box.value("1 + 1") == "2"


def test_forged_results_stay_inside_the_contract(box):
    code = CHANNEL + SEND + """
send({'type': 'output', 'output': {'text': 5, 'image_path': '/etc/shadow', 'formats': 'x'}, 'run_id': run_id})
send({'type': 'done', 'ok': True, 'exit_code': 'zero', 'run_id': run_id})
"""
    session = box.call("create_session")["session_id"]
    run = box.run(code, session_id=session)
    assert run["status"] == "completed"
    assert run["outputs"] == [{}]
    assert box.value("1 + 1") == "2", "other sessions have not noticed"
    box.call("delete_session", session_id=session)


def test_forged_parts_stay_in_the_folder_of_the_run_and_in_its_bound(box):
    code = CHANNEL + SEND + """
def part(form, blob):
    os.write(writes, len(blob).to_bytes(4, 'little') + b'B')
    view = memoryview(blob)
    while view: view = view[os.write(writes, view):]
    send({'type': 'part', 'format': form, 'run_id': run_id})
for form in ('../../x', '/etc/x', 'stdout', 'record', '', None, 7, ['html']): part(form, b'x')
for _ in range(5): part('html', b'h' * 500_000)
part('csv', b'c' * 1000)
send({'type': 'output', 'output': {'text': 't', 'formats': ['text', 'html', 'csv'], 'files': {'svg': {'file': '/etc/shadow', 'total_bytes': 1}}}, 'run_id': run_id})
part('json', b'[]')
"""
    session = box.call("create_session", limits={"output_mb": 1})["session_id"]
    run = box.run(code + "None", session_id=session)
    assert run["status"] == "completed" and "was dropped" in run["note"], run
    path = f"/runs/{run['run_id']}"
    assert run["outputs"] == [{"formats": ["text", "csv"], "text": "t",
                               "truncated": {"csv": {"total_bytes": 1000, "file": f"{path}/1.csv"}}}]
    entries = box.call("list_files", path=path, session_id=session)["entries"]
    assert {entry["path"].rsplit("/", 1)[1] for entry in entries} <= {"1.csv", "record.json", "stdout", "stderr"}, entries
    box.call("delete_session", session_id=session)


def test_a_result_is_that_of_its_own_run(box):
    """One that ends its run by a forged message: what the run then comes to is nobody's result."""
    session = box.call("create_session")["session_id"]
    forged = box.run(CHANNEL + SEND + "send({'type': 'done', 'ok': True, 'exit_code': 0, 'run_id': run_id})\n"
                     "import time; time.sleep(1)\n'late'", session_id=session)
    assert forged["status"] == "completed" and not forged["outputs"]
    for number in range(3):
        assert box.run(f"{number} + 40", session_id=session)["outputs"][0]["text"] == str(number + 40)
    # Nor does one count that names no run, or another one.
    run = box.run(CHANNEL + SEND + "for name in (None, 'run_other'):\n"
                  "    send({'type': 'done', 'ok': False, 'exit_code': 9, 'run_id': name})\n'true'", session_id=session)
    assert run["status"] == "completed" and run["outputs"][0]["text"] == "'true'"
    box.call("delete_session", session_id=session)


FLOOD_WITHOUT_A_RUN = CHANNEL + SEND + """
# Small enough for the pipe to keep each whole: else they would mix with those of the next run.
one = frame({'type': 'output', 'output': {'text': 'x' * 1000}, 'run_id': run_id})
writes = os.dup(writes)  # the other one is closed in a child
if os.fork() == 0:
    while True: os.write(writes, one)
"""
NOBODY_READS = CHANNEL + SEND + """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.close(reads)
send({'type': 'done', 'ok': True, 'exit_code': 0, 'run_id': run_id})
while True: signal.pause()
"""


def processor_seconds(pid):
    fields = posture.read(pid, "stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("code", [FLOOD_WITHOUT_A_RUN, NOBODY_READS], ids=["frames without a run", "nobody reads"])
def test_a_runner_is_little_work_for_the_host(box, code):
    """No limit of the session counts what hutch-box does for it."""
    session = box.call("create_session")["session_id"]
    assert box.run(code, session_id=session)["status"] == "completed"
    hutch_box = boxes_of(box.state)[session]
    started = box.start_tool("run_code", code="6 * 7", session_id=session)
    before, began = processor_seconds(hutch_box), time.monotonic()
    box.run("sleep 4", "bash", session_id=session)
    share = (processor_seconds(hutch_box) - before) / (time.monotonic() - began)
    assert share < 0.2, f"{share:.0%} of a processor"
    assert box.reply(started)["result"]["structuredContent"]["outputs"][0]["text"] == "42"
    box.call("delete_session", session_id=session)


def test_a_runner_that_hangs_up_is_replaced(box):
    session = box.call("create_session")["session_id"]
    box.run(CHANNEL + "os.close(writes)\nimport time\nwhile True: time.sleep(1)", session_id=session, timeout_seconds=20)
    assert box.run("6 * 7", session_id=session)["outputs"][0]["text"] == "42"
    box.call("delete_session", session_id=session)


def test_what_is_nested_too_deep_for_an_answer_ends_its_own_interpreter_only(box):
    session = box.call("create_session")["session_id"]
    box.run("kept = 1", "javascript", session_id=session)
    code = CHANNEL + SEND + """
text = '{"type":"output","run_id":"' + run_id + '","output":{"json":' + '[' * 61 + ']' * 61 + '}}'
os.write(writes, struct.pack('<IB', len(text), ord('J')) + text.encode())
time.sleep(100)"""
    assert box.run(code, session_id=session)["status"] == "failed"
    assert box.run("kept", "javascript", session_id=session)["outputs"][0]["text"] == "1"
    box.call("delete_session", session_id=session)


def test_runs_that_nobody_reads_are_not_kept_for_later(box):
    """A thread answers each run, and nobody reads what the runs are: the next one gets a new interpreter."""
    session = box.call("create_session")["session_id"]
    code = CHANNEL + SEND + """
import threading
def answer():
    told = set()
    while True:
        for name in os.listdir('/runs'):
            if name not in told and not told.add(name): send({'type': 'done', 'ok': True, 'exit_code': 0, 'run_id': name})
threading.Thread(target=answer, daemon=True).start()
while True: time.sleep(1)"""
    assert box.run(code, session_id=session)["status"] == "completed"
    large = "# " + "x" * 900_000 + "\n"
    for number in range(3):
        box.run(large + str(number), session_id=session)
    assert box.run("6 * 7", session_id=session)["outputs"][0]["text"] == "42"
    box.call("delete_session", session_id=session)
