"""Tests what two boxes, or a box and the host, share although no file or process is shared."""

import pathlib
import resource
import time

import pytest

import posture
import zygote
from stage import AS_ROOT, LIMITS, Box, Stage, server, switch_off

RAW = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *words)
    return result if result != -1 else -ctypes.get_errno()
"""
ADD_KEY, KEYCTL, SEARCH = 248, 250, 10
ADD = RAW + f"print(*[call({ADD_KEY}, b'user', b'hutch-between', b'x', 1, ring) for ring in (-3, -4, -5)])"
FIND = RAW + f"print(*[call({KEYCTL}, {SEARCH}, ring, b'user', b'hutch-between', 0) for ring in (-3, -4, -5)])"


@pytest.fixture
def stage():
    made = Stage()
    yield made
    made.close()


@pytest.fixture
def boxes(stage):
    with server(stage) as client:
        yield Box(stage, client), Box(stage, client)


def numbers(box, code):
    run = box.run(code)
    assert run["status"] == "completed", run
    return [int(word) for word in run["stdout"].split()]


def test_keyrings_between_sessions(boxes):
    """Keyrings are not namespaced: the filter keeps the calls away altogether."""
    one, other = boxes
    assert set(numbers(one, ADD) + numbers(other, FIND)) == {-1}


def test_session_keyrings_are_apart_without_the_filter(stage):
    """And if the filter let them through, each box would still have a session keyring of its own."""
    switch_off(stage, ["seccomp"])
    with server(stage, weak=True) as client:
        one, other = Box(stage, client), Box(stage, client)
        added = numbers(one, ADD)
        assert added[0] > 0, "the key was made"
        assert numbers(one, FIND)[0] == added[0], "and is found where it was made"
        assert numbers(other, FIND)[0] < 0


@pytest.mark.xfail(strict=True, reason="known, see SECURITY.md: /usr is one file system for all boxes, and "
                   "locks on its files are seen by all of them")
def test_locks_on_shared_files_are_a_channel(boxes):
    one, other = boxes
    held = one.run("import fcntl, time\nfile = open('/usr/lib/os-release')\nfcntl.flock(file, fcntl.LOCK_EX)\n"
                   "print('held', flush=True)\ntime.sleep(600)", background=True)
    one.client.until_output(held["run_id"], "held")
    tried = other.run("import fcntl\nfcntl.flock(open('/usr/lib/os-release'), fcntl.LOCK_EX | fcntl.LOCK_NB)")
    assert tried["status"] == "completed", tried["stderr"]


def test_the_machines_own_statistics_are_not_told(boxes):
    """Interrupts tell of keystrokes and packets of others, disks and the command line of the host."""
    one, _ = boxes
    code = ("import os\nfor name in ('interrupts', 'softirqs', 'diskstats', 'partitions', 'cmdline', 'iomem', "
            "'modules', 'buddyinfo', 'pagetypeinfo'):\n    try: print(name) if open('/proc/' + name).read(1) else 0\n"
            "    except OSError: pass")
    run = one.run(code)
    assert run["status"] == "completed" and not run["stdout"], run


CAP_SYS_RESOURCE = 24
MAY_SET_A_FLOOR = bool(int(posture.status("self")["CapEff"], 16) >> CAP_SYS_RESOURCE & 1)


@pytest.mark.xfail(not MAY_SET_A_FLOOR, strict=True, reason="known: the kernel keeps a floor under the score only "
                   "where it was set with CAP_SYS_RESOURCE on the host")
def test_the_oom_score_cannot_be_lowered(boxes):
    one, _ = boxes
    code = ("for score in (499, 0):\n    try: open('/proc/self/oom_score_adj', 'w').write(str(score))\n"
            "    except OSError: pass\nprint(open('/proc/self/oom_score_adj').read())")
    [score] = numbers(one, code)
    assert score == 500 or (zygote.IS_TESTED and score == 750)  # a copy goes before its init


def test_kill_everybody(stage, boxes):
    """kill(-1) ends what is in the box, and nothing else of the same user id."""
    one, other = boxes
    other.run("kept = 1")
    victim = one.facts["victim"]
    one.run("import os, signal; os.kill(-1, signal.SIGKILL); os.kill(os.getpid(), signal.SIGKILL)")
    one.run("kill -9 -1; kill -9 0", "bash")
    assert one.facts["victim_token"] in posture.read(victim, "cmdline")
    assert posture.status(victim)["State"][0] == "S"
    assert other.run("print(kept)")["stdout"] == "1\n"
    # A run that comes while the interpreter is still dying meets its end, and says so.
    again = one.run("print(2)")
    assert again["stdout"] == "2\n" or again["error"]["cause"] == "interpreter_died", again
    assert one.run("print(2)")["stdout"] == "2\n"


@pytest.mark.slow
def test_no_event_of_init_is_waited_for_twice(boxes):
    """Ends of processes and the start of the next one come together, over and over: nobody waits for what is over."""
    one, _ = boxes
    for _ in range(40):
        one.run("kill -9 -1; kill -9 0", "bash")
        ended = one.run("print(2)")
        assert ended.get("error", {}).get("cause") in (None, "interpreter_died"), ended
        assert ended["duration_ms"] < 30_000


def test_nothing_outlives_its_box(boxes):
    """Daemons, a subreaper, stopped processes, ignored signals, a cleared parent-death signal."""
    box, _ = boxes
    code = RAW + """
import signal, time
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
kinds = {'subreaper': lambda: libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
         'deaf': lambda: [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 13, 14, 15)],
         'orphan': lambda: libc.prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0),
         'stopped': lambda: os.kill(os.getpid(), signal.SIGSTOP)}
