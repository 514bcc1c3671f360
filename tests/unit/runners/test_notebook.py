"""Tests what IPython adds to cells, and what its absence is told as."""

import time

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


@pytest.mark.parametrize("code, printed", [
    ("pip show numpy", "Name: numpy"), ("python3 -m pip show numpy", "Name: numpy"), ("x = 'numpy'\npip show {x}  # a comment\nprint('after')", "after"),
    ("if True:\n    pip3 list\nprint('after')", "after"), ("pip show numpy\npip show pandas\n!echo on", "Name: pandas")])
def test_pip_needs_no_mark(notebook, code, printed):
    ending = notebook.run(code)
    assert ending.ok and printed in ending.stdout, ending


@pytest.mark.parametrize("code, line", [("pip install x\ny = = 1", 2), ("pipe install x", 1), ("pip x y", 1), ("s = '''\npip install x\n'''; f(", 3)])
def test_what_is_no_call_of_pip_stays_an_error(notebook, code, line):
    ending = notebook.run(code)
    assert ending.error["name"] == "SyntaxError" and f"line {line})" in ending.error["message"] and not ending.stdout
    assert notebook.run("'''\npip install x\n'''").text == r"'\npip install x\n'"


def test_a_library_that_asks_for_a_notebook_loads_none(notebook):
    ending = notebook.run("import pandas\nimport sys\n'IPython' in sys.modules")
    assert ending.text == "False", ending
    assert notebook.run("get_ipython() is not None").text == "True"


def test_a_library_that_looks_for_the_name_finds_none_until_it_is_loaded(notebook, tmp_path):
    """As rich does: it looks for the name first, and calls it where a failure is one."""
    (tmp_path / "asks.py").write_text("def shell():\n    try:\n        get_ipython\n    except NameError:\n        return None\n"
                                      "    return type(get_ipython()).__name__\n")
    assert notebook.run(f"import sys; sys.path.append({str(tmp_path)!r}); import asks\nprint(asks.shell())").stdout == "None\n"
    assert notebook.run("def shell():\n    return get_ipython() is not None\nshell()").text == "True"
    assert notebook.run("print(asks.shell() is not None, '?')").stdout == "True ?\n"


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


SVG = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'><circle cx='20' cy='15' r='10'/></svg>"
TABLE = "<h1>Sales</h1><p>of a day</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
STYLED = "pd.DataFrame({'name': ['ann', 'bob'], 'v': [1.23456, 2]}).style.format({'v': '{:.1f}'}).highlight_max().set_caption('Cap')"
OWN = "type('Own', (), {'%s': lambda self, *arguments, **options: %s})()"


@pytest.fixture(scope="module")
def shower(tmp_path_factory, request):
    from conftest import starter
    for start_one in starter(tmp_path_factory.mktemp("shower"), request):
        client = start_one("python", extras=True)
        made = client.run("from IPython.display import *\nimport pandas as pd\nfrom PIL import Image as Pil\n"
                          "frames = [Pil.new('RGB', (40, 30), colour) for colour in ('red', 'green', 'blue')]\n"
                          "frames[0].save('p.gif', save_all=True, append_images=frames[1:])\n"
                          "for name in ('p.webp', 'p.jpg', 'p.png'): frames[0].save(name)\n"
                          "def content(name): return open(name, 'rb').read()")
        assert made.ok, made.stderr
        yield client


