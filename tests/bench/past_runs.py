"""What a past of a million runs costs: the same calls on an empty database and on a full one, in turns.

    tests/bench/past_runs.py [--runs N] [--rounds N]

The past is written straight into the database, as sessions of one principal that are deleted or stand, with runs that
nobody has read. Each ratio is of medians; the aim is 1.2 at most.
"""

import argparse
import contextlib
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))

from http_server import Server, token  # noqa: E402
from principals import Caller  # noqa: E402

PAST_SESSIONS, DAY_MS = 1000, 86_400_000


def like(rows, table, made):
    """Inserts copies of the newest row of the table, each with what `made` gives."""
    names = [row[1] for row in rows.execute(f"PRAGMA table_info({table})")]
    model = dict(zip(names, rows.execute(f"SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()))
    marks = ", ".join("?" * len(names))
    rows.executemany(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})",
                     ([{**model, **changes}[name] for name in names] for changes in made))


def fill(state, runs):
    now = int(time.time() * 1000)
    with contextlib.closing(sqlite3.connect(f"{state}/hutch.db", timeout=60)) as rows, rows:
        ids = [f"session_past{number:08}" for number in range(PAST_SESSIONS)]
        like(rows, "sessions", ({"id": id, "name": None, "status": "destroyed" if place % 2 else "stopped",
                                 "created_at": now - DAY_MS, "last_used_at": now - DAY_MS}
                                for place, id in enumerate(ids)))
        like(rows, "runs", ({"id": f"run_past{number:09}", "session_id": ids[number % PAST_SESSIONS],
                             "created_at": now - DAY_MS + number // 100} for number in range(runs)))


def seconds_of(call):
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        sides = []
        for runs in (0, options.runs):
            state = tempfile.mkdtemp(prefix="hutch-past-")
            stack.callback(shutil.rmtree, state, ignore_errors=True)
            with Server(state, no_auth=False) as first:  # makes the tables, and a row of each kind
                secret = token(state)
                call = Caller(first, secret)
                session = call("create_session")["structuredContent"]["session_id"]
                call("run_code", code="1", session_id=session)
            if runs:
                fill(state, runs)
            server = stack.enter_context(Server(state, no_auth=False))
            call = Caller(server, secret)
            metrics = token(state, "--scope", "metrics")

            def ask_metrics(server=server, metrics=metrics):
                status, _, body = server.request("GET", "/metrics", headers={"Authorization": f"Bearer {metrics}"})
                assert status == 200, body

            def create(call=call):
                made = call("create_session")["structuredContent"]["session_id"]
                call("delete_session", session_id=made)

            sides.append({"list_sessions": lambda call=call: call("list_sessions"),
                          "get_run without an id": lambda call=call, session=session: call("get_run", session_id=session),
                          "/metrics": ask_metrics, "create and delete": create})
        print(f"{options.runs} runs of the past; medians of {options.rounds} in turns")
        for name in sides[0]:
            taken = [[], []]
            for _ in range(options.rounds):
                for side, into in zip(sides, taken):
                    into.append(seconds_of(side[name]) * 1000)
            empty, full = map(statistics.median, taken)
            print(f"{name:<24} {empty:8.2f} ms empty {full:8.2f} ms full   {full / empty:.2f}", flush=True)


if __name__ == "__main__":
    main()
