"""A full disk: the caller is told, nothing is half-written, and it works again once there is room."""

import errno
import os
import pathlib

import pytest

from boxes import until
from changed_host import changed_hutch, why_not
from conftest import needs
from hutch_client import Client

ROOMY = 200_000  # for a file that must not fit


@pytest.fixture
def server(state, tmp_path):
    """One whose state directory is a file system of 24 MB, and a file outside of all sessions that fills it."""
    said = why_not()
    needs(not said, f"a mount namespace of our own ({said.strip()})")
    binary = changed_hutch(tmp_path, f"mount -t tmpfs -o size=24m,mode=0700 none {state}")
    with Client(state, binary=binary) as client:
        client.filler = pathlib.Path(f"/proc/{client.process.pid}/root{state}/filler")
        yield client
        client.filler.unlink(missing_ok=True)
        for session in client.call("list_sessions")["sessions"]:
            client.call("delete_session", session_id=session["session_id"])


def fill_until(client, left):
    """So many bytes of the file system stay free."""
    with open(client.filler, "wb", buffering=0) as file:
        while os.statvfs(client.filler.parent).f_bavail * 4096 > left:
            file.write(b"x" * 65536)


def fill(client):
    with open(client.filler, "wb", buffering=0) as file:
        for step in (1 << 20, 4096):
            try:
                while True:
                    file.write(b"x" * step)
            except OSError as full:
                assert full.errno == errno.ENOSPC, full


SLOW_WRITER = """
import time
for number in range(1000):
    with open('growing', 'ab') as file:
        file.write(b'x' * 50_000)
    time.sleep(0.05)
"""


def test_whoever_goes_on_writing_is_ended_before_the_host_is_full(server):
    """A twentieth of this file system is the host's: the watch ends what writes there."""
    session = server.run("kept = 41")["session_id"]
    fill_until(server, 3_000_000)  # it does not have to write for long to come there
    run = server.run(SLOW_WRITER, session_id=session, timeout_seconds=60)
    assert (run["status"], run["error"]["cause"]) == ("failed", "disk"), run
    assert "make room on the host" in run["note"] and "No space left" not in run["stderr"], run
    assert server.run("kept + 1", session_id=session)["outputs"][0]["text"] == "42"


def test_variables_that_find_no_room_are_told_of_once(server):
    """Snapshots leave twice the floor of the file system, which here is 2.4 MB."""
    session = server.run("x = 1")["session_id"]

    def note():
        return server.run("x", session_id=session).get("note", "")

    fill_until(server, 2_000_000)
    assert server.run("x = 2", session_id=session)["status"] == "completed"
    until(lambda: "python: what has changed is not stored" in note(), interval=1, what="word of it")
    assert not note() and not note()
    server.filler.unlink()
    server.run("x = 3", session_id=session)
    stored = server.filler.parent / "sessions" / session / "state/python"
    until(stored.exists, what="a snapshot")


def test_a_pause_that_finds_no_room_says_so(server):
    session = server.run("x = 1")["session_id"]
    fill_until(server, 2_000_000)
    server.run("x = bytearray(1_000_000)", session_id=session)
    server.call("pause_session", session_id=session)
    until(lambda: "is being stored" not in server.call("pause_session", session_id=session)["note"], what="the end of storing")
    (listed,) = server.call("list_sessions")["sessions"]
    assert "since the host's disk is nearly full, and what python knows is not stored" in listed["note"], listed
    assert server.call("pause_session", session_id=session)["note"] == listed["note"]
    assert server.run("len(x)", session_id=session)["outputs"][0]["text"] == "1000000"


def refused(client, tool, **arguments):
    result = client.result(tool, **arguments)
    assert client.alive
    text = result["content"][0]["text"]
    assert result.get("isError"), result
    assert "space" in text or "full" in text, text
    return text


