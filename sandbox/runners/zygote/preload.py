"""Imports what sessions use, and sets it aside: a copy finds it when its own code imports it."""

import importlib
import io
import os
import sys
from importlib.machinery import ModuleSpec

from stash import Stash

# In this order: what a package brings with it is published with it. Those of others first, so that
# their needs from the standard library count as theirs.
PACKAGES = ("numpy", "pandas", "matplotlib", "matplotlib.pyplot", "matplotlib.backends.backend_agg",
            "PIL.PngImagePlugin", "duckdb", "cloudpickle")
STANDARD = ("asyncio", "base64", "collections.abc", "copy", "csv", "datetime", "decimal", "functools",
            "hashlib", "inspect", "itertools", "json", "logging", "math", "pathlib", "pickle", "random",
            "re", "shutil", "sqlite3", "statistics", "string", "subprocess", "tempfile", "textwrap",
            "threading", "traceback", "typing", "uuid", "zlib")
# These remember the host they were imported on, or are the zygote's own.
NOT_KEPT = ("sysconfig", "platform", "preload", "stash", "child")
INSIDE = "/run/hutch/runners"
# As each runner's make_package() has them.
FOLDERS = {"python": ("interpreter", "python", "database"), "sql": ("interpreter", "sql", "database")}


class Runners:
    """The modules of each runner, compiled under the names that they have in a box."""

    def __init__(self, directory):
        self._directory = directory
        self.folders = [os.path.join(directory, name) for name in {f for fs in FOLDERS.values() for f in fs}]
        self.modules = {}
        self._duckdb = None

    def load(self, language):
        package = type(sys)("hutch_runner")
        package.__path__ = [f"{INSIDE}/{folder}" for folder in FOLDERS[language]]
        sys.modules["hutch_runner"] = package
        finder = _Finder(self._directory, FOLDERS[language])
        sys.meta_path.insert(0, finder)
        try:
            for name in finder.names():
                try:
                    importlib.import_module(f"hutch_runner.{name}")
                except ImportError:
                    pass  # IPython's or DuckDB's half, where these are not there
        finally:
            sys.meta_path.remove(finder)
        self._share_duckdb()
        mine = [name for name in sys.modules if name.partition(".")[0] == "hutch_runner"]
        self.modules[language] = {name: sys.modules.pop(name) for name in mine}

    def _share_duckdb(self):
        start = sys.modules.get("hutch_runner.duckdb_start")
        if start is not None:
            self._duckdb = self._duckdb or start.connect_ahead()
            start.ahead = self._duckdb


class _Finder:
    # Too slow for what it gives, or the program itself.
    LEFT_OUT = ("runner", "notebook_shell", "spawned_main", "code_changes")

    def __init__(self, directory, folders):
        self._files = {}
        for folder in reversed(folders):
            for file in os.listdir(os.path.join(directory, folder)):
                if file.endswith(".py"):
                    self._files[file[:-3]] = (os.path.join(directory, folder, file), f"{INSIDE}/{folder}/{file}")

    def names(self):
        return sorted(set(self._files) - set(self.LEFT_OUT))

    def find_spec(self, name, path=None, target=None):
        package, _, name_in_it = name.partition(".")
        if package != "hutch_runner" or name_in_it not in self._files:
            return None
        spec = ModuleSpec(name, _Loader(*self._files[name_in_it]))
        spec.origin = self._files[name_in_it][1]
        spec.has_location = True
        return spec


class _Loader:
    def __init__(self, outside, inside):
        self._outside, self._inside = outside, inside

    def create_module(self, _spec):
        return None

    def exec_module(self, module):
        with open(self._outside, "rb") as file:
            exec(compile(file.read(), self._inside, "exec"), module.__dict__)


def everything(directory, begin):
    stash = Stash(begin, sys.path[1:])
    for name in PACKAGES:
        stash.add(name)
    warm_up()
    stash.add_rest()
    for name in STANDARD:
        stash.add(name)
    runners = Runners(directory)
    for language in FOLDERS:
        runners.load(language)
    stash.add_rest()
    forget_the_host()
    stash.take_away(NOT_KEPT)
    return stash, runners


def versions(stash):
    names = [name for name in PACKAGES if "." not in name]
    held = [f"{name} {stash.peek(name).__version__}" for name in names if stash.peek(name) is not None]
    return ", ".join(held) or "the standard library only"


def warm_up():
    """Looks up what the first table and the first figure need, without a trace in pyplot."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        frame = pandas.DataFrame({"a": [1, 2], "b": ["x", "y"]})
        frame.to_string(), frame.to_html(), frame.describe(), frame["a"].sum()
    if "matplotlib.backends.backend_agg" in sys.modules:
        from matplotlib.figure import Figure
        figure = Figure()
        figure.subplots().plot([1, 2], [3, 4], label="a")
        figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
        sys.modules["matplotlib.font_manager"]._get_font.cache_clear()  # it keeps their files open


def forget_the_host():
    """The name of the machine, and where matplotlib keeps its files."""
    platform = sys.modules.get("platform")
    if platform is not None:
        platform._uname_cache = None
        platform._platform_cache.clear()
    for name in ("get_configdir", "get_cachedir"):
        remembered = getattr(sys.modules.get("matplotlib"), name, None)
        for variable, cell in zip(*_closure(remembered)):
            if variable == "called":
                cell.cell_contents = False
    sys.path_importer_cache.clear()


def _closure(function):
    code = getattr(function, "__code__", None)
    return (code.co_freevars, function.__closure__ or ()) if code is not None else ((), ())
