"""Large values are mapped, and used page by page as somebody touches them: whether they are what was stored is looked at beside that.

A child of a child reads them while the session goes on, and tells which are something else. Where it does not come to its end, as anybody
may kill it, this process looks itself.
"""

import _signal as signal
import os
import select

from hutch_runner.descriptors import high_copy, out_of_the_way
from hutch_runner.digests import fast_sha256
from hutch_runner.snapshot_writer import NAME, change_name, close_all_but, fork_quietly

AT_ONCE_BYTES = 16 << 20  # for all values, the smallest first: they are looked at before anybody has them
_PIECE_BYTES = 1 << 20

_read, _write, _close, _fstat, _preadv = os.read, os.write, os.close, os.fstat, os.preadv  # user code may put something else in their place


def begin(groups):
    """A Check of those whose buffers restore() does not look at, which it marks; None where there are none."""
    beside, room = [], AT_ONCE_BYTES
    for group in sorted((group for group in groups if group.whole), key=lambda group: group.size()):
        room -= group.size()
        if room < 0:
            beside.append(group)
    try:
        check = Check(beside) if beside else None
    except OSError:  # there is no place for a process
        return None
    for group in beside:
        group.is_checked_beside = True
    return check


class Check:
    def __init__(self, groups):
        self._groups = groups
        self._damaged = []
        self._said = b""
        self._is_whole = False  # it has said all that it has to say
        self._hears, tells = os.pipe()
        self._files = None
        own_name = change_name(NAME)
        try:
            self._hears = out_of_the_way(self._hears)
            self._files = _Files(groups)
            child = fork_quietly()
            if child == 0:
                _be_between(groups, tells)
        except OSError:
            _close(self._hears)
            if self._files is not None:
                self._files.close()
            raise
        finally:
            change_name(own_name)
            _close(tells)
        try:
            os.waitpid(child, 0)
        except ChildProcessError:
            pass  # somebody waits for all of them

    def is_on(self):
        waits = select.poll()
        try:
            while self._hears >= 0:
                waits.register(self._hears, select.POLLIN)
                if not waits.poll(0):
                    return True
                self._hear()
        except OSError:
            self._hears = -1  # the code has closed it
        if not self._is_whole:
            self._damaged = self._files.damaged(self._groups)
            self._is_whole = True
        self._files.close()
        return False

    def _hear(self):
        said = _read(self._hears, 4096)
        *whole, self._said = (self._said + said).split(b"\n")
        self._damaged += [int(number) for number in whole if number.isdigit()]
        self._is_whole |= b"end" in whole
        if not said:
            _close(self._hears)
            self._hears = -1

    def end(self, snapshots):
        """Takes the values away again that are not what was stored, and tells of them."""
        words = []
        for group in (self._groups[number] for number in self._damaged if number < len(self._groups)):
            for name, value in group.values.items():
                if snapshots.namespace.get(name) is value:
                    del snapshots.namespace[name]
                words.append(f"{name} (what was stored of it is damaged: make it again, and what has come of it since)")
            snapshots.kept_large.sizes.pop(group.large, None)  # else what has the same digest would be taken to be there
            snapshots.unread = [one for one in snapshots.unread if one is not group]
        if words:
            from hutch_runner import snapshot_waking

            snapshot_waking.lose(snapshots, words)


class _Files:
    """The files that the groups lie in are kept open until the end of the check."""

    def __init__(self, groups):
        self._copies = {}  # by the number that is open as the check begins: the copy, and which file it is
        try:
            for fd in {group.fd for group in groups}:
                copy = high_copy(fd)
                self._copies[fd] = (copy, _which(copy))
        except OSError:
            self.close()
            raise

    def damaged(self, groups):
        """Numbers of those that are not what was stored. An interrupt comes after it, and nothing is said of a file that the code has closed."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return [number for number, group in enumerate(groups) if self._is_open(group.fd)
                    and _digest_of_places(self._copies[group.fd][0], group.places, len(group.whole)) != group.whole]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _is_open(self, fd):
        copy, which = self._copies[fd]
        return _which(copy) == which

    def close(self):
        for fd, (copy, _) in self._copies.items():
            if self._is_open(fd):
                _close(copy)
        self._copies = {}


def _which(fd):
    try:
        status = _fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _be_between(groups, tells):
    try:
        if fork_quietly() == 0:
            _be_checker(groups, tells)
    finally:
        os._exit(0)


def _be_checker(groups, tells):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (1, 2):
        os.dup2(nothing, fd)
    close_all_but(tells, *(group.fd for group in groups))
    os.nice(19)
    for number, group in enumerate(groups):
        if _digest_of_places(group.fd, group.places, len(group.whole)) != group.whole:
            _write(tells, b"%d\n" % number)
    _write(tells, b"end\n")


def _digest_of_places(fd, places, characters):
    """As snapshot_large.digest_of_group() of what lies there; "" where it cannot be read."""
    digest, piece = fast_sha256(), bytearray(_PIECE_BYTES)
    for offset, length in places:
        digest.update(length.to_bytes(8, "little"))
        while length > 0:
            try:
                read = _preadv(fd, [memoryview(piece)[:length]], offset)
            except OSError:
                return ""
            if read == 0:
                return ""
            digest.update(memoryview(piece)[:read])
            offset, length = offset + read, length - read
    return digest.hexdigest()[:characters]
