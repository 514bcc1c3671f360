"""tests/quarantine.txt: tests whose failure does not fail the gate, each with its reason.

A line is `name | what fails | why | since`. The name is pytest's id of a case (integration/test_x.py::test_y)
or CTest's name of a test (unit.Suite.Name).
"""

import re
import subprocess
import sys


def read(file):
    """Name to (what, why, since). A line that is not of that form is an error."""
    entries = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 4 or not all(fields) or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", fields[3]):
            raise SystemExit(f"{file}:{number}: expected `name | what fails | why | since (YYYY-MM-DD)`")
        entries[fields[0]] = tuple(fields[1:])
    return entries


def without_test(entries, tests, top):
    """The names that name no test: neither one of CTest's `tests`, nor a case that pytest finds."""
    return [name for name in entries if name not in tests and not _is_case(name, top)]


def _is_case(name, top):
    if "::" not in name:
        return False
    found = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
                            f"tests/{name}"], cwd=top, stdin=subprocess.DEVNULL, capture_output=True)
    return found.returncode == 0
