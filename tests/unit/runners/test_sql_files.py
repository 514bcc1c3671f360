"""Files as tables of SQLite: what kind of column their cells make."""

import pytest
from test_sql_between_languages import rows


@pytest.fixture
def column(sql):
    """column(cells): the values and the type that a column of a CSV has."""
    def column_of(cells, name="c.csv", delimiter=","):
        (sql.cwd / name).write_text(f"k{delimiter}v\n" + "".join(f"x{delimiter}{cell}\n" for cell in cells))
        ending = sql.run(f'SELECT v FROM "{name}"')
        assert ending.ok, ending
        return [value for value, in ending.main["json"]["rows"]], ending.main["json"]["columns"][0]["type"]
    return column_of


@pytest.mark.parametrize("cells", [
    ["12345678901234567890", "12345678901234567891"], ["1", "-9223372036854775809"], ["9" * 5000, "1"], ["1.5", "9223372036854775808"],
    ["+4915112345678"], ["1", "+2"], ["+1.7035555555"], ["1E5", "2"], ["12e4567"], ["1.5", "12e45"], ["1.5e999", "1"], ["-1e+999"],
    ["007"], ["1.5", "-007"], ["00.5"], ["1,5"], ["1_000"], ["inf", "1"], ["Infinity"], ["0x10"], ["1-2"], ["1.2.3"],
])
def test_a_column_with_a_value_that_would_not_stay_is_text(column, cells):
    cells = [f'"{cell}"' if "," in cell else cell for cell in cells]
    assert column(cells) == ([cell.strip('"') for cell in cells], "TEXT")


@pytest.mark.parametrize("cells, values, kind", [
    (["1", "-2", "0"], [1, -2, 0], "INTEGER"),
    (["9223372036854775807", "-9223372036854775808"], ["9223372036854775807", "-9223372036854775808"], "INTEGER"),
    (["1.5e-7", "1.5E3", ".5", "-2.", "3"], [1.5e-7, 1500.0, 0.5, -2.0, 3.0], "REAL"),
    (["1e-5", "1E+05", "-12e+3"], [1e-5, 1e5, -12000.0], "REAL"),
    (["0", "0.0", "-0.5"], [0.0, 0.0, -0.5], "REAL"),
])
def test_columns_of_numbers(column, cells, values, kind):
    assert column(cells) == (values, kind)


def test_long_identifiers_are_not_taken_for_one(sql):
    (sql.cwd / "ids.csv").write_text("id\n12345678901234567890\n12345678901234567891\n")
    assert rows(sql.run('SELECT id, count(*) FROM "ids.csv" GROUP BY id')) == [
        ["12345678901234567890", 1], ["12345678901234567891", 1]]


@pytest.mark.parametrize("cells, values, kind", [
    (["true", "false"], [1, 0], "INTEGER"),
    (["TRUE", "False", "", "NA"], [1, 0, None, None], "INTEGER"),
    (["true", "1"], ["true", "1"], "TEXT"),
    (["0.5", "false"], ["0.5", "false"], "TEXT"),
    (["true", "yes", "NA"], ["true", "yes", "NA"], "TEXT"),
    (["t", "f"], ["t", "f"], "TEXT"),
])
def test_columns_of_booleans(column, cells, values, kind):
    assert column(cells) == (values, kind)


def test_booleans_are_those_of_json_and_of_data_frames(start, sql):
    (sql.cwd / "f.csv").write_text("f\ntrue\nfalse\n")
    (sql.cwd / "f.json").write_text('[{"f": true}, {"f": false}]')
    assert start("python").run("import pandas as pd\nframe = pd.DataFrame({'f': [True, False]})").ok
    shown = [sql.run(f'SELECT f FROM "{name}"').main for name in ("f.csv", "f.json", "frame")]
    assert shown[0]["json"]["rows"] == [[1], [0]] and all(one == shown[0] for one in shown)
    for name in ("f.csv", "f.json", "frame"):
        assert rows(sql.run(f'SELECT count(*) FROM "{name}" WHERE f')) == [[1]]


@pytest.mark.parametrize("cells, values, kind", [
    (["1,5", "2,5"], [1.5, 2.5], "REAL"),
    (["-0,25", "3", "", "NA"], [-0.25, 3.0, None, None], "REAL"),
    (["1", "2"], [1, 2], "INTEGER"),
    (["1.5", "2"], [1.5, 2.0], "REAL"),
    (["1.234,56", "2,5"], ["1.234,56", "2,5"], "TEXT"),
    (["1.5", "2,5"], ["1.5", "2,5"], "TEXT"),
    (["1,234,567"], ["1,234,567"], "TEXT"),
    (["+1,5"], ["+1,5"], "TEXT"),
    (["007,5"], ["007,5"], "TEXT"),
    (["1,5", "x"], ["1,5", "x"], "TEXT"),
    (["1" * 400 + ",5"], ["1" * 400 + ",5"], "TEXT"),
])
def test_decimal_commas_where_semicolons_stand_between(column, cells, values, kind):
    assert column(cells, delimiter=";") == (values, kind)
