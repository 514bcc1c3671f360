"""The SQL runner."""

import csv
import random
import sqlite3
import time
from pathlib import Path

import pytest

DATABASE = Path(__file__).resolve().parents[3] / "sandbox/runners/database"


def test_state_and_results(sql):
    assert sql.ready["language"] == "sql"
    ending = sql.run("CREATE TABLE t (a INT, b TEXT);\nINSERT INTO t VALUES (1, 'x;y'), (2, NULL);\nSELECT * FROM t;")
    assert ending.ok
    assert ending.outputs[0]["text"] == "CREATE TABLE: ok\nINSERT: 2 rows affected"
    assert ending.text == "a | b\n--+-----\n1 | x;y\n2 | NULL\n(2 rows)"
    assert ending.main["formats"] == ["text", "html", "json"]
    assert ending.main["json"] == {
        "columns": [{"name": "a", "type": "INTEGER"}, {"name": "b", "type": "TEXT"}],
        "rows": [[1, "x;y"], [2, None]], "row_count": 2, "truncated": False}
    assert sql.run("SELECT count(*) FROM t").main["json"]["rows"] == [[2]]


@pytest.mark.parametrize("value, text, whole", [
    ("0.1 + 0.2", "0.3", 0.1 + 0.2), ("1372.1399999999999", "1372.14", 1372.1399999999999), ("43.0", "43.0", 43.0), ("1e300 / 3", "3.33333333333333e+299", 1e300 / 3),
    ("-1.5e-9", "-1.5e-09", -1.5e-9), ("1e999", "inf", "inf"), ("123456789012345678", "123456789012345678", "123456789012345678"), ("100000000000000000.0", "1e+17", 1e17)])
def test_floats_have_the_digits_that_all_of_them_hold(sql, value, text, whole):
    ending = sql.run(f"SELECT {value} AS v")
    assert ending.text.splitlines()[2].strip() == text and ending.main["json"]["rows"] == [[whole]]


@pytest.mark.parametrize("rows, columns, footer", [(60, 2, "(60 rows)"), (60, 12, "(60 rows, the first 10 and the last 10 shown)"),
                                                   (200, 40, "(200 rows, the first 10 and the last 10 shown; not shown: "), (15, 40, "(15 rows; not shown: ")])
def test_a_table_is_never_cut_through_its_rows(sql, rows, columns, footer):
    cells = ", ".join(f"n * 1000 AS column_{i}" for i in range(columns))
    text = sql.run(f"WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < {rows}) SELECT {cells} FROM t").text
    assert text.splitlines()[-1].startswith(footer) and len(text) < 4000, text
    assert len(text.splitlines()) == (rows + 3 if "first" not in footer else 24)


def test_columns_that_are_not_shown_have_a_way(sql):
    cells = ", ".join(f"1000.5 AS column_name_{i}" for i in range(18))
    last = sql.run(f"SELECT {cells} UNION ALL SELECT {cells}").text.splitlines()[-1]
    assert last.startswith("(2 rows; not shown: column_name_") and last.endswith(" (name the columns you need))"), last


@pytest.mark.parametrize("query, shown", [
    ("SELECT {z} AS t, 1 AS id", "(1 row; cut: t (substr(t, 201) is the rest))"),
    ("SELECT {z} AS \"my text\", {z} AS u", "(1 row; cut: my text, u (substr(\"my text\", 201) is the rest))"),
    ("SELECT substr({z}, 1, 200) AS t", "(1 row)"), ("SELECT zeroblob(300) AS b", "(1 row)")])
def test_long_texts_have_a_way(sql, query, shown):
    assert sql.run(query.format(z="replace(hex(zeroblob(150)), '0', 'z')")).text.splitlines()[-1] == shown


def test_what_is_cut_and_its_rest_are_all_of_a_text(sql):
    sql.run("CREATE TABLE t AS SELECT replace(hex(zeroblob(80)), '00', 'a' || char(10)) || 'end' || replace(hex(zeroblob(80)), '0', 'b') AS x")
    first, rest = (sql.run(f"SELECT {one} AS x").text.splitlines()[2] for one in ("(SELECT x FROM t)", "substr((SELECT x FROM t), 201)"))
    assert (first.removesuffix("...") + rest).replace("\\n", "\n") == "a\n" * 80 + "end" + "b" * 160


