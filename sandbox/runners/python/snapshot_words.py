"""Says why a value has no place in a snapshot, and what to do about that: for who reads the note, and may make it again."""

import sys

REASON_CHARACTERS_MAX = 120
# They say what to do about a kind, by the names of its types; a subclass has the kind of its base.
_KINDS = {
    "open it again": ("io.IOBase", "sqlite3.Connection", "duckdb.DuckDBPyConnection", "sqlalchemy.engine.base.Engine", "sqlalchemy.orm.session.Session",
                      "cv2.VideoCapture", "cv2.VideoWriter", "h5py._hl.files.File", "zipfile.ZipFile", "tarfile.TarFile", "shelve.Shelf",
                      "tempfile._TemporaryFileWrapper", "multiprocessing.connection._ConnectionBase", "select.poll", "select.epoll",
                      "selectors.BaseSelector", "logging.Handler", "_io._IOBase", "_gdbm.gdbm", "_dbm.dbm"),
    "connect it again": ("_socket.socket", "ssl.SSLObject", "http.client.HTTPConnection", "smtplib.SMTP", "ftplib.FTP", "imaplib.IMAP4"),
    "run its query again": ("sqlite3.Cursor", "sqlite3.Row", "duckdb.DuckDBPyRelation", "_duckdb.DuckDBPyRelation", "sqlalchemy.engine.result.Result"),
    "start it again": ("threading.Thread", "_thread._ThreadHandle", "subprocess.Popen", "multiprocessing.process.BaseProcess", "_asyncio.Task",
                       "asyncio.tasks.Task", "_asyncio.Future", "asyncio.futures.Future", "concurrent.futures._base.Future", "asyncio.base_events.Server",
                       "socketserver.BaseServer", "asyncio.subprocess.Process"),
    "make it again": ("_thread.lock", "_thread.RLock", "_thread._local", "threading.Condition", "threading.Event", "threading.Semaphore", "threading.Barrier",
                      "multiprocessing.synchronize.SemLock", "multiprocessing.pool.Pool", "concurrent.futures._base.Executor", "ssl.SSLContext",
                      "_ssl._SSLContext", "httpx.Client", "httpx.AsyncClient", "httpx._client.BaseClient", "aiohttp.client.ClientSession",
                      "weakref.ReferenceType", "weakref", "ReferenceType", "weakref.finalize", "tempfile.TemporaryDirectory", "_contextvars.Context",
                      "_contextvars.ContextVar", "_contextvars.Token", "Context", "ContextVar", "Token", "_hashlib.HASH"),
    "make it again, with what was in it": ("queue.Queue", "_queue.SimpleQueue", "multiprocessing.queues.Queue", "multiprocessing.queues.SimpleQueue",
                                           "asyncio.queues.Queue"),
    "call again what made it": ("generator", "async_generator", "coroutine", "async_generator_asend", "coroutine_wrapper"),
    "make it again, over its file": ("_csv.reader", "_csv.writer"),
    "map it again": ("mmap.mmap", "numpy.memmap"),
    "take it again of its figure": ("matplotlib.backend_bases.FigureCanvasBase", "matplotlib.backends._backend_agg.RendererAgg"),
    "get it again: asyncio.get_event_loop()": ("asyncio.events.AbstractEventLoop",),
    "parse its source again": ("lxml.etree._Element", "lxml.etree._ElementTree", "ast.AST", "pyexpat.xmlparser"),
    "it went with the run that it was of": ("frame", "traceback"),
}
_TO_DO = {name: words for words, names in _KINDS.items() for name in names}
# They are for libraries that are not named here, by how the names of such classes end.
_ENDINGS = (("Connection", "open it again"), ("Engine", "open it again"), ("Cursor", "run its query again"), ("Relation", "run its query again"),
            ("Socket", "connect it again"), ("WebSocket", "connect it again"), ("Lock", "make it again"),
            ("Pool", "make it again"), ("Client", "make it again"), ("ClientSession", "make it again"), ("Executor", "make it again"),
            ("EventLoop", "make it again"), ("Loop", "make it again"), ("Thread", "start it again"), ("Process", "start it again"),
            ("Popen", "start it again"), ("Task", "start it again"), ("Server", "start it again"), ("Canvas", "take it again of its figure"),
            ("_iterator", "make it again"), ("Iterator", "make it again"))
_SAID_BY_PICKLE = ("cannot pickle", "can't pickle", "Can't pickle", "cannot be pickled", "not picklable", "can't be pickled", "Pickling of", "cannot serialize")


class NotKept(Exception):
    """Why a value has no place in a snapshot, in words for who reads the note."""


class OutOfTime(BaseException):
    """As NotKept, and no code of the user's takes it for a failure of its own."""


def type_name(value):
    return _name_of(type(value))


def _name_of(kind):
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"


def why_not_stored(value, failure, culprit):
    """`culprit`: what was being pickled, of all that the value has, as it failed."""
    if isinstance(failure, (NotKept, OutOfTime)):
        return reason_of(failure)
    to_do = _to_do(value)
    if to_do:
        return to_do
    if isinstance(failure, RecursionError) or "recursion" in reason_of(failure):  # cloudpickle has another error for it
        return "it is nested too deep to be stored: make it again"
    if isinstance(failure, MemoryError):
        return "there was no memory left to store it: make it again"
    if culprit is not None and culprit is not value and (_to_do(culprit) or _is_of_pickle(failure)):
        return _cut(f"it has a {_kind_in_words(culprit)}, which ends with its process: make it again")
    if _is_of_pickle(failure):
        return "values of this type end with their process: make it again"
    return _cut(f"storing it failed ({_in_words(failure)})", ": make it again")


def why_not_read(failure, versions=""):
    """`versions`: who stored it where that is another than who reads it."""
    if isinstance(failure, NotKept):
        return reason_of(failure)
    before = f"{versions}: " if versions else ""
    if isinstance(failure, (ImportError, MemoryError)):
        return _cut(before + reason_of(failure))
    return _cut(f"{before}reading it failed ({_in_words(failure)})", ": make it again")


def reason_of(failure):
    try:
        text = str(failure).splitlines()[0] if str(failure) else type(failure).__name__
    except BaseException:  # the user's __str__() may raise anything
        text = type(failure).__name__
    return text[:REASON_CHARACTERS_MAX]


def _in_words(failure):
    name, text = type(failure).__name__, reason_of(failure)
    return name if text == name else f"{name}: {text}"


def _cut(text, end=""):
    room = REASON_CHARACTERS_MAX - len(end)
    return (text if len(text) <= room else text[:room - 3] + "...") + end


def _kind_in_words(value):
    """Without the module where most know it without."""
    name = type_name(value)
    return {"_thread.lock": "lock", "_thread.RLock": "lock"}.get(name, name)


def _to_do(value):
    for kind in type(value).__mro__[:-1]:
        name = _name_of(kind)
        if name in _TO_DO:
            return _TO_DO[name]
    name = type(value).__name__
    if type(value).__module__ == "__main__":
        return ""  # a class of the code's, which may be called like one
    return next((words for end, words in _ENDINGS if name.endswith(end)), "")


def _is_of_pickle(failure):
    pickle = sys.modules.get("pickle")
    text = reason_of(failure)
    return pickle is not None and isinstance(failure, pickle.PicklingError) or any(words in text for words in _SAID_BY_PICKLE)
