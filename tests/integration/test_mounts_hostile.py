"""Folders of the host whose state was left by hostile code for the sandbox that starts next."""

import os
import time

import pytest

from hutch_client import ToolError
from http_server import HttpClient, Server
from test_mounts import errno_of, folder, own, server  # noqa: F401

REFUSED = ("EROFS", "EACCES")


@pytest.fixture
def repository(folder):  # noqa: F811
    (folder / ".git/hooks").mkdir(parents=True)
    yield own(folder)
    for place in (folder, folder / "d"):
        if place.exists():
            os.chmod(place, 0o755)


def start_second(client, **arguments):
    client.call("create_session", name="second", **arguments)
    return client.run("print(1)", session_id="second")


@pytest.mark.parametrize("mode", [0, 0o311, 0o444], ids=["closed", "unreadable", "unsearchable"])
def test_a_closed_folder_does_not_uncover_what_is_in_it(state, repository, mode):
    with server(state, f"{repository}:rw") as client:
        assert errno_of(client, "os.makedirs('/mnt/project/sub/.git')") == "done"
        assert errno_of(client, f"os.chmod('/mnt/project', {mode})") == "done"
        told = start_second(client)
        assert told["status"] == "completed" and str(repository) not in str(told)
        if os.geteuid() != 0:  # who is root looks into it all the same
            assert "/mnt/project is read-only" in told["note"] and "chmod u+rwx" in told["note"]
            assert errno_of(client, "os.chmod('/mnt/project', 0o755)", session_id="second") == "EROFS"
        assert errno_of(client, "os.chmod('/mnt/project', 0o755)") == "done"
        for path in (".git/hooks/pre-commit", ".git/config", "sub/.git/config"):
            assert errno_of(client, f"open('/mnt/project/{path}', 'w')", session_id="second") in REFUSED, path
        for code in ("os.rename('/mnt/project/.git', '/mnt/project/git')", "os.rmdir('/mnt/project/.git/hooks')"):
            assert errno_of(client, code, session_id="second") in ("EBUSY", *REFUSED), code
        client.call("create_session", name="third")
        assert errno_of(client, "open('/mnt/project/free', 'w')", session_id="third") == "done", "nothing stays narrowed"
    assert os.listdir(repository / ".git/hooks") == [] and os.listdir(repository / "sub/.git") == []


@pytest.mark.parametrize("mode", [0, 0o311, 0o444], ids=["closed", "unreadable", "unsearchable"])
def test_a_closed_directory_does_not_uncover_the_repositories_in_it(state, repository, mode):
    with server(state, f"{repository}:rw") as client:
        for place in ("d/.git", "d/inner/.git"):
            assert errno_of(client, f"os.makedirs('/mnt/project/{place}')") == "done"
        assert errno_of(client, f"os.chmod('/mnt/project/d', {mode})") == "done"
        assert start_second(client)["status"] == "completed"
        assert errno_of(client, "open('/mnt/project/free', 'w')", session_id="second") == "done", "the rest is writable"
        assert errno_of(client, "os.chmod('/mnt/project/d', 0o755)") == "done"
        for place in ("d/.git", "d/inner/.git"):
            assert errno_of(client, f"open('/mnt/project/{place}/config', 'w')", session_id="second") == "EROFS", place
    assert os.listdir(repository / "d/.git") == [] and os.listdir(repository / "d/inner/.git") == []


def test_a_link_in_the_place_of_what_must_stay_makes_the_folder_read_only(state, repository):
    with server(state, f"{repository}:rw") as client:
        assert errno_of(client, "os.symlink('nowhere', '/mnt/project/.vimrc')") == "done"
        told = start_second(client)
        assert told["status"] == "completed" and "/mnt/project is read-only: .vimrc in it is a link" in told["note"]
        assert str(repository) not in str(told)
        for code in ("open('/mnt/project/free', 'w')", "open('/mnt/project/.vimrc', 'w')", "os.unlink('/mnt/project/.vimrc')",
                     "open('/mnt/project/.git/config', 'w')"):
            assert errno_of(client, code, session_id="second") in REFUSED, code
        kept = client.run("kept = open('/mnt/project/in.txt').read()", session_id="second")
        assert "note" not in kept, "told once"
        assert client.run("print(kept)", session_id="second")["stdout"] == "from the host\n\n", "no new sandbox for each use"
        assert errno_of(client, "os.unlink('/mnt/project/.vimrc')") == "done"
        client.call("create_session", name="third")
        assert errno_of(client, "open('/mnt/project/free', 'w')", session_id="third") == "done"


def test_over_http_nothing_of_it_says_where_the_folder_is(state, repository):
    (repository / ".claude").symlink_to("sub")
    with Server(state, "--mount", f"{repository}:rw") as http:
        client = HttpClient(http)
        client.call("create_session", name="asked", filesystem={"read_write": ["project"]})
        told = client.call("run_code", language="bash", code="cat /mnt/project/in.txt", session_id="asked")
        assert told["stdout"] == "from the host\n" and ".claude in it is a link" in told["note"]
        assert str(repository) not in str(told)
        with pytest.raises(ToolError, match="blocked path /mnt/project/absent is not there") as refused:
            client.call("create_session", name="blocks", filesystem={"read_write": ["project"], "blocked": ["project/absent"]})
            client.call("run_code", language="bash", code="true", session_id="blocks")
        assert str(repository) not in str(refused.value)


def test_no_sandbox_is_made_ahead_of_what_it_must_protect(state, folder):  # noqa: F811
    with server(state, f"{folder}:rw", env={"HUTCH_SPARE_SESSIONS": "1"}) as client:
        client.run("1")
        deadline = time.monotonic() + 5  # time enough to make one, were it made
        while len(os.listdir(f"{state}/sessions")) < 2 and time.monotonic() < deadline:
            client.run("import time; time.sleep(0.2)")
        (folder / ".git").mkdir()
        own(folder)
        start_second(client)
        assert errno_of(client, "open('/mnt/project/.git/config', 'w')", session_id="second") == "EROFS"
