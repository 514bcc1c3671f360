"""Tests what an answer says of a run that goes on, waits, was ended, or was not alone."""

import json
import re
import time

import pytest

from boxes import until
from hutch_client import Client, ToolError


def begin(client, code, language="python", **arguments):
    """Sends run_code and does not wait for its answer: the request's id, and the run's."""
    before = {run["run_id"] for run in runs_of(client)}
    request = client.start("tools/call", {"name": "run_code", "arguments": {"code": code, "language": language, **arguments}})
    until(lambda: {run["run_id"] for run in runs_of(client)} - before, what="the run")
    (run_id,) = {run["run_id"] for run in runs_of(client)} - before
    return request, run_id


def runs_of(client):
    return client.call("get_run").get("runs", [])


def test_what_goes_on_says_how_long_it_may(client):
    client.run("1")
    for arguments, seconds in (({}, 600), ({"timeout_seconds": 300}, 300)):
        request, run_id = begin(client, "import time; time.sleep(60)", **arguments)
        until(lambda: client.call("get_run", run_id=run_id)["status"] == "running", what="its start")
        note = client.call("get_run", run_id=run_id)["note"]
        left, whole = map(int, re.search(r"still running, for (\d+) seconds more at most \((\d+) in all\)", note).groups())
        assert whole == seconds and seconds - 60 < left <= seconds, note
        assert "cancel_run ends it" in note
        client.call("cancel_run", run_id=run_id)
        client.reply(request)


def test_a_limit_of_the_session_is_one_that_was_asked_for(client):
    session = client.call("create_session", limits={"run_seconds": 90})["session_id"]
    run_id = client.run("import time; time.sleep(60)", session_id=session, background=True, timeout_seconds=80)["run_id"]
    assert "(80 in all)" in client.call("get_run", run_id=run_id)["note"]
    request = client.start("tools/call", {"name": "run_code", "arguments": {"code": "import time; time.sleep(60)", "session_id": session}})
    until(lambda: len(client.call("get_run", session_id=session)["runs"]) == 2, what="the run")
    newest = client.call("get_run", session_id=session)["runs"][0]["run_id"]
    until(lambda: "(90 in all)" in client.call("get_run", run_id=newest).get("note", ""), what="the session's own limit")
    client.call("delete_session", session_id=session)
    client.reply(request)


