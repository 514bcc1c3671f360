"""What kind of column the cells of a delimited file make, and their values.

A column has one kind, which holds all its cells; where there is none but text, each is text as written, so that comparing and
grouping stay right. Text are also numbers that would not stay what they are, as phones, codes and identifiers do not.
"""

import math
import re

INTEGER_MAX = 1 << 63
# What pandas takes for missing. In columns of numbers and booleans only: elsewhere it may be Namibia.
MISSING = frozenset(("NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"))
TYPES = {"integer": "INTEGER", "boolean": "INTEGER", "real": "REAL", "decimal comma": "REAL", "text": "TEXT"}

# 007 is no number: it would lose its zeros. No plus: +4915112345678 is a phone. Programs write exponents with a point or a sign:
# 1E5 is a code.
_INTEGER = re.compile(r"-?(?!0\d)\d+$")
_REAL = re.compile(r"-?(?!0\d)(?:(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?|\d+[eE][+-]\d+)$")
_DECIMAL_COMMA = re.compile(r"-?(?!0\d)\d+,\d+$")
_GROUPED_COMMA = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3})+,\d+$")  # 1.234,56; without the comma it may be an address
_GROUPED = re.compile(r"-?[1-9]\d{0,2}(?:\.\d{3})+$")
_LIKE_NUMBER = re.compile(r"[-+(]?[$€£¥]? ?[-+]?\d{1,3}(?:[.,']\d{3})*(?:[.,]\d+)? ?[%$€£¥]?\)?$")
_BOOLEANS = ("false", "true")
_HOLDS_INTEGERS = ("real", "decimal comma")


def wider(kind, cell, has_decimal_commas):
    """The kind of a column so far, None at first, and one more of its cells."""
    other = _kind_of(cell, has_decimal_commas)
    if kind is None or kind == other or kind == "integer" and other in _HOLDS_INTEGERS:
        return other
    return kind if other == "integer" and kind in _HOLDS_INTEGERS else "text"


def looks_like_number(cell):
    """To people: with signs of currency, per cent or thousands, too. No code that has leading zeros."""
    return bool(_INTEGER.match(cell) or _REAL.match(cell) or
                _LIKE_NUMBER.match(cell) and any(mark in cell for mark in ",.'%$€£¥("))


def may_be_thousands(cells):
    """Whether all that have a point may have it between thousands."""
    pointed = [cell for cell in cells if "." in cell]
    return bool(pointed) and all(map(_GROUPED.match, pointed))


def _kind_of(cell, has_decimal_commas):
    if _INTEGER.match(cell):
        return "integer" if -INTEGER_MAX <= int(cell[:25]) < INTEGER_MAX else "text"
    if _REAL.match(cell):
        return "real" if math.isfinite(float(cell)) else "text"
    if has_decimal_commas and (_DECIMAL_COMMA.match(cell) or _GROUPED_COMMA.match(cell)):
        return "decimal comma" if math.isfinite(_with_comma(cell)) else "text"
    return "boolean" if cell.lower() in _BOOLEANS else "text"


def converter(kind):
    """What makes values of a column's cells."""
    convert = {"integer": int, "real": float, "decimal comma": _with_comma, "boolean": _boolean}.get(kind)
    if convert is None:
        return lambda cell: cell or None

    def converted(cell):
        cell = cell.strip()
        return None if not cell or cell in MISSING else convert(cell)
    return converted


def _with_comma(cell):
    return float(cell.replace(".", "").replace(",", "."))


def _boolean(cell):
    return _BOOLEANS.index(cell.lower())
