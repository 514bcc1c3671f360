"""An interpreter that was forked is held exactly as one that was started, as the host sees both."""

import os
import pathlib
import re

import pytest

import posture
from stage import Box, server, stage  # noqa: F401 (the fixture)
from zygote import FORKED, made_from_it

# These count, or say when: no two processes agree.
COUNTERS = re.compile(r"^(Pid|Tgid|Ngid|PPid|NStgid|NSpid|NSpgid|NSsid|Vm\w+|Rss\w+|HugetlbPages|SigQ|State|Threads|"
                      r"Mems_allowed|\w*ctxt_switches|x86_Thread_features\w*)$")
FILES = ("limits", "uid_map", "gid_map", "setgroups", "personality", "sessionid", "loginuid",
         "attr/current", "timerslack_ns", "projid_map", "coredump_filter", "timens_offsets", "comm",
         "cpuset", "mountinfo", "cgroup", "cmdline")


def whole_posture(pid, names):
    """Everything that /proc tells about what a process may do, without what is this box's own."""
    told = {name: value for name, value in posture.status(pid).items() if not COUNTERS.match(name)}
    # The C library's own, for threads: there as soon as a process has had one.
    told.update({name: int(told[name], 16) & ~(3 << 31) for name in ("SigCgt", "SigIgn")})
    for name in FILES:
        path = pathlib.Path(f"/proc/{pid}/{name}")
        try:
            told[name] = path.read_text(errors="replace")
        except OSError as error:
            told[name] = error.errno  # not in this kernel, or nobody's
    # The forked one's arguments end in more NULs.
    told["cmdline"] = told["cmdline"].rstrip("\0") if isinstance(told["cmdline"], str) else told["cmdline"]
    told["root"], told["cwd"] = (os.readlink(f"/proc/{pid}/{name}") for name in ("root", "cwd"))
    told["exe"] = os.readlink(f"/proc/{pid}/exe")
    told["affinity"] = sorted(os.sched_getaffinity(pid))
    told["scheduler"] = (os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid))
    told["descriptors"] = [(number, link.split(":")[0], mode) for number, link, mode in posture.descriptors(pid)]
    told["owner"] = os.stat(f"/proc/{pid}/status").st_uid
    return {key: scrub(value, names) for key, value in told.items()}


def scrub(value, names):
    if not isinstance(value, str):
        return value
    for name in names:
        value = value.replace(name, "<own>")
    # Numbers of mounts and devices are given out one after the other.
    return re.sub(r"^\d+ \d+ (\d+:)\d+ |master:\d+ ?|\b(session|propagate_from):\d+ ?", r"\1", value, flags=re.MULTILINE)


class Interpreter:
    def __init__(self, stage, zygote):
        with server(stage, zygote=zygote) as client:
            self.box = self._box(stage, client) if not zygote else made_from_it(
                lambda: self._box(stage, client), lambda box: box.origin, Box.delete)
            self.box.run("1")  # after its first run an interpreter opens the socket that lends DataFrames
            told = self.box.run("import os; print(os.readlink('/proc/self/ns/pid'), os.getpid(), os.getppid())")["stdout"]
            namespace, self.number, self.parent = told.split()
            self.processes = posture.processes_of(namespace)
            self.pid = next(pid for pid in self.processes if posture.status(pid)["NSpid"].split()[1] == self.number)
            self.init = int(posture.status(self.pid)["PPid"])
            uid = str(os.stat(f"{stage.state}/sessions/{self.box.session}/workspace").st_uid)
            names = (self.box.session, uid) if uid != "0" else (self.box.session,)
            self.posture = whole_posture(self.pid, names)
            self.complaints = posture.complaints(self.pid, {**self.box.facts, "session": self.box.session})
            self.namespaces = posture.namespaces(self.pid)
            self.scores = [int(posture.read(pid, "oom_score_adj")) for pid in (self.init, self.pid)]
            self.parents = posture.namespaces(self.init) if os.geteuid() == 0 else self.namespaces
            self.box.delete()

    @staticmethod
    def _box(stage, client):
        box = Box(stage, client)
        box.run("1")
        return box


@pytest.fixture(scope="module")
def forked(stage):
    return Interpreter(stage, zygote=True)


@pytest.fixture(scope="module")
def started(stage):
    return Interpreter(stage, zygote=False)


def test_a_forked_interpreter_is_held(forked):
    assert forked.complaints == []


def test_it_is_held_as_one_that_was_started(forked, started):
    assert set(forked.posture) == set(started.posture)
    assert {name: (value, started.posture[name]) for name, value in forked.posture.items()
            if value != started.posture[name]} == {}


def test_both_are_children_of_their_init(forked, started):
    assert forked.parent == started.parent == "1"
    for one in (forked, started):
        assert one.namespaces == one.parents


def test_they_were_made_in_two_ways(forked, started):
    origins = {one.box.origin for one in (forked, started)}
    assert origins == {FORKED, "started"}


def test_what_runs_is_killed_for_memory_before_its_init(forked, started):
    assert forked.scores == [500, 750], "init is as large as its copies"
    assert started.scores == [500, 500], "init is small"
