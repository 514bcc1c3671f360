"""Says what to do about failures that hutch's users meet in their first week: a line behind the traceback."""

import os
import sys
from errno import EACCES, EMFILE, ENOENT, ENOTDIR, EPERM, EROFS

from hutch_runner import absent_programs, frame_runs, imported_files, installs, process_mains, text_fonts
from hutch_runner.index_names import index_name_of, words_in_place_of
from hutch_runner.patterns import Pattern
from hutch_runner.standard_modules import loaded

_MISSING = Pattern(r"Missing optional dependency '(\w+)'|^(\w+) not found, please install it")
_UNDEFINED = Pattern(r"name '(\w+)' is not defined")
_OF_HISTORY = Pattern(r"name '(In|Out|_{2,3}|_\d+|_[io]h|_i{1,3}|_i\d+)' is not defined")
_NOT_THERE = {EACCES, ENOENT, ENOTDIR, EPERM, EROFS}
_told_how_to_get = False  # to this interpreter's user, who need not read that with each module


def way_out_of(failure, message):
    """A line that ends in a newline, or nothing. `message` is what the failure says of itself."""
    for way in _WAYS:
        try:
            line = way(failure, message)
        except Exception:  # failures are user objects: anything can be wrong with them
            continue
        if line:
            return line
    return ""


def _way_to_get(failure, message):
    """Says what to do about an import that is missing; empty for any other failure."""
    module = _missing_module(failure, message)
    if module.startswith("google.colab"):
        return ("(this is no Colab: the user's files come by write_file or a granted folder below /mnt, "
                "and share_file gives a file of /workspace to the user)\n")
    index_name = index_name_of(module)
    package = module if module.startswith("google.") else module.partition(".")[0]
    if not all(map(str.isidentifier, package.split("."))) or package in sys.modules or package in sys.stdlib_module_names:
        return ""
    awaited, others = installs.what_to_wait_for(package, index_name)
    if awaited:
        return f"(this Python has no {package} yet: {awaited}; then run this again)\n"
    words = [words_in_place_of(package), _words_for_installing(package, index_name), f"meanwhile {others}" if others else ""]
    return f"({'; '.join(filter(None, words))})\n"


def _words_for_installing(package, index_name):
    name = f", where it is called {index_name}" if index_name else " under the name that the index has for it"
    if asked := os.environ.get("HUTCH_ASK_pip"):
        return (f"this Python has no {package}: install_packages installs it{name}, in a session that create_session makes with network "
                f'{{"allow": ["{asked}"]}}')
    if "HUTCH_NETWORK" in os.environ:
        return f"this Python has no {package}: install_packages installs it{name}, if the session's network policy allows that"
    global _told_how_to_get
    if _told_how_to_get:
        return f"this Python has no {package} either, and no session installs any here: the first such error says who can change that"
    _told_how_to_get = True
    own = "`hutch environments build NAME -r requirements.txt`"
    if sys.prefix == "/environment":
        way = f"{own} makes an environment that has it, for create_session's template"
    else:
        way = ("`hutch environments build` gives new sessions what a code interpreter is expected to have, "
               f"{own} what you list")
    return (f"this Python has no {package}: on the machine that runs hutch {way}, `hutch stdio --packages` lets sessions "
            "install packages; or write its files into /workspace")


def _way_to_bring(failure, message):
    """Helps with a file of another machine or of another folder, and about one that can only be read; empty for any other failure."""
    from hutch_runner import foreign_paths, near_files

    if isinstance(failure, OSError) and failure.errno is not None and failure.errno not in _NOT_THERE:
        return ""
    if isinstance(failure, OSError) and isinstance(failure.filename, (str, bytes, os.PathLike)):
        if _is_of_program(failure):
            return ""
        names = [os.fsdecode(name) for name in (failure.filename, failure.filename2) if name is not None]
        if failure.errno in (EACCES, EPERM, EROFS) and (told := next(filter(None, map(near_files.words_for_read_only, names)), "")):
            return f"({told})\n"
        return foreign_paths.way_for(names[0])
    # Libraries may name it in their words alone.
    kind, module = type(failure).__name__, type(failure).__module__
    of_library = kind == "IOException" and "duckdb" in module or kind == "PackageNotFoundError" and module.startswith(("docx.", "pptx."))
    is_of_files = isinstance(failure, OSError) or of_library
    return foreign_paths.way_in(message, is_missing=isinstance(failure, FileNotFoundError)) if is_of_files else ""


