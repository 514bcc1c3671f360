"""Judges what a run of the suite has shown: stricter than the suite, for which warnings and empty scenarios
have passed."""

import collections
import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent


class Verdict:
    """The verdict on one scenario: `problems` is empty when it has passed.

    `may_skip`: it has to skip something. `left_out`: checks that cannot pass here.
    """

    def __init__(self, scenario, checks, may_skip=False, left_out=()):
        self.scenario = scenario
        self.counts = collections.Counter(
            "left out" if check["id"] in left_out else check["status"] for check in checks)
        self.problems = [
            f'{check["status"]} {check["id"]}: '
            f'{check.get("errorMessage") or check.get("description")}'
            for check in checks
            if check["status"] in ("FAILURE", "WARNING", "" if may_skip else "SKIPPED")
            and check["id"] not in left_out]
        good = [check["id"] for check in checks if check["status"] == "SUCCESS"]
        self.problems += [f"{name} is left out, and passes" for name in left_out if name in good]
        if may_skip and self.counts["SKIPPED"] == 0:
            self.problems.append("is named in expected-skips.txt, and skips nothing")
        if not may_skip and not good:
            self.problems.append("has checked nothing")

    def __str__(self):
        word = "FAILED" if self.problems else "passed" if self.counts["SUCCESS"] else "skipped"
        counted = ", ".join(f"{count} {status.lower()}"
                            for status, count in sorted(self.counts.items()) if status != "INFO")
        return f"{word:8}{self.scenario:50}{counted}"


def expected_skips():
    lines = (HERE / "expected-skips.txt").read_text().splitlines()
    return {line.split()[0] for line in lines if line and not line.startswith("#")}


def read_verdicts(directory, left_out=()):
    """Returns those on all scenarios whose results lie in the directory, in the order they ran."""
    may_skip = expected_skips()
    verdicts = []
    for path in sorted(pathlib.Path(directory).glob("*/checks.json"),
                       key=lambda path: path.parent.name[-24:]):
        scenario = re.fullmatch(r"(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", path.parent.name)[1]
        verdicts.append(Verdict(scenario, json.loads(path.read_text()),
                                scenario in may_skip, left_out))
    return verdicts
