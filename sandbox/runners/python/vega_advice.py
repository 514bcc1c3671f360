"""Words for an altair chart whose picture would lack marks, and the files that it names, which its picture is to have."""

import os

from hutch_runner import vega_drawn

FILE_BYTES_MAX = 5_000_000
_PARTS = ("layer", "hconcat", "vconcat", "concat")
_ON_LOG = "stacked bars and areas begin at 0, which no logarithmic axis has, so the picture has none: write alt.Y(..., stack=None), or type='symlog' for the scale"


def with_its_file(spec):
    """The specification with the text of the file of its data in it, where the session has that, and it is not too large."""
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
    told = [_of_url((spec.get("data") or {}).get("url")), _of_paths(spec)]
    if any(vega_drawn.is_lost_on_log(mark, encoding) for mark, encoding in _units(spec, {})):
        told.append(_ON_LOG)
    told = "; ".join(one for one in told if one)
    return f" ({told})" if told else ""


def _of_url(url):
    if not isinstance(url, str) or url.startswith("data:"):
        return ""
    if "://" in url:
        return "its data comes from a URL: marks are missing where the session's network does not allow that"
    if not os.path.isfile(url):
        return f"there is no file {url!r}, so the picture has no marks"
    reader = "json" if url.lower().endswith(".json") else "csv"
    return (f"the file {url!r} is larger than {FILE_BYTES_MAX // 1_000_000} MB, or no CSV, TSV or JSON by its name, so the picture has no marks: "
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
    if not isinstance(spec, dict) or depth > 20:
        return
    encoding = {**above, **(spec.get("encoding") or {})}
    for part in _PARTS:
        for one in spec.get(part) or ():
            yield from _units(one, encoding, depth + 1)
    yield from _units(spec.get("spec"), encoding, depth + 1)
    if "mark" in spec:
        yield spec["mark"].get("type") if isinstance(spec["mark"], dict) else spec["mark"], encoding
