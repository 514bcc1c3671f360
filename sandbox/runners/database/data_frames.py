"""DataFrames as tables: of this process, or as files that another process wrote."""

import json
import math
import os
import re

from hutch_runner.delimited import INTEGER_MAX
from hutch_runner.files import quoted, unique

ROWS_AT_ONCE = 50_000
_TABLE = "frame"
_ARROW = b"ARROW1"  # the beginning of such a file
_ALL_ROWS = 4_000_000_000
_DAYS, _MOMENTS = "DATE", "TIMESTAMP"
_SHOWN = ("PeriodDtype", "IntervalDtype")
_PANDAS_OWN = ("pandas.period", "pandas.interval")


def as_frame(value):
    """`value` as a DataFrame of pandas whose columns are the table's, or as a table of Arrow; None when it is no table."""
    import sys
    arrow = _as_arrow(sys, value)
    if arrow is not None:
        return arrow
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    if isinstance(value, pandas.Series):
        value = value.to_frame(value.name if value.name is not None else "value")
    elif not isinstance(value, pandas.DataFrame):
        return None
    if any(name is not None for name in value.index.names):
        kept = [level for level, name in enumerate(value.index.names) if name is not None]
        index = value.index.to_frame(index=False)
        index = index[[index.columns[level] for level in kept]]
        names = list(index.columns) + list(value.columns)
        value = pandas.concat([index.reset_index(drop=True), value.reset_index(drop=True)], axis=1)
    else:
        names, value = list(value.columns), value.reset_index(drop=True)
    value.columns = unique("_".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in names)
    return value


def _as_arrow(sys, value):
    """Returns a table of Arrow for what polars or Arrow has, else None."""
    polars, pyarrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None and isinstance(value, getattr(polars, "DataFrame", ())):
        return _of_polars(value)
    if pyarrow is not None and isinstance(value, getattr(pyarrow, "RecordBatch", ())):
        return pyarrow.Table.from_batches([value])
    return value if pyarrow is not None and isinstance(value, getattr(pyarrow, "Table", ())) else None


def _of_polars(frame):
    """By column: the whole is left to polars' threads, and a copy of the process has none."""
    import pyarrow
    return pyarrow.table([frame.get_column(name).to_arrow() for name in frame.columns], names=frame.columns)


class FrameHere:
    """One DataFrame of this process."""

    def __init__(self, frame):
        self._frame = frame

    def fill_sqlite(self, database, table, checked):
        fill_sqlite(database, table, self._frame, checked)

    def fill_duckdb(self, connection, name, _hidden):
        register(connection, name, self._frame)


class FrameFile:
    """A DataFrame that another process has written to a file; the file ends with its reading."""

    def __init__(self, path):
        self._path = path

    def fill_sqlite(self, database, table, checked):
        try:
            if database.in_transaction:
                self._copy_rows(database, table, checked)
                return
            database.execute("ATTACH ? AS hutch_frame", (self._path,))
            try:
                database.execute(f"CREATE TEMP TABLE {quoted(table)} ({_declared(database, 'hutch_frame')})")
                database.execute(f"INSERT INTO temp.{quoted(table)} SELECT * FROM hutch_frame.{_TABLE}")
            finally:
                database.execute("DETACH hutch_frame")
        finally:
            os.unlink(self._path)

    def _copy_rows(self, database, table, checked):
        """Slower: inside a transaction no file can be detached again."""
        import sqlite3
        file = sqlite3.connect(self._path)
        try:
            rows = file.execute(f"SELECT * FROM {_TABLE}")
            database.execute(f"CREATE TEMP TABLE {quoted(table)} ({_declared(file, 'main')})")
            marks = ", ".join("?" * len(rows.description))
            database.executemany(f"INSERT INTO temp.{quoted(table)} VALUES ({marks})", checked(rows))
        finally:
            file.close()

    def fill_duckdb(self, connection, name, hidden):
        try:
            with open(self._path, "rb") as file:
                is_arrow = file.read(len(_ARROW)) == _ARROW
            if is_arrow:
                connection.register(name, _mapped(self._path))
                return
            connection.execute(f"CREATE TEMP TABLE {quoted(hidden)} AS SELECT * FROM read_parquet(?)", [self._path])
            connection.execute(f"CREATE TEMP VIEW {quoted(name)} AS SELECT * FROM temp.{quoted(hidden)}")
        finally:
            os.unlink(self._path)


