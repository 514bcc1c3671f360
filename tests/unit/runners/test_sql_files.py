"""Files as tables of SQLite: what kind of column their cells make, and what is said of files that it does not read."""

import gzip
import os

import pytest
from test_sql_between_languages import rows


@pytest.fixture(scope="module", params=[0])
def engine(request):
    return "SQLite"


@pytest.fixture(scope="module")
def sql_beside_frame(engine_start):
    assert engine_start("python").run("import pandas as pd\nframe = pd.DataFrame({'a': [1]})").ok
    return engine_start("sql")


@pytest.fixture
def column(sql):
    """column(cells): the values and the type that a column of a CSV has."""
    def column_of(cells, name="c.csv"):
        (sql.cwd / name).write_text("k,v\n" + "".join(f"x,{cell}\n" for cell in cells))
        ending = sql.run(f'SELECT v FROM "{name}"')
        assert ending.ok, ending
        return [value for value, in ending.main["json"]["rows"]], ending.main["json"]["columns"][0]["type"]
    return column_of


@pytest.mark.parametrize("cells", [
    ["12345678901234567890", "12345678901234567891"], ["1", "-9223372036854775809"], ["9" * 5000, "1"], 
    ["+4915112345678"], ["1", "+2"], ["+1.7035555555"], ["12e4567"], ["1.5e999", "1"], ["-1e+999"],
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
    (["1E5", "2"], [1e5, 2.0], "REAL"),
    (["0", "0.0", "-0.5"], [0.0, 0.0, -0.5], "REAL"),
])
def test_columns_of_numbers(column, cells, values, kind):
    assert column(cells) == (values, kind)


def test_long_identifiers_are_not_taken_for_one(sql):
    (sql.cwd / "ids.csv").write_text("id\n12345678901234567890\n12345678901234567891\n")
    assert rows(sql.run('SELECT id, count(*) FROM "ids.csv" GROUP BY id')) == [
        ["12345678901234567890", 1], ["12345678901234567891", 1]]


def test_booleans_are_those_of_json_and_of_data_frames(start, sql):
    (sql.cwd / "f.csv").write_text("f\ntrue\nfalse\n")
    (sql.cwd / "f.json").write_text('[{"f": true}, {"f": false}]')
    assert start("python").run("import pandas as pd\nframe = pd.DataFrame({'f': [True, False]})").ok
    shown = [sql.run(f'SELECT f FROM "{name}"').main for name in ("f.csv", "f.json", "frame")]
    assert shown[0]["json"]["rows"] == [[1], [0]] and all(one == shown[0] for one in shown)
    for name in ("f.csv", "f.json", "frame"):
        assert rows(sql.run(f'SELECT count(*) FROM "{name}" WHERE f')) == [[1]]


@pytest.mark.parametrize("name, words", [
    ("regions.csv.gz", ["that file is there", "compressed: decompress it first"]),
    ("data.txt", ["that file is there", "does not read this format, only .csv, .tsv, .json, .jsonl and .ndjson"]),
    ("shop.db", ["that file is there: ATTACH 'shop.db' AS other, then FROM other.its_table"]),
    ("p.parquet", ["that file is there", "does not read this format", "DuckDB"]),
    ("sub/plain", ["that file is there", "does not read this format"]),
    ("t.docx", ["that file is there: SQL does not read it; read_file of it names the two lines of Python that do"]),
    ("folder.csv", ["that is a folder"]),
    ("gone.parquet", ["no such file in /"]), ("gone.csv.gz", ["no such file in /"]), ("gone.txt", ["no such file in /"]),
    ("gone/x", ["no such file in /"]), ("/gone/x.csv", ["no such file"]),
])
def test_files_that_are_not_read_are_named_as_files(sql_beside_frame, name, words):
    sql = sql_beside_frame
    (sql.cwd / "regions.csv.gz").write_bytes(gzip.compress(b"a\n1\n"))
    for folder in ("sub", "folder.csv"):
        (sql.cwd / folder).mkdir(exist_ok=True)
    for file in ("data.txt", "p.parquet", "shop.db", "sub/plain", "t.docx"):
        (sql.cwd / file).write_text("a\n1\n")
    for quote in "\"'`":
        ending = sql.run(f"SELECT * FROM {quote}{name}{quote}")
        message = ending.error["message"]
        assert message.startswith(f"no such table: {name}; ") and ending.error["name"] == "sqlite3.OperationalError"
        assert all(part in message for part in words) and "DataFrame of that name" not in message


def test_a_file_that_is_no_utf8_says_what_pandas_needs(sql_beside_frame):
    (sql_beside_frame.cwd / "german.csv").write_bytes("Größe;Preis\nÄ;1,5\n".encode("cp1252"))
    message = sql_beside_frame.run("SELECT * FROM 'german.csv'").error["message"]
    assert "encoding='cp1252'" in message and "; with sep=';', decimal=','" in message, message


@pytest.mark.parametrize("extras", [False, True])
def test_what_may_be_a_table_of_another_database_is_no_file(start, extras):
    python, sql = start("python"), start("sql", extras=extras)
    assert python.run("import pandas as pd\nframe = pd.DataFrame({'a': [1]})").ok
    message = sql.run("SELECT * FROM frame.a").error["message"]
    assert "file" not in message and (extras or "those there are: frame" in message)


@pytest.mark.parametrize("extras", [False, True])
def test_files_do_not_wait_for_python(start, extras):
    python, sql = start("python"), start("sql", extras=extras)
    (sql.cwd / "d.csv").write_text("a\n1\n")
    python.start("import time\nprint('on')\ntime.sleep(600)")
    python.wait_for_stdout("on")
    read, *gone = (sql.run(f"SELECT * FROM '{name}'") for name in ("d.csv", "gone.csv", "gone/x"))
    python.interrupt()
    assert python.finish().done["interrupted"]
    assert rows(read) == [[1]] and "no such file in" in gone[1].error["message"]
    assert not any("Python" in one.error["message"] for one in gone)


def test_a_transaction_that_is_behind_says_so(start, sql):
    other = start("sql")
    assert sql.run("CREATE TABLE t (a); BEGIN; SELECT * FROM t").ok and other.run("INSERT INTO t VALUES (1)").ok
    message = sql.run("INSERT INTO t VALUES (2)").error["message"]
    assert "database is locked; another language of this session" in message and "ROLLBACK this one, and begin again" in message
    assert sql.run("ROLLBACK; INSERT INTO t VALUES (2)").ok


def test_a_file_of_the_same_size_and_time_is_read_again(sql):
    (sql.cwd / "d.csv").write_text("v\n1\n")
    times = (sql.cwd / "d.csv").stat()
    assert rows(sql.run('SELECT * FROM "d.csv"')) == [[1]]
    (sql.cwd / "d.csv").write_text("v\n2\n")
    os.utime(sql.cwd / "d.csv", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert rows(sql.run('SELECT * FROM "d.csv"')) == [[2]]
