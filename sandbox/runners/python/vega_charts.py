"""The data of a Vega-Lite specification, as altair makes it. The schema is in ../CHARTS.md.

Transforms of the specification are not applied: a chart that has some comes without data. The same
in JavaScript: ../javascript/vega_charts.mjs.
"""

from hutch_runner import chart_data

_KINDS = {"line": "line", "area": "line", "trail": "line", "point": "scatter", "circle": "scatter",
          "square": "scatter", "tick": "scatter", "bar": "bar", "arc": "pie", "boxplot": "box", "rect": "heatmap"}
_AGGREGATES = {"count": len, "sum": sum, "mean": lambda v: sum(v) / len(v), "average": lambda v: sum(v) / len(v),
               "min": min, "max": max, "median": lambda v: chart_data.box("", v)["median"]}


def chart_of(spec):
    return chart_data.composite(_title(spec), list(_charts(spec, {}, spec.get("datasets") or {})))


def _charts(spec, above, datasets, depth=0):
    """Layers and concatenations take data and encodings from what they stand in."""
    if not isinstance(spec, dict) or depth > 20 or "transform" in spec or "facet" in spec or "repeat" in spec:
        return
    here = {"data": spec.get("data", above.get("data")), "title": _title(spec) or above.get("title", ""),
            "encoding": {**above.get("encoding", {}), **(spec.get("encoding") or {})}}
    for part in ("layer", "hconcat", "vconcat", "concat"):
        for one in spec.get(part) or ():
            yield from _charts(one, here, datasets, depth + 1)
    if "mark" in spec:
        rows = _rows(here["data"], datasets)
        mark = spec["mark"].get("type") if isinstance(spec["mark"], dict) else spec["mark"]
        if rows and mark in _KINDS:
            yield _chart(_KINDS[mark], here, rows)


def _rows(data, datasets):
    data = data or {}
    rows = data.get("values", datasets.get(data.get("name")))
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _chart(kind, here, rows):
    encoding = here["encoding"]
    channels = {name: encoding[name] for name in ("x", "y", "color", "theta", "column", "row")
                if isinstance(encoding.get(name), dict)}
    x, y = channels.get("x", {}), channels.get("y", {})
    chart = {"type": kind, "title": here["title"], "elements": []}
    if kind == "bar" and (x.get("bin") or y.get("bin")):
        chart["type"] = "histogram"
        field = (x if x.get("bin") else y).get("field")
        bins = (x.get("bin") or y.get("bin"))
        most = bins.get("maxbins", 10) if isinstance(bins, dict) else 10
        chart["elements"] = chart_data.histogram([row.get(field) for row in rows], most)
    elif kind == "pie":
        pairs = _aggregated(rows, channels.get("color", {}), channels.get("theta", {}))
        chart["elements"] = chart_data.fractions([p[0] for p in pairs], [p[1] for p in pairs])
    elif kind == "heatmap":
        chart["elements"] = _heatmap(rows, x, y, channels.get("color", {}))
    else:
        chart["elements"] = _series(kind, rows, x, y, channels)
    for key, channel in (("x", x), ("y", y)):
        chart[key] = _axis(channel, rows)
    return chart


def _series(kind, rows, x, y, channels):
    color = channels.get("color", {})
    groups = {}
    for row in rows:
        name = row.get(color.get("field")) if color.get("type") in ("nominal", "ordinal") else None
        groups.setdefault(name, []).append(row)
    elements = []
    for name, some in groups.items():
        label = "" if name is None else str(name)
        sideways = x.get("type") == "quantitative" and y.get("type") in ("nominal", "ordinal", "temporal")
        along, value = (y, x) if sideways else (x, y)
        if kind == "box":
            boxes = {}
            for row in some:
                boxes.setdefault(row.get(along.get("field")), []).append(row.get(value.get("field")))
            made = [chart_data.box("" if k is None else k, v) for k, v in boxes.items()]
            elements += [box for box in made if box]
            continue
        pairs = _aggregated(some, along, value)
        if kind == "bar":
            elements += chart_data.bars([p[0] for p in pairs], [p[1] for p in pairs], label)
            continue
        if kind == "line":
            pairs.sort(key=lambda pair: (isinstance(pair[0], str), pair[0] is None, pair[0] or 0))
        if sideways:
            pairs = [(b, a) for a, b in pairs]
        elements.append(chart_data.series(label, [p[0] for p in pairs], [p[1] for p in pairs]))
    return elements


def _aggregated(rows, along, value):
    """(position, value) of each row; with an aggregate, one for each position."""
    if "aggregate" not in value:
        return [(row.get(along.get("field")), row.get(value.get("field"))) for row in rows]
    function = _AGGREGATES.get(value["aggregate"]) if isinstance(value["aggregate"], str) else None
    found = {}
    for row in rows:
        item = 0 if value["aggregate"] == "count" else chart_data.number(row.get(value.get("field")))
        if item is not None:
            found.setdefault(row.get(along.get("field")), []).append(item)
    return [(position, function(items)) for position, items in found.items()] if function else []


def _heatmap(rows, x, y, color):
    pairs = {}
    for row in rows:
        pairs.setdefault((row.get(x.get("field")), row.get(y.get("field"))), []).append(row)
    xs, ys = (list(dict.fromkeys(key[i] for key in pairs)) for i in (0, 1))
    cells = {key: (_aggregated(some, {}, color) or [(None, None)])[0][1] for key, some in pairs.items()}
    return [chart_data.heatmap(xs, ys, [[cells.get((a, b)) for a in xs] for b in ys])] if cells else []


def _axis(channel, rows):
    title = channel.get("title")
    field, aggregate = channel.get("field"), channel.get("aggregate")
    if title is None:
        if aggregate == "count":
            title = "Count of Records"
        elif aggregate and isinstance(aggregate, str):
            title = f"{aggregate.capitalize()} of {field}"
        else:
            title = f"{field} (binned)" if channel.get("bin") else field
    scale = {"nominal": "categorical", "ordinal": "categorical", "temporal": "datetime"}.get(channel.get("type"), "linear")
    if isinstance(channel.get("scale"), dict) and channel["scale"].get("type") == "log":
        scale = "log"
    return chart_data.axis(title, [row.get(field) for row in rows], scale)


def _title(spec):
    title = spec.get("title") if isinstance(spec, dict) else None
    title = title.get("text") if isinstance(title, dict) else title
    return " ".join(map(str, title)) if isinstance(title, list) else str(title or "")
