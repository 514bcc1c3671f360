"""Where a file is that code has looked for elsewhere, or under a name that is written otherwise; and which folders can only be read."""

import os
from itertools import islice

from hutch_runner.patterns import Pattern

_ENTRIES_MAX = 2_000  # looked at for one failure
_TOLD_MAX = 2
_WORKSPACE, _GRANTED = "/workspace", "/mnt"
_OWN_FOLDERS = ("node_modules", "__pycache__")  # tools make them
_FOLDER_OF_HOST = Pattern(r"/mnt/[^/]+")
_NAMED = Pattern(r"""no such table: ([^;\n]+);|["']([^"'\n]+)["']|(?:^|[\s:(])((?:[\w.~-]*/)*[\w-]+(?:\.\w{1,8})+)(?=$|[\s),:;])""")


def words_for(path):
    """Finds files called so, or nearly so, in the working directory, in /workspace and its folders, and in granted folders; or nothing."""
    name = _name_of(path)
    if not name or set(name) & set("*?\n") or os.path.lexists(path):
        return ""
    folded = _folded(name)
    found = [os.path.normpath(entry.path) for entry in islice(_entries(), _ENTRIES_MAX) if _folded(entry.name) == folded]
    same = [one for one in found if os.path.basename(one) == name] or found
    there = list({os.path.realpath(one): one for one in reversed(same) if os.path.exists(one)}.values())[::-1]
    return f"{_words_for_folder(path)}there is {' and '.join(there[:_TOLD_MAX])}" if there else ""


def _words_for_folder(path):
    """Whoever wants to make something in the session has to make its folder first. Other paths are of another machine."""
    folder = os.path.dirname(path.rstrip("/"))
    is_own = folder and (not folder.startswith("/") or folder.startswith(f"{_WORKSPACE}/"))
    return f"there is no folder {folder}; " if is_own and not os.path.lexists(folder) else ""


def words_in(message):
    """Does so for the first name in a message."""
    named = _NAMED.search(message)
    return words_for(next(filter(None, named.groups()))) if named else ""


def words_for_read_only(path):
    """Where else to write, for a path in a granted folder that can only be read; or nothing, as where code may not read it either."""
    folder = _FOLDER_OF_HOST.match(os.path.abspath(path))
    try:
        is_read_only = folder and os.statvfs(folder[0]).f_flag & os.ST_RDONLY and (os.access(path, os.R_OK) or not os.path.lexists(path))
    except OSError:
        return ""
    return f"{folder[0]} is read-only: write to {_WORKSPACE}" if is_read_only else ""


def _entries():
    """The nearest first."""
    upper = []
    granted = (entry.path for entry in _listed(_GRANTED))
    for folder in dict.fromkeys((*_own_folder(), _WORKSPACE, *granted)):
        for entry in _listed(folder):
            upper.append(entry)
            yield entry
    for entry in upper:
        if os.path.dirname(entry.path) == _WORKSPACE and entry.name not in _OWN_FOLDERS and not entry.name.startswith("."):
            yield from _listed(entry.path)


def _own_folder():
    try:
        return [os.getcwd()]
    except OSError:
        return []  # it is gone


def _listed(folder):
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _name_of(path):
    return os.path.basename(path.replace("\\", "/").rstrip("/"))


def _folded(name):
    """Makes names alike that differ by case, by what stands between words, and by how accents are written."""
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFC", name)
    return name.casefold().replace(" ", "_").replace("-", "_")
