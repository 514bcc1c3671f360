"""Database files that lie about: how to get at their tables with SQLite."""

import os
import re
import sqlite3

from hutch_runner.files import quoted

FILES_MAX = 20
_HEAD = b"SQLite format 3\0"
_SUFFIXES = (".db", ".db3", ".sqlite", ".sqlite3")


def words_for_file(name):
    """For an unknown table with the name of a database file; empty when there is none."""
    if not is_database(name):
        return ""
    table = next(iter(tables_of(name)), "its_table")
    return f"; that file is a database: {_attach(name)}, then FROM {_alias(name)}.{_word(table)}"


def words_for_table(name):
    """For an unknown table, when database files are here; empty when there are none."""
    schema, _, table = name.rpartition(".")
    files = [file for file in sorted(os.listdir())[:10_000] if file.lower().endswith(_SUFFIXES) and is_database(file)]
    files = [file for file in files if not schema or _alias(file).lower() == schema.lower()][:FILES_MAX]
    for file in files:
        if table.lower() in map(str.lower, tables_of(file)):
            return f"; {file} has one: {_attach(file)}, then FROM {_alias(file)}.{_word(table)}"
    return f"; for the tables of {', '.join(files[:3])}: {_attach(files[0])}" if files else ""


def is_database(path):
    try:
        if not os.path.isfile(path):  # a pipe would block
            return False
        with open(path, "rb") as file:
            return file.read(len(_HEAD)) == _HEAD
    except (OSError, ValueError):
        return False


def tables_of(path):
    from urllib.parse import quote
    try:
        database = sqlite3.connect(f"file:{quote(os.path.abspath(path))}?mode=ro", uri=True, timeout=0.2)
    except sqlite3.Error:
        return []
    try:
        return [name for name, in database.execute(
            "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'")]
    except sqlite3.Error:
        return []
    finally:
        database.close()


def _attach(path):
    text = path.replace("'", "''")
    return f"ATTACH '{text}' AS {_alias(path)}"


def _alias(path):
    name = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    return name if _is_free(name) else f"{name}_db" if _is_free(f"{name}_db") else "other"


def _is_free(name):
    """Whether a database can be called so: no keyword, and not main."""
    database = sqlite3.connect(":memory:")
    try:
        database.execute(f"ATTACH ':memory:' AS {name}")
    except sqlite3.Error:
        return False
    finally:
        database.close()
    return True


def _word(name):
    return name if re.fullmatch(r"[^\W\d]\w*", name) else quoted(name)
