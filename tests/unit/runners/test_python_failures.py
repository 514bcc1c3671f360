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


@pytest.mark.parametrize("module, name", [("fitz", "pymupdf"), ("bs5", None), ("google.generativeai", "google-generativeai"), ("google.cloud", None),
                                          ("google.protobuf", "protobuf"), ("google.cloud.storage.blob", "google-cloud-storage"),
                                          ("google.cloud.big_query", "google-cloud-big-query"), ("telegram.ext", "python-telegram-bot")])
def test_the_name_that_the_index_has(start, module, name):
    ending = start("python", extra_env={"HUTCH_NETWORK": "x"}).run(f"raise ModuleNotFoundError('No module named {module}', name={module!r})")
    assert (f"where it is called {name}, if" if name else "under the name that the index has for it") in ending.stderr


def test_what_google_colab_has_is_here_by_other_means(python):
    assert "write_file or a granted folder" in python.run("raise ModuleNotFoundError('no', name='google.colab')").stderr


@pytest.mark.parametrize("code, way", [
    ("async def f(): pass\nimport asyncio\nawait asyncio.sleep(0)\nc = f()\ntry: asyncio.run(c)\nfinally: c.close()", "`await main()`"),
    ("import asyncio\nawait asyncio.sleep(0)\nc = asyncio.sleep(0)\ntry: asyncio.get_running_loop().run_until_complete(c)\nfinally: c.close()",
     "`await main()`"),
    ("raise type('error', (Exception,), {'__module__': 'cv2'})('(-2:Unspecified) The function is not implemented in function cvShowImage Window')",
     "cv2.imwrite"),
    ("raise type('TclError', (Exception,), {'__module__': '_tkinter'})('no display name and no $DISPLAY')", "there is no screen here"),
    ("raise type('TclError', (Exception,), {'__module__': '_tkinter'})('bad option')", None),
    ("raise RuntimeError('cannot be called')", None),
])
def test_the_way_from_notebooks_and_windows(python, code, way):
    ending = python.run(code)
    assert not ending.ok
    assert way in ending.stderr if way else "(there is no screen" not in ending.stderr and "(this cell awaits" not in ending.stderr


def test_bars_of_a_notebook_are_of_text(python):
    (python.cwd / "tqdm").mkdir()
    (python.cwd / "tqdm" / "__init__.py").write_text("")
    (python.cwd / "tqdm" / "std.py").write_text("class tqdm(list): pass\n")
    (python.cwd / "tqdm" / "notebook.py").write_text(
        "IProgress = None\nclass tqdm_notebook:\n    def __init__(self, _): raise ImportError('IProgress not found')\n"
        "tqdm = tqdm_notebook\ndef trange(n): return tqdm_notebook(range(n))\n")
    assert python.run("from tqdm.notebook import tqdm, trange\n(tqdm([1]), trange(2))").main["text"] == "([1], [0, 1])"


def test_a_server_is_not_started_by_a_reloader(python):
    (python.cwd / "werkzeug").mkdir()
    (python.cwd / "werkzeug" / "__init__.py").write_text("")
    (python.cwd / "werkzeug" / "serving.py").write_text("def run_simple(host, port, app, use_reloader=False): return use_reloader\n")
    ending = python.run("from werkzeug.serving import run_simple\nrun_simple('127.0.0.1', 1, None, use_reloader=True)")
    assert ending.main["text"] == "False" and "serving without the reloader" in ending.stderr
    assert python.run("run_simple('127.0.0.1', 1, None)").stderr == ""


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
