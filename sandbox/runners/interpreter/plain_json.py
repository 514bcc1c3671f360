"""Any value as strict JSON: what a frame may hold, whatever user code hands over."""

DEPTH_MAX = 40  # the host refuses frames nested deeper than 64
INTEGER_EXACT_MAX = 1 << 53  # beyond that, readers of JSON whose numbers are doubles round


def plain(value, depth=0, large=str):
    """`value` with strings as keys, no NaN or infinity, no cycles; unknown objects as their str().

    `large` makes what comes of integers that would be rounded: float where they are but coordinates."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value) if abs(value) <= INTEGER_EXACT_MAX else large(int(value))
    if isinstance(value, float):
        number = float(value)
        return number if abs(number) < float("inf") else None  # false for NaN too
    if depth >= DEPTH_MAX:
        return "..."
    if isinstance(value, dict):
        return {str(key): plain(item, depth + 1, large) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, depth + 1, large) for item in value]
    if hasattr(value, "isoformat"):
        # Dates; pandas' NaT has the method and calls itself "NaT".
        text = value.isoformat()
        return None if text == "NaT" else text
    if type(value).__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return plain(value.item(), depth + 1, large)
    return None if type(value).__name__ == "NAType" else str(value)


def is_plain(value, budget=1000):
    """Whether a value is data through and through (lists, dicts, strings, numbers), and small."""
    waiting = [value]
    while waiting:
        budget -= 1
        item = waiting.pop()
        if budget < 0:
            return False
        if type(item) is dict:
            if not all(type(key) is str for key in item):
                return False
            waiting.extend(item.values())
        elif type(item) in (list, tuple):
            if len(item) > budget:
                return False
            waiting.extend(item)
        elif type(item) is str:
            budget -= len(item) // 50
        elif item is not None and type(item) not in (bool, int, float):
            return False
    return True
