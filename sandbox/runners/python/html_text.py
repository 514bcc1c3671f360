"""Finds what there is to read in HTML whose object says nothing of itself: the tables, and the words around them."""

import re
from html.parser import HTMLParser

ROWS_EACH_END = 10
CHARACTERS_MAX = 20_000
CELL_CHARACTERS = 100
COLUMNS_WIDE_MAX = 50
ROWS_HIGH_MAX = 65_534  # as browsers have it
PLACES_GIVEN_MAX = 100_000  # to cells in the rows below theirs
_SPACE = re.compile(r"\s+")
_UNSEEN = ("script", "style", "head", "svg", "template")
_BLOCKS = ("p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul", "ol", "br", "hr", "section", "caption", "pre", "tr", "table")


def is_bare(text):
    """As hutch-box has it: `<a.Map object at 0x7f>`."""
    return text.startswith("<") and text.endswith(">") and "\n" not in text and (
        text.endswith(" object>") or " object at 0x" in text)


def text_of(html):
    """Empty where there is nothing to read."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.text()[:CHARACTERS_MAX]


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self._lines = [""]
        self._rows = None  # the open table's
        self._cell = None
        self._cells_wide = self._rows_high = 1
        self._reaching = {}  # by place that a cell has in later rows too: the last of these, counted from 1
        self._places_given = 0  # in those rows
        self._unseen = 0

    def handle_starttag(self, tag, attrs):
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "table" and self._rows is None:
            self._rows, self._reaching = [], {}
        elif tag in ("thead", "tbody", "tfoot"):
            self._end_cell()
            self._reaching = {}
        elif tag == "tr" and self._rows is not None:
            self._end_cell()
            self._rows.append([])
        elif tag in ("td", "th") and self._rows is not None:
            self._end_cell()
            self._cell = ""
            self._cells_wide = _number(dict(attrs).get("colspan"), COLUMNS_WIDE_MAX)
            self._rows_high = _number(dict(attrs).get("rowspan"), ROWS_HIGH_MAX, ROWS_HIGH_MAX)
        elif tag in _BLOCKS:
            self._new_line()

    def handle_endtag(self, tag):
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag in ("td", "th", "tr"):
            self._end_cell()
        elif tag == "table" and self._rows is not None:
            self._end_cell()
            if not self._lines[-1]:
                self._lines.pop()
            self._lines += _aligned([row for row in self._rows if row])
            self._lines.append("")
            self._rows = None
        elif tag in _BLOCKS:
            self._new_line()

    def handle_data(self, data):
        if self._unseen:
            return
        if self._cell is not None:
            self._add_to_cell(data)
        elif words := " ".join(data.split()):  # in a table it is the caption's
            self._lines[-1] += (" " if self._lines[-1] else "") + words

    def _add_to_cell(self, data):
        if len(self._cell) <= CELL_CHARACTERS:
            self._cell = _SPACE.sub(" ", self._cell + data)

    def _end_cell(self):
        if self._cell is None:
            return
        if not self._rows:
            self._rows.append([])
        row, words = self._rows[-1], self._cell.strip()
        while self._reaching.get(len(row), 0) >= len(self._rows) and self._places_given < PLACES_GIVEN_MAX:
            self._places_given += 1
            row.append("")
        if self._rows_high > 1:
            end = len(self._rows) + self._rows_high - 1
            self._reaching.update((place, end) for place in range(len(row), len(row) + self._cells_wide))
        row.append(words if len(words) <= CELL_CHARACTERS else words[:CELL_CHARACTERS] + "...")
        row += [""] * (self._cells_wide - 1)
        self._cell = None

    def _new_line(self):
        if self._cell is not None:
            self._add_to_cell(" ")
        elif self._lines[-1]:
            self._lines.append("")

    def text(self):
        return "\n".join(self._lines).strip("\n").rstrip()  # a header may begin with an empty cell


def _number(span, most, of_zero=1):
    """A span of 0 is all that are left, where they are rows."""
    if not (span or "").isdecimal():
        return 1
    return min(int(span[:9]), most) or of_zero


def _aligned(rows):
    count = len(rows)
    if count > 2 * ROWS_EACH_END + 1:  # and the head
        rows = [*rows[:ROWS_EACH_END + 1], [f"... {count - 2 * ROWS_EACH_END - 1} rows more"], *rows[-ROWS_EACH_END:]]
    widths = {}
    for row in rows:
        for place, cell in enumerate(row):
            if len(row) > 1:
                widths[place] = max(widths.get(place, 0), len(cell))
    return ["  ".join(cell.ljust(widths.get(place, 0)) for place, cell in enumerate(row)).rstrip() for row in rows]
