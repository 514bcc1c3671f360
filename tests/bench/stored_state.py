"""Measures what stored state costs, and what it gives: sessions beside the same ones that store nothing, and beside a Jupyter kernel that runs its cells again.

    tests/bench/stored_state.py [--pairs N] [--frame-mb N]

Both servers are this build; one has `autosave_mb = 0`. Calls alternate, and who is first, too. Medians in milliseconds. After
each cell of a loop is a moment in which nothing runs, as long as a session waits before it stores what has changed: so every
cell but the first comes after a snapshot, or during one. How many there were is told.

The aims: such a cell takes at most 1.05 times as long as without stored state, and one in a loop without moments does, and so
does a new session to its first print; snapshots were stored after half of the cells at least; a small session answers 60 ms
after it was stored and one with a large frame 200 ms, each sooner than a new Jupyter kernel that runs the cells again; a
stored session has no process. The status is 1 when one is missed.
"""

import argparse
import pathlib
import random
import re
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "support"))
sys.path.insert(0, str(HERE))

import other_sandboxes  # noqa: E402
from aims import Aims  # noqa: E402
from boxes import boxes_of, until  # noqa: E402
from http_server import HttpClient, Server  # noqa: E402
from two_builds import processes_of, pss_kb  # noqa: E402

CELLS = ["import json, math", "rows = [{'n': n, 's': str(n)} for n in range(1000)]", "def total(): return sum(r['n'] for r in rows)", "t = total()"]
CELL = "t += 1; total()"
IDLE_SECONDS = float(re.search(r"^IDLE_SECONDS = ([\d.]+)", (ROOT / "sandbox/runners/python/snapshots.py").read_text(), re.M)[1])
JITTER_SECONDS = 0.1  # cells come at any time of a snapshot
TIMES = 1.05
SMALL_MS, LARGE_MS = 60, 200
MEGABYTES_LEAST = 5  # in a session that lives
SNAPSHOTS_LEAST = 0.5  # a part of the cells that have a moment after them


class Side:
    def __init__(self, folder, name, settings):
        config = folder / f"{name}.toml"
        config.write_text("[session]\n" + settings)
        self.state = str(folder / name)
        self.server = Server(self.state, "--config", str(config), env={"HUTCH_ZYGOTE": "1"})
        self.client = HttpClient(self.server)
        self.session = self.make()

    def make(self):
        return self.client.call("create_session")["session_id"]

    def run(self, code, session=None):
        ran = self.client.call("run_code", code=code, session_id=session or self.session)
        assert ran["status"] == "completed", ran
        return ran

    def snapshot(self):
        """Which one there is; None: none."""
        try:
            found = pathlib.Path(self.state, "sessions", self.session, "state/python").stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns


def milliseconds(action):
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def in_turns(pairs, sides, action, between=lambda: None):
    """The median of each side, and of the ratios of each pair; `between` comes after each action, and is no part of its time."""
    times = [[], []]
    for number in range(pairs):
        for which in ((0, 1), (1, 0))[number % 2]:
            times[which].append(milliseconds(lambda: action(sides[which])))
            between()
    return statistics.median(times[0]), statistics.median(times[1]), statistics.median(a / b for a, b in zip(*times))


def told(aims, what, pair):
    print(f"{what:48} {pair[0]:8.1f} {pair[1]:8.1f}   ratio {pair[2]:.2f}", flush=True)
    aims.at_most(f"the ratio of: {what}", pair[2], TIMES)


