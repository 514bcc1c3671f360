"""Looks for what goes with the process and is neither a value of a name nor a setting that is kept, in words for a note.

Threads and descriptors are looked for before the fork, since a child has other ones; all else is looked for in the child.
"""

import io
import os
import stat
import sys
import types

from hutch_runner import late_threads
from hutch_runner.standard_modules import loaded


def _sets_a_global():
    global _nothing
    _nothing = None


def _sets_a_local():
    _nothing = None


# `opcode` says it too, but is a module of its own that few sessions need.
(_STORE_GLOBAL,) = set(_sets_a_global.__code__.co_code[::2]) - set(_sets_a_local.__code__.co_code[::2])
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
_DEFINED = (type, types.FunctionType, types.BuiltinFunctionType)
_OF_THE_SYSTEM = ("/dev/", "/etc/", "/lib", "/opt/", "/proc/", "/run/", "/sys/", "/usr/")
_TOLD_MAX = 5
_TABLES_IN_MEMORY = """SELECT table_name FROM duckdb_tables() WHERE database_name = 'memory' UNION ALL
                       SELECT view_name FROM duckdb_views() WHERE database_name = 'memory' AND NOT internal LIMIT 5"""

_listdir, _readlink, _fstat, _exists = os.listdir, os.readlink, os.fstat, os.path.lexists


class Unstorable:
    def __init__(self, namespace, cells, is_library, given):
        """`given`: descriptors that are closed before code of the user's runs."""
        self._namespace = namespace
        self._cells = cells
        self._is_library = is_library
        folders = (os.environ.get("HUTCH_STATE_DIR", "/run/hutch/state"), os.environ.get("HUTCH_DATA_DIR", ""))
        self._not_of_the_user = (*_OF_THE_SYSTEM, *(os.path.join(folder, "") for folder in (*folders, sys.prefix) if folder))
        self._descriptors_of_the_start = set(_descriptors()) - set(map(str, given))
        self._threads = []
        self._descriptors = []
        self._tables = []

    def before_fork(self, is_asked):
        threading = loaded("threading")
        others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()] if threading else []
        self._threads = _threads_of_user(others) if others else []
        self._descriptors = [fd for fd in _descriptors() if fd not in self._descriptors_of_the_start]
        self._tables = self._tables_or_failure(is_asked)

    def _tables_or_failure(self, is_asked):
        """The connection that nobody has to open begins with the first look (23 ms, 24 MB): before a pause that is worth it wherever the
        module is, after a run only where the code has something of duckdb's. A later look takes less than a millisecond."""
        if "duckdb" not in sys.modules:
            return []
        try:
            is_worth_it = is_asked or any(map(_is_of_duckdb, list(self._namespace.values())))
            return _tables_of_duckdb() if is_worth_it else []
        except Exception as failure:  # another version of it, or something of the user's in its place
            return failure  # in_words() tells it

    def in_words(self):
        """In the child: of threads, and of all else. A look that fails, as at what the user's code has put in place of a library, is told as well."""
        return self._told((("threads", self._threads_in_words),)), self._told((
            ("tasks of asyncio", self._tasks_in_words), ("handlers of signals", _handlers_in_words),
            ("logging", _logging_in_words), ("descriptors", self._descriptors_in_words), ("modules", self._modules_in_words),
            ("libraries", self._libraries_in_words), ("tables of duckdb", self._tables_in_words)))

    @staticmethod
    def _told(looks):
        from hutch_runner.snapshot_values import reason_of

        words = []
        for name, look in looks:
            try:
                words += look()
            except Exception as failure:
                words.append(f"perhaps {name} ({reason_of(failure)})")
        return words

    def _threads_in_words(self):
        if isinstance(self._threads, Exception):
            raise self._threads
        many = "s" if len(self._threads) > 1 else ""
        return [f"{len(self._threads)} thread{many} that ran then ({late_threads.names_in_words(self._threads)})"] if self._threads else []

    def _tables_in_words(self):
        if isinstance(self._tables, Exception):
            raise self._tables
        names = ", ".join(self._tables[:3])
        return [f"the tables of duckdb's own connection ({names})"] if self._tables else []

    def _tasks_in_words(self):
        asyncio = loaded("asyncio")
        tasks = asyncio.all_tasks(self._cells.loop) if asyncio is not None and self._cells.loop is not None else ()
        return [f"{len(tasks)} tasks of asyncio that waited"] if tasks else []

    def _descriptors_in_words(self):
        """Counts those of the user's files, and of pipes whose number a name has: libraries have pipes too."""
        numbers = {number for value in self._namespace.values() for number in (value if type(value) is tuple else (value,)) if type(number) is int}
        of_files = {str(_number_of(value)) for value in self._namespace.values() if isinstance(value, io.IOBase)}
        paths = []
        for fd in self._descriptors:
            try:
                path, mode = _readlink(f"/proc/self/fd/{fd}"), _fstat(int(fd)).st_mode
            except OSError:
                continue  # its owner closes it in children
            is_file = (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) and not path.startswith(self._not_of_the_user) and not self._is_library(path)
            if fd not in of_files and (is_file or stat.S_ISFIFO(mode) and int(fd) in numbers):
                paths.append(f"{fd}: {os.path.basename(path)}")
        return [f"{len(paths)} open descriptors ({', '.join(paths[:3])})"] if paths else []

    def _modules_in_words(self):
        holding = [name for name, module in list(sys.modules.items()) if name != "__main__" and _holds_something(module, self._is_library)]
        return ["what was changed in the modules " + ", ".join(sorted(holding)[:_TOLD_MAX])] if holding else []

    def _libraries_in_words(self):
        """Names the functions and classes of cells that stand in a library, or in a class of one: patches."""
        found = []
        for module_name, module in list(sys.modules.items()):
            if not isinstance(module, types.ModuleType) or vars(module) is self._namespace or not self._is_of_library(module):
                continue
            for name, value in list(vars(module).items()):
                if self._is_of_cells(value) and not name.startswith("_"):
                    found.append(f"{module_name}.{name}")
                elif type(value) is type and value.__module__ == module_name:
                    found += [f"{module_name}.{name}.{inner}" for inner, one in vars(value).items() if self._is_of_cells(one)]
        return ["what was put into " + ", ".join(sorted(found)[:_TOLD_MAX])] if found else []

    def _is_of_library(self, module):
        file = vars(module).get("__file__")
        return not isinstance(file, str) or self._is_library(file)

    def _is_of_cells(self, value):
        kind = type(value)
        return kind is types.FunctionType and value.__globals__ is self._namespace or kind is type and value.__module__ == "__main__"


