"""Packages that the user of a sandbox installs are found, and before those of that name that the environment has;
matplotlib and vl_convert find the environment's fonts, matplotlib their list too, playwright and plotly its browser."""

import os
import site
import sys

_RUNNERS = "/run/hutch/runners/python"  # in a session
_rest_of_start = site.execsitecustomize


def _use_user_site():
    """After `site` has switched it off, as it does in every virtual environment; pip installs there when it is on."""
    of_environment = [path for path in sys.path if path.endswith("-packages")]
    sys.path[:] = [path for path in sys.path if path not in of_environment]
    site.ENABLE_USER_SITE = True
    site.addusersitepackages(set(sys.path))
    sys.path += of_environment
    is_pip = any(argument.rpartition("/")[2].startswith("pip") for argument in sys.orig_argv[1:4])
    sys.meta_path.insert(0, _Changes(_TO_LIBRARIES | (_TO_PIP if is_pip else {})))
    _rest_of_start()


class _Changes:
    """Changes modules when they have been executed: name -> function that is called with the module."""

    def __init__(self, changes):
        self._changes = changes

    def find_spec(self, name, path=None, target=None):
        change = self._changes.get(name)
        if change is None:
            return None
        import importlib.machinery

        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        execute = spec.loader.exec_module

        def execute_and_change(module):
            execute(module)
            try:
                change(module)
            except Exception:
                pass  # another version than we know: then it is as it is in any virtual environment

        spec.loader.exec_module = execute_and_change
        return spec


def _deny(virtualenv):
    virtualenv.running_under_virtualenv = virtualenv.virtualenv_no_global = lambda: False


def _allow(misc):
    """Packages of the user disturb nobody's system here."""
    misc.check_externally_managed = lambda: None


def _keep_environment(req_uninstall):
    """Tells of what nobody can remove as such, and not as a file system that can only be read."""
    from pip._internal.exceptions import InstallationError

    of_user = req_uninstall.UninstallPathSet.from_dist

    def from_dist(cls, dist):
        if str(dist.installed_location or "").startswith(sys.prefix + "/"):
            raise InstallationError(
                f"{dist.raw_name} {dist.version} is the environment's, which nobody changes from a session; another version can be "
                "installed, and then comes first")
        return of_user(dist)

    req_uninstall.UninstallPathSet.from_dist = classmethod(from_dist)


def _add_fonts(font_manager):
    """A figure's text takes from them what its own font has no glyph for, whatever font a style or the user has set."""
    import re

    folder = os.path.join(sys.prefix, "share/fonts")
    try:
        files = sorted(file for file in os.listdir(folder) if file.endswith(".ttf") and "Color" not in file)
    except OSError:
        return
    paths = [os.path.join(folder, file) for file in files]
    for path, file in zip(paths, files):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", file.partition("_")[0])  # NotoSansSC_400Regular.ttf
        font_manager.fontManager.ttflist.append(
            font_manager.FontEntry(fname=path, name=name, style="normal", variant="normal", weight=400, stretch="normal", size="scalable"))
    find = font_manager.FontManager._find_fonts_by_props

    def find_with_ours(self, *arguments, **options):
        found = find(self, *arguments, **options)
        return found + [path for path in paths if path not in found]

    font_manager.FontManager._find_fonts_by_props = find_with_ours
    told = set()
    # Else it says for each text that is drawn which font is not there.
    font_manager._log.addFilter(lambda record: not (record.getMessage() in told or told.add(record.getMessage())))


def _give_font_list(matplotlib):
    """Copies the list that was made with the environment, unless the host's fonts, or the user's, are others than those of then."""
    import json

    made = os.path.join(sys.prefix, "share/matplotlib")
    with open(os.path.join(made, "directories.json")) as file:
        known = json.load(file)
    if any((os.stat(path).st_mtime if os.path.isdir(path) else None) != changed_at for path, changed_at in known.items()):
        return
    for name in os.listdir(made):
        target = os.path.join(matplotlib.get_cachedir(), name)
        if name.startswith("fontlist-") and not os.path.exists(target):
            with open(os.path.join(made, name), "rb") as file, open(f"{target}.{os.getpid()}", "wb") as copy:
                copy.write(file.read())
            os.replace(copy.name, target)  # another process may look for it at the same time


def _give_browser(playwright):
    import hutch_playwright

    hutch_playwright.give(os.path.join(os.path.dirname(playwright.__file__), "driver/package/browsers.json"))


def _draw_for_plotly(kaleido):
    """A program draws as a cell does, with a browser of its own, which ends with it."""
    if not os.path.isdir(_RUNNERS) or kaleido.kaleido_available():
        return
    _module_of_runner("library_charts").take_plotly_images(kaleido)
    import atexit

    atexit.register(lambda: sys.modules["hutch_runner.plotly_pictures"].end() if "hutch_runner.plotly_pictures" in sys.modules else None)


def _give_fonts_of_svg(vl_convert):
    if os.path.isdir(_RUNNERS):
        _module_of_runner("vector_fonts").take(vl_convert)


def _module_of_runner(name):
    import importlib

    if "hutch_runner" not in sys.modules:  # this is no interpreter of a session, nor a process that one has started
        import runpy

        runpy.run_path(f"{_RUNNERS}/runner.py")["make_package"]()
    return importlib.import_module(f"hutch_runner.{name}")


# To pip this is no virtual environment: in one it would neither install for the user what the environment has, too, nor
# replace and remove what the user has.
_TO_PIP = {"pip._internal.utils.virtualenv": _deny, "pip._internal.utils.misc": _allow,
           "pip._internal.req.req_uninstall": _keep_environment}
_TO_LIBRARIES = {"matplotlib": _give_font_list, "matplotlib.font_manager": _add_fonts, "playwright": _give_browser,
                 "plotly.io._kaleido": _draw_for_plotly, "vl_convert": _give_fonts_of_svg}

site.execsitecustomize = _use_user_site
