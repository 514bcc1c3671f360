"""Values as results: text for the model, richer formats where the value offers them."""

import sys

from hutch_runner import column_tables, library_charts, pictures
from hutch_runner.channel import EncodedJson, cut
from hutch_runner.names import names_in_short
from hutch_runner.patterns import Pattern
from hutch_runner.plain_json import is_plain, plain

TEXT_CHARACTERS_MAX = 20_000_000
MARKUP_CHARACTERS_MAX = 50_000_000
TABLE_CHARACTERS_JSON = 200_000
TABLE_ROWS_TEXT = 20
TABLE_ROWS_ALL = 60  # so many are shown whole: pandas' default too, so that whoever sets just that gets it
TABLE_COLUMNS_TEXT = 50
TABLE_WIDTH_TEXT = 200
TABLE_CHARACTERS_TEXT = 3_300  # the host shows 4,000 of a text, with what follows the table, and would cut through its rows
TABLE_ROWS_JSON = 1000
TABLE_CELLS_CSV = 200_000  # more take longer to write than one waits for a table; the variable has them

_OPTION = Pattern(r"\[default: (.*?)\]\s*\[currently: (.*?)\]")

_WIDGET = "application/vnd.jupyter.widget-view+json"  # no more than the number of a model that is not here

_NOT_WORDS = ("<script", "<iframe", "<audio", "<video", "<object", "<embed", "<canvas")

# The order in which formats are listed.
_FORMATS = ("text", "html", "markdown", "latex", "svg", "png", "json", "csv", "chart")

_MIME_TYPES = {"text/plain": "text", "text/html": "html", "text/markdown": "markdown",
               "text/latex": "latex", "image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpeg",
               "image/gif": "gif", "image/webp": "webp",
               "application/json": "json"}


def output_of(value, figures, is_main_result, formatted=lambda _value: {}):
    """The output for a value, and its picture or None: what the channel sends."""
    if figures.is_figure(value):
        return figures.output_of(value, is_main_result)
    found = {"text": text_of(value, is_main_result)}
    try:
        formats = library_charts.formats_of(value)
        tables = column_tables.formats_of(value) if formats is None else None
        if formats is not None:
            for name, content in formats.items():
                _add(name, content, found)
        elif tables is not None:
            found.update(tables)
        elif not _add_table(value, found):
            _add_bundle(formatted(value), found)
            _add_rich(value, found)
    except Exception as failure:
        # The text is enough to go on with; the reason is for whoever wrote the method.
        found["text"] += f"\n[no rich form: {type(failure).__name__}: {failure}]"
    if "json" not in found and isinstance(value, (dict, list)) and value and is_plain(value):
        found["json"] = plain(value)
    _add_readable(found)
    return make_output(found, is_main_result)


def _add_readable(found):
    """For who sees neither HTML nor drawings: the words and tables of the one as text, the other as a picture."""
    try:
        if "html" in found and "png" not in found and _is_to_be_read(found["html"]):
            from hutch_runner import html_text
            if not found["text"] or html_text.is_bare(found["text"]):
                found["text"] = html_text.text_of(found["html"]) or found["text"]
        if "svg" in found and "png" not in found:
            picture = pictures.of_svg(found["svg"])
            if picture is not None:
                found["png"] = pictures.fit(picture)
    except Exception as failure:  # the forms themselves are there
        found["text"] += f"\n[not to be read here: {type(failure).__name__}: {failure}]"


def _is_to_be_read(html):
    """The words of what is played, or drawn by its script, say nothing of it."""
    return "<table" in html or not any(tag in html for tag in _NOT_WORDS)


def make_output(found, is_main_result):
    picture = found.pop("png", None)
    formats = [name for name in _FORMATS if name in found or (name == "png" and picture)]
    return {"is_main_result": is_main_result, "formats": formats, **found}, picture


def text_of(value, is_main_result=False):
    if type(value) not in (str, int, float, bool):
        try:
            from hutch_runner import short_values
            text = short_values.text_of(value, is_main_result)
            if text is not None:
                return text
        except Exception:  # changed by a thread meanwhile, or of a make that is not known: its own words then
            pass
    try:
        text = repr(value)
    except Exception as failure:
        text = f"<{type(value).__name__} object; its __repr__ raised {_describe(failure)}>"
    return cut(text, TEXT_CHARACTERS_MAX)


def _describe(failure):
    try:
        return f"{type(failure).__name__}: {failure}"
    except Exception:
        return type(failure).__name__


