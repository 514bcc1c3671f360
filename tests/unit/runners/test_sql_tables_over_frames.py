"""A table that SQL makes with the name of a DataFrame goes before it, from the statement on that makes it."""

import time

import pytest

NOTE = "df is the table now, not Python's DataFrame"


@pytest.fixture(params=["SQLite", "DuckDB"], scope="module")
def engine(request):
    return request.param


@pytest.fixture
def both(start, engine):
    python, sql = (start(language, extras=engine == "DuckDB") for language in ("python", "sql"))
    assert python.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\nother = df").ok
    return python, sql


def rows(sql, query):
    ending = sql.run(query)
    assert ending.ok, ending.stderr
    return [output["json"]["rows"] for output in ending.outputs if "json" in output][-1]


@pytest.mark.parametrize("made", [
    "CREATE OR REPLACE TABLE df AS SELECT *, a * 2 AS dbl FROM df", "CREATE TABLE df AS SELECT *, a * 2 AS dbl FROM df",
    "SELECT * FROM df; CREATE TABLE main.df AS SELECT *, a * 2 AS dbl FROM other", "CREATE TABLE new AS SELECT *, a * 2 AS dbl FROM df; ALTER TABLE new RENAME TO df",
    "SELECT * FROM df; CREATE VIEW df AS SELECT 1 AS a, 2 AS dbl UNION SELECT 2, 4", "BEGIN; CREATE TABLE df AS SELECT *, a * 2 AS dbl FROM df; COMMIT"])
def test_the_table_is_seen_in_the_run_that_makes_it(both, engine, made):
    python, sql = both
    if engine == "SQLite":
        made = made.replace("CREATE OR REPLACE", "CREATE")
    ending = sql.run(f"{made}; SELECT dbl FROM df ORDER BY 1")
    assert ending.ok and ending.main["json"]["rows"] == [[2], [4]], ending.stderr
    assert ending.done["note"] == NOTE
    assert python.run("df = pd.DataFrame({'a': [5]})").ok
    ending = sql.run("SELECT dbl FROM df ORDER BY 1; SELECT * FROM other")
    assert ending.outputs[0]["json"]["rows"] == [[2], [4]] and ending.done["note"] == NOTE
    assert "note" not in sql.run("SELECT dbl FROM df").done, "told of this DataFrame"
    assert rows(sql, f"DROP {'VIEW' if ' VIEW ' in made else 'TABLE'} df; SELECT a FROM df") == [[5]]


def test_hutch_sql_sees_it_and_tells_once(both, engine):
    python, _ = both
    ending = python.run("hutch.sql('CREATE TABLE df AS SELECT a, a * 2 AS dbl FROM df; SELECT dbl FROM df').dbl.tolist()")
    assert ending.text == "[2, 4]" and ending.stderr.count(NOTE) == 1, ending.stderr
    ending = python.run("hutch.sql('SELECT dbl FROM df').dbl.tolist()")
    assert ending.text == "[2, 4]" and NOTE not in ending.stderr


def test_a_rollback_brings_the_frame_back(both):
    _, sql = both
    assert rows(sql, "BEGIN; CREATE TABLE df AS SELECT 7 AS a FROM df; SELECT DISTINCT a FROM df; ROLLBACK; SELECT a FROM df ORDER BY a") == [[1], [2]]


def test_a_table_of_before_is_told_of_once(both):
    python, sql = both
    assert sql.run("CREATE TABLE df (a INTEGER)").ok
    assert [NOTE in python.run("len(hutch.sql('SELECT a FROM df'))").stderr for _ in range(2)] == [True, False]


def test_sql_tells_of_a_frame_that_is_newer_than_a_table(both):
    python, sql = both
    assert sql.run("CREATE TABLE big (a INTEGER); CREATE TABLE DF2 (a INTEGER)").ok and "note" not in sql.run("SELECT * FROM big").done
    for _ in range(2):
        assert python.run("big = pd.DataFrame({'a': [5]})").ok
        ending = sql.run("SELECT count(*) FROM big; SELECT * FROM other JOIN big USING (a)")
        assert ending.outputs[0]["json"]["rows"] == [[0]] and ending.done["note"] == NOTE.replace("df", "big")
        assert "note" not in sql.run("SELECT count(*) FROM big").done
    assert python.run("del big").ok and "note" not in sql.run("SELECT count(*) FROM big").done


def test_a_python_that_is_busy_is_not_waited_for_to_tell_of_it(both):
    python, sql = both
    assert sql.run("CREATE TABLE df (a INTEGER)").ok
    python.start("import time\nend = time.monotonic() + 3\nwhile time.monotonic() < end: pass")
    python.wait_until_busy()
    began = time.monotonic()
    assert "note" not in sql.run("SELECT count(*) FROM df").done and time.monotonic() - began < 1
    python.finish()
    time.sleep(0.2)  # it says a moment after its answer that it is not busy any more
    assert sql.run("SELECT count(*) FROM df").done["note"] == NOTE
