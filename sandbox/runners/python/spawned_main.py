"""`__main__` of a process that multiprocessing has started anew (spawn, forkserver): what the session's cells define.

Executed by multiprocessing as it would execute the script of its parent, in a file that process_mains.py writes, which
says where the cells are. Of each cell there are imports, functions, classes and constants: what it computes or prints
is not done again, and what that has changed is not there rather than as it was. Then come the values that the session
has given. A constant of which it could give no value stays where the session's has the same shape. A shape does not tell all
(see value_shapes.py), so that some stay only where nothing in the cells may change them: functions may have, which goes unseen
here. Names that come later are looked up when somebody asks for them.
"""

import ast
import io
import json
import linecache
import pickle
import runpy
import sys
from multiprocessing import process
from types import BuiltinFunctionType, FunctionType

_DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPUTES = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_UNCHANGING = (type(None), bool, int, float, complex, str, bytes, range)
_PASSED_UNCHANGED = (*_UNCHANGING, FunctionType, BuiltinFunctionType, type)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MUTATORS = {"add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft", "insert", "intersection_update",
             "pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault", "sort", "symmetric_difference_update", "update"}
# A value that stands in one of these by itself is only read there, and in calls of these functions.
_READS = (ast.Attribute, ast.Subscript, ast.Compare, ast.UnaryOp, ast.If, ast.While, ast.Assert, ast.FormattedValue, ast.Expr, ast.arg)
_READERS = {"all", "any", "bool", "hash", "id", "isinstance", "len", "print", "range", "repr", "str", "sum", "type"}
# These hand out its parts, which whoever gets them may change.
_OPENS = (ast.For, ast.AsyncFor, ast.comprehension, ast.Starred, ast.BinOp)
_OPENERS = {"dict", "enumerate", "frozenset", "iter", "list", "max", "min", "reversed", "set", "sorted", "tuple", "zip"}

_cells, _values, _namespace = cells_path, values_path, namespace  # noqa: F821: the file that executes this gives them
_shape_of, _has_data = map(runpy.run_path(shapes_path).get, ("shape_of", "has_data"))  # noqa: F821
_executed = {}  # how many came before, by cell
_defined_by = {}  # the last cell that has, by name
_constants = set()  # names that hold what a cell has written down
_imported = set()
_functions = {}  # that cells have defined, by shape
_rebound_by_functions, _changed_by_functions = set(), set()
_handed_on = {}  # from which depth on somebody gets parts of a value, by name: at 0 is the value itself
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
    stored, changed, mutated = _touched(statement)
    _defined_by.update(dict.fromkeys(stored, cell))
    for names, more in zip((_rebound_by_functions, _changed_by_functions), _changed_in_bodies(statement)):
        names.update(more)
    for name, depth in _handed_on_by(statement):
        _handed_on[name] = min(depth, _handed_on.get(name, depth))
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


def _is_constant(statement):
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    return not any(isinstance(node, _COMPUTES) for node in ast.walk(statement.value))


