"""Compiles and executes cells: one namespace, one event loop, the last expression's value."""

import __future__
import contextvars
from _ast import PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST, Expr, Expression, Module

from hutch_runner.imports import WhenImported
from hutch_runner.notebook import with_magic_of_pip, without_magic_of_figures
from hutch_runner.standard_modules import loaded

CO_COROUTINE = 0x80  # from `inspect`, which would double the start-up time

_MAKES_TASKS = frozenset(("create_task", "ensure_future", "get_running_loop"))
_RUNS_A_LOOP = frozenset(("run", "run_until_complete", "run_forever"))  # which cannot be within another

ALL_FUTURES = 0
for _name in __future__.all_feature_names:
    ALL_FUTURES |= getattr(__future__, _name).compiler_flag


class Cells:
    def __init__(self, namespace, interrupts, notebook):
        self.namespace = namespace
        self.notebook = notebook
        self.interrupts = interrupts
        self.count = 0
        self.futures = 0  # `from __future__ import x` in one cell holds for the later ones
        self.loop = None
        self.tree = None  # the syntax tree of the cell that ran last
        self.sources = {}  # by cell, as they were compiled, each with the compiler's flags
        self.when_compiled = None
        self.context = contextvars.Context()  # shared by all cells: a ContextVar set in one is seen in the next

    def run(self, source):
        """Executes a cell; the value of its last expression, or None."""
        self.count += 1
        self.tree = None
        source = source.replace("\r\n", "\n").replace("\r", "\n")  # as the compiler reads it
        name = f"<cell-{self.count}>"
        remember(source, name)
        self.namespace.pop("__warningregistry__", None)  # told once a cell: its line numbers were another cell's before
        body, last = self._compile_cell(source, name)
        if self.when_compiled is not None:
            self.when_compiled()
        self.notebook.begin(source, self.count)
        value = self._execute(body, last, "asyncio" in source and makes_tasks(body, last))
        self.notebook.end()
        return value

    def _execute(self, body, last, has_tasks):
        flags = (body.co_flags if body else 0) | (last.co_flags if last else 0)
        if flags & CO_COROUTINE or has_tasks:
            return self._run_async(body, last)
        self._set_loop_again()
        if body is not None:
            self.context.run(exec, body, self.namespace)
        return self.context.run(eval, last, self.namespace) if last is not None else None

    def _set_loop_again(self):
        """asyncio.run() in a cell before has unset it, and then asyncio makes none."""
        asyncio = loaded("asyncio")
        if self.loop is None and asyncio is not None:
            local = getattr(getattr(asyncio.events, "_event_loop_policy", None), "_local", None)
            if getattr(local, "_set_called", False) and getattr(local, "_loop", None) is None:
                self.loop = asyncio.new_event_loop()
        if self.loop is not None:
            asyncio.set_event_loop(self.loop)

    def _compile_cell(self, source, name):
        failure, mended = None, source
        try:
            while mended is not None:
                source = mended
                try:
                    return self._compile(source, name)
                except SyntaxError as error:
                    failure = error
                # Not in the handler: what goes wrong from here has nothing to do with the failure.
                mended = without_indent(source, failure)
                if mended is not None:
                    remember(mended, name)
                else:
                    mended = without_magic_of_figures(source, failure) or with_magic_of_pip(source, failure)
            translated = self.notebook.translate(source, failure)
        finally:
            failure = None  # no circle with its own traceback
        return self._compile(translated, name)

    def _compile(self, source, name):
        """Two code objects: all but the last expression, and the last expression if it is shown."""
        def build(node, mode):
            try:
                code = compile(node, name, mode, self.futures | PyCF_ALLOW_TOP_LEVEL_AWAIT,
                               dont_inherit=True)
            except SyntaxError as error:
                if error.text is None and error.lineno:  # from a tree: it has not seen the source
                    error.text = _line_of(name, error.lineno)
                raise
            self.futures |= code.co_flags & ALL_FUTURES
            return code

        # As text, not bytes: a coding line in a cell means nothing.
        tree = compile(source, name, "exec",
                       self.futures | PyCF_ONLY_AST | PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        self.tree = tree
        self.sources[name] = (source, self.futures)
        last = tree.body[-1] if tree.body else None
        if not isinstance(last, Expr) or ends_with_semicolon(source, last):
            return (build(tree, "exec"), None)
        rest = Module(body=tree.body[:-1], type_ignores=[])
        # The rest first: it may hold the future imports that the last expression needs.
        return (build(rest, "exec") if rest.body else None, build(Expression(last.value), "eval"))

    def _run_async(self, body, last):
        """Runs the cell as a task of the session's loop; tasks it leaves go on in the next one."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        loop = self.loop
        asyncio.set_event_loop(loop)

        async def cell():
            for code in (body, last):
                value = eval(code, self.namespace) if code is not None else None
                if code is not None and code.co_flags & CO_COROUTINE:
                    value = await value
            return value if last is not None else None

        # The loop itself runs outside of the context: nobody can enter one twice.
        task = loop.create_task(cell(), context=self.context)
        interrupted = False

        def cancel_when_waiting(frame):
            # Raising inside the loop's own machinery could tear it: cancel the cell instead.
            nonlocal interrupted
            if interrupted or not frame.f_code.co_filename.endswith("selectors.py"):
                return False
            interrupted = True
            task.cancel()
            loop.call_soon_threadsafe(lambda: None)  # wakes the loop
            return True

        self.interrupts.instead = cancel_when_waiting
        try:
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            if interrupted:
                raise KeyboardInterrupt from None
            raise
        finally:
            self.interrupts.instead = None
            if not task.done():  # the interrupt hit another task, or the loop itself
                task.cancel()
                loop.run_until_complete(asyncio.wait({task}, timeout=0.5))
            if not task.done():  # it goes on in this one whenever the loop runs, also in a cell's own code
                self.context = self.context.copy()


_lines_of_cells = {}  # as linecache keeps them; its own, once somebody has imported it


def _give_lines(linecache):
    global _lines_of_cells
    linecache.cache.update(_lines_of_cells)
    _lines_of_cells = linecache.cache


def keep_lines():
    """Tracebacks, warnings and inspect.getsource() find the text of cells in linecache, which a start has no need of."""
    WhenImported("linecache", _give_lines)


def remember(source, name):
    """No time: never stale."""
    lines = [line + "\n" for line in source.split("\n")]
    _lines_of_cells[name] = (len(source), None, lines, name)


def _line_of(name, number):
    lines = _lines_of_cells[name][2] if name in _lines_of_cells else []
    return lines[number - 1] if 0 < number <= len(lines) else None


def without_indent(source, failure):
    """A cell whose first statement is indented, as one copied out of a function is: without that, as notebooks do."""
    lines = source.split("\n")
    number = (failure.lineno or 1) - 1
    if not isinstance(failure, IndentationError) or any(line.split("#")[0].strip() for line in lines[:number]):
        return None
    indent = lines[number][:len(lines[number]) - len(lines[number].lstrip())]
    return "\n".join(line.removeprefix(indent) for line in lines) if indent else None


def makes_tasks(*codes):
    """Whether a cell's own lines make tasks of asyncio, for which a loop has to run as it does in a notebook."""
    names = {name for code in codes if code is not None for part in (code, *_comprehensions(code)) for name in part.co_names}
    return "asyncio" in names and not _MAKES_TASKS.isdisjoint(names) and _RUNS_A_LOOP.isdisjoint(names)


def _comprehensions(code):
    """They are code of their own in most versions of Python."""
    return [one for one in code.co_consts if type(one) is type(code) and one.co_name.startswith("<") and one.co_name != "<lambda>"]


def ends_with_semicolon(source, last):
    """Whether `last`, the last statement, is followed by a semicolon: its value is not wanted."""
    lines = source.split("\n")
    tail = lines[last.end_lineno - 1].encode()[last.end_col_offset:].decode(errors="replace")
    # After the expression come only brackets, comments and semicolons: no string can hold a '#'.
    return any(";" in line.split("#")[0] for line in [tail, *lines[last.end_lineno:]])
