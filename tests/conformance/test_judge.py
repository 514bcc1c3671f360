"""The judge of the conformance suite sees what the suite lets pass."""

import json
import sys

import pytest

sys.path.insert(0, __file__.rsplit("/", 1)[0])

import judge  # noqa: E402


def check(name, status):
    return {"id": name, "status": status, "description": "something"}


@pytest.mark.parametrize("checks,options,passes", [
    ([check("a", "SUCCESS")], {}, True),
    ([check("a", "SUCCESS"), check("b", "INFO")], {}, True),
    ([check("a", "SUCCESS"), check("b", "FAILURE")], {}, False),
    ([check("a", "SUCCESS"), check("b", "WARNING")], {}, False),
    ([check("a", "SUCCESS"), check("b", "SKIPPED")], {}, False),
    ([check("a", "INFO")], {}, False),
    ([], {}, False),
    ([check("a", "SKIPPED")], {"may_skip": True}, True),
    ([check("a", "SUCCESS")], {"may_skip": True}, False),
    ([check("a", "SKIPPED"), check("b", "FAILURE")], {"may_skip": True}, False),
    ([check("a", "SUCCESS"), check("b", "FAILURE")], {"left_out": ["b"]}, True),
    ([check("a", "SUCCESS"), check("b", "SUCCESS")], {"left_out": ["b"]}, False),
    ([check("a", "FAILURE"), check("b", "FAILURE")], {"left_out": ["b"]}, False),
    ([check("b", "FAILURE")], {"left_out": ["b"]}, False),
])
def test_a_scenario_passes_when_all_it_can_check_is_right(checks, options, passes):
    verdict = judge.Verdict("scenario", checks, **options)
    assert (not verdict.problems) == passes, verdict.problems
    assert ("FAILED" in str(verdict)) != passes


def test_results_are_found_in_the_order_they_were_made(tmp_path):
    for name in ("server-tools-list-2026-01-02T03-04-06-000Z", "ping-2026-01-02T03-04-05-999Z"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "checks.json").write_text(json.dumps([check("a", "SUCCESS")]))
    assert [verdict.scenario for verdict in judge.read_verdicts(tmp_path)] == ["ping", "tools-list"]


def test_what_is_expected_to_skip_is_read():
    assert "tasks-status-notifications" in judge.expected_skips()
    assert not any(name.startswith("#") for name in judge.expected_skips())
