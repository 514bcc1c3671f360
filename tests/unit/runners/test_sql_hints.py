"""Tests what DuckDB's runner says to those who write the SQL of another database."""

import gzip
import re

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


WESTERN = "encoding='cp1252', or cp1250 (Central Europe) or cp1254 (Turkish) where letters look wrong"
RUSSIAN = "Дата;Имя\nМосква;Петров\n".encode("cp1251")
FILES = {"sj.csv": "品名,値\nテスト,1\n".encode("shift_jis"), "ru.csv": RUSSIAN, "late.csv": b"a;b\n" + b"x;1\n" * 300_000 + RUSSIAN, "ru.csv.gz": gzip.compress(RUSSIAN),
         "old.csv": "Größe;€\n1;2\n".encode("cp1252"), "pl.csv": "imię;miasto\nŁukasz;Łódź\nAgnieszka;Gdańsk\n".encode("cp1250")}


@pytest.mark.parametrize("name", ["t.docx", "t.PDF"])
def test_documents_are_read_by_python(duck, name):
    (duck.cwd / name).write_bytes(b"PK\3\4")
    for quote in "'\"":
        said = duck.run(f"SELECT * FROM {quote}{name}{quote}").stderr
        assert f'the file "{name}": SQL does not read it; read_file of it names the two lines of Python that do\n' in said and "read_csv" not in said, said
    (duck.cwd / "t.log").write_text("a\n")
    assert "such as read_csv" in duck.run("SELECT * FROM 't.log'").stderr


@pytest.mark.parametrize("name", ["attr", "lst"])
def test_tables_of_duckdbs_own_are_not_what_was_meant(duck, name):
    said = duck.run(f"SELECT *\nFROM {name}").stderr
    assert "Did you mean" not in said and f"LINE 2: FROM {name}" in said, said


def test_tables_of_the_users_may_be_what_was_meant(duck):
    assert duck.run("CREATE OR REPLACE TABLE duckdb_like AS SELECT 1 AS a; CREATE OR REPLACE TABLE people AS SELECT 1 AS a").ok
    assert 'Did you mean "people"?' in duck.run("SELECT * FROM peopl").stderr


@pytest.mark.parametrize("text, options", [
    ("Name;Größe;x\nÄ;1,5;a\nB;2,25;b\n", ", sep=';', decimal=','"), ("Name;Größe\nÄ;1.200,50\nB;2,25\n", ", sep=';', decimal=',', thousands='.'"),
    ("Name\tGröße\nÄ\t15\n", ", sep='\\t'"), ("Name,Größe;n\n\"Ä\",\"1,5\"\n", ""), ("Name;Größe\nÄ;1,5\nB;2.25\n", ", sep=';'")])
def test_the_way_of_pandas_to_decode_has_what_separates(duck, text, options):
    (duck.cwd / "de.csv").write_bytes(text.encode("cp1252"))
    for query in ('SELECT * FROM "de.csv"', "SELECT * FROM read_csv('de.csv')"):
        assert f"df = pd.read_csv('de.csv', encoding='cp1252'{options}) in Python" in duck.run(query).stderr


WHOLE = "Datum;Zeit;Betrag;PLZ;IP;Version;Leer;Ort\n01.02.2024;12.30;1.234,56;01067;10.0.0.1;1.10;;Köln\n"


@pytest.mark.parametrize("text, kept", [
    ("Datum;Kunde;Betrag\n01.02.2024;Müller;1.234,56\n", {"Datum": "01.02.2024", "Betrag": 1234.56}), ("Name,PLZ\nMüller,01067\n", {"PLZ": "01067"}),
    (WHOLE, {"Datum": "01.02.2024", "Zeit": "12.30", "Betrag": 1234.56, "PLZ": "01067", "IP": "10.0.0.1", "Version": "1.10"}),
    ("Ä;lat;\"a;b\"\n1.200,5;52.5;01\nn/a;48.1;02\n", {"Ä": 1200.5, "lat": "52.5", "a;b": "01"}), ("Telefon\tÄ\n+4930123\t1\n", {"Telefon": "+4930123", "Ä": 1}),
    ("Ä;" + ";".join(f"datum{i}" for i in range(20)) + "\n1.200,5;" + ";".join(["01.02.2024"] * 20) + "\n", {"Ä": "1.200,5", "datum7": "01.02.2024"})])
