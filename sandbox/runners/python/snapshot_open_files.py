"""Open files of a session: what a snapshot has of each that a name has, and how it is opened again.

Nothing is created and nothing cut off by that. A file that is gone, or is another one, is told.
"""

import io
import os
import stat

from hutch_runner.snapshot_words import NotKept

_PATH_CHARACTERS_MAX = 60
_PLACE = (1 << 64) - 1  # of a text's position, which may have more
_BUFFERED = (io.BufferedReader, io.BufferedWriter, io.BufferedRandom)


def is_plain(file):
    """Whether it is one of a path, and not what a library reads through it."""
    buffered = file.buffer if type(file) is io.TextIOWrapper else file
    raw = buffered.raw if type(buffered) in _BUFFERED else buffered
    return type(raw) is io.FileIO


def written_places(namespace):
    """In the interpreter, before it forks: by the number of each file that a name has, and that may be written to, where it stands.

    What the code has written is in the file then: a child has a copy of what is not, and would write it as well.
    """
    found = {}
    for value in list(namespace.values()):
        if not isinstance(value, io.IOBase):
            continue
        try:
            if is_plain(value) and not value.closed and value.writable() and stat.S_ISREG(os.fstat(value.fileno()).st_mode):
                value.flush()
                found[id(value)] = value.tell()
        except (OSError, ValueError, AttributeError):
            continue  # there is no room for it, or it is read line by line
    return found


def open_files(namespace, places):
    """In the child, by the number of each open file that a name has: what reopened() needs. Nothing is read, written or moved."""
    found = {}
    for value in list(namespace.values()):
        if not isinstance(value, io.IOBase):
            continue
        try:
            if not is_plain(value) or value.closed:
                continue
            path = os.readlink(f"/proc/self/fd/{value.fileno()}")
            if not path.startswith("/") or not os.path.isfile(path):
                continue
            is_written = value.writable()
            if is_written and id(value) not in places:
                continue
            status = os.stat(path)
            found[id(value)] = (path, _options(value), places[id(value)] if is_written else value.tell(),
                                (status.st_ino,) if is_written else (status.st_size, status.st_mtime_ns))
        except (OSError, ValueError, AttributeError):
            continue
    return found


def _options(file):
    is_text = type(file) is io.TextIOWrapper
    options = {"name": file.name, "mode": file.mode if is_text else _binary(file.mode)}
    if is_text:
        options |= {"encoding": file.encoding, "errors": file.errors, "line_buffering": file.line_buffering, "write_through": file.write_through}
    elif type(file) is io.FileIO:
        options["buffering"] = 0
    return options


def _binary(mode):
    return mode if "b" in mode else mode + "b"


def reopened(path, options, position, was=None):
    """Called by a snapshot. `was`: of one that is only read its size and time, of another its number."""
    try:
        status = os.stat(path)
    except OSError:
        raise NotKept(f"{_short(path)} is gone") from None
    if was and (tuple(was) != (status.st_size, status.st_mtime_ns) if len(was) == 2 else was[0] != status.st_ino):
        raise NotKept(f"{_short(path)} has changed since it was stored: open it again")
    if status.st_size < position & _PLACE:
        raise NotKept(f"{_short(path)} is shorter than it was: open it again")
    options = dict(options)
    name = options.pop("name", path)
    settings = {name: options.pop(name) for name in ("line_buffering", "write_through") if name in options}
    file = open(name if isinstance(name, (str, bytes)) else path, **options, opener=lambda _, flags: _opened(path, flags))
    if settings:
        file.reconfigure(**settings)
    file.seek(position)
    return file


def _short(path):
    return path if len(path) <= _PATH_CHARACTERS_MAX else "..." + path[3 - _PATH_CHARACTERS_MAX:]


def _opened(path, flags):
    return os.open(path, flags & ~(os.O_CREAT | os.O_TRUNC | os.O_EXCL))


def closed_file(is_text):
    file = open(os.devnull, "r" if is_text else "rb")
    file.close()
    return file
