"""Descriptors of the runner's own have high numbers: user code gets the low ones for its files."""

import fcntl
import os

_close = os.close  # user code may put something else in its place


def high_copy(fd):
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 500)
    except OSError:  # the limit of open files is lower than that
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)


def out_of_the_way(fd):
    """`fd` with a higher number."""
    moved = high_copy(fd)
    _close(fd)
    return moved