def test_a_row_that_is_too_wide_has_a_line_for_each_value(sql):
    ending = sql.run("SELECT " + ", ".join(f"{i}000.5 AS column_name_{i}" for i in range(1, 17)))
    assert ending.text.splitlines() == [f"column_name_{i}: {i}000.5" for i in range(1, 17)] + ["(1 row)"]
    last = sql.run("SELECT " + ", ".join(f"{i} AS a_column_with_a_name_{i}" for i in range(400))).text.splitlines()[-1]
    assert last.startswith("(1 row; not shown: a_column_with_a_name_") and last.endswith("to a_column_with_a_name_399 (name the columns you need))"), last


def test_the_last_table_is_the_main_result(sql):
    ending = sql.run("SELECT 1; SELECT 2; CREATE TABLE t (a);")
    assert [o["is_main_result"] for o in ending.outputs] == [False, True, False]
    assert [o.get("json", {}).get("rows") for o in ending.outputs] == [[[1]], [[2]], None]


@pytest.mark.parametrize("code, rows", [
    ("SELECT 1", [[1]]),
    ("SELECT 'a;b' -- c;d\n;", [["a;b"]]),
    ("/* ; */ SELECT 1;;;", [[1]]),
    ("SELECT x'00ff'", [["x'00ff'"]]),
    ("SELECT 9223372036854775807", [["9223372036854775807"]]),
    ("SELECT 1e999, -1e999", [["inf", "-inf"]]),
    ("SELECT json_extract('{\"a\": 5}', '$.a')", [[5]]),
    ("CREATE TABLE t (a); CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET a = a + 1; END; "
     "INSERT INTO t VALUES (1); SELECT * FROM t", [[2]]),
    ("CREATE TABLE t (a); INSERT INTO t VALUES (7) RETURNING a", [[7]]),
    ("SELECT 1 WHERE 0", []),
    ("ATTACH ':memory:' AS m; CREATE TABLE m.t (a); SELECT count(*) FROM m.t", [[0]]),
    ("BEGIN; CREATE TABLE t (a); ROLLBACK; SELECT count(*) FROM sqlite_schema", [[0]]),
])
def test_statements(sql, code, rows):
    ending = sql.run(code)
    assert ending.ok, ending
    assert ending.main["json"]["rows"] == rows


@pytest.mark.parametrize("code", ["", "-- nothing", "/* nothing */ ;", "BEGIN; COMMIT"])
def test_nothing_to_show(sql, code):
    ending = sql.run(code)
    assert ending.ok and ending.outputs == []


def test_many_statements_make_one_output(sql):
    ending = sql.run("CREATE TABLE t (a);" + "INSERT INTO t VALUES (1);" * 500)
    assert ending.text == "CREATE TABLE: ok\nINSERT: 1 row affected (x500)"


@pytest.fixture
def statements(monkeypatch):
    monkeypatch.syspath_prepend(str(DATABASE))
    import statements
    return statements


PIECES = ["'", '"', "`", "[", "]", "--", "/*", "*/", "\n", "END", "end", "CREATE", "TEMP", "TRIGGER", "EXPLAIN", "x", "é", "$", "-", "/",
          "*", ";", ";", "; END ;", "CREATE TRIGGER t BEGIN "]


def test_statements_end_where_sqlite_says(statements):
    chance = random.Random(1)
    for _ in range(20_000):
        script = "".join(chance.choice(PIECES) + chance.choice(["", " "]) for _ in range(chance.randint(1, 25)))
        ends, start = [], 0
        for place in [i for i, character in enumerate(script, 1) if character == ";"]:
            if sqlite3.complete_statement(script[start:place]):
                ends.append(place)
                start = place
        assert list(statements._ends(script)) == ends + [len(script)] * (start < len(script)), script


def test_long_scripts_are_cut_at_once(statements):
    script = ("CREATE TRIGGER g AFTER INSERT ON t BEGIN\n" + "UPDATE t SET a = CASE WHEN 1 THEN ';' END + 1;\n" * 1000 + "END;\n"
              + "INSERT INTO t VALUES ('" + "a;b\n" * 50_000 + "');\n" + "SELECT 1;\n" * 50_000
              + "CREATE TRIGGER h BEGIN\n" + "DELETE FROM t;\n" * 20_000)
    began = time.monotonic()
    found = list(statements.split_statements(script))
    assert time.monotonic() - began < 5
    assert [one.text[:8] for one in found] == ["CREATE T", "INSERT I"] + ["SELECT 1"] * 50_000 + ["CREATE T"]
    assert [one.line for one in found[:4]] == [1, 1003, 51004, 51005] and found[-1].line == 101004


