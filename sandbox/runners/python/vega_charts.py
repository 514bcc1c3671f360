"""The data of a Vega-Lite specification, as altair makes it. The schema is in ../CHARTS.md.

Transforms of the specification are not applied: a chart that has some comes without data, as does one whose encodings
say more than is computed here. The same in JavaScript: ../javascript/vega_charts.mjs.
"""

import math
import re

from hutch_runner import chart_data, vega_drawn

_KINDS = {"line": "line", "area": "line", "trail": "line", "point": "scatter", "circle": "scatter",
          "square": "scatter", "tick": "scatter", "bar": "bar", "arc": "pie", "boxplot": "box", "rect": "heatmap"}
_AGGREGATES = {"count": len, "sum": sum, "mean": lambda v: sum(v) / len(v), "average": lambda v: sum(v) / len(v),
               "min": min, "max": max, "median": lambda v: chart_data.box("", v)["median"]}
_ELSEWHERE = ("x2", "y2", "theta2", "row", "column", "facet")  # channels by which marks stand or end where no rule here has them
_CONCATS = ("hconcat", "vconcat", "concat")
_BIN_OPTIONS = {"maxbins": 1, "step": 1e-300, "minstep": 0}  # and the least that one may be; beside these, `nice`
_TIME_UNITS = {"year": (4, "-01-01", "year"), "yearmonth": (7, "-01", "year-month"), "yearmonthdate": (10, "", "year-month-date")}
_DAY = re.compile(r"\d{4}-\d\d-\d\d([T ][\d:.]+)?")  # without a zone: in another it may be another day


def chart_of(spec):
    side_by_side = []  # names of those without data, or None for each that has some
    chart = chart_data.composite(_title(spec), list(_charts(spec, {}, spec.get("datasets") or {}, side_by_side)))
    untold = [name for name in side_by_side if name]
    return {**chart, "missing": f"{len(untold)} of {len(side_by_side)} charts ({', '.join(untold)})"} if chart and untold else chart


def _charts(spec, above, datasets, side_by_side, depth=0):
    """Layers and concatenations take data and encodings from what they stand in."""
    if not isinstance(spec, dict) or depth > 20 or "transform" in spec or "facet" in spec or "repeat" in spec:
        return
    here = {"data": spec.get("data", above.get("data")), "title": _title(spec) or above.get("title", ""),
            "encoding": {**above.get("encoding", {}), **vega_drawn.with_plain_fields(spec.get("encoding") or {})}}
    for part in ("layer", *_CONCATS):
        for one in spec.get(part) or ():
            made = [chart for chart in _charts(one, here, datasets, side_by_side, depth + 1) if chart["elements"]]
            if part in _CONCATS and not any(inner in one for inner in _CONCATS):
                side_by_side.append(None if made else _name_of(one))
            yield from made
    if "mark" in spec:
        yield from _unit(spec, here, datasets)


def _unit(spec, here, datasets):
    mark, encoding = _mark_of(spec), here["encoding"]
    rows = _in_time_units(_rows(here["data"], datasets), _fields_of(encoding))
    extent = spec["mark"].get("extent", 1.5) if mark == "boxplot" and isinstance(spec["mark"], dict) else 1.5
    if rows and mark in _KINDS and extent == 1.5 and _is_computed(_KINDS[mark], encoding, rows) and not vega_drawn.is_lost_on_log(spec["mark"], encoding):
        if mark == "bar":
            rows = _in_drawn_order(rows, encoding)
        yield _chart(_KINDS[mark], here, rows)


def _in_drawn_order(rows, encoding):
    x, y = (encoding.get(name) if isinstance(encoding.get(name), dict) else {} for name in "xy")
    along, value = _along_and_value(x, y)
    return rows if _is_binned(along) else vega_drawn.in_drawn_order(rows, along, value, _AGGREGATES)


def _mark_of(spec):
    return spec["mark"].get("type") if isinstance(spec["mark"], dict) else spec["mark"]


def _name_of(spec):
    """Names a chart without data beside others: by its mark, and what there is no rule for."""
    unit, words = spec, []
    while "mark" not in unit and isinstance(inner := unit.get("spec") or next(iter(unit.get("layer") or ()), None), dict):
        words += ["faceted"] if "facet" in unit else ["repeated"] if "repeat" in unit else []
        unit = inner
    every = _fields_of(unit.get("encoding") or {})
    words += ["normalized"] if any(one.get("stack") == "normalize" for one in every) else []
    words.append(str(_mark_of(unit)) if "mark" in unit else "chart")
    units = [f"{one['timeUnit']}({one.get('field')})" for one in every if isinstance(one.get("timeUnit"), str)]
    return " ".join(words + (["of", units[0]] if units else []))


