"""A picture of a chart's data (../CHARTS.md), by matplotlib: of figures whose own library needs a browser to draw."""

from io import BytesIO

_LEGEND_MAX = 12
_TICKS_MAX = 12
_DOTS_PER_INCH = 100


def draw(chart, kind="png", width=None, height=None, scale=None, downwards=False):
    """A picture of that kind, of so many pixels times `scale`; None where there is nothing to draw it from, or with.

    `downwards`: the y axis of a chart with one has its first value at the top."""
    if chart is None:
        return None
    import matplotlib

    # The user's own settings are meant for figures of matplotlib.
    with matplotlib.rc_context({name: value for name, value in matplotlib.rcParamsDefault.items() if name != "backend"}):
        return _drawn(chart, kind, width, height, scale, downwards)


def _drawn(chart, kind, width, height, scale, downwards):
    from matplotlib.figure import Figure

    parts = _parts(chart)
    columns = 1 if len(parts) == 1 else 2
    rows = -(-len(parts) // columns)
    size = ((width or (800 if columns == 1 else 1200)) / _DOTS_PER_INCH, (height or 480 * rows) / _DOTS_PER_INCH)
    figure = Figure(figsize=size, layout="constrained")
    for number, part in enumerate(parts, 1):
        axes = figure.add_subplot(rows, columns, number)
        _draw_one(axes, part)
        if downwards and len(parts) == 1:
            axes.invert_yaxis()
    if chart["type"] == "composite" and chart.get("title"):
        figure.suptitle(chart["title"])
    buffer = BytesIO()
    figure.savefig(buffer, format=kind, dpi=_DOTS_PER_INCH * (scale or 1))
    return buffer.getvalue()


def _parts(chart):
    if chart["type"] != "composite":
        return [chart]
    return [one for element in chart["elements"] for part in element["charts"] for one in _parts(part)]


def _draw_one(axes, chart):
    _DRAW[chart["type"]](axes, chart["elements"], chart)
    axes.set_title(chart.get("title") or "")
    if chart["type"] == "pie":
        return
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        told = chart.get(name) or {}
        axis.set_label_text(told.get("label") or "")
        if told.get("scale") == "log":
            (axes.set_xscale if name == "x" else axes.set_yscale)("log")
    labels = axes.get_legend_handles_labels()[1]
    if 1 <= len(labels) <= _LEGEND_MAX and (len(labels) > 1 or labels[0]):
        axes.legend()
    if max((len(label.get_text()) for label in axes.get_xticklabels()), default=0) > 6:
        axes.tick_params(axis="x", rotation=30)


def _values(points, place, told):
    values = [point[place] for point in points]
    if (told or {}).get("scale") == "datetime":
        from datetime import datetime
        return [None if value is None else datetime.fromisoformat(value) for value in values]
    if (told or {}).get("scale") == "categorical":
        return [str(value) for value in values]
    return [float("nan") if value is None else value for value in values]


def _lines(axes, series, chart, marker="-"):
    for one in series:
        axes.plot(_values(one["points"], 0, chart.get("x")), _values(one["points"], 1, chart.get("y")), marker,
                  label=one.get("label") or "")


def _scatter(axes, series, chart):
    _lines(axes, series, chart, "o")


def _areas(axes, series, chart):
    for one in series:
        starts = [point[2] if len(point) > 2 else 0 for point in one["points"]]
        ends = _values(one["points"], 1, None)
        if one.get("stacked"):
            ends = [start + height for start, height in zip(starts, ends)]
        axes.fill_between(_values(one["points"], 0, chart.get("x")), ends, starts, label=one.get("label") or "", alpha=0.6)


def _bars(axes, bars, chart):
    groups = list(dict.fromkeys(bar.get("group") or "" for bar in bars))
    names = list(dict.fromkeys(str(bar["label"]) for bar in bars))
    place = {name: number for number, name in enumerate(names)}
    sideways = (chart.get("y") or {}).get("scale") == "categorical" and (chart.get("x") or {}).get("scale") != "categorical"
    width = 0.8 / len(groups)
    for number, group in enumerate(groups):
        own = [bar for bar in bars if (bar.get("group") or "") == group]
        at = [place[str(bar["label"])] + (number - (len(groups) - 1) / 2) * width for bar in own]
        (axes.barh if sideways else axes.bar)(at, [bar["value"] or 0 for bar in own], width, label=group)
    shown = range(0, len(names), -(-len(names) // (len(names) if sideways else _TICKS_MAX)) or 1)
    (axes.set_yticks if sideways else axes.set_xticks)(list(shown), [names[i] for i in shown])


def _histogram(axes, bins, chart):
    if any(isinstance(one["from"], str) for one in bins):
        _bars(axes, [{**one, "label": one["from"], "value": one["count"]} for one in bins], chart)
        return
    for group in dict.fromkeys(one.get("group") or "" for one in bins):
        own = [one for one in bins if (one.get("group") or "") == group]
        axes.bar([one["from"] for one in own], [one["count"] for one in own], [one["to"] - one["from"] for one in own],
                 align="edge", label=group, edgecolor="white", alpha=0.8)


def _pie(axes, slices, _chart):
    axes.pie([one["fraction"] for one in slices], labels=[str(one["label"]) for one in slices], autopct="%1.0f%%")


def _boxes(axes, boxes, _chart):
    axes.bxp([{"label": str(one["label"]), "whislo": one["min"], "q1": one["first_quartile"], "med": one["median"],
               "q3": one["third_quartile"], "whishi": one["max"], "fliers": one["outliers"]} for one in boxes])


def _heatmap(axes, elements, _chart):
    one = elements[-1]  # which lies on the others
    rows = [[float("nan") if value is None else value for value in row] for row in one["values"]]
    picture = axes.imshow(rows, aspect="auto", origin="lower")
    axes.figure.colorbar(picture)
    for set_ticks, names in ((axes.set_xticks, one["x"]), (axes.set_yticks, one["y"])):
        shown = range(0, len(names), max(1, len(names) // _TICKS_MAX))
        set_ticks(list(shown), [str(names[i]) for i in shown])


_DRAW = {"line": _lines, "area": _areas, "scatter": _scatter, "bar": _bars, "histogram": _histogram, "pie": _pie, "box": _boxes,
         "heatmap": _heatmap}
