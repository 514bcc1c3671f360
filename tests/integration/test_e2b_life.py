"""Sandboxes as E2B's SDK for Python makes, finds and ends them."""

import asyncio
import datetime
import json
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from e2b import AuthenticationException, CommandExitException, PtySize, SandboxException, SandboxQuery, SandboxState, TimeoutException
from e2b.exceptions import NotFoundException
from e2b_code_interpreter import AsyncSandbox, Sandbox

import boxes
from hutch_client import PATIENCE, hutch_binary
from http_server import HttpClient, Server, token
from e2b_sandbox import options, sandbox, server  # noqa: F401


def test_the_life_of_a_sandbox(options):
    made = Sandbox.create(timeout=900, **options)
    assert made.is_running() and made.get_info().sandbox_id == made.sandbox_id
    made.run_code("kept = 5")
    assert made.sandbox_id in [one.sandbox_id for one in Sandbox.list(**options).next_items()]
    made.pause()
    assert made.get_info().state.value == "paused" and not made.is_running()
    assert Sandbox.connect(made.sandbox_id, **options).run_code("kept").text == "5"
    assert made.kill() and not made.is_running() and not Sandbox.kill(made.sandbox_id, **options)
    with pytest.raises((NotFoundException, SandboxException)):
        made.run_code("1")


def test_what_is_not_there_yet_says_so(sandbox):
    for call, says in [(sandbox.create_snapshot, "not copied here"),
                       (sandbox.fork, "not copied here"), (lambda: sandbox.update_network({"allow_out": ["example.com"]}), "example.com"),
                       (lambda: sandbox.update_network({"deny_out": ["example.com"]}), "no IP address")]:
        with pytest.raises(SandboxException, match=says):
            call()


def test_who_may(server, options, sandbox, module_state):
    with pytest.raises(AuthenticationException, match="401"):
        Sandbox.create(**{**options, "api_key": "e2b_0123"})
    Sandbox.create(**{**options, "api_key": options["api_key"].replace("hutch_", "e2b_")}).kill()
    # Who may only read gets nothing with which code runs.
    reads = {"X-API-Key": token(module_state, "--scope", "read")}
    for path in ("/sandboxes/" + sandbox.sandbox_id, "/sandboxes", "/v2/sandboxes"):
        status, _, got = server.request("GET", path, headers=reads)
        assert status == 200 and sandbox.sandbox_id in got.decode() and b"ccessToken" not in got, path
    assert b"envdAccessToken" in server.request("GET", "/sandboxes/" + sandbox.sandbox_id, headers={"X-API-Key": options["api_key"]})[2]
    other = {**options, "api_key": token(module_state, "--principal", "other")}
    with pytest.raises(NotFoundException):
        Sandbox.connect(sandbox.sandbox_id, **other)
    access = sandbox._envd_access_token
    ask = lambda path, **headers: server.request("POST", path, b"{}", {name.replace("_", "-"): value for name, value in headers.items()})  # noqa: E731
    for path in ("/execute", "/files?path=x", "/process.Process/List", "/filesystem.Filesystem/Stat", "/contexts", "/process.Process/Start"):
        for headers in ({"X_Access_Token": access}, {"E2b_Sandbox_Id": sandbox.sandbox_id, "X_Access_Token": "0" * 64}, {"E2b_Sandbox_Id": "session_0", "X_Access_Token": access}):
            status, _, body = ask(path, **headers)
            assert status == 404 and json.loads(body)["code"] in (404, "not_found"), (path, headers, body)
        # Without a key it is told so, and not what there is.
        bodies = set()
        for headers in ({}, {"E2b_Sandbox_Id": sandbox.sandbox_id}, {"E2b_Sandbox_Id": "session_0"}, {"E2b_Sandbox_Id": sandbox.sandbox_id, "X_API_Key": options["api_key"]}):
            status, _, body = ask(path, **headers)
            assert status == 401 and json.loads(body)["code"] in (401, "unauthenticated"), (path, headers, body)
            bodies.add(body)
        assert len(bodies) == 1 and b"X-Access-Token" in bodies.pop(), path
    for headers in ({}, {"E2b-Sandbox-Id": sandbox.sandbox_id}):
        status, _, body = server.request("GET", "/health", headers=headers)
        assert status == 401 and b"X-Access-Token" in body, "it may well run"
    # It lets in to its sandbox, and to nothing else.
    for headers in ({"X_API_Key": access}, {"Authorization": f"Bearer {access}"}):
        assert ask("/sandboxes", **headers)[0] == 401
    assert ask("/process.Process/List", E2b_Sandbox_Id=sandbox.sandbox_id, X_Access_Token=access)[0] == 200
    assert ask("/process.Process/Start", E2b_Sandbox_Id=sandbox.sandbox_id, X_Access_Token=access, Content_Type="application/connect+json")[2][0] == 2
    mode = Path(module_state, "access.key").stat().st_mode
    assert mode & 0o077 == 0


