"""E2B's own Python SDK, with another address and key."""

import base64
import gzip
import json
import pathlib
import time

import pytest
import requests
from e2b import CommandExitException, FileNotFoundException, PtySize, SandboxException, TimeoutException
from e2b.exceptions import NotFoundException
from e2b_code_interpreter import Context, Sandbox

import boxes
from hutch_client import PATIENCE
from e2b_sandbox import options, sandbox, server  # noqa: F401


def test_cells(sandbox):
    ran = sandbox.run_code("x = 41\nprint('out')\nx + 1")
    assert ran.text == "42" and ran.logs.stdout == ["out\n"] and ran.logs.stderr == [] and ran.error is None
    assert sandbox.run_code("x").text == "41"
    assert sandbox.run_code("import os; os.environ['A'] + os.environ['WHO']", envs={"A": "b"}).text == "bhutch"
    error = sandbox.run_code("1/0").error
    assert error.name == "ZeroDivisionError" and error.value == "division by zero" and "Traceback" in error.traceback
    assert sandbox.run_code("[1, 2].map((n) => n * 2).join()", language="js").text == "2,4"
    assert sandbox.run_code("echo $WHO", language="bash").logs.stdout == ["hutch\n"]
    assert {context.language for context in sandbox.list_code_contexts()} >= {"python", "javascript"}


def test_each_run_says_when_its_call_came(module_state, sandbox):
    def records():
        return set(pathlib.Path(module_state).glob("sessions/*/runs/*/record.json"))

    for call in (lambda: sandbox.run_code("1"), lambda: sandbox.commands.run("true"), sandbox.create_code_context,
                 lambda: sandbox.files.rename(sandbox.files.write("/tmp/one", "").path, "/tmp/two"),
                 lambda: sandbox.files.read("/proc/version")):
        before = records()
        made = call()
        (record,) = records() - before
        if isinstance(made, Context):
            sandbox.remove_code_context(made)
        trace = json.loads(record.read_text())["trace"]
        assert trace[1] == 0 < trace[2], (record, trace)  # from when it came until its session was found


def test_half_a_character_of_code_fails_no_request(server, sandbox):
    code = b'{"code": "print(len(\'a\\ud83d\'))"%s}'
    access = {"E2b-Sandbox-Id": sandbox.sandbox_id, "X-Access-Token": sandbox._envd_access_token, "Content-Type": "application/json"}
    status, _, body = server.request("POST", "/execute", code % b"", access)
    assert status == 200 and '"2\\n"' in body.decode(), body
    status, _, body = server.request("POST", "/execute", code % b', "language": "\\ud83d"', access)
    assert status == 400, body


def test_half_a_character_of_a_command_is_content_and_of_a_path_a_name(server, sandbox):
    access = {"E2b-Sandbox-Id": sandbox.sandbox_id, "X-Access-Token": sandbox._envd_access_token, "Content-Type": "application/json"}
    for body, name in ((b'{"code": "1", "context_id": "\\ud83d"}', b"context_id"), (b'{"code": "1", "env_vars": {"\\ud83d": "a"}}', b"env_vars")):
        status, _, said = server.request("POST", "/execute", body, access)
        assert status == 400 and name in said and b"half a character" in said, said
    status, _, said = server.request("POST", "/execute", b'{"code": "import os; os.environ[\'A\']", "env_vars": {"A": "a\\ud83d"}}', access)
    assert status == 200 and "a\ufffd" in said.decode(), said
    status, _, said = server.request("POST", "/filesystem.Filesystem/Stat", b'{"path": "/workspace/\\ud83d"}', access)
    assert status == 400 and b"path has half a character" in said, said

    def start(process):
        message = b'{"process": %s}' % process
        _, _, said = server.request("POST", "/process.Process/Start", b"\0" + len(message).to_bytes(4, "big") + message,
                                    {**access, "Content-Type": "application/connect+json"})
        return said
    said = start(rb'{"cmd": "/bin/bash", "args": ["-c", "printf %s $A b\ud83d"], "envs": {"A": "\ude00"}}')
    assert base64.b64encode("\ufffdb\ufffd".encode()) in said, said
    assert b"process has half a character" in start(b'{"cmd": "\\ud83d"}')