def _declared(database, schema):
    columns = database.execute("SELECT name, type FROM pragma_table_info(?, ?)", (_TABLE, schema))
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in columns)


def have_times(database, tables):
    """Whether all their columns of dates have moments that are not whole days: then midnight has its time there."""
    kinds = {kind for table in tables
             for kind, in database.execute("SELECT type FROM pragma_table_info(?, 'temp')", (table,))}
    return _MOMENTS in kinds and _DAYS not in kinds


def write_file(frame, kind, path):
    """Writes the file that FrameFile reads."""
    if not len(frame.columns):
        raise ValueError("the DataFrame has no columns")
    if kind == "parquet":
        if _write_arrow(frame, path):
            return
        import duckdb
        connection = duckdb.connect(":memory:")
        register(connection, _TABLE, frame)
        connection.execute("COPY frame TO '" + path.replace("'", "''") + "' (FORMAT parquet)")
        return
    import sqlite3
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA synchronous = OFF")
    database.execute("BEGIN")
    fill_sqlite(database, _TABLE, frame, iter, temporary="")
    database.execute("COMMIT")
    database.close()


# --- SQLite ----------------------------------------------------------------------------------------


def fill_sqlite(database, table, frame, checked, temporary="TEMP"):
    frame = frame if hasattr(frame, "iloc") else frame.to_pandas()
    columns = [Column(frame.iloc[:, i]) for i in range(frame.shape[1])]
    if not columns:
        raise ValueError("the DataFrame has no columns")
    declared = ", ".join(f"{quoted(str(n))} {c.type}" for n, c in zip(frame.columns, columns))
    marks = ", ".join("?" * len(columns))
    where = "temp." if temporary else ""

    def rows():
        for start in range(0, len(frame), ROWS_AT_ONCE):
            yield from zip(*(column.cells(start, start + ROWS_AT_ONCE) for column in columns))

    database.execute(f"CREATE {temporary} TABLE {quoted(table)} ({declared})")
    own = not database.in_transaction
    if own:
        database.execute("BEGIN")
    try:
        database.executemany(f"INSERT INTO {where}{quoted(table)} VALUES ({marks})", checked(rows()))
    finally:
        if own:
            database.execute("COMMIT")


class Column:
    """A column as SQLite values: NaN, NaT and NA are NULL, dates ISO text, durations seconds."""

    def __init__(self, series):
        self._series = series
        kind = getattr(series.dtype, "kind", "O")
        is_numpy = type(series.dtype).__module__.startswith("numpy")
        self._kind = kind if is_numpy else "O"
        self.type = {"b": "INTEGER", "i": "INTEGER", "u": "", "f": "REAL", "m": "REAL"}.get(self._kind, "")
        if self._kind == "M":
            self._unit = _unit_of(series.to_numpy())
            self.type = _DAYS if self._unit == "D" else _MOMENTS

    def cells(self, start, stop):
        part = self._series.iloc[start:stop]
        if self._kind == "i":
            return part.tolist()
        if self._kind == "b":
            return part.astype("int8").tolist()
        if self._kind == "f":
            return [None if value != value else value for value in part.tolist()]
        if self._kind == "m":
            return [None if value != value else value for value in part.dt.total_seconds().tolist()]
        if self._kind == "M":
            import numpy
            texts = numpy.datetime_as_string(part.to_numpy(), unit=self._unit).tolist()
            return [None if text == "NaT" else without_zeros(text.replace("T", " ")) for text in texts]
        return [cell(value) for value in part.astype(object).tolist()]


def _unit_of(values):
    """The coarsest of day, second, microsecond, nanosecond that loses nothing."""
    for unit in ("D", "s", "us"):
        rounded = values.astype(f"datetime64[{unit}]").astype(values.dtype)
        if ((rounded == values) | (values != values)).all():
            return unit
    return "ns"


def without_zeros(moment):
    """Its text without the zeros of a fraction: that of the same moment in a column that has none."""
    return moment.rstrip("0").removesuffix(".") if "." in moment else moment


