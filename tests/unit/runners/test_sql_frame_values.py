"""Values of DataFrames in SQLite: equal ones stay equal, and numbers stay numbers."""

import pytest
from test_sql_between_languages import rows


@pytest.fixture
def python(start):
    client = start("python")
    assert client.run("import pandas as pd, datetime as dt\nfrom decimal import Decimal").ok
    return client


def test_moments_are_equal_in_columns_with_fractions_and_without(python, sql):
    python.run("a = pd.DataFrame({'t': [pd.Timestamp(t) for t in ['2023-01-01 10:00:00.5', '2023-01-01 11:00:00', '2023-01-01 12:00:00.25']]})\n"
               "b = pd.DataFrame({'t': [pd.Timestamp(t) for t in ['2023-01-01 11:00:00', '2023-01-01 10:00:00.500001']]})\n"
               "c = pd.DataFrame({'t': [dt.datetime(2023, 1, 1, 12, 0, 0, 250000), 'x']})")
    assert rows(sql.run("SELECT t FROM a ORDER BY t")) == [["2023-01-01 10:00:00.5"], ["2023-01-01 11:00:00"], ["2023-01-01 12:00:00.25"]]
    assert rows(sql.run("SELECT t FROM a JOIN b USING (t)")) == [["2023-01-01 11:00:00"]]
    assert rows(sql.run("SELECT t FROM a JOIN c USING (t)")) == [["2023-01-01 12:00:00.25"]]
    for table in "ab":
        assert python.run(f"hutch.sql('SELECT t FROM {table}').equals({table})").text == "True"
    assert python.run("[len(hutch.sql('SELECT t FROM a WHERE t = ?', [t])) for t in a.t]").text == "[1, 1, 1]"


@pytest.mark.parametrize("values, ordered", [
    (["9.5", "10.25", "-3"], [-3.0, 9.5, 10.25]), (["1e400", "2"], [2.0, "inf"]), (["NaN", "0.1"], [None, 0.1]),
    (["9007199254740993", "1.5"], [1.5, "9007199254740993"]), (["1.10", "5.00"], [1.1, 5.0]),
])
def test_decimals_are_numbers(python, sql, values, ordered):
    made = ", ".join(f"Decimal('{value}')" for value in values)
    assert python.run(f"d = pd.DataFrame({{'v': [{made}]}})").ok
    assert rows(sql.run("SELECT v FROM d ORDER BY v")) == [[value] for value in ordered]
    assert rows(sql.run("SELECT count(*) FROM d WHERE typeof(v) = 'text'")) == [[0]]


def test_decimals_divide_as_decimals(python, sql):
    python.run("d = pd.DataFrame({'v': [Decimal('5.00'), Decimal('2.5')]})")
    assert rows(sql.run("SELECT v / 2 FROM d")) == [[2.5], [1.25]]
    assert python.run("hutch.sql('SELECT v FROM d WHERE v > ?', [Decimal('2.75')]).v.tolist()").text == "[5.0]"


def test_a_table_that_hides_a_frame_is_told_of(python, sql):
    python.run("sales = pd.DataFrame({'a': [1, 2]})")
    assert "note" not in sql.run("SELECT * FROM sales").done
    note = "sales is the table now, not Python's DataFrame"
    assert sql.run("CREATE TABLE sales AS SELECT * FROM sales").done["note"] == note
    assert "note" not in sql.run("SELECT * FROM sales; CREATE TABLE other AS SELECT * FROM sales").done
    python.run("other_frame = sales")
    assert note.replace("sales", "other_frame") in python.run("hutch.sql('CREATE TABLE other_frame AS SELECT * FROM other_frame')").stderr


TIMED = """timed = pd.DataFrame({'i': [1, 2, 3], 't': [pd.Timestamp(t) for t in ['2023-01-31', '2023-01-31 12:00', '2023-02-01']]})
days = pd.DataFrame({'i': [1, 2], 't': [pd.Timestamp(t) for t in ['2023-01-31', '2023-02-01']]})
def found(sign, value, table='timed'):
    return hutch.sql(f'SELECT i FROM {table} WHERE t {sign} ? ORDER BY i', [value]).i.tolist()"""


@pytest.mark.parametrize("midnight", ["dt.datetime(2023, 1, 31)", "pd.Timestamp('2023-01-31')", "timed.t[0]"])
def test_midnight_compares_with_moments_and_with_days(python, midnight):
    python.run(TIMED)
    assert python.run(f"[found(sign, {midnight}) for sign in ('=', '<=', '>', '>=', '<')]").text == \
        "[[1], [1], [2, 3], [1, 2, 3], []]"
    assert python.run(f"[found(sign, {midnight}, 'days') for sign in ('=', '<=', '>', '>=', '<')]").text == \
        "[[1], [1], [2], [1, 2], []]"


def test_dates_of_javascript_compare_with_moments(start, python):
    python.run(TIMED)
    javascript = start("javascript")
    javascript.run("const day = new Date('2023-01-31'); const ids = async (query) => (await hutch.sql(query, [day])).map((row) => row.i)")
    assert javascript.run("await ids('SELECT i FROM timed WHERE t <= ?')").text == "[ 1 ]"
    assert javascript.run("await ids('SELECT i FROM days WHERE t = ?')").text == "[ 1 ]"
    assert javascript.run("(await hutch.sql('SELECT ? v', [new Date(8.64e15)]))[0].v").text == "'+275760-09-13T00:00:00.000'"


def test_frames_in_a_transaction_are_as_outside_of_one(python, sql):
    python.run(TIMED)
    assert sql.run("BEGIN").ok
    assert rows(sql.run("SELECT typeof(t), t FROM timed ORDER BY i")) == [
        ["text", "2023-01-31 00:00:00"], ["text", "2023-01-31 12:00:00"], ["text", "2023-02-01 00:00:00"]]
    assert rows(sql.run("SELECT * FROM days")) == [[1, "2023-01-31"], [2, "2023-02-01"]]