@pytest.mark.parametrize("language, long, short, shown", [
    ("python", "import time; time.sleep(60)", "print('mine')", "mine"), ("javascript", "setTimeout(() => {}, 60000); while (true) {}", "console.log('mine')", "mine"),
    ("bash", "sleep 60", "echo mine", "mine"),
    ("sql", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000) SELECT max(i) FROM n", "SELECT 'mine' AS whose", "mine")])
def test_what_waits_says_behind_what(client, language, long, short, shown):
    client.run("SELECT 1" if language == "sql" else "1" if language != "bash" else "true", language)
    first, ahead = begin(client, long, language)
    until(lambda: client.call("get_run", run_id=ahead)["status"] == "running", what="its start")
    second, behind = begin(client, short, language)
    waits = client.call("get_run", run_id=behind)
    assert waits["status"] == "queued" and f"still queued behind {ahead} (cancel_run ends that one)" in waits["note"], waits
    assert "cancel_run takes this one back" in waits["note"]
    client.call("cancel_run", run_id=ahead)
    client.reply(first)
    mine = client.reply(second)["result"]
    assert mine["structuredContent"]["status"] == "completed" and shown in mine["content"][0]["text"], mine
    assert "waits_for" not in json.dumps(client.call("get_run", run_id=behind))


@pytest.mark.parametrize("seconds", [40, 90, 300])
def test_the_limit_of_a_run_is_at_most_what_the_configuration_allows(state, tmp_path, seconds):
    config = tmp_path / "config.toml"
    config.write_text(f"[max_limits]\nrun_seconds = {seconds}\n")
    with Client(state, env={"HUTCH_CONFIG": str(config)}) as client:
        client.run("1")
        request, run_id = begin(client, "import time; time.sleep(60)")
        until(lambda: f"({seconds} in all)" in client.call("get_run", run_id=run_id).get("note", ""), what="its limit")
        client.call("cancel_run", run_id=run_id)
        client.reply(request)
        with pytest.raises(ToolError, match=f"from 1 to {seconds}; run_seconds in .max_limits. of the configuration allows more"):
            client.run("1", timeout_seconds=seconds + 1)


@pytest.mark.parametrize("ends", ["fails", "cancelled", "timed out", "killed", "raises"])
def test_a_list_of_runs_says_how_each_ended(client, ends):
    session = client.call("create_session")["session_id"]

    def listed(run_id):
        return {run["run_id"]: run for run in client.call("get_run", session_id=session)["runs"]}[run_id]
    language, code, options, wanted = {
        "fails": ("bash", "sleep 1; exit 3", {}, "failed"), "cancelled": ("bash", "sleep 60", {}, "cancelled"),
        "timed out": ("bash", "sleep 60", {"timeout_seconds": 1}, "timed_out"), "killed": ("bash", "sleep 1; kill -9 $$", {}, "failed"),
        "raises": ("python", "import time; time.sleep(1); 1/0", {}, "failed")}[ends]
    run_id = client.run(code, language, session_id=session, background=True, **options)["run_id"]
    assert listed(run_id)["status"] in ("running", wanted) and listed(run_id)["background"] is True
    if ends == "cancelled":
        client.call("cancel_run", run_id=run_id)
    until(lambda: listed(run_id)["status"] == wanted, what="its end in the list")
    assert listed(run_id)["finished_at"], "without anybody having asked for the run"
    text = client.result("get_run", session_id=session)["content"][0]["text"]
    assert re.search(rf"{wanted} \(background\): {run_id}", text), text


@pytest.mark.parametrize("language, code", [
    ("python", "import time; time.sleep(60)"), ("javascript", "while (true) {}"), ("bash", "sleep 60")])
def test_a_timeout_names_its_seconds(client, language, code):
    error = client.run(code, language, timeout_seconds=1)["error"]
    assert error["message"].startswith("the run took longer than the 1 second that it had; give it more (timeout_seconds)"), error
    behind = client.until_ended(client.run(code, language, timeout_seconds=1, background=True)["run_id"])
    assert behind["error"]["message"].endswith("; give it more, or none: timeout_seconds is what you choose"), behind


@pytest.mark.parametrize("language, code", [
    ("python", "f = open('big.csv', 'w'); f.write('a' * 100_000); print('on', flush=True)\nimport time; time.sleep(60)"),
    ("python", "import time\nwith open('big.csv', 'w') as f:\n    f.write('half'); time.sleep(60)"),
    ("javascript", "const fd = require('fs').openSync('big.csv', 'w'); require('fs').writeSync(fd, 'half'); while (true) {}"),
    ("bash", "{ echo half; sleep 60; } >big.csv"),
])
def test_a_file_that_a_stopped_run_was_writing_is_possibly_incomplete(client, language, code):
    client.call("write_file", path="done.txt", content="whole")
    whole = {"python": "open('other.txt', 'w').write('whole')\n", "bash": "echo whole >other.txt\n"}.get(language, "require('fs').writeFileSync('other.txt', 'whole'); ")
    reply = client.result("run_code", code=whole + code, language=language, timeout_seconds=2)
    changed = {change["path"]: change.get("possibly_incomplete", False) for change in reply["structuredContent"]["files_changed"]}
    assert changed == {"/workspace/big.csv": True, "/workspace/other.txt": False}, reply
    text = reply["content"][0]["text"]
    assert re.search(r"created /workspace/big\.csv \(\d+ bytes, possibly incomplete\)", text), text
    assert "possibly" not in json.dumps(client.run("1"))


@pytest.mark.slow  # a call is handed over after 50 seconds
def test_a_run_that_is_handed_over_says_how_long_it_may_and_how_it_ended(client):
    client.run("1")
    run = client.run("import time; time.sleep(52); 1/0")
    assert run["status"] == "running", run
    assert re.search(r"still running, for 5[0-9]\d seconds more at most \(600 in all\)", run["note"]), run

    def listed():
        return {one["run_id"]: one for one in client.call("get_run")["runs"]}[run["run_id"]]
    assert listed()["status"] in ("running", "failed")
    until(lambda: listed()["status"] == "failed", what="its end in the list")
    assert listed()["finished_at"] and "background" not in listed()


@pytest.mark.parametrize("how", ["SIGKILL", "oom", "cancel", "cancel at once"])
@pytest.mark.parametrize("language", ["python", "bash"])
def test_a_file_that_a_killed_run_was_writing_is_possibly_incomplete(client, how, language):
    session = client.call("create_session", limits={"memory_mb": 300})
    if how == "oom" and session["enforcement"]["memory_mb"] == "none":
        pytest.skip("memory_mb is not enforced on this host")
    name = session["session_id"]
    client.run("1", session_id=name)
    eats = ("import mmap\nshared = mmap.mmap(-1, 500 << 20)\nfor at in range(0, len(shared), 4096):\n    shared[at] = 1\n"
            "    if at % (1 << 20) == 0: f.write('half'); f.flush()\n")
    if language == "python":
        code = ("import os, signal, time\nopen('other.txt', 'w').write('whole')\n"
                # A file that was written in the moment of the end may have been cut off by it.
                "while time.time_ns() < os.stat('other.txt').st_mtime_ns + 200_000_000: pass\n"
                "f = open('big.csv', 'w'); f.write('half'); f.flush()\n"
                + {"SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)", "oom": eats}.get(how, "time.sleep(60)"))
    else:
        client.call("write_file", path="/tmp/eats.py", content="f = open(5, 'w')\n" + eats, session_id=name)
        code = ("echo whole >other.txt\nwhile [ $(date +%s%N) -lt $(($(date -r other.txt +%s%N) + 200000000)) ]; do :; done\n"
                "exec 5>big.csv; echo half >&5\n") + {"SIGKILL": "kill -9 $$", "oom": "python3 /tmp/eats.py"}.get(how, "sleep 60")
    if how.startswith("cancel"):
        request = client.start("tools/call", {"name": "run_code", "arguments": {"code": code, "language": language, "session_id": name}})
        until(lambda: any(entry["path"].endswith("big.csv") for entry in client.call("list_files", session_id=name)["entries"]), what="its file")
        [active] = next(one for one in client.call("list_sessions")["sessions"] if one["session_id"] == name)["active_runs"]
        if how == "cancel":
            client.call("cancel_run", run_id=active["run_id"])
        else:
            client.notify("notifications/cancelled", {"requestId": request})
        run = client.until_ended(active["run_id"])
    else:
        run = client.run(code, language, session_id=name)
    assert run["status"] in ("failed", "cancelled"), run
    changed = {change["path"]: change.get("possibly_incomplete", False) for change in run["files_changed"]}
    assert changed.pop("/workspace/big.csv") is True, run
    # After a kill that nobody knew of beforehand, the file that was written last is named.
    assert changed == {"/workspace/other.txt": False} or not how.startswith("cancel"), run
    client.call("delete_session", session_id=name)


@pytest.mark.parametrize("language, code, status, says", [
    ("bash", "no-such-server --port 80", "failed", "command not found"), ("bash", "exit 3", "failed", ""),
    ("python", "import no_such_module", "failed", "ModuleNotFoundError"), ("javascript", "require('no-such')", "failed", "Cannot find package"),
    ("bash", "echo done", "completed", ""),
])
def test_what_ends_at_once_in_the_background_is_told_so(client, language, code, status, says):
    until_seconds = time.monotonic() + 60
    # On a machine that is busy with others it may go on for longer than the first answer waits.
    while (run := client.run(code, language, background=True))["status"] == "running" and time.monotonic() < until_seconds:
        client.until_ended(run["run_id"])
    assert run["status"] == status and says in run["stderr"], run


def test_bash_says_what_goes_on_after_it(client):
    client.run("1")
    run = client.run("sleep 61 & echo $!; (sleep 62 &); nohup sleep 63 >/dev/null 2>&1 & echo end", "bash")
    pid = run["stdout"].split()[0]
    assert run["note"].startswith("left running by this run: "), run
    assert run["note"].endswith("; kill PID ends it; get_run of this run has what it prints later"), run
    assert f"sleep 61 (pid {pid})" in run["note"] and "sleep 62 (pid" in run["note"]
    # The last may be about to become what it is to be.
    assert any(f"{words} (pid" in run["note"] for words in ("sleep 63", "nohup sleep 63", "nohup", "a subshell")), run
    assert "note" not in client.run("true", "bash")
    assert client.run(f"kill {pid}", "bash")["status"] == "completed"
    assert "note" not in client.run("sleep 0.01 & wait", "bash")


def test_output_behind_the_end_of_bash_is_where_the_note_says(client):
    client.run("1")
    run = client.run("(until [ -e go ]; do sleep 0.01; done; echo late) &", "bash")
    assert run["note"].endswith("get_run of this run has what it prints later"), run
    client.run("touch go", "bash")
    until(lambda: client.call("get_run", run_id=run["run_id"])["stdout"] == "late\n", what="what it printed")
    silent = client.run("nohup sleep 64 >/dev/null 2>&1 &", "bash")
    assert silent["note"].endswith("; kill PID ends it"), silent
    assert client.run("pkill -x sleep", "bash")["status"] == "completed"


def test_python_says_what_goes_on_after_it(client):
    client.run("1")
    run = client.run("import subprocess; p = subprocess.Popen(['sleep', '61']); print(p.pid)")
    assert f"sleep 61 (pid {run['stdout'].strip()})" in run["note"], run
    assert "note" not in client.run("p.kill(); p.wait();")


def test_what_a_thread_prints_between_runs_is_in_the_last_one(client):
    run = client.run("import threading\nbegin = threading.Event()\ndef late():\n    begin.wait(); time.sleep(0.4); print('late')\nimport time; threading.Thread(target=late).start()")
    other = client.run("begin.set()")
    deadline = time.monotonic() + 10
    while not (printed := client.call("get_run", run_id=other["run_id"])["stdout"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert printed == f"[thread of {run['run_id']}] late\n" and "or of the last one, which get_run gives" in run["note"]


def test_python_says_which_threads_go_on(client):
    code = "import threading\nend = threading.Event()\ndef late():\n    end.wait(); print('late')\nthread = threading.Thread(target=late); thread.start()"
    client.run("1")
    run = client.run(code)
    told = f"a thread of this run goes on: Thread-1 (late); what it prints comes in the output of the run that is on then, " \
           f"marked [thread of {run['run_id']}], or of the last one, which get_run gives"
    assert run["note"] == client.call("get_run", run_id=run["run_id"])["note"] == told, run
    after = client.run("end.set(); thread.join()")
    assert "note" not in after and after["stdout"] == f"[thread of {run['run_id']}] late\n", after


@pytest.mark.parametrize(("language", "code"), [
    ("python", "import subprocess; [subprocess.Popen(['sleep', n]).pid for n in ('61', '62')]"),
    ("bash", "sleep 61 & echo $!; sleep 62 & echo $!"),
])
def test_get_run_names_only_what_lives(client, language, code):
    client.run("1")
    run = client.run(code, language)
    pids = re.findall(r"sleep 6[12] \(pid (\d+)\)", run["note"])
    assert len(pids) == 2 and client.call("get_run", run_id=run["run_id"])["note"] == run["note"], run
    gone = "while kill -0 {pid} 2>/dev/null && ! grep -q Z /proc/{pid}/stat; do sleep 0.01; done"
    client.run(f"kill {pids[0]}; {gone.format(pid=pids[0])}", "bash")
    note = client.call("get_run", run_id=run["run_id"])["note"]
    assert f"(pid {pids[1]}); kill PID" in note and f"(pid {pids[0]})" not in note, note
    client.run(f"kill {pids[1]}; {gone.format(pid=pids[1])}", "bash")
    assert "note" not in client.call("get_run", run_id=run["run_id"])


def test_a_long_message_comes_once(client):
    for language, code in (("python", "raise ValueError('x' * 3000)"), ("javascript", "throw new Error('x'.repeat(3000))"),
                           ("javascript", "await hutch.sql('SELECT nothing FROM nowhere')")):
        text = client.request("tools/call", {"name": "run_code", "arguments": {"code": code, "language": language}})["content"][0]["text"]
        assert text.startswith("failed, ") and "\nerror (" not in text and text.count("x" * 1000) < 4, text


@pytest.mark.parametrize(("language", "code"), [
    ("python", "!sleep 61 &"),
    ("python", "import os; os.system('sleep 61 &');"),
    ("python", "import subprocess; subprocess.run('setsid sleep 61 &', shell=True);"),
    ("javascript", "require('child_process').execSync('sleep 61 >/dev/null 2>&1 &'); 1"),
    ("javascript", "require('child_process').spawn('sleep', ['61'], { detached: true, stdio: 'ignore' }).unref(); 1"),
])
def test_what_nobody_waits_for_is_told(client, language, code):
    client.run("1", language)
    note = client.run(code, language)["note"]
    # It may be about to become what it is to be.
    pid = re.search(r"left running by this run: [^(]+ \(pid (\d+)\); kill PID ends it", note)[1]
    assert "note" not in client.run("1", language), "once"
    assert client.run(f"kill {pid}", "bash")["status"] == "completed"


def test_what_is_hutchs_own_is_not_told(client):
    client.run("import pandas as pd; own = pd.DataFrame({'a': [1]})", restart=True)
    for language, code in (("sql", "SELECT none FROM own"), ("sql", "SELECT * FROM own"), ("javascript", "await hutch.sql('SELECT * FROM own')"),
                           ("python", "hutch.sql('SELECT * FROM own')")):
        assert "left running" not in client.run(code, language, restart=language != "python").get("note", ""), (language, code)


def test_what_happens_while_others_run_is_told_as_that(client):
    client.run("1")
    alone = client.run("open('mine.txt', 'w').write('x');")
    assert "note" not in alone and alone["files_changed"], alone
    other = client.run("while true; do date >>theirs.txt; sleep 0.05; done", "bash", background=True)["run_id"]
    until(lambda: any(entry["path"].endswith("theirs.txt") for entry in client.call("list_files")["entries"]), what="its file")
    beside = client.run("import os, time\nsize = os.path.getsize('theirs.txt')\nwhile os.path.getsize('theirs.txt') == size: time.sleep(0.01)\n"
                        "open('mine2.txt', 'w').write('x');")
    assert {change["path"] for change in beside["files_changed"]} == {"/workspace/mine2.txt", "/workspace/theirs.txt"}
    assert beside["note"] == "others ran meanwhile: files changed during this run, maybe by them", beside
    ended = client.call("cancel_run", run_id=other)
    assert "others ran meanwhile" in ended["note"], ended
    assert "note" not in client.run("open('mine3.txt', 'w').write('x');")


def test_memory_that_is_used_is_seen(client):
    before = client.call("create_session", limits={"memory_mb": 600})["session_id"]
    read = ("def meminfo():\n    return {l.split(':')[0]: int(l.split()[1]) for l in open('/proc/meminfo')}\n"
            "m = meminfo(); print(m['MemTotal'], m['MemFree'], m['MemAvailable'])")
    total, *_ = map(int, client.run(read, session_id=before)["stdout"].split())
    assert total == 600 * 1024
    grown = client.run("import time\nkept = bytearray(b'x') * (200 << 20)\n"
                       "deadline = time.monotonic() + 60\n"
                       "while meminfo()['MemAvailable'] > 420 * 1024 and time.monotonic() < deadline: time.sleep(0.05)\n"
                       "m = meminfo(); print(m['MemAvailable'] <= 420 * 1024, m['MemFree'] <= m['MemAvailable'])", session_id=before)
    assert grown["stdout"] == "True True\n", grown
    assert int(client.run("free -m | awk '/^Mem/ {print $3}'", "bash", session_id=before)["stdout"]) >= 150
    refused = client.run("echo 1 >/proc/meminfo", "bash", session_id=before)
    assert refused["status"] == "failed", refused


def test_affinity_is_taken_without_a_word(client):
    run = client.run("import os\nbefore = os.sched_getaffinity(0)\nos.sched_setaffinity(0, {0})\nprint(os.sched_getaffinity(0) == before)")
    assert run["stdout"] == "True\n", run


PINNING = """
import ctypes, threading
libc = ctypes.CDLL(None, use_errno=True)
answers = []
def pin(processor):
    chosen = (ctypes.c_ulong * 16)(1 << processor)
    libc.pthread_self.restype = ctypes.c_ulong
    answers.append(libc.pthread_setaffinity_np(ctypes.c_ulong(libc.pthread_self()), ctypes.sizeof(chosen), chosen))
    answers.append(libc.sched_setaffinity(0, ctypes.sizeof(chosen), chosen))
threads = [threading.Thread(target=pin, args=(number % 60,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(set(answers), len(answers))
"""


def test_affinity_of_threads_is_taken_without_a_word(client):
    """As onnxruntime, OpenMP and torch pin each of theirs, to processors that a session may not have."""
    run = client.run(PINNING)
    assert (run["stdout"], run["stderr"]) == ("{0} 16\n", ""), run
    client.call("write_file", path="pin.py", content=PINNING)
    assert client.run("python3 pin.py", "bash")["stdout"] == "{0} 16\n"
    assert client.run("os = __import__('os'); len(os.sched_getaffinity(0)) >= 1")["outputs"][0]["text"] == "True"


@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_standard_input_has_a_path(client, path):
    run = client.run(f"cat {path}; echo piped | cat {path}", "bash")
    assert (run["stdout"], run["stderr"]) == ("piped\n", ""), run
    assert client.value(f"open('{path}').read()") == "''"
    assert client.value(f"require('fs').readFileSync('{path}', 'utf8')", "javascript") == "''"


def test_memory_that_ran_out_names_the_limit_and_what_lives_on(client):
    session = client.call("create_session", limits={"memory_mb": 300})
    if session["enforcement"]["memory_mb"] == "none":
        pytest.skip("memory_mb is not enforced on this host")
    name = session["session_id"]
    client.run("CREATE TABLE t AS SELECT 5 AS a", "sql", session_id=name)
    # Shared memory: of memory of its own Python would have raised MemoryError before.
    code = "import mmap\nshared = mmap.mmap(-1, 500 << 20)\nfor at in range(0, len(shared), 4096): shared[at] = 1"
    error = client.run(code, session_id=name)["error"]
    assert error["cause"] == "oom" and "300 MB of memory (limits.memory_mb)" in error["message"], error
    assert error["lost"] and error["survived"] == "files kept, tables of SQL kept", error
    assert client.run("SELECT a FROM t", "sql", session_id=name)["outputs"][0]["json"]["rows"] == [[5]]


# Shared memory: of memory of its own Python would raise MemoryError before.
EAT = "import mmap\nshared = mmap.mmap(-1, 500 << 20)\nfor at in range(0, len(shared), 4096): shared[at] = 1"
HEAP = "const kept = []; for (;;) kept.push(new Array(1000).fill(0).map((_, i) => ({i})))"


@pytest.fixture(scope="module")
def small(module_state):
    """A session of 300 MB with a table, and a program that takes more than that."""
    with Client(module_state) as client:
        session = client.call("create_session", limits={"memory_mb": 300})
        if session["enforcement"]["memory_mb"] == "none":
            pytest.skip("memory_mb is not enforced on this host")
        name = session["session_id"]
        client.run("CREATE TABLE t AS SELECT 5 AS a", "sql", session_id=name)
        client.call("write_file", session_id=name, path="eat.py", content=EAT)
        client.call("write_file", session_id=name, path="heap.js", content=HEAP)

        def run(code, language="python", **options):
            return client.run(code, language, session_id=name, **{"timeout_seconds": 60, **options})

        run.get = lambda run_id: client.call("get_run", session_id=name, run_id=run_id)
        run.write = lambda path, content: client.call("write_file", session_id=name, path=path, content=content)
        yield run
        assert run("SELECT a FROM t", "sql")["outputs"][0]["json"]["rows"] == [[5]], "tables live on"


WORKS = "from concurrent.futures import ProcessPoolExecutor\ndef work(path): exec(open(path).read(), {})\n"
REFUSED = "from multiprocessing import Pool\ndef work(size): return len(bytearray(size))\n"


@pytest.mark.parametrize("language, code, cause", [
    ("bash", "python3 eat.py", "oom"),
    ("bash", "python3 eat.py; echo on", None),
    ("bash", "python3 eat.py || exit 3", "exit"),
    ("bash", "python3 eat.py | cat", None),
    ("bash", "python3 -c 'bytearray(3 << 30)'", "exit"),
    ("bash", "python3 -c 'bytearray(3 << 30)'; echo on", None),
    ("bash", "node --max-old-space-size=40 heap.js", "oom"),
    ("bash", "node --max-old-space-size=40 heap.js; echo on", None),
    ("python", "import subprocess; subprocess.run(['python3', 'eat.py'])", None),
    ("python", "import subprocess; subprocess.run(['python3', 'eat.py'], check=True)", "oom"),
    ("python", "import subprocess; subprocess.run(['python3', 'eat.py']); raise ValueError('no result')", "oom"),
    ("python", "import subprocess; subprocess.run(['python3', '-c', 'bytearray(3 << 30)'], check=True)", "exception"),
    ("python", WORKS + "ProcessPoolExecutor(1).submit(work, 'eat.py').result()", "oom"),
    ("python", WORKS + "from multiprocessing import Pool\nPool(1).map(work, ['eat.py'])", "oom"),
    ("python", REFUSED + "with Pool(1) as pool: pool.map(work, [3 << 30])", "exception"),
    ("python", "import mmap; mmap.mmap(-1, 3 << 30, flags=mmap.MAP_PRIVATE)", "exception"),
    ("javascript", "require('child_process').spawnSync('python3', ['eat.py']).signal", None),
    ("javascript", "const {Worker} = require('worker_threads')\nawait new Promise((_, no) => new Worker(" + repr(HEAP)
     + ", {eval: true, resourceLimits: {maxOldGenerationSizeMb: 30}}).on('error', no))", "exception")])
def test_memory_that_a_program_of_a_run_lacked_names_the_limit(small, language, code, cause):
    ended = small(code, language)
    error = ended.get("error") or {}
    # A machine that is busy is slow to take a killed program's memory away: then the run is stopped meanwhile.
    is_stopped = "eat.py" in code and error.get("name") == "OutOfMemory"
    assert error.get("cause") == cause or is_stopped and error["cause"] == "oom", ended
    assert ended["status"] == ("failed" if error else "completed"), ended
    told = f"{error.get('message')} {ended.get('note')}"
    assert "300 MB of memory" in told and "limits.memory_mb" in told, ended
    if "heap.js" in code or "Worker" in code:
        assert "--max-old-space-size=MB" in ended["note"], ended
    if error.get("cause") == "oom" and language == "bash":
        assert error["survived"].startswith("files kept, ") and "tables of SQL kept" in error["survived"], ended


@pytest.mark.parametrize("language, code", [("python", EAT), ("bash", "python3 eat.py"), ("bash", "python3 eat.py; sleep 60"),
                                            ("javascript", "require('v8').setFlagsFromString('--max-old-space-size=40'); " + HEAP)])
def test_so_does_a_run_in_the_background(small, language, code):
    run_id = small(code, language, background=True)["run_id"]
    until(lambda: small.get(run_id)["status"] not in ("queued", "running"), what="its end")
    error = small.get(run_id)["error"]
    assert error["cause"] == "oom" and "300 MB of memory (limits.memory_mb)" in error["message"], error
    assert "tables of SQL kept" in error["survived"] and "interpreters are not affected" in error["survived"], error


def test_an_engine_that_ran_out_of_memory_leaves_the_tables(small):
    """Half of the memory lies in files, which are nobody's; of processes the kernel takes the largest."""
    small("head -c 145M /dev/zero >/dev/shm/full", "bash")
    ended = small("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)\n"
                  "SELECT length(group_concat(hex(randomblob(500000)), '')) FROM n", "sql")
    small("rm /dev/shm/full", "bash")
    error = ended["error"]
    assert error["cause"] == "oom" and "300 MB of memory (limits.memory_mb)" in error["message"], ended
    assert "tables of SQL kept" in error["survived"] and "variables" not in error["lost"], ended
    assert "tables of SQL kept" in small("python3 eat.py", "bash")["error"]["survived"], "also while they have no engine"
    assert small("SELECT a FROM t", "sql")["outputs"][0]["json"]["rows"] == [[5]]


def test_a_full_heap_of_a_cell_names_the_limit(client):
    """V8 takes half of what the session has, which the kernel has no word in."""
    name = client.call("create_session", limits={"memory_mb": 600})["session_id"]
    client.run("CREATE TABLE t AS SELECT 5 AS a", "sql", session_id=name)
    ended = client.run(HEAP, "javascript", session_id=name, timeout_seconds=120)
    error = ended["error"]
    assert (error["name"], error["cause"]) == ("OutOfMemory", "oom") and "600 MB of memory (limits.memory_mb)" in error["message"], ended
    assert "--max-old-space-size=MB" in ended["note"] and error["survived"] == "files kept, tables of SQL kept" and error["lost"], ended


def test_what_is_killed_between_runs_is_told_by_the_next(small):
    small.write("later.py", f"import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)\n{EAT}")
    small("nohup python3 later.py >/dev/null 2>&1 &", "bash")
    small.write("go", "")
    until(lambda: "300 MB" in small("1").get("note", ""), what="a word of it")
    assert "note" not in small("1")


@pytest.mark.parametrize("code", [
    "cd /workspace && sleep 71 >/dev/null 2>&1 &", "(while true; do echo more >> log; sleep 71; done) >/dev/null 2>&1 &",
    "(while true; do sleep 71 | cat; done) >/dev/null 2>&1 &", "((sleep 71; echo) & while true; do wait; sleep 0.01; done) >/dev/null 2>&1 &"])
def test_what_a_subshell_waits_for_is_named_and_all_of_it_ends(client, code):
    """Who ended the subshell of `cd here && server &` alone would leave the server; who ended the sleep of a loop, the loop."""
    client.run("true", "bash")
    shells = "pgrep -c bash"
    before = client.run(shells, "bash")["stdout"]
    run = client.run(f"{code}\nuntil pgrep -fx 'sleep 71' >/dev/null; do :; done", "bash")
    pids = re.search(r"left running by this run: sleep 71[a-z ]* in a subshell \(pids ([\d ]+)\); kill with all its PIDs ends it", run["note"])[1]
    ended = client.run(f"kill {pids}; while pgrep -f 'sleep 71' >/dev/null || [ $({shells}) -gt {before} ]; do sleep 0.02; done; echo none", "bash",
                       timeout_seconds=30)
    assert ended["stdout"] == "none\n", ended


def test_a_timeout_leaves_a_program_the_time_to_tell(client):
    """pytest writes which test it was at; a second interrupt would cut that off."""
    code = ("import signal, time, sys\ndef tell(*_):\n    signal.signal(signal.SIGINT, again); time.sleep(0.9); print('told'); sys.exit(1)\n"
            "def again(*_): print('cut off'); sys.exit(2)\nsignal.signal(signal.SIGINT, tell)\nwhile True: time.sleep(1)\n")
    client.call("write_file", path="tells.py", content=code)
    run = client.run("python3 -u tells.py", "bash", timeout_seconds=2)
    assert run["status"] == "timed_out" and run["stdout"] == "told\n", run


def test_bash_knows_the_jobs_of_earlier_calls(client):
    client.run("1")
    begun = client.run("sleep 61 & (until [ -e go ]; do sleep 0.02; done; exit 7) & sh -c 'sleep 62; :' & echo $!", "bash")
    last = begun["stdout"].strip()
    listed = client.run("jobs", "bash")["stdout"]
    assert re.search(r"\[1\]  \d+ Running +sleep 61 & \(of an earlier run\)", listed) and f"[3]  {last} Running" in listed, listed
    assert client.run("echo $! \"$!\" ${!}", "bash")["stdout"].startswith(f"{last} {last}")
    client.call("write_file", path="go", content="")
    waited = client.run("wait %2; echo $?", "bash")
    assert waited["stdout"] == "7\n", waited
    assert client.run("kill %1; wait %1; echo $?", "bash")["stdout"] == "143\n"
    assert client.run("kill $! && wait $!; echo $?", "bash")["stdout"] == "143\n"
    assert client.run("jobs; wait; echo none", "bash")["stdout"] == "none\n"


def test_scripts_run_beside_a_server_of_an_earlier_call(client):
    server = client.run("sleep 61 & echo $!", "bash")["stdout"].strip()
    for code, expected in (
            ("f() { echo $!; }; f", f"{server}\n"), ("f", f"{server}\n"),
            ("set -euo pipefail; wait; echo on", "on\n"), ("seq 2 | while read x; do sleep 0.01 & done; wait; echo on", "on\n"),
            ("while (( $(jobs -r | wc -l) >= 1 )); do sleep 0.1; done; echo on", "on\n"), ("trap 'kill $(jobs -p) 2>/dev/null' EXIT; echo on", "on\n"),
            ("false & a=$!; true & b=$!; set -e; wait $a $b; echo on", "on\n"),
            ("alias kill='kill -9' jobs='jobs -l' local='echo'; echo on", "on\n"), ("jobs | wc -l", "0\n"),
            ("unalias -a; echo \"\\$!\" $$! | sed 's/[0-9][0-9]*//'", "$! !\n")):
        run = client.run(code, "bash", timeout_seconds=20)
        told = f"hutch: sleep 61 (pid {server}) of an earlier run goes on, and was not waited for: wait {server} does\n" if "; wait; " in code else ""
        assert (run["stdout"], run["stderr"]) == (expected, told), (code, run)
    wrong = client.run("echo\nkill 99999", "bash")
    assert wrong["stderr"] == "bash: line 2: kill: (99999) - No such process\n", wrong
    strict = client.run("set -u; kill %1; wait %1; echo $?", "bash")
    assert strict["stdout"] == "143\n", strict


def test_bash_keeps_to_its_own_jobs_first(client):
    client.run("sleep 61 &", "bash")
    own = client.run("sleep 0.1 & wait %1; echo $?; sleep 0.1 & wait $!; echo $?; jobs -p | wc -l", "bash")
    assert own["stdout"] == "0\n0\n0\n", own
    quoted = client.run("echo '$!'; cat <<'E'\n$!\nE", "bash")
    assert quoted["stdout"] == "$!\n$!\n", quoted
    assert client.run("wait() { echo mine; }; jobs -x echo it", "bash")["stdout"].strip().endswith("it")
    assert client.run("wait", "bash")["stdout"] == "mine\n", "a function of the user's goes before"
    unknown = client.run("unset -f wait; wait 99999; echo $?", "bash")
    assert unknown["stdout"] == "127\n" and "99999" in unknown["stderr"], unknown


def test_how_a_job_ended_between_calls_is_known(client):
    client.run("(sleep 0.1; exit 5) & echo", "bash")
    client.run("import time; time.sleep(0.4)")
    assert client.run("wait $!; echo $?", "bash")["stdout"] == "5\n"


@pytest.mark.parametrize("signal", ["TERM", "USR1", "HUP", "INT"])
def test_bash_keeps_traps_of_signals(client, signal):
    client.run(f"trap 'echo got {signal}' {signal}", "bash")
    assert client.run(f"kill -{signal} $$; echo on; trap - {signal}", "bash")["stdout"] == f"got {signal}\non\n"
    assert client.run("trap -p", "bash")["stdout"] == ""
