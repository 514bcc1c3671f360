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

from hutch_runner import duckdb_hints, foreign_files, intervals
from hutch_runner.attached_files import AttachedFiles
from hutch_runner.duckdb_start import connect
from hutch_runner.engine import WAIT_SECONDS, WHO_HOLDS_IT, Answer, table_over_frame
from hutch_runner.data_frames import register
from hutch_runner.frame_queries import Rows
from hutch_runner.parameters import converted, without_numpy
from hutch_runner.temporary_tables import TemporaryTables
from hutch_runner.unread_files import words_for_missing

SESSION = "session"  # the name under which the file is attached
_LOCKED = re.compile("could not set lock|conflicting lock|being used by another process", re.IGNORECASE)
_LINE = re.compile(r"^LINE (\d+): ", re.MULTILINE)
_MISSING = re.compile(r'Catalog Error: Table with name "?(.+?)"? does not exist')
_EXTENSION = re.compile(r"""extension ["'](?:\S*/)?(\w+)[.\w]*["'] (?:at URL|not found|is an existing)|the (\w+) extension""", re.IGNORECASE)
_UNREAD = re.compile(r'No extension found that is capable of reading the file "([^"\n]+)"')
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
_ROWS_LOOKED_AT = 100  # in a column that failed
_CHANGES_DATA = {"INSERT", "UPDATE", "DELETE", "MERGE_INTO"}
_READS_CSV = re.compile(r"\.(?:csv|tsv|txt)\b", re.IGNORECASE)
_ROWS_OF_DATES = 20_480  # as many as DuckDB looks at to tell them
_ATTACHES = {"ATTACH", "DETACH"}
_ENCRYPTED = re.compile(r"\bENCRYPTION_", re.IGNORECASE)
_MISSING_CATALOG = re.compile(r"""(?:[Cc]atalog|[Ss]chema|[Dd]atabase)\b[^\n]*?["']([^"'\n]+)["'][^\n]*does not exist""")
# Answers differ by these, and each connection of a session has its own.
_CHANGES_ANSWERS = re.compile(r"SET\s+(?:(?:SESSION|GLOBAL|LOCAL)\s+)?(TimeZone|TIME\s+ZONE|Calendar|(?:default_)?null_order|default_order|"
                              r"default_collation|integer_division|VARIABLE\s+\w+)\b", re.IGNORECASE)
_MAKES_TABLES = {"CREATE", "ALTER"}


