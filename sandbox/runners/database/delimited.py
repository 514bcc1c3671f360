"""CSV and TSV: the names, types and rows of a file."""

import csv
import itertools
import re

from hutch_runner.cell_kinds import MISSING, TYPES, converter, looks_like_number, may_be_thousands, wider

_DELIMITERS = ",;\t|"
_SAMPLE_LINES, _SAMPLE_ROWS = 20, 1000
_NAMES_DELIMITER = re.compile(r'"?sep=([^"])"?$', re.IGNORECASE)  # a first line for spreadsheets


def read_delimited(path):
    """Names, SQLite types, a function that gives the rows, and what is to be told of them."""
    csv.field_size_limit(1 << 30)
    encoding = encoding_of(path)
    with open(path, encoding=encoding, newline="") as file:
        sample = list(itertools.islice(file, _SAMPLE_LINES))
    named = _NAMES_DELIMITER.match(sample[0].rstrip()) if sample else None
    delimiter = named.group(1) if named else delimiter_of(path, sample)
    skipped = 1 if named else 0
    form = {"delimiter": delimiter, "skipinitialspace": has_spaces_between("".join(sample[skipped:][:1]), delimiter)}

    def lines():
        with open(path, encoding=encoding, newline="") as file:
            reader = csv.reader(itertools.islice(file, skipped, None), **form)
            width, before, until = None, 0, 0
            for row in reader:
                before, until = until, reader.line_num
                if not row:
                    continue
                width = width or len(row)
                if len(row) != width:
                    refuse_open_quote(before, until)
                    raise ValueError(f"{path}, line {until + skipped}: {len(row)} fields, but the header has {width}; "
                                     "pandas in Python may read it, and its DataFrames are tables here")
                yield row
            refuse_open_quote(before, until)

    def refuse_open_quote(before, until):
        """The reader takes what follows a quote for its text, be it the rest of the file."""
        if until - before > 1:
            with open(path, encoding=encoding, newline="") as file:
                quotes = sum(line.count('"') for line in itertools.islice(file, before + skipped, until + skipped))
            if quotes % 2:
                raise ValueError(f"{path}, line {before + skipped + 1}: a quote is opened there and not closed")

    header = next(lines(), None)
    if header is None:
        raise ValueError(f"{path} is empty: it has no header line")
    kinds, has_decimal_commas = [None] * len(header), delimiter == ";"
    for row in itertools.islice(lines(), 1, None):
        for i, cell in enumerate(map(str.strip, row)):
            if cell and kinds[i] != "text" and cell not in MISSING:
                kinds[i] = wider(kinds[i], cell, has_decimal_commas)
    converters = [converter(kind) for kind in kinds]

    def rows():
        for row in itertools.islice(lines(), 1, None):
            yield [convert(cell) for convert, cell in zip(converters, row)]

    first = list(itertools.islice(lines(), 1, _SAMPLE_ROWS))
    notes = [note_of(path, name, kind, [row[i].strip() for row in first], has_decimal_commas)
             for i, (name, kind) in enumerate(zip(header, kinds))]
    return header, [TYPES.get(kind, "TEXT") for kind in kinds], rows, [note for note in notes if note]


def delimiter_of(path, sample):
    """Of those that part the first rows into as many cells each the comma, else the one that makes most."""
    if path.lower().endswith(".tsv"):
        return "\t"
    widths = {}
    for delimiter in _DELIMITERS:
        rows = [row for row in csv.reader(sample, delimiter=delimiter) if row]
        whole = rows[:-1] if len(rows) > 1 and len(sample) == _SAMPLE_LINES else rows  # the last may go on behind it
        counts = set(map(len, whole))
        if len(counts) == 1 and max(counts) > 1:
            widths[delimiter] = max(counts)
    if widths:
        return "," if "," in widths else max(widths, key=widths.get)
    header = sample[0] if sample else ""
    return next((delimiter for delimiter in _DELIMITERS if delimiter in header), ",")


def note_of(path, name, kind, cells, has_decimal_commas):
    """What sums would silently get wrong: amounts that are text, and points that may not be decimal ones."""
    cells = [cell for cell in cells if cell and cell not in MISSING]
    if kind == "text":
        alike = [cell for cell in cells if looks_like_number(cell)]
        odd = next((cell for cell in alike if wider(None, cell, has_decimal_commas) == "text"), None)
        if odd is not None and 2 * len(alike) > len(cells):
            return (f"column {name} of {path} is text, for {odd!r} is no plain number: sum(), > and ORDER BY "
                    "do not take it for one")
    if kind == "real" and has_decimal_commas and may_be_thousands(cells):
        return f"column {name} of {path}: points were taken for decimal ones, {next(c for c in cells if '.' in c)} is below a thousand"
    return ""


def has_spaces_between(header, delimiter):
    """Whether a space follows the delimiters: it is no part of what comes then, nor are quotes after it."""
    names = next(csv.reader([header], delimiter=delimiter), [])
    return delimiter != "\t" and any(name.startswith(" ") for name in names[1:])


def encoding_of(path):
    """UTF-8 with or without a mark, UTF-16 with one; what is neither is read as Windows' Latin alphabet."""
    with open(path, "rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    return next((encoding for encoding in ("utf-8-sig", "cp1252") if can_be_read(path, encoding)), "latin-1")


def can_be_read(path, encoding):
    try:
        with open(path, encoding=encoding) as file:
            while file.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return False
    return True
