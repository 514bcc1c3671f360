"""Walls that a model meets on its first day with a session, each with its neighbours."""

import pytest

from boxes import until
from hutch_client import Client

# Some of those that stopped Python for good, with what needs them, are here.
OWN_FILES = ["types", "token", "re", "enum", "io", "os", "random", "copy", "typing", "traceback", "warnings", "queue", "string", "calendar"]


@pytest.fixture(params=["0", "1"], ids=["cold", "warm"])
def either(request, state):
    with Client(state, env={"HUTCH_ZYGOTE": request.param, "HUTCH_SPARE_SESSIONS": "0"}) as client:
        yield client


def test_own_files_named_like_the_standard_library_stop_nothing(either):
    for name in OWN_FILES:
        either.call("write_file", path=f"{name}.py", content="mine = True\nraise SystemError('own')\n")
    run = either.run("import json, tokenize, asyncio, tempfile, pickle\nprint(json.dumps(1)); await asyncio.sleep(0)")
    assert run["stdout"] == "1\n", run
    assert "ZeroDivisionError" in either.run("def f(): 1 / 0\nf()")["stderr"]
    assert either.run("import sqlite3, csv, datetime; print('still')")["stdout"] == "still\n"
    assert "SystemError: own" in either.run("import calendar")["stderr"], "cells may mean their own"
    either.call("write_file", path="chess.py", content="mine = True\n")
    assert either.run("import chess; print(chess.mine)")["stdout"] == "True\n"


@pytest.mark.parametrize("language,code,expected", [
    ("python", "import os; print(os.getcwd())", "/workspace\n"), ("javascript", "console.log(process.cwd())", "/workspace\n"),
    ("bash", "pwd", "/workspace\n"),
])
def test_a_deleted_working_directory_is_left(client, language, code, expected):
    goes = {"python": "import os, shutil\nos.makedirs('gone'); os.chdir('gone'); os.rmdir('/workspace/gone')",
            "javascript": "require('fs').mkdirSync('gone'); process.chdir('gone'); require('fs').rmdirSync('/workspace/gone')",
            "bash": "mkdir gone && cd gone && rmdir ../gone"}
    client.run(goes[language], language)
    run = client.run(code, language)
    assert run["stdout"] == expected and "gone" in run["stderr"] and run["status"] == "completed", run


@pytest.mark.parametrize("language,enter,code", [
    ("python", "import os; os.chdir('anew')", "print(os.getcwd(), os.listdir('.'))"),
    ("javascript", "process.chdir('anew')", "console.log(process.cwd(), require('fs').readdirSync('.'))"), ("bash", "cd anew", "pwd; ls"),
])
def test_a_working_directory_that_was_made_again_is_entered(client, language, enter, code):
    client.run("mkdir anew", "bash")
    client.run(enter, language)
    other = "python" if language == "bash" else "bash"
    client.run({"bash": "rm -r anew && mkdir anew && touch anew/newer",
                "python": "import shutil, os; shutil.rmtree('anew'); os.mkdir('anew'); open('anew/newer', 'w').close()"}[other], other)
    run = client.run(code, language)
    assert "/workspace/anew" in run["stdout"] and "newer" in run["stdout"] and not run["stderr"], run


def test_asyncio_run_leaves_the_next_cell_a_loop(client):
    client.run("import asyncio\nasync def f(): return 7\nasyncio.run(f())")
    run = client.run("loop = asyncio.get_event_loop()\nprint(loop.run_until_complete(f()))")
    assert run["stdout"] == "7\n", run
    assert client.value("await f()") == "7"
    assert client.value("asyncio.run(f())") == "7"
    assert client.value("asyncio.get_event_loop().run_until_complete(f())") == "7"


def test_the_source_of_what_cells_define(client):
    client.run("class Plain:\n    x = 1\n\nclass WithMethod(Plain):\n    def go(self):\n        return 2\n")
    client.run("from dataclasses import dataclass\n@dataclass\nclass Data:\n    a: int = 1\n")
    for name, line in (("Plain", "    x = 1\n"), ("WithMethod", "        return 2\n"), ("Data", "    a: int = 1\n"), ("WithMethod.go", "        return 2\n")):
        run = client.run(f"import inspect; print(inspect.getsource({name}), end='')")
        assert line in run["stdout"] and run["status"] == "completed", run
    assert "error" in client.run("inspect.getsource(int)"), "what has none is still refused"


@pytest.mark.parametrize("code", ["await import('node:fs')", "[await import('node:path')]", "({a: await import('node:os')})"])
def test_a_module_as_last_value_fails_nothing(client, code):
    run = client.run(code, "javascript")
    assert run["status"] == "completed" and "Module" in run["outputs"][0]["text"], run


def test_typescript_is_told_once_not_to_be_checked(client):
    assert "not checked" in client.run("const x: number = 1", "typescript")["note"]
    assert "not checked" not in client.run("const y: number = 1", "typescript").get("note", "")


def test_a_list_of_runs_says_how_they_are_now(client, tmp_path):
    session = client.call("create_session")["session_id"]
    run_id = client.run("sleep 0.2; touch ended", "bash", session_id=session, background=True)["run_id"]

    def listed():
        return {run["run_id"]: run for run in client.call("get_run", session_id=session)["runs"]}[run_id]
    assert listed()["status"] in ("queued", "running", "completed")
    until(lambda: listed()["status"] == "completed", what="its end in the list")
    assert listed()["finished_at"]
