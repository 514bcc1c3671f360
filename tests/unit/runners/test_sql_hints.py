"""What DuckDB's runner says to those who write the SQL of another database."""

import pytest

TABLE = "CREATE OR REPLACE TABLE s AS SELECT DATE '2024-01-01' AS d, 'a' AS t, 1 AS x"


@pytest.fixture(scope="module")
def duck(tmp_path_factory, request):
    from conftest import starter
    for start_one in starter(tmp_path_factory.mktemp("hints"), request):
        runner = start_one("sql", extras=True)
        assert runner.run(TABLE).ok
        yield runner


@pytest.mark.parametrize("code, instead", [
    ("SELECT DATE_FORMAT(d, '%Y') FROM s", "strftime(date, '%Y-%m-%d')"), ("SELECT to_char(d, 'YYYY') FROM s", "strftime(date, '%Y-%m-%d')"),
    ("SELECT STR_TO_DATE(t, '%Y') FROM s", "strptime(text, '%d.%m.%Y')"), ("SELECT GETDATE()", "now()"), ("SELECT ISNULL(x, 0) FROM s", "coalesce(a, b)"),
    ("SELECT TOP 5 * FROM s", "SELECT ... LIMIT 5"), ("SELECT 1;\nSELECT TOP (5) x FROM s", "SELECT ... LIMIT 5"),
    ("SELECT * FROM s LIMIT 1, 2", "LIMIT count OFFSET start"),
    ("CREATE TABLE q (id INT AUTO_INCREMENT PRIMARY KEY)", "CREATE SEQUENCE ids;"), ("CREATE TABLE q (id SERIAL)", "CREATE SEQUENCE ids;"),
    ("INSERT IGNORE INTO s VALUES (1)", "INSERT OR IGNORE INTO ..."), ("REPLACE INTO s VALUES (1)", "INSERT OR REPLACE INTO ..."),
    ("SELECT DATEDIFF(day, d, d) FROM s", "date_diff('day', first, last)"), ("SELECT * FROM s WHERE t = \"a1\"", '"a1" is a name; text stands in single quotes'),
])
def test_words_of_other_databases(duck, code, instead):
    said = duck.run(code).stderr
    assert said.splitlines()[-1].startswith(f"(this is DuckDB: {instead}"), said


def test_a_file_that_is_no_utf8_has_a_way_that_loses_no_rows(duck):
    (duck.cwd / "old.csv").write_bytes("Дата;x\n1;2\n".encode("cp1251"))
    said = duck.run("SELECT * FROM 'old.csv'").stderr.splitlines()
    assert said[-1].startswith("(pandas reads files in any encoding") and "ignore_errors leaves rows out" in said[-1], said


@pytest.mark.parametrize("code", ["SELECT nosuch FROM s", "SELECT nosuch(1)", "SELECT", "SELECT * FROM nosuch", "SELECT \"nosuch\" FROM s", "SELECT ']'::nosuch"])
def test_other_mistakes_are_told_as_they_are(duck, code):
    ending = duck.run(code)
    assert not ending.ok and "this is DuckDB" not in ending.stderr


@pytest.mark.parametrize("code", [
    "SELECT strftime(DATE '2024-05-06', '%Y-%m-%d')", "SELECT strptime('06.05.2024', '%d.%m.%Y')", "SELECT DATE '2024-05-06' + INTERVAL 1 DAY",
    "SELECT date_diff('day', DATE '2024-05-06', DATE '2024-05-07')", "SELECT epoch(TIMESTAMP '2024-05-06'), to_timestamp(5), strpos('ab', 'b'), split_part('a,b', ',', 1)",
    "SELECT regexp_extract('a1', '[0-9]'), uuid(), trunc(1.55, 1), quantile_cont(x, 0.5), if(true, 1, 2) FROM s GROUP BY x",
    "CREATE SEQUENCE ids; CREATE TABLE q (id INTEGER DEFAULT nextval('ids'), n INTEGER); INSERT INTO q (n) VALUES (5) RETURNING id",
    "CREATE TABLE w (id INTEGER PRIMARY KEY); INSERT OR IGNORE INTO w VALUES (1); INSERT OR REPLACE INTO w VALUES (1)", "SELECT 5::DECIMAL(18, 3)",
])
def test_the_advice_holds(duck, code):
    assert duck.run(code).ok, duck.run(code).stderr
