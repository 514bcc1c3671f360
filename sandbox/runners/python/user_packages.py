"""Packages that were installed since an earlier run are found by this one, without a new interpreter."""

import os
import site
import sys


class UserPackages:
    def __init__(self):
        self._seen = None

    def look(self):
        if not site.ENABLE_USER_SITE:
            return
        try:
            folder = site.getusersitepackages()
            changed = os.stat(folder).st_mtime_ns
        except (OSError, AttributeError):  # not there; or user code has changed `site`
            return
        if changed == self._seen:
            return
        self._seen = changed
        import importlib
        importlib.invalidate_caches()  # which remember folders that were not there, too
        if folder not in sys.path:
            after = [path for path in sys.path if path.endswith("-packages")]
            sys.path[:] = [path for path in sys.path if path not in after]
            site.addusersitepackages({path for path in sys.path if path})
            sys.path += after
