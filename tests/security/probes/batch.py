"""Runs probes inside a box, each in a forked child with a deadline, and writes one JSON line each.

Usage: batch.py FACTS.json RESULTS NAME... (all probes without names). A child that dies, hangs or raises
has not shown containment: that is BROKEN, but for the signal its probe expects.
"""

import json
import os
import select
import signal
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True

from probes import all_probes  # noqa: E402

SECONDS_PER_PROBE = 15


def run_child(entry, facts, out):
    try:
        verdict = entry.run(facts)
        if not (isinstance(verdict, tuple) and verdict[0] in ("CONTAINED", "ESCAPED")):
            verdict = ("BROKEN", f"no verdict: {verdict!r}")
    except BaseException:
        verdict = ("BROKEN", traceback.format_exc(limit=-3))
    os.write(out, json.dumps(verdict).encode())


def run_one(entry, facts):
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(SECONDS_PER_PROBE)
            run_child(entry, facts, there)
        finally:
            os._exit(0)
    os.close(there)
    said = b""
    deadline = time.monotonic() + SECONDS_PER_PROBE
    while True:
        ready, _, _ = select.select([here], [], [], max(0, deadline - time.monotonic()))
        piece = os.read(here, 65536) if ready else b""
        said += piece
        if not piece:
            break
    os.close(here)
    if not said:
        # Something the probe started may hold the pipe; the probe itself is what counts.
        os.kill(pid, signal.SIGKILL) if not ready else None
    _, status = os.waitpid(pid, 0)
    if said:
        return json.loads(said)
    died = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "silently"
    if entry.death is not None and died == entry.death:
        return "CONTAINED", f"ended by {died}"
    return "BROKEN", f"ended: {died}"


def main(facts_path, results_path, names):
    with open(facts_path) as file:
        facts = json.load(file)
    table = all_probes()
    with open(results_path, "w") as results:
        for name in names or table:
            verdict, text = run_one(table[name], facts)
            results.write(json.dumps({"probe": name, "verdict": verdict, "text": text[:2000]}) + "\n")
            results.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
