"""Intervals as DuckDB itself writes them: Python's timedelta has no months, and would make 30 days of each.

A query whose columns have some is asked again, with these made text; without having been run where its own text tells that it may.
"""

import re

_INTERVAL = re.compile(r"""(?<!["'\w])INTERVAL(?!["'\w])""")
_MAY_GIVE_SOME = re.compile(r"\binterval\b|\bage\s*\(|\bto_(?:years|months|days)\s*\(|(?<!-)-(?!-)\s*[a-z_(]", re.IGNORECASE)
_NO_CODE = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/""", re.DOTALL)
_HAS_MONTHS = r"\b\d+ (?:month|year)s?\b"
_CHANGES_SOMETHING = re.compile(r"\b(?:nextval|setseed)\s*\(", re.IGNORECASE)


def may_be_in(sql):
    return _MAY_GIVE_SOME.search(_NO_CODE.sub(lambda found: "x" if found[0].startswith('"') else " ", sql)) is not None


def is_one(kind):
    """Whether a column of that type has intervals, or lists or structs of them."""
    return _INTERVAL.search(kind) is not None


def as_text(sql, columns, is_beside):
    """The query with text for such columns, or with text in columns behind the others; None where it had better not be asked twice."""
    if not any(is_one(kind) for _, kind in columns) or _CHANGES_SOMETHING.search(sql):
        return None
    texts = {i: f"CAST(c{i} AS {_INTERVAL.sub('VARCHAR', kind)})" for i, (_, kind) in enumerate(columns) if is_one(kind)}
    chosen = [f"{f'c{i}' if is_beside else texts.get(i, f'c{i}')} AS {_quoted(name)}" for i, (name, _) in enumerate(columns)]
    chosen += texts.values() if is_beside else []
    names = ", ".join(f"c{i}" for i in range(len(columns)))
    return f"SELECT {', '.join(chosen)} FROM ({sql.rstrip().rstrip(';')}\n) AS asked({names})"


def chosen_of(frame, columns):
    """The DataFrame of a query that has text beside: that text takes the place of columns where a value has months."""
    texts = iter(range(len(columns), frame.shape[1]))
    for i, (_, kind) in enumerate(columns):
        text = frame.iloc[:, next(texts)] if is_one(kind) and frame.shape[1] > len(columns) else None
        if text is not None and text.astype(str).str.contains(_HAS_MONTHS).any():
            frame.isetitem(i, text)
    return frame.iloc[:, :len(columns)]


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'
