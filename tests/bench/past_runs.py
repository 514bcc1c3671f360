"""What a million runs of the past cost those who list, measure, audit and create: beside an empty database, in turns.

    tests/bench/past_runs.py [--runs N] [--rounds N]

The runs are rows of a hundred sessions: half of them exist, half were deleted. Each is younger than [retention] lets go, and was read.
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
from http_server import HttpClient, Server  # noqa: E402
from hutch_client import hutch_binary  # noqa: E402

RECORD = '{"run_id":"run","status":"completed","language":"python","duration_ms":7}'


def fill(state, runs):
    with Server(state) as server:  # the schema, and the principal
        HttpClient(server).call("create_session", name="first")
    with contextlib.closing(sqlite3.connect(f"{state}/hutch.db")) as database, database:
        now = int(time.time() * 1000)
        (principal,) = database.execute("SELECT principal_id FROM sessions WHERE name = 'first'").fetchone()
        numbers = "WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < ? - 1) "
        database.execute(numbers + "INSERT INTO sessions (id, principal_id, name, template, status, ends_with_connection, limits, "
                         "env, idle_seconds, retention_seconds, created_at, last_used_at, ended_at, buried) SELECT "
                         "printf('session_%012d', n), ?, printf('past %d', n), 'host', iif(n % 2, 'destroyed', 'stopped'), 0, '{}', "
                         "'{}', 600, 604800, ?, ?, iif(n % 2, ?, NULL), n % 2 FROM number", (100, principal, now, now, now))
        database.execute(numbers + "INSERT INTO runs (id, session_id, principal_id, language, status, background, code_sha256, "
                         "server_id, queued_at, finished_at, record, was_read) SELECT printf('run_%012d', n), "
                         "printf('session_%012d', n % 100), ?, 'python', 'completed', 0, '', '', ? + n, ? + n + 7, ?, 1 FROM number",
                         (runs, principal, now - runs, now - runs, RECORD))


def questions(server, client, state):
    yield "metrics", lambda: server.request("GET", "/metrics")
    yield "list_sessions", lambda: client.call("list_sessions", status="ready")
    yield "runs of a session", lambda: client.call("get_run", session_id="first")
    yield "hutch audit", lambda: subprocess.run([hutch_binary(), "--state-dir", state, "audit"], check=True, capture_output=True)

    def create():
        client.call("delete_session", session_id=client.call("create_session")["session_id"])
    yield "create and delete", create


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as full:
        fill(empty, 0)
        begun = time.monotonic()
        fill(full, arguments.runs)
        print(f"{arguments.runs} runs made in {time.monotonic() - begun:.0f} s, "
              f"{os.path.getsize(full + '/hutch.db') >> 20} MiB")
        with Server(empty) as one, Server(full) as other:
            sides = [dict(questions(server, HttpClient(server), state)) for server, state in ((one, empty), (other, full))]
            times = {name: ([], []) for name in sides[0]}
            for _ in range(arguments.rounds):
                for name, taken in times.items():
                    for side, ask in enumerate(sides):
                        started = time.monotonic()
                        ask[name]()
                        taken[side].append(time.monotonic() - started)
            print(f"{'':20}{'empty ms':>10}{'full ms':>10}{'ratio':>8}")
            for name, (empty_times, full_times) in times.items():
                before, after = (statistics.median(taken) * 1000 for taken in (empty_times, full_times))
                print(f"{name:20}{before:10.1f}{after:10.1f}{after / before:8.2f}")


if __name__ == "__main__":
    main()
