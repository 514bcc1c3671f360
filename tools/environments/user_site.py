"""Packages that the user of a sandbox installs are found, and before those of that name that the environment has;
matplotlib and vl_convert find the environment's fonts, matplotlib their list too, playwright and plotly its browser;
scripts that show figures are told to save them."""

import os
import site
import sys

_RUNNERS = "/run/hutch/runners/python"  # in a session
_FOR_MISSING = "\u00a4"  # matplotlib's formulas have it in place of a glyph
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

    paths = _fonts()
    for path in paths:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", os.path.basename(path).partition("_")[0])  # NotoSansSC_400Regular.ttf
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


def _fonts():
    folder = os.path.join(sys.prefix, "share/fonts")
    try:
        return sorted(os.path.join(folder, file) for file in os.listdir(folder) if file.endswith(".ttf") and "Color" not in file)
    except OSError:
        return []


def _add_fonts_to_formulas(mathtext):
    """Text with a $ is set as a formula, which asks its own fonts for each character, and the others for none."""
    paths = _fonts()
    find = mathtext.UnicodeFonts._get_glyph

    def find_with_ours(self, fontname, font_class, symbol):
        found = find(self, fontname, font_class, symbol)
        if len(symbol) > 1 or symbol == _FOR_MISSING or found[1] != ord(_FOR_MISSING):
            return found
        for path in paths:
            font = mathtext.get_font(path)
            if font.get_char_index(ord(symbol)):
                return font, ord(symbol), False
        if not (isinstance(self, mathtext.StixFonts) and fontname in ("it", "regular", "normal")):  # it asks itself again
            _warn_of_missing(symbol, found[0].family_name)
        return found

    mathtext.UnicodeFonts._get_glyph = find_with_ours
    mathtext._log.addFilter(lambda record: "substituting with a dummy symbol" not in str(record.msg))


def _warn_of_missing(char, fonts):
    """As matplotlib does for other text, at the line that draws: its own way takes this module, and a formula's parser, for it."""
    import warnings

    frame, level = sys._getframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (__name__, "matplotlib", "mpl_toolkits", "pyparsing"):
        frame, level = frame.f_back, level + 1
    named = char.encode("ascii", "namereplace").decode("ascii")
    warnings.warn(f"Glyph {ord(char)} ({named}) missing from font(s) {fonts}.", stacklevel=level)


def _tell_of_show(pyplot):
    if not _is_script():
        return
    import weakref

    from matplotlib._pylab_helpers import Gcf

    show, save, saved = pyplot.show, pyplot.Figure.savefig, weakref.WeakSet()

    def tell_and_show(*arguments, **options):
        if pyplot.get_backend().lower() == "agg" and any(one.canvas.figure not in saved for one in Gcf.get_all_fig_managers()):
            _tell_once("plt.savefig('figure.png')")
        return show(*arguments, **options)

    def save_and_note(*arguments, **options):
        try:
            saved.add(arguments[0])
        except (IndexError, TypeError):
            pass  # a figure of a class of one's own, which is not told apart
        return save(*arguments, **options)

    pyplot.show, pyplot.Figure.savefig = _named_as(show, tell_and_show), _named_as(save, save_and_note)


def _tell_of_show_of_plotly(renderers):
    if not _is_script():
        return
    show = renderers.show

    def tell_and_show(*arguments, **options):
        renderer = options.get("renderer", arguments[1] if len(arguments) > 1 else None)
        if (renderer or renderers.renderers.default or "browser") in ("browser", "chrome", "chromium", "firefox"):
            _tell_once("fig.write_image('figure.png')")
        return show(*arguments, **options)

    renderers.show = _named_as(show, tell_and_show)


def _named_as(function, other):
    import functools

    return functools.wraps(function)(other)


def _is_script():
    """In a session, and no cell, whose figures are shown, nor a process that one has started as a copy of itself."""
    return os.path.isdir(_RUNNERS) and "hutch_runner.session" not in sys.modules


_told_to_save = set()


def _tell_once(how):
    if not _is_script() or how in _told_to_save:  # it may have become a session's interpreter
        return
    _told_to_save.add(how)
    try:
        sys.stderr.write(f"hutch: a script shows no figures: save it ({how}) and read_file shows it, or run the script in a cell: %run FILE\n")
    except Exception:
        pass  # closed, or another of the script's making


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
_TO_LIBRARIES = {"matplotlib": _give_font_list, "matplotlib.font_manager": _add_fonts, "matplotlib._mathtext": _add_fonts_to_formulas,
                 "matplotlib.pyplot": _tell_of_show, "playwright": _give_browser, "plotly.io._kaleido": _draw_for_plotly,
                 "plotly.io._renderers": _tell_of_show_of_plotly, "vl_convert": _give_fonts_of_svg}

site.execsitecustomize = _use_user_site
