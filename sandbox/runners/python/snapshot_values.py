"""Turns the names of a session into pickles: each by itself or, where they share objects, together.

A name whose value cannot be pickled costs nobody else: it is named with its reason. Pickling may take
any time and do anything, so it is done in a child of the interpreter (snapshots.py).
"""

import enum
import functools
import importlib
import io
import os
import pickle
import re
import sys
import types
import typing

from hutch_runner.digests import digest_of
from hutch_runner.snapshot_file import PAGE

REASON_CHARACTERS_MAX = 120
THIS_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_VIEWS_TOLD_MAX = 3
_IN_THE_INDEX_BYTES = 250  # of a group, beside the names
_NOT_OF_THE_CODE = {"__builtins__", "__name__", "__doc__", "__package__", "__loader__", "__spec__", "__warningregistry__",
                    "In", "Out", "get_ipython", "exit", "quit"}
_OF_NOTEBOOKS = re.compile(r"_+|_i*\d*|_(?:ih|oh|dh|exit_code)")
# Nobody can change these, or they are found by their name: two values that have one in common are not one group.
_UNSHARED = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, types.ModuleType,
             types.BuiltinFunctionType, types.CodeType, range, slice)
_UNSHARED_OF_NUMPY = ("dtype", "generic")
_FOUND_BY_NAME = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, types.ModuleType,
                  types.FunctionType, types.CodeType, range, slice)
_LAST_FAILURE = {"last_type", "last_value", "last_exc", "last_traceback"}  # of `sys`: the user's own
# They would be looked for by their name in a `__main__` that does not have them yet.
_NAMED_TYPES = tuple(getattr(typing, name) for name in ("NewType", "ParamSpec", "TypeVarTuple", "TypeAliasType") if hasattr(typing, name))
_OPEN_FILES = (io.BytesIO, io.StringIO)  # are none


class NotKept(Exception):
    """Why a value has no place in a snapshot, in words for who reads the note."""


class OutOfTime(BaseException):
    """As NotKept, and no code of the user's takes it for a failure of its own."""


class Group:
    """Names whose values share objects, and one pickle of all: a dict by name. Buffers lie beside it."""

    def __init__(self, names, pickled, buffers, rank):
        self.names = names
        self.pickled = pickled
        self.buffers = buffers  # of pickle.PickleBuffer
        self.rank = rank  # 0: only modules, which a line of code brings back; 1: functions and classes; 2: others
        self.python = THIS_PYTHON  # that has pickled it

    def size(self):
        return len(self.pickled) + sum(buffer.raw().nbytes for buffer in self.buffers)

    def room(self):
        """The most bytes that it takes in a file and in the index."""
        return self.size() + len(self.buffers) * PAGE + _IN_THE_INDEX_BYTES + sum(map(len, self.names)) * 4

    def put(self, writer):
        """Its entry in the index."""
        buffers = [writer.add(buffer.raw(), aligned=True) for buffer in self.buffers]
        return {"names": self.names, "pickle": writer.add(self.pickled), "digest": _digest(self.pickled), "buffers": buffers,
                "rank": self.rank, "python": self.python}


def stored_group(entry, reader, large):
    python = entry.get("python") or ".".join(reader.index["python"].split(".")[:2])
    lies, reader = large.find(entry["large"]) if "large" in entry else (entry, reader)
    pickled, buffers = reader.at(lies["pickle"]), [pickle.PickleBuffer(reader.at(buffer)) for buffer in lies["buffers"]]
    group = Group(entry["names"], pickled, buffers, entry["rank"])
    group.digest = lies["digest"]
    group.python = python
    return group


def restore(group, namespace):
    """Puts the values of a stored group into the namespace."""
    if _digest(group.pickled) != group.digest:
        raise NotKept("what was stored of it is damaged")
    namespace.update(_Unpickler(io.BytesIO(group.pickled), namespace, group.buffers, group.python).load())


