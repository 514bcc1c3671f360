"""Keeps what the session's Python knows outside of it: written by a child while it is idle, read by the next one.

hutch-box gives descriptors: a pipe that takes the packets of a snapshot, one that has its answers and,
where there is one, the files of the last. See ../README.md. Here is when one is written; snapshot_waking.py reads the last.
"""

import os
import stat
import time

from hutch_runner import snapshot_pipes, snapshot_writer, surroundings, unstorable
from hutch_runner.snapshot_large_file import LargeFile
from hutch_runner.snapshot_pipes import FILE_FD

_close, _now = os.close, time.monotonic  # user code may put something else in their place

IDLE_SECONDS = 0.25  # after a run, before anything is written
SHARE_OF_TIME = 0.1  # that a fork may take
ANSWER_SECONDS = 0.25  # between two looks for an answer, or at a writer
ANSWER_SECONDS_MAX = 60  # until a snapshot of which nothing is heard is taken for lost
WISH_SECONDS_MAX = 600  # until one that was asked for is; so long hutch-box waits for it (kept_state.cc)


class Wish:
    """A snapshot that hutch-box has asked for; number 0: one that nobody has asked for."""

    def __init__(self, bytes_max, number=0):
        self.bytes_max = bytes_max
        self.number = number


class Snapshots:
    def __init__(self, namespace, cells, is_library):
        self.namespace = namespace
        self.cells = cells
        self.is_library = is_library
        self.surroundings = surroundings.Surroundings(cells.context, is_library)
        self.unread = []  # groups of the last snapshot that could not be read: they are stored again
        self.run_id = ""  # the last that a snapshot has
        self.woken = None  # not brought back by the waking: each snapshot has it, for whoever asks later
        self.pipes = snapshot_pipes.open_pipes()
        first, files_of_large, bytes_max = self.pipes and self.pipes.answer() or (0, 0, 0)
        # A hutch-box that was replaced by a newer one says it in place of when.
        self._bytes_max = first if bytes_max is None else bytes_max
        has_file = self.pipes and snapshot_pipes.is_of_kind(stat.S_ISREG, FILE_FD)
        self.files = range(FILE_FD, FILE_FD + 1 + files_of_large) if has_file else ()
        self.unstorable = unstorable.Unstorable(namespace, cells, is_library, self.files)  # which knows pipes as not the user's
        self.kept_large = LargeFile()  # that hutch-box keeps
        self.check = None  # snapshot_check.Check of the values that were read, until it has come to its end
        self.writes = self.pipes is not None
        self._writer = snapshot_writer.SnapshotWriter(self)
        self._written = None  # the Wish that the writer has, and of whose end nothing is known yet
        self._writer_until = 0.0
        self._waiting = None  # the Wish that waits for the end of the check
        self._waiting_until = 0.0
        self._changed = False
        self._due = self._earliest = 0.0
        self._answer_until = 0.0  # hutch-box has not said when it takes the next; until then it may
        self.note = ""  # for the next run
        self.back = ""  # how much is back
        self.sections = []  # and what is not: the note was made of both as this process woke
        self.pieces = {}  # the note, for who has less room
        self.note_is_told = None  # a function that remembers that for the next process

    # Waking

    def wake(self):
        """Puts back what the last snapshot has. What fails of it costs the rest nothing, and stays stored."""
        if self.files:
            from hutch_runner import snapshot_waking

            snapshot_waking.wake(self)

    def close_files(self):
        for fd in self.files:
            _close(fd)
        self.files = ()

    def _hear_check(self):
        """Whether it may still find something. It takes away again what is not what was stored."""
        if self.check is not None and not self.check.is_on():
            check, self.check = self.check, None
            check.end(self)
        return self.check is not None

    def take_note(self):
        """The note, and the pieces that it was made of."""
        self._hear_check()
        note, self.note = self.note, ""
        pieces, self.pieces = self.pieces or {"back": note, "lacks": [], "more": 0}, {}
        if note and self.note_is_told is not None:
            self.note_is_told()
            self.note_is_told = None
        return note, pieces

    # When

    def run_begins(self):
        """Takes from it what is known to be damaged. It does not wait for a wish, which a later one takes the place of."""
        self._hear_check()
        self._give_up_waiting()

    def run_is_over(self, run_id):
        self.run_id = run_id
        self._changed = True
        self._due = _now() + IDLE_SECONDS

    def seconds_left(self):
        """Until something is to be written, or looked for; None: nothing is."""
        if not self.writes:
            return None
        now = _now()
        if self.check is not None:
            return ANSWER_SECONDS  # nothing is written before its end
        waits = [max(0.0, max(self._due, self._earliest) - now)] if self._changed else []
        if self._written is not None or now < self._answer_until:
            waits.append(ANSWER_SECONDS)
        return min(waits, default=None)

    def write(self):
        """Writes what has changed, where nobody has asked for it."""
        self._look_at_writer()
        if self._hear_check():
            if _now() > self._waiting_until:
                self._give_up_waiting()
            return
        if self._waiting is not None:
            wish, self._waiting = self._waiting, None
            self._store(wish)
            return
        if not self._may_write() or not self._changed:
            return
        self._changed = False
        self._leave_to_writer(Wish(self._bytes_max))

    def store(self, message):
        """All, as hutch-box is about to end this process, or to let it rest."""
        wish = Wish(_count(message.get("bytes_max")), _count(message.get("wish")))
        self._give_up_waiting()
        if self.writes and self._hear_check():
            self._waiting, self._waiting_until = wish, _now() + ANSWER_SECONDS_MAX
        else:
            self._store(wish)

    def _give_up_waiting(self):
        """Nothing can be stored now."""
        if self._waiting is not None:
            wish, self._waiting = self._waiting, None
            self.pipes.tell(b"X", b"%d" % wish.number)

    def _store(self, wish):
        if self.writes and self._hear_host() and self._leave_to_writer(wish):
            self._changed = False
        elif self.pipes is not None:
            self.pipes.tell(b"X", b"%d" % wish.number)

    def _may_write(self):
        """Whether hutch-box has all of the last one, and its rest is over."""
        if not self._hear_host():
            return False
        now = _now()
        if now < self._answer_until:
            self._earliest = now + ANSWER_SECONDS
        return now >= self._earliest

    def _hear_host(self):
        """False: it takes no more."""
        try:
            answer = self.pipes.answer()
        except snapshot_pipes.Gone:
            self.writes = False
            return False
        if answer is not None:
            next_ms, number, bytes_max = answer
            self._bytes_max = self._bytes_max if bytes_max is None else bytes_max
            self._answer_until = 0.0
            self._earliest = next_ms / 1000  # by the clock that both have
            known = (self._writer.large(), self.kept_large)  # the second, where the writer has not come so far
            before, self.kept_large = self.kept_large, next((one for one in known if one.number == number), LargeFile())
            if number == 0 and before.number and known[0].number:
                self._changed = True  # somebody has removed what the last snapshot needs: it is no good
        return True

    def large(self):
        """That hutch-box keeps, where it is known which one that is."""
        return self.kept_large if self._answer_until == 0.0 else LargeFile()

    def _leave_to_writer(self, wish):
        """Whether it has begun."""
        began = _now()
        try:
            has_begun = self._writer.start(wish)
        except OSError:  # no place for a process, or a pipe: the next run tries it again
            has_begun = False
        except Exception as failure:  # something of the user's: a hook, or what stands in place of a library
            has_begun = False
            self._note_failure(_reason(failure))
        now = _now()
        self._written = wish if has_begun else None
        if has_begun:
            self._earliest = now + (now - began) / SHARE_OF_TIME
            self._answer_until = now + ANSWER_SECONDS_MAX
            self._writer_until = now + (WISH_SECONDS_MAX if wish.number else ANSWER_SECONDS_MAX)
        return has_begun

    def _look_at_writer(self):
        """One that was killed, or has failed, says nothing itself: hutch-box is not to wait for it, nor the user to believe in it."""
        if self._written is None:
            return
        failure = self._writer.failure()
        if failure is None:
            if _now() < self._writer_until:
                return
            self._writer.end()
            failure = "the process that stores them did not come to its end"
        wish, self._written = self._written, None
        if failure:
            self.pipes.tell(b"X", b"%d" % wish.number)
            self._note_failure(failure)

    def _note_failure(self, why):
        self.note = self.note or f"variables could not be stored: {why}"


def _reason(failure):
    from hutch_runner.snapshot_values import reason_of
    return reason_of(failure)


def _count(number):
    return number if isinstance(number, int) and number > 0 else 0