def _add_rich(value, found):
    """Adds what the value's own _repr_*_ methods give (the protocol of IPython)."""
    kind = type(value)  # asked of the type: objects that answer to any name have none of these
    if isinstance(value, type):
        return
    if hasattr(kind, "_repr_pretty_") and "IPython.lib.pretty" in sys.modules:
        from hutch_runner import html_text
        if html_text.is_bare(found["text"]):
            found["text"] = cut(sys.modules["IPython.lib.pretty"].pretty(value), TEXT_CHARACTERS_MAX)
    bundle = getattr(kind, "_repr_mimebundle_", None)
    if bundle is not None:
        data = _bundle_of(value, bundle)
        _add_bundle((data[0] if isinstance(data, tuple) else data) or {}, found)
    picture = pictures.of_pil(value)  # its own would first encode millions of points that nobody sees
    if picture is not None:
        _add("png", picture, found)
        found["text"] += pictures.loss_of(found["png"], value.size, value.mode in ("P", "PA")) + pictures.frames_of(value)
        return
    for name in ("html", "markdown", "latex", "svg", "png", "jpeg", "json"):
        method = getattr(kind, f"_repr_{name}_", None)
        if method is not None and name not in found and not (name == "jpeg" and "png" in found):
            content = method(value)
            _add(name, content[0] if isinstance(content, tuple) else content, found)


def _bundle_of(value, method):
    """Called as IPython does, which has the method take both; one that takes neither has an answer, too."""
    try:
        return method(value, include=None, exclude=None)
    except TypeError as failure:
        if "unexpected keyword argument" not in str(failure):
            raise
    return method(value)


def output_of_bundle(data):
    """The output for a MIME bundle, as IPython has them: {"text/html": ...}."""
    found = {"text": ""}
    _add_bundle(data, found)
    _add_readable(found)
    return make_output(found, is_main_result=False)


def _add_bundle(data, found):
    for mime_type, content in data.items():
        name = _MIME_TYPES.get(mime_type)
        if name is None and mime_type.endswith("+json") and mime_type != _WIDGET:
            name = "json"
        if name is not None and not (name == "jpeg" and "png" in found):
            _add(name, content, found)


def _add(name, content, found):
    if name == "json" and isinstance(content, EncodedJson):
        found["json"] = content
    elif name == "json":
        content = plain(content)
        size = len(repr(content))
        if content is not None and size <= MARKUP_CHARACTERS_MAX:
            found["json"] = content
        elif content is not None:
            found["text"] += f"\n[no json: {size:,} characters are too many]"
    elif name in ("png", "jpeg", "gif", "webp"):
        if content is None:
            return
        content = pictures.bytes_of(content)
        if content is not None:
            picture = pictures.fit(content if content.startswith(pictures.PNG) else pictures.as_png(content))
            if picture is None:
                found["text"] += f"\n[no picture: {len(content):,} bytes are too many]"
            else:
                found["png"] = picture
                found["text"] += pictures.frames_in(content) if name in ("gif", "webp") else ""
    elif name == "chart":
        if content is not None:
            found["chart"] = content
    elif isinstance(content, str):
        if name == "text":
            found["text"] = cut(content, TEXT_CHARACTERS_MAX)
        elif len(content) <= MARKUP_CHARACTERS_MAX:  # half a document is worse than none
            found[name] = content
        else:
            found["text"] += f"\n[no {name}: {len(content):,} characters are too many]"