for work in kinds.values():
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        for fd in range(3): os.close(fd)
        work()
        while True: signal.pause()
print(os.readlink('/proc/self/ns/pid'))
"""
    namespace = box.run(code)["stdout"].strip()
    assert len(posture.processes_of(namespace)) >= 5
    box.delete()
    deadline = time.monotonic() + 60
    while left := posture.processes_of(namespace):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def test_death_of_a_parent_signals_nobody_outside(boxes):
    """PR_SET_PDEATHSIG of an orphan: its next parent is init, and the signal goes to itself alone."""
    box, _ = boxes
    code = RAW + """
import signal
told, tell = os.pipe()
if os.fork() == 0:
    middle = os.getpid()
    if os.fork() == 0:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        libc.prctl(1, int(signal.SIGUSR1), 0, 0, 0)
        os.kill(middle, signal.SIGKILL)
        got = signal.sigtimedwait([signal.SIGUSR1], 5)
        os.write(tell, f'{int(got is not None)} {os.getppid()}'.encode())
        os._exit(0)
    while True: signal.pause()
print(os.read(told, 100).decode())
"""
    assert numbers(box, code) == [1, 1]


def test_mounts_made_in_a_box_do_not_show_outside(stage):
    """Propagation: with filter and capabilities gone a mount works, and stays in there."""
    switch_off(stage, ["seccomp", "capabilities"])
    with server(stage, weak=True) as client:
        one, other = Box(stage, client), Box(stage, client)
        seen = RAW + "print(sum('hutch-mount' in line for line in open('/proc/self/mountinfo')))"
        mount = RAW + "print(call(165, b'hutch-mount', b'/workspace', b'tmpfs', 0, 0))"
        assert numbers(one, mount) == [0] and numbers(one, seen) == [1]
        assert "hutch-mount" not in pathlib.Path("/proc/self/mountinfo").read_text()
        assert numbers(other, seen) == [0]


def test_user_namespaces_are_closed_without_the_filter(stage):
    """Nesting: ENOSPC, from the number of namespaces alone."""
    switch_off(stage, ["seccomp"])
    with server(stage, weak=True) as client:
        box = Box(stage, client)
        code = RAW + "print(call(272, 0x10000000), call(272, 0x10000000 | 0x00020000), call(272, 0x40000000))"
        assert numbers(box, code) == [-28, -28, -1]


def test_scm_rights_between_sessions(boxes):
    """Two boxes have no socket in common over which a descriptor could be passed."""
    one, other = boxes
    listen = ("import socket\nkept = []\nfor name in ('\\0between', '/workspace/between', '/tmp/between', "
              "'/dev/shm/between', '/run/hutch/state/between'):\n"
              "    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(); kept.append(s)\nprint(len(kept))")
    assert numbers(one, listen) == [5]
    reach = ("import socket\nreached = 0\nfor name in ('\\0between', '/workspace/between', '/tmp/between', "
             "'/dev/shm/between', '/run/hutch/state/between'):\n"
             "    try: socket.socket(socket.AF_UNIX).connect(name); reached += 1\n    except OSError: pass\n"
             "print(reached)")
    assert numbers(other, reach) == [0] and numbers(one, reach) == [5]


def test_shared_kernel_objects_between_sessions(boxes):
    """System V shared memory of the same key, as small as the policy lets it be."""
    one, other = boxes
    make = RAW + "print(call(29, 4711, 100, 0o1666))"
    find = RAW + "print(call(29, 4711, 0, 0))"
    assert min(numbers(one, make)) >= 0 and min(numbers(one, find)) >= 0
    assert max(numbers(other, find)) < 0


@pytest.mark.skipif(not AS_ROOT, reason="an ordinary user has one id for all sessions")
def test_processes_of_one_session_are_not_counted_to_another(boxes):
    """RLIMIT_NPROC and kill are per user id: each session has its own."""
    one, other = boxes
    fill = ("import os, signal\nkept = []\ntry:\n    while True:\n        child = os.fork()\n"
            "        if child == 0: signal.pause()\n        kept.append(child)\nexcept OSError: pass\nprint(len(kept))")
    full = numbers(one, fill)[0]
    assert full > 10
    assert other.run("true", "bash")["status"] == "completed"
    assert numbers(other, "import os, signal\nchild = os.fork()\nif child == 0: os._exit(0)\nprint(child > 0)"
                   .replace("child > 0", "int(child > 0)")) == [1]


HOARD = """
import array, os, resource, socket
kept = socket.socketpair()
kept[0].setblocking(False)
null, sent = os.open("/dev/null", os.O_RDONLY), 0
try:
    while True:
        kept[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null] * 100))])
        sent += 100
except OSError: pass
print(sent, *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_descriptors_on_their_way_are_not_taken_from_hutch(stage):
    """The kernel counts them for each user, against the limit of whoever sends one: hutch's is its hard one."""
    soft, hard = 128, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    limits = {**LIMITS, "open_files": 256}
    if hard <= limits["open_files"] + 200:
        pytest.skip("no program of this user may have more descriptors than a session")
    low = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))}
    with server(stage, popen=low) as client:
        one, other = Box(stage, client, limits), Box(stage, client, limits)
        sent, *box_limit = numbers(one, HOARD)
        assert sent >= limits["open_files"] and box_limit == [limits["open_files"]] * 2
        for box in (one, other, Box(stage, client, limits)):
            for language, code in (("bash", "true"), ("javascript", "1"), ("python", "1"), ("sql", "select 1")):
                run = box.run(code, language)
                assert run["status"] == "completed", run
            assert client.call("list_files", session_id=box.session)["entries"]