def _way_to_close(failure, _message):
    if not isinstance(failure, OSError) or failure.errno != EMFILE:
        return ""
    return "(a process has as many files open as limits.open_files allows: `with open(...)` closes each, or create_session with more)\n"


def _way_to_decode(failure, _message):
    """The encoding that a text may have."""
    if not isinstance(failure, UnicodeDecodeError):
        return ""
    from hutch_runner import text_encodings

    encodings, is_of_file = text_encodings.of_failure(failure), text_encodings.is_of_file(failure)
    if encodings and encodings[0] != failure.encoding:
        return f"({'the file looks' if is_of_file else 'these bytes look'} like {text_encodings.in_words(encodings)})\n"
    return "(read_file says what that file may be)\n" if is_of_file else ""


def _way_to_name(failure, _message):
    """Columns of pandas that are called nearly so."""
    if not isinstance(failure, (KeyError, AttributeError, NameError)) or "pandas" not in sys.modules:
        return ""
    from hutch_runner import near_labels

    near = near_labels.near_labels(failure)
    return f"({near})\n" if near else ""


def _way_to_remember(failure, message):
    """Says what notebooks have the results of earlier cells under, and hutch does not keep."""
    if type(failure) is not NameError or not _OF_HISTORY.match(message):
        return ""
    return "(no Out, In, _1 or __ is kept here: give a value a name, or take the last one by `_`; %history prints the code of the cells)\n"


def _way_to_format(failure, message):
    """Says what to do without the locales of countries."""
    if f"{type(failure).__module__}.{type(failure).__name__}" != "locale.Error" or message != "unsupported locale setting":
        return ""
    return "(only C.UTF-8 and C exist here; f'{1234.5:,.2f}'.translate({44: '.', 46: ','}) is '1.234,50')\n"


def _way_to_query(failure, message):
    """Says what to do about a table that language sql has made, and another database of duckdb's does not have."""
    if type(failure).__name__ != "CatalogException" or "duckdb" not in type(failure).__module__ or "Table with name" not in message:
        return ""
    return '(tables that run_code made with language sql are in the session\'s database: hutch.sql("SELECT ...") has them, and DataFrames, too)\n'


def _way_to_reload(failure, _message):
    return imported_files.way_to_reload(failure)


def _missing_module(failure, message):
    """Its name; pandas says it in a failure of its own, which another came before or which its text names."""
    told = _MISSING.search(message) if isinstance(failure, ImportError) else None
    step, seen = failure, set()
    while isinstance(step, ImportError) and id(step) not in seen:
        if isinstance(step, ModuleNotFoundError):
            return step.name
        if step.name is not None:  # a module that is there, and has no such name
            return ""
        seen.add(id(step))
        step = step.__cause__ or step.__context__
    return told[1] or told[2] if told else ""


def _way_to_await(failure, message):
    """Cells without `await` have no running loop, so that asyncio.run() works in them."""
    if type(failure) is not RuntimeError:
        return ""
    if message.endswith("cannot be called from a running event loop") or message == "This event loop is already running":
        return "(this cell awaits, so that a loop is running: `await main()` in place of asyncio.run(main()))\n"
    if message != "no running event loop":
        return ""
    step = failure.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_name == "_run_async" and frame_runs.is_runner(step.tb_frame.f_code.co_filename):
            return ""  # this one awaits: it was another thread
        step = step.tb_next
    return ("(tasks are made in a cell that awaits: add `await ...` to this one, such as `await task` "
            "or `await asyncio.sleep(0)`)\n")


def _way_to_share(failure, message):
    """Says what to do about a variable of the cells that a function of a cell lacks in a process of its own."""
    remote = type(failure.__cause__).__name__ in ("_RemoteTraceback", "RemoteTraceback")
    name = _UNDEFINED.match(message) if remote and type(failure) is NameError else None
    if not name or name[1] not in vars(sys.modules["__main__"]):
        return ""
    why = process_mains.why_not_sent(vars(sys.modules["__main__"])[name[1]])
    return (f"({name[1]} is here, but not in the pool's processes, which have the imports and functions of the cells and values that are plain and small"
            f"{', and ' + why if why else ''}: give it as an argument, or set it by the pool's initializer)\n")


