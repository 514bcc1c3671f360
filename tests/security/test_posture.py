"""Tests that what holds a process is the same on every path that starts one, and the host can see that it is."""

import os
import re
import time

import pytest

import posture
from probes.base import libc
from server_process import PATIENCE
from stage import AS_ROOT, PLACE, Box, Stage, server, stage, switch_off  # noqa: F401 (the fixture)

CLONE_NEWNS, MS_PRIVATE_ALL = 0x20000, 1 << 18 | 1 << 14

# Each path's process is known by this, in its arguments.
PATHS = {"python": r"python3 /run/hutch/runners/python/runner\.py", "javascript": r"node .*runner\.mjs",
         "sql": r"python3 /run/hutch/runners/sql/runner\.py", "bash": r"^/bin/bash .*/runners/bash/state\.sh --background",
         "the next bash": r"^/bin/bash .*/runners/bash/state\.sh --ahead",
         "a program of bash": "sleep 3001", "a program of python": "sleep 3002",
         "a program of javascript": "sleep 3003", "a shell": "^/bin/sh -c sleep 3004",
         "a program of a shell": "^sleep 3004", "a daemon": "sleep 3005"}


class Processes:
    """A box in which every path has a process that stays, and their numbers on the host."""

    def __init__(self, box):
        self.box = box
        box.run("import subprocess, os\nkept = [subprocess.Popen(['sleep', '3002']), "
                "subprocess.Popen('sleep 3004; true', shell=True)]")
        box.run("require('child_process').spawn('sleep', ['3003']); 1", "javascript")
        box.run("SELECT 1", "sql")
        box.run("setsid --fork sleep 3005", "bash")
        code = {"python": "import time; print('up', flush=True); time.sleep(3000)",
                "javascript": "console.log('up'); await new Promise(done => setTimeout(done, 3000000))",
                "bash": "echo up; sleep 3001; true"}
        for language, text in code.items():
            run = box.run(text, language, background=True)
            box.client.until_output(run["run_id"], "up")
        namespace = box.run("import os; print(os.readlink('/proc/self/ns/pid'))")["stdout"].strip()
        self.facts = {**box.facts, "session": box.session}
        # A program that a shell has just begun may still be the shell.
        until = time.monotonic() + 30 * PATIENCE
        while set(PATHS) - set(self._look(namespace)) and time.monotonic() < until:
            time.sleep(0.05)
        self.init = int(posture.status(self.pids["python"][0])["PPid"])
        for name in [name for name, pids in self.pids.items() if self.init in pids]:
            del self.pids[name]  # which root sees in the namespace as well

    def _look(self, namespace):
        self.pids = {}
        for pid in posture.processes_of(namespace):
            line = posture.read(pid, "cmdline").replace("\0", " ").strip()
            self.pids.setdefault(next((name for name, words in PATHS.items() if re.search(words, line)),
                                      line), []).append(pid)
        return self.pids

    def all(self):
        return [(name, pid) for name, pids in self.pids.items() for pid in pids]


@pytest.fixture(scope="module")
def strict(stage):
    with server(stage) as client:
        yield Processes(Box(stage, client))


@pytest.mark.parametrize("path", PATHS)
def test_every_path_is_held(strict, path):
    assert strict.pids[path], "no process to look at"
    for pid in strict.pids[path]:
        assert posture.complaints(pid, strict.facts) == []


def test_live_and_background_interpreters_are_both_looked_at(strict):
    assert all(len(strict.pids[name]) == 2 for name in ("python", "javascript")), strict.pids


def test_no_process_is_unknown(strict):
    assert set(strict.pids) == set(PATHS)


def test_all_are_held_alike(strict):
    first, *rest = strict.all()
    for name, pid in rest:
        assert posture.shape(pid) == posture.shape(first[1]), (first, name)


def test_init_is_held_and_hidden(strict):
    assert posture.init_complaints(strict.init, AS_ROOT) == []


def test_descriptors_are_the_streams_and_one_channel(strict):
    for name, pid in strict.all():
        kinds = {number: link.split(":")[0] for number, link, _ in posture.descriptors(pid)}
        if name.startswith("a ") or name == "bash":
            assert "socket" not in kinds.values() or name == "a program of javascript", (name, kinds)
        assert sum(kind == "socket" for kind in kinds.values()) <= 4, (name, kinds)
        assert kinds[0] in ("/dev/null", "pipe", "socket"), (name, kinds)


def test_two_boxes_share_no_namespace(stage, strict):
    with server(stage) as client:
        box = Box(stage, client)
        box.run("1")
        told = box.run("import os\nfor k in sorted(os.listdir('/proc/self/ns')):\n"
                       "    print(k, os.readlink('/proc/self/ns/' + k))")["stdout"]
        other = dict(line.split() for line in told.splitlines())
        mine = posture.namespaces(strict.pids["python"][0])
        assert [kind for kind in posture.NAMESPACES if mine[kind] == other[kind]] == []
        box.delete()


# CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID, SYS_PTRACE; with a disk quota SYS_ADMIN.
NEEDED = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 19
WITH_QUOTA = 1 << 21


def test_hutch_box_keeps_what_it_needs_and_no_more(stage, strict):
    (session,) = [each for each in strict.box.client.call("list_sessions")["sessions"]
                  if each["session_id"] == strict.box.session]
    quota = session["isolation"]["disk"] == "project quota"
    kept = (NEEDED | (WITH_QUOTA if quota else 0)) if AS_ROOT else 0
    box = posture.box_of(stage.state, strict.box.session)
    threads = os.listdir(f"/proc/{box}/task")
    assert len(threads) > 1
    for thread in threads:
        now = posture.status(f"{box}/task/{thread}")
        assert [int(now[name], 16) for name in ("CapInh", "CapPrm", "CapEff")] == [0, kept, kept], thread
        if AS_ROOT:
            assert now["NoNewPrivs"] == "1"


@pytest.mark.skipif(not AS_ROOT, reason="an ordinary user has one id for all sessions")
def test_two_boxes_share_no_id(stage, strict):
    with server(stage) as client:
        box = Box(stage, client)
        uid = os.stat(f"{stage.state}/sessions/{box.session}/workspace").st_uid
        assert str(uid) not in posture.status(strict.pids["python"][0])["Uid"].split()
        box.delete()


def mount_below_usr():
    """As a machine has it whose /usr/local is a disk of its own."""
    assert libc.unshare(CLONE_NEWNS) == 0
    assert libc.mount(b"none", b"/", None, MS_PRIVATE_ALL, None) == 0
    assert libc.mount(b"tmpfs", b"/usr/local", b"tmpfs", 0, b"size=4k") == 0


@pytest.mark.parametrize("setting", [None] + [mount_below_usr] * AS_ROOT, ids=["as_here", "with_mounts_below"][:1 + AS_ROOT])
def test_mounts_are_alike_where_the_kernel_has_no_mount_setattr(setting):
    made = Stage()
    shapes = []
    with server(made, weak=True, popen={"preexec_fn": setting}) as client:
        for missing in ((), ("mount_setattr",)):
            switch_off(made, missing, landlock=True)
            box = Box(made, client)
            runner = runner_of(box)
            assert posture.complaints(runner, {**box.facts, "session": box.session}) == []
            shapes.append(sorted(mount_of(line) for line in posture.read(runner, "mountinfo").splitlines()))
            box.delete()
    made.close()
    assert shapes[0] == shapes[1]
    assert setting is None or "/usr/local" in [place for place, *_ in shapes[0]]


def mount_of(line):
    """Where it is, what it forbids, and whether mounts of others show up in it."""
    before, after = line.split(" - ")
    _, _, _, _, place, options, *shared = before.split()
    return place, options, bool(shared), after.split()[0]


def runner_of(box):
    namespace = box.run("import os; print(os.readlink('/proc/self/ns/pid'))")["stdout"].strip()
    return next(pid for pid in posture.processes_of(namespace)
                if "runner.py" in posture.read(pid, "cmdline"))


# A layer, and the word with which the posture test complains when it is off.
LAYERS = {"seccomp": "seccomp", "capabilities": "capabilities", "no_new_privs": "no_new_privs",
          "net": "namespace: net", "ipc": "namespace: ipc", "uts": "namespace: uts",
          "cgroup_namespace": "namespace: cgroup", "nosuid": "nosuid", "nodev": "nodev",
          "read_only": "read-only: /", "read_only_binds": "read-only: /usr", "descriptors": "descriptor",
          "environment": "environment", "oom_score": "oom_score", "rlimits": "limits",
          "dumpable": "dumpable"}
if AS_ROOT:
    LAYERS["groups"] = "groups"
if PLACE.has_cgroups:
    LAYERS["cgroups"] = "cgroup"


@pytest.fixture(scope="module")
def weak_client():
    made = Stage()
    with server(made, weak=True) as client:
        yield made, client
    made.close()


@pytest.mark.parametrize("layer", LAYERS)
def test_a_missing_layer_is_seen(weak_client, layer):
    made, client = weak_client
    switch_off(made, [layer])
    box = Box(made, client)
    runner = runner_of(box)
    init = int(posture.status(runner)["PPid"])
    found = posture.complaints(runner, {**box.facts, "session": box.session})
    found += posture.init_complaints(init, AS_ROOT)
    box.delete()
    assert any(word.startswith(LAYERS[layer]) for word in found), found
    assert not [w for w in found if w.split(":")[0] != LAYERS[layer].split(":")[0]], "only this layer"
