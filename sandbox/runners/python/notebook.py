"""Gives a cell what IPython adds: magics, !commands, `object?`, get_ipython(), IPython.display.

Cells run without it (cells.py), since importing it takes longer than everything else. It is loaded
when a cell is no Python and looks like its syntax, or when user code imports it. From then on its
shell shares the session's namespace; it translates cells and never runs them itself.
"""

import builtins
import sys

from hutch_runner.imports import WhenImported
from hutch_runner.patterns import Pattern

# No two parts that lie side by side can match the same: in a long cell that would take for ever.
_NAMES = r"(?:\w[\w, ]*=[ \t]*)"
_OF_IPYTHON = Pattern(
    rf"(?m)^[ \t]*(?:{_NAMES}?[%!]|\?|{_NAMES}?[\w%.*\[\]]+(?:\(.*\)[\w.\[\]]*)?\?\??[ \t]*$)")
_COMMANDS = Pattern(rf"(?m)^[ \t]*(?:{_NAMES}?!|%%(?:bash|sh|script)\b)")
_OF_LANGUAGES = Pattern(rf"\s*{_NAMES}?(%%?)(sql|node|javascript|js|typescript|ts)\b")
_LANGUAGES = {"sql": "sql", "ts": "typescript", "typescript": "typescript"}  # javascript for the others
_OF_FIGURES = Pattern(r"(\s*)%(?:matplotlib\b|config\s+InlineBackend\b)")
_OF_PIP = Pattern(r"([ \t]*)(?:python3?[ \t]+-m[ \t]+)?pip3?[ \t]+((?:install|uninstall|list|show|freeze|check|download|index|config|cache)\b.*)")
_INSTALL = "install it on the machine that runs hutch, on Debian and Ubuntu with apt install ipython3"


_asked = None


def get_ipython():
    """The shell, for cells. Libraries find the name, among the builtins, once it is loaded: they ask whether a notebook is there (pandas
    does as it is imported), for which three times the wait is too much; and some look for the name and take a failing call for an error."""
    return _asked()


class Notebook:
    """`show` displays values; `emit_bundle` sends what IPython calls a MIME bundle; `clear` drops outputs."""

    def __init__(self, namespace, show, emit_bundle, clear):
        self.shell = None
        self._namespace = namespace
        self._show = show
        self._emit_bundle = emit_bundle
        self._clear = clear
        self._loading = False
        global _asked
        _asked = self.get_ipython
        namespace["get_ipython"] = get_ipython
        WhenImported("IPython", lambda _module: self.load())

    def get_ipython(self):
        if not self.load():
            raise NameError("name 'get_ipython' is not defined: IPython is missing; " + _INSTALL)
        return self.shell

    def load(self):
        """Whether there is a shell afterwards."""
        if self.shell is None and not self._loading:
            import importlib
            importlib.invalidate_caches()  # it may have been installed just now
            self._loading = True  # IPython, when imported, calls this too
            try:
                from hutch_runner import notebook_shell
                self.shell = notebook_shell.make(self._namespace, self._show, self._emit_bundle, self._clear)
                builtins.get_ipython = get_ipython
            except ImportError:
                return False  # it is not there, or not whole
            finally:
                self._loading = False
        return self.shell is not None

    def translate(self, source, failure):
        """The cell as Python, when it is IPython's language; raises the SyntaxError when it is not."""
        if not any(mark in source for mark in "%!?") or not _OF_IPYTHON.search(source):
            raise failure
        magic = _OF_LANGUAGES.match(source.split("\n")[(failure.lineno or 1) - 1])
        language = _LANGUAGES.get(magic[2], "javascript") if magic else "bash" if _COMMANDS.search(source) else ""
        if not self.load():
            others = f'for {"this" if magic else "commands"} there is language: "{language}"; ' if language else ""
            failure.msg += f" ({others}%magics, !commands and object? need IPython: {_INSTALL})"
            raise failure
        if magic and not self.shell.has_magic(magic[2], "cell" if magic[1] == "%%" else "line"):
            failure.msg += f' (run_code with language: "{language}" runs this, without a magic)'
            raise failure
        return self.shell.transform_cell(source)

    # Around each cell, for extensions such as autoreload; and what magics caught and would have shown.

    def begin(self, source, number):
        if self.shell is not None:
            self.shell.begin_cell(source, number)

    def end(self):
        if self.shell is not None:
            self.shell.end_cell()

    def formatted(self, value):
        """Returns what formatters that user code has registered with IPython make of a value."""
        return {} if self.shell is None else self.shell.formatted(value)


def without_magic_of_figures(source, failure):
    """The cell without the magic that the parser refused, if it is one for figures: they are results already.

    One at a time, and no other: a string may hold the same line."""
    lines, at = source.split("\n"), (failure.lineno or 0) - 1
    magic = _OF_FIGURES.match(lines[at]) if 0 <= at < len(lines) and "%" in lines[at] else None
    if magic is None:
        return None
    lines[at] = magic[1] + "pass"  # it may be all that a block has
    return "\n".join(lines)


def with_magic_of_pip(source, failure):
    """The cell with `pip install x`, where the parser refused that, as what %pip is: IPython takes it for that, too."""
    lines, at = source.split("\n"), (failure.lineno or 0) - 1
    found = _OF_PIP.match(lines[at]) if 0 <= at < len(lines) and "pip" in lines[at] else None
    if found is None:
        return None
    lines[at] = f"{found[1]}get_ipython().run_line_magic('pip', {found[2].strip()!r})"
    return "\n".join(lines)


def is_shown_by_itself(value):
    """Objects that display themselves, with IPython's own functions."""
    return "IPython" in sys.modules and not isinstance(value, type) and hasattr(type(value), "_ipython_display_")
