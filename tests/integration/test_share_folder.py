"""Tests that what is shared over stdio lies where people find it, under its own name, and is theirs."""

import hashlib
import os
import pathlib
import subprocess
import time

import pytest

from hutch_client import PATIENCE, Client, ToolError, hutch_binary

MIB = 1 << 20


def share(client, name, content, **arguments):
    client.call("write_file", path=name, content=content)
    return client.call("share_file", path=name, **arguments)


def entries(folder):
    return sorted(os.listdir(folder))


def test_it_lies_in_the_home_folder_and_is_named_in_every_form(client, state):
    folder = pathlib.Path(state, "hutch")
    client.call("write_file", path="d/table.csv", content="a\n1\n")
    assert not folder.exists(), "nothing is made before it is needed"
    result = client.result("share_file", path="d/table.csv")
    shared = result["structuredContent"]
    assert shared["host_path"] == str(folder / "table.csv") and shared["filename"] == "table.csv"
    assert (folder / "table.csv").read_text() == "a\n1\n" and "note" not in shared
    assert shared["host_path"] + ", theirs to keep\n" in result["content"][0]["text"]
    assert [block["uri"] for block in result["content"] if block["type"] == "resource_link"] == [
        "file://" + shared["host_path"]]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entries(folder) == ["table.csv"]


def test_the_same_again_is_the_same_file_and_other_content_another(client, state):
    folder = pathlib.Path(state, "hutch")
    assert share(client, "f.txt", "one")["host_path"] == str(folder / "f.txt")
    assert share(client, "f.txt", "one")["host_path"] == str(folder / "f.txt")
    assert share(client, "f.txt", "two")["host_path"] == str(folder / "f (2).txt")
    (folder / "f.txt").write_text("edited by its owner")
    third = share(client, "f.txt", "one")
    assert third["host_path"] == str(folder / "f (3).txt") and third["filename"] == "f.txt"
    assert (folder / "f.txt").read_text() == "edited by its owner"
    assert entries(folder) == ["f (2).txt", "f (3).txt", "f.txt"]


def test_what_its_owner_does_with_it_does_not_change_what_is_shared(client, state):
    shared = share(client, "f.txt", "kept")
    with open(shared["host_path"], "r+") as file:
        file.write("EDIT")
    got = subprocess.run([hutch_binary(), "share", "get", shared["id"], "-o", "-", "--state-dir", state],
                         capture_output=True, check=True)
    assert hashlib.sha256(got.stdout).hexdigest() == shared["sha256"]
    os.remove(shared["host_path"])
    assert client.call("share_file", path="f.txt")["host_path"] == shared["host_path"]


