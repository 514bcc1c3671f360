"""The code of functions in a snapshot: as the Python has it that made it and, for another one, by its place in a source.

The code of one minor version of Python means something else to another. That one compiles the source of the
cell anew, as the snapshot has it, and takes from it what stands where the code stood.
"""

import linecache
import marshal
import os
import re
import sys
import types
import warnings
from _ast import PyCF_ALLOW_TOP_LEVEL_AWAIT

from hutch_runner import class_sources
from hutch_runner.cells import ALL_FUTURES
from hutch_runner.snapshot_words import NotKept

THIS_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_STAND_IN = "<written anew by dataclasses>"
_CO_VARARGS, _CO_VARKEYWORDS = 4, 8  # from `inspect`
_PYTHONS_OWN = re.compile(r".*/lib/python3\.\d+/(?!site-packages/|dist-packages/)")
_PACKAGES = re.compile(r".*/(?:site|dist)-packages/")
_SETTINGS_OF_DATACLASS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen", "match_args", "kw_only")
_compiled = {}  # results of _compiled_of() while a snapshot is read


def reduced(code, python):
    """How pickle makes it again; NotImplemented where only cloudpickle can say that."""
    try:
        as_it_is = marshal.dumps(code, 2)  # whose bytes are the same each time
    except ValueError:
        return NotImplemented
    signs = {"file": code.co_filename, "name": code.co_name, "within": getattr(code, "co_qualname", None), "line": code.co_firstlineno,
             "futures": code.co_flags & ALL_FUTURES, "inputs": _inputs(code), "free": code.co_freevars}
    if code.co_name == "<lambda>":
        signs["place"] = _place(code)
    return code_of, (python, as_it_is, signs)


def code_of(python, as_it_is, signs):
    """Called by a snapshot."""
    return marshal.loads(as_it_is) if python == THIS_PYTHON else _from_source(python, signs)


def forget():
    _compiled.clear()


def _place(code):
    """Line and column of the first of its text: two lambdas of a line differ by it. None where this Python does not say them."""
    positions = code.co_positions() if hasattr(code, "co_positions") else ()
    return min(((line, column) for line, _, column, end in positions if line is not None and column is not None and end), default=None)


def _from_source(python, signs):
    name = "a lambda" if signs["name"] == "<lambda>" else f"{signs['name']}()"
    made = f"{name} was made by Python {python}, this is {THIS_PYTHON}"
    file, free = signs["file"], signs["free"]
    is_of_cell = file.startswith("<cell-")
    if is_of_cell and file in linecache.cache:
        text = "".join(linecache.cache[file][2])
    elif _is_of_named_tuple(signs):
        text = _source_of_named_tuple(signs["inputs"][-1])
    elif _is_of_dataclass(signs):
        return _stand_in(signs["name"], free)
    else:
        text = _text_of_library(file)
    if not text:
        raise NotKept(f"{made}, and it has no source: define it again")
    try:
        codes = _compiled_of(file, text, signs["futures"])
    except (SyntaxError, ValueError):
        raise NotKept(f"{made}, and its source is none of this one's: define it again") from None
    found = [code for code in codes if code.co_name == signs["name"] and code.co_freevars == free and _inputs(code) == signs["inputs"]
             and (code.co_firstlineno == signs["line"] if is_of_cell else signs["within"] in (None, getattr(code, "co_qualname", None)))]
    if len(found) > 1:
        found = [code for code in found if _place(code) == signs.get("place")]
    if len(found) != 1:
        raise NotKept(f"{made}, and is not found in its source: define it again")
    return found[0]


def _inputs(code):
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & _CO_VARARGS) + bool(code.co_flags & _CO_VARKEYWORDS)
    return (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_varnames[:count])


def _compiled_of(file, text, futures):
    """All code that a source has, also that of functions within functions."""
    key = (file, futures, text)
    if key not in _compiled:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # told when the cell ran
            waiting = [compile(text, file, "exec", futures | PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)]
        found = []
        while waiting:
            code = waiting.pop()
            found.append(code)
            waiting += [one for one in code.co_consts if type(one) is types.CodeType]
        _compiled[key] = found
    return _compiled[key]


