"""Tables in the formats that people send."""


def csv_to_summary(computer):
    """Tell what this CSV holds, and what is missing in it."""
    computer.write("sales.csv", "day,region,amount\n2024-01-01,north,10.5\n2024-01-02,south,\n2024-01-03,north,4\n")
    out = computer.python("""
        import pandas as pd
        sales = pd.read_csv("sales.csv", parse_dates=["day"])
        print(sales.isna().sum().to_dict(), sales.groupby("region")["amount"].sum().to_dict())
    """)
    assert out == "{'day': 0, 'region': 0, 'amount': 1} {'north': 14.5, 'south': 0.0}"


def excel_in_and_out(computer):
    """A workbook of two sheets, read back with its numbers and dates."""
    out = computer.python("""
        import pandas as pd
        with pd.ExcelWriter("book.xlsx") as book:
            pd.DataFrame({"a": [1, 2], "day": pd.to_datetime(["2024-01-01", "2024-02-01"])}).to_excel(book, sheet_name="one", index=False)
            pd.DataFrame({"b": ["x"]}).to_excel(book, sheet_name="two", index=False)
        sheets = pd.read_excel("book.xlsx", sheet_name=None)
        print(list(sheets), int(sheets["one"]["a"].sum()), sheets["one"]["day"].max().date())
    """)
    assert out == "['one', 'two'] 3 2024-02-01"


def excel_with_formulas_and_a_chart(computer):
    """A workbook as an office wants it: formulas, widths, colours, a chart."""
    out = computer.python("""
        import openpyxl
        from openpyxl.chart import BarChart, Reference
        from openpyxl.styles import Font
        book = openpyxl.Workbook()
        sheet = book.active
        for row in [["month", "sales"], ["Jan", 10], ["Feb", 30]]: sheet.append(row)
        sheet["B4"] = "=SUM(B2:B3)"
        sheet["A1"].font = Font(bold=True)
        chart = BarChart()
        chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
        sheet.add_chart(chart, "D2")
        book.save("report.xlsx")
        again = openpyxl.load_workbook("report.xlsx").active
        print(again["B4"].value, again["A1"].font.bold, len(again._charts))
    """)
    assert out == "=SUM(B2:B3) True 1"


def excel_written_fast(computer):
    """Ten thousand rows with formats, by the writer made for it, read by the reader made for it."""
    out = computer.python("""
        import xlsxwriter, pandas as pd
        with xlsxwriter.Workbook("big.xlsx") as book:
            sheet, money = book.add_worksheet(), book.add_format({"num_format": "#,##0.00"})
            sheet.write_row(0, 0, ["n", "amount"])
            for i in range(10_000): sheet.write_row(i + 1, 0, [i, i / 4], money)
        frame = pd.read_excel("big.xlsx", engine="calamine")
        print(frame.shape, frame["amount"].sum())
    """)
    assert out == "(10000, 2) 12498750.0"


def parquet_both_ways(computer):
    """Parquet with types kept, written by pandas and read by Arrow and polars."""
    out = computer.python("""
        import pandas as pd, pyarrow.parquet as pq, polars as pl
        pd.DataFrame({"id": [1, 2], "when": pd.to_datetime(["2024-01-01", "2024-01-02"]), "kind": pd.Categorical(["a", "b"])}).to_parquet("t.parquet")
        print(pq.read_metadata("t.parquet").num_rows, pl.read_parquet("t.parquet").schema["when"], pd.read_parquet("t.parquet").dtypes["kind"])
    """)
    assert out.startswith("2 Datetime") and out.endswith("category")


def json_lines_flattened(computer):
    """Nested JSON lines as a flat table."""
    computer.write("events.jsonl", '{"id": 1, "user": {"name": "a", "tags": ["x", "y"]}}\n{"id": 2, "user": {"name": "b", "tags": []}}\n')
    out = computer.python("""
        import json, pandas as pd
        rows = [json.loads(line) for line in open("events.jsonl")]
        flat = pd.json_normalize(rows)
        print(list(flat.columns), flat.explode("user.tags").shape)
    """)
    assert out == "['id', 'user.name', 'user.tags'] (3, 3)"


def pivot_and_markdown(computer):
    """A pivot table as Markdown for a report."""
    out = computer.python("""
        import pandas as pd
        frame = pd.DataFrame({"region": ["n", "n", "s"], "year": [2023, 2024, 2024], "v": [1, 2, 3]})
        print(frame.pivot_table(index="region", columns="year", values="v", aggfunc="sum", fill_value=0).to_markdown())
    """)
    assert "| n        |      1 |      2 |" in out


def polars_lazily(computer):
    """A lazy query over a CSV with polars, its result shown as a table."""
    computer.python("import polars as pl; pl.DataFrame({'k': ['a', 'b'] * 500, 'v': range(1000)}).write_csv('big.csv')")
    output = computer.result("import polars as pl; pl.scan_csv('big.csv').filter(pl.col('v') >= 500).group_by('k').agg(pl.len()).sort('k').collect()")
    assert output["json"]["rows"] == [["a", 250], ["b", 250]]


def merge_two_workbooks(computer):
    """Two tables with other names for the same key, joined, the rest reported."""
    out = computer.python("""
        import pandas as pd
        pd.DataFrame({"Customer ID": [1, 2, 3], "name": list("abc")}).to_excel("customers.xlsx", index=False)
        pd.DataFrame({"cust": [2, 3, 3, 9], "total": [5, 6, 7, 8]}).to_csv("orders.csv", index=False)
        joined = pd.read_excel("customers.xlsx").merge(pd.read_csv("orders.csv"), left_on="Customer ID", right_on="cust", how="outer", indicator=True)
        print(joined["_merge"].value_counts().sort_index().to_dict())
    """)
    assert out == "{'left_only': 1, 'right_only': 1, 'both': 3}"
