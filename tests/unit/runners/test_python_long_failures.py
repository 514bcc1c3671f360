"""Failures whose tracebacks, chains or texts are very long: what is told is bounded, and so is the work."""

import pytest

# Counts what is looked up of files for the failure of the run that comes next.
COUNTING = """
import linecache, traceback
counts = {}
def count(holder, name):
    original = getattr(holder, name)
    def counted(*arguments, **options):
        counts[name] = counts.get(name, 0) + 1
        return original(*arguments, **options)
    setattr(holder, name, counted)
count(linecache, "getline"), count(linecache, "checkcache"), count(traceback.TracebackException, "__init__")
import sys
sys.setrecursionlimit(30_000)
"""
RECURSIONS = """
def f(n): return f(n + 1)
def g(n): return h(n + 1)
def h(n): return g(n + 1)
def caught(call):
    try: call(0)
    except RecursionError as error: return error
"""


def counts_of(python, code):
    """Returns what the failure of `code` is told as, and how much has been looked up for it."""
    assert python.run(COUNTING + RECURSIONS).ok
    ending = python.run(code)
    assert not ending.ok and ending.error["traceback"] == ending.stderr
    counts = python.run("print(*(counts.get(name, 0) for name in ('getline', 'checkcache', '__init__')))").stdout.split()
    return ending, [int(count) for count in counts]


def bounded(counts, frames=400, exceptions=30):
    getline, checkcache, reports = counts
    return getline <= frames and checkcache <= frames and reports <= exceptions


def test_a_deep_recursion(python):
    ending, counts = counts_of(python, "f(0)")
    assert ending.error["name"] == "RecursionError" and bounded(counts), counts
    assert ending.stderr.count("in f\n") == 1 and "  [Previous line repeated 299" in ending.stderr
    assert ending.stderr.startswith("Traceback (most recent call last):\n  cell 2, line 1, in <module>\n    f(0)\n")


def test_a_deep_recursion_of_several(python):
    ending, counts = counts_of(python, "g(0)")
    assert ending.error["name"] == "RecursionError" and bounded(counts), counts
    assert ending.stderr.count("more frames, left out here\n") == 1 and "  ... 29,8" in ending.stderr
    assert ending.stderr.count("in g\n") + ending.stderr.count("in h\n") == 99  # and the cell's own


def test_frames_are_left_out_of_very_many_only(python):
    python.run("def g(n): return h(n - 1) if n else 1 / 0\ndef h(n): return g(n - 1) if n else 1 / 0")
    whole = python.run("g(98)").stderr
    assert whole.count("in g\n") == 50 and whole.count("in h\n") == 49 and "left out" not in whole
    cut = python.run("g(99)").stderr
    assert "  ... 1 more frames, left out here\n" in cut and cut.count("in g\n") + cut.count("in h\n") == 99


def test_a_deep_recursion_through_a_library(python):
    ending, counts = counts_of(python, "import copy\nlist_ = []\nfor _ in range(20_000): list_ = [list_]\ncopy.deepcopy(list_)")
    assert ending.error["name"] == "RecursionError" and bounded(counts), counts
    assert ending.stderr.count("frames in libraries, last: ") == 1


@pytest.mark.parametrize("code, says", [
    ("raise KeyError('end') from caught(g)", "direct cause"),
    ("try: g(0)\nexcept RecursionError: raise KeyError('end')", "During handling"),
    ("raise ExceptionGroup('end', [caught(g), ValueError(1)])", "ExceptionGroup: end (2 sub-exceptions)"),
])
def test_a_deep_recursion_that_another_failure_has_with_it(python, code, says):
    ending, counts = counts_of(python, code)
    assert says in ending.stderr and "RecursionError: maximum recursion" in ending.stderr and "29," in ending.stderr
    assert bounded(counts), counts


@pytest.mark.parametrize("how", ["context", "cause"])
def test_a_very_long_chain(python, how):
    ending, counts = counts_of(python, f"""
errors = [ValueError(f"number {{n}}") for n in range(20_000)]
for one, before in zip(errors[1:], errors): one.__{how}__ = before
raise errors[-1]""")
    assert bounded(counts), counts
    assert [f"number {n}\n" in ending.stderr for n in (0, 9, 10, 19_989, 19_990, 19_999)] == [True, True, False, False, True, True]
    assert ending.stderr.index("number 0\n") < ending.stderr.index("19,980 more exceptions") < ending.stderr.index("number 19990\n")
    assert ("direct cause" in ending.stderr) == (how == "cause")


