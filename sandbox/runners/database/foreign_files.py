"""Reads what DuckDB reads only with extensions from the network: workbooks, and databases of SQLite.

A workbook is a table while a run goes on: 'book.xlsx' is its first sheet, 'book.xlsx#Costs' the one of that name.
A database of SQLite is copied into one in memory when it is attached, and again after its file has changed; what SQL changes in the
copy stays there, and then the copy stays as well.
"""

import os
import re

WORKBOOKS = (".xlsx", ".xls", ".xlsb", ".ods")
_ATTACH = re.compile(r"""\s*ATTACH\s+(?:DATABASE\s+)?(?:IF\s+NOT\s+EXISTS\s+)?'((?:[^']|'')+)'(?:\s+AS\s+("[^"]+"|\w+))?\s*
                         (?:\([^)]*\))?\s*;?\s*$""", re.IGNORECASE | re.VERBOSE)
_TEXTS = re.compile(r"""'((?:[^'\n]|'')+)'|"([^"\n]+)\"""")
_SHEETS_NAMED = 10
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
    """A DataFrame, and what to say of the other sheets; None when there is no such file."""
    path, _, sheet = name.partition("#")
    if not os.path.isfile(path):
        return None
    import pandas
    import python_calamine  # noqa: F401  pandas would say that it is missing in words of its own

    from hutch_runner import uncomputed_formulas

    parse = getattr(pandas.ExcelFile.parse, "__wrapped__", pandas.ExcelFile.parse)  # without the notes of workbook_formulas.py
    with pandas.ExcelFile(path, engine="calamine") as book:
        try:
            # Text stays text: pandas would make a number of a zip code.
            frame = parse(book, sheet or 0, dtype=object, keep_default_na=False, na_values=[""])
        except ValueError as error:
            raise ValueError(f"{path}: {error}; its sheets are: {', '.join(book.sheet_names)}") from None
        note = "" if sheet else _of_other_sheets(path, book)
        formulas = uncomputed_formulas.note(path, sheet or book.sheet_names[0], frame)
    if not len(frame.columns):
        raise ValueError(f"{path}: the sheet {sheet or 'that comes first'} is empty" + (f" ({note})" if note else ""))
    return frame.infer_objects(), "; ".join(filter(None, (note, formulas and f"{name}: {formulas}: NULL or 0 here")))


def _of_other_sheets(path, book):
    first, *others = book.sheet_names
    if not others:
        return ""
    visible, hidden = (_sheets_that_are(book, is_hidden) for is_hidden in (False, True))
    other = next((name for name in others if name in visible), others[0])
    return (f"{path}: {len(others) + 1} sheets, this is {first!r}{' (hidden)' if first in hidden else ''}; FROM {_sheet(path, other)} is another"
            + (f"; hidden: {', '.join(hidden)}" if hidden else ""))


def _sheets_that_are(book, is_hidden):
    return [sheet.name for sheet in book.book.sheets_metadata
            if sheet.name in book.sheet_names and (str(sheet.visible).rpartition(".")[2] != "Visible") is is_hidden]


def _sheet(path, name):
    return "'" + f"{path}#{name}".replace("'", "''") + "'"


def way_to_workbook(extension, sql):
    """How a workbook is read that DuckDB's extension was wanted for; nothing where none was."""
    texts = [text.replace("''", "'") for groups in _TEXTS.findall(sql) for text in groups if text]
    path = next((text for text in texts if text.lower().endswith(WORKBOOKS)), "")
    if not path and extension != "excel":
        return ""
    try:
        import python_calamine
        sheets = python_calamine.CalamineWorkbook.from_path(path).sheet_names
    except Exception:  # there is no such file, or none that it reads
        return "(workbooks are read without it: FROM 'book.xlsx', or 'book.xlsx#Sheet')\n"
    whole, chosen = "'" + path.replace("'", "''") + "'", next((text for text in texts if text in sheets), None)
    if chosen is not None:
        whole = _sheet(path, chosen)
    more = ", ".join(_sheet(path, name) for name in sheets[:_SHEETS_NAMED]) if chosen is None and len(sheets) > 1 else ""
    return f"(workbooks are read without it: FROM {whole}{'; its sheets: ' if more else ''}{more})\n"


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


class Copy:
    """A database of SQLite that is in memory, with what tells whether its file is still the one that was read."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.is_changed = False  # by SQL, here
        self._stamp = _stamp_of(self.path)

    def is_old(self):
        return _stamp_of(self.path) != self._stamp

    def words(self, name):
        """Says how it differs from its file."""
        shown = os.path.relpath(self.path)
        shown = self.path if shown.startswith("..") else shown
        return f"{name} is a copy of {shown} from before that {'changed' if os.path.isfile(self.path) else 'was removed'}"


def changes(sql, name):
    """Whether a statement that is no query writes to the database of that name, as far as its text shows."""
    name = rf'(?:"{re.escape(name)}"|\b{re.escape(name)})'
    return re.search(rf"\b(?:INTO|UPDATE|DELETE\s+FROM|TRUNCATE|TABLE|VIEW|INDEX|SCHEMA|SEQUENCE|MACRO|TYPE|EXISTS|ON|COPY|TO)\s+{name}\s*(?:\.|;|$)",
                     sql, re.IGNORECASE) is not None


def _stamp_of(path):
    """Both files that SQLite keeps a database in, and its own count of changes, where two fall within one tick of the clock."""
    try:
        status = os.stat(path)
        with open(path, "rb") as file:
            count = file.read(28)[24:]
    except OSError:
        return None
    try:
        log = os.stat(f"{path}-wal")
    except OSError:
        log = None
    return status.st_mtime_ns, status.st_size, count, (log.st_mtime_ns, log.st_size) if log is not None and log.st_size else None


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
