"""The process that writes a snapshot: a child of a child, for which no code of the user can wait by mistake."""

import _signal as signal
import gc
import io
import os
import select
import sys
import time
import warnings

from hutch_runner.descriptors import out_of_the_way
from hutch_runner.snapshot_large_file import from_words
from hutch_runner.snapshot_pipes import number_of

# User code may put something else in their place.
_open, _read, _write, _close, _listdir = open, os.read, os.write, os.close, os.listdir
_fork, _waitpid, _kill, _exit_process, _now = os.fork, os.waitpid, os.kill, os._exit, time.monotonic

NAME = "hutch-snapshot"
FORK_SECONDS = 1  # until a child has forked again, which hooks of user code may keep it from
BUSY_FORK_SECONDS = 20  # where it waits for a processor alone
VALUE_SECONDS = 10
DEEP = 5_000
SOURCE_CHARACTERS_MAX = 1 << 20
_FILES = (io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO)


class SnapshotWriter:
    """`snapshots` are the Snapshots that it is of: they have what is stored."""

    def __init__(self, snapshots):
        self._snapshots = snapshots
        self._pid = 0  # by which nobody else knows it
        # Here it says of itself: "pid NUMBER", "large" and LargeFile.in_words(), and, at its end, "end WHY NOT", each with a newline.
        self._hears = -1
        self._said = b""
        self._places = {}  # where open files stand

    # In the interpreter

    def start(self, wish):
        """False where there is no room for it, or no process came to be."""
        self.end()
        if not _has_room():
            return False
        self._snapshots.surroundings.before_fork()
        self._snapshots.unstorable.before_fork(wish.number != 0)
        self._places = _places(self._snapshots.namespace)
        self._snapshots.unread = [group for group in self._snapshots.unread if group.leave_out(self._snapshots.namespace)]
        with _Undisturbed():
            return self._begin(wish)

    def _begin(self, wish):
        hears, tells = os.pipe()
        own_name = change_name(NAME)  # which a child has from its first moment
        try:
            child = fork_quietly()
            if child == 0:
                self._be_between(wish, tells)
        finally:
            change_name(own_name)
            _close(tells)
            self._hears = out_of_the_way(hears)
        until = _now() + BUSY_FORK_SECONDS
        while self._line(b"pid ") is None and (self._hear(FORK_SECONDS) or self._hears >= 0 and _is_at_work(child) and _now() < until):
            pass
        try:
            if not self._said:
                _kill(child, 9)
            _waitpid(child, 0)
        except OSError:
            pass  # somebody waits for all of them
        self._pid = number_of(self._line(b"pid ") or b"")
        return self._pid > 0

    def failure(self):
        """None: it goes on; else why it has written nothing, "" where it has."""
        while self._hears >= 0 and self._hear(0):
            pass
        reason = self._line(b"end ")
        if reason is not None:
            return reason.decode("utf-8", "replace")
        return None if self._hears >= 0 else "its process has ended"

    def large(self):
        """The file of large values that it has written, if any."""
        while self._hears >= 0 and self._hear(0):
            pass
        return from_words(self._line(b"large ") or b"")

    def end(self):
        """One that has never come to its end, as it waits for a lock of a thread that it does not have."""
        try:
            with _open(f"/proc/{self._pid}/comm") as file:
                if file.read() == NAME + "\n":
                    _kill(self._pid, 9)
        except OSError:
            pass  # it has ended
        self._stop_hearing()
        self._pid, self._said = 0, b""

    def _hear(self, seconds):
        """Whether there was something."""
        waits = select.poll()
        waits.register(self._hears, select.POLLIN)
        if not waits.poll(seconds * 1000):
            return False
        try:
            said = _read(self._hears, 4096)
        except OSError:
            said = b""  # the code has closed it
        self._said += said
        if not said:
            self._stop_hearing()
        return bool(said)

    def _stop_hearing(self):
        try:
            if self._hears >= 0:
                _close(self._hears)
        except OSError:
            pass  # the code has done it
        self._hears = -1

    def _line(self, head):
        return next((line[len(head):] for line in self._said.split(b"\n")[:-1] if line.startswith(head)), None)

    # In the child, and in its child

    def _be_between(self, wish, tells):
        try:
            writer = fork_quietly()
            if writer == 0:
                self._be_writer(wish, tells)
            else:
                _write(tells, b"pid %d\n" % writer)
        finally:
            _exit_process(0)

    def _be_writer(self, wish, tells):
        sys.setrecursionlimit(min(sys.getrecursionlimit(), DEEP))  # beyond, the stack of C code ends before Python's
        _be_quiet_and_first_for_memory()
        from hutch_runner import snapshot_open_files, snapshot_values

        pipes, reason = self._snapshots.pipes, ""
        try:
            threads, lost = self._snapshots.unstorable.in_words()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            files = snapshot_open_files.open_files(self._snapshots.namespace, self._places)
            close_all_but(pipes.takes, tells)  # a pipe that the parent closes is to be closed
            pipes.say(b"B", b"%d" % wish.number)
            self._write_all(wish, threads, lost, files, tells)
        except BaseException as failure:
            reason = snapshot_values.reason_of(failure) or "it failed"
            pipes.tell(b"X", b"%d" % wish.number)
        _tell_parent(tells, b"end " + reason.encode("utf-8", "replace"))

    def _write_all(self, wish, threads, lost, files, tells):
        from hutch_runner import snapshot_file, snapshot_large, snapshot_values

        of = self._snapshots
        pipes, surroundings = of.pipes, of.surroundings
        writer = snapshot_file.Writer(pipes.send)
        values = snapshot_values.Values(of.namespace, files, of.is_library, _within_time)
        groups, not_kept = values.groups(), values.not_kept
        groups += of.unread
        kept = snapshot_large.KeptGroups(of.large())
        unfit_for_other_reasons = len(not_kept)
        groups = self._fitting(groups, not_kept, wish, kept)
        too_large = len(not_kept) - unfit_for_other_reasons
        lost += [f"that {' and '.join(names[:3])} had something in common" for names in values.cut]
        said = surroundings.taken()
        pieces, lost_pieces = surroundings.pieces(values.pickled_setting)
        lost += lost_pieces
        is_nothing = not (not_kept or threads or lost or surroundings.has_changed(said)) and all(group.rank == 0 for group in groups)
        if is_nothing:  # modules are no state that is worth a file; but nobody is to find them gone after a pause
            pipes.say(b"X", b"%d 1" % wish.number) if groups and wish.number else pipes.say(b"N")
            return
        large = snapshot_large.LargeValues(groups, kept, wish.bytes_max)
        bytes_of_large = large.write(pipes) if large.is_new else 0
        entries = [large.entry_of(group) or group.put(writer, kept.digest(group) if group.buffers else None)
                   for group in sorted(groups, key=lambda group: group.rank)]
        index = {"python": sys.version.split()[0], "packages": snapshot_values.versions_of(values.modules),
                 "groups": entries, "not_kept": not_kept, "threads": threads, "lost": lost, "run_id": of.run_id, "woken": of.woken,
                 "large": large.file.number, "beside": large.file.beside, "cells": _cells_kept(of.cells),
                 "copies": snapshot_values.views_in(of.namespace),
                 "around": {"said": said, "pieces": {module: writer.add(piece) for module, piece in pieces.items()}}}
        writer.end(index)
        _tell_parent(tells, b"large " + large.file.in_words())  # before hutch-box says that it keeps it
        unsure = self._unsure(groups, pieces.values()) if wish.number else 0
        missing = len(not_kept) + len(threads) + len(lost) + unsure
        pipes.say(b"E", b"%d %d %d %d" % (writer.bytes + bytes_of_large, missing, large.file.number, too_large))

    def _unsure(self, groups, pieces):
        """How many cannot be read: only what comes back may end the process that has it."""
        from hutch_runner.snapshot_values import failure_of, read_back, unpickled

        namespace = self._snapshots.namespace
        of_groups = [failure_of(_within_time, lambda: read_back(group, namespace)) for group in groups]
        of_pieces = [failure_of(_within_time, lambda: unpickled(piece, namespace)) for piece in pieces]
        return sum(failure is not None for failure in of_groups + of_pieces)

    def _fitting(self, groups, not_kept, wish, kept):
        """Returns those that lie there, and others, the small ones first, as many as there is room for. The rest is named."""
        from hutch_runner.snapshot_large import OF_THE_INDEX_BYTES
        from hutch_runner.snapshot_words import type_name

        fitting = [group for group in groups if kept.has(group)]
        bytes_kept, bytes_max = sum(group.room() for group in fitting), wish.bytes_max
        room = bytes_max - OF_THE_INDEX_BYTES - (bytes_kept if wish.number and bytes_kept < bytes_max else 0)
        for group in sorted((group for group in groups if not kept.has(group)), key=lambda group: group.size()):
            room -= group.room()
            if room >= 0:
                fitting.append(group)
                continue
            why = f"{group.size() >> 20} MB, of {bytes_max >> 20} that are stored in all"
            not_kept.update((name, (type_name(self._snapshots.namespace.get(name)), why)) for name in group.names)
        return fitting


