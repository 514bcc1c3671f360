"""Columns of DataFrames whose kinds DuckDB has not, or has in another form: zones, periods, intervals."""

import pytest


@pytest.fixture(scope="module", params=[0])
def engine(request):
    return "DuckDB"


@pytest.fixture(scope="module")
def both(engine_start):
    python, sql = engine_start("python", extras=True), engine_start("sql", extras=True)
    assert python.run(FRAMES).ok
    return python, sql


FRAMES = """import pandas as pd, pyarrow as pa, polars as pl, numpy as np
moments = pd.to_datetime(['2024-01-01', '2024-07-01 12:30', None, '1969-12-31 23:59:59.999999999'], format='ISO8601').tz_localize('America/New_York')
plain = pd.DataFrame({'i': range(4), 't': moments})
mixed = plain.assign(o=[[1], None, [2], [3]])
held = pd.DataFrame({'i': range(4), 't': list(moments), 'o': [[1]] * 4}).astype({'t': object})
chosen = pd.DataFrame({'i': range(4), 't': pd.Categorical(moments), 'o': [[1]] * 4})
arrow = pa.table({'i': range(4), 't': pa.array(list(moments), type=pa.timestamp('ns', 'America/New_York'), from_pandas=True)})
of_polars = pl.DataFrame(arrow)
lists = pd.DataFrame({'t': [list(moments[:2]), None]})
months = pd.DataFrame({'i': range(3), 'p': pd.PeriodIndex(['2024-01', None, '2023-12'], freq='M')})
quarters = months.assign(p=months.p.dt.asfreq('Q'), o=[[1], None, [2]])
named = pd.DataFrame({'p': pd.Categorical(months.p), 'o': [[1], None, [2]]})
loose = pd.DataFrame({'p': [pd.Period('2024-01'), None, pd.NaT, pd.Period('2023', 'Y')]}, dtype=object)
bins = pd.DataFrame({'i': range(3), 'b': pd.cut([5, np.nan, 15], [0, 10, 20])})
bins_mixed = bins.assign(o=[[1], None, [2]])
spans = pd.DataFrame({'b': pd.arrays.IntervalArray.from_breaks([0, 10, 20], closed='left')})
grouped = bins.groupby('b', observed=False).i.sum()
of_arrow = pa.Table.from_pandas(pd.DataFrame({'p': months.p, 'b': bins.b}), preserve_index=False)
"""


def rows(sql, query):
    ending = sql.run(query)
    assert ending.ok, ending.stderr
    return [output["json"]["rows"] for output in ending.outputs if "json" in output][-1]


def in_all_ways(both, query, expected):
    """In a copy of Python, from a file that it writes, and by hutch.sql()."""
    python, sql = both
    assert rows(sql, query) == expected
    assert rows(sql, f"BEGIN; {query}; COMMIT") == expected
    told = python.run(f"[[None if pd.isna(v) else v for v in row] for row in hutch.sql({query!r}).astype(object).values.tolist()]")
    assert told.ok and told.text == repr(expected), (told.text, told.stderr)


@pytest.mark.parametrize("frame", ["plain", "mixed", "held", "chosen", "arrow", "of_polars"])
def test_moments_of_a_zone_keep_it(both, frame):
    in_all_ways(both, f"SELECT typeof(t)[:24] AS k, strftime(date_trunc('hour', t AT TIME ZONE 'America/New_York'), '%m-%d %H') AS h FROM {frame} ORDER BY i LIMIT 3",
                [["TIMESTAMP WITH TIME ZONE", "01-01 00"], ["TIMESTAMP WITH TIME ZONE", "07-01 12"], ["TIMESTAMP WITH TIME ZONE", None]])
    in_all_ways(both, f"SELECT i FROM {frame} WHERE date_trunc('day', t) = TIMESTAMPTZ '2024-01-01 00:00:00+00'", [[0]])
    python, sql = both
    assert rows(sql, f"SELECT t FROM {frame} WHERE i = 0; CREATE OR REPLACE TABLE kept AS SELECT t FROM {frame}; SELECT t FROM kept LIMIT 1") == [["2024-01-01 05:00:00+00:00"]]
    assert python.run(f"[hutch.sql('SELECT t FROM ' + name).t.dt.tz is None for name in ('{frame}', 'kept')]").text == "[False, False]"
    in_all_ways(both, f"SELECT epoch_us(t) FROM {frame} WHERE i = 3", [[18_000 * 1_000_000 - 1]])


def test_moments_of_a_zone_inside_of_lists(both):
    in_all_ways(both, "SELECT typeof(t) AS k, date_part('hour', t[1]) AS h FROM lists",
                [["TIMESTAMP WITH TIME ZONE[]", 5], ["TIMESTAMP WITH TIME ZONE[]", None]])


@pytest.mark.parametrize("frame, column, expected", [
    ("months", "p", [["2024-01"], [None], ["2023-12"]]), ("quarters", "p", [["2024Q1"], [None], ["2023Q4"]]),
    ("named", "p", [["2024-01"], [None], ["2023-12"]]), ("loose", "p", [["2024-01"], [None], [None], ["2023"]]),
    ("bins", "b", [["(0, 10]"], [None], ["(10, 20]"]]), ("bins_mixed", "b", [["(0, 10]"], [None], ["(10, 20]"]]),
    ("spans", "b", [["[0, 10)"], ["[10, 20)"]]), ("grouped", "b", [["(0, 10]"], ["(10, 20]"]]),
    ("of_arrow", "p", [["2024-01"], [None], ["2023-12"]]), ("of_arrow", "b", [["(0, 10]"], [None], ["(10, 20]"]])])
def test_periods_and_intervals_are_text(both, frame, column, expected):
    in_all_ways(both, f"SELECT {column} FROM {frame}", expected)


def test_periods_group_and_compare(both):
    in_all_ways(both, "SELECT p, count(*) AS n FROM months WHERE p >= '2024-01' GROUP BY p", [["2024-01", 1]])
    in_all_ways(both, "SELECT b FROM bins WHERE b = '(0, 10]'", [["(0, 10]"]])


def test_moments_of_an_hour_that_comes_twice(both):
    python, _ = both
    assert python.run("twice = pd.DataFrame({'t': pd.to_datetime([-5_857_199_999_999_999, -5_853_599_999_999_999], utc=True).tz_convert('America/New_York')})").ok
    in_all_ways(both, "SELECT epoch_us(t) AS e FROM twice", [[-5_857_200_000_000], [-5_853_600_000_000]])


def test_kinds_of_intervals_are_shown_as_pandas_does(both):
    python, _ = both
    made = python.run("cuts = pd.DataFrame({'b': pd.arrays.IntervalArray.from_breaks(pd.to_datetime(['2024-01-01 00:00', '2024-01-02 12:00', '2024-01-03 00:00']), closed='both'),"
                      "'f': pd.arrays.IntervalArray.from_breaks([0.1, 0.25, 3], closed='neither'), 'h': pd.period_range('2024', periods=2, freq='h'), 'w': pd.period_range('2024', periods=2, freq='W')})\n"
                      "[[str(v) for v in row] for row in cuts.astype(object).values.tolist()]")
    assert made.ok, made.stderr
    in_all_ways(both, "FROM cuts", eval(made.text))
