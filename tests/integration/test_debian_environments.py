"""Environments with packages of Debian, from a repository in a folder: laid over the machine's /usr, none of their scripts run."""

import hashlib
import json
import os
import shutil
import subprocess

import pytest

from conftest import needs
from hutch_client import Client, hutch_binary

SCRIPT = """#!/bin/sh
touch /tmp/hutch-postinst-was-run
update-alternatives --install /usr/bin/tinier tinier /usr/bin/tiny-tool 10 \\
  --slave /usr/share/tiny/manual tiny.1 /usr/share/tiny/greeting
"""


@pytest.fixture
def repository(tmp_path):
    """Variables of a process whose apt knows one package, tiny-tool."""
    needs(shutil.which("apt-get") and shutil.which("dpkg-deb"), "no apt on this machine: --apt is for Debian and Ubuntu")
    root = tmp_path / "root"
    files = {"DEBIAN/control": "Package: tiny-tool\nVersion: 1:2.0-1\nArchitecture: all\nMaintainer: none\nDescription: tiny\n",
             "DEBIAN/postinst": SCRIPT, "usr/bin/tiny-tool": "#!/bin/sh\ncat /usr/share/tiny/greeting\n",
             "usr/share/tiny/greeting": "hello\n", "bin/tiny-old": "#!/bin/sh\necho old\n", "etc/tiny": "not there\n"}
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        (root / name).chmod(0o4755 if "bin/" in name else 0o755)
    deb = tmp_path / "debs" / "tiny-tool_2.0-1_all.deb"
    deb.parent.mkdir()
    subprocess.run(["dpkg-deb", "--root-owner-group", "--build", str(root), str(deb)], check=True, stdout=subprocess.DEVNULL)
    (deb.parent / "Packages").write_text(
        files["DEBIAN/control"] + f"Filename: ./{deb.name}\nSize: {deb.stat().st_size}\n"
        f"SHA256: {hashlib.sha256(deb.read_bytes()).hexdigest()}\n")
    for folder in ("lists/partial", "cache/archives/partial"):
        (tmp_path / "apt" / folder).mkdir(parents=True)
    (tmp_path / "apt/sources.list").write_text(f"deb [trusted=yes] file:{deb.parent} ./\n")
    (tmp_path / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{tmp_path}/apt/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Cache "{tmp_path}/apt/cache";\n'
        f'Dir::State::lists "{tmp_path}/apt/lists"; APT::Sandbox::User "root"; Debug::NoLocking "1";\n')
    settings = {**os.environ, "APT_CONFIG": str(tmp_path / "apt.conf"), "HOME": str(tmp_path),
                "HUTCH_ENVIRONMENTS_DIR": str(tmp_path / "environments")}
    subprocess.run(["apt-get", "update", "-qq"], env=settings, check=True, capture_output=True)
    return settings


def environments(settings, *arguments):
    return subprocess.run([hutch_binary(), "environments", *arguments], env=settings, capture_output=True, text=True, timeout=300)


def test_programs_of_debian_are_there_and_nothing_of_them_was_run(repository, state):
    made = environments(repository, "build", "tools", "--apt", "tiny-tool", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["packages"] == 1
    with Client(state, env={"HUTCH_ENVIRONMENTS_DIR": repository["HUTCH_ENVIRONMENTS_DIR"]}) as client:
        session = client.call("create_session", template="tools")["session_id"]
        code = ("tiny-tool; tinier; cat /usr/share/tiny/manual; tiny-old; ls -l /usr/bin/tiny-tool | cut -c4; ls /etc/tiny; "
                "ls /usr/bin/env; touch /usr/bin/tiny-tool; python3 -c 'import subprocess; print(subprocess.getoutput(\"tinier\"))'")
        run = client.run(code, "bash", session_id=session)
        assert run["stdout"].split() == ["hello", "hello", "hello", "old", "x", "/usr/bin/env", "hello"]
        assert "/etc/tiny" in run["stderr"] and "Read-only file system" in run["stderr"]
        plain = client.run("tiny-tool", "bash", session_id=client.call("create_session")["session_id"])
        assert plain["exit_code"] == 127
    assert not os.path.exists("/tmp/hutch-postinst-was-run")


def test_a_package_that_the_machine_has_downloaded_already(repository, tmp_path):
    deb = tmp_path / "debs" / "tiny-tool_2.0-1_all.deb"
    shutil.copy(deb, tmp_path / "apt/cache/archives/tiny-tool_1%3a2.0-1_all.deb")
    made = environments(repository, "build", "tools", "--apt", "tiny-tool", "--json")
    assert made.returncode == 0 and json.loads(made.stdout)["packages"] == 1, made.stderr


def test_a_package_that_is_not_known_is_told_of(repository):
    failed = environments(repository, "build", "tools", "--apt", "no-such-tool")
    assert failed.returncode == 1 and "Unable to locate package no-such-tool" in failed.stderr
    assert json.loads(environments(repository, "ls", "--json").stdout) == []
