"""Values that libraries make come back from a Python's snapshot: kept equal, or named."""

import json

import pytest

from conftest import starter
from runner_client import Keeper
from woken import WokenPython, named, store

pytestmark = pytest.mark.plain_start

# name: code that makes `it`, an expression that is true of what came back
KEPT = {
    "polars_frame": ("import polars as pl\nit = pl.DataFrame({'a': [1, None], 's': ['x', 'y'], 'l': [[1], [2]]})\nwanted_polars = it.clone()", "it.equals(wanted_polars) and it.schema == wanted_polars.schema"),
    "polars_lazy": ("import polars as pl\nit = pl.LazyFrame({'a': [1, 2]}).filter(pl.col('a') > 1)", "it.collect().to_dicts() == [{'a': 2}]"),
    "polars_large": ("import datetime, numpy as np, polars as pl\nit = pl.DataFrame({'n': np.arange(900_000), 'f': np.arange(900_000) / 7, 's': [f'value {n % 1000}' for n in range(900_000)], 'b': np.arange(900_000) % 3 == 0, 'd': pl.Series([datetime.date(2026, 1, 2), None] * 450_000),"
                     " 't': pl.Series([datetime.datetime(2026, 1, 2), None] * 450_000, dtype=pl.Datetime('ms', 'Europe/Paris')), 'm': [1, None, 3] * 300_000})\nwanted_large = it.clone()\nlast_of_large = it['s'].slice(5)",
                     "it.equals(wanted_large) and it.schema == wanted_large.schema and it.filter(pl.col('n') > 5)['f'].sum() == wanted_large.filter(pl.col('n') > 5)['f'].sum() and last_of_large[0] == 'value 5' and last_of_large.name == 's' and it.with_columns(x=pl.col('n') * 2)['x'][3] == 6"),
    "polars_in_parts": ("import numpy as np, polars as pl\npart_of_parts = pl.DataFrame({'n': np.arange(1_500_000)})\nit = pl.concat([part_of_parts, part_of_parts], rechunk=False)", "it.height == 3_000_000 and it['n'][-1] == 1_499_999"),
    "polars_others": ("import numpy as np, polars as pl\nit = pl.DataFrame({'n': np.arange(2_500_000)}).with_columns(c=pl.lit('a').cast(pl.Categorical), l=pl.concat_list('n'))\nwanted_polars_others = it.schema", "it.schema == wanted_polars_others and it['l'][3].to_list() == [3] and it['c'][1] == 'a'"),
    "polars_function": ("import polars as pl\nit = pl.col('a').map_elements(lambda n: n + 1, return_dtype=pl.Int64)", "pl.DataFrame({'a': [1]}).select(it).item() == 2"),
    "arrow_table": ("import pyarrow as pa\nit = pa.table({'a': [1, None], 's': ['x', 'y']})", "it == pa.table({'a': [1, None], 's': ['x', 'y']}) and it.schema.field('a').type == pa.int64()"),
    "arrow_array": ("import pyarrow as pa\nit = pa.array([[1], None])", "it.to_pylist() == [[1], None]"),
    "regression": ("import numpy as np\nfrom sklearn.linear_model import LinearRegression\nit = LinearRegression().fit(np.arange(6).reshape(-1, 1), np.arange(6) * 2 + 1)", "abs(it.predict([[10]])[0] - 21) < 1e-9 and type(it) is LinearRegression"),
    "forest": ("from sklearn.ensemble import RandomForestClassifier\nfrom sklearn.datasets import make_classification\nxs_of_forest, ys_of_forest = make_classification(200, random_state=1)\nit = RandomForestClassifier(20, random_state=1).fit(xs_of_forest, ys_of_forest)\nwanted_forest = it.predict_proba(xs_of_forest)", "(it.predict_proba(xs_of_forest) == wanted_forest).all() and len(it.estimators_) == 20"),
    "pipeline": ("from sklearn.pipeline import make_pipeline\nfrom sklearn.preprocessing import FunctionTransformer, StandardScaler\nimport numpy as np\nit = make_pipeline(FunctionTransformer(lambda x: x * 2), StandardScaler()).fit(np.arange(4.0).reshape(-1, 1))", "it[1].mean_[0] == 3.0 and it.transform(np.array([[1.5]]))[0][0] == 0.0"),
    "figure": ("import matplotlib.pyplot as plt\nit, axes_of_figure = plt.subplots(); line_of_figure, = axes_of_figure.plot([1, 2], [3, 4], label='a'); axes_of_figure.set_title('T'); plt.close(it)", "it.axes[0] is axes_of_figure and axes_of_figure.lines[0] is line_of_figure and axes_of_figure.get_title() == 'T' and line_of_figure.get_ydata().tolist() == [3, 4]"),
    "plotly": ("import plotly.graph_objects as go\nit = go.Figure(go.Scatter(x=[1, 2], y=[3, 4])).update_layout(title='T')", "it.data[0].y == (3, 4) and it.layout.title.text == 'T'"),
    "altair": ("import altair as alt, pandas as pd\nit = alt.Chart(pd.DataFrame({'a': [1]})).mark_bar().encode(x='a:Q')", "it.to_dict()['encoding']['x']['field'] == 'a'"),
    "graph": ("import networkx as nx\nit = nx.Graph(); it.add_edge('a', 'b', weight=3)", "it['a']['b']['weight'] == 3"),
    "sympy": ("import sympy\nit = sympy.Symbol('x') ** 2", "sympy.diff(it) == 2 * sympy.Symbol('x')"),
    "sparse": ("import scipy.sparse\nit = scipy.sparse.eye(3, format='csr')", "it.nnz == 3 and it.format == 'csr'"),
    "image": ("from PIL import Image\nit = Image.new('RGB', (2, 3), 'red')", "it.size == (2, 3) and it.getpixel((1, 1)) == (255, 0, 0)"),
    "dataset": ("import numpy as np, xarray\nit = xarray.Dataset({'a': ('t', np.arange(3))}, {'t': [1, 2, 3]})", "int(it.a.sel(t=2)) == 1"),
    "least_squares": ("import numpy as np, statsmodels.api as sm\nit = sm.OLS(np.arange(5.0), sm.add_constant(np.arange(5.0))).fit()", "abs(it.params[1] - 1) < 1e-9 and 'OLS' in str(it.summary())"),
    "soup": ("from bs4 import BeautifulSoup\nit = BeautifulSoup('<p>a</p>', 'html.parser')", "it.p.text == 'a'"),
    "pydantic": ("import pydantic\nclass RowOfPydantic(pydantic.BaseModel):\n    n: int\nit = RowOfPydantic(n='3')", "it.n == 3 and type(it) is RowOfPydantic and RowOfPydantic(n=4).n == 4"),
    "workbook": ("import openpyxl\nit = openpyxl.Workbook(); it.active['A1'] = 5", "it.active['A1'].value == 5"),
    "requests": ("import requests\nit = requests.Session(); it.headers['x'] = 'y'", "it.headers['x'] == 'y'"),
    "open_figure": ("import matplotlib.pyplot as plt\nit = plt.figure(); plt.plot([1])\nNone", "it.axes[0].lines[0].get_ydata().tolist() == [1]"),
    "svm": ("from sklearn.svm import SVC\nimport numpy as np\nit = SVC().fit([[0], [1]], [0, 1])", "it.predict([[0.9]])[0] == 1"),
}
# name: code that makes `it`, and what the note says of it
NOT_KEPT = {
    "relation": ("import duckdb\nit = duckdb.sql('select 1 as a')", "DuckDBPyRelation: run its query again)"),
    "duckdb": ("import duckdb\nit = duckdb.connect()", "DuckDBPyConnection: open it again)"),
    "engine": ("import sqlalchemy\nit = sqlalchemy.create_engine('sqlite://')", "sqlalchemy.engine.base.Engine: open it again)"),
    "element": ("import lxml.etree\nit = lxml.etree.fromstring('<a/>')", "lxml.etree._Element: parse its source again)"),
    "document": ("import docx\nit = docx.Document()", "docx.document.Document: it has a docx.oxml.document.CT_Document, which ends with its process: make it again)"),
    "video": ("import cv2\nit = cv2.VideoCapture()", "cv2.VideoCapture: open it again)"),
    "http": ("import httpx\nit = httpx.Client()", "httpx.Client: make it again)"),
    "executor": ("from concurrent.futures import ThreadPoolExecutor\nit = ThreadPoolExecutor(1); it.submit(int).result()", "ThreadPoolExecutor: make it again)"),
    "read_file": ("import pyarrow as pa, pyarrow.parquet as pq\npq.write_table(pa.table({'a': [1]}), 'a.parquet')\nit = pq.ParquetFile('a.parquet')", "a.parquet)"),
}


