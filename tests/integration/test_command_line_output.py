"""Tests what the commands print: all of it, or the exit status says that some is lost."""

import signal
import subprocess

import pytest

from boxes import until
from database import rows
from hutch_client import hutch_binary
from server_process import PATIENCE

LOST = "hutch: standard output could not be written to: some of it is lost\n"


@pytest.fixture
def hutch(state, tmp_path):
    def run(*arguments, code="", **options):
        return subprocess.run([hutch_binary(), *arguments, "--state-dir", state], text=True, input=code, cwd=tmp_path,
                              timeout=60 * PATIENCE, **{"capture_output": True, **options})
    return run


@pytest.mark.parametrize("arguments,code", [
    (["run", "-"], "print('x' * 100)"), (["run", "-"], "6 * 7"), (["sessions", "ls"], ""), (["version"], "")])
def test_output_that_is_lost_is_no_success(hutch, arguments, code):
    with open("/dev/full", "w") as full:
        ended = hutch(*arguments, code=code, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (ended.returncode, ended.stderr) == (1, LOST)


def test_a_status_of_the_code_says_more_than_lost_output(hutch):
    with open("/dev/full", "w") as full:
        ended = hutch("run", "-", code="print(1)\nraise SystemExit(7)", capture_output=False, stdout=full,
                      stderr=subprocess.PIPE)
    assert ended.returncode == 7 and ended.stderr.endswith(LOST)


def test_a_reader_that_has_read_enough_is_no_failure(hutch, state, tmp_path):
    ended = subprocess.run(["bash", "-c", 'set -o pipefail; "$0" run - --state-dir "$1" | head -n 1', hutch_binary(), state],
                           input="for n in range(200_000): print(n)", text=True, capture_output=True, timeout=60 * PATIENCE)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "0\n", "")


def test_a_token_that_nobody_could_read_is_revoked(hutch, state):
    with open("/dev/full", "w") as full:
        ended = hutch("token", "create", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == 1
    assert "hutch: the token could not be printed, and was revoked\n" in ended.stderr
    assert [revoked is not None for (revoked,) in rows(state, "SELECT revoked_at FROM tokens")] == [True]


def test_a_long_value_is_printed_whole(hutch):
    ended = hutch("run", "-", code="'x' * 100_000")
    assert ended.returncode == 0 and ended.stdout == "'" + "x" * 100_000 + "'\n"


# The first of each has its rows in the result as JSON, the second as CSV, the third in a file.
@pytest.mark.parametrize("language,code,rows", [
    *[("sql", "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT * FROM n", rows)
      for rows in (101, 1_100, 50_000)],
    *[pytest.param("python", "import pandas\npandas.DataFrame({{'i': range(1, {} + 1)}})", rows, marks=pytest.mark.slow)
      for rows in (101, 1_100, 50_000)]])
def test_a_long_table_can_be_saved_whole(hutch, tmp_path, language, code, rows):
    ended = hutch("run", "-l", language, "-", code=code.format(rows))
    assert ended.returncode == 0, ended.stderr
    assert "hutch: it shows a part of a table; --save DIRECTORY writes all of them there\n" in ended.stderr
    ended = hutch("run", "-l", language, "--save", "kept", "-", code=code.format(rows))
    assert ended.returncode == 0 and "--save" not in ended.stderr, ended.stderr
    [saved] = (tmp_path / "kept").glob("*.csv")
    assert saved.read_text().splitlines() == ["i", *map(str, range(1, rows + 1))]


def test_a_table_that_is_shown_whole_needs_no_file(hutch, tmp_path):
    ended = hutch("run", "-l", "sql", "--save", "kept", "-", code="SELECT 1")
    assert ended.returncode == 0 and not (tmp_path / "kept").exists() and "saved" not in ended.stderr
    assert "--save" not in hutch("run", "-l", "sql", "-", code="SELECT 1").stderr


FILES = """import os
os.makedirs('deep/er'); os.makedirs('.git/hooks'); os.makedirs('linked')
for name in ('out.txt', 'deep/er/b ü.bin', '.envrc', '.git/hooks/post-commit', 'linked/f', 'link\x1b[2K'): open(name, 'w').write(name)
os.symlink('/etc/passwd', 'out.lnk')
"""


def test_files_of_the_code_can_be_saved(hutch, tmp_path):
    """Programs that obey files with a dot in front are not handed one, and nothing is written through a link or over a file."""
    ended = hutch("run", "--save", "kept", "-", code=FILES)
    saved = {str(path.relative_to(tmp_path / "kept")) for path in (tmp_path / "kept").rglob("*") if path.is_file()}
    assert ended.returncode == 0 and saved == {"out.txt", "deep/er/b ü.bin", "linked/f", "link\x1b[2K"}, ended.stderr
    assert f"hutch: saved {tmp_path}/kept/out.txt\n" in ended.stderr and "\x1b" not in ended.stderr
    assert "3 files were not saved" in ended.stderr and "3 files that the code wrote went with its sandbox" in ended.stderr, ended.stderr
    assert not (tmp_path / "kept/out.txt").stat().st_mode & 0o111
    other = tmp_path / "other"
    (other / "mine").mkdir(parents=True)
    (other / "linked").symlink_to(other / "mine")
    (other / "out.txt").write_text("mine")
    ended = hutch("run", "--save", "other", "-", code=FILES)
    assert ended.returncode == 0 and (other / "out.txt").read_text() == "mine" and (other / "out (2).txt").read_text() == "out.txt", ended.stderr
    assert list((other / "mine").iterdir()) == [] and "4 files were not saved" in ended.stderr, ended.stderr


def test_files_that_a_run_changes_are_saved(hutch, tmp_path):
    for number, code in enumerate(("open('a', 'w').write('1'); open('b', 'w').write('1');", "open('a', 'w').write('22');")):
        ended = hutch("run", "-s", "lasts", "--save", f"kept{number}", "-", code=code)
        assert ended.returncode == 0 and "went with" not in ended.stderr, ended.stderr
    assert {path.name: path.read_text() for path in (tmp_path / "kept1").iterdir()} == {"a": "22"}
    assert {path.name for path in (tmp_path / "kept0").iterdir()} == {"a", "b"}


def test_who_pipes_something_to_code_hears_that_it_is_not_read(hutch, tmp_path):
    (tmp_path / "b.py").write_text("import sys; print(repr(sys.stdin.read()))")
    ended = hutch("run", "b.py", code="hi")
    assert ended.returncode == 0 and ended.stdout == "''\n" and "hutch: the code is not given the standard input of hutch run: " in ended.stderr, ended
    for nothing in (hutch("run", "b.py", code=""), hutch("run", "-", code="print(1)")):
        assert nothing.returncode == 0 and nothing.stderr == "", nothing
    (tmp_path / "data").write_text("hi")
    with open(tmp_path / "data") as data:
        assert "is not given" in hutch("run", "b.py", code=None, stdin=data).stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_waits_for_code_can_be_ended(state, number):
    process = subprocess.Popen([hutch_binary(), "run", "-", "--state-dir", state], stdin=subprocess.PIPE)
    try:
        def waits():
            with open(f"/proc/{process.pid}/syscall") as file:
                return file.read().split()[:2] in (["0", "0x0"], ["63", "0x0"])  # read(2) of standard input
        until(waits, what="a read of standard input")
        process.send_signal(number)
        assert process.wait(timeout=30 * PATIENCE) == -number
    finally:
        process.kill()
        process.wait()
