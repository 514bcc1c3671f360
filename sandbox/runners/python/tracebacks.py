"""Failures as the user should read them: their own frames, named by cell and line."""

import os
import re
import sys

from hutch_runner import imported_files

_RUNNER = tuple(os.path.join(path, "") for path in sys.modules["hutch_runner"].__path__)
_STANDARD = os.path.join(os.path.dirname(os.__file__), "")
# Packages of Debian and Ubuntu that are not called as what is imported from them.
_PACKAGE_NAMES = {
    "Cryptodome": "python3-pycryptodome", "PIL": "python3-pil", "bs4": "python3-bs4", "cv2": "python3-opencv",
    "dateutil": "python3-dateutil", "skimage": "python3-skimage", "sklearn": "python3-sklearn", "yaml": "python3-yaml",
}
_NO_PACKAGE = {"duckdb", "polars", "pyarrow"}  # in Debian and Ubuntu
_MISSING = re.compile(r"Missing optional dependency '(\w+)'|^(\w+) not found, please install it")
_CELL = re.compile(r'(?:File ")?<cell-(\d+)>"?, line ')


def name_of(failure):
    kind = type(failure)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def message_of(failure):
    try:
        return _CELL.sub(r"cell \1, line ", str(failure))
    except BaseException as inner:
        return f"<its __str__ raised {type(inner).__name__}>"


def format_failure(failure):
    """The traceback as text, ending in a newline."""
    try:
        import traceback  # most runs need none

        report = traceback.TracebackException.from_exception(failure)
        _keep_user_frames(report, traceback.StackSummary, traceback.FrameSummary)
        text = "".join(report.format())
    except Exception as inner:  # exceptions are user objects: anything can be wrong with them
        # Or nothing can be opened any more, and so nothing imported.
        text = (f"{_lines_of(failure)}{name_of(failure)}: {message_of(failure)}\n"
                f"(no more of the traceback: {type(inner).__name__})\n")
    return _CELL.sub(r"cell \1, line ", text) + (
        _way_to_get(failure) or _way_to_await(failure) or _way_to_reload(failure))


def _way_to_get(failure):
    """What to do about an import that is missing; empty for any other failure."""
    try:
        package = _missing_module(failure).partition(".")[0]
        if not package.isidentifier() or package in sys.modules or package in sys.stdlib_module_names:
            return ""
    except Exception:  # user objects, as above
        return ""
    known = _PACKAGE_NAMES.get(package)
    way = f"with apt install {known}" if known else f"usually with apt install python3-{_debian_name(package)}"
    if package in _NO_PACKAGE:
        way = f"as root with pip install --break-system-packages {package}"
    return (f"(this Python has no {package}: install it on the machine that runs hutch, on Debian and Ubuntu {way}, "
            "or write its files into /workspace)\n")


def _way_to_reload(failure):
    try:
        return imported_files.way_to_reload(failure)
    except Exception:  # user objects, as above
        return ""


def _missing_module(failure):
    """Its name; pandas says it in a failure of its own, which another came before or which its text names."""
    told = _MISSING.search(message_of(failure)) if isinstance(failure, ImportError) else None
    step, seen = failure, []
    while isinstance(step, ImportError) and not any(step is one for one in seen):
        if isinstance(step, ModuleNotFoundError):
            return step.name
        if step.name is not None:  # a module that is there, and has no such name
            return ""
        seen.append(step)
        step = step.__cause__ or step.__context__
    return told[1] or told[2] if told else ""


def _debian_name(package):
    return package.lower().replace("_", "-")


def _way_to_await(failure):
    """Cells without `await` have no running loop, so that asyncio.run() works in them."""
    if type(failure) is not RuntimeError or message_of(failure) != "no running event loop":
        return ""
    step = failure.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_name == "_run_async" and step.tb_frame.f_code.co_filename.startswith(_RUNNER):
            return ""  # this one awaits: it was another thread
        step = step.tb_next
    return ("(tasks are made in a cell that awaits: add `await ...` to this one, such as `await task` "
            "or `await asyncio.sleep(0)`)\n")


def keep_runner_out_of_warnings():
    """Coroutines that nobody awaited may end in a line of the runner, which is nothing to the user."""
    import warnings
    original = getattr(warnings, "_formatwarnmsg_impl", None)  # what else there is loses warning.source
    if original is None:
        return

    def formatted(warning):
        if str(warning.filename).startswith(_RUNNER):
            return f"{warning.category.__name__}: {warning.message}\n"
        return original(warning)

    warnings._formatwarnmsg_impl = formatted


def _lines_of(failure):
    lines, step = "", failure.__traceback__
    while step is not None:
        filename = step.tb_frame.f_code.co_filename
        if not filename.startswith(_RUNNER):
            lines += f"  {filename}, line {step.tb_lineno}\n"
        step = step.tb_next
    return lines and "Traceback:\n" + lines


def is_library(filename):
    return (filename.startswith((_STANDARD, "<frozen ")) or "/site-packages/" in filename
            or "/dist-packages/" in filename or filename.endswith((".pyx", ".pxi")))


def _keep_user_frames(report, StackSummary, FrameSummary):
    """Drops the runner's frames, and folds runs of library frames into one line each."""

    class UserStack(StackSummary):
        def format(self, **options):
            lines, part = [], StackSummary()
            for frame in self:
                if isinstance(frame, str):
                    lines += part.format(**options)
                    lines.append(frame)
                    part = StackSummary()
                else:
                    part.append(frame)
            return lines + part.format(**options)

    seen = set()
    waiting = [report]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
        if one.stack is not None:
            frames = _folded([_without_new_line(frame, FrameSummary) for frame in one.stack])
            one.stack = None
            if frames:
                one.stack = UserStack()
                one.stack.extend(frames)


def _without_new_line(frame, FrameSummary):
    """The line that stands there now is not the one that ran."""
    if not imported_files.has_changed(frame.filename):
        return frame
    return FrameSummary(frame.filename, frame.lineno, frame.name, lookup_line=False, line="")


def _folded(frames):
    mine = [frame for frame in frames if not frame.filename.startswith(_RUNNER)]
    # What comes before the first frame of the user is how the runner got there.
    while mine and is_library(mine[0].filename):
        mine.pop(0)
    kept, library = [], []
    for frame in mine + [None]:
        if frame is not None and is_library(frame.filename):
            library.append(frame)
            continue
        if library:
            kept.append(_summary(library))
            library = []
        if frame is not None:
            kept.append(frame)
    return kept


def _summary(frames):
    last = frames[-1]
    count = "1 frame" if len(frames) == 1 else f"{len(frames)} frames"
    return f"  ... {count} in libraries, last: {last.filename}, line {last.lineno}, in {last.name}\n"
