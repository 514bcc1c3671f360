"""Gives a hint where a number was wanted, and a column of text has numbers with commas, as files of many countries do."""

import os
import re

_REFUSED = r"No function matches [^\n]*\bVARCHAR\b|Cannot (?:mix|compare) values of type VARCHAR"
_UNCONVERTED = r"[Cc]ould not convert string ['\"]-?[\d.]*\d,\d+['\"] to"
_DECIMAL = re.compile(r"\s*[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+\s*$")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?\s*$")
_PLAIN = re.compile(r"\s*[-+]?[\d.]+\s*$")
_OTHERS_ONE_IN = 4  # such as n/a
_FILES = re.compile(r"""'([^'\n]+\.(?:csv|tsv|txt)(?:\.gz)?)'|"([^"\n]+\.(?:csv|tsv)(?:\.gz)?)\"""", re.IGNORECASE)


def may_be_meant(message):
    return bool(re.search(_REFUSED, message) or re.search(_UNCONVERTED, message))


def way(sql, tables, first_rows):
    """A line that ends in a newline, or nothing. first_rows(source) gives the names and some rows of what FROM may name."""
    files = [path for groups in _FILES.findall(sql) for path in groups if path and (os.path.isfile(path) or "*" in path)]
    for name in [*dict.fromkeys(files), *(name for name in tables if name not in files)]:
        path = name.replace("'", "''")
        source = f"read_csv('{path}'" if name in files else ""
        column, kind = _column_of(*first_rows(f"{source})" if source else _quoted(name)), sql)
        if column:
            return _words(column, kind)
    return ""


def _column_of(names, rows, sql):
    """That which the statement names, or the first such one where it names all, and which pattern its values have."""
    found = [(name, kind) for name, values in zip(names, zip(*rows)) if (kind := _kind_of(values))]
    return next((one for one in found if one[0].lower() in sql.lower()), found[0] if found and "*" in sql else ("", None))


def _kind_of(values):
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    with_commas = [text for text in texts if "," in text]
    others = sum(not _PLAIN.match(text) for text in texts if "," not in text)
    if not with_commas or others * _OTHERS_ONE_IN > len(texts):
        return None
    return next((kind for kind in (_THOUSANDS, _DECIMAL) if all(map(kind.match, with_commas))), None)


def _words(column, kind):
    """This column alone: options of read_csv() would make numbers of dates, times and versions, too."""
    name = column if column.isidentifier() and column.isascii() else _quoted(column)
    if kind is _DECIMAL:
        return f"({name} is text, with decimal commas: CAST(replace(replace({name}, '.', ''), ',', '.') AS DOUBLE) is the number)\n"
    return f"({name} is text, with commas between thousands: CAST(replace({name}, ',', '') AS DOUBLE) is the number)\n"


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'
