"""Collects what programs built with sanitizers have reported, whoever started them and whatever became of them.

They write each report into a file of its own in the build tree (tests/support/sanitizer_options.cc).
"""

import pathlib
import re

from outcome import FAILED, Outcome

LINES_MAX, NAMES_MAX, FILES_MAX = 36, 4, 200


def directory_of(build):
    return pathlib.Path(build) / "sanitizer"


def forget(build):
    """Before tests: from here on a report is theirs."""
    for report in files(build):
        report.unlink()


def files(build):
    directory = directory_of(build)
    return sorted(directory.iterdir()) if directory.exists() else []


def outcomes(build, user=""):
    """A failure for each defect that was reported, with the report that tells most of it."""
    found = files(build)
    by_summary = {}
    for file in found[:FILES_MAX]:
        text = file.read_text(errors="replace")
        by_summary.setdefault(_summary(text), []).append((file, text))
    failures = [_failure(summary, reports, user) for summary, reports in by_summary.items()]
    if len(found) > FILES_MAX:
        failures.append(Outcome("sanitizer", None, FAILED, 0, f"{len(found)} reports, of which the first "
                                f"{FILES_MAX} are told; the others are in {directory_of(build)}", user=user))
    return failures


def _failure(summary, reports, user):
    text = max((text for _, text in reports), key=len)
    names = ", ".join(file.name for file, _ in reports[:NAMES_MAX]) + (", ..." if len(reports) > NAMES_MAX else "")
    lines = [f"{len(reports)} in {reports[0][0].parent}: {names}"]
    lines += [line for line in text.splitlines() if line.strip("= ")][:LINES_MAX]
    return Outcome(f"sanitizer: {summary}", None, FAILED, 0, "\n".join(lines), user=user)


def _summary(text):
    """Returns one text for each report of one defect: without addresses and process ids."""
    said = re.search(r"^SUMMARY: (.*)", text, re.M) or re.search(r"^(.*runtime error: .*)", text, re.M) or \
        re.search(r"ERROR: (.*)", text) or re.search(r"(\S.*)", text)
    return re.sub(r"0x[0-9a-f]+|==\d+==|\(?pid[ =]\d+\)?", "*", said[1])[:200] if said else "an empty report"
