"""Runs tests with ctest in one build tree, and reads what came of each case.

ctest tells of its tests in a JUnit file. A test that is a suite tells of its cases in a file of its
own (tests/support/case_report.py and .cc), which also names the case that was running when a suite
was killed.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree as xml

from outcome import FAILED, PASSED, SKIPPED, Outcome

# Tests of these kinds are not tried again: that they fail sometimes is the bug.
NEVER_AGAIN = {"containment", "durability"}


class Tree:
    """One configured build tree, and as whom its tests run."""

    def __init__(self, directory, user="", prefix=(), environment=None):
        self.directory = pathlib.Path(directory)
        self.user = user
        self._prefix = list(prefix)
        self._environment = environment if environment is not None else dict(os.environ)
        self._reports = self.directory / "Testing" / "cases"

    def labels(self, *selection):
        """Name of each test that is selected, with its labels."""
        listed = self._ctest("--show-only=json-v1", *selection, quiet=True)
        tests = json.loads(listed.stdout)["tests"]
        return {test["name"]: frozenset(_property(test, "LABELS")) for test in tests}

    def run(self, jobs, *selection, only=None):
        """Outcomes of all cases of the tests that are selected; with `only` of that case alone."""
        labels = self.labels(*selection)
        self._forget_reports()
        with tempfile.TemporaryDirectory(prefix="hutch-gate-", dir="/tmp") as directory:
            os.chmod(directory, 0o777)  # an ordinary user's ctest writes there
            junit = pathlib.Path(directory) / "junit.xml"
            environment = {"HUTCH_TEST_ONLY": only} if only else {}
            ended = self._ctest("--output-junit", str(junit), "--no-tests=error", "-j", str(jobs),
                                "--test-output-size-passed", "65536", "--test-output-size-failed", "262144",
                                "--test-output-truncation", "head",
                                *selection, environment=environment)
            elements = xml.parse(junit).getroot().iter("testcase") if junit.exists() else ()
            outcomes = []
            for element in elements:
                outcomes += self._outcomes_of(element, labels.get(element.get("name"), frozenset()))
            return outcomes + self._untold(outcomes, labels, ended.returncode)

    def run_again(self, outcome):
        """The one case again, or the whole suite if that failed, with nothing beside it. It passes
        only when it itself passed, and nothing else failed with it."""
        again = self.run(1, "-R", f"^{re.escape(outcome.test)}$", only=outcome.case)
        bad = [other for other in again if other.state == FAILED]
        good = [other for other in again if other.state == PASSED and outcome.case in (None, other.case)]
        state = FAILED if bad or not good else PASSED
        text = "\n".join(other.text for other in bad) or "it was not run again"
        return Outcome(outcome.test, outcome.case, state, sum(other.seconds for other in again),
                       text if state == FAILED else "", outcome.labels, self.user)

    def _outcomes_of(self, element, labels):
        test, seconds = element.get("name"), float(element.get("time") or 0)
        output = element.findtext("system-out") or ""
        whole = Outcome(test, None, _state(element), seconds, output, labels, self.user)
        if whole.state == SKIPPED:
            whole.text = _reason(element, output)
        cases, complete = self._cases_of(test, labels)
        if not cases:
            return [whole]
        if not complete:
            whole.state, whole.text = FAILED, "the suite ended before all its cases had run\n" + whole.text
        if whole.state == FAILED and not (complete and any(case.state == FAILED for case in cases)):
            return [*cases, whole]  # the suite, not one of its cases: killed, or refused to end
        return cases

    def _untold(self, outcomes, labels, code):
        """Returns what ctest selected and says nothing of, and an end of its own that no failure explains."""
        told = {outcome.test for outcome in outcomes}
        missing = [Outcome(test, None, FAILED, 0, "ctest says nothing of it", labels[test], self.user)
                   for test in labels if test not in told]
        if not labels:
            missing = [Outcome("ctest", None, FAILED, 0, "no test was selected", user=self.user)]
        elif code != 0 and not missing and not any(outcome.state == FAILED for outcome in outcomes):
            missing = [Outcome("ctest", None, FAILED, 0, f"ctest ended with {code}", user=self.user)]
        return missing

    def _cases_of(self, test, labels):
        """Returns what the suite has told of its cases, and whether it told of all."""
        report = self._reports / f"{test}.jsonl"
        if not report.exists():
            return [], False
        cases, running, collected = [], None, None
        for line in report.read_text().splitlines():
            try:
                told = json.loads(line)
            except ValueError:
                break  # the suite was killed while it wrote this
            if "collected" in told:
                collected = told["collected"]
            elif "started" in told:
                running = told["started"]
            else:
                running = None
                cases.append(Outcome(test, told["name"], told["outcome"], told["seconds"], told["text"],
                                     labels, self.user))
        if running:
            cases.append(Outcome(test, running, FAILED, 0, "the suite was ended while this case ran",
                                 labels, self.user))
        return cases, not running and collected == len(cases)

    def _forget_reports(self):
        self._reports.mkdir(parents=True, exist_ok=True)
        owner = self.directory.stat()  # who runs the tests writes there
        for directory in (self._reports.parent, self._reports):
            os.chown(directory, owner.st_uid, owner.st_gid)
        for report in self._reports.glob("*.jsonl"):
            report.unlink()

    def _ctest(self, *arguments, quiet=False, environment=None):
        command = [*self._prefix, "ctest", "--test-dir", str(self.directory), *arguments]
        return subprocess.run(command, env={**self._environment, **(environment or {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if quiet else None,
                              text=True, check=quiet)


def _property(test, name):
    return next((p["value"] for p in test.get("properties", []) if p["name"] == name), [])


def _state(element):
    if element.find("skipped") is not None:
        # ctest's word for what could not be started, too: that is a failure.
        return SKIPPED if element.get("status") == "notrun" and not _not_found(element) else FAILED
    return PASSED if element.get("status") == "run" else FAILED


def _not_found(element):
    message = element.find("skipped").get("message") or ""
    return "SKIP_" not in message


def _reason(element, output):
    """Returns what the test said as it skipped: GoogleTest's message, or the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith(("[", "Note:", "Running main"))]
    messages = [line for line in said if not re.match(r".*\.cc:\d+: Skipped$", line)]
    return messages[0] if messages else (lines[-1] if lines else element.find("skipped").get("message", ""))
