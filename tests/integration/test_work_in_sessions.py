"""hutch shell, forward, logs and cp: what a person does in sessions from a terminal."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import urllib.error
import urllib.request

import pytest

from hutch_client import PATIENCE, Client, hutch_binary


def hutch(state, *arguments, **more):
    return subprocess.run([hutch_binary(), "--state-dir", state, *arguments], capture_output=True, timeout=90 * PATIENCE, **more)


@pytest.fixture(scope="module")
def client(module_state):
    """Keeps the sandboxes of the sessions that commands work in."""
    with Client(module_state) as one:
        one.call("create_session", name="work")
        yield one


class Terminal:
    """A person in front of a terminal, and what is on it."""

    def __init__(self, *command, rows=11, columns=55):
        may_begin, has_size = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.read(may_begin, 1)
            os.execv(command[0], command)
        self.shown = b""
        self.resize(rows, columns)
        os.write(has_size, b".")
        os.close(may_begin)
        os.close(has_size)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys):
        os.write(self.fd, keys)

    def until(self, words):
        deadline = time.monotonic() + 60 * PATIENCE
        while words not in self.shown:
            assert time.monotonic() < deadline and select.select([self.fd], [], [], 60 * PATIENCE)[0], self.shown
            try:
                self.shown += os.read(self.fd, 65536)
            except OSError as gone:
                raise AssertionError(self.shown) from gone

    def end(self):
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status


def test_a_terminal(module_state, client):
    here = Terminal(hutch_binary(), "shell", "work", "--state-dir", module_state)
    here.until(b"/workspace")
    here.type(b"stty size; tty; echo $TERM\r")
    here.until(b"11 55\r\n/dev/pts/")
    here.until(b"xterm-256color\r\n")
    here.resize(22, 99)
    here.type(b"while ! stty size | grep 22; do :; done\r")
    here.until(b"99\r\n")
    # Until it is the terminal's foreground, the shell itself would be interrupted.
    here.type(b"sh -c 'echo be''gun; exec sleep 1000'; echo in\\terrupted\r")
    here.until(b"begun\r\n")
    here.type(b"\x03")
    here.until(b"^C")
    here.type(b"echo typed > typed.txt; exit 7\r")
    assert here.end() == 7
    assert client.run("cat typed.txt", "bash", session_id="work")["stdout"] == "typed\n", "it is the session that others have"


def test_a_terminal_is_left_as_it_was(module_state, client):
    here = Terminal("/bin/sh", "-c", "stty -a > before; '%s' shell work --state-dir '%s' -- true; stty -a > after; cmp before after && echo same"
                    .replace("before", module_state + "/before").replace("after", module_state + "/after") % (hutch_binary(), module_state))
    here.until(b"same")
    assert here.end() == 0


def test_one_that_is_ended_takes_its_program_along(module_state, client):
    here = Terminal(hutch_binary(), "shell", "work", "--state-dir", module_state, "--", "sleep", "4321")
    deadline = time.monotonic() + 60 * PATIENCE
    while "sleep 4321" not in client.run("ps ax", "bash", session_id="work")["stdout"]:
        assert time.monotonic() < deadline
    os.kill(here.pid, signal.SIGTERM)
    here.end()
    while "sleep 4321" in client.run("ps ax", "bash", session_id="work")["stdout"]:
        assert time.monotonic() < deadline


def test_without_a_terminal_it_is_a_pipe(module_state, client):
    ended = hutch(module_state, "shell", "work", "--", "sh", "-c", "tr a-z A-Z; echo no >&2; exit 3", input=b"piped\n" * 50_000)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, b"PIPED\n" * 50_000, b"no\n")
    assert hutch(module_state, "shell", "work", input=b"echo $((6*7))\nexit 4\n").stdout == b"42\n"


def test_who_has_read_enough_ends_it(module_state, client):
    shell = "'%s' shell work --state-dir '%s' -- sh -c 'while :; do echo x; done' | head -1; echo ${PIPESTATUS[0]}" % (hutch_binary(), module_state)
    ended = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=60 * PATIENCE)
    assert ended.stdout.startswith(b"x\n")


def test_a_limit_says_that_it_was_one(module_state, client):
    client.call("create_session", name="small", limits={"output_mb": 1})
    ended = hutch(module_state, "shell", "small", "--", "head", "-c", "3000000", "/dev/zero")
    assert len(ended.stdout) == 1 << 20 and b"output_mb" in ended.stderr and ended.returncode
    here = Terminal(hutch_binary(), "shell", "small", "--state-dir", module_state)
    here.until(b"/workspace")
    here.type(b"head -c 3000000 /dev/zero | tr '\\0' z; echo the e''nd; exit 5\r")
    here.until(b"the end")
    assert here.end() == 5, "a terminal has no such end"
    last = hutch(module_state, "logs", "small").stdout
    assert len(last) <= 1 << 20 and b"the end" in last and b"\0" not in last, "what it has forgotten is no output"


def test_folders(module_state, client, tmp_path):
    source = tmp_path / "folder"
    (source / "deep/er").mkdir(parents=True)
    (source / "a ü.txt").write_text("a")
    (source / "deep/er/b").write_bytes(bytes(range(256)) * 1000)
    (source / "deep/er/b").chmod(0o755)
    (source / "link").symlink_to("/etc/passwd")
    copied = hutch(module_state, "cp", str(source), "work:/workspace/")
    assert copied.returncode == 0 and b"1 link that may lead out of the folder was left out: link -> /etc/passwd\n" in copied.stderr, copied.stderr
    assert client.run("(cd folder && find . | sort) | tr '\\n' ' '", "bash", session_id="work")["stdout"] == ". ./a ü.txt ./deep ./deep/er ./deep/er/b "
    client.run("import os; os.symlink('/etc', 'folder/out')", session_id="work")
    back = hutch(module_state, "cp", "work:folder", str(tmp_path / "back"))
    assert back.returncode == 0 and b"1 link that may lead out of the folder was left out: out -> /etc\n" in back.stderr, back.stderr
    assert sorted(str(one.relative_to(tmp_path / "back")) for one in (tmp_path / "back").rglob("*")) == ["a ü.txt", "deep", "deep/er", "deep/er/b"]
    assert (tmp_path / "back/deep/er/b").read_bytes() == bytes(range(256)) * 1000
    assert os.access(tmp_path / "back/deep/er/b", os.X_OK)
    # Links at names that the session chooses are not followed.
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    again = tmp_path / "again"
    again.mkdir()
    (again / "deep").symlink_to(kept)
    (again / "a ü.txt").symlink_to(kept / "file")
    client.run("open('folder/deep/file', 'w').write('theirs')", session_id="work")
    part = hutch(module_state, "cp", "work:folder", str(again))
    assert part.returncode == 0 and (again / "folder/deep/file").read_text() == "theirs", "into what is there"
    (again / "folder").rename(again / "old")
    (again / "folder").mkdir()
    (again / "folder/deep").symlink_to(kept)
    (again / "folder/a ü.txt").symlink_to(kept / "file")
    part = hutch(module_state, "cp", "work:folder", str(again))
    assert part.returncode == 1 and b"is not copied" in part.stderr
    assert (kept / "file").read_text() == "mine" and os.listdir(kept) == ["file"]
    assert not (again / "folder/a ü.txt").is_symlink() and (again / "folder/a ü.txt").read_text() == "a"
    (tmp_path / "top").mkdir()
    assert hutch(module_state, "cp", "work:", str(tmp_path / "top")).returncode == 0 and (tmp_path / "top/workspace/folder/deep/er/b").exists()
    for place in ("work:/", "work:folder/../..//"):
        assert hutch(module_state, "cp", place, str(kept)).returncode == 1 and os.listdir(kept) == ["file"], place
    # Into a directory there, by whatever name it is called here.
    assert hutch(module_state, "cp", ".", "work:/workspace", cwd=str(source / "deep")).returncode == 0
    assert client.run("ls deep/er", "bash", session_id="work")["stdout"] == "b\n"
    client.run("rm folder/deep/file", "bash", session_id="work")
    (tmp_path / "there").mkdir()
    assert hutch(module_state, "cp", "work:folder/", str(tmp_path / "there")).returncode == 0 and (tmp_path / "there/folder/deep").is_dir()
    assert hutch(module_state, "cp", str(source) + "/", "work:other").returncode == 0
    assert client.run("cat 'other/a ü.txt'", "bash", session_id="work")["stdout"] == "a"


LINKS = {"bin/run": "../pkg/cli.js", "pkg/self": ".", "to": "pkg", "gone": "pkg/none", "pkg/up": "../bin/run"}
LINKS_OUT = {"abs": "/etc/passwd", "up": "..", "pkg/far": "../../x", "pkg/by": "../to/../..", "bin/deep/by": "../../../bin/run", "past": "pkg/../pkg"}


def links_below(top):
    return {str(one.relative_to(top)): os.readlink(one) for one in top.rglob("*") if one.is_symlink()}


def test_links_that_stay_in_a_folder_are_copied_with_it(module_state, client, tmp_path):
    """As those of node_modules/.bin; both ways, and over what is there."""
    source = tmp_path / "linked"
    (source / "pkg").mkdir(parents=True)
    (source / "bin/deep").mkdir(parents=True)
    (source / "pkg/cli.js").write_text("cli")
    for name, text in {**LINKS, **LINKS_OUT}.items():
        (source / name).symlink_to(text)
    for _ in range(2):
        copied = hutch(module_state, "cp", str(source), "work:/workspace/")
        assert copied.returncode == 0 and b"6 links that may lead out of the folder were left out: " in copied.stderr, copied.stderr
        assert copied.stderr.count(b" -> ") == 3
    seen = client.run("(cd linked; cat bin/run pkg/up to/cli.js; find . -type l | wc -l)", "bash", session_id="work")
    assert seen["stdout"] == f"cliclicli{len(LINKS)}\n", seen
    for _ in range(2):
        back = hutch(module_state, "cp", "work:linked", str(tmp_path / "back-linked"))
        assert back.returncode == 0 and back.stderr == b"", back.stderr
    (tmp_path / "back-linked/linked").rename(tmp_path / "second")
    assert links_below(tmp_path / "second") == LINKS and links_below(tmp_path / "back-linked") == LINKS


def test_links_of_a_session_lead_nowhere_here(module_state, client, tmp_path):
    """Neither those that leave the folder by another, nor what is written where one was."""
    client.run("import os\nos.makedirs('hostile/a/b')\nopen('hostile/a/b/f', 'w').write('theirs')\n"
               + "".join(f"os.symlink({text!r}, {'hostile/' + name!r})\n" for name, text in
                         {"one": "a/b", "two": "one/../../..", "three": "a/../..", "four": "..", "five": "/etc", "a/six": "../..", "a/x\x1b[2K": "../../y"}.items()),
               session_id="work")
    kept = tmp_path / "mine"
    kept.mkdir()
    (kept / "f").write_text("mine")
    target = tmp_path / "target"
    for _ in range(2):
        copied = hutch(module_state, "cp", "work:hostile", str(target))
        assert copied.returncode == 0 and b"6 links that may lead out" in copied.stderr and b"\x1b" not in copied.stderr, copied.stderr
        place = target / "hostile" if (target / "hostile").exists() else target
        assert links_below(place) == {"one": "a/b"} and (place / "one/f").read_text() == "theirs"
    # Now a directory is where the link was, and what lies there here is not written through it.
    client.run("os.chdir('hostile'); os.remove('one'); os.mkdir('one'); open('one/f', 'w').write('through'); os.chdir('..')", session_id="work")
    (target / "hostile/one").unlink()
    (target / "hostile/one").symlink_to(kept)
    copied = hutch(module_state, "cp", "work:hostile", str(target))
    assert copied.returncode == 1 and (kept / "f").read_text() == "mine" and os.listdir(kept) == ["f"], copied.stderr
    # Into the session: a link of its code is replaced, not written through.
    (tmp_path / "in").mkdir()
    (tmp_path / "in/to").symlink_to("there")
    client.run("os.makedirs('/workspace/in', exist_ok=True); open('/home/user/own', 'w').write('own'); os.symlink('/home/user/own', '/workspace/in/to')", session_id="work")
    assert hutch(module_state, "cp", str(tmp_path / "in"), "work:/workspace/").returncode == 0
    assert client.run("readlink in/to; cat ~/own", "bash", session_id="work")["stdout"] == "there\nown"


def test_cp_says_how_folders_and_several_files_go(module_state):
    for words in (("-r", "a", "work:"), ("a", "b", "work:"), ("-a", "a", "work:")):
        failed = hutch(module_state, "cp", *words)
        assert failed.returncode == 2 and b"it copies one FROM at a time, and a folder whole without any flag\n" in failed.stderr, failed.stderr


def test_a_file_of_any_size_that_the_disk_has_room_for(module_state, client, tmp_path):
    large = tmp_path / "large.bin"
    with open(large, "wb") as file:
        for number in range(150):
            file.write(bytes([number]) * (1 << 20))
    large.chmod(0o755)
    digest = __import__("hashlib").sha256(large.read_bytes()).hexdigest()
    terminal = Terminal(hutch_binary(), "--state-dir", module_state, "cp", str(large), "work:", columns=200)
    terminal.until(b"large.bin: 128 of 150 MB")
    assert terminal.end() == 0, terminal.shown
    told = client.run("sha256sum large.bin; stat -c %a large.bin", "bash", session_id="work")["stdout"].split()
    assert told == [digest, "large.bin", "755"]
    with open(large, "rb") as piped:
        done = hutch(module_state, "cp", "-", "work:piped.bin", stdin=piped)
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    assert client.run("sha256sum piped.bin; rm piped.bin large.bin", "bash", session_id="work")["stdout"].split()[0] == digest
    client.call("create_session", name="narrow", limits={"disk_mb": 100})
    failed = hutch(module_state, "cp", str(large), "narrow:")
    assert failed.returncode == 1 and b"disk_mb" in failed.stderr, failed.stderr
    # Where a quota of the file system holds the limit, that tells only when it is met.
    assert client.run("ls", "bash", session_id="narrow")["stdout"] == "" or b"only its first 64 MB are at" in failed.stderr
    client.call("delete_session", session_id="narrow")


def test_files_into_what_is_none(module_state, client, tmp_path):
    client.run("open('out.txt', 'w').write('copied')", session_id="work")
    fifo, plain, link = tmp_path / "fifo", tmp_path / "plain", tmp_path / "link"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE) as reader:
        assert hutch(module_state, "cp", "work:out.txt", str(fifo)).returncode == 0
        assert reader.communicate(timeout=60 * PATIENCE)[0] == b"copied" and fifo.is_fifo()
    plain.write_text("old")
    plain.chmod(0o600)
    link.symlink_to(plain)
    assert hutch(module_state, "cp", "work:out.txt", str(link)).returncode == 0
    assert link.is_symlink() and plain.read_text() == "copied" and plain.stat().st_mode & 0o777 == 0o600


def test_files(module_state, client, tmp_path):
    every_byte = bytes(range(256)) * 5000
    (tmp_path / "here").write_bytes(every_byte)
    assert hutch(module_state, "cp", str(tmp_path / "here"), "work:/workspace/in/").returncode == 0
    assert client.run("sha256sum in/here | head -c 8", "bash", session_id="work")["stdout"] == __import__("hashlib").sha256(every_byte).hexdigest()[:8]
    assert hutch(module_state, "cp", "work:in/here", str(tmp_path / "back")).returncode == 0
    assert (tmp_path / "back").read_bytes() == every_byte
    os.mkdir(tmp_path / "folder")
    assert hutch(module_state, "cp", "work:in/here", str(tmp_path / "folder")).returncode == 0
    assert (tmp_path / "folder" / "here").read_bytes() == every_byte
    assert hutch(module_state, "cp", "-", "work:in/piped", input=b"piped").returncode == 0
    assert hutch(module_state, "cp", "work:in/piped", "-").stdout == b"piped"
    for words, says in ((("a", "b"), "SESSION:PATH"), (("work:a", "work:b"), "SESSION:PATH"), (("work:none", str(tmp_path)), "none"),
                        (("work:in", "-"), "directory"), ((str(tmp_path / "none"), "work:x"), "No such file")):
        failed = hutch(module_state, "cp", *words)
        assert failed.returncode == 1 and says in failed.stderr.decode(), (words, failed.stderr)
    # They are told in words of the command line: it has no tools.
    for words, says in ((("work:none", "x"), "shell SESSION -- ls` shows what is there"), (("work:in", "-"), "is copied to a path"), (("none:x", "x"), "sessions ls` shows")):
        told = hutch(module_state, "cp", *words).stderr.decode()
        assert says in told and not re.search("[a-z]+_(files|sessions?)", told), told
    told = hutch(module_state, "forward", "none", "80").stderr.decode()
    assert "sessions ls` shows" in told and "list_sessions" not in told, told
    client.run("import os; os.symlink('/etc/shadow', 'out'); os.symlink('/proc/1/root/etc/hostname', 'root')", session_id="work")
    for name in ("out", "root"):
        assert hutch(module_state, "cp", "work:" + name, str(tmp_path / "stolen")).returncode == 1 and not (tmp_path / "stolen").exists()


def test_logs(module_state, client):
    run = client.run("for i in 1 2 3; do echo out$i; echo err$i >&2; done; while ! [ -e go ]; do sleep 0.05; done; echo last", "bash",
                     session_id="work", background=True)
    follows = subprocess.Popen([hutch_binary(), "logs", "-f", run["run_id"], "--state-dir", module_state], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert [follows.stdout.readline() for _ in range(3)] == [b"out1\n", b"out2\n", b"out3\n"]
    now = hutch(module_state, "logs", run["run_id"])
    assert now.stdout == b"out1\nout2\nout3\n" and b"err3" in now.stderr and b"goes on" in now.stderr
    client.run("touch go", "bash", session_id="work")
    out, err = follows.communicate(timeout=90 * PATIENCE)
    assert follows.returncode == 0 and out == b"last\n" and b"err1" in err
    client.run("print('newest')", session_id="work")
    assert hutch(module_state, "logs", "work").stdout == b"newest\n"
    assert hutch(module_state, "logs", "none").returncode == 1


def test_a_server_at_a_port_of_this_machine(module_state, client):
    client.run("python3 -m http.server 8000 --bind 127.0.0.1", "bash", session_id="work", background=True)
    client.run("import socket\nwhile socket.socket().connect_ex(('127.0.0.1', 8000)): pass\nopen('page.html', 'w').write('<p>page</p>')", session_id="work")
    here = subprocess.Popen([hutch_binary(), "forward", "work", "8000", "--listen", "0", "--state-dir", module_state], stdout=subprocess.PIPE, text=True)
    try:
        own, url = re.findall(r"http://\S+", here.stdout.readline())
        assert re.fullmatch(r"http://f8000-session-\w+\.localhost:\d+/", own) and url.startswith("http://127.0.0.1:")
        for _ in range(20):
            assert urllib.request.urlopen(url + "page.html", timeout=60).read() == b"<p>page</p>"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(url + "none", timeout=60)
    finally:
        here.send_signal(signal.SIGINT)
        assert here.wait(60 * PATIENCE) == 0
    # As it is told, from a shell that knows neither this program nor where its sessions are.
    command = client.call("share_port", session_id="work", port=8000)["command"]
    assert re.fullmatch(f"{re.escape(hutch_binary())} --state-dir {re.escape(str(module_state))} forward session_\\w+ 8000", command), command
    shell = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"]}
    with subprocess.Popen(f"exec {command} --listen 0", shell=True, env=shell, stdout=subprocess.PIPE, text=True) as there:
        try:
            assert re.search(r"http://\S+", there.stdout.readline())
        finally:
            there.send_signal(signal.SIGINT)


def test_servers_of_the_newer_kind(module_state, client):
    """"localhost" may mean ::1 alone."""
    client.run("python3 -m http.server 8006 --bind ::1", "bash", session_id="work", background=True)
    client.run("import socket\nwhile socket.socket(socket.AF_INET6).connect_ex(('::1', 8006)): pass", session_id="work")
    assert client.call("share_port", session_id="work", port=8006)["port"] == 8006
