"""How much a greedy session slows another one: warm run_code alone, and beside each greedy program.

    tests/bench/neighbours.py [--calls N] [--pause-ms N] [--only NAME] [--at-most RATIO]

For each program the calls alone and those beside it alternate in blocks, so that whatever else the
machine does meets both. Between two calls is a pause: without one (--pause-ms 0) the neighbour keeps
a processor busy itself, and what is measured is that the two share it. With --at-most a larger ratio
of the 99th percentiles is a failure.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from hutch_client import Client  # noqa: E402

BLOCKS = 4

GREEDY = {
    "CPU hogs": "for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; wait",
    "fork bomb": "f() { f & f & wait; }; while :; do f 2>/dev/null; done",
    "memory": "while :; do python3 -c \"x = bytearray(2 * 10**9)\" 2>/dev/null; done",
    "disk": "while :; do dd if=/dev/zero of=big bs=1M count=100 2>/dev/null; rm big; done",
    "output": "yes 'the same line again and again'",
    "zombies": "while :; do (true &) ; done",
}


def percentile(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def measure(client, session, calls, pause, into):
    for _ in range(calls):
        started = time.monotonic()
        client.run("x + 1", session_id=session)
        into.append((time.monotonic() - started) * 1000)
        time.sleep(pause)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=400, help="per program, on each side")
    parser.add_argument("--pause-ms", type=float, default=10, help="between two calls of the neighbour")
    parser.add_argument("--only", choices=GREEDY, action="append", help="beside this program, or more")
    parser.add_argument("--at-most", type=float, default=0)
    options = parser.parse_args()
    state = tempfile.mkdtemp(prefix="hutch-bench-")
    worst = 0
    with Client(state) as client:
        session = client.call("create_session")["session_id"]
        client.run("x = 1", session_id=session)
        print(f"{'beside':<12} {'alone p50':>10} {'p99':>8} {'beside p50':>11} {'p99':>8}   ms    ratio of p99")
        for name in options.only or GREEDY:
            alone, beside = [], []
            limits = {"processes": 64, "memory_mb": 256, "disk_mb": 200, "cpus": 2}
            greedy = client.call("create_session", limits=limits)["session_id"]
            for _ in range(BLOCKS):
                measure(client, session, options.calls // BLOCKS, options.pause_ms / 1000, alone)
                run = client.run(GREEDY[name], "bash", session_id=greedy, background=True)
                measure(client, session, options.calls // BLOCKS, options.pause_ms / 1000, beside)
                client.call("cancel_run", run_id=run["run_id"])
                client.until_ended(run["run_id"])
            client.call("delete_session", session_id=greedy)
            ratio = percentile(beside, 0.99) / percentile(alone, 0.99)
            worst = max(worst, ratio)
            print(f"{name:<12} {percentile(alone, .5):>10.2f} {percentile(alone, .99):>8.2f} "
                  f"{percentile(beside, .5):>11.2f} {percentile(beside, .99):>8.2f}         {ratio:.2f}", flush=True)
    shutil.rmtree(state, ignore_errors=True)
    if options.at_most and worst > options.at_most:
        sys.exit(f"more than {options.at_most} times as slow")


if __name__ == "__main__":
    main()
