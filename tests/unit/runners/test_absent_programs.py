"""Programs that a session has not, called from Python and JavaScript: one line says how things are, as bash has it."""

import pytest

from runner_client import RUNNERS, Keeper

BREW = "the system can only be read, so brew installs nothing"
OFFICE = "there is no LibreOffice here: Python's docx"


def told(ending):
    return ending.done.get("note", "") + ending.stderr


@pytest.mark.parametrize("code, sentence", [
    ("import os; os.system('brew install jq')", BREW),
    ("import subprocess; subprocess.run('brew install jq', shell=True)", BREW),
    ("import subprocess; subprocess.getoutput('cd /tmp && LANG=C unoconv a.docx | tail -3')", OFFICE),
    ("import subprocess; subprocess.run(['bash', '-c', 'set -e\\nunoconv a.docx'])", OFFICE),
    ("import os; os.popen('time \"unoconv\" a.docx').read()", OFFICE),
    ("import subprocess\ntry: subprocess.run(['unoconv'])\nexcept OSError: print('none')", OFFICE),
    ("import subprocess; subprocess.run(['unoconv', 'a.docx'])", OFFICE),
    ("import subprocess; subprocess.run('true && unoconv a.docx', shell=True, check=True)", OFFICE),
    ("import asyncio\np = await asyncio.create_subprocess_shell('unoconv a.docx')\nawait p.wait()", OFFICE),
    ("import subprocess; subprocess.run('echo \"a; unoconv b\"', shell=True)", None),
    ("import subprocess; subprocess.run('cat <<END\\nunoconv a\\nEND', shell=True)", None),
    ("import subprocess; subprocess.run(['echo', 'unoconv'])", None),
    ("import subprocess; subprocess.run('nosuchprogram', shell=True)", None),
    ("import subprocess\ntry: subprocess.run(5)\nexcept TypeError: pass", None),
])
def test_python_explains(python, code, sentence):
    ending = python.run(code)
    assert told(ending).count(sentence or "here") == (1 if sentence else 0), ending
    assert "note" not in python.run("1").done


@pytest.mark.parametrize("code", ["!unoconv a.docx", "x = !unoconv a.docx", "%%bash\nunoconv a.docx", "%system unoconv a.docx"])
def test_python_explains_in_the_language_of_notebooks(extras, code):
    assert OFFICE in told(extras.run(code))


def test_snapshots_keep_what_is_watched(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    assert first.run("from os import system\nfrom subprocess import Popen, run").ok and keeper.take()
    assert start("python", keeper=keeper).run("system('exit 3') >> 8, run('exit 4', shell=True).returncode, Popen is __import__('subprocess').Popen").text == "(3, 4, True)"


def test_a_program_of_the_users_own_needs_no_explanation(python):
    own = python.cwd / "bin/unoconv"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\nexit 127\n")
    own.chmod(0o755)
    python.run(f"import os; os.environ['PATH'] += ':{own.parent}'")
    assert "note" not in python.run("os.system('unoconv a.docx')").done


def test_a_module_of_the_users_own_may_have_the_name_of_a_library(python):
    (python.cwd / "shutil.py").write_text("own = 1\n")
    ending = python.run("import shutil, os; os.system('unoconv a.docx'); shutil.own")
    assert ending.text == "1" and OFFICE in told(ending)


@pytest.mark.parametrize("code, sentence", [
    ("execSync('brew install jq')", BREW),
    ("exec('brew install jq', () => {}); 0", BREW),
    ("execFile('unoconv', ['a.docx'], () => {}); 0", OFFICE),
    ("spawn('unoconv', ['a.docx'])", OFFICE),
    ("spawn('unoconv', ['a.docx'], { shell: true }); 0", OFFICE),
    ("spawnSync('unoconv', ['a.docx']).error.code", OFFICE),
    ("spawnSync('bash', ['-c', 'cd /tmp\\nunoconv a.docx']); 0", OFFICE),
    ("execFileSync('unoconv')", OFFICE),
    ("execSync('unoconv a.docx | tail -3'); 0", OFFICE),
    ("await require('util').promisify(exec)('unoconv a.docx')", OFFICE),
    ("const { execSync: run } = await import('node:child_process'); run('unoconv a.docx')", OFFICE),
    ("try { execSync('unoconv') } catch {}", OFFICE),
    ("execSync('echo \"a; unoconv b\"'); 0", None),
    ("execFileSync('echo', ['unoconv']); 0", None),
    ("exec('nosuchprogram', () => {}); 0", None),
    ("try { spawnSync(5) } catch {}", None),
])
def test_javascript_explains(javascript, code, sentence):
    ending = javascript.run("var { exec, execFile, execFileSync, execSync, spawn, spawnSync } = require('child_process');\n" + code)
    assert told(ending).count(sentence or "here") == (1 if sentence else 0), ending
    assert "note" not in javascript.run("1").done


def test_javascript_calls_programs_as_before(javascript):
    ending = javascript.run("const { execFileSync, spawnSync, spawn } = require('child_process');\n"
                            "[execFileSync('echo', ['one']).toString(), spawnSync('sh', ['-c', 'exit 3']).status, spawnSync.name, spawn('true').spawnargs]")
    assert ending.text == "[ 'one\\n', 3, 'spawnSync', [ 'true' ] ]"


@pytest.mark.parametrize("code", ["execSync('echo out; echo wrong >&2; exit 3')", "execFileSync('sh', ['-c', 'echo out; echo wrong >&2; exit 3'])",
                                  "await require('util').promisify(exec)('echo out; echo wrong >&2; exit 3')"])
def test_a_failed_program_is_told_in_text_and_once(javascript, code):
    error = javascript.run("const { exec, execFileSync, execSync } = require('child_process');\nvar failure\n"
                           f"try {{ {code} }} catch (caught) {{ throw failure = caught }}").error
    assert "stdout: 'out\\n'" in error["traceback"] and "Buffer" not in error["traceback"] and "stderr:" not in error["traceback"]
    assert javascript.run("failure.stderr.toString()").text == "'wrong\\n'", "the error itself is as node has made it"
    assert javascript.run("Object.keys(failure).includes('stderr')").text == "true"


def test_the_list_names_each_program_once_and_says_a_sentence():
    lines = (RUNNERS / "absent_programs.txt").read_text().splitlines()
    names = [name for line in lines for name in line.split("\t")[0].split()]
    assert len(names) == len(set(names)) > 60
    assert all(len(line.split("\t")) == 2 and 30 < len(line.split("\t")[1]) < 260 and line.count("%") <= 1 for line in lines)