def test_the_way_of_pandas_makes_numbers_of_numbers_alone(duck, extras, text, kept):
    (duck.cwd / "kept.csv").write_bytes(text.encode("cp1252"))
    (extras.cwd / "kept.csv").write_bytes(text.encode("cp1252"))
    way = re.search(r"or (df = pd\.read_csv\(.*\)) in Python", duck.run("SELECT * FROM 'kept.csv'").stderr)[1]
    ending = extras.run(f"import pandas as pd\n{way}\nassert df.iloc[0][{list(kept)}].to_dict() == {kept}, df.iloc[0]")
    assert ending.ok and len(way) < 300, (way, ending.stderr)


@pytest.mark.parametrize("query", ["SELECT Betrag FROM 'whole.csv'", "SELECT sum(Betrag) FROM 'whole.csv'", "SELECT sum(Betrag) FROM read_csv('whole.csv', delim=';')"])
def test_the_way_of_sql_makes_a_number_of_its_column_alone(duck, query):
    (duck.cwd / "whole.csv").write_text(WHOLE)
    ending = duck.run(query)
    [way] = re.findall(r"Betrag is text.*: (CAST\(.* AS DOUBLE\)) is the number", ending.done.get("note", ending.stderr))
    assert duck.run(f"SELECT {way}, Datum, IP, PLZ FROM 'whole.csv'").main["json"]["rows"] == [[1234.56, "2024-02-01", "10.0.0.1", "01067"]]


@pytest.mark.parametrize("name, words, encoding", [
    ("sj.csv", "encoding='shift_jis', or gb18030", "shift_jis"), ("ru.csv", "encoding='cp1251', or koi8_r:", "cp1251"),
    ("late.csv", "encoding='cp1251', or koi8_r:", "cp1251"), ("ru.csv.gz", "encoding='cp1251', or koi8_r:", "cp1251"),
    ("old.csv", WESTERN, "cp1252"), ("pl.csv", WESTERN, "cp1252")])
def test_a_file_that_is_no_utf8_has_a_way_that_loses_no_rows(duck, name, words, encoding):
    (duck.cwd / name).write_bytes(FILES[name])
    ending = duck.run(f"SELECT * FROM '{name}'")
    last = ending.stderr.splitlines()[-1]
    assert last.startswith(f"({name} looks like {words}") and f"df = pd.read_csv('{name}', encoding='{encoding}'" in last, last
    assert last.endswith("ignore_errors leaves rows out)"), last
    assert len(ending.stderr.splitlines()) <= 8 and f"  file = {name}\n" in ending.stderr and "UTF-16" not in ending.stderr, ending.stderr


@pytest.mark.parametrize("code, name", [("SELECT * FROM 'old.json'", "old.json"), ("SELECT * FROM read_text('old.txt')", "old.txt")])
def test_other_files_that_are_no_utf8(duck, code, name):
    (duck.cwd / name).write_bytes('[{"a": "Müller"}]'.encode("cp1252"))
    last = duck.run(code).stderr.splitlines()[-1]
    assert last.startswith(f"({name} looks like encoding='cp1252', or cp1250 (Central Europe)") and f"open('{name}', encoding='cp1252').read()" in last, last


@pytest.mark.parametrize("code, kept", [
    ("SELECT * FROM read_csv('bad.csv', delim=',', auto_detect=false, columns={'a': 'INT', 'b': 'INT'})", ["file = bad.csv", "delimiter = , (Set By User)"]),
    ("SELECT * FROM read_csv('bad.csv', header=true, delim=',', auto_detect=false, columns={'a': 'INT'})", ["file = bad.csv", "header = true (Set By User)"])])
def test_of_what_duckdb_lists_of_a_file_stays_what_helps(duck, code, kept):
    (duck.cwd / "bad.csv").write_bytes(b"a,b\n1,2\nx,3\n1,2,3\n")
    said = duck.run(code).stderr
    assert all(f"  {line}" in said for line in kept) and "sample_size = " not in said and "null_padding = " not in said, said


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


@pytest.fixture(scope="module")
def german(duck):
    (duck.cwd / "bom.csv").write_text("\ufeffName;Wert;Mit Punkt\nA;1,5;1.234,50\nB;2,5;3,0\n")
    (duck.cwd / "english.csv").write_text('Name;Price\nA;1,234\nB;"2,500,000.50"\n')
    (duck.cwd / "text.csv").write_text("Name;Note\nA;well, so\nB;1,5\n")
    assert duck.run("CREATE TABLE german AS FROM 'bom.csv'; CREATE VIEW seen AS FROM german;"
                    "CREATE TABLE holes AS SELECT unnest(['1,5', '7', '2.000,25', 'n/a', NULL]) AS x; CREATE TABLE words AS SELECT unnest(['1,5', 'a', 'b']) AS x").ok
    return duck


