"""Tables of polars and Arrow, pictures of PIL, and what plotly's figures look like: results as pandas' and matplotlib's are."""

import json
import re

import pytest


@pytest.mark.parametrize("code, types", [
    ("import polars as pl; pl.DataFrame({'a': [1, None], 'b': ['x', 'y']})", ["Int64", "String"]),
    ("import pyarrow as pa; pa.table({'a': [1, None], 'b': ['x', 'y']})", ["int64", "string"]),
    ("import pyarrow as pa; pa.RecordBatch.from_pydict({'a': [1, None], 'b': ['x', 'y']})", ["int64", "string"]),
])
def test_a_table_is_a_table(extras, code, types):
    output = extras.run(code).main
    assert output["formats"] == ["text", "html", "json"]
    assert output["json"] == {"columns": [{"name": "a", "type": types[0]}, {"name": "b", "type": types[1]}],
                              "rows": [[1, "x"], [None, "y"]], "row_count": 2, "truncated": False}
    assert "<table" in output["html"] and "x" in output["text"]


@pytest.mark.parametrize("code", ["import polars as pl; pl.DataFrame({'a': range(5000)})",
                                  "import pyarrow as pa; pa.table({'a': list(range(5000))})"])
def test_of_a_long_one_the_whole_is_a_file(extras, code):
    ending = extras.run(code)
    output = ending.main
    assert output["formats"] == ["text", "html", "json", "csv"]
    assert (output["json"]["row_count"], len(output["json"]["rows"]), output["json"]["truncated"]) == (5000, 1000, True)
    content = ending.parts[-1]["csv"].decode()
    assert content.startswith("a\n0\n1\n") and content.endswith("\n4999\n")
    assert 20 < output["text"].count("\n") < 70


@pytest.mark.parametrize("column", ["[[1, 2, 3]] * 1000", "[{'k': 1}] * 1000", "pl.Series([object()] * 1000, dtype=pl.Object)"])
def test_one_that_polars_writes_no_csv_of_has_the_rest(extras, column):
    ending = extras.run(f"import polars as pl; pl.DataFrame({{'a': range(1000), 'b': ['x' * 200] * 1000, 'c': {column}}})")
    assert ending.main["formats"] == ["text", "html", "json"] and "no rich form" not in ending.main["text"]
    table = json.loads(ending.parts[-1]["json"])
    assert table["row_count"] == 1000 and table["truncated"] and table["rows"][0][:2] == [0, "x" * 200]


WIDE = "{f'feature_{i}': [0.123456] * 1000 for i in range(40)}"


@pytest.mark.parametrize("code", [f"import pyarrow as pa; pa.table({WIDE})", f"import pyarrow as pa; pa.RecordBatch.from_pydict({WIDE})",
                                  f"import polars as pl; pl.DataFrame({WIDE})"])
def test_a_wide_one_has_its_ends_and_names_what_it_has_not(extras, code):
    output = extras.run(code).main
    lines = output["text"].split("\n")
    assert max(map(len, lines)) <= 200 and len(output["text"]) < 4000
    first, last = map(int, re.search(r"not shown: feature_(\d+) to feature_(\d+)\]", lines[-1]).groups())
    shown = re.findall(r"feature_\d+", "\n".join(lines[:-1]))
    assert shown == [f"feature_{i}" for i in range(40) if not first <= i <= last]
    assert sum("0.123456" in line for line in lines) == 20


def test_rows_of_arrow_are_the_first_and_the_last(extras):
    extras.run("import pyarrow as pa; rows = lambda count: pa.table({'a': range(count), 'b': [None, *range(1, count)]})")
    lines = extras.run("rows(1000)").main["text"].split("\n")
    assert lines[1].split() == ["0", "0", "NaN"] and lines[10].split()[:2] == ["9", "9"] and lines[11].startswith("..")
    assert lines[12].split()[:2] == ["990", "990"] and lines[21].split()[:2] == ["999", "999"]
    assert lines[-1] == "[1000 rows x 2 columns; 20 shown]"
    assert extras.run("rows(60)").main["text"].split("\n")[60].split()[0] == "59" and "[" not in extras.run("rows(20)").main["text"]
    assert extras.run("rows(1000)").main["html"].count("<tr") == 22
    assert "not shown" not in extras.run("pa.table({'a': ['x' * 500] * 3, 'b': ['y'] * 3})").main["text"]


def test_columns_of_polars_are_named_where_cells_are_long(extras):
    extras.run("import polars as pl")
    output = extras.run("pl.DataFrame({'first': ['x' * 500], 'second': [list(range(99))], 'third': [1]})").main["text"]
    assert "not shown" not in output and "third" in output
    output = extras.run("pl.DataFrame({name: ['x' * 500] * 30 for name in ('first', 'second', 'third', 'last')})").main["text"]
    assert output.endswith("\n[not shown: third]") and len(output) < 4000
    assert "[not shown" not in extras.run("with pl.Config(tbl_cols=2): display(pl.DataFrame({'a': [1], 'b': [1], 'c': [1]}))").outputs[0]["text"]


def test_how_many_rows_are_shown_is_polars_own_to_say(extras):
    ending = extras.run("import polars as pl; pl.Config.set_tbl_rows(4); pl.DataFrame({'a': range(99)})")
    extras.run("pl.Config.restore_defaults()")
    assert ending.main["text"].count("\n") < 15


def test_a_picture_is_a_picture(extras):
    ending = extras.run("from PIL import Image; Image.new('RGB', (40, 30), 'red')")
    assert ending.main["formats"] == ["text", "png"] and ending.images[0].startswith(b"\x89PNG")


@pytest.mark.parametrize("trace", ["Scatter(x=[1, 2], y=[3, 4])", "Scatter(x=['2024-01-01', '2024-02-01'], y=[3, None])",
                                   "Bar(x=['p', 'q'], y=[1, 2])", "Bar(x=[1, 2], y=['p', 'q'], orientation='h')",
                                   "Pie(labels=['p'], values=[1])", "Box(y=[1, 2, 3, 50])", "Histogram(x=[1, 2, 2])",
                                   "Histogram(x=['p', 'q', 'q'])", "Histogram(x=['p', 'q', 'q'], y=[1, 2, 3], histfunc='sum')",
                                   "Scatter(x=['p', 'q'], y=[1, 2], stackgroup='s')",
                                   "Scatter(x=['2024-01-01', '2024-02-01'], y=[1, 2], stackgroup='s')", "Heatmap(z=[[1, 2], [3, None]])"])
def test_plotly_needs_no_browser_for_a_picture(extras, trace):
    ending = extras.run(f"import plotly.graph_objects as go; go.Figure([go.{trace}, go.{trace}], layout_title_text='T')")
    assert "png" in ending.main["formats"] and "chart" in ending.main["formats"], ending.main
    assert ending.images[0].startswith(b"\x89PNG") and ": T; drawn by matplotlib" in ending.main["text"]


def test_what_has_no_data_has_no_picture(extras):
    ending = extras.run("import plotly.graph_objects as go; go.Figure(go.Scatter3d(x=[1], y=[1], z=[1]))")
    assert ending.main["formats"] == ["text", "html", "json"] and not ending.images


def test_altair_is_drawn(extras):
    ending = extras.run("import altair as alt, pandas as pd\n"
                        "alt.Chart(pd.DataFrame({'a': [1, 2], 'b': [3, 4]})).mark_line().encode(x='a', y='b')")
    assert ending.images[0].startswith(b"\x89PNG")
