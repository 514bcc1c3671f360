"""Libraries that expect what a session has not: tqdm the widgets of a notebook, Flask a file to start anew, pandas a terminal, vl_convert fonts of other systems."""

import functools
import os
import sys

from hutch_runner.imports import WhenImported

COLUMNS = 200  # characters, as in tables of values


def watch():
    for module in ("pandas.io.formats.format", "pandas.io.formats.string"):
        WhenImported(module, _as_wide_as_values)
    WhenImported("vl_convert", _with_fonts)
    WhenImported("tqdm.notebook", _with_bars_of_text)
    WhenImported("werkzeug.serving", _without_reloader)


def _as_wide_as_values(module):
    """print(frame) has as many columns as there is room for: in a terminal of 80 characters, which a session has not, few."""
    if not hasattr(module, "get_terminal_size"):
        return  # it is another version

    usual = module.get_terminal_size

    def get_terminal_size(fallback=(COLUMNS, 24)):
        return usual(fallback) if "COLUMNS" in os.environ else os.terminal_size(fallback)

    module.get_terminal_size = get_terminal_size


def _with_fonts(vl_convert):
    from hutch_runner import vector_fonts

    vector_fonts.take(vl_convert)


def _with_bars_of_text(notebook):
    """Its bars refuse to be made where ipywidgets is missing."""
    from tqdm import std

    if getattr(notebook, "IProgress", None) is None:
        notebook.tqdm = notebook.tqdm_notebook = std.tqdm


def _without_reloader(serving):
    """It would start this interpreter's own program a second time, which is no program of the user's."""
    run_simple = serving.run_simple

    @functools.wraps(run_simple)
    def without_reloader(*arguments, **options):
        if options.get("use_reloader"):
            options["use_reloader"] = False
            sys.stderr.write("(serving without the reloader, which starts a file anew, and a cell is none: "
                             "after a change run the cell again)\n")
        return run_simple(*arguments, **options)

    serving.run_simple = without_reloader
