"""Failures as the user should read them: their own frames, named by cell and line."""

import os
import re
import sys

from hutch_runner import frame_runs, imported_files, installs

_MISSING = re.compile(r"Missing optional dependency '(\w+)'|^(\w+) not found, please install it")
_CELL = re.compile(r'(?:File ")?<cell-(\d+)>"?, line ')


def name_of(failure):
    kind = type(failure)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


# Homes on macOS, on Linux but for a session's own, and on Windows.
_OF_A_MACHINE = re.compile(r"/Users/|/home/(?!user/)[^/]+/|[A-Za-z]:[\\/]|/mnt/c/")


def message_of(failure):
    try:
        return _CELL.sub(r"cell \1, line ", str(failure))
    except KeyboardInterrupt:  # it may well be one of the host, to which all of this takes too long
        raise
    except BaseException as inner:
        return f"<its __str__ raised {type(inner).__name__}>"


def format_failure(failure):
    """The traceback as text, ending in a newline."""
    try:
        from hutch_runner import chain_reports  # which needs `traceback`: most runs do not

        text = chain_reports.text_of(failure)
    except Exception as inner:  # exceptions are user objects: anything can be wrong with them
        # Or nothing can be opened any more, and so nothing imported.
        text = (f"{_lines_of(failure)}{name_of(failure)}: {message_of(failure)}\n"
                f"(no more of the traceback: {type(inner).__name__})\n")
    return _CELL.sub(r"cell \1, line ", text) + (
        _way_to_get(failure) or _way_to_await(failure) or _way_to_bring(failure) or _way_to_query(failure) or _way_to_reload(failure))


def _way_to_get(failure):
    """What to do about an import that is missing; empty for any other failure."""
    try:
        package = _missing_module(failure).partition(".")[0]
        if not package.isidentifier() or package in sys.modules or package in sys.stdlib_module_names:
            return ""
    except Exception:  # user objects, as above
        return ""
    wait = installs.what_to_wait_for()
    if wait:
        return f"(this Python has no {package} yet: {wait}; then run this again)\n"
    if "HUTCH_NETWORK" in os.environ:
        return (f"(this Python has no {package}: install_packages installs it, where the session's network policy "
                "allows, under the name that its index has for it)\n")
    own = "`hutch environments build NAME -r requirements.txt`"
    if sys.prefix == "/environment":
        way = f"{own} makes an environment that has it, for create_session's template"
    else:
        way = ("`hutch environments build` gives new sessions what a code interpreter is expected to have, "
               f"{own} what you list")
    return (f"(this Python has no {package}: on the machine that runs hutch {way}, `hutch stdio --packages` lets sessions "
            "install packages; or write its files into /workspace)\n")


def _way_to_bring(failure):
    """What to do about a file of the user's machine; empty for any other failure."""
    try:
        if not isinstance(failure, FileNotFoundError) or not _OF_A_MACHINE.match(os.fsdecode(failure.filename)):
            return ""
    except Exception:  # user objects, as above
        return ""
    return ("(this session sees no files of the user's machine: whoever runs hutch grants a folder, which is at /mnt/NAME then, with "
            "`--mount NAME=PATH`; or the user gives the file's content, for write_file)\n")


def _way_to_query(failure):
    """What to do about a table that language sql has made, and another database of duckdb's does not have."""
    if type(failure).__name__ != "CatalogException" or "duckdb" not in type(failure).__module__ or "Table with name" not in message_of(failure):
        return ""
    return '(tables that run_code made with language sql are in the session\'s database: hutch.sql("SELECT ...") has them, and DataFrames, too)\n'


def _way_to_reload(failure):
    try:
        return imported_files.way_to_reload(failure)
    except Exception:  # user objects, as above
        return ""


def _missing_module(failure):
    """Its name; pandas says it in a failure of its own, which another came before or which its text names."""
    told = _MISSING.search(message_of(failure)) if isinstance(failure, ImportError) else None
    step, seen = failure, set()
    while isinstance(step, ImportError) and id(step) not in seen:
        if isinstance(step, ModuleNotFoundError):
            return step.name
        if step.name is not None:  # a module that is there, and has no such name
            return ""
        seen.add(id(step))
        step = step.__cause__ or step.__context__
    return told[1] or told[2] if told else ""


def _way_to_await(failure):
    """Cells without `await` have no running loop, so that asyncio.run() works in them."""
    if type(failure) is not RuntimeError or message_of(failure) != "no running event loop":
        return ""
    step = failure.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_name == "_run_async" and frame_runs.is_runner(step.tb_frame.f_code.co_filename):
            return ""  # this one awaits: it was another thread
        step = step.tb_next
    return ("(tasks are made in a cell that awaits: add `await ...` to this one, such as `await task` "
            "or `await asyncio.sleep(0)`)\n")


def keep_runner_out_of_warnings():
    """Coroutines that nobody awaited may end in a line of the runner, which is nothing to the user."""
    import warnings
    original = getattr(warnings, "_formatwarnmsg_impl", None)  # what else there is loses warning.source
    if original is None:
        return

    def formatted(warning):
        if frame_runs.is_runner(str(warning.filename)):
            return f"{warning.category.__name__}: {warning.message}\n"
        return original(warning)

    warnings._formatwarnmsg_impl = formatted


def _lines_of(failure):
    lines = ""
    for piece in frame_runs.pieces(failure.__traceback__):
        lines += piece if isinstance(piece, str) else f"  {piece.tb_frame.f_code.co_filename}, line {piece.tb_lineno}\n"
    return lines and "Traceback:\n" + lines
