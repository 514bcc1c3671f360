"""What a value is made of, as plain data that two processes can compare: where a process has executed the same of a cell, but cannot be given the
value, equal shapes say that nothing has changed it since."""

from types import BuiltinFunctionType, FunctionType, ModuleType

PARTS_MAX = 2000
TEXT_MAX = 100_000
_WRITTEN_ALIKE = (type(None), bool, int, float, complex, range, type(...))


class _Shapeless(Exception):
    pass


def shape_of(value):
    """None for what has more in it than data and what goes by a name, or too much."""
    try:
        return _shape(value, {"parts": PARTS_MAX, "text": TEXT_MAX})
    except (_Shapeless, RuntimeError, ValueError):  # within itself; changed by another thread meanwhile; an integer of too many digits
        return None


def _shape(value, room):
    _take(room, "parts", 1)
    kind = type(value)
    if kind in _WRITTEN_ALIKE:
        return (kind.__name__, repr(value))
    if kind in (str, bytes):
        _take(room, "text", len(value))
        return (kind.__name__, value)
    if kind in (list, tuple):
        return (kind.__name__, tuple([_shape(part, room) for part in value]))
    if kind in (set, frozenset):
        return (kind.__name__, frozenset([_shape(part, room) for part in value]))
    if kind is dict:
        return ("dict", tuple([(_shape(key, room), _shape(part, room)) for key, part in value.items()]))
    return _name(value, kind)


def _name(value, kind):
    if kind is FunctionType:
        code = value.__code__
        line = code.co_firstlineno if "<lambda>" in value.__qualname__ else 0  # a file may have been edited since
        return ("function", value.__qualname__, code.co_filename, line)
    if kind is BuiltinFunctionType and isinstance(value.__self__, (ModuleType, type(None))):
        return ("builtin", value.__module__, value.__qualname__)
    if kind is ModuleType:
        return ("module", _as_main(value.__name__))
    if issubclass(kind, type):
        names = [type.__getattribute__(value, name) for name in ("__module__", "__qualname__")]
        if all(type(name) is str for name in names):
            return ("class", _as_main(names[0]), names[1])
    raise _Shapeless


def _as_main(module):
    return "__main__" if module == "__mp_main__" else module


def _take(room, what, count):
    room[what] -= count
    if room[what] < 0:
        raise _Shapeless