def test_a_sandbox_is_no_more_open_than_it_was_asked_to_be(state):
    with Server(state, "--allow", "api.example.com", no_auth=False) as server:
        url = "http://%s:%d" % server.address
        here = {"api_key": token(state), "api_url": url, "sandbox_url": url, "template": "host"}
        sees = "import socket\ntry: print(socket.gethostbyname('api.example.com').startswith('198.1'))\nexcept OSError: print(False)"
        for wishes, is_open in (({}, "True"), ({"allow_internet_access": False}, "False"), ({"network": {"deny_out": ["0.0.0.0/0"]}}, "False"),
                                ({"network": {"deny_out": ["0.0.0.0/0"], "allow_public_traffic": True}}, "False"),
                                ({"network": {"allow_out": ["api.example.com"], "deny_out": ["0.0.0.0/0"]}}, "True")):
            made = Sandbox.create(**wishes, **here)
            assert made.run_code(sees).logs.stdout == [is_open + "\n"], wishes
            made.kill()
        for wishes in ({}, {"allow_internet_access": False}):
            with Sandbox.create(**wishes, **here) as made:
                made.run_code("1")
                for network, is_open in (({"deny_out": ["0.0.0.0/0"]}, "False"), ({"allow_out": ["api.example.com"], "deny_out": ["0.0.0.0/0"]}, "True"),
                                         ({"allow_internet_access": False}, "False"), ({}, "True")):
                    made.update_network(network)
                    assert made.run_code(sees).logs.stdout == [is_open + "\n"], (wishes, network)
                with pytest.raises(SandboxException, match="other.example.com"):
                    made.update_network({"allow_out": ["other.example.com"], "deny_out": ["0.0.0.0/0"]})
                assert made.run_code(sees).logs.stdout == ["True\n"]
        for network, says in (({"deny_out": ["10.0.0.0/33"]}, "no IP address"), ({"mask_request_host": "a\r\nb: c"}, "network.maskRequestHost"),
                              ({"allow_out": ["other.example.com"]}, "other.example.com")):
            with pytest.raises(SandboxException, match=says):
                Sandbox.create(network=network, **here)


def test_a_sandbox_is_paused_at_its_time(options):
    with Sandbox.create(timeout=2, lifecycle={"on_timeout": "pause"}, **options) as made:
        made.run_code("kept = 5")
        deadline = time.monotonic() + 60 * PATIENCE
        while made.is_running():
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert made.get_info().state.value == "paused"
        paused = Sandbox.list(query=SandboxQuery(state=[SandboxState.PAUSED]), **options).next_items()
        assert made.sandbox_id in [one.sandbox_id for one in paused]
        again = Sandbox.connect(made.sandbox_id, timeout=600, **options)
        assert again.is_running() and again.run_code("kept").text == "5"
        assert (again.get_info().end_at - datetime.datetime.now(datetime.timezone.utc)).total_seconds() > 500
        made.set_timeout(1)
        while made.is_running():
            assert time.monotonic() < deadline + 60 * PATIENCE
            time.sleep(0.1)
        assert made.run_code("kept").text == "5", "a run wakes it"


