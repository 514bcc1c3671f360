"""A copy of a state directory beside its original, and one in its place: neither loses anything by the other."""

import os
import pathlib
import shutil
import subprocess

import pytest

from boxes import boxes_of, cgroups_of, is_frozen, processes_of, start_of, until
from conftest import end_boxes
from database import check_database, rows
from hutch_client import Client, hutch_binary

IS_ROOT = os.geteuid() == 0
PARTS = ("workspace", "home", "tmp")


@pytest.fixture
def copy(state):
    """Where the copy is to lie; what is of it ends before the original does."""
    place = f"{state}-copy"
    yield place
    if os.path.exists(place):
        end_boxes(place)
        shutil.rmtree(place, ignore_errors=True)


def make_copy(state, copy):
    subprocess.run(["cp", "-a", state, copy], check=True, stderr=subprocess.DEVNULL)  # "socket not copied", of some


def statuses(state):
    return dict(rows(state, "SELECT id, status FROM sessions"))


def until_swept(state):
    """Whatever the row says that was copied, nothing of it lives here."""
    until(lambda: set(statuses(state).values()) == {"stopped"}, what="the sweep of the copy")


def owners(state, session):
    """{path: owner} of what is the session's."""
    top = pathlib.Path(state, "sessions", session)
    return {str(path.relative_to(top)): path.lstat().st_uid
            for part in PARTS for path in [top / part, *(top / part).rglob("*")]}


def own_ids(state):
    if not rows(state, "SELECT count(*) FROM sessions WHERE host_uid IS NOT NULL")[0][0]:
        pytest.skip("sessions have no ids of their own here: not root, or root of few ids")


def test_a_copy_beside_its_original_ends_nothing_of_it(state, copy):
    with Client(state) as original:
        original.call("create_session", name="works")
        original.run("x = (n for n in [77]); open('kept', 'w').write('k')", session_id="works")
        run = original.run("import time\nwhile True: print('on', flush=True); time.sleep(0.05)", background=True,
                           session_id="works")
        original.call("create_session", name="sleeps")
        original.run("y = 78; held = (n for n in [1])", session_id="sleeps")
        original.call("pause_session", session_id="sleeps")
        until(lambda: is_frozen(boxes_of(state)[original.call("list_sessions")["sessions"][0]["session_id"]]), what="the session being frozen")
        before = boxes_of(state)
        make_copy(state, copy)
        with Client(copy) as other:
            until_swept(copy)
            assert other.run("x", session_id="works")["error"]["name"] == "NameError", "nothing runs in a copy"
            assert other.call("read_file", path="kept", session_id="works")["content"] == "k"
            other.call("write_file", path="kept", content="changed", session_id="works")
            other.call("pause_session", session_id="works")
            other.call("delete_session", session_id="sleeps")
            assert boxes_of(state) == before, "the copy has ended boxes of the original"
            now = original.call("get_run", run_id=run["run_id"])["stdout_next_offset"]
            original.call("get_run", run_id=run["run_id"], stdout_offset=now, wait_seconds=10)
            assert original.call("get_run", run_id=run["run_id"])["stdout_next_offset"] > now, "frozen by the copy"
            mine = boxes_of(copy)
        # The other way round: a server that starts, and one that ends a session.
        with Client(state) as another:
            assert another.run("y", session_id="sleeps")["outputs"][0]["text"] == "78"
        assert original.run("next(x)", session_id="works")["outputs"][0]["text"] == "77"
        assert original.call("read_file", path="kept", session_id="works")["content"] == "k"
        original.call("delete_session", session_id="works")
        assert boxes_of(copy) == mine, "the original has ended boxes of the copy"
    check_database(state)
    check_database(copy)


def test_a_copys_sessions_have_ids_of_their_own(state, copy):
    with Client(state) as original:
        session = original.call("create_session", name="kept")["session_id"]
        own_ids(state)
        original.run("mkdir -p a/b ~/c; echo 1 >a/b/1; ln a/b/1 a/2; ln -s /etc/passwd a/link; echo t >/tmp/t; mkfifo a/p\n"
                     "mkdir -m 0 closed; chmod u+s a/b/1", "bash", session_id="kept")
        before = owners(state, session)
        make_copy(state, copy)
        with Client(copy) as other:
            ended = other.run("cat a/b/1 a/2 /tmp/t; echo 2 >>a/2; rmdir ~/c; ls -l a/link; chmod 700 closed; rm -r closed",
                              "bash", session_id="kept")
            assert ended["status"] == "completed" and ended["stdout"].startswith("1\n1\nt\n"), ended
            other.call("write_file", path="a/new", content="", session_id="kept")
            now = owners(copy, session)
            assert len(set(now.values())) == 1 and set(now.values()) != set(before.values()), (before, now)
            assert rows(copy, "SELECT host_uid FROM sessions") == [(now["workspace"],)]
            assert os.stat("/etc/passwd").st_uid == 0, "the link was followed"
            said = b"".join(other.errors).decode()
            assert "copied, moved or restored: its sessions (1)" in said, said
            # Sessions that are made in it do not meet the original's either.
            made = other.call("create_session")["session_id"]
            assert not set(owners(copy, made).values()) & (set(before.values()) | set(now.values()))
        with Client(copy) as again:
            assert again.run("cat a/2", "bash", session_id="kept")["stdout"] == "1\n2\n"
            assert not again.errors, "once"
        assert owners(state, session) == before
        assert original.run("cat a/b/1", "bash", session_id="kept")["stdout"] == "1\n"