def _add_table(value, found):
    """pandas: the same rows as text and HTML, more of them as JSON. False for anything else."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, getattr(pandas, "DataFrame", ())):
        if pandas is not None and isinstance(value, getattr(pandas, "Series", ())):
            # Its text is its own; there is no HTML of it.
            found["json"] = _table_json(pandas, value.to_frame())
            return True
        return False
    rows, columns = value.shape
    text, shown, columns_shown, named = text_of_table(pandas, value, rows_shown(pandas, rows, columns))
    as_json = _table_json(pandas, value)
    has_csv = as_json["truncated"] and value.size <= TABLE_CELLS_CSV
    found["text"] = cut(text, TEXT_CHARACTERS_MAX) + footer_of_table(value.shape, shown, named, as_json, has_csv)
    if pandas.get_option("display.notebook_repr_html"):
        html = value.to_html(max_rows=shown, max_cols=columns_shown)
        if len(html) <= MARKUP_CHARACTERS_MAX:
            found["html"] = html
    found["json"] = as_json
    if has_csv:
        found["csv"] = value.to_csv(index=not only_counts(pandas, value.index))
    return True


def footer_of_table(shape, shown, named, as_json, has_csv, kind="DataFrame"):
    """Empty for a short table that is shown whole: one sees how large it is."""
    rows, columns = shape
    footer = f"\n\n[{rows} rows x {columns} columns"
    if rows > shown:
        footer += f"; {shown - shown % 2 if shown > 1 else shown} shown"
    if named:
        footer += f"; not shown: {named}"
    if as_json["truncated"] and not has_csv:
        footer += f"; {len(as_json['rows'])} in the JSON, all in the {kind} alone"
    is_whole = 0 < rows <= min(shown, TABLE_ROWS_TEXT) and 0 < columns <= TABLE_ROWS_TEXT and not named
    return "" if is_whole and not as_json["truncated"] else footer + "]"


def text_of_table(pandas, frame, rows):
    """The text of so many rows, at most, how many rows and columns that has, and the names of the columns that it has not."""
    text, columns, named = _table_text(pandas, frame, rows, _columns_shown(pandas))
    if len(text) > TABLE_CHARACTERS_TEXT and not _is_set(pandas, "display.max_rows"):
        rows = min(rows, TABLE_ROWS_TEXT)
        width_max = min(TABLE_WIDTH_TEXT, TABLE_CHARACTERS_TEXT // (min(len(frame), rows) + 3))
        text, columns, named = _table_text(pandas, frame, rows, columns, width_max)
    return text, rows, columns, named


def _table_text(pandas, frame, rows, columns, width_max=TABLE_WIDTH_TEXT):
    """As wide as a line may be, and the names of the columns that do not fit; all where the code has said how many."""
    options = {"max_rows": rows, "max_colwidth": pandas.get_option("display.max_colwidth")}
    count = frame.shape[1]
    text = frame.to_string(max_cols=columns, **options)
    if _is_set(pandas, "display.max_columns") or _is_set(pandas, "display.width"):
        return text, columns, ""
    fits = min(columns, count) if columns else count
    while fits > 2 and (width := text.find("\n")) > width_max:
        fits = max(2, min(fits - 1, fits * width_max // width))
        text = frame.to_string(max_cols=fits, **options)
    if fits == count:
        return text, columns, ""
    # As pandas shows them: as many at each end.
    names = [str(name) for name in frame.columns[fits // 2:count - fits // 2]]
    return text, fits, names_in_short(names)


def rows_shown(pandas, rows, columns):
    """As many as the code has asked for by pandas' options; else as a result has room for."""
    most, when_cut = (pandas.get_option(f"display.{name}_rows") for name in ("max", "min"))
    is_set = _is_set(pandas, "display.max_rows") and most != 0
    if is_set and most is None:
        most = rows
    elif not is_set:
        most = TABLE_ROWS_ALL
    if rows > most and _is_set(pandas, "display.min_rows"):
        most = min(most, when_cut or most)
    elif rows > most and not is_set:
        most = TABLE_ROWS_TEXT
    # More takes long to write; the host shows less, and has the rest in a file.
    return min(most, max(TABLE_ROWS_TEXT, TABLE_CELLS_CSV // max(columns, 1)))


def _columns_shown(pandas):
    is_set = _is_set(pandas, "display.max_columns")
    most = pandas.get_option("display.max_columns") if is_set else 0
    return TABLE_COLUMNS_TEXT if most == 0 else most  # 0: as many as fit


def _is_set(pandas, name):
    """Whether the value is not pandas' default, which is another one in a terminal."""
    try:
        told = _OPTION.search(pandas.describe_option(name, _print_desc=False))
    except TypeError:  # an unknown pandas
        return False
    return told is not None and told[1] != told[2]


def only_counts(pandas, index):
    """Whether it says no more of the rows than their number: of a part of a table it says which they are."""
    return isinstance(index, pandas.RangeIndex) and (index.start, index.step) == (0, 1) and index.name is None


def _table_json(pandas, frame):
    """Rows as lists. What names the rows comes first, unless it only counts them."""
    # No more is converted than can fit: a cell takes three characters, with what separates it from the next.
    head = frame.head(min(TABLE_ROWS_JSON, TABLE_CHARACTERS_JSON // (3 * max(len(frame.columns), 1)) + 1))
    columns = [(str(name), str(kind), head.iloc[:, i]) for i, (name, kind) in
               enumerate(zip(frame.columns, frame.dtypes))]
    described = [{"name": name, "type": kind} for name, kind, _ in columns]
    contents = [[plain(item) for item in content.tolist()] for _, _, content in columns]
    if not only_counts(pandas, frame.index):
        for level in reversed(range(frame.index.nlevels)):
            name = frame.index.names[level]
            values = head.index.get_level_values(level)
            described.insert(0, {"name": "index" if name is None else str(name), "type": str(values.dtype),
                                 "index": True})
            contents.insert(0, [plain(item) for item in values.tolist()])
    rows, size = [], 0
    for row in zip(*contents):
        size += len(repr(row))
        if size > TABLE_CHARACTERS_JSON:
            break
        rows.append(list(row))
    return {"columns": described, "rows": rows, "row_count": len(frame), "truncated": len(rows) < len(frame)}