def test_chains_are_told_as_python_tells_them(python):
    code = """
def fail(): raise KeyError('first')
def chain(suppress):
    try:
        try: fail()
        except KeyError as error: raise ValueError('second') from (None if suppress else error)
    except ValueError as error:
        other = TypeError('third'); other.__context__ = error; error.__context__ = other
        return other
both = ExceptionGroup('all', [chain(True), ExceptionGroup('inner', [chain(False)] + [OSError(n) for n in range(20)])])
both.add_note('a note')
"""
    assert python.run(code).ok
    ending = python.run("import traceback\nprint(''.join(traceback.format_exception(both.with_traceback(None))), end='')")
    told = python.run("raise both").stderr
    # Our own lines name cells in another way, and the group has come through this run.
    mine = [line for line in told.splitlines() if "cell " not in line and "Traceback" not in line and "raise both" not in line]
    pythons = [line for line in ending.stdout.splitlines() if "cell-" not in line and "Traceback" not in line]
    assert mine == pythons and len(mine) > 50 and "... and" not in told and "and 6 more exceptions" in told


def test_a_group_of_very_many(python):
    ending, counts = counts_of(python, """
inner = [ValueError(n) for n in range(300)]
for _ in range(2): inner = [ExceptionGroup('part', inner) for n in range(300)]
raise ExceptionGroup('all', inner)""")
    assert bounded(counts, exceptions=500) and "and 285 more exceptions" in ending.stderr, counts


BLOCKED = "class Slow({base}):\n    def __str__(self):\n        print('on')\n        time.sleep(60)\n"


@pytest.mark.parametrize("code", ["raise Slow", "raise ValueError from Slow()", "raise ExceptionGroup('g', [Slow()])"])
def test_an_interrupt_while_a_failure_is_told(python, code):
    python.run("import time; kept = 5\n" + BLOCKED.format(base="Exception"))
    python.start(code)
    python.wait_for_stdout("on")
    python.wait_until_idle()
    python.interrupt()
    ending = python.finish()
    assert ending.done["interrupted"] and ending.done["exit_code"] == 130 and not ending.ok
    assert ending.error["name"] in code and ending.error["traceback"] == ending.stderr != ""
    assert python.run("kept").text == "5"


def test_an_interrupt_while_the_text_of_an_exit_is_told(python):
    python.run("import sys, time; kept = 5\n" + BLOCKED.format(base=""))
    python.start("sys.exit(Slow())")
    python.wait_for_stdout("on")
    python.wait_until_idle()
    python.interrupt()
    assert python.finish().done["interrupted"] and python.run("kept").text == "5"


@pytest.mark.parametrize("code, told", [
    ("import json.decoder as d\nd.JSONDecodeError\nimport configparser\nconfigparser.ConfigParser()['nosuch']", 1),
    ("def own(): raise KeyError('k')\ntry: own()\nexcept KeyError as e: raise KeyError('k') from e", 2),
    ("import os\ntry: os.environ['NO_SUCH']\nexcept KeyError: raise KeyError('NO_SUCH') from None", 1),
    ("import os\ntry: os.environ['NO_SUCH']\nexcept KeyError: raise KeyError('other')", 2),
])
def test_what_a_library_raises_again_is_told_once(python, code, told):
    assert python.run(code).stderr.count("KeyError: '") == told, python.run(code).stderr


def test_pandas_tells_of_a_missing_column_once(extras):
    text = extras.run("import pandas as pd\npd.DataFrame({'a': [1]})['nosuch']").stderr
    assert text.startswith("Traceback") and text.count("KeyError: 'nosuch'") == 1


def test_requests_tells_of_a_name_that_has_no_address_once(extras):
    text = extras.run("import requests\nrequests.get('http://nosuch.invalid', timeout=5)").stderr
    assert text.startswith("Traceback") and "Failed to resolve 'nosuch.invalid'" in text.splitlines()[-1], text


def test_words_of_another_kind_stay(extras):
    text = extras.run("import PIL.Image\nPIL.Image.new('L', (1, 1)).save('a.nosuch')").stderr
    assert "KeyError: '.nosuch'" in text and "ValueError: unknown file extension" in text
