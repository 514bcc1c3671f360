"""What to say to those who took SQLite for another database."""

import re

_TABLES = "tables: SELECT name FROM sqlite_schema"
_ASKS_FOR_TABLES = re.compile(r"(?:SHOW|DESCRIBE|DESC)\b", re.IGNORECASE)
_COPIES = re.compile(r"COPY\b", re.IGNORECASE)
_READS_FILE = re.compile(r"(?:read|scan)_\w+", re.IGNORECASE)


def hint(message, sql):
    """What ends an error's message, in brackets; empty when it says enough."""
    words = ""
    kind, _, name = message.partition(": ")
    if "syntax error" in message and _ASKS_FOR_TABLES.match(sql):
        words = f"; {_TABLES}; columns of t: PRAGMA table_info(t)"
    elif "syntax error" in message and _COPIES.match(sql):
        words = "; it writes no files: in Python hutch.sql(\"SELECT ...\") is a DataFrame, with .to_csv(\"out.csv\", index=False)"
    elif kind == "no such function":
        words = "; what it has: SELECT DISTINCT name FROM pragma_function_list"
    elif kind == "no such table" and name.lower().startswith("information_schema."):
        words = f"; {_TABLES}"
    elif kind == "no such table" and is_called(name, sql):
        words = ("; to read a file: FROM 'file.csv'" if _READS_FILE.fullmatch(name)
                 else ", which has no table function of that name")
    return words and f" (this is SQLite{words})"


def hint_of_view(message, data_frames):
    """What to say of a change to one of these, which are views."""
    name = message.removeprefix("cannot modify ").removesuffix(" because it is a view")
    if name not in data_frames or name == message:
        return ""
    return f"; it is Python's DataFrame, which SQL can only read: CREATE TABLE t AS SELECT * FROM {name} makes a table to change"


def is_called(table, sql):
    """Whether it stands for a function that gives rows."""
    return re.search(rf"(?:\bFROM|\bJOIN|,)\s*{re.escape(table)}\s*\(", sql, re.IGNORECASE) is not None