def test_long_scripts_are_cut_at_once_by_duckdb(start):
    sql = start("sql", extras=True)
    began = time.monotonic()
    ending = sql.run("SELECT\n1;\n" + "\n" * 2_000_000 + "SELECT nope;\n" + "SELECT 1;\n" * 20_000)
    assert "statement 2, line 2000003" in ending.error["message"] and time.monotonic() - began < 10


@pytest.mark.parametrize("code, parts", [
    ("SELECT 1;\n\n-- c\nSELECT * FROMM t;", ["statement 2, line 4", "SELECT * FROMM t", "syntax error"]),
    ("SELECT * FROM nowhere", ["no such table: nowhere"]),
    ("SELECT * FROM \"gone.csv\"", ["no such table: gone.csv", "no such file in"]),
    (".tables", ["sqlite3 shell", "sqlite_schema"]),
    ("SELECT 'unterminated", ["unrecognized token"]),
    ("-- all\nSHOW TABLES", ["(this is SQLite: tables are SELECT name FROM sqlite_schema"]),
    ("describe t", ["syntax error (this is SQLite: ", "columns PRAGMA table_info(t)", "\n    ^"]),
    ("SELECT 1, median(2)", ["no such function: median (this is SQLite: ", "\n              ^"]),
    ("SELECT * FROM read_csv_auto('x.csv')", ["no such table: read_csv_auto (this is SQLite: ", "a file is FROM 'file.csv'"]),
    ("SELECT * FROM information_schema.tables", ["(this is SQLite: ", "hutch environments build"]),
    ("copy (SELECT 1) to 'out.csv'", ["(this is SQLite: "]),
    ("SELECT * FROM nowhere", ["\n                  ^"]),
])
def test_errors(sql, code, parts):
    ending = sql.run(code)
    assert not ending.ok and ending.error["name"] == "sqlite3.OperationalError"
    for part in parts:
        assert part in ending.error["message"] + ending.stderr
    assert ending.stderr == ending.error["traceback"]
    assert sql.run("SELECT 5").main["json"]["rows"] == [[5]]


@pytest.mark.parametrize("code", [
    "SELECT * FROMM t", "SELECT 1 AS a DESC", "SELECT nothing", "INSERT INTO nowhere (a) VALUES (1)", "SELECT * FROM nowhere"])
def test_other_errors_have_no_hint(sql, code):
    assert "this is SQLite" not in sql.run(code).error["message"]


def test_the_hints_work(sql):
    assert sql.run("CREATE TABLE t (a); SELECT name FROM sqlite_schema").main["json"]["rows"] == [["t"]]
    assert sql.run("PRAGMA table_info(t)").main["json"]["rows"][0][1] == "a"
    (sql.cwd / "file.csv").write_text("a\n1\n")
    assert sql.run("SELECT * FROM 'file.csv'").main["json"]["rows"] == [[1]]


def test_results_before_an_error_are_kept(sql):
    ending = sql.run("SELECT 1; SELECT * FROM nowhere")
    assert not ending.ok and ending.outputs[0]["json"]["rows"] == [[1]]


