"""Tells how a value is made, as plain data that two processes can compare: where a process has executed the same of a cell, but cannot be given the
value, equal shapes say that nothing has changed it since.

There are three grades. Equal shapes that are EXACT say so by themselves. Those that are ALIKE have objects in them of which only the type is told,
and an OUTLINE is of what has too much in it for a shape: there others have to say that nothing changes the value.
"""

import sys
from _collections import deque
from types import BuiltinFunctionType, FunctionType, GenericAlias, MethodType, ModuleType, UnionType

EXACT, ALIKE, OUTLINE = "exact", "alike", "outline"
PARTS_MAX = 2000
TEXT_MAX = 100_000
DEPTH_MAX = 100  # pickling shapes takes as many levels again, in the room of the stack that users leave it
DIGESTED_BYTES_MAX = 4 << 20  # some tens of milliseconds
_WRITTEN_ALIKE = (type(None), bool, int, float, complex, range, type(...))
_WITH_PARTS = (list, tuple, set, frozenset, dict, deque, str, bytes, bytearray)
_WITHOUT_DATA = {("builtins", "object"), ("_thread", "lock"), ("_thread", "RLock"), ("_thread", "_local"), ("logging", "Logger")}
_SAID_BY_TYPING = ("_name", "__name__", "__origin__", "__args__", "__metadata__", "__forward_arg__")


class _Shapeless(Exception):
    pass


def shape_of(value, left=None):
    """Its grade and its shape: that of an outline is the type, how many parts it has and a digest, each None where it is not known.
    `left` has how many "bytes" may still be digested, of this value and of others."""
    room = {"parts": PARTS_MAX, "text": TEXT_MAX, "depth": DEPTH_MAX, "objects": 0}
    try:
        shape = _shape(value, room)
        return (ALIKE if room["objects"] else EXACT, shape)
    except (_Shapeless, RuntimeError, ValueError):  # within itself; changed by another thread meanwhile; an integer of too many digits
        kind = type(value)
        length = len(value) if kind in _WITH_PARTS else None
        return (OUTLINE, (_name_of(kind), length, None if length is None else _digest_of(value, left or {"bytes": DIGESTED_BYTES_MAX})))


def has_data(value):
    """Functions, descriptors, types and modules have none, and sentinels, locks and loggers are each process's own."""
    kind = type(value)
    if issubclass(kind, (FunctionType, BuiltinFunctionType, type, ModuleType)) or _name_of(kind) in _WITHOUT_DATA:
        return False
    return not any("__get__" in type.__getattribute__(base, "__dict__") for base in type.__getattribute__(kind, "__mro__"))


def _shape(value, room):
    _take(room, "parts", 1)
    _take(room, "depth", 1)
    shape = _shape_within(value, type(value), room)
    room["depth"] += 1
    return shape


def _shape_within(value, kind, room):
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
    if kind is MethodType and type(value.__func__) is FunctionType or kind is BuiltinFunctionType and not _is_of_module(value):
        return ("method", _shape(value.__self__, room), value.__name__)
    if _is_enum(kind):
        number = object.__getattribute__(value, "_value_")  # several flags together need not have a name
        return ("member", _name_of(kind), object.__getattribute__(value, "_name_"), repr(number) if type(number) is int else "")
    if kind in (GenericAlias, UnionType) or _name_of(kind)[0] == "typing" and not issubclass(kind, type):
        return ("typing", kind.__name__, *[_shape(_said(value, name), room) for name in _SAID_BY_TYPING])
    return _name(value, kind, room)


def _is_enum(kind):
    enum = sys.modules.get("enum")
    return issubclass(kind, getattr(enum, "Enum", ()))


def _name(value, kind, room):
    if kind is FunctionType:
        code = value.__code__
        line = code.co_firstlineno if "<lambda>" in value.__qualname__ else 0  # a file may have been edited since
        return ("function", value.__qualname__, code.co_filename, line)
    if kind is BuiltinFunctionType:
        return ("builtin", value.__module__, value.__qualname__)
    if issubclass(kind, ModuleType):
        return ("module", _as_main(object.__getattribute__(value, "__dict__").get("__name__")))  # others may import at a question
    if issubclass(kind, type):
        return ("class", *_name_of(value))
    if issubclass(kind, _WITH_PARTS) and _name_of(kind)[0] in ("builtins", "collections", "__main__"):
        raise _Shapeless
    for name in ("stdin", "stdout", "stderr"):
        if value is getattr(sys, name, None):  # hutch has types of its own for them
            return ("stream", name)
    room["objects"] += 1
    return ("object", *_name_of(kind))


def _said(alias, name):
    """Its attribute, without those of the class that it is an alias of."""
    try:
        return object.__getattribute__(alias, name)
    except AttributeError:
        return None


def _is_of_module(function):
    return isinstance(function.__self__, (ModuleType, type(None)))


def _name_of(kind):
    """The module and the name of a type, which may have made them something else than text."""
    return tuple([_as_main(type.__getattribute__(kind, name)) for name in ("__module__", "__qualname__")])


def _as_main(module):
    if type(module) is not str:
        return ""
    return "__main__" if module == "__mp_main__" else module


def _digest_of(value, left):
    """Equal for equal data; None where there is more, or anything else in it. Sets have an order of their own in each process, and none here."""
    import pickle
    from _blake2 import blake2b  # hashlib may be a file of the user's

    class Pickler(pickle.Pickler):
        def reducer_override(self, _part):
            raise _Shapeless

    class Digest:
        def write(self, part):
            size = memoryview(part).nbytes
            _take(room, "bytes", size)
            left["bytes"] -= size
            digest.update(part)

    room, digest = {"bytes": min(left["bytes"], DIGESTED_BYTES_MAX)}, blake2b(digest_size=16)
    if type(value) in (set, frozenset):
        return None
    pickler = Pickler(Digest(), 4)
    pickler.fast = True  # without a word on which parts are one object, which the processes need not have alike
    try:
        pickler.dump(value)
    except (_Shapeless, RuntimeError, ValueError, pickle.PicklingError):  # as above
        return None
    return digest.digest()


def _take(room, what, count):
    room[what] -= count
    if room[what] < 0:
        raise _Shapeless
