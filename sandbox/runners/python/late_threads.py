"""Threads that earlier cells have left: what they print comes in between the output of this run, and is marked as theirs.

Threads of pools outlive runs, too, and work for whichever has asked: there it is the job that is of a run. Nothing of the
library is watched before a thread has outlived a run.
"""

import sys
from _thread import get_ident
from functools import partial
from time import monotonic
from types import BuiltinFunctionType, FunctionType, MethodType

from hutch_runner import frame_runs
from hutch_runner.standard_modules import loaded
from hutch_runner.streams import Stream

# They work for whatever run is on: progress bars, the processes of pools and what comes back from them, logs, an event loop.
_FOR_ALL_RUNS = (
    ("tqdm._monitor", "TMonitor"), ("multiprocessing.pool", "Pool._handle_workers"), ("multiprocessing.pool", "Pool._handle_tasks"),
    ("multiprocessing.pool", "Pool._handle_results"), ("concurrent.futures.process", "_ExecutorManagerThread"),
    ("logging.handlers", "QueueListener._monitor"), ("asyncio.base_events", "BaseEventLoop.run_forever"))
# Functions of libraries that code of the user's gives to a thread; what libraries start for themselves has other names.
_SERVING = {"loop_forever", "mainloop", "run", "run_app", "run_simple", "run_until_complete", "serve", "serve_forever", "start"}
_METHODS_OF_POOLS = ("apply_async", "_map_async", "imap", "imap_unordered")  # their first argument is a function

_SOON_SECONDS = 0.003  # so long a thread may take for its begin, or for its end where it has nothing left to do
_PARTIALS_MAX = 10
_TOLD_MOST = 3
_NAME_CHARACTERS_MAX = 60

_RUN = "run_of_hutch"  # the run's id, in a thread that has outlived its run or that such a one has started
_jobs = {}  # the run that has asked for what a thread does now, by the number of the thread
_within = set()  # who is within a line: stream and thread
_threads = {}  # the threads of `threading`, by number; it is that module's own
_watched = set()  # names of modules
_now = [""]  # the run that is on
_given = [False]  # whether it has asked a pool for something


class _Marking(Stream):
    """A stream while there are such threads."""

    def write(self, text):
        run = _run_of(get_ident())
        if run == _now[0] or not isinstance(text, str) or not text:
            return super().write(text)
        mark = f"[thread of {run}] "
        place = (id(self), get_ident())
        lines = text.split("\n")
        first = lines[0] if place in _within or not lines[0] else mark + lines[0]
        super().write("\n".join([first, *(line and mark + line for line in lines[1:])]))
        _within.discard(place) if text.endswith("\n") else _within.add(place)
        return len(text)


class LateThreads:
    def __init__(self, streams):
        self._streams = streams

    def run_begins(self, run_id):
        _now[0] = run_id
        _within.clear()
        self._streams.become(_Marking if any(map(_late_run, list(_threads.values()))) else Stream)

    def run_is_over(self, run_id):
        """Returns which threads of the run go on, in words; empty where none does."""
        threading = loaded("threading")
        if threading is None or threading.active_count() == 1:
            return ""
        late = [thread for thread in threading.enumerate() if _is_of_a_run(thread, threading)]
        if not late:
            return ""
        was_given, _given[0] = _given[0], False
        if was_given or any(_RUN not in _own_of(thread) for thread in late):
            _let_end(late, threading)
        # The thread of a pool may be of an earlier run, and its job of this one.
        of_run = [thread for thread in late if _own_of(thread).setdefault(_RUN, run_id) == run_id or _jobs.get(_number_of(thread)) == run_id]
        _watch(threading)
        try:
            return _note_of(of_run, run_id) if of_run else ""
        except Exception:  # threads are user objects too
            return ""


def _let_end(threads, threading):
    """Waits for those that have nothing left to do, and lets the others begin."""
    deadline = monotonic() + _SOON_SECONDS
    for thread in threads:
        try:
            threading.Thread.join(thread, max(0, deadline - monotonic()))
        except RuntimeError:
            pass  # it has not begun


def of_user(threads):
    """Leaves out those that a library keeps for itself, as for a job that may come."""
    frames = sys._current_frames()
    try:
        return [thread for thread in threads if _is_given_by_user(thread) or _runs_code_of_user(frames.get(_number_of(thread)))]
    finally:
        frames.clear()  # This function's own is among them: all would be kept by it.


def names_in_words(threads):
    names = [" ".join(str(thread.name).split()) for thread in threads[:_TOLD_MOST]]
    cut = [name if len(name) <= _NAME_CHARACTERS_MAX else name[:_NAME_CHARACTERS_MAX - 3] + "..." for name in names]
    more = f" and {len(threads) - _TOLD_MOST} more" if len(threads) > _TOLD_MOST else ""
    return ", ".join(cut) + more


