"""Says why a table is none when its name is a file's: one that SQLite does not read, or that is not there."""

import os

from hutch_runner.files import READ_FORMATS

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_DATABASES = (".db", ".db3", ".sqlite", ".sqlite3")
DOCUMENTS = (".pdf", ".docx", ".pptx", ".odt", ".rtf")
IS_DOCUMENT = "SQL does not read it; read_file of it names the two lines of Python that do"
_WITH_PANDAS = "or read it with pandas in Python, whose DataFrames are tables here"


def is_a_files(name, sql):
    """Whether a table's name is a file's, and no DataFrame's. Without quotes, `a.b` may be a table of a database."""
    suffix = os.path.splitext(name)[1].lower()
    return "/" in name or suffix != "" and (suffix in READ_FORMATS or _is_quoted(name, sql) or os.path.exists(name))


def words_for_missing(name):
    return "" if os.path.exists(name) else f"; and no such file{_where(name)}"


def words_for_unread(name):
    if missing := words_for_missing(name):
        return missing
    if not os.path.isfile(name):
        return f"; {'that is a folder' if os.path.isdir(name) else 'what is there is no regular file'}"
    suffix = os.path.splitext(name)[1].lower()
    *formats, last = READ_FORMATS
    formats = f"only {', '.join(formats)} and {last}"
    if suffix in DOCUMENTS:
        return f"; that file is there: {IS_DOCUMENT}"
    if suffix in _COMPRESSED:
        return f"; that file is there, but compressed: decompress it first, {_WITH_PANDAS} (SQLite reads {formats})"
    if suffix in _DATABASES:
        return f"; that file is there: ATTACH '{name}' AS other, then FROM other.its_table"
    return (f"; that file is there, but SQLite does not read this format, {formats}: turn it into CSV first, "
            f"{_WITH_PANDAS} (DuckDB, which reads more, comes with `hutch environments build`)")


def _where(name):
    if os.path.isabs(name):
        return ""
    try:
        return f" in {os.getcwd()}"
    except OSError:
        return ": the working directory is gone"


def _is_quoted(name, sql):
    quotes = (f"{mark}{name.replace(mark, 2 * mark)}{mark}" for mark in "\"'`")
    return any(one in sql for one in (*quotes, f"[{name}]"))
