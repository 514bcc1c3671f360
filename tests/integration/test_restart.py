"""A fresh interpreter on demand, and finding earlier runs again."""

import re
import time

import pytest

from hutch_client import Client


@pytest.mark.parametrize("language,keep,look", [
    ("python", "kept = 1; open('kept.txt', 'w').write('1')", "'kept' in globals()"),
    ("javascript", "var kept = 1; require('fs').writeFileSync('kept.txt', '1'); undefined", "'kept' in globalThis")])
def test_variables_go_and_files_stay(client, language, keep, look):
    client.run(keep, language)
    assert client.value(look, language).lower() == "true"
    fresh = client.run(look, language, restart=True)
    assert fresh["status"] == "completed" and fresh["outputs"][-1]["text"].lower() == "false"
    assert client.call("read_file", path="kept.txt")["content"] == "1"
    assert client.value(look, language).lower() == "false", "the fresh one is the session's now"


def test_bash_forgets_too(client):
    client.run("kept=1; f() { :; }; mkdir -p sub; cd sub", "bash")
    fresh = client.run('echo "${kept:-none} $(type -t f) $PWD"', "bash", restart=True)
    assert fresh["stdout"] == "none  /workspace\n"
    client.run("other=2", "bash")
    assert client.run('echo "${kept:-none} $other"', "bash")["stdout"] == "none 2\n"


def test_only_the_language_that_is_named(client):
    client.run("p = 1")
    client.run("var j = 1", "javascript")
    client.run("1", restart=True)
    assert client.value("j", "javascript") == "1"
    assert client.run("p")["error"]["name"] == "NameError"


def test_a_restart_waits_for_its_turn(client):
    slow = client.start_tool("run_code", code="import time\nwhole = 1\ntime.sleep(1)\nprint('whole', whole)")
    fresh = client.start_tool("run_code", code="'whole' in globals()", restart=True)
    first = client.reply(slow)["result"]["structuredContent"]
    assert first["status"] == "completed" and first["stdout"] == "whole 1\n"
    assert client.reply(fresh)["result"]["structuredContent"]["outputs"][0]["text"] == "False"


def test_the_last_runs_are_listed_without_an_id(client, state):
    session = client.run("1")["session_id"]
    ids = [client.run(str(n))["run_id"] for n in range(22)]
    failed = client.run("1/0")["run_id"]
    listed = client.call("get_run", session_id=session)
    assert listed["session_id"] == session and len(listed["runs"]) == 20
    assert {run["run_id"] for run in listed["runs"]} == {failed, *ids[-19:]}
    newest = next(run for run in listed["runs"] if run["run_id"] == failed)
    assert (newest["language"], newest["status"], newest.get("background")) == ("python", "failed", None)
    assert newest["finished_at"] >= newest["queued_at"]
    text = client.result("get_run")["content"][0]["text"]
    assert re.search(rf"^(\d{{4}}-\d\d-\d\d )?\d\d:\d\d python failed: {failed}$", text, re.M), text
    assert "a line has the time of its newest (UTC):\n" in text, text
    assert all(run["run_id"] in text for run in listed["runs"]) and len(text) < 40 * len(listed["runs"]), text
    with Client(state, "--session", "empty") as other:
        assert other.call("get_run")["runs"] == []


def test_a_wait_for_no_run_says_that_it_needs_one(client):
    client.run("1")
    began = time.monotonic()
    listed = client.result("get_run", wait_seconds=20)
    assert time.monotonic() - began < 15 and len(listed["structuredContent"]["runs"]) == 1
    assert "wait_seconds needs run_id" in listed["structuredContent"]["note"]
    assert "wait_seconds needs run_id" in listed["content"][0]["text"]
    assert "note" not in client.call("get_run", wait_seconds=0)
