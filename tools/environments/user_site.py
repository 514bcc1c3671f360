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
    """To pip this is no virtual environment: in one it would neither install for the user what the environment has, too,
    nor replace and remove what the user has."""

    def find_spec(self, name, path=None, target=None):
        change = _CHANGES.get(name)
        if change is None:
            return None
        import importlib.machinery

        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        execute = spec.loader.exec_module

        def execute_and_change(module):
            execute(module)
            try:
                change(module)
            except (AttributeError, ImportError):
                pass  # another pip than we know: then it is as it is in any virtual environment

        spec.loader.exec_module = execute_and_change
        return spec


def _deny(virtualenv):
    virtualenv.running_under_virtualenv = virtualenv.virtualenv_no_global = lambda: False


def _allow(misc):
    """Packages of the user disturb nobody's system here."""
    misc.check_externally_managed = lambda: None


def _keep_environment(req_uninstall):
    """What nobody can remove is told as such, and not as a file system that can only be read."""
    from pip._internal.exceptions import InstallationError

    of_user = req_uninstall.UninstallPathSet.from_dist

    def from_dist(cls, dist):
        if str(dist.installed_location or "").startswith(sys.prefix + "/"):
            raise InstallationError(
                f"{dist.raw_name} {dist.version} is the environment's, which nobody changes from a session; another version can be "
                "installed, and then comes first")
        return of_user(dist)

    req_uninstall.UninstallPathSet.from_dist = classmethod(from_dist)


_CHANGES = {"pip._internal.utils.virtualenv": _deny, "pip._internal.utils.misc": _allow,
            "pip._internal.req.req_uninstall": _keep_environment}

site.execsitecustomize = _use_user_site
