"""Failures as the user should read them: their own frames, named by cell and line."""

from hutch_runner import frame_runs, ways_out


def name_of(failure):
    kind = type(failure)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def message_of(failure):
    try:
        return _with_cells_named(str(failure))
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
    return _with_cells_named(text) + ways_out.way_out_of(failure, message_of(failure))


def _with_cells_named(text):
    """`File "<cell-3>", line 1` as `cell 3, line 1`. Without a pattern: nothing may be imported any more, as no file can be opened."""
    before, *pieces = text.split("<cell-")
    for piece in pieces:
        number, _, rest = piece.partition(">")
        if number.isdecimal() and rest.startswith((", line ", '", line ')):
            before = before.removesuffix('File "') + f"cell {number}" + rest.removeprefix('"')
        else:
            before = f"{before}<cell-{piece}"
    return before


def keep_runner_out_of_warnings():
    """Coroutines that nobody awaited may end in a line of the runner, which is nothing to the user."""
    import warnings
    original = getattr(warnings, "_formatwarnmsg_impl", None)  # all other ways lose warning.source
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
