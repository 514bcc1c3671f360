"""packaging/apparmor: a profile for the programs of named directories, and for nobody else's."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INSTALL = ROOT / "packaging" / "apparmor" / "install.sh"
PROGRAMS = ("hutch", "hutch-box", "hutch-init")


def install(*arguments, **environment):
    """As on a host where none is installed, unless the environment names another."""
    return subprocess.run(["sh", INSTALL, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "HUTCH_APPARMOR_INSTALLED": "/nowhere/hutch", **environment})


def profile(*arguments, **environment):
    return install("--print", *arguments, **environment)


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
    assert directories(text) == ["/usr/bin", "/usr/lib/hutch/bin", "/usr/local/bin", "/opt/hutch/bin"]
    (attached,) = [line.split()[2] for line in text.splitlines() if line.startswith("profile ")]
    assert attached == "@{hutch_bin}/hutch{,-box,-init}"


def test_a_build_is_named_by_its_one_path(tmp_path):
    made = build(tmp_path / "bin")
    (tmp_path / "link").symlink_to(made)
    text = profile(tmp_path / "link").stdout
    assert directories(text)[4:] == [str(made.resolve())]
    if parser := shutil.which("apparmor_parser", path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
        # Parsers before version 4 know neither that ABI nor user namespaces.
        old = "\n".join(line for line in text.splitlines() if "abi" not in line and "userns" not in line)
        checked = subprocess.run([parser, "-Q", "-K", "-S"], input=old.encode(), capture_output=True)
        assert checked.returncode == 0 and checked.stdout, checked.stderr


@pytest.mark.parametrize("name", ["with space", "star*", "brace{a,b}", "quote\"", "hash#", "at@{x}", "new\nline"])
def test_what_means_something_in_a_profile_is_refused(tmp_path, name):
    refused = profile(build(tmp_path / name))
    assert refused.returncode == 1 and "characters" in refused.stderr and not refused.stdout


def test_several_builds_are_named_and_each_once(tmp_path):
    first, second = build(tmp_path / "first"), build(tmp_path / "second")
    assert directories(profile(first, second, first).stdout)[4:] == [str(first), str(second)]
    one_is_none = profile(first, tmp_path)
    assert one_is_none.returncode == 1 and f"no hutch in {tmp_path}" in one_is_none.stderr and not one_is_none.stdout


def test_builds_of_earlier_calls_stay_while_they_are_there(tmp_path):
    first, second, third = (build(tmp_path / name) for name in ("first", "second", "third"))
    installed = tmp_path / "installed"
    installed.write_text(profile(first, second).stdout)
    (first / "hutch-init").unlink()
    text = profile(third, HUTCH_APPARMOR_INSTALLED=str(installed)).stdout
    assert directories(text)[:4] == directories(profile().stdout) and directories(text)[4:] == [str(second), str(third)]
    # Lines that an earlier version attached are not kept: the rest is this version's.
    installed.write_text(installed.read_text().replace("userns,", "capability,"))
    assert profile(third, HUTCH_APPARMOR_INSTALLED=str(installed)).stdout == text
    installed.write_text("@{hutch_bin} = /usr/bin " + str(tmp_path / "*") + "\n")
    assert profile(HUTCH_APPARMOR_INSTALLED=str(installed)).stdout == profile().stdout


SAYS = {"id": "echo 1000", "sudo": 'echo "$@" >>{0}/asked; exec "$@"', "apparmor_parser": "cat >>{0}/loaded"}


@pytest.fixture
def host(tmp_path):
    """host(DIRECTORY..., restriction=, PROGRAM=SCRIPT): --if-needed as an ordinary user of such a host."""
    programs = tmp_path / "programs"
    programs.mkdir()

    def call(*names, restriction="1\n", **others):
        for name, script in {**SAYS, **others}.items():
            (programs / name).write_text("#!/bin/sh\n" + script.format(tmp_path) + "\n")
            (programs / name).chmod(0o755)
        (tmp_path / "restriction").write_text(restriction)
        return install("--if-needed", *names, PATH=f"{programs}:{os.environ['PATH']}",
                       HUTCH_APPARMOR_INSTALLED=str(tmp_path / "installed"),
                       HUTCH_APPARMOR_RESTRICTION=str(tmp_path / "restriction"))
    return call


@pytest.mark.parametrize("change", [{"restriction": "0\n"}, {"restriction": ""}, {"id": "echo 0"}])
def test_where_nothing_is_restricted_nothing_is_asked_or_said(tmp_path, host, change):
    done = host(tmp_path / "not even built", **change)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "asked").exists() and not (tmp_path / "installed").exists()


def test_where_it_is_needed_sudo_does_it_once(tmp_path, host):
    first, second = build(tmp_path / "first"), build(tmp_path / "second")
    done = host(first, second)
    assert done.returncode == 0 and "as root: without it" in done.stdout.splitlines()[0], done
    installed = (tmp_path / "installed").read_text()
    assert directories(installed)[4:] == [str(first), str(second)] and (tmp_path / "loaded").read_text() == installed
    again = host(second)
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert len((tmp_path / "asked").read_text().splitlines()) == 1
    third = build(tmp_path / "third")
    assert host(third).returncode == 0
    assert directories((tmp_path / "installed").read_text())[4:] == [str(first), str(second), str(third)]
    # An earlier version of the profile is not known.
    (tmp_path / "installed").write_text(installed.replace("{,-box,-init}", ""))
    assert host(second).returncode == 0 and directories((tmp_path / "installed").read_text()) == directories(installed)
    assert len((tmp_path / "asked").read_text().splitlines()) == 3


@pytest.mark.parametrize("change", [{"sudo": "exit 1"}, {"apparmor_parser": "echo refused >&2; exit 1"}])
def test_where_it_cannot_be_done_the_command_is_named(tmp_path, host, change):
    made = build(tmp_path / "bin")
    failed = host(made, **change)
    assert failed.returncode == 1 and f"{INSTALL} {made}" in failed.stderr.splitlines()[-1]
    assert not (tmp_path / "installed").exists(), "it says what is loaded"
    # Sessions may start all the same.
    (made / "hutch").write_text('#!/bin/sh\ntest "$1" = doctor\n')
    (made / "hutch").chmod(0o755)
    assert host(made, **change).returncode == 0


def test_without_apparmors_tools_their_package_is_named(tmp_path):
    (tmp_path / "programs").mkdir()
    for name in ("dirname", "realpath", "sed", "cat"):
        (tmp_path / "programs" / name).symlink_to(shutil.which(name))
    sh = shutil.which("sh")
    text = INSTALL.read_text().replace(":/usr/sbin:/sbin", "")  # a host may have them there
    (tmp_path / "install.sh").write_text(text)
    shutil.copy(INSTALL.parent / "hutch", tmp_path)
    environment = {"PATH": str(tmp_path / "programs"), "HUTCH_APPARMOR_INSTALLED": str(tmp_path / "none")}
    failed = subprocess.run([sh, tmp_path / "install.sh", build(tmp_path / "bin")], env=environment,
                            capture_output=True, text=True)
    assert failed.returncode == 1 and "install the package apparmor" in failed.stderr, failed
    assert not (tmp_path / "none").exists()


def test_a_directory_without_hutch_is_refused(tmp_path):
    refused = profile(tmp_path)
    assert refused.returncode == 1 and "no hutch in" in refused.stderr
    assert profile(tmp_path / "none").returncode != 0