class Statement:
    """A statement for the engine, with its number and the line it begins in."""

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
    others_meanwhile = "cannot use the session's database"
    errors = (duckdb.Error, OSError, ValueError, LookupError, RuntimeError)

    def __init__(self, path, frames):
        self.interrupted = False
        self.has_intervals_beside = False  # see intervals.chosen_of(), which the caller of execute() is to ask then
        self._path = path
        self._frames = frames
        self._framed = []
        self._notes = []
        self._told = set()  # notes that a session has once
        self._attached_files = AttachedFiles(os.path.dirname(path))
        self._temporary_tables = TemporaryTables(os.path.dirname(path))
        self._held = set()  # files of them that DuckDB has open here, which no other process can have
        self._copies = {}  # databases of them that are in memory here, by name
        self._looked_at = set()  # files whose columns have been looked at
        self._seen = set()  # names that were DataFrames in this session
        self._attached = False
        self._is_plain = True
        self._macros = None  # not known
        self.in_transaction = False  # asking DuckDB would end the transaction
        self.is_aborted = False  # that transaction, by a statement that failed in it: what ends it rolls it back
        self._connection = connect()
        self._parser = self._connection.cursor()  # a refusal would end a transaction of the connection itself

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
            if self.interrupted:
                raise KeyboardInterrupt(f"it waited for the session's database; {WHO_HOLDS_IT}")
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
            self._remove_frame(name)
        self._framed = []
        try:
            self._connection.execute("USE memory")
            self._let_go()
            self._connection.execute(f"DETACH {SESSION}")
            self._attached = False
        except duckdb.Error:
            pass  # the user has made it the target of something of their own: it stays held

    def _remove_frame(self, name):
        try:
            self._connection.unregister(name)
            self._connection.execute(f"DROP VIEW IF EXISTS temp.{quoted(name)}")
            self._connection.execute(f"DROP TABLE IF EXISTS temp.{quoted(_hidden(name))}")
        except duckdb.Error:
            pass  # the user rolled back, or dropped it

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
        if statement.kind != "ATTACH":
            self._attach_again(statement.text)
        before = self._databases() if statement.kind in _ATTACHES else None
        self._is_plain = self._is_plain and self._leaves_connection(statement)
        asked = None if parameters else self._ask_python(statement)
        if asked is not None and not any(intervals.is_one(kind) for _, kind in asked[0]):  # which have lost their months
            self._seen |= asked[2]
            return Answer(asked[0], Rows(asked[1]))
        if not self.is_aborted:
            self._add_frames(statement)
        changed = self._copies_changed_by(statement)
        cursor, columns = self._with_intervals(statement, converted(parameters, without_numpy))
        for copy in changed:
            copy.is_changed = True
        answer = self._answer_of(statement, cursor, columns)
        if before is not None:
            self._note_attached(before, statement.text)
        if _READS_CSV.search(statement.text) and statement.kind != "COPY":
            self._tell_of_columns(statement.text, [name for name, _ in columns])
        if statement.kind == "SET" and (setting := _CHANGES_ANSWERS.match(statement.text)):
            self._tell_once(f"{setting[1]} is set here alone: SQL cells, hutch.sql() in Python and that in JavaScript need a SET each")
        if statement.kind in _MAKES_TABLES:
            self._temporary_tables.note_made_by(statement.text)
            self._give_way_to_tables(statement.text.lower())
        return answer

    def _with_intervals(self, statement, parameters):
        """The cursor, and its columns as the statement gives them."""
        is_query = statement.kind == "SELECT"
        columns = self._described(statement) if is_query and not parameters and not self.is_aborted and intervals.may_be_in(statement.text) else None
        cursor = None
        if columns is None or not any(intervals.is_one(kind) for _, kind in columns):
            cursor = self._execute(statement, parameters)
            columns = [(column[0], str(column[1])) for column in cursor.description or ()]
        again = intervals.as_text(statement.text, columns, self.has_intervals_beside) if is_query else None
        parsed = self._parsed(again) if again else None
        if parsed is None:
            return cursor or self._execute(statement, parameters), columns
        try:
            return self._connection.execute(parsed, parameters or None), columns
        except (duckdb.Error, RuntimeError) as error:
            self.is_aborted = self.in_transaction
            if self.interrupted or isinstance(error, duckdb.InterruptException):
                raise KeyboardInterrupt from None
            if self.in_transaction:
                raise
            return self._execute(statement, parameters), columns  # which tells what fails, in the user's own words

    def _described(self, statement):
        """None where it fails: the statement itself then tells why."""
        if self.in_transaction:
            return None  # which such a failure would end
        try:
            rows = self._connection.execute(f"DESCRIBE {statement.text}").fetchall()
            return [(str(row[0]), str(row[1])) for row in rows]
        except (duckdb.Error, RuntimeError):
            self.check_interrupt()
            return None

    def _parsed(self, sql):
        try:
            [parsed] = self._parser.extract_statements(sql)
        except (duckdb.Error, ValueError):
            return None
        return parsed if parsed.type.name == "SELECT" else None

    def _answer_of(self, statement, cursor, columns):
        if statement.kind == "TRANSACTION":
            was_aborted, self.is_aborted = self.is_aborted, False
            self.in_transaction = _BEGINS.match(statement.text) is not None
            if was_aborted and _COMMITS.match(statement.text):  # DuckDB says nothing
                raise duckdb.TransactionException("TransactionContext Error: nothing is committed: an earlier statement of the "
                                                  "transaction failed, and it was rolled back")
        expected = [one.name for one in statement.parsed.expected_result_type]
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
                unknown = _MISSING_CATALOG.search(str(error))  # also where a view reads it
                if unknown and not was_aborted and not self.in_transaction and self._attach_again(f"{unknown.group(1)}."):
                    continue
                missing = _MISSING.match(str(error)) if isinstance(error, duckdb.CatalogException) else None
                # _add_frames() could not see it: DuckDB lists no tables of statements with parameters.
                if missing and not self.is_aborted and self._add_frame(missing.group(1)):
                    continue
                why = self._why_missing(missing.group(1)) if missing else duckdb_hints.of_view(str(error), statement.text, self._framed)
                if was_aborted:
                    why = ": an earlier statement of it failed"
                raise (type(error)(_with_reason(str(error), why)) if why else error) from None

    def _add_frames(self, statement):
        """Before the statement: an unknown table would end the user's transaction."""
        sql = statement.text
        try:
            names = self._names_in(sql)
            can_tell = not self.in_transaction or statement.kind not in _CHANGES_DATA  # DuckDB lists no tables of these
        except duckdb.Error:
            names, can_tell = set(), False
        created = _CREATES.match(sql)
        made = created.group(1).lower().strip('"') if created else None
        if not can_tell:
            names |= {name.strip('"') for name in _SOURCES.findall(sql)} - set(_NAMED_THERE.findall(sql))
            names |= set(filter(foreign_files.is_workbook, _QUOTED.findall(sql)))
        for name in sorted(names):
            if name.lower() != made or _reads(sql, name):
                self._add_frame(name)

    def _ask_python(self, statement):
        """Answers queries of DataFrames alone where they lie, unless the user has made this connection another one."""
        if statement.kind == "CREATE":
            self._macros = None
        if not self._is_plain or statement.kind != "SELECT" or self.in_transaction:
            return None
        try:
            names = sorted(self._names_in(statement.text))
        except duckdb.Error:
            return None
        if not names or any(_is_a_files(name) or self._is_table(name) for name in names) or self._has_macros():
            return None
        answer = self._frames.query(statement.text, names, self.check_interrupt)
        return answer and (*answer, set(names))

    def _has_macros(self):
        if self._macros is None:
            self._macros = self._connection.execute(
                "SELECT 1 FROM duckdb_functions() WHERE NOT internal LIMIT 1").fetchone() is not None
        return self._macros

    def _leaves_connection(self, statement):
        if statement.kind in _ATTACHES:
            return True  # see _note_attached()
        return statement.kind in _LEAVES_CONNECTION and not self._copies_changed_by(statement) and not _TEMPORARY.search(statement.text)

    def _copies_changed_by(self, statement):
        if not self._copies or statement.kind in ("SELECT", "EXPLAIN", "TRANSACTION") or self.is_aborted:
            return []
        used = self._connection.execute("SELECT current_database()").fetchone()[0]
        return [copy for alias, copy in self._copies.items() if alias.lower() == used.lower() or foreign_files.changes(statement.text, alias)]

    def _databases(self):
        return {row[0]: row[1:] for row in self._connection.execute(
            "SELECT database_name, path, type, readonly FROM duckdb_databases() WHERE NOT internal").fetchall()}

    def _note_attached(self, before, sql):
        after = self._databases()
        for alias in after.keys() - before.keys():
            path, kind, read_only = after[alias]
            if kind == "duckdb" and path and os.path.isfile(path) and not _ENCRYPTED.search(sql):
                self._attached_files.put(alias, path, kind, bool(read_only))
                self._held.add(alias)
            else:
                self._is_plain = False
        for alias in before.keys() - after.keys():
            self._attached_files.remove(alias)
            self._held.discard(alias)
            self._copies.pop(alias, None)

    def _attach_again(self, sql):
        """Attaches what another process of the session has, or this one had before it was stored; and files that end() has let go."""
        named = {} if self.is_aborted else self._attached_files.named_in(sql)
        self._forget_old_copies(named)
        if not named:
            return False
        here = {name.lower() for name in self._databases()}
        return any([self._attach_one(alias, *named[alias]) for alias in sorted(named) if alias.lower() not in here])

    def _forget_old_copies(self, named):
        for alias, copy in list(self._copies.items()):
            is_others = named.get(alias, (copy.path,))[0] != copy.path  # another process has given its name to another file
            if not is_others and not copy.is_old():
                continue
            try:
                if self.in_transaction or copy.is_changed and not is_others:
                    raise duckdb.TransactionException("it stays as it is")
                self._connection.execute(f"DETACH {quoted(alias)}")
                del self._copies[alias]
            except duckdb.Error:  # also where it is the one in use
                if alias in named and not is_others:
                    self._tell_once(copy.words(alias))

    def _attach_one(self, alias, path, kind, read_only):
        if not os.path.isfile(path) or kind == "sqlite" and self.in_transaction:  # which would have two databases changed
            return False
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                if kind == "sqlite":
                    copy = foreign_files.Copy(path)
                    foreign_files.attach_sqlite(self._connection, path, alias, self.check_interrupt)
                    self._copies[alias] = copy
                else:
                    self._connection.execute(f"ATTACH '{_escaped(path)}' AS {quoted(alias)}{' (READ_ONLY)' if read_only else ''}")
                    self._held.add(alias)
                return True
            except Exception as error:  # the statement itself tells what it misses
                self.check_interrupt()
                if not _LOCKED.search(str(error)) or time.monotonic() > deadline:
                    return False
                time.sleep(0.01)

    def _let_go(self):
        for alias in sorted(self._held):
            try:
                self._connection.execute(f"DETACH {quoted(alias)}")
                self._held.discard(alias)
            except duckdb.Error:
                pass  # something of the user's depends on it

    def _attach_sqlite(self, text):
        """DuckDB's own reader of them is an extension, which it would download."""
        asked = foreign_files.sqlite_to_attach(text)
        if asked is None:
            return False
        path, name = asked
        copy = foreign_files.Copy(path)
        count = foreign_files.attach_sqlite(self._connection, path, name, self.check_interrupt)
        self._attached_files.put(name, path, "sqlite", False)
        self._copies[name] = copy
        self._notes.append(f"{path} was read into memory as {name}, {count} {'table' if count == 1 else 'tables'}: "
                           "what is changed there does not reach the file (Python's sqlite3 changes it)")
        return True

    def _add_frame(self, name):
        if name not in self._framed and foreign_files.is_workbook(name) and not self._is_table(name):
            read = foreign_files.read_workbook(name)
            if read is not None:
                self._framed.append(name)
                register(self._connection, name, read[0])
                self._tell_once(read[1])
            return read is not None
        same = next((other for other in self._framed if other.lower() == name.lower()), None)
        if name == same or _is_a_files(name):
            return False
        if not same and self._is_table(name):
            if self._frames.has(name):
                self._tell_of_table(name)
            return False
        frame = self._frames.find(name, self.check_interrupt)
        if frame is not None:
            if same:
                raise ValueError(f"the DataFrames {same} and {name} have one name in SQL, where small letters are as capital ones: give one another")
            self._framed.append(name)
            self._seen.add(name)
            frame.fill_duckdb(self._connection, name, _hidden(name))
        return frame is not None

    def _give_way_to_tables(self, sql):
        """A DataFrame is a temporary view, which goes before the table that a statement has made under its name."""
        for name in [name for name in self._seen if name.lower() in sql]:
            if not self._connection.execute("SELECT 1 FROM information_schema.tables WHERE lower(table_name) = lower(?) "
                                            "AND table_catalog = current_database() AND table_schema = current_schema()", [name]).fetchall():
                continue
            if name in self._framed:
                self._remove_frame(name)
                self._framed.remove(name)
            self._tell_of_table(name)

    def _tell_of_columns(self, sql, shown):
        """Tells it once of each file."""
        from hutch_runner import csv_columns

        for path in csv_columns.files_of(sql):
            if path not in self._looked_at:
                note = csv_columns.note(path, sql, True, lambda column, text: self._order_of_dates(path, column, text), lambda: self._form_of(path), shown)
                if note is not None:
                    self._looked_at.add(path)
                self._tell_once(note)

    def _order_of_dates(self, path, column, text):
        """Which is first in dates that DuckDB could read both ways, day or month; nothing where other rows have settled it."""
        try:
            name = quoted(column)
            later = self._parser.execute(
                f"SELECT count(*) FROM (SELECT regexp_extract_all({name}, '\\d+') AS n FROM read_csv(?, all_varchar = true) "
                f"LIMIT {_ROWS_OF_DATES}) WHERE TRY_CAST(n[1] AS INTEGER) > 12 OR TRY_CAST(n[2] AS INTEGER) > 12", [path]).fetchall()
            [read] = self._parser.execute(
                f"SELECT parts FROM (SELECT [day({name}), month({name}), year({name}) % 100] AS parts FROM read_csv(?) LIMIT {_ROWS_LOOKED_AT}) "
                "WHERE parts[1] <> parts[2] AND parts[1] <> parts[3] AND parts[2] <> parts[3] LIMIT 1", [path]).fetchall()
        except Exception:  # it is text to DuckDB, or cannot be read without what the statement has said
            return ""
        first, second, year = (int(number) % 100 for number in re.findall(r"\d+", text)[:3])
        orders = {(first, second, year): "day", (second, first, year): "month"}  # some read the year first
        return orders.get(tuple(read[0]), "") if later == [(0,)] else ""

    def _form_of(self, path):
        """How DuckDB reads the file when it is told nothing: the names of its columns, and how many lines come before them."""
        try:
            [[columns, skipped]] = self._parser.execute("SELECT Columns, SkipRows FROM sniff_csv(?)", [path]).fetchall()
        except Exception:  # it cannot be read without what the statement has said
            return [], 0
        return [column["name"] for column in columns], skipped

    def _tell_of_table(self, name):
        """Tells it once, and again when Python has run since: its DataFrame may be another."""
        self._tell_once(table_over_frame(name), self._frames.version())

    def _tell_once(self, note, version=None):
        if note and (note, version) not in self._told:
            self._told.add((note, version))
            self._notes.append(note)

    def _why_missing(self, name):
        if _is_a_files(name):
            return words_for_missing(name) if "/" in name or foreign_files.is_workbook(name) else ""  # `a.b` may be a table of a schema
        return self._frames.why_missing(name) + self._temporary_tables.why_missing(name)

    def _names_in(self, sql):
        """Tables that a statement names without their database or schema."""
        names = self._parser.get_table_names(sql)
        if "." not in sql:
            return names
        whole = [one.partition(" AS ")[0] for one in self._parser.get_table_names(sql, qualified=True)]
        return {name for name in names if name in whole or quoted(name) in whole or _is_a_files(name) or " AS " in name}

    def _is_table(self, name):
        """Whether the name alone means one; a table of another database or schema is none."""
        found = self._connection.execute("SELECT table_catalog, table_schema FROM information_schema.tables WHERE lower(table_name) = lower(?)",
                                         [name]).fetchall()
        if not found:
            return False
        [[database, schemas]] = self._connection.execute("SELECT current_database(), current_schemas(false)").fetchall()
        return any(catalog == "temp" or catalog == database and schema in schemas for catalog, schema in found)

    def message_of(self, error):
        return duckdb_hints.shortened(str(error))

    def place_of(self, error, statement):
        hint = duckdb_hints.way(str(error), statement.text if statement else "")
        if statement is None:
            return hint
        # DuckDB itself shows the line, counted from where the statement begins.
        inside = _LINE.search(str(error))
        line = statement.line + (int(inside.group(1)) - 1 if inside else 0)
        unknown = _MISSING_CATALOG.search(str(error))  # also where a view reads it
        hint = self._attached_files.why_missing(statement.text + (f"\n{unknown[1]}." if unknown else "")) + _way_without_extension(str(error), statement.text) + hint
        return f"  statement {statement.number}, line {line}\n" + (hint or self._way_with_commas(str(error), statement.text) or self._way_to_fields(str(error), statement.text))

    def _way_to_fields(self, message, sql):
        """Tells how a file has the columns that a statement names, where its form was mistaken."""
        if "Candidate bindings" not in message or not _READS_CSV.search(sql):
            return ""
        from hutch_runner import csv_columns

        notes = (csv_columns.note_of_form(path, sql, lambda: self._form_of(path)) for path in csv_columns.files_of(sql))
        return next((f"({note})\n" for note in notes if note), "")

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
    if unread := _UNREAD.search(message):
        return _way_to_sqlite([unread[1]])
    if not found or duckdb_hints.is_of_workbook(message, sql):
        return ""
    if "sqlite" in (found[1] or found[2]):
        return _way_to_sqlite(_QUOTED.findall(sql)) or _way_to_attach("FILE", ["TABLE"])
    if way := foreign_files.way_to_workbook(found[1] or found[2], sql):
        return way
    return (f"(DuckDB downloads {found[1] or found[2]} from extensions.duckdb.org, where the session's network policy allows that; Python needs "
            "none: pandas reads files in any encoding and of many kinds, and SQL sees its DataFrames as tables)\n")


def _way_to_sqlite(names):
    """Tells it of the first that is a database of SQLite."""
    return next((_way_to_attach(name, tables) for name in names if (tables := foreign_files.tables_of_sqlite(name))), "")


def _way_to_attach(path, tables):
    more = f"; its tables: {', '.join(tables[:10])}" if len(tables) > 1 else ""
    table = tables[0] if re.fullmatch(r"[^\W\d]\w*", tables[0]) else quoted(tables[0])
    return f"(databases of SQLite are read without it: ATTACH '{_escaped(path)}' AS other, then SELECT ... FROM other.{table}{more})\n"


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def _reads(sql, name):
    """Whether the table that a statement makes is one that it reads as well."""
    return name.lower() in (source.lower().strip('"') for source in _SOURCES.findall(sql))


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
