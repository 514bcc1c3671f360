"""What IPython adds to cells, and what its absence is told as."""

import pytest


@pytest.fixture
def notebook(start):
    return start("python", extras=True)


def test_magics_and_commands(notebook):
    notebook.run("x = 5")
    ending = notebook.run("!echo out $x {x + 1}; echo err >&2\nx")
    assert (ending.stdout, ending.stderr, ending.text) == ("out 5 6\n", "err\n", "5")
    assert notebook.run("lines = !printf 'a\\nb\\n'\nlist(lines)").text == "['a', 'b']"
    assert notebook.run("%time 40 + 2").text == "42"
    assert notebook.run("%%capture c\nprint('hidden')").stdout == ""
    assert notebook.run("c.stdout").text == "'hidden\\n'"
    assert "Return the number of items" in notebook.run("len?").stdout
    assert notebook.run("%cd /\n%pwd").text == "'/'"
    assert notebook.run("if x:\n    y = !echo inner\ny[0]").text == "'inner'"
    assert notebook.run("!exit 3\n_exit_code").text == "3"


def test_python_comes_first(notebook):
    notebook.run("a = 7; cd = 3")
    assert notebook.run("a %cd").text == "1"
    assert notebook.run("'''\n%nothing\n!nothing\n'''").text == r"'\n%nothing\n!nothing\n'"
    assert "IPython" not in notebook.run("import sys\n[m for m in sys.modules if m == 'IPython']").text


def test_a_library_that_asks_for_a_notebook_loads_none(notebook):
    ending = notebook.run("import pandas\nimport sys\n'IPython' in sys.modules")
    assert ending.text == "False", ending
    assert notebook.run("get_ipython() is not None").text == "True"


@pytest.mark.parametrize("code, name, parts", [
    ("%nosuch", "IPython.core.error.UsageError", ["cell 1, line 1", "%nosuch"]),
    ("a = 1\n%time 1 / 0", "ZeroDivisionError", ["cell 1, line 2"]),
    ("%%time\na = 1\nb = 1 / 0", "ZeroDivisionError", ["cell 1, line 3", "b = 1 / 0"]),
    ("%run nowhere.py", "Exception", ["cell 1, line 1"]),
    ("%%bash\nexit 3", "subprocess.CalledProcessError", ["exit status 3"]),
    ("!true\ndef f(:\n    pass", "SyntaxError", ["cell 1, line 2"]),
    ("def f(:\n    pass", "SyntaxError", ["cell 1, line 1"]),
])
def test_failures(notebook, code, name, parts):
    ending = notebook.run(code)
    assert not ending.ok and ending.error["name"] == name, ending
    for part in parts:
        assert part in ending.stderr
    assert "runners/" not in ending.stderr and "During handling" not in ending.stderr
    assert notebook.run("1").text == "1"


def test_ipythons_display(notebook):
    ending = notebook.run("from IPython.display import display, HTML, Markdown, Image\nimport pandas as pd\n"
                          "display(HTML('<b>x</b>'), pd.DataFrame({'a': [1]}))\n"
                          "display({'text/plain': 't', 'text/html': '<i>'}, raw=True)\nMarkdown('*a*')")
    assert [o["formats"] for o in ending.outputs] == [
        ["text", "html"], ["text", "html", "json"], ["text", "html"], ["text", "markdown"]]
    assert ending.outputs[2]["text"] == "t"
    notebook.run("import matplotlib.pyplot as plt\nplt.plot([1]); plt.savefig('p.png'); plt.savefig('p.jpg'); plt.close()")
    for name in ("p.png", "p.jpg"):
        ending = notebook.run(f"Image('{name}')")
        assert ending.images[0].startswith(b"\x89PNG"), ending


def test_formatters_that_were_registered(notebook):
    notebook.run("get_ipython().display_formatter.formatters['text/html'].for_type(int, lambda v: f'<b>{v}</b>')")
    assert notebook.run("7").main["html"] == "<b>7</b>"
    assert "html" not in notebook.run("'text'").main["formats"]


def test_figures_with_the_magics_of_notebooks(notebook):
    ending = notebook.run("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert ending.ok and len(ending.images) == 1


def test_a_module_reloads(notebook):
    (notebook.cwd / "mine.py").write_text("value = 1")
    assert notebook.run("%load_ext autoreload\n%autoreload 2\nimport mine\nmine.value").text == "1"
    (notebook.cwd / "mine.py").write_text("value = 1 + 1")
    assert notebook.run("mine.value").text == "2"


def test_await_and_interrupt(notebook):
    assert notebook.run("%pwd\nimport asyncio\nawait asyncio.sleep(0, 'slept')").text == "'slept'"
    notebook.start("print('on')\n!sleep 60")
    notebook.wait_for_stdout("on")
    notebook.interrupt()
    assert notebook.finish().done["interrupted"]
    assert notebook.run("1").text == "1"


def test_without_ipython(start, tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/IPython.py").write_text("raise ImportError('hidden')")
    python = start("python", extra_env={"PYTHONPATH": str(tmp_path / "hidden")})
    ending = python.run("%time 1")
    assert ending.error["name"] == "SyntaxError" and "apt install ipython3" in ending.error["message"]
    assert "NameError" in python.run("get_ipython()").stderr
    assert python.run("1 + 1").text == "2"


def test_objects_that_display_themselves(notebook):
    ending = notebook.run("from IPython.display import HTML\nclass Own:\n    def _ipython_display_(self):\n"
                          "        display(HTML('<i>'))\nOwn()")
    assert [o["formats"] for o in ending.outputs] == [["text", "html"]]
