"""CSV and TSV for SQLite: UTF-8, one header, one kind of value a column. What is odder is DuckDB's, or pandas'."""

import csv
import itertools
import re

INTEGER_MAX = 1 << 63
_DELIMITERS = ",;\t|"
# As written, or text: 007 would lose its zeros, and +49 is a phone.
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,18})$")
_REAL = re.compile(r"-?(?:(?:0|[1-9]\d*)(?:\.\d*|(?=[eE]))|\.\d+)(?:[eE][+-]?\d{1,2})?$")
_BOOLEANS = {"false": 0, "true": 1}
_LOOKED_AT = 1 << 16  # bytes
_WITH_DECIMAL_COMMA = re.compile(r"-?(?:\d+|\d{1,3}(?:\.\d{3})+),\d+$")
_MAY_HAVE_COMMA = re.compile(r"-?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?$")
_DIGITS = re.compile(r"[-+]?[\d.,]+$")
_CODE = re.compile(r"[-+]?0\d+$|\+\d+$")
_TYPES_CHARACTERS = 160  # where more columns would be named, all are read as text
_OTHER_WAYS = "pandas.read_csv in Python reads it, and its DataFrames are tables here"


def read_delimited(path):
    """Names, SQLite types, and a function that gives the rows."""
    lines = _lines(path)
    header = next(lines, None)
    if header is None:
        raise ValueError(f"{path} is empty: it has no header line")
    kinds = [None] * len(header)
    for row in lines:
        for i, cell in enumerate(row):
            if cell and kinds[i] != "TEXT":
                kinds[i] = _wider(kinds[i], cell.strip())
    converters = [{"INTEGER": int, "REAL": float, "BOOLEAN": lambda cell: _BOOLEANS[cell.strip().lower()]}.get(kind, str) for kind in kinds]

    def rows():
        for row in itertools.islice(_lines(path), 1, None):
            yield [convert(cell) if cell else None for convert, cell in zip(converters, row)]

    return header, [{"BOOLEAN": "INTEGER"}.get(kind, kind or "TEXT") for kind in kinds], rows


def options_of_pandas(path, encoding):
    """The arguments that pd.read_csv() needs beside the encoding, as far as the beginning of the file shows. What is no number stays text."""
    separator, columns = _beginning(path, encoding)
    has_commas = separator != "," and any(_is_with_commas(values) for _, values in columns)
    numbers = [values for _, values in columns if _is_with_commas(values)] if has_commas else []
    has_thousands = any("." in value for values in numbers for value in values)
    kept = [name for name, values in columns if values not in numbers and _would_change(values, has_thousands)]
    options = f", sep={separator!r}" if separator != "," else ""
    types = f", dtype={{{', '.join(f'{name!r}: str' for name in kept)}}}" if kept else ""
    if len(types) > _TYPES_CHARACTERS:
        return f"{options}, dtype=str"
    return options + (", decimal=','" if has_commas else "") + (", thousands='.'" if has_thousands else "") + types


def _beginning(path, encoding):
    """The separator, and pairs of a column's name and its values that are not empty."""
    import gzip

    try:
        with (gzip.open if path.lower().endswith(".gz") else open)(path, "rb") as file:
            data = file.read(_LOOKED_AT)
        lines = data.decode(encoding, errors="replace").lstrip("\ufeff").splitlines(keepends=True)
        separator = max(",;\t", key=lines[0].count)
        header, *rows = csv.reader(lines[:-1 if len(data) == _LOOKED_AT else None], delimiter=separator)
    except (OSError, EOFError, LookupError, ValueError, csv.Error):
        return ",", []
    rows = [row for row in rows if len(row) == len(header)]
    return separator, [(name, [value.strip() for value in values if value.strip()]) for name, *values in zip(header, *rows)]


def _is_with_commas(values):
    """Whether it is a column of numbers with decimal commas; words among them change nothing."""
    return any(map(_WITH_DECIMAL_COMMA.match, values)) and all(_MAY_HAVE_COMMA.match(value) or not _DIGITS.match(value) for value in values)


def _would_change(values, has_thousands):
    """Whether pandas would make other numbers of a column than it has, or may: a date, a time, a version, a code that begins with 0."""
    return has_thousands and not values or any(_CODE.match(value) or has_thousands and "." in value and _DIGITS.match(value) for value in values)


def _lines(path):
    csv.field_size_limit(1 << 30)
    width, line = None, 0
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            first = file.readline()
            reader = csv.reader(itertools.chain([first], file), delimiter=_delimiter_of(path, first), strict=True)
            for row in reader:
                line = reader.line_num
                width = width or len(row)
                if row and len(row) != width:
                    raise ValueError(f"{path}, line {line}: {len(row)} fields, but the header has {width}; {_OTHER_WAYS}")
                if row:
                    yield row
    except UnicodeDecodeError as error:
        from hutch_runner import text_encodings

        encodings = text_encodings.of_file(path)
        looks = f"looks like {text_encodings.in_words(encodings)}" if encodings else "encoding=…"
        looks += options_of_pandas(path, encodings[0]).replace(", sep", "; with sep") if encodings else ""
        raise ValueError(f"{path} is not UTF-8 ({error.reason}); {_OTHER_WAYS} ({looks})") from None
    except csv.Error as error:
        raise ValueError(f"{path}, after line {line}: {error}; is a quote not closed there? {_OTHER_WAYS}") from None


def _delimiter_of(path, header):
    """The one that the header has most of."""
    return "\t" if path.lower().endswith(".tsv") else max(_DELIMITERS, key=header.count)


def _wider(kind, cell):
    """The kind of a column so far, None at first, and one more of its cells."""
    if _INTEGER.match(cell) and -INTEGER_MAX <= int(cell) < INTEGER_MAX:
        other = "INTEGER"
    elif _REAL.match(cell):
        other = "REAL"
    else:
        other = "BOOLEAN" if cell.lower() in _BOOLEANS else "TEXT"
    if kind in (None, other):
        return other
    return "REAL" if {kind, other} == {"INTEGER", "REAL"} else "TEXT"