def test_flag_beats_variable_beats_file(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text(f'share_dir = "{tmp_path}/of-file"\n')
    variable = {"HUTCH_SHARE_DIR": f"{tmp_path}/of-variable/"}
    for arguments, env, place in (([], {}, "of-file"), ([], variable, "of-variable"),
                                  (["--share-dir", f"{tmp_path}/of-flag"], variable, "of-flag")):
        with Client(state, "--config", str(config), *arguments, env=env) as client:
            assert share(client, "f", "x")["host_path"] == str(tmp_path / place / "f")
    config.write_text('share_dir = "~/of-home"\n')
    with Client(state, "--config", str(config), env={"HOME": str(tmp_path)}) as client:
        assert share(client, "f", "x")["host_path"] == str(tmp_path / "of-home/f")
    # PWD may be whatever a client has left in it.
    relative = os.path.relpath(tmp_path)
    with Client(state, "--share-dir", f"{relative}/of-here", env={"PWD": "/nowhere"}) as client:
        assert os.path.samefile(share(client, "f", "x")["host_path"], tmp_path / "of-here/f")


@pytest.mark.parametrize("arguments, env, file", [
    (["--share-dir", "none"], {}, ""), (["--share-dir", ""], {"HUTCH_SHARE_DIR": "/elsewhere"}, ""),
    ([], {"HUTCH_SHARE_DIR": "none"}, ""), ([], {}, 'share_dir = "none"'), ([], {}, 'share_dir = ""')])
def test_it_can_be_switched_off(state, tmp_path, arguments, env, file):
    config = tmp_path / "config.toml"
    config.write_text(file)
    with Client(state, "--config", str(config), *arguments, env=env) as client:
        shared = share(client, "f", "x")
        assert shared["host_path"] == f"{state}/shared/{shared['id']}/f" and "note" not in shared
        assert pathlib.Path(shared["host_path"]).read_text() == "x"
        assert not pathlib.Path(state, "hutch").exists()
        client.close()
        assert b"HOME" not in b"".join(client.errors)


def test_without_a_home_the_log_says_so_once(state):
    with Client(state, env={"HOME": ""}) as client:
        for _ in range(2):
            shared = share(client, "f", "x")
            assert shared["host_path"] == f"{state}/shared/{shared['id']}/f" and "note" not in shared
        client.close()
        assert b"".join(client.errors).count(b"HOME is not set: shared files stay in") == 1


@pytest.mark.parametrize("arguments, file, said", [
    ([], "\nshare_dir = 5", ":2: share_dir must be a string")])
def test_what_cannot_be_meant_is_refused_at_the_start(state, tmp_path, arguments, file, said):
    config = tmp_path / "config.toml"
    config.write_text(file)
    ended = subprocess.run([hutch_binary(), "stdio", "--state-dir", state, "--config", str(config), *arguments],
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * PATIENCE,
                           env={"PATH": os.environ["PATH"], "HOME": state})
    assert ended.returncode == 2 and said in ended.stderr, ended.stderr


def unusable_places(tmp_path):
    """A folder that cannot be written, and the reason that is to be told."""
    (tmp_path / "file").write_text("not a folder")
    os.symlink("nowhere", tmp_path / "dangling")
    yield tmp_path / "file", "Not a directory"
    yield tmp_path / "file/below", "Not a directory"
    yield tmp_path / "absent/below", "No such file or directory"
    yield tmp_path / "dangling", "No such file or directory"
    yield pathlib.Path("/proc/hutch"), "No such file or directory"
    if os.geteuid() != 0:
        (tmp_path / "closed").mkdir(0o500)
        yield tmp_path / "closed", "Permission denied"


def test_a_folder_that_cannot_be_used_costs_nothing_but_the_copy(state, tmp_path):
    for folder, reason in unusable_places(tmp_path):
        with Client(state, "--share-dir", str(folder)) as client:
            client.call("write_file", path="f", content="x")
            result = client.result("share_file", path="f")
            shared = result["structuredContent"]
            assert not result["isError"], result
            assert shared["note"].startswith(f"not put into {folder}: ") and reason in shared["note"]
            assert shared["note"] in result["content"][0]["text"]
            assert shared["host_path"] == f"{state}/shared/{shared['id']}/f"
            assert pathlib.Path(shared["host_path"]).read_text() == "x"
    assert (tmp_path / "file").read_text() == "not a folder"


@pytest.mark.parametrize("filename", [
    "../../up.txt", "/etc/cron.d/x", "..", ".", ".bashrc", "-rf", "a\nb", "\x1b[31mred", "\u202egpj.exe", "a\\..\\b",
    "nul\x00byte", "n" * 900, "é" * 400, "  ", "~", "$(id)", "*", "CON", "😀.txt", "d/", "a/../../b"])
def test_hostile_names_stay_in_the_folder(shared, module_state, filename):
    shared.call("write_file", path="source", content=filename)
    folder = pathlib.Path(module_state, "hutch")
    told = shared.call("share_file", path="source", filename=filename)
    path = pathlib.Path(told["host_path"])
    assert path.parent == folder and path.is_file() and not path.is_symlink()
    assert path.read_text() == filename
    assert not path.name.startswith((".", "-")) and len(os.fsencode(path.name)) <= 255
    assert not any(ord(letter) < 32 or letter in "/\\\x7f\u202e" for letter in path.name), path.name
    assert path.name in entries(folder)


def test_modes_are_as_of_the_users_other_files(state):
    for umask in (0o027, 0o002, 0o077):
        with Client(state, popen={"umask": umask}) as client:
            path = share(client, f"f{umask}", "x")["host_path"]
            assert os.stat(path).st_mode & 0o777 == 0o666 & ~umask


def test_it_stays_when_session_and_share_are_gone(state):
    with Client(state) as client:
        session = client.call("create_session")["session_id"]
        client.call("write_file", path="f", content="x", session_id=session)
        shared = client.call("share_file", path="f", session_id=session, expires_in_seconds=1)
        client.call("delete_session", session_id=session)
    stored = pathlib.Path(state, "shared", shared["id"])
    deadline = time.monotonic() + 30 * PATIENCE
    while stored.exists():  # each command sweeps as it starts
        assert time.monotonic() < deadline
        subprocess.run([hutch_binary(), "share", "ls", "--state-dir", state], capture_output=True, check=True)
    assert pathlib.Path(shared["host_path"]).read_text() == "x"


def make_big(client, extra=0):
    client.run(f"import os\nwith open('big', 'wb') as file:\n"
               f"    for _ in range(100): file.write(os.urandom({MIB}))\n    file.write(bytes({extra}))")


def test_the_largest_that_can_be_shared_and_one_byte_more(client, state):
    make_big(client)
    shared = client.call("share_file", path="big")
    with open(shared["host_path"], "rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == shared["sha256"]
    assert shared["bytes"] == 100 * MIB == os.path.getsize(shared["host_path"])
    client.run("open('big', 'ab').write(b'x')")
    with pytest.raises(ToolError, match="100 MiB"):
        client.call("share_file", path="big", filename="larger")
    assert entries(pathlib.Path(state, "hutch")) == ["big"]


def is_being_written(pid, folder):
    """Whether the server has a file of the folder open, with or without a name."""
    for fd in pathlib.Path("/proc", str(pid), "fd").iterdir():
        try:
            if os.readlink(fd).startswith(f"{folder}/"):
                return True
        except OSError:
            pass
    return False


def killed_while_it_copies(state, folder, name):
    """Whether the signal came in between; if not, the copy was there before anybody could look."""
    with Client(state, "--session", "kept") as client:
        request = client.start_tool("share_file", path="big", filename=name)
        while not is_being_written(client.process.pid, folder):
            if client.is_answered(request):
                return False
        client.kill()
        return True


@pytest.mark.slow
def test_a_server_killed_while_it_copies_leaves_nothing_half(state):
    folder = pathlib.Path(state, "hutch")
    with Client(state, "--session", "kept") as client:
        make_big(client)
    assert any(killed_while_it_copies(state, folder, f"big{number}") for number in range(5))
    # Complete or not at all, whenever the signal came. A draft has no name, or none that is seen.
    found = [name for name in entries(folder) if not name.startswith(".hutch-")]
    assert all((folder / name).stat().st_size == 100 * MIB for name in found), found
    with Client(state, "--session", "kept") as client:
        shared = client.call("share_file", path="big", filename="again")
        assert shared["host_path"] == str(folder / "again")
        with open(folder / "again", "rb") as file:
            assert hashlib.file_digest(file, "sha256").hexdigest() == shared["sha256"]