def compare_loops(aims, sides, pairs):
    for side in sides:
        for cell in CELLS:
            side.run(cell)
    told(aims, "warm cell, one after the other", in_turns(pairs, sides, lambda side: side.run(CELL)))
    seen, chance = [], random.Random(1)

    def moment():
        time.sleep(IDLE_SECONDS + chance.random() * JITTER_SECONDS)
        seen.append(sides[0].snapshot())

    told(aims, f"warm cell, {IDLE_SECONDS:g} s and more apart", in_turns(pairs, sides, lambda side: side.run(CELL), moment))
    snapshots = len(set(seen) - {None})
    print(f"  snapshots that were stored in that loop: {snapshots} of {pairs} cells", flush=True)
    aims.that(snapshots >= SNAPSHOTS_LEAST * pairs, f"only {snapshots} snapshots were stored in {pairs} cells: what was measured is not their cost")
    aims.that(sides[1].snapshot() is None, "the side that is to store nothing has a snapshot")
    told(aims, "new session to first print", in_turns(max(1, pairs // 4), sides, lambda side: side.run("print(1)", side.make())))


def rest(side, session):
    side.client.call("pause_session", session_id=session)
    until(lambda: session not in boxes_of(side.state), what="the end of the box")


def woken(side, code, look, times):
    """Milliseconds to the first answer of a session that is stored."""
    session = side.make()
    side.run(code, session)
    found = []
    for _ in range(times):
        rest(side, session)
        found.append(milliseconds(lambda: side.run(look, session)))
    return statistics.median(found)


def compare_waking(aims, side, kernel, what, cells, most_ms):
    code, look, times = cells
    ours = woken(side, code, look, times)
    print(f"{f'woken to first answer, {what}':48} {ours:8.1f}", flush=True)
    aims.at_most(f"milliseconds until a stored session answers, {what}", ours, most_ms)
    if kernel is None:
        aims.that(False, f"there is no Jupyter kernel here to be beside, {what}")
        return
    theirs = statistics.median(kernel.first(f"{code}\n{look}") * 1000 for _ in range(times))
    print(f"{'  a new Jupyter kernel that runs the cells again':48} {theirs:8.1f}   ratio {ours / theirs:.2f}", flush=True)
    aims.at_most(f"the ratio to a new Jupyter kernel, {what}", ours / theirs, 1)


def look_at_memory(aims, side, frame):
    session = side.make()
    side.run(frame, session)
    alive = processes_of(side.state, session)
    megabytes = pss_kb(alive) / 1024
    aims.that(megabytes > MEGABYTES_LEAST, f"only {megabytes:.1f} MB were found of a session that lives: what is left of it was not seen either")
    rest(side, session)
    left, deadline = alive, time.monotonic() + 5  # a process that has ended is reaped a moment later
    while left and time.monotonic() < deadline:
        left = [pid for pid in left if pathlib.Path(f"/proc/{pid}").exists()]
    print(f"{'memory of that session, MB: alive, stored':48} {megabytes:8.1f} {pss_kb(left) / 1024:8.1f}")
    aims.that(not left, f"{len(left)} processes of a stored session live on")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--frame-mb", type=int, default=500)
    options = parser.parse_args()
    aims = Aims()
    frame = f"import numpy as np, pandas as pd\nframe = pd.DataFrame(np.ones(({options.frame_mb} << 17, 1)))"
    with tempfile.TemporaryDirectory(prefix="hutch-bench-") as folder:
        sides = [Side(pathlib.Path(folder), "stores", ""), Side(pathlib.Path(folder), "forgets", "autosave_mb = 0\n")]
        kernel = other_sandboxes.jupyter()
        try:
            print(f"{'':48} {'stores':>8} {'forgets':>8}")
            compare_loops(aims, sides, options.pairs)
            compare_waking(aims, sides[0], kernel, "small", ("\n".join(CELLS), "t", 10), SMALL_MS)
            compare_waking(aims, sides[0], kernel, f"{options.frame_mb} MB frame", (frame, "float(frame.iloc[5, 0])", 5), LARGE_MS)
            look_at_memory(aims, sides[0], frame)
        finally:
            if kernel:
                kernel.close()
            for side in sides:
                side.server.__exit__(None, None, None)
    aims.end()


if __name__ == "__main__":
    main()
