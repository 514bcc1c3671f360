"""Many sessions of many principals, asked for by many clients at once: what each got, and what is left.

    tests/bench/crowd.py [--sessions N] [--principals N] [--clients N]

A session that was not made has to have been refused for want of capacity (429 or 503 with Retry-After). None may be
left in the state `error`, and nothing that was refused may be left at all.
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from http_server import Server, token  # noqa: E402

PATIENCE_SECONDS = 600


def make(server, secret):
    """How it ended: made, capacity, or what was said; and the seconds."""
    started = time.monotonic()
    status, fields, body = server.request(
        "POST", "/sandboxes", json.dumps({"templateID": "base", "timeout": 3600}),
        {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}, timeout=PATIENCE_SECONDS)
    taken = time.monotonic() - started
    if status == 201:
        return "made", taken
    if status in (429, 503) and fields["Retry-After"]:
        return f"refused with {status}, to be tried again", taken
    return f"{status}: {body.decode(errors='replace')[:200]}", taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=1500)
    parser.add_argument("--principals", type=int, default=50)
    parser.add_argument("--clients", type=int, default=500)
    options = parser.parse_args()
    state = tempfile.mkdtemp(prefix="hutch-crowd-")
    with Server(state, no_auth=False) as server:
        secrets = [token(state, "--principal", f"p{number}") for number in range(options.principals)]
        wanted = [secrets[number % options.principals] for number in range(options.sessions)]
        begun = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(options.clients) as clients:
            ended = list(clients.map(lambda secret: make(server, secret), wanted))
        seconds = time.monotonic() - begun
        counts = collections.Counter(how for how, _ in ended)
        taken = sorted(taken for how, taken in ended if how == "made") or [0]
        for how, count in counts.most_common():
            print(f"{count:>6}  {how}")
        print(f"in {seconds:.1f} s; of those made: median {taken[len(taken) // 2]:.1f} s, longest {taken[-1]:.1f} s")
        rows = sqlite3.connect(f"file:{state}/hutch.db?mode=ro", uri=True)
        left = collections.Counter(status for (status,) in rows.execute(
            "SELECT status FROM sessions WHERE principal_id != 'spare'"))
        rows.close()
        print("sessions in the database:", dict(left))
        directories = len(list(pathlib.Path(state, "sessions").iterdir()))
        print("directories of sessions:", directories)
        others = [how for how in counts if how != "made" and not how.startswith("refused")]
        bad = bool(others) or left["error"] > 0 or directories > counts["made"]
    shutil.rmtree(state, ignore_errors=True)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