@pytest.mark.parametrize("code, formats, found", [
    ("JSON({'a': [1, {'b': None}]})", ["text", "json"], {"json": {"a": [1, {"b": None}]}}),
    ("JSON('[1, 2]')", ["text", "json"], {"json": [1, 2]}),
    ("GeoJSON({'type': 'Point', 'coordinates': [1, 2]})", ["text", "json"], {"json": {"type": "Point", "coordinates": [1, 2]}}),
    (OWN % ("_repr_json_", "{'a': 1}"), ["text", "json"], {"json": {"a": 1}}),
    ("Latex(r'$\\frac{1}{2}$')", ["text", "latex"], {"latex": "$\\frac{1}{2}$"}),
    ("Math(r'\\alpha')", ["text", "latex"], {"latex": "$\\displaystyle \\alpha$"}),
    (OWN % ("_repr_latex_", "'$x$'"), ["text", "latex"], {"latex": "$x$"}),
    (f"HTML({TABLE!r})", ["text", "html"], {"text": "Sales\nof a day\na  b\n1  2", "html": TABLE}),
    (OWN % ("_repr_mimebundle_", "{'text/html': '<table><tr><td>1<td>2</table>'}"), ["text", "html"], {"text": "1  2"}),
    (OWN % ("_repr_mimebundle_", "({'text/plain': 'said', 'text/html': '<table><tr><td>1<td>2</table>'}, {})"), ["text", "html"], {"text": "said"}),
    ("type('Own', (), {'_repr_mimebundle_': lambda self, include, exclude: ({'text/plain': f'{include} {exclude}'}, None)})()", ["text"], {"text": "None None"}),
    ("type('Own', (), {'_repr_mimebundle_': lambda self, include=None, **more: None, '_repr_html_': lambda self: '<p>own</p>', '__repr__': lambda self: 'Own'})()",
     ["text", "html"], {"text": "Own", "html": "<p>own</p>"}),
    ("type('Own', (), {'_repr_mimebundle_': lambda self: {'text/plain': 'takes neither'}})()", ["text"], {"text": "takes neither"}),
    (STYLED, ["text", "html"], {"text": "Cap\n   name  v\n0  ann   1.2\n1  bob   2.0"}),
    ("HTML('<h1>Report</h1><p>Total <b>42</b></p><ul><li>north<li>south</ul>')", ["text", "html"], {"text": "Report\nTotal 42\nnorth\nsouth"}),
    ("HTML('<style>b { color: red }</style><div>one<br>two</div>')", ["text", "html"], {"text": "one\ntwo"}),
    (OWN % ("_repr_html_", "'<p>caf&eacute;</p>'"), ["text", "html"], {"text": "café"}),
    ("HTML('<div id=map></div><p>a map</p><script>draw()</script>')", ["text", "html"], {"text": "<IPython.core.display.HTML object>"}),
    ("Markdown('# T')", ["text", "markdown"], {"markdown": "# T"}),
    ("Pretty('pretty words')", ["text"], {"text": "pretty words"}),
    ("type('Own', (), {'_repr_pretty_': lambda self, printer, cycle: printer.text('own words')})()", ["text"], {"text": "own words"}),
    (OWN % ("_ipython_display_", f"display(HTML({TABLE!r}))"), ["text", "html"], {"text": "Sales\nof a day\na  b\n1  2"}),
])
def test_values_of_ipython_can_be_read(shower, code, formats, found):
    for ending in (shower.run(code), shower.run(f"display({code})")):
        (output,) = ending.outputs
        assert ending.ok and output["formats"] == formats and found.items() <= output.items() and not ending.images, ending


@pytest.mark.parametrize("code", [
    f"SVG({SVG!r})", "Image('p.gif')", "Image('p.webp')", "Image('p.jpg')", "Image('p.png')", "Image(data=content('p.gif'), format='gif')", "Image(content('p.webp'))",
    OWN % ("_repr_svg_", repr(SVG)), OWN % ("_repr_jpeg_", "content('p.jpg')"), OWN % ("_repr_png_", "content('p.jpg')"),
    OWN % ("_repr_mimebundle_", "{'image/gif': content('p.gif')}"), OWN % ("_repr_mimebundle_", "{'image/webp': content('p.webp')}"),
    OWN % ("_repr_mimebundle_", "{'image/png': __import__('base64').b64encode(content('p.png')).decode()}"),
    OWN % ("_ipython_display_", "display(Image('p.webp'))"), "frames[1]"])
