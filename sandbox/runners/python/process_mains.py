"""Processes that multiprocessing starts anew get functions and classes of cells as `__main__`, which have no file, and the session's
values of that moment, as far as they are plain and small; of the others why they are not there."""

import os
import sys
from _ast import ClassDef
from types import BuiltinFunctionType, FunctionType, ModuleType

from hutch_runner.imports import WhenImported
from hutch_runner.json_text import encode
from hutch_runner.standard_modules import loaded
from hutch_runner.value_shapes import has_data, shape_of

VALUE_BYTES_MAX = 1 << 20
VALUES_BYTES_MAX = 2 << 20
TRIED_BYTES_MAX = 32 << 20  # with those that turn out to be too large: each process that starts waits for this
DIGESTED_BYTES_MAX = 8 << 20  # and for this
MAINS_KEPT = 16  # while values change from process to process: those that have just begun may not have read theirs
_SCRIPT, _SHAPES, _CHANGES = (os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
                              for name in ("spawned_main.py", "value_shapes.py", "code_changes.py"))
_WHY_CHARACTERS_MAX = 200
_TOO_LARGE = "it is too large: a value may have 1 MiB, and all have 2"
# Pickling what these have made runs no code of the user's, opens nothing and attaches to nothing.
_PLAIN = {"builtins", "collections", "datetime", "decimal", "fractions", "functools", "ipaddress", "numpy", "operator", "pandas", "pathlib",
          "pyarrow", "random", "re", "types", "uuid", "zoneinfo"}
_BY_NAME = (type, FunctionType, BuiltinFunctionType)


class ProcessMains:
    def __init__(self, cells):
        self._cells = cells
        self._path = None  # the script that has been written, once a process has been started
        self._count = 0  # cells in it
        self._values = None  # that the newest of the scripts gives
        self._number = 0  # that script's
        WhenImported("multiprocessing.spawn", self._take)

    def _take(self, spawn):
        prepare = spawn.get_preparation_data

        def get_preparation_data(name):
            data = prepare(name)
            if "init_main_from_path" not in data and "init_main_from_name" not in data:
                data["init_main_from_path"] = self._script()
            return data

        spawn.get_preparation_data = get_preparation_data
        sys.modules["__mp_main__"] = sys.modules["__main__"]  # where what comes back has its classes

    def _script(self):
        """The path of one for these values: a copy of a fork server's process executes it only where it is not the server's own."""
        folder = os.environ.get("HUTCH_STATE_DIR", "/run/hutch/state")
        path = os.path.join(folder, f"cells-{os.getpid()}")
        cell = next(reversed(self._cells.sources), "")
        values = _values_of(vars(sys.modules["__main__"]), (cell, _classes_defined(self._cells.tree, cell)))
        if path != self._path or values != self._values:
            self._path, self._values = path, values
            self._number += 1
        _remove_those_of_the_dead(folder)
        self._write()
        own, old = f"{path}.{self._number}", f"{path}.{self._number - MAINS_KEPT}"
        if not os.path.exists(own + ".py"):
            _replace(own + ".values", values)
            given = (f"{{'cells_path': {path + '.json'!r}, 'values_path': {own + '.values'!r}, 'shapes_path': {_SHAPES!r}, "
                     f"'changes_path': {_CHANGES!r}, 'namespace': globals(), '__name__': __name__}}")
            _replace(own + ".py", f"exec(compile(open({_SCRIPT!r}).read(), {_SCRIPT!r}, 'exec'), {given})\n".encode())
        for ending in (".py", ".values"):
            if os.path.exists(old + ending):
                os.unlink(old + ending)
        return own + ".py"

    def renew(self):
        """Processes that are there already find what newer cells define."""
        if self._path is None or self._count == len(self._cells.sources):
            return
        try:
            self._write()
        except OSError:  # no room: what the cell defines is missed where somebody asks for it
            pass

    def _write(self):
        cells = encode([[name, *one] for name, one in self._cells.sources.items()])
        _replace(self._path + ".json", cells.encode("utf-8", "surrogatepass"))
        self._count = len(self._cells.sources)


def _is_enum(kind):
    enum = loaded("enum")
    return enum is not None and issubclass(type(kind), enum.EnumMeta)


def _classes_defined(tree, cell):
    """Names of the classes of the cell that is on which are there already. Where none of its frames is anywhere, all of them are."""
    ends = {statement.name: statement.end_lineno for statement in tree.body if isinstance(statement, ClassDef)} if tree else {}
    line = _line_of(cell)
    return [name for name, end in ends.items() if line is None or end < line]


