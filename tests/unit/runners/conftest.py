import re
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))

import environments  # noqa: E402
from runner_client import PROGRAMS, RUNNERS, RunnerClient  # noqa: E402
from runner_forks import RunnerForks  # noqa: E402

EXTRAS = environments.python()


@pytest.fixture(scope="session")
def origins():
    """Has, for each interpreter, the process that its runners are copies of, from when the first is wanted."""
    made = {}
    yield made
    for forks in made.values():
        forks.close()


def starter(home, request):
    clients = []
    origins = request.getfixturevalue("origins")
    is_plain = request.node.get_closest_marker("plain_start") is not None

    def start_one(language, **options):
        program = {"javascript": "node", "python": "python3", "sql": "python3"}[language]
        if not shutil.which(program, path="/usr/bin"):
            pytest.skip(f"no /usr/bin/{program} on this machine")
        interpreter = "/usr/bin/python3"
        if options.pop("extras", False):
            if not EXTRAS.exists():
                pytest.skip(environments.MISSING)
            interpreter = str(EXTRAS)
        if options.pop("copied", program == "python3" and not is_plain and not options):
            if interpreter not in origins:
                origins[interpreter] = RunnerForks(interpreter)
            options["forks"] = origins[interpreter]
        elif interpreter == str(EXTRAS):
            options["program"] = [interpreter, *PROGRAMS[language][1:]]
        client = RunnerClient(language, home, **options)
        clients.append(client)
        return client.__enter__()

    yield start_one
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def start(tmp_path, request):
    """Starts runners that end with the test: copies of a warmed one, but in modules that are marked plain_start,
    where `copied` asks for one."""
    yield from starter(tmp_path, request)


@pytest.fixture(scope="module")
def extras(tmp_path_factory, request):
    """One Python of code_interpreter for a module: importing its libraries takes seconds."""
    for start_one in starter(tmp_path_factory.mktemp("extras"), request):
        yield start_one("python", extras=True)


@pytest.fixture(scope="module")
def engine_start(engine, tmp_path_factory, request):
    """Starts runners of one session that end with the tests of an engine."""
    yield from starter(tmp_path_factory.mktemp("session"), request)


@pytest.fixture
def start_altered(start, tmp_path):
    """start_altered(file, name, value): JavaScript with another value of a constant in one of the runner's files."""
    def start_one(file, name, value):
        folder = tmp_path / "runners"
        shutil.copytree(RUNNERS, folder)  # with the runner of SQL, which hutch.sql() starts from there
        altered = folder / "javascript" / file
        text, changed = re.subn(rf"const {name} = \d+;", f"const {name} = {value};", altered.read_text())
        assert changed == 1
        altered.write_text(text)
        return start("javascript", program=[*PROGRAMS["javascript"][:-1], str(folder / "javascript/runner.mjs")])

    return start_one


@pytest.fixture(scope="module")
def plotter(tmp_path_factory):
    """One Python for a module, with matplotlib and pandas imported."""
    with RunnerClient("python", tmp_path_factory.mktemp("charts")) as client:
        prelude = client.run("import datetime as dt, matplotlib.pyplot as plt, numpy as np, pandas as pd")
        assert prelude.ok, prelude.stderr
        yield client


@pytest.fixture(scope="module")
def shared_javascript(tmp_path_factory, request):
    """One for a module, for code that leaves nothing another could meet."""
    for start_one in starter(tmp_path_factory.mktemp("shared"), request):
        yield start_one("javascript")


@pytest.fixture
def python(start):
    return start("python")


@pytest.fixture
def javascript(start):
    return start("javascript")


@pytest.fixture
def write(javascript):
    """write(name, text): a file beside the code that runs."""
    def write_one(name, text):
        file = javascript.cwd / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return write_one


@pytest.fixture
def sql(start):
    return start("sql")