def test_pictures_of_ipython_can_be_seen(shower, code):
    for ending in (shower.run(code), shower.run(f"display({code})")):
        (output,), (picture,) = ending.outputs, ending.images
        width, height = (int.from_bytes(picture[at:at + 4], "big") for at in (16, 20))
        assert picture.startswith(b"\x89PNG") and "png" in output["formats"] and width / height == 4 / 3, ending
        assert ("svg" in output["formats"]) == ("svg" in code.lower())


@pytest.mark.parametrize("code, told", [
    ("Image('p.gif')", "the first of 3 frames"), ("Pil.open('p.gif')", "the first of 3 frames"), ("display(Image(content('p.gif'), format='gif'))", "the first of 3 frames"),
    ("moved = Pil.open('p.gif'); moved.seek(1); moved", "frame 2 of 3"), (OWN % ("_repr_mimebundle_", "{'image/gif': content('p.gif')}"), "the first of 3 frames"),
    ("Pil.new('L', (9, 9)).save('many.tiff', save_all=True, append_images=[Pil.new('L', (9, 9)) for _ in range(3)]); Pil.open('many.tiff')", "the first of 4 frames"),
    ("Pil.open('p.gif').convert('RGB')", ""), ("Image('p.webp')", ""), ("Image('p.png')", ""), ("frames[1]", "")])
def test_pictures_that_move_say_so(shower, code, told):
    ending = shower.run(code)
    assert ending.ok, ending.stderr
    (output,) = ending.outputs
    assert len(ending.images) == 1 and output["text"].endswith(f" ({told})" if told else ">") and ("frame" in output["text"]) == bool(told), ending


@pytest.mark.parametrize("name, options", [("two.gif", ""), ("two.tiff", ""), ("two.png", ""), ("two.webp", ", lossless=True")])
def test_showing_a_picture_leaves_what_was_drawn_on_it(shower, name, options):
    shower.run(f"Pil.new('L', (9, 9)).save({name!r}, save_all=True, append_images=[Pil.new('L', (9, 9), 99)]{options})\nfrom PIL import ImageDraw")
    ending = shower.run(f"edited = Pil.open({name!r}); ImageDraw.Draw(edited).rectangle((0, 0, 4, 4), fill='white'); before = edited.tobytes()\ndisplay(edited); edited")
    assert [output["text"].endswith(" (the first of 2 frames)") for output in ending.outputs] == [True, True], ending
    assert shower.run("edited.tobytes() == before, len(set(before)) > 1").text == "(True, True)"
    assert len(set(ending.images)) == 1 and shower.run("Pil.new('L', (9, 9))").images[0] != ending.images[0]


def test_frames_are_counted_in_the_file_of_a_picture_alone(shower):
    shower.run("import io")
    for code in ("Pil.open(io.BytesIO(content('p.gif')))", "gone = Pil.open('p.gif'); gone.filename = 'none.gif'; gone", "other = Pil.open('p.gif'); other.filename = 'p.png'; other"):
        ending = shower.run(code)
        assert ending.ok and len(ending.images) == 1 and "frame" not in ending.main["text"], code


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


def test_nothing_is_told_of_modules_that_are_reloaded(start):
    notebook = start("python", extras=True)
    (notebook.cwd / "calc.py").write_text("def add(a, b): return a + b + 100")
    assert notebook.run("import calc; print(calc.add(1, 2))\n%load_ext autoreload\n%autoreload 2").stdout == "103\n"
    (notebook.cwd / "calc.py").write_text("def add(a, b): return a + b")
    ending = notebook.run("print(calc.add(1, 2))")
    assert ending.stdout == "3\n" and "note" not in ending.done, ending.done
    notebook.run("%autoreload 0")
    (notebook.cwd / "calc.py").write_text("def add(a, b): return 0")
    ending = notebook.run("print(calc.add(1, 2))")
    assert ending.stdout == "3\n" and "importlib.reload(calc)" in ending.done["note"]


