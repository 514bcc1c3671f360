"""hutch doctor: true of this host, and of one that lacks something; its exit status is what it says."""

import json
import os
import subprocess

import pytest

from changed_host import changed_hutch, why_not
from conftest import needs
from hutch_client import PATIENCE, hutch_binary

LAYERS = ("kernel", "system calls", "seccomp", "Landlock", "overlayfs", "user namespaces", "AppArmor", "/proc",
          "cgroups", "state directory", "Python, SQL", "Python packages", "JavaScript", "TypeScript", "bash",
          "hutch itself", "a real box", "network", "environment", "default memory", "memory_mb", "disk_mb", "pause", "zygote")


def doctor(state, *arguments, binary=None, env=None, seconds=180):
    environment = {"PATH": os.environ["PATH"], "HOME": state, "HUTCH_ZYGOTE": "0", **(env or {})}
    return subprocess.run([binary or hutch_binary(), "doctor", *arguments, "--state-dir", state], capture_output=True,
                          text=True, env=environment, timeout=seconds * PATIENCE)


def findings_of(state, **more):
    done = doctor(state, "--json", **more)
    findings = {finding["layer"]: finding for finding in json.loads(done.stdout)}
    assert (done.returncode == 0) == all(f["state"] != "missing" for f in findings.values()), done
    return findings


@pytest.fixture
def changed(tmp_path):
    said = why_not()
    needs(not said, f"a mount namespace of our own ({said.strip()})")
    return lambda *commands: changed_hutch(tmp_path, *commands)


def test_of_this_host(state):
    findings = findings_of(state)
    for layer in LAYERS:
        assert layer in findings and findings[layer]["detail"], layer
    assert findings["a real box"]["state"] == "good", findings["a real box"]
    for finding in findings.values():
        assert finding["state"] != "weaker" or finding["remedy"] or finding["layer"] == "zygote", finding
    assert findings["network"]["state"] == "good" and "and no other" in findings["network"]["detail"]
    cgroups = findings["cgroups"]["state"] == "good"
    assert (findings["memory_mb"]["level"] == "hard") == cgroups, (findings["memory_mb"], findings["cgroups"])
    # Nothing of the trial stays.
    listed = subprocess.run([hutch_binary(), "sessions", "ls", "--json", "--state-dir", state], capture_output=True)
    assert json.loads(listed.stdout) == []


def test_the_text_ends_with_what_the_exit_status_says(state):
    done = doctor(state)
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith("Sessions start here"), done
    weaker = sum(line[17:23] == "weaker" for line in done.stdout.splitlines())
    assert f"{weaker} of these lines" in done.stdout or (weaker == 0 and "with everything" in done.stdout)
    blocked = os.path.join(state, "file")
    open(blocked, "w").close()
    none = doctor(blocked + "/below")
    assert none.returncode == 1 and none.stdout.endswith("No session can start here.\n"), none


@pytest.mark.slow
def test_interpreters_first_in_the_path_are_named(state, tmp_path):
    for name in ("python3", "node"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    findings = findings_of(state, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    for layer, name in (("Python, SQL", "python3"), ("JavaScript", "node")):
        assert findings[layer]["state"] == "good", findings[layer]
        assert f"not {tmp_path}/{name}" in findings[layer]["detail"]
        assert f"/usr/bin/{name}" in findings[layer]["detail"]


def test_without_python_nothing_is_waited_for(state, changed, tmp_path):
    """A zygote that does not come is waited for half a minute."""
    (tmp_path / "none").touch(0o644)
    findings = findings_of(state, binary=changed(f"mount --bind {tmp_path}/none /usr/bin/python3"), env={"HUTCH_ZYGOTE": "1"},
                           seconds=5)
    assert "install the package python3" in findings["Python, SQL"]["detail"], findings["Python, SQL"]
    assert findings["zygote"]["state"] == "weaker" and findings["zygote"]["remedy"] == "as for Python, SQL above", findings["zygote"]
    assert findings["a real box"]["state"] == "good" and findings["bash"]["state"] == "good"


def test_an_interpreter_that_fails_in_a_box_is_named_with_the_reason(state, changed, tmp_path):
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho 'SyntaxError: Unexpected token of an old node' >&2\nexit 1\n")
    old.chmod(0o755)
    findings = findings_of(state, binary=changed(f"mount --bind {old} /usr/bin/node"))
    assert findings["JavaScript"]["state"] == "weaker"
    assert "/usr/bin/node; a box cannot run javascript" in findings["JavaScript"]["detail"]
    assert "SyntaxError: Unexpected token of an old node" in findings["JavaScript"]["detail"], findings["JavaScript"]
    assert "node 18" in findings["JavaScript"]["remedy"]
    assert findings["Python, SQL"]["state"] == "good" and findings["a real box"]["state"] == "good"


def test_packages_for_others_are_named(state, changed, tmp_path):
    """No pandas for sessions, though the user has one."""
    (tmp_path / "empty").mkdir()
    own = tmp_path / ".local/lib/python3.11/site-packages/pandas"
    own.mkdir(parents=True)
    findings = findings_of(state, binary=changed(f"mount --bind {tmp_path}/empty /usr/lib/python3/dist-packages"),
                           env={"HOME": str(tmp_path)})
    packages = findings["Python packages"]
    assert packages["state"] == "weaker" and "python3-pandas" in packages["remedy"], packages
    assert f"not used: {own}" in packages["detail"], packages


@pytest.mark.slow
def test_a_package_that_cannot_be_imported_is_named(state, changed, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('built for another numpy')\n")
    findings = findings_of(state, binary=changed(f"mount --bind {broken} /usr/lib/python3/dist-packages/pandas"))
    packages = findings["Python packages"]
    assert packages["state"] == "weaker" and packages["remedy"], packages
    assert "pandas (ImportError: built for another numpy)" in packages["detail"], packages

