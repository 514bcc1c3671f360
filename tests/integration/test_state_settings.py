"""Tests what the settings do to the state directory, and what the maxima do to sessions that ask for nothing."""

import json
import os
import subprocess

import pytest

from hutch_client import hutch_binary
from server_process import PATIENCE


def hutch(*arguments, **options):
    return subprocess.run([hutch_binary(), *arguments], text=True, capture_output=True, timeout=60 * PATIENCE,
                          **{"input": "", **options})


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_directory_of_others_is_not_closed_to_them(tmp_path, mode):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/file.txt").write_text("of somebody")
    (tmp_path / "shared").chmod(mode)
    ended = hutch("sessions", "ls", "--state-dir", str(tmp_path / "shared"))
    assert ended.returncode == 1
    assert "holds something else and is open to others: name a directory of its own" in ended.stderr
    assert os.stat(tmp_path / "shared").st_mode & 0o7777 == mode
    assert os.listdir(tmp_path / "shared") == ["file.txt"]


def test_an_empty_directory_and_its_own_are_closed(tmp_path):
    place = tmp_path / "state"
    place.mkdir()
    for _ in range(2):
        place.chmod(0o755)
        ended = hutch("sessions", "ls", "--state-dir", str(place))
        assert ended.returncode == 0, ended.stderr
        assert os.stat(place).st_mode & 0o7777 == 0o700 and "hutch.db" in os.listdir(place)


def test_what_a_session_gets_is_no_more_than_it_could_ask_for(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[max_limits]\nmemory_mb = 256\nrun_seconds = 5\n")
    options = ["--config", str(config), "--state-dir", state]
    assert hutch("run", "-", "--session", "small", *options, input="1").returncode == 0
    [session] = json.loads(hutch("sessions", "ls", "--json", *options).stdout)
    shown = json.loads(hutch("sessions", "show", session["session_id"], "--json", *options).stdout)
    assert (shown["limits"]["memory_mb"], shown["limits"]["run_seconds"]) == (256, 5)


def test_a_default_beyond_the_maximum_is_a_mistake(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("[limits]\nmemory_mb = 512\n[max_limits]\nmemory_mb = 256\n")
    ended = hutch("sessions", "ls", "--config", str(config), "--state-dir", state)
    assert ended.returncode == 2
    assert ended.stderr == f"hutch: {config}:2: the configuration has limits.memory_mb = 512, but max_limits.memory_mb = 256\n"


def test_in_a_directory_that_is_gone(state, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = hutch("sessions", "ls", "--config", "x.toml", "--state-dir", state, preexec_fn=lambda: (os.chdir(gone), gone.rmdir()))
    assert ended.returncode == 2 and "the configuration must be absolute" in ended.stderr
