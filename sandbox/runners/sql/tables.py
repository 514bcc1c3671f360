"""Results of queries: aligned text, HTML, JSON, and the whole as a CSV file when it is long."""

import csv
import html
import os
from collections import deque

from hutch_runner.names import names_in_short
from hutch_runner.plain_json import plain

ROWS_ALL = 60  # so many are shown whole
ROWS_EACH_END = 10  # where there are more
WIDTH_TEXT = 200
CHARACTERS_TEXT = 3_300  # the host shows 4,000 of a text, with what follows the table, and would cut through its rows
ROWS_JSON = 1000
JSON_CHARACTERS_MAX = 200_000
ROWS_FILE = 1_000_000
FILE_BYTES_MAX = 48 << 20  # the state folder is memory, and the host keeps as much of a run
CELL_CHARACTERS = 200
NAMES_CHARACTERS = 400  # columns that are not shown are named in so many
CUT_NAMES_CHARACTERS = 60
BLOB_BYTES = 32
ROWS_AT_ONCE = 500
PLAN_COLUMNS = ["explain_key", "explain_value"]  # so DuckDB calls them
DECIMAL_DIGITS_EXACT = 15  # a double has so many

_TYPES = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}


class Table:
    """Reads an answer to its end: the first rows are kept, all go to the file if they are many."""

    def __init__(self, answer, check_interrupt):
        self.names = [name for name, _ in answer.columns]
        self.rows = answer.rows.fetchmany(ROWS_JSON)
        self.types = [kind or self._type_of_values(i) for i, (_, kind) in enumerate(answer.columns)]
        self._cursor = answer.rows
        self._check_interrupt = check_interrupt
        self._last = deque(maxlen=ROWS_EACH_END)  # where there are more rows than are kept
        self._has_all = True  # have been read

    def batches(self, size):
        """All rows, once."""
        rows = self.rows
        while rows:
            self._check_interrupt()
            yield rows
            rows = self._cursor.fetchmany(size)

    def output(self, path):
        """The output; what does not fit in is in the file `path`, the `csv` of the output."""
        rows_json, size = [], 0
        for row in self.rows:
            cells = [to_json(value) for value in row]
            size += sum(len(cell) if isinstance(cell, str) else 8 for cell in cells) + 2 * len(cells)
            if size > JSON_CHARACTERS_MAX:
                break
            rows_json.append(cells)
        rest = self._cursor.fetchmany(ROWS_AT_ONCE) if len(self.rows) == ROWS_JSON else []
        truncated = bool(rest) or len(rows_json) < len(self.rows)
        count, note, saved = len(self.rows), "", False
        if truncated:
            count, note, saved = self._save(path, rest)
        data = {"columns": [{"name": n, "type": t} for n, t in zip(self.names, self.types)],
                "rows": rows_json, "row_count": count, "truncated": truncated}
        first, last, text, not_shown = self._shown(count)
        footer = "1 row" if count == 1 else f"{count} rows"
        if len(first) + len(last) < count:
            footer += f", the first {len(first)} and the last {len(last)} shown" if last else f", {len(first)} shown"
        named = f"; not shown: {names_in_short(not_shown, NAMES_CHARACTERS)} (name the columns you need)" if not_shown else ""
        named += self._words_of_cut_texts([*first, *last], not_shown)
        markup = as_html(self.names, [*first, *last], f"({footer}{note})")
        output = make_output(f"{text}({footer}{note}{named})", markup, data) if self.names != PLAN_COLUMNS else plan_output(self.rows, data)
        if saved:
            output["formats"].append("csv")
            output["csv"] = path
        return output

    def _shown(self, count):
        """The first rows and the last, they as text, and the names of columns that it does not have."""
        first, last = self._rows_shown(count, ROWS_ALL)
        text, not_shown = as_text(self.names, first, last)
        if not_shown and count == 1:
            text, not_shown = as_lines(self.names, first[0])
        if len(text) > CHARACTERS_TEXT:
            first, last = self._rows_shown(count, 2 * ROWS_EACH_END)
            text, not_shown = as_text(self.names, first, last, CHARACTERS_TEXT // (len(first) + len(last) + 3))
        return first, last, text, not_shown

    def _words_of_cut_texts(self, rows, not_shown):
        cut_ones = [name for i, name in enumerate(self.names) if name not in not_shown and any(is_cut(row[i]) for row in rows)]
        if not cut_ones:
            return ""
        first, values = cut_ones[0], [row[self.names.index(cut_ones[0])] for row in rows]
        quoted = first if first.isidentifier() and first.isascii() else '"' + first.replace('"', '""') + '"'
        is_text = all(isinstance(value, (str, type(None))) for value in values)
        way = f"substr({quoted}, {CELL_CHARACTERS + 1}) is the rest" if is_text else "ask for parts of it"
        return f"; cut: {names_in_short(cut_ones, CUT_NAMES_CHARACTERS)} ({way})"

    def _rows_shown(self, count, all_of):
        """The first ones and the last; without the last where they have not been read."""
        if count <= all_of and len(self.rows) >= count:
            return self.rows, []
        if not self._has_all:
            return self.rows[:2 * ROWS_EACH_END], []
        return self.rows[:ROWS_EACH_END], list(self._last) or self.rows[-ROWS_EACH_END:]

    def _save(self, path, rest):
        """Writes all rows; returns how many there are, what to say about it, and whether there is a file."""
        count = 0
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(self.names)
                batch = self.rows
                while batch:
                    self._check_interrupt()
                    writer.writerows([["" if v is None else to_csv(v) for v in row] for row in batch])
                    count += len(batch)
                    self._last.extend(batch[-ROWS_EACH_END:])
                    batch, rest = rest or self._cursor.fetchmany(ROWS_AT_ONCE), []
                    if batch and (count >= ROWS_FILE or file.tell() > FILE_BYTES_MAX):
                        self._has_all = False
                        return count, f"; there are more: the CSV file has the first {count}", True
        except OSError as error:
            self._has_all = False
            return max(count, len(self.rows)), f"; not saved: {error.strerror}", False
        return count, "; the CSV file has all", True

    def _type_of_values(self, i):
        kinds = {type(row[i]) for row in self.rows} - {type(None)}
        if kinds == {int, float}:
            kinds = {float}
        return _TYPES.get(kinds.pop(), "") if len(kinds) == 1 else ""


def plan_output(rows, data):
    """Shows the text of EXPLAIN in its own lines."""
    text = "\n".join(str(value).rstrip() for _, value in rows)
    if len(text) > CHARACTERS_TEXT:
        end = text.rfind("\n", 0, CHARACTERS_TEXT)
        text = f"{text[:end if end > 0 else CHARACTERS_TEXT]}\n... (of {len(text)} characters)"
    return make_output(text, f"<pre>{html.escape(text)}</pre>", data)


def make_output(text, markup=None, data=None):
    output = {"is_main_result": False, "formats": ["text"], "text": text}
    for name, content in (("html", markup), ("json", data)):
        if content is not None:
            output["formats"].append(name)
            output[name] = content
    return output


def to_text(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        more = f"... ({len(value)} bytes)" if len(value) > BLOB_BYTES else ""
        return f"x'{value[:BLOB_BYTES].hex()}'{more}"
    if isinstance(value, float):
        value = float(f"{value:.{DECIMAL_DIGITS_EXACT}g}")  # the digits behind are those of binary fractions; JSON and CSV have them
    text = str(value)
    more = "..." if len(text) > CELL_CHARACTERS else ""  # cut as it is, so that substr() has the rest
    return text[:CELL_CHARACTERS].replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + more


def is_cut(value):
    return not isinstance(value, (bytes, float, int, type(None))) and len(str(value)) > CELL_CHARACTERS


def to_json(value):
    if isinstance(value, bytes):
        return to_text(value)
    value = without_types(value)
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)
    return plain(value)


def without_types(value):
    """Decimals that a number of JSON holds as it; moments as they are in text, with a space."""
    kind = type(value)
    if kind.__module__ == "decimal" and value.is_finite() and len(value.as_tuple().digits) <= DECIMAL_DIGITS_EXACT:
        return int(value) if value.as_tuple().exponent >= 0 else float(value)
    return str(value) if kind.__name__ == "datetime" and kind.__module__ == "datetime" else value


def to_csv(value):
    return value.hex() if isinstance(value, bytes) else value


def as_text(names, first, last=(), width_max=WIDTH_TEXT):
    """The table, with a line between its first rows and its last, and the names of the columns that do not fit."""
    rows = [*first, *last]
    cells = [[to_text(value) for value in row] for row in rows]
    widths = [max(len(name), *(len(row[i]) for row in cells), 1) if cells else max(len(name), 1)
              for i, name in enumerate(names)]
    right = [bool(rows) and all(isinstance(row[i], (int, float, type(None))) for row in rows)
             for i in range(len(names))]
    shown = _columns_that_fit(widths, min(width_max, WIDTH_TEXT))

    def line(values):
        padded = [values[i].rjust(widths[i]) if right[i] else values[i].ljust(widths[i]) for i in shown]
        return " | ".join(padded).rstrip() + "\n"

    lines = [line(row) for row in cells]
    between = ["...\n"] if last else []
    table = line(names) + "-+-".join("-" * widths[i] for i in shown) + "\n" + "".join([*lines[:len(first)], *between, *lines[len(first):]])
    return table, [name for i, name in enumerate(names) if i not in set(shown)]


def as_lines(names, row):
    """A single row that is too wide, a line for each value, and the names of the columns that do not fit."""
    lines, size = [], 0
    for name, value in zip(names, row):
        line = f"{name}: {to_text(value)}\n"
        size += len(line)
        if size > CHARACTERS_TEXT and lines:
            break
        lines.append(line)
    return "".join(lines), names[len(lines):]


def _columns_that_fit(widths, width_max):
    """Returns the first ones and the last where there are many; two are shown however wide they are."""
    columns = list(range(len(widths)))
    while len(columns) > 2 and sum(widths[i] + 3 for i in columns) - 3 > width_max:
        del columns[len(columns) // 2]
    return columns


def as_html(names, rows, footer):
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(to_text(v))}</td>" for v in row) + "</tr>\n"
                   for row in rows)
    return (f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
            f"<p>{html.escape(footer)}</p>")
