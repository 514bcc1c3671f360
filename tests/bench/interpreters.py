"""How fast sessions start and answer, beside other sandboxes and a Jupyter kernel, in one run.

    tests/bench/interpreters.py [--rounds N] [--only a,c,f] [--seconds N] [--burst N] [--live N]
                                [--json FILE] [--binary FILE] [--set NAME=VALUE]
                                [--second-binary FILE] [--second-set NAME=VALUE] [--no-others] [--strict]

One round takes each side once, so that whatever else the machine does meets all of them; a side that
has had a minute of a measurement is given no further rounds, and the table says how many it had. All
through `hutch stdio` and a lean client. With --second-binary or --second-set another hutch, or one
with other settings in its environment, runs in the same rounds. With --strict a missed aim is a
failure.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import other_sandboxes
from lean_client import LeanClient
from sdk_client import through_the_sdk
from session_load import burst, file_throughput, live_sessions, sustained

ROOT = pathlib.Path(__file__).resolve().parents[2]
SIDE_SECONDS_MAX = 60
PRINT = "print(1)"
PANDAS = 'import pandas as pd; pd.DataFrame({"a":[1]}).sum()'
LANGUAGES = {"python": ("print(1)", "1+1"), "javascript": ("console.log(1)", "1+1"),
             "sql": ("SELECT 1", "SELECT 1+1"), "bash": ("echo 1", "echo $((1+1))")}
TEN_THOUSAND_FILES = """
import os
for folder in range(100):
    os.makedirs(f"tree/{folder}")
    for name in range(100): open(f"tree/{folder}/{name}", "w").close()
