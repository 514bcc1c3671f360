"""What charts of all libraries are made of, from plain values. The schema is in ../CHARTS.md."""

import math
import re

POINTS_MAX = 2000  # per series; longer ones are thinned evenly
CELLS_MAX = 2_500  # of a heatmap
BINS_MAX = 200
_UNIT = re.compile(r"[(\[]([^()\[\]]+)[)\]]\s*$")
_DATE = re.compile(r"\d{4}-\d\d(-\d\d)?([T ]\d\d:\d\d.*)?$")


def axis(label, values=(), scale=None):
    """`values` tell the scale when the library does not."""
    label = "" if label is None else str(label)
    described = {"label": label, "scale": scale or scale_of(values)}
    unit = _UNIT.search(label)
    if unit:
        described["unit"] = unit.group(1)
    if described["scale"] == "categorical":
        described["ticks"] = list(dict.fromkeys(str(v) for v in values if v is not None))[:30]
    return described


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


def points(xs, ys):
    pairs = list(zip(xs, ys))
    every = max(1, -(-len(pairs) // POINTS_MAX))
    return [[x, y] for x, y in pairs[::every]]


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
            "outliers": [v for v in known if v < inside[0] or v > inside[-1]][:POINTS_MAX]}


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


def heatmap(xs, ys, rows):
    rows = [list(row) for row in rows]
    width = max(map(len, rows), default=0)
    every = 1
    while rows and (len(rows) // every + 1) * (width // every + 1) > max(CELLS_MAX, 4):
        every += 1
    return {"x": list(xs)[::every], "y": list(ys)[::every],
            "values": [[number(v) for v in row[::every]] for row in rows[::every]]}


def composite(title, charts):
    """One chart for a figure of several; None for none."""
    charts = [chart for chart in charts if chart and chart["elements"]]
    if len(charts) <= 1:
        chart = charts[0] if charts else None
        return {**chart, "title": chart["title"] or title} if chart else None
    return {"type": "composite", "title": title, "elements": [{"charts": charts}]}
