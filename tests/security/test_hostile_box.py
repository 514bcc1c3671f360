"""A box that lies, floods, stalls or speaks garbage: it is ended, its runs are lost, nobody else notices.

The box is the script below, in the place of hutch-box or of one that was killed. It holds the session's
lock as a box does, so the server cannot take it for dead.
"""

import json
import os
import pathlib
import signal
import sys
import threading
import time

import pytest

from hutch_client import PATIENCE, ToolError
from other_build import build_id
from trial import Trial

# A server waits 30 seconds for a box to answer, and 5 for a run to end; clients give up after 60.
BOUND = 58
SOON = 20 * PATIENCE  # well before any of these waits for a box is over
MEMORY_MB = 200

# Behaviours of a box, by name: called with the connection after each request it has read.
FAKE = r'''
import fcntl, json, os, pathlib, signal, socket, struct, sys, threading, time

how, directory, path, build = sys.argv[1:5]
pathlib.Path(path).unlink(missing_ok=True)
lock = os.open(directory + "/lock", os.O_RDWR | os.O_CREAT, 0o600)
while True:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except OSError:
        time.sleep(0.005)
listener = socket.socket(socket.AF_UNIX)
os.chdir(os.path.dirname(path))
listener.bind(os.path.basename(path))
listener.listen(128)

OTHER = "run_" + "0" * 32

def frame(payload, kind=b"J"):
    payload = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return struct.pack("<I", len(payload)) + kind + payload

def run(run_id, **more):
    return {"run_id": run_id, "language": "python", "status": "completed", "exit_code": 0, "outputs": [],
            "finished_at_ms": 1, **more}

def read(connection, size):
    data = b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data

def ask(connection):
    size = struct.unpack("<I", read(connection, 5)[:4])[0]
    return json.loads(read(connection, size))

def hello(connection, request):
    connection.sendall(frame({"ok": True, "protocol": 1, "build": build}))

def status(connection, request):
    connection.sendall(frame({"ok": True, "paused": False, "active": [], "isolation": {}}))

def fine(connection, request):
    connection.sendall(frame({"ok": True}))

def answer(value):
    return lambda connection, request: connection.sendall(value(request) if callable(value) else value)

def flood(connection, request):
    while True:
        connection.sendall(frame({"ok": True, "more": "x" * 100000}))

def drip(connection, request):
    connection.sendall(struct.pack("<I", 1 << 20) + b"J")
    while True:
        connection.sendall(b" ")
        time.sleep(0.2)

def stall(connection, request):
    time.sleep(1000)

GARBAGE = {"garbage": b"\x00\xff\x13\x37" * 1000, "huge_length": b"\xff\xff\xff\x7fJ",
           "unknown_kind": b"\x02\x00\x00\x00Z{}", "no_json": frame(b"this is no JSON"),
           "no_object": frame([1, 2]), "deep_json": frame(b"[" * 100000),
           "many_values": frame(b"[" + b"[]," * 9000000 + b"[]]")}
good = {"hello": hello, "status": status, "submit": fine, "wait": stall, "root": stall, "cancel": fine,
        "shutdown": stall, "pause": fine, "resume": fine}
HOW = {
    "silent": {"hello": stall}, "stalls_later": {}, "floods": {"wait": flood}, "drips": {"wait": drip},
    "another_run": {"wait": answer(lambda r: frame({"ok": True, "run": run(OTHER)}))},
    "no_run": {"wait": answer(lambda r: frame({"ok": True}))},
    "unknown_status": {"wait": answer(lambda r: frame({"ok": True, "run": run(r["run_id"], status="fine")}))},
    "bad_outputs": {"wait": answer(lambda r: frame({"ok": True, "run": run(r["run_id"], outputs=[
        {"formats": "text", "text": ["x" * 100000]}])}))},
    "lies_about_active": {"status": answer(frame({"ok": True, "active": [1, "x"], "isolation": 7})),
                          "wait": answer(b"\x00" * 64)},
    "wrong_version": {"hello": answer(frame({"ok": False, "kind": "unsupported", "message": "protocol 9"}))},
    **{name: {"wait": answer(value)} for name, value in GARBAGE.items()},
    **{"hello_" + name: {"hello": answer(value)} for name, value in GARBAGE.items()},
}

def serve(connection):
    try:
        while True:
            request = ask(connection)
            {**good, **HOW[how]}[request["op"]](connection, request)
    except (OSError, EOFError):
        connection.close()

print("listening", flush=True)
if how == "accepts_nothing":
    time.sleep(1000)
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
'''


