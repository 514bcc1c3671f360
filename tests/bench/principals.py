"""How much a principal that floods the server slows another one's warm run.

    tests/bench/principals.py [--calls N] [--pause-ms N] [--sessions N] [--rate N] [--only KIND]

The calls alone and those beside the flood alternate in blocks, so that whatever else the machine does meets both. The
flooders (flood.py) run at nice 19 and do not wait for answers; the processor time that they took is told, as it is not
the server's. The aim is twice the median and four times the 99th percentile of alone.
"""

import argparse
import collections
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))

from flood import KINDS  # noqa: E402
from http_server import Server, modern, token  # noqa: E402

BLOCKS = 4
# So many requests a second; uploads are 4 MB each.
RATES = {"run_code": 500, "hogs": 20, "metrics": 500, "uploads": 40, "lists": 500}


class Caller:
    """One kept connection that calls tools."""

    def __init__(self, server, secret):
        self.connection = server.connection(timeout=120)
        self.secret = secret

    def __call__(self, tool, **arguments):
        message, fields = modern(1, "tools/call", {"name": tool, "arguments": arguments})
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "Authorization": f"Bearer {self.secret}", **fields}
        self.connection.request("POST", "/mcp", json.dumps(message), headers)
        answer = self.connection.getresponse().read()
        if not answer.startswith(b"{"):
            answer = answer.rpartition(b"data:")[2].strip()
        return json.loads(answer)["result"]


def percentile(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def measure(quiet, session, calls, pause, into, failures):
    for _ in range(calls):
        started = time.monotonic()
        answer = quiet("run_code", code="x + 1", session_id=session)
        into.append((time.monotonic() - started) * 1000)
        failures += [answer] if answer.get("isError") else []
        time.sleep(pause)


def end_runs(loud):
    for session in loud("list_sessions")["structuredContent"]["sessions"]:
        for run in session.get("active_runs", []):
            loud("cancel_run", run_id=run["run_id"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=400, help="for each kind, on each side")
    parser.add_argument("--pause-ms", type=float, default=10)
    parser.add_argument("--sessions", type=int, default=60)
    parser.add_argument("--only", choices=[*KINDS, "all"], action="append")
    options = parser.parse_args()
    state = tempfile.mkdtemp(prefix="hutch-principals-")
    with Server(state, no_auth=False) as server:
        secrets = {name: token(state, "--principal", name) for name in ("quiet", "loud")}
        quiet, loud = (Caller(server, secrets[name]) for name in ("quiet", "loud"))
        session = quiet("create_session")["structuredContent"]["session_id"]
        quiet("run_code", code="x = 1", session_id=session)
        floods = [loud("create_session")["structuredContent"]["session_id"] for _ in range(options.sessions)]
        print(f"{'beside':<10} {'alone p50':>9} {'p99':>7} {'beside p50':>11} {'p99':>8}  ms   ratios  what the flood got")
        for kind in options.only or [*KINDS, "all"]:
            kinds = list(KINDS) if kind == "all" else [kind]
            alone, beside, failures, got, seconds = [], [], [], collections.Counter(), 0.0
            for _ in range(BLOCKS):
                measure(quiet, session, options.calls // BLOCKS, options.pause_ms / 1000, alone, failures)
                flood = subprocess.Popen(
                    [sys.executable, str(HERE / "flood.py"), *map(str, server.address), secrets["loud"],
                     ",".join(kinds), str(sum(RATES[one] for one in kinds)), *floods],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                measure(quiet, session, options.calls // BLOCKS, options.pause_ms / 1000, beside, failures)
                told = json.loads(flood.communicate()[0])
                got.update(told["answers"])
                seconds += told["processor_seconds"]
                end_runs(loud)
            middle = percentile(beside, .5) / percentile(alone, .5)
            end = percentile(beside, .99) / percentile(alone, .99)
            print(f"{kind:<10} {percentile(alone, .5):>9.2f} {percentile(alone, .99):>7.2f} {percentile(beside, .5):>11.2f} "
                  f"{percentile(beside, .99):>8.2f}      {middle:.2f} {end:.2f}  {dict(got)}; {seconds:.1f} s of processor;"
                  f" {len(failures)} failed", flush=True)
    shutil.rmtree(state, ignore_errors=True)


if __name__ == "__main__":
    main()