def _line_of(cell):
    for frame in sys._current_frames().values():  # a thread may start the process for it
        while frame is not None:
            if (frame.f_code.co_filename, frame.f_code.co_name) == (cell, "<module>"):
                return frame.f_lineno
            frame = frame.f_back
    return None


def _values_of(namespace, current):
    """A pickle of pickles by name: one that cannot be read costs none of the others. With them of all others the shape and why they are not
    among them, what the cells' classes have, and the cell that is on with its classes that are there: what it defines else need not be yet."""
    import pickle

    found, others, attributes, classes = {}, {}, {}, {}
    room = {"found": VALUES_BYTES_MAX, "tried": TRIED_BYTES_MAX, "bytes": DIGESTED_BYTES_MAX}
    for name, value in list(namespace.items()):
        if name.startswith("__"):
            continue
        if issubclass(type(value), (*_BY_NAME, ModuleType)):
            others[name] = (shape_of(value), "")
            is_kind = issubclass(type(value), type) and not _is_enum(value)
            if is_kind and type.__getattribute__(value, "__module__") == "__main__":
                if id(value) not in classes:  # another name of one takes no room
                    classes[id(value)] = _attributes_of(pickle, value, room)
                attributes[name] = classes[id(value)]
            continue
        pickled, why = _pickled(pickle, value, room)
        if why:
            others[name] = (shape_of(value, room), why)
        else:
            found[name] = pickled
    return pickle.dumps((found, others, attributes, current))


def _attributes_of(pickle, kind, room):
    """Pickles of what a class has by name, but for what is its own or its maker's business; or None, the shape and why it is not sent."""
    found = {}
    for name, value in list(type.__getattribute__(kind, "__dict__").items()):
        if type(name) is str and not name.startswith("_"):
            pickled, why = _pickled(pickle, value, room) if has_data(value) else (None, "the session has another one than its cell defines")
            found[name] = (pickled, None if pickled else shape_of(value, room), why)
    return found


def _pickled(pickle, value, room):
    """Its pickle and an empty text; or None and why there is none."""
    file = _Bounded(min(room["found"], room["tried"], VALUE_BYTES_MAX))
    why = _write(pickle, value, file)
    room["tried"] -= file.size
    if why:
        return None, why
    room["found"] -= file.size
    return b"".join(file.parts), ""


def why_not_sent(value):
    """Empty for what can be given to a process."""
    import pickle

    return "" if issubclass(type(value), (*_BY_NAME, ModuleType)) else _write(pickle, value, _Bounded(VALUE_BYTES_MAX))


def _write(pickle, value, file):
    """Why it cannot be written: that is no plain value, or takes more room; empty where it has been."""
    class Pickler(pickle.Pickler):
        def reducer_override(self, part):
            kind = type(part)
            if not issubclass(kind, _BY_NAME):
                if not _is_plain(kind):
                    raise _NotSent(f"it {'is' if part is value else 'has'} a {kind.__module__}.{kind.__qualname__}")
                if _bytes_of(part) > file.most:
                    raise _NotSent(_TOO_LARGE)
            return NotImplemented

    try:
        Pickler(file, pickle.HIGHEST_PROTOCOL).dump(value)
    except _NotSent as failure:
        return str(failure)
    except Exception as failure:  # anything can be within a value
        return f"{type(failure).__name__}: {failure}"[:_WHY_CHARACTERS_MAX]
    return ""


class _NotSent(Exception):
    """Says why, about a value."""


def _bytes_of(part):
    """0 where it does not say, or code of the user's would."""
    return 0 if type(part).__module__ == "__main__" else getattr(part, "nbytes", 0)


def _is_plain(kind):
    if kind.__module__ != "__main__":
        # Functions of Cython go by name, too: pandas has some.
        return str(kind.__module__).partition(".")[0] in _PLAIN or kind.__name__ == "cython_function_or_method"
    return all(getattr(kind, name, None) is getattr(object, name, None) for name in ("__reduce__", "__reduce_ex__", "__getstate__"))


class _Bounded:
    """A file that ends the writing of what is larger."""

    def __init__(self, most):
        self.parts, self.size, self.most = [], 0, most

    def write(self, part):
        size = memoryview(part).nbytes
        if self.size + size > self.most:
            raise _NotSent(_TOO_LARGE)
        self.size += size
        self.parts.append(bytes(part))
        return size


def _replace(path, content):
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.replace(path + ".new", path)


def _remove_those_of_the_dead(folder):
    for name in os.listdir(folder):
        pid = name[len("cells-"):].partition(".")[0]
        if name.startswith("cells-") and not os.path.exists(f"/proc/{pid}"):
            os.unlink(os.path.join(folder, name))
