"""Packages that are installed while the interpreter lives are found, by the same cell too, without a new interpreter; of
those that were imported before, it is told."""

import os
import site
import sys
import time
from importlib import machinery

_NAMED_MAX = 3
_RECORD_BYTES_MAX = 1 << 20
_LOADERS = ((machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES), (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
            (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES))
_time_ns, _stat = time.time_ns, os.stat  # user code may put something else in their places


class UserPackages:
    def __init__(self):
        self._folder = _folder_of_user()
        self._seen = None
        self._known = None  # names of *.dist-info; None: nobody has looked
        self._unwritten = False  # one of them is being installed still
        self._newer = []  # name and version, when it was installed and its modules, of what came since
        # Names and times of what `site` has read at the start.
        self._read = self._path_files() if self._folder in sys.path else set()
        self._finder = None
        self._looks = False

    def look(self):
        if self._folder is None or not site.ENABLE_USER_SITE:
            return
        if self._finder is None:
            self._finder = _Finder(self._folder, *_LOADERS)
            sys.path_importer_cache[self._folder] = self._finder
            sys.meta_path.append(self)
            self._put_on_path()
        changed = _time_of(self._folder)
        if changed is None:
            self._known = self._known or set()
            return
        if changed == self._seen:
            if self._unwritten:
                self._compare()
            return
        self._seen = changed
        self._compare()
        import importlib
        importlib.invalidate_caches()
        self._put_on_path()
        fresh = self._path_files() - self._read
        self._read |= fresh
        for name, _time in sorted(fresh):
            site.addpackage(self._folder, name, {path for path in sys.path if path})
        if fresh:  # folders that they have added come before the environment's, too
            of_others = [path for path in sys.path if path.endswith("-packages") and path != self._folder]
            sys.path[:] = [path for path in sys.path if path not in of_others] + of_others

    def find_spec(self, name, path=None, target=None):
        """As the last finder of sys.meta_path: what was installed a moment ago may be found in another way, by a .pth."""
        seen = self._seen
        if path is not None or self._looks:
            return None
        self._looks = True
        try:
            self.look()
            found = None
            for finder in list(sys.meta_path) if self._seen != seen else ():
                find_spec = getattr(finder, "find_spec", None) if finder is not self else None
                found = found or (find_spec(name, None, target) if find_spec is not None else None)
            return found
        finally:
            self._looks = False

    def take_note(self):
        """Tells of packages installed after their import, by the run itself too, unless they were imported anew."""
        if self._known is not None and (self._unwritten or _time_of(self._folder) not in (None, self._seen)):
            self._compare()
        fresh, self._newer = self._newer, []
        newer = [name for name, installed_at, tops in fresh
                 if any(top in sys.modules and self._finder.found.get(top, 0) < installed_at for top in tops)][:_NAMED_MAX]
        if not newer:
            return ""
        return (f"{', '.join(newer)} {'was' if len(newer) == 1 else 'were'} installed after import, and what runs is the code "
                "from before: a run with restart: true takes it up")

    def _put_on_path(self):
        """Before what the environment, or the host, has; it need not be there yet."""
        if self._folder in sys.path:
            return
        of_others = [at for at, path in enumerate(sys.path) if path.endswith("-packages")]
        sys.path.insert(of_others[0] if of_others else len(sys.path), self._folder)

    def _path_files(self):
        found = set()
        for name in _names_in(self._folder, ".pth"):
            try:
                found.add((name, os.stat(os.path.join(self._folder, name)).st_mtime_ns))
            except OSError:  # it has just gone
                pass
        return found

    def _compare(self):
        there = _names_in(self._folder, ".dist-info")
        before, self._known, self._unwritten = self._known, there, False
        for name in sorted(there - before) if before is not None else ():
            installed_at, tops = _modules_of(os.path.join(self._folder, name))
            if installed_at is None:
                self._known.discard(name)
                self._unwritten = True
            else:
                self._newer.append((" ".join(name.removesuffix(".dist-info").rsplit("-", 1)), installed_at, tops))


class _Finder(machinery.FileFinder):
    """Unlike the usual one it finds what is in a folder that was not there when somebody first looked."""

    def __init__(self, folder, *loaders):
        super().__init__(folder, *loaders)
        self.found = {}  # when, by the name of a module at the top

    def find_spec(self, name, target=None):
        spec = super().find_spec(name, target)
        if spec is not None:
            self.found[name] = _time_ns()
        return spec


def _folder_of_user():
    try:
        return site.getusersitepackages()
    except AttributeError:
        return None


def _time_of(folder):
    try:
        return _stat(folder).st_mtime_ns
    except OSError:  # it is not there
        return None


def _names_in(folder, suffix):
    try:
        return {name for name in os.listdir(folder) if name.endswith(suffix)}
    except OSError:
        return set()


def _modules_of(folder):
    """When it was installed, and the names that can be imported, of what pip has written there: the list of its files last."""
    try:
        with open(os.path.join(folder, "RECORD"), encoding="utf-8", errors="replace") as record:
            installed_at = os.fstat(record.fileno()).st_mtime_ns
            paths = [line.split(",")[0] for line in record.read(_RECORD_BYTES_MAX).splitlines()]
    except OSError:
        return None, set()
    tops = {path.split("/")[0] for path in paths if path.endswith(".py")}
    return installed_at, {top.removesuffix(".py") for top in tops if not top.startswith((".", "_")) and not top.endswith("-info")}