@pytest.mark.parametrize("name, content, rows, types", [
    ("d.csv", "id,name,zip,v\n1,a,01234,1.5\n2,,99999,\n", [[1, "a", "01234", 1.5], [2, None, "99999", None]],
     ["INTEGER", "TEXT", "TEXT", "REAL"]),
    ("bom.csv", "\ufeffa,b\n1,2\n", [[1, 2]], ["INTEGER", "INTEGER"]),
    ("t.tsv", "a\tb\n1\tx y\n", [[1, "x y"]], ["INTEGER", "TEXT"]),
    ("semi.csv", "a;b\n1;2,5\n", [[1, "2,5"]], ["INTEGER", "TEXT"]),
    ("bar.csv", "a|b\nx, y|2\n", [["x, y", 2]], ["TEXT", "INTEGER"]),
    ("bool.csv", "a,b\ntrue,1\nFalse,true\n", [[1, "1"], [0, "true"]], ["INTEGER", "TEXT"]),
    ("quoted.csv", 'a,b\n"x, y","line\nbreak"\n', [["x, y", "line\nbreak"]], ["TEXT", "TEXT"]),
    ("big.csv", "a\n99999999999999999999999999\n", [["99999999999999999999999999"]], ["TEXT"]),
    ("na.csv", "i,r\n1,NaN\nNA,1.5\n", [["1", "NaN"], ["NA", "1.5"]], ["TEXT", "TEXT"]),
    ("spaces.csv", "id, v, name\n1, 1.5, x\n", [[1, 1.5, " x"]], ["INTEGER", "REAL", "TEXT"]),
    ("zeros.csv", "a\nNA\n007\n", [["NA"], ["007"]], ["TEXT"]),
    ("j.json", '[{"a": 1, "b": {"x": 2}}, {"a": 2, "c": true}]', [[1, '{"x": 2}', None], [2, None, 1]],
     ["INTEGER", "TEXT", "INTEGER"]),
    ("l.jsonl", '{"a": 1}\n\n{"a": 2}\n', [[1], [2]], ["INTEGER"]),
    ("n.ndjson", '{"a": "x"}\n', [["x"]], ["TEXT"]),
    ("sub dir/d.csv", "a\n1\n", [[1]], ["INTEGER"]),
    ("twice.csv", "a,A,\n1,2,3\n", [[1, 2, 3]], ["INTEGER", "INTEGER", "INTEGER"]),
])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_files_are_tables(sql, name, content, rows, types, quote):
    (sql.cwd / name).parent.mkdir(exist_ok=True)
    (sql.cwd / name).write_text(content)
    ending = sql.run(f"SELECT * FROM {quote}{name}{quote}")
    assert ending.ok, ending
    assert ending.main["json"]["rows"] == rows
    assert [c["type"] for c in ending.main["json"]["columns"]] == types
    assert sql.run(f"SELECT count(*) FROM {quote}{sql.cwd / name}{quote}").ok


def test_a_changed_file_is_read_again(sql):
    file = sql.cwd / "d.csv"
    file.write_text("a\n1\n")
    assert sql.run('SELECT sum(a) FROM "d.csv"').main["json"]["rows"] == [[1]]
    file.write_text("a\n1\n41\n")
    assert sql.run('SELECT sum(a) FROM "d.csv"').main["json"]["rows"] == [[42]]
    file.unlink()
    assert "no such table" in sql.run('SELECT sum(a) FROM "d.csv"').error["message"]


@pytest.mark.parametrize("change", [
    'UPDATE "d.csv" SET a = 2', 'DELETE FROM "d.csv"', 'INSERT INTO "d.csv" VALUES (2)'])
def test_a_file_that_is_to_be_changed_gets_a_hint_that_works(sql, change):
    (sql.cwd / "d.csv").write_text("a\n1\n")
    for _ in range(2):
        message = sql.run(change).error["message"]
        assert 'it is a file, which SQL can only read: CREATE TABLE t AS SELECT * FROM "d.csv" makes a table to change' in message
    ending = sql.run(f'CREATE TABLE t AS SELECT * FROM "d.csv"; {change.replace(chr(34) + "d.csv" + chr(34), "t")}')
    assert ending.ok and "1 row affected" in ending.text
    assert sql.run('SELECT a FROM "d.csv"').main["json"]["rows"] == [[1]]
    assert "a file" not in sql.run("CREATE TEMP VIEW own AS SELECT 1 a; DELETE FROM own").error["message"]


def test_a_file_is_a_table_but_for_changes(sql):
    (sql.cwd / "d.csv").write_text("a\n1\n1\n2\n")
    rows = lambda code: sql.run(code).main["json"]["rows"]
    assert rows('SELECT rowid, * FROM "d.csv"') == [[1, 1], [2, 1], [3, 2]]
    assert rows('SELECT a FROM "d.csv" WHERE rowid IN (SELECT min(rowid) FROM "d.csv" GROUP BY a)') == [[1], [2]]
    assert sql.run('CREATE INDEX temp.i ON "d.csv" (a); DROP TABLE IF EXISTS "d.csv"').ok
    assert rows('SELECT sum(a) FROM "d.csv"') == [[4]]
    assert sql.run('DROP TABLE IF EXISTS "d.csv"').ok and rows('SELECT count(*) FROM "d.csv"') == [[3]]
    (sql.cwd / "file d.csv").write_text("b\n5\n")
    for _ in range(2):
        assert rows('SELECT b, sum(a) FROM "file d.csv", "d.csv"') == [[5, 4]]
        (sql.cwd / "d.csv").write_text("a\n4\n")  # which drops the table
    assert rows("SELECT name, type FROM temp.sqlite_schema WHERE type != 'trigger'") == [["file d.csv", "table"]]