def unpickled(content, namespace):
    return _Unpickler(io.BytesIO(content), namespace, ()).load()


def read_back(group, namespace):
    """Raises where what was stored cannot be read again, as of a class that does not take back what it gives."""
    cloudpickle = sys.modules.get("cloudpickle.cloudpickle")
    for table in ("_DYNAMIC_CLASS_TRACKER_BY_ID", "_DYNAMIC_CLASS_TRACKER_BY_CLASS"):
        if hasattr(cloudpickle, table):
            getattr(cloudpickle, table).clear()  # else it takes the class that is there
    _Unpickler(io.BytesIO(group.pickled), namespace, group.buffers).load()


def _digest(content):
    return digest_of(content).hex()[:32]


class Values:
    """`within_time` calls what it is given, and ends it with an exception when that takes too long."""

    def __init__(self, namespace, files, is_library, within_time):
        self._namespace = namespace
        self._within_time = within_time
        self._pickler = pickler_of(namespace, files, _held_by_libraries(namespace, is_library))
        self.not_kept = {}  # by name: its type, and why
        self.cut = []  # names that share objects, and were stored each for itself

    def groups(self):
        single, seen = {}, {}
        for name, value in list(self._namespace.items()):
            if not isinstance(name, str) or name in _NOT_OF_THE_CODE or _OF_NOTEBOOKS.fullmatch(name):
                continue
            try:
                single[name], seen[name] = self._pickled([name])
            except BaseException as failure:
                self.not_kept[name] = (type_name(value), reason_of(failure))
        groups = []
        for names in _that_share(seen):
            groups.extend([single[names[0]]] if len(names) == 1 else self._together(names, single))
        return groups

    def _together(self, names, single):
        try:
            return [self._pickled(names)[0]]
        except BaseException:  # each can be pickled, so it is what they are together: each keeps its own copy
            self.cut.append(names)
            return [single[name] for name in names]

    def pickled_setting(self, value):
        """A pickle of what has no name. What cells define and name is found by its name again, once that is there."""
        try:
            return pickle.dumps(value, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError):
            file = io.BytesIO()
            pickler = self._pickler(file, None)
            self._within_time(lambda: pickler.dump(value))
            return file.getvalue()

    def _pickled(self, names):
        file, buffers = io.BytesIO(), []
        pickler = self._pickler(file, buffers.append)
        values = {name: self._namespace[name] for name in names}
        self._within_time(lambda: pickler.dump(values))
        pickler.seen.pop(id(values), None)
        return Group(names, file.getvalue(), buffers, min(map(_rank, values.values()))), pickler.seen


def _rank(value):
    return 0 if isinstance(value, types.ModuleType) else 1 if isinstance(value, (type, types.FunctionType)) else 2


def pickler_of(namespace, files, held):
    numpy = sys.modules.get("numpy")
    unshared = (*_UNSHARED, *(getattr(numpy, name) for name in _UNSHARED_OF_NUMPY if hasattr(numpy, name)))
    try:
        import cloudpickle
    except ImportError:
        return _plain_pickler_of(namespace, unshared, files, held)

    class Pickler(_Sharing, cloudpickle.CloudPickler):
        def __init__(self, file, take_buffer):
            super().__init__(file, protocol=5, buffer_callback=take_buffer)
            self.globals_ref[id(namespace)] = namespace  # functions of cells find the session's names again
            self.begin(namespace, unshared, files, held)

        def reducer_override(self, value):
            reduced = self.reduced(value)
            if reduced is not None:
                return reduced
            if isinstance(value, functools._lru_cache_wrapper) and value.__module__ == "__main__":
                return _cached, (value.__wrapped__, value.cache_parameters())
            return super().reducer_override(value)

        def _dynamic_function_reduce(self, function):
            make, arguments, state, *rest = super()._dynamic_function_reduce(function)
            if function.__globals__ is namespace:
                state[1]["__globals__"] = {}  # what it uses are names of the session, which are kept as such
            if function.__closure__:  # cloudpickle has cells of its own for each function
                arguments = (*arguments[:-1], tuple(map(self.cell, function.__closure__)))
            return (make, arguments, state, *rest)

    return Pickler


