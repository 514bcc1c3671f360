"""Tests what the Python runner adds to a traceback: the way to a missing package, and files that have changed."""

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


WESTERN = "encoding='cp1252', or cp1250 (Central Europe) or cp1254 (Turkish) where letters look wrong"


@pytest.mark.parametrize("code, way", [
    ("pd.read_csv('old.csv')", f"(the file looks like {WESTERN})"), ("pd.read_csv('old.csv', engine='python')", f"(the file looks like {WESTERN})"),
    ("open('old.csv').read()", f"(the file looks like {WESTERN})"), ("for line in open('late.csv'): pass", f"(the file looks like {WESTERN})"),
    ("import json; json.load(open('old.csv'))", f"(the file looks like {WESTERN})"), ("pd.read_csv('wide.csv')", "(the file looks like encoding='utf-16')"),
    ("open('wide.csv').read()", "(the file looks like encoding='utf-16')"), ("open('bare.csv').read()", "(the file looks like encoding='utf-16-le')"),
    ("open('new.csv', encoding='ascii').read()", "(the file looks like encoding='utf-8')"), ("b'M\\xfcller'.decode()", f"(these bytes look like {WESTERN})"),
    ("open('russian.csv').read()", "(the file looks like encoding='cp1251', or koi8_r or cp1253)"),
    ("pd.read_csv('korean.csv')", "(the file looks like encoding='cp949', or gb18030 or euc_jp)"), ("pd.read_csv('taiwan.csv')", "(the file looks like encoding='big5', or gb18030)"),
    ("pd.read_csv('euc.csv')", "(the file looks like encoding='euc_jp', or gb18030 or cp949)"),
    ("pd.read_csv('japanese.csv')", "(the file looks like encoding='shift_jis', or gb18030 or cp949)"), ("open('chinese.csv').read()", "(the file looks like encoding='gb18030', or cp949 or big5)"),
    ("open('greek.csv').read()", "(the file looks like encoding='cp1253', or cp1251 or koi8_r)"), ("open('picture.png').read()", "(read_file says what that file may be)"),
    ("open('damaged.csv').read()", "(read_file says what that file may be)"), ("b'\\x00\\xff'.decode()", None), ("'ü'.encode('ascii')", None),
])
def test_the_encoding_that_a_text_may_have(encoded, code, way):
    last = encoded.run(code).stderr.splitlines()[-1]
    assert last == way if way else last.startswith("Unicode"), last


