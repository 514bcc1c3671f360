"""Turns the names of a session into pickles: each by itself or, where they share objects, together.

A name whose value cannot be pickled costs nobody else: it is named with its reason. Pickling may take
any time and do anything, so it is done in a child of the interpreter (snapshots.py).
"""

import functools
import importlib
import io
import pickle
import re
import sys
import types

REASON_CHARACTERS_MAX = 120
_NOT_OF_THE_CODE = {"__builtins__", "__name__", "__doc__", "__package__", "__loader__", "__spec__", "__warningregistry__",
                    "In", "Out", "get_ipython", "exit", "quit"}
_OF_NOTEBOOKS = re.compile(r"_+|_i*\d*|_(?:ih|oh|dh|exit_code)")
# Nobody can change these, or they are found by their name: two values that have one in common are not one group.
_UNSHARED = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, types.ModuleType,
             types.BuiltinFunctionType, types.CodeType, range, slice)
_UNSHARED_OF_NUMPY = ("dtype", "generic")


class NotKept(Exception):
    """Why a value has no place in a snapshot, in words for who reads the note."""


class Group:
    """Names whose values share objects, and one pickle of all: a dict by name. Buffers lie beside it."""

    def __init__(self, names, pickled, buffers):
        self.names = names
        self.pickled = pickled
        self.buffers = buffers  # of pickle.PickleBuffer
        self.is_trivial = False  # only modules, which a line of code brings back

    def size(self):
        return len(self.pickled) + sum(buffer.raw().nbytes for buffer in self.buffers)


def groups_of(namespace, begin_value=lambda name: None):
    """The groups of a namespace, and what is not kept: {name: (type, reason)}.

    `begin_value` hears of each name before it is tried."""
    pickler = pickler_of(namespace)
    single, seen, not_kept = {}, {}, {}
    for name, value in list(namespace.items()):
        if not isinstance(name, str) or name in _NOT_OF_THE_CODE or _OF_NOTEBOOKS.fullmatch(name):
            continue
        begin_value(name)
        try:
            single[name], seen[name] = _pickled(pickler, [name], namespace)
            single[name].is_trivial = isinstance(value, types.ModuleType)
        except Exception as failure:
            not_kept[name] = (type_name(value), reason_of(failure))
    groups = []
    for names in _that_share(seen):
        if len(names) == 1:
            groups.append(single[names[0]])
            continue
        try:
            groups.append(_pickled(pickler, names, namespace)[0])
        except Exception:  # each can be pickled, so it is what they are together: each keeps its own copy
            groups.extend(single[name] for name in names)
    return groups, not_kept


def restore(group, namespace):
    """Puts the group's values into the namespace. `buffers` are anything that has the bytes."""
    values = _Unpickler(io.BytesIO(group.pickled), namespace, group.buffers).load()
    namespace.update(values)


def pickler_of(namespace):
    numpy = sys.modules.get("numpy")
    unshared = (*_UNSHARED, *(getattr(numpy, name) for name in _UNSHARED_OF_NUMPY if hasattr(numpy, name)))
    try:
        import cloudpickle
    except ImportError:
        return _plain_pickler_of(namespace, unshared)

    class Pickler(_Sharing, cloudpickle.CloudPickler):
        def __init__(self, file, buffers):
            super().__init__(file, protocol=5, buffer_callback=buffers.append)
            self.namespace = namespace
            self.globals_ref[id(namespace)] = namespace  # functions of cells find the session's names again
            self.seen = {}
            self.unshared = unshared

        def reducer_override(self, value):
            if isinstance(value, functools._lru_cache_wrapper) and value.__module__ == "__main__":
                return _cached, (value.__wrapped__, value.cache_parameters())
            return super().reducer_override(value)

        def _dynamic_function_reduce(self, function):
            make, arguments, state, *rest = super()._dynamic_function_reduce(function)
            if function.__globals__ is namespace:
                state[1]["__globals__"] = {}  # what it uses are names of the session, which are kept as such
            return (make, arguments, state, *rest)

    return Pickler


def _plain_pickler_of(namespace, unshared):
    class Pickler(_Sharing, pickle.Pickler):
        def __init__(self, file, buffers):
            super().__init__(file, protocol=5, buffer_callback=buffers.append)
            self.namespace = namespace
            self.seen = {}
            self.unshared = unshared

        def reducer_override(self, value):
            if isinstance(value, types.ModuleType):
                return importlib.import_module, (value.__name__,)
            if isinstance(value, (types.FunctionType, type)) and value.__module__ == "__main__":
                raise NotKept("what cells define needs cloudpickle, which is not installed here")
            return NotImplemented

    return Pickler


def _cached(function, parameters):
    """What functools.lru_cache made of it, with nothing in the cache."""
    return functools.lru_cache(**parameters)(function)


class _Sharing:
    """Notes which objects a value leads to, and stands for the namespace itself by a word."""

    def persistent_id(self, value):
        if value is self.namespace:
            return "namespace"
        if isinstance(value, self.unshared):
            return None
        if isinstance(value, types.FunctionType) and value.__globals__ is not self.namespace:
            return None  # of a library
        self.seen[id(value)] = value  # held, so that no later object gets its id
        return None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, namespace, buffers):
        super().__init__(file, buffers=buffers)
        self._namespace = namespace

    def persistent_load(self, word):
        if word == "namespace":
            return self._namespace
        raise pickle.UnpicklingError(f"{word!r} stands for nothing")


def _pickled(kind, names, namespace):
    file, buffers = io.BytesIO(), []
    pickler = kind(file, buffers)
    values = {name: namespace[name] for name in names}
    pickler.dump(values)
    pickler.seen.pop(id(values), None)
    return Group(names, file.getvalue(), buffers), pickler.seen


def _that_share(seen):
    """Lists of names, in the order of their first; names are together when any object is common to them."""
    group_of, owner = {}, {}
    for name, objects in seen.items():
        mine = group_of[name] = [name]
        for key in objects:
            other = owner.setdefault(key, name)
            if group_of[other] is not mine:
                theirs = group_of[other]
                theirs.extend(mine)
                for one in mine:
                    group_of[one] = theirs
                mine = theirs
    unique = {id(names): names for names in group_of.values()}
    order = {name: number for number, name in enumerate(seen)}
    return sorted((sorted(names, key=order.get) for names in unique.values()), key=lambda names: order[names[0]])


def type_name(value):
    kind = type(value)
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"


def reason_of(failure):
    try:
        text = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
    except Exception:  # of the user's
        text = type(failure).__name__
    return text[:REASON_CHARACTERS_MAX]