"""
TEN_MEGABYTES = "for _ in range(1000): print('x' * 9999)"
# Each names a measure, the other side, and how much the ratio may be at most.
RATIO_AIMS = [("a", "bwrap", 1 / 3), ("a", "runc", 1 / 10), ("b", "bwrap", 1 / 40), ("c", "Jupyter", 1 / 3),
              ("d: bash, new session", "bwrap", 1.5), ("d: bash, warm", "bwrap", 1 / 2),
              ("d: javascript, new session", "bwrap", 1), ("d: javascript, warm", "bwrap", 1 / 10),
              ("d: sql, new session", "bwrap", 1 / 2)]
TITLES = {"a": "new session to first print(1)", "b": "the same with pandas", "c": "warm 1+1",
          "d": "other languages", "e": "burst of sessions", "f": "sessions a minute",
          "g": "memory of a session", "h": "10 MB of output", "i": "file throughput",
          "j": "warm 1+1 with 10,000 files in the workspace"}


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.times = {}  # measurement -> side -> milliseconds
        self.facts = {}  # measurement -> side -> numbers of other kinds
        self.aims = []
        self.sides = {"hutch": self._start("hutch", options.binary, options.set)}
        if options.second_binary or options.second_set:
            self.sides["second"] = self._start("second", options.second_binary or options.binary, options.second_set)
        wanted = set(options.only)
        with_others = not options.no_others
        self.one_shots = other_sandboxes.one_shots(folder) if with_others and wanted & set("abcdh") else []
        self.jupyter = other_sandboxes.jupyter() if with_others and wanted & set("abc") else None
        self.sdk = self._start_sdk(options) if with_others and wanted & set("acd") else None

    def _start(self, name, binary, settings):
        state = os.path.join(self.folder, name)
        os.mkdir(state)
        return LeanClient(binary, state, dict(setting.split("=", 1) for setting in settings))

    def _start_sdk(self, options):
        state = os.path.join(self.folder, "sdk")
        os.mkdir(state)
        return through_the_sdk(options.binary, state, dict(setting.split("=", 1) for setting in options.set))

    def close(self):
        for client in (*self.sides.values(), *filter(None, [self.sdk])):
            client.close()
        if self.jupyter:
            self.jupyter.close()

    def compare(self, what, measures, rounds=None, pause=True):
        """`measures` are functions by side that give seconds; each round calls each once."""
        times = self.times.setdefault(what, {})
        for _ in range(rounds or self.options.rounds):
            for side, measure in measures.items():
                taken = times.setdefault(side, [])
                if sum(taken) < SIDE_SECONDS_MAX * 1000:
                    if pause:
                        settle()
                    taken.append(measure() * 1000)
        self.show(what)

    def show(self, what):
        ours = statistics.median(self.times[what]["hutch"])
        print(f"\n({what[0]}) {TITLES[what[0]]}{what[1:]}")
        for side, taken in self.times[what].items():
            taken = sorted(taken)
            median, late = statistics.median(taken), taken[int(0.99 * (len(taken) - 1))]
            print(f"    {side:<12} median {median:9.2f} ms   p99 {late:9.2f}   n {len(taken):4}"
                  f"   hutch takes {ours / median:.3f} of it", flush=True)

    def fact(self, what, side, **numbers):
        self.facts.setdefault(what, {})[side] = numbers
        words = ", ".join(f"{name.replace('_', ' ')} {value:,.1f}" for name, value in numbers.items())
        print(f"    {side:<12} {words}", flush=True)

    def aim(self, what, words, met):
        self.aims.append({"measurement": what, "aim": words, "met": bool(met)})

    def a(self):
        self._first("a", PRINT)

    def b(self):
        self._first("b", PANDAS)

    def _first(self, what, code):
        measures = {side: lambda client=client: first_answer(client, code) for side, client in self.sides.items()}
        if self.sdk:
            measures[self.sdk.name] = lambda: self.sdk.first(code)
        for other in self.one_shots:
            measures[other.name] = lambda other=other: other.one_shot(code)
        if self.jupyter:
            measures["Jupyter"] = lambda: self.jupyter.first(code)
        self.compare(what, measures)

    def c(self):
        self._warm("c", "python")

    def d(self):
        for language in ("bash", "javascript", "sql"):
            first = LANGUAGES[language][0]
            measures = {side: lambda client=client: first_answer(client, first, language)
                        for side, client in self.sides.items()}
            self.compare(f"d: {language}, new session", measures | self._beside(first, language, "first"))
            self._warm(f"d: {language}, warm", language)
        self._warm("d: bash, warm, one call after the other", "bash", pause=False)

    def _beside(self, code, language, what):
        """Measures such code through the SDK, and in a process of its own."""
        measures = {other.name: lambda other=other: other.one_shot(code, language)
                    for other in self.one_shots if other.name == "bwrap"}
        if self.sdk:
            measures[self.sdk.name] = lambda: getattr(self.sdk, what)(code, language)
        return measures

    def _warm(self, what, language, before=None, pause=True):
        first, code = LANGUAGES[language]
        first = before or first
        measures = {}
        for side, client in self.sides.items():
            session = client.new_session()
            client.run(session, first, language)
            measures[side] = lambda client=client, session=session: warm_answer(client, session, code, language)
        if what[0] in "cd":
            measures |= self._beside(code, language, "warm")
        if self.jupyter and what == "c":
            measures["Jupyter"] = lambda: self.jupyter.warm(code, 1)[0]
        self.compare(what, measures, self.options.rounds * 4, pause)

    def e(self):
        print(f"\n(e) {TITLES['e']}: {self.options.burst} at once, from the request to the first print(1)")
        for side, client in self.sides.items():
            taken, failures = burst(client, self.options.burst, PRINT)
            self.fact("e", side, median_ms=statistics.median(taken) * 1000, longest_ms=max(taken) * 1000,
                      failures=failures)
        ours = self.facts["e"]["hutch"]
        self.aim("e", "median at most 600 ms, no failure", ours["median_ms"] <= 600 and ours["failures"] == 0)

    def f(self):
        print(f"\n(f) {TITLES['f']}: create, print(1), delete, for {self.options.seconds} s, four at a time")
        for side, client in self.sides.items():
            done, failures = sustained(client, self.options.seconds, PRINT, 4)
            self.fact("f", side, a_minute=done * 60 / self.options.seconds, failures=failures)
        ours = self.facts["f"]["hutch"]
        self.aim("f", "at least 6,000 a minute on two cores", ours["a_minute"] >= 6000 and ours["failures"] == 0)

    def g(self):
        print(f"\n(g) {TITLES['g']}: {self.options.live} live ones, idle, with pandas; PSS in MiB")
        for side, client in self.sides.items():
            self.fact("g", side, **live_sessions(client, self.options.live, PANDAS))
        ours = self.facts["g"]["hutch"]
        self.aim("g", "at most 8 MiB PSS a session", ours["a_session"] <= 8)
        self.aim("g", "500 live sessions in 8 GiB", ours["fit_in_8_GiB"] >= 500)

    def h(self):
        measures = {}
        for side, client in self.sides.items():
            session = client.new_session()
            client.run(session, PRINT)
            measures[side] = lambda client=client, session=session: warm_answer(client, session, TEN_MEGABYTES, "python")
        for other in self.one_shots:
            if other.name == "plain":
                measures[other.name] = lambda other=other: other.one_shot(TEN_MEGABYTES)
        self.compare("h", measures, min(20, self.options.rounds))

    def i(self):
        print(f"\n(i) {TITLES['i']}: inside of what the same program does outside, in the same file system")
        for side, client in self.sides.items():
            self.fact("i", side, **file_throughput(client, self.folder, min(5, self.options.rounds)))
        slower = self.facts["i"]["hutch"]["large_reads"]
        self.aim("i", f"reads at 0.95 of outside or better: {1 / slower:.2f}", slower <= 1 / 0.95)

    def j(self):
        self._warm("j", "python", TEN_THOUSAND_FILES)

    def check_ratios(self):
        for what, other, most in RATIO_AIMS:
            sides = self.times.get(what, {})
            if other in sides:
                ratio = statistics.median(sides["hutch"]) / statistics.median(sides[other])
                self.aim(what, f"at most {most:.3g} of {other}: {ratio:.3f}", ratio <= most)


def settle():
    """Waits until both processors have nothing to do, two seconds at most: what a side does behind its
    answer (hutch makes its next spare session) is not to slow the next one down."""
    until = time.monotonic() + 2
    while time.monotonic() < until:
        before = idle_ticks()
        time.sleep(0.05)
        if idle_ticks() - before >= 0.8 * 0.05 * os.cpu_count() * os.sysconf("SC_CLK_TCK"):
            return


def idle_ticks():
    with open("/proc/stat") as file:
        return int(file.readline().split()[4])


def first_answer(client, code, language="python"):
    if language != "python":
        time.sleep(1)  # a spare session starts further languages when it has not been taken for half a second
    started = time.monotonic()
    session = client.new_session()
    client.run(session, code, language)
    taken = time.monotonic() - started
    client.call("delete_session", session_id=session)
    return taken


def warm_answer(client, session, code, language):
    started = time.monotonic()
    client.run(session, code, language)
    return time.monotonic() - started


def read_options():
    parser = argparse.ArgumentParser()
    built = os.environ.get("HUTCH_BINARY") or str(ROOT / "build/release/bin/hutch")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(TITLES))
    parser.add_argument("--seconds", type=int, default=60, help="of (f)")
    parser.add_argument("--burst", type=int, default=100, help="sessions of (e)")
    parser.add_argument("--live", type=int, default=50, help="sessions of (g)")
    parser.add_argument("--json", help="where the numbers go")
    parser.add_argument("--binary", default=built)
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE for hutch's environment")
    parser.add_argument("--second-binary")
    parser.add_argument("--second-set", action="append", default=[])
    parser.add_argument("--no-others", action="store_true")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    unknown = set(options.only) - set(TITLES)
    if unknown:
        parser.error(f"no measurement {', '.join(sorted(unknown))}; there are {', '.join(TITLES)}")
    return options


def main():
    options = read_options()
    folder = tempfile.mkdtemp(prefix="hutch-bench-")
    bench = Bench(options, folder)
    for what in options.only:
        getattr(bench, what)()
    bench.check_ratios()
    bench.close()
    shutil.rmtree(folder, ignore_errors=True)
    print("\nAims")
    for aim in bench.aims:
        print(f"    {'met   ' if aim['met'] else 'MISSED'} ({aim['measurement']}) {aim['aim']}")
    if options.json:
        report = {"rounds": options.rounds, "cores": os.cpu_count(), "milliseconds": bench.times, "facts": bench.facts,
                  "aims": bench.aims}
        pathlib.Path(options.json).write_text(json.dumps(report, indent=1) + "\n")
    if options.strict and not all(aim["met"] for aim in bench.aims):
        sys.exit("an aim was missed")


if __name__ == "__main__":
    main()
