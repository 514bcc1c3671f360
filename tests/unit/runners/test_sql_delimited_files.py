"""CSV as spreadsheets and programs write it: delimiters, encodings, quotes, amounts."""

import os

import pytest
from test_sql_between_languages import rows


@pytest.mark.parametrize("text, expected", [
    ("id\tv\n1\tx\n", [[1, "x"]]), ("id|v\n1|x, y\n", [[1, "x, y"]]), ("sep=;\nid;v\n1;x\n", [[1, "x"]]),
    ('"sep=;"\r\nid;v\r\n1;x\r\n', [[1, "x"]]), ('"Name, first";v\n"Doe, J";1,5\n', [["Doe, J", 1.5]]),
    ("a;b,c\n1;2\n3;4\n", [[1, 2], [3, 4]]), ("a,b|c\n1,x|y\n", [[1, "x|y"]]), ("a;b\n" + "1;2,5\n" * 30, [[1, 2.5]] * 30),
    ('a;b\n' + '1;"x\ny"\n' * 30, [[1, "x\ny"]] * 30), ("a\n1;2\n", [["1;2"]]),
])
def test_delimiters_are_found(sql, text, expected):
    (sql.cwd / "d.csv").write_text(text, newline="")
    assert rows(sql.run('SELECT * FROM "d.csv"')) == expected


@pytest.mark.parametrize("text, line", [('a,b\n1,"open\n2,x\n3,y\n', 2), ('a,b\n0,z\n1,"open\n2,x,3\n', 3), ('sep=,\na,b\n1,"open\n2,x', 3)])
def test_a_quote_that_is_not_closed_takes_no_rows(sql, text, line):
    (sql.cwd / "open.csv").write_text(text)
    assert f"open.csv, line {line}: a quote is opened there and not closed" in sql.run('SELECT * FROM "open.csv"').error["message"]
    (sql.cwd / "open.csv").write_text('a,b\n1,"closed\n2"\n')
    assert rows(sql.run('SELECT * FROM "open.csv"')) == [[1, "closed\n2"]]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
def test_what_spreadsheets_write_is_read(sql, encoding):
    (sql.cwd / "d.csv").write_bytes("name;price\nStift – “neu”;5 €\n".encode(encoding))
    assert rows(sql.run('SELECT * FROM "d.csv"')) == [["Stift – “neu”", "5 €"]]


def test_bytes_of_no_alphabet_are_read_all_the_same(sql):
    (sql.cwd / "d.csv").write_bytes(b"name\n\x81\xe9\n")
    assert rows(sql.run('SELECT * FROM "d.csv"')) == [["\x81é"]]


@pytest.mark.parametrize("text, odd", [
    ('v\n"1,200"\n950\n80\n', "1,200"), ('v\n950\n"1,234.50"\n', "1,234.50"), ("v\n5%\n7 %\n", "5%"), ('v\n"$2,000"\n$30\n', "$2,000"),
    ("v;w\n1.234;1\n2,5 €;2\n", "2,5 €"), ("v\n(5)\n4\n", "(5)"),
])
def test_amounts_that_are_text_are_told_of(start, sql, text, odd):
    (sql.cwd / "d.csv").write_text(text)
    note = sql.run('SELECT sum(v) FROM "d.csv"').done["note"]
    assert note.startswith(f"column v of d.csv is text, for {odd!r} is no plain number")
    assert "note" not in sql.run('SELECT sum(v) FROM "d.csv"').done  # once
    told = start("python").run("r = hutch.sql('SELECT v FROM \"d.csv\"')")
    assert f"UserWarning: column v of d.csv is text, for {odd!r}" in told.stderr and told.ok


@pytest.mark.parametrize("text", ["v\n007\n12\n", "v\n+4915112\n12\n", "v\nabc\n5%\nx\n", "v\n2024-01-05\n", "v\n1.5\nNA\n", "v\n10.0.0.1\n",
                                  "v\n1E5\n2\n", "v;w\n1.5;2\n", "v\n1.234\n", "v;w\n0.123;2\n"])
def test_what_is_no_amount_is_not(sql, text):
    (sql.cwd / "d.csv").write_text(text)
    ending = sql.run('SELECT * FROM "d.csv"')
    assert ending.ok and "note" not in ending.done


def test_points_between_semicolons_are_told_of_where_they_may_be_for_thousands(sql):
    (sql.cwd / "d.csv").write_text("v;w\n1.234;x\n2.500;y\n7;z\n")
    ending = sql.run('SELECT v FROM "d.csv"')
    assert rows(ending) == [[1.234], [2.5], [7]] and "column v of d.csv: points were taken for decimal ones" in ending.done["note"]


def test_a_file_of_the_same_size_and_time_is_read_again(sql):
    (sql.cwd / "d.csv").write_text("v\n1\n")
    times = (sql.cwd / "d.csv").stat()
    assert rows(sql.run('SELECT * FROM "d.csv"')) == [[1]]
    (sql.cwd / "d.csv").write_text("v\n2\n")
    os.utime(sql.cwd / "d.csv", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert rows(sql.run('SELECT * FROM "d.csv"')) == [[2]]
