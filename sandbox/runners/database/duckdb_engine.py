"""DuckDB, where Python has its module.

DuckDB lets one process at a time have a database file. So each process of the session has an engine
in memory, with its settings and temporary tables, and holds the file only while a run goes on, or a
transaction that the user has opened.
"""

import os
import re
import threading
import time

import duckdb

from hutch_runner import duckdb_hints, foreign_files
from hutch_runner.duckdb_start import connect
from hutch_runner.engine import WAIT_SECONDS, WHO_HOLDS_IT, Answer
from hutch_runner.data_frames import register
from hutch_runner.frame_queries import Rows
from hutch_runner.parameters import converted, without_numpy
from hutch_runner.unread_files import words_for_missing

SESSION = "session"  # the name under which the file is attached
_LOCKED = re.compile("could not set lock|conflicting lock|being used by another process", re.IGNORECASE)
_LINE = re.compile(r"^LINE (\d+): ", re.MULTILINE)
_MISSING = re.compile(r'Catalog Error: Table with name "?(.+?)"? does not exist')
_EXTENSION = re.compile(r"""extension ["'](?:\S*/)?(\w+)[.\w]*["'] (?:at URL|not found|is an existing)|the (\w+) extension""", re.IGNORECASE)
_BLANK = r"(?:\s|--[^\n]*\n|/\*.*?\*/)*"
_BEGINS = re.compile(_BLANK + r"(?:BEGIN|START)\b", re.IGNORECASE | re.DOTALL)
_COMMITS = re.compile(_BLANK + r"(?:COMMIT|END)\b", re.IGNORECASE | re.DOTALL)
_CREATES = re.compile(_BLANK + r"""CREATE\b[^("]*?\b(?:TABLE|VIEW)\s+(?:IF\s+NOT\s+EXISTS\s+)?("[^"]+"|\w+)""",
                      re.IGNORECASE | re.DOTALL)
_SOURCES = re.compile(r"""\b(?:FROM|JOIN|USING)\s+("[^"]+"|[^\W\d]\w*)""", re.IGNORECASE)
_QUOTED = re.compile(r"""['"]([^'"\n]+)['"]""")
_NAMED_THERE = re.compile(r"(\w+)\s+AS\s+(?:NOT\s+)?(?:MATERIALIZED\s+)?\(", re.IGNORECASE)
_TEMPORARY = re.compile(r"\bTEMP(?:ORARY)?\b", re.IGNORECASE)
_LEAVES_CONNECTION = {"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE_INTO", "CREATE", "DROP", "ALTER", "COPY", "EXPLAIN", "TRANSACTION"}
_ROWS_LOOKED_AT = 100  # of a column that failed
_CHANGES_DATA = {"INSERT", "UPDATE", "DELETE", "MERGE_INTO"}


class Statement:
    """What the engine executes, with its number and the line it begins in."""

    def __init__(self, parsed, text, number, line):
        self.parsed = parsed
        self.text = text
        self.number = number
        self.line = line
        self.kind = parsed.type.name if parsed is not None else ""

    def summary(self, count):
        if self.kind in _CHANGES_DATA or self.kind == "COPY":
            return f"{self.kind.split('_')[0]}: {count} {'row' if count == 1 else 'rows'} affected"
        if self.kind in ("CREATE", "DROP", "ALTER", "CREATE_FUNC"):
            words = re.findall(r"\w+", self.text[:200].upper())
            kinds = [w for w in words[1:] if w in ("TABLE", "VIEW", "INDEX", "MACRO", "SCHEMA", "TYPE")]
            return f"{' '.join([*words[:1], *kinds[:1]])}: ok"
        return ""


