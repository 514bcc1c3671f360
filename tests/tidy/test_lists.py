"""Lists that two languages need are the same in both."""

import pathlib
import re
import subprocess

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
