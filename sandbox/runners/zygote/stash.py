"""Modules that are imported already, but not there until somebody imports them.

In a copy of the zygote sys.modules is as small as after a plain start, and this finder stands before
the others. It gives out what the others would have loaded; where the session has a module of its own
of that name, in its workspace or installed by its user, it leaves the import to them.
"""

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from itertools import islice

_SUFFIXES = (".py", ".pyc", *EXTENSION_SUFFIXES)
_ENTRIES_MAX = 500
_FILLERS = 20
_STANDARD = sys.stdlib_module_names | {"builtins"}


class Stash:
    def __init__(self, begin, path):
        self._begin = begin  # modules that every Python has at its start
        self._path = frozenset(path)  # where copies look too: nothing of a session is there
        self._known = set(begin)
        self._modules = {}
        self._group_of = {}  # name -> group; a group is published as a whole
        self._members = {}
        self._needs = {}  # group -> groups
        self._when_published = {}  # name -> actions
        self.is_asked_by_library = lambda _frame: False

    def add(self, name):
        """Imports a module, where it is installed."""
        try:
            __import__(name)
        except Exception as error:
            # Not there; or not usable, which the session that imports it will be told.
            if not isinstance(error, ModuleNotFoundError):
                sys.stderr.write(f"not warmed: {name}: {error}\n")
        self._note(name)

    def add_rest(self):
        """Adds what has been imported since, by whatever."""
        self._note("")

    def _note(self, entry):
        top = entry.partition(".")[0]
        new = [name for name in sys.modules if name not in self._known]
        self._known.update(new)
        needs = [group for group in self._members if group.partition(".")[0] == top]
        if top not in _STANDARD and "numpy" in self._members:
            needs.append("numpy")
        for name in new:
            own = name.partition(".")[0]
            group = entry if own == top else own
            self._group_of[name] = group
            self._members.setdefault(group, []).append(name)
            if group != entry:
                needs.append(group)
        if entry in self._members:
            self._needs[entry] = set(needs) - {entry}

    def take_away(self, not_kept):
        """Out of sys.modules, into here."""
        for name in self._known - self._begin:
            module = sys.modules.pop(name, None)
            if module is not None and name not in not_kept:
                self._modules[name] = module
        # A copy of the process copies each page of memory that it touches: names that it goes through lie together,
        # and what can be known of all of them is known here.
        own = dict(zip(self._known, _copies(self._known)))
        self._modules = {own[name]: module for name, module in self._modules.items()}
        self._group_of = {own[name]: group for name, group in self._group_of.items()}
        self._members = {group: [own[name] for name in names] for group, names in self._members.items()}
        tops = {name.partition(".")[0] for name in self._modules}
        self._tops = frozenset(top for top in tops - _STANDARD if not top.startswith("_"))

    def is_any_shadowed(self):
        """Whether that is so of a package that is not of the standard library."""
        return any(self.is_shadowed(top) for top in self._tops_to_look_for())

    def _tops_to_look_for(self):
        """Returns those that folders which only the session has may have; where they have few, it looks."""
        found = set()
        for folder in self._session_folders():
            try:
                with os.scandir(folder or ".") as entries:
                    names = [entry.name for entry in islice(entries, _ENTRIES_MAX)]
            except OSError:
                names = [None]  # an archive, or what else it may be
            if len(names) == _ENTRIES_MAX or None in names:
                return self._tops
            found.update(name.partition(".")[0] for name in names)
        return found & self._tops

    def _session_folders(self):
        return [folder for folder in sys.path if folder not in self._path and isinstance(folder, str)]

    def peek(self, name):
        return self._modules.get(name, sys.modules.get(name))

    def when_published(self, name, action):
        """Calls `action(module)` once the module, and what comes with it, is in sys.modules."""
        self._when_published.setdefault(name, []).append(action)

    # As a finder of sys.meta_path.

    def find_spec(self, name, path=None, target=None):
        module = self._modules.get(name)
        if module is None:
            return None
        top = name.partition(".")[0]
        if self.is_shadowed(top) and not (top in _STANDARD and self.is_asked_by_library(sys._getframe(1))):
            self._withdraw(top)
            return None
        original = module.__spec__
        spec = ModuleSpec(name, _Loader(self, module, original), origin=original.origin,
                          is_package=hasattr(module, "__path__"))
        spec.submodule_search_locations = original.submodule_search_locations
        spec.has_location = original.has_location
        return spec

    def is_shadowed(self, top):
        """Whether a folder that only the session has on its path has such a module."""
        for folder in self._session_folders():
            if folder and os.path.isfile(folder):
                return True  # an archive may hold anything
            start = os.path.join(folder, top)
            for suffix in _SUFFIXES:
                if os.path.isfile(start + suffix) or os.path.isfile(os.path.join(start, "__init__" + suffix)):
                    return True
        return False

    def _withdraw(self, top):
        for name in [name for name in self._modules if name.partition(".")[0] == top]:
            del self._modules[name]

    def publish(self, name):
        """With the rest of its group, as an import would have loaded it."""
        for one, module in self._publish_group(self._group_of[name]):
            for action in self._when_published.pop(one, ()):
                action(module)

    def _publish_group(self, group):
        """The modules that are in sys.modules since, by name."""
        published = []
        for other in self._needs.pop(group, ()):
            published += self._publish_group(other)
        for name in self._members.pop(group, ()):
            module = self._modules.pop(name, None)
            if module is not None and sys.modules.setdefault(name, module) is module:
                published.append((name, module))
        return published


def _copies(names):
    """On as few pages as they need: what is free elsewhere is filled meanwhile."""
    fillers = [" " * len(name) for name in names for _ in range(_FILLERS)]
    copies = [f" {name}"[1:] for name in names]
    del fillers
    return copies


class _Loader:
    def __init__(self, stash, module, spec):
        self._stash, self._module, self._spec = stash, module, spec

    def create_module(self, _spec):
        return self._module

    def exec_module(self, module):
        module.__spec__ = self._spec  # the import system has just put ours there
        self._stash.publish(self._spec.name)
