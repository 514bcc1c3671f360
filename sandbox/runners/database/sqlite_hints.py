"""Helps those who took SQLite for another database."""

import re

from hutch_runner.engine import WHO_HOLDS_IT
from hutch_runner.files import quoted

_THIS_IS = (" (this is SQLite: tables are SELECT name FROM sqlite_schema, columns PRAGMA table_info(t), a file is FROM 'file.csv'; "
            "DuckDB, which has more, comes with `hutch environments build`)")
_OF_OTHERS = re.compile(r"(?:SHOW|DESCRIBE|DESC|SUMMARIZE|COPY|PIVOT|FROM)\b", re.IGNORECASE)
_ASKS_FOR_COLUMNS = re.compile(
    r"""\b(?:PRAGMA\s+(?:temp\.)?|pragma_)table_x?info\s*[(=]\s*(?:"([^"]+)"|'([^']+)'|`([^`]+)`|\[([^]]+)\]|([^\W\d]\w*))""",
    re.IGNORECASE)


def hint(message, sql):
    """Returns the end of an error's message that another database would not have had."""
    kind, _, name = message.partition(": ")
    is_of_others = ("syntax error" in message and _OF_OTHERS.match(sql) or kind == "no such function" or
                    kind == "no such table" and (name.lower().startswith("information_schema.") or is_called(name, sql)))
    return _THIS_IS if is_of_others else ""


def hint_of_view(message, data_frames):
    """Says how to change a DataFrame, which is a view."""
    name = message.removeprefix("cannot modify ").removesuffix(" because it is a view")
    if name == message or name not in data_frames:
        return ""
    return f"; it is Python's DataFrame, which SQL can only read: CREATE TABLE t AS SELECT * FROM {name} makes a table to change"


def hint_of_lock(error):
    """Who has the database, after SQLite has waited; and at once, why waiting would not help."""
    if "database is locked" not in str(error):
        return ""
    if getattr(error, "sqlite_errorname", "") == "SQLITE_BUSY_SNAPSHOT":
        return ("; another language of this session, or a background run, has changed it since this transaction began to read: "
                "ROLLBACK this one, and begin again")
    return f"; {WHO_HOLDS_IT}"


def hint_of_unseen(message, name, data_frames):
    """Says what to do when a file or DataFrame has been loaded, and SQLite does not see it."""
    if not message.startswith("no such table: main."):
        # Unquoted, `data.csv` is the table `csv` of a database `data`.
        return f"; to read a file put its name in double quotes: {quoted(name)}"
    # Views and triggers of the database itself do not look among the temporary tables.
    what, table = ("DataFrames", name) if name in data_frames else ("files", quoted(name))
    return f"; views and triggers of the database see no {what}: CREATE TABLE t AS SELECT * FROM {table} makes a table for them"


def asked_columns_of(sql):
    """The table whose columns a statement asks for, which SQLite answers with none when it has to be loaded first."""
    asked = _ASKS_FOR_COLUMNS.search(sql)
    return next(filter(None, asked.groups()), "") if asked else ""


def is_called(table, sql):
    """Whether it stands for a function that gives rows."""
    return re.search(rf"(?:\bFROM|\bJOIN|,)\s*{re.escape(table)}\s*\(", sql, re.IGNORECASE) is not None
