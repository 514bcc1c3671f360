"""Cuts a script into statements, with SQLite's own tokenizer to say where one ends."""

import re
from sqlite3 import complete_statement

_BLANK = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|/\*.*?(?:\*/|$))*", re.DOTALL)
# Strings, quoted names and comments, as SQLite's tokenizer cuts them; what has no end goes on to that of the script.
_PIECE = re.compile(r"""'[^']*(?:'|\Z) | "[^"]*(?:"|\Z) | `[^`]*(?:`|\Z) | \[[^]]*(?:\]|\Z) |
                        --[^\n]* | /\*.*?(?:\*/|\Z) | \bEND\b | ;""", re.VERBOSE | re.DOTALL | re.IGNORECASE)
_WORD = re.compile(r"\w+")
_CHANGES_DATA = {"INSERT", "REPLACE", "UPDATE", "DELETE", "WITH"}
_CHANGES_SCHEMA = {"CREATE", "DROP", "ALTER"}


class Statement:
    """`text` begins with its first word; `line` is where that stands in the script."""

    def __init__(self, text, number, line):
        self.text = text
        self.number = number
        self.line = line

    def summary(self, count):
        """Says what it did when it gives no rows: nothing for BEGIN, PRAGMA and the like."""
        words = _WORD.findall(self.text[:200].upper())
        first = words[0] if words else ""
        if first in _CHANGES_DATA:
            return f"{first}: {count} {'row' if count == 1 else 'rows'} affected"
        if first in _CHANGES_SCHEMA:
            kinds = [w for w in words[1:] if w in ("TABLE", "VIEW", "INDEX", "TRIGGER")]
            return f"{' '.join([first, *kinds[:1]])}: ok"
        return ""


def split_statements(script):
    """Yields the statements of a script; what is only comments is none."""
    number, start, line, counted = 0, 0, 1, 0
    for end in _ends(script):
        blank = _BLANK.match(script, start, end).end()
        text = script[blank:end].strip()
        if text.strip(";"):
            number += 1
            line, counted = line + script.count("\n", counted, blank), blank
            yield Statement(text, number, line)
        start = end


def _ends(script):
    """In strings, comments and trigger bodies a semicolon ends nothing."""
    start, before, is_trigger = 0, "", False
    for piece in _PIECE.finditer(script):
        kind = piece.group()
        if kind == ";":
            # SQLite reads the statement from its beginning: of a trigger's semicolons only those that may end it are asked about.
            if not is_trigger or before == "END":
                is_trigger = not complete_statement(script[start:piece.end()])
                if not is_trigger:
                    yield piece.end()
                    start = piece.end()
            before = ""
        elif not kind.startswith(("--", "/*")):
            before = kind.upper()
    if start < len(script):
        yield len(script)
