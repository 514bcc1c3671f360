"""Boxes as plotly.js computes them: its quartiles are those of no other library here (calc.js of its box traces, interp of stats.js)."""

import math

from hutch_runner import chart_data

_ROUNDED = 1e-9  # a part of the mean distance of two values: plotly's findBin takes it for the error of a sum


def boxes(name, groups, values, method, reaches_ends):
    """One trace may hold several boxes, told apart by the other axis."""
    found = {}
    if len(groups) != len(values):
        found[name] = values
    else:
        for group, value in zip(groups, values):
            found.setdefault(f"{group}, {name}" if name else group, []).append(value)
    return [box for label, some in found.items() if (box := _box(label, some, method, reaches_ends))]


def _box(label, values, method, reaches_ends):
    known = sorted(value for value in map(chart_data.number, values) if value is not None)
    if not known or method == "exclusive" and len(known) == 1:  # which leaves no half
        return None
    low, middle, high = _quartiles(known, method)
    least, most = (known[0], known[-1]) if reaches_ends else _whiskers(known, low, high)
    return {"label": str(label), "min": least, "first_quartile": low, "median": middle, "third_quartile": high, "max": most,
            "outliers": [value for value in known if value < least or value > most][:chart_data.ELEMENTS_MAX]}


def _quartiles(known, method):
    """The methods other than the usual one differ from it where the number of values is odd."""
    middle, half = _between(known, 0.5), len(known) // 2
    if len(known) % 2 and method == "exclusive":
        return _between(known[:half], 0.5), middle, _between(known[half + 1:], 0.5)
    if len(known) % 2 and method == "inclusive":
        return _between(known[:half + 1], 0.5), middle, _between(known[half:], 0.5)
    return _between(known, 0.25), middle, _between(known, 0.75)


def _between(ordered, share):
    place = share * len(ordered) - 0.5
    if place <= 0:
        return ordered[0]
    if place >= len(ordered) - 1:
        return ordered[-1]
    below = math.floor(place)
    rest = place - below
    return rest * ordered[math.ceil(place)] + (1 - rest) * ordered[below]


def _whiskers(known, low, high):
    """The last values within one and a half boxes; no whisker ends inside of its box."""
    slack = (known[-1] - known[0]) / max(1, len(known) - 1) * _ROUNDED
    # Where all are equal, an error of the product may leave none.
    least = min((value for value in known if value >= 2.5 * low - 1.5 * high - slack), default=known[-1])
    most = max((value for value in known if value <= 2.5 * high - 1.5 * low + slack), default=known[0])
    return min(low, least), max(high, most)