def test_what_only_reads_or_deletes_works_on_a_full_disk(server):
    client = server
    session = client.run("kept = 41")["session_id"]
    other = client.call("create_session")["session_id"]
    client.call("write_file", path="whole.txt", content="whole", session_id=session)
    client.call("write_file", path="large.txt", content="y" * ROOMY, session_id=other)
    client.call("write_file", path="stop", content="", session_id=session)
    tiny = client.run("import os, time\nwhile os.path.exists('stop'): time.sleep(0.05)\nprint('tiny', flush=True)\ntime.sleep(60)",
                      background=True, session_id=session)["run_id"]
    waiting = client.run("import time; time.sleep(600)", background=True, session_id=session)["run_id"]
    fill(client)
    (client.filler.parent / "sessions" / session / "workspace/stop").unlink()  # now the first prints

    ended = client.until_ended(tiny)
    assert (ended["status"], ended["error"]["cause"]) == ("failed", "disk"), ended
    assert client.call("cancel_run", run_id=waiting)["status"] == "cancelled"
    assert client.call("get_run", run_id=tiny)["error"]["cause"] == "disk"
    assert client.call("read_file", path="whole.txt", session_id=session)["content"] == "whole"
    assert "/workspace/whole.txt" in {e["path"] for e in client.call("list_files", session_id=session)["entries"]}
    client.call("delete_session", session_id=other)
    client.call("write_file", path="new.txt", content="room again", session_id=session)


def test_each_tool_tells_of_it_and_works_again(server):
    client = server
    session = client.run("kept = 41")["session_id"]
    client.call("write_file", path="whole.txt", content="whole", session_id=session)
    client.call("write_file", path="large.txt", content="y" * ROOMY, session_id=session)
    before = {one["session_id"] for one in client.call("list_sessions")["sessions"]}
    fill(client)

    refused(client, "write_file", path="whole.txt", content="x" * ROOMY, session_id=session)
    refused(client, "write_file", path="new.txt", content="x" * ROOMY, session_id=session)
    refused(client, "share_file", path="large.txt", session_id=session)
    refused(client, "create_session")
    result = client.result("run_code", code="open('out.txt', 'w').write('z' * 500000)", session_id=session)
    if not result.get("isError"):
        run = result["structuredContent"]
        assert run["status"] == "failed" and run["error"]["cause"] == "disk", run

    client.filler.unlink()
    files = {entry["path"]: entry["bytes"] for entry in client.call("list_files", session_id=session)["entries"]}
    assert files["/workspace/whole.txt"] == 5 and "/workspace/new.txt" not in files, files
    assert client.call("read_file", path="whole.txt", session_id=session)["content"] == "whole"
    left = {one["session_id"]: one["status"] for one in client.call("list_sessions")["sessions"]}
    assert set(left) == before or all(left[new] == "error" for new in set(left) - before), left

    assert client.run("kept + 1", session_id=session)["outputs"][0]["text"] == "42"
    client.call("write_file", path="whole.txt", content="x" * ROOMY, session_id=session)
    assert client.call("share_file", path="large.txt", session_id=session)["bytes"] == ROOMY
    client.run("1", session_id=client.call("create_session")["session_id"])


def test_what_is_written_on_another_disk_is_told_as_written(state, tmp_path):
    said = why_not()
    needs(not said, f"a mount namespace of our own ({said.strip()})")
    folder = tmp_path / "folder"
    folder.mkdir()
    binary = changed_hutch(tmp_path, f"mount -t tmpfs -o size=24m,mode=0700 none {state}")
    with Client(state, "--mount", f"{folder}:rw", binary=binary) as client:
        client.filler = pathlib.Path(f"/proc/{client.process.pid}/root{state}/filler")
        client.call("write_file", path="/mnt/folder/log", content="one\n")
        fill(client)
        # Who heard of a failure would write it again.
        assert client.call("write_file", path="/mnt/folder/log", content="two\n", mode="append")["bytes"] == 8
        assert client.call("edit_file", path="/mnt/folder/log", old_text="one", new_text="1")["replacements"] == 1
        assert (folder / "log").read_text() == "1\ntwo\n"
        client.filler.unlink()