def test_many_names_change_owner_with_progress(state, copy):
    with Client(state) as original:
        session = original.call("create_session", name="kept")["session_id"]
        own_ids(state)
        # Names of one file: making so many files takes long on some file systems.
        original.run("import os\nopen('file', 'w').close()\nfor i in range(10_100): os.link('file', str(i))", session_id="kept")
        make_copy(state, copy)
    with Client(copy) as other:
        ended = other.request("tools/call", {"name": "run_code", "_meta": {"progressToken": 7}, "arguments": {
            "code": "len(open('10099').read())", "session_id": "kept"}})["structuredContent"]
        assert ended["status"] == "completed", ended
        told = []
        while not other.notifications.empty():
            told.append(other.notifications.get()["params"])
        words = [one["message"] for one in told if "change owner" in one.get("message", "")]
        assert words and f"files of {session}/workspace change owner: 10000 of 10101 are done" in words[0], told
        assert any(ended["run_id"] in one["message"] for one in told), "the run is told of as before"
        assert [one["progress"] for one in told] == sorted({one["progress"] for one in told}), told
        assert words[0].encode() in b"".join(other.errors)


def test_a_state_directory_that_was_moved_goes_on(state, copy):
    """To another file system, or restored from a backup: the original is gone, its boxes end."""
    with Client(state) as original:
        session = original.call("create_session", name="kept")["session_id"]
        original.run("x = 1; open('data', 'w').write('still here')", session_id="kept")
        boxes = processes_of(state)
        original.kill()
    make_copy(state, copy)
    shutil.rmtree(state)
    with Client(copy) as moved:
        assert moved.run("print(open('data').read()); open('data', 'a').write('!')",
                         session_id="kept")["stdout"] == "still here\n"
        assert moved.call("list_sessions")["sessions"][0]["session_id"] == session
    until(lambda: not any(start_of(pid) for pid in boxes), what="the end of the old boxes")
    os.mkdir(state, 0o700)  # for what ends boxes after the test


def test_owners_that_a_backup_has_lost_are_given_again(state, copy):
    """As by tar without --same-owner: all is root's."""
    with Client(state) as original:
        original.call("create_session", name="kept")
        own_ids(state)
        original.run("open('data', 'w').write('d')", session_id="kept")
        original.close()
    end_boxes_only(state)
    shutil.copytree(state, copy, symlinks=True)
    with Client(copy) as other:
        assert other.run("open('data', 'a').write('!'); open('data').read()", session_id="kept")["outputs"][0]["text"] == "'d!'"


def end_boxes_only(state):
    """A socket cannot be copied by everything that copies."""
    for pid in processes_of(state):
        os.kill(pid, 9)
    until(lambda: not processes_of(state), what="the end of the boxes")
    for found in pathlib.Path(state).rglob("*"):
        if found.is_socket():
            found.unlink()


def rename_as_before(session):
    """Gives them the names of an older hutch."""
    for directory in cgroups_of([session]):
        os.rename(directory, os.path.join(os.path.dirname(directory), f"hutch-{session}"))


def can_rename_cgroups():
    if not IS_ROOT or not os.path.exists("/sys/fs/cgroup/freezer"):
        pytest.skip("only root can rename cgroups, and only those of version 1")


def in_cgroups(directories):
    return {int(pid) for d in directories for pid in pathlib.Path(d, "cgroup.procs").read_text().split()}


def test_a_copy_leaves_cgroups_of_older_names_alone(state, copy):
    """An upgraded server, and an original that an older one serves."""
    can_rename_cgroups()
    with Client(state) as original:
        session = original.call("create_session", name="kept")["session_id"]
        original.run("x = 5", session_id="kept")
        make_copy(state, copy)
        rename_as_before(session)
        with Client(copy) as other:
            until_swept(copy)
            assert other.run("1", session_id="kept")["status"] == "completed"
            other.call("delete_session", session_id="kept")
        assert original.run("x", session_id="kept")["outputs"][0]["text"] == "5"
        # It goes on until it ends by itself, and what it was in goes with the next sweep.
        original.call("delete_session", session_id="kept")
        until(lambda: not cgroups_of([session]), what="the end of the cgroups of the older name")


def test_what_is_frozen_in_cgroups_of_older_names_ends_with_its_own_server(state, copy):
    can_rename_cgroups()
    with Client(state) as original:
        session = original.call("create_session", name="kept")["session_id"]
        original.run("x = (n for n in [5])", session_id="kept")
        original.call("pause_session", session_id="kept")
        (box,) = processes_of(state)
        until(lambda: is_frozen(box), what="the session being frozen")
        original.kill()
    os.kill(box, 9)
    until(lambda: not processes_of(state), what="the end of hutch-box")
    rename_as_before(session)
    left = in_cgroups(cgroups_of([session]))
    assert left
    make_copy(state, copy)
    with Client(copy) as other:
        until_swept(copy)
        assert other.run("1", session_id="kept")["status"] == "completed"
        other.call("delete_session", session_id="kept")
    assert in_cgroups(cgroups_of([session])) == left, "the copy has ended what is the original's"
    with Client(state) as again:
        until(lambda: not cgroups_of([session]), what="the end of the cgroups of the older name")
        assert not any(start_of(pid) for pid in left)
        assert again.run("x", session_id="kept")["error"]["name"] == "NameError"