def test_codes_of_terminals_come_as_they_were_written(sandbox):
    """Who shows a terminal needs them: nothing is taken out, joined or counted here."""
    written = "\x1b[31mred\x1b[0m one\x1b[1Gtwo\x1b[2Jrest a\bb 10%\r20%\n" + "same\n" * 500
    assert "".join(sandbox.run_code(f"import sys; _ = sys.stdout.write({written!r})").logs.stdout) == written
    assert "".join(sandbox.run_code(f"import sys; _ = sys.stderr.write({written!r})").logs.stderr) == written
    sandbox.files.write("/tmp/written", written)
    assert sandbox.commands.run("cat /tmp/written; cat /tmp/written >&2").stdout == written
    assert sandbox.run_code(f"class Shown:\n    def __repr__(self): return {written!r}\nShown()").text == written
    failure = sandbox.run_code("raise ValueError('\x1b[31mred\x1b[0m')").error
    assert failure.value == "\x1b[31mred\x1b[0m" and "ValueError: \x1b[31mred\x1b[0m" in failure.traceback


@pytest.mark.slow
def test_contexts_know_nothing_of_each_other(sandbox):
    sandbox.run_code("x = 1")
    sandbox.files.make_dir("/workspace/part")
    one, two = sandbox.create_code_context(), sandbox.create_code_context(cwd="/workspace/part")
    js, ts = sandbox.create_code_context(language="js"), sandbox.create_code_context(language="typescript")
    assert (one.language, one.cwd, two.cwd, js.language, ts.language) == ("python", "/home/user", "/workspace/part", "javascript", "typescript")
    assert sandbox.run_code("x", context=one).error.name == "NameError"
    sandbox.run_code("x = 2", context=one)
    assert sandbox.run_code("import os; os.getcwd()", context=two).text == "/workspace/part"
    sandbox.run_code("x = 3", context=two)
    assert [sandbox.run_code("x", context=context).text for context in (None, one, two)] == ["1", "2", "3"]
    assert sandbox.run_code("let y = 4; y", context=js).text == "4" and sandbox.run_code("typeof y", language="js").text == "undefined"
    assert sandbox.run_code("const z: number = 5; z", context=ts).text == "5"
    listed = {context.id: context for context in sandbox.list_code_contexts()}
    assert {one.id, two.id, js.id, ts.id, "default-python"} <= set(listed) and listed[two.id].cwd == "/workspace/part"
    # One is stuck: the others go on.
    with pytest.raises(Exception, match="(?i)time"):
        sandbox.run_code("while True: pass", context=one, timeout=1)
    assert sandbox.run_code("x", context=two).text == "3"
    sandbox.restart_code_context(one)
    sandbox.restart_code_context(two)
    assert sandbox.run_code("x", context=one).error.name == "NameError"
    assert sandbox.run_code("x, os", context=two).error and sandbox.run_code("import os; os.getcwd()", context=two).text == "/workspace/part"
    assert sandbox.run_code("x").text == "1"
    # One that is at work when it is removed does not come back.
    with pytest.raises(Exception, match="(?i)time"):
        sandbox.run_code("import time\nwhile True: time.sleep(0.1)", context=one, timeout=1)
    sandbox.remove_code_context(one)
    for context in (two, js, ts):
        sandbox.remove_code_context(context)
    for call in (lambda: sandbox.run_code("1", context=one), lambda: sandbox.remove_code_context(one.id), lambda: sandbox.run_code("1", context=ts)):
        with pytest.raises(Exception, match="no context|not found"):
            call()
    with pytest.raises(SandboxException, match="No such file"):
        sandbox.create_code_context(cwd="/none")
    with pytest.raises(SandboxException, match="bash has one context"):
        sandbox.create_code_context(language="bash")
    with pytest.raises(SandboxException, match="no language"):
        sandbox.create_code_context(language="r")
    with pytest.raises(SandboxException, match="stays"):
        sandbox.remove_code_context("default-python")
    assert {context.id for context in sandbox.list_code_contexts()} == {"default-python", "default-javascript", "default-bash"}


