"""The bytes of a snapshot: written as they come, read where they lie.

    values        pickles, and their buffers, each at the begin of a page
    index         JSON: which name lies where, what was not kept and why, and what is around the values
    end           16 bytes of length (of the index, of all before the end; little-endian), 32 of SHA-256
                  of the index, 8 that say what this is

A snapshot that was not written to its end has no end. It is code: whoever reads the pickles runs it.
"""

import os
import sys

from hutch_runner.digests import digest_of
from hutch_runner.json_text import decode as _decode
from hutch_runner.json_text import encode as _encode

PAGE = os.sysconf("SC_PAGE_SIZE")
MAGIC = b"hutchst1"
END_BYTES = 16 + 32 + len(MAGIC)


class Malformed(Exception):
    """It is no snapshot, or not a whole one."""


class Writer:
    """`write` takes bytes-like objects, in order."""

    def __init__(self, write):
        self._write = write
        self.bytes = 0

    def add(self, content, aligned=False):
        """Where it lies: [offset, length]."""
        view = memoryview(content).cast("B")
        if aligned and self.bytes % PAGE and len(view):
            self._put(b"\0" * (PAGE - self.bytes % PAGE))
        place = [self.bytes, len(view)]
        self._put(view)
        return place

    def end(self, index):
        text = _encode(index).encode()
        self._put(text)
        self._put(len(text).to_bytes(8, "little") + self.bytes.to_bytes(8, "little"))
        self._put(digest_of(text) + MAGIC)

    def _put(self, content):
        self._write(content)
        self.bytes += len(content)


def _mapped(fd):
    """The file, mapped without a descriptor of it: one that stays open would count as space of the session's."""
    import mmap  # which few sessions need; code of the user's has not run yet

    if sys.version_info >= (3, 13):
        return mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE, trackfd=False)
    own = os.dup(fd)  # the lowest number that is free: the map's own copy gets it next
    os.close(own)
    mapped = mmap.mmap(fd, 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
    if os.path.sameopenfile(own, fd):
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        os.dup2(nothing, own, inheritable=False)  # which the map closes when it ends
        os.close(nothing)
    return mapped


def read_index(fd):
    """Without a map of the file, for which there may be no room."""
    size = os.fstat(fd).st_size
    if size < END_BYTES or (tail := _read_at(fd, END_BYTES, size - END_BYTES))[-len(MAGIC):] != MAGIC:
        raise Malformed("it has no end")
    end = size - END_BYTES
    length = int.from_bytes(tail[:8], "little")
    if int.from_bytes(tail[8:16], "little") != end or length > end:
        raise Malformed("its end does not fit its length")
    text = _read_at(fd, length, end - length)
    if digest_of(text) != tail[16:48]:
        raise Malformed("its index is damaged")
    try:
        return _decode(str(text, "ascii"))
    except ValueError:
        raise Malformed("its index is no JSON") from None


def _read_at(fd, length, offset):
    pieces = []
    while length > 0 and (piece := os.pread(fd, length, offset)):
        pieces.append(piece)
        length, offset = length - len(piece), offset + len(piece)
    return b"".join(pieces)


class Reader:
    """Maps a file: pages come as they are touched, and what is written to them stays with this process. Raises Malformed, or OSError
    where there is no room for it."""

    def __init__(self, fd):
        self.index = read_index(fd)
        self.fd = fd  # for as long as it is open
        self._map = _mapped(fd)
        self._view = memoryview(self._map)

    def at(self, place):
        offset, length = place
        if not 0 <= offset <= offset + length <= len(self._view):
            raise Malformed("a place lies outside of it")
        return self._view[offset:offset + length]
