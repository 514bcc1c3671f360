"""Large frames of polars in a snapshot: as Arrow's buffers, which the next Python maps. Small ones are as polars pickles them, a copy."""

import sys

LARGE_BYTES = 16 << 20  # below, importing pyarrow takes longer than the copy
_SHARE_MAX = 3  # buffers as large as so many of it are those of a frame that it is a part of
_SAME_IN_ARROW = {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64", "Boolean", "String", "Binary",
                  "Date", "Datetime", "Duration", "Time"}


def reduced(value):
    """How pickle makes it again; None: as the library has it. The writer has none of the threads of polars, which parts of frames would need."""
    polars = sys.modules.get("polars")
    kinds = tuple(filter(_is_of_polars, (getattr(polars, "DataFrame", None), getattr(polars, "Series", None))))
    if type(value) not in kinds:
        return None
    is_series = type(value) is polars.Series
    frame = value.to_frame() if is_series else value
    is_same = all(type(column.dtype).__name__ in _SAME_IN_ARROW or getattr(column.dtype, "__name__", "") in _SAME_IN_ARROW for column in frame.iter_columns())
    if not is_same or frame.estimated_size() < LARGE_BYTES or any(column.n_chunks() != 1 for column in frame.iter_columns()):
        return None
    try:
        table = frame.to_arrow(compat_level=polars.CompatLevel.newest())
    except Exception:  # pyarrow is not here, or one of another version
        return None
    if table.get_total_buffer_size() > _SHARE_MAX * frame.estimated_size():
        return None
    return frame_of_arrow, (table, is_series, frame.columns)


def _is_of_polars(kind):
    """And not of a module of the user's that is called so."""
    return isinstance(kind, type) and str(kind.__module__).startswith("polars.")


def frame_of_arrow(table, is_series, columns=None):
    """Called by a snapshot. `columns`: their names, one of which may be "", where it was stored with them."""
    import polars

    frame = polars.from_arrow(table, rechunk=False)
    if columns is not None:
        frame.columns = columns
    return frame.to_series(0) if is_series else frame