def cell(value):
    if value is None or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if abs(value) < INTEGER_MAX else str(value)
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if hasattr(value, "total_seconds"):  # first: pandas' Timedelta has an ISO form as well, and NaT is both
        seconds = value.total_seconds()
        return None if seconds != seconds else seconds
    if hasattr(value, "isoformat"):
        return without_zeros(str(value)) if getattr(value, "tzinfo", None) is None else str(value)
    if type(value).__module__ == "decimal" and hasattr(value, "as_tuple"):
        return _number_of(value)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return cell(value.item())
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _number_of(decimal):
    """As text it would sort as one. Of what a float would round, integers that SQLite has stay."""
    if decimal.is_nan():
        return None
    would_round = decimal.is_finite() and 1 << 53 < abs(decimal) < INTEGER_MAX
    return int(decimal) if would_round and decimal == decimal.to_integral_value() else float(decimal)


# --- DuckDB ----------------------------------------------------------------------------------------


def _write_arrow(frame, path):
    """As Arrow's file, which the other process maps: most columns are written as they lie in memory."""
    try:
        import pyarrow
        table = _arrow_of(pyarrow, frame)
        with pyarrow.OSFile(path, "wb") as file, pyarrow.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        return True
    except (ImportError, TypeError, ValueError, NotImplementedError):  # Arrow's too: not there, or without such a type
        return False


def _arrow_of(pyarrow, frame):
    if not hasattr(frame, "iloc"):
        return _with_known_types(pyarrow, frame)
    frame = _with_texts(frame)
    try:
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    except (TypeError, ValueError):  # a column of objects of several kinds, which takes long to find out otherwise
        table = pyarrow.Table.from_pandas(duckdb_ready(frame), preserve_index=False)
    return _with_known_types(pyarrow, table)


def _with_texts(frame):
    """Periods and intervals as pandas shows them: DuckDB knows neither, and Arrow has them as numbers."""
    texts = {}
    for name, kind in zip(frame.columns, frame.dtypes):
        if type(kind).__name__ == "CategoricalDtype" and type(kind.categories.dtype).__name__ in _SHOWN:
            texts[name] = frame[name].cat.rename_categories(_shown(kind.categories))
        elif type(kind).__name__ in _SHOWN:
            texts[name] = type(frame[name])(_texts_of(frame[name]), index=frame.index, dtype=object)
    return frame.assign(**texts) if texts else frame


def _texts_of(series):
    if hasattr(series.array, "closed"):  # whose distinct values take pandas longer to find than all texts
        return [None if is_missing else text for text, is_missing in zip(_shown(series.array), series.isna().tolist())]
    codes, values = series.factorize()
    shown = [*_shown(values), None]  # whose last one is that of the code -1
    return [shown[code] for code in codes.tolist()]


def _shown(values):
    """Returns str() of each value of an index: one by one it takes longer by far."""
    if hasattr(values, "closed"):
        begin, end = "[" if values.closed in ("left", "both") else "(", "]" if values.closed in ("right", "both") else ")"
        return [f"{begin}{left}, {right}{end}" for left, right in zip(values.left, values.right)]
    return values.astype(str).tolist()


def _with_whole_microseconds(frame):
    """Moments of a zone, floored: DuckDB itself would round those before 1970 up."""
    floored = {}
    for name, kind in zip(frame.columns, frame.dtypes):
        if type(kind).__name__ == "DatetimeTZDtype" and getattr(kind, "unit", "ns") == "ns":
            count = frame[name].array.asi8
            if ((count < 0) & (count % 1000 != 0) & ~frame[name].isna().to_numpy()).any():
                floored[name] = frame[name].dt.tz_convert("UTC").dt.floor("us").dt.tz_convert(kind.tz)  # hours that come twice
    return frame.assign(**floored) if floored else frame


