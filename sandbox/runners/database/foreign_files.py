"""What DuckDB reads with extensions that it would have to download: workbooks, and databases of SQLite.

A workbook is a table while a run goes on: 'book.xlsx' is its first sheet, 'book.xlsx#Costs' the one of that name.
A database of SQLite is copied into one in memory when it is attached; what is changed there stays there.
"""

import os
import re

WORKBOOKS = (".xlsx", ".xls", ".xlsb", ".ods")
_ATTACH = re.compile(r"""\s*ATTACH\s+(?:DATABASE\s+)?(?:IF\s+NOT\s+EXISTS\s+)?'((?:[^']|'')+)'(?:\s+AS\s+("[^"]+"|\w+))?\s*
                         (?:\([^)]*\))?\s*;?\s*$""", re.IGNORECASE | re.VERBOSE)
_MAGIC = b"SQLite format 3\0"
_ROWS_AT_ONCE = 100_000
# The first word that a declared type has says what it is (SQLite's own rule, and what others name moments).
_DECLARED = (("INT", "BIGINT"), ("BOOL", "BOOLEAN"), ("TIMESTAMP", "TIMESTAMP"), ("DATETIME", "TIMESTAMP"), ("DATE", "DATE"), ("CHAR", "VARCHAR"),
             ("TEXT", "VARCHAR"), ("CLOB", "VARCHAR"), ("BLOB", "BLOB"), ("REAL", "DOUBLE"), ("FLOA", "DOUBLE"), ("DOUB", "DOUBLE"),
             ("DEC", "DOUBLE"), ("NUM", "DOUBLE"))
# Than what Arrow makes of the values as SQLite keeps them.
_MORE_EXACT = {"string": ("TIMESTAMP", "DATE"), "int64": ("BOOLEAN", "DOUBLE")}


def is_workbook(name):
    return name.partition("#")[0].lower().endswith(WORKBOOKS)


def read_workbook(name):
    """A DataFrame; None when there is no such file."""
    path, _, sheet = name.partition("#")
    if not os.path.isfile(path):
        return None
    import pandas
    import python_calamine  # noqa: F401  pandas would say that it is missing in words of its own

    try:
        # Text stays text: pandas would make a number of a zip code.
        frame = pandas.read_excel(path, sheet_name=sheet or 0, engine="calamine", dtype=object, keep_default_na=False, na_values=[""])
    except ValueError as error:
        names = ", ".join(python_calamine.CalamineWorkbook.from_path(path).sheet_names)
        raise ValueError(f"{path}: {error}; its sheets are: {names}") from None
    if not len(frame.columns):
        raise ValueError(f"{path}: the sheet {sheet or 'that comes first'} is empty")
    return frame.infer_objects()


def sqlite_to_attach(text):
    """Path and name of what an ATTACH wants, where that is a database of SQLite; else None."""
    asked = _ATTACH.match(text)
    if asked is None:
        return None
    path = asked[1].replace("''", "'").removeprefix("sqlite:")
    if not _is_sqlite(path):
        return None
    name = (asked[2] or "").strip('"') or os.path.splitext(os.path.basename(path))[0]
    return path, name


def tables_of_sqlite(path):
    """Names of the tables and views of a database of SQLite; none where the file is no such one."""
    if not os.path.isfile(path) or not _is_sqlite(path):
        return []
    import sqlite3

    try:
        source = _open_to_read(path)
        try:
            return _tables_of(source)
        finally:
            source.close()
    except sqlite3.Error:
        return []


def attach_sqlite(connection, path, name, check_interrupt):
    """Its tables and views as tables of a database in memory; how many there are."""
    source = _open_to_read(path)
    try:
        connection.execute(f"ATTACH ':memory:' AS {_quoted(name)}")
        tables = _tables_of(source)
        for table in tables:
            _copy_table(connection, source, name, table, check_interrupt)
        return len(tables)
    finally:
        source.close()


def _open_to_read(path):
    import sqlite3
    from urllib.parse import quote

    return sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)


def _is_sqlite(path):
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _tables_of(source):
    return [row[0] for row in source.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")]


def _copy_table(connection, source, database, table, check_interrupt):
    import pyarrow

    rows = source.execute(f"SELECT * FROM {_quoted(table)}")
    names, columns = [column[0] for column in rows.description], None
    target = f"{_quoted(database)}.{_quoted(table)}"
    while batch := rows.fetchmany(_ROWS_AT_ONCE):
        check_interrupt()
        columns = columns or [[] for _ in names]
        for column, values in zip(columns, zip(*batch)):
            column.extend(values)
    made = pyarrow.table([_array(pyarrow, column) for column in columns or [[] for _ in names]], names=names)
    connection.register("hutch_copied", made)
    try:
        connection.execute(f"CREATE TABLE {target} AS SELECT {_as_declared(connection, source, table, made)} FROM hutch_copied")
    finally:
        connection.unregister("hutch_copied")


def _as_declared(connection, source, table, made):
    """The columns with the types that SQLite's are declared with, where all values have them: it holds nobody to them."""
    declared = dict(source.execute("SELECT name, upper(type) FROM pragma_table_info(?)", (table,)))
    selected = []
    for name, kind in zip(made.column_names, map(str, made.schema.types)):
        wanted = next((ours for word, ours in _DECLARED if word in declared.get(name, "")), "VARCHAR")
        column = _quoted(name)
        if kind != "null" and (wanted not in _MORE_EXACT.get(kind, ()) or not _all_can_be(connection, column, wanted)):
            wanted = None
        selected.append(column if wanted is None else f"CAST({column} AS {wanted}) AS {column}")
    return ", ".join(selected)


def _all_can_be(connection, column, wanted):
    value = f"CASE WHEN length({column}) <= 10 THEN {column} END" if wanted == "DATE" else column  # else its time would go
    return connection.execute(f"SELECT count({column}) = count(TRY_CAST({value} AS {wanted})) FROM hutch_copied").fetchone()[0]


def _array(pyarrow, values):
    """SQLite's columns may hold values of any kind: then they are text, as SQLite would print them."""
    try:
        return pyarrow.array(values)
    except pyarrow.ArrowException:
        return pyarrow.array([None if value is None else value.hex() if isinstance(value, bytes) else str(value)
                              for value in values])


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'
