"""Columns of CSV files that are read as text, or as other dates, without a mistake: one note says so, once."""

import re

import pytest

FILES = {
    "de.csv": "Name;Betrag\nA;1.234,50\nB;99,00\nC;n/a\n", "geo.csv": "lat;Betrag\n52.5;1.234,50\n48.1;99,00\n", "us.csv": 'id,price,note\n1,"$1,200.50",x\n2,$99.00,y\n',
    "thousands.csv": 'n\n"1,200"\n"950"\n"12,000,000"\n', "fr.csv": "prix;q\n1 234,50 €;1\n-99,00 €;2\n", "swiss.csv": "chf\n1'234.50\n99.00\n", "share.csv": "p;q\n12,5 %;1\n7 %;2\n",
    "euro.csv": "v;w\nEUR 1.234,50;2,5\nEUR 9,00;3,5\n", "two.csv": "a;b c\n1.001,5;2,5\n-3;3,75\n9;11\n",
    "text.csv": "name;phone;list;version;code\n1,5 litres;030,123 45;1,2,3;1.2.3;1,5a\nMüller;040/5;4,5;2.0;x\n", "plain.csv": "a,b,d\n1,2.5,2024-01-02\n-3,4,2024-02-03\n",
    "dates.csv": "when,x\n3/4/2024,1\n3/5/2024,2\n", "stamps.csv": "at,x\n03/04/2024 10:15:00,1\n03/05/2024 11:00:00,2\n", "settled.csv": "when,x\n3/4/2024,1\n" + "3/5/2024,2\n" * 10_000 + "3/25/2024,3\n",
    "points.csv": "when;x\n03.04.2024;1\n04.05.2024;2\n", "year.csv": "d,x\n03-04-24,1\n03-05-24,2\n", "same.csv": "when,x\n3/3/2024,1\n4/4/2024,2\n",
    "first.csv": "d,x\n02-01-02,1\n03-01-04,2\n", "names.csv": "tag;zip;my_list;ApiVersion;paid\n1,5;1,5;1,5;1,5;1,5\n2,5;1,5;1,5;1,5;2,5\nx;1,5;1,5;1,5;1,5\n", "versions.csv": 'v,x\n"1,2",a\n"1,10",b\n',
    "stamped.csv": "Zeit;IP;Betrag\n12.30;10.0.0.1;1.234,50\n11.10;10.0.0.2;9,00\n", "lists.csv": 'price,v\n"1,200","1,2"\n"950","1,10"\n', "later.csv": "Betrag;Datum\n" + "1.234,50;\n" * 3,
    "gaps.csv": 'n\n"1,200"\nn/a\n'}
OPTIONS = "decimal_separator=',', thousands='.'"


@pytest.fixture(scope="module")
def duck(tmp_path_factory, request):
    from conftest import starter
    for start_one in starter(tmp_path_factory.mktemp("columns"), request):
        runner = start_one("sql", extras=True)
        for name, text in FILES.items():
            (runner.cwd / name).write_text(text)
        yield runner


