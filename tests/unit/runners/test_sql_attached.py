"""Files that ATTACH has named are known to all languages of a session, and after its state was stored."""

import sqlite3

import pytest


@pytest.fixture(params=["SQLite", "DuckDB"], scope="module")
def engine(request):
    return request.param


@pytest.fixture
def begin(start, engine):
    def begin_one(language):
        return start(language, extras=engine == "DuckDB" and language != "javascript")
    return begin_one


@pytest.fixture
def both(begin):
    python, sql = begin("python"), begin("sql")
    with sqlite3.connect(sql.cwd / "shop.db") as database:
        database.execute("CREATE TABLE t (a INTEGER)")
        database.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
    return python, sql


def rows(ending):
    assert ending.ok, ending.stderr
    return [output["json"]["rows"] for output in ending.outputs if "json" in output][-1]


def in_python(python, query):
    return python.run(f"hutch.sql({query!r}).values.tolist()")


def test_what_sql_attaches_others_see(both, engine):
    python, sql = both
    assert sql.run("ATTACH 'shop.db' AS shop").ok
    assert rows(sql.run("SELECT sum(a) FROM shop.t")) == [[3]]
    assert in_python(python, "SELECT a FROM shop.t ORDER BY a").text == "[[1], [2]]"
    assert in_python(python, "SELECT count(*) AS n FROM \"shop\".t").text == "[[2]]"


def test_what_python_attaches_sql_sees(both):
    python, sql = both
    assert python.run("hutch.sql(\"ATTACH 'shop.db' AS shop\")").ok
    assert rows(sql.run("SELECT sum(a) FROM shop.t")) == [[3]]


def test_javascript_sees_it(start):
    sql = start("sql")
    with sqlite3.connect(sql.cwd / "shop.db") as database:
        database.execute("CREATE TABLE t AS SELECT 3 AS a")
    assert sql.run("ATTACH 'shop.db' AS shop").ok
    assert start("javascript").run("(await hutch.sql('SELECT sum(a) AS s FROM shop.t'))[0].s").text == "3"


def test_a_new_interpreter_sees_it(both, begin):
    ending = both[1].run("ATTACH 'shop.db' AS shop")
    assert not ending.done["holds_state"]
    assert rows(begin("sql").run("SELECT sum(a) FROM shop.t")) == [[3]]


def test_a_name_may_be_given_to_another_file(both):
    python, sql = both
    assert sql.run("ATTACH 'shop.db' AS Shop").ok and in_python(python, "SELECT count(*) AS n FROM shop.t").text == "[[2]]"
    with sqlite3.connect(sql.cwd / "other.db") as database:
        database.execute("CREATE TABLE t AS SELECT 9 AS a")
    assert sql.run("DETACH Shop; ATTACH 'other.db' AS Shop").ok
    assert in_python(python, "SELECT a FROM shop.t").text == "[[9]]"


def test_a_column_of_its_name_attaches_nothing(both):
    python, sql = both
    assert sql.run("ATTACH 'shop.db' AS shop; SELECT a AS shop FROM shop.t").ok
    assert in_python(python, "SELECT 1 AS shop").text == "[[1]]"
    listed = "SELECT count(*) AS n FROM pragma_database_list WHERE name = 'shop'"
    assert in_python(python, listed).text == "[[0]]"


def test_detach_forgets_it(both):
    python, sql = both
    assert sql.run("ATTACH 'shop.db' AS shop").ok and in_python(python, "SELECT a FROM shop.t").ok
    assert sql.run("DETACH shop").ok
    assert not sql.run("SELECT * FROM shop.t").ok
    assert sql.run("ATTACH 'shop.db' AS shop").ok and sql.run("SELECT * FROM shop.t").ok


def test_another_folder_means_the_same_file(both):
    python, sql = both
    assert sql.run("ATTACH 'shop.db' AS shop").ok
    assert python.run("import os; os.makedirs('sub', exist_ok=True); os.chdir('sub')").ok
    assert in_python(python, "SELECT count(*) AS n FROM shop.t").text == "[[2]]"


def test_a_file_that_is_gone_is_told_of(both):
    python, sql = both
    assert sql.run("ATTACH 'shop.db' AS shop").ok
    (sql.cwd / "shop.db").unlink()
    ending = in_python(python, "SELECT * FROM shop.t")
    assert not ending.ok and "shop was attached from " in ending.stderr and "shop.db, which is not there" in ending.stderr, ending.stderr
    assert not (sql.cwd / "shop.db").exists()


def test_a_copy_that_was_changed_is_state(both, engine):
    _, sql = both
    assert sql.run("ATTACH 'shop.db' AS shop").ok
    assert sql.run("INSERT INTO shop.t VALUES (7)").done["holds_state"] is (engine == "DuckDB")
    assert sql.run("ATTACH ':memory:' AS m").done["holds_state"]