def test_a_file_whose_name_needs_care(sql):
    name = """it's a "d".csv"""
    (sql.cwd / name).write_text("a\n1\n")
    quoted = '"' + name.replace('"', '""') + '"'
    assert f"CREATE TABLE t AS SELECT * FROM {quoted} makes a table" in sql.run(f"DELETE FROM {quoted}").error["message"]
    (sql.cwd / name).write_text("a\n12\n")
    assert sql.run(f"SELECT a FROM {quoted}").main["json"]["rows"] == [[12]]


def test_triggers_of_the_users_own_say_what_they_say(sql):
    ending = sql.run("CREATE TABLE t (a); CREATE TRIGGER g BEFORE INSERT ON t BEGIN SELECT RAISE(ABORT, 'never'); END; "
                     "INSERT INTO t VALUES (1)")
    assert ending.error["message"].startswith("never (statement 3") and ending.error["name"] == "sqlite3.IntegrityError"


def test_the_columns_of_a_view_over_a_file_that_changed_or_went(sql):
    (sql.cwd / "d.csv").write_text("a\n1\n")
    assert sql.run('CREATE TEMP VIEW v AS SELECT * FROM "d.csv"').ok
    (sql.cwd / "d.csv").write_text("a,b\n1,2\n")
    assert [row[1] for row in sql.run("PRAGMA table_info(v)").main["json"]["rows"]] == ["a", "b"]
    (sql.cwd / "d.csv").unlink()
    assert "no such table" in sql.run("PRAGMA table_info(v)").error["message"]
    assert sql.run("SELECT 1").ok


def test_a_view_over_a_file_gets_a_hint_that_works(sql):
    (sql.cwd / "d.csv").write_text("a\n1\n")
    assert sql.run('CREATE VIEW v AS SELECT * FROM "d.csv"').ok
    for _ in range(2):
        message = sql.run("SELECT * FROM v").error["message"]
        assert 'views and triggers of the database see no files: CREATE TABLE t AS SELECT * FROM "d.csv" makes a table' in message
    assert sql.run('CREATE TEMP VIEW w AS SELECT * FROM "d.csv"').ok
    for content, rows in (("a\n1\n", [[1]]), ("a\n22\n", [[22]])):
        (sql.cwd / "d.csv").write_text(content)
        assert sql.run("SELECT * FROM w").main["json"]["rows"] == rows


@pytest.mark.parametrize("ask", [
    'PRAGMA table_info("d.csv")', "pragma table_xinfo('d.csv')", "PRAGMA table_info(`d.csv`);",
    "SELECT * FROM pragma_table_info('d.csv')"])
def test_the_columns_of_a_file_can_be_asked_for_first(sql, ask):
    (sql.cwd / "d.csv").write_text("a,b\n1,x\n")
    assert [row[1:3] for row in sql.run(ask).main["json"]["rows"]] == [["a", "INTEGER"], ["b", "TEXT"]]
    assert sql.run("PRAGMA table_info(nowhere)").main["json"]["rows"] == []


def test_a_file_in_a_transaction_that_is_rolled_back(sql):
    (sql.cwd / "d.csv").write_text("a\n1\n")
    for _ in range(2):
        assert sql.run('BEGIN; SELECT a FROM "d.csv"; ROLLBACK').main["json"]["rows"] == [[1]]
        assert sql.run('SELECT a FROM "d.csv"').main["json"]["rows"] == [[1]]
    assert sql.run('DROP TABLE "d.csv"; CREATE TEMP TABLE "d.csv" (mine)').ok
    (sql.cwd / "d.csv").write_text("a\n1\n2\n")
    assert sql.run('SELECT mine FROM "d.csv"').main["json"]["rows"] == []


def test_files_join_with_tables(sql):
    (sql.cwd / "a.csv").write_text("id,x\n1,10\n")
    (sql.cwd / "b.json").write_text('[{"id": 1, "y": 20}]')
    ending = sql.run('CREATE TABLE t (id, z); INSERT INTO t VALUES (1, 30);\n'
                     'SELECT x + y + z FROM "a.csv" JOIN "b.json" USING (id) JOIN t USING (id)')
    assert ending.main["json"]["rows"] == [[60]]


