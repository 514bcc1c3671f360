"""Modules of the user whose files were edited after their import: a note says so where nothing fails."""

import pytest


def say(files, *names):
    calls = ", ".join(f"importlib.reload({name})" for name in names)
    return (f"{files} changed after it was imported, and what runs is the code from before: {calls} takes it up, "
            f"and then `from {names[0]} import ...` again where names were; or a run with restart: true")


@pytest.fixture
def write(python):
    def write_one(name, text):
        file = python.cwd / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return write_one


@pytest.fixture
def extras_anew(start):
    return start("python", extras=True)


@pytest.mark.parametrize("begin, code", [
    ("import m2", "import m2; m2.f()"), ("import m2", "m2.f()"), ("import m2 as m", "m.f()"),
    ("from m2 import f", "f()"), ("from m2 import f", "from m2 import f\nf()"), ("import m2", "def later():\n    from m2 import f\n"),
    ("from m2 import A; a = A()", "a.text()"), ("import m2", "await m2.g()"), ("import m2", "import importlib\nm = importlib.import_module('m2')"),
    ("import m2", "  import m2\n  m2.f()"),
])
def test_an_edited_module_is_told_of_once_an_edit(python, write, begin, code):
    write("m2.py", "def f(): return 1\nasync def g(): return 1\nclass A:\n    def text(self): return 'a'\n")
    assert "note" not in python.run(begin).done
    before = python.run(code)
    assert before.ok and "note" not in before.done
    for size in (1, 2):
        write("m2.py", "def f(): return 2\n" + "#" * size)
        assert "note" not in python.run("x = 1").done
        after = python.run(code)
        assert after.text == before.text and after.done["note"] == say("m2.py", "m2")
        assert "note" not in python.run(code).done
    assert "note" not in python.run("import importlib, m2; importlib.reload(m2); m2.f()").done
    assert python.run("m2.f()").text == "2"
    write("m2.py", "def f(): return 3333\n")
    assert python.run("m2.f()").done["note"] == say("m2.py", "m2")


def test_edited_modules_of_a_package_and_behind_others(python, write):
    write("pkg/__init__.py", "from pkg import deep\n")
    write("pkg/deep.py", "def f(): return 1\n")
    write("helper.py", "def f(): return 1\n")
    write("main.py", "from helper import f\nimport json\n")
    write("other.py", "x = 1\n")
    assert "note" not in python.run("import pkg, main, other").done
    write("pkg/deep.py", "def f(): return 222\n")
    assert python.run("import pkg").done["note"] == say("deep.py", "pkg.deep")
    write("pkg/__init__.py", "from pkg import deep as d\n")
    assert python.run("from pkg.deep import f").done["note"] == say("pkg/__init__.py, deep.py", "pkg", "pkg.deep")
    write("helper.py", "def f(): return 222\n")
    assert "note" not in python.run("other.x").done
    assert python.run("import main").done["note"] == say("helper.py", "helper")


def test_what_a_cell_edits_itself(python):
    python.run("open('m2.py', 'w').write('def f(): return 1\\n')")
    assert "note" not in python.run("import m2; m2.f()").done
    ending = python.run("open('m2.py', 'w').write('def f(): return 222\\n')\nimport m2\nm2.f()")
    assert ending.text == "1" and ending.done["note"] == say("m2.py", "m2")


def test_an_import_that_takes_nothing_up_is_told_of_after_a_use(python, write):
    write("m2.py", "def f(): return 1\n")
    python.run("from m2 import f")
    write("m2.py", "def f(): return 22\n")
    assert python.run("f()").done["note"] == say("m2.py", "m2")
    assert "note" not in python.run("f()").done
    assert python.run("from m2 import f; f()").done["note"] == say("m2.py", "m2")
    assert "note" not in python.run("from m2 import f; f()").done


def test_a_reload_that_does_not_compile_takes_nothing_up(python, write):
    write("m2.py", "def f(): return 1\n")
    python.run("import m2")
    write("m2.py", "def f(): return 22\nclass (:\n")
    assert python.run("m2.f()").done["note"] == say("m2.py", "m2")
    assert python.run("import importlib; importlib.reload(m2)").error["name"] == "SyntaxError"
    ending = python.run("m2.f()")
    assert ending.text == "1" and ending.done["note"] == say("m2.py", "m2")
    write("m2.py", "def f(): return 333\n")
    assert python.run("importlib.reload(m2).f()").text == "333" and "note" not in python.run("m2.f()").done