def test_the_history_has_all_cells(notebook):
    notebook.run("first = 1")
    notebook.run("  # indented\n  import IPython")
    notebook.run("x = = 2")
    assert notebook.run("%history -n").stdout == "   1: first = 1\n   2:\n# indented\nimport IPython\n   3: x = = 2\n   4: %history -n\n"
    assert notebook.run("%hist 1").stdout == "first = 1\n"
    assert notebook.run("%save -f kept.py 1\nopen('kept.py').read()").text.endswith("first = 1\\n'")
    notebook.run("%reset -f")
    assert "first = 1" in notebook.run("%history").stdout


@pytest.mark.parametrize("code", ["Out[1]", "In[1]", "_1", "_12 + 1", "__", "___", "_i", "_i3", "_ih", "_oh"])
def test_names_of_the_history_are_told_of(bare, code):
    stderr = bare.run(f"7\n{code}").stderr
    assert "NameError" in stderr and "no Out, In, _1 or __" in stderr
    assert "no Out" not in bare.run("_x1").stderr + bare.run("Outer").stderr + bare.run("_1 = 5\n_1").stderr


def test_await_and_interrupt(notebook):
    assert notebook.run("%pwd\nimport asyncio\nawait asyncio.sleep(0, 'slept')").text == "'slept'"
    notebook.start("print('on')\n!sleep 60")
    notebook.wait_for_stdout("on")
    notebook.interrupt()
    assert notebook.finish().done["interrupted"]
    assert notebook.run("1").text == "1"


def test_a_typo_is_told_as_such_where_no_file_can_be_opened(start):
    python = start("python")
    ending = python.run("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\nfiles = []\nwhile True: files.append(open('/dev/null'))")
    assert ending.error["name"] == "OSError"
    assert python.run("x = = 1").error["name"] == "SyntaxError"
    assert python.run("for file in files: file.close()\n1").text == "1"


@pytest.fixture
def bare(start, tmp_path):
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/IPython.py").write_text("raise ImportError('hidden')")
    return start("python", extra_env={"PYTHONPATH": str(tmp_path / "hidden")})


def test_without_ipython(bare):
    ending = bare.run("%time 1")
    assert ending.error["name"] == "SyntaxError" and "apt install ipython3" in ending.error["message"]
    assert "NameError" in bare.run("get_ipython()").stderr
    assert bare.run("1 + 1").text == "2"


@pytest.mark.parametrize("code", ["!ls", "x = !ls", "%%bash\nls", "%%sh\nls"])
def test_commands_without_ipython_name_the_language_that_has_them(bare, code):
    message = bare.run(code).error["message"]
    assert 'language: "bash"' in message and "apt install ipython3" in message
    assert "bash" not in bare.run("%time 1").error["message"]


@pytest.mark.parametrize("code, language", [
    ("%%sql\nSELECT 1", "sql"), ("%sql SELECT 1", "sql"), ("rows = %sql SELECT 1", "sql"), ("%%node\n1", "javascript"), ("%%javascript\n1", "javascript"), ("%%js\n1", "javascript"),
    ("%%typescript\n1", "typescript")])
@pytest.mark.parametrize("kind", ["bare", "notebook"])
def test_magics_of_other_languages_name_the_language(request, kind, code, language):
    python = request.getfixturevalue(kind)
    error = python.run(code).error
    assert error["name"] == "SyntaxError" and f'language: "{language}"' in error["message"] and ("apt install" in error["message"]) == (kind == "bare")
    assert "language" not in python.run("%nosuch").error["message"]


def test_magics_of_other_languages_that_an_extension_has(notebook):
    made = notebook.run("from IPython.core.magic import register_cell_magic\n@register_cell_magic\ndef sql(line, cell): return f'own {cell}'")
    assert made.ok and notebook.run("%%sql\nSELECT 1").text == "'own SELECT 1\\n'"
    assert notebook.run("!true\ntext = '''\n%sql SELECT 1\n'''\ntext").text == r"'\n%sql SELECT 1\n'"


