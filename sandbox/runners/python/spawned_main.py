"""`__main__` of a process that multiprocessing has started anew (spawn, forkserver): what the session's cells define.

Executed by multiprocessing as it would execute the script of its parent, in a file that process_mains.py writes, which
says where the cells are. Of each cell there are imports, functions, classes and constants: what it computes or prints
is not done again, and what that has changed is not there rather than as it was. Then come the values that the session
has given. A constant of which it could give no value stays where the session's has the same shape. A shape does not tell all
(see value_shapes.py), so that some stay only where nothing in the cells may change them (see code_changes.py). Names that
come later are looked up when somebody asks for them.
"""

import ast
import io
import json
import linecache
import pickle
import runpy
import sys
from multiprocessing import process

_DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

_cells, _values, _namespace = cells_path, values_path, namespace  # noqa: F821: the file that executes this gives them
_shape_of, _has_data = map(runpy.run_path(shapes_path).get, ("shape_of", "has_data"))  # noqa: F821
_CodeChanges, _is_constant, _touched_by, _UNCHANGING = map(runpy.run_path(changes_path).get,  # noqa: F821
                                                           ("CodeChanges", "is_constant", "touched_by", "UNCHANGING"))
_executed = {}  # how many came before, by cell
_defined_by = {}  # the last cell that has, by name
_constants = set()  # names that hold what a cell has written down
_imported = set()
_functions = {}  # that cells have defined, by shape
_may_change = _CodeChanges()
_reasons = {}  # why names are missing that the session has


def _get_attribute(name):
    if name.startswith("__"):
        raise AttributeError(name)
    _take_cells()
    _drop_later_ones()
    _show_in_main()
    if name in _namespace:
        return _namespace[name]
    return _missing(name)


