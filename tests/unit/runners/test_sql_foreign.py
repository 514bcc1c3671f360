"""Tests what DuckDB has no reader for here: workbooks, databases of SQLite, tables of polars and Arrow."""

import re
import sqlite3

import pytest


@pytest.fixture(scope="module", params=[0])
def engine(request):
    return "DuckDB"


@pytest.fixture(scope="module")
def both(engine_start):
    return engine_start("python", extras=True), engine_start("sql", extras=True)


def rows(sql, query):
    ending = sql.run(query)
    assert ending.ok, ending.stderr
    return [output["json"]["rows"] for output in ending.outputs if "json" in output]


def test_tables_of_polars_and_arrow_by_name(both):
    python, sql = both
    assert python.run("import polars as pl, pyarrow as pa\np = pl.DataFrame({'a': [1, None]})\nt = pa.table({'k': ['x']})\n"
                      "b = pa.RecordBatch.from_pydict({'k': [2]})").ok
    assert rows(sql, "SELECT * FROM p; SELECT * FROM t; SELECT * FROM b") == [[[1], [None]], [["x"]], [[2]]]
    assert python.run("import hutch\nhutch.sql('SELECT count(*) AS n FROM p')['n'][0]").main["text"] in ("2", "np.int64(2)")
    assert "those there are: p, t" in sql.run("SELECT * FROM nosuch").stderr


def test_a_frame_of_polars_whose_threads_have_run(start):
    python, sql = start("python", extras=True), start("sql", extras=True)
    assert python.run("import polars as pl\np = pl.DataFrame({'a': [1, 2, 2], 'b': ['x', None, 'y']}).group_by('a', maintain_order=True).agg(pl.col('b').last())").ok
    assert rows(sql, "SELECT a, b FROM p; BEGIN; SELECT a, b FROM p; COMMIT") == [[[1, "x"], [2, "y"]]] * 2


def test_what_arrow_has_no_type_for_comes_all_the_same(both):
    python, sql = both
    assert python.run("import pandas as pd, decimal\nd = pd.DataFrame({'m': [1, 'two'], 'c': pd.Categorical(['u', None]),"
                      " 'd': [decimal.Decimal('1.5'), None], 'p': pd.period_range('2024-01', periods=2, freq='M')})").ok
    assert rows(sql, "SELECT m, c, CAST(d AS DOUBLE) FROM d") == [[["1", "u", 1.5], ["two", None, None]]]


def test_a_workbook_is_a_table(both):
    python, sql = both
    assert python.run("import pandas as pd\nwith pd.ExcelWriter('b.xlsx') as book:\n"
                      "    pd.DataFrame({'x': [1, 2]}).to_excel(book, sheet_name='One', index=False)\n"
                      "    pd.DataFrame({'y': ['a']}).to_excel(book, sheet_name='Two', index=False)").ok
    assert rows(sql, "SELECT sum(x) FROM 'b.xlsx'; SELECT * FROM 'b.xlsx#Two'") == [[[3]], [["a"]]]
    assert "b.xlsx: Worksheet named 'Three' not found; its sheets are: One, Two" in sql.run("SELECT * FROM 'b.xlsx#Three'").stderr
    assert rows(sql, "SELECT y FROM 'b.xlsx' one JOIN 'b.xlsx#Two' two ON true WHERE x = 1; SELECT count(*) FROM 'b.xlsx' JOIN (SELECT 2 AS x) o USING (x)") == [[["a"]], [[1]]]
    assert python.run("d = pd.DataFrame({'x': [2]})").ok and rows(sql, "SELECT count(*) FROM d JOIN 'b.xlsx' USING (x)") == [[[1]]]
    assert python.run("pd.DataFrame({'zip': ['02134', 'NA', None], 'n': [1, 2.5, 3], 'w': pd.to_datetime(['2024-01-01', None, None])}).to_excel('t.xlsx', index=False)\n"
                      "pd.DataFrame().to_excel('e.xlsx', index=False)").ok
    assert rows(sql, "SELECT zip, n + 1, year(w) FROM 't.xlsx'") == [[["02134", 2.0, 2024], ["NA", 3.5, None], [None, 4.0, None]]]
    assert "e.xlsx: the sheet that comes first is empty" in sql.run("SELECT * FROM 'e.xlsx'").stderr
    assert python.run("pd.DataFrame({'x': [10]}).to_excel('b.xlsx', index=False)").ok
    assert rows(sql, "SELECT sum(x) FROM 'b.xlsx'") == [[[10]]]  # as it is now


BOOKS = """import openpyxl
for name, sheets in (('report.xlsx', ['Sales 2024', 'Lookup', "An's"]), ('single.xlsx', ['Only']), ('veiled.xlsx', ['Old', 'Now', 'Keys'])):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, sheet in enumerate(sheets):
        page = book.create_sheet(sheet)
        page.append(['x'])
        page.append([number])
        if sheet in ('Old', 'Keys'):
            page.sheet_state = 'hidden'
    book.active = 1 if len(sheets) > 1 else 0
    book.save(name)
"""


