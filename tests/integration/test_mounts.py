"""Folders of the host in sessions: what is granted, how narrow it is, and what never is."""

import ctypes
import os
import pathlib
import re
import socket
import stat
import subprocess
import time

import pytest

from hutch_client import Client, ToolError, hutch_binary
from http_server import HttpClient, Server

OWNER = 23456 if os.geteuid() == 0 else os.geteuid()


@pytest.fixture
def folder(tmp_path):
    """One that belongs to somebody who is neither root nor a session."""
    path = tmp_path / "project"
    path.mkdir()
    (path / "in.txt").write_text("from the host\n")
    (path / "sub").mkdir()
    (path / "sub" / "deep.txt").write_text("deep\n")
    return own(path)


def own(path):
    for place in [path, *path.rglob("*")]:
        os.lchown(place, OWNER, OWNER if os.geteuid() == 0 else os.getegid())
    return path


def server(state, *mounts, **options):
    return Client(state, *(part for mount in mounts for part in ("--mount", str(mount))), **options)


def errno_of(client, code, **arguments):
    """The name of the errno that the code ends with, or what it prints."""
    program = f"import errno, os, socket\ntry:\n    {code}\n    print('done')\nexcept OSError as e:\n    print(errno.errorcode[e.errno])"
    return client.run(program, **arguments)["stdout"].strip()


@pytest.fixture(params=["0", "1"], ids=["started", "forked"])
def zygote_env(request):
    return {"HUTCH_ZYGOTE": request.param}


def test_a_folder_is_read_only_unless_it_is_granted_for_writing(state, folder, zygote_env):
    with server(state, folder, env=zygote_env) as client:
        assert client.run("print(open('/mnt/project/in.txt').read())")["stdout"] == "from the host\n\n"
        assert client.call("read_file", path="/mnt/project/sub/deep.txt")["content"] == "deep\n"
        listed = client.call("list_files", path="/mnt/project", recursive=True)["entries"]
        assert {entry["path"] for entry in listed} == {"/mnt/project/in.txt", "/mnt/project/sub", "/mnt/project/sub/deep.txt"}
        assert errno_of(client, "open('/mnt/project/new', 'w')") in ("EROFS", "EACCES")
        assert errno_of(client, "os.unlink('/mnt/project/in.txt')") in ("EROFS", "EACCES")
        assert errno_of(client, "os.chmod('/mnt/project/in.txt', 0o777)") == "EROFS"
        with pytest.raises(ToolError, match="read-only"):
            client.call("write_file", path="/mnt/project/new", content="x")
        with pytest.raises(ToolError, match="read-only|denied"):
            client.call("edit_file", path="/mnt/project/in.txt", old_text="host", new_text="box")
        assert sorted(os.listdir(folder)) == ["in.txt", "sub"]
        assert client.run("ls /mnt", "bash")["stdout"].split() == ["data", "project"]


def test_what_a_session_makes_belongs_to_the_owner_of_the_folder(state, folder, zygote_env):
    with server(state, f"{folder}:rw", env=zygote_env) as client:
        result = client.run("""
            import os
            print(os.stat('/mnt/project/in.txt').st_uid, os.getuid())
            open('/mnt/project/in.txt', 'a').write('and the box')
            open('/mnt/project/made', 'w').write('new')
            os.makedirs('/mnt/project/a/b')
            os.rename('/mnt/project/sub/deep.txt', '/mnt/project/a/b/moved')
        """.replace("\n            ", "\n"))
        assert result["status"] == "completed", result["stderr"]
        assert result["stdout"].split() == ["1000", "1000"]
        client.call("write_file", path="/mnt/project/tool/by_tool", content="tool")
        client.call("edit_file", path="/mnt/project/in.txt", old_text="the host", new_text="outside")
    assert (folder / "in.txt").read_text() == "from outside\nand the box"
    assert (folder / "made").read_text() == "new" and (folder / "a/b/moved").read_text() == "deep\n"
    assert (folder / "tool/by_tool").read_text() == "tool"
    assert {place.lstat().st_uid for place in folder.rglob("*")} == {OWNER}


