"""Writes into `done` how a run ended."""

import gc
import os
import sys
import time

from hutch_runner import children, imported_files, tracebacks
from hutch_runner.channel import cut
from hutch_runner.script_end import QuietInterrupt
from hutch_runner.standard_modules import loaded

MESSAGE_CHARACTERS_MAX = 4_000
TRACEBACK_CHARACTERS_MAX = 60_000
REAP_SECONDS = 0.3


def describe(failure, interrupts):
    """The `done` of a run that raised `failure`, or nothing. It may be long at it, as may what the user makes of
    it (`__str__`): an interrupt ends that, and the run counts as interrupted."""
    if failure is None:
        return {"type": "done", "ok": True, "exit_code": 0, "interrupted": False}
    interrupted = isinstance(failure, KeyboardInterrupt)
    done = {"type": "done", "ok": False, "exit_code": 130 if interrupted else 1, "interrupted": interrupted,
            "error": {"name": tracebacks.name_of(failure), "message": "", "traceback": ""}}
    interrupt = QuietInterrupt()  # its exception may be lost: in `traceback` where it was a __str__ that raised it
    before, interrupts.instead = interrupts.instead, interrupt.note
    try:
        interrupts.guard(lambda: _tell(failure, done))
    except KeyboardInterrupt:
        interrupt.noted = True
        error = done["error"]
        error["traceback"] = f"{error['name']}: {error['message']}\n(no more of the traceback: the run was interrupted)\n"
    finally:
        interrupts.instead = before
    if interrupt.noted:
        done.update(ok=False, exit_code=130, interrupted=True)
    return done


def reap_children():
    """Reaps children that have ended: dead ones hold their places in the table until somebody has waited for them."""
    deadline = time.monotonic() + REAP_SECONDS
    _let_objects_know(deadline)
    try:
        while time.monotonic() < deadline:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.01)
    except ChildProcessError:
        pass  # none is left


def _let_objects_know(deadline):
    """Has each object of a child wait for it: where somebody else has reaped it, it would say that it ended well, or goes on."""
    waits = []
    if (subprocess := loaded("subprocess")) is not None:
        waits += [(subprocess.Popen.wait, found) for found in gc.get_objects() if issubclass(type(found), subprocess.Popen)]
    if (process := loaded("multiprocessing.process")) is not None:
        waits += [(process.BaseProcess.join, child) for child in process._children]
    for wait, child in waits:
        try:
            wait(child, max(0, deadline - time.monotonic()))
        except Exception:  # it goes on, or nothing has been started
            pass


class Notes:
    """Collects what the user should know of what a cell ran, or has left, that does not show otherwise."""

    def __init__(self, cells, packages, programs, fonts, formulas):
        self._cells = cells
        self._packages = packages
        self._children = children.Children()
        self._programs = programs
        self._fonts = fonts
        self._formulas = formulas
        self._leftovers = None

    def add_to(self, done, first, of_threads):
        tree, self._cells.tree = self._cells.tree, None
        try:
            of_files = imported_files.note_of(tree, self._cells.namespace) if _has_come_to_its_end(done) and tree is not None else ""
        except Exception:  # user objects
            of_files = ""
        of_programs = self._of_programs(done) if self._programs.called else ""
        of_fonts = self._of_fonts() if self._fonts.has_to_tell else ""
        of_formulas, of_packages = map(_unless_nothing_opens, (self._formulas.take_note, self._packages.take_note))
        notes = [note for note in (first, of_files, of_programs, of_fonts, of_formulas, of_packages, self._of_loop(), of_threads) if note]
        left = self._children.left_running()
        return {**done, **({"note": "; ".join(notes)} if notes else {}), **({"left_running": left} if left else {})}

    def _of_programs(self, done):
        try:
            return self._programs.take_note(done["error"]["traceback"] if "error" in done else "")
        except Exception:  # nothing can be opened any more, which the run's own failure tells; or user code has put something into the place of a library
            return ""

    def _of_fonts(self):
        try:
            return self._fonts.take_note()
        except Exception:  # fonts are user objects too, and files of theirs may be gone
            return ""

    def _of_loop(self):
        loop = self._cells.loop
        if loop is None:
            return ""
        try:
            if self._leftovers is None:
                from hutch_runner import leftovers  # which needs asyncio
                self._leftovers = leftovers.Leftovers()
            return self._leftovers.note_of(loop)
        except Exception:  # the loop is a user object too
            return ""


def _unless_nothing_opens(take_note):
    """The note; empty where the process has no descriptor left for what it reads, which the run's own failure tells."""
    try:
        return take_note()
    except OSError:
        return ""


def _has_come_to_its_end(done):
    return done["ok"] or done["error"]["name"] == "SystemExit"  # as test runners end


def _tell(failure, done):
    error = done["error"]
    if isinstance(failure, SystemExit):
        code = _exit_code_of(failure)
        done.update(ok=code == 0, exit_code=code)
        error["message"] = f"exited with status {code}"
        if code == 0:
            del done["error"]
        return
    error["message"] = cut(tracebacks.message_of(failure), MESSAGE_CHARACTERS_MAX)
    error["traceback"] = cut(tracebacks.format_failure(failure), TRACEBACK_CHARACTERS_MAX)


def _exit_code_of(failure):
    code = failure.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        sys.stderr.write(f"{code}\n")  # as the interpreter itself does with sys.exit("text")
    except Exception:
        pass
    return 1