@pytest.fixture(scope="module")
def of_libraries(tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("snapshots")
    for start_one in starter(folder, request):
        yield WokenPython(start_one, folder, KEPT, extras=True)


@pytest.mark.parametrize("name", KEPT)
def test_what_libraries_make_comes_back(of_libraries, name):
    looked = of_libraries.python.run(named(name, f"bool({KEPT[name][1]})"))
    assert looked.text == "True", (looked.text, looked.error, of_libraries.note)


def test_nothing_of_it_is_told_as_lost(of_libraries):
    assert "gone with" not in of_libraries.note and "not kept" not in of_libraries.note, of_libraries.note


def test_a_large_frame_of_polars_is_stored_by_its_buffers(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run("import numpy as np, polars as pl\nit = pl.DataFrame({'n': np.arange(3_000_000), 'f': np.arange(3_000_000.0)}); also = it['f']")
    store(python, keeper)
    assert keeper.last_end.split()[1] == b"0", "a process without polars' threads has read it back"
    content = keeper.large_path.read_bytes()
    length = int.from_bytes(content[-56:-48], "little")
    groups = json.loads(content[-56 - length:-56])["groups"].values()
    assert sum(size for group in groups for _, size in group["buffers"]) >= 48_000_000, groups
    assert sum(group["pickle"][1] for group in groups) < 100_000, groups


@pytest.mark.parametrize("made", [
    "import numpy as np, pandas as pd\nit = pd.DataFrame({'n': np.arange(3_000_000), 'f': np.arange(3_000_000.0)}); also = it['f']",
    "import numpy as np, pyarrow as pa\nit = pa.table({'n': np.arange(3_000_000), 'f': np.arange(3_000_000.0)}); also = it['f']",
], ids=["pandas", "arrow"])
def test_large_tables_are_stored_by_their_buffers(start, tmp_path, made):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    assert python.run(made).ok
    store(python, keeper)
    content = keeper.large_path.read_bytes()
    length = int.from_bytes(content[-56:-48], "little")
    groups = json.loads(content[-56 - length:-56])["groups"].values()
    assert sum(size for group in groups for _, size in group["buffers"]) >= 48_000_000, groups
    assert sum(group["pickle"][1] for group in groups) < 100_000, groups
    python.close_channel()
    assert start("python", keeper=keeper, extras=True).run("float(it['f'][2_999_999].as_py() if hasattr(it, 'schema') else it['f'].iloc[-1])").text == "2999999.0"


def test_large_frames_of_polars_keep_names_that_are_empty(start, tmp_path):
    python = WokenPython(start, tmp_path, {"unnamed": ("import numpy as np, polars as pl\nalone = pl.Series(np.arange(2_500_000)); both = pl.DataFrame({'b': np.arange(2_500_000), '': 1})", None)}, extras=True)
    ran = python.python.run("(alone.name, alone[-1], both.columns)")
    assert ran.text == "('', 2499999, ['b', ''])", (ran, python.note)


def test_a_part_of_a_large_frame_of_polars_is_stored_without_the_rest(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run("import polars as pl\npart = pl.DataFrame({'s': [f'a longer string that is not in its place {n:08d}' for n in range(3_000_000)]}).slice(10, 400_000)\n"
               "size = part.estimated_size()")
    store(python, keeper)
    size = int(python.run("size").text)
    assert 16 << 20 <= size, "as large as frames that are stored by their buffers"
    assert keeper.large_path.stat().st_size < 2 * size
    python.close_channel()
    assert start("python", keeper=keeper, extras=True).run("part['s'][0][-8:], part.height").text == "('00000010', 400000)"


@pytest.mark.parametrize("code", ["", "class DataFrame: pass\nclass Series: pass\n"])
def test_a_module_of_the_users_that_is_called_polars_costs_nothing(start, tmp_path, code):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run(f"open('polars.py', 'w').write({code!r})\nimport datetime, polars\nclass A: pass\na = A()\nday = datetime.date(2026, 1, 2)\ntable = getattr(polars, 'DataFrame', A)()")
    store(python, keeper)
    python.close_channel()
    ran = start("python", keeper=keeper).run("type(a) is A, day.day, 'table' in globals()")
    assert ran.text == "(True, 2, True)", ran


@pytest.mark.parametrize("name", NOT_KEPT)
def test_what_is_not_kept_is_named(start, tmp_path, name):
    code, words = NOT_KEPT[name]
    python = WokenPython(start, tmp_path, {name: (f"{code}\nother = 5", None)}, extras=True)
    assert words in python.note, python.note
    assert python.python.run("other").text == "5"