@pytest.mark.parametrize("name, content, part", [
    ("ragged.csv", "a,b\n1,2\n3\n", "ragged.csv, line 3: 1 fields, but the header has 2"),
    ("empty.csv", "", "is empty"),
    ("open.csv", 'a,b\n1,2\n3,"open\n4,5\n', "open.csv, after line 2: unexpected end of data; is a quote not closed there?"),
    ("bad.json", "{", "not JSON"),
    ("lines.json", '{"a": 1}\n{"a": 2}\n', "one object a line is read from a .jsonl"),
    ("list.json", "[1, 2]", "a list of objects"),
    ("bad.jsonl", '{"a": 1}\nnope\n', "bad.jsonl, line 2"),
    ("p.parquet", "PAR1", "CSV"),
])
def test_files_that_are_no_tables(sql, name, content, part):
    (sql.cwd / name).write_text(content)
    ending = sql.run(f'SELECT * FROM "{name}"')
    assert not ending.ok and part in ending.error["message"]


def test_an_unquoted_file_name_gets_a_hint(sql):
    (sql.cwd / "d.csv").write_text("a\n1\n")
    for _ in range(2):
        assert 'double quotes: "d.csv"' in sql.run("SELECT * FROM d.csv").error["message"]


def test_long_results_go_to_a_file(sql):
    ending = sql.run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) SELECT i FROM n")
    data = ending.main["json"]
    assert data["truncated"] and data["row_count"] == 3000 and len(data["rows"]) == 1000
    rows = list(csv.reader(ending.parts[-1]["csv"].decode().splitlines()))
    assert "the CSV file has all" in ending.text and "csv" in ending.main["formats"]
    assert not list((sql.home / "state" / "results").iterdir())
    assert rows[0] == ["i"] and len(rows) == 3001 and rows[-1] == ["3000"]


def test_interrupt_keeps_data(sql):
    sql.run("CREATE TABLE t (a); INSERT INTO t VALUES (1); CREATE TEMP TABLE u (b);")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    for code in (f"{endless} SELECT count(*) FROM n", f"{endless} SELECT i FROM n WHERE i < 0",
                 f"INSERT INTO t {endless} SELECT i FROM n"):
        for wait in (lambda: None, sql.wait_until_busy):  # right behind the run, and in its midst
            sql.start(code)
            wait()
            sql.interrupt()
            ending = sql.finish()
            assert ending.done["interrupted"] and not ending.ok
    assert sql.run("SELECT count(*) FROM t JOIN (SELECT count(*) FROM u)").main["json"]["rows"] == [[1]]


def test_interrupt_right_behind_the_run(sql):
    for _ in range(100):  # each also right behind the end of the one before
        sql.start("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
        sql.interrupt()
        assert sql.finish().done["interrupted"]


def test_interrupt_says_what_happened_to_a_transaction(sql):
    sql.run("CREATE TABLE t (a); BEGIN; INSERT INTO t VALUES (1)")
    sql.start("INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n")
    sql.wait_until_busy()
    sql.interrupt()
    assert "rolled back" in sql.finish().done["note"]


def test_a_failed_script_says_what_transaction_it_leaves_open(sql):
    for code in ("BEGIN; CREATE TABLE t (a); SELECT nothing", "SELECT nothing"):
        assert "a transaction is still open: COMMIT or ROLLBACK it" in sql.run(code).done["note"]
    assert "note" not in sql.run("SELECT 1; ROLLBACK").done
    assert "note" not in sql.run("SELECT nothing").done


def test_database_outlives_the_runner(start, sql):
    sql.run("CREATE TABLE t (a); INSERT INTO t VALUES (5); CREATE TEMP TABLE gone (a)")
    again = start("sql")
    assert again.run("SELECT a FROM t").main["json"]["rows"] == [[5]]
    assert "no such table" in again.run("SELECT * FROM gone").error["message"]


def test_garbage_ends_the_runner(start):
    client = start("sql")
    client.send_bytes(b"\xff" * 64)
    assert client.wait_for_end() == 1


@pytest.mark.parametrize("count, more", [(999_999, False), (1_000_000, False), (1_000_001, True), (1_000_600, True)])
def test_there_are_more_rows_only_where_there_are(sql, count, more):
    text = sql.run(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) SELECT i FROM n").text
    shown = min(count, 1_000_000)
    how = "20 shown; there are more: the CSV file has the first 1000000" if more else "the first 10 and the last 10 shown; the CSV file has all"
    assert text.splitlines()[-1] == f"({shown} rows, {how})"


def test_a_long_message_is_that_of_the_traceback(sql):
    error = sql.run(f"SELECT {'a' * 9000}").error
    assert " (statement 1, line 1: SELECT aaa" in error["message"] and len(error["message"]) < 4500
    assert error["traceback"].startswith(f"{error['name']}: {error['message'].partition(' (statement ')[0]}\n")