@pytest.mark.parametrize("missing", ["", "mount_setattr\n"], ids=["of_now", "of_linux_before_5_12"])
def test_what_the_host_obeys_stays_as_it_is(state, folder, missing):
    (folder / ".git/hooks").mkdir(parents=True)
    (folder / ".git/config").write_text("[core]\n")
    (folder / ".envrc").write_text("export A=1\n")
    (folder / ".vscode").mkdir()
    (folder / "sub/project/.git").mkdir(parents=True)
    own(folder)
    options = {}
    if missing:  # the init of tests/security/weak_init does without them
        pathlib.Path(state, "without").write_text(missing)
        program = pathlib.Path(hutch_binary())
        options = {"binary": str(program.parent.parent / "weak/bin" / program.name), "env": {"HUTCH_ZYGOTE": "0"}}
    with server(state, f"{folder}:rw", **options) as client:
        for code in ("open('/mnt/project/.git/hooks/pre-commit', 'w')", "open('/mnt/project/.git/config', 'a')",
                     "os.unlink('/mnt/project/.git/config')", "open('/mnt/project/.envrc', 'w')", "open('/mnt/project/.vscode/x', 'w')",
                     "open('/mnt/project/sub/project/.git/config', 'w')", "os.link('/mnt/project/in.txt', '/mnt/project/.git/x')"):
            assert errno_of(client, code) in ("EROFS", "EACCES", "EXDEV"), code
        for code in ("os.rename('/mnt/project/.git', '/mnt/project/git')", "os.unlink('/mnt/project/.envrc')",
                     "os.rename('/mnt/project/in.txt', '/mnt/project/.envrc')", "os.rmdir('/mnt/project/.vscode')"):
            assert errno_of(client, code) == "EBUSY", code
        # The mount goes with the directory that it lies in.
        assert errno_of(client, "os.rename('/mnt/project/sub', '/mnt/project/other')") == "done"
        assert errno_of(client, "open('/mnt/project/other/project/.git/config', 'w')") == "EROFS"
        for path in (".git/config", ".envrc"):
            with pytest.raises(ToolError, match="read-only|denied"):
                client.call("write_file", path=f"/mnt/project/{path}", content="evil")
        assert errno_of(client, "open('/mnt/project/free', 'w')") == "done"
    assert (folder / ".envrc").read_text() == "export A=1\n" and os.listdir(folder / ".git/hooks") == []


def test_a_sandbox_ends_when_the_host_replaces_what_it_protects(state, folder):
    (folder / ".envrc").write_text("A")
    own(folder)
    with server(state, f"{folder}:rw") as client:
        first = client.run("1")
        (folder / "edited").write_text("B")
        own(folder)
        os.rename(folder / "edited", folder / ".envrc")
        deadline = time.monotonic() + 60
        while errno_of(client, "open('/mnt/project/.envrc', 'a')") != "EROFS":
            assert time.monotonic() < deadline
        assert client.run("open('/mnt/project/.envrc').read()")["session_id"] == first["session_id"]


