"""inspect.getsource() of a class of a cell: `inspect` looks for the file of its module, and cells have none."""

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
    for member in vars(kind).values():
        name = getattr(getattr(member, "__code__", None), "co_filename", "")
        if name.startswith("<cell-"):
            return name
    import linecache

    for name in reversed([name for name in linecache.cache if name.startswith("<cell-")]):
        if _line_in(name, kind) is not None:
            return name
    return None


def _line_in(cell, kind):
    import linecache
    import re

    begins = re.compile(rf"\s*class\s+{re.escape(kind.__name__)}\b")
    return next((number for number, line in enumerate(linecache.cache[cell][2], 1) if begins.match(line)), None)


def first_line_of(kind):
    """Where a class of a cell begins, as Python 3.13 notes it in the class; None: that is not known."""
    import linecache

    cell = _cell_of(kind)
    return _line_in(cell, kind) if cell in linecache.cache else None
