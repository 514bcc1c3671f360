"""packaging/apparmor: a profile for the programs of named directories, and for nobody else's."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTALL = ROOT / "packaging" / "apparmor" / "install.sh"
PROGRAMS = ("hutch", "hutch-box", "hutch-init")


def profile(*arguments):
    return subprocess.run(["sh", INSTALL, "--print", *map(str, arguments)], capture_output=True, text=True)


def directories(text):
    (line,) = [line for line in text.splitlines() if line.startswith("@{hutch_bin} =")]
    return line.split("=", 1)[1].split()


def build(directory):
    directory.mkdir()
    for name in PROGRAMS:
        (directory / name).touch()
    return directory


def test_it_is_for_directories_of_root_only():
    text = profile().stdout
    assert directories(text) == ["/usr/bin", "/usr/local/bin", "/opt/hutch/bin"]
    (attached,) = [line.split()[2] for line in text.splitlines() if line.startswith("profile ")]
    assert attached == "@{hutch_bin}/hutch{,-box,-init}"


def test_a_build_is_named_by_its_one_path(tmp_path):
    made = build(tmp_path / "bin")
    (tmp_path / "link").symlink_to(made)
    text = profile(tmp_path / "link").stdout
    assert directories(text)[3:] == [str(made.resolve())]
    if parser := shutil.which("apparmor_parser", path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
        # Parsers before version 4 know neither that ABI nor user namespaces.
        old = "\n".join(line for line in text.splitlines() if "abi" not in line and "userns" not in line)
        checked = subprocess.run([parser, "-Q", "-K", "-S"], input=old.encode(), capture_output=True)
        assert checked.returncode == 0 and checked.stdout, checked.stderr


@pytest.mark.parametrize("name", ["with space", "star*", "brace{a,b}", "quote\"", "hash#", "at@{x}", "new\nline"])
def test_what_means_something_in_a_profile_is_refused(tmp_path, name):
    refused = profile(build(tmp_path / name))
    assert refused.returncode == 1 and "characters" in refused.stderr and not refused.stdout


def test_a_directory_without_hutch_is_refused(tmp_path):
    refused = profile(tmp_path)
    assert refused.returncode == 1 and "no hutch in" in refused.stderr
    assert profile(tmp_path / "none").returncode != 0
