"""Tables of polars and Arrow as results: as those of pandas, text and HTML of some rows, more of them as JSON."""

import sys

from hutch_runner.channel import cut
from hutch_runner.plain_json import plain

ROWS_TEXT = 20
ROWS_JSON = 1000
JSON_CHARACTERS_MAX = 200_000
CELLS_CSV = 200_000
TEXT_CHARACTERS_MAX = 10_000_000


def formats_of(value):
    """The formats of a table of polars or Arrow; None for anything else."""
    polars, arrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None and isinstance(value, getattr(polars, "DataFrame", ())):
        return _formats(_Polars(polars, value))
    if arrow is not None and isinstance(value, tuple(filter(None, (getattr(arrow, "Table", None),
                                                                  getattr(arrow, "RecordBatch", None))))):
        return _formats(_Arrow(value))
    return None


class _Polars:
    def __init__(self, polars, frame):
        self._polars, self._frame = polars, frame
        self.columns = [(name, str(kind)) for name, kind in frame.schema.items()]
        self.count = frame.height

    def rows(self, count):
        return self._frame.head(count).rows()

    def text(self):
        import os
        if "POLARS_FMT_MAX_ROWS" in os.environ:  # the code has said how many, by polars' own settings
            return repr(self._frame)
        with self._polars.Config(tbl_rows=ROWS_TEXT, tbl_cols=ROWS_TEXT):
            return repr(self._frame)

    def html(self):
        return self._frame._repr_html_()

    def csv(self):
        return self._frame.write_csv()


class _Arrow:
    def __init__(self, table):
        self._table = table
        self.columns = [(field.name, str(field.type)) for field in table.schema]
        self.count = table.num_rows

    def rows(self, count):
        part = self._table.slice(0, count)
        return list(zip(*[column.to_pylist() for column in part.columns]))

    def _head(self):
        return self._table.slice(0, ROWS_TEXT).to_pandas()

    def text(self):
        more = f"; {ROWS_TEXT} shown" if self.count > ROWS_TEXT else ""
        return f"{self._head().to_string()}\n\n[{self.count} rows x {len(self.columns)} columns{more}]"

    def html(self):
        return self._head().to_html()

    def csv(self):
        return self._table.to_pandas().to_csv(index=False)


def _formats(table):
    found = {"text": cut(table.text(), TEXT_CHARACTERS_MAX), "html": table.html(), "json": _json(table)}
    if found["json"]["truncated"] and table.count * len(table.columns) <= CELLS_CSV:
        found["csv"] = table.csv()
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
