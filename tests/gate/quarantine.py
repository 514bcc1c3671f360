"""tests/quarantine.txt: tests whose failure does not fail the gate, each with its reason.

A line is `name | what fails | why | since`. The name is that of a case (integration/test_x.py::test_y,
unit/mcp/x_test.cc::Suite.Name), or CTest's name of a test that has no cases.
"""

import os
import re
import subprocess

MOST = 10
NEVER_HERE = {"containment", "durability"}


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


def wrong_entries(entries, tree, top):
    """Returns what is wrong with the list, a line each: names of no test, tests that may not be here, too many."""
    labels = tree.labels()
    wrong = []
    for name in entries:
        if name in labels:
            test = None if (tree.directory / "Testing/cases" / f"{name}.jsonl").exists() else name
            if test is None:
                wrong.append(f"{name} is a whole suite; name its cases")
        elif not _is_case(name, tree, top):
            wrong.append(f"{name} names no test")
            continue
        else:
            test = _suite_of(name, labels)
        if labels.get(test, frozenset()) & NEVER_HERE:
            wrong.append(f"{name} is a test of containment or durability: there a failure is a bug")
    if len(entries) > MOST:
        wrong.append(f"{len(entries)} entries, at most {MOST} are allowed")
    return wrong


def cpp_suite(file):
    """unit/mcp/golden_test.cc is the suite unit.mcp.golden."""
    return file.removesuffix("_test.cc").replace("/", ".")


def cpp_cases(tree, file):
    """The names of the cases in that file, as the program itself lists them."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HUTCH_TEST_")}
    listed = subprocess.run([tree.directory / "bin/unit_tests", f"--in={file}", "--gtest_list_tests"],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=environment)
    cases, suite = [], ""
    for line in listed.stdout.splitlines():
        name = line.partition("#")[0].rstrip()
        if line.startswith("  "):
            cases.append(suite + name.strip())
        else:
            suite = name
    return cases


def _suite_of(case, labels):
    """unit/runners/test_sql.py::test_x is of runners.sql, security/test_probes.py::... of security.probes."""
    if case.partition("::")[0].endswith(".cc"):
        return cpp_suite(case.partition("::")[0])
    folder, _, file = case.partition("::")[0].rpartition("/")
    name = file.removeprefix("test_").removesuffix(".py")
    return next((test for test in labels if test == f"{folder.rpartition('/')[2]}.{name}"), None)


def _is_case(name, tree, top):
    file, _, case = name.partition("::")
    if not case:
        return False
    if file.endswith(".cc"):
        return case in cpp_cases(tree, file)
    python = os.environ.get("HUTCH_TEST_PYTHON") or top / "build/venv/bin/python"
    # Not a case of the suite that this may be called from.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HUTCH_TEST_")}
    found = subprocess.run([python, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
                            f"tests/{name}"], cwd=top, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                           env={**environment, "PYTHONDONTWRITEBYTECODE": "1"})
    return found.returncode == 0