def test_links_lead_nowhere_outside(state, folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("canary")
    (folder / "out").symlink_to(secret)
    (folder / "up").symlink_to("../secret")
    with server(state, f"{folder}:rw") as client:
        for name in ("out", "up"):
            assert errno_of(client, f"open('/mnt/project/{name}')") == "ENOENT"
            with pytest.raises(ToolError) as refused:
                client.call("read_file", path=f"/mnt/project/{name}")
            assert "canary" not in str(refused.value)
        assert errno_of(client, "os.listdir('/mnt/project/../../..')") == "done"
        assert "secret" not in client.run("import os; print(os.listdir('/mnt'))")["stdout"]
        client.run(f"import os; os.symlink('{secret}', '/mnt/project/planted')")
        with pytest.raises(ToolError):
            client.call("read_file", path="/mnt/project/planted")
        with pytest.raises(ToolError):
            client.call("write_file", path="/mnt/project/planted", content="x", mode="append")
    assert secret.read_text() == "canary"


def test_sockets_of_the_host_are_out_of_reach(state, folder):
    with socket.socket(socket.AF_UNIX) as stream, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram:
        here = os.open(folder, os.O_PATH)
        stream.bind(f"/proc/self/fd/{here}/stream")
        datagram.bind(f"/proc/self/fd/{here}/datagram")
        stream.listen()
        datagram.setblocking(False)
        os.close(here)
        own(folder)
        for place in ("stream", "datagram"):
            os.chmod(folder / place, 0o777)
        with server(state, f"{folder}:rw") as client:
            for kind in ("STREAM", "DGRAM", "SEQPACKET"):
                assert errno_of(client, f"socket.socket(socket.AF_UNIX, socket.SOCK_{kind})") == "EAFNOSUPPORT"
            # A datagram socket of a pair sends wherever it is told.
            for kind in ("DGRAM", "RAW"):
                assert errno_of(client, f"socket.socketpair(socket.AF_UNIX, socket.SOCK_{kind})") == "EPERM"
            for kind in ("STREAM", "SEQPACKET"):
                assert errno_of(client, f"socket.socketpair(socket.AF_UNIX, socket.SOCK_{kind})[0].sendto(b'x', '/mnt/project/datagram')") in ("EISCONN", "EOPNOTSUPP", "EPIPE")
                assert errno_of(client, f"socket.socketpair(socket.AF_UNIX, socket.SOCK_{kind})[0].connect('/mnt/project/stream')") in ("EISCONN", "EPROTOTYPE")
            with pytest.raises(BlockingIOError):
                datagram.recv(1)
            assert errno_of(client, "socket.create_server(('127.0.0.1', 0))") == "done"
            pool = client.run("import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p:\n    print(p.map(abs, [-1, 2]))")
            assert pool["stdout"] == "[1, 2]\n", pool["stderr"]


def test_no_set_id_program_for_others_of_the_host(state, folder):
    with server(state, f"{folder}:rw") as client:
        for code in ("os.chmod('/mnt/project/in.txt', 0o4755)", "os.chmod('/mnt/project/in.txt', 0o2755)",
                     "os.fchmod(os.open('/mnt/project/in.txt', os.O_RDONLY), 0o6755)",
                     "os.open('/mnt/project/s1', os.O_CREAT | os.O_WRONLY, 0o4755)",
                     "os.open('/mnt/project', os.O_TMPFILE | os.O_WRONLY, 0o2755)",
                     "os.mknod('/mnt/project/s2', 0o104755)"):
            assert errno_of(client, code) == "EPERM", code
        assert errno_of(client, "os.chmod('/mnt/project/in.txt', 0o755)") == "done"
    assert not any(place.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID) for place in folder.rglob("*"))