@pytest.fixture
def trial(tmp_path):
    made = Trial(tmp_path)
    made.fakes = []
    yield made
    for fake in made.fakes:
        fake.kill()
        fake.wait()


def box_of(trial, session):
    (box,) = [pid for pid, line in trial.processes().items() if line.startswith(str(trial.directory))
              and "hutch-box" in line and session in os.readlink(f"/proc/{pid}/fd/2")]
    return box


class Fake:
    """A session whose box was killed and has the fake in its place before the server looks."""

    def __init__(self, trial, client, how):
        import subprocess

        self.session = client.call("create_session")["session_id"]
        (socket,) = [path for path in trial.sockets() if self.session in path]
        box = box_of(trial, self.session)
        script = trial.directory / "fake.py"
        script.write_text(FAKE)
        directory = f"{trial.state}/sessions/{self.session}"
        os.kill(box, signal.SIGKILL)
        self.process = subprocess.Popen([sys.executable, str(script), how, directory, socket, build_id()],
                                        stdout=subprocess.PIPE, text=True)
        trial.fakes.append(self.process)
        assert self.process.stdout.readline() == "listening\n"

    @property
    def ended(self):
        return self.process.poll() is not None


def memory_mb(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    raise AssertionError("no VmHWM")


class Bystander:
    """Another session of the same server, used all the time: the longest it ever took to answer."""

    def __init__(self, client):
        self.client, self.longest, self.problems = client, 0.0, []
        self.session = client.call("create_session")["session_id"]
        self.client.run("x = 0", session_id=self.session)
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.go)
        self.thread.start()

    def go(self):
        while not self.done.wait(0.05):
            begin = time.monotonic()
            run = self.client.run("x += 1; x", session_id=self.session)
            if run["status"] != "completed":
                self.problems.append(run)
            self.longest = max(self.longest, time.monotonic() - begin)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.done.set()
        self.thread.join()


NAMES = ["garbage", "huge_length", "unknown_kind", "no_json", "no_object", "deep_json", "many_values"]


@pytest.mark.parametrize("how", [*NAMES, "another_run", "no_run", "unknown_status", "bad_outputs",
                                 "lies_about_active"])
def test_a_box_that_lies_is_ended_and_its_run_is_lost(trial, how):
    with trial.client() as client, Bystander(client) as bystander:
        fake = Fake(trial, client, how)
        begin = time.monotonic()
        run = client.run("print('never')", session_id=fake.session)
        took = time.monotonic() - begin
        assert run["status"] == "failed" and run["error"]["cause"] == "sandbox_lost", run
        assert fake.process.wait(SOON) == -signal.SIGKILL
        assert took < SOON
        again = client.run("print('again')", session_id=fake.session)
        assert again["stdout"] == "again\n" and again["run_id"] != run["run_id"]
        assert client.call("get_run", run_id=run["run_id"])["error"]["cause"] == "sandbox_lost"
        assert not bystander.problems and bystander.longest < SOON
        assert memory_mb(client.process.pid) < MEMORY_MB


@pytest.mark.parametrize("how", ["hello_" + name for name in NAMES])
def test_a_box_that_does_not_even_say_hello_right_is_replaced(trial, how):
    with trial.client() as client, Bystander(client) as bystander:
        fake = Fake(trial, client, how)
        run = client.run("print('fresh')", session_id=fake.session)
        assert run["stdout"] == "fresh\n", run
        assert fake.process.wait(SOON) == -signal.SIGKILL
        assert not bystander.problems and bystander.longest < SOON
        assert memory_mb(client.process.pid) < MEMORY_MB


def test_a_box_of_another_version_is_named_and_left_alone(trial):
    with trial.client() as client:
        fake = Fake(trial, client, "wrong_version")
        begin = time.monotonic()
        with pytest.raises(ToolError) as refused:
            client.run("1", session_id=fake.session)
        assert "protocol 9" in str(refused.value) and time.monotonic() - begin < BOUND
        assert not fake.ended


