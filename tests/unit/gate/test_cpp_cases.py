"""The cases of a C++ suite: each counts, is tried again alone, and can be quarantined by its name."""

import os
import pathlib
import sys

import pytest

GATE = pathlib.Path(__file__).resolve().parents[2] / "gate"
sys.path.insert(0, str(GATE))

import quarantine  # noqa: E402
from gate import _try_again  # noqa: E402
from outcome import FAILED, PASSED, SKIPPED  # noqa: E402
from suites import Tree  # noqa: E402

PROGRAMS = pathlib.Path(os.environ["HUTCH_BINARY"]).parent
FILE = "unit/gate/reported_cases.cc"
OURS = {name: value for name, value in os.environ.items() if not name.startswith("HUTCH_")}


@pytest.fixture
def suite(tmp_path):
    def make(file=FILE, **environment):
        environment["HUTCH_TEST_REPORT"] = str(tmp_path / "Testing/cases/suite.jsonl")
        joined = ";".join(f"{name}={value}" for name, value in environment.items())
        (tmp_path / "CTestTestfile.cmake").write_text(
            f'add_test(suite "{PROGRAMS}/reported_cases" "--in={file}")\n'
            f'set_tests_properties(suite PROPERTIES ENVIRONMENT "{joined}")\n')
        return Tree(tmp_path, environment=OURS)
    return make


def test_each_case_counts_and_is_tried_alone(suite):
    tree = suite()
    tried = [[outcome] for outcome in tree.run(1)]
    _try_again(tree, tried, {})
    states = {outcomes[0].name: [o.state for o in outcomes] for outcomes in tried}
    assert states == {
        f"{FILE}::Reported.Passes": [PASSED], f"{FILE}::Reported.Fails": [FAILED] * 3,
        f"{FILE}::Reported.Skips": [SKIPPED], f"{FILE}::Reported.Dies": [PASSED],
        f"{FILE}::Kinds/OneOf.Passes/0": [PASSED], f"{FILE}::Kinds/OneOf.Passes/1": [PASSED]}
    texts = {outcomes[0].name.partition("::")[2]: outcomes[-1].text for outcomes in tried}
    assert texts["Reported.Skips"].strip() == "no kernel for it"
    assert f"{FILE}:9" in texts["Reported.Fails"] and "not valid UTF-8" in texts["Reported.Fails"]


def test_the_case_that_a_suite_died_in_is_named(suite):
    outcomes = suite(DIE="1").run(1)
    assert [o.state for o in outcomes if o.name == f"{FILE}::Reported.Passes"] == [PASSED]
    died = next(o for o in outcomes if o.name == f"{FILE}::Reported.Dies")
    assert died.state == FAILED and "while this case ran" in died.text
    assert any(o.case is None and o.state == FAILED for o in outcomes), "the cases after it did not run"


def test_a_file_without_cases_is_a_failure(suite):
    assert [o.state for o in suite("unit/gate/gone_test.cc").run(1)] == [FAILED]


def test_every_unit_test_is_of_a_file_that_ctest_has():
    """A case whose file has no suite in CTest would never run."""
    top = GATE.parents[1]
    tree = Tree(PROGRAMS.parent)
    in_ctest = {name for name, labels in tree.labels("-L", "unit", "-R", r"^unit\.").items()}
    of_files = {quarantine.cpp_suite(str(file.relative_to(top / "tests")))
                for file in (top / "tests/unit").rglob("*_test.cc")}
    assert in_ctest == of_files


def test_cases_can_be_quarantined_by_their_name():
    tree, top = Tree(PROGRAMS.parent), GATE.parents[1]
    case = "unit/base/base64_test.cc::" + quarantine.cpp_cases(tree, "unit/base/base64_test.cc")[0]
    assert quarantine.wrong_entries({case: ("what", "why", "2026-01-01")}, tree, top) == []
    for gone in ("unit/base/base64_test.cc::Base64.Gone", "unit/base/gone_test.cc::Base64.Gone"):
        wrong = quarantine.wrong_entries({gone: ("what", "why", "2026-01-01")}, tree, top)
        assert wrong == [f"{gone} names no test"]
