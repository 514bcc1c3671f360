"""Every probe on every interpreter path, in one box each: none of them gets out.

What a probe tries, and which layers hold it, stands beside it in probes/; that it can see an escape
at all is what test_counter_checks.py shows.
"""

import pytest

import native
from probes import all_probes
from probes.base import applies
from stage import PATHS, PLACE, Box, server, stage  # noqa: F401 (the fixture)

TABLE = {name: entry for name, entry in all_probes().items() if applies(entry, PLACE)}


@pytest.fixture(scope="module")
def verdicts(stage):
    """Returns those of all probes, by path; each path runs once, when it is first asked for."""
    found = {}
    with server(stage) as client:
        box = Box(stage, client)

        def of(path):
            if path not in found:
                found[path] = box.probe(path, list(TABLE))
            return found[path]

        yield of


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("path", PATHS)
def test_contained(verdicts, path, name):
    verdict, text = verdicts(path)[name]
    assert verdict == "CONTAINED", f"{name}: {text}"


@pytest.fixture(scope="module")
def box(stage):
    with server(stage) as client:
        yield Box(stage, client)


@pytest.mark.parametrize("probe", native.PROBES, ids=lambda p: f"{p.language}-{p.name}")
def test_contained_in_its_own_words(box, probe):
    assert native.verdict(probe, box.run_native(probe)) == "CONTAINED"


def test_there_are_enough_probes_of_each_class():
    groups = {}
    for entry in all_probes().values():
        groups.setdefault(entry.group, []).append(entry)
    assert len(groups) == 11 and len(all_probes()) >= 80
    assert all(len(entries) >= 8 for entries in groups.values()), groups
