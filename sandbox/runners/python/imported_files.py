"""Modules of the user whose file has changed since it was imported: what runs is still the code from before."""

import os
import sys
from _ast import AST, Attribute, Import, ImportFrom, Name, alias

from _frozen_importlib_external import SourceFileLoader  # importlib.machinery's, which costs a millisecond

_NAMED_MAX = 3
_FUNCTION, _MODULE = type(lambda: 0), type(sys)
_dict_of = _MODULE.__dict__["__dict__"].__get__
_imported = {}  # path -> time and size, when its code was read
_before = {}  # path -> that of the code that a reload was to take the place of, or None
_told = {}  # path -> time and size that the user has been told of, and whether that was where the code imports it
_TEST_RUNNERS = {"pytest", "_pytest", "unittest"}
_STARTS_OF_TESTS = {"main", "console_main", "TextTestRunner"}
_BY_RELOADING = "{calls} takes it up, and then `from {first} import ...` again where names were; or a run with restart: true"
_BY_TESTING_ANEW = 'the tests as a command of language "bash" take it up, or a run with restart: true'


def watch(is_library):
    """The import system asks for both just before it reads a file, also when that is a reload."""
    original = SourceFileLoader.path_stats

    def path_stats(self, path):
        stats = original(self, path)
        if not is_library(path):
            _before[path] = _imported.get(path)
            _imported[path] = (stats["mtime"], stats["size"])
        return stats

    SourceFileLoader.path_stats = path_stats


def has_changed(path):
    then = _imported.get(path)
    return then is not None and _stamp(path) not in (None, then)


def _stamp(path):
    try:
        now = os.stat(path)
    except OSError:  # gone, which says nothing of what may come
        return None
    return (now.st_mtime, now.st_size)


def way_to_reload(failure):
    """Says what to do about files that a failure has to do with and that have changed; empty when there are none."""
    if not _imported:
        return ""
    if isinstance(failure, SyntaxError) and (before := _before.get(failure.filename)):
        _imported[failure.filename] = before  # nothing was taken up
        _told.pop(failure.filename, None)
    names = []
    for path in dict.fromkeys(_files_of(failure)):
        if has_changed(path):
            names += [name for name, module in list(sys.modules.items())
                      if getattr(module, "__file__", None) == path and name != "__main__"][:1]
    return f"({_say(names, ())})\n" if names else ""


def note_of(tree, namespace):
    """Says so of modules that a cell, which went well, imports or uses: once for each time that they are edited, and once more where
    that had been a use and now it imports them, which takes nothing up."""
    if not (_imported or "_pytest" in sys.modules) or _reloads_by_itself():
        return ""
    imported, used = map(_with_packages, _names_in(tree, namespace))
    names = imported | used
    runs_tests = not names.isdisjoint(_TEST_RUNNERS) and _has_word(tree, _STARTS_OF_TESTS)
    if runs_tests:
        names |= _names_of_all()
    names = [name for name, path in _modules_behind(names) if has_changed(path) and not _is_told(path, name in imported)]
    return _say(names, imported, _BY_TESTING_ANEW if runs_tests else _BY_RELOADING) if names else ""


def _is_told(path, is_import):
    return _told.get(path) in ((_stamp(path), True), (_stamp(path), is_import))


def _names_of_all():
    """Test runners import by themselves, and pytest what it rewrites in a way of its own."""
    names = set()
    for name, module in list(sys.modules.items()):
        content = _content_of(module)
        path = content.get("__file__")
        if type(content.get("__loader__")).__name__ == "AssertionRewritingHook" and path not in _imported and (stamp := _stamp(path)):
            _imported[path] = stamp
        if type(path) is str and path in _imported:
            names.add(name)
    return names


def _reloads_by_itself():
    """Whether IPython's autoreload is on, which takes changes up before the next cell."""
    extension = sys.modules.get("IPython.extensions.autoreload")
    shell = getattr(sys.modules.get("IPython.core.interactiveshell"), "InteractiveShell", None)
    if extension is None or shell is None or not shell.initialized():
        return False
    reloader = getattr(getattr(shell.instance(), "magics_manager", None), "registry", {}).get("AutoreloadMagics")
    return bool(getattr(getattr(reloader, "_reloader", None), "enabled", False))


def _say(names, imported, remedy=_BY_RELOADING):
    names = names[:_NAMED_MAX]
    paths = [sys.modules[name].__file__ for name in names]
    _told.update((path, (_stamp(path), name in imported)) for name, path in zip(names, paths))
    files = ", ".join("/".join(path.split("/")[-2 if path.endswith("/__init__.py") else -1:]) for path in paths)
    calls = ", ".join(f"importlib.reload({name})" for name in names)
    return f"{files} changed after it was imported, and what runs is the code from before: {remedy.format(calls=calls, first=names[0])}"


def _names_in(tree, namespace):
    """Names of modules that the source names in an import, and of those that what it names otherwise is from."""
    waiting, names, used = [tree], set(), set()
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is Import:
            names.update(alias.name for alias in node.names)
        elif kind is ImportFrom and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif kind is Name:
            used.add(_origin_of(namespace.get(node.id)))
        elif kind is list:
            waiting += node
        elif issubclass(kind, AST):
            waiting += [getattr(node, field, None) for field in kind._fields]
    return names, used


def _has_word(tree, words):
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if type(node) is list:
            waiting += node
        elif isinstance(node, AST):
            if type(node) is Attribute and node.attr in words or type(node) is alias and node.name in words or type(node) is Name and node.id in words:
                return True
            waiting += [getattr(node, field, None) for field in node._fields]
    return False


def _with_packages(names):
    return {".".join(name.split(".")[:count]) for name in names for count in range(1, name.count(".") + 2)}


def _modules_behind(names):
    """Names and paths of the user's modules that have one of these names, and of those that they use in turn."""
    waiting, seen = sorted(names), set(names)
    while waiting:
        name = waiting.pop(0)
        content = _content_of(sys.modules.get(name))
        path = content.get("__file__")
        if path not in _imported or name == "__main__":
            continue
        yield name, path
        for value in list(content.values()):
            origin = _origin_of(value)
            if origin not in seen:
                seen.add(origin)
                waiting.append(origin)


def _origin_of(value):
    """The module that a value is, or that it, or its class, was defined in."""
    kind = type(value)
    if issubclass(kind, _MODULE):
        name = _content_of(value).get("__name__")
    else:
        name = (value if kind is _FUNCTION or issubclass(kind, type) else kind).__module__
    return name if type(name) is str else ""


def _content_of(module):
    """Without asking the module itself: some are loaded by that."""
    return _dict_of(module) if issubclass(type(module), _MODULE) else {}


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
