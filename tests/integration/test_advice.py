"""Tests that what is advised can be done: by the caller where it can help itself, and on the server that says so."""

import json
import os
import re
import subprocess

import pytest

from boxes import processes_of, until
from hutch_client import Client, ToolError, hutch_binary
from http_server import HttpClient, Server

FETCH = "curl -sS https://pypi.org/simple/"


@pytest.fixture(scope="module")
def granting(module_state):
    with Server(module_state, "--packages", "--allow", "api.test:8443") as server:
        yield HttpClient(server)


def bash(client, code, **arguments):
    return client.call("run_code", language="bash", code=code, **arguments)


def may_reach(client, network):
    session = client.call("create_session", network=network)["session_id"]
    listed = client.call("list_sessions")["sessions"]
    return next(one for one in listed if one["session_id"] == session)["network"]["allow"]


def test_packages_that_a_session_may_ask_for_are_no_matter_for_the_operator(granting):
    with pytest.raises(ToolError, match="does not allow pypi.org") as refused:
        granting.call("install_packages", packages=["tomlkit"])
    said = str(refused.value)
    assert "Whoever runs hutch" not in said and "hutch stdio" not in said
    network = json.loads(re.search(r"create_session with network (\{.*?\})", said)[1])
    assert any("pypi.org" in host for host in may_reach(granting, network)), "what is said helps"
    session = granting.call("create_session", network={"allow": ["api.test:8443"]})["session_id"]
    with pytest.raises(ToolError, match=f"this session: hutch sessions allow {session} packages"):
        granting.call("install_packages", packages=["tomlkit"], session_id=session)
    run = bash(granting, FETCH, session_id=session)
    (reason,) = {one["reason"] for one in run["network"]["refused"] if one["host"] == "pypi.org"}
    assert "create_session with network {\"allow\": [\"packages\"]} has it" in reason and "Whoever runs hutch" not in reason, reason


def test_without_a_network_the_parts_are_named_that_a_session_may_ask_for(granting):
    note = bash(granting, FETCH)["note"]
    assert "create_session's network.allow can have: packages, api.test:8443; this session: hutch sessions allow session_" in note, note
    assert "Whoever runs hutch" not in note and "stdio" not in note


def test_where_the_configuration_allows_nothing_the_operators_way_is_that_of_this_server(state):
    with Server(state) as server:
        client = HttpClient(server)
        with pytest.raises(ToolError, match="Whoever runs hutch can allow it: hutch serve --packages, or allow"):
            client.call("install_packages", packages=["tomlkit"])
        note = bash(client, FETCH)["note"]
        assert "(at once), --allow HOST when it starts" in note and "stdio" not in note and "create_session" not in note, note


def test_a_person_on_this_machine_is_told_the_whole_command(state):
    with Client(state) as client:
        note = client.run(FETCH, "bash", session_id=client.call("create_session", name="one")["session_id"])["note"]
        command = re.search(r"can allow it: (.* sessions allow session_\w+) HOST", note)[1]
        done = subprocess.run([*command.split(), "a.test"], capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"], "HOME": state})
        assert done.returncode == 0 and "may reach a.test" in done.stdout, (note, done)


def test_folders_that_a_session_may_ask_for_are_named_with_a_path_that_is_not_there(state, tmp_path):
    with Server(state, "--mount", f"own={tmp_path}") as server:
        client = HttpClient(server)
        with pytest.raises(ToolError, match=r"; create_session's filesystem can have: /mnt/own \(read-only\)$"):
            client.call("read_file", path="/home/someone/a.csv")
        (tmp_path / "a.csv").write_text("1,2")
        session = client.call("create_session", filesystem={"read_only": ["/mnt/own"]})["session_id"]
        assert client.call("read_file", path="/mnt/own/a.csv", session_id=session)["content"] == "1,2", "what is said helps"


def test_a_run_that_had_the_most_seconds_is_not_told_to_ask_for_more(state, tmp_path):
    (tmp_path / "config.toml").write_text("[max_limits]\nrun_seconds = 2\n")
    with Client(state, "--config", str(tmp_path / "config.toml")) as client:
        own = client.call("create_session", limits={"run_seconds": 1})["session_id"]
        error = client.run("import time; time.sleep(60)", session_id=own)["error"]
        assert error["message"] == "the run took longer than the 1 second that it had; limits.run_seconds is 1: use background: true"
        with pytest.raises(ToolError, match="from 1 to 1, as limits.run_seconds of this session says"):
            client.run("1", session_id=own, timeout_seconds=2)
        assert client.run("1", session_id=own, background=True)["status"] in ("running", "completed"), "what is said helps"
        assert client.run("import time; time.sleep(60)", timeout_seconds=1)["error"]["message"].endswith("give it more (timeout_seconds), or use background: true")
        most = client.run("import time; time.sleep(60)", timeout_seconds=2)["error"]["message"]
        assert re.search(r"; (limits.run_seconds is 2|2 is the most here): use background: true$", most), most


def test_the_token_that_the_start_tells_of_is_one_of_this_server(state):
    with Server(state, no_auth=False) as server:
        until(lambda: any("no token exists" in line for line in server.errors))
        (said,) = [line for line in server.errors if "no token exists" in line]
        command = re.search(r"no token exists: (.*) makes one", said)[1]
        made = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60, check=True, env={"PATH": os.environ["PATH"], "HOME": state})
        HttpClient(server, headers={"Authorization": f"Bearer {made.stdout.split()[-1]}"}).call("list_sessions")


@pytest.mark.parametrize("arguments", [("token", "ls"), ("token", "revoke", "none"), ("credential", "ls"), ("credential", "rm", "none"),
                                       ("sessions", "show", "none"), ("logs", "none")])
def test_commands_name_others_with_their_state_directory(state, arguments):
    done = subprocess.run([hutch_binary(), "--state-dir", state, *arguments], capture_output=True, text=True, timeout=60)
    assert re.search(rf"\S+ --state-dir {state} (token|credential|sessions) (create|ls|set)", done.stdout + done.stderr), done


def test_a_lost_sandbox_does_not_call_lost_what_comes_back(state):
    with Client(state) as client:
        client.run("x = 77")
        until(lambda: any(name == "python" for *_, files in os.walk(state) for name in files), what="the stored variables")
        request = client.start_tool("run_code", code="print('on', flush=True)\nimport time; time.sleep(60)")
        until(lambda: client.call("list_sessions")["sessions"][0].get("active_runs"))
        for pid in processes_of(state):
            os.kill(pid, 9)
        error = client.reply(request)["result"]["structuredContent"]["error"]
        assert error["lost"].startswith("processes lost; the session wakes with the variables that were last stored"), error
        assert client.value("x") == "77"