def test_contexts_have_a_bound(sandbox):
    made = [sandbox.create_code_context() for _ in range(16)]
    with pytest.raises(SandboxException, match="16 contexts"):
        sandbox.create_code_context()
    for context in made:
        sandbox.remove_code_context(context)
    sandbox.remove_code_context(sandbox.create_code_context())


def test_a_long_value_is_whole(sandbox):
    value = [{"id": n, "name": f"user {n}"} for n in range(600)]
    assert sandbox.run_code("[{'id': n, 'name': f'user {n}'} for n in range(600)]").text == repr(value)
    assert "left out" in sandbox.run_code("list(range(100_000))").text, "beyond what is kept of one"


def test_output_comes_as_it_is_printed(sandbox):
    seen = []
    sandbox.files.remove("/workspace/go") if sandbox.files.exists("/workspace/go") else None

    def let_go(message):
        seen.append(message.line)
        sandbox.files.write("/workspace/go", "")
    ran = sandbox.run_code("import os, sys, time\nprint('bégun', flush=True)\nwhile not os.path.exists('/workspace/go'): time.sleep(0.01)\n"
                           "print('done', file=sys.stderr)", on_stdout=let_go)
    assert seen == ["bégun\n"] and ran.logs.stderr == ["done\n"]


def test_charts(sandbox):
    draw = "import matplotlib.pyplot as plt\nplt.%s\nplt.title('T'); plt.xlabel('X'); plt.ylabel('Y'); plt.show()"
    line = sandbox.run_code(draw % "plot([1, 2, 3], [4, 5, 6], label='a')").results[0]
    assert line.png and line.chart.type.value == "line" and line.chart.title == "T" and line.chart.x_label == "X"
    assert line.chart.elements[0].label == "a" and line.chart.elements[0].points == [(1, 4), (2, 5), (3, 6)]
    bar = sandbox.run_code(draw % "bar(['a', 'b'], [1, 2])").results[0].chart
    assert bar.type.value == "bar" and [(one.label, one.value) for one in bar.elements] == [("a", 1), ("b", 2)]
    pie = sandbox.run_code(draw % "pie([1, 3], labels=['a', 'b'])").results[0].chart
    assert pie.type.value == "pie" and [(one.label, round(one.angle)) for one in pie.elements] == [("a", 90), ("b", 270)]


def test_charts_of_several_axes_of_dates_and_of_no_kind(sandbox):
    draw = "import datetime, matplotlib.pyplot as plt\n%s\nplt.show()"
    both = sandbox.run_code(draw % "fig, ax = plt.subplots(1, 2)\nax[0].plot([1, 2])\nax[1].scatter([1, 2], [3, 4])").results[0].chart
    assert both.type.value == "superchart" and [one.type.value for one in both.elements] == ["line", "scatter"]
    bare = sandbox.run_code(draw % "plt.scatter([1, 2], [3, 4])").results[0].chart
    assert (bare.title, bare.x_label, bare.y_label) == (None, None, None)
    unknown = sandbox.run_code(draw % "fig, ax = plt.subplots()\nax.add_artist(plt.Circle((0, 0), 1)); ax.set_title('C')").results[0].chart
    assert (unknown.type.value, unknown.title, unknown.elements) == ("unknown", "C", [])
    dates = sandbox.run_code(draw % "plt.plot([datetime.date(2023, 9, 1) + datetime.timedelta(days=i) for i in range(3)], range(3))").results[0].chart
    assert dates.x_ticks[0].startswith("2023-09-01T00:00:00") and dates.x_scale.value == "datetime"


def test_values(sandbox):
    """A string comes without its quotes, a table by its columns; what is counted is the interpreter's runs."""
    for code, text in (("'abc'", "abc"), ('"it\'s"', "it's"), ("''", ""), ("'a' + 'b'", "ab"), ("['a']", "['a']"), ("b'a'", "b'a'")):
        assert sandbox.run_code(code).text == text
    table = "import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None]}%s)"
    assert sandbox.run_code(table % "").results[0].data == {"a": [1, 2], "b": ["x", None]}
    assert sandbox.run_code(table % ", index=['r', 's']").results[0].data == {"a": [1, 2], "b": ["x", None]}
    assert sandbox.run_code("pd.DataFrame([[1, 2]], columns=['a', 'a'])").results[0].data is None
    context = sandbox.create_code_context()
    first = sandbox.run_code("1", context=context).execution_count
    assert sandbox.run_code("!pwd", context=context).execution_count == first + 1
    sandbox.restart_code_context(context)
    assert sandbox.run_code("1", context=context).execution_count == first
    sandbox.remove_code_context(context)