def test_few_of_the_functions_that_were_not_meant(german):
    ending = german.run('SELECT Name, Wert+1 FROM "bom.csv"')
    assert len(ending.stderr) < 800 and ending.stderr.count("->") == 3 and "\tand 42 more\n\nLINE 1: " in ending.stderr, ending.stderr
    assert ending.stderr.startswith(f"{ending.error['name']}: {ending.error['message'].partition(' (statement ')[0]}\n")


@pytest.mark.parametrize("code, kept, count", [
    ("SELECT DATE '2024-01-01' + x::VARCHAR FROM s", '"left" DATE, "right" INTERVAL', 3), ("SELECT round('a'::VARCHAR, 1)", '"precision" INTEGER', 3),
    ("SELECT length(1, 2, 3)", "length(list ANY[])", 3), ("SELECT date_trunc(5, 5)", "DATE", 4), ("SELECT 1 WHERE 1 > 'a' + 1", "DATE", 2)])
def test_candidates_are_those_most_like_the_call(duck, code, kept, count):
    said = duck.run(code).stderr
    assert kept in said and said.count(") ->") == count, said


@pytest.mark.parametrize("code, way", [
    ("SELECT Wert+1 FROM 'bom.csv'", "(Wert is text, with decimal commas: CAST(replace(replace(Wert, '.', ''), ',', '.') AS DOUBLE) is the number)"),
    ("SELECT sum(\"Mit Punkt\") FROM read_csv('bom.csv', delim=';')", "(\"Mit Punkt\" is text, with decimal commas: CAST(replace(replace(\"Mit Punkt\", "),
    ("SELECT CAST(Wert AS DOUBLE) FROM 'bom.csv'", "(Wert is text, with decimal commas: CAST("),
    ("SELECT * FROM 'bom.csv' WHERE Wert > 2", "(Wert is text, with decimal commas: CAST("),
    ("SELECT abs(Wert) FROM german", "(Wert is text, with decimal commas: CAST(replace(replace(Wert, '.', ''), ',', '.') AS DOUBLE) is the number)"),
    ("WITH g AS (FROM 'bom.csv') SELECT avg(Wert) FROM g", "(Wert is text, with decimal commas: CAST("),
    ("SELECT sum(Price) FROM 'english.csv'", "(Price is text, with commas between thousands: CAST(replace(Price, ',', '') AS DOUBLE) is the number)"),
    ("SELECT sum(x) FROM holes", "(x is text, with decimal commas: CAST("), ("SELECT sum(x) FROM words", None), ("SELECT sum(Wert) FROM seen", None),
    ("SELECT sum(Note) FROM 'text.csv'", None), ("SELECT sum(t) FROM s", None), ("SELECT sum(Name) FROM 'nosuch.csv'", None)])
def test_numbers_with_commas_that_are_text(german, code, way):
    last = german.run(code).stderr.splitlines()[-1]
    assert last.startswith(way) if way else " is text, with " not in last, last


def test_values_that_python_has_no_objects_for_end_nothing(duck):
    assert duck.run("CREATE TEMP TABLE far AS SELECT '1,5' AS x, INTERVAL 2000000000 MONTH AS long").ok
    failed = duck.run("SELECT sum(x) FROM far")
    assert not failed.ok and "sum" in failed.stderr
    assert duck.run("SELECT count(*) FROM far").ok


def test_three_decimals_are_no_thousands(duck):
    assert duck.run("CREATE TABLE kilos AS SELECT unnest(['0,500', '1,250', '12,125']) AS x").ok
    assert "decimal commas" in duck.run("SELECT sum(x) FROM kilos").stderr


def test_another_column_is_not_meant(german):
    assert " is text, with " not in german.run("SELECT Name+1 FROM 'bom.csv'").stderr


@pytest.mark.parametrize("code", ["SELECT * FROM range(DATE '2024-01-01', DATE '2024-01-31')", "SELECT * FROM generate_series(DATE '2024-01-01', DATE '2024-01-31')"])
def test_candidates_without_a_result(duck, code):
    assert "No function matches" in duck.run(code).stderr


def test_commas_in_a_transaction_that_is_aborted(german):
    assert german.run("BEGIN").ok
    assert "with decimal commas: CAST(" in german.run("SELECT Wert+1 FROM 'bom.csv'").stderr
    assert not german.run("SELECT abs(Wert) FROM german").ok
    assert german.run("ROLLBACK").ok and german.run("SELECT 1").ok


@pytest.mark.parametrize("code", [
    "SELECT sum(CAST(replace(replace(\"Mit Punkt\", '.', ''), ',', '.') AS DOUBLE)) FROM 'bom.csv'", "SELECT sum(CAST(replace(Price, ',', '') AS DOUBLE)) FROM 'english.csv'",
    "SELECT sum(CAST(replace(replace(Wert, '.', ''), ',', '.') AS DOUBLE)) FROM german"])
