"""SQL over a million rows beside plain DuckDB, in one run: CSV, Parquet and a DataFrame of the session's Python.

    tests/bench/sql_engines.py [--rounds N] [--rows N] [--binary FILE]

The other side is a Python of the same environment outside of any sandbox that has imported DuckDB, with the same
threads, and is told the query over a pipe: each answer is asked for and fetched by both in turn.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from lean_client import LeanClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import environments  # noqa: E402

MAKE = """
import numpy as np, pandas as pd
rng = np.random.default_rng(1)
frame = pd.DataFrame({"id": np.arange(ROWS), "kind": rng.choice(["a", "b", "c"], ROWS), "amount": rng.normal(size=ROWS),
                      "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, ROWS), unit="D")})
frame.to_csv("data.csv", index=False)
frame.to_parquet("data.parquet")
"""
QUERY = "SELECT kind, count(*) AS n, round(sum(amount), 3) AS total, max(day) AS last FROM {} GROUP BY kind ORDER BY kind"
SOURCES = {"CSV": "'data.csv'", "Parquet": "'data.parquet'", "DataFrame": "frame"}
PLAIN = """
import sys, duckdb, pandas as pd
connection = duckdb.connect(config={"threads": THREADS})
for line in sys.stdin:
    print(len(connection.execute(line).fetchall()), flush=True)
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--binary", default=os.environ.get("HUTCH_BINARY") or str(ROOT / "build/release/bin/hutch"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hutch-bench-") as folder:
        state = os.path.join(folder, "state")
        os.mkdir(state)
        client = LeanClient(options.binary, state, {"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())})
        session = client.new_session()
        make = MAKE.replace("ROWS", str(options.rows))
        client.run(session, make, "python")
        plain = subprocess.Popen([str(environments.python()), "-c", make + PLAIN.replace("THREADS", str(min(2, os.cpu_count())))],
                                 cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        told = {}
        for name, source in SOURCES.items():
            query = QUERY.format(source)
            ours, theirs = [], []
            for _ in range(options.rounds + 1):
                begin = time.monotonic()
                client.run(session, query, "sql")
                middle = time.monotonic()
                plain.stdin.write(query + "\n")
                plain.stdin.flush()
                plain.stdout.readline()
                ours.append((middle - begin) * 1000)
                theirs.append((time.monotonic() - middle) * 1000)
            # The first of each has files to open and an engine to start.
            told[name] = (statistics.median(ours[1:]), statistics.median(theirs[1:]))
            print(f"{name:<10} hutch {told[name][0]:8.1f} ms   plain DuckDB {told[name][1]:8.1f} ms   "
                  f"ratio {told[name][0] / told[name][1]:.2f}   first {ours[0]:.1f} ms", flush=True)
        plain.stdin.close()
        plain.wait()
        client.close()
    print(json.dumps({name: round(a / b, 3) for name, (a, b) in told.items()}))


if __name__ == "__main__":
    main()