def test_commands(sandbox):
    ran = sandbox.commands.run("echo out; echo err >&2; pwd")
    assert (ran.stdout, ran.stderr, ran.exit_code) == ("out\n/home/user\n", "err\n", 0)
    assert sandbox.commands.run("echo $A; pwd", envs={"A": "it's $HOME"}, cwd="/tmp").stdout == "it's $HOME\n/tmp\n"
    with pytest.raises(CommandExitException) as failed:
        sandbox.commands.run("echo no >&2; exit 3")
    assert failed.value.exit_code == 3 and failed.value.stderr == "no\n"
    lines = []
    sandbox.commands.run("for i in 1 2 3; do echo $i; done", on_stdout=lines.append)
    assert "".join(lines) == "1\n2\n3\n"
    assert len(sandbox.commands.run("head -c 3000000 /dev/zero | tr '\\0' x").stdout) == 3_000_000


def test_commands_in_the_background(sandbox):
    handle = sandbox.commands.run("echo begun; sleep 600", background=True)
    assert handle.pid in [one.pid for one in sandbox.commands.list()]
    again = sandbox.commands.connect(handle.pid)
    assert again.pid == handle.pid
    assert sandbox.commands.kill(handle.pid)
    with pytest.raises(CommandExitException):
        handle.wait()
    assert not sandbox.commands.kill(handle.pid) and handle.pid not in [one.pid for one in sandbox.commands.list()]


def test_files(sandbox):
    every_byte = bytes(range(256)) * 1000
    written = sandbox.files.write("/home/user/a/b ü.bin", every_byte)
    assert written.path == "/home/user/a/b ü.bin" and bytes(sandbox.files.read(written.path, format="bytes")) == every_byte
    sandbox.files.write("t.txt", "ü\n")
    assert sandbox.files.read("t.txt") == "ü\n" and sandbox.files.exists("t.txt") and not sandbox.files.exists("none.txt")
    sandbox.files.write_files([{"path": "many/1", "data": "1"}, {"path": "many/2", "data": "22"}])
    assert sorted((one.name, one.size, one.type.value) for one in sandbox.files.list("many")) == [("1", 1, "file"), ("2", 2, "file")]
    assert sandbox.files.get_info("many").type.value == "dir" and sandbox.files.get_info("many/2").size == 2
    sandbox.commands.run("chmod 751 many/2; touch -d 2020-02-02T00:00:00Z many")
    for one in (sandbox.files.get_info("many/2"), next(one for one in sandbox.files.list("many") if one.name == "2")):
        assert (one.mode, one.permissions) == (0o751, "-rwxr-x--x")
    assert sandbox.files.get_info("many").modified_time.year == 2020
    sandbox.commands.run("ln -s many/2 near; ln -s /tmp far")
    assert [sandbox.files.get_info(path).symlink_target for path in ("near", "far", "many/2")] == ["/home/user/many/2", "/tmp", None]
    assert {entry.name: entry.type.value for entry in sandbox.files.list(".") if entry.name in ("far", "many")} == {"far": "symlink", "many": "dir"}
    assert sandbox.files.get_info("far").type.value == "symlink" and sandbox.files.get_info("many").size > 0
    assert sandbox.files.make_dir("deep/er") and not sandbox.files.make_dir("deep/er")
    sandbox.files.make_dir("deep/er/still")
    assert [entry.path for entry in sandbox.files.list("/home/user/deep", depth=1)] == ["/home/user/deep/er"]
    assert [entry.path for entry in sandbox.files.list("/home/user", depth=2) if "deep" in entry.path] == ["/home/user/deep", "/home/user/deep/er"]
    assert sandbox.files.rename("many/1", "deep/er/-x").path == "/home/user/deep/er/-x" and sandbox.files.read("deep/er/-x") == "1"
    sandbox.files.remove("deep")
    assert not sandbox.files.exists("deep")
    sandbox.files.remove("none")
    for missing in (lambda: sandbox.files.read("none"), lambda: sandbox.files.get_info("none"), lambda: sandbox.files.list("none")):
        with pytest.raises(FileNotFoundException):
            missing()


