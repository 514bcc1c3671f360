"""Sessions that nobody uses give their memory back before the host has none."""

import os
import subprocess

import pytest

from boxes import boxes_of, until
from changed_host import changed_hutch, why_not
from conftest import needs
from hutch_client import Client


@pytest.fixture
def host(state, tmp_path):
    """A client of a hutch whose host's memory is as `left` says, in percent; None: as it is. No box starts meanwhile: the
    kernel gives nobody a /proc of their own while a part of the one that is there is covered."""
    said = why_not()
    needs(not said, f"a mount namespace of our own ({said.strip()})")
    meminfo = tmp_path / "meminfo"
    with Client(state, binary=changed_hutch(tmp_path)) as client:
        inside = ["nsenter", f"--target={client.process.pid}", "--mount"]
        if os.geteuid() != 0:
            inside += ["--user", "--preserve-credentials"]

        def left(percent):
            if percent is None:
                subprocess.run([*inside, "umount", "/proc/meminfo"], check=True)
                return
            meminfo.write_text(f"MemTotal: 10000000 kB\nMemFree: 100000 kB\nMemAvailable: {percent * 100_000} kB\n")
            subprocess.run([*inside, "mount", "--bind", meminfo, "/proc/meminfo"], check=True)

        client.left = left
        yield client


def status_of(client, session):
    return next(one["status"] for one in client.call("list_sessions")["sessions"] if one["session_id"] == session)


def test_idle_sessions_are_stored_where_little_is_left(host):
    """Each looks in a second of its own of sixteen: of several one does soon."""
    sessions = [host.call("create_session")["session_id"] for _ in range(4)]
    for session in sessions:
        host.run("x = [1]; y = x", session_id=session)
    host.left(7)
    stored = []
    until(lambda: stored.extend(one for one in sessions if status_of(host, one) == "stored") or stored, what="a session being stored")
    host.left(None)
    assert host.run("x is y", session_id=stored[0])["outputs"][0]["text"] == "True"


@pytest.mark.slow
def test_paused_sessions_end_with_what_cannot_be_stored_where_memory_is_scarce(host, state):
    session = host.run("x = 1; import subprocess; child = subprocess.Popen(['sleep', '600'])")["session_id"]
    host.call("pause_session", session_id=session)
    assert status_of(host, session) == "paused"
    host.left(3)
    until(lambda: session not in boxes_of(state), what="the end of the box")
    host.left(None)
    woken = host.run("x", session_id=session)
    assert woken["outputs"][0]["text"] == "1" and "child" in woken["note"], woken
