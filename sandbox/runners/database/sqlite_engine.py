"""SQLite, the engine that is always there."""

import functools
import re
import sqlite3

from hutch_runner import foreign_paths
from hutch_runner.engine import WAIT_SECONDS, Answer
from hutch_runner.error_place import offset_of
from hutch_runner.data_frames import have_times
from hutch_runner.files import FileTables, quoted
from hutch_runner.parameters import converted, for_sqlite
from hutch_runner.sqlite_hints import asked_columns_of, hint, hint_of_lock, hint_of_unseen, hint_of_view, is_called
from hutch_runner.statements import split_statements
from hutch_runner.unread_files import is_a_files, words_for_unread

STEPS_BETWEEN_CHECKS = 2000  # of SQLite's virtual machine: some microseconds
UNKNOWN_TABLES_MAX = 20  # files and DataFrames that one statement may name
_CHANGES_CONNECTION = re.compile(r"\b(?:TEMP|TEMPORARY|ATTACH|DETACH|PRAGMA)\b", re.IGNORECASE)
_MISSING = re.compile(r"no such table: (?:main\.|temp\.)?(.+)", re.DOTALL)


class SqliteEngine:
    name = "SQLite"
    version = sqlite3.sqlite_version
    errors = (sqlite3.Error, sqlite3.Warning, OSError, ValueError, LookupError)
    is_aborted = False  # a statement that fails leaves its transaction as it was, or rolls it back

    def __init__(self, path, frames):
        self.interrupted = False
        self._frames = frames
        self._database = open_database(path)
        self._database.set_progress_handler(lambda: self.interrupted, STEPS_BETWEEN_CHECKS)
        self._files = FileTables(self._database, self.check_interrupt)
        self._framed = []  # names of the DataFrames that are tables now
        self._is_plain = True

    @property
    def in_transaction(self):
        return self._database.in_transaction

    def interrupt(self):
        self.interrupted = True

    def check_interrupt(self):
        if self.interrupted:
            raise KeyboardInterrupt

    def failed(self, error):
        pass

    def holds_state(self):
        """Whether something is lost with the connection: temporary tables, settings, what is attached."""
        return not self._is_plain or self._database.in_transaction

    def close(self):
        self._database.close()  # merges the log into the database file

    def begin(self):
        pass  # any process may have the file open

    def end(self):
        """Drops what stood for DataFrames: by the next run they may be others."""
        database = self._database
        for name in self._framed:
            # A table or a view may be gone: the user rolled back, or dropped it.
            for kind, one in (("VIEW", name), ("TABLE", _hidden(name))):
                try:
                    database.execute(f"DROP {kind} IF EXISTS temp.{quoted(one)}")
                except sqlite3.Error:
                    pass
        self._framed = []

    def statements(self, code):
        return split_statements(code)

    def take_notes(self):
        notes = []
        for name in self._framed:
            if self._database.execute("SELECT 1 FROM main.sqlite_schema WHERE name = ?", (name,)).fetchone():
                notes.append(f"{name} is a table of the database now, and goes before Python's DataFrame of that name")
        return notes

    def execute(self, statement, parameters=()):
        if statement.text.startswith("."):
            raise sqlite3.OperationalError(
                "commands with a dot belong to the sqlite3 shell; for a list of tables: "
                "SELECT name, sql FROM sqlite_schema")
        self._is_plain = self._is_plain and not _CHANGES_CONNECTION.search(statement.text)
        self._files.forget_changed()
        self._load_what_is_described(asked_columns_of(statement.text))
        changes = self._database.total_changes
        cursor = self._execute(statement.text, parameters)
        if cursor.description:
            return Answer([(column[0], "") for column in cursor.description], cursor,
                          close=cursor.close)  # half read, it would hold its locks
        count = cursor.rowcount if cursor.rowcount >= 0 else self._database.total_changes - changes
        cursor.close()
        return Answer(count=count)

    def _execute(self, sql, parameters):
        tried = set()
        while True:
            try:
                return self._database.execute(sql, converted(parameters, self._parameter))
            except sqlite3.OperationalError as error:
                if self.interrupted:
                    raise KeyboardInterrupt from None
                missing = _MISSING.match(str(error))
                name = missing.group(1) if missing else ""
                words = hint(str(error), sql) or hint_of_view(str(error), self._framed) or hint_of_lock(error)
                if missing is None and not words:
                    raise
                if missing is None or is_called(name, sql):  # no DataFrame is
                    raise sqlite3.OperationalError(f"{error}{words}") from None
                if name in tried or len(tried) >= UNKNOWN_TABLES_MAX or self._files.has(name):
                    raise sqlite3.OperationalError(f"{error}{hint_of_unseen(str(error), name, self._framed)}") from None
                tried.add(name)
                if not self._add_file_or_frame(name, sql):
                    why = words_for_unread(name) if is_a_files(name, sql) else self._frames.why_missing(name)
                    raise sqlite3.OperationalError(f"{error}{why}{words}") from None

    def _parameter(self, value):
        return for_sqlite(value, among_times=have_times(self._database, map(_hidden, self._framed)))

    def _load_what_is_described(self, name):
        # A view may need files or DataFrames itself.
        if not name or self._execute("SELECT 1 FROM pragma_table_info(?)", (name,)).fetchone():
            return
        if self._files.could_be(name):
            self._files.load(name)
        elif not self._frames.busy():  # what is not there has no columns, which is nothing to wait for
            self._add_frame(name)

    def _add_file_or_frame(self, name, sql):
        if self._files.could_be(name):
            self._files.load(name)
            return True
        return not is_a_files(name, sql) and self._add_frame(name)

    def _add_frame(self, name):
        frame = self._frames.find(name, self.check_interrupt)
        if frame is None:
            return False
        self._framed.append(name)
        frame.fill_sqlite(self._database, _hidden(name), self._checked)
        # A view, so that nobody takes a change of it for a change of the DataFrame.
        self._database.execute(f"CREATE TEMP VIEW {quoted(name)} AS SELECT * FROM temp.{quoted(_hidden(name))}")
        return True

    def _checked(self, rows):
        for number, row in enumerate(rows):
            if number % 5000 == 0:
                self.check_interrupt()
            yield row

    def place_of(self, error, statement):
        if statement is None:
            return ""
        offset = offset_of(str(error), statement.text)
        line, text, mark = statement.line, statement.text.split("\n")[0], ""
        if offset is not None:
            before = statement.text[:offset]
            start = before.rfind("\n") + 1
            line += before.count("\n")
            text = statement.text[start:].split("\n")[0]
            column = offset - start
            if column > 200:
                text, column = "..." + text[column - 100:], 103
            mark = f"    {' ' * column}^\n"
        way = foreign_paths.way_in(str(error)) if "no such file" in str(error) or "unable to open database" in str(error) else ""
        return f"  statement {statement.number}, line {line}:\n    {text[:300]}\n{mark}{way}"


def _hidden(name):
    return f"DataFrame {name}"


def open_database(path):
    database = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None,
                               check_same_thread=False)
    # Without isolation_level transactions are the user's: BEGIN, COMMIT.
    try:
        # Readers and a writer at once: a background run reads while this one writes.
        database.execute("PRAGMA journal_mode = WAL").close()
    except sqlite3.OperationalError:
        pass  # busy, or a file system without shared memory: the default mode works too
    database.text_factory = functools.partial(str, encoding="utf-8", errors="replace")
    return database
