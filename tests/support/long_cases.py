"""Marks as slow the cases that tests/long_cases.txt names: the gate leaves them to --all."""

import pathlib

import pytest

NAMED = pathlib.Path(__file__).resolve().parent.parent / "long_cases.txt"
ALL_BUT_THE_FIRST = "[1:]"


def read(path=NAMED):
    """Returns the named tests of each file: how many of a test's cases, from the first one on, are not meant."""
    tests = {}
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name = line.strip()
        if line == name:
            of_file = tests.setdefault(name, {})
        else:
            of_file[name.removesuffix(ALL_BUT_THE_FIRST)] = int(name.endswith(ALL_BUT_THE_FIRST))
    return tests


@pytest.hookimpl(tryfirst=True)  # before others choose by marks and names, since it counts the cases of a test
def pytest_collection_modifyitems(items):
    named, seen = read(), {}
    for item in items:
        file, _, test = item.nodeid.partition("::")
        test = test.partition("[")[0]
        kept = named.get(file, {}).get(test)
        if kept is None:
            continue
        seen[file, test] = seen.get((file, test), 0) + 1
        if seen[file, test] > kept:
            item.add_marker("slow")
