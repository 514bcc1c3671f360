"""Runs the official conformance suite against the server with its fixtures, and against hutch what
needs none. Fails on a failure, a warning, a skip that is not expected, and a missing scenario.

    run.py --fixtures build/release/bin/hutch-conformance-server --hutch build/release/bin/hutch \\
           --packages build/conformance
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile

import judge
import servers
from packages import HERE, Missing, Packages

SKIPPED = 77  # for CTest
EXPECTED_FAILURES = ["--expected-failures", str(HERE / "expected-failures.yml")]

# A run of the suite, how many scenarios it has (fewer would be a silent gap), and checks that need
# what this server does not have.
Suite = collections.namedtuple("Suite", "name version arguments scenarios left_out",
                               defaults=[()])


def suite_all(revision, scenarios):
    return Suite(f"all of {revision}", "coming",
                 ["--suite", "all", "--spec-version", revision, *EXPECTED_FAILURES], scenarios)


SUITES = [
    Suite("required by 2025-11-25", "coming", ["--requirements", "2025-11-25"], 33),
    Suite("required by 2026-07-28", "coming", ["--requirements", "2026-07-28"], 50),
    suite_all("2025-03-26", 1),
    suite_all("2025-06-18", 27),
    suite_all("2025-11-25", 33),
    suite_all("2026-07-28", 40),
    Suite("all", "coming", ["--suite", "all", *EXPECTED_FAILURES], 65),
    Suite("all, released", "released", ["--suite", "all", *EXPECTED_FAILURES], 32),
]


def without_fixtures():
    """One suite per revision and scenario that any server has to pass."""
    for line in (HERE / "without-fixtures.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            revision, scenario, *left_out = line.split()
            yield Suite(f"hutch serve, {revision}", "coming",
                        ["--scenario", scenario, "--spec-version", revision], 1, left_out)


def run(suite, url, packages):
    """Its verdicts, and what is wrong with the run as a whole."""
    with tempfile.TemporaryDirectory(prefix="conformance-") as results:
        ran = subprocess.run(
            [packages.node, getattr(packages, suite.version), "server", "--url", url,
             "--output-dir", results, *suite.arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        verdicts = judge.read_verdicts(results, suite.left_out)
    problems = []
    if ran.returncode != 0 and not suite.left_out:
        problems.append(f"the suite has ended with {ran.returncode}:\n{ran.stdout[-4000:]}")
    if len(verdicts) != suite.scenarios:
        problems.append(f"{len(verdicts)} scenarios have run, not {suite.scenarios}")
    return verdicts, problems


def run_all(suites, server, packages, table):
    """Adds rows to the table. Returns how much has failed."""
    failed = 0
    for suite in suites:
        verdicts, problems = run(suite, server.url, packages)
        print(f"== {suite.name}: {len(verdicts)} scenarios", flush=True)
        for verdict in verdicts:
            print(f"{verdict}")
            for problem in verdict.problems:
                print(f"        {problem}")
        for problem in problems:
            print(f"        {problem}")
        failed += len(problems) + sum(1 for verdict in verdicts if verdict.problems)
        row = table.setdefault(suite.name, collections.Counter())
        row["scenarios"] += len(verdicts)
        row["failed"] += sum(1 for verdict in verdicts if verdict.problems)
        for verdict in verdicts:
            row.update(verdict.counts)
    for problem in server.problems():
        print(f"        the server: {problem}")
        failed += 1
    return failed


def print_table(table):
    print(f"\n{'suite':26}{'scenarios':>10}{'failed':>8}{'checks':>8}{'passed':>8}{'skipped':>9}")
    for name, row in table.items():
        checks = sum(row[status] for status in ("SUCCESS", "FAILURE", "WARNING", "SKIPPED"))
        print(f"{name:26}{row['scenarios']:10}{row['failed']:8}{checks:8}{row['SUCCESS']:8}"
              f"{row['SKIPPED']:9}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fixtures", required=True)
    parser.add_argument("--hutch", required=True)
    parser.add_argument("--packages", required=True)
    options = parser.parse_args()
    try:
        packages = Packages(options.packages)
    except Missing as missing:
        print(f"the conformance suite cannot be had: {missing}", file=sys.stderr)
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    table = {}
    with servers.fixtures(options.fixtures) as server:
        failed = run_all(SUITES, server, packages, table)
    with servers.Hutch(options.hutch) as server:
        failed += run_all(without_fixtures(), server, packages, table)
    print_table(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
