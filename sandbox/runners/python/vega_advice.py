"""Words for an altair chart whose picture would lack marks, and the files that it names, which its picture is to have."""

import os

from hutch_runner import vega_drawn

FILE_BYTES_MAX = 5_000_000
DEPTH_MAX = 20
_PARTS = ("layer", "hconcat", "vconcat", "concat")
_ON_LOG = "stacked bars and areas begin at 0, which no logarithmic axis has, so the picture has none: write alt.Y(..., stack=None), or type='symlog' for the scale"


def with_its_file(spec, depth=0):
    """The specification with the texts of the files of its data, and its parts', in it, where the session has them, and they are not too large."""
    if not isinstance(spec, dict) or depth > DEPTH_MAX:
        return spec
    spec, changed = _with_own_file(spec), {}
    for part in _PARTS:
        if isinstance(spec.get(part), list):
            made = [with_its_file(one, depth + 1) for one in spec[part]]
            if any(one is not before for one, before in zip(made, spec[part])):
                changed[part] = made
    inner = with_its_file(spec.get("spec"), depth + 1)
    if inner is not spec.get("spec"):
        changed["spec"] = inner
    return {**spec, **changed} if changed else spec


def _with_own_file(spec):
    data = spec.get("data")
    url = data.get("url") if isinstance(data, dict) else None
    kind = _kind_of(url)
    if kind is None or not os.path.isfile(url) or os.path.getsize(url) > FILE_BYTES_MAX:
        return spec
    try:
        with open(url, encoding="utf-8-sig") as file:
            return {**spec, "data": {"values": file.read(), "format": {"type": kind, **(data.get("format") or {})}}}
    except (OSError, ValueError):  # it may be no text
        return spec


def _kind_of(url):
    end = os.path.splitext(url)[1][1:].lower() if isinstance(url, str) and "://" not in url else ""
    return end if end in ("csv", "tsv", "json") else None


def notes(spec):
    """In words, what the picture lacks and how it would have that; empty where nothing is known here."""
    told = [*dict.fromkeys(_of_url(url, is_whole) for url, is_whole in _urls(spec)), _of_paths(spec)]
    if any(vega_drawn.is_lost_on_log(mark, encoding) for mark, encoding in _units(spec, {})):
        told.append(_ON_LOG)
    told = "; ".join(one for one in told if one)
    return f" ({told})" if told else ""


def _urls(spec, depth=0):
    """Each URL of data, and whether it is that of the whole, rather than of a part."""
    if not isinstance(spec, dict) or depth > DEPTH_MAX:
        return
    if isinstance(spec.get("data"), dict):
        yield spec["data"].get("url"), depth == 0
    for one in _parts_of(spec):
        yield from _urls(one, depth + 1)


def _parts_of(spec):
    return [*(one for part in _PARTS for one in spec.get(part) or ()), spec.get("spec")]


def _of_url(url, is_whole):
    if not isinstance(url, str) or url.startswith("data:"):
        return ""
    if "://" in url:
        return "its data comes from a URL: marks are missing where the session's network does not allow that"
    of_it = "" if is_whole else " of it"
    if not os.path.isfile(url):
        return f"there is no file {url!r}, so the picture has no marks{of_it}"
    reader = "json" if url.lower().endswith(".json") else "csv"
    return (f"the file {url!r} is larger than {FILE_BYTES_MAX // 1_000_000} MB, or no CSV, TSV or JSON by its name, so the picture has no marks{of_it}: "
            f"write alt.Chart(pd.read_{reader}({url!r}))")


def _of_paths(spec):
    columns = {name for rows in [*(spec.get("datasets") or {}).values(), (spec.get("data") or {}).get("values")]
               if isinstance(rows, list) and rows and isinstance(rows[0], dict) for name in rows[0]}
    for _, encoding in _units(spec, {}):
        for channel in encoding.values():
            field = channel.get("field") if isinstance(channel, dict) else None
            if vega_drawn.is_path(field) and field in columns:
                way = vega_drawn.escaped(field).replace("\\", "\\\\").replace("'", "\\'")
                return f"for Vega {field!r} is a path into a value, and the picture has nothing of it: write '{way}:Q' (N for names), or rename the column"
    return ""


def _units(spec, above, depth=0):
    """Each mark and its encoding."""
    if not isinstance(spec, dict) or depth > DEPTH_MAX:
        return
    encoding = {**above, **(spec.get("encoding") or {})}
    for one in _parts_of(spec):
        yield from _units(one, encoding, depth + 1)
    if "mark" in spec:
        yield spec["mark"], encoding