def _places(namespace):
    """Looks only where a name has an open file."""
    if not any(type(value) in _FILES for value in list(namespace.values())):
        return {}
    from hutch_runner import snapshot_open_files

    return snapshot_open_files.places(namespace)


def _cells_kept(cells):
    kept, room = {}, SOURCE_CHARACTERS_MAX
    for name, (source, _flags) in reversed(list(cells.sources.items())):
        room -= len(source)
        if room < 0:
            break
        kept[name] = source
    return {"count": cells.count, "futures": cells.futures, "sources": dict(reversed(kept.items()))}


def _within_time(action):
    from hutch_runner.snapshot_words import OutOfTime

    def out_of_time(_number, _frame):
        raise OutOfTime(f"it took longer than {VALUE_SECONDS} s to store")

    signal.signal(signal.SIGALRM, out_of_time)
    signal.setitimer(signal.ITIMER_REAL, VALUE_SECONDS, 1)
    try:
        return action()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


class _Undisturbed:
    """No garbage is collected, which a child would collect again, and the end of ours is no SIGCHLD of the user's."""

    def __enter__(self):
        self._collects = gc.isenabled()
        gc.disable()
        self._hears = callable(signal.getsignal(signal.SIGCHLD))
        if self._hears:
            self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})

    def __exit__(self, *_failure):
        if self._collects:
            gc.enable()
        if not self._hears:
            return
        signal.sigtimedwait({signal.SIGCHLD}, 0)
        try:  # one of the user's that has ended meanwhile is to be told
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                _kill(os.getpid(), signal.SIGCHLD)
        except ChildProcessError:
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)