def test_the_advice_for_commas_holds(german, code):
    assert german.run(code).ok, german.run(code).stderr


@pytest.mark.parametrize("text, encoding, options, way", [
    ("Größe;€\n1;2\n", "cp1252", ", encoding='latin-1'", "df = pd.read_csv('other.csv', encoding='cp1252')"),
    ("Größe;Ä\n1;2\n", "cp1252", "", "read_csv('other.csv', encoding='latin-1') here, or df = pd.read_csv('other.csv', encoding='cp1252')"),
    ("Größe;€\n1;2\n", "utf-16", "", "read_csv('other.csv', encoding='utf-16') here, or df = pd.read_csv('other.csv', encoding='utf-16')")])
def test_encodings_that_duckdb_has(duck, text, encoding, options, way):
    (duck.cwd / "other.csv").write_bytes(text.encode(encoding))
    last = duck.run(f"SELECT * FROM read_csv('other.csv'{options})").stderr.splitlines()[-1]
    assert f": {way[:-1]}, sep=';') in Python, which is a table here" in last, last
    if "here, or" in way:
        assert duck.run(f"SELECT * FROM {way.partition(' here')[0]}").ok


@pytest.mark.parametrize("code, name", [
    ("COPY (FROM s) TO 'out.xlsx' (FORMAT xlsx)", "'out.xlsx'"), ("COPY s TO 'out.xlsx'", "'out.xlsx'"), ("COPY s TO 'new.xls' (FORMAT 'excel')", "'new.xls'"),
    ("COPY s TO 'out.xlsx' WITH (FORMAT GDAL, DRIVER 'xlsx')", "'out.xlsx'"), ("COPY s TO 'out.csv' (FORMAT nosuch)", None)])
def test_the_way_to_a_workbook(duck, code, name):
    said = duck.run(code).stderr
    assert (f"df.to_excel({name}, index=False)" in said) if name else "to_excel" not in said, said


PATHS = [("/mnt/user-data/uploads/sales.csv", "files of the chat are not in this session: the user gives them through write_file"),
         ("/mnt/user-data/outputs/sales.csv", "this session has no /mnt/user-data/outputs: write below /workspace, and share_file"),
         ("/Users/anna/sales.csv", "this session sees no files of the user's machine"), ("/home/anna/my sales.csv", "this session sees no files of the user's machine"),
         ("/workspace/nosuch.csv", None), ("/home/user/nosuch.csv", None)]


@pytest.mark.parametrize("path, way", PATHS)
@pytest.mark.parametrize("code", ["SELECT * FROM '{}'", "SELECT * FROM read_parquet('{}')", "COPY s TO '{}'", "SELECT * FROM '{}.xlsx'"])
def test_paths_of_other_machines(duck, path, way, code):
    last = duck.run(code.format(path)).stderr.splitlines()[-1]
    assert last.startswith(f"({way}") if way else "--mount" not in last, last


@pytest.mark.parametrize("path, way", PATHS)
def test_paths_of_other_machines_for_sqlite(sql, path, way):
    last = sql.run(f'SELECT * FROM "{path}"').stderr.splitlines()[-1]
    assert last.startswith(f"({way}") if way else "--mount" not in last, last


ELSEWHERE = ["SELECT * FROM 'Quarters.csv'", 'SELECT * FROM "/data/quarters.csv"', 'SELECT * FROM "/mnt/user-data/uploads/quarters.csv"', 'SELECT * FROM "quar ters.csv"']


@pytest.mark.parametrize("code", [*ELSEWHERE, "SELECT * FROM read_csv('/data/QUARTERS.csv')", "SELECT * FROM 'Quarters.nosuch'"])
def test_files_that_are_elsewhere(duck, code):
    told_of_files_elsewhere(duck, code)


@pytest.mark.parametrize("code", [*ELSEWHERE, "ATTACH '/data/quarters.csv' AS q"])
def test_files_that_are_elsewhere_for_sqlite(sql, code):
    told_of_files_elsewhere(sql, code)


def told_of_files_elsewhere(runner, code):
    for name in ("quarters.csv", "quar_ters.csv", "quarters.nosuch"):
        (runner.cwd / name).write_text("a\n1\n")
    name = "quar_ters.csv" if " ters" in code else "quarters.nosuch" if "nosuch" in code else "quarters.csv"
    last = runner.run(code).stderr.splitlines()[-1]
    assert last == f"(there is {runner.cwd}/{name})", last
