"""SQLite, the engine that is always there."""

import functools
import os
import re
import sqlite3

from hutch_runner import foreign_paths
from hutch_runner.attached_files import AttachedFiles
from hutch_runner.engine import WAIT_SECONDS, Answer, table_over_frame
from hutch_runner.error_place import offset_of
from hutch_runner.data_frames import have_times
from hutch_runner.files import FileTables, quoted
from hutch_runner.parameters import converted, for_sqlite
from hutch_runner.sqlite_hints import asked_columns_of, hint, hint_of_lock, hint_of_unseen, hint_of_view, is_called
from hutch_runner.statements import split_statements
from hutch_runner.temporary_tables import TemporaryTables
from hutch_runner.unread_files import is_a_files, words_for_unread

STEPS_BETWEEN_CHECKS = 2000  # steps of SQLite's virtual machine: some microseconds
UNKNOWN_TABLES_MAX = 20  # files and DataFrames that one statement may name
_CHANGES_CONNECTION = re.compile(r"\b(?:TEMP|TEMPORARY|PRAGMA)\b", re.IGNORECASE)
_ATTACHES = re.compile(r"(ATTACH|DETACH)\b", re.IGNORECASE)
_MAKES_TABLES = re.compile(r"(?:CREATE|ALTER)\b", re.IGNORECASE)
_SOURCES = re.compile(r"""\b(?:FROM|JOIN)\s+("[^"]+"|[^\W\d]\w*)""", re.IGNORECASE)
_MISSING = re.compile(r"no such table: (?:main\.|temp\.)?(.+)", re.DOTALL)


class SqliteEngine:
    name = "SQLite"
    version = sqlite3.sqlite_version
    others_meanwhile = "see nothing of it, and cannot write"
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
        self._notes = []
        self._told = set()
        self._attached_files = AttachedFiles(os.path.dirname(path))
        self._temporary_tables = TemporaryTables(os.path.dirname(path))
        self._looked_at = set()  # files whose columns have been looked at

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
        for name in self._framed:
            self._remove_frame(name)
        self._framed = []

    def _remove_frame(self, name):
        # A table or a view may be gone: the user rolled back, or dropped it.
        for kind, one in (("VIEW", name), ("TABLE", _hidden(name))):
            try:
                self._database.execute(f"DROP {kind} IF EXISTS temp.{quoted(one)}")
            except sqlite3.Error:
                pass

    def _has_table(self, name):
        return self._database.execute("SELECT 1 FROM main.sqlite_schema WHERE lower(name) = lower(?)", (name,)).fetchone()

    def statements(self, code):
        return split_statements(code)

    def take_notes(self):
        for name in filter(self._has_table, self._framed):
            self._tell_of_table(name)
        notes, self._notes = self._notes, []
        return notes

    def execute(self, statement, parameters=()):
        if statement.text.startswith("."):
            raise sqlite3.OperationalError(
                "commands with a dot belong to the sqlite3 shell; for a list of tables: "
                "SELECT name, sql FROM sqlite_schema")
        self._is_plain = self._is_plain and not _CHANGES_CONNECTION.search(statement.text)
        attaches = _ATTACHES.match(statement.text)
        if not attaches or attaches[1].upper() == "DETACH":
            self._attach_again(statement.text)
        before = self._databases() if attaches else None
        self._files.forget_changed()
        self._load_what_is_described(asked_columns_of(statement.text))
        changes = self._database.total_changes
        cursor = self._execute(statement.text, parameters)
        self._tell_of_tables_over_frames(statement.text)
        if cursor.description:
            return Answer([(column[0], "") for column in cursor.description], cursor,
                          close=cursor.close)  # half read, it would hold its locks
        count = cursor.rowcount if cursor.rowcount >= 0 else self._database.total_changes - changes
        cursor.close()
        if before is not None:
            self._note_attached(before)
        if _MAKES_TABLES.match(statement.text):
            self._temporary_tables.note_made_by(statement.text)
            self._give_way_to_tables()
        return Answer(count=count)

    def _databases(self):
        return {name: path for _, name, path in self._database.execute("PRAGMA database_list") if name not in ("main", "temp")}

    def _note_attached(self, before):
        after = self._databases()
        for alias in after.keys() - before.keys():
            if after[alias]:
                self._attached_files.put(alias, after[alias], "sqlite", False)
            else:
                self._is_plain = False  # in memory
        for alias in before.keys() - after.keys():
            self._attached_files.remove(alias)

    def _attach_again(self, sql):
        """Attaches what another process of the session has, or this one had before it was stored."""
        named = self._attached_files.named_in(sql)
        here = {alias.lower(): path for alias, path in self._databases().items()} if named else {}
        for alias, (path, kind, _) in named.items():
            if kind != "sqlite" or here.get(alias.lower()) == path or not os.path.isfile(path):
                continue
            try:
                if alias.lower() in here:  # another process has given its name to another file
                    self._database.execute(f"DETACH {quoted(alias)}")
                self._database.execute(f"ATTACH ? AS {quoted(alias)}", (path,))
            except sqlite3.Error:
                pass  # the statement itself tells what it misses

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
                    why = words_for_unread(name) if is_a_files(name, sql) else self._frames.why_missing(name) + self._temporary_tables.why_missing(name)
                    raise sqlite3.OperationalError(f"{error}{why}{words}") from None

    def _give_way_to_tables(self):
        """A DataFrame is a temporary view, which goes before the table that a statement has made under its name. It stays among
        those that end with the run: a rollback brings the view back."""
        for name in self._framed:
            if self._has_table(name):
                self._remove_frame(name)

    def _tell_of_tables_over_frames(self, sql):
        for name in sorted({name.strip('"') for name in _SOURCES.findall(sql)}.difference(self._framed)):
            if self._has_table(name) and self._frames.has(name):
                self._tell_of_table(name)

    def _tell_of_table(self, name):
        """Tells it once, and again when Python has run since: its DataFrame may be another."""
        note = (table_over_frame(name), self._frames.version())
        if note not in self._told:
            self._told.add(note)
            self._notes.append(note[0])

    def _parameter(self, value):
        return for_sqlite(value, among_times=have_times(self._database, map(_hidden, self._framed)))

    def _load_what_is_described(self, name):
        # A view may need files or DataFrames itself.
        if not name or self._execute("SELECT 1 FROM pragma_table_info(?)", (name,)).fetchone():
            return
        if self._files.could_be(name):
            self._files.load(name)
        elif not self._frames.busy():  # a missing one has no columns, which is nothing to wait for
            self._add_frame(name)

    def _add_file_or_frame(self, name, sql):
        if self._files.could_be(name):
            self._files.load(name)
            self._tell_of_columns(name, sql)
            return True
        return not is_a_files(name, sql) and self._add_frame(name)

    def _tell_of_columns(self, path, sql):
        """Tells it once of each file."""
        if path in self._looked_at or not path.lower().endswith((".csv", ".tsv")):
            return
        from hutch_runner import csv_columns

        note = csv_columns.note(path, sql, has_options=False)
        if note is not None:
            self._looked_at.add(path)
        if note:
            self._notes.append(note)

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

    def message_of(self, error):
        return str(error)

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
        way += self._attached_files.why_missing(statement.text)
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
