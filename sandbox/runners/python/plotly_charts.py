"""The data of a plotly figure. The schema is in ../CHARTS.md."""

import base64
import collections
import math

from hutch_runner import chart_data, plotly_boxes, plotly_places
from hutch_runner.plain_json import plain

_AGGREGATES = {"sum": sum, "avg": lambda values: sum(values) / len(values), "min": min, "max": max}


def chart_of(figure, drawn_bins=None):
    """A chart for the whole figure, or None when nothing in it is known here.

    `drawn_bins` are those of plotly_pictures.bins(): what it has none for comes without a chart. Without it they are made here."""
    layout = figure.layout
    title = _text(layout.title)
    groups = {}  # kind and axes -> traces: one chart for each
    by_trace = None if drawn_bins is None else {id(trace): drawn_bins.get(number) for number, trace in enumerate(figure.data)}
    for trace in figure.data:
        kind = _kind_of(trace)
        if kind is not None and trace.visible not in (False, "legendonly"):
            groups.setdefault((kind, *plotly_places.place_of(trace)), []).append(trace)
    titles = plotly_places.titles(layout, {place[1:] for place in groups})
    charts = [_chart(kind, traces, layout, x, y, by_trace, titles.get((x, y), "")) for (kind, x, y), traces in groups.items()]
    return plotly_places.with_frames(chart_data.composite(title, charts), figure)


def has_bins(figure):
    """Whether numbers are counted in it, in bins that plotly makes."""
    return any(_kind_of(trace) == "histogram" and trace.visible not in (False, "legendonly")
               and not _has_texts(trace.y if _is_sideways(trace) else trace.x) for trace in figure.data)


def _kind_of(trace):
    if trace.type in ("scatter", "scattergl"):
        mode = trace.mode or ("lines+markers" if max(len(_array(trace.x)), len(_array(trace.y))) < 20 else "lines")
        return "area" if trace.type == "scatter" and trace.stackgroup else "line" if "lines" in mode or trace.fill else "scatter"
    if trace.type == "histogram":
        return "bar" if _is_aggregated(trace) else "histogram"
    return {"bar": "bar", "pie": "pie", "box": "box", "violin": "box",
            "heatmap": "heatmap"}.get(trace.type)


def _chart(kind, traces, layout, x_name, y_name, drawn_bins, title):
    elements = []
    if not any(_is_computed_otherwise(trace, layout) for trace in traces):
        parts = [_areas(traces)] if kind == "area" else [_elements(kind, trace, layout, drawn_bins) for trace in traces]
        elements = [] if None in parts else [element for part in parts for element in part]
    chart = {"type": kind, "title": title, "elements": elements}
    if kind in ("line", "scatter", "area"):
        xs, ys = ([point[i] for one in elements for point in one["points"]] for i in (0, 1))
    else:
        xs, ys = ([value for trace in traces for value in _values(getattr(trace, key, None))] for key in "xy")
    for name, key, values in ((x_name, "x", xs), (y_name, "y", ys)):
        axis = _axis_of(layout, name)
        scale = {"log": "log", "date": "datetime", "category": "categorical", "linear": "linear"}.get(
            getattr(axis, "type", None))
        chart[key] = chart_data.axis(_text(getattr(axis, "title", None)), values, scale)
    missing = plotly_places.untold(traces, _array)
    return {**chart, "missing": missing} if missing else chart


def _axis_of(layout, name):
    key = f"{name[0]}axis{name[1:]}"
    return layout[key] if key in layout else None


def _is_computed_otherwise(trace, layout):
    """Whether something changes numbers between the data and what is drawn, and is not followed here."""
    if trace.type in ("bar", "histogram") and layout.barnorm:
        return True
    if any(_is_of_two_levels(trace, layout, key) for key in "xy"):
        return True
    if trace.type == "histogram":
        return bool(trace.histnorm or trace.cumulative.enabled)
    if trace.type == "box" and (getattr(trace, "sizemode", None) == "sd" or trace.q1 is not None):
        return True
    if trace.type == "bar" and trace.base is not None or trace.type == "heatmap" and trace.transpose:
        return True
    return any(getattr(trace, "d" + key, None) is not None or getattr(trace, key + "0", None) is not None
               for key in "xy" if trace.type in ("scatter", "scattergl", "bar", "heatmap") and trace[key] is None)


def _is_of_two_levels(trace, layout, key):
    """Whether the axis has names in groups: two lists, of which a place has one item each."""
    if key not in trace:  # a pie has no axes
        return False
    axis, values = _axis_of(layout, trace[key + "axis"] or key), _array(trace[key])
    return getattr(axis, "type", None) == "multicategory" or any(
        isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0 for value in values[:2])


def _has_own_bins(trace):
    bins = trace.ybins if _is_sideways(trace) else trace.xbins
    return any(bins[key] is not None for key in ("start", "end", "size"))


def _is_sideways(histogram):
    return histogram.orientation == "h" or histogram.x is None


