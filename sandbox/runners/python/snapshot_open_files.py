"""Open files of a session: what a snapshot has of each that a name has, and how it is opened again.

Nothing is created and nothing cut off by that. A file that is gone, or is another one, is told.
"""

import _thread
import io
import os
import stat

from hutch_runner.snapshot_words import NotKept

_PATH_CHARACTERS_MAX = 60
_PLACE = (1 << 64) - 1  # the bits of a text's position that are its place: it may have more
_LINES = "a\nb\rc\r\n"  # which each newline of open() divides in its own way
_LINES_BYTES_MAX = 100
_NEWLINES = (None, "", "\n", "\r", "\r\n")
_LOOKED_AT_BYTES_MAX = 16 << 20
_BUFFERED = (io.BufferedReader, io.BufferedWriter, io.BufferedRandom)


def is_plain(file):
    """Whether it is one of a path, and not what a library reads through it."""
    buffered = file.buffer if type(file) is io.TextIOWrapper else file
    raw = buffered.raw if type(buffered) in _BUFFERED else buffered
    return type(raw) is io.FileIO


def places(namespace):
    """In the interpreter, before it forks, as a child's files stand where its parent's do: by the number of each file that a name has where it
    stands, its size and time, and whether no thread may be using it.

    What the code has written is in the file then: a child has a copy of what is not, and would write it as well.
    """
    files = [value for value in list(namespace.values()) if isinstance(value, io.IOBase)]
    written = {id(file): _place_and_flush(file) for file in files}
    found, is_alone = {}, _thread._count() == 0
    for file in files:  # once all is written, as two may be of one path
        place = _place(file)
        try:
            if place is not None and (not file.writable() or place == written[id(file)]):  # else a thread writes to it
                status = os.fstat(file.fileno())
                found[id(file)] = (place, status.st_size, status.st_mtime_ns, is_alone)
        except (OSError, ValueError):
            continue  # a thread has closed it
    return found


def _place_and_flush(file):
    """It is asked for first: in the midst of an iteration it cannot be known, and would be a wrong one behind flush()."""
    try:
        if not is_plain(file) or file.closed or not file.writable() or not _is_regular(file):
            return None
        place = _place(file)
        file.flush()
        return place
    except (OSError, ValueError, AttributeError):
        return None  # there is no room for it


def _place(file):
    try:
        return file.tell() if is_plain(file) and not file.closed and _is_regular(file) else None
    except (OSError, ValueError, AttributeError):
        return None  # it is read line by line


def _is_regular(file):
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def open_files(namespace, places):
    """In the child, by the number of each open file that a name has: what reopened() needs. No file is read by it, written or moved, and those
    of text are no longer open in the child."""
    found, texts = {}, []
    for value in list(namespace.values()):
        if not isinstance(value, io.IOBase):
            continue
        try:
            if not is_plain(value) or value.closed:
                continue
            path = os.readlink(f"/proc/self/fd/{value.fileno()}")
            if not path.startswith("/") or not os.path.isfile(path):
                continue
            if id(value) not in places:
                continue
            place, size, time_ns, is_alone = places[id(value)]
            if type(value) is io.TextIOWrapper:
                texts.append((value, is_alone))
            if not value.writable():
                was = (size, time_ns)
            else:
                inode = os.stat(path).st_ino
                was = (inode,) if "a" in value.mode else (inode, size, time_ns)
            found[id(value)] = (path, _options(value), place, was)
        except (OSError, ValueError, AttributeError):
            continue
    for text, is_alone in texts:  # once all are known: two may have one descriptor
        if id(text) in found and not _take_newline(text, is_alone, *found[id(text)][:2]):
            del found[id(text)]
    return found


def _take_newline(file, is_alone, path, options):
    """Whether it is known how it has its lines end. A text does not say that, but does it: with a file of its own in place of the one it has."""
    try:
        if is_alone:  # else a lock of the file may be that of a thread, which the child does not have
            options["newline"] = _tried_newline(file)
            return True
    except (OSError, ValueError, LookupError, StopIteration):
        pass  # an encoding of its own kind
    return _has_plain_lines(path, file.readable())


def _tried_newline(file):
    tried = os.memfd_create("newline")
    try:
        os.dup2(tried, file.fileno())
        file.seek(0, os.SEEK_END)  # drops what it has read, which is the other file's
        if not file.readable():
            file.write("\n")
            file.flush()
            end = os.pread(tried, _LINES_BYTES_MAX, 0).decode(file.encoding).lstrip("\ufeff")
            return end if "\r" in end else None
        lines = _LINES.encode(file.encoding)
        os.pwrite(tried, lines, 0)
        found = list(file)
        return next(newline for newline in _NEWLINES
                    if list(io.TextIOWrapper(io.BytesIO(lines), encoding=file.encoding, newline=newline)) == found)
    finally:
        os.close(tried)


def _has_plain_lines(path, is_read):
    """Then it does not matter."""
    try:
        with open(path, "rb") as file:
            content = file.read(_LOOKED_AT_BYTES_MAX)
            return b"\r" not in content and (is_read or b"\n" in content) and not file.read(1)
    except OSError:
        return False


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
    """Called by a snapshot. `was`: of one that is only read its size and time, of another its number and, where what is written to it does not
    go to its end, its size and time behind that. (Earlier builds have told only the number.)"""
    try:
        status = os.stat(path)
    except OSError:
        raise NotKept(f"{_short(path)} is gone") from None
    now = (status.st_ino, status.st_size, status.st_mtime_ns)
    is_other = was is not None and len(was) != 2 and was[0] != status.st_ino
    if not is_other and status.st_size < position & _PLACE:
        raise NotKept(f"{_short(path)} is shorter than it was: open it again")
    if is_other or was is not None and tuple(was) != (now[1:] if len(was) == 2 else now[:len(was)]):
        raise NotKept(f"{_short(path)} has changed since it was stored: open it again")
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
