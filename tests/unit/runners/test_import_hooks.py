"""Tests that what is done when user code has imported a library is done once, whichever way it came to be there."""

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at

RUNNERS = Path(__file__).resolve().parents[3] / "sandbox/runners"
TWO = "plt.plot([1, 2]); plt.title('A'); plt.show()\nplt.hist([1, 2, 2, 3]); plt.title('B'); plt.show()"


@pytest.fixture(params=["started", "copied"])
def either(start, request):
    return start("python", copied=request.param == "copied")


def skip_without(runner, module):
    found = runner.run(f"import importlib.util\nimportlib.util.find_spec('{module}') is not None")
    if found.text != "True":
        pytest.skip(f"no {module}")


@pytest.mark.parametrize("before", ["", "%matplotlib inline", "import pandas as pd; axes = pd.Series([1, 2]).plot(); axes.clear()"])
def test_each_show_is_a_figure(either, before):
    check_that_each_show_is_a_figure(either, before)


@pytest.mark.slow
@pytest.mark.parametrize("before", [
    "!echo hi", "import IPython", "from IPython.display import display", "import pandas", "import matplotlib.backends.backend_agg",
    "import matplotlib.figure", "import importlib.util; importlib.util.find_spec('matplotlib.pyplot')",
])
def test_each_show_is_a_figure_whatever_was_before(either, before):
    check_that_each_show_is_a_figure(either, before)


def check_that_each_show_is_a_figure(either, before):
    skip_without(either, "matplotlib")
    for module in ("IPython", "pandas"):
        if module in before or module == "IPython" and before[:1] in "%!":
            skip_without(either, module)
    ending = either.run(f"{before}\nimport matplotlib.pyplot as plt\n{TWO}")
    assert ending.ok, ending.stderr
    assert [output["chart"]["title"] for output in ending.outputs] == ["A", "B"]
    assert [output["chart"]["type"] for output in ending.outputs] == ["line", "histogram"]


@pytest.mark.parametrize("begin", [
    "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()", "from matplotlib.pyplot import *\nfigure, axes = subplots()",
    "from matplotlib.figure import Figure\nfigure = Figure(); axes = figure.subplots()",
    "from matplotlib.figure import Figure\nclass Own(Figure): pass\nimport matplotlib.pyplot as plt\n"
    "figure = plt.figure(FigureClass=Own); axes = figure.subplots()",
])
def test_a_figure_that_is_shown_by_its_own_method_is_one_result(either, begin):
    skip_without(either, "matplotlib")
    ending = either.run(f"{begin}\naxes.plot([1, 2]); axes.set_title('A')\nfigure.show()\ndisplay('after')\n"
                        "figure.show(warn=False)\nimport matplotlib.pyplot as plt; plt.show()")
    assert ending.ok and ending.stderr == "", ending.stderr
    assert [output["text"] for output in ending.outputs] == ["Figure(6.4x4.8 in, 1 axes): A", "'after'"]
    assert len(ending.images) == 1 and ending.outputs[0]["chart"]["title"] == "A"
    assert either.run("plt.get_fignums()").text == "[]"


@pytest.mark.parametrize("code", [
    "import pandas as pd\npd.DataFrame({'a': [1, 2, 3, 4, 100]}).boxplot()",
    "from matplotlib.figure import Figure\nfigure = Figure(); drawn = figure.subplots().boxplot([1, 2, 3, 4, 100])\nfigure",
])
def test_box_plots_have_their_data(either, code):
    skip_without(either, "matplotlib")
    skip_without(either, "pandas")
    ending = either.run(code)
    (box,) = ending.outputs[-1]["chart"]["elements"]
    assert (box["median"], box["outliers"]) == (3, [100])


@pytest.fixture
def imports(monkeypatch, tmp_path):
    """The modules under test, and a package `later` with `later.part`, which nobody has imported."""
    monkeypatch.syspath_prepend(str(RUNNERS / "python"))
    monkeypatch.syspath_prepend(str(RUNNERS / "zygote"))
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "later").mkdir()
    (tmp_path / "later/__init__.py").write_text("")
    (tmp_path / "later/part.py").write_text("import os\nif os.path.exists(__file__ + '.fail'): raise ValueError\n")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    modules = dict(sys.modules)
    import imports
    import stash
    yield imports, stash, tmp_path / "later/part.py"
    for name in set(sys.modules) - set(modules):
        del sys.modules[name]


def test_a_search_alone_does_not_use_a_hook_up(imports):
    import importlib.util
    seen = []
    imports[0].WhenImported("later.part", seen.append)
    assert importlib.util.find_spec("later.part") and not seen
    fail = Path(f"{imports[2]}.fail")
    fail.touch()
    with pytest.raises(ValueError):
        importlib.import_module("later.part")
    fail.unlink()
    assert seen == [] and seen.append(importlib.import_module("later.part")) is None
    assert len(seen) == 2 and seen[0] is seen[1]


def test_a_module_that_was_not_there_yet(imports):
    import importlib
    seen = []
    imports[0].WhenImported("afterwards", seen.append)
    with pytest.raises(ImportError):
        importlib.import_module("afterwards")
    (imports[2].parents[1] / "afterwards.py").write_text("")
    importlib.invalidate_caches()
    assert importlib.import_module("afterwards") is seen[0]


@pytest.mark.parametrize("first", ["later", "later.part"])
def test_modules_that_come_with_another(imports, first):
    import importlib
    hooks, stash, _ = imports
    held = stash.Stash(set(sys.modules), sys.path)
    held.add("later.part")  # `later` is of its group
    held.take_away(())
    sys.meta_path.insert(0, held)
    seen = []
    for name in ("later.part", "later", "later.part"):
        hooks.WhenImported(name, lambda module: seen.append((module.__name__, "later.part" in sys.modules)))
    importlib.import_module(first)
    importlib.import_module("later.part")
    assert sorted(seen) == [("later", True), ("later.part", True), ("later.part", True)]


@pytest.mark.parametrize("name", ["asyncio", "threading", "signal", "logging", "subprocess", "pickle", "shutil", "tempfile"])
def test_an_imported_file_of_the_user_in_the_place_of_the_librarys_stops_nothing(start, name):
    python = start("python", copied=False)
    made = python.run(f"open('{name}.py', 'w').write('mine = True\\n')\nimport {name}")
    assert made.ok, made.stderr
    assert "ZeroDivisionError" in python.run("class Own: pass\nkept = [1, Own()]; 1 / 0").stderr
    assert python.run("len(kept)").text == "2"