def test_a_paused_sandbox_with_an_open_terminal_stays_in_memory_and_says_why(server, options):
    with Sandbox.create(timeout=600, **options) as made:
        made.run_code("kept = 5")
        shell = made.pty.create(PtySize(rows=7, cols=33), timeout=600)
        made.pause()
        client = HttpClient(server, headers={"Authorization": f"Bearer {options['api_key']}"})

        def told():
            return next(one for one in client.call("list_sessions")["sessions"] if one["session_id"].replace("_", "-") == made.sandbox_id)

        boxes.until(lambda: "stays in memory" in told().get("note", ""), what="the session being frozen")
        assert told()["tier"] == "frozen" and "it stays in memory, since a terminal is open (" in told()["note"], told()
        again = Sandbox.connect(made.sandbox_id, timeout=600, **options)
        assert again.run_code("kept").text == "5" and shell.pid in [one.pid for one in again.commands.list()]


@pytest.mark.slow
def test_a_pause_at_its_time_outlives_the_server(state):
    with Server(state, no_auth=False) as server:
        url = "http://%s:%d" % server.address
        here = {"api_key": token(state), "template": "host"}
        made = Sandbox.create(timeout=20, lifecycle={"on_timeout": "pause"}, api_url=url, sandbox_url=url, **here)
        made.run_code("kept = 5")
        made.set_timeout(3)
    with Server(state, no_auth=False) as server:
        url = "http://%s:%d" % server.address
        again = lambda: Sandbox.list(api_url=url, api_key=here["api_key"]).next_items()  # noqa: E731
        boxes.until(lambda: [one.state for one in again()] == [SandboxState.PAUSED], what="its pause")
        woken = Sandbox.connect(made.sandbox_id, timeout=600, api_url=url, sandbox_url=url, api_key=here["api_key"])
        assert woken.run_code("kept").text == "5"


def test_listing_gives_no_others_than_were_asked_for(options, sandbox):
    name = sandbox.get_info().template_id
    found = lambda **query: [one.sandbox_id for one in Sandbox.list(query=SandboxQuery(**query), **options).next_items()]  # noqa: E731
    assert sandbox.sandbox_id in found(template=name) and sandbox.sandbox_id in found(template="base") and found(template="none") == []
    later = sandbox.get_info().started_at + datetime.timedelta(milliseconds=1)
    assert sandbox.sandbox_id in found(started_after=later - datetime.timedelta(days=1)) and sandbox.sandbox_id not in found(started_after=later)
    assert Sandbox.list(query=SandboxQuery(state=[SandboxState.PAUSED]), **options).next_items() == []
    assert sandbox.sandbox_id in [one.sandbox_id for one in Sandbox.list(query=SandboxQuery(state=[SandboxState.RUNNING]), **options).next_items()]


def test_lists_come_in_pages(server, options, module_state):
    own = {**options, "api_key": token(module_state, "--principal", "pages")}
    made = [Sandbox.create(timeout=900, **own) for _ in range(3)]
    ids = [one.sandbox_id for one in made]
    for order, expected in (("asc", ids), ("desc", ids[::-1]), (None, ids[::-1])):
        pages, seen = Sandbox.list(limit=2, order=order, **own), []
        while pages.has_next:
            seen.append([one.sandbox_id for one in pages.next_items()])
        assert seen == [expected[:2], expected[2:]], order
    pages = Sandbox.list(limit=1, **own)
    assert [one.sandbox_id for one in pages.next_items()] == ids[2:]
    made[1].kill()  # between two pages
    assert [one.sandbox_id for one in pages.next_items()] == ids[:1] and not pages.has_next
    for wrong in ("limit=0", "limit=x", "nextToken=x", "startedAfter=x"):
        status, _, body = server.request("GET", "/v2/sandboxes?" + wrong, headers={"X-API-Key": own["api_key"]})
        assert status == 400 and wrong.partition("=")[0] in json.loads(body)["message"], wrong
    for one in (made[0], made[2]):
        one.kill()


