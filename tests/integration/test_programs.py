"""The programs that code of every language finds in a box, and how it meets them."""

import shutil

import pytest

PYTHON = shutil.which("python", path="/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin")


@pytest.mark.parametrize("language, code", [
    ("bash", "python -c 'print(1)'"),
    ("bash", "printf '#!/usr/bin/env python\nprint(1)\n' >p; chmod +x p; ./p"),
    ("bash", "python -m venv --without-pip v && v/bin/python -c 'print(1)'"),
    ("python", "import subprocess\nprint(subprocess.check_output(['python', '-c', 'print(1)'], text=True), end='')"),
    ("javascript", "process.stdout.write(require('child_process').execFileSync('python', ['-c', 'print(1)']))"),
])
def test_python_has_its_short_name(client, language, code):
    run = client.run(code, language)
    assert run["stdout"] == "1\n", run


def test_a_python_of_the_host_goes_before_the_link(client):
    found = client.run("command -v python", "bash")["stdout"].strip()
    assert found == (PYTHON or "/run/hutch/bin/python")
    client.run("cd; mkdir -p .local/bin; printf '#!/bin/sh\necho mine\n' >.local/bin/python; chmod +x .local/bin/python", "bash")
    assert client.run("python", "bash")["stdout"] == "mine\n"


@pytest.mark.parametrize("language, code", [
    ("bash", "python3 slow.py"),
    ("javascript", "require('child_process').spawnSync('python3', ['slow.py'], {stdio: 'inherit'})"),
])
def test_what_a_child_python_prints_is_there_before_it_ends(client, language, code):
    client.call("write_file", path="slow.py", content="import time\nprint('epoch 1')\ntime.sleep(600)\n")
    run = client.run(code, language, background=True)
    client.until_output(run["run_id"], "epoch 1")
    client.call("cancel_run", run_id=run["run_id"])


def test_who_writes_to_nobody_is_ended_as_anywhere(client):
    """Also where bash is started from a Python, which ignores that signal."""
    assert client.run("yes | head -n1; echo ${PIPESTATUS[@]}", "bash")["stdout"] == "y\n141 0\n"
