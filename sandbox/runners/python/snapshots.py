"""What the session's Python knows is kept outside of it: written by a child while it is idle, read by the next one.

hutch-box gives two descriptors: a socket that takes the bytes of a snapshot (SOCK_SEQPACKET, each packet a
letter and what it is of) and, where there is one, the file of the last. See ../README.md.
"""

import _signal as signal
import linecache
import os
import select
import stat
import sys
import time

_open, _exit_process, _fork, _read, _write, _writev = open, os._exit, os.fork, os.read, os.write, os.writev

SOCKET_FD, FILE_FD = 5, 6
NAME = "hutch-snapshot"  # of the process that writes
IDLE_SECONDS = 0.25  # after a run, before anything is written
SHARE_OF_TIME = 0.1  # that a fork may take
ANSWER_SECONDS = 0.25  # between two looks for an answer
ANSWER_SECONDS_MAX = 60  # a writer that has died has none
PACKET_BYTES = 96 << 10
PAGE_BYTES = 4096
OF_THE_INDEX_BYTES = 2 << 20  # and of sources
VALUE_SECONDS = 5
NOTE_CHARACTERS_MAX = 300
SOURCE_CHARACTERS_MAX = 1 << 20


class Snapshots:
    def __init__(self, namespace, cells):
        self._namespace = namespace
        self._cells = cells
        self._socket = _socket_at(SOCKET_FD)
        if self._socket is not None:
            self._answers = select.poll()
            self._answers.register(self._socket, select.POLLIN)
        self._bytes_max = _number(_read(self._socket, 64)) if self._socket is not None else 0
        self._changed = False
        self._due = self._earliest = 0.0
        self._answer_until = 0.0  # hutch-box has not said when it takes the next; until then it may
        self._writer = 0
        self._note = ""
        self._run_id = ""  # the last that a snapshot has

    # Waking

    def wake(self):
        """Puts back what the last snapshot has. What fails of it costs the rest nothing."""
        if self._socket is None or not _is(stat.S_ISREG, FILE_FD):
            return
        from hutch_runner import snapshot_file, snapshot_values

        try:
            reader = snapshot_file.Reader(FILE_FD)
        except snapshot_file.Malformed as failure:
            self._note = f"variables could not be brought back: the snapshot is no good ({failure})"
            return
        finally:
            os.close(FILE_FD)
        index = reader.index
        not_kept = {name: tuple(said) for name, said in index["not_kept"].items()}
        self._put_back_sources(index)
        before = set(self._namespace)
        for group in index["groups"]:
            try:
                buffers = [reader.at(place) for place in group["buffers"]]
                pickled = bytes(reader.at(group["pickle"]))
                snapshot_values.restore(snapshot_values.Group(group["names"], pickled, buffers), self._namespace)
            except Exception as failure:  # of whatever it imports and calls
                not_kept.update((name, ("", snapshot_values.reason_of(failure))) for name in group["names"])
        back = [name for name in self._namespace if name not in before]
        surroundings = _put_back_surroundings(index["around"], reader)
        self._note = _note_of(back, index["run_id"], not_kept, surroundings)
        self._tell(b"W")

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
        self._due = time.monotonic() + IDLE_SECONDS

    def seconds_left(self):
        """Until something is to be written, or looked for; None: nothing is."""
        if self._socket is None or not self._changed:
            return None
        return max(0.0, max(self._due, self._earliest) - time.monotonic())

    def _may_write(self):
        """Whether hutch-box has all of the last one, and its rest is over."""
        now = time.monotonic()
        try:
            while self._answers.poll(0):
                answer = _read(self._socket, 64)
                if not answer:
                    raise OSError("hutch-box takes no more")
                self._answer_until = 0.0
                self._earliest = now + _number(answer) / 1000
        except OSError:  # or the code has closed it
            self._socket = None
            return False
        if now < self._answer_until:
            self._earliest = now + ANSWER_SECONDS
        return now >= self._earliest

    def write(self):
        """Leaves it to a child of a child, for which no code of the user can wait by mistake."""
        if not self._may_write():
            return
        self._changed = False
        if not _has_room():
            return
        self._end_writer()
        random = sys.modules.get("random")
        around = {"random": random.getstate()} if random is not None else {}  # a child's is another one
        began = time.monotonic()
        try:
            self._writer = self._start_writer(around)
        except OSError:
            return  # no place for a process, or a pipe: the next run tries it again
        now = time.monotonic()
        self._earliest = now + (now - began) / SHARE_OF_TIME
        self._answer_until = now + ANSWER_SECONDS_MAX

    def _start_writer(self, around):
        """Its pid, by which nobody else knows it: it is a child of a child that has ended."""
        told, tells = os.pipe()
        try:
            child = _fork()
            if child == 0:
                try:
                    writer = _fork()
                    if writer == 0:
                        self._write_in_child(around)
                    else:
                        _write(tells, b"%d" % writer)
                finally:
                    _exit_process(0)
            try:
                os.waitpid(child, 0)
            except ChildProcessError:
                pass  # somebody waits for all of them
            os.set_blocking(told, False)
            return _number(_read(told, 16))
        finally:
            os.close(told)
            os.close(tells)

    def _end_writer(self):
        """One that has never come to its end, as it waits for a lock of a thread that it does not have."""
        try:
            with _open(f"/proc/{self._writer}/comm") as file:
                if file.read() == NAME + "\n":
                    os.kill(self._writer, 9)
        except OSError:
            pass  # it has ended
        self._writer = 0

    def _write_in_child(self, around):
        from hutch_runner import snapshot_file, snapshot_values

        def out_of_time(_number, _frame):
            raise snapshot_values.NotKept(f"it took longer than {VALUE_SECONDS} s to store")

        _name_process()
        _be_quiet_and_first_for_memory()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, out_of_time)
        writer = snapshot_file.Writer(self._send)
        groups, not_kept = snapshot_values.groups_of(self._namespace, lambda _name: signal.alarm(VALUE_SECONDS))
        signal.alarm(0)
        groups = self._fitting(groups, not_kept, snapshot_values.type_name)
        if all(group.is_trivial for group in groups):
            _write(self._socket, b"N")
            return
        _write(self._socket, b"B")
        places = []
        for group in groups:
            buffers = [writer.add(buffer.raw(), aligned=True) for buffer in group.buffers]
            places.append({"names": group.names, "pickle": writer.add(group.pickled), "buffers": buffers})
        index = {"python": sys.version.split()[0], "groups": places, "not_kept": not_kept, "run_id": self._run_id, "cells": self._cells_kept(),
                 "around": _surroundings(around, writer)}
        writer.end(index)
        _write(self._socket, b"E%d" % writer.bytes)

    def _fitting(self, groups, not_kept, type_name):
        """The small ones first, as many as there is room for; the others are named."""
        room, fitting = self._bytes_max - OF_THE_INDEX_BYTES, []
        for group in sorted(groups, key=lambda group: group.size()):
            room -= group.size() + len(group.buffers) * PAGE_BYTES
            if room >= 0:
                fitting.append(group)
                continue
            why = f"{group.size() >> 20} MB, of {self._bytes_max >> 20} that are stored in all"
            not_kept.update((name, (type_name(self._namespace[name]), why)) for name in group.names)
        return fitting

    def _send(self, content):
        view = memoryview(content).cast("B")
        for start in range(0, len(view), PACKET_BYTES):
            _writev(self._socket, (b"D", view[start:start + PACKET_BYTES]))

    def _tell(self, letter):
        try:
            _write(self._socket, letter)
        except OSError:
            pass  # hutch-box is gone, and so is this soon

    def _cells_kept(self):
        kept, room = {}, SOURCE_CHARACTERS_MAX
        for name, (source, _flags) in reversed(list(self._cells.sources.items())):
            room -= len(source)
            if room < 0:
                break
            kept[name] = source
        return {"count": self._cells.count, "futures": self._cells.futures, "sources": dict(reversed(kept.items()))}


