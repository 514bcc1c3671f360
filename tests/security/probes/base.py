"""Has what every probe needs: verdicts, raw system calls, and the table of all probes.

A probe is a function of the facts (see stage.py) that tries one thing hostile code would try and
returns contained(...) or escaped(...). It must be harmless even where it succeeds: counter-checks
run it in boxes whose layers are switched off, against the real host.
"""

import collections
import ctypes
import os

Probe = collections.namedtuple(
    "Probe", "name group why layers bare_layers outside bare_outside only_root death run")
# Where the box is: whether hutch runs as root, and whether cgroups hold the session's limits.
Place = collections.namedtuple("Place", "as_root has_cgroups")

TABLE = {}
EPERM, EINVAL, ENOSYS, EROFS = 1, 22, 38, 30

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def contained(reason):
    return "CONTAINED", str(reason)


def escaped(what):
    return "ESCAPED", str(what)


def probe(*layers, bare_layers=None, outside=None, bare_outside=None, only_root=False, death=None,
          name=None):
    """Registers a probe.

    layers      what has to be switched off, all at once, for the probe to report an escape
                (words of tests/security/weak_init)
    bare_layers the same where no cgroup holds the limits, where that differs
                (none of either: the probe is not for the one or the other)
    outside     why nothing in a box can be switched off for it: it has to report an escape outside of
                any box; bare_outside: the same where no cgroup holds the limits
    only_root   there is nothing to hold for an ordinary user
    death       a signal whose arrival is the containment
    """
    def register(function):
        key = name or function.__name__
        group = function.__module__.rsplit(".", 1)[-1]
        assert key not in TABLE, f"two probes are called {key}"
        assert bool(layers or bare_layers) != bool(outside), f"{key}: layers, or why there are none"
        why = (function.__doc__ or "").strip()
        assert why, f"{key} does not say what it is about"
        TABLE[key] = Probe(key, group, why, tuple(layers),
                           tuple(bare_layers if bare_layers is not None else layers),
                           outside, bare_outside or outside, only_root, death, function)
        return function
    return register


def layers_of(entry, place):
    """Returns what the counter-check switches off."""
    return frozenset(entry.layers if place.has_cgroups else entry.bare_layers)


def outside(entry, place):
    return entry.outside if place.has_cgroups else entry.bare_outside


def applies(entry, place):
    if entry.only_root and not place.as_root:
        return False
    return bool(outside(entry, place) or layers_of(entry, place))


def syscall(number, *arguments):
    """(result, errno) of a raw system call; integers go as 64-bit words."""
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *(
        ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    return result, ctypes.get_errno() if result == -1 else 0


def text(value):
    """A string for syscall()."""
    return ctypes.c_char_p(value.encode() if isinstance(value, str) else value)


def refused(result, error, refusals=(EPERM, ENOSYS)):
    """The verdict of a call that must not get as far as the kernel's own answer."""
    if result == -1 and error in refusals:
        return contained(os.strerror(error))
    answer = result if result != -1 else os.strerror(error)
    return escaped(f"the kernel answered {answer}")


def attempt(function, *arguments):
    """(value, None), or (None, the OSError)."""
    try:
        return function(*arguments), None
    except OSError as error:
        return None, error


def is_read_only(path):
    """Whether the mount refuses, not the owner: a change of mode asks the mount first."""
    _, error = attempt(os.chmod, path, os.stat(path).st_mode & 0o7777)
    return error is not None and error.errno == EROFS


def mount_points():
    """[(mount point, set of options)] of this process."""
    result = []
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            fields = line.split()
            result.append((fields[4].encode().decode("unicode_escape"), set(fields[5].split(","))))
    return result


def read_some(path, size=4096):
    with open(path, "rb") as file:
        return file.read(size)
