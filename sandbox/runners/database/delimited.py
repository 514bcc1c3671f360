"""CSV and TSV: the names, types and rows of a file."""

import csv
import itertools

from hutch_runner.cell_kinds import MISSING, TYPES, converter, wider


def read_delimited(path):
    csv.field_size_limit(1 << 30)
    encoding = encoding_of(path)
    with open(path, encoding=encoding, newline="") as file:
        first_line = file.readline()
    delimiter = "\t" if path.lower().endswith(".tsv") else ","
    if delimiter == "," and "," not in first_line and ";" in first_line:
        delimiter = ";"  # what spreadsheets write where the comma is the decimal mark
    form = {"delimiter": delimiter, "skipinitialspace": has_spaces_between(first_line, delimiter)}

    def lines():
        with open(path, encoding=encoding, newline="") as file:
            reader = csv.reader(file, **form)
            width = None
            for row in reader:
                if not row:
                    continue
                width = width or len(row)
                if len(row) != width:
                    raise ValueError(f"{path}, line {reader.line_num}: {len(row)} fields, "
                                     f"but the header has {width}")
                yield row

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

    return header, [TYPES.get(kind, "TEXT") for kind in kinds], rows


def has_spaces_between(header, delimiter):
    """Whether a space follows the delimiters: it is no part of what comes then, nor are quotes after it."""
    names = next(csv.reader([header], delimiter=delimiter), [])
    return delimiter != "\t" and any(name.startswith(" ") for name in names[1:])


def encoding_of(path):
    """UTF-8 with or without a mark, UTF-16 with one; what is neither is read as Latin-1."""
    with open(path, "rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    try:
        with open(path, encoding="utf-8-sig") as file:
            while file.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"