def _rows(data, datasets):
    data = data or {}
    if (data.get("format") or {"type": "json"}) != {"type": "json"}:
        return []
    rows = data.get("values", datasets.get(data.get("name")))
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _fields_of(encoding):
    """All that the encoding says of fields, also lists and conditions."""
    waiting, found = list(encoding.values()), []
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            found.append(one)
            waiting.append(one.get("condition"))
    return found


def _in_time_units(rows, every):
    """The rows with the beginnings of their years, months or days; none where a unit is another, or a field has two."""
    for channel in every:
        unit, field = channel.get("timeUnit"), channel.get("field")
        if not unit:
            continue
        known = _TIME_UNITS.get(unit) if isinstance(unit, str) else None
        same = all(one.get("timeUnit") == unit for one in every if one.get("field") == field)
        if not known or not same or not all(isinstance(row.get(field), str) and _DAY.fullmatch(row[field]) for row in rows):
            return []
        rows = [{**row, field: row[field][:known[0]] + known[1]} for row in rows]
    return rows


def _is_computed(kind, encoding, rows):
    """Whether the rules here have all that changes numbers between the rows and what is drawn."""
    every = _fields_of(encoding)
    x, y, color, theta = (encoding.get(name) if isinstance(encoding.get(name), dict) else {} for name in ("x", "y", "color", "theta"))
    if any(encoding.get(name) for name in _ELSEWHERE) or any("datum" in one or "value" in one for one in (x, y, theta)):
        return False
    if any(one.get("impute") or one.get("stack") in ("normalize", "center") for one in every):
        return False
    fields = [one["field"] for one in (x, y, color, theta) if one.get("field") is not None]
    if not all(any(field in row for row in rows) for field in fields):
        return False  # one within another, or none
    along, value = _along_and_value(x, y)
    if any(map(_is_binned, every)):
        return kind == "bar" and _is_counted_in_bins(*((x, y) if _is_binned(x) else (y, x)), color, every)
    aggregates = [one["aggregate"] for one in every if one.get("aggregate")]
    if not aggregates:
        return True
    if not all(isinstance(one, str) and one in _AGGREGATES for one in aggregates):
        return False
    known = {"pie": (theta, [color]), "heatmap": (color, [x, y])}
    value, groups = known.get(kind, (value, [along, color] if color.get("type") in ("nominal", "ordinal") else [along]))
    if not value.get("aggregate"):
        return kind == "scatter" and not x.get("aggregate") and not y.get("aggregate")
    grouped = {one.get("field") for one in groups}
    return kind != "box" and not any(one.get("aggregate") for one in groups) and all(
        one.get("aggregate") or one.get("field") in grouped or one.get("field") is None for one in every)


def _is_binned(channel):
    return channel.get("bin") not in (None, False)


def _is_counted_in_bins(binned, counted, color, every):
    """Counts have bars of their own for each value of what is neither binned nor aggregated: that may be the colour's names only."""
    if not isinstance(_bin_options(binned), dict) or not all(_is_known_option(*one) for one in _bin_options(binned).items()):
        return False
    splits = {one["field"] for one in every if one is not binned and one.get("field") is not None and not one.get("aggregate")}
    is_split_by_names = splits == {color.get("field")} and color.get("type") in ("nominal", "ordinal")
    is_alone = sum(map(_is_binned, every)) == 1
    return is_alone and counted.get("aggregate") == "count" and not color.get("aggregate") and (not splits or is_split_by_names)


def _bin_options(binned):
    return {} if binned.get("bin") is True else binned.get("bin")


def _is_known_option(name, value):
    return name == "nice" or name in _BIN_OPTIONS and chart_data.number(value) is not None and value >= _BIN_OPTIONS[name]


def _along_and_value(x, y):
    return (y, x) if _is_sideways(x, y) else (x, y)


def _is_sideways(x, y):
    return x.get("type") == "quantitative" and y.get("type") in ("nominal", "ordinal", "temporal")


