"""Intervals with months and years, which Python's timedelta has not."""

import pytest

from conftest import starter


@pytest.fixture(scope="module")
def session(tmp_path_factory, request):
    for start_one in starter(tmp_path_factory.mktemp("intervals"), request):
        yield start_one


@pytest.fixture(scope="module")
def duck(session):
    runner = session("sql", extras=True)
    assert runner.run("CREATE TABLE spans AS SELECT i, INTERVAL (i % 3) MONTH AS span, 'x' AS span2 FROM range(5000) t(i)").ok
    return runner


@pytest.mark.parametrize("query, row", [
    ("SELECT INTERVAL '1 month' a, INTERVAL '30 days' b, age(DATE '2024-03-01', DATE '2023-12-01') c", ["1 month", "30 days", "3 months"]),
    ("SELECT INTERVAL '1 year 2 days' AS a, 5 AS a, NULL::INTERVAL -- why\n;", ["1 year 2 days", 5, None]),
    ("SELECT TIMESTAMP '2024-01-03 05:00:00' - TIMESTAMP '2024-01-01' AS apart", ["2 days 05:00:00"]),
    ("SELECT [INTERVAL '1 month'] AS l, {'interval': INTERVAL '2 months', 'b': 1} AS s, 'INTERVAL' AS \"INTERVAL\"",
     [["1 month"], {"interval": "2 months", "b": 1}, "INTERVAL"]),
    ("WITH t AS (SELECT 7 AS i) SELECT i, INTERVAL (i) MONTH FROM t", [7, "7 months"]),
    ("SELECT span FROM spans WHERE i = 2", ["2 months"]),
    ("FROM spans WHERE i = 1", [1, "1 month", "x"]),
    ("BEGIN; SELECT span FROM spans WHERE i = 1; COMMIT", ["1 month"]),
    ("CREATE SEQUENCE numbers; SELECT nextval('numbers'), INTERVAL '2 days'; SELECT nextval('numbers')", [2]),
])
def test_intervals_are_as_duckdb_writes_them(duck, query, row):
    ending = duck.run(query)
    assert ending.ok, ending.stderr
    assert ending.main["json"]["rows"] == [row]


def test_types_order_and_text_stay(duck):
    ending = duck.run("SELECT i, span FROM spans ORDER BY i DESC")
    assert ending.main["json"]["columns"][1] == {"name": "span", "type": "INTERVAL"}
    assert [row[0] for row in ending.main["json"]["rows"]] == list(range(4999, 3999, -1))
    assert "| 1 month" in ending.text and "30 days" not in ending.text


def test_what_fails_is_told_in_the_statements_own_words(duck):
    ending = duck.run("SELECT INTERVAL '1 month',\n CAST(span2 AS INTEGER) FROM spans")
    assert "Could not convert string 'x' to INT32" in ending.stderr and "asked" not in ending.stderr and "line 2" in ending.stderr, ending.stderr


def test_durations_of_dataframes(session, duck):
    python = session("python", extras=True)
    assert python.run("import pandas as pd\ndf = pd.DataFrame({'t': pd.to_timedelta(['1 day', '90 min'])})").ok
    assert duck.run("SELECT t, t + INTERVAL '1 month' AS u FROM df ORDER BY t DESC").main["json"]["rows"][1] == ["01:30:00", "1 month 01:30:00"]


@pytest.mark.parametrize("query, shown", [
    ("SELECT INTERVAL '1 year' AS a, INTERVAL '30 days' AS b", "['1 year', Timedelta('30 days 00:00:00')]"),
    ("SELECT span AS a, 1 AS b FROM spans WHERE i < 1", "[Timedelta('0 days 00:00:00'), 1]"),
    ("SELECT [INTERVAL '1 month'] AS a, sum(5) AS b", "[['1 month'], 5]"),
    ("SELECT span AS a, i AS b FROM spans WHERE i = ?", "['1 month', 4]"),
])
def test_in_python_a_column_with_months_is_text(session, duck, query, shown):
    python = session("python", extras=True)
    parameters = ", [4]" if "?" in query else ""
    ending = python.run(f"f = hutch.sql({query!r}{parameters})\nprint(f.columns.tolist(), [list(v) if hasattr(v, 'tolist') and getattr(v, 'ndim', 0) else v "
                        "for v in f.astype(object).iloc[0]])")
    assert ending.ok, ending.stderr
    assert ending.stdout.strip() == f"['a', 'b'] {shown}"


def test_rows_for_javascript(duck):
    duck.send({"type": "run", "run_id": "hutch.sql", "language": "sql", "code": "SELECT span FROM spans WHERE i = 1", "rows": True})
    rows = []
    while (message := duck.receive()[0])["type"] != "done":
        rows += message["rows"]
    assert message["ok"] and rows == [["1 month"]]
