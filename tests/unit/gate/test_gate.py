"""The gate itself: what it counts, what it tries again, what it says last. Its tests are shell scripts."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

GATE = pathlib.Path(__file__).resolve().parents[2] / "gate"
sys.path.insert(0, str(GATE))

import gate  # noqa: E402
import quarantine  # noqa: E402
import report  # noqa: E402
import sanitizer_reports  # noqa: E402
from gate import _try_again  # noqa: E402
from outcome import FAILED, PASSED, SKIPPED, Outcome  # noqa: E402
from suites import Tree  # noqa: E402

# Without the marks that the gate gives this suite itself.
OURS = {name: value for name, value in os.environ.items() if not name.startswith("HUTCH_")}

# Fails as often as its file has lines, and takes one of them each time.
SOMETIMES = 'test -s {0} || exit 0; sed -i 1d {0}; echo "failed for now"; exit 1'


@pytest.fixture
def tree(tmp_path):
    """make(name=(script, labels)...): a build tree with these tests."""
    def make(**tests):
        with open(tmp_path / "CTestTestfile.cmake", "w") as file:
            for name, (script, labels) in tests.items():
                program = tmp_path / f"{name}.sh"
                program.write_text(script)
                file.write(f'add_test({name} "/bin/sh" "{program}")\n'
                           f'set_tests_properties({name} PROPERTIES LABELS "{labels}" TIMEOUT 5 '
                           'SKIP_REGULAR_EXPRESSION "SKIPPED")\n')
        return Tree(tmp_path, environment=OURS)
    return make


def run(tree, *, entries=()):
    tried = [[outcome] for outcome in tree.run(2)]
    _try_again(tree, tried, dict.fromkeys(entries, ("what", "why", "2026-01-01")))
    return tried


def verdict(tried, entries=(), wrong=()):
    return report.Verdict(tried, dict.fromkeys(entries, ("what", "why", "2026-01-01")), list(wrong))


def test_states_are_told_apart(tree):
    tried = run(tree(good=("exit 0", ""), bad=("echo because; exit 3", "containment"),
                     skips=("echo 'SKIPPED: no cgroup here'", ""), hangs=("sleep 60", "durability")))
    states = {outcomes[-1].test: outcomes[-1].state for outcomes in tried}
    assert states == {"good": PASSED, "bad": FAILED, "skips": SKIPPED, "hangs": FAILED}
    said = report.text(verdict(tried))
    assert said.splitlines()[-1] == "1 passed, 2 failed, 1 skipped"
    assert "FAILED bad" in said and "because" in said and "no cgroup here" in said


def test_a_program_that_is_not_there_is_a_failure(tmp_path):
    (tmp_path / "CTestTestfile.cmake").write_text('add_test(gone "/nowhere/program")\n')
    assert [o.state for o in Tree(tmp_path).run(1)] == [FAILED]


def test_selecting_nothing_is_a_failure(tree):
    outcomes = tree(good=("exit 0", "unit")).run(1, "-L", "no-such-label")
    assert [(o.test, o.state) for o in outcomes] == [("ctest", FAILED)]


def test_what_ctest_does_not_tell_of_is_a_failure(tree, monkeypatch):
    """As when ctest itself is killed: the JUnit file is missing."""
    made = tree(good=("exit 0", "unit"))
    kept = made._ctest
    monkeypatch.setattr(made, "_ctest", lambda *arguments, **more: kept(
        *(a for a in arguments if a != "--output-junit" and not a.endswith("junit.xml")), **more))
    assert [(o.test, o.state) for o in made.run(1)] == [("good", FAILED)]


def test_what_passes_alone_is_flaky_and_told_with_its_first_failure(tree, tmp_path):
    (tmp_path / "twice").write_text("1\n2\n")
    tried = run(tree(shaky=(SOMETIMES.format(tmp_path / "twice"), ""), good=("exit 0", "")))
    said = verdict(tried)
    assert said.ok and len(said.flaky) == 1
    text = report.text(said)
    assert "FLAKY shaky" in text and "failed for now" in text and text.endswith("2 passed, 0 failed, 0 skipped")


def test_what_fails_three_times_fails(tree, tmp_path):
    (tmp_path / "often").write_text("1\n2\n3\n4\n")
    tried = run(tree(broken=(SOMETIMES.format(tmp_path / "often"), "")))
    assert len(tried[0]) == 3 and not verdict(tried).ok


@pytest.mark.parametrize("label", ["containment", "durability", "unit;containment"])
def test_a_sometimes_in_containment_or_durability_is_a_failure(tree, tmp_path, label):
    (tmp_path / "once").write_text("1\n")
    tried = run(tree(shaky=(SOMETIMES.format(tmp_path / "once"), label)))
    assert len(tried[0]) == 1 and not verdict(tried).ok


def test_quarantined_tests_run_and_do_not_count(tree):
    tried = run(tree(known=("exit 1", ""), good=("exit 0", "")), entries=["known"])
    said = verdict(tried, ["known"])
    assert said.ok and len(tried[0]) == 1
    assert "QUARANTINED known: failed" in report.text(said)
    assert said.counts() == "1 passed, 0 failed, 0 skipped"


def test_a_wrong_quarantine_fails(tree, monkeypatch):
    made = tree(known=("exit 0", "unit"), walls=("exit 0", "security;containment"))
    monkeypatch.setenv("HUTCH_TEST_PYTHON", sys.executable)
    top = GATE.parents[1]
    this = "unit/gate/test_gate.py::test_an_entry_without_its_reason_is_refused"
    assert quarantine.wrong_entries(dict.fromkeys(["known", this]), made, top) == []
    wrong = quarantine.wrong_entries(dict.fromkeys(["unit.Gone", "unit/gate/test_gate.py::gone", "walls"]), made, top)
    assert len(wrong) == 3 and "names no test" in wrong[0] and "names no test" in wrong[1] and "is a bug" in wrong[2]
    assert "at most 10" in quarantine.wrong_entries(dict.fromkeys([f"t{n}" for n in range(11)]), made, top)[-1]
    said = verdict([[Outcome("good", None, PASSED, 1)]], wrong=wrong)
    assert not said.ok and "unit.Gone names no test" in report.text(said)


@pytest.mark.parametrize("line", ["name only", "a | b | c", "a | b | c | someday", "a | | c | 2026-01-01"])
def test_an_entry_without_its_reason_is_refused(tmp_path, line):
    (tmp_path / "q.txt").write_text(f"# a comment\n\n{line}\n")
    with pytest.raises(SystemExit, match="q.txt:3"):
        quarantine.read(tmp_path / "q.txt")


def test_nothing_that_ran_is_no_success():
    assert not verdict([]).ok
    assert not verdict([[Outcome("a", None, SKIPPED, 0, "no kernel")]]).ok


def test_one_failure_with_long_lines_shows_its_end():
    said = report.text(verdict([[Outcome("test", None, FAILED, 1, "x" * 300 + "\n" + ("y" * 399 + "\n") * 39 + "the end")]]))
    assert len(said) < 12_200 and "the end" in said and said.count("y") > 10_000


def test_many_failures_stay_short_and_are_all_named():
    tried = [[Outcome(f"test{n}", None, FAILED, 1, f"line {n}\n" * 300)] for n in range(50)]
    said = report.text(verdict(tried))
    assert len(said) < 12_000 and all(f"FAILED test{n}" in said for n in range(50))
    assert said.splitlines()[-1] == "0 passed, 50 failed, 0 skipped"


CASES = """
import os, pathlib, pytest
def test_good(): pass
def test_bad(): assert 1 == 2
def test_skips(): pytest.skip("no kernel for it")
@pytest.mark.xfail(strict=True)
def test_known_limit(): assert False
def test_sometimes(tmp_path_factory):
    once = pathlib.Path(os.environ["ONCE"])
    if not once.exists():
        once.touch()
        assert False, "only the first time"
