"""tests/long_cases.txt names cases that there are, and leaves some of each file to the gate."""

import ast
import pathlib

import long_cases

TESTS = pathlib.Path(__file__).resolve().parents[1]
NAMED = long_cases.read()


def _tests_in(file):
    tree = ast.parse((TESTS / file).read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}


def test_they_exist_and_stand_in_order():
    for file, named in NAMED.items():
        missing = named.keys() - _tests_in(file).keys()
        assert not missing, f"{file} has no {', '.join(sorted(missing))}: take it out of tests/long_cases.txt"
        assert list(named) == sorted(named), file
    assert list(NAMED) == sorted(NAMED)


def _is_marked_slow(test):
    return any(ast.unparse(decorator) == "pytest.mark.slow" for decorator in test.decorator_list)


def test_each_file_has_some_in_the_gate():
    for file, named in NAMED.items():
        in_gate = [name for name, test in _tests_in(file).items() if named.get(name, 1) and not _is_marked_slow(test)]
        assert in_gate, f"{file}: name the suite behind LONG in tests/CMakeLists.txt"


def test_a_test_has_cases_before_the_ones_that_are_named(tmp_path):
    path = tmp_path / "named.txt"
    path.write_text("# why\nintegration/test_a.py\n  test_all\n  test_some[1:]\n")
    assert long_cases.read(path) == {"integration/test_a.py": {"test_all": 0, "test_some": 1}}
