"""Calls a function when user code has imported a module. Nothing is imported from here."""

import sys


class WhenImported:
    """A meta path finder that steps aside once its module is being loaded."""

    def __init__(self, name, action):
        self._name = name
        self._action = action
        if name in sys.modules:  # a preloaded interpreter
            action(sys.modules[name])
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name, path, target=None):
        if name != self._name:
            return None
        sys.meta_path.remove(self)  # else the search below would come back here
        from importlib.util import find_spec
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module):
            execute(module)
            self._action(module)

        spec.loader.exec_module = execute_and_act
        return spec
