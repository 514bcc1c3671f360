"""Notes about CSV files that a query reads without a mistake: columns that stay text though they are numbers of another country's form,
and dates that may be meant the other way round. They come from the file's first lines."""

import csv
import os
import re

_BYTES_READ = 1 << 16
_ROWS_LOOKED_AT, _COLUMNS_NAMED, _LINE_CHARACTERS = 100, 3, 60
_DELIMITERS = ",;\t|"
_FILES = re.compile(r"""\b(?:FROM|JOIN|read_csv(?:_auto)?\s*\(\s*\[?)\s*
                        (?:'([^'\n]+\.(?:csv|tsv|txt)(?:\.gz)?)'|"([^"\n]+\.(?:csv|tsv)(?:\.gz)?)\")""", re.IGNORECASE | re.VERBOSE)
_TELLS_TYPES = r"types|dtypes|columns|column_types|auto_detect|all_varchar"
_DEALS_WITH_NUMBERS = re.compile(rf"\b(?:decimal_separator|thousands|{_TELLS_TYPES})\s*:?=|\b(?:replace|regexp_replace|translate)\s*\(", re.IGNORECASE)
_DEALS_WITH_DATES = re.compile(rf"\b(?:dateformat|date_format|timestampformat|timestamp_format|{_TELLS_TYPES})\s*:?=|strptime\s*\(", re.IGNORECASE)
_DEALS_WITH_FORM = re.compile(r"\b(?:delim|sep|delimiter|skip|null_padding|strict_mode|columns|auto_detect|header)\s*:?=", re.IGNORECASE)
_RESERVED = set("all and any as asc at case check column default desc end for from group in limit not null offset on or order primary select "
                "table then to union unique user using when where with".split())
_NOTHING = {"", "-", "--", ".", "n/a", "na", "nan", "null", "none", "#n/a", "k.a.", "n.v."}
_GROUP = "['’ \u00a0\u202f]"
_UNIT = r"(?:[$€£¥₹%]|USD|EUR|GBP|CHF|JPY|INR|kr|zł|Kč|Fr\.)"
_BEFORE, _AFTER = rf"\s*[-+]?\s*(?P<before>{_UNIT})?\s*[-+]?(?P<number>", rf")\s*(?P<after>{_UNIT})?\s*$"
_WITH_COMMA = re.compile(rf"{_BEFORE}(?:\d+|\d{{1,3}}(?:(?:\.|{_GROUP})\d{{3}})+),\d+{_AFTER}")
_WITH_POINT = re.compile(rf"{_BEFORE}(?:\d+|[1-9]\d{{0,2}}(?:(?:,|{_GROUP})\d{{3}})+)(?:\.\d+)?{_AFTER}")
_WHOLE_WITH_UNIT = re.compile(rf"{_BEFORE}\d+{_AFTER}")
_BEGINS = re.compile(rf"[-+ ]*(?:{_UNIT})?[-+ ]*\d")
_PLAIN = re.compile(r"\s*[-+]?\d*\.?\d+\s*$")
_DIGITS = re.compile(r"[-+]?[\d.,]+$")
_HAS_OPTIONS = re.compile(r"\bread_csv(?:_auto)?\s*\([^)]*=", re.IGNORECASE)
_NO_NUMBER = set("id ids tag tags ver version versions phone phones tel telephone fax zip plz postcode zipcode code codes".split())
_SHOWS_ALL = re.compile(r"\*|(?:^|\(|\bAS)\s*FROM\b|\b(?:SUMMARIZE|DESCRIBE|COLUMNS)\b", re.IGNORECASE)
_COUNTS = re.compile(r"\bcount\s*\(\s*\*\s*\)", re.IGNORECASE)
_DATE = re.compile(r"\s*(\d{1,2})([/-])(\d{1,2})\2(\d{4}|\d\d)(?:(?: |T)\d{1,2}:\d\d(:\d\d)?( ?[AP]M)?)?\s*$", re.IGNORECASE)


def files_of(sql):
    return [path for path in dict.fromkeys(path for groups in _FILES.findall(sql) for path in groups if path)]


def note(path, sql, has_options, order_of=None, form_of=None, shown=()):
    """Tells it for the whole file, or nothing; None where the query names none of those columns. `has_options`: the engine's reader of files knows such numbers itself; order_of(column, text)
    says how the engine reads a date that may be read both ways: "day", "month" or "" where it is settled; form_of() which columns
    it has found, behind how many lines; `shown` are those of the answer."""
    names, columns, delimiter = _columns_of(path)
    form = _of_form(path, sql, names, *form_of()) if form_of is not None and (not names or _is_odd(shown)) else ""
    parts = [form] if form else []
    numbers = _numbers_of(names, columns, delimiter)
    dates = [] if order_of is None else _dates_of(names, columns)
    if not _names_one(sql, [name for name, *_ in (*numbers, *dates)]):
        return f"{path}: {form}" if form else None if numbers or dates else ""
    if not _DEALS_WITH_NUMBERS.search(sql):
        parts += _of_numbers(path, numbers, dict(zip(names, columns)), has_options and not form and not _HAS_OPTIONS.search(sql), has_options)
    if not _DEALS_WITH_DATES.search(sql):
        parts += _of_dates(path, dates, order_of)
    return f"{path}: " + "; ".join(parts) if parts else ""


