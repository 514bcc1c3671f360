"""Tests that what comes out of sandboxes steers no terminal: there it is shown, and pipes get the bytes."""

import os
import pty
import subprocess
import threading
import tty

import pytest

from boxes import until
from hutch_client import PATIENCE, Client, hutch_binary

STEERING = b"\x1b]52;c;ZXZpbA==\x07\x1b[2J\xc2\x9bA\xe2\x80\xae\0"
SHOWN = rb"\x1B]52;c;ZXZpbA==\x07\x1B[2J\x9BA\u202E\x00"
PRINTS = f"import sys\n_ = sys.stdout.buffer.write({STEERING!r})"


@pytest.fixture(scope="module")
def client(module_state):
    """Keeps the sandboxes of the sessions that commands work in."""
    with Client(module_state) as one:
        yield one


class Printed:
    """It holds what a command has printed, on a terminal each or into a pipe."""

    def __init__(self, state, *arguments, code=b"", terminals=("stdout", "stderr")):
        self.master, slave = pty.openpty()
        tty.setraw(slave)
        streams = {name: slave if name in terminals else subprocess.PIPE for name in ("stdout", "stderr")}
        self.process = subprocess.Popen([hutch_binary(), "--state-dir", state, *arguments], stdin=subprocess.PIPE, **streams)
        os.close(slave)
        self.terminal = b""
        reader = threading.Thread(target=self.read)
        reader.start()
        self.stdout, self.stderr = self.process.communicate(code, timeout=90 * PATIENCE)
        reader.join(60 * PATIENCE)
        assert not reader.is_alive(), self.terminal
        os.close(self.master)

    def read(self):
        try:
            while part := os.read(self.master, 65536):
                self.terminal += part
        except OSError:
            pass  # nobody else has it


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_run_steers_no_terminal(module_state, client, stream):
    code = PRINTS.replace("stdout", stream).encode()
    assert Printed(module_state, "run", "-", code=code).terminal == SHOWN
    # Each of both streams for itself.
    other = "stderr" if stream == "stdout" else "stdout"
    piped = Printed(module_state, "run", "-", code=code, terminals=(other,))
    assert getattr(piped, stream) == STEERING and piped.terminal == b""


def test_values_and_logs_steer_none_either(module_state, client):
    shows = b"class Evil:\n    def __repr__(self): return '\\x1b]0;title\\x07' + '\\x1b[31mred'\nEvil()"
    printed = Printed(module_state, "run", "-", "-s", "shows", code=shows)
    assert printed.terminal == b"\\x1B]0;title\\x07\x1b[31mred\n\x1b[0m"
    assert Printed(module_state, "run", "-", code=shows, terminals=()).stdout == b"\x1b]0;title\x07\x1b[31mred\n"
    Printed(module_state, "run", "-", "-s", "logged", code=PRINTS.encode())
    assert Printed(module_state, "logs", "logged").terminal == SHOWN
    assert Printed(module_state, "logs", "logged", terminals=()).stdout == STEERING


def test_colours_pass_and_end_with_what_used_them(module_state, client):
    colours = b"\x1b[1;31mred\x1b[K\n"
    code = f"import sys\n_ = sys.stdout.buffer.write({colours!r})".encode()
    assert Printed(module_state, "run", "-", code=code).terminal == colours + b"\x1b[0m"
    over = b"10 %\r20 %\r\x1b[2K\x1b[32mdone\x1b[0m\n"
    code = f"import sys\n_ = sys.stdout.buffer.write({over!r})".encode()
    assert Printed(module_state, "run", "-", code=code).terminal == over


def test_a_sequence_that_comes_in_two_parts_is_one(module_state, client):
    code = b"""import sys, time
for part in (b'\\x1b[3', b'1mred\\x1b[0m \\xc2', b'\\x9b2J \\xe2\\x82', b'\\xac'):
    sys.stdout.buffer.write(part)
    sys.stdout.flush()
    time.sleep(0.3)
"""
    assert Printed(module_state, "run", "-", code=code).terminal == "\x1b[31mred\x1b[0m \\x9B2J €".encode()


