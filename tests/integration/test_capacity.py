"""A machine that is at a limit of its own: whoever asks for a session then is told when to try again, and no session
that has never been there is left over. The machine is a user namespace that may hold few network namespaces."""

import os
import signal
import subprocess

import pytest

from boxes import processes_of, until
from conftest import needs
from database import rows
from hutch_client import Client, ToolError, hutch_binary
from trial import Trial

UNSHARE = "unshare --user --map-root-user --mount"
FAR_MORE = 1000


@pytest.fixture
def machine(state, tmp_path):
    """of(network_namespaces) is a client of a server that may have so many."""
    probe = subprocess.run([*UNSHARE.split(), "true"], capture_output=True, text=True)
    needs(probe.returncode == 0, f"nested user namespaces ({probe.stderr.strip()})")

    def of(network_namespaces):
        program = tmp_path / f"hutch-{network_namespaces}"
        program.write_text(f"#!/bin/sh\nexec {UNSHARE} sh -c '"
                           f"echo {network_namespaces} > /proc/sys/user/max_net_namespaces && exec \"$0\" \"$@\"' "
                           f"{hutch_binary()} \"$@\"\n")
        program.chmod(0o755)
        return Client(state, binary=str(program), env={"HUTCH_ZYGOTE": "0"})

    return of


def allowed_namespaces(client, most):
    """To the server's own user namespace: others come to have let go, or there are fewer than there were."""
    subprocess.run(["nsenter", f"--user=/proc/{client.process.pid}/ns/user", "--preserve-credentials", "sh", "-c",
                    f"echo {most} > /proc/sys/user/max_net_namespaces"], check=True)


def test_a_machine_at_its_limit_says_when_to_try_again(state, machine):
    with machine(1) as client:
        first = client.call("create_session", name="first")
        assert client.run("6 * 7", session_id=first["session_id"])["status"] == "completed"
        with pytest.raises(ToolError) as refused:
            client.call("create_session", name="second")
        assert "this machine is at one of its limits" in str(refused.value), refused.value
        assert "try again in 5 seconds" in str(refused.value), refused.value
        # Nothing of it is there, and its name is free.
        assert [session["name"] for session in client.call("list_sessions")["sessions"]] == ["first"]
        assert rows(state, "SELECT status FROM sessions WHERE name = 'second'") in ([], [("destroyed",)])
        left = os.listdir(f"{state}/sessions")
        assert left == [first["session_id"]], left
        # The living one goes on, and with the first one gone there is room: the kernel frees it a moment later.
        assert client.run("6 * 7", session_id=first["session_id"])["status"] == "completed"
        client.call("delete_session", session_id=first["session_id"])
        second = client.call("create_session", name="second")
        assert client.run("6 * 7", session_id=second["session_id"])["status"] == "completed"
        client.call("delete_session", session_id=second["session_id"])


@pytest.mark.parametrize("end", ["kill -9 $$", "echo std::bad_alloc >&2; exit 134"])
def test_a_box_that_is_killed_or_finds_no_memory_leaves_nothing(tmp_path, end):
    trial = Trial(tmp_path)
    trial.replace("hutch-box", f"#!/bin/sh\n{end}\n")
    with trial.client() as client:
        with pytest.raises(ToolError) as refused:
            client.call("create_session", name="killed")
        assert "this machine is at one of its limits" in str(refused.value), refused.value
        assert "try again in 5 seconds" in str(refused.value), refused.value
        assert client.call("list_sessions")["sessions"] == []
        assert rows(trial.state, "SELECT status FROM sessions WHERE status != 'destroyed'") == []
        until(lambda: os.listdir(f"{trial.state}/sessions") == [], what="the end of its directory")


@pytest.mark.slow
def test_a_default_session_that_found_no_room_is_made_by_a_later_call(machine):
    with machine(1) as client:
        first = client.call("create_session", name="first")
        for _ in range(2):
            with pytest.raises(ToolError) as refused:
                client.run("1")
            assert "try again in 5 seconds" in str(refused.value), refused.value
        client.call("delete_session", session_id=first["session_id"])
        assert client.run("6 * 7")["status"] == "completed"
        assert len(client.call("list_sessions")["sessions"]) == 1


def test_what_stands_and_cannot_start_now_stays_as_it_is(state, machine):
    with machine(1) as client:
        kept = client.call("create_session", name="kept")["session_id"]
        client.call("write_file", path="kept.txt", content="x", session_id=kept)
    for box in processes_of(state):
        os.kill(box, signal.SIGKILL)
    until(lambda: not processes_of(state), what="the end of the box")
    with machine(0) as client:
        with pytest.raises(ToolError) as refused:
            client.run("1", session_id="kept")
        assert "try again in 5 seconds" in str(refused.value), refused.value
        (session,) = client.call("list_sessions")["sessions"]
        assert session["status"] in ("stopped", "ready"), session
        allowed_namespaces(client, FAR_MORE)
        assert client.call("read_file", path="kept.txt", session_id="kept")["content"] == "x"
