"""Keeps what is around a session's values: directory, search path, environment, locale, random states, options of libraries."""

import _locale
import importlib
import os
import site
import sys
import warnings


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
        else:
            found[prefix + name] = value
    return found


def _set_pandas_options(pandas, values):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about options on their way out, which nobody has named here
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

    def __init__(self, context, is_library):
        self._context = context
        self._is_library = is_library
        self._environment = dict(os.environ)  # as the host gave it
        self._path = list(sys.path)
        self._directory = _directory()
        self._umask = _umask()
        self._locale = _locale.setlocale(_locale.LC_ALL)
        self._recursion = sys.getrecursionlimit()
        self._pieces, self._found, self._lost = {}, {}, []

    def before_fork(self):
        """A child begins another sequence of random numbers, and has other settings and modules while it writes."""
        self._recursion = sys.getrecursionlimit()
        self._pieces = {piece: sys.modules[piece.module] for piece in _PIECES if self._is_there(piece.module)}
        self._found, self._lost = {}, []
        for piece in self._pieces:
            if piece.module in ("random", "warnings"):
                self._find(piece)

    def _is_there(self, name):
        """And is not the user's own module of that name."""
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        return module is not None and (not isinstance(file, str) or self._is_library(file))

    def _find(self, piece):
        try:
            self._found[piece] = piece.take(self._pieces[piece])
        except Exception as failure:  # the library has it otherwise, or the user's code has changed it
            self._lose(piece, failure)

    def _lose(self, piece, failure):
        self._lost.append(f"the settings of {piece.module} ({type(failure).__name__})")

    def taken(self):
        """In the child: what JSON can say."""
        environment = {name: value for name, value in os.environ.items() if self._environment.get(name) != value}
        gone = [name for name in self._environment if name not in os.environ]
        before, after = self._path_of_user()
        umask, locale = _umask(), _locale.setlocale(_locale.LC_ALL)
        return {"directory": _directory(), "path_before": before, "path_after": after,
                "environment": {_text(name): _text(value) for name, value in environment.items()},
                "unset": list(map(_text, gone)), "recursion": self._recursion,
                "umask": None if umask == self._umask else umask, "locale": "" if locale == self._locale else locale}

    def has_changed(self, said):
        """Whether the user's code has set any of what was said."""
        changes = ("path_before", "path_after", "environment", "unset", "locale")
        return said["directory"] != self._directory or said["umask"] is not None or any(said[name] for name in changes)

    def _path_of_user(self):
        """Returns its parts before and behind all that this Python began with: another one may have its packages elsewhere."""
        path = [entry for entry in sys.path if isinstance(entry, str) and entry != site.getusersitepackages()]
        first = max((place for place in range(len(path)) if path[place:place + 2] == self._path[:2]), default=0)
        return path[:first], [entry for entry in path[first:] if entry not in self._path]

    def pieces(self, pickled):
        """In the child: a pickle of each other piece, by its module, and in words those that have none."""
        return self._context.run(self._take_pieces, pickled)

    def _take_pieces(self, pickled):
        for piece in self._pieces:
            if piece.module not in ("random", "warnings"):
                self._find(piece)
        taken = {}
        for piece, value in self._found.items():
            try:
                taken[piece.module] = pickled(value)
            except BaseException as failure:  # a filter of warnings has a class, which may be the user's
                self._lose(piece, failure)
        return taken, self._lost

    def put_back(self, said):
        """Puts it back, and says in words what is not as it was."""
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
        if said.get("umask") is not None:  # a snapshot of an earlier build has none
            os.umask(said["umask"])
        try:
            if said.get("locale"):
                _locale.setlocale(_locale.LC_ALL, said["locale"])
        except _locale.Error:
            missing.append(f"the locale {said['locale']} is not there")
        return missing

    def put_back_pieces(self, pieces, unpickled):
        """Once the values are there: only what they use has settings. What is not as it was, in words."""
        return self._context.run(self._put_pieces, pieces, unpickled)

    def _put_pieces(self, pieces, unpickled):
        missing = []
        for piece in _PIECES:
            package = piece.module.partition(".")[0]
            if piece.module not in pieces or package not in sys.modules and package not in sys.stdlib_module_names:
                continue  # nothing that came back uses it
            try:
                piece.put(importlib.import_module(piece.module), unpickled(pieces[piece.module]))
            except Exception as failure:  # it is of another version
                missing.append(f"the settings of {piece.module} are its own again ({type(failure).__name__})")
        return missing


def _directory():
    try:
        return os.getcwd()
    except OSError:
        return ""


def _umask():
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _text(name):
    return os.fsencode(name).decode("latin-1")


def _name(text):
    return os.fsdecode(text.encode("latin-1"))
