"""Does what Python does at the end of a script, for background runs: their process itself is ended at once.

Each step may be interrupted, and the next one follows all the same, as in Python.
"""

import builtins
import gc
import sys
from atexit import _run_exitfuncs
from io import BufferedRandom, BufferedWriter, TextIOWrapper

from hutch_runner.standard_modules import loaded

# Finalizers of other values may still use these, or they hold nothing that has to be given up.
_KEPT = (type(sys), type(lambda: 0), type(len), type, str, bytes, int, float, type(None))
_CONTAINERS = (dict, list, tuple, set)
_FILES = (TextIOWrapper, BufferedWriter, BufferedRandom)


class QuietInterrupt:
    """An interrupt whose exception may be lost: exit handlers, finalizers and, from Python 3.13 on, the
    join of threads write it and go on."""

    noted = False

    def note(self, _frame):
        self.noted = True
        return False  # raise it all the same: it ends what is waited for

    def keep_quiet(self, action):
        """The caller tells of the interrupt; no need to have it written twice."""
        before = sys.unraisablehook
        sys.unraisablehook = lambda lost: issubclass(lost.exc_type, KeyboardInterrupt) or before(lost)
        try:
            action()
        finally:
            sys.unraisablehook = before


def join_threads():
    """Executors are told to finish, and all threads but daemons are joined."""
    threading = loaded("threading")
    if threading is not None:
        threading._shutdown()


def run_exit_handlers():
    """Runs those of atexit; what they raise is written, and changes nothing."""
    _run_exitfuncs()


def give_up_values(namespace, loop):
    """Writes what files that nobody has closed still hold, and lets finalizers run."""
    if len(sys._current_frames()) > 1:  # daemons go on to the last: nothing of theirs is taken away
        _flush_files(list(namespace.values()))
        return
    _flush_files(gc.get_objects())  # in a circle the file below a buffer may be closed first
    asyncio = loaded("asyncio")
    _unfinished = asyncio.all_tasks(loop) if asyncio and loop else ()  # held: of a lost one asyncio complains
    builtins.__dict__.pop("_", None)
    for is_container in (False, True):
        names = [name for name, value in namespace.items() if not issubclass(type(value), _KEPT)
                 and issubclass(type(value), _CONTAINERS) == is_container]
        for name in reversed(names):  # a later one may use an earlier one
            namespace.pop(name, None)
        gc.collect()


def _flush_files(values):
    for value in values:
        if issubclass(type(value), _FILES):
            try:
                value.flush()
            except Exception:  # it is closed, or has nowhere to write to
                pass
