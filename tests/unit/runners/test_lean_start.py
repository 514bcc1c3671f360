"""A start of Python imports little, and what it leaves to later is there whatever the user's code does before."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at

INTERPRETER = Path(__file__).resolve().parents[3] / "sandbox/runners/interpreter"
LATER = ("copyreg", "enum", "json", "linecache", "re", "token", "tokenize", "traceback")
NAMES = f"import sys\nsorted(name for name in {LATER} if name in sys.modules)"


@pytest.fixture(scope="module")
def texts():
    sys.path.insert(0, str(INTERPRETER))
    try:
        import json_text
    finally:
        sys.path.remove(str(INTERPRETER))
    return json_text


def test_a_first_cell_has_what_the_interpreter_itself_has(python):
    plain = subprocess.run(["/usr/bin/python3", "-c", NAMES.replace("\nsorted", "\nprint(sorted") + ")"], capture_output=True, text=True, check=True)
    assert python.run("print(1)").stdout == "1\n"
    assert python.run(NAMES).text == plain.stdout.strip()


@pytest.mark.parametrize("name", LATER[:-1])
def test_a_file_of_the_users_does_not_take_the_place_of_one(python, tmp_path, name):
    (tmp_path / f"{name}.py").write_text("raise RuntimeError('the file of the user')\n")
    assert python.run(f"import os; os.chdir({str(tmp_path)!r}); print(1)").ok
    ending = python.run(f"import {name}\n{name}.__file__")
    assert ending.ok and str(tmp_path) not in ending.text, ending.stderr
    failed = python.run("def f():\n    return 1 / 0\nf()")
    assert "return 1 / 0" in failed.error["traceback"] and "cell 3, line 2" in failed.error["traceback"]
    assert python.run("%%capture\n1").error is None or "IPython" in python.run("%%capture\n1").error["traceback"]


def test_lines_of_cells_are_there_for_whoever_asks_later(python):
    python.run("def f():\n    return 41 + 1")
    assert python.run("import linecache; linecache.getline(f.__code__.co_filename, 2)").text == "'    return 41 + 1\\n'"
    assert python.run("import inspect; print(inspect.getsource(f))").stdout == "def f():\n    return 41 + 1\n\n"
    python.run("def g():\n    return 2")
    assert python.run("print(inspect.getsource(g))").stdout == "def g():\n    return 2\n\n"


def test_json_that_code_has_changed_is_not_the_channels(python):
    assert python.run("import json\njson.JSONEncoder.encode = json.JSONDecoder.decode = json.dumps = None\nimport _json\n_json.make_encoder = None").ok
    assert python.run("print('there'); 7").text == "7"


VALUES = [None, True, 0, -1, 1 << 70, 0.1, 1e300, "", "é\u2028\x00\x7f\"\\", "\ud800", "😀", [], {}, [1, [2, {"a": None}]], {"b": 1, "a": [True, "x"]}, {1: 2, None: 3}]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_text_is_what_json_makes(texts, value):
    assert texts.encode(value) == json.dumps(value)
    host = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(value)
    assert texts.encode_for_host(value) == host
    assert texts.decode(texts.encode(value)) == json.loads(json.dumps(value))
    assert texts.decode(f" \n\t{host}\r ") == json.loads(host)


def test_numbers_that_are_none(texts):
    assert texts.encode(math.inf) == "Infinity" and texts.decode("[-Infinity]") == [-math.inf]
    for number in (math.nan, math.inf):
        with pytest.raises(ValueError):
            texts.encode_for_host(number)


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", "{'a': 1}", "1 2", "nul", '"\x01"', '"\\x"', "\ufeff1", "{\"a\" 1}", "tru", "[1", "+1", "01"])
def test_what_is_no_json_is_refused(texts, text):
    with pytest.raises(ValueError):
        json.loads(text)
    with pytest.raises(ValueError):
        texts.decode(text)


def test_what_has_no_text_is_refused(texts):
    circle = []
    circle.append(circle)
    for value, failure in ((circle, ValueError), (object(), TypeError), ({(1, 2): 3}, TypeError)):
        with pytest.raises(failure):
            texts.encode(value)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        texts.encode(deep)
    with pytest.raises(RecursionError):
        texts.decode("[" * 100_000)


def test_other_interpreters_read_and_write_by_json_itself():
    code = (f"import sys\nsys.modules['_json'] = None\nsys.path.insert(0, {str(INTERPRETER)!r})\nimport json_text\n"
            "print(json_text.encode_for_host({'a': [1, 'é']}), json_text.decode('[1]'), 'json' in sys.modules)")
    told = subprocess.run(["/usr/bin/python3", "-X", "utf8", "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == '{"a":[1,"é"]} [1] True\n'
