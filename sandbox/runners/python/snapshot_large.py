"""The second file of a snapshot: large values, which are written once and then needed for as long as they do not change.

The file of the snapshot itself is written anew each time. It names a group of this one by a digest of all that the
group has, and the whole file by a number; hutch-box says which number's it keeps.
"""

import os

from hutch_runner import snapshot_file
from hutch_runner.digests import SMALL_BYTES, fast_sha256, sha256
from hutch_runner.snapshot_large_file import LargeFile

LARGE_BYTES = 1 << 20  # from which on a group is large
GROUPS_MAX = 100  # so that who writes can say all of them in one packet (PIPE_BUF); others are as small ones
OF_THE_INDEX_BYTES = 2 << 20  # and of sources
_DIGEST_CHARACTERS = 24


class KeptGroups:
    """Which groups lie in the file that is there: they take no room, whatever else a snapshot may have."""

    def __init__(self, there):
        self.there = there
        self._sizes = set(there.sizes.values())
        self._digests = {}  # by id() of a group, which lives as long as this

    def has(self, group):
        return group.size() in self._sizes and self.digest(group) in self.there.sizes

    def digest(self, group):
        if id(group) not in self._digests:
            self._digests[id(group)] = digest_of_group(group)
        return self._digests[id(group)]


class LargeValues:
    """Which of the groups that are to be stored lie in the file that is there, or are written into a new one."""

    def __init__(self, groups, kept, bytes_max):
        there = kept.there
        large = [group for group in groups if group.size() >= LARGE_BYTES]
        large = sorted(large, key=lambda group: (not kept.has(group), -group.size()))[:GROUPS_MAX]
        self._by_digest = {kept.digest(group): group for group in large}
        self._sizes = {digest: group.size() for digest, group in self._by_digest.items()}
        beside = there.beside + sum(size for digest, size in self._sizes.items() if digest not in there.sizes)
        is_enough = self._is_enough(there, beside, groups, bytes_max)
        self.is_new = bool(large) and not is_enough
        if self.is_new:
            self.file = LargeFile(int.from_bytes(os.urandom(7), "little") + 1, self._sizes)
        else:
            self.file = LargeFile(there.number, there.sizes, there.bytes, beside) if is_enough else LargeFile()

    def _is_enough(self, there, beside, groups, bytes_max):
        """Whether half of that file is needed, and less than it has was written beside it: else it pays to write it anew, where that may be."""
        found = sum(size for digest, size in self._sizes.items() if digest in there.sizes)
        room = sum(group.room() for group in groups) + OF_THE_INDEX_BYTES
        fits = there.bytes + room - found <= bytes_max
        in_file = sum(there.sizes.values())
        return found > 0 and (found >= in_file / 2 and beside < in_file and fits or room > bytes_max)

    def write(self, pipes):
        """The bytes that it has."""
        pipes.say(b"L", b"%d" % self.file.number)
        writer = snapshot_file.Writer(pipes.send_large)
        groups = {digest: group.put(writer, digest) for digest, group in self._by_digest.items()}
        writer.end({"number": self.file.number, "groups": groups})
        self.file.bytes = writer.bytes
        return writer.bytes

    def entry_of(self, group):
        """In the index of the snapshot, for one that is in this file; else None."""
        digest = next((digest for digest, one in self._by_digest.items() if one is group), None)
        return {"names": group.names, "large": digest, **group.made_by()} if digest in self.file.sizes else None


class LargeReader:
    """Finds the file of a number among those that hutch-box gave, and the groups in it. Raises OSError where there is no room for it."""

    def __init__(self, number, beside, fds):
        self.file = LargeFile()
        self.position = 0  # among these
        self._groups = {}
        self._reader = None
        for position, fd in enumerate(fds if number else ()):
            if _number_of(fd) == number:
                self.position = position
                self._reader = snapshot_file.Reader(fd)
                self._groups = self._reader.index["groups"]
                sizes = {digest: _bytes_of(entry) for digest, entry in self._groups.items()}
                self.file = LargeFile(number, sizes, os.fstat(fd).st_size, beside)

    def has(self, entry):
        """Whether a group of the snapshot's index is there, wherever it lies."""
        return "large" not in entry or entry["large"] in self._groups

    def find(self, digest):
        """Its entry, and the Reader that has it."""
        return self._groups[digest], self._reader


def _number_of(fd):
    try:
        return snapshot_file.read_index(fd)["number"]
    except (snapshot_file.Malformed, KeyError):
        return None  # not finished, or damaged


def _bytes_of(entry):
    return entry["pickle"][1] + sum(length for _, length in entry["buffers"])


def digest_of_group(group):
    digest = fast_sha256() if group.size() > SMALL_BYTES else sha256()
    for piece in (group.pickled, *(buffer.raw() for buffer in group.buffers)):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()[:_DIGEST_CHARACTERS]