@pytest.mark.parametrize("code", [
    "x = 1  # is that so?\ny = = 2", "print('well?')\n'''\nis that so?\n'''\ny = = 2", "if x:\n# why?\ny = 1"])
def test_questions_are_no_magics(bare, code):
    ending = bare.run(code)
    assert ending.error["name"] in ("SyntaxError", "IndentationError") and "IPython" not in ending.error["message"]
    for asks in ("len?", "  str.join??", "?len", "x = len?", "df.head()?", "f(a, 'b')[0].c(1)??", "y = f(1)? "):
        assert "IPython" in bare.run(asks).error["message"]


@pytest.mark.parametrize("piece", ["\n", " ", "\t \n", "a, ", "a()", "a(\n"])
def test_an_error_of_a_long_cell_is_told_at_once(bare, piece):
    began = time.monotonic()
    assert bare.run(f"x = = 1\n{piece * 2_000}\ny").error["name"] == "SyntaxError"
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("code, text", [
    ("%matplotlib inline\nx = 41\nx + 1", "42"),
    ("%config InlineBackend.figure_format = 'retina'\n%matplotlib inline\n'a'", "'a'"),
    ("if True:\n    %matplotlib notebook\n5", "5"),
    ("%matplotlib inline\n'''\n%matplotlib inline\n'''", r"'\n%matplotlib inline\n'"),
    ("    %matplotlib inline\n    5", "5"),
])
@pytest.mark.parametrize("kind", ["bare", "notebook"])
def test_magics_for_figures_change_nothing(request, kind, code, text):
    python = request.getfixturevalue(kind)
    assert python.run(code).text == text
    assert python.run("import sys\n'IPython' in sys.modules").text == "False"


def test_errors_beside_magics_for_figures_are_told_as_they_are(bare):
    assert "cell 1, line 3" in bare.run("%matplotlib inline\nx = 1\n1 / 0").stderr
    ending = bare.run("%matplotlib inline\nx = = 1")
    assert "cell 2, line 2" in ending.stderr and "IPython" not in ending.error["message"]
    ending = bare.run("%matplotlib inline\n!ls")
    assert "cell 3, line 2" in ending.stderr and "IPython" in ending.error["message"]


@pytest.mark.parametrize("code, text", [
    ("    x = 1\n    if x:\n        x = 2\n    x", "2"),
    ("\n\t# why\n\tx = 3\n\n\tx + 1;\n\tx", "3"),
    ("# why\n  def f():\n    return 4\n  f()", "4"),
    ("    await __import__('asyncio').sleep(0, 5)", "5"),
])
@pytest.mark.parametrize("kind", ["bare", "notebook"])
def test_a_cell_that_is_indented_as_a_whole(request, kind, code, text):
    assert request.getfixturevalue(kind).run(code).text == text


def test_errors_of_an_indented_cell(bare):
    ending = bare.run("  x = 1\n  print(x / 0)")
    assert "cell 1, line 2" in ending.stderr and "print(x / 0)" in ending.stderr
    for code, line in (("x = 1\n  y = 2", 2), ("    x = 1\n  y = 2", 2), ("  x = 1\n  y = = 2", 2)):
        ending = bare.run(code)
        assert "IPython" not in ending.error["message"] and f", line {line}" in ending.stderr, ending
    ending = bare.run("    def f():\n        return 'kept'\n    import inspect\n    print(inspect.getsource(f))")
    assert ending.stdout == "def f():\n    return 'kept'\n\n"


def test_objects_that_display_themselves(notebook):
    ending = notebook.run("from IPython.display import HTML\nclass Own:\n    def _ipython_display_(self):\n"
                          "        display(HTML('<i>'))\nOwn()")
    assert [o["formats"] for o in ending.outputs] == [["text", "html"]]


# --- outputs that change ---------------------------------------------------------------------------


def shown(ending):
    assert ending.ok, ending.stderr
    return [output.get("html") or output["text"] for output in ending.outputs]


