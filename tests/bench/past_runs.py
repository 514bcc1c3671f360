"""Measures what a million runs of the past cost those who list, measure, audit and create: beside a database without them, in turns.

    tests/bench/past_runs.py [--runs N] [--long N] [--requests N] [--rounds N]

The runs are rows of a hundred sessions: half of them exist, half were deleted. Each is younger than [retention] lets go,
and was read. One session more has so many runs of its own (--long), and the audit has as many requests of the network as
are kept. The other database has those hundred sessions, too, and one page of each: what exists and what is shown is no
cost of the past.

The aim: each question takes at most 1.2 times as long (medians). The status is 1 when one takes longer.
"""

import argparse
import contextlib
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
sys.path.insert(0, str(ROOT / "tests/bench"))
from aims import Aims  # noqa: E402
from http_server import HttpClient, Server  # noqa: E402
from hutch_client import hutch_binary  # noqa: E402

RECORD = '{"run_id":"run","status":"completed","language":"python","duration_ms":7}'
TIMES = 1.2
PAGE_OF_RUNS, PAGE_OF_REQUESTS = 20, 100
REQUESTS_MOST = 200_000  # the audit keeps no more
NUMBERS = "WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < ? - 1) "


def insert_runs(database, runs, session, principal, now, prefix):
    """`session` is an expression of the number n."""
    if runs > 0:
        database.execute(NUMBERS + "INSERT INTO runs (id, session_id, principal_id, language, status, background, code_sha256, "
                         f"server_id, queued_at, finished_at, record, was_read) SELECT printf('run_{prefix}%011d', n), {session}, "
                         "?, 'python', 'completed', 0, '', '', ? + n, ? + n + 7, ?, 1 FROM number",
                         (runs, principal, now - runs, now - runs, RECORD))


def insert_requests(database, requests, principal, now):
    """Every tenth was refused; each share says how many there are."""
    database.execute(NUMBERS + "INSERT INTO network_requests (session_id, number, verdict, host, port, method, path, status, reason, "
                     "credential, sent_bytes, received_bytes, ms, principal_id) SELECT printf('session_%012d', n % 100), ? + n, "
                     "iif(n % 10, 'allowed', 'refused'), 'api.example.com', 443, 'GET', '/v1/items', iif(n % 10, 200, 0), "
                     "iif(n % 10, '', 'not among the hosts'), '', 100, 1000, 7, ? FROM number",
                     (requests, (now - requests) * 1000, principal))
    for share in (principal, "*"):
        database.execute("INSERT INTO network_shares VALUES (?, ?, 0) ON CONFLICT (principal_id) DO UPDATE SET requests = excluded.requests",
                         (share, requests))


def fill(state, runs, long_runs, requests):
    with Server(state) as server:  # the schema, and the principal
        HttpClient(server).call("create_session", name="first")
    with contextlib.closing(sqlite3.connect(f"{state}/hutch.db")) as database, database:
        now = int(time.time() * 1000)
        first, principal = database.execute("SELECT id, principal_id FROM sessions WHERE name = 'first'").fetchone()
        database.execute(NUMBERS + "INSERT INTO sessions (id, principal_id, name, template, status, ends_with_connection, limits, "
                         "env, idle_seconds, retention_seconds, created_at, last_used_at, ended_at, buried) SELECT "
                         "printf('session_%012d', n), ?, printf('past %d', n), 'host', iif(n % 2, 'destroyed', 'stopped'), 0, '{}', "
                         "'{}', 600, 604800, ?, ?, iif(n % 2, ?, NULL), n % 2 FROM number", (100, principal, now, now, now))
        insert_runs(database, runs, "printf('session_%012d', n % 100)", principal, now, "0")
        insert_runs(database, long_runs, f"'{first}'", principal, now, "1")
        insert_requests(database, requests, principal, now)


def questions(server, client, state):
    def audit(*options):
        done = subprocess.run([hutch_binary(), "--state-dir", state, "audit", *options], check=True, capture_output=True, text=True)
        assert len(done.stdout.splitlines()) >= 10, done.stdout

    def create():
        client.call("delete_session", session_id=client.call("create_session")["session_id"])

    def runs_of_a_session():
        assert len(client.call("get_run", session_id="first")["runs"]) == PAGE_OF_RUNS

    yield "metrics", lambda: server.request("GET", "/metrics")
    yield "list_sessions", lambda: client.call("list_sessions", status="ready")
    yield "runs of a session", runs_of_a_session
    yield "hutch audit", audit
    yield "hutch audit --refused", lambda: audit("--refused", "-n", "10")
    yield "create and delete", create


def ask_in_turns(sides, rounds):
    """{question: the seconds of both sides}"""
    times = {name: ([], []) for name in sides[0]}
    for _ in range(rounds):
        for name, taken in times.items():
            for side, ask in enumerate(sides):
                started = time.monotonic()
                ask[name]()
                taken[side].append(time.monotonic() - started)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--long", type=int, default=10_000, help="runs of one session")
    parser.add_argument("--requests", type=int, default=REQUESTS_MOST, help="of the network, in the audit")
    parser.add_argument("--rounds", type=int, default=100)
    arguments = parser.parse_args()
    aims = Aims()
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as full:
        fill(empty, 0, PAGE_OF_RUNS, PAGE_OF_REQUESTS)
        begun = time.monotonic()
        fill(full, arguments.runs, arguments.long, arguments.requests)
        print(f"{arguments.runs} + {arguments.long} runs and {arguments.requests} requests made in {time.monotonic() - begun:.0f} s, "
              f"{os.path.getsize(full + '/hutch.db') >> 20} MiB")
        with Server(empty) as one, Server(full) as other:
            sides = [dict(questions(server, HttpClient(server), state)) for server, state in ((one, empty), (other, full))]
            print(f"{'':22}{'without ms':>12}{'with ms':>10}{'ratio':>8}")
            for name, times in ask_in_turns(sides, arguments.rounds).items():
                before, after = (statistics.median(taken) * 1000 for taken in times)
                print(f"{name:22}{before:12.1f}{after:10.1f}{after / before:8.2f}")
                aims.at_most(f"the ratio of {name}", after / before, TIMES)
    aims.end()


if __name__ == "__main__":
    main()