@pytest.mark.parametrize("options", ["", " (READ_ONLY)"])
def test_a_file_of_duckdb(both, engine, options, begin):
    python, sql = both
    if engine != "DuckDB":
        return
    assert sql.run("ATTACH 'w.duckdb' AS w; CREATE TABLE w.t AS SELECT 5 AS a; DETACH w").ok
    assert sql.run(f"ATTACH 'w.duckdb' AS w{options}").ok
    assert rows(sql.run("SELECT a FROM w.t")) == [[5]]
    assert in_python(python, "SELECT a FROM w.t").text == "[[5]]"
    changed = python.run("hutch.sql('INSERT INTO w.t VALUES (6)')")
    assert changed.ok is not bool(options), changed.stderr
    assert rows(sql.run("SELECT count(*) FROM w.t")) == [[1 if options else 2]]
    assert ["w"] in rows(sql.run("SELECT DISTINCT database_name FROM duckdb_tables()"))
    assert sql.run("CREATE OR REPLACE VIEW over_w AS SELECT a FROM w.t; CREATE TABLE mine (w INTEGER)").ok
    assert rows(sql.run("SELECT max(a) FROM over_w")) == [[5 if options else 6]]
    assert rows(begin("sql").run("SELECT max(a) FROM over_w")) == [[5 if options else 6]]
    assert rows(sql.run("BEGIN; SELECT max(a) FROM w.t; COMMIT")) == [[5 if options else 6]]
    assert sql.run("DETACH w").ok and not in_python(python, "SELECT * FROM w.t").ok


def test_a_frame_with_the_name_of_a_table_elsewhere(both, engine):
    python, sql = both
    if engine == "SQLite":
        return  # a name without a database means any of them there
    assert python.run("import pandas as pd\nt = pd.DataFrame({'a': [7]})").ok
    assert sql.run("ATTACH 'shop.db' AS shop").ok
    assert rows(sql.run("SELECT sum(a) FROM shop.t")) == [[3]]
    assert rows(sql.run("SELECT a FROM t")) == [[7]]
    assert in_python(python, "SELECT x.a FROM t JOIN shop.t AS x ON x.a < t.a ORDER BY 1").text == "[[1], [2]]"
    assert in_python(python, "SELECT a FROM t").text == "[[7]]"
    assert python.run("other = pd.DataFrame({'a': [8]})").ok
    assert rows(sql.run("BEGIN; SELECT y.a FROM other AS y JOIN shop.t ON true LIMIT 1; COMMIT")) == [[8]]


def change(sql, statement):
    with sqlite3.connect(sql.cwd / "shop.db") as database:
        database.execute(statement)


def test_what_changes_the_file_is_seen(both):
    python, sql = both
    assert sql.run("ATTACH 'shop.db' AS shop; CREATE TABLE mine AS SELECT a FROM shop.t").ok
    assert not sql.run("INSERT INTO mine SELECT a FROM shop.t").done["holds_state"]
    for value in (10, 20, 30):
        before = rows(sql.run("SELECT sum(a) FROM shop.t"))[0][0]
        change(sql, f"INSERT INTO t VALUES ({value})")
        ending = sql.run("SELECT sum(a) FROM shop.t")
        assert rows(ending) == [[before + value]] and "note" not in ending.done, ending.done
        assert in_python(python, "SELECT sum(a) AS s FROM shop.t").text == f"[[{before + value}]]"


def test_what_changes_the_file_in_its_log_is_seen(both):
    _, sql = both
    with sqlite3.connect(sql.cwd / "shop.db") as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO t VALUES (3)")
        database.commit()
        assert sql.run("ATTACH 'shop.db' AS shop").ok and rows(sql.run("SELECT sum(a) FROM shop.t")) == [[6]]
        database.execute("INSERT INTO t VALUES (4)")
        database.commit()
        assert rows(sql.run("SELECT sum(a) FROM shop.t")) == [[10]]
    database.close()


@pytest.mark.parametrize("query", ["INSERT INTO shop.t VALUES (7)", "USE shop; INSERT INTO t VALUES (7)"])
def test_a_copy_that_was_changed_stays_and_is_told_of(both, engine, query):
    _, sql = both
    if engine != "DuckDB":
        return  # it changes the file itself
    assert sql.run("ATTACH 'shop.db' AS shop").ok and sql.run(query).ok
    change(sql, "INSERT INTO t VALUES (100)")
    ending = sql.run("SELECT sum(a) FROM shop.t")
    assert rows(ending) == [[10]] and ending.done["note"] == "shop is a copy of shop.db from before that changed"
    assert "note" not in sql.run("SELECT sum(a) FROM shop.t").done
    (sql.cwd / "shop.db").unlink()
    ending = sql.run("SELECT sum(a) FROM shop.t")
    assert rows(ending) == [[10]] and ending.done["note"] == "shop is a copy of shop.db from before that was removed"


def test_a_copy_goes_with_its_file(both, engine):
    _, sql = both
    if engine != "DuckDB":
        return
    assert sql.run("ATTACH 'shop.db' AS shop; CREATE VIEW v AS SELECT * FROM shop.t").ok and rows(sql.run("SELECT sum(a) FROM shop.t")) == [[3]]
    change(sql, "INSERT INTO t VALUES (4)")
    assert rows(sql.run("SELECT sum(a) FROM v")) == [[7]]
    (sql.cwd / "shop.db").unlink()
    for table in ("shop.t", "v"):
        ending = sql.run(f"SELECT sum(a) FROM {table}")
        assert not ending.ok and "shop.db, which is not there" in ending.stderr, ending.stderr
