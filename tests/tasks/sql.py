"""SQL over everything that lies about."""


def a_join_over_four_formats(computer):
    """CSV, Parquet, JSON and a DataFrame in one question."""
    computer.write("orders.csv", "id,customer,product\n1,10,p\n2,11,q\n3,10,q\n")
    computer.write("products.json", '[{"product": "p", "price": 2.5}, {"product": "q", "price": 4}]')
    computer.python("import pandas as pd; pd.DataFrame({'customer': [10, 11], 'city': ['Rome', 'Oslo']}).to_parquet('customers.parquet'); vat = pd.DataFrame({'city': ['Rome', 'Oslo'], 'rate': [0.22, 0.25]})")
    rows = computer.sql("""SELECT city, round(sum(price * (1 + rate)), 2) AS total FROM 'orders.csv' JOIN 'products.json' USING (product)
                           JOIN 'customers.parquet' USING (customer) JOIN vat USING (city) GROUP BY city ORDER BY city""")
    assert rows == [["Oslo", 5.0], ["Rome", 7.93]]


def running_totals(computer):
    """Window functions over a table that stays."""
    computer.sql("CREATE TABLE sales AS SELECT * FROM (VALUES ('a', 1, 10), ('a', 2, 5), ('b', 1, 7)) v(shop, day, amount)")
    assert computer.sql("SELECT shop, day, sum(amount) OVER (PARTITION BY shop ORDER BY day) FROM sales ORDER BY shop, day") == [["a", 1, 10], ["a", 2, 15], ["b", 1, 7]]


def a_million_rows(computer):
    """A CSV of a million rows, grouped."""
    computer.python("import polars as pl; pl.DataFrame({'k': [i % 7 for i in range(1_000_000)], 'v': range(1_000_000)}).write_csv('m.csv')")
    assert computer.sql("SELECT count(*), sum(v), count(DISTINCT k) FROM 'm.csv'") == [[1000000, 499999500000, 7]]


def results_back_in_python(computer):
    """A question from Python, its answer a DataFrame."""
    computer.sql("CREATE TABLE t AS SELECT range AS n FROM range(5)")
    assert computer.python("import hutch\nanswer = hutch.sql('SELECT sum(n) AS s FROM t')\nprint(answer)").splitlines()[-1].split()[-1] == "10"


def a_database_of_sqlite(computer):
    """A database file that a program has left."""
    out = computer.python("""
        import sqlite3, pandas as pd
        with sqlite3.connect("app.db") as db:
            db.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)"); db.executemany("INSERT INTO users (name) VALUES (?)", [("a",), ("b",)])
        print(pd.read_sql("SELECT count(*) AS n FROM users", sqlite3.connect("app.db"))["n"][0])
    """)
    assert out == "2"
