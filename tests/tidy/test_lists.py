"""Lists that two languages need are the same in both, and benchmarks hold the aims that they name."""

import pathlib
import re
import subprocess
import sys

import pytest

TREE = pathlib.Path(__file__).parents[2]


def explains(name):
    runners = TREE / "sandbox/runners"
    return subprocess.run(["/bin/sh", "-c", '. "$0"; __hutch_explain "$1" "$2"', runners / "bash/explain.sh", name, runners / "absent_programs.txt"],
                          capture_output=True, text=True, timeout=60)


def test_bash_explains_what_boxes_put_it_before():
    listed = re.search(r"kExplained\[\] = \{(.*?)\}", (TREE / "sandbox/box/plan.cc").read_text(), re.DOTALL)
    names = re.findall(r'"([^"]+)"', listed[1])
    assert len(names) > 20
    for name in names:
        told = explains(name)
        assert told.returncode == 0 and told.stdout.startswith("hutch: "), name
    assert explains("nosuchprogram").returncode == 1


def test_helpers_of_libraries_are_the_same_to_the_box_as_to_the_runner():
    names = [re.findall(r'"([^"]+)"', re.search(pattern, (TREE / "sandbox" / file).read_text(), re.DOTALL)[1])
             for file, pattern in (("box/run_processes.cc", r"kHelpers = \{(.*?)\}"), ("runners/python/children.py", r"_HELPERS = \((.*?)\)"))]
    assert names[0] == names[1] != []


def aims_of(lines):
    code = "from aims import Aims; aims = Aims()\n" + lines + "\naims.end()"
    return subprocess.run([sys.executable, "-B", "-c", code], cwd=TREE / "tests/bench", capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("lines, status, last", [
    ("aims.at_most('the ratio', 1.05, 1.05)", 0, "all 1 aims are met"),
    ("aims.at_most('the ratio', 1.06, 1.05); aims.that(True, 'never said')", 1, "MISSED: the ratio is 1.06, and at most 1.05 is the aim"),
    ("aims.that(not ['a fact'], '1 facts are lost')", 1, "MISSED: 1 facts are lost"),
    ("", 1, "")])
def test_a_missed_aim_is_the_status_and_so_is_none_at_all(lines, status, last):
    ended = aims_of(lines)
    assert (ended.returncode, ended.stdout.strip(), ended.stderr) == (status, last, "")


def test_benchmarks_that_name_aims_hold_them():
    named = {file.name: file.read_text() for file in (TREE / "tests/bench").glob("*.py") if re.search(r"^The aims?\b", file.read_text(), re.M)}
    assert set(named) >= {"kernel_memory.py", "past_runs.py", "principals.py", "stored_state.py", "two_builds.py", "words.py"}
    for name, text in named.items():
        assert "from aims import Aims" in text and re.search(r"^    aims\.end\(\)$", text, re.M) and "aims.at_most(" in text, name
    said = (TREE / "tests/README.md").read_text()
    assert not [name for name in named if f"`{name}`" not in said], "tests/README.md says which they are"


def test_whose_precompiled_headers_others_use_has_no_definitions_of_its_own():
    """They are compiled with its definitions, and a target that has others cannot use them."""
    text = "\n".join((TREE / name).read_text() for name in ("CMakeLists.txt", "tests/CMakeLists.txt"))
    owners = set(re.findall(r"hutch_precompile\([\w${}]+ ([a-z]\w*)", text))
    assert "base" in owners
    own = re.findall(r"target_compile_definitions\(\s*(\w+)\s+PRIVATE", text)
    assert not owners & set(own)