def _is_of_named_tuple(signs):
    return signs["file"] == "<string>" and signs["name"] == "<lambda>" and signs["inputs"][-1][:1] == ("_cls",)


def _source_of_named_tuple(names):
    """As collections.namedtuple() has it."""
    fields = "".join(f"{name}, " for name in names[1:])
    return f"lambda {', '.join(names)}: _tuple_new(_cls, ({fields}))"


def _text_of_library(file):
    """A library has functions within functions, as contextlib.contextmanager() does: its own source here has them, too."""
    standard, package = _PYTHONS_OWN.match(file), _PACKAGES.match(file)
    if package:
        paths = [os.path.join(folder, file[package.end():]) for folder in sys.path if isinstance(folder, str) and folder.endswith("-packages")]
    else:
        paths = [os.path.join(os.path.dirname(os.__file__), file[standard.end():])] if standard else []
    for path in paths:
        try:
            with open(path, encoding="utf-8") as source:
                return source.read()
        except (OSError, ValueError):
            continue
    return ""


# dataclasses.dataclass() writes functions that have no source: it writes them again.


def _is_of_dataclass(signs):
    within = signs["within"] or ""
    if signs["file"] == "<string>":
        return "_create_fn__.<locals>." in within or not within and re.fullmatch("__.*__", signs["name"]) is not None
    return signs["name"] == "wrapper" and signs["file"].endswith(("/dataclasses.py", "/reprlib.py"))


def _stand_in(name, free):
    """Code for as long as its class has not all its members."""
    text = (f"def make({', '.join(free)}):\n def {name}(*values, **named):\n  raise TypeError('another Python made this: define its class again')\n"
            f"  return ({''.join(f'{one}, ' for one in free)})\n")
    return next(code for code in _compiled_of(_STAND_IN, text, 0) if code.co_name == name)


def mending(set_state):
    """cloudpickle's function that gives a class its members, and then writes anew what stands in."""
    def set_state_and_mend(kind, state):
        made = set_state(kind, state)
        stand_ins = [name for name, value in vars(kind).items() if getattr(getattr(value, "__code__", None), "co_filename", "") == _STAND_IN]
        if stand_ins:
            _make_dataclass_again(kind, stand_ins)
        line = class_sources.first_line_of(kind) if sys.version_info >= (3, 13) and "__firstlineno__" not in vars(kind) else None
        if line is not None:
            kind.__firstlineno__ = line  # inspect.getsource() finds it by that
        return made
    return set_state_and_mend


class _SettingsOfDataclass:
    """In place of what dataclasses itself has: each Python has others."""


def of_dataclasses(name):
    """Returns what another Python means by this name."""
    import dataclasses

    if name == "_DataclassParams":
        return _SettingsOfDataclass
    return dataclasses.replace if name == "_replace" else getattr(dataclasses, name)


def _make_dataclass_again(kind, stand_ins):
    dataclasses, settings = sys.modules.get("dataclasses"), vars(kind).get("__dataclass_params__")
    if dataclasses is None or settings is None:
        raise NotKept(f"{kind.__name__}.{stand_ins[0]}() was made by another Python, and it has no source: define it again")
    fields = vars(kind)["__dataclass_fields__"]
    slots = {name: value for name, value in vars(kind).items() if type(value) is types.MemberDescriptorType}
    for name in stand_ins:
        delattr(kind, name)
    for name in vars(kind).get("__annotations__") or kind.__annotations__:
        if name in fields:
            setattr(kind, name, fields[name])
    dataclasses.dataclass(**{name: getattr(settings, name) for name in _SETTINGS_OF_DATACLASS if hasattr(settings, name)})(kind)
    for name, value in slots.items():  # which dataclasses takes for defaults
        setattr(kind, name, value)
