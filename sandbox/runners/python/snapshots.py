"""What the session's Python knows is kept outside of it: written by a child while it is idle, read by the next one.

hutch-box gives three descriptors: a pipe that takes the packets of a snapshot, one that has its answers and,
where there is one, the file of the last. See ../README.md.
"""

import _signal as signal
import gc
import linecache
import os
import select
import stat
import sys
import time
import warnings

from hutch_runner import surroundings

# User code may put something else in their place.
_open, _read, _write, _writev, _close, _listdir = open, os.read, os.write, os.writev, os.close, os.listdir
_fork, _waitpid, _kill, _exit_process, _now = os.fork, os.waitpid, os.kill, os._exit, time.monotonic

TAKES_FD, ANSWERS_FD, FILE_FD = 5, 6, 7
NAME = "hutch-snapshot"  # of the process that writes
IDLE_SECONDS = 0.25  # after a run, before anything is written
SHARE_OF_TIME = 0.1  # that a fork may take
FORK_SECONDS = 1  # until a child has forked again, which hooks of user code may keep it from
ANSWER_SECONDS = 0.25  # between two looks for an answer
ANSWER_SECONDS_MAX = 60  # a writer that has died has none
PACKET_BYTES = 4096 - 3  # beside the head: written whole or not at all, as no more than PIPE_BUF is
PAGE_BYTES = 4096
OF_THE_INDEX_BYTES = 2 << 20  # and of sources
VALUE_SECONDS = 10
DEEP = 5_000
OF_A_GROUP_BYTES = 250  # in the index, beside the names
NOTE_CHARACTERS_MAX = 300
SOURCE_CHARACTERS_MAX = 1 << 20


class Wish:
    """A snapshot that hutch-box has asked for; number 0: one that nobody has asked for."""

    def __init__(self, bytes_max, number=0):
        self.bytes_max = bytes_max
        self.number = number


