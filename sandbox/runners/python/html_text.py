"""What there is to read in HTML whose object says nothing of itself: the tables, and the words around them."""

from html.parser import HTMLParser

ROWS_EACH_END = 10
CHARACTERS_MAX = 20_000
CELL_CHARACTERS = 100
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
        self._rows = None  # of the table that is open
        self._cell = None
        self._cells_wide = 1
        self._unseen = 0

    def handle_starttag(self, tag, attrs):
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "table" and self._rows is None:
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._end_cell()
            self._rows.append([])
        elif tag in ("td", "th") and self._rows is not None:
            self._end_cell()
            self._cell = ""
            self._cells_wide = _number(dict(attrs).get("colspan"))
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
        words = " ".join(data.split())
        if self._cell is not None:
            self._cell += words
        elif words:  # in a table it is the caption's
            self._lines[-1] += (" " if self._lines[-1] else "") + words

    def _end_cell(self):
        if self._cell is not None:
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append(self._cell if len(self._cell) <= CELL_CHARACTERS else self._cell[:CELL_CHARACTERS] + "...")
            self._rows[-1] += [""] * (self._cells_wide - 1)
            self._cell = None

    def _new_line(self):
        if self._cell is None and self._lines[-1]:
            self._lines.append("")

    def text(self):
        return "\n".join(self._lines).strip("\n").rstrip()  # a header may begin with an empty cell


def _number(colspan):
    return min(int(colspan), 50) if (colspan or "").isdecimal() and int(colspan) else 1


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
