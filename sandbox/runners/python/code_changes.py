"""Finds what code changes: the names that a statement binds and the values it sets a part of, what the functions it defines may do when they are
called, and the values it hands to where somebody else may change them.

Only reads code. Where reading does not tell, it says that something may change.
"""

import ast
from types import BuiltinFunctionType, FunctionType

UNCHANGING = (type(None), bool, int, float, complex, str, bytes, range)
_PASSED_UNCHANGED = (*UNCHANGING, FunctionType, BuiltinFunctionType, type)
_COMPUTES = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_MUTATORS = {"add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft", "insert", "intersection_update",
             "pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault", "sort", "symmetric_difference_update", "update"}
# A value that stands in one of these by itself is only read there, and in calls of these functions.
_READS = (ast.Attribute, ast.Subscript, ast.Compare, ast.UnaryOp, ast.If, ast.While, ast.Assert, ast.FormattedValue, ast.Expr, ast.arg)
_READERS = {"all", "any", "bool", "hash", "id", "isinstance", "len", "print", "range", "repr", "str", "sum", "type"}
# These hand out its parts, which whoever gets them may change.
_OPENS = (ast.For, ast.AsyncFor, ast.comprehension, ast.Starred, ast.BinOp)
_OPENERS = {"dict", "enumerate", "frozenset", "iter", "list", "max", "min", "reversed", "set", "sorted", "tuple", "zip"}


class CodeChanges:
    """Knows what may happen to values after the statements that have been taken, unseen by who goes through these."""

    def __init__(self):
        self.rebound = set()  # names that functions set when they are called
        self.changed = set()  # names of whose values functions change a part
        self._handed_on = {}  # from which depth on somebody gets parts of a value, by name: at 0 is the value itself

    def take(self, statement):
        for names, more in zip((self.rebound, self.changed), _changed_in_bodies(statement)):
            names.update(more)
        for name, depth in _handed_on_by(statement):
            self._handed_on[name] = min(depth, self._handed_on.get(name, depth))

    def by_functions(self, name):
        return name in self.rebound or name in self.changed

    def anywhere(self, name, value):
        """Whether functions may have changed the value of that name, or whoever gets what can be changed of it."""
        return self.by_functions(name) or self._is_handed_on(name, value)

    def _is_handed_on(self, name, value):
        depth, level = self._handed_on.get(name), [value]
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


def is_constant(statement):
    """Whether it binds names to what stands there, and computes nothing."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    return not any(isinstance(node, _COMPUTES) for node in ast.walk(statement.value))


def touched_by(statement):
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
