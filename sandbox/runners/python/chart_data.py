"""Makes the data of charts of all libraries from plain values. The schema is in ../CHARTS.md."""

import math
import re

POINTS_MAX = 50_000  # for a chart: so many go into its file; the host keeps fewer in a result
ELEMENTS_MAX = 10_000
CELLS_MAX = 10_000  # for a heatmap
CELLS_SHOWN = 60  # so many are in the text of an answer, mostly; the host samples those of larger ones
BINS_MAX = 200
UNIT_CHARACTERS_MAX = 12
_UNIT = re.compile(r"\S\s*[(\[]([^()\[\]]+)[)\]]\s*$")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?([T ]\d\d:\d\d.*)?$")


def axis(label, values=(), scale=None):
    """`values` tell the scale when the library does not."""
    label = "" if label is None else str(label)
    described = {"label": label, "scale": scale or scale_of(values)}
    if unit := unit_of(label):
        described["unit"] = unit
    if described["scale"] == "categorical":
        described["ticks"] = list(dict.fromkeys(str(v) for v in values if v is not None))[:30]
    return described


def unit_of(label):
    """Returns what stands in brackets after a name, where it is short and no remark; else nothing."""
    found = _UNIT.search(label)
    unit = found.group(1).strip() if found else ""
    long_words = [word for word in unit.split() if word.isalpha() and len(word) > 3]
    return unit if len(unit) <= UNIT_CHARACTERS_MAX and len(long_words) < 2 else ""


def scale_of(values):
    known = [v for v in values if v is not None]
    if known and all(isinstance(v, str) and _DATE.match(v) for v in known):
        return "datetime"
    return "categorical" if any(isinstance(v, str) for v in known) else "linear"


def number(value):
    """A finite float, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def kept(heights, most):
    """Which places of a series stay: evenly spread, and the ends, the lowest and the highest."""
    count = len(heights)
    if count <= most:
        return range(count)
    places = {0, count - 1} | {i * (count - 1) // (most - 3) for i in range(1, most - 3)}
    if getattr(getattr(heights, "dtype", None), "kind", "O") in "fiu":
        import numpy  # somebody has imported it: this is one of its arrays
        values = numpy.ma.filled(numpy.ma.masked_invalid(heights), numpy.nan)
        if not numpy.isnan(values).all():
            places |= {int(numpy.nanargmin(values)), int(numpy.nanargmax(values))}
    else:
        known = [(y, i) for i, y in enumerate(heights)
                 if isinstance(y, (int, float)) and math.isfinite(y)]
        if known:
            places |= {min(known)[1], max(known)[1]}
    return sorted(places)


def series(label, xs, ys, x_value=None, y_value=None):
    """A line or a cloud of points; `x_value` and `y_value` make plain values of coordinates."""
    count = min(len(xs), len(ys))
    places = kept(ys[:count], POINTS_MAX)
    x_value, y_value = x_value or (lambda x: x), y_value or (lambda y: y)
    made = {"label": label, "points": [[x_value(xs[i]), y_value(ys[i])] for i in places]}
    return made if len(places) == count else {**made, "sampled": True}


def bounded(chart):
    """The chart with at most POINTS_MAX points in all its series, and so many elements as fit."""
    every = list(_series_of(chart))
    while sum(len(one["points"]) for one in every) > POINTS_MAX:
        most = max(4, POINTS_MAX // len(every))
        for one in every:
            if len(one["points"]) > most:
                places = kept([point[1] for point in one["points"]], most)
                one["points"], one["sampled"] = [one["points"][i] for i in places], True
        if most == 4:
            break
    return chart


def _series_of(chart):
    for element in (chart or {}).get("elements", ()):
        if "points" in element:
            yield element
        for one in element.get("charts", ()):
            yield from _series_of(one)


def bars(labels, values, group=""):
    every = [{"label": str(label), "value": number(value)} for label, value in zip(labels, values)]
    return [{**one, "group": group} for one in every] if group else every


def fractions(labels, values):
    sizes = [number(value) or 0 for value in values]
    total = sum(sizes)
    return [{"label": str(label), "fraction": round(size / total, 6)}
            for label, size in zip(labels, sizes) if total]


def box(label, values):
    """Whiskers as matplotlib, plotly and Vega-Lite draw them: the last values within 1.5 boxes."""
    known = sorted(v for v in map(number, values) if v is not None)
    if not known:
        return None
    low, middle, high = (_quantile(known, q) for q in (0.25, 0.5, 0.75))
    reach = 1.5 * (high - low)
    inside = [v for v in known if low - reach <= v <= high + reach]
    return {"label": str(label), "min": inside[0], "first_quartile": low, "median": middle,
            "third_quartile": high, "max": inside[-1],
            "outliers": [v for v in known if v < inside[0] or v > inside[-1]][:ELEMENTS_MAX]}


def _quantile(ordered, q):
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def histogram(values, bins_max=10):
    """Bins of a round width: 1, 2 or 5 times a power of ten."""
    known = [v for v in map(number, values) if v is not None]
    if not known:
        return []
    low, high = min(known), max(known)
    if low == high:
        return [{"from": low, "to": high, "count": len(known)}]
    bins_max = max(1, min(int(bins_max), BINS_MAX))
    step = 10.0 ** math.floor(math.log10((high - low) / bins_max))
    for factor in (1, 2, 5, 10, 20):
        first = math.floor(low / (step * factor))
        if math.floor(high / (step * factor)) - first + 1 <= bins_max + 1:
            break
    step *= factor
    counts = [0] * (math.floor(high / step) - first + 1)
    for value in known:
        counts[math.floor(value / step) - first] += 1
    return [{"from": (first + i) * step, "to": (first + i + 1) * step, "count": count}
            for i, count in enumerate(counts)]


def heatmap(xs, ys, rows, ends=None):
    """`ends` are row and column of the highest and the lowest cell, for those who know them: both may be in no row that stays."""
    xs, ys, rows = list(xs), list(ys), [list(row) for row in rows]
    width = max(map(len, rows), default=0)
    every = 1
    while rows and (len(rows) // every + 1) * (width // every + 1) > max(CELLS_MAX, 4):
        every += 1
    made = {"x": xs[::every], "y": ys[::every],
            "values": [[number(v) for v in row[::every]] for row in rows[::every]]}
    if len(rows) * width > CELLS_SHOWN:
        ends = ends or _ends_of(rows)
        made.update((name, {"x": xs[column], "y": ys[row], "value": number(rows[row][column])})
                    for name, (row, column) in zip(("highest", "lowest"), ends))
    return made if every == 1 else {**made, "sampled": True}


def _ends_of(rows):
    known = [(height, row, column) for row, values in enumerate(rows) for column, value in enumerate(values)
             if (height := number(value)) is not None]
    return [max(known)[1:], min(known)[1:]] if known else []


def composite(title, charts):
    """One chart for a figure of several; None for none."""
    charts = [chart for chart in charts if chart and chart["elements"]]
    if len(charts) <= 1:
        chart = charts[0] if charts else None
        return {**chart, "title": chart["title"] or title} if chart else None
    return {"type": "composite", "title": title, "elements": [{"charts": charts}]}
