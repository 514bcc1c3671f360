"""Files as tables: SELECT * FROM "data.csv" loads the file into a temporary one of that name.

Triggers refuse to change it, so that nobody takes that for a change of the file.
"""

import json
import os

from hutch_runner.delimited import INTEGER_MAX, read_delimited

ROWS_BETWEEN_CHECKS = 5000


class FileTables:
    """Loads files when a statement names them, and again when they have changed."""

    def __init__(self, database, check_interrupt):
        self._database = database
        self._check_interrupt = check_interrupt
        self._loaded = {}  # table -> its path, and what stamp_of() it was

    def forget_changed(self):
        """Drops the tables of files that have changed, so that they are loaded anew."""
        if self._database.in_transaction:
            return  # a transaction sees one state of the files, as it does of the tables
        for name, (path, *stamp) in list(self._loaded.items()):
            if path_of(name) != path or stamp_of(path) != stamp:  # in another folder the name is another file's
                if self.has(name):
                    self._database.execute(f"DROP TABLE temp.{quoted(name)}")
                del self._loaded[name]

    def has(self, name):
        # Loaded, and still there: the user may have rolled back, or dropped it, or made another one.
        return name in self._loaded and self._database.execute(
            "SELECT 1 FROM temp.sqlite_schema WHERE type = 'trigger' AND name = ?", (_trigger("DELETE", name),)).fetchone()

    def could_be(self, name):
        return os.path.splitext(name)[1].lower() in _READERS and os.path.isfile(name)

    def load(self, name):
        """Makes the table of a file that could be one."""
        stamp = stamp_of(name)
        self._fill(name, *_READERS[os.path.splitext(name)[1].lower()](name))
        self._loaded[name] = (path_of(name), *stamp)

    def _fill(self, name, columns, types, rows):
        database = self._database
        declared = ", ".join(f"{quoted(c)} {t}" for c, t in zip(unique(columns), types))
        marks = ", ".join("?" * len(columns))
        # A savepoint works inside the user's transaction and outside of one.
        database.execute("SAVEPOINT hutch_load")
        try:
            database.execute(f"CREATE TEMP TABLE {quoted(name)} ({declared})")
            database.executemany(f"INSERT INTO temp.{quoted(name)} VALUES ({marks})",
                                 self._checked(rows()))
            refusal = refusal_to_change(name).replace("'", "''")
            for change in ("INSERT", "UPDATE", "DELETE"):
                database.execute(f"CREATE TEMP TRIGGER {quoted(_trigger(change, name))} BEFORE {change} "
                                 f"ON temp.{quoted(name)} BEGIN SELECT RAISE(ABORT, '{refusal}'); END")
        except BaseException:
            database.execute("ROLLBACK TO hutch_load")
            raise
        finally:
            database.execute("RELEASE hutch_load")

    def _checked(self, rows):
        for number, row in enumerate(rows):
            if number % ROWS_BETWEEN_CHECKS == 0:
                self._check_interrupt()
            yield row


def _trigger(change, name):
    return f"{change} of file {name}"


def refusal_to_change(name):
    return (f"cannot modify {name}; it is a file, which SQL can only read: "
            f"CREATE TABLE t AS SELECT * FROM {quoted(name)} makes a table to change")


def path_of(name):
    try:
        return os.path.abspath(name)
    except OSError:  # the working directory is gone
        return None


def stamp_of(path):
    try:
        status = os.stat(path)
    except OSError:
        return [None]
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def unique(names):
    """Column names that SQLite takes: none empty, none twice (it ignores case)."""
    taken, result = set(), []
    for number, name in enumerate(names, 1):
        base = str(name).strip() or f"column_{number}"
        name, count = base, 1
        while name.lower() in taken:
            count += 1
            name = f"{base}_{count}"
        taken.add(name.lower())
        result.append(name)
    return result


# --- JSON ------------------------------------------------------------------------------------------


def read_json(path):
    with open(path, encoding="utf-8-sig") as file:
        try:
            data = json.load(file)
        except ValueError as error:
            lines = "; one object a line is read from a .jsonl" if "Extra data" in str(error) else ""
            raise ValueError(f"{path}: not JSON: {error}{lines}") from None
    if isinstance(data, dict):
        data = [data]
    return table_of_records(path, data)


def read_json_lines(path):
    records = []
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    records.append(json.loads(line))
                except ValueError as error:
                    raise ValueError(f"{path}, line {number}: not JSON: {error}") from None
    return table_of_records(path, records)


def table_of_records(path, records):
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise ValueError(f"{path}: a table needs a list of objects")
    names = list(dict.fromkeys(key for record in records for key in record))
    if not names:
        raise ValueError(f"{path}: no columns in it")

    def rows():
        return ([cell_of(record.get(name)) for name in names] for record in records)

    types = []
    for name in names:
        kinds = {type(cell_of(record.get(name))) for record in records} - {type(None)}
        types.append("INTEGER" if kinds == {int} else
                     "REAL" if kinds and kinds <= {int, float} else "TEXT" if kinds <= {str} else "")
    return names, types, rows


def cell_of(value):
    """Objects and lists stay JSON, which SQLite's json_extract() and -> read."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, int) and abs(value) >= INTEGER_MAX:
        return str(value)
    return value


_READERS = {".csv": read_delimited, ".tsv": read_delimited, ".json": read_json,
            ".jsonl": read_json_lines, ".ndjson": read_json_lines}
READ_FORMATS = tuple(_READERS)
