"""Where in a statement SQLite's complaint is: Python's sqlite3 does not say."""

import re

_NAMED = re.compile(r"(?:no such (?:column|table|function|collation sequence|index|view|trigger)|"
                    r"ambiguous column name|wrong number of arguments to function|"
                    r"misuse of aggregate(?: function)?|no such module): (?:main\.|temp\.)?([^;()]+)")
# Strings, quoted names, comments and words, as SQLite's tokenizer cuts them.
_TOKEN = re.compile(r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \[[^\]]*\] |
                        --[^\n]* | /\*.*?(?:\*/|$) | [^\W\d][\w$]*""", re.VERBOSE | re.DOTALL)


def offset_of(message, sql):
    """Characters before the place, or None."""
    named = _NAMED.search(message)
    if named:
        return _offset_of_name(named.group(1).strip(), sql)
    if "syntax error" in message or "unrecognized token" in message or "incomplete input" in message:
        return _offset_of_syntax_error(sql)
    return None


def _offset_of_name(name, sql):
    """The first place of a name, or of the last part of one with dots."""
    last = name.split(".")[-1].lower()
    for token in _TOKEN.finditer(sql):
        text = token.group()
        if text[0] in "\"`[":
            text = text[1:-1]
        elif text[0] == "'" or text.startswith(("--", "/*")):
            continue
        if text.lower() in (last, name.lower()):
            return token.start()
    return None


def _offset_of_syntax_error(sql):
    """Asks SQLite itself, of an empty database: syntax does not depend on tables."""
    try:
        import ctypes

        library = ctypes.CDLL("libsqlite3.so.0")
        offset_function = library.sqlite3_error_offset  # since 3.38
    except (ImportError, OSError, AttributeError):
        return None
    database, statement, data = ctypes.c_void_p(), ctypes.c_void_p(), sql.encode()
    if library.sqlite3_open(b":memory:", ctypes.byref(database)) != 0:
        return None
    try:
        library.sqlite3_prepare_v2(database, data, len(data), ctypes.byref(statement), None)
        library.sqlite3_finalize(statement)
        offset = offset_function(database)
    finally:
        library.sqlite3_close(database)
    return len(data[:offset].decode("utf-8", "replace")) if offset >= 0 else None
