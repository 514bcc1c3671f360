"""Greedy programs: each ends with the right cause within two seconds of its limit, and the session goes on.

They run where the session says (`enforcement`) that its limit is hard, or watched: then whoever is seen beyond
is ended, and SECURITY.md promises the same two seconds. Where it is none, nothing is promised.

The programs are in tests/security/greedy. Each writes "at <time>" for every step that succeeded up to the
limit, so the last one is when the limit was reached: clocks inside and outside of a box are the same.
"""

import contextlib
import os
import pathlib
import platform
import re
import time

import pytest

from conftest import end_boxes
from hutch_client import Client

PROGRAMS = pathlib.Path(__file__).parent / "greedy"
LIMITS = {"memory_mb": 128, "processes": 32, "disk_mb": 20, "files": 500, "open_files": 128, "output_mb": 1,
          "cpus": 1}
SECONDS = 2.0

ALIVE = r"""
import os
def waits(pid):  # the shell of the next run
    try: return open(f"/proc/{pid}/cmdline").read().endswith("--ahead\0")
    except OSError: return False
for pid in filter(str.isdigit, os.listdir("/proc")):
    fields = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status").read().splitlines())
    if "Z" not in fields["State"] and not waits(pid): print(fields["Name"])
"""

# program: the limit that it goes against, and the causes it may end with. /dev/shm has a size of its own, so it
# is full before the memory is.
PROGRAMS_OF = {
    "memory_mb": {"memory_anonymous.py": {"oom"}, "memory_in_small_processes.py": {"oom"},
                  "memory_shared_mapping.py": {"oom"}, "memory_memfd.py": {"oom"},
                  "memory_shm_and_anonymous.py": {"oom"}, "memory_shared_and_memfd.py": {"oom"},
                  "memory_without_first_thread.py": {"oom"}, "memory_netlink.py": {"oom"}, "memory_udp.py": {"oom"},
                  "memory_page_tables.py": {"oom"},
                  "shm_filler.py": {"exception", "disk", "oom"}},
    "disk_mb": {"disk_filler.py": {"disk"}, "disk_filler_in_tmp.py": {"disk"}, "disk_filler_unlinked.py": {"disk"},
                "disk_filler_closed.py": {"disk"}, "disk_filler_closing.py": {"disk"},
                "disk_filler_without_first_thread.py": {"disk"}},
    "files": {"inode_filler.py": {"disk"}, "inode_filler_unlinked.py": {"disk"}},
    "output_mb": {"output_flood.py": {"output"}, "error_flood.py": {"output"},
                  "output_flood_of_children.py": {"output"}},
    "open_files": {"descriptors.py": {"exception"}},
    "processes": {"fork_bomb.py": {"pids"}, "fork_bomb.sh": {"pids"}, "thread_bomb.py": {"pids"},
                  "zombies.py": {"pids"}},
}
# These are tried wherever tests are run; the others, which take minutes together, are not.
ALWAYS = {"disk_filler.py", "memory_page_tables.py"}
CASES = [pytest.param(limit, name, marks=[] if name in ALWAYS else pytest.mark.slow)
         for limit, programs in PROGRAMS_OF.items() for name in programs]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    state = str(tmp_path_factory.mktemp("greedy"))
    with Client(state) as client:
        yield client
    end_boxes(state)


@pytest.fixture
def made(server):
    session = server.call("create_session", limits=LIMITS)
    yield session
    server.call("delete_session", session_id=session["session_id"])


@pytest.fixture
def session(made):
    return made["session_id"]


def level_of(made, limit):
    """`hard` or `watched`; there is nothing to ask of hutch where it is `none`."""
    level = made["enforcement"][limit]
    if level == "none":
        pytest.skip(f"enforcement of this host's sessions: {limit} is none ({made['isolation']})")
    return level


def language_of(name):
    return "bash" if name.endswith(".sh") else "python"


def last_step(run):
    steps = re.findall(r"^at (\d+\.\d+)$", run["stdout"] + "\n" + run["stderr"], re.MULTILINE)
    assert steps, run
    return max(map(float, steps))


def check_usable(server, session):
    """Nothing of the program runs, and every language and the disk can be used again."""
    def cleaned():
        return server.run("rm -rf /workspace/hog* /tmp/hog* /dev/shm/hog*; echo fine", "bash",
                          session_id=session)["stdout"] == "fine\n"

    deadline = time.monotonic() + 5  # threads of a bomb sleep for a second
    while not cleaned():
        assert time.monotonic() < deadline, "bash cannot be started"
    assert server.run("open('kept', 'w').write('k'); 1 + 1", session_id=session)["status"] == "completed"
    # A child that ended and is not waited for stays in the table, and takes nothing else.
    alive = server.run(ALIVE, session_id=session)["stdout"].split()
    assert set(alive) <= {"python3", "bash"} and len(alive) <= 2, alive


@pytest.mark.parametrize("limit,name", CASES, ids=[case.values[1] for case in CASES])
def test_ends_with_its_cause_and_soon(server, made, session, limit, name):
    level = level_of(made, limit)
    server.run("1", session_id=session)
    run = server.run((PROGRAMS / name).read_text(), language_of(name), session_id=session, timeout_seconds=20)
    ended = time.time()
    assert run["status"] == "failed", run
    assert run["error"]["cause"] in PROGRAMS_OF[limit][name], (level, run["error"])
    assert ended - last_step(run) <= SECONDS, level
    check_usable(server, session)


@contextlib.contextmanager
def session_of(server, limit, **limits):
    made = server.call("create_session", limits=limits)
    try:
        level_of(made, limit)
        server.run("1", session_id=made["session_id"])
        yield made["session_id"]
        assert server.run("1 + 1", session_id=made["session_id"])["status"] == "completed"
    finally:
        server.call("delete_session", session_id=made["session_id"])


