"""run_code, get_run, cancel_run through the real server: state, endings, hand-over, output."""

import base64
import json
import threading
import time

import pytest

from boxes import until
from conftest import needs
from hutch_client import PATIENCE, Client, ToolError


def test_state_and_last_value(client):
    assert client.run("x = 41")["outputs"] == []
    assert client.value("x + 1") == "42"


@pytest.mark.parametrize("language,code,expected", [
    ("python", "import asyncio\nawait asyncio.sleep(0)\n[1, 2]", "[1, 2]"),
    ("javascript", "await Promise.resolve(); [1, 2].map(x => x * 2)", "[ 2, 4 ]"),
    ("typescript", "const n: number = 3; n * 2", "6"),
])
def test_top_level_await_and_value(shared, language, code, expected):
    assert shared.value(code, language) == expected


def test_every_language_keeps_its_state(client):
    client.run("a = 1")
    client.run("const b = 2", "javascript")
    client.run("CREATE TABLE c (n); INSERT INTO c VALUES (3)", "sql")
    client.run("D=4; e() { echo $((D + 1)); }; mkdir -p sub; cd sub", "bash")
    assert client.value("a") == "1"
    assert client.value("b", "javascript") == "2"
    assert "3" in client.value("SELECT n FROM c", "sql")
    assert client.run("e; pwd", "bash")["stdout"] == "5\n/workspace/sub\n"


def test_typescript_shares_javascript(client):
    client.run("const shared_value = 5", "javascript")
    assert client.value("const again: number = shared_value; again", "typescript") == "5"
    assert client.value("const shared_value = 6; shared_value", "javascript") == "6"


def test_stdout_and_stderr_are_apart(shared):
    run = shared.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
    assert (run["stdout"], run["stderr"]) == ("out\n", "err\n")


@pytest.mark.parametrize("language,code", [
    ("bash", "echo out > /dev/stdout; echo err | tee /dev/stderr > /dev/null; echo fd > /proc/self/fd/1"),
    ("python", "open('/dev/stdout', 'w').write('out\\n'); open('/dev/stderr', 'w').write('err\\n')\n"
               "open('/proc/self/fd/1', 'w').write('fd\\n');"),
    ("javascript", "const { writeFileSync } = require('fs'); writeFileSync('/dev/stdout', 'out\\n'); "
                   "writeFileSync('/dev/stderr', 'err\\n'); writeFileSync('/proc/self/fd/1', 'fd\\n')")])
def test_streams_can_be_opened_by_name(shared, language, code):
    run = shared.run(code, language)
    assert (run["stdout"], run["stderr"]) == ("out\nfd\n", "err\n"), run


def test_exception_is_an_answer_and_names_the_line(shared):
    result = shared.result("run_code", code="y = 1\nraise ValueError('units?')")
    run = result["structuredContent"]
    assert result["isError"] is False
    assert run["status"] == "failed" and run["exit_code"] == 1
    assert run["error"]["name"] == "ValueError" and run["error"]["cause"] == "exception"
    assert "line 2" in run["stderr"] and "runner" not in run["stderr"]
    assert run["error"]["survived"] == "variables kept, files kept"
    assert shared.value("y") == "1"


@pytest.mark.parametrize("language,code,line", [
    ("javascript", "let q = 1;\nthrow new RangeError('far')", "2"),
    ("sql", "SELECT 1;\nSELECT nope;", "2"),
    ("bash", "true\nnope_command", "2"),
])
def test_errors_name_the_users_line(shared, language, code, line):
    run = shared.run(code, language)
    assert run["status"] == "failed" and run["exit_code"] != 0
    assert line in run["stderr"], run["stderr"]


@pytest.mark.parametrize("code,cause,exit_code", [
    ("import sys; sys.exit(3)", "exit", 3),
    ("import os; os._exit(4)", "exit", 4),
    ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal", 139),
    ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "interpreter_died", 137),
])
def test_honest_endings(client, code, cause, exit_code):
    run = client.run(code)
    assert run["status"] == "failed"
    assert run["error"]["cause"] == cause and run["exit_code"] == exit_code
    assert client.value("1 + 1") == "2"


