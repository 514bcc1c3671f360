"""What the user of a sandbox installs is found, and before what the environment has of that name."""

import site
import sys

_rest_of_start = site.execsitecustomize


def _use_user_site():
    """After `site` has switched it off, as it does in every virtual environment; pip installs there when it is on."""
    of_environment = [path for path in sys.path if path.endswith("-packages")]
    sys.path[:] = [path for path in sys.path if path not in of_environment]
    site.ENABLE_USER_SITE = True
    site.addusersitepackages(set(sys.path))
    sys.path += of_environment
    if any(argument.rpartition("/")[2].startswith("pip") for argument in sys.orig_argv[1:4]):
        sys.meta_path.insert(0, _WhenPipLooks())
    _rest_of_start()


class _WhenPipLooks:
    """pip refuses another version for the user of what a virtual environment has, which would come first elsewhere."""

    where = {"pip._internal.req.req_install", "pip._internal.resolution.resolvelib.factory"}

    def find_spec(self, name, path=None, target=None):
        if name not in self.where:
            return None
        import importlib.util

        self.where.remove(name)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def execute_and_tell(module):
            execute(module)
            module.running_under_virtualenv = lambda: False

        spec.loader.exec_module = execute_and_tell
        return spec


site.execsitecustomize = _use_user_site
