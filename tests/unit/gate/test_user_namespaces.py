"""The profile of AppArmor that the gate loads for an ordinary user's half. Its programs only say how they were called."""

import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "gate"))

from apparmor import namespaces_allowed  # noqa: E402

PARSER = '#!/bin/sh\necho "$@" >>{0}/called\ncat >>{0}/read\n'


@pytest.fixture
def host(tmp_path, monkeypatch):
    """host(restriction, **programs): where that is what the kernel says, and these programs are first in the PATH."""
    def make(restriction, **programs):
        for name, script in programs.items():
            (tmp_path / name.replace("_exec", "-exec")).write_text(script.format(tmp_path))
            (tmp_path / name.replace("_exec", "-exec")).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        (tmp_path / "restriction").write_text(restriction)
        return tmp_path
    return make


@pytest.mark.parametrize("restriction", ["0\n", ""])
def test_without_the_restriction_nothing_is_done(host, restriction):
    place = host(restriction, apparmor_parser=PARSER, aa_exec="#!/bin/sh\n")
    with namespaces_allowed("hutch-user-a", place / "restriction") as prefix:
        assert prefix == []
    with namespaces_allowed("hutch-user-a", place / "no such file") as prefix:
        assert prefix == []
    assert not (place / "called").exists()


def test_it_is_there_for_the_tests_and_no_longer(host):
    enter = '#!/bin/sh\ntest "$1 $2 $3" = "-p hutch-user-a --" || exit\nshift 3\nexec "$@"\n'
    place = host("1\n", apparmor_parser=PARSER, aa_exec=enter)
    with pytest.raises(KeyError):
        with namespaces_allowed("hutch-user-a", place / "restriction") as prefix:
            said = subprocess.run([*prefix, "echo", "run"], capture_output=True, text=True)
            assert said.stdout == "run\n", said
            assert (place / "called").read_text() == "--add\n"
            raise KeyError
    assert (place / "called").read_text() == "--add\n--remove\n"
    added, removed = (place / "read").read_text().split("abi <abi/4.0>,\n")[1:]
    # No path stands after the name: no program gets it by where it lies.
    assert added == removed and added.startswith("profile hutch-user-a flags=(unconfined) {\n  userns,\n")


def test_what_cannot_be_loaded_is_told(host):
    place = host("1\n", apparmor_parser="#!/bin/sh\necho no securityfs >&2\nexit 1\n", aa_exec="#!/bin/sh\n")
    with pytest.raises(SystemExit, match="no securityfs"):
        with namespaces_allowed("hutch-user-a", place / "restriction"):
            pytest.fail("it began")


def test_where_the_tools_are_missing_the_package_is_named(host, monkeypatch):
    place = host("1\n", apparmor_parser=PARSER)
    monkeypatch.setattr("shutil.which", lambda program, path: None if program == "aa-exec" else program)
    with pytest.raises(SystemExit, match="install the package apparmor"):
        with namespaces_allowed("hutch-user-a", place / "restriction"):
            pytest.fail("it began")
    assert not (place / "called").exists()
