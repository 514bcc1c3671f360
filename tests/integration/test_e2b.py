"""E2B's own Python SDK, with another address and key."""

import json
import subprocess
import time
from pathlib import Path

import pytest
import requests
from e2b import (AuthenticationException, CommandExitException, FileNotFoundException, PtySize, SandboxException, SandboxQuery, SandboxState,
                 TimeoutException)
from e2b.exceptions import NotFoundException
from e2b_code_interpreter import Sandbox

import environments
from hutch_client import PATIENCE, hutch_binary
from http_server import Server, token


@pytest.fixture(scope="module")
def server(module_state):
    with Server(module_state, no_auth=False, env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as started:
        yield started


@pytest.fixture(scope="module")
def options(server, module_state):
    url = "http://%s:%d" % server.address
    return {"api_key": token(module_state), "api_url": url, "sandbox_url": url, "request_timeout": 60 * PATIENCE}


@pytest.fixture(scope="module")
def sandbox(options):
    made = Sandbox.create(timeout=3600, envs={"WHO": "hutch"}, **options)
    yield made
    made.kill()


def test_cells(sandbox):
    ran = sandbox.run_code("x = 41\nprint('out')\nx + 1")
    assert ran.text == "42" and ran.logs.stdout == ["out\n"] and ran.logs.stderr == [] and ran.error is None
    assert sandbox.run_code("x").text == "41"
    assert sandbox.run_code("import os; os.environ['A'] + os.environ['WHO']", envs={"A": "b"}).text == "'bhutch'"
    error = sandbox.run_code("1/0").error
    assert error.name == "ZeroDivisionError" and error.value == "division by zero" and "Traceback" in error.traceback
    assert sandbox.run_code("[1, 2].map((n) => n * 2).join()", language="js").text == "'2,4'"
    assert sandbox.run_code("echo $WHO", language="bash").logs.stdout == ["hutch\n"]
    assert {context.language for context in sandbox.list_code_contexts()} >= {"python", "javascript"}


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


def test_commands(sandbox):
    ran = sandbox.commands.run("echo out; echo err >&2; pwd")
    assert (ran.stdout, ran.stderr, ran.exit_code) == ("out\n/workspace\n", "err\n", 0)
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
    assert sandbox.files.make_dir("deep/er") and not sandbox.files.make_dir("deep/er")
    assert sandbox.files.rename("many/1", "deep/er/-x").path == "/workspace/deep/er/-x" and sandbox.files.read("deep/er/-x") == "1"
    sandbox.files.remove("deep")
    assert not sandbox.files.exists("deep")
    for missing in (lambda: sandbox.files.read("none"), lambda: sandbox.files.get_info("none"), lambda: sandbox.files.remove("none"),
                    lambda: sandbox.files.list("none")):
        with pytest.raises(FileNotFoundException):
            missing()


def test_the_life_of_a_sandbox(options):
    made = Sandbox.create(timeout=900, **options)
    assert made.is_running() and made.get_info().sandbox_id == made.sandbox_id
    made.run_code("kept = 5")
    assert made.sandbox_id in [one.sandbox_id for one in Sandbox.list(**options).next_items()]
    made.pause()
    assert made.get_info().state.value == "paused"
    assert Sandbox.connect(made.sandbox_id, **options).run_code("kept").text == "5"
    assert made.kill() and not made.is_running() and not Sandbox.kill(made.sandbox_id, **options)
    with pytest.raises((NotFoundException, SandboxException)):
        made.run_code("1")


def test_what_is_not_there_yet_says_so(sandbox):
    for call, says in [(lambda: sandbox.create_code_context(), "one context"), (sandbox.create_snapshot, "not copied here"),
                       (sandbox.fork, "not copied here"), (lambda: sandbox.update_network({"allow_out": ["example.com"]}), "hutch sessions allow")]:
        with pytest.raises(SandboxException, match=says):
            call()


def test_who_may(server, options, sandbox, module_state):
    with pytest.raises(AuthenticationException, match="401"):
        Sandbox.create(**{**options, "api_key": "e2b_0123"})
    other = {**options, "api_key": token(module_state, "--principal", "other")}
    with pytest.raises(NotFoundException):
        Sandbox.connect(sandbox.sandbox_id, **other)
    access = sandbox._envd_access_token
    ask = lambda path, **headers: server.request("POST", path, b"{}", {name.replace("_", "-"): value for name, value in headers.items()})  # noqa: E731
    for path in ("/execute", "/files?path=x", "/process.Process/List", "/filesystem.Filesystem/Stat", "/contexts", "/process.Process/Start"):
        for headers in ({}, {"E2b_Sandbox_Id": sandbox.sandbox_id}, {"X_Access_Token": access}, {"E2b_Sandbox_Id": sandbox.sandbox_id, "X_Access_Token": "0" * 64},
                        {"E2b_Sandbox_Id": "session_0", "X_Access_Token": access}, {"E2b_Sandbox_Id": sandbox.sandbox_id, "X_API_Key": options["api_key"]}):
            status, _, body = ask(path, **headers)
            assert status == 404 and json.loads(body)["code"] in (404, "not_found"), (path, headers, body)
    # It lets in to its sandbox, and to nothing else.
    for headers in ({"X_API_Key": access}, {"Authorization": f"Bearer {access}"}):
        assert ask("/sandboxes", **headers)[0] == 401
    assert ask("/process.Process/List", E2b_Sandbox_Id=sandbox.sandbox_id, X_Access_Token=access)[0] == 200
    assert ask("/process.Process/Start", E2b_Sandbox_Id=sandbox.sandbox_id, X_Access_Token=access, Content_Type="application/connect+json")[2][0] == 2
    mode = Path(module_state, "access.key").stat().st_mode
    assert mode & 0o077 == 0


def test_messages_that_are_none_end_nothing(server, sandbox):
    headers = {"E2b-Sandbox-Id": sandbox.sandbox_id, "X-Access-Token": sandbox._envd_access_token, "Content-Type": "application/json"}
    for path in ("/process.Process/Connect", "/process.Process/Start", "/process.Process/SendSignal", "/process.Process/List",
                 "/filesystem.Filesystem/ListDir", "/filesystem.Filesystem/Move", "/execute"):
        for body in (b'{"process": "x"}', b'{"process": null}', b'{"process": [7]}', b'{"process": {"pid": "x", "cmd": 5}}', b'{"path": 5, "depth": -1e300}',
                     b'{"path": "/", "depth": 1e300}', b'{"code": [], "language": 5}', b"[]", b"7", b'"', b"\0\0\0\0\5{}"):
            server.request("POST", path, body, headers)
            assert server.request("GET", "/healthz")[0] == 200, (path, body)


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


def test_a_sandbox_is_no_more_open_than_it_was_asked_to_be(state):
    with Server(state, "--allow", "api.example.com", no_auth=False) as server:
        url = "http://%s:%d" % server.address
        here = {"api_key": token(state), "api_url": url, "sandbox_url": url, "template": "host"}
        closed = Sandbox.create(allow_internet_access=False, **here)
        assert closed.run_code("import os; 'https_proxy' in os.environ").text == "False"
        closed.kill()
        with pytest.raises(SandboxException, match="network"):
            Sandbox.create(network={"deny_out": ["10.0.0.0/8"]}, **here)


def test_listing_gives_no_others_than_were_asked_for(options, sandbox):
    with pytest.raises(SandboxException, match="template"):
        Sandbox.list(query=SandboxQuery(template="base"), **options).next_items()
    assert Sandbox.list(query=SandboxQuery(state=[SandboxState.PAUSED]), **options).next_items() == []
    assert sandbox.sandbox_id in [one.sandbox_id for one in Sandbox.list(query=SandboxQuery(state=[SandboxState.RUNNING]), **options).next_items()]


def test_a_command_outlives_its_client(sandbox):
    handle = sandbox.commands.run("touch begun; sleep 1; touch ended", background=True)
    handle.disconnect()
    deadline = time.monotonic() + 30 * PATIENCE
    while not sandbox.files.exists("ended"):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_standard_input(sandbox):
    """What is sent to a command reaches it as it comes, and ends when it is said to."""
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
    sandbox.pty.send_stdin(shell.pid, b"sleep 1000\n")
    until(b"sleep 1000\r\n")
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


def test_git(sandbox, options):
    sandbox.git.init("/workspace/repo")
    sandbox.git.configure_user("A", "a@example.org", scope="local", path="/workspace/repo")
    sandbox.files.write("/workspace/repo/f", "1")
    sandbox.git.add("/workspace/repo")
    sandbox.git.commit("/workspace/repo", "first")
    assert sandbox.git.status("/workspace/repo").is_clean and sandbox.git.branches("/workspace/repo").branches
    assert sandbox.list_snapshots().next_items() == [] and not sandbox.delete_snapshot("none", **options)


def test_metrics(sandbox, module_state):
    shown = subprocess.run([hutch_binary(), "sessions", "show", sandbox.sandbox_id, "--json", "--state-dir", module_state], capture_output=True, check=True)
    isolation = json.loads(shown.stdout)["isolation"]
    # Of the older kind processor time is a hierarchy of its own, which no box has a part of.
    memory_is_counted, time_is_counted = "cgroup" in isolation["memory"], isolation["cpus"] == "cgroup v2"
    sandbox.run_code("held = bytearray(50_000_000)")
    busy = sandbox.commands.run("while :; do :; done", background=True)
    sandbox.files.write("/workspace/large", "x" * 3_000_000)
    deadline = time.monotonic() + 60 * PATIENCE
    while True:
        [one] = sandbox.get_metrics()
        memory = one.mem_used > 50_000_000 or not memory_is_counted
        if memory and (one.cpu_used_pct > 20 or not time_is_counted) and one.disk_used >= 3_000_000:
            break
        assert time.monotonic() < deadline, one
    assert one.mem_total > one.mem_used and one.disk_total > one.disk_used and one.cpu_count >= 1
    busy.kill()


def test_its_end_can_be_moved(options):
    with Sandbox.create(timeout=3600, **options) as made:
        before = made.get_info().end_at
        made.set_timeout(7200)
        assert 3500 < (made.get_info().end_at - before).total_seconds() < 3700
        Sandbox.connect(made.sandbox_id, timeout=60, **options)
        assert (made.get_info().end_at - before).total_seconds() > 3500, "connecting never shortens it"
        made.commands.run("true")
        made.set_timeout(1)
        deadline = time.monotonic() + 30 * PATIENCE
        while made.is_running():
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_metadata_finds_sandboxes(options):
    with Sandbox.create(metadata={"user": "a&b=c %", "team": "rot"}, **options) as made, Sandbox.create(metadata={"team": "blau"}, **options):
        assert made.get_info().metadata == {"user": "a&b=c %", "team": "rot"}
        for wanted in ({"team": "rot"}, {"user": "a&b=c %"}, {"team": "rot", "user": "a&b=c %"}):
            found = Sandbox.list(query=SandboxQuery(metadata=wanted), **options).next_items()
            assert [one.sandbox_id for one in found] == [made.sandbox_id], wanted
        assert Sandbox.list(query=SandboxQuery(metadata={"team": "gelb"}), **options).next_items() == []


def test_urls_of_files_stand_alone(server, sandbox):
    """Signed, they need no header: any client may fetch what they name, and nothing else."""
    sandbox.files.write("/workspace/signed.txt", "here")
    host = {"Host": "49983-%s.localhost" % sandbox.sandbox_id}
    url = sandbox.download_url("/workspace/signed.txt", use_signature_expiration=1000)
    assert requests.get(url, headers=host, timeout=60).text == "here"
    assert requests.get(url.replace("signed.txt", "other.txt"), headers=host, timeout=60).status_code == 404
    assert requests.get(url.replace("signature=v1_", "signature=v1_x"), headers=host, timeout=60).status_code == 404
    over = sandbox.download_url("/workspace/signed.txt", use_signature_expiration=-10)
    assert requests.get(over, headers=host, timeout=60).status_code == 404
    to = sandbox.upload_url("/workspace/put.txt")
    assert requests.post(to, headers=host, files={"file": ("x", b"sent")}, timeout=60).ok
    assert sandbox.files.read("/workspace/put.txt") == "sent"
    assert requests.get(to, headers=host, timeout=60).status_code == 404, "to write is not to read"
    address, query = to.partition("/files?")[::2]
    for path, body in (("/process.Process/Start", {"process": {"cmd": "id"}}), ("/process.Process/List", {}), ("/filesystem.Filesystem/ListDir", {"path": "/"}),
                       ("/execute", {"code": "1"})):
        done = requests.post(address + path + "?" + query, headers=host, json=body, timeout=60)
        assert done.status_code == 404, (path, done.text)