def test_several_sheets_are_told_of_once(both):
    python, sql = both
    assert python.run(BOOKS).ok
    for name, note in (("report.xlsx", "report.xlsx: 3 sheets, this is 'Sales 2024'; FROM 'report.xlsx#Lookup' is another"),
                       ("veiled.xlsx", "veiled.xlsx: 3 sheets, this is 'Old' (hidden); FROM 'veiled.xlsx#Now' is another; hidden: Old, Keys"),
                       ("single.xlsx", None), ("report.xlsx", None), ("veiled.xlsx#Keys", None)):
        ending = sql.run(f"SELECT x FROM '{name}'")
        assert ending.ok and ending.done.get("note") == note, ending.done
    assert rows(sql, "SELECT x FROM 'report.xlsx#An''s'") == [[[2]]]


@pytest.mark.parametrize("code, way", [
    ("FROM read_xlsx('report.xlsx')", "FROM 'report.xlsx'; its sheets: 'report.xlsx#Sales 2024', 'report.xlsx#Lookup', 'report.xlsx#An''s')"),
    ("FROM read_xlsx('report.xlsx', sheet = 'Lookup')", "FROM 'report.xlsx#Lookup')"), ("FROM st_read('report.xlsx', layer='An''s')", "FROM 'report.xlsx#An''s')"),
    ("FROM read_xlsx('single.xlsx')", "FROM 'single.xlsx')"), ("FROM read_xlsx('nosuch.xlsx')", "FROM 'book.xlsx', or 'book.xlsx#Sheet')"),
    ("LOAD excel", "FROM 'book.xlsx', or 'book.xlsx#Sheet')")])
def test_workbooks_need_no_extension(both, code, way):
    python, sql = both
    assert python.run(BOOKS).ok
    said = sql.run(code).stderr
    assert said.endswith(f"(workbooks are read without it: {way}\n"), said


def test_a_database_of_sqlite_is_attached(both):
    python, sql = both
    with sqlite3.connect(python.cwd / "app.db") as database:
        database.execute("CREATE TABLE users (id INTEGER, name TEXT, mixed)")
        database.executemany("INSERT INTO users VALUES (?, ?, ?)", [(1, "a", 1), (None, "b", "two")])
        database.execute("CREATE TABLE none_yet (id INTEGER)")
    ending = sql.run("ATTACH 'app.db' AS app (TYPE sqlite)")
    assert ending.ok and "what is changed there does not reach the file" in ending.done["note"]
    assert rows(sql, "SELECT id, name, mixed FROM app.users; SELECT count(*) FROM app.none_yet") == [
        [[1, "a", "1"], [None, "b", "two"]], [[0]]]
    (python.cwd / "other.db").write_text("no database at all")
    assert not sql.run("ATTACH 'other.db'").ok


def test_columns_of_sqlite_have_the_types_they_are_declared_with(both):
    python, sql = both
    with sqlite3.connect(python.cwd / "typed.db") as database:
        database.execute("CREATE TABLE o (id INTEGER PRIMARY KEY, at DATETIME, day DATE, ok BOOLEAN, amount DECIMAL(10, 2), odd DATE, late DATE)")
        database.executemany("INSERT INTO o (at, day, ok, amount, odd, late) VALUES (?, ?, ?, ?, ?, ?)",
                             [("2024-01-02 03:04:05", "2024-01-02", 1, 2, "soon", "2024-01-02 10:00:00"), (None, None, 0, 2.5, None, None)])
        database.execute("CREATE TABLE none_yet (id INTEGER, name TEXT, price REAL, at DATE)")
    assert sql.run("ATTACH 'typed.db'").ok
    assert rows(sql, "SELECT column_name, data_type FROM information_schema.columns WHERE table_catalog = 'typed' ORDER BY table_name, ordinal_position")[0] == [
        ["id", "BIGINT"], ["name", "VARCHAR"], ["price", "DOUBLE"], ["at", "DATE"], ["id", "BIGINT"], ["at", "TIMESTAMP"], ["day", "DATE"],
        ["ok", "BOOLEAN"], ["amount", "DOUBLE"], ["odd", "VARCHAR"], ["late", "VARCHAR"]]
    assert rows(sql, "INSERT INTO typed.none_yet VALUES (1, 'a', 2.5, '2024-01-01'); "
                     "SELECT sum(amount), count(*) FILTER (WHERE ok), max(\"at\") > DATE '2024-01-01' FROM typed.o") == [[[4.5, 1, True]]]