def _plain_pickler_of(namespace, unshared, files, held):
    class Pickler(_Sharing, pickle.Pickler):
        def __init__(self, file, take_buffer):
            super().__init__(file, protocol=5, buffer_callback=take_buffer)
            self.begin(namespace, unshared, files, held)

        def reducer_override(self, value):
            reduced = self.reduced(value)
            if reduced is not None:
                return reduced
            if isinstance(value, types.ModuleType):
                return importlib.import_module, (value.__name__,)
            if isinstance(value, (types.FunctionType, type)) and value.__module__ == "__main__":
                raise NotKept("what cells define needs cloudpickle, which is not installed here")
            return NotImplemented

    return Pickler


class _Cell:
    """A cell that several functions may have, before it holds anything: the state of each function fills it."""

    def __init__(self, cell):
        self._cell = cell  # whose number is not another's as long as this is there

    def __reduce__(self):
        return types.CellType, ()


def _cached(function, parameters):
    """What functools.lru_cache made of it, with nothing in the cache."""
    return functools.lru_cache(**parameters)(function)


class _Sharing:
    """Notes which objects a value leads to, and stands for what is found elsewhere by a word: the namespace, what libraries hold."""

    def begin(self, namespace, unshared, files, held):
        self._namespace = namespace
        self._unshared = unshared
        self._files = files
        self._held = held
        self._cells = {}
        self.seen = {}

    def cell(self, cell):
        return self._cells.setdefault(id(cell), _Cell(cell))

    def persistent_id(self, value):
        if value is self._namespace:
            return "namespace"
        if id(value) in self._held:
            return self._held[id(value)][:2]
        if isinstance(value, self._unshared):
            return None
        if isinstance(value, types.FunctionType) and value.__globals__ is not self._namespace:
            return None  # of a library
        self.seen[id(value)] = value  # held, so that no later object gets its id
        return None

    def reduced(self, value):
        if isinstance(value, io.IOBase) and not isinstance(value, _OPEN_FILES):
            return self._file(value)
        if isinstance(value, _NAMED_TYPES) and value.__module__ == "__main__":
            return _named_type(value)
        if isinstance(value, enum.EnumMeta) and value.__module__ == "__main__" and _has_more_than_values(value):
            raise NotKept("an enum whose members have attributes: define it again")
        if type(value).__name__ == "memmap" and getattr(value, "_mmap", None) is not None:
            raise NotKept("a file that is mapped: map it again")
        return None

    def _file(self, file):
        if file.closed:
            return _closed_file, (type(file) is io.TextIOWrapper,)
        known = self._files.get(id(file))
        if known is None:
            raise NotKept("an open file: open it again")
        return _reopened, known


def _has_more_than_values(kind):
    return any(not name.startswith("_") for member in kind for name in vars(member))


def _held_by_libraries(namespace, is_library):
    """By its number, where what libraries have as their own is found: module, name and the thing. A copy of it would be another one."""
    held = {}
    for module_name, module in list(sys.modules.items()):
        if not isinstance(module, types.ModuleType) or module_name.startswith("hutch"):
            continue
        names = vars(module)
        if names is namespace:  # under other names too: multiprocessing has it as __mp_main__
            continue
        file = names.get("__file__")
        if isinstance(file, str) and not is_library(file):
            continue
        for name, value in list(names.items()):
            if name.startswith("_") and module_name != "dataclasses" or isinstance(value, _FOUND_BY_NAME) or module_name == "sys" and name in _LAST_FAILURE:
                continue
            if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, (types.ModuleType, type(None))):
                continue
            held.setdefault(id(value), (module_name, name, value))
    return held