def test_an_empty_socket_is_no_process_limit(shared):
    run = shared.run("import socket\na, b = socket.socketpair()\na.setblocking(False)\na.recv(1)")
    assert run["error"]["name"] == "BlockingIOError" and run["error"]["cause"] == "exception"


def test_a_background_run_says_that_it_runs(client):
    run = client.run("import time; time.sleep(20)", background=True)
    assert run["status"] == "running"
    client.call("cancel_run", run_id=run["run_id"])


def test_bash_exit_code(shared):
    run = shared.run("exit 7", "bash")
    assert (run["status"], run["exit_code"], run["error"]["cause"]) == ("failed", 7, "exit")


def test_out_of_memory_has_its_cause(state):
    with Client(state) as client:
        session = client.call("create_session", limits={"memory_mb": 128})["session_id"]
        run = client.run("data = bytearray()\nwhile True: data += b'x' * (8 << 20)",
                         session_id=session, timeout_seconds=60)
        assert run["status"] == "failed"
        assert run["error"]["cause"] == "oom" or run["error"]["name"] == "MemoryError", run
        assert client.run("1", session_id=session)["status"] == "completed"


def test_process_limit_has_its_cause(state):
    with Client(state) as client:
        session = client.call("create_session", limits={"processes": 20})["session_id"]
        code = ("import subprocess\nkept = [subprocess.Popen(['sleep', '30']) for _ in range(100)]")
        run = client.run(code, session_id=session)
        assert run["error"]["cause"] == "pids", run["error"]
        assert client.run("for p in kept if 'kept' in globals() else []: p.kill()",
                          session_id=session)["status"] == "completed"


@pytest.mark.parametrize("where", ["/workspace", "/home/user", "/tmp"])
def test_disk_limit_has_its_cause(state, where):
    with Client(state) as client:
        session = client.call("create_session", limits={"disk_mb": 8})["session_id"]
        one = client.run(f"open('{where}/one', 'wb').write(b'x' * (9 << 20))", session_id=session)
        assert one["error"]["cause"] == "disk", one["error"]
        client.run(f"import os; os.remove('{where}/one')", session_id=session)
        many = client.run(f"import time\nfor i in range(600):\n    open(f'{where}/f{{i}}', 'wb').write(b'x' * (1 << 20))\n"
                          "    time.sleep(0.05)", session_id=session)
        assert many["status"] == "failed" and many["error"]["cause"] == "disk", many
        assert client.run(f"import glob, os\nfor f in glob.glob('{where}/f*'): os.remove(f)",
                          session_id=session)["status"] == "completed"


def test_file_count_limit_has_its_cause(state):
    with Client(state) as client:
        session = client.call("create_session", limits={"files": 100})["session_id"]
        run = client.run("import time\nfor i in range(2000):\n    open(f'f{i}', 'w').close()\n    time.sleep(0.01)",
                         session_id=session)
        assert run["error"]["cause"] == "disk", run


def test_output_limit_has_its_cause(state):
    with Client(state) as client:
        session = client.call("create_session", limits={"output_mb": 1})["session_id"]
        run = client.run("while True: print('x' * 1000)", session_id=session)
        assert run["status"] == "failed" and run["error"]["cause"] == "output"
        assert run["truncated"]["stdout"]["total_bytes"] == 1 << 20


def test_long_output_keeps_head_and_tail_and_the_file(shared):
    run = shared.run("print('BEGIN'); print('x' * 100000); print('END')")
    assert run["stdout"].startswith("BEGIN") and run["stdout"].endswith("END\n")
    assert len(run["stdout"]) < 31_000
    whole = run["truncated"]["stdout"]
    assert whole["total_bytes"] == 100_011
    read = shared.call("read_file", path=whole["file"], offset=100_000, limit=100)
    assert read["content"].endswith("END\n") and read["total_bytes"] == 100_011