IMPORTS = "from IPython.display import clear_output, display, update_display, HTML\n"


@pytest.mark.parametrize("code, texts", [
    ("display('a'); clear_output(); display('b')", ["'b'"]),
    ("for i in range(3):\n    clear_output(wait=True); display(i)", ["2"]),
    ("for i in range(3):\n    display(i); clear_output(wait=True)", ["2"]),
    ("display('a'); clear_output()", []),
    ("display('a'); clear_output(wait=True)\n'main'", ["'main'"]),
    ("h = display('a', display_id=True); display('b'); h.update('c')", ["'c'", "'b'"]),
    ("display('a', display_id='x'); update_display(HTML('<b>'), display_id='x'); display('b')", ["<b>", "'b'"]),
    ("h = display(display_id='x'); display('b'); h.update({'a': 1})", ["{'a': 1}", "'b'"]),
    ("h = display('a', display_id=True); h.display('b'); h.update('c')", ["'c'", "'c'"]),
    ("h = display({'text/plain': 'a'}, raw=True, display_id='x'); h.update({'text/plain': 'b'}, raw=True)", ["b"]),
    ("display('a', clear=True); display('b', clear=True)", ["'b'"]),
    ("display('a'); 1", ["'a'", "1"]),
])
def test_outputs_have_their_last_state(extras, code, texts):
    assert shown(extras.run(IMPORTS + code)) == texts


def test_what_functions_of_earlier_runs_change(notebook):
    notebook.run(IMPORTS + "def tick(i): clear_output(wait=True); display(i)\nh = display('a', display_id=True)")
    assert shown(notebook.run("display('before')\nfor i in range(3): tick(i)")) == ["2"]
    assert shown(notebook.run("for i in range(3): h.update(i)\n'main'")) == ["2", "'main'"]


def test_what_fails_or_is_interrupted_shows_its_state(notebook):
    ending = notebook.run(IMPORTS + "h = display('a', display_id=True); print('printed'); h.update('b'); 1 / 0")
    assert not ending.ok and [output["text"] for output in ending.outputs] == ["'b'"] and ending.stdout == "printed\n"
    notebook.start("import time; h.update('c'); print('on'); clear_output(wait=True); time.sleep(60)")
    notebook.wait_for_stdout("on")
    notebook.interrupt()
    ending = notebook.finish()
    assert ending.done["interrupted"] and [output["text"] for output in ending.outputs] == ["'c'"]


def test_figures_that_change(notebook):
    code = (IMPORTS + "import matplotlib.pyplot as plt\nf, ax = plt.subplots()\nfor i in range(3):\n"
            "    ax.set_title(f'T{i}'); ax.plot([i, 1])\n    ")
    for way in ("clear_output(wait=True); display(f)", "display(f); clear_output(wait=True)", "display(f); clear_output()",
                "clear_output(); plt.figure(f.number); plt.title(f'T{i}')",
                "h = display(f, display_id='x') if i == 0 else h.update(f) or h"):
        ending = notebook.run(code + way)
        assert [output["chart"]["title"] for output in ending.outputs] == ["T2"] and len(ending.images) == 1, way


WIDGETS = """
class Widget:
    comm = 1

    def __init__(self, value=0):
        self.value = value

    def __repr__(self):
        return f"Bar({self.value})"

    def _repr_mimebundle_(self, **options):
        return {"text/plain": repr(self), "application/vnd.jupyter.widget-view+json": {"model_id": "4f"}}

    def close(self):
        self.comm = None
"""


@pytest.fixture
def widgets(start, tmp_path):
    """One in which a bar `b` of an ipywidgets is not shown yet."""
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules/ipywidgets.py").write_text(WIDGETS)
    python = start("python", extras=True)
    made = python.run(f"import sys; sys.path.append({str(tmp_path / 'modules')!r})\nfrom ipywidgets import Widget\n{IMPORTS}b = Widget()")
    assert made.ok, made.stderr
    return python