TEST = "import unittest\nfrom calc import add\nclass T(unittest.TestCase):\n    def test_add(self): self.assertEqual(add(1, 2), 3)\n"


@pytest.mark.parametrize("code", [
    "import pytest; print(int(pytest.main(['-q', '-p', 'no:cacheprovider', 'test_calc.py'])))",
    "from pytest import main; print(int(main(['-q', 'test_calc.py'])))",
    "import unittest; print(int(not unittest.main('test_calc', argv=['x'], exit=False).result.wasSuccessful()))",
    "import unittest\ntry:\n    unittest.main('test_calc', argv=['x'])\nfinally: print(1)",
    "import unittest; print(len(unittest.TextTestRunner().run(unittest.defaultTestLoader.discover('.')).failures))",
])
@pytest.mark.parametrize("edited", ["calc.py", "test_calc.py"])
def test_modules_that_test_runners_import(extras_anew, code, edited):
    write = lambda name, text: (extras_anew.cwd / name).write_text(text)  # noqa: E731
    write("calc.py", "def add(a, b): return a - b\n")
    write("test_calc.py", TEST)
    first = extras_anew.run(code)
    assert first.stdout.endswith("1\n") and "note" not in first.done
    write(edited, {"calc.py": "def add(a, b): return a + b\n\n", "test_calc.py": TEST.replace("3", "-1") + "\n"}[edited])
    again = extras_anew.run(code)
    assert again.stdout.endswith("1\n") and again.done["note"] == (
        f"{edited} changed after it was imported, and what runs is the code from before: "
        'the tests as a command of language "bash" take it up, or a run with restart: true')


@pytest.mark.parametrize("imported", ["from unittest import mock", "from unittest.mock import Mock", "import unittest.mock as mock"])
def test_mocks_run_no_tests(python, write, imported):
    write("m2.py", "def f(): return 1\n")
    write("m3.py", "x = 1\n")
    python.run("import m2, m3")
    write("m2.py", "def f(): return 222\n")
    write("m3.py", "x = 222\n")
    assert python.run(f"{imported}; m2.f()").done["note"] == say("m2.py", "m2")


def test_edits_that_need_no_note(python, write):
    write("m2.py", "def f(): return 1 / 0\n")
    python.run("import m2")
    write("m2.py", "def f(): return 222\n")
    failed = python.run("m2.f()")
    assert "note" not in failed.done and say("m2.py", "m2") in failed.stderr
    assert "note" not in python.run("m2").done  # that has told of it
    (python.cwd / "m2.py").unlink()
    assert "note" not in python.run("m2").done


def test_files_are_looked_at_only_for_what_a_cell_uses(python, write):
    write("m2.py", "x = 1\n")
    write("m3.py", "x = 1\n")
    python.run("import m2, m3, os\nlooked = []\noriginal = os.stat\ndef stat(path, *a, **k):\n"
               "    if str(path).endswith('.py'): looked.append(os.path.basename(path))\n    return original(path, *a, **k)\nos.stat = stat")
    python.run("looked.clear()")
    python.run("y = 1\nimport json")
    assert python.run("print(*looked)").stdout == "\n"
    python.run("m2.x")
    assert set(python.run("print(*looked)").stdout.split()) == {"m2.py"}


def test_modules_that_load_when_they_are_used_do_not_load_for_it(python, write):
    write("m2.py", "import importlib.util, sys\nspec = importlib.util.find_spec('m3')\nloader = importlib.util.LazyLoader(spec.loader)\n"
          "m3 = importlib.util.module_from_spec(spec)\nsys.modules['m3'] = m3\nloader.exec_module(m3)\n")
    write("m3.py", "print('loaded')\n")
    assert python.run("import m2; m3 = m2.m3").stdout == "" == python.run("m2, m3; 1").stdout
    assert python.run("m3.__doc__").stdout == "loaded\n"


def test_objects_of_the_user_that_raise_when_they_are_asked(python, write):
    write("m2.py", "x = 1\n")
    python.run("import m2\nclass Kind(type):\n    @property\n    def __module__(cls): raise RuntimeError\n"
               "    @property\n    def __class__(cls): raise RuntimeError\nclass Odd(metaclass=Kind): pass\nodd = Odd()")
    assert python.run("odd; 1").text == "1"
