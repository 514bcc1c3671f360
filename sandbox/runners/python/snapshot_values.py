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

from hutch_runner import snapshot_code, snapshot_frames
from hutch_runner.digests import digest_of
from hutch_runner.snapshot_code import THIS_PYTHON
from hutch_runner.snapshot_file import PAGE
from hutch_runner.snapshot_large import digest_of_group
from hutch_runner.snapshot_open_files import closed_file, reopened
from hutch_runner.snapshot_words import NotKept, reason_of, type_name, why_not_read, why_not_stored

_VIEWS_TOLD_MAX = 3
_VERSIONS_TOLD_MAX = 2
_VERSION_CHARACTERS_MAX = 30
_IN_THE_INDEX_BYTES = 250  # for a group, beside the names
_NOT_OF_THE_CODE = {"__builtins__", "__name__", "__doc__", "__package__", "__loader__", "__spec__", "__warningregistry__",
                    "__builtin__", "get_ipython", "_ih", "_oh", "_dh", "_exit_code"}  # the last ones are IPython's
_THROWN_AWAY = re.compile("_+")  # as in `for _ in ...`: nobody misses it
# Nobody can change these, or they are found by their name: two values that have one in common are not one group.
_UNSHARED = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, types.ModuleType,
             types.BuiltinFunctionType, types.CodeType, range, slice)
_UNSHARED_OF_NUMPY = ("dtype", "generic")
_FOUND_BY_NAME = (type(None), bool, int, float, complex, str, bytes, tuple, frozenset, type, types.ModuleType,
                  types.FunctionType, types.CodeType, range, slice)
_LAST_FAILURE = {"last_type", "last_value", "last_exc", "last_traceback"}  # in `sys`: the user's own
# They would be looked for by their name in a `__main__` that does not have them yet.
_NAMED_TYPES = tuple(getattr(typing, name) for name in ("NewType", "ParamSpec", "TypeVarTuple", "TypeAliasType") if hasattr(typing, name))
_OPEN_FILES = (io.BytesIO, io.StringIO)  # are none
# They have nothing that is looked at, and are many.
_ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes))
_WITH_A_MODULE = (type, types.FunctionType, types.BuiltinFunctionType)
_reopened, _closed_file = reopened, closed_file  # as snapshots of earlier builds call them


class Damaged(NotKept):
    """It is not there as it was stored."""


class Group:
    """Names whose values share objects, and one pickle of all: a dict by name. Buffers lie beside it."""

    def __init__(self, names, pickled, buffers, rank):
        self.names = names
        self.pickled = pickled
        self.buffers = buffers  # a list of pickle.PickleBuffer
        self.rank = rank  # 0: only modules, which a line of code brings back; 1: functions and classes; 2: others
        self.python = THIS_PYTHON  # that has pickled it
        self.packages = {}  # and the versions of packages that it had, by their names; of one that was read

    def leave_out(self, names):
        """Names that are there again are not brought back. Returns whether the group has others."""
        self.names = [name for name in self.names if name not in names]
        return bool(self.names)

    def size(self):
        return len(self.pickled) + sum(buffer.raw().nbytes for buffer in self.buffers)

    def room(self):
        """The most bytes that it takes in a file and in the index."""
        return self.size() + len(self.buffers) * PAGE + _IN_THE_INDEX_BYTES + sum(map(len, self.names)) * 4

    def put(self, writer, whole):
        """Its entry in the index. `whole`: a digest of all of it, or None where there are no buffers."""
        buffers = [writer.add(buffer.raw(), aligned=True) for buffer in self.buffers]
        entry = {"names": self.names, "pickle": writer.add(self.pickled), "digest": _digest(self.pickled), "buffers": buffers, **self.made_by()}
        return entry | ({"whole": whole} if whole else {})

    def made_by(self):
        """In its entry, wherever it lies: when it comes, and what has made it."""
        return {"rank": self.rank, "python": self.python} | ({"packages": self.packages} if self.packages else {})


def stored_group(entry, reader, large):
    python = entry.get("python") or ".".join(reader.index["python"].split(".")[:2])
    packages = entry.get("packages") or reader.index.get("packages", {})
    lies, reader = large.find(entry["large"]) if "large" in entry else (entry, reader)
    pickled, buffers = reader.at(lies["pickle"]), [pickle.PickleBuffer(reader.at(buffer)) for buffer in lies["buffers"]]
    group = Group(entry["names"], pickled, buffers, entry["rank"])
    group.digest = lies["digest"]
    group.large = entry.get("large")  # its digest in the file of large values, where it lies there
    group.whole = (group.large or entry.get("whole")) if buffers else None
    group.fd, group.places = reader.fd, [lies["pickle"], *lies["buffers"]]
    group.is_checked_beside = False
    group.values = {}
    group.python = python
    group.packages = packages
    return group


