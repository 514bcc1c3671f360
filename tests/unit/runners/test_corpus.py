"""The corpus of Python on its runner alone, without IPython and with its shell loaded: one contract."""

import pytest

import corpus
import environments

# Only the box can tell these: how much was cut, and where its files are.
OF_THE_BOX = {"truncated", "cause"}
PLACES = ("/workspace",)
CASES = [case for case in corpus.cases_of("python")
         if not case.get("alone") and not any(place in str(case) for place in PLACES)]


@pytest.fixture(scope="module", params=["plain", "IPython"])
def runner(request, tmp_path_factory):
    from conftest import EXTRAS
    from runner_client import PROGRAMS, RunnerClient

    home = tmp_path_factory.mktemp("corpus")
    program, hidden = None, {}
    if request.param == "plain":
        (home / "hidden").mkdir()
        (home / "hidden/IPython.py").write_text("raise ImportError('hidden')")
        hidden = {"PYTHONPATH": str(home / "hidden")}
    if request.param == "IPython":
        if not EXTRAS.exists():
            pytest.skip(environments.MISSING)
        program = [str(EXTRAS), *PROGRAMS["python"][1:]]
    with RunnerClient("python", home, program=program, extra_env=hidden) as client:
        if request.param == "IPython":
            assert client.run("%pwd").ok  # its shell is there from now on
        yield client


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(runner, case):
    if case.get("needs") and not runner.run(f"import {case['needs']}").ok:
        pytest.skip(f"no {case['needs']}")
    for step in case["steps"]:
        ending = runner.run(step["code"])
        run = {"status": "completed" if ending.ok else "failed", "exit_code": ending.done["exit_code"],
               "stdout": ending.stdout, "stderr": ending.stderr, "outputs": ending.outputs, "error": ending.error}
        expect = {key: wanted for key, wanted in step.get("expect", {}).items() if key not in OF_THE_BOX}
        corpus.check(run, expect, len(ending.images))
