"""Calls a function when user code has imported a module. Nothing is imported from here."""

import sys


def warm_module(name):
    """The module that a warm interpreter keeps until it is imported, or None. Others that it gives out may use it before."""
    return next((finder.peek(name) for finder in sys.meta_path if hasattr(finder, "when_published")), None)


class WhenImported:
    """Calls `action(module)` once: when the module has been executed, or is there without that.

    A finder of sys.meta_path, until then: others may look for the module and not load it, or fail to.
    """

    def __init__(self, name, action):
        self._name = name
        self._action = action
        if name in sys.modules:  # a preloaded interpreter
            action(sys.modules[name])
            return
        for finder in sys.meta_path:
            # The stash of a warm interpreter, where modules come together with one that needs them.
            if hasattr(finder, "when_published"):
                finder.when_published(name, self._act)
        sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):
        spec = self._found_by_others(name, path, target) if name == self._name else None
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module):
            execute(module)
            self._act(module)

        spec.loader.exec_module = execute_and_act
        return spec

    def _found_by_others(self, name, path, target):
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None) if finder is not self else None
            spec = find_spec(name, path, target) if find_spec is not None else None
            if spec is not None:
                return spec
        return None

    def _act(self, module):
        action, self._action = self._action, None
        if action is not None:
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
            action(module)
