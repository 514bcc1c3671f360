"""Runs tests, tries failed ones again, and says at the end what came of all of them.

  gate.py run --results FILE --preset NAME [--as-user] [--name TEXT] [--jobs N] [CTEST SELECTION...]
  gate.py note --results FILE STATE NAME FILE   one test that is no test of ctest, with its output
  gate.py summary --results FILE [--broken]     the verdict on all runs; status 1 when a test failed
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import ordinary_user  # noqa: E402
import quarantine  # noqa: E402
import report  # noqa: E402
import sanitizer_reports  # noqa: E402
from outcome import FAILED, SKIPPED, Outcome  # noqa: E402
from suites import NEVER_AGAIN, Tree  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
AGAIN_MAX = 2
# More failures than this are one cause, and trying each again would only take time.
ONE_CAUSE = 15
# The summary stands there: a Python that ends by an exception says 1.
NOT_OK = 3


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("verb", choices=("run", "note", "summary"))
    parser.add_argument("--results", required=True, type=pathlib.Path)
    parser.add_argument("--preset", default="release")
    parser.add_argument("--as-user", action="store_true")
    parser.add_argument("--broken", action="store_true")  # something failed that is not in the results
    parser.add_argument("--name", default="")
    # Tests wait for boxes more than they compute.
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 1) + 3)
    options, rest = parser.parse_known_args()
    if options.verb == "run":
        run(options, rest)
    elif options.verb == "note":
        state, name, output = rest
        text = pathlib.Path(output).read_text(errors="replace")
        if state == SKIPPED:
            text = text.strip().rpartition("\n")[2]
        _append(options.results, [[Outcome(name, None, state, 0, text)]])
    else:
        sys.exit(summary(options))


def run(options, selection):
    with contextlib.ExitStack() as stack:
        if options.as_user:
            tree = stack.enter_context(ordinary_user.tree_of(TOP, options.preset))
        else:
            tree = Tree(TOP / "build" / options.preset, user=options.name)
        entries = quarantine.read(TOP / "tests/quarantine.txt")
        sanitizer_reports.forget(tree.directory)
        tried = [[outcome] for outcome in tree.run(options.jobs, *selection)]
        _try_again(tree, tried, entries)
        # That what failed passed in the end does not take back what it has reported.
        tried += [[outcome] for outcome in sanitizer_reports.outcomes(tree.directory, tree.user)]
    _append(options.results, tried)


def _try_again(tree, tried, entries):
    failed = [outcomes for outcomes in tried if outcomes[0].state == FAILED and outcomes[0].name not in entries]
    if len(failed) > ONE_CAUSE:
        return
    for outcomes in failed:
        while outcomes[-1].state == FAILED and len(outcomes) <= AGAIN_MAX and \
                not outcomes[0].labels & NEVER_AGAIN:
            print(f"\n== Again, alone: {outcomes[0].title}", flush=True)
            outcomes.append(tree.run_again(outcomes[0]))


def summary(options):
    results = options.results.read_text() if options.results.exists() else ""
    tried = [_outcomes_in(line) for line in results.splitlines()]
    if options.broken:
        tried.append([Outcome("tests/run.sh", None, FAILED, 0, "a step failed, and could not be written down")])
    try:
        entries = quarantine.read(TOP / "tests/quarantine.txt")
        wrong = quarantine.wrong_entries(entries, Tree(TOP / "build" / options.preset), TOP) if entries else []
    except (SystemExit, subprocess.CalledProcessError, OSError) as why:
        entries, wrong = {}, [str(why)]
    verdict = report.Verdict(tried, entries, wrong)
    print(report.text(verdict), flush=True)
    return 0 if verdict.ok else NOT_OK


def _outcomes_in(line):
    try:
        return [Outcome(**{**one, "labels": frozenset(one["labels"])}) for one in json.loads(line)]
    except (ValueError, TypeError, KeyError):  # a full disk, or killed while it wrote
        return [Outcome("tests/run.sh", None, FAILED, 0, f"a result that cannot be read: {line[:200]}")]


def _append(results, tried):
    with open(results, "a") as file:
        for outcomes in tried:
            file.write(json.dumps([{**vars(o), "labels": sorted(o.labels)} for o in outcomes]) + "\n")


if __name__ == "__main__":
    main()