def open_files(namespace):
    """By the number of each open file that is only read, and that a name has: what _reopened() needs. Nothing is read or moved."""
    found = {}
    for value in list(namespace.values()):
        if not isinstance(value, io.IOBase) or isinstance(value, _OPEN_FILES) or value.closed:
            continue
        try:
            path = os.readlink(f"/proc/self/fd/{value.fileno()}")
            if value.writable() or not path.startswith("/") or not os.path.isfile(path):
                continue
            options = {"encoding": value.encoding, "errors": value.errors} if isinstance(value, io.TextIOBase) else {"mode": "rb"}
            status = os.stat(path)
            found[id(value)] = (path, options, value.tell(), (status.st_size, status.st_mtime_ns))
        except (OSError, ValueError, AttributeError):
            continue  # it is read line by line, or is a pipe
    return found


def _reopened(path, options, position, was=None):
    status = os.stat(path)
    if was and (status.st_size, status.st_mtime_ns) != tuple(was):
        raise NotKept(f"{path} has changed since it was stored: open it again")
    if status.st_size < min(position, 1 << 62):  # a text's position may have more than the place in it
        raise NotKept(f"{path} is shorter than it was")
    file = open(path, **options)
    file.seek(position)
    return file


def views_in(namespace):
    """Lists of names whose arrays have the same numbers, of which each gets its own: some of them."""
    array = getattr(sys.modules.get("numpy"), "ndarray", ())
    names_of, arrays_of = {}, {}
    for name, value in list(namespace.items()):
        if not isinstance(value, array) or not isinstance(name, str) or _OF_NOTEBOOKS.fullmatch(name):
            continue
        owner = value
        while isinstance(owner.base, array):
            owner = owner.base
        owner = owner if owner.base is None else owner.base
        names_of.setdefault(id(owner), []).append(name)
        arrays_of.setdefault(id(owner), set()).add(id(value))
    return [names[:_VIEWS_TOLD_MAX] for key, names in names_of.items() if len(arrays_of[key]) > 1][:_VIEWS_TOLD_MAX]


def _closed_file(is_text):
    file = open(os.devnull, "r" if is_text else "rb")
    file.close()
    return file


def _named_type(value):
    kind = type(value)
    if kind is typing.NewType:
        return _new_type, (value.__name__, value.__supertype__)
    if kind.__name__ == "TypeAliasType":
        return kind, (value.__name__, value.__value__)
    return kind, (value.__name__,)


def _new_type(name, supertype):
    made = typing.NewType(name, supertype)
    made.__module__ = "__main__"
    return made


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, namespace, buffers, python=THIS_PYTHON):
        super().__init__(file, buffers=buffers)
        self._namespace = namespace
        self._python = python

    def find_class(self, module, name):
        """Each Python has other code, which takes the same arguments: what it would do is not known."""
        found = super().find_class(module, name)
        if self._python == THIS_PYTHON or name != "_builtin_type" or module.partition(".")[0] != "cloudpickle":
            return found
        return self._type_but_code

    def _type_but_code(self, name):
        if name == "CodeType":
            raise NotKept(f"it has code of Python {self._python}, this is {THIS_PYTHON}: define it again")
        return getattr(types, name)

    def persistent_load(self, word):
        if word == "namespace":
            return self._namespace
        if isinstance(word, tuple) and len(word) == 2:
            return getattr(importlib.import_module(word[0]), word[1])
        raise pickle.UnpicklingError(f"{word!r} stands for nothing")


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
    except BaseException:  # of the user's
        text = type(failure).__name__
    return text[:REASON_CHARACTERS_MAX]


def failure_of(action, *arguments):
    """Why it failed, or None. It runs what the user's classes and modules have."""
    try:
        action(*arguments)
    except BaseException as failure:
        return reason_of(failure)
    return None