def test_messages_that_are_none_end_nothing(server, sandbox):
    headers = {"E2b-Sandbox-Id": sandbox.sandbox_id, "X-Access-Token": sandbox._envd_access_token, "Content-Type": "application/json"}
    for path in ("/process.Process/Connect", "/process.Process/Start", "/process.Process/SendSignal", "/process.Process/List",
                 "/filesystem.Filesystem/ListDir", "/filesystem.Filesystem/Move", "/execute"):
        for body in (b'{"process": "x"}', b'{"process": null}', b'{"process": [7]}', b'{"process": {"pid": "x", "cmd": 5}}', b'{"path": 5, "depth": -1e300}',
                     b'{"path": "/", "depth": 1e300}', b'{"code": [], "language": 5}', b"[]", b"7", b'"', b"\0\0\0\0\5{}"):
            server.request("POST", path, body, headers)
            assert server.request("GET", "/healthz")[0] == 200, (path, body)


@pytest.mark.slow
def test_what_a_client_gives_up_ends(sandbox):
    """A command with its time, a cell with its client: neither keeps the next one waiting."""
    with pytest.raises(TimeoutException):
        sandbox.commands.run("touch began; sleep 600", timeout=2 * PATIENCE)
    deadline = time.monotonic() + 30 * PATIENCE
    while sandbox.commands.list():
        assert time.monotonic() < deadline, sandbox.commands.list()
        time.sleep(0.05)
    with pytest.raises(TimeoutException):
        sandbox.run_code("while True: pass", timeout=2 * PATIENCE)
    assert sandbox.run_code("1 + 1", timeout=60 * PATIENCE).text == "2"


