"""inspect.getsource() of a class of a cell: `inspect` looks for the file of its module, and cells have none."""

import linecache

from hutch_runner.imports import WhenImported


def watch():
    WhenImported("inspect", _take)


def _take(inspect):
    find = inspect.getfile

    def getfile(object):
        cell = _cell_of(object) if isinstance(object, type) and object.__module__ == "__main__" else None
        return cell or find(object)

    getfile.__doc__ = find.__doc__
    inspect.getfile = getfile


def _cell_of(kind):
    """Where its functions were defined; without any, the newest cell that defines a class of this name."""
    import re

    for member in vars(kind).values():
        name = getattr(getattr(member, "__code__", None), "co_filename", "")
        if name.startswith("<cell-"):
            return name
    begins = re.compile(rf"\s*class\s+{re.escape(kind.__name__)}\b")
    for name in reversed([name for name in linecache.cache if name.startswith("<cell-")]):
        if any(begins.match(line) for line in linecache.cache[name][2]):
            return name
    return None
