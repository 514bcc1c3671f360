"""`__main__` of a process that multiprocessing has started anew (spawn, forkserver): what the session's cells define.

Executed by multiprocessing as it would execute the script of its parent, in a file that process_mains.py writes, which
says where the cells are. Of each cell there are imports, functions, classes and constants: what it computes or prints
is not done again. Names that come later are looked up when somebody asks for them.
"""

import ast
import json
import linecache
import sys

_DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPUTES = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

_namespace = globals()
_executed = set()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    _hutch_take_cells()
    if name in _namespace:
        return _namespace[name]
    return _missing(name)


def _hutch_take_cells():
    with open(_hutch_cells, encoding="utf-8") as file:  # noqa: F821: the file that executes this says it
        cells = json.load(file)
    for cell, source, flags in cells:
        if cell in _executed:
            continue
        _executed.add(cell)
        linecache.cache[cell] = (len(source), None, [line + "\n" for line in source.split("\n")], cell)
        try:
            tree = compile(source, cell, "exec", flags | ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError):
            continue
        for statement in tree.body:
            if isinstance(statement, _DEFINES) or _is_constant(statement):
                _execute(statement, cell, flags)
    main = sys.modules["__main__"]
    if main.__name__ == "__mp_main__":
        vars(main).update(_namespace)


def _execute(statement, cell, flags):
    try:
        module = ast.Module(body=[statement], type_ignores=[])
        exec(compile(module, cell, "exec", flags, dont_inherit=True), _namespace)
    except Exception:  # it needs what its cell computes: whoever asks for its name hears so
        pass


def _is_constant(statement):
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return False
    return not any(isinstance(node, _COMPUTES) for node in ast.walk(statement.value))


def _missing(name):
    """Stands in for what is not there. Its use is an error that comes back; an exception here would only end this process."""
    words = (f"{name} of a cell is not there in this process, which multiprocessing has started anew (spawn, forkserver): "
             f"it has what cells import and define, not what they compute. Put it into a file (/workspace/work.py, "
             f"`from work import {name}`), or use multiprocessing.get_context('fork')")

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


_hutch_take_cells()
