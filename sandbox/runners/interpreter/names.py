"""Lists of names in a sentence."""

from hutch_runner.patterns import Pattern

_NUMBERED = Pattern(r"(?s)(.*?)(0|[1-9]\d*)")
_MOMENT = Pattern(r"\d{4}-\d\d(?:-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?)?)?")
_ALIKE_LEAST = 4  # fewer in a row are named each


def names_in_short(names, characters_max=600):
    """`a, b, c`; `x_1 to x_9` for names that count on, and the first and the last of dates that go up, with gaps or without."""
    pieces, begun = [], 0
    for end in range(1, len(names) + 1):
        if end < len(names) and _counts_on(names[end - 1], names[end]):
            continue
        alike = names[begun:end]
        pieces += [(_range(alike), len(alike))] if len(alike) >= _ALIKE_LEAST else [(name, 1) for name in alike]
        begun = end
    return _that_fit(pieces, len(names), characters_max)


def _range(names):
    count = f" ({len(names)} of them)" if _MOMENT.fullmatch(names[0]) else ""
    return f"{names[0]} to {names[-1]}{count}"


def _that_fit(pieces, count, characters_max):
    shown, size, told = [], 0, 0
    for text, names in pieces:
        size += len(text) + 2
        if size > characters_max and shown:
            return f"{', '.join(shown)} and {count - told} more"
        shown.append(text[:characters_max])
        told += names
    return ", ".join(shown)


def _counts_on(one, next_one):
    if _MOMENT.fullmatch(one) and _MOMENT.fullmatch(next_one):
        return len(one) == len(next_one) and one < next_one
    before, after = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(next_one)
    return bool(before and after) and before[1] == after[1] and int(before[2]) + 1 == int(after[2])