@pytest.mark.parametrize("file, note, check, value", [
    ("de.csv", f"Betrag is text: read_csv('de.csv', {OPTIONS}) may make numbers of it", f"SELECT Betrag FROM read_csv('de.csv', {OPTIONS}, nullstr='n/a') LIMIT 1", 1234.5),
    ("geo.csv", "Betrag is text: CAST(replace(replace(Betrag, '.', ''), ',', '.') AS DOUBLE) is the number", "SELECT {} FROM 'geo.csv' LIMIT 1", 1234.5),
    ("us.csv", "price is text: CAST(replace(replace(price, '$', ''), ',', '') AS DOUBLE) is the number", "SELECT {} FROM 'us.csv' LIMIT 1", 1200.5),
    ("thousands.csv", "n is text: read_csv('thousands.csv', thousands=',') makes numbers of it", "SELECT max(n) FROM read_csv('thousands.csv', thousands=',')", 12_000_000),
    ("fr.csv", "prix is text: CAST(replace(replace(replace(prix, ' ', ''), '€', ''), ',', '.') AS DOUBLE) is the number", "SELECT {} FROM 'fr.csv' LIMIT 1", 1234.5),
    ("swiss.csv", "chf is text: CAST(replace(chf, '''', '') AS DOUBLE) is the number", "SELECT {} FROM 'swiss.csv' LIMIT 1", 1234.5),
    ("share.csv", "p is text: CAST(replace(replace(p, '%', ''), ',', '.') AS DOUBLE) is the number", "SELECT {} FROM 'share.csv' LIMIT 1", 12.5),
    ("euro.csv", "its first line is left out ('v;w'), as those behind seem to be of another form: read_csv('euro.csv', delim=';', header=true) has all; v is text: "
     "CAST(replace(replace(replace(v, 'EUR', ''), '.', ''), ',', '.') AS DOUBLE) is the number; w is text: CAST(replace(w, ',', '.') AS DOUBLE) is the number",
     "SELECT CAST(replace(w, ',', '.') AS DOUBLE) FROM read_csv('euro.csv', delim=';', header=true) LIMIT 1", 2.5),
    ("two.csv", f"a, \"b c\" are text: read_csv('two.csv', {OPTIONS}) makes numbers of them", f"SELECT \"b c\" FROM read_csv('two.csv', {OPTIONS}) LIMIT 1", 2.5),
    ("stamped.csv", "Betrag is text: CAST(replace(replace(Betrag, '.', ''), ',', '.') AS DOUBLE) is the number", "SELECT {} FROM 'stamped.csv' LIMIT 1", 1234.5),
    ("lists.csv", "price is text: CAST(replace(price, ',', '') AS DOUBLE) is the number", "SELECT {} FROM 'lists.csv' LIMIT 1", 1200),
    ("later.csv", "Betrag is text: CAST(replace(replace(Betrag, '.', ''), ',', '.') AS DOUBLE) is the number", None, None),
    ("text.csv", None, None, None), ("plain.csv", None, None, None),
    ("dates.csv", "\"when\" was read day before month, both fit: read_csv('dates.csv', dateformat='%m/%d/%Y') is the other",
     "SELECT month(\"when\") FROM read_csv('dates.csv', dateformat='%m/%d/%Y') LIMIT 1", 3),
    ("stamps.csv", "\"at\" was read day before month, both fit: read_csv('stamps.csv', timestampformat='%m/%d/%Y %H:%M:%S') is the other",
     "SELECT month(\"at\") FROM read_csv('stamps.csv', timestampformat='%m/%d/%Y %H:%M:%S') LIMIT 1", 3),
    ("settled.csv", None, None, None), ("points.csv", None, None, None), ("same.csv", None, None, None), ("year.csv", None, None, None),
    ("first.csv", None, None, None), ("versions.csv", None, None, None), ("gaps.csv", "n is text: read_csv('gaps.csv', thousands=',') may make numbers of it", None, None),
    ("names.csv", "paid is text: CAST(replace(paid, ',', '.') AS DOUBLE) is the number", "SELECT {} FROM 'names.csv' LIMIT 1", 1.5)])
def test_a_column_is_told_of_once(duck, file, note, check, value):
    assert "note" not in duck.run(f"SELECT count(*) FROM '{file}'").done
    ending = duck.run(f"FROM '{file}' LIMIT 1")
    assert ending.ok and ending.done.get("note") == (f"{file}: {note}" if note else None), ending.done
    assert "note" not in duck.run(f"SELECT * FROM '{file}'").done
    if check:
        way = note.partition("is text: ")[2].removesuffix(" is the number")
        ending = duck.run(check.format(way))
        assert ending.ok and ending.main["json"]["rows"] == [[value]], (ending.stderr, ending.outputs)


@pytest.mark.parametrize("query", [f"FROM read_csv('named.csv', {OPTIONS})", "SELECT CAST(replace(Betrag, ',', '.') AS DOUBLE) FROM 'named.csv'", "COPY (SELECT 1 AS a) TO 'named.csv'",
                                   "SELECT 'named.csv' AS a", "SELECT name FROM 'named.csv'", "FROM read_csv('named.csv', types={'Betrag': 'VARCHAR'})",
                                   "FROM read_csv('named.csv', columns={'Name': 'VARCHAR', 'Betrag': 'VARCHAR'}, header := true)", "FROM read_csv('named.csv', auto_detect := true)", "SELECT Betrag FROM 'nosuch_named.csv'"])
