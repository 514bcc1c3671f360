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
    client.run("mkdir -p ~/.local/bin; printf '#!/bin/sh\necho mine\n' >~/.local/bin/python; chmod +x ~/.local/bin/python", "bash")
    assert client.run("python", "bash")["stdout"] == "mine\n"