def test_a_command_outlives_its_client(sandbox):
    handle = sandbox.commands.run("touch begun; sleep 1; touch ended", background=True)
    handle.disconnect()
    deadline = time.monotonic() + 30 * PATIENCE
    while not sandbox.files.exists("ended"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_standard_input(sandbox):
    """Input that is sent to a command reaches it as it comes, and ends when it is said to."""
    lines = []
    cat = sandbox.commands.run("while read line; do echo got $line; done; echo end", background=True, stdin=True)
    sandbox.commands.send_stdin(cat.pid, "one\n")
    for out, _, _ in cat:
        lines.append(out)
        if "one" in "".join(lines) and "two" not in "".join(lines):
            sandbox.commands.send_stdin(cat.pid, "two\n")
            sandbox.commands.close_stdin(cat.pid)
    assert "".join(lines) == "got one\ngot two\nend\n"
    assert sandbox.commands.run("cat; echo end").stdout == "end\n", "without being asked for there is none"
    with pytest.raises(NotFoundException):
        sandbox.commands.send_stdin(cat.pid, "three")
    deaf = sandbox.commands.run("sleep 100", background=True, stdin=True)
    with pytest.raises(SandboxException, match="does not read"):
        sandbox.commands.send_stdin(deaf.pid, "x" * 1_000_000)
    assert deaf.kill()


def test_much_input(sandbox):
    words = [b"x" * 500_000] * 4
    count = sandbox.commands.run("wc -c", background=True, stdin=True)
    sandbox.commands.stream_input(count.pid, words)
    sandbox.commands.close_stdin(count.pid)
    assert count.wait().stdout.strip() == "2000000"


def test_terminals(sandbox):
    seen = []
    shell = sandbox.pty.create(PtySize(rows=7, cols=33), cwd="/tmp", timeout=600)
    pieces = iter(shell)

    def until(words):
        while words not in b"".join(seen):
            seen.append(next(pieces)[2])
    sandbox.pty.send_stdin(shell.pid, b"stty size; tty; pwd\n")
    until(b"7 33\r\n/dev/pts/")
    until(b"/tmp\r\n")
    sandbox.pty.resize(shell.pid, PtySize(rows=9, cols=99))
    sandbox.pty.send_stdin(shell.pid, b"stty size\n")
    until(b"9 99")
    # Its answer says that the terminal is its: before, an interrupt would have been the shell's.
    sandbox.pty.send_stdin(shell.pid, b"sh -c 'echo $((6 * 7)) seconds; exec sleep 1000'\n")
    until(b"42 seconds\r\n")
    sandbox.pty.send_stdin(shell.pid, b"\x03")
    until(b"^C")
    sandbox.pty.send_stdin(shell.pid, b"exit 5\n")
    with pytest.raises(CommandExitException) as ended:
        shell.wait()
    assert ended.value.exit_code == 5


def test_watching(sandbox):
    sandbox.files.make_dir("/workspace/watched/old")
    watched = sandbox.files.watch_dir("/workspace/watched", recursive=True)
    one = sandbox.files.watch_dir("/workspace/watched")
    sandbox.commands.run("cd /workspace/watched; echo 1 >a; mkdir new; mv a b; echo 2 >old/c; rm b; touch /workspace/elsewhere")
    events = {(event.name, event.type.value) for event in watched.get_new_events()}
    assert {("a", "create"), ("a", "write"), ("new", "create"), ("a", "rename"), ("b", "create"), ("old/c", "create"), ("b", "remove")} <= events
    assert {event.name for event in one.get_new_events()} <= {"a", "b", "new", "old"}, "and nothing below"
    sandbox.commands.run("echo 3 >/workspace/watched/new/d")
    assert ("new/d", "write") in {(event.name, event.type.value) for event in watched.get_new_events()}
    assert watched.get_new_events() == []
    watched.stop()
    one.stop()
    with pytest.raises(NotFoundException):
        sandbox.files.watch_dir("/workspace/none")


def test_watching_tells_what_comes_with_a_directory(sandbox):
    """One event of the kernel each: what is in it was there before anybody could watch it."""
    sandbox.files.make_dir("/workspace/tree")
    watched = sandbox.files.watch_dir("/workspace/tree", recursive=True)
    taken = lambda: [(event.name, event.type.value) for event in watched.get_new_events()]  # noqa: E731
    for line, wanted in (("mkdir -p b/c/d", {"b", "b/c", "b/c/d"}), ("mkdir a; echo 1 >a/f", {"a", "a/f"}),
                         ("mkdir -p ../else/t/u; echo 1 >../else/t/u/v; ln -s /usr ../else/t/link; mv ../else/t t", {"t", "t/u", "t/u/v", "t/link"})):
        sandbox.commands.run("cd /workspace/tree; " + line)
        events = taken()
        made = [name for name, kind in events if kind == "create"]
        assert set(made) == wanted and len(made) == len(wanted), (line, events)
        assert {name for name, kind in events if kind == "write"} == wanted & {"a/f", "t/u/v"}, events
    assert taken() == []
    sandbox.commands.run("cd /workspace/tree; mv t ../else/t; mv ../else/t back; echo 2 >back/u/new")
    events = taken()
    made = [name for name, kind in events if kind == "create"]
    assert {"back", "back/u", "back/u/v", "back/u/new"} <= set(made) and len(made) == len(set(made)) and ("t", "rename") in events, events
    watched.stop()
    heard = []
    listened = sandbox.files.watch_dir("/workspace/tree", recursive=True, include_entry=True)
    sandbox.commands.run("cd /workspace/tree; mkdir -p e/g; echo 123 >e/g/h")
    heard = [event for event in listened.get_new_events() if event.name == "e/g/h" and event.type.value == "create"]
    assert len(heard) == 1 and heard[0].entry.size == 4, heard
    listened.stop()


def test_a_directory_is_listed_whole(sandbox):
    """Their answer has no word for that it is cut."""
    sandbox.commands.run("mkdir -p /workspace/many/below; cd /workspace/many; seq -f %05.0f 1 12000 | xargs touch", timeout=60 * PATIENCE)
    assert [entry.name for entry in sandbox.files.list("/workspace/many")] == [*("%05d" % i for i in range(1, 12001)), "below"]
    assert sum(entry.path.startswith("/workspace/many/") for entry in sandbox.files.list("/workspace", depth=2)) == 12001
    sandbox.commands.run("rm -r /workspace/many", timeout=60 * PATIENCE)


def test_watching_tells_nothing_of_drafts(sandbox):
    sandbox.files.write("seen/old.txt", "a")
    watched = sandbox.files.watch_dir("seen", include_entry=True, allow_network_mounts=True)
    sandbox.files.write("seen/old.txt", "bb")
    assert {(event.name, event.type.value) for event in watched.get_new_events()} == {("old.txt", "write")}
    sandbox.files.write("seen/new.txt", "ccc")
    events = watched.get_new_events()
    assert {(event.name, event.type.value) for event in events} <= {("new.txt", "create"), ("new.txt", "write"), ("new.txt", "chmod")}
    assert [event.type.value for event in events][:2] == ["create", "write"]
    assert (events[0].entry.path, events[0].entry.size) == ("/home/user/seen/new.txt", 3)
    sandbox.files.remove("seen/new.txt")
    gone = watched.get_new_events()
    assert [(event.name, event.type.value, event.entry) for event in gone] == [("new.txt", "remove", None)]
    watched.stop()


def test_files_have_metadata(sandbox):
    made = sandbox.files.write("m.txt", "x", metadata={"Owner": "me", "n": "1"})
    assert made.metadata == {"owner": "me", "n": "1"} and sandbox.files.get_info("m.txt").metadata == made.metadata
    assert [entry.metadata for entry in sandbox.files.list(".") if entry.name == "m.txt"] == [made.metadata]
    assert sandbox.run_code("import os; os.getxattr('m.txt', 'user.e2b.owner')").text == "b'me'"
    assert sandbox.files.rename("m.txt", "o.txt").metadata == made.metadata
    assert sandbox.files.write("o.txt", "y").metadata is None and sandbox.files.get_info("o.txt").metadata is None
    sandbox.files.write("z.txt", b"packed" * 1000, gzip=True)
    assert sandbox.files.read("z.txt") == "packed" * 1000
    with pytest.raises(SandboxException, match="metadata"):
        sandbox.files.write("p.txt", "x", metadata={"k" * 250: "v"})


def test_a_packed_file_comes_whole_or_not_at_all(server, sandbox):
    packed = gzip.compress(b"whole" * 10_000)
    sandbox.files.write("kept.txt", "before")
    for body in (packed[:-9], packed[:20], b"", b"no gzip", packed + b"more"):
        answer = requests.post("http://%s:%d/files?path=kept.txt" % server.address, data=body, timeout=60 * PATIENCE,
                               headers={"E2b-Sandbox-Id": sandbox.sandbox_id, "X-Access-Token": sandbox._envd_access_token,
                                        "Content-Encoding": "gzip", "Content-Type": "application/octet-stream"})
        assert answer.status_code == 400, (len(body), answer.status_code, answer.text)
    assert sandbox.files.read("kept.txt") == "before"


def test_files_of_the_kernel_are_read_as_code_reads_them(sandbox):
    boot = sandbox.files.read("/proc/sys/kernel/random/boot_id")
    assert boot == sandbox.commands.run("cat /proc/sys/kernel/random/boot_id").stdout
    assert boot.strip() != open("/proc/sys/kernel/random/boot_id").read().strip() and len(boot) == 37
    inside = sandbox.files.read("/proc/self/status")
    assert inside.splitlines()[0].startswith("Name:") and "NoNewPrivs:\t1" in inside, "a process of the box reads it"
    with pytest.raises(FileNotFoundException):
        sandbox.files.read("/proc/none")
    with pytest.raises(SandboxException):
        sandbox.files.read("/proc/kcore")


def test_all_doors_work_in_the_home_directory(server, sandbox, options):
    """As E2B's users expect of relative paths; sessions of other doors stay in /workspace."""
    for language, code in (("python", "import os; print(os.getcwd())"), ("js", "console.log(process.cwd())"), ("bash", "pwd; cd /tmp")):
        ran = sandbox.run_code(code, language=language)
        assert ran.logs.stdout == ["/home/user\n"], (language, ran)
    assert sandbox.run_code("pwd", language="bash").logs.stdout == ["/tmp\n"], "bash keeps its own"
    sandbox.files.write("t.csv", "a\n1\n")
    assert "1" in sandbox.run_code("SELECT * FROM 't.csv'", language="sql").text
    status, _, body = server.request("GET", f"/sandboxes/{sandbox.sandbox_id}/files?path=t.csv", headers={"X-API-Key": options["api_key"]})
    assert (status, body) == (200, b"a\n1\n")
    status, _, body = server.request("POST", "/sandboxes", json.dumps({}).encode(), {"X-API-Key": options["api_key"], "Content-Type": "application/json"})
    other = Sandbox.connect(json.loads(body)["sandboxID"], **options)
    assert other.files.write("a.txt", "x").path == "/workspace/a.txt" and other.commands.run("pwd").stdout == "/workspace\n"
    other.kill()


def test_git(sandbox, options):
    sandbox.git.init("/workspace/repo")
    sandbox.git.configure_user("A", "a@example.org", scope="local", path="/workspace/repo")
    sandbox.files.write("/workspace/repo/f", "1")
    sandbox.git.add("/workspace/repo")
    sandbox.git.commit("/workspace/repo", "first")
    assert sandbox.git.status("/workspace/repo").is_clean and sandbox.git.branches("/workspace/repo").branches
    assert sandbox.list_snapshots().next_items() == [] and not sandbox.delete_snapshot("none", **options)


def test_urls_of_files_stand_alone(server, sandbox):
    """Signed, they need no header: any client may fetch what they name, and nothing else."""
    sandbox.files.write("/workspace/signed.txt", "here")
    host = {"Host": "49983-%s.localhost" % sandbox.sandbox_id}
    other = sandbox.sandbox_id[:-1] + ("0" if sandbox.sandbox_id[-1] != "0" else "1")
    url = sandbox.download_url("/workspace/signed.txt", use_signature_expiration=1000)
    assert requests.get(url, headers=host, timeout=60).text == "here"
    wrong = {"code": 401, "message": "invalid signature"}
    assert requests.get(url.replace("signed.txt", "other.txt"), headers=host, timeout=60).json() == wrong
    assert requests.get(url.replace("signature=v1_", "signature=v1_x"), headers=host, timeout=60).json() == wrong
    assert requests.get(url, headers={"Host": "49983-%s.localhost" % other}, timeout=60).json() == wrong, "nor is it told which there are"
    over = requests.get(sandbox.download_url("/workspace/signed.txt", use_signature_expiration=-10), headers=host, timeout=60)
    assert over.status_code == 401 and over.json() == {"code": 401, "message": "signature is already expired"}
    to = sandbox.upload_url("/workspace/put.txt")
    assert requests.post(to, headers=host, files={"file": ("x", b"sent")}, timeout=60).ok
    assert sandbox.files.read("/workspace/put.txt") == "sent"
    assert requests.get(to, headers=host, timeout=60).status_code == 401, "to write is not to read"
    assert requests.get(url, timeout=60).text == "here", "whose host says nothing of it"
    assert requests.post(to, files={"file": ("x", b"again")}, timeout=60).ok and sandbox.files.read("/workspace/put.txt") == "again"
    tried = [requests.get(url.replace("signed.txt", "other.txt"), timeout=60) for _ in range(30)]
    assert {one.status_code for one in tried} == {401, 429} and wrong in [one.json() for one in tried]
    boxes.until(lambda: requests.get(url, timeout=60).status_code == 200, what="the next second")
    address, query = to.partition("/files?")[::2]
    for path, body in (("/process.Process/Start", {"process": {"cmd": "id"}}), ("/process.Process/List", {}), ("/filesystem.Filesystem/ListDir", {"path": "/"}),
                       ("/execute", {"code": "1"})):
        done = requests.post(address + path + "?" + query, headers=host, json=body, timeout=60)
        assert done.status_code == 401, (path, done.text)