@pytest.mark.parametrize("code, texts", [
    ("display(b)\nfor i in range(5): b.value += 1", ["Bar(5)"]),
    ("display(b); display('between'); b.value = 1\n'main'", ["'between'", "Bar(1)", "'main'"]),
    ("display(b); h = display('x', display_id=True); h.update('y'); b.value = 1\n'main'", ["'y'", "Bar(1)", "'main'"]),
    ("b.value = 2\nb", ["Bar(2)"]),
    ("display(b); display(b); b.value = 3", ["Bar(3)"]),
    ("h = display(b, display_id=True); b.value = 4; h.update(b)", ["Bar(4)"]),
    ("for i in range(300):\n    inner = Widget(); display(inner); inner.close()\n'main'", ["'main'"]),
    ("display(b); display('a'); clear_output(); display('b')", ["'b'"]),
    ("display('a')\nfor i in range(3): b.value = i; clear_output(wait=True); display(b)", ["Bar(2)"]),
])
def test_widgets_have_their_last_state(widgets, code, texts):
    ending = widgets.run(code)
    assert shown(ending) == texts and all(output["formats"] == ["text"] for output in ending.outputs)
    assert shown(widgets.run("'next'")) == ["'next'"]


def test_widgets_of_a_run_that_fails(widgets):
    ending = widgets.run("display(b); b.value = 3; 1 / 0")
    assert not ending.ok and [output["text"] for output in ending.outputs] == ["Bar(3)"]
    many = widgets.run("for i in range(250): display(Widget(i))")
    assert shown(many) == [f"Bar({i})" for i in range(250)]


@pytest.mark.parametrize("failure, ends_by", [("SystemExit", None), ("GeneratorExit", None), ("KeyboardInterrupt", "KeyboardInterrupt")])
def test_widgets_that_cannot_be_shown_take_nothing_with_them(widgets, failure, ends_by):
    widgets.run(f"class Bad(Widget):\n    def __repr__(self): raise {failure}\n    _repr_mimebundle_ = __repr__")
    reason = "interrupted" if ends_by else failure
    for code, texts in (("h = display('held', display_id=True); display(Bad()); display(b); h.update('held')", ["'held'"]), ("display(Bad()); display(b); 'main'", [])):
        ending = widgets.run(code)
        assert [output["text"] for output in ending.outputs] == [*texts, f"<Bad object; not shown: {reason}>", "Bar(0)", *(["'main'"] if "main" in code else [])]
        assert ending.ok == (ends_by is None) and (ending.ok or ending.done["interrupted"])
    assert shown(widgets.run("'next'")) == ["'next'"]


def test_display_is_the_same_once_ipython_is_loaded(notebook):
    code = "import pandas as pd\ndisplay(pd.DataFrame({'a': range(70)}))"
    before, loaded = notebook.run(code), notebook.run("%pwd")
    assert loaded.ok and notebook.run(code).outputs == before.outputs
    assert shown(notebook.run("display({'text/plain': 'raw'}, raw=True)")) == ["raw"]


def test_display_ids_without_ipython(python):
    ending = python.run("h = display('a', display_id=True); display('b'); h.update('c')\n'main'")
    assert shown(ending) == ["'c'", "'b'", "'main'"] and ending.main["text"] == "'main'"
    assert python.run("display(1, update=True)").error["name"] == "TypeError"


def test_very_many_outputs_are_not_held(python):
    assert len(python.run("# display_id\nfor i in range(250): display(i)").outputs) == 250


def test_a_session_that_was_reset_ends_as_before(start):
    notebook = start("python", extras=True)
    notebook.run("kept = 1")
    ending = notebook.run("%reset -f")
    assert ending.ok and notebook.run("kept").done["error"]["name"] == "NameError"
    assert notebook.run("exit(2)").done["exit_code"] == 2 and notebook.run("quit()").ok
    assert notebook.run("get_ipython().user_ns is globals()").text == "True"