@pytest.fixture(scope="module")
def encoded(tmp_path_factory, request):
    from conftest import starter
    text = "Straße;Größe\nMüller €;1\n"
    for start_one in starter(tmp_path_factory.mktemp("encoded"), request):
        runner = start_one("python")
        for name, content in {
                "old": text.encode("cp1252"), "late": b"a;b\n" + b"x;1\n" * 90_000 + text.encode("cp1252"), "wide": text.encode("utf-16"),
                "bare": text.encode("utf-16-le"), "new": text.encode(), "russian": "Привет мир, как дела".encode("cp1251"),
                "japanese": "品名,値\nテスト,1\n".encode("shift_jis"), "chinese": "名,市\n张,北京\n".encode("gb18030"), "korean": "이름,금액\n김철수,서울\n이영희,부산\n".encode("cp949"),
                "taiwan": "姓名,金額\n張三,100\n李四,200\n".encode("big5"), "euc": "これは日本語です\n".encode("euc_jp"), "greek": "Καλημέρα κόσμε".encode("cp1253"),
                "damaged": text.encode() * 9 + b"\xff"}.items():
            (runner.cwd / f"{name}.csv").write_bytes(content)
        (runner.cwd / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
        assert runner.run("import pandas as pd").ok
        yield runner


@pytest.mark.parametrize("code", [
    "df['Umsatz']", "df.groupby('Umsatz')", "df[['Region', 'Umsatz']]", "df.sort_values('Umsatz')", "df.drop(columns=['Umsatz'])", "df.set_index('Umsatz')",
    "df.loc[0, 'Umsatz']", "df.merge(df, on='Umsatz')", "df.groupby('Region')['Umsatz']", "df.agg({'Umsatz': 'sum'})", "df.dropna(subset=['Umsatz'])",
    "df.apply(lambda row: row['Umsatz'], axis=1)", "df.Umsatz", "df.query('Umsatz > 1')", "df.pivot_table(index='Region', values='Umsatz')"])
def test_columns_that_are_called_nearly_so(sales, code):
    assert sales.run(code).stderr.splitlines()[-1] == "(the nearest here: 'umsatz ', 'Umsatz EUR')"


@pytest.mark.parametrize("code, way", [
    ("df.groupby('Region').get_group('West')", None), ("df.set_index('Region').index.get_level_values('Regio')", None),
    ("pd.DataFrame({'a': [1], 0: [2]})['zzz']", None),
    ("df['zzz']", "(there are: 'umsatz ', 'Umsatz EUR', 'Region', '\\ufeffDatum')"), ("df['Datum']", "(the nearest here: '\\ufeffDatum')"),
    ("pd.Series({'alpha': 1})['alpa']", "(the nearest here: 'alpha')"), ("wide['zzz']", "'c7' and 12 more)"),
    ("df.apply(lambda row: {'Region': 1}['region'], axis=1)", None), ("{'Region': 1}['region']", None), ("df.loc['Region']", None), ("df.zzz", None),
    ("df[5]", "KeyError: 5"), ("nosuch", "NameError: name 'nosuch' is not defined")])
def test_labels_are_told_where_pandas_looked_for_them(sales, code, way):
    last = sales.run(code).stderr.splitlines()[-1]
    assert last.endswith(way) if way else not last.startswith(("(the nearest", "(there are")), last


@pytest.fixture(scope="module")
def sales(tmp_path_factory, request):
    from conftest import starter
    for start_one in starter(tmp_path_factory.mktemp("sales"), request):
        runner = start_one("python")
        assert runner.run("import pandas as pd\ndf = pd.DataFrame({'umsatz ': [1], 'Umsatz EUR': [1], 'Region': ['a'], '\\ufeffDatum': [1]})\n"
                          "wide = pd.DataFrame({f'c{n}': [n] for n in range(20)})").ok
        yield runner


@pytest.mark.parametrize("code, way", [
    ("open('/mnt/user-data/uploads/sales.csv')", "files of the chat are not in this session: the user gives them through write_file"),
    ("import pandas; pandas.read_csv('/mnt/user-data/uploads/sales.csv')", "files of the chat are not"), ("open('/mnt/data/sales.csv')", "files of the chat are not"),
    ("import os; os.listdir('/mnt/user-data')", "files of the chat are not"),
    ("import pandas; pandas.DataFrame({'a': [1]}).to_csv('/mnt/user-data/outputs/a.csv')", "this session has no /mnt/user-data/outputs: write below /workspace"),
    ("open('/mnt/user-data/outputs/a.csv', 'w')", "this session has no /mnt/user-data/outputs: "), ("open('/home/claude/a.py', 'w')", "this session has no /home/claude: "),
    ("hutch.sql('SELECT * FROM \"/mnt/user-data/uploads/a.csv\"')", "files of the chat are not"),
    ("open('/Users/anna/a.csv')", "this session sees no files of the user's machine"), ("open('C:\\\\Users\\\\anna\\\\a.csv')", "this session sees no files of the user's"),
    ("open('/home/user/Downloads/a.csv')", "this session sees no files of the user's"), ("open('/home/user/nosuch')", None), ("open('/mnt/nosuch/a')", None),
    ("raise OSError('no answer of http://host/Users/anna/')", None), ("raise OSError('Max retries exceeded with url: /Users/5')", None),
    ("raise FileExistsError(17, 'File exists', '/home/user/Documents/x')", None), ("open('/mnt/user-database')", None)])
def test_the_way_of_files_of_other_machines(python, code, way):
    last = python.run(code).stderr.splitlines()[-1]
    assert last.startswith(f"({way}") if way else "(" != last[0], last


@pytest.mark.parametrize("code", ["locale.setlocale(locale.LC_ALL, 'xx_XX.UTF-8')", "locale.setlocale(locale.LC_NUMERIC, 'xx')",
                                  "import calendar; calendar.LocaleTextCalendar(locale='xx_XX').formatmonth(2024, 1)"])
def test_locales_that_are_not_there(python, code):
    assert python.run(f"import locale; {code}").stderr.splitlines()[-1].startswith("(only C.UTF-8 and C exist here; f'{1234.5:,.2f}'")
    assert python.run("f'{1234.5:,.2f}'.translate({44: '.', 46: ','})").text == "'1.234,50'"


ELSEWHERE = [("open('Sales.csv')", "sales.csv"), ("import pathlib; pathlib.Path('/data/SALES.csv').read_text()", "sales.csv"), ("open(b'Sales.csv')", "sales.csv"),
             ("open('Sales Report.csv')", "sales_report.csv"), ("open('u\u0308bersicht.csv')", "\u00fcbersicht.csv"), ("import os; os.listdir('/data/Folder/')", "folder"),
             ("open('/mnt/user-data/uploads/sales.csv')", "sales.csv"), ("open('C:\\\\Users\\\\anna\\\\sales.csv')", "sales.csv"), ("open('/Users/anna/sales.csv')", "sales.csv"),
             ("raise FileNotFoundError('/data/sales.csv')", "sales.csv"), ("raise OSError('cannot open file: Sales.csv')", "sales.csv"),
             ("import pandas; pandas.read_csv('/mnt/data/sales.csv')", "sales.csv"), ("hutch.sql(\"SELECT * FROM 'Sales.csv.'\")", None),
             ("open('nosuch.csv')", None), ("raise OSError('a quarrel about Sales.csv')", None), ("raise ConnectionError('sales.csv')", None),
             ("import glob; open('*.csv')", None), ("open('sales.csv/')", "sales.csv"), ("open(-5)", None)]


@pytest.mark.parametrize("code, told", ELSEWHERE)
def test_files_that_are_elsewhere(python, code, told):
    for name in ("sales.csv", "sales_report.csv", "\u00fcbersicht.csv"):
        (python.cwd / name).write_text("a\n1\n")
    (python.cwd / "folder").mkdir(exist_ok=True)
    last = python.run(code).stderr.splitlines()[-1]
    assert last == f"(there is {python.cwd}/{told})" if told else not last.startswith("(there is"), last


def test_a_place_of_outputs_is_told_with_the_file(python):
    (python.cwd / "sales.csv").write_text("a\n1\n")
    last = python.run("open('/mnt/user-data/outputs/sales.csv')").stderr.splitlines()[-1]
    assert last.startswith("(this session has no /mnt/user-data/outputs: ") and last.endswith(f"; there is {python.cwd}/sales.csv)"), last


def test_a_program_that_is_not_there_is_no_file(python):
    (python.cwd / "ruby").mkdir(exist_ok=True)
    assert python.run("import subprocess; subprocess.run(['ruby'])").stderr.splitlines()[-1].startswith("(there is no Ruby here")


@pytest.mark.parametrize("code", ["import docx; docx.Document('Sales.csv')", "import pptx; pptx.Presentation('Sales.csv')", "import pypdfium2; pypdfium2.PdfDocument('Sales.csv')",
                                  "import polars; polars.read_csv('/data/sales.csv')", "import pyarrow.parquet as p; p.read_table('Sales.csv')", "import duckdb; duckdb.sql(\"FROM 'Sales.csv'\")"])
def test_files_that_are_elsewhere_as_libraries_name_them(extras, code):
    (extras.cwd / "sales.csv").write_text("a\n1\n")
    assert extras.run(code).stderr.splitlines()[-1] == f"(there is {extras.cwd}/sales.csv)"


@pytest.mark.parametrize("module, way", [("fitz", "pypdfium2 is here and draws pages: "), ("pymupdf", "pypdfium2 is here"), ("pdf2image", "pypdfium2 is here"),
                                         ("camelot.io", "pdfplumber is here and reads tables: "), ("PyPDF2", "pypdf is here")])
def test_what_is_here_in_place_of_a_library(extras, start, module, way):
    last = extras.run(f"import {module}").stderr.splitlines()[-1]
    assert last.startswith(f"({way}") and "this Python has no" in last, last
    plain = start("python").run(f"import sys, importlib.util; importlib.util.find_spec = lambda name: None\nimport {module}")
    assert " is here" not in plain.stderr


def test_a_page_is_drawn_as_it_is_said(extras):
    made = extras.run("from reportlab.pdfgen.canvas import Canvas\nc = Canvas('a.pdf', (100, 50)); c.showPage(); c.save()\n"
                      "import pypdfium2, pdfplumber; path = 'a.pdf'\nimport subprocess\nsubprocess.run(['pdftoppm'])")
    said = made.stderr.splitlines()[-1]
    assert "pypdfium2 draws pages (PdfDocument(path)[0].render(scale=2).to_pil())" in said
    assert extras.run("pypdfium2.PdfDocument(path)[0].render(scale=2).to_pil().size").text == "(200, 100)"
    assert extras.run("pdfplumber.open(path).pages[0].extract_tables()").text == "[]"


def test_paths_are_explained_where_the_working_directory_is_gone(start):
    ending = start("python").run("import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')\nopen('/Users/anna/a.csv')")
    assert ending.stderr.splitlines()[-1].startswith("(this session sees no files of the user's machine"), ending