def _with_known_types(pyarrow, table):
    """With moments of a zone in microseconds, which DuckDB's functions and its results want, and texts of what pandas alone knows."""
    for i, field in enumerate(table.schema):
        kind = field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
        if getattr(kind, "extension_name", "") in _PANDAS_OWN:
            parts = [_shown_part(pyarrow, part) for part in table.column(i).chunks]
            table = table.set_column(i, field.name, pyarrow.chunked_array(parts, pyarrow.string()))
        elif pyarrow.types.is_timestamp(kind) and kind.tz is not None and kind.unit == "ns":
            table = table.set_column(i, field.name, _floored(pyarrow, table.column(i).cast(kind), kind.tz))
    return table


def _shown_part(pyarrow, part):
    if pyarrow.types.is_dictionary(part.type):
        return _shown_part(pyarrow, part.dictionary).take(part.indices)
    shown = _with_texts(pyarrow.table({"shown": part}).to_pandas())["shown"]
    return pyarrow.array(shown, pyarrow.string(), from_pandas=True)


def _floored(pyarrow, column, zone):
    """In the zone itself hours that come twice could not be told apart."""
    import pyarrow.compute
    floored = pyarrow.compute.floor_temporal(column.cast(pyarrow.timestamp("ns")), unit="microsecond")
    return floored.cast(pyarrow.timestamp("us")).cast(pyarrow.timestamp("us", zone))


def _mapped(path):
    """The table, whose memory the file is; its name may go."""
    import pyarrow
    return pyarrow.ipc.open_file(pyarrow.memory_map(path)).read_all()


def register(connection, name, frame):
    """As a table of DuckDB, which looks at a thousand of a column's objects, and would cast the others to what these are."""
    frame = _with_whole_microseconds(_with_texts(frame)) if hasattr(frame, "iloc") else frame
    if not hasattr(frame, "iloc") or _has_objects(frame):
        try:
            import pyarrow
            frame = _arrow_of(pyarrow, frame)
        except (ImportError, TypeError, ValueError, NotImplementedError):
            frame = duckdb_ready(frame)
            connection.execute(f"SET pandas_analyze_sample = {_ALL_ROWS}")
    connection.register(name, frame)


def _has_objects(frame):
    """Other than text."""
    from pandas.api.types import infer_dtype
    columns = (frame.iloc[:, i] for i in range(frame.shape[1]))
    return any(column.dtype == object and infer_dtype(column) not in ("string", "empty") for column in columns)


def duckdb_ready(frame):
    """The DataFrame with what DuckDB refuses made text: columns whose objects are of several kinds."""
    if not hasattr(frame, "iloc"):
        return frame  # Arrow's columns have one type each
    mixed = {}
    for i, name in enumerate(frame.columns):
        series = frame.iloc[:, i]
        if getattr(series.dtype, "kind", "O") != "O" or type(series.dtype).__name__ == "CategoricalDtype":
            continue
        kinds = {type(v) for v in series.tolist() if v is not None and not (isinstance(v, float) and v != v)}
        if len(kinds) > 1 and not kinds <= {int, float, bool}:
            mixed[name] = [v if v is None else str(v) for v in map(cell, series.tolist())]
    return frame.assign(**mixed) if mixed else frame


_MOMENT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d+)?)?$")


def frame_of_rows(pandas, names, rows, moments):
    """A DataFrame of SQLite's rows. `moments`: names of columns that were dates in a DataFrame."""
    columns = list(zip(*rows)) if rows else [()] * len(names)
    made = [_series(pandas, values, name in moments) for name, values in zip(names, columns)]
    frame = pandas.concat(made, axis=1) if made else pandas.DataFrame()
    frame.columns = names
    return frame


def _series(pandas, values, is_moment):
    values = list(values)
    kinds = set(map(type, values)) - {type(None)}
    if is_moment and kinds == {str} and all(v is None or _MOMENT.match(v) for v in values[:1000]):
        try:
            iso = {"format": "ISO8601"} if int(pandas.__version__.partition(".")[0]) >= 2 else {}
            return pandas.Series(pandas.to_datetime(values, **iso))
        except ValueError:
            pass  # some of it is other text
    if kinds == {int} and None in values:
        # As pandas does it, unless that would round.
        exact = any(value is not None and abs(value) > 1 << 53 for value in values)
        return pandas.Series(values, dtype="Int64" if exact else "float64")
    return pandas.Series(values, dtype=None if kinds and not kinds & {str, bytes} else object)
