"""The data of a plotly figure. The schema is in ../CHARTS.md."""

from hutch_runner import chart_data
from hutch_runner.plain_json import plain


def chart_of(figure):
    """A chart for the whole figure, or None when nothing in it is known here."""
    layout = figure.layout
    title = _text(layout.title)
    groups = {}  # kind and axes -> traces: one chart for each
    for trace in figure.data:
        kind = _kind_of(trace)
        if kind is not None and trace.visible is not False:
            place = (kind, getattr(trace, "xaxis", None) or "x", getattr(trace, "yaxis", None) or "y")
            groups.setdefault(place, []).append(trace)
    charts = [_chart(kind, traces, layout, x, y) for (kind, x, y), traces in groups.items()]
    return chart_data.composite(title, charts)


def _kind_of(trace):
    if trace.type in ("scatter", "scattergl"):
        mode = trace.mode or ("lines+markers" if max(len(_array(trace.x)), len(_array(trace.y))) < 20 else "lines")
        return "line" if "lines" in mode or trace.fill else "scatter"
    return {"bar": "bar", "histogram": "histogram", "pie": "pie", "box": "box", "violin": "box",
            "heatmap": "heatmap"}.get(trace.type)


def _chart(kind, traces, layout, x_name, y_name):
    elements = [element for trace in traces for element in _elements(kind, trace)]
    chart = {"type": kind, "title": "", "elements": elements}
    if kind in ("line", "scatter"):
        xs, ys = ([point[i] for one in elements for point in one["points"]] for i in (0, 1))
    else:
        xs, ys = ([value for trace in traces for value in _values(getattr(trace, key, None))] for key in "xy")
    for name, key, values in ((x_name, "x", xs), (y_name, "y", ys)):
        axis = layout[f"{key}axis{name[1:]}"] if f"{key}axis{name[1:]}" in layout else None
        scale = {"log": "log", "date": "datetime", "category": "categorical", "linear": "linear"}.get(
            getattr(axis, "type", None))
        chart[key] = chart_data.axis(_text(getattr(axis, "title", None)), values, scale)
    return chart


def _elements(kind, trace):
    name = trace.name or ""
    if kind == "pie":
        return _pie(trace)
    if kind in ("line", "scatter"):
        return [_series(name, _array(trace.x), _array(trace.y))]
    xs, ys = _values(trace.x), _values(trace.y)
    sideways = getattr(trace, "orientation", None) == "h"
    if kind == "bar":
        labels, values = (ys, xs) if sideways else (xs, ys)
        return chart_data.bars(labels or range(len(values)), values, name)
    if kind == "histogram":
        values = xs or ys
        if any(isinstance(value, str) for value in values):
            return [{"from": v, "to": v, "count": values.count(v)} for v in dict.fromkeys(values)][:200]
        return chart_data.histogram(values, trace.nbinsx or trace.nbinsy or 20)
    if kind == "box":
        return _boxes(name, *((ys, xs) if sideways else (xs, ys)))
    rows = [_values(row) for row in _values(trace.z)]
    width = max(map(len, rows), default=0)
    return [chart_data.heatmap(xs or range(width), ys or range(len(rows)), rows)] if rows else []


def _series(name, xs, ys):
    """Thinned before anything is converted: a series may have millions of points."""
    count = min(len(xs), len(ys)) if len(xs) else len(ys)
    places = list(chart_data.kept(ys[:count], chart_data.POINTS_MAX))
    xs = _picked(xs, places) if len(xs) else places
    made = {"label": name, "points": [[x, y] for x, y in zip(xs, _picked(ys, places))]}
    return made if len(places) == count else {**made, "sampled": True}


def _picked(array, places):
    return _values(array.take(places) if hasattr(array, "take") else [array[i] for i in places])


def _array(values):
    return () if values is None else values


def _pie(trace):
    labels, values = _values(trace.labels), _values(trace.values)
    if not values:  # the slices count their labels
        values = [labels.count(label) for label in dict.fromkeys(labels)]
        labels = list(dict.fromkeys(labels))
    sums = {}  # slices of one name are one
    for label, value in zip(labels or range(len(values)), values):
        sums[label] = sums.get(label, 0) + (chart_data.number(value) or 0)
    return chart_data.fractions(list(sums), list(sums.values()))


def _boxes(name, groups, values):
    """One trace may hold several boxes, told apart by the other axis."""
    if len(groups) != len(values):
        return [box for box in [chart_data.box(name, values)] if box]
    found = {}
    for group, value in zip(groups, values):
        found.setdefault(group, []).append(value)
    boxes = [chart_data.box(f"{group}, {name}" if name else group, some) for group, some in found.items()]
    return [box for box in boxes if box]


def _values(array):
    if array is None:
        return []
    if hasattr(array, "tolist"):
        if getattr(getattr(array, "dtype", None), "kind", "") == "M":
            array = array.astype("datetime64[us]")
        array = array.tolist()
    return [item if hasattr(item, "tolist") or isinstance(item, (list, tuple)) else plain(item, large=int) for item in array]


def _text(title):
    return str(getattr(title, "text", None) or "")