def test_what_is_dealt_with_is_not_told_of(start, query):
    sql = start("sql", extras=True)
    (sql.cwd / "named.csv").write_text("Name;Betrag\nA;1234,50\n")
    assert "note" not in sql.run(query).done


def test_hutch_sql_and_globs_tell_too(start):
    python = start("python", extras=True)
    (python.cwd / "part1.csv").write_text("Name;Betrag\nA;1.234,50\n")
    assert "part*.csv: Betrag is text: read_csv('part*.csv'" in python.run("hutch.sql(\"SELECT max(Betrag) FROM 'part*.csv'\")").stderr


def test_sqlite_tells_of_numbers(start):
    sql = start("sql")
    (sql.cwd / "de.csv").write_text(FILES["de.csv"])
    ending = sql.run("SELECT max(Betrag) FROM 'de.csv'")
    assert ending.done["note"] == "de.csv: Betrag is text: CAST(replace(replace(Betrag, '.', ''), ',', '.') AS DOUBLE) is the number"
    assert sql.run("SELECT max(CAST(replace(replace(Betrag, '.', ''), ',', '.') AS DOUBLE)) FROM 'de.csv'").main["json"]["rows"] == [[1234.5]]
    assert "note" not in sql.run("SELECT * FROM 'de.csv'").done


@pytest.mark.parametrize("query", ["FROM read_csv('latin.csv', encoding='latin-1')", "SELECT * FROM read_csv('latin.csv', encoding = 'latin-1', delim=';')"])
def test_the_advice_for_another_encoding_holds(start, query):
    sql = start("sql", extras=True)
    (sql.cwd / "latin.csv").write_bytes("Straße;Größe\nA;1.234,50\nB;9,25\n".encode("latin-1"))
    assert sql.run(query).done["note"] == "latin.csv: \"Größe\" is text: CAST(replace(replace(\"Größe\", '.', ''), ',', '.') AS DOUBLE) is the number"


RAGGED = [("a,b\n1,2\n1,2,3\n4\n", 3), ("a\tb\n1\t2\n1\t2\t3\n4\n", 3), ("a;b c\n1;2\n1;2;3\n4\n", 3), ("a,b\n" + "1,2\n" * 50 + "1,2,3\n", 51),
          ("a,b,c\n1,2\n3\n4,5,6\n", 3), ("a;b\n1,5;2,5\n", 1)]


@pytest.mark.parametrize("text, count", RAGGED)
@pytest.mark.parametrize("query", ["FROM 'ragged.csv'", "SELECT a FROM 'ragged.csv'"])
def test_a_file_whose_form_was_mistaken_has_a_way(start, text, count, query):
    sql = start("sql", extras=True)
    (sql.cwd / "ragged.csv").write_text(text)
    ending = sql.run(query)
    [way] = re.findall(r": (read_csv\('ragged.csv', delim=.*?\)) has ", ending.done.get("note", ending.stderr))
    assert sql.run(f"SELECT count(a) FROM {way}").main["json"]["rows"] == [[count]]
    assert "ragged.csv" not in sql.run(f"FROM {way}").done.get("note", "")


@pytest.mark.parametrize("text", [
    "Report of 2024\n\na,b\n1,2\n3,4\n", "Report, 2024\na,b,c\n1,2,3\n4,5,6\n", '"City, State"\n"Ulm, BW"\n', "note\nhello, you\nx\n", "a\n1\n2\n",
    "column0,b\n1,2\n"])
def test_titles_and_commas_in_texts_are_no_mistake(start, text):
    sql = start("sql", extras=True)
    (sql.cwd / "top.csv").write_text(text)
    assert "note" not in sql.run("FROM 'top.csv'").done
    assert "(top.csv" not in sql.run("SELECT nosuch FROM 'top.csv'").stderr