def _threads_of_user(threads):
    """Returns them, or what went wrong. In the parent: a child has only the thread that has made it."""
    try:
        return late_threads.of_user(threads)
    except Exception as failure:  # they are user objects, too
        return failure


def _tables_of_duckdb():
    """Tables and views in memory of the connection that nobody has to open. In the parent: a child has none of duckdb's threads."""
    connection = sys.modules["duckdb"].default_connection
    cursor = (connection() if callable(connection) else connection).cursor()  # whose results are none of the user's
    try:
        return [name for name, in cursor.execute(_TABLES_IN_MEMORY).fetchall()]
    finally:
        cursor.close()


def _is_of_duckdb(value):
    """Its module, or a function, a class or an object of it."""
    kind = type(value)
    module = getattr(value, "__name__", "") if kind is types.ModuleType else getattr(value if kind in _DEFINED else kind, "__module__", "")
    return type(module) is str and module.lstrip("_").partition(".")[0] == "duckdb"


def _descriptors():
    """All but that of the list itself, whose number another one gets."""
    return [fd for fd in _listdir("/proc/self/fd") if _exists(f"/proc/self/fd/{fd}")]


def _number_of(file):
    try:
        return file.fileno()
    except (OSError, ValueError):
        return -1  # it is closed, or none of the system's


def _handlers_in_words():
    signals = loaded("signal")
    is_of_cells = signals is not None and any(
        getattr(signals.getsignal(number), "__module__", "") == "__main__" for number in signals.valid_signals())
    return ["handlers of signals"] if is_of_cells else []


def _logging_in_words():
    logging = loaded("logging")
    return ["how logging was set up"] if logging is not None and (logging.root.handlers or logging.root.level != logging.WARNING) else []


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
