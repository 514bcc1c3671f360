"""Which plot of a plotly figure is where, what stands above it, and what its chart's data leaves out."""

_NEAR = 1e-6  # a part of the width or height of the figure


def place_of(trace):
    """The axes of a trace, or for one that has none, as a pie, the part of the figure that it takes, where it takes but a part."""
    if "domain" in trace:
        sides = tuple(_side(name, trace.domain[name], trace.domain[cell]) for name, cell in (("x", "column"), ("y", "row")))
        if sides != (("x", 0, 1), ("y", 0, 1)):
            return sides
    return getattr(trace, "xaxis", None) or "x", getattr(trace, "yaxis", None) or "y"


def _side(name, ends, cell):
    """Ends of its own come before those of a cell of the figure's grid, which _domain() finds."""
    return (name, *ends) if ends else (name, 0, 1) if cell is None else (name, cell)


def titles(layout, places):
    """By place, what the annotations at the edges of several plots say: those that facets and make_subplots() have for titles."""
    if len(places) < 2:
        return {}
    notes = [note for note in layout.annotations if note.xref == note.yref == "paper" and not note.showarrow and note.text and None not in (note.x, note.y)]
    rows = [note for note in notes if note.textangle == 90]
    heads = [note for note in notes if not note.textangle and note.yanchor == "bottom"]
    found = {}
    for place in places:
        (left, right), (low, high) = (_domain(layout, axis) for axis in place)
        above = [note for note in heads if _is_at(note.x, (left + right) / 2)]
        own = [note for note in above if _is_at(note.y, high)]
        # In a grid with titles at its rows the columns have theirs above the first row only.
        columns = own or ([note for note in above if _is_at(note.y, 1)] if rows else [])
        found[place] = ", ".join(note.text for note in (*columns[:1], *[note for note in rows if _is_at(note.y, (low + high) / 2)][:1]))
    return found


def _domain(layout, axis):
    if isinstance(axis, tuple):
        return axis[1:] if len(axis) == 3 else _domain_of_cell(layout.grid, *axis)
    key = f"{axis[0]}axis{axis[1:]}"
    return (layout[key].domain if key in layout else None) or (0, 1)


def _domain_of_cell(grid, name, cell):
    """As plotly divides the figure. Without such a cell it takes all of it."""
    count = grid.columns if name == "x" else grid.rows
    if not count or cell >= count:
        return 0, 1
    if name == "y" and grid.roworder != "bottom to top":
        cell = count - 1 - cell
    gap = grid[f"{name}gap"]
    if gap is None:
        gap = 0.1 if not grid.subplots and grid.pattern != "independent" else 0.2 if name == "x" else 0.3
    (low, high), part = grid.domain[name] or (0, 1), 1 / (count - gap)
    return low + (high - low) * part * cell, low + (high - low) * part * (cell + 1 - gap)


def _is_at(place, other):
    return abs(place - other) < _NEAR


def untold(traces, array_of):
    """Names what is drawn of the traces beside their places and values; `array_of` makes arrays of what they have."""
    words = []
    if any(_has_error_bars(trace, key) for trace in traces for key in ("error_x", "error_y")):
        words.append("error bars")
    for key, word in (("color", "colours"), ("size", "sizes")):
        if any(_has_numbers(trace, key, array_of) for trace in traces):
            words.append(f"{word} by value")
    return ", ".join(words)


def _has_error_bars(trace, key):
    bars = trace[key] if key in trace else None
    return bars is not None and bars.visible is not False and any(bars[name] is not None for name in ("array", "value", "type"))


def _has_numbers(trace, key, array_of):
    """Colours by name say nothing of the data."""
    marker = trace.marker if "marker" in trace else None
    values = marker[key] if marker is not None and key in marker else None
    if values is None or isinstance(values, (str, int, float)):
        return False
    values = array_of(values)
    return len(values) > 0 and not isinstance(values[0], str)


def with_frames(chart, figure):
    """An animation's chart is of its first frame."""
    if chart is None or len(figure.frames) < 2:
        return chart
    words = f"{len(figure.frames) - 1} of {len(figure.frames)} frames"
    return {**chart, "missing": f"{chart['missing']}, {words}" if "missing" in chart else words}
