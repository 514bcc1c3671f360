"""How Vega draws what a specification says of fields, logarithmic axes and the order of names."""

import re

_PATH = "\0path"  # for a field that is one: no row has it
_IN_PATHS = re.compile(r"""[.\[\]'"]""")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_STACKED_BY = ("color", "fill", "stroke", "opacity", "fillOpacity", "strokeOpacity", "strokeWidth", "detail")


def is_path(field):
    """Whether it leads into a value, rather than name it."""
    return isinstance(field, str) and _IN_PATHS.search(_ESCAPED.sub("", field)) is not None


def escaped(field):
    return _IN_PATHS.sub(lambda found: "\\" + found[0], field)


def with_plain_fields(encoding):
    """The encoding with the names that the rows have, which are escaped in it."""
    if isinstance(encoding, list):
        return [with_plain_fields(one) for one in encoding]
    if not isinstance(encoding, dict):
        return encoding
    found = {name: with_plain_fields(one) for name, one in encoding.items()}
    field = found.get("field")
    if isinstance(field, str):
        found["field"] = _PATH if is_path(field) else _ESCAPED.sub(r"\1", field)
    return found


def is_lost_on_log(mark, encoding):
    """Stacks begin at 0, which is nowhere on a logarithmic axis: nothing is drawn of them."""
    if mark not in ("bar", "area") or any(name in encoding for name in ("x2", "y2")):
        return False
    is_split = any("field" in one for name in _STACKED_BY for one in _listed(encoding.get(name)))
    return any(_has_log(one) and one.get("stack", True) and (is_split or "aggregate" not in one)
               for name in "xy" for one in _listed(encoding.get(name)))


def _listed(channel):
    return [one for one in (channel if isinstance(channel, list) else [channel]) if isinstance(one, dict)]


def _has_log(channel):
    return isinstance(channel.get("scale"), dict) and channel["scale"].get("type") == "log"


def in_drawn_order(rows, along, value, aggregates):
    """The rows by the names at the axis, where the encoding says how to sort these; as they are where it is not known here how it does."""
    sort, field = along.get("sort"), along.get("field")
    if not sort or along.get("type") not in ("nominal", "ordinal") or not isinstance(field, str):
        return rows
    names = list(dict.fromkeys(row.get(field) for row in rows))
    if isinstance(sort, list):
        known = {name: place for place, name in enumerate(sort)}
        names.sort(key=lambda name: known.get(name, len(known)))
    elif sort == "descending":
        names.sort(reverse=True)
    elif sort in ("x", "y", "-x", "-y") and (sizes := _sizes(rows, field, value, aggregates)):
        names.sort(key=sizes.__getitem__, reverse=sort[0] == "-")
    else:
        return rows
    places = {name: place for place, name in enumerate(names)}
    return sorted(rows, key=lambda row: places[row.get(field)])


def _sizes(rows, field, value, aggregates):
    """How large the bars of a name are together; none where that is not by numbers."""
    found = {}
    for row in rows:
        found.setdefault(row.get(field), []).append(row.get(value.get("field"), 0))
    if value.get("aggregate") != "count" and not all(type(one) in (int, float) for some in found.values() for one in some):
        return {}
    return {name: aggregates[value.get("aggregate") or "sum"](some) for name, some in found.items()}
