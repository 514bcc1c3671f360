"""IPython's shell as this session has it. Importing this imports IPython."""

import ast
import builtins
import linecache
import os
import subprocess
import sys

import IPython.core.display_functions
import IPython.display
from IPython.core import pylabtools
from IPython.core.compilerop import CachingCompiler
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell
from IPython.utils.text import LSString, SList
from traitlets.config import Config


# A cell finds the same under these names with and without IPython.
_NAMES_NOT_TAKEN = ("_", "__", "___", "exit", "quit", "open", "In", "Out")


class Publisher(DisplayPublisher):
    emit_bundle = clear = None

    def publish(self, data, metadata=None, source=None, *_arguments, transient=None, update=False, **_options):
        type(self).emit_bundle(data, (transient or {}).get("display_id"), update)

    def clear_output(self, wait=False):
        type(self).clear(wait)


class Compiler(CachingCompiler):
    """Names code that %time runs by the lines of its cell."""

    cell = ""
    is_magic = False  # whether the cell begins with %%

    def __call__(self, source, filename, symbol):
        if filename.startswith("<timed") and isinstance(source, ast.AST):
            frame = sys._getframe()
            while frame is not None and frame.f_code.co_filename != self.cell:
                frame = frame.f_back
            if frame is not None:
                # The body of a cell magic begins in the line after it.
                ast.increment_lineno(source, frame.f_lineno - (0 if self.is_magic else 1))
                filename = self.cell
        return super().__call__(source, filename, symbol)


class Shell(InteractiveShell):
    """Magics that catch an exception call showtraceback(): the cell then fails with it."""

    caught = None

    def showtraceback(self, *_arguments, **_options):
        self.caught = sys.exc_info()[1]

    showsyntaxerror = showindentationerror = showtraceback

    def system(self, cmd):
        """Straight to the streams of the run: no terminal is in between."""
        self.user_ns["_exit_code"] = subprocess.call(
            self.var_expand(cmd, depth=1), shell=True, executable="/bin/bash")

    def getoutput(self, cmd, split=True, depth=0):
        done = subprocess.run(self.var_expand(cmd, depth=depth + 1), shell=True, executable="/bin/bash",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        return SList(done.stdout.splitlines()) if split else LSString(done.stdout)

    def reset(self, *arguments, **options):
        """%reset too, which would put names of IPython's own into the namespace again."""
        super().reset(*arguments, **options)
        for name in _NAMES_NOT_TAKEN:
            self.user_ns.pop(name, None)

    def enable_matplotlib(self, gui=None):
        return "inline", "agg"  # figures are results already

    def enable_gui(self, gui=None):
        pass

    def begin_cell(self, source, number):
        self.caught = None
        self.execution_count = number
        self.compile.cell = f"<cell-{number}>"
        self.compile.is_magic = source.lstrip().startswith("%%")
        self._remember_cells(number)
        self.events.trigger("pre_execute")
        self.events.trigger("pre_run_cell", ExecutionInfo(source, False, True, True, None))

    def _remember_cells(self, number):
        """%history, %save and %macro have the code of all cells, of those before IPython was loaded too."""
        history = self.history_manager
        for at in range(len(history.input_hist_raw), number + 1):
            source = "".join(linecache.getlines(f"<cell-{at}>")).removesuffix("\n")
            history.input_hist_raw.append(source)
            history.input_hist_parsed.append(source)

    def has_magic(self, name, kind):
        """Not counted is what the browser of a notebook would run."""
        return name not in ("javascript", "js") and self.find_magic(name, kind) is not None

    def end_cell(self):
        self.events.trigger("post_execute")
        caught, self.caught = self.caught, None
        if caught is not None:
            raise caught

    def formatted(self, value):
        """Only of formatters that were registered: what the value offers itself is known already."""
        found = {}
        for mime_type, formatter in self.display_formatter.formatters.items():
            if mime_type == "text/plain" or not _is_registered(formatter, value):
                continue
            content = formatter(value)
            if content is not None:
                found[mime_type] = content
        return found


def _is_registered(formatter, value):
    kinds = type(value).__mro__
    return any(kind in formatter.type_printers or (kind.__module__, kind.__name__) in formatter.deferred_printers
               for kind in kinds)


def make(namespace, show, emit_bundle, clear):
    config = Config()
    config.HistoryManager.enabled = False  # no file, no thread
    config.InteractiveShell.automagic = False
    if hasattr(Shell, "enable_tip"):  # it warns of names that its version does not have
        config.InteractiveShell.enable_tip = False
    Publisher.emit_bundle, Publisher.clear = staticmethod(emit_bundle), staticmethod(clear)
    folder = os.environ.get("IPYTHONDIR") or os.path.join(
        os.environ.get("HUTCH_STATE_DIR", "/run/hutch/state"), "ipython")
    module = sys.modules["__main__"]
    excepthook = sys.excepthook
    before = {name: namespace[name] for name in _NAMES_NOT_TAKEN if name in namespace}
    shell = Shell.instance(config=config, user_module=module, user_ns=namespace, ipython_dir=folder,
                           display_pub_class=Publisher, compiler_class=Compiler)
    sys.excepthook = excepthook
    for name in _NAMES_NOT_TAKEN:
        namespace.pop(name, None)
    namespace.update(before)
    shell.colors = "NoColor" if IPython.version_info < (9,) else "nocolor"
    if not hasattr(pylabtools, "backend2gui"):
        pylabtools.backend2gui = {}  # a matplotlib before 3.9 asks an IPython after 8.23 for it
    _accept_inline_options(shell)
    _replace_display(show)
    return shell


def _accept_inline_options(shell):
    """`%config InlineBackend.figure_format = 'retina'` is in many notebooks."""
    try:
        from matplotlib_inline.config import InlineBackend
        backend = InlineBackend.instance(parent=shell)
    except Exception:  # not there, or not for this matplotlib
        return
    backend.shell = shell
    shell.configurables.append(backend)


def _replace_display(show):
    """IPython.display.display() gives what display() gives: tables and charts with their data."""
    original = IPython.core.display_functions.display

    def display(*values, **options):
        if not set(options) <= {"display_id", "update", "clear"}:
            return original(*values, **options)
        return show(*values, **options)

    display.__doc__ = original.__doc__
    # IPython has put its own among the builtins.
    IPython.core.display_functions.display = IPython.display.display = builtins.display = display
