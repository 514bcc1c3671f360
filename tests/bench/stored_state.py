"""What stored state costs, and what it gives: sessions beside the same ones that store nothing, and beside a Python that runs its cells again.

    tests/bench/stored_state.py [--pairs N] [--frame-mb N]

Both servers are this build; one has `autosave_mb = 0`. Calls alternate, and who is first, too. Medians in milliseconds.
"""

import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from boxes import boxes_of, until  # noqa: E402
from http_server import HttpClient, Server  # noqa: E402
from two_builds import pss_kb, processes  # noqa: E402

CELLS = ["import json, math", "rows = [{'n': n, 's': str(n)} for n in range(1000)]", "def total(): return sum(r['n'] for r in rows)", "t = total()"]


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
        return self.client.call("run_code", code=code, session_id=session or self.session)


def milliseconds(action):
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def in_turns(pairs, sides, action):
    """The median of each side, and of the ratios of each pair."""
    times = [[], []]
    for number in range(pairs):
        for which in ((0, 1), (1, 0))[number % 2]:
            times[which].append(milliseconds(lambda: action(sides[which])))
    return statistics.median(times[0]), statistics.median(times[1]), statistics.median(a / b for a, b in zip(*times))


def told(what, pair):
    print(f"{what:48} {pair[0]:8.1f} {pair[1]:8.1f}   ratio {pair[2]:.2f}", flush=True)


def rest(side, session):
    side.client.call("pause_session", session_id=session)
    until(lambda: session not in boxes_of(side.state), what="the end of the box")


def woken(side, code, look, times):
    """To the first answer of a session that is stored, beside a new Python outside that runs the same cells again."""
    session = side.make()
    side.run(code, session)
    found = []
    for _ in range(times):
        rest(side, session)
        found.append(milliseconds(lambda: side.run(look, session)))
    return statistics.median(found)


def again(code, times):
    return statistics.median(milliseconds(lambda: subprocess.run(["/usr/bin/python3", "-c", code], check=True)) for _ in range(times))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--frame-mb", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hutch-bench-") as folder:
        sides = [Side(pathlib.Path(folder), "stores", ""), Side(pathlib.Path(folder), "forgets", "autosave_mb = 0\n")]
        try:
            print(f"{'':48} {'stores':>8} {'forgets':>8}")
            for side in sides:
                for cell in CELLS:
                    side.run(cell)
            told("warm cell, one after the other", in_turns(options.pairs, sides, lambda side: side.run("t += 1; total()")))
            told("warm cell, a third of a second apart", in_turns(options.pairs // 4, sides, lambda side: (time.sleep(0.35), side.run("t += 1"))))
            told("new session to first print", in_turns(options.pairs // 4, sides, lambda side: side.run("print(1)", side.make())))
            print(f"{'woken to first answer, small':48} {woken(sides[0], chr(10).join(CELLS), 't', 10):8.1f}")
            print(f"{'  a new Python that runs the cells again':48} {again(chr(10).join(CELLS), 10):8.1f}")
            frame = f"import numpy as np, pandas as pd\nframe = pd.DataFrame(np.ones(({options.frame_mb} << 17, 1)))"
            print(f"{f'woken to first value, {options.frame_mb} MB frame':48} {woken(sides[0], frame, 'float(frame.iloc[5, 0])', 5):8.1f}")
            print(f"{'  a new Python that makes it again':48} {again(frame, 5):8.1f}")
            before = set(processes())
            session = sides[0].make()
            sides[0].run(frame, session)
            lives = pss_kb([pid for pid in processes() if pid not in before]) / 1024
            rest(sides[0], session)
            rests = pss_kb([pid for pid in processes() if pid not in before]) / 1024
            print(f"{'memory of that session, MB: alive, stored':48} {lives:8.1f} {rests:8.1f}")
        finally:
            for side in sides:
                side.server.__exit__(None, None, None)


if __name__ == "__main__":
    main()