def restore(group, namespace):
    """Puts the values of a stored group into the namespace. Raises NotKept with why they are not there."""
    is_whole = group.whole and not group.is_checked_beside
    is_as_stored = digest_of_group(group) == group.whole if is_whole else _digest(group.pickled) == group.digest
    if not is_as_stored:
        raise Damaged("what was stored of it is damaged: make it again")
    unpickler = _Unpickler(io.BytesIO(group.pickled), namespace, group.buffers, group.python)
    try:
        values = {name: value for name, value in unpickler.load().items() if name in group.names}
    except BaseException as failure:
        why = why_not_read(failure, _other_versions(group, unpickler.modules))
    else:
        namespace.update(values)
        group.values = values if group.is_checked_beside else {}
        return
    raise NotKept(why)


def put_back(groups, namespace, large):
    """Why which names are not there, and the groups that can be tried again by a later Python. A group may need what is in another: those that
    fail are tried again after the others."""
    failed, pending = [], groups
    while pending:
        failures = [failure_of(restore, group, namespace) for group in pending]
        failed = [(group, failure) for group, failure in zip(pending, failures) if failure is not None]
        if len(failed) == len(pending):
            break
        pending = [group for group, _ in failed]
    failed = failed if pending else []
    snapshot_code.forget()
    for group, failure in failed:
        if isinstance(failure, Damaged):
            large.sizes.pop(group.large, None)  # else what has the same digest would be taken to be there
    reasons = {name: reason_of(failure) for group, failure in failed for name in group.names}
    return reasons, [group for group, failure in failed if not isinstance(failure, Damaged)]


def _other_versions(group, modules):
    """In words, where it was stored with other ones than there are here."""
    names = list(dict.fromkeys(name.partition(".")[0] for name in reversed(modules)))
    here = versions_of(names)
    others = [(name, group.packages[name], here.get(name, "none")) for name in names
              if name != "cloudpickle" and group.packages.get(name) not in (None, here.get(name))]
    if group.python != THIS_PYTHON:
        others.insert(0, ("Python", group.python, THIS_PYTHON))
    others = others[:_VERSIONS_TOLD_MAX]
    stored, now = (" and ".join(f"{name} {version}" for name, version in ((one[0], one[place]) for one in others)) for place in (1, 2))
    return f"stored by {stored}, here is {now}" if others else ""


def versions_of(modules):
    """Returns the versions of the packages that have these modules, where they say them."""
    found = {}
    for name in {module.partition(".")[0] for module in modules if type(module) is str}:
        module = sys.modules.get(name)
        version = vars(module).get("__version__") if isinstance(module, types.ModuleType) and name not in sys.stdlib_module_names else None
        if type(version) is str:
            found[name] = version[:_VERSION_CHARACTERS_MAX]
    return found


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
        self._last = None
        self._pickler = pickler_of(namespace, files, _held_by_libraries(namespace, is_library))
        self.modules = set()  # names of those that anything of it is of
        self.not_kept = {}  # by name: its type, and why
        self.cut = []  # names that share objects, and were stored each for itself

    def groups(self):
        single, seen = {}, {}
        for name, value in list(self._namespace.items()):
            if not isinstance(name, str) or name in _NOT_OF_THE_CODE:
                continue
            try:
                single[name], seen[name] = self._pickled([name])
            except BaseException as failure:
                if not _THROWN_AWAY.fullmatch(name):
                    self.not_kept[name] = (type_name(value), why_not_stored(value, failure, self._asked()))
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

    def _asked(self):
        """Returns what the last pickler was asked for last: it has failed at that."""
        return getattr(self._last, "asked", None)

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
        pickler = self._last = self._pickler(file, buffers.append)
        values = {name: self._namespace[name] for name in names}
        self._within_time(lambda: pickler.dump(values))
        pickler.seen.pop(id(values), None)
        self.modules |= pickler.modules
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
                state[1]["__globals__"] = {}  # it uses names of the session, which are kept as such
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
                raise NotKept("what cells define needs cloudpickle: pip install cloudpickle")
            return NotImplemented

    return Pickler


class _Cell:
    """A cell that several functions may have, before it holds anything: the state of each function fills it."""

    def __init__(self, cell):
        self._cell = cell  # whose number is not another's as long as this is there

    def __reduce__(self):
        return types.CellType, ()


