"""Knows what is being installed: code that misses it is told to wait for that, and not to install it."""

import os

from hutch_runner.patterns import Pattern

_MANAGERS = Pattern(r"pip(3(\.\d+)?)?|uv")
_ACTIONS = {"install", "add", "sync"}
_FILES = (".txt", ".toml", ".whl", ".gz", ".zip")
# A file, a folder or a group of packages follows, in the same word or in the next one; others may stand before `r` and `e`.
_OPENS_A_LIST = Pattern(r"-[IUnqv]*[er]|--(requirement|editable|group)")
# A value follows that is no package.
_HAVE_VALUES = {
    "-c", "-f", "-i", "-p", "-t", "--cache-dir", "--cert", "--config-settings", "--constraint", "--default-index", "--directory", "--extra",
    "--extra-index-url", "--find-links", "--index", "--index-strategy", "--index-url", "--link-mode", "--log", "--no-binary", "--only-binary",
    "--platform", "--prefix", "--progress-bar", "--project", "--proxy", "--python", "--python-version", "--report", "--resolution", "--retries",
    "--root", "--src", "--target", "--timeout", "--trusted-host", "--upgrade-strategy"}
_PACKAGE = Pattern(r"([A-Za-z0-9][\w.-]*)(\[[^\]]*\])?\s*([=<>!~;@ ].*)?")
_SEPARATORS = Pattern(r"[-_.]+")
_PROCESSES_MAX = 1000
_SHOWN_MAX = 200

_of_runs = {}  # packages, by installing run: those that were queued or on when this one began


def begin(message):
    of_runs = message.get("installs")
    _of_runs.clear()
    for run, packages in of_runs.items() if isinstance(of_runs, dict) else ():
        if str(packages).startswith("pip "):
            _of_runs[run] = str(packages).removeprefix("pip ")


def what_to_wait_for(*names):
    """Two clauses, of installs that may bring what has one of these names, and of the others; empty where there are none."""
    told = [(packages.split(", "), f"{run} installs {packages}: get_run tells when it has ended") for run, packages in _of_runs.items()]
    try:
        told = told or [(packages, f"`{command}` is on") for command, packages in _commands()]
    except Exception:  # no file can be opened any more, or user code has something else in the place of open()
        pass
    wanted = {_plain(name) for name in names if name}
    bring = [not packages or any(_may_bring(package, wanted) for package in packages) for packages, _ in told]
    awaited, others = ([clause for (_, clause), is_one in zip(told, bring) if is_one == which] for which in (True, False))
    return "; ".join(awaited[:3]), "; ".join(others[:3])


def _may_bring(package, wanted):
    """Files, folders and addresses may have anything in them."""
    found = _PACKAGE.fullmatch(package)
    name = _plain(found[1]) if found else ""
    if found and not package.endswith(_FILES):
        # `opencv-python` is what an index has as `opencv-python-headless`, too.
        return any(name == one or one.startswith(name + "-") for one in wanted)
    return not package.startswith("-") or _OPENS_A_LIST.match(package) is not None


def _plain(name):
    return _SEPARATORS.sub("-", name).lower()


def _commands():
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    for process in processes[:_PROCESSES_MAX]:
        try:
            with open(f"/proc/{process}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read(4096).rstrip("\0").split("\0")
        except OSError:  # it has ended
            continue
        names = [os.path.basename(word) for word in words]
        at = next((at for at, name in enumerate(names[:4]) if _MANAGERS.fullmatch(name)), None)
        if at is not None and (wanted := _packages_of(words[at + 1:])) is not None:
            yield " ".join([names[at], *words[at + 1:]])[:_SHOWN_MAX], wanted


def _packages_of(words):
    """Returns what a manager with these arguments is to install, nothing where that may be anything; None where it is none."""
    words = [word for before, word in zip(["", *words], words) if before not in _HAVE_VALUES and word not in _HAVE_VALUES]
    at = next((at for at, word in enumerate(words) if word != "pip" and not word.startswith("-")), None)
    if at is None or words[at] not in _ACTIONS:
        return None
    if words[at] == "sync":  # whatever a project, or a file, has
        return []
    return [word for word in words[at + 1:] if not word.startswith("-") or _OPENS_A_LIST.match(word)]
