"""The standard library and libraries find the standard library's modules, whatever the user's own files are called.

A file `token.py` in the working directory is found before the module of that name: by code of the user, who may mean it,
but by `tokenize` or pandas too, which then fail, and with them all that tells of failures.
"""

import os
import sys
from importlib import machinery

_find_spec = machinery.PathFinder.find_spec
_NAMES = sys.stdlib_module_names
_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
_OURS = (_STANDARD, "<frozen ", *(os.path.join(path, "") for path in sys.modules["hutch_runner"].__path__))
_get_frame = sys._getframe
# The runner imports these when it needs them: whatever a file of the user's is called, they are the standard library's for everybody.
_NEEDED_LATER = {"copyreg", "enum", "json", "linecache", "re", "token", "tokenize"}


def install():
    """Before what looks in the working directory, and behind the stash of a warm interpreter: of a module there is one."""
    behind = 0
    for at, finder in enumerate(sys.meta_path):
        if hasattr(finder, "when_published"):
            finder.is_asked_by_library = is_asked_by_library
            behind = at + 1
    sys.meta_path.insert(behind, StandardModules())


class StandardModules:
    """A finder of sys.meta_path."""

    def __init__(self):
        self._path = [path for path in sys.path if os.path.join(path, "").startswith(_STANDARD) and "-packages" not in path]

    def find_spec(self, name, path=None, target=None):
        if path is not None or name not in _NAMES or not (name in _NEEDED_LATER or is_asked_by_library(_get_frame(1))):
            return None
        return _find_spec(name, self._path)


def loaded(name):
    """The standard library's module if it has been imported; None for a file of the user's that is called so."""
    module = sys.modules.get(name)
    return module if str(getattr(module, "__file__", "")).startswith(_STANDARD) else None


def is_asked_by_library(frame):
    """Whether the import that `frame` has a part in is one of a library, the standard one included."""
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    file = frame.f_code.co_filename if frame is not None else "<frozen "
    return file.startswith(_OURS) or "/site-packages/" in file or "/dist-packages/" in file
