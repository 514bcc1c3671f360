"""Many sessions in a row and many at once: afterwards everything is where it was.

HUTCH_SOAK_SESSIONS (500) says how many in a row, HUTCH_SOAK_AT_ONCE (200, fewer where memory is short) how
many at once.
"""

import collections
import concurrent.futures
import os
import pathlib
import time

import pytest

from boxes import children_of, everything_left, processes_of
from database import check_database, rows
from hutch_client import Client
from trial import descriptors_of

IN_A_ROW = int(os.environ.get("HUTCH_SOAK_SESSIONS", "500"))
AT_ONCE = int(os.environ.get("HUTCH_SOAK_AT_ONCE", "200"))
# A session with an interpreter takes this at least, box and all.
SESSION_MB = 40
# The allocator keeps what a burst needed, the server the threads of the largest (0.2 MB each), and SQLite
# fills its page cache (2 MB), once; what grows with each session would be far more: 10,000 of them with a
# kilobyte each are 10 MB.
GROWTH_MB = 6


def available_mb():
    for line in pathlib.Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) // 1024
    raise AssertionError("no MemAvailable")


def resident_mb(pid):
    return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / (1 << 20)


def count(state, server):
    """Counts what must be as many as before. Machine-wide counts would see the neighbours too.

    Threads are not among it: the server starts more of them while many calls come at once, and keeps them.
    """
    kinds = collections.Counter(entry.split(":")[0] for entry in descriptors_of(server))
    return {"children": len(children_of(server)), "descriptors": dict(kinds),
            "directories": len(os.listdir(f"{state}/sessions")),
            "mounts": sum(state in line for line in pathlib.Path("/proc/self/mounts").read_text().splitlines())}


def one_session(client, number):
    session = client.call("create_session")["session_id"]
    run = client.run(f"echo {number}", "bash", session_id=session)
    assert run["stdout"] == f"{number}\n", run
    client.call("delete_session", session_id=session)


def wait_until_as_before(state, server, before):
    deadline = time.monotonic() + 60
    while (now := count(state, server)) != before or everything_left(state):
        assert time.monotonic() < deadline, (before, now, everything_left(state))
        time.sleep(0.2)


def at_once(client, how_many):
    """All of them alive at the same time, each having run something."""
    with concurrent.futures.ThreadPoolExecutor(how_many) as pool:
        sessions = list(pool.map(lambda _: client.call("create_session")["session_id"], range(how_many)))
        requests = [client.start_tool("run_code", code=f"{number} * 2", session_id=session)
                    for number, session in enumerate(sessions)]
        for number, request in enumerate(requests):
            run = client.reply(request, 300)["result"]["structuredContent"]
            assert run["outputs"][-1]["text"] == str(number * 2), run
        assert len(processes_of(client.state)) == how_many
        list(pool.map(lambda session: client.call("delete_session", session_id=session), sessions))


@pytest.fixture
def warm(state):
    """A server that has done everything once, so that what it keeps for good is there."""
    with Client(state) as client:
        at_once(client, 8)
        for number in range(50):
            one_session(client, number)
        wait_until_as_before(state, client.process.pid, count(state, client.process.pid))
        yield client


@pytest.mark.slow
def test_many_sessions_in_a_row(state, warm):
    server = warm.process.pid
    before, memory = count(state, server), resident_mb(server)
    begin = time.monotonic()
    for number in range(IN_A_ROW):
        one_session(warm, number)
    took = time.monotonic() - begin
    wait_until_as_before(state, server, before)
    grown = resident_mb(server) - memory
    print(f"{IN_A_ROW} sessions in {took:.0f} s, memory {memory:.1f} MB {grown:+.1f} MB, {before}")
    assert grown < GROWTH_MB
    check_database(state)
    assert rows(state, "SELECT count(*) FROM sessions WHERE status != 'destroyed'") == [(0,)]


@pytest.mark.slow
def test_many_sessions_at_once(state, warm):
    how_many = min(AT_ONCE, available_mb() // 2 // SESSION_MB)
    server = warm.process.pid
    at_once(warm, how_many)
    wait_until_as_before(state, server, count(state, server))
    before, memory = count(state, server), resident_mb(server)
    begin = time.monotonic()
    at_once(warm, how_many)
    took = time.monotonic() - begin
    wait_until_as_before(state, server, before)
    grown = resident_mb(server) - memory
    print(f"{how_many} sessions at once in {took:.0f} s, memory {memory:.1f} MB {grown:+.1f} MB, {before}")
    assert grown < GROWTH_MB
    check_database(state)
