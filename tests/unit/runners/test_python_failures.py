"""What the Python runner adds to a traceback: the way to a missing package, and files that have changed."""

import pytest

# As pandas asks for what it does not always need.
LIBRARY = """
import importlib
def need(name, told=None, cause=False):
    try:
        importlib.import_module(name)
    except ImportError as error:
        message = f"Missing optional dependency '{told or name}'.  Use pip or conda to install {told or name}."
        if cause: raise ImportError(message) from error
    else: return
    raise ImportError(message)
def engine(*names):
    messages = ""
    for name in names:
        try: need(name)
        except ImportError as error: messages += f"\\n - {error}"
    raise ImportError(f"Unable to find a usable engine; tried using: {names}.{messages}")
"""


@pytest.mark.parametrize("code, way", [
    ("import lib; lib.need('nosuch')", "(this Python has no nosuch: on the machine that runs hutch `hutch environments build` "),
    ("import lib; lib.need('nosuch.part', 'NoSuch', cause=True)", "no nosuch: on"),
    ("import lib; lib.engine('nosuch', 'none')", "no nosuch: on"),
    ("import lib; lib.engine('pyarrow_not_here', 'none')", "no pyarrow_not_here: on"),
    ("raise ImportError('html5libx not found, please install it')", "no html5libx: on"),
    ("import typing_ext_x", "no typing_ext_x: on"),
    ("import sys\nsys.modules['polars'] = None\ntry: import polars\nfinally: del sys.modules['polars']", "no polars: on"),
    ("try: import nosuch\nexcept ImportError: from os import nothing", None),
    ("import lib; lib.need('json'); raise ImportError('something else')", None),
    ("raise ImportError(\"Missing optional dependency 'json'\")", None),
])
def test_the_way_to_a_missing_package(python, code, way):
    (python.cwd / "lib.py").write_text(LIBRARY)
    ending = python.run(code)
    assert not ending.ok
    assert way in ending.stderr if way else "on the machine that" not in ending.stderr


def test_the_way_to_a_table_of_language_sql(python):
    made = "raise type('CatalogException', (Exception,), {'__module__': %r})('Catalog Error: %s with name t does not exist!')"
    assert "hutch.sql(" in python.run(made % ("_duckdb", "Table")).stderr
    for other in (("_duckdb", "Schema"), ("mine", "Table")):
        assert "hutch.sql(" not in python.run(made % other).stderr


def test_the_way_to_a_package_is_told_once(python):
    assert "on the machine that runs hutch" in python.run("import nosuch").stderr
    again = python.run("import another").stderr
    assert again.endswith("(this Python has no another either, and no session installs any here: the first such error says who can change that)\n")


@pytest.mark.parametrize("name, told", [("scatter_mapbox", "plotly has scatter_map instead"), ("Scattermapbox", "plotly has Scattermap instead"),
                                        ("scatter_mapbx", None)])
def test_the_way_to_maps_that_plotly_has(python, name, told):
    (python.cwd / "plotly").mkdir()
    (python.cwd / "plotly/__init__.py").touch()
    (python.cwd / "plotly/express.py").touch()
    said = python.run(f"import plotly.express as px; px.{name}").stderr
    assert told in said if told else "instead" not in said


HINT = ("(mod.py changed after it was imported, and what runs is the code from before: importlib.reload(mod) takes it up, "
        "and then `from mod import ...` again where names were; or a run with restart: true)\n")


@pytest.mark.parametrize("code", ["mod.f()", "from mod import f; f()", "mod.new()", "from mod import new",
                                  "try: mod.f()\nexcept Exception: raise RuntimeError('later')"])
def test_a_module_that_changed_after_it_was_imported(python, code):
    (python.cwd / "mod.py").write_text("def f():\n    return 1 / 0\n")
    assert python.run("import mod").ok
    assert "from before" not in python.run("mod.f()").stderr
    (python.cwd / "mod.py").write_text("# mended\ndef f():\n    return 'mended'\ndef new(): pass\n")
    ending = python.run(code)
    assert ending.stderr.endswith(HINT) and ending.error["traceback"].endswith(HINT)
    assert "def f():" not in ending.stderr  # the new file's line 2 is not what failed
    if "f()" in code:
        assert 'mod.py", line 2, in f\n' in ending.stderr
    assert python.run("import importlib; importlib.reload(mod)\n" + code).ok
    assert "from before" not in python.run("mod.nothing").stderr and "from before" not in python.run("1 / 0").stderr


def test_a_module_that_changed_in_the_same_run(python):
    ending = python.run("open('mod.py', 'w').write('def f(): return 1 / 0\\n')\nimport mod\n"
                        "open('mod.py', 'w').write('def f(): return 1\\n')\nmod.f()")
    assert ending.stderr.endswith(HINT) and "return 1\n" not in ending.stderr


def test_a_module_that_is_gone(python):
    (python.cwd / "mod.py").write_text("def f(): return 1 / 0\n")
    python.run("import mod, os; os.remove('mod.py')")
    ending = python.run("mod.f()")
    assert ending.error["name"] == "ZeroDivisionError" and "from before" not in ending.stderr
