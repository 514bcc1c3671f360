"""The module `hutch` of user code: in every cell without an import, and for `import hutch`.

A module of the user's own with that name goes first. What it needs is loaded on its first use.
"""

import builtins
import sys
from _frozen_importlib import ModuleSpec


class Finder:
    """At the end of sys.meta_path: asked when nobody else has a module `hutch`."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "hutch":
            return ModuleSpec(name, Finder)
        return None

    @staticmethod
    def create_module(_spec):
        return None

    @staticmethod
    def exec_module(module):
        _fill(module)


_interrupts = None


def install(interrupts):
    global _interrupts
    _interrupts = interrupts
    sys.meta_path.append(Finder)
    module = type(sys)("hutch")
    _fill(module)
    builtins.hutch = module


def _fill(module):
    module.__doc__ = "What the session's languages share: hutch.sql() runs SQL on its database and DataFrames."
    module.sql = sql
    module.__getattr__ = load


def load(name):
    """hutch.SQLError comes with the engine, which most sessions do not need."""
    if name != "SQLError":
        raise AttributeError(f"module 'hutch' has no attribute '{name}'")
    from hutch_runner import session_sql
    return session_sql.SQLError


def sql(query, parameters=()):
    """Runs SQL on the session's database and returns the last result as a DataFrame.

    Tables are those of the session, files ("data.csv") and, by their names, DataFrames that the
    caller sees. A table of the database goes before a DataFrame of the same name. `parameters` are
    for the question marks of a single statement, or a dict for :names ($names with DuckDB). Without a
    query in it the result is None.
    """
    frame = sys._getframe(1)
    with _interrupts.shield():  # half-imported libraries are of no use to later cells
        from hutch_runner import session_sql
        session_sql.prepare()
    return session_sql.run(_interrupts, query, parameters, frame.f_locals, frame.f_globals)
