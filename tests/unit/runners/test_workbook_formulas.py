"""Formulas that a run has written and that nobody has computed: a note says so, once."""

import pytest

OPENPYXL = "import openpyxl\nbook = openpyxl.Workbook({}); sheet = book.create_sheet(); sheet.append([1, '=A1*2', '=B1+1']); book.save('a.xlsx')"
XLSXWRITER = "import xlsxwriter\nbook = xlsxwriter.Workbook('a.xlsx', {}); sheet = book.add_worksheet()\n{}; book.close()"
TWO = "2 formulas have no values until a spreadsheet program computes them: pandas reads 0 or NaN"
ONE = "1 formula has no value until a spreadsheet program computes it: pandas reads 0 or NaN"


@pytest.mark.parametrize("code, note", [
    (OPENPYXL.format(""), TWO), (OPENPYXL.format("write_only=True"), TWO), (OPENPYXL.format("") + "; openpyxl.load_workbook('a.xlsx').save('b.xlsx')", TWO.replace("2", "4")),
    (XLSXWRITER.format({}, "sheet.write('A1', '=1+1'); sheet.write_formula('A2', '=A1')"), TWO),
    (XLSXWRITER.format({"constant_memory": True}, "sheet.write_array_formula('A1:A1', '{=SUM(B1:C1)}')"), ONE),
    (XLSXWRITER.format({}, "sheet.write_formula('A1', '=1+1', None, 2); sheet.write('A2', 5)"), None),
    ("import pandas as pd; pd.DataFrame({'a': ['=1+1']}).to_excel('a.xlsx', engine='xlsxwriter')", ONE),
    ("import pandas as pd; pd.DataFrame({'a': ['=1+1', 2]}).to_excel('a.xlsx', engine='openpyxl')", ONE),
    ("import openpyxl; book = openpyxl.Workbook(); book.active['A1'] = 'plain'; book.save('a.xlsx')", None)])
def test_formulas_without_values_are_told_once(start, code, note):
    python = start("python", extras=True)
    assert python.run(code).done.get("note") == note
    assert "note" not in python.run(code).done


def test_it_is_as_it_is_told(extras):
    assert extras.run(OPENPYXL.format("").replace("'=B1+1'", "5")).ok
    assert extras.run("import pandas as pd; pd.read_excel('a.xlsx', sheet_name=1, header=None).isna().values.tolist()").text == "[[False, True, False]]"
    assert extras.run(XLSXWRITER.format({}, "sheet.write('A1', '=1+1')")).ok
    assert extras.run("pd.read_excel('a.xlsx', header=None).values.tolist()").text == "[[0]]"


def test_reading_them_is_told_once_for_each_sheet(start):
    python = start("python", extras=True)
    assert python.run("import pandas as pd\n" + OPENPYXL.format("").replace("[1, ", "['a', 'b', 'c']); sheet.append([1, ")).ok
    note = TWO.replace("pandas reads NaN or 0", "NaN or 0 here").replace("pandas reads 0 or NaN", "NaN or 0 here")
    assert python.run("pd.read_excel('a.xlsx', sheet_name='Sheet1')").done["note"] == f"a.xlsx: {note}"
    assert "note" not in python.run("from pathlib import Path; pd.read_excel(Path('a.xlsx'), sheet_name=None)").done
    assert "note" not in python.run("pd.DataFrame({'a': [None, 0], 'z': 0}).to_excel('b.xlsx'); pd.read_excel('b.xlsx')").done
    failed = python.run("pd.read_excel('a.xlsx', sheet_name='nosuch')")
    assert "'nosuch' not found" in failed.stderr and "parse_and_look" not in failed.stderr