def test_output_is_never_cut_inside_a_character(shared):
    run = shared.run("print('é' * 40000)")
    assert "\ufffd" not in run["stdout"]


def test_bytes_that_are_no_utf8_do_not_break_the_protocol(shared):
    run = shared.run("import sys\nsys.stdout.buffer.write(b'a\\xff\\xfeb\\n')")
    assert run["stdout"] == "a\ufffd\ufffdb\n"


def test_env_is_for_one_run(client):
    assert client.call("run_code", code="import os; os.environ['K']", env={"K": "v"})[
        "outputs"][0]["text"] == "'v'"
    assert client.value("'K' in os.environ") == "False"
    run = client.call("run_code", code="echo $K; K2=$K", language="bash", env={"K": "b"})
    assert run["stdout"] == "b\n"
    assert client.run("echo \"[$K]\"", "bash")["stdout"] == "[]\n"


@pytest.mark.slow
def test_background_runs_and_the_most_of_a_session(client):
    client.call("create_session", name="busy", limits={"processes": 400})
    runs = [client.run("echo up; sleep 60", "bash", background=True, session_id="busy") for _ in range(64)]
    assert {run["status"] for run in runs} <= {"queued", "running"}
    with pytest.raises(ToolError) as refused:
        client.run("true", "bash", background=True, session_id="busy")
    for run in runs[:5]:
        assert run["run_id"] in str(refused.value)
    client.until_output(runs[63]["run_id"], "up")
    assert client.run("'foreground beside them'", session_id="busy")["outputs"][0]["text"] == "'foreground beside them'"
    ended = client.call("cancel_run", run_id=runs[0]["run_id"])
    assert ended["status"] == "cancelled" and ended["error"]["cause"] == "cancelled"
    assert client.run("true", "bash", background=True, session_id="busy")["run_id"]
    # A run with an interpreter of its own takes more of the machine.
    for _ in range(5):
        assert client.run("import time; time.sleep(60)", background=True, session_id="busy")["run_id"]
    with pytest.raises(ToolError, match="already has 5 background runs beside bash's"):
        client.run("1", background=True, session_id="busy")


def test_background_server_is_reached_from_the_session(client):
    server = client.run("python3 -u -m http.server 8123 --bind 127.0.0.1", "bash", background=True)
    client.until_output(server["run_id"], "Serving HTTP", timeout=60)  # said once it listens
    assert client.value("import urllib.request\nurllib.request.urlopen('http://127.0.0.1:8123/').status") == "200"
    client.call("cancel_run", run_id=server["run_id"])


WAIT_FOR_GO = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\n"


def test_queue_and_cancel_in_the_queue(client):
    def active(*statuses):
        deadline = time.monotonic() + 60 * PATIENCE
        while True:
            sessions = client.call("list_sessions")["sessions"]
            runs = sessions[0].get("active_runs", []) if sessions else []
            if sorted(run["status"] for run in runs) == sorted(statuses):
                return {run["status"]: run["run_id"] for run in runs}
            assert time.monotonic() < deadline, runs

    first = client.start_tool("run_code", code=WAIT_FOR_GO)
    active("running")
    second = client.start_tool("run_code", code="'ran'")
    cancelled = client.call("cancel_run", run_id=active("running", "queued")["queued"])
    assert cancelled["status"] == "cancelled"
    assert client.reply(second)["result"]["structuredContent"]["status"] == "cancelled"
    client.call("write_file", path="go", content="")
    assert client.reply(first)["result"]["structuredContent"]["status"] == "completed"


