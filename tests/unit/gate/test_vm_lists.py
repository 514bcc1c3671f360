"""Tests that what the machine of tests/vm is told to run is there."""

import pathlib
import re

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[2]
LISTED = [line for file in sorted((TESTS / "vm/guest").glob("*-tests.txt")) for line in file.read_text().splitlines()
          if line and not line.startswith("#")]


def test_something_is_listed():
    assert len(LISTED) > 10


@pytest.mark.parametrize("line", LISTED)
def test_what_is_listed_is_there(line):
    path, _, case = line.removeprefix("--deselect=").partition("::")
    file = TESTS / path.removeprefix("tests/")
    assert file.is_file()
    name = case.partition("[")[0]
    assert not name or re.search(rf"^def {name}\(", file.read_text(), re.M)
