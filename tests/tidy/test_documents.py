"""Documents that the tree must have: a page beside each of the four subsystems, and the price of each new decision."""

import pathlib
import re

import pytest

TREE = pathlib.Path(__file__).parents[2]
SUBSYSTEMS = ("mcp/http", "sandbox/box", "sandbox/egress", "sessions")
FILES_NAMED_MIN = 5


def files_named(folder, text):
    """The sources that a page names, from the top of the tree or from beside it."""
    words = set(re.findall(r"`([\w/]+\.(?:cc|h))`", text))
    return {word for word in words if (TREE / folder / word).is_file() or (TREE / word).is_file()}


def lacks_price(text):
    return not re.search(r"^\*\*Price\.\*\* \S", text, re.MULTILINE)


@pytest.mark.parametrize("folder", SUBSYSTEMS)
def test_a_subsystem_has_a_page_that_leads_into_its_files(folder):
    named = files_named(folder, (TREE / folder / "README.md").read_text())
    assert len(named) >= FILES_NAMED_MIN, named


def test_a_decision_says_its_price():
    records = sorted((TREE / "docs/decisions").glob("[0-9]*.md"))
    assert not [record.name for record in records if lacks_price(record.read_text())]


def test_what_a_document_lacks_is_found():
    assert lacks_price("# 0103: A\n\n**Decision.** So.\n")
    assert not lacks_price("**Price.** It costs.\n")
    text = "`store.h`, `sessions/boxes.cc`, `none.cc` and store.cc"
    assert files_named("sessions", text) == {"store.h", "sessions/boxes.cc"}