def _take_cells():
    with open(_cells, encoding="utf-8", errors="surrogatepass") as file:
        cells = json.load(file)
    for cell, source, flags in cells:
        if cell in _executed:
            continue
        _executed[cell] = len(_executed)
        linecache.cache[cell] = (len(source), None, [line + "\n" for line in source.split("\n")], cell)
        try:
            tree = compile(source, cell, "exec", flags | ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        for statement in tree.body:
            _take_statement(statement, cell, flags)


def _take_statement(statement, cell, flags):
    stored, changed, mutated = _touched_by(statement)
    _defined_by.update(dict.fromkeys(stored, cell))
    _may_change.take(statement)
    is_constant = _is_constant(statement)
    if (is_constant or isinstance(statement, _DEFINES)) and _is_executed(statement, cell, flags):
        (_constants.update if is_constant else _constants.difference_update)(stored)
        (_imported.update if isinstance(statement, (ast.Import, ast.ImportFrom)) else _imported.difference_update)(stored)
        for name in stored:
            _reasons.pop(name, None)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _functions[_shape_of(_namespace[statement.name])] = _namespace[statement.name]
        return
    called = [_namespace[name] for name in mutated & _constants if not isinstance(_namespace.get(name), _UNCHANGING)]
    same = {name for name in _constants if any(_namespace.get(name) is value for value in called)}
    for name in stored | changed | same:
        _drop(name)


def _is_executed(statement, cell, flags):
    try:
        module = ast.Module(body=[statement], type_ignores=[])
        exec(compile(module, cell, "exec", flags, dont_inherit=True), _namespace)
    except Exception:  # it needs what its cell computes: whoever asks for its name hears so
        return False
    return True


def _take_values():
    """Values that are gone, or cannot be read here, leave what is no constant: less, but nothing old."""
    try:
        with open(_values, "rb") as file:
            values, others, attributes, current = pickle.load(file)
    except (OSError, EOFError, pickle.UnpicklingError) as failure:
        for name in list(_constants):
            _drop(name, f"{type(failure).__name__}: {failure}")
        return
    for name in [name for name in _namespace if not name.startswith("__") and name not in values]:
        why = _why_dropped(name, others, current)
        if why and name not in _constants and others.get(name, [None])[0] in _functions:
            _namespace[name] = _functions[others[name][0]]  # that of another name, or of an earlier cell: the last has not come as far
        elif why:
            _drop(name, why)
    for name, pickled in values.items():
        try:
            _namespace[name] = _Unpickler(io.BytesIO(pickled)).load()
            _reasons.pop(name, None)
        except Exception as failure:  # it needs what its cell computes
            _drop(name, f"{type(failure).__name__}: {failure}")
    for name in attributes.keys() & _namespace.keys():
        if isinstance(_namespace[name], type) and not _is_to_come(name, current):
            try:
                _set_attributes(_namespace[name], attributes[name])
            except Exception as failure:  # anything can be in them
                _drop(name, f"{type(failure).__name__}: {failure}")


def _set_attributes(kind, attributes):
    """Gives a class what the session's has: functions may have set or deleted its attributes since. One that does not come, or cannot be
    read here, stays where it is told to be equal, and is missed otherwise."""
    own = dict(vars(kind))
    for name in [name for name in own if not name.startswith("_") and name not in attributes and _has_data(own[name])]:
        _change(delattr, kind, name)
    for name, (pickled, shape, why) in attributes.items():
        try:
            value = _Unpickler(io.BytesIO(pickled)).load() if pickled else None
        except Exception as failure:  # it needs what its cell computes
            pickled, why = None, f"{type(failure).__name__}: {failure}"
        shape = _shape_of(value) if pickled else shape
        is_told = shape and (shape[0] == "exact" or not pickled and shape[0] == "outline" and shape[1][2])
        if name not in own or shape != _shape_of(own[name]) or not is_told and _has_data(own[name]):
            _change(setattr, kind, name, value if pickled else _NotThere(f"{kind.__name__}.{name}", why))


def _change(by, kind, *arguments):
    try:
        by(kind, *arguments)
    except (AttributeError, TypeError):  # a class that refuses it has refused it to the session's functions, too: it is as its cell says
        pass


class _NotThere:
    """Stands in for an attribute, also where a base has one of this name, which the session's class does not show."""

    def __init__(self, name, why):
        self._words = f"{name} is not there in this process, which multiprocessing has started anew (spawn, forkserver): {why}"

    def __get__(self, _instance, _kind=None):
        raise AttributeError(self._words)


def _is_to_come(name, current):
    """Whether the session has not defined it yet: the cell that is on is not at its end."""
    cell, classes = current
    return name not in classes and _executed.get(_defined_by.get(name), -1) >= _executed.get(cell, len(_executed))


def _why_dropped(name, others, current):
    """Why what the cells say of a name is not what the session has; empty where it is, or will be."""
    is_to_come = _is_to_come(name, current)
    if name not in others:
        return "" if is_to_come else "the session has it no more"
    shape, why = others[name]
    own = _shape_of(_namespace[name])
    if name not in _constants:
        is_told = shape[0] == own[0] == "exact" and (name in _may_change.rebound or name not in _imported)  # hutch adapts some libraries
        is_right = not is_told or shape == own or is_to_come and name not in _may_change.rebound
        return "" if is_right else "the session has another one than its last cell defines"
    is_untouched = is_to_come and not _may_change.anywhere(name, _namespace[name])
    return "" if is_untouched or _is_unchanged(name, shape, own) else why or "functions have changed it"


def _is_unchanged(name, shape, own):
    grade = shape[0]
    if grade != "outline":
        return shape == own and (grade == "exact" or not _may_change.by_functions(name))
    kind, length, digest = shape[1]
    if own[0] != "outline" or length is None or (kind, length) != own[1][:2]:
        return False
    if digest and own[1][2] and (digest == own[1][2] or not _has_sets(_namespace[name])):
        return digest == own[1][2]
    return not _may_change.anywhere(name, _namespace[name])


def _has_sets(value):
    """Sets make digests differ that are of equal values. Only a value that has been digested has few enough parts to look at."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (set, frozenset)):
            return True
        if isinstance(part, (list, tuple, dict)):
            waiting += part
            waiting += part.values() if isinstance(part, dict) else ()
    return False


def _drop_later_ones():
    """No values come for what cells define after the start."""
    for name in _constants & (_may_change.rebound | _may_change.changed):
        may_have_changed = name in _may_change.rebound or type(_namespace.get(name)) in (list, dict, set)
        if may_have_changed and _executed[_defined_by[name]] >= _count_at_start:
            _drop(name, "its cell came after the start of this process, and functions may have changed it since")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if module not in ("__main__", "__mp_main__"):
            return super().find_class(module, name)
        first, *rest = name.split(".")
        found = _namespace[first]
        for one in rest:
            found = getattr(found, one)
        return found


def _drop(name, why=""):
    main = sys.modules["__main__"]
    for there in (_namespace, vars(main) if main.__name__ == "__mp_main__" else {}):
        there.pop(name, None)
    _constants.discard(name)
    if why:
        _reasons[name] = why


def _show_in_main():
    main = sys.modules["__main__"]
    if main.__name__ == "__mp_main__":
        vars(main).update(_namespace)


def _missing(name):
    """Stands in for what is not there. Its use is an error that comes back; an exception here would only end this process."""
    words = (f"{name} of a cell is not there in this process, which multiprocessing has started anew (spawn, forkserver): "
             f"it has what cells import and define, not what they compute. Put it into a file (/workspace/work.py, "
             f"`from work import {name}`), or use multiprocessing.get_context('fork')"
             f"{f' ({_reasons[name]})' if name in _reasons else ''}")

    class Called(type):
        def __call__(cls, *_arguments, **_named):
            raise RuntimeError(words)

    class Missing(metaclass=Called):
        def __getattribute__(self, _name):
            raise RuntimeError(words)

        def __setstate__(self, _state):
            pass

    Missing.__name__ = Missing.__qualname__ = name
    return Missing


def _tell_reasons():
    """A pool hands its processes' errors to the session, which tells there; a process by itself only writes them."""
    run = getattr(process.BaseProcess.run, "of_multiprocessing", process.BaseProcess.run)  # a fork server has executed this, too

    def run_and_tell(self):
        try:
            run(self)
        except NameError as failure:
            if failure.name in _reasons:
                failure.args = (f"{failure.args[0]} in this process, which multiprocessing has started anew: {_reasons[failure.name]}",)
            raise

    run_and_tell.of_multiprocessing = run
    process.BaseProcess.run = run_and_tell


_namespace["__getattr__"] = _get_attribute
_take_cells()
_count_at_start = len(_executed)
_take_values()
_show_in_main()
_tell_reasons()