def fork_quietly():
    """Threads of the user's are no reason to warn of: the child runs little, and is waited for by nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _fork()


def _tell_parent(tells, words):
    try:
        _write(tells, words + b"\n")
    except OSError:
        pass  # it has ended


def close_all_but(*kept):
    for name in _listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                _close(int(name))
            except OSError:
                pass  # the list itself


def change_name(name):
    """The name before. One who writes is known by it, and not taken for a process that the user's code has left running (kOwnSnapshot)."""
    try:
        with _open("/proc/self/comm", "r+") as file:
            before = file.readline().rstrip("\n")
            file.seek(0)
            file.write(name)
            return before
    except OSError:
        return name  # no more descriptors: then it is told of


def _has_room():
    """Whether half of this process's memory is free: a copy of it takes what it writes to, and some of it anew."""
    try:
        with _open("/proc/self/statm") as file:
            mine = int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        with _open("/proc/meminfo") as file:
            free = next(int(line.split()[1]) for line in file if line.startswith("MemAvailable:")) * 1024
    except (OSError, ValueError, StopIteration):
        return True
    return free > mine // 2


def _be_quiet_and_first_for_memory():
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in (1, 2):
        os.dup2(nothing, fd)
    try:
        with _open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # then the kernel chooses as it likes


def _is_at_work(pid):
    """Whether it goes on as soon as it has a processor, or what it reads: a machine may be busy with others."""
    try:
        with _open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b") ")[2][:1] in (b"R", b"D")
    except OSError:
        return False