def note_of_form(path, sql, form_of):
    form = _of_form(path, sql, _columns_of(path)[0], *form_of())
    return f"{path}: {form}" if form else ""


def _is_odd(names):
    """Whether columns of an answer are called as where the form of a file was mistaken."""
    return "column0" in names or len(names) == 1 and any(delimiter in names[0] for delimiter in _DELIMITERS)


def _of_form(path, sql, expected, found, skipped):
    """Tells of a file that is read as one column, or without its first lines, as its lines have different numbers of fields, or seem to.
    `expected` are the columns of its first line, where all lines have as many."""
    first = _first_line(path) if skipped else found[0] if len(found) == 1 else ""
    delimiter = max(_DELIMITERS, key=first.count)
    if not first or found == expected or first.lower().startswith("sep=") or _DEALS_WITH_FORM.search(sql):
        return ""
    if skipped and "column0" not in found and first.count(delimiter) + 1 < len(found):
        return ""  # a title over the table
    options = f"delim={_text(delimiter)}, header=true".replace("\t", "\\t") + ("" if expected else ", null_padding=true")
    way = f"read_csv({_text(path)}, {options if delimiter in first else 'skip=0'})"
    if skipped:
        lines = "its first line is" if skipped == 1 else f"its first {skipped} lines are"
        return f"{lines} left out ({first[:_LINE_CHARACTERS]!r}), as those behind seem to be of another form: {way} has all"
    return f"all is one column, {_quoted(first)}, as lines have different numbers of fields: {way} has several" if delimiter in first else ""


def _first_line(path):
    try:
        with _opened(path) as file:
            return file.readline(_BYTES_READ).decode("utf-8-sig", "replace").rstrip("\r\n")
    except (OSError, EOFError):
        return ""


def _names_one(sql, names):
    return _SHOWS_ALL.search(_COUNTS.sub("", sql)) is not None or any(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql, re.IGNORECASE) for name in names)


def _columns_of(path):
    """Names, the texts of the first rows by column, and the delimiter; nothing where lines are of several lengths."""
    try:
        with _opened(path) as file:
            data = file.read(_BYTES_READ)
    except (OSError, EOFError):
        return [], [], ","
    if b"\0" in data:
        return [], [], ","
    lines = data.decode("utf-8-sig", "replace").splitlines(keepends=True)
    if len(data) == _BYTES_READ:
        lines = lines[:-1]
    if any("\ufffd" in line for line in lines):
        lines = data.decode("latin-1").splitlines(keepends=True)[:len(lines)]  # as read_csv() was told, or SQL would not have read it
    if len(lines) < 2:
        return [], [], ","
    try:
        delimiter = max(_DELIMITERS, key=lines[0].count)
        header, *rows = [row for row in csv.reader(lines[:_ROWS_LOOKED_AT], delimiter=delimiter) if row]
    except (csv.Error, ValueError):
        return [], [], ","
    if any(len(row) != len(header) for row in rows):
        return [], [], ","
    return header, list(zip(*rows)), delimiter


