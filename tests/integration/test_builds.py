"""hutch is replaced by another build while boxes of the earlier one live on."""

import pytest

import other_build
from hutch_client import Client, ToolError


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return other_build.make(tmp_path_factory.mktemp("other"))


@pytest.mark.slow
def test_an_idle_box_of_another_makes_way(state, other):
    with Client(state, "--session", "kept", binary=other) as before:
        # More than what is stored after each run.
        before.run("open('kept.txt', 'w').write('1'); value = bytearray(b'x' * 300_000_000)")
        before.kill()
    with Client(state, "--session", "kept") as after:
        assert after.call("read_file", path="kept.txt")["content"] == "1"
        run = after.run("len(value)")
        assert run["outputs"][0]["text"] == "300000000", run
        assert "a new Python has the 1 names" in run["note"], "it answered from the box of the other build"


def test_what_the_other_has_begun_it_ends(state, other):
    with Client(state, "--session", "kept", binary=other) as before:
        run_id = before.run("import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)\nprint('whole')",
                            background=True)["run_id"]
        before.kill()
    with Client(state, "--session", "kept") as after:
        assert after.call("get_run", run_id=run_id)["status"] == "running"
        with pytest.raises(ToolError, match="another build.*get_run.*cancel_run"):
            after.run("1")
        after.call("write_file", path="go", content="")
        ended = after.call("get_run", run_id=run_id, wait_seconds=50)
        assert (ended["status"], ended["stdout"]) == ("completed", "whole\n")
        assert after.value("1 + 1") == "2"


def test_servers_of_two_builds_beside_each_other(state, other):
    with Client(state, "--session", "one", binary=other) as theirs, Client(state, "--session", "two") as ours:
        theirs.run("value = 1")
        ours.run("value = 2")
        assert (theirs.value("value"), ours.value("value")) == ("1", "2")