class Snapshots:
    def __init__(self, namespace, cells, is_library):
        self._namespace = namespace
        self._cells = cells
        self._is_library = is_library
        self._surroundings = surroundings.Surroundings(cells.context)
        self._takes, self._answers = _pipe_at(TAKES_FD), _pipe_at(ANSWERS_FD)
        self._bytes_max = 0
        if self._takes is not None and self._answers is not None:
            self._answered = select.poll()
            self._answered.register(self._answers, select.POLLIN)
            self._bytes_max = _last_number(_read(self._answers, 64))
        self._changed = False
        self._due = self._earliest = 0.0
        self._answer_until = 0.0  # hutch-box has not said when it takes the next; until then it may
        self._writer = 0
        self._note = ""
        self._run_id = ""  # the last that a snapshot has
        self._unread = []  # groups of the last snapshot that could not be read: they are stored again

    # Waking

    def wake(self):
        """Puts back what the last snapshot has. What fails of it costs the rest nothing, and stays stored."""
        if self._takes is None or not _is(stat.S_ISREG, FILE_FD):
            return
        from hutch_runner import snapshot_file

        try:
            reader = snapshot_file.Reader(FILE_FD)
        except snapshot_file.Malformed as failure:
            self._note = f"variables could not be brought back: the snapshot is no good ({failure})"
            self._tell(b"M")
            return
        finally:
            _close(FILE_FD)
        try:
            self._read_all(reader)
        except BaseException as failure:  # a runner of another version wrote it
            self._note = f"variables could not be brought back, and stay stored: {_reason(failure)}"
            self._takes = None  # nothing takes their place
            return
        self._tell(b"W")

    def _read_all(self, reader):
        index = reader.index
        self._put_back_sources(index)
        around = index["around"]
        missing = self._surroundings.put_back(around["said"])  # first: it says where modules are found
        before = set(self._namespace)
        not_kept = {name: tuple(said) for name, said in index["not_kept"].items()}
        not_kept.update(self._put_back_groups(index["groups"], reader))
        back = [name for name in self._namespace if name not in before]
        missing += self._surroundings.put_back_pieces({module: bytes(reader.at(place)) for module, place in around["pieces"].items()})
        self._note = _note_of(back, index["run_id"], not_kept, index["lost"], missing)

    def _put_back_groups(self, places, reader):
        """Why which names are not there. A group may need what is in another: those that fail are tried again after the others."""
        from hutch_runner import snapshot_values

        failed, pending = {}, [snapshot_values.stored_group(place, reader) for place in places]
        while pending:
            reasons = [_failure_of(snapshot_values.restore, group, self._namespace) for group in pending]
            failed = [(group, reason) for group, reason in zip(pending, reasons) if reason is not None]
            if len(failed) == len(pending):
                break
            pending = [group for group, _ in failed]
        self._unread = [group for group, _ in failed] if pending else []
        return {name: ("", reason) for group, reason in failed for name in group.names} if pending else {}

    def take_note(self):
        note, self._note = self._note, ""
        return note

    def _put_back_sources(self, index):
        cells = index["cells"]
        self._cells.count, self._cells.futures = cells["count"], cells["futures"]
        for name, source in cells["sources"].items():
            self._cells.sources[name] = (source, cells["futures"])
            linecache.cache[name] = (len(source), None, [line + "\n" for line in source.split("\n")], name)

    # Writing

    def run_is_over(self, run_id):
        self._run_id = run_id
        self._changed = True
        self._due = _now() + IDLE_SECONDS

    def seconds_left(self):
        """Until something is to be written, or looked for; None: nothing is."""
        if self._takes is None or not self._changed:
            return None
        return max(0.0, max(self._due, self._earliest) - _now())

    def _may_write(self):
        """Whether hutch-box has all of the last one, and its rest is over."""
        now = _now()
        try:
            while self._answered.poll(0):
                answer = _read(self._answers, 256)
                if not answer:
                    raise OSError("hutch-box takes no more")
                self._answer_until = 0.0
                self._earliest = _last_number(answer) / 1000  # by the clock that both have
        except OSError:  # or the code has closed it
            self._takes = None
            return False
        if now < self._answer_until:
            self._earliest = now + ANSWER_SECONDS
        return now >= self._earliest

    def write(self):
        """What has changed, where nobody has asked for it."""
        if not self._may_write():
            return
        self._changed = False
        self._leave_to_a_child(Wish(self._bytes_max))

    def store(self, message):
        """All, as hutch-box is about to end this process, or to let it rest."""
        wish = Wish(_count(message.get("bytes_max")), _count(message.get("wish")))
        if self._takes is None or not self._leave_to_a_child(wish):
            self._tell(b"X", b"%d" % wish.number)
        else:
            self._changed = False

    def _leave_to_a_child(self, wish):
        """A child of a child, for which no code of the user can wait by mistake. False where there is no room for it."""
        if not _has_room():
            return False
        self._end_writer()
        began = _now()
        try:
            self._surroundings.before_fork()
            lost = surroundings.not_in_values(self._cells, self._is_library)
            with _Undisturbed():
                self._writer = self._start_writer(wish, lost)
        except Exception:  # no place for a process, or a pipe, or something of the user's: the next run tries it again
            return False
        now = _now()
        self._earliest = now + (now - began) / SHARE_OF_TIME
        self._answer_until = now + ANSWER_SECONDS_MAX
        return True

    def _start_writer(self, wish, lost):
        """Its pid, by which nobody else knows it: it is a child of a child that has ended."""
        told, tells = os.pipe()
        try:
            child = _fork_quietly()
            if child == 0:
                try:
                    writer = _fork_quietly()
                    if writer == 0:
                        self._be_writer(wish, lost)
                    else:
                        _write(tells, b"%d" % writer)
                finally:
                    _exit_process(0)
            waits = select.poll()
            waits.register(told, select.POLLIN)
            has_told = waits.poll(FORK_SECONDS * 1000)
            try:
                if not has_told:
                    _kill(child, 9)
                _waitpid(child, 0)
            except OSError:
                pass  # somebody waits for all of them
            return _number(_read(told, 16)) if has_told else 0
        finally:
            _close(told)
            _close(tells)

    def _end_writer(self):
        """One that has never come to its end, as it waits for a lock of a thread that it does not have."""
        try:
            with _open(f"/proc/{self._writer}/comm") as file:
                if file.read() == NAME + "\n":
                    _kill(self._writer, 9)
        except OSError:
            pass  # it has ended
        self._writer = 0

    def _be_writer(self, wish, lost):
        sys.setrecursionlimit(min(sys.getrecursionlimit(), DEEP))  # beyond, the stack of C code ends before Python's
        _name_process()
        _be_quiet_and_first_for_memory()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            from hutch_runner import snapshot_values
            files = snapshot_values.open_files(self._namespace)
            _close_all_but(self._takes)  # a pipe that the parent closes is to be closed
            self._say(b"B", b"%d" % wish.number)
            self._write_all(wish, lost, files)
        except BaseException:
            self._say(b"X", b"%d" % wish.number)

    def _write_all(self, wish, lost, files):
        from hutch_runner import snapshot_file, snapshot_values
        from hutch_runner.snapshot_values import read_back

        writer = snapshot_file.Writer(self._send)
        values = snapshot_values.Values(self._namespace, files, self._is_library, _within_time)
        groups, not_kept = values.groups(), values.not_kept
        groups += [group for group in self._unread if not any(name in self._namespace for name in group.names)]
        groups = self._fitting(groups, not_kept, wish.bytes_max)
        lost += [f"that {' and '.join(names[:3])} had something in common" for names in values.cut]
        said, pieces = self._surroundings.taken()
        is_nothing = not (not_kept or lost or self._surroundings.has_changed(said)) and all(group.rank == 0 for group in groups)
        if is_nothing:  # modules are no state that is worth a file; but nobody is to find them gone after a pause
            self._say(b"X", b"%d" % wish.number) if groups and wish.number else self._say(b"N")
            return
        places = [group.put(writer) for group in sorted(groups, key=lambda group: group.rank)]
        index = {"python": sys.version.split()[0], "groups": places, "not_kept": not_kept, "lost": lost, "run_id": self._run_id,
                 "cells": self._cells_kept(),
                 "around": {"said": said, "pieces": {module: writer.add(piece) for module, piece in pieces.items()}}}
        writer.end(index)
        # Only what comes back may end the process that has it.
        unsure = sum(_failure_of(_within_time, lambda: read_back(group, self._namespace)) is not None for group in groups) if wish.number else 0
        self._say(b"E", b"%d %d" % (writer.bytes, len(not_kept) + len(lost) + unsure))

    def _fitting(self, groups, not_kept, bytes_max):
        """The small ones first, as many as there is room for; the others are named."""
        from hutch_runner.snapshot_values import type_name

        room, fitting = bytes_max - OF_THE_INDEX_BYTES, []
        for group in sorted(groups, key=lambda group: group.size()):
            room -= group.size() + len(group.buffers) * PAGE_BYTES + OF_A_GROUP_BYTES + sum(map(len, group.names)) * 4
            if room >= 0:
                fitting.append(group)
                continue
            why = f"{group.size() >> 20} MB, of {bytes_max >> 20} that are stored in all"
            not_kept.update((name, (type_name(self._namespace.get(name)), why)) for name in group.names)
        return fitting

    def _send(self, content):
        view = memoryview(content).cast("B")
        for start in range(0, len(view), PACKET_BYTES):
            self._say(b"D", view[start:start + PACKET_BYTES])

    def _say(self, letter, content=b""):
        _writev(self._takes, (letter, len(content).to_bytes(2, "little"), content))

    def _tell(self, letter, content=b""):
        try:
            self._say(letter, content)
        except (OSError, TypeError):
            pass  # hutch-box is gone, and so is this soon; or there is none

    def _cells_kept(self):
        kept, room = {}, SOURCE_CHARACTERS_MAX
        for name, (source, _flags) in reversed(list(self._cells.sources.items())):
            room -= len(source)
            if room < 0:
                break
            kept[name] = source
        return {"count": self._cells.count, "futures": self._cells.futures, "sources": dict(reversed(kept.items()))}


