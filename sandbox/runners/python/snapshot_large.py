"""The second file of a snapshot: large values, which are written once and then needed for as long as they do not change.

The file of the snapshot itself is written anew each time. It names a group of this one by a digest of all that the
group has, and the whole file by a number; hutch-box says which number's it keeps.
"""

import hashlib
import os

from hutch_runner import snapshot_file

LARGE_BYTES = 1 << 20  # of a group, from which on it is large
GROUPS_MAX = 100  # so that who writes can say all of them in one packet (PIPE_BUF)
DIGEST_CHARACTERS = 24
_PADDING_BYTES = 8192  # for each group that lies there


class LargeFile:
    """`sizes`: the bytes of each group by its digest. Number 0: there is none."""

    def __init__(self, number=0, sizes=None):
        self.number = number
        self.sizes = sizes or {}

    def in_words(self):
        """For the process that has not written it."""
        return b"%d %s" % (self.number, b" ".join(b"%s:%d" % (digest.encode(), size) for digest, size in self.sizes.items()))


def in_words(words):
    """As LargeFile.in_words() says it; None where it says nothing."""
    number, *groups = words.split() or [b""]
    if not number.isdigit():
        return None
    parts = [group.decode().partition(":") for group in groups]
    return LargeFile(int(number), {digest: int(size) for digest, _, size in parts})


class LargeValues:
    """Which of the groups that are to be stored lie in the file that is there, or are written into a new one."""

    def __init__(self, groups, there, bytes_max):
        large = sorted((group for group in groups if group.size() >= LARGE_BYTES), key=lambda group: -group.size())[:GROUPS_MAX]
        self._by_digest = {_digest(group): group for group in large}
        self._sizes = {digest: group.size() for digest, group in self._by_digest.items()}
        is_enough = self._is_enough(there, groups, bytes_max)
        self.is_new = bool(large) and not is_enough
        self.file = LargeFile(_new_number(), self._sizes) if self.is_new else there if is_enough else LargeFile()

    def _is_enough(self, there, groups, bytes_max):
        """Whether at least half of that file is needed, and at least half of the large values lie there: else it pays to write it anew."""
        found = sum(size for digest, size in self._sizes.items() if digest in there.sizes)
        in_file = sum(there.sizes.values()) + _PADDING_BYTES * len(there.sizes)
        others = sum(group.size() for group in groups) - found
        return 0 < found >= max(in_file, sum(self._sizes.values())) / 2 and in_file + others <= bytes_max

    def write(self, send):
        """The bytes that it has."""
        writer = snapshot_file.Writer(send)
        groups = {digest: group.put(writer) for digest, group in self._by_digest.items()}
        writer.end({"number": self.file.number, "groups": groups})
        return writer.bytes

    def place_of(self, group):
        """In the index of the snapshot, for one that is in this file; else None."""
        digest = next((digest for digest, one in self._by_digest.items() if one is group), None)
        return {"names": group.names, "large": digest, "rank": group.rank} if digest in self.file.sizes else None


class LargeReader:
    """Finds the file of a number among those that hutch-box gave, and the groups in it."""

    def __init__(self, number, fds):
        self.file = LargeFile()
        self.place = 0  # among these
        self._groups = {}
        self._reader = None
        for place, fd in enumerate(fds if number else ()):
            try:
                reader = snapshot_file.Reader(fd)
            except snapshot_file.Malformed:
                continue
            if reader.index.get("number") == number:
                self._reader, self._groups, self.place = reader, reader.index["groups"], place
                self.file = LargeFile(number, {digest: _bytes_of(group) for digest, group in self._groups.items()})

    def has(self, group):
        """Whether one of the snapshot's index is there, wherever it lies."""
        return "large" not in group or group["large"] in self._groups

    def find(self, digest):
        """Where it lies, and in what."""
        return self._groups[digest], self._reader


def _bytes_of(group):
    return group["pickle"][1] + sum(length for _, length in group["buffers"])


def _digest(group):
    digest = hashlib.sha256()
    for piece in (group.pickled, *(buffer.raw() for buffer in group.buffers)):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()[:DIGEST_CHARACTERS]


def _new_number():
    return int.from_bytes(os.urandom(7), "little") + 1