def _touched(statement):
    """Names that it binds or unbinds, those of whose value it sets a part, and those of whose value it calls a method."""
    stored, changed, mutated = set(), set(), set()
    for node in _nodes_of(statement):
        stored.add(_bound_by(node))
        if _sets_a_part(node):
            changed.add(_root_of(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            mutated.add(_root_of(node.func))
    return stored - {None}, changed - {None}, mutated - {None}


def _bound_by(node):
    """The name that it binds or unbinds, or None."""
    if isinstance(node, ast.Name):
        return None if isinstance(node.ctx, ast.Load) else node.id
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    if isinstance(node, ast.MatchMapping):
        return node.rest
    bind = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
    return node.name if isinstance(node, bind) else None


def _sets_a_part(node):
    return isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)


def _changed_in_bodies(statement):
    """Names that functions of the statement set when they are called, and those of whose value they change a part."""
    rebound, changed, waiting = set(), set(), [(statement, set())]
    if not isinstance(statement, _SCOPES):
        waiting = [(scope, set()) for scope in _parts_of(statement)[1]]
    while waiting:
        scope, around = waiting.pop()
        nodes, scopes = _parts_of(scope)
        within = {_root_of(node) for node in nodes if _sets_a_part(node)}
        within |= {_root_of(node.func) for node in nodes
                   if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MUTATORS}
        own = around | {node.arg for node in nodes if isinstance(node, ast.arg)} | {_bound_by(node) for node in nodes + scopes}
        rebound.update(name for node in nodes if isinstance(node, ast.Global) for name in node.names)
        changed |= within - own
        waiting += [(inner, around if isinstance(scope, ast.ClassDef) else own) for inner in scopes]  # methods see nothing of a class
    return rebound, changed - {None}


def _parts_of(scope):
    """Its nodes but for those of functions and classes within it, and these."""
    nodes, scopes, waiting = [], [], list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if isinstance(node, _SCOPES):
            scopes.append(node)
        else:
            nodes.append(node)
            waiting += ast.iter_child_nodes(node)
    return nodes, scopes


def _handed_on_by(statement):
    """Names whose values, or whose parts from a depth on, stand where somebody gets them: arguments of calls, parts of other values, what is
    assigned, returned or gone through."""
    for node in ast.walk(statement):
        called = node.func if isinstance(node, ast.Call) else None
        caller = called.id if isinstance(called, ast.Name) else ""
        if isinstance(node, _READS) or caller in _READERS:
            continue
        opens = isinstance(node, _OPENS) or caller in _OPENERS
        for part in ast.iter_child_nodes(node):
            name, depth = _part_of(part)
            if name and part is not called and not isinstance(getattr(part, "ctx", None), (ast.Store, ast.Del)):
                yield name, max(depth + opens, isinstance(part, (ast.Subscript, ast.Call)))


def _part_of(node):
    """The name in whose value the node looks, and at least how deep: slices and methods may give what is not deeper."""
    depth = 0
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        depth += isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice)
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None, depth


def _is_handed_on(name):
    """Whether somebody gets what can be changed of its value."""
    depth, level = _handed_on.get(name), [_namespace[name]]
    while depth is not None and level:
        kinds = set(map(type, level))
        if depth <= 0 and kinds & {list, dict, set}:
            return True
        if not all(kind in (list, dict, set, tuple, frozenset) or issubclass(kind, _PASSED_UNCHANGED) for kind in kinds):
            return True
        opened = [part for part in level if type(part) in (list, dict, set, tuple, frozenset)]
        level = list({id(part): part for one in opened for part in (*one, *(one.values() if type(one) is dict else ()))}.values())
        depth -= 1
    return False


def _nodes_of(statement):
    """The parts that are executed in the cell itself: not the bodies of functions, nor the variables of comprehensions, which are their own."""
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        for field, value in ast.iter_fields(node):
            if not (isinstance(node, _SCOPES) and field == "body" or isinstance(node, ast.comprehension) and field == "target"):
                waiting += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST)]


def _root_of(node):
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


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
    may_have_changed = name in _rebound_by_functions or name in _changed_by_functions
    if name not in _constants:
        is_told = shape[0] == own[0] == "exact" and (name in _rebound_by_functions or name not in _imported)  # hutch adapts some libraries
        is_right = not is_told or shape == own or is_to_come and name not in _rebound_by_functions
        return "" if is_right else "the session has another one than its last cell defines"
    is_untouched = not may_have_changed and not _is_handed_on(name)
    return "" if is_to_come and is_untouched or _is_unchanged(name, shape, own, may_have_changed) else why or "functions have changed it"


def _is_unchanged(name, shape, own, may_have_changed):
    grade = shape[0]
    if grade != "outline":
        return shape == own and (grade == "exact" or not may_have_changed)
    kind, length, digest = shape[1]
    if own[0] != "outline" or length is None or (kind, length) != own[1][:2]:
        return False
    if digest and own[1][2] and (digest == own[1][2] or not _has_sets(_namespace[name])):
        return digest == own[1][2]
    return not may_have_changed and not _is_handed_on(name)


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
    for name in _constants & (_rebound_by_functions | _changed_by_functions):
        may_have_changed = name in _rebound_by_functions or type(_namespace.get(name)) in (list, dict, set)
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