def test_languages_run_beside_each_other(client):
    """Each waits for the other: neither would end if they ran one after the other."""
    slow = client.start_tool("run_code", code="open('begun', 'w').close()\n" + WAIT_FOR_GO)
    quick = "until test -e begun; do sleep 0.01; done; touch go; echo quick"
    assert client.run(quick, "bash")["stdout"] == "quick\n"
    assert client.reply(slow)["result"]["structuredContent"]["status"] == "completed"


def test_progress_names_the_run_first(client):
    request = client.start("tools/call", {
        "name": "run_code", "arguments": {"code": "print('working', flush=True)\n" + WAIT_FOR_GO},
        "_meta": {"progressToken": "p1"}})
    first = client.notifications.get(timeout=60)
    assert first["method"] == "notifications/progress"
    assert first["params"]["progressToken"] == "p1"
    assert first["params"]["message"].startswith("run_")
    later, before = client.notifications.get(timeout=60), first
    while not later["params"]["message"].startswith("working ("):  # the interpreter had not come to it yet
        assert later["params"]["progress"] > before["params"]["progress"]
        assert later["params"]["message"].startswith(("queued", "running (")), later
        later, before = client.notifications.get(timeout=60), later
    assert later["params"]["progress"] > before["params"]["progress"]
    client.call("write_file", path="go", content="")
    assert client.reply(request)["result"]["structuredContent"]["status"] == "completed"


@pytest.mark.slow
def test_a_long_run_is_handed_over_before_the_client_gives_up(client):
    started = time.monotonic()
    run = client.run("import time\nprint('begun', flush=True)\ntime.sleep(54)\n'end'",
                     timeout_seconds=100)
    assert 45 < time.monotonic() - started < 58
    assert run["status"] == "running" and run["stdout"] == "begun\n" and run["note"]
    ended = client.until_ended(run["run_id"])
    assert ended["status"] == "completed" and ended["outputs"][0]["text"] == "'end'"


def test_get_run_offsets_continue(client):
    run = client.run("print('a' * 10); print('b' * 10)")
    part = client.call("get_run", run_id=run["run_id"], stdout_offset=5)
    assert part["stdout"] == "a" * 5 + "\n" + "b" * 10 + "\n"
    assert part["stdout_next_offset"] == 22
    assert client.call("get_run", run_id=run["run_id"], stdout_offset=22)["stdout"] == ""


def test_text_says_the_same_as_structured_content(shared):
    result = shared.result("run_code", code="print('printed')\n'value'")
    text = result["content"][0]["text"]
    run = result["structuredContent"]
    for part in (run["run_id"], "printed", "'value'", "completed"):
        assert part in text


NOISE = """
import matplotlib.pyplot as plt, numpy
for seed in range(6):
    figure = plt.figure(figsize=(6, 6), dpi=75)
    figure.figimage(numpy.random.default_rng(seed).random((450, 450, 3)))
    plt.show()
"""


@pytest.mark.slow
def test_figures_beyond_what_a_client_takes_are_named(shared):
    needs(shared.run("import matplotlib, numpy")["status"] == "completed", "matplotlib and numpy")
    result = shared.result("run_code", code=NOISE)
    assert len(json.dumps(result)) < 1 << 20, "the official Python client ends the connection"
    shown = [block for block in result["content"] if block["type"] == "image"]
    paths = [output["image_path"] for output in result["structuredContent"]["outputs"]]
    assert len(paths) == 6 and 0 < len(shown) < 6
    note = f"{6 - len(shown)} of 6 images are left out"
    assert note in result["content"][0]["text"] and note in result["structuredContent"]["note"]
    for path in paths:
        assert path in result["content"][0]["text"]
    read = shared.result("read_file", path=paths[5])
    assert read["content"][1]["mimeType"] == "image/png"