def _cached(function, parameters):
    """Returns what functools.lru_cache made of it, with nothing in the cache."""
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
        self.modules = set()
        self.asked = None

    def cell(self, cell):
        return self._cells.setdefault(id(cell), _Cell(cell))

    def persistent_id(self, value):
        kind = type(value)
        if kind in _ATOMS:
            return None
        if value is self._namespace:
            return "namespace"
        if id(value) in self._held:
            self.modules.add(self._held[id(value)][0])
            return self._held[id(value)][:2]
        if isinstance(value, _WITH_A_MODULE) or kind is types.ModuleType:
            module = getattr(value, "__name__" if kind is types.ModuleType else "__module__", None)
            if type(module) is str:
                self.modules.add(module)
        if isinstance(value, self._unshared):
            return None
        if isinstance(value, types.FunctionType) and value.__globals__ is not self._namespace:
            return None  # it is a library's
        self.seen[id(value)] = value  # held, so that no later object gets its id
        return None

    def reduced(self, value):
        self.asked = value
        if isinstance(value, types.CodeType):
            made = snapshot_code.reduced(value, THIS_PYTHON)
            return None if made is NotImplemented else made
        if isinstance(value, io.IOBase) and not isinstance(value, _OPEN_FILES):
            return self._file(value)
        if type(value) is memoryview:
            raise NotKept("take it again of what it shows")  # cloudpickle would give bytes
        if isinstance(value, _NAMED_TYPES) and value.__module__ == "__main__":
            return _named_type(value)
        if isinstance(value, enum.EnumMeta) and value.__module__ == "__main__" and _has_more_than_values(value):
            raise NotKept("an enum whose members have attributes: define it again")
        if type(value).__name__ == "memmap" and getattr(value, "_mmap", None) is not None:
            raise NotKept("a file that is mapped: map it again")
        return snapshot_frames.reduced(value)

    def _file(self, file):
        if file.closed:
            return closed_file, (type(file) is io.TextIOWrapper,)
        known = self._files.get(id(file))
        if known is None:
            raise NotKept("an open file: open it again")
        return reopened, known


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


def views_in(namespace):
    """Lists of names whose arrays have the same numbers, of which each gets its own: some of them."""
    array = getattr(sys.modules.get("numpy"), "ndarray", ())
    names_of, arrays_of = {}, {}
    for name, value in list(namespace.items()):
        if not isinstance(value, array) or not isinstance(name, str) or _THROWN_AWAY.fullmatch(name):
            continue
        owner = value
        while isinstance(owner.base, array):
            owner = owner.base
        owner = owner if owner.base is None else owner.base
        names_of.setdefault(id(owner), []).append(name)
        arrays_of.setdefault(id(owner), set()).add(id(value))
    return [names[:_VIEWS_TOLD_MAX] for key, names in names_of.items() if len(arrays_of[key]) > 1][:_VIEWS_TOLD_MAX]


def _named_type(value):
    kind = type(value)
    if kind is typing.NewType:
        return _new_type, (value.__name__, value.__supertype__)
    if kind.__name__ == "TypeAliasType":
        return _named, (kind, value.__name__, value.__value__)
    return _named, (kind, value.__name__)


def _new_type(name, supertype):
    return _named(typing.NewType, name, supertype)


def _named(kind, *arguments):
    """It takes itself for one of the module that calls it."""
    made = kind(*arguments)
    try:
        made.__module__ = "__main__"
    except AttributeError:
        pass  # its type cannot be said to be another one
    return made


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, namespace, buffers, python=THIS_PYTHON):
        super().__init__(file, buffers=buffers)
        self._namespace = namespace
        self._python = python
        self.modules = []  # modules of all that it has asked for

    def find_class(self, module, name):
        """Each Python has other code, which takes the same arguments: what it would do is not known."""
        self.modules.append(module)
        if self._python != THIS_PYTHON and module == "dataclasses":
            return snapshot_code.of_dataclasses(name)
        found = self._found(module, name)
        if self._python == THIS_PYTHON or module.partition(".")[0] != "cloudpickle":
            return found
        if name == "_class_setstate":
            return snapshot_code.mending(found)
        return self._type_but_code if name == "_builtin_type" else found

    def _found(self, module, name):
        try:
            return super().find_class(module, name)
        except ModuleNotFoundError:
            top = module.partition(".")[0]
            if self._python == THIS_PYTHON or top not in sys.stdlib_module_names:
                raise
        return super().find_class(top, name)  # another Python has it within a module of its own: 3.13 pathlib._local.Path

    def _type_but_code(self, name):
        """As an earlier build has stored it."""
        if name == "CodeType":
            raise NotKept(f"it has code of Python {self._python}, this is {THIS_PYTHON}: define it again")
        return getattr(types, name)

    def persistent_load(self, word):
        if word == "namespace":
            return self._namespace
        if isinstance(word, tuple) and len(word) == 2:
            self.modules.append(word[0])
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


def failure_of(action, *arguments):
    """Returns what it has raised, or None. It runs code of the user's classes and modules."""
    try:
        action(*arguments)
    except BaseException as failure:
        return failure.with_traceback(None)
    return None