@pytest.mark.parametrize("change, expected", [
    ("INSERT INTO t SELECT * FROM df", [[1], [1], [2], [2]]), ("UPDATE t SET a = t.a + 10 FROM df WHERE df.a = t.a AND df.a = 2", [[1], [12]]),
    ("DELETE FROM t USING df WHERE t.a = df.a AND df.a = 1", [[2]]), ("DELETE FROM t WHERE a = 2", [[1]]), ("UPDATE t SET a = a + 1", [[2], [3]]),
    ("MERGE INTO t USING df ON t.a = df.a WHEN MATCHED THEN DELETE", []), ("INSERT INTO t WITH n AS (SELECT 7 AS a) SELECT a FROM n", [[1], [2], [7]]),
    ("CREATE TABLE u AS SELECT * FROM df; DROP TABLE u", [[1], [2]]),
])
def test_changes_in_a_transaction_see_dataframes(both, change, expected):
    python, sql = both
    assert python.run("import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})").ok
    assert sql.run("CREATE OR REPLACE TABLE t AS SELECT * FROM df").ok
    assert rows(sql, f"BEGIN; {change}; SELECT a FROM t ORDER BY a; ROLLBACK; SELECT count(*) FROM t") == [expected, [[2]]]


@pytest.mark.parametrize("name", ["'box.sqlite'", '"box.sqlite"', "box.sqlite", "'box.sqlite3'", "'box.dat'"])
def test_whatever_a_database_of_sqlite_is_called_the_advice_holds(both, name):
    sql = both[1]
    database = sqlite3.connect(sql.cwd / name.strip("'\""))
    database.execute("CREATE TABLE IF NOT EXISTS \"my orders\" AS SELECT 7 AS id")
    database.commit()
    database.close()
    said = sql.run(f"SELECT * FROM {name}").stderr
    attach, query = re.search(r"read without it: (ATTACH .+ AS other), then SELECT \.\.\. (FROM other\..+)\)\n$", said).groups()
    assert rows(sql, f"{attach}; SELECT id {query}; DETACH other") == [[[7]]]
    assert "ATTACH" not in sql.run("SELECT * FROM 'nosuch.sqlite'").stderr


def test_a_database_of_sqlite_says_how_it_is_attached(both):
    sql = both[1]
    database = sqlite3.connect(sql.cwd / "shop.db")
    database.execute("CREATE TABLE orders (id INTEGER)")
    database.commit()
    database.close()
    for name in ("'shop.db'", '"shop.db"'):
        said = sql.run(f"SELECT * FROM {name}").stderr
        assert "ATTACH 'shop.db' AS other" in said and said.endswith("FROM other.orders)\n")
    assert "ATTACH 'shop.db' AS other" in sql.run("SELECT * FROM sqlite_scan('shop.db', 'orders')").stderr
    assert "ATTACH 'FILE' AS other" in sql.run("INSTALL sqlite").stderr


def test_formulas_without_values_are_told_of(both, engine_start):
    python, sql = both
    assert python.run("import openpyxl, xlsxwriter\nbook = openpyxl.Workbook()\nfor name in ('One', 'A&B'):\n    sheet = book.create_sheet(name)\n"
                      "    for row in (['k', 'a'], ['x', 3], ['sum', '=SUM(B2:B2)']): sheet.append(row)\nbook.create_sheet('Plain').append(['k'])\nbook['Plain'].append([None])\n"
                      "book['Plain'].append(['v'])\ndel book['Sheet']\nbook.save('f.xlsx')\n"
                      "for name, value in (('zero', 0), ('three', 3)):\n    book = xlsxwriter.Workbook(f'{name}.xlsx'); sheet = book.add_worksheet()\n"
                      "    sheet.write_row(0, 0, ['k', 'a', 'e']); sheet.write(1, 0, 'x'); sheet.write_formula(1, 1, '=1+2', None, value); book.close()").ok
    one = "1 formula has no value until a spreadsheet program computes it"
    assert sql.run("SELECT sum(a) FROM 'f.xlsx'").done["note"].endswith(f"; f.xlsx: {one}: NULL or 0 here")
    assert "formula" not in sql.run("SELECT sum(a) FROM 'f.xlsx'").done.get("note", "")
    assert "note" not in sql.run("FROM 'f.xlsx#Plain'").done and "note" not in sql.run("FROM 'three.xlsx'").done
    assert sql.run("FROM 'zero.xlsx'").done["note"] == f"zero.xlsx: {one}: NULL or 0 here"
    assert python.run("import zipfile\nwith zipfile.ZipFile('three.xlsx') as old, zipfile.ZipFile('empty.xlsx', 'w') as new:\n    for name in old.namelist():\n"
                      "        new.writestr(name, old.read(name).replace(b'<c r=\"B2\"><f>1+2</f><v>3</v>', b'<c r=\"B2\" t=\"str\"><f>1+2</f><v></v>'))\nassert b't=\"str\"' in zipfile.ZipFile('empty.xlsx').read('xl/worksheets/sheet1.xml')").ok
    assert "note" not in sql.run("FROM 'empty.xlsx'").done, "its value is an empty text"
    ending = engine_start("python", extras=True, copied=False).run("hutch.sql(\"FROM 'f.xlsx#A&B'\")")
    assert f"f.xlsx#A&B: {one}: NULL or 0 here" in ending.stderr and "note" not in ending.done, ending