def test_hangs():
    if "HANG" in os.environ: os._exit(9)
    if "HANG_ONCE" in os.environ and "HUTCH_TEST_ONLY" not in os.environ: os._exit(9)
def test_last(): pass
"""


@pytest.fixture
def suite(tmp_path):
    """The tree of one suite of cases; its environment may be given."""
    folder = tmp_path / "cases"
    folder.mkdir()
    (folder / "test_cases.py").write_text(CASES)
    (folder / "conftest.py").write_text('pytest_plugins = ("case_report",)\n')
    (folder / "pytest.ini").write_text("[pytest]\n")
    reports = tmp_path / "Testing/cases"
    reports.mkdir(parents=True)

    def make(**environment):
        environment = {"PYTHONPATH": str(GATE.parent / "support"), "ONCE": str(tmp_path / "once"),
                       "HUTCH_TEST_REPORT": str(reports / "suite.jsonl"), **environment}
        joined = ";".join(f"{name}={value}" for name, value in environment.items())
        (tmp_path / "CTestTestfile.cmake").write_text(
            f'add_test(suite "{sys.executable}" "-m" "pytest" "-q" "-p" "no:cacheprovider" "{folder}")\n'
            f'set_tests_properties(suite PROPERTIES ENVIRONMENT "{joined}")\n')
        return Tree(tmp_path, environment=OURS)
    return make


def test_each_case_counts_and_is_tried_alone(suite):
    tried = run(suite())
    found = {outcomes[0].name.split("::")[1]: [o.state for o in outcomes] for outcomes in tried}
    assert found == {"test_good": [PASSED], "test_bad": [FAILED] * 3, "test_skips": [SKIPPED],
                     "test_known_limit": [PASSED], "test_sometimes": [FAILED, PASSED], "test_hangs": [PASSED],
                     "test_last": [PASSED]}
    said = report.text(verdict(tried))
    assert "no kernel for it" in said and "assert 1 == 2" in said
    assert said.splitlines()[-1] == "5 passed, 1 failed, 1 skipped"


def test_a_suite_runs_by_ctest_alone(suite, tmp_path):
    tree = suite()
    shutil.rmtree(tmp_path / "Testing")
    subprocess.run(["ctest", "--test-dir", str(tree.directory)], env=OURS, capture_output=True, timeout=60)
    assert "test_last" in (tmp_path / "Testing/cases/suite.jsonl").read_text()


def test_the_case_that_a_suite_died_in_is_named(suite):
    outcomes = suite(HANG="1").run(1)
    lost = [o for o in outcomes if o.state == FAILED and o.name.endswith("test_hangs")]
    assert len(lost) == 1 and "while this case ran" in lost[0].text
    assert any(o.state == PASSED and o.name.endswith("test_good") for o in outcomes)


@pytest.mark.slow
def test_a_suite_that_ended_early_is_no_success_when_its_last_case_passes_alone(suite):
    """The cases behind the one that it died in were never run."""
    tried = run(suite(HANG_ONCE="1"))
    said = verdict(tried)
    assert not said.ok, report.text(said)


def test_a_retry_that_skips_or_fails_otherwise_is_no_success(tree, tmp_path):
    (tmp_path / "once").write_text("1\n")
    script = f'test -s {tmp_path}/once || {{ echo "SKIPPED: not any more"; exit 0; }}; sed -i 1d {tmp_path}/once; exit 1'
    tried = run(tree(shaky=(script, ""), good=("exit 0", "")))
    assert not verdict(tried).ok


def test_the_last_line_is_the_count_when_a_step_fails(tmp_path):
    """A step of run.sh that fails is a failed test of that name."""
    results, output = tmp_path / "results", tmp_path / "output"
    output.write_text("compiler: no such luck\n")
    command = [sys.executable, str(GATE / "gate.py")]
    subprocess.run([*command, "note", "--results", str(results), "failed", "Build release", str(output)], check=True)
    assert json.loads(results.read_text())[0]["state"] == FAILED
    ended = subprocess.run([*command, "summary", "--results", str(results)], capture_output=True, text=True,
                           env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert ended.returncode == 3 and "no such luck" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_a_result_cut_in_the_midst_is_a_failure_and_the_last_line_stands(tmp_path):
    results = tmp_path / "results"
    results.write_text('[{"name": "unit.a", "case": nu')
    ended = subprocess.run([sys.executable, str(GATE / "gate.py"), "summary", "--results", str(results)],
                           capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert ended.returncode == 3 and "cannot be read" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_an_unknown_stage_ends_with_the_last_line_too():
    ended = subprocess.run([GATE.parent / "run.sh", "bogus"], capture_output=True, text=True)
    assert ended.returncode == 2 and "unknown stage bogus" in ended.stderr
    assert ended.stdout.splitlines() == ["0 passed, 1 failed, 0 skipped"]


RACE = """==================
WARNING: ThreadSanitizer: data race (pid={0})
  Write of size 4 at 0x55{0} by thread T1:
{1}
SUMMARY: ThreadSanitizer: data race box/events.cc:12 in turn
"""
OVERFLOW = "box/usage.cc:8:65: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented\n"


def test_a_report_fails_the_stage_though_all_tests_passed(tmp_path):
    (tmp_path / "sanitizer").mkdir()
    for name, text in {"report.hutch-box.7": RACE.format(7, "    #0 turn\n" * 300), "report.hutch-box.9": RACE.format(9, ""),
                       "report.hutch.8": OVERFLOW, "report.hutch.1": ""}.items():
        (tmp_path / "sanitizer" / name).write_text(text)
    found = {outcome.name: outcome for outcome in sanitizer_reports.outcomes(tmp_path, "tsan")}
    race = found["sanitizer: ThreadSanitizer: data race box/events.cc:12 in turn"]
    assert len(found) == 3 and any("signed integer overflow" in name for name in found)
    said = report.text(verdict([[Outcome("good", None, PASSED, 1)], [race]]))
    assert "hutch-box.7, report.hutch-box.9" in said and "WARNING: ThreadSanitizer" in said and len(said) < 12_000
    assert said.splitlines()[-1] == "1 passed, 1 failed, 0 skipped"


def test_reports_from_before_are_forgotten(tmp_path):
    sanitizer_reports.forget(tmp_path)  # a build without sanitizers
    assert sanitizer_reports.outcomes(tmp_path) == []
    (tmp_path / "sanitizer").mkdir()
    (tmp_path / "sanitizer/report.hutch.1").write_text(OVERFLOW)
    sanitizer_reports.forget(tmp_path)
    assert sanitizer_reports.outcomes(tmp_path) == []


def test_the_gate_looks_for_reports_after_its_tests(tmp_path, monkeypatch):
    """Also when the test in which one was made has passed, or has passed at last."""
    build = tmp_path / "build/asan"
    (build / "sanitizer").mkdir(parents=True)
    (build / "sanitizer/report.old.1").write_text("from before\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/quarantine.txt").touch()
    (build / "made.sh").write_text(f"echo '{OVERFLOW}' >{build}/sanitizer/report.box.1")
    (build / "CTestTestfile.cmake").write_text(f'add_test(made "/bin/sh" "{build}/made.sh")\n')
    monkeypatch.setattr(gate, "TOP", tmp_path)
    monkeypatch.setattr(os, "environ", OURS)
    options = argparse.Namespace(results=tmp_path / "results", preset="asan", name="asan", as_user=False, jobs=1)
    gate.run(options, [])
    tried = [json.loads(line)[-1] for line in options.results.read_text().splitlines()]
    assert [one["state"] for one in tried] == [PASSED, FAILED]
    assert "signed integer overflow" in tried[1]["test"] and "from before" not in options.results.read_text()
