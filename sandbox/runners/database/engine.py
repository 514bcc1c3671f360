"""The session's database: which engine it has, and what both engines promise.

An engine is made by open_engine() and has
  name, version            for people
  interrupted              set by interrupt(), which a signal handler may call; the caller unsets it after the run
  begin(), end()           around each run: the database is held only between them
  statements(code)         what to execute, one after the other
  execute(statement, parameters)    its Answer
  in_transaction           whether the user has one open
  others_meanwhile         how that is for other processes of the session, in words
  is_aborted               whether a statement that failed has made it one that is rolled back whatever ends it
  failed(error)            a statement did, or its rows; None: it was interrupted
  errors                   the exceptions that are the statement's own fault
  take_notes()             what is to be told of this run, before end()
  message_of(error)        what it says, for people
  place_of(error, statement)        where in the code that is, in lines for people, and what to do; the statement may be None
Tables that are not in the database are asked of `frames` (see FrameSource).
"""

import os

WAIT_SECONDS = 10  # for a run of another process that holds the database
WHO_HOLDS_IT = ("another language of this session (SQL, or hutch.sql() in Python or JavaScript) or a background run "
                "has an open transaction: COMMIT or ROLLBACK there, or let the run end, and try again")

_TABLE_LIKE = ("list", "dict", "ndarray")


def table_over_frame(name):
    return f"{name} is the table now, not Python's DataFrame"


def way_to_frame(name, kind):
    """Says of some types how a DataFrame comes of the variable."""
    return f": {name} = pd.DataFrame({name}) makes it one" if kind in _TABLE_LIKE else ""


def near_name(name, names):
    """Says which of Python's DataFrames differs from a name by its capital letters alone."""
    near = next((one for one in names if one.lower() == name.lower()), "")
    return f"; Python's DataFrame is called {near}: FROM {near}" if near else ""


class FrameSource:
    """Where DataFrames come from. This one has none."""

    def find(self, name, check_interrupt):
        """Something to give to an engine's add_frame(), or None. Raises LookupError with the reason
        when the name may well be a DataFrame, but cannot be had now."""
        return None

    def has(self, name):
        """Whether find() would find one, where that can be told at once."""
        return False

    def version(self):
        """Something else when they may be others."""
        return None

    def query(self, sql, names, check_interrupt):
        """The answer to a query of the DataFrames `names` alone, as its columns and rows, where they lie; or None."""
        return None

    def busy(self):
        """Whether find() would have to wait."""
        return False

    def why_missing(self, name):
        """A half sentence for the error about an unknown table, after its semicolon, or nothing."""
        return ""


class Answer:
    """The result of a statement. `rows` is None when it is no query; `count` is then the rows changed.

    `columns` are (name, type) with an empty type where only the values can tell.
    """

    def __init__(self, columns=(), rows=None, count=0, close=lambda: None):
        self.columns = list(columns)
        self.rows = rows  # has fetchmany(size)
        self.count = count
        self.close = close


def data_folder():
    folder = os.environ.get("HUTCH_DATA_DIR") or os.path.expanduser("~/.local/share/hutch")
    os.makedirs(folder, exist_ok=True)
    return folder


def open_engine(make_frames):
    """The engine, with the FrameSource that `make_frames` gives for the files it reads.

    DuckDB where Python has it, else SQLite. A session that began with SQLite stays with it: its
    tables are there.
    """
    folder = data_folder()
    duckdb_file = os.path.join(folder, "session.duckdb")
    sqlite_file = os.path.join(folder, "session.sqlite")
    if os.path.exists(duckdb_file) or not os.path.exists(sqlite_file):
        if has_duckdb():
            from hutch_runner.duckdb_engine import DuckdbEngine
            return DuckdbEngine(duckdb_file, make_frames("parquet"))
        if os.path.exists(duckdb_file):
            raise OSError("this session's tables are in DuckDB, whose Python module is gone: "
                          "install it again on the machine that runs hutch")
    from hutch_runner.sqlite_engine import SqliteEngine
    return SqliteEngine(sqlite_file, make_frames("sqlite"))


def has_duckdb():
    try:
        import duckdb
    except ImportError:
        return False
    return hasattr(duckdb, "connect")  # not a folder of the user's with that name
