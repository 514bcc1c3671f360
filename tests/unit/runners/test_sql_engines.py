"""Which engine a session has, what DuckDB does beyond SQLite, and engines that cannot be had."""

import pytest

import runner_client
from test_sql_between_languages import rows


def test_duckdb_reads_files_and_writes_parquet(start):
    sql = start("sql", extras=True)
    (sql.cwd / "d.csv").write_text("a,when\n1,2020-01-01\n2,2021-01-01\n")
    ending = sql.run("COPY (SELECT * FROM 'd.csv') TO 'd.parquet';\nSELECT * FROM 'd.parquet' ORDER BY a DESC")
    assert rows(ending) == [[2, "2021-01-01"], [1, "2020-01-01"]]
    assert [c["type"] for c in ending.main["json"]["columns"]] == ["BIGINT", "DATE"]
    assert rows(sql.run('SELECT count(*) FROM "d.csv"')) == [[2]]
    ending = sql.run("SELECT 1;\nSELECT *,\nnope FROM 'd.csv'")
    assert not ending.ok and "statement 2, line 3" in ending.error["message"]


@pytest.mark.parametrize("statement, name", [("LOAD httpfs", "httpfs"), ("SELECT * FROM st_read('a.shp')", "spatial"),
                                             ("SELECT * FROM read_csv('a.csv', encoding='shift_jis')", "encodings"),
                                             ("SELECT * FROM 'https://localhost/a.parquet'", "httpfs")])
def test_what_an_extension_of_duckdbs_would_do(start, statement, name):
    sql = start("sql", extras=True)
    (sql.cwd / "a.csv").write_bytes("a,b\n販売,1\n".encode("shift_jis"))
    said = sql.run(statement).stderr
    assert f"(DuckDB downloads {name} from extensions.duckdb.org" in said and said.endswith("DataFrames as tables)\n"), said


@pytest.mark.parametrize("folder", ["none/such", "a file", ""])
def test_duckdb_spills_though_its_folder_is_none(start, tmp_path, monkeypatch, folder):
    (tmp_path / "a file").touch()
    usual = runner_client.environment
    monkeypatch.setattr(runner_client, "environment", lambda home: {**usual(home), "TMPDIR": folder and str(tmp_path / folder)})
    sql = start("sql", extras=True, copied=False)
    [[place]] = rows(sql.run("SELECT current_setting('temp_directory')"))
    assert place.startswith("/tmp/.hutch-duckdb-"), place
    spills = "SET memory_limit = '60MB'; SET threads = 1; CREATE TEMP TABLE t AS SELECT range AS a, md5(range::VARCHAR) AS b FROM range(2000000); SELECT count(*) FROM t"
    assert rows(sql.run(spills)) == [[2_000_000]]


def test_a_session_stays_with_its_engine(start):
    sqlite = start("sql")
    sqlite.run("CREATE TABLE t (a)")
    later = start("sql", extras=True)
    assert later.ready["version"].startswith("SQLite")
    assert later.run("SELECT count(*) FROM t").ok


def test_a_database_that_cannot_be_opened_is_an_answer(start, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/session.sqlite").mkdir()
    sql = start("sql")
    ending = sql.run("SELECT 1")
    assert ending.error["name"] == "OperationalError" and "unable to open" in ending.stderr
    (tmp_path / "data/session.sqlite").rmdir()
    assert rows(sql.run("SELECT 1")) == [[1]]


def test_duckdb_that_has_gone(start, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/session.duckdb").write_bytes(b"")
    assert "install it again on the machine that runs hutch" in start("sql").run("SELECT 1").error["message"]


def test_a_date_that_is_none_fails_its_query_only(start):
    javascript = start("javascript")
    ending = javascript.run("await hutch.sql('SELECT ?', [new Date('no date')]).catch((error) => error.name)")
    assert ending.text == "'RangeError'" and "note" not in ending.done
    assert javascript.run("await hutch.sql('SELECT 2 a')").text == "[ { a: 2 } ]"


def test_hutch_sql_in_javascript_is_interrupted(start):
    javascript = start("javascript")
    assert javascript.run("await hutch.sql('SELECT 1 a')").text == "[ { a: 1 } ]"
    javascript.start("console.log('on'); await hutch.sql('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
                     "SELECT i + 1 FROM n) SELECT count(*) FROM n')")
    javascript.wait_for_stdout("on")
    javascript.interrupt()
    assert javascript.finish().done["interrupted"]
    assert javascript.run("await hutch.sql('SELECT 2 a')").text == "[ { a: 2 } ]"


@pytest.mark.parametrize("query", ["EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT count(*) FROM range(9) a(i) JOIN range(5) b(j) ON i = j", "EXPLAIN (FORMAT JSON) SELECT 1"])
def test_a_plan_is_shown_in_its_own_lines(start, query):
    main = start("sql", extras=True).run(query).main
    [[_, plan]] = main["json"]["rows"]
    assert main["text"] == plan.rstrip() and "\n" in main["text"] and main["html"].startswith("<pre>"), main["text"]


def test_a_long_plan_is_cut_between_its_lines(start):
    main = start("sql", extras=True).run("EXPLAIN " + " UNION ALL ".join(["SELECT 1 AS a"] * 60)).main
    [[_, plan]] = main["json"]["rows"]
    text, _, rest = main["text"].rpartition("\n")
    assert plan.startswith(text + "\n") and 1000 < len(text) < 3400 and rest == f"... (of {len(plan.rstrip())} characters)"


def test_settings_that_change_answers_are_each_connections_own(start):
    sql, python = (start(language, extras=True) for language in ("sql", "python"))
    note = "is set here alone: SQL cells, hutch.sql() in Python and that in JavaScript need a SET each"
    assert sql.run("SET TimeZone='Europe/Berlin'").done["note"] == f"TimeZone {note}"
    assert "note" not in sql.run("SET TimeZone='UTC'; SET threads=1; SELECT current_setting('TimeZone')").done
    assert sql.run("SET VARIABLE x = 3").done["note"] == f"VARIABLE x {note}"
    assert f"timezone {note}" in python.run("hutch.sql(\"set timezone = 'Europe/Berlin'\")").stderr
    assert python.run("hutch.sql(\"SELECT current_setting('TimeZone') AS z\").z[0]").main["text"] == "'Europe/Berlin'"
