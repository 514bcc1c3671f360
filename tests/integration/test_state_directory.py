"""Where the state lies: however long its path is, and whatever becomes of it while boxes live."""

import json
import os
import pathlib
import shutil
import subprocess

from boxes import processes_of, until
from hutch_client import PATIENCE, Client, hutch_binary


def test_a_path_longer_than_a_sockets_name(state):
    """The address of a Unix socket ends at 108 bytes."""
    long = pathlib.Path(state, *["a-directory-with-a-name-that-somebody-found-fitting"] * 6)
    assert len(str(long)) > 300
    with Client(str(long), "--session", "kept") as client:
        client.run("x = 6")
        client.kill()
    with Client(str(long), "--session", "kept") as client:
        assert client.value("x * 7") == "42"
        client.call("delete_session", session_id="kept")
    until(lambda: not processes_of(str(long)), what="the end of the box")


def test_nothing_but_home_and_path_is_needed(tmp_path):
    source = tmp_path / "code.py"
    source.write_text("print('here')")
    ended = subprocess.run([hutch_binary(), "run", str(source)], capture_output=True, text=True,
                           timeout=60 * PATIENCE, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert (ended.returncode, ended.stdout) == (0, "here\n"), ended.stderr
    assert (tmp_path / ".local/state/hutch/hutch.db").exists()
    until(lambda: not processes_of(str(tmp_path)), what="the end of the box")


def test_a_client_gives_a_server_nothing_but_home_and_path(tmp_path):
    messages = [{"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                                                             "clientInfo": {"name": "bare", "version": "1"}}},
                {"method": "notifications/initialized"},
                {"id": 2, "method": "tools/call", "params": {"name": "run_code", "arguments": {"code": "print('here')"}}}]
    with subprocess.Popen([hutch_binary(), "stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, text=True) as server:
        server.stdin.write("".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages))
        server.stdin.flush()
        replies = {}
        while 2 not in replies:
            line = server.stdout.readline()
            assert line, server.stderr.read()
            reply = json.loads(line)
            replies[reply.get("id")] = reply
        server.stdin.close()
        assert replies[2]["result"]["structuredContent"]["stdout"] == "here\n", replies
        assert server.wait(60 * PATIENCE) == 0, server.stderr.read()
    until(lambda: not processes_of(str(tmp_path)), what="the end of the boxes")


def test_nothing_is_put_elsewhere(state):
    """No directory for sockets that would outlive the state directory."""
    usual = [pathlib.Path(top, name) for top in ("/run", "/tmp", os.environ.get("XDG_RUNTIME_DIR", "/run"))
             for name in ("hutch", f"hutch-{os.geteuid()}")]
    before = {path: path.stat().st_mtime_ns for path in usual if path.exists()}
    with Client(state) as client:
        client.run("1")
    assert {path: path.stat().st_mtime_ns for path in usual if path.exists()} == before


def test_a_box_ends_when_its_session_directory_is_removed(state):
    with Client(state) as client:
        session = client.run("x = 1")["session_id"]
        assert processes_of(state)
        shutil.rmtree(pathlib.Path(state, "sessions", session))
        until(lambda: not processes_of(state), what="the end of a box that nobody can reach")
        assert client.alive


def test_a_box_ends_when_another_state_directory_takes_the_place(state, tmp_path):
    with Client(state, "--session", "same") as client:
        client.run("x = 'old'")
        boxes = processes_of(state)
        client.kill()
    os.rename(state, str(tmp_path / "moved"))
    os.mkdir(state, 0o700)
    with Client(state, "--session", "same") as client:
        assert client.run("x")["error"]["name"] == "NameError", "the old box does not answer for the new session"
        until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in boxes), what="the end of the old box")
        client.call("delete_session", session_id="same")