def test_figures_come_as_images_with_chart_data(shared):
    needs(shared.run("import matplotlib")["status"] == "completed", "matplotlib")
    result = shared.result("run_code", code=(
        "import matplotlib.pyplot as plt\n"
        "plt.plot([1, 2, 3], [4, 5, 6], label='series'); plt.title('one'); plt.show()\n"
        "plt.bar(['a', 'b'], [1, 2]); plt.title('two')\n"))
    images = [block for block in result["content"] if block["type"] == "image"]
    assert len(images) == 2
    assert all(base64.b64decode(i["data"]).startswith(b"\x89PNG") for i in images)
    charts = [o["chart"] for o in result["structuredContent"]["outputs"] if "chart" in o]
    assert charts[0]["type"] == "line" and charts[0]["title"] == "one"
    assert charts[0]["elements"][0]["points"] == [[1, 4], [2, 5], [3, 6]]
    assert charts[1]["type"] == "bar"
    assert "iVBORw0KGgo" not in str(result["structuredContent"])  # as a PNG begins in base64
    path = next(o["image_path"] for o in result["structuredContent"]["outputs"] if "image_path" in o)
    read = shared.result("read_file", path=path)
    assert any(block["type"] == "image" for block in read["content"])


def test_sql_reads_files_by_name(client):
    client.call("write_file", path="data.csv", content="city,n\nOslo,3\nRome,5\n")
    run = client.run('SELECT sum(n) AS total FROM "data.csv"', "sql")
    assert run["outputs"][-1]["json"]["rows"] == [[8]], run["outputs"]
    client.call("write_file", path="data.csv", content="city,n\nOslo,4\n")
    run = client.run('SELECT sum(n) AS total FROM "data.csv"', "sql")
    assert run["outputs"][-1]["json"]["rows"] == [[4]]


def test_input_fails_fast(shared):
    started = time.monotonic()
    run = shared.run("input('name? ')")
    assert run["status"] == "failed" and time.monotonic() - started < 10


def test_left_behind_processes_live_on_and_their_output_is_kept(client):
    run = client.run("(sleep 1; echo late) & echo early", "bash")
    assert run["status"] == "completed"
    until(lambda: client.call("get_run", run_id=run["run_id"])["stdout"] == "early\nlate\n")


def test_many_calls_at_once(client):
    ids = [client.start_tool("run_code", code=f"{n} * 2") for n in range(30)]
    values = [client.reply(i)["result"]["structuredContent"]["outputs"][0]["text"] for i in ids]
    assert values == [str(n * 2) for n in range(30)]


def test_parallel_clients_use_sessions_of_their_own(state):
    with Client(state) as one, Client(state) as two:
        threads = [threading.Thread(target=c.run, args=(f"who = {n}",))
                   for n, c in enumerate((one, two))]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert (one.value("who"), two.value("who")) == ("0", "1")


def test_programs_that_reserve_disk_write_instead(shared):
    """fallocate is refused: what falls back to writing goes on, and the disk is taken as slowly as by writing."""
    run = shared.run(
        "import ctypes, os, sqlite3\n"
        "f = os.open('reserved', os.O_RDWR | os.O_CREAT)\n"
        "os.posix_fallocate(f, 0, 100_000)\nprint(os.fstat(f).st_size, os.fstat(f).st_blocks * 512 >= 100_000)\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.fallocate(f, 1, ctypes.c_long(0), ctypes.c_long(1 << 30)), os.strerror(ctypes.get_errno()))\n"
        "print(os.fstat(f).st_blocks * 512 < 1 << 20)\n"
        "db = sqlite3.connect('db')\ndb.execute('create table t (x)')\n"
        "db.executemany('insert into t values (?)', [('x' * 1000,)] * 2000)\ndb.commit()\n"
        "print(db.execute('select count(*) from t').fetchone()[0])")
    assert run["stdout"] == "100000 True\n-1 Operation not supported\nTrue\n2000\n", run
    node = shared.run("const fs = require('fs'); fs.writeFileSync('n', 'x'.repeat(1 << 20)); "
                      "fs.truncateSync('n', 10); fs.readFileSync('n').length", "javascript")
    assert node["outputs"][0]["text"] == "10"
    shared.run("rm -f reserved db n", "bash")