def _opened(path):
    if "*" in path:
        import glob
        path = next(iter(sorted(glob.glob(path))), path)
    if path.lower().endswith(".gz"):
        import gzip
        return gzip.open(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(path)
    return open(path, "rb")


def _numbers_of(names, columns, delimiter):
    """Columns that are such numbers: their names, what _kind_of() says, and whether all of their values are."""
    return [(name, *kind, all(value.strip().lower() not in _NOTHING or not value.strip() for value in values))
            for name, values in zip(names, columns)
            if not _is_name_of_others(name) and (kind := _kind_of(values)) and not (delimiter == "," and _may_be_lists(values, *kind))]


def _is_name_of_others(name):
    """Whether it says that its column is no number, whatever its digits look like."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]
    return bool(_NO_NUMBER.intersection(words)) or words[-1:] in (["list"], ["lists"])


def _may_be_lists(values, decimal, signs):
    """Whether commas may as well be those of versions and lists: nothing else is there, and what follows them is of several lengths."""
    return decimal == "," and not signs and len({len(value.strip().partition(",")[2]) for value in values if value.strip().lower() not in _NOTHING}) > 1


def _of_numbers(path, found, columns, may_use_options, can_try):
    parts = []
    for decimal, options, others in ((",", "decimal_separator=',', thousands='.'", {"."}), (".", "thousands=','", {","})):
        ours = [(name, signs, is_all) for name, sign, signs, is_all in found if sign == decimal]
        by_options = [(name, is_all) for name, signs, is_all in ours if may_use_options and signs <= others]
        if any(_would_change(values, options) for name, values in columns.items() if name not in dict(by_options)):
            by_options = []
        if by_options:
            makes = "makes" if all(is_all for _, is_all in by_options) else "may make"
            by_options = [name for name, _ in by_options]
            parts.append(f"{_listed(by_options)} text: read_csv({_text(path)}, {options}) {makes} numbers of {'it' if len(by_options) == 1 else 'them'}")
        alone = [(name, signs, is_all) for name, signs, is_all in ours if name not in by_options]
        parts += [f"{_quoted(name)} is text: {_number_of(_quoted(name), decimal, signs, can_try and not is_all)} is the number"
                  for name, signs, is_all in alone[:_COLUMNS_NAMED]]
        if len(alone) > _COLUMNS_NAMED:
            parts.append(f"and {len(alone) - _COLUMNS_NAMED} more like {_quoted(alone[_COLUMNS_NAMED - 1][0])}")
    return parts


def _would_change(values, options):
    """Whether such options would make other numbers of a column that they are not meant for, or may: a date, a time, a version."""
    signs = ".," if "thousands='.'" in options else ","
    texts = [value.strip() for value in values if value.strip()]
    return not texts or any(_DIGITS.match(text) and any(sign in text for sign in signs) for text in texts)


def _kind_of(values):
    """The sign before its fractions, and the others that are to go; None for what is text, or read as numbers already."""
    texts = [value.strip() for value in values if value.strip().lower() not in _NOTHING]
    if not texts or not _BEGINS.match(texts[0]) or all(map(_PLAIN.match, texts)):
        return None
    for decimal, pattern in ((".", _WITH_POINT), (",", _WITH_COMMA)):
        matches = [pattern.match(text) or _WHOLE_WITH_UNIT.match(text) for text in texts]
        if all(matches):
            signs = {unit for match in matches for unit in (match["before"], match["after"]) if unit}
            numbers = "".join(text.replace(match["before"] or "", "", 1).replace(match["after"] or "", "", 1).strip() for text, match in zip(texts, matches))
            return decimal, signs | set(numbers) - set(f"0123456789+-{decimal}")
    return None


def _number_of(column, decimal, signs, may_fail):
    text = column
    for sign in sorted(signs, key=lambda sign: (-len(sign), sign)):
        text = f"replace({text}, {_text(sign)}, '')"
    if decimal == ",":
        text = f"replace({text}, ',', '.')"
    return f"{'TRY_' if may_fail else ''}CAST({text} AS DOUBLE)"


def _dates_of(names, columns):
    """Columns that could be read both ways: their names, and a date that tells which way."""
    found = []
    for name, values in zip(names, columns):
        matches = [_DATE.match(value) for value in values if value.strip().lower() not in _NOTHING]
        if not matches or not all(matches) or any(int(match[1]) > 12 or int(match[3]) > 12 for match in matches):
            continue
        told = next((match for match in matches if len({int(match[1]), int(match[3]), int(match[4]) % 100}) == 3), None)
        if told:
            found.append((name, told))
    return found


def _of_dates(path, found, order_of):
    parts = []
    for name, told in found:
        order = order_of(name, told[0])
        if order:
            first, second = ("%m", "%d") if order == "day" else ("%d", "%m")
            kind, time = _time_of(told)
            form = f"{first}{told[2]}{second}{told[2]}{'%Y' if len(told[4]) == 4 else '%y'}{time}"
            parts.append(f"{_quoted(name)} was read {'day before month' if order == 'day' else 'month before day'}, both fit: "
                         f"read_csv({_text(path)}, {kind}='{form}') is the other")
    return parts[:_COLUMNS_NAMED]


def _time_of(match):
    text = match[0].strip()
    if ":" not in text:
        return "dateformat", ""
    hour, half = ("%I", " %p" if match[6].startswith(" ") else "%p") if match[6] else ("%H", "")
    return "timestampformat", f"{'T' if 'T' in text[:11] else ' '}{hour}:%M{':%S' if match[5] else ''}{half}"


def _listed(names):
    shown = ", ".join(map(_quoted, names[:_COLUMNS_NAMED])) + (f" and {len(names) - _COLUMNS_NAMED} more" if len(names) > _COLUMNS_NAMED else "")
    return f"{shown} {'is' if len(names) == 1 else 'are'}"


def _quoted(name):
    return name if name.isidentifier() and name.isascii() and name.lower() not in _RESERVED else '"' + name.replace('"', '""') + '"'


def _text(value):
    return "'" + value.replace("'", "''") + "'"
