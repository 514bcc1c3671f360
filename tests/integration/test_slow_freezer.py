"""A freezer that does not take at once, as where a process waits for a disk: what a client has paused is frozen later."""

import contextlib
import ctypes
import json
import os
import pathlib
import subprocess
import time

import pytest

from boxes import children_of, is_frozen, processes_of, until
from hutch_client import Client

LIBC = ctypes.CDLL(None, use_errno=True)
MNT_DETACH = 2
COUNTS = "trap '' INT; i=0; while :; do echo $((i += 1)); sleep 0.1; done"
# Nothing but a frozen process keeps it: no snapshot has a generator.
HELD = "held = (n for n in [1])"
SLOW_TO_STORE = f"""class Slow:
    def __reduce__(self):
        import time; time.sleep(6); return int, ()
slow = Slow(); {HELD}"""


class Freezer:
    """The file in which the kernel says whether a box is frozen, and one in its place that never says so."""

    def __init__(self, box, tmp_path):
        init = children_of(box)[0]
        paths = [line.split(":", 2)[2] for line in pathlib.Path(f"/proc/{init}/cgroup").read_text().splitlines()]
        names = [pathlib.Path(top + path, name) for path in paths for top, name in (
            ("/sys/fs/cgroup/freezer", "freezer.state"), ("/sys/fs/cgroup", "cgroup.events"), ("/sys/fs/cgroup/unified", "cgroup.events"))]
        self.file = next((name for name in names if name.exists()), None)
        can_hide = os.geteuid() == 0 and os.readlink(f"/proc/{box}/ns/mnt") == os.readlink("/proc/self/ns/mnt")
        if self.file is None or not can_hide:
            pytest.skip("only root can put another file in the place of the freezer's, where there is one")
        self._hides = tmp_path / "says"

    @contextlib.contextmanager
    def that_does_not_take(self):
        self._hides.write_text("frozen 0\n")  # in version 1 it is no answer at all, whatever is written to its start
        subprocess.run(["mount", "--bind", self._hides, self.file], check=True)
        with self.file.open() as hiding:
            try:
                yield
            finally:
                # Its path may be gone, with the box.
                assert LIBC.umount2(f"/proc/self/fd/{hiding.fileno()}".encode(), MNT_DETACH) == 0, os.strerror(ctypes.get_errno())

    def was_asked(self):
        if self.file.name == "cgroup.events":
            return self.file.with_name("cgroup.freeze").read_text() == "1\n"
        return self._hides.read_text().startswith("FROZEN")


def the_session(client):
    return client.call("list_sessions")["sessions"][0]


def printed(client, run):
    return client.call("get_run", run_id=run["run_id"])["stdout_next_offset"]


@pytest.fixture
def counting(client, state, tmp_path):
    """A session that counts, and its freezer."""
    session = client.run(HELD)["session_id"]
    run = client.run(COUNTS, "bash", background=True, session_id=session)
    client.until_output(run["run_id"], "1\n")
    (box,) = processes_of(state)
    return session, run, box, Freezer(box, tmp_path)


def test_it_is_frozen_once_the_freezer_takes(client, counting):
    session, run, box, freezer = counting
    with freezer.that_does_not_take():
        client.call("pause_session", session_id=session)
        until(freezer.was_asked, what="the first try")
        before = printed(client, run)
        until(lambda: printed(client, run) > before, what="what goes on meanwhile")
        assert the_session(client)["status"] == "paused"
    until(lambda: is_frozen(box), what="the session being frozen")
    client.call("resume_session", session_id=session)
    before = printed(client, run)
    until(lambda: printed(client, run) > before, what="what goes on when it is resumed")


def test_one_that_was_resumed_meanwhile_is_not_frozen(client, counting):
    session, run, box, freezer = counting
    with freezer.that_does_not_take():
        client.call("pause_session", session_id=session)
        until(freezer.was_asked, what="the first try")
    client.call("resume_session", session_id=session)
    seen, before = [], printed(client, run)

    def has_counted_on():
        seen.append(is_frozen(box))
        return printed(client, run) > before + 100

    until(has_counted_on, what="what goes on when it is resumed")
    assert not any(seen) and the_session(client)["status"] == "running"


def test_one_that_is_deleted_meanwhile_ends(client, state, counting):
    session, _, _, freezer = counting
    with freezer.that_does_not_take():
        client.call("pause_session", session_id=session)
        until(freezer.was_asked, what="the first try")
        client.call("delete_session", session_id=session)
        until(lambda: not processes_of(state), what="the end of the box")


def test_it_has_its_limits_until_then(client, state, tmp_path):
    session = client.call("create_session", limits={"disk_mb": 60})["session_id"]
    client.run(HELD, session_id=session)
    run = client.run("echo begun; while [ ! -e go ]; do sleep 0.1; done; for n in 1 2 3 4; do head -c 40M /dev/zero > $n; done; sleep 600", "bash",
                     background=True, session_id=session)
    client.until_output(run["run_id"], "begun")
    (box,) = processes_of(state)
    freezer = Freezer(box, tmp_path)
    with freezer.that_does_not_take():
        client.call("pause_session", session_id=session)
        until(freezer.was_asked, what="the first try")
        pathlib.Path(state, "sessions", session, "workspace/go").touch()  # by hutch it would be a use, which wakes it
        until(lambda: "error" in client.call("get_run", run_id=run["run_id"]), timeout=20, what="the end of what fills the disk")
        assert the_session(client)["status"] == "paused"
    assert client.call("get_run", run_id=run["run_id"])["error"]["cause"] == "disk"


@pytest.mark.slow
def test_one_that_ends_is_not_frozen_while_it_is_stored(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[session]\npaused_max_seconds = 12\n")
    with Client(state, "--config", str(config)) as client:
        session = client.run(SLOW_TO_STORE)["session_id"]
        (box,) = processes_of(state)
        freezer = Freezer(box, tmp_path)
        begun = time.monotonic()
        with freezer.that_does_not_take():
            client.call("pause_session", session_id=session)
            until(freezer.was_asked, what="the first try")
            assert time.monotonic() < begun + 12, "it was to be tried before the end begins"
            until(lambda: time.monotonic() > begun + 12 and "being stored" in the_session(client).get("note", ""), what="its being stored for the end")
        until(lambda: not processes_of(state), timeout=20, what="the end of the box")
        assert the_session(client)["status"] == "stored"
        run = client.run("slow", session_id=session)
        assert run["status"] == "completed" and json.loads(run["outputs"][0]["text"]) == 0, (run, time.monotonic() - begun)