@pytest.mark.parametrize("how", ["silent", "accepts_nothing"])
def test_a_silent_box_is_replaced(trial, how):
    with trial.client() as client, Bystander(client) as bystander:
        fake = Fake(trial, client, how)
        begin = time.monotonic()
        run = client.run("print('fresh')", session_id=fake.session)
        assert run["stdout"] == "fresh\n", run
        assert time.monotonic() - begin < BOUND
        assert fake.process.wait(SOON) == -signal.SIGKILL
        assert not bystander.problems and bystander.longest < SOON


@pytest.mark.parametrize("how", ["stalls_later", "drips", "floods"])
def test_a_box_that_falls_silent_loses_its_run(trial, how):
    with trial.client() as client, Bystander(client) as bystander:
        fake = Fake(trial, client, how)
        begin = time.monotonic()
        run = client.run("1", session_id=fake.session)
        assert time.monotonic() - begin < BOUND
        if run["status"] not in ("queued", "running"):
            assert run["error"]["cause"] == "sandbox_lost", run
        else:
            assert client.until_ended(run["run_id"])["error"]["cause"] == "sandbox_lost"
        assert client.run("print('again')", session_id=fake.session)["stdout"] == "again\n"
        assert not bystander.problems and bystander.longest < SOON
        assert memory_mb(client.process.pid) < MEMORY_MB


def test_a_list_waits_for_no_box(trial):
    """Boxes that are busy for long are listed as what they are, all at once, and left alone."""
    with trial.client() as client:
        made = [client.call("create_session")["session_id"] for _ in range(5)]
        boxes = [box_of(trial, session) for session in made[1:]]
        for box in boxes:
            os.kill(box, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            listed = {entry["session_id"]: entry for entry in client.call("list_sessions")["sessions"]}
            took = time.monotonic() - begin
            assert took < SOON, took
            assert sorted(listed) == sorted(made)
            assert "error" not in listed[made[0]]
            assert all("does not answer" in listed[session]["error"] for session in made[1:])
        finally:
            for box in boxes:
                os.kill(box, signal.SIGCONT)
        for session in made:
            assert client.run("1 + 1", session_id=session)["status"] == "completed"
        assert [box_of(trial, session) for session in made[1:]] == boxes
        assert not any("error" in entry for entry in client.call("list_sessions")["sessions"])


def test_one_that_does_not_answer_is_deleted_all_the_same(trial):
    with trial.client() as client:
        session = client.call("create_session")["session_id"]
        os.kill(box_of(trial, session), signal.SIGSTOP)
        assert client.call("delete_session", session_id=session)["status"] == "destroyed"
        assert not os.path.exists(f"{trial.state}/sessions/{session}")
        trial.until_nothing_is_left(client.process.pid, [session])


def test_a_box_that_never_hands_over_its_root(trial):
    with trial.client() as client:
        fake = Fake(trial, client, "stalls_later")
        begin = time.monotonic()
        try:
            client.call("list_files", session_id=fake.session)
        except ToolError as refused:
            assert "sandbox" in str(refused)
        assert time.monotonic() - begin < BOUND
        client.call("delete_session", session_id=fake.session)
        fake.process.wait(SOON)


@pytest.mark.parametrize("script", ["exec sleep 1000", "printf x >&4; exec sleep 1000",
                                    "yes >&4", "echo '{\"ok\":true}' >&4", "echo '[]' >&4", "exit 0"])
def test_a_program_in_the_place_of_hutch_box(trial, script):
    """A program that does not become a box is an error in bounded time, and is not left behind."""
    trial.replace("hutch-box", f"#!/bin/sh\nPATH=/usr/bin:/bin\n# {trial.directory}\n{script}\n")
    with trial.client() as client:
        begin = time.monotonic()
        with pytest.raises(ToolError) as refused:
            client.call("create_session")
        assert str(refused.value) and "internal error" not in str(refused.value)
        assert time.monotonic() - begin < BOUND
        trial.until_nothing_is_left(client.process.pid, [])
