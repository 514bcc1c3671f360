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
    """Stacks begin at 0, which is nowhere on a logarithmic axis: nothing is drawn of them. `mark` is the specification's."""
    kind, orient = (mark.get("type"), mark.get("orient")) if isinstance(mark, dict) else (mark, None)
    if kind not in ("bar", "area") or any(name in encoding for name in ("x2", "y2")):
        return False
    axes = {name: encoding[name] if isinstance(encoding.get(name), dict) else {} for name in "xy"}
    name = _stacked_axis(axes, orient)
    if name is None or not _has_log(axes[name]) or not axes[name].get("stack", True):
        return False
    other = "x" if name == "y" else "y"
    beside = [_drawn_field(one) for one in (axes[other], *_listed(encoding.get(f"{other}Offset")))]
    return _is_split(encoding, beside) or not any("aggregate" in one for every in encoding.values() for one in _listed(every))


def _stacked_axis(axes, orient):
    """The axis along which Vega draws bars and stacks them; None where that is not one. Of two with numbers its own rules choose."""
    measures = [name for name in "xy" if _is_measure(axes[name])]
    if len(measures) < 2:
        return measures[0] if measures else None
    aggregated, told = ([name for name in "xy" if axes[name].get(key)] for key in ("aggregate", "stack"))
    along = aggregated[0] if len(aggregated) == 1 else "x" if orient == "horizontal" else "y"
    return None if told and told[0] != along else along


def _is_measure(channel):
    kind = channel.get("type") or ("quantitative" if channel.get("aggregate") or _has_log(channel) else None)
    return kind == "quantitative" and not channel.get("bin") and ("field" in channel or channel.get("aggregate") == "count")


def _is_split(encoding, beside):
    """Whether bars stand on one another, by a field that is none of those that they stand beside one another by."""
    every = [one for name in _STACKED_BY for one in _listed(encoding.get(name))]
    every += [one["condition"] for one in every if isinstance(one.get("condition"), dict)]
    return any("field" in one and "aggregate" not in one and _drawn_field(one) not in beside for one in every)


def _drawn_field(channel):
    return channel.get("field"), channel.get("timeUnit"), channel.get("bin") or None


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
    elif sort in ("ascending", "descending") and _is_of_one_kind(names):
        names.sort(key=_as_compared, reverse=sort == "descending")
    elif sort in ("x", "y", "-x", "-y") and (sizes := _sizes(rows, field, value, aggregates)):
        names.sort(key=sizes.__getitem__, reverse=sort[0] == "-")
    else:
        return rows
    places = {name: place for place, name in enumerate(names)}
    return sorted(rows, key=lambda row: places[row.get(field)])


def _is_missing(value):
    return value is None or value != value


def _is_of_one_kind(names):
    """Whether they can be compared here as Vega does: numbers with texts have no order there, either."""
    return {"number" if kind in (int, float) else kind for kind in map(type, (name for name in names if not _is_missing(name)))} in ({"number"}, {str}, {bool}, set())


def _as_compared(name):
    """A key: what is missing is less than all else, and texts have the order of their code units."""
    if _is_missing(name):
        return False, 0
    return True, name.encode("utf-16-be", "surrogatepass") if isinstance(name, str) else name


def _sizes(rows, field, value, aggregates):
    """How large the bars of a name are together, as keys; none where that is not by numbers. Missing ones do not count: a name with no other is the least."""
    found, aggregate = {}, value.get("aggregate") or "sum"
    for row in rows:
        one = row.get(value.get("field"))
        found.setdefault(row.get(field), []).extend([one] if aggregate == "count" or not _is_missing(one) else [])
    if aggregate != "count" and not all(type(one) in (int, float) for some in found.values() for one in some):
        return {}
    return {name: (bool(some), aggregates[aggregate](some) if some else 0) for name, some in found.items()}
