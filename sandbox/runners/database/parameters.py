"""Values of Python as parameters of a query. numpy and pandas are not imported from here: whose values
come has done that."""

import sys

from hutch_runner.data_frames import cell


def converted(parameters, convert):
    """Converts a statement's parameters, for question marks or for names; the engine refuses what is neither."""
    if isinstance(parameters, dict):
        return {name: convert(value) for name, value in parameters.items()}
    return [convert(value) for value in parameters] if isinstance(parameters, (list, tuple)) else parameters


def without_numpy(value):
    """A single value of numpy as Python's, or as pandas' where Python has none so exact."""
    if type(value).__module__ != "numpy" or not hasattr(value, "dtype") or getattr(value, "ndim", 1) != 0:
        return value
    kind, pandas = value.dtype.kind, sys.modules.get("pandas")
    if kind in "mM" and pandas is not None:
        return (pandas.Timestamp if kind == "M" else pandas.Timedelta)(value)
    return float(value) if kind == "f" else value.item()


def for_sqlite(value, among_times=False):
    """Dates as the columns of DataFrames have them, so that they compare: midnight has a time only `among_times`, where no
    column has whole days."""
    value = without_numpy(value)
    if hasattr(value, "total_seconds") or type(value).__name__ in ("NAType", "Decimal"):
        return cell(value)
    if not hasattr(value, "isoformat"):
        return value  # SQLite refuses it where it has no form for it: better than to compare with something else
    text = cell(value)
    return text if among_times or getattr(value, "tzinfo", None) is not None else text.removesuffix(" 00:00:00")