def _reason(failure):
    from hutch_runner.snapshot_values import reason_of
    return reason_of(failure)


def _failure_of(action, *arguments):
    """Why it failed, or None. It runs what the user's classes and modules have."""
    try:
        action(*arguments)
    except BaseException as failure:
        return _reason(failure)
    return None


def _within_time(action):
    from hutch_runner.snapshot_values import OutOfTime

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


def _fork_quietly():
    """Threads of the user's are no reason to warn of: the child runs little, and is waited for by nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _fork()


def _close_all_but(kept):
    for name in _listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != kept:
            try:
                _close(int(name))
            except OSError:
                pass  # the list itself


def _pipe_at(fd):
    """Out of the way of user code's own files; None where there is none, as outside of a box."""
    if not _is(stat.S_ISFIFO, fd):
        return None
    import fcntl
    try:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 500)
    except OSError:  # the limit of open files is lower than that
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    _close(fd)
    return moved


def _last_number(text):
    words = text.split()
    return _number(words[-1]) if words else 0


def _number(text):
    return int(text) if text.isdigit() else 0


def _count(number):
    return number if isinstance(number, int) and number > 0 else 0


def _is(kind, fd):
    try:
        return kind(os.fstat(fd).st_mode)
    except OSError:
        return False


def _name_process():
    """So that it is not taken for a process that the user's code has left running (kOwnSnapshot)."""
    try:
        with _open("/proc/self/comm", "w") as file:
            file.write(NAME)
    except OSError:
        pass  # no more descriptors: then it is told of


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


def _note_of(back, run_id, not_kept, ended, said):
    lost = [f"{name} ({kind}: {why})" if kind else f"{name} ({why})" for name, (kind, why) in not_kept.items()]
    parts = [f"a new Python has the {len(back)} names that there were after {run_id}"] if back else []
    if ended:
        parts.append("gone with the one before: " + ", ".join(ended))
    if lost:
        parts.append("not kept, make them again: " + _cut(", ".join(lost), NOTE_CHARACTERS_MAX - 100))
    return "; ".join([*parts, *said])[:NOTE_CHARACTERS_MAX]


def _cut(text, limit):
    return text if len(text) <= limit else text[:limit - 3] + "..."
