"""Which groups of large values lie in the second file of a snapshot (snapshot_large.py): all that the interpreter itself has to know of it."""


class LargeFile:
    """`sizes`: the bytes of each group by its digest; `beside`: of large values that were written elsewhere since the file is there.
    Number 0: there is none."""

    def __init__(self, number=0, sizes=None, file_bytes=0, beside=0):
        self.number = number
        self.sizes = sizes or {}
        self.bytes = file_bytes
        self.beside = beside

    def in_words(self):
        """For the process that has not written it."""
        groups = [b"%s:%d" % (digest.encode(), size) for digest, size in self.sizes.items()]
        return b" ".join([b"%d %d %d" % (self.number, self.bytes, self.beside), *groups])


def from_words(words):
    """Reads what LargeFile.in_words() says; a file of number 0 where it says nothing."""
    if not words:
        return LargeFile()
    number, file_bytes, beside, *groups = words.split()
    parts = [group.decode().partition(":") for group in groups]
    return LargeFile(int(number), {digest: int(size) for digest, _, size in parts}, int(file_bytes), int(beside))