def test_what_a_sandbox_that_ends_was_doing(options):
    with Sandbox.create(timeout=900, **options) as made:
        running = made.commands.run("sleep 600", background=True)
        made.kill()
        with pytest.raises(TimeoutException):
            running.wait()


def test_a_cell_ends_with_its_sandbox(options):
    with Sandbox.create(timeout=900, **options) as made, ThreadPoolExecutor(1) as aside:
        begun = threading.Event()
        cell = aside.submit(made.run_code, "import time\nprint('on', flush=True)\ntime.sleep(600)", on_stdout=lambda _: begun.set())
        assert begun.wait(60 * PATIENCE)
        made.kill()
        with pytest.raises(TimeoutException, match="killed"):
            cell.result(60 * PATIENCE)


async def _watched_until_its_end(options):
    async with await AsyncSandbox.create(timeout=900, **options) as made:
        ended = asyncio.get_running_loop().create_future()
        await made.files.make_dir("/workspace/watched")
        watched = await made.files.watch_dir("/workspace/watched", lambda _: None, on_exit=ended.set_result, timeout=0)
        await made.kill()
        await asyncio.wait_for(ended, 60 * PATIENCE)
        await watched.stop()


def test_a_watch_ends_with_its_sandbox(options):
    asyncio.run(_watched_until_its_end(options))


async def _command_beyond_its_time(options):
    async with await AsyncSandbox.create(timeout=900, **options) as made:
        with pytest.raises(TimeoutException):
            await made.commands.run("sleep 600", timeout=1)


def test_a_command_beyond_its_time(options):
    asyncio.run(_command_beyond_its_time(options))


def test_paths_that_are_not_there(server, options):
    status, _, body = server.request("GET", "/templates/base", headers={"X-API-Key": options["api_key"]})
    assert status == 404 and json.loads(body)["code"] == 404 and "nothing is served here" in json.loads(body)["message"]


def test_what_the_command_line_asks_for(server, sandbox, options):
    """`e2b sandbox logs` and `e2b template list`."""
    def asked(path):
        status, _, body = server.request("GET", path, headers={"X-API-Key": options["api_key"]})
        assert status == 200, body
        return json.loads(body)

    sandbox.commands.run("echo said; exit 3", background=True)
    with pytest.raises(CommandExitException):
        sandbox.commands.run("echo out; echo err >&2; exit 4")
    log = asked(f"/sandboxes/{sandbox.sandbox_id}/logs")["logs"]
    assert log == sorted(log, key=lambda one: one["timestamp"])
    lines = [json.loads(one["line"]) for one in log]
    ended = next(line for line in lines if line.get("exit_code") == 4)
    assert (ended["level"], ended["stdout"], ended["stderr"]) == ("error", "out\n", "err\n"), ended
    begun = next(line for line in lines if line["run_id"] == ended["run_id"] and "command" in line)
    assert "exit 4" in begun["command"] and begun["level"] == "info"
    after = int(datetime.datetime.fromisoformat(log[-1]["timestamp"]).timestamp() * 1000) + 1
    assert asked(f"/sandboxes/{sandbox.sandbox_id}/logs?start={after}")["logs"] == []
    templates = {one["templateID"]: one for one in asked("/templates")}
    assert {"host", "code_interpreter"} <= set(templates) and templates["host"]["cpuCount"] >= 1


def test_metrics(sandbox, module_state):
    shown = subprocess.run([hutch_binary(), "sessions", "show", sandbox.sandbox_id, "--json", "--state-dir", module_state], capture_output=True, check=True)
    isolation = json.loads(shown.stdout)["isolation"]
    # In the older kind processor time is a hierarchy of its own, which no box has a part of.
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
    day = datetime.timedelta(days=1)
    assert sandbox.get_metrics(start=one.timestamp - 2 * day, end=one.timestamp - day) == [] and sandbox.get_metrics(start=one.timestamp - day)


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