def _chart(kind, here, rows):
    encoding = here["encoding"]
    channels = {name: encoding[name] for name in ("x", "y", "color", "theta")
                if isinstance(encoding.get(name), dict)}
    x, y = channels.get("x", {}), channels.get("y", {})
    chart = {"type": kind, "title": here["title"], "elements": []}
    if kind == "bar" and (_is_binned(x) or _is_binned(y)):
        chart["type"] = "histogram"
        chart["elements"] = _counts(rows, x if _is_binned(x) else y, channels.get("color", {}))
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


def _counts(rows, binned, color):
    """All groups are counted in one set of bins, as they are drawn."""
    groups = {}
    for row in rows:
        value = row.get(binned["field"])
        if value is not None and value == value:
            groups.setdefault(row.get(color.get("field")), []).append(chart_data.number(value))
    values = [value for some in groups.values() for value in some]
    if not values or None in values:  # also other values than numbers may be drawn as some
        return []
    start, step, count = _bins(values, _bin_options(binned))
    if count * len(groups) > chart_data.ELEMENTS_MAX:
        return []
    ends = [float(f"{start + i * step:.15g}") for i in range(count + 1)]
    elements = []
    for name, some in groups.items():
        counts = [0] * count
        for value in some:
            if value <= start + count * step:
                counts[math.floor(1e-14 + (max(start, min(value, start + (count - 1) * step)) - start) / step)] += 1
        group = {} if color.get("field") is None else {"group": "null" if name is None else str(name)}
        elements += [{"from": ends[i], "to": ends[i + 1], "count": counts[i], **group} for i in range(count)]
    return elements


def _bins(values, options):
    """Where they start, how wide they are, and how many: as vega makes them (bin.js of vega-statistics)."""
    low, high = min(values), max(values)
    most, step, least = options.get("maxbins", 10), options.get("step"), options.get("minstep", 0)
    span = high - low or abs(low) or 1
    if not step:
        step = max(least, 10.0 ** (math.floor(math.log(span) / math.log(10) + 0.5) - math.ceil(math.log(most) / math.log(10))))
        while math.ceil(span / step) > most:
            step *= 10
        for divisor in (5, 2):
            if step / divisor >= least and span / (step / divisor) <= most:
                step /= divisor
    if options.get("nice", True):
        precision = 0 if step >= 1 else math.floor(-math.log(step) / math.log(10)) + 1
        start = math.floor(low / step + 10.0 ** (-precision - 1)) * step
        low, high = start - step if low < start else start, math.ceil(high / step) * step
    return low, step, 1 if high == low else math.ceil((high - low) / step)


def _series(kind, rows, x, y, channels):
    color = channels.get("color", {})
    groups = {}
    for row in rows:
        name = row.get(color.get("field")) if color.get("type") in ("nominal", "ordinal") else None
        groups.setdefault(name, []).append(row)
    elements = []
    for name, some in groups.items():
        label = "" if name is None else str(name)
        along, value = _along_and_value(x, y)
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
        if _is_sideways(x, y):
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
    cells = {key: (_aggregated(some, {}, color) or [(None, None)])[-1][1] for key, some in pairs.items()}
    return [chart_data.heatmap(xs, ys, [[cells.get((a, b)) for a in xs] for b in ys])] if cells else []


def _axis(channel, rows):
    title = channel.get("title")
    field, aggregate, how = channel.get("field"), channel.get("aggregate"), ""
    if title is None:
        if aggregate == "count":
            title = "Count of Records"
        elif aggregate and isinstance(aggregate, str):
            title = f"{aggregate.capitalize()} of {field}"
        else:
            how = "binned" if _is_binned(channel) else _TIME_UNITS[channel["timeUnit"]][2] if channel.get("timeUnit") else ""
            title = f"{field} ({how})" if how else field
    scale = {"nominal": "categorical", "ordinal": "categorical", "temporal": "datetime"}.get(channel.get("type"), "linear")
    if isinstance(channel.get("scale"), dict) and channel["scale"].get("type") == "log":
        scale = "log"
    described = chart_data.axis(title, [row.get(field) for row in rows], scale)
    if how:
        del described["unit"]  # the brackets have none
    return described


def _title(spec):
    title = spec.get("title") if isinstance(spec, dict) else None
    title = title.get("text") if isinstance(title, dict) else title
    return " ".join(map(str, title)) if isinstance(title, list) else str(title or "")
