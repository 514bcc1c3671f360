"""Modules of the user whose file has changed since it was imported: what runs is still the code from before."""

import os
import sys

from _frozen_importlib_external import SourceFileLoader  # importlib.machinery's, which costs a millisecond

_NAMED_MAX = 3
_imported = {}  # path -> time and size, when its code was read


def watch(is_library):
    """The import system asks for both just before it reads a file, also when that is a reload."""
    original = SourceFileLoader.path_stats

    def path_stats(self, path):
        stats = original(self, path)
        if not is_library(path):
            _imported[path] = (stats["mtime"], stats["size"])
        return stats

    SourceFileLoader.path_stats = path_stats


def has_changed(path):
    then = _imported.get(path)
    if then is None:
        return False
    try:
        now = os.stat(path)
    except OSError:  # gone, which says nothing of what may come
        return False
    return then != (now.st_mtime, now.st_size)


def way_to_reload(failure):
    """What to do about files that a failure has to do with and that have changed; empty when there are none."""
    names = []
    for path in dict.fromkeys(_files_of(failure)):
        if has_changed(path):
            names += [name for name, module in list(sys.modules.items())
                      if getattr(module, "__file__", None) == path and name != "__main__"][:1]
    if not names:
        return ""
    files = ", ".join(os.path.basename(sys.modules[name].__file__) for name in names[:_NAMED_MAX])
    calls = ", ".join(f"importlib.reload({name})" for name in names[:_NAMED_MAX])
    return (f"({files} changed after it was imported, and what runs is the code from before: {calls} takes it up, "
            f"and then `from {names[0]} import ...` again where names were; or a run with restart: true)\n")


def _files_of(failure):
    seen, waiting = set(), [failure]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        step = one.__traceback__
        while step is not None:
            yield step.tb_frame.f_code.co_filename
            step = step.tb_next
        if isinstance(one, ImportError) and isinstance(one.path, str):  # has no such name
            yield one.path
        if isinstance(one, AttributeError) and isinstance(one.obj, type(sys)):
            yield getattr(one.obj, "__file__", None)
        waiting += [one.__context__, one.__cause__, *(getattr(one, "exceptions", None) or ())]
