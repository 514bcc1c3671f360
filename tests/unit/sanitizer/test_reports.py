"""Tests that what a program built with sanitizers reports is found, though nobody reads its standard error or
looks at its status. In builds with sanitizers alone."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from boxes import processes_of, until
from hutch_client import hutch_binary

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gate"))

import sanitizer_reports  # noqa: E402

BIN = pathlib.Path(hutch_binary()).parent
BUILD = BIN.parent
SANITIZER = os.environ["HUTCH_TEST_SANITIZER"]
DEFECTS = {"address,undefined": {"after_free": "heap-use-after-free", "overflow": "signed integer overflow",
                                 "leak": "leaked in"},
           "thread": {"race": "data race"}}[SANITIZER]


def run(program, *arguments, **environment):
    """As hutch starts hutch-box: nothing of the environment, nothing to write to."""
    process = subprocess.Popen([program, *arguments], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return process.pid, process.wait(60)


@pytest.mark.parametrize("kind", DEFECTS)
def test_a_report_is_found_by_the_gate(kind):
    pid, status = run(BIN / "defects", kind)
    mine = [file for file in sanitizer_reports.files(BUILD) if file.name.endswith(f".defects.{pid}")]
    found = sanitizer_reports.outcomes(BUILD)
    for file in mine:  # made on purpose: the gate, which looks when all tests have ended, shall not find it
        file.unlink()
    assert status != 0 and len(mine) == 1
    assert any(DEFECTS[kind] in outcome.name and "defects.cc" in outcome.text for outcome in found), found


def test_a_program_without_a_defect_reports_nothing():
    pid, status = run(BIN / "defects")
    assert status == 0 and not [file for file in sanitizer_reports.files(BUILD) if file.name.endswith(f".{pid}")]


@pytest.mark.parametrize("program", ["hutch", "hutch-box", "unit_tests"])
def test_each_program_writes_its_reports_there(program):
    options = "TSAN_OPTIONS" if SANITIZER == "thread" else "ASAN_OPTIONS"
    told = subprocess.run([BIN / program, "--help"], env={options: "help=1"}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)
    path = re.search(r"^\tlog_path\n.*\(Current Value: (.*)\)$", told.stdout + told.stderr, re.M)
    assert path and path[1] == str(sanitizer_reports.directory_of(BUILD) / "report"), told.stderr[-2000:]


def test_a_box_that_crashes_is_found(client):
    """It has its session's log for a standard error, and nobody waits for it."""
    client.run("1")
    [box] = processes_of(client.state)
    os.kill(box, signal.SIGSEGV)
    report = sanitizer_reports.directory_of(BUILD) / f"report.hutch-box.{box}"
    try:
        until(lambda: not pathlib.Path(f"/proc/{box}/exe").exists())
        found = sanitizer_reports.outcomes(BUILD)
        assert any("SEGV" in outcome.name and report.name in outcome.text for outcome in found), found
    finally:
        report.unlink(missing_ok=True)
    assert client.value("2") == "2"
