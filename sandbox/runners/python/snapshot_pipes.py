"""The pipes of snapshots: one takes packets, each written at once, the other has the answers. See ../README.md.

Code that closes them loses its snapshots, and a file that gets their number then is not written to.
"""

import os
import select
import stat

from hutch_runner.descriptors import out_of_the_way

# User code may put something else in their place.
_read, _writev, _fstat = os.read, os.writev, os.fstat

TAKES_FD, ANSWERS_FD = 5, 6
FILE_FD = 7  # the last snapshot, and behind it what there is of large values
PACKET_BYTES = 4096 - 3  # beside the head: written whole or not at all, as no more than PIPE_BUF is


class Gone(Exception):
    """The host, or the code, has closed one of them."""


def open_pipes():
    """None where there are none, as outside of a box."""
    if not (is_of_kind(stat.S_ISFIFO, TAKES_FD) and is_of_kind(stat.S_ISFIFO, ANSWERS_FD)):
        return None
    return SnapshotPipes(out_of_the_way(TAKES_FD), out_of_the_way(ANSWERS_FD))


def is_of_kind(kind, fd):
    try:
        return kind(_fstat(fd).st_mode)
    except OSError:
        return False


class SnapshotPipes:
    def __init__(self, takes, answers):
        self.takes = takes
        self._answers = answers
        self._inode = _fstat(takes).st_ino
        self._answered = select.poll()
        self._answered.register(answers, select.POLLIN)

    def say(self, letter, content=b""):
        """Waits until there is room. Raises Gone."""
        try:
            if _fstat(self.takes).st_ino != self._inode:
                raise Gone("another file has its number")
            _writev(self.takes, (letter, len(content).to_bytes(2, "little"), content))
        except OSError as failure:
            raise Gone(failure.strerror) from None

    def tell(self, letter, content=b""):
        """As say(), where there is nothing to be done once nobody hears it."""
        try:
            self.say(letter, content)
        except Gone:
            pass  # the host knows, since nobody else can write

    def send(self, content, letter=b"D"):
        """Bytes of the file, or of that of large values."""
        view = memoryview(content).cast("B")
        for start in range(0, len(view), PACKET_BYTES):
            self.say(letter, view[start:start + PACKET_BYTES])

    def send_large(self, content):
        self.send(content, b"A")

    def answer(self):
        """The three numbers of the last answer that the host has given since (../README.md), the third None where it is
        not told; None: no answer. Raises Gone."""
        said = b""
        try:
            while self._answered.poll(0):
                piece = _read(self._answers, 4096)
                if not piece:
                    raise Gone("the host takes no more")
                said += piece
        except OSError as failure:
            raise Gone(failure.strerror) from None
        words = said.split()
        if not words:
            return None
        numbers = tuple(map(number_of, words[-1].split(b"/")[:3]))
        return numbers + (0, None)[len(numbers) - 1:]  # a hutch-box that was replaced by a newer one says less


def number_of(text):
    return int(text) if text.isdigit() else 0