def _way_to_map(failure, message):
    """Says what plotly 7 has in place of the maps by Mapbox, which it has no more."""
    name = failure.name if isinstance(failure, AttributeError) else None
    if not name or not name.lower().endswith("mapbox") or not message.startswith("module 'plotly."):
        return ""
    return (f"(plotly has {name[:-len('box')]} instead, with map_style and layout.map for mapbox_style and layout.mapbox; its tiles come by the network, "
            "scatter_geo and choropleth need none)\n")


def _way_to_show(failure, message):
    """Says what to do in place of a window."""
    kind = f"{type(failure).__module__}.{type(failure).__name__}"
    if kind == "cv2.error" and "not implemented" in message and "Window" in message + _last_line_of(failure):
        return "(there is no screen here: cv2.imwrite('image.png', image), or `PIL.Image.fromarray(image[..., ::-1])` as the last value shows it)\n"
    if kind == "_tkinter.TclError" and "display" in message:
        return "(there is no screen here: figures of matplotlib and plotly, and images as the last value, are shown without one)\n"
    return ""


def _way_to_run(failure, message):
    """Says what to do about a program that is not there."""
    names = ["ffmpeg"] if message == "unknown file extension: .mp4" else _missing_programs(failure)
    told = next(filter(None, map(absent_programs.explanation_of, names)), "")
    return f"({told})\n" if told else ""


def _way_to_write(failure, message):
    """Says what to do about the file of a font that another machine has."""
    of_pil = type(failure) is OSError and message == "cannot open resource"
    if not of_pil and type(failure).__name__ != "TTFError" and not str(getattr(failure, "filename", "")).lower().endswith((".ttf", ".otf", ".ttc")):
        return ""
    folders = {}
    for path in text_fonts.files():
        folders.setdefault(os.path.dirname(path), []).append(os.path.basename(path))
    there = "; ".join(f"{', '.join(names)} in {folder}" for folder, names in folders.items())
    by_pil = "; ImageFont.load_default(size) needs no file" if of_pil else ""
    return f"(fonts that are here: {there}{by_pil})\n" if there else ""


def _way_to_open(failure, message):
    """Says what to do about a photo of a phone, which Pillow reads with another library."""
    if type(failure).__name__ != "UnidentifiedImageError" or not message.lower().endswith((".heic'", ".heif'")):
        return ""
    return "(from pillow_heif import register_heif_opener; register_heif_opener() - then Image.open reads it; read_file shows it)\n"


def _missing_programs(failure):
    """The names of those that could not be started, by whatever failure their caller made of that; or none."""
    subprocess = loaded("subprocess")
    step, seen = failure if subprocess else None, set()
    while step is not None and id(step) not in seen:
        if isinstance(step, subprocess.CalledProcessError) and step.returncode == 127:
            # A list is a program and what it gets, which may be a script again, of `bash -c`.
            words = [step.cmd] if isinstance(step.cmd, (str, bytes)) else step.cmd
            return [os.path.basename(name) for word in words for name in absent_programs.programs_of(os.fsdecode(word))]
        if _is_of_program(step):
            return [os.path.basename(os.fsdecode(step.filename))]
        seen.add(id(step))
        step = step.__cause__ or step.__context__
    return []


def _is_of_program(failure):
    return isinstance(failure, FileNotFoundError) and _last_frame_of(failure).name == "_execute_child"


def _last_frame_of(failure):
    import traceback

    stack = traceback.extract_tb(failure.__traceback__, limit=-1)
    return stack[-1] if stack else traceback.FrameSummary("", 0, "")


def _last_line_of(failure):
    return _last_frame_of(failure).line or ""


_WAYS = (_way_to_get, _way_to_await, _way_to_write, _way_to_bring, _way_to_close, _way_to_decode, _way_to_name, _way_to_remember, _way_to_format, _way_to_query, _way_to_reload,
         _way_to_share, _way_to_map, _way_to_show, _way_to_open, _way_to_run)