class DuckdbEngine:
    name = "DuckDB"
    version = duckdb.__version__
    errors = (duckdb.Error, OSError, ValueError, LookupError, RuntimeError)

    def __init__(self, path, frames):
        self.interrupted = False
        self._path = path
        self._frames = frames
        self._framed = []
        self._notes = []
        self._attached = False
        self._is_plain = True
        self._macros = None  # not known
        self.in_transaction = False  # asking DuckDB would end the transaction
        self.is_aborted = False  # that transaction, by a statement that failed in it: what ends it rolls it back
        self._connection = connect()
        self._parser = self._connection.cursor()  # what it refuses would end a transaction of the connection itself

    def interrupt(self):
        """Again and again until the run is over: DuckDB forgets it when a query is just about to begin."""
        if self.interrupted:
            return
        self.interrupted = True
        self._connection.interrupt()

        def repeat():
            while self.interrupted:
                self._connection.interrupt()
                time.sleep(0.02)

        try:
            threading.Thread(target=repeat, daemon=True).start()
        except RuntimeError:
            pass  # no process is left for it

    def check_interrupt(self):
        if self.interrupted:
            raise KeyboardInterrupt

    def failed(self, error):
        """Also of one that comes with the rows."""
        if error is None or isinstance(error, duckdb.Error):
            self.is_aborted = self.in_transaction

    def holds_state(self):
        """Whether something is lost with the connection: temporary tables, settings, what is attached."""
        return not self._is_plain or self.in_transaction

    def close(self):
        self._connection.close()

    def take_notes(self):
        notes, self._notes = self._notes, []
        return notes

    # --- the file -----------------------------------------------------------------------------------

    def begin(self):
        if self._attached:
            return
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._attach():
            self.check_interrupt()
            if time.monotonic() > deadline:
                raise OSError(f"the session's database is held; {WHO_HOLDS_IT}")
            time.sleep(0.01)  # DuckDB cannot wait for the lock itself
        self._attached = True

    def _attach(self):
        try:
            self._connection.execute(f"ATTACH '{_escaped(self._path)}' AS {SESSION}")
        except duckdb.Error as error:
            if _LOCKED.search(str(error)):
                return False
            raise
        self._connection.execute(f"USE {SESSION}")
        return True

    def end(self):
        if not self._attached or self.in_transaction:
            return  # DataFrames stay as well: the transaction sees one state of them
        for name in self._framed:
            try:
                self._connection.unregister(name)
                self._connection.execute(f"DROP VIEW IF EXISTS temp.{quoted(name)}")
                self._connection.execute(f"DROP TABLE IF EXISTS temp.{quoted(_hidden(name))}")
            except duckdb.Error:
                pass  # the user rolled back, or dropped it
        self._framed = []
        try:
            self._connection.execute("USE memory")
            self._connection.execute(f"DETACH {SESSION}")
            self._attached = False
        except duckdb.Error:
            pass  # the user has made it the target of something of their own: it stays held

    # --- statements ---------------------------------------------------------------------------------

    def statements(self, code):
        if code.lstrip().startswith("."):
            raise ValueError("commands with a dot belong to the duckdb shell; for a list of tables: SHOW TABLES")
        found, start, line, counted = [], 0, 1, 0
        for number, parsed in enumerate(self._parser.extract_statements(code), 1):
            text = parsed.query
            at = code.find(text, start)
            at, start = (at, at + len(text)) if at >= 0 else (start, start)
            first = at + len(text) - len(text.lstrip())
            line, counted = line + code.count("\n", counted, first), max(counted, first)
            found.append(Statement(parsed, text.strip(), number, line))
        return found

    def execute(self, statement, parameters=()):
        if statement.kind == "ATTACH" and self._attach_sqlite(statement.text):
            return Answer()
        self._is_plain = self._is_plain and statement.kind in _LEAVES_CONNECTION and not _TEMPORARY.search(statement.text)
        asked = None if parameters else self._ask_python(statement)
        if asked is not None:
            return Answer(asked[0], Rows(asked[1]))
        if not self.is_aborted:
            self._add_frames(statement)
        cursor = self._execute(statement, converted(parameters, without_numpy))
        if statement.kind == "TRANSACTION":
            was_aborted, self.is_aborted = self.is_aborted, False
            self.in_transaction = _BEGINS.match(statement.text) is not None
            if was_aborted and _COMMITS.match(statement.text):  # DuckDB says nothing
                raise duckdb.TransactionException("TransactionContext Error: nothing is committed: an earlier statement of the "
                                                  "transaction failed, and it was rolled back")
        expected = [one.name for one in statement.parsed.expected_result_type]
        columns = [(column[0], str(column[1])) for column in cursor.description or ()]
        if "QUERY_RESULT" in expected and (expected == ["QUERY_RESULT"] or columns != [("Count", "BIGINT")]):
            return Answer(columns, cursor)
        if "CHANGED_ROWS" in expected:
            rows = cursor.fetchall()
            return Answer(count=rows[0][0] if rows else 0)
        return Answer()

    def _execute(self, statement, parameters):
        while True:
            try:
                return self._connection.execute(statement.parsed, parameters or None)
            except (duckdb.Error, RuntimeError) as error:
                was_aborted, self.is_aborted = self.is_aborted, self.in_transaction
                # The other one is what its Python module makes of SIGINT.
                if isinstance(error, duckdb.InterruptException) or not isinstance(error, duckdb.Error) and "interrupted" in str(error):
                    raise KeyboardInterrupt from None
                missing = _MISSING.match(str(error)) if isinstance(error, duckdb.CatalogException) else None
                # What _add_frames() could not see: DuckDB lists no tables of what has parameters.
                if missing and not self.is_aborted and self._add_frame(missing.group(1)):
                    continue
                why = self._why_missing(missing.group(1)) if missing else duckdb_hints.of_view(str(error), statement.text, self._framed)
                if was_aborted:
                    why = ": an earlier statement of it failed"
                words = duckdb_hints.shortened(_with_reason(str(error), why) if why else str(error))
                raise (error if words == str(error) else type(error)(words)) from None

    def _add_frames(self, statement):
        """Before the statement: an unknown table would end the user's transaction."""
        sql = statement.text
        try:
            names = self._parser.get_table_names(sql)
            can_tell = not self.in_transaction or statement.kind not in _CHANGES_DATA  # of which DuckDB lists none
        except duckdb.Error:
            names, can_tell = set(), False
        created = _CREATES.match(sql)
        if not can_tell:
            names |= {name.strip('"') for name in _SOURCES.findall(sql)} - set(_NAMED_THERE.findall(sql))
            names |= set(filter(foreign_files.is_workbook, _QUOTED.findall(sql)))
        for name in sorted(names):
            if not created or name.lower() != created.group(1).lower().strip('"'):
                self._add_frame(name)

    def _ask_python(self, statement):
        """What is of DataFrames alone is answered where they lie, unless the user has made this connection another one."""
        if statement.kind == "CREATE":
            self._macros = None
        if not self._is_plain or statement.kind != "SELECT" or self.in_transaction:
            return None
        try:
            names = sorted(self._parser.get_table_names(statement.text))
        except duckdb.Error:
            return None
        if not names or any(_is_a_files(name) or self._is_table(name) for name in names) or self._has_macros():
            return None
        return self._frames.query(statement.text, names, self.check_interrupt)

    def _has_macros(self):
        if self._macros is None:
            self._macros = self._connection.execute(
                "SELECT 1 FROM duckdb_functions() WHERE NOT internal LIMIT 1").fetchone() is not None
        return self._macros

    def _attach_sqlite(self, text):
        """DuckDB's own reader of them is an extension, which it would download."""
        asked = foreign_files.sqlite_to_attach(text)
        if asked is None:
            return False
        path, name = asked
        count = foreign_files.attach_sqlite(self._connection, path, name, self.check_interrupt)
        self._notes.append(f"{path} was read into memory as {name}, {count} {'table' if count == 1 else 'tables'}: "
                           "what is changed there does not reach the file (Python's sqlite3 changes it)")
        return True

    def _add_frame(self, name):
        if name not in self._framed and foreign_files.is_workbook(name) and not self._is_table(name):
            frame = foreign_files.read_workbook(name)
            if frame is not None:
                self._framed.append(name)
                register(self._connection, name, frame)
            return frame is not None
        same = next((other for other in self._framed if other.lower() == name.lower()), None)
        if name == same or _is_a_files(name) or not same and self._is_table(name):
            return False
        frame = self._frames.find(name, self.check_interrupt)
        if frame is not None:
            if same:
                raise ValueError(f"the DataFrames {same} and {name} have one name in SQL, where small letters are as capital ones: give one another")
            self._framed.append(name)
            frame.fill_duckdb(self._connection, name, _hidden(name))
        return frame is not None

    def _why_missing(self, name):
        if _is_a_files(name):
            return words_for_missing(name) if "/" in name or foreign_files.is_workbook(name) else ""  # `a.b` may be a table of a schema
        return self._frames.why_missing(name)

    def _is_table(self, name):
        return self._connection.execute(
            "SELECT 1 FROM information_schema.tables WHERE lower(table_name) = lower(?) LIMIT 1",
            [name]).fetchone()

    def place_of(self, error, statement):
        hint = duckdb_hints.way(str(error), statement.text if statement else "")
        if statement is None:
            return hint
        # DuckDB itself shows the line, counted from where the statement begins.
        inside = _LINE.search(str(error))
        line = statement.line + (int(inside.group(1)) - 1 if inside else 0)
        hint = _way_without_extension(str(error), statement.text) + hint
        return f"  statement {statement.number}, line {line}\n" + (hint or self._way_with_commas(str(error), statement.text))

    def _way_with_commas(self, message, sql):
        from hutch_runner import decimal_commas

        if not decimal_commas.may_be_meant(message):
            return ""
        try:
            tables = [name for name in sorted(self._parser.get_table_names(sql)) if not self._is_long(name)]
        except duckdb.Error:
            tables = []
        return decimal_commas.way(sql, tables, self._first_rows)

    def _is_long(self, name):
        """Whether the first rows may take as long as all: those of the user's views."""
        return name not in self._framed and not self.is_aborted and self._connection.execute(
            "SELECT 1 FROM duckdb_views() WHERE lower(view_name) = lower(?) LIMIT 1", [name]).fetchone() is not None

    def _first_rows(self, source):
        if self.is_aborted and not source.startswith("read_csv("):
            return [], []
        connection = self._parser if self.is_aborted else self._connection
        try:
            cursor = connection.execute(f"SELECT * FROM {source} LIMIT {_ROWS_LOOKED_AT}")
            return [column[0] for column in cursor.description], cursor.fetchall()
        except Exception:  # values that Python has no objects for, too: the failure that is explained is told without this
            return [], []


def _way_without_extension(message, sql):
    found = _EXTENSION.search(message)
    if not found or duckdb_hints.is_of_workbook(message, sql):
        return ""
    if "sqlite" in (found[1] or found[2]):
        tables = {name: foreign_files.tables_of_sqlite(name) for name in _QUOTED.findall(sql)}
        path = next(filter(tables.get, tables), "FILE")
        has = f"; its tables: {', '.join(tables[path][:10])}" if tables.get(path) else ""
        return f"(databases of SQLite are read without it: ATTACH '{_escaped(path)}' AS other, then SELECT ... FROM other.TABLE{has})\n"
    return (f"(DuckDB downloads {found[1] or found[2]} from extensions.duckdb.org, where the session's network policy allows that; Python needs "
            "none: pandas reads files in any encoding and of many kinds, and SQL sees its DataFrames as tables)\n")


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _is_a_files(name):
    """Whether no DataFrame has such a name: DuckDB itself reads the file, without waiting for Python."""
    return "/" in name or "." in name


def _escaped(text):
    return text.replace("'", "''")


def _hidden(name):
    return f"DataFrame {name}"


def _with_reason(message, why):
    first, _, rest = message.partition("\n")
    return f"{first.rstrip('!')}{why}\n{rest}"
