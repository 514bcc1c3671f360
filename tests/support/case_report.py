"""Tells the gate of each case of a suite as it ends, so that a suite that hangs loses none of them.

With HUTCH_TEST_REPORT=FILE the suite writes lines of JSON: {"collected"}, how many cases it will run;
for each {"started"} and {"name", "outcome", "seconds", "text"}. With HUTCH_TEST_ONLY=NAME only that
case is run.
"""

import json
import os

REPORT = os.environ.get("HUTCH_TEST_REPORT")
ONLY = os.environ.get("HUTCH_TEST_ONLY")
WORSE = ("passed", "skipped", "failed")  # a case is as its worst part: set-up, call, tear-down

_cases = {}


def pytest_configure(config):
    if REPORT:  # the gate makes its directory, but ctest alone does not
        os.makedirs(os.path.dirname(REPORT), exist_ok=True)


def pytest_collection_modifyitems(config, items):
    if ONLY:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid != ONLY])
        items[:] = [item for item in items if item.nodeid == ONLY]


def pytest_collection_finish(session):
    _tell({"collected": len(session.items)})


def pytest_runtest_logstart(nodeid):
    _tell({"started": nodeid})


def pytest_runtest_logreport(report):
    case = _cases.setdefault(report.nodeid, {"name": report.nodeid, "outcome": "passed",
                                             "seconds": 0.0, "text": ""})
    case["seconds"] = round(case["seconds"] + report.duration, 3)
    if hasattr(report, "wasxfail"):  # a limit that is known and told: it is as the test says
        return
    if WORSE.index(report.outcome) > WORSE.index(case["outcome"]):
        case["outcome"] = report.outcome
    if report.skipped:
        case["text"] = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    elif report.failed:
        case["text"] += f"{report.longreprtext}\n"
        case["text"] += "".join(f"--- {name}\n{text}\n" for name, text in report.sections if text.strip())


def pytest_runtest_logfinish(nodeid):
    _tell(_cases.pop(nodeid))


def pytest_collectreport(report):
    if report.failed:
        _tell({"name": report.nodeid, "outcome": "failed", "seconds": 0.0, "text": report.longreprtext})


def _tell(line):
    if REPORT:
        with open(REPORT, "a") as file:
            file.write(json.dumps(line) + "\n")
