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


@pytest.mark.skipif(shutil.which("npm") is None, reason="this host has no npm")
def test_npm_finds_its_prefix(client):
    """Where it is not there, npm ends before it does anything: npx, too."""
    run = client.run("npm ls -g", "bash", timeout_seconds=60)
    assert run["status"] == "completed" and "(empty)" in run["stdout"], run


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


EXPLAINED = {"apt-get": "the system can only be read, so apt-get installs nothing", "sudo": "nobody is root in a session",
             "docker": "a session starts no containers", "brew": "so brew installs nothing", "conda": "there is no conda in a session",
             "dnf": "so dnf installs nothing", "systemctl": "no services are managed here", "docker-compose": "a session starts no containers",
             "unoconv": "there is no LibreOffice here", "geckodriver": "playwright's p.chromium.launch()",
             "crontab": "nothing is started at a set time here", "ping": "curl -I shows whether a host answers"}


@pytest.mark.parametrize("program", EXPLAINED)
def test_what_cannot_work_in_a_session_is_explained(client, program):
    """Behind its own words where the host has it, behind bash's where not; also within a pipe."""
    run = client.run(f"{program} install nosuch", "bash")
    said = run["stderr"].splitlines()
    assert run["status"] == "failed" and said[-1].startswith("hutch: ") and EXPLAINED[program] in said[-1], run
    has = any(shutil.which(program, path=path) for path in ("/usr/bin", "/usr/local/bin"))
    assert (said[0] == f"bash: line 1: {program}: command not found") != has and len(said) > 1, run
    assert EXPLAINED[program] in client.run(f"true\n{program} install nosuch 2>&1 | tail -3", "bash")["stdout"]
    assert (client.run(f"command -v {program}", "bash")["status"] == "completed") == has


@pytest.mark.parametrize("call", ["bash setup.sh", "./setup.sh", "bash -c 'unoconv a.docx'", "bash -euc 'unoconv a.docx'", "xargs bash -c unoconv < /dev/null",
                                  "make_it() { bash setup.sh; }; make_it", "env -u HOME bash setup.sh", "timeout 9 bash setup.sh"])
def test_scripts_are_told_as_well(client, call):
    run = client.run(f"printf '#!/bin/bash\\nunoconv a.docx\\n' > setup.sh; chmod +x setup.sh; {call}", "bash")
    *_, own, explained = run["stderr"].splitlines()
    assert own.endswith("unoconv: command not found") and explained.startswith("hutch: there is no LibreOffice here"), run
    assert ("setup.sh: line 2: " in own) == ("setup.sh" in call), run


@pytest.mark.parametrize("call,way", [("sudo apt-get install -y jq", "so apt-get installs nothing"), ("sudo -E A=1 docker ps", "starts no containers"),
                                      ("sudo ls", "call the command itself"), ("bash -c 'sudo apt update'", "so apt installs nothing")])
def test_what_sudo_is_to_run_is_explained(client, call, way):
    run = client.run(call, "bash")
    assert run["status"] == "failed" and way in run["stderr"].splitlines()[-1], run


@pytest.mark.parametrize("call", ["vim a.txt", "nano a.txt", "emacs -nw a.txt"])
def test_editors_that_nobody_sits_at_end_at_once(client, call):
    run = client.run(call, "bash", timeout_seconds=20)
    assert run["status"] == "failed" and run["stderr"].splitlines()[-1].startswith("hutch: nobody sits at a terminal here: edit_file"), run


def test_scripts_of_other_languages_are_told_as_well(client):
    client.call("write_file", path="setup.sh", content="unoconv a.docx\n")
    run = client.run("import subprocess\nprint(subprocess.run(['bash', 'setup.sh'], capture_output=True, text=True).stderr)")
    assert "setup.sh: line 1: unoconv: command not found\nhutch: there is no LibreOffice here" in run["stdout"], run
    run = client.run("console.log(require('child_process').spawnSync('bash', ['setup.sh']).stderr.toString())", "javascript")
    assert "\nhutch: there is no LibreOffice here" in run["stdout"], run
    assert client.run("BASH_ENV= bash setup.sh", "bash")["stderr"] == "setup.sh: line 1: unoconv: command not found\n", "as the user says"


@pytest.mark.parametrize("code", ["subprocess.run(['unoconv', 'a.docx'])", "subprocess.check_output('unoconv a.docx', shell=True)",
                                  "asyncio.run(asyncio.create_subprocess_exec('unoconv'))", "calls_and_raises_its_own()"])
def test_python_explains_a_program_that_is_not_there(client, code):
    run = client.run("import asyncio, subprocess\ndef calls_and_raises_its_own():\n    try: subprocess.run(['unoconv'])\n"
                     "    except OSError: raise RuntimeError('no converter')\n" + code)
    assert run["stderr"].rstrip().splitlines()[-1].startswith("(there is no LibreOffice here: Python's docx"), run
    assert "(there is" not in client.run("open('unoconv')")["stderr"]


def test_a_command_that_is_not_there_is_told_as_bash_tells_it(client):
    run = client.run("true\nnosuchcommand; echo $?\nnosuchcommand | cat", "bash")
    assert run["stdout"] == "127\n", run
    assert run["stderr"] == "bash: line 2: nosuchcommand: command not found\nbash: line 3: nosuchcommand: command not found\n", run
    strict = "set -eE; trap 'echo caught' ERR; nosuchcommand || echo $?; set -x; nosuchcommand"
    run = client.run(strict, "bash")
    assert run["stdout"] == "127\ncaught\n" and run["exit_code"] == 127, run
    assert run["stderr"].count("\n+") + run["stderr"].startswith("+") <= 3 and "__hutch" not in run["stderr"], run
    run = client.run("printf 'true\\nnosuchcommand\\n' > lib.sh; . ./lib.sh; f() { nosuchcommand; }; f", "bash")
    assert run["stderr"] == "./lib.sh: line 2: nosuchcommand: command not found\nbash: line 1: nosuchcommand: command not found\n", run
    client.run("command_not_found_handle() { echo \"own: $1\"; return 3; }", "bash")
    run = client.run("nosuchcommand", "bash")
    assert (run["stdout"], run["exit_code"]) == ("own: nosuchcommand\n", 3), "the user's own is kept"
    assert client.run("unset -f command_not_found_handle; nosuchcommand", "bash")["exit_code"] == 127
    assert "command not found" in client.run("nosuchcommand", "bash")["stderr"]
