"""What is around the values of a session: directory, search path, environment, random states, options of libraries."""

import importlib
import opcode
import os
import site
import sys
import types

_STORE_GLOBAL = opcode.opmap["STORE_GLOBAL"]
_OWN_THREADS = ("IPython", "tqdm")  # their modules start some that no code of the user waits for
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)


class _Piece:
    """One thing that a module has of its own: how it is taken, and put back."""

    def __init__(self, module, take, put):
        self.module = module
        self.take = take
        self.put = put


def _pandas_options(pandas, prefix="", group=None):
    found = {}
    group = pandas.options if group is None else group
    for name in dir(group):
        value = getattr(group, name)
        if hasattr(value, "prefix"):
            found.update(_pandas_options(pandas, f"{prefix}{name}.", value))
        elif isinstance(value, _PLAIN[:6]):
            found[prefix + name] = value
    return found


def _set_pandas_options(pandas, values):
    for name, value in values.items():
        if pandas.get_option(name) != value:
            pandas.set_option(name, value)


def _settings_of_matplotlib(matplotlib):
    defaults = matplotlib.rcParamsDefault
    return {name: matplotlib.rcParams[name] for name in defaults
            if not name.startswith("backend") and matplotlib.rcParams[name] != defaults[name]}


def _set_numpy(numpy, settings):
    options, errors = settings
    numpy.set_printoptions(**options)
    numpy.seterr(**errors)


def _set_filters(warnings, filters):
    warnings.filters[:] = filters
    warnings._filters_mutated()


_PIECES = (
    _Piece("random", lambda random: random.getstate(), lambda random, state: random.setstate(state)),
    _Piece("numpy.random", lambda random: random.get_state(), lambda random, state: random.set_state(state)),
    _Piece("numpy", lambda numpy: (numpy.get_printoptions(), numpy.geterr()), _set_numpy),
    _Piece("pandas", _pandas_options, _set_pandas_options),
    _Piece("matplotlib", _settings_of_matplotlib, lambda matplotlib, settings: matplotlib.rcParams.update(settings)),
    _Piece("decimal", lambda decimal: decimal.getcontext(), lambda decimal, context: decimal.setcontext(context)),
    _Piece("warnings", lambda warnings: list(warnings.filters), _set_filters),
)


class Surroundings:
    """`context` is the contextvars.Context of all cells."""

    def __init__(self, context):
        self._context = context
        self._environment = dict(os.environ)  # as the host gave it
        self._path = list(sys.path)
        self._directory = _directory()
        self._recursion = sys.getrecursionlimit()
        self._taken_before = {}

    def before_fork(self):
        """A child begins another sequence of random numbers, and has other settings while it writes."""
        self._recursion = sys.getrecursionlimit()
        self._taken_before = {}
        for piece in _PIECES:
            if piece.module in ("random", "warnings") and piece.module in sys.modules:
                self._take(piece, self._taken_before)

    def taken(self):
        """In the child: what JSON can say, and a pickle of each other piece, by its module."""
        environment = {name: value for name, value in os.environ.items() if self._environment.get(name) != value}
        gone = [name for name in self._environment if name not in os.environ]
        before, after = self._path_of_user()
        said = {"directory": _directory(), "path_before": before, "path_after": after,
                "environment": {_text(name): _text(value) for name, value in environment.items()},
                "unset": list(map(_text, gone)), "recursion": self._recursion}
        return said, self._context.run(self._pieces)

    def has_changed(self, said):
        """Whether the user's code has set any of what was said."""
        return bool(said["directory"] != self._directory or said["path_before"] or said["path_after"] or said["environment"] or said["unset"])

    def _path_of_user(self):
        """What it has before, and behind, all that this Python began with: another one may have its packages elsewhere."""
        path = [entry for entry in sys.path if isinstance(entry, str) and entry != site.getusersitepackages()]
        first = max((place for place in range(len(path)) if path[place:place + 2] == self._path[:2]), default=0)
        return path[:first], [entry for entry in path[first:] if entry not in self._path]

    def _pieces(self):
        pieces = dict(self._taken_before)
        for piece in _PIECES:
            if piece.module not in pieces and piece.module in sys.modules:
                self._take(piece, pieces)
        return pieces

    def _take(self, piece, pieces):
        import pickle
        try:
            pieces[piece.module] = pickle.dumps(piece.take(sys.modules[piece.module]), protocol=5)
        except Exception:  # of a library that has it otherwise, or of the user's that stands in its place
            pass

    def put_back(self, said):
        """What of it is not as it was, in words."""
        missing = []
        if said["directory"]:
            try:
                os.chdir(said["directory"])
            except OSError:
                missing.append(f"the working directory {said['directory']} is gone")
        sys.path[:0] = said["path_before"]
        sys.path.extend(entry for entry in said["path_after"] if entry not in sys.path)
        os.environ.update({_name(name): _name(value) for name, value in said["environment"].items()})
        for name in said["unset"]:
            os.environ.pop(_name(name), None)
        sys.setrecursionlimit(max(said["recursion"], sys.getrecursionlimit()))
        return missing

    def put_back_pieces(self, pieces):
        """Once the values are there: only what they use has settings. What is not as it was, in words."""
        return self._context.run(self._put_pieces, pieces)

    def _put_pieces(self, pieces):
        import pickle
        missing = []
        for piece in _PIECES:
            package = piece.module.partition(".")[0]
            if piece.module not in pieces or package not in sys.modules and package not in sys.stdlib_module_names:
                continue  # nothing that came back uses it
            try:
                piece.put(importlib.import_module(piece.module), pickle.loads(pieces[piece.module]))
            except Exception:  # of another version
                missing.append(f"the settings of {piece.module} are its own again")
        return missing