def test_words_of_hutch_stand_on_lines_of_their_own(module_state, client):
    forged = "'one\\nhutch: two\\x1b[8m\\r'"
    printed = Printed(module_state, "run", "-", "-s", "fails", code=f"raise ValueError({forged})".encode())
    assert printed.terminal.endswith(b"\x1b[0m") and b"hutch: failed" not in printed.terminal
    logged = Printed(module_state, "logs", "fails").terminal
    assert logged.endswith(b"\n\x1b[0mhutch: failed: one\\nhutch: two\\x1B[8m\\x0D\n"), logged
    stopped = Printed(module_state, "run", "-t", "1", "-l", "bash", "-", code=b"printf 'no end \\033[8m'; exec sleep 1000")
    assert stopped.terminal.startswith(b"no end \x1b[8m\x1b[0m\nhutch: timed_out (timeout): "), stopped.terminal


def test_refused_hosts_are_shown(module_state, client):
    asks = b"""import socket
with socket.create_connection(("127.0.0.1", 3128)) as proxy:
    proxy.sendall(b"CONNECT \\xc2\\x9b31m.example:443 HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    proxy.recv(1)
"""
    printed = Printed(module_state, "run", "--allow", "allowed.invalid", "-", code=asks)
    assert b"\\x9B31m.example:443 was refused" in printed.terminal and b"\xc2\x9b" not in printed.terminal, printed.terminal
    audited = Printed(module_state, "audit").terminal
    assert b"\\x9B31m.example" in audited and b"\xc2\x9b" not in audited, audited


def test_files_are_shown_and_copied_as_they_are(module_state, client, tmp_path):
    client.call("create_session", name="files")
    client.run(f"open('evil', 'wb').write({STEERING!r})\nimport os\nos.makedirs('folder/\\x1b[31mopen')\n"
               "open('folder/\\x1b]0;evil\\nhutch: forged.txt', 'w').write('kept')", session_id="files")
    assert Printed(module_state, "cp", "files:evil", "-").terminal == SHOWN
    assert Printed(module_state, "cp", "files:evil", "/dev/stdout").terminal == SHOWN
    assert Printed(module_state, "cp", "files:evil", "-", terminals=("stderr",)).stdout == STEERING
    (tmp_path / "back/folder/\x1b]0;evil\nhutch: forged.txt").mkdir(parents=True)  # in the way of the file
    copied = Printed(module_state, "cp", "files:folder", str(tmp_path / "back"))
    assert copied.process.returncode == 1 and (tmp_path / "back/folder/\x1b[31mopen").is_dir()
    assert b"/folder/\\x1B]0;evil\\nhutch: forged.txt is not copied" in copied.terminal and b"\x1b" not in copied.terminal
    missing = Printed(module_state, "cp", "files:\x1b[31m\nhutch: no", str(tmp_path / "none")).terminal
    assert b"\x1b" not in missing and missing.count(b"\n") == 1, missing


def test_what_is_shared_is_shown(module_state, client):
    client.call("create_session", name="shares")
    client.call("write_file", session_id="shares", path="evil.bin", content=STEERING.decode("latin-1"))
    shared = client.call("share_file", session_id="shares", path="evil.bin")
    identifier = shared.get("share_id") or shared["id"]
    printed = Printed(module_state, "share", "get", identifier, "-o", "-").terminal
    assert b"\x1b" not in printed and b"\\x1B]52" in printed


def test_a_shell_is_a_terminal(module_state, client):
    here, slave = pty.openpty()
    tty.setraw(slave)
    process = subprocess.Popen([hutch_binary(), "--state-dir", module_state, "shell", "shell", "--", "printf", r"\033[2J\033]0;title\007end"],
                               stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    printed = b""
    def ended():
        nonlocal printed
        printed += os.read(here, 65536)
        return b"end" in printed
    until(ended, what="the end of what it prints")
    assert printed.endswith(b"\x1b[2J\x1b]0;title\x07end")
    assert process.wait(60 * PATIENCE) == 0
    os.close(here)


def test_a_log_on_a_terminal_is_one_line_each(module_state, client):
    printed = Printed(module_state, "sessions", "show", "\x1b[31mnone\nhutch: forged", "--log-level", "debug").terminal
    assert b"\x1b" not in printed and printed.count(b"\n") == 1, printed
