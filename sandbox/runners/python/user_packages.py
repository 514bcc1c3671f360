"""Packages that were installed since an earlier run are found by this one, without a new interpreter; of those that
were imported before, it is told."""

import os
import site
import sys

_NAMED_MAX = 3
_RECORD_BYTES_MAX = 1 << 20


class UserPackages:
    def __init__(self):
        self._seen = None
        self._known = None  # names of *.dist-info; None: nobody has looked
        self._newer = []

    def look(self):
        if not site.ENABLE_USER_SITE:
            return
        try:
            folder = site.getusersitepackages()
            changed = os.stat(folder).st_mtime_ns
        except (OSError, AttributeError):  # not there; or user code has changed `site`
            self._known = self._known or set()
            return
        if changed == self._seen:
            return
        self._seen = changed
        self._compare(folder)
        import importlib
        importlib.invalidate_caches()  # which remember folders that were not there, too
        if folder not in sys.path:
            after = [path for path in sys.path if path.endswith("-packages")]
            sys.path[:] = [path for path in sys.path if path not in after]
            site.addusersitepackages({path for path in sys.path if path})
            sys.path += after

    def take_note(self):
        newer, self._newer = self._newer[:_NAMED_MAX], []
        if not newer:
            return ""
        return (f"{', '.join(newer)} {'was' if len(newer) == 1 else 'were'} installed after import, and what runs is the code "
                "from before: a run with restart: true takes it up")

    def _compare(self, folder):
        there = {name for name in os.listdir(folder) if name.endswith(".dist-info")}
        before, self._known = self._known, there
        for name in sorted(there - before) if before is not None else ():
            if any(top in sys.modules for top in _modules_of(os.path.join(folder, name))):
                self._newer.append(" ".join(name.removesuffix(".dist-info").rsplit("-", 1)))


def _modules_of(folder):
    """Names that can be imported, of what pip has written there."""
    try:
        with open(os.path.join(folder, "RECORD"), encoding="utf-8", errors="replace") as record:
            paths = [line.split(",")[0] for line in record.read(_RECORD_BYTES_MAX).splitlines()]
    except OSError:
        return set()
    tops = {path.split("/")[0] for path in paths if path.endswith(".py")}
    return {top.removesuffix(".py") for top in tops if not top.startswith((".", "_")) and not top.endswith("-info")}
