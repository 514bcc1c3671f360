"""Tables of polars and Arrow as results: as those of pandas, text and HTML of some rows, more of them as JSON."""

import os
import sys

from hutch_runner.channel import cut
from hutch_runner.names import names_in_short
from hutch_runner.plain_json import plain

ROWS_TEXT = 20
COLUMNS_TEXT = 20
WIDTH_TEXT = 200
CHARACTERS_TEXT = 3_300  # as of tables of pandas
WIDTH_OF_POLARS_MAX = 60_000  # it counts in two bytes
ROWS_JSON = 1000
JSON_CHARACTERS_MAX = 200_000
CELLS_CSV = 200_000
TEXT_CHARACTERS_MAX = 20_000_000
_SETTINGS_OF_POLARS = {"POLARS_FMT_MAX_ROWS", "POLARS_FMT_MAX_COLS", "POLARS_TABLE_WIDTH"}


def formats_of(value):
    """The formats of a table of polars or Arrow; None for anything else."""
    polars, arrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None and isinstance(value, getattr(polars, "DataFrame", ())):
        return _formats(_Polars(polars, value))
    if arrow is not None and isinstance(value, tuple(filter(None, (getattr(arrow, "Table", None),
                                                                  getattr(arrow, "RecordBatch", None))))):
        return _formats(_Arrow(arrow, value))
    return None


class _Polars:
    def __init__(self, polars, frame):
        self._polars, self._frame = polars, frame
        self.columns = [(name, str(kind)) for name, kind in frame.schema.items()]
        self.count = frame.height

    def rows(self, count):
        return self._frame.head(count).rows()

    def forms(self, _as_json, _has_csv):
        return {"text": self._text(), "html": self._frame._repr_html_()}

    def _text(self):
        """In columns as wide as their cells, and behind it the names of those that do not fit."""
        if _SETTINGS_OF_POLARS & os.environ.keys():  # the code has said how much is shown
            return repr(self._frame)
        count = len(self.columns)
        fits, width_max = min(count, COLUMNS_TEXT), WIDTH_TEXT
        text = self._drawn(fits)
        if len(text) > CHARACTERS_TEXT:
            width_max = min(WIDTH_TEXT, CHARACTERS_TEXT // text.count("\n"))
        while fits > 2 and (width := max(map(len, text.split("\n")))) > width_max:
            fits = max(2, min(fits - 1, fits * width_max // width))
            text = self._drawn(fits)
        if fits <= 2:
            text = self._drawn(fits, WIDTH_TEXT)
        not_shown = [name for name, _ in self.columns[(fits + 1) // 2:count - fits // 2]]
        return text + (f"\n[not shown: {names_in_short(not_shown)}]" if not_shown else "")

    def _drawn(self, columns, width=WIDTH_OF_POLARS_MAX):
        with self._polars.Config(tbl_rows=ROWS_TEXT, tbl_cols=columns, tbl_width_chars=width):
            return repr(self._frame)

    def csv(self):
        try:
            return self._frame.write_csv()
        except self._polars.exceptions.PolarsError:
            return None  # there is none of lists, structs and objects


class _Arrow:
    def __init__(self, arrow, table):
        self._table = table if isinstance(table, arrow.Table) else arrow.Table.from_batches([table])
        self._arrow = arrow
        self.columns = [(field.name, str(field.type)) for field in table.schema]
        self.count = table.num_rows

    def rows(self, count):
        part = self._table.slice(0, count)
        return list(zip(*[column.to_pylist() for column in part.columns]))

    def forms(self, as_json, has_csv):
        """As pandas' tables have them, of the first rows and the last: no more is converted."""
        import pandas

        from hutch_runner import display
        most = display.rows_shown(pandas, self.count, len(self.columns))
        frame = self._ends(pandas, most // 2 + 1) if self.count > most + 1 else self._table.to_pandas()
        text, rows, columns, named = display.text_of_table(pandas, frame, most)
        footer = display.footer_of_table((self.count, len(self.columns)), rows, named, as_json, has_csv, "table")
        return {"text": text + footer, "html": frame.to_html(max_rows=rows, max_cols=columns)}

    def _ends(self, pandas, count):
        frame = self._arrow.concat_tables([self._table.slice(0, count), self._table.slice(self.count - count)]).to_pandas()
        if isinstance(frame.index, pandas.RangeIndex):  # it has none of its own
            frame.index = [*range(count), *range(self.count - count, self.count)]
        return frame

    def csv(self):
        return self._table.to_pandas().to_csv(index=False)


def _formats(table):
    as_json = _json(table)
    csv = table.csv() if as_json["truncated"] and table.count * len(table.columns) <= CELLS_CSV else None
    forms = table.forms(as_json, csv is not None)
    found = {"text": cut(forms["text"], TEXT_CHARACTERS_MAX), "html": forms["html"], "json": as_json}
    if csv is not None:
        found["csv"] = csv
    return found


def _json(table):
    # No more is converted than can fit: a cell takes three characters, with what separates it from the next.
    most = min(ROWS_JSON, JSON_CHARACTERS_MAX // (3 * max(len(table.columns), 1)) + 1)
    rows, size = [], 0
    for row in table.rows(most):
        cells = [plain(value) for value in row]
        size += len(repr(cells))
        if size > JSON_CHARACTERS_MAX:
            break
        rows.append(cells)
    return {"columns": [{"name": name, "type": kind} for name, kind in table.columns], "rows": rows,
            "row_count": table.count, "truncated": len(rows) < table.count}