def _note_of(threads, run_id):
    threads = of_user([thread for thread in threads if thread.is_alive()])
    if not threads:
        return ""
    one = len(threads) == 1
    whose = "a thread of this run goes on" if one else f"{len(threads)} threads of this run go on"
    return (f"{whose}: {names_in_words(threads)}; what {'it prints' if one else 'they print'} comes in the output of the run that is on then, "
            f"marked [thread of {run_id}], or of the last one, which get_run gives")


def _is_given_by_user(thread):
    own = _own_of(thread)
    given = [_function_of(works) for works in (own.get("_target"), own.get("function")) if works is not None]  # the second is a timer's
    return (any(isinstance(works, BuiltinFunctionType) or getattr(works, "__name__", "") in _SERVING for works in given)
            or any(_is_code_of_user(getattr(works, "__code__", None)) for works in (*given, type(thread).run)))


def _function_of(works):
    for _ in range(_PARTIALS_MAX):  # one may be of itself
        works = works.func if isinstance(works, partial) else works
    if isinstance(works, MethodType):
        return works.__func__
    return works if isinstance(works, (FunctionType, BuiltinFunctionType)) else getattr(type(works), "__call__", None)


def _runs_code_of_user(frame):
    while frame is not None:
        if _is_code_of_user(frame.f_code):
            return True
        frame = frame.f_back
    return False


def _is_code_of_user(code):
    file = code.co_filename if code is not None else "<"
    if file.startswith("<"):  # libraries make code, too
        return file.startswith("<cell-")
    return not frame_runs.is_library(file) and not frame_runs.is_runner(file)


def _is_of_a_run(thread, threading):
    """A thread that `threading` has not started never ends for it, and its number may be another one's by now."""
    if thread is threading.main_thread() or isinstance(thread, threading._DummyThread):
        return False
    works = getattr(thread, "_target", None)
    works = works.__func__ if type(works) is MethodType else type(thread) if works is None else works
    if type(works) not in (type, FunctionType):  # any object, which may not like to be asked
        return True
    return (works.__module__, works.__qualname__) not in _FOR_ALL_RUNS


def _run_of(number):
    """Gives the run that is on for a thread of which nothing is known: it is of that one, or nobody's."""
    return _jobs.get(number) or _late_run(_threads.get(number)) or _now[0]


def _own_of(thread):
    """Gives the members of a thread, whose class may have ways of its own to look them up."""
    return object.__getattribute__(thread, "__dict__")


def _number_of(thread):
    number = _own_of(thread).get("_ident")
    return number if type(number) is int else None


def _late_run(thread):
    return None if thread is None else _own_of(thread).get(_RUN)


def _watch(threading):
    """From here on jobs have the run that asks for them. Those from before have that of their thread, which is theirs."""
    global _threads
    for name, watch in (("threading", _watch_starts), ("concurrent.futures.thread", _watch_executors), ("multiprocessing.pool", _watch_pools)):
        module = loaded(name)
        if module is not None and name not in _watched:
            _watched.add(name)
            watch(module)
    _threads = threading._active


def _watch_starts(threading):
    original = threading.Thread.start

    def start(self):
        run = _run_of(get_ident())
        if run != _now[0]:
            _own_of(self)[_RUN] = run
        try:
            original(self)
        except BaseException:
            _own_of(self).pop(_RUN, None)
            raise

    threading.Thread.start = _named_like(start, original)


def _watch_executors(thread):
    begin, run = thread._WorkItem.__init__, thread._WorkItem.run

    def begin_of_run(self, *arguments, **options):
        begin(self, *arguments, **options)
        self.run_of_hutch = _run_of(get_ident())
        _given[0] = True

    def run_as_of_run(self, *arguments):
        job, asked_by = [self], getattr(self, "run_of_hutch", None)
        del self  # a failure would lead from here back to itself
        _do(asked_by, lambda: run(job.pop(), *arguments))

    thread._WorkItem.__init__ = _named_like(begin_of_run, begin)
    thread._WorkItem.run = _named_like(run_as_of_run, run)


def _watch_pools(pools):
    def watched(original):
        def method(self, func, *arguments, **options):  # as it is called there: some give it by that name
            asked_by = _run_of(get_ident())
            _given[0] = True

            def job(*given, **named):
                return _do(asked_by, lambda: func(*given, **named))

            return original(self, job, *arguments, **options)

        return _named_like(method, original)

    for name in _METHODS_OF_POOLS:
        setattr(pools.ThreadPool, name, watched(getattr(pools.ThreadPool, name)))


def _do(asked_by, job):
    number = get_ident()
    before = _jobs.get(number)
    _jobs[number] = asked_by
    try:
        return job()
    finally:
        _jobs.pop(number, None) if before is None else _jobs.update({number: before})


def _named_like(function, original):
    function.__name__, function.__qualname__, function.__doc__ = original.__name__, original.__qualname__, original.__doc__
    function.__module__, function.__wrapped__ = original.__module__, original
    return function
