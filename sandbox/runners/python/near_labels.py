"""Columns and row labels of pandas that a KeyError may have meant."""

import sys
from itertools import islice

from hutch_runner.patterns import Pattern

_QUOTED = Pattern(r"'([^']+)'")
_LABELS_MAX = 1000  # are compared
_COMPARED_MAX = 80  # characters
_NEAR, _NAMED = 3, 8


def near_labels(failure):
    """Half a sentence, or nothing: what is near of what was looked in, or else what that has."""
    index = _labels_looked_in(failure.__traceback__)
    labels = [label for label in islice(index, _LABELS_MAX) if isinstance(label, str)]
    missing = [name for name in _asked(failure) if name not in labels]
    if not missing or not labels:
        return ""
    near = list(dict.fromkeys(label for name in missing[:_NEAR] for label in _near(name, labels)))[:2 * _NEAR]
    if near:
        return f"the nearest here: {', '.join(map(repr, near))}"
    if not isinstance(failure, KeyError) or len(labels) < min(len(index), _LABELS_MAX):
        return ""  # it may have been no label; and others are no text
    more = f" and {len(index) - _NAMED} more" if len(index) > _NAMED else ""
    return f"there are: {', '.join(map(repr, labels[:_NAMED]))}{more}"


def _asked(failure):
    """Names that pandas has not found: the key itself, or those that its words quote."""
    if not isinstance(failure, KeyError):
        return [failure.name] if isinstance(failure, AttributeError) else _QUOTED.split(str(failure))[1::2]
    key = failure.args[0] if failure.args else None
    if isinstance(key, str) and key.startswith("Requested level"):
        return []  # the name of an index
    if isinstance(key, str):
        return _QUOTED.split(key)[1::2] or [key.removeprefix("Column not found: ")]
    return [one for one in key if isinstance(one, str)] if isinstance(key, (tuple, list, sys.modules["pandas"].Index)) else []


def _labels_looked_in(step):
    """Returns the labels of the index that was asked last, or of the columns, as in groupby; none where it was not pandas that failed."""
    found, is_of_pandas = None, False
    while step is not None:
        frame = step.tb_frame
        is_of_pandas = "pandas/" in frame.f_code.co_filename or frame.f_code.co_filename.endswith((".pyx", ".pxi"))
        if is_of_pandas and frame.f_code.co_name == "get_group":
            return ()  # the values of a column are meant
        if is_of_pandas:
            for name in ("self", "obj", "frame"):
                found = _index_of(frame.f_locals.get(name), found)
        step = step.tb_next
    return found if found is not None and is_of_pandas else ()


def _index_of(value, other):
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.core.groupby.GroupBy):
        value = vars(value).get("obj")  # there is none yet while it is made
    if isinstance(value, pandas.DataFrame):
        return value.columns
    if isinstance(value, pandas.Series):
        return value.index
    return value if isinstance(value, pandas.Index) else other


def _near(name, labels):
    import difflib

    by_plain = {}
    for label in labels:
        by_plain.setdefault(_plain(label), label)
    wanted = _plain(name)
    found = difflib.get_close_matches(wanted, by_plain, _NEAR, 0.6) if len(wanted) <= _COMPARED_MAX else []  # which takes its square
    if len(wanted) > 2:
        found += [plain for plain in by_plain if wanted in plain and plain not in found]
    return [by_plain[plain] for plain in found[:_NEAR]]


def _plain(label):
    return label.strip(" \t\r\n\ufeff\xa0").casefold()