def test_create_session_picks_and_narrows(state, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with server(state, f"{folder}:rw", own(other)) as client:
        everything = client.call("create_session", name="everything")
        assert everything["filesystem"] == {"read_only": ["/mnt/other"], "read_write": ["/mnt/project"]}
        narrow = client.call("create_session", name="narrow", filesystem={"read_only": ["project"]})
        assert narrow["filesystem"] == {"read_only": ["/mnt/project"]}
        assert client.run("ls /mnt", "bash", session_id="narrow")["stdout"].split() == ["data", "project"]
        assert errno_of(client, "open('/mnt/project/x', 'w')", session_id="narrow") in ("EROFS", "EACCES")
        nothing = client.call("create_session", name="nothing", filesystem={"read_only": []})
        assert "filesystem" not in nothing
        assert client.run("ls /mnt", "bash", session_id="nothing")["stdout"].split() == ["data"]
        assert errno_of(client, "socket.socket(socket.AF_UNIX)", session_id="nothing") == "done"


@pytest.mark.parametrize("asked, words", [
    ({"read_write": ["/mnt/ro"]}, r'reading only.*--mount ro=PATH:rw.*\[mounts\] ro = "PATH:rw"'),
    ({"read_only": ["/mnt/secrets"]}, r'not granted.*/mnt/ro \(read-only\).*--mount secrets=PATH.*\[mounts\] secrets = "PATH"'),
    ({"read_only": ["/etc"]}, "filesystem.read_only: /etc is not granted"),
    ({"read_only": ["/mnt/ro/.."]}, "not granted"),
    ({"read_only": ["ro", "/mnt/ro"]}, "named twice"),
    ({"read_only": "ro"}, "must be an array"),
    ({"read_only": [1]}, "must be an array"),
    ({"write": ["ro"]}, "unknown key"),
    ({"ö" * 120: ["ro"]}, "unknown key filesystem.ö{100};"),
    ({"blocked": ["/mnt/ro"]}, "whole folder"),
    ({"blocked": ["/mnt/ro/../x"]}, "plain path"),
    ({"blocked": ["/mnt/other/x"]}, "in no folder"),
    ({"read_only": [], "blocked": ["/mnt/ro/x"]}, "in no folder"),
    ({"blocked": ["/mnt/ro/absent"]}, "not there"),
])
def test_more_than_granted_is_refused_with_the_line_that_would_allow_it(state, tmp_path, asked, words):
    folder = tmp_path / "ro"
    folder.mkdir()
    with server(state, own(folder)) as client:
        with pytest.raises(ToolError, match=words):
            client.call("create_session", filesystem=asked)


def test_blocked_paths_read_as_empty(state, folder):
    with server(state, f"{folder}:rw") as client:
        made = client.call("create_session", name="b", filesystem={"blocked": ["/mnt/project/in.txt", "project/sub"]})
        assert made["filesystem"]["blocked"] == ["/mnt/project/in.txt", "/mnt/project/sub"]
        result = client.run("import os; print(repr(open('/mnt/project/in.txt').read()), os.listdir('/mnt/project/sub'))", session_id="b")
        assert result["stdout"] == "'' []\n"
        for code in ("os.unlink('/mnt/project/in.txt')", "os.rename('/mnt/project/sub', '/mnt/project/s')"):
            assert errno_of(client, code, session_id="b") == "EBUSY"
        assert errno_of(client, "open('/mnt/project/sub/x', 'w')", session_id="b") in ("EROFS", "EACCES")
    assert (folder / "in.txt").read_text() == "from the host\n"


def refusal(state, *mounts, home=None, config=None, env=None):
    arguments = [part for mount in mounts for part in ("--mount", str(mount))]
    environment = {**os.environ, "HOME": str(home or os.environ.get("HOME", "/")), **(env or {})}
    if config:
        environment["HUTCH_CONFIG"] = str(config)
    ended = subprocess.run([hutch_binary(), "stdio", "--state-dir", state, *arguments], env=environment,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0 and ended.stdout == ""
    return ended.stderr


def test_what_is_never_granted(state, folder, tmp_path):
    home = tmp_path / "home"
    for place in (".ssh", ".mozilla/profile", ".config/autostart", "projects", "real"):
        (home / place).mkdir(parents=True)
    (home / "link").symlink_to("real")
    (home / "real/file").touch()
    for path, words in ((home, "never granted: it holds"), (home.parent, "never granted"), (f"x={home}/.ssh", "never granted"),
                        (home / ".mozilla/profile", "it is in .*/.mozilla"), (f"x={home}/.config", "never granted"),
                        (f"{home}/.config/autostart:rw", "never granted for writing"), ("x=/", "never granted"),
                        ("/proc", "never granted"), ("/sys", "never granted"), ("/run", "never granted"), ("/dev/shm", "never granted"),
                        ("x=/etc/ssl", "never granted"), (state, "never granted"), (f"x={os.path.dirname(hutch_binary())}:rw", "never granted"),
                        (home / "link", "leads through a link"), (f"x={home}/link/../projects/../link", "leads through a link"),
                        (home / "real/file", "is not a folder"), (home / "absent", "No such file"),
                        ("data=/srv", "/mnt/data is /workspace"), ("a b=/srv", "cannot be the name"), ("=/srv", "cannot be the name")):
        said = refusal(state, path, home=home)
        assert re.search(words, said), (path, said)
    assert "never granted for writing" in refusal(state, f"{folder}:rw", home=home, env={"HUTCH_SHARE_DIR": f"{folder}/out"})
    assert "two folders would be /mnt/project" in refusal(state, folder, f"project={home}/projects", home=home)
    assert "one is in the other" in refusal(state, f"{folder}:rw", f"{folder}/sub", home=home)
    assert not os.path.exists(f"{state}/hutch.db"), "nothing was made for a command that was refused"


def test_the_configuration_grants_and_flags_beat_it(state, folder, tmp_path, monkeypatch):
    config = tmp_path / "conf"
    config.mkdir()
    file = config / "config.toml"
    file.write_text(f'[mounts]\nhere = "{folder}:rw"\n')
    with Client(state, "--config", str(file)) as client:
        assert errno_of(client, "open('/mnt/here/x', 'w')") == "done"
    with Client(state, "--config", str(file), "--mount", f"here={folder}") as client:
        assert errno_of(client, "open('/mnt/here/y', 'w')") in ("EROFS", "EACCES")
    assert "never granted" in refusal(state, config, config=file), "what says what is granted"
    monkeypatch.chdir(config)
    assert "never granted" in refusal(state, config, config="config.toml"), "by whatever path it was named"
    for line, words in (('data = "/srv"', "config.toml:2: .*taken"), ('x = 1', "config.toml:2: .*string"),
                        ('x = "relative"', "must begin with /"), ('"a/b" = "/srv"', "config.toml:2: ")):
        file.write_text(f"[mounts]\n{line}\n")
        assert re.search(words, refusal(state, config=file))


def test_one_run_from_the_shell(state, folder):
    ended = subprocess.run([hutch_binary(), "run", "--mount", f"{folder}:rw", "-l", "bash", "-", "--state-dir", state],
                           input="cat /mnt/project/in.txt; echo 1 > /mnt/project/out.txt", capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0 and ended.stdout == "from the host\n", ended.stderr
    assert (folder / "out.txt").read_text() == "1\n" and (folder / "out.txt").stat().st_uid == OWNER


def test_a_home_that_no_shell_has_written_out(state, folder):
    for mount in (f"~/{folder.name}", f"project=~/{folder.name}:rw"):
        ended = subprocess.run([hutch_binary(), "run", "--mount", mount, "-l", "bash", "-", "--state-dir", state],
                               input="cat /mnt/project/in.txt", capture_output=True, text=True, timeout=60,
                               env={**os.environ, "HOME": str(folder.parent)})
        assert ended.returncode == 0 and ended.stdout == "from the host\n", ended.stderr


def test_what_is_granted_no_more_is_taken_away(state, folder):
    with Client(state, "--session", "s", "--mount", f"{folder}:rw") as client:
        assert errno_of(client, "open('/mnt/project/x', 'w')") == "done"
    with Client(state, "--session", "s", "--mount", str(folder)) as client:
        assert errno_of(client, "open('/mnt/project/y', 'w')") in ("EROFS", "EACCES"), "narrower, though its sandbox lived"
        client.call("create_session", name="own", filesystem={"read_only": ["project"]})
    with Client(state, "--session", "s") as client:
        assert client.run("ls /mnt", "bash")["stdout"].split() == ["data"]
        told = client.run("1", session_id="own")
        assert "/mnt/project is missing" in told["note"] and "--mount project=PATH" in told["note"]
        assert client.run("ls /mnt", "bash", session_id="own")["stdout"].split() == ["data"]
    with Client(state, "--session", "s", "--mount", f"project={folder}/sub") as client:
        listed = client.run("ls /mnt", "bash", session_id="own")["stdout"].split()
        assert listed == ["data"], "another folder of that name"
    with Client(state, "--session", "s", "--mount", str(folder)) as client:
        assert client.run("ls /mnt/project", "bash", session_id="own")["stdout"].split() == ["in.txt", "sub", "x"]


@pytest.mark.parametrize("is_at_work", [False, True], ids=["idle", "at work"])
def test_what_is_taken_away_costs_no_variable_of_a_session_that_runs_nothing(state, folder, tmp_path, is_at_work):
    """So large a one is stored at the ends of boxes only, which are at once where code goes on that could use what is taken away."""
    (tmp_path / "config.toml").write_text("[session]\nautosave_mb = 8\n")
    options = ("--session", "s", "--config", str(tmp_path / "config.toml"))
    with Client(state, *options, "--mount", str(folder)) as client:
        client.run("known = 'x' * (20 << 20)")
        if is_at_work:
            client.run("while sleep 1; do cat /mnt/project/in.txt; done", "bash", background=True)
    with Client(state, *options) as client:
        found = client.run("import os; print(os.listdir('/mnt'), 'known' in globals() and len(known))")
        assert found["stdout"] == f"['data'] {False if is_at_work else 20 << 20}\n", found
        assert "bash" in client.run("cat /proc/[0-9]*/comm", "bash")["stdout"] and "sleep" not in client.run("cat /proc/[0-9]*/comm", "bash")["stdout"]


def test_a_spare_session_has_the_folders(state, folder):
    with server(state, folder, env={"HUTCH_SPARE_SESSIONS": "1"}) as client:
        for name in ("a", "b"):
            client.call("create_session", name=name)
            assert client.run("ls /mnt/project", "bash", session_id=name)["stdout"].split() == ["in.txt", "sub"]
        client.call("create_session", name="c", filesystem={"read_only": []})
        assert client.run("ls /mnt", "bash", session_id="c")["stdout"].split() == ["data"]


def test_a_folder_that_is_gone_is_told_and_the_rest_goes_on(state, folder, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with server(state, folder, own(other)) as client:
        other.rmdir()
        told = client.run("import os; print(os.listdir('/mnt'))")
        assert "/mnt/other is missing" in told["note"] and "'project'" in told["stdout"] and "other" not in told["stdout"]
        other.symlink_to("/etc")
        client.call("create_session", name="second")
        assert client.run("ls /mnt", "bash", session_id="second")["stdout"].split() == ["data", "project"]


def test_what_is_mounted_later_stays_outside(state, folder):
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    with server(state, folder) as client:
        assert client.run("ls /mnt/project/sub", "bash")["stdout"].split() == ["deep.txt"]
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.mount(b"hutch-test", str(folder / "sub").encode(), b"tmpfs", 0, b"size=64k") == 0, os.strerror(ctypes.get_errno())
        try:
            (folder / "sub/secret").write_text("canary")
            assert client.run("ls /mnt/project/sub", "bash")["stdout"].split() == ["deep.txt"]
            assert "another file system is mounted in it" in refusal(state, folder)
        finally:
            libc.umount2(str(folder / "sub").encode(), 2)


def test_sql_finds_data_frames_without_sockets_by_name(state, folder):
    with server(state, folder) as client:
        client.run("import pandas as pd; frame = pd.DataFrame({'a': [1, 2]})")
        result = client.run("SELECT sum(a) AS s FROM frame", "sql")
        assert result["status"] == "completed" and "3" in str(result["outputs"]), result


def test_the_model_is_told(state, folder):
    with server(state, folder) as client:
        assert "/mnt/project (read-only)" in client.initialized["instructions"]


def test_over_http_a_session_has_what_it_asked_for(state, folder):
    with Server(state, "--mount", str(folder)) as http:
        client = HttpClient(http)
        assert client.call("run_code", language="bash", code="ls /mnt")["stdout"].split() == ["data"]
        made = client.call("create_session", name="asked", filesystem={"read_only": ["project"]})
        assert made["filesystem"]["read_only"] == ["/mnt/project"] and str(folder) not in str(made)
        listed = client.call("run_code", language="bash", code="ls /mnt", session_id="asked")
        assert listed["stdout"].split() == ["data", "project"]
        with pytest.raises(ToolError, match="reading only") as refused:
            client.call("create_session", filesystem={"read_write": ["project"]})
        assert str(folder) not in str(refused.value), "the host's paths are not for every client"


def test_code_that_looks_for_a_granted_file_elsewhere_is_told_where_it_is(state, folder):
    (folder / "Sales Report.csv").write_text("a\n1\n")
    own(folder)
    with server(state, folder) as client:
        client.call("write_file", path="/workspace/reports/2024.csv", content="a\n1\n")
        for code, language in (("import pandas as pd; pd.read_csv('/mnt/data/sales_report.csv')", "python"), ("open('Sales Report.csv')", "python"),
                               ("require('fs').readFileSync('/mnt/user-data/uploads/Sales Report.csv')", "javascript"), ("cat sales_report.csv", "bash"),
                               ("SELECT * FROM 'sales_report.csv'", "sql")):
            run = client.run(code, language)
            assert run["status"] == "failed" and run["stderr"].count("there is /mnt/project/Sales Report.csv") == 1, run
        for code, language in (("open('2024.csv')", "python"), ("require('fs').readFileSync('/Users/anna/2024.csv')", "javascript"), ("cat ~/Downloads/2024.csv", "bash"),
                               ("SELECT * FROM '2024.csv'", "sql")):
            run = client.run(code, language)
            assert run["stderr"].count("there is /workspace/reports/2024.csv") == 1, run
            assert "this session sees no files" not in run["stderr"], run


def test_code_that_writes_to_a_read_only_folder_is_told_where_it_may(state, folder, tmp_path):
    told = "(/mnt/project is read-only: write to /workspace)\n"
    (tmp_path / "free" / ".git").mkdir(parents=True)
    own(tmp_path / "free")
    with server(state, folder, f"{tmp_path}/free:rw") as client:
        for code, language in (("open('/mnt/project/new', 'w')", "python"), ("import os; os.rename('/mnt/project/in.txt', '/mnt/project/b')", "python"),
                               ("import pandas as pd; pd.DataFrame({'a': [1]}).to_csv('/mnt/project/a.csv')", "python"),
                               ("require('fs').writeFileSync('/mnt/project/in.txt', '')", "javascript"), ("require('fs').copyFileSync('/etc/hosts', '/mnt/project/b')", "javascript")):
            run = client.run(code, language)
            assert run["stderr"].endswith(told), run
        assert "read-only:" not in client.run("open('/mnt/free/.git/x', 'w')")["stderr"]