def _elements(kind, trace, layout, drawn_bins):
    name = trace.name or ""
    if trace.type == "histogram":
        return _bins(trace, layout, drawn_bins)
    if kind == "pie":
        return _pie(trace)
    if kind in ("line", "scatter"):
        return [_series(name, _array(trace.x), _array(trace.y))]
    xs, ys = _values(trace.x), _values(trace.y)
    sideways = getattr(trace, "orientation", None) == "h"
    if kind == "bar":
        labels, values = (ys, xs) if sideways else (xs, ys)
        return chart_data.bars(labels or range(len(values)), values, name)
    if kind == "box":
        reaches_ends = trace.type == "box" and trace.boxpoints is False  # a box without points has whiskers for all
        return plotly_boxes.boxes(name, *((ys, xs) if sideways else (xs, ys)), getattr(trace, "quartilemethod", None), reaches_ends)
    rows = [_values(row) for row in _values(trace.z)]
    width = max(map(len, rows), default=0)
    return [chart_data.heatmap(xs or range(width), ys or range(len(rows)), rows)] if rows else []


def _is_aggregated(trace):
    return trace.histfunc in _AGGREGATES and trace.x is not None and trace.y is not None


def _bins(trace, layout, drawn_bins):
    """None for dates, and for texts that are numbers: plotly makes bins of its own of these; what it sums in bins of numbers is no count."""
    sideways = _is_sideways(trace)
    array, other_array = (trace.y, trace.x) if sideways else (trace.x, trace.y)
    name = {"group": trace.name} if trace.name else {}
    axis = getattr(_axis_of(layout, (trace.yaxis or "y") if sideways else (trace.xaxis or "x")), "type", None)
    if len(_array(array)) == 0:
        return []
    if not _has_texts(array):
        if _is_aggregated(trace) or axis in ("category", "date"):
            return None
        if drawn_bins is not None:
            drawn = drawn_bins.get(id(trace))
            return None if drawn is None else [{**_rounded(*one), **name} for one in drawn]
        return None if _has_own_bins(trace) else [{**one, **name} for one in chart_data.histogram(_values(array), trace.nbinsx or trace.nbinsy or 20)]
    values, others = _values(array), _values(other_array)
    if _has_own_bins(trace) or axis != "category" and not _are_names(values):
        return None
    found = {}
    for value, other in zip(values, others if _is_aggregated(trace) else values):
        found.setdefault(value, []).append(other)
    if not _is_aggregated(trace):
        return [{"from": value, "to": value, "count": len(same), **name} for value, same in found.items() if value is not None][:200]
    numbers = {value: [one for one in map(chart_data.number, some) if one is not None] for value, some in found.items() if value is not None}
    known = {value: _AGGREGATES[trace.histfunc](some) for value, some in numbers.items() if some}
    return chart_data.bars(known.keys(), known.values(), trace.name or "")


def _has_texts(array):
    array = _array(array)
    return getattr(getattr(array, "dtype", None), "kind", "O") not in "fiu" and any(isinstance(value, str) for value in _values(array))


def _rounded(start, end, count):
    """Without what binary fractions leave: far below the width of the bin."""
    places = 6 - math.floor(math.log10(end - start))
    return {"from": round(start, places), "to": round(end, places), "count": count}


def _are_names(values):
    texts = [value for value in values if isinstance(value, str)]
    return chart_data.scale_of(texts) == "categorical" and not all(text.strip().lstrip("+-").replace(".", "", 1).isdecimal() for text in texts)


def _areas(traces):
    """Stacked ones stand on one another, which is told of those with the same places only: each has its own values, and where these start."""
    stacks, made = {}, []
    for trace in traces:
        ys = [chart_data.number(value) for value in _values(trace.y)]
        xs = _values(trace.x) or list(range(len(ys)))
        places, starts = stacks.get(trace.stackgroup, (xs, [0] * len(xs)))
        if trace.groupnorm or trace.orientation == "h" or xs != places or len(set(xs)) < len(xs) or len(ys) != len(xs) or None in ys:
            return []
        tops = [start + height for start, height in zip(starts, ys)]
        stacks[trace.stackgroup] = (xs, tops)
        kept = chart_data.kept(tops, chart_data.POINTS_MAX)
        points = [[xs[i], ys[i], *([starts[i]] if any(starts) else [])] for i in kept]
        how = {**({"stacked": True, "columns": ["x", "value", "start"]} if any(starts) else {}), **({} if len(kept) == len(xs) else {"sampled": True})}
        made.append({"label": trace.name or "", "points": points, **how})
    return made


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
    if isinstance(values, dict) and "bdata" in values:  # as plotly writes arrays of numbers, which a copied figure keeps
        import numpy
        array = numpy.frombuffer(base64.b64decode(values["bdata"]), "<" + values["dtype"].removesuffix("c"))
        shape = values.get("shape")
        return array.reshape([int(size) for size in str(shape).split(",")]) if shape else array
    return () if values is None else values


def _pie(trace):
    labels, values = _values(trace.labels), _values(trace.values)
    if not values:  # the slices count their labels
        counts = collections.Counter(labels)
        labels, values = list(counts), list(counts.values())
    sums = {}  # slices of one name are one
    for label, value in zip(labels or range(len(values)), values):
        sums[label] = sums.get(label, 0) + (chart_data.number(value) or 0)
    return chart_data.fractions(list(sums), list(sums.values()))


def _values(array):
    array = _array(array)
    if hasattr(array, "tolist"):
        if getattr(getattr(array, "dtype", None), "kind", "") == "M":
            array = array.astype("datetime64[us]")
        array = array.tolist()
    return [item if hasattr(item, "tolist") or isinstance(item, (list, tuple)) else plain(item, large=int) for item in array]


def _text(title):
    return str(getattr(title, "text", None) or "")
