"""Runs hutch.sql(): the engine of the session's database, in this process."""

import threading
import warnings

from hutch_runner.data_frames import FrameHere, as_frame, frame_of_rows
from hutch_runner.engine import FrameSource, near_name, open_engine, way_to_frame


class SQLError(Exception):
    """A statement failed; the message says which, and where in it."""


SQLError.__module__ = "hutch"


class VisibleFrames(FrameSource):
    """DataFrames among the variables of whoever called hutch.sql()."""

    def __init__(self):
        self.scopes = ()
        self.moments = set()

    def find(self, name, _check_interrupt):
        for scope in self.scopes:
            if name in scope:
                frame = as_frame(scope[name])
                if frame is not None:
                    if hasattr(frame, "dtypes"):
                        self.moments |= {c for c, kind in frame.dtypes.items() if kind.kind == "M"}
                    return FrameHere(frame)
        return None

    def has(self, name):
        value = next((scope[name] for scope in self.scopes if name in scope), None)
        return any(kind.__name__ in ("DataFrame", "Table") and kind.__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")
                   for kind in type(value).__mro__)

    def why_missing(self, name):
        for scope in self.scopes:
            if name in scope:
                kind = type(scope[name]).__name__
                return f"; and the variable {name} is no DataFrame, but of type {kind}{way_to_frame(name, kind)}"
        return near_name(name, map(str, filter(self.has, sum(map(list, self.scopes), [])))) or "; and no DataFrame of that name"


_frames = VisibleFrames()
_one_at_a_time = threading.RLock()
_engine = None


def prepare():
    global _engine
    __import__("pandas")
    if _engine is None:
        _engine = open_engine(lambda _kind: _frames)
        _engine.has_intervals_beside = True


def run(interrupts, query, parameters, *scopes):
    if not isinstance(query, str):
        raise TypeError(f"the query must be a string, not {type(query).__name__}")
    with _one_at_a_time:
        if _frames.scopes:
            raise SQLError("hutch.sql() inside of itself: a DataFrame's own methods called it")
        # An exception raised inside the engine is lost there, or leaves it running: the engine stops
        # itself. Only the main thread gets signals.
        before, main = interrupts.instead, threading.current_thread() is threading.main_thread()
        if main:
            interrupts.instead = _interrupt
        _frames.scopes, _frames.moments = scopes, set()
        try:
            _engine.begin()
            result = _run(query, parameters)
            _engine.check_interrupt()
            for note in _engine.take_notes():
                warnings.warn(note, stacklevel=3)
            return result
        finally:
            _engine.interrupted = False
            _frames.scopes = ()
            _engine.end()
            if main:
                interrupts.instead = before


def _interrupt(_frame):
    _engine.interrupt()
    return True


def _run(query, parameters):
    import pandas

    result, statement = None, None
    try:
        statements = list(_engine.statements(query))
        if parameters and len(statements) != 1:
            raise ValueError("parameters need a single statement")
        for statement in statements:
            answer = _engine.execute(statement, parameters)
            result = None if answer.rows is None else _frame_of(pandas, answer)
            answer.close()
    except _engine.errors as error:
        if _engine.interrupted:
            raise KeyboardInterrupt from None
        place = _engine.place_of(error, statement)
        raise SQLError(f"{_engine.message_of(error)}\n{place}".rstrip()) from None
    return result


def _frame_of(pandas, answer):
    if hasattr(answer.rows, "df"):
        from hutch_runner import intervals
        return _with_integers(intervals.chosen_of(answer.rows.df(), answer.columns), answer.columns)
    names = [name for name, _ in answer.columns]
    return frame_of_rows(pandas, names, answer.rows.fetchall(), _frames.moments)


def _with_integers(frame, columns):
    """sum() of integers is a HUGEINT, which DuckDB makes a float: an integer again, where it is exact."""
    for i, (_, kind) in enumerate(columns):
        values = frame.iloc[:, i] if kind == "HUGEINT" else None
        if values is not None and values.notna().all() and (values.abs() <= 1 << 53).all():
            frame.isetitem(i, values.astype("int64"))
    return frame
