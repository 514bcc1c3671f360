"""RLIMIT_DATA, by which an allocation beyond the session's memory is an error (setrlimit(2)).

The kernel counts what is mapped, and libraries map what they do not use: stacks of threads, heaps, an engine of
JavaScript. So much more the limit may be.
"""

import os
import resource

_STEP = 32 << 20  # bytes: less is not worth a change of the limit
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_get, _set, _open, _read, _close = resource.getrlimit, resource.setrlimit, os.open, os.read, os.close
_first = None  # soft and hard limit, and what was mapped in vain: known with the first run, in the box


def renew():
    """To be called before a run: the limit is what it was at first and what has been mapped in vain since."""
    global _first
    try:
        soft, hard = _get(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY:
            return
        untouched = _untouched_bytes()
        if _first is None:
            _first = (soft, untouched)
        if soft >= _first[0]:  # else the code has set one of its own
            more = max(0, untouched - _first[1]) // _STEP * _STEP
            _set(resource.RLIMIT_DATA, (min(_first[0] + more, hard), hard))
    except (OSError, ValueError):
        pass  # the limit stays as it is


def _untouched_bytes():
    """proc_pid_statm(5): size, resident, shared, text, lib, data."""
    file = _open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        _, resident, shared, _, _, data, *_ = map(int, _read(file, 200).split())
    finally:
        _close(file)
    return max(0, data - (resident - shared)) * _PAGE_BYTES