def run_program(server, session, name, variables=""):
    code = variables + "\n" + (PROGRAMS / name).read_text()
    run = server.run(code, session_id=session, timeout_seconds=120)
    return server.until_ended(run["run_id"], timeout=120) if run["status"] == "running" else run


# How long a look takes is the code's to choose, by what there is to look through: not how long nobody looks.
BEHIND = {"named": ("disk_behind_descriptors.py", "NAMELESS, WRITES = False, True"),
          "nameless": ("disk_behind_descriptors.py", "NAMELESS, WRITES = True, True"),
          "threads": ("disk_behind_threads.py", ""), "names": ("disk_behind_names.py", "")}


@pytest.mark.slow
@pytest.mark.parametrize("case", BEHIND)
def test_nobody_makes_the_disk_watch_blind(server, case):
    if case == "threads" and platform.machine() != "x86_64":
        pytest.skip(f"the program has instructions of x86_64; this is {platform.machine()}")
    limits = {"disk_mb": 1000 if case == "names" else 100,  # names take room too
              "processes": 1100 if case == "threads" else 256, "files": 30_000}
    with session_of(server, "disk_mb", **limits) as session:
        run = run_program(server, session, *BEHIND[case])
        assert run["status"] == "failed" and run["error"]["cause"] == "disk", run
        assert "still there" not in run["stdout"]
        server.run("rm -rf hog*", "bash", session_id=session, timeout_seconds=60)


@pytest.mark.slow
def test_many_descriptors_alone_are_left_alone(server):
    with session_of(server, "disk_mb", disk_mb=100) as session:
        run = run_program(server, session, "disk_behind_descriptors.py", "NAMELESS, WRITES = False, False")
        assert run["status"] == "completed" and run["stdout"].endswith("still there\n"), run


@pytest.mark.slow
def test_nobody_makes_the_memory_watch_blind(server):
    with session_of(server, "memory_mb", memory_mb=768) as session:
        run = run_program(server, session, "memory_behind_mappings.py")
        assert "still there" not in run["stdout"], run
        assert run["status"] == "completed" and "memory" in run["note"] or run["error"]["cause"] == "oom", run


def host_share_of_tcp_mb():
    try:
        pages = int(pathlib.Path("/proc/sys/net/ipv4/tcp_mem").read_text().split()[2])
    except OSError as error:
        pytest.skip(f"the host does not say what it gives TCP: {error}")
    return pages * os.sysconf("SC_PAGESIZE") // 8 >> 20


@pytest.mark.slow
@pytest.mark.parametrize("share,status", [(1.5, "failed"), (0.3, "completed")])
def test_no_session_takes_the_hosts_memory_of_tcp(server, share, status):
    megabytes = int(host_share_of_tcp_mb() * share)
    if not 8 <= megabytes <= 1024:
        pytest.skip(f"{megabytes} MB in TCP sockets are not to be tried on this host")
    with session_of(server, "memory_mb", memory_mb=8192) as session:
        run = run_program(server, session, "memory_tcp_of_host.py", f"MEGABYTES = {megabytes}")
        assert run["status"] == status, run
        if status == "failed":
            assert run["error"]["cause"] == "oom" and "sockets" in str(run), run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cpu_hog.py", "cpu_hog_deaf.py"])
def test_ends_when_its_time_is_up(server, made, session, name):
    assert level_of(made, "run_seconds") == "hard"
    server.run("1", session_id=session)
    begin = time.monotonic()
    run = server.run((PROGRAMS / name).read_text(), session_id=session, timeout_seconds=1)
    assert run["status"] == "timed_out" and run["error"]["cause"] == "timeout", run
    assert time.monotonic() - begin <= 1 + SECONDS
    check_usable(server, session)


@pytest.mark.slow
def test_one_greedy_session_leaves_the_others_alone(server, made, session):
    """While one session does its worst, another answers."""
    for limit in ("memory_mb", "processes", "output_mb", "cpus"):
        level_of(made, limit)
    other = server.call("create_session")["session_id"]
    server.run("x = 1", session_id=other)
    for name in ("memory_anonymous.py", "fork_bomb.py", "output_flood.py", "cpu_hog.py"):
        request = server.start_tool("run_code", code=(PROGRAMS / name).read_text(), session_id=session,
                                    timeout_seconds=3)
        while request not in server._replies:
            begin = time.monotonic()
            run = server.run("x += 1; x", session_id=other)
            assert run["status"] == "completed", run
            assert time.monotonic() - begin < 5
        server.reply(request)
    server.call("delete_session", session_id=other)


@pytest.mark.slow
@pytest.mark.parametrize("language,code,cause", [
    ("python", "raise Exception('[Errno 28] No space left on device')", "exception"),
    ("python", "raise RuntimeError(\"can't start new thread\")", "exception"),
    ("python", "open('/dev/full', 'w').write('x' * 100000)", "exception"),
    ("python", "import os\nr, w = os.pipe()\nos.set_blocking(r, False)\ndef spawn_reader(): os.read(r, 1)\n"
     "spawn_reader()", "exception"),
    ("javascript", "throw new Error('EAGAIN spawn')", "exception"),
    ("javascript", "throw new Error('ENOSPC: no space left on device, write')", "exception"),
    ("bash", "echo 'fork: Resource temporarily unavailable' >&2; exit 3", "exit"),
    ("bash", "echo 'dd: No space left on device' >&2; exit 3", "exit")])
def test_words_alone_are_no_limit(server, session, language, code, cause):
    run = server.run(code, language, session_id=session)
    assert run["status"] == "failed" and run["error"]["cause"] == cause, run["error"]