def not_in_values(cells, is_library):
    """What goes with the process and is no value of a name, in words: threads, tasks, what modules of the user's hold."""
    lost = []
    threading, asyncio = sys.modules.get("threading"), sys.modules.get("asyncio")
    threads = [thread.name for thread in threading.enumerate()
               if thread is not threading.main_thread() and not type(thread).__module__.startswith(_OWN_THREADS)] if threading else []
    if threads:
        lost.append(f"{len(threads)} threads that ran ({', '.join(map(str, threads[:3]))})")
    if asyncio is not None and cells.loop is not None and (tasks := asyncio.all_tasks(cells.loop)):
        lost.append(f"{len(tasks)} tasks of asyncio that waited")
    signals = sys.modules.get("signal")
    if signals is not None and any(getattr(signals.getsignal(number), "__module__", "") == "__main__" for number in signals.valid_signals()):
        lost.append("handlers of signals")
    logging = sys.modules.get("logging")
    if logging is not None and (logging.root.handlers or logging.root.level != logging.WARNING):
        lost.append("how logging was set up")
    holding = [name for name, module in list(sys.modules.items()) if name != "__main__" and _holds_something(module, is_library)]
    if holding:
        lost.append("what was changed in the modules " + ", ".join(sorted(holding)[:5]))
    return lost


def _holds_something(module, is_library):
    """Whether a module of the user's has values that its code may have changed since it was imported."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or is_library(file) or module.__name__.startswith("hutch"):
        return False
    values = [value for name, value in vars(module).items() if not name.startswith("__")]
    return any(_sets_globals(value, module) if isinstance(value, (type, types.FunctionType)) else not isinstance(value, _PLAIN) and not _is_constant(value)
               for value in values)


def _sets_globals(value, module):
    """Whether a function, or a method of a class, of the module has a `global` statement."""
    functions = [value] if isinstance(value, types.FunctionType) else [one for one in vars(value).values() if isinstance(one, types.FunctionType)]
    return any(_STORE_GLOBAL in function.__code__.co_code[::2] for function in functions if function.__module__ == module.__name__)


def _is_constant(value):
    return isinstance(value, (tuple, frozenset)) and all(isinstance(item, _PLAIN) or _is_constant(item) for item in value)


def _directory():
    try:
        return os.getcwd()
    except OSError:
        return ""


def _text(name):
    return os.fsencode(name).decode("latin-1")


def _name(text):
    return os.fsdecode(text.encode("latin-1"))