def _socket_at(fd):
    """Out of the way of user code's own files; None where there is none, as outside of a box."""
    if not _is(stat.S_ISSOCK, fd):
        return None
    import fcntl
    try:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 500)
    except OSError:  # the limit of open files is lower than that
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


def _number(text):
    return int(text) if text.isdigit() else 0


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


def _surroundings(around, writer):
    import pickle

    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        around["numpy"] = numpy.get_state()
    return {"directory": _directory(), "path": [entry for entry in sys.path if isinstance(entry, str)],
            "random": writer.add(pickle.dumps(around, protocol=5))}


def _directory():
    try:
        return os.getcwd()
    except OSError:
        return ""


def _put_back_surroundings(around, reader):
    """What of it is not as it was, in words."""
    said = []
    if around["directory"]:
        try:
            os.chdir(around["directory"])
        except OSError:
            said.append(f"the working directory {around['directory']} is gone")
    sys.path.extend(entry for entry in around["path"] if entry not in sys.path)
    import pickle
    states = pickle.loads(bytes(reader.at(around["random"])))
    if "random" in states:
        import random
        random.setstate(states["random"])
    if "numpy" in states and "numpy.random" in sys.modules:
        sys.modules["numpy.random"].set_state(states["numpy"])
    return said


def _note_of(back, run_id, not_kept, said):
    lost = [f"{name} ({kind}: {why})" if kind else f"{name} ({why})" for name, (kind, why) in not_kept.items()]
    parts = [f"a new Python has the {len(back)} names that there were after {run_id}"] if back else []
    if lost:
        parts.append("not kept, make them again: " + _cut(", ".join(lost), NOTE_CHARACTERS_MAX - 100))
    return "; ".join([*parts, *said])[:NOTE_CHARACTERS_MAX]


def _cut(text, limit):
    return text if len(text) <= limit else text[:limit - 3] + "..."
