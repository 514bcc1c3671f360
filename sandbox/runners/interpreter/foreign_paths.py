"""Paths that a session has not: as code for other places names them, of the user's machine and of a chat's own sandbox, or of a file elsewhere."""

import os

from hutch_runner import near_files
from hutch_runner.patterns import Pattern

# Homes on macOS, on Linux but for a session's own, and on Windows, and a home's folders that no session has.
_MACHINE = r"/Users(?:/|$)|/home/(?!user(?:/|$))[^/]+/|[A-Za-z]:[\\/]|/mnt/c/|(?:~|/home/user)/(?:Desktop|Documents|Downloads)/"
_CHAT = r"(/mnt/user-data|/mnt/data|/mnt/skills|/home/claude)(?:/|$)"
_OF_A_MACHINE, _OF_A_CHAT = Pattern(_MACHINE), Pattern(_CHAT)
_QUOTED = Pattern(rf"""["']((?:{_MACHINE}|{_CHAT})[^"']*)|(?:^|(?<!url:)[\s:])((?:{_MACHINE}|{_CHAT})\S*)""")
_SAYS_MISSING = Pattern(r"(?i)no such file|no files? found|not found|not exist|(?:cannot|can't|could not|failed to|unable to) (?:\w+ )?open")

_NO_FILES = ("(this session sees no files of the user's machine: whoever runs hutch grants a folder, which is at /mnt/NAME then, with "
             "`--mount NAME=PATH`; or the user gives the file's content, for write_file)\n")
_NOT_OF_THE_CHAT = ("(files of the chat are not in this session: the user gives them through write_file, or in a folder that whoever "
                    "runs hutch grants, which is at /mnt/NAME then, with `--mount NAME=PATH`)\n")
_TO_SHARE = "this session has no {}: write below /workspace, and share_file gives the file to the user"


def way_for(path):
    """A line that ends in a newline, or nothing."""
    near = near_files.words_for(path)
    of_chat = _OF_A_CHAT.match(path)
    if of_chat and os.path.isdir(of_chat[1]):  # a granted folder may be called so
        of_chat = None
    if of_chat and path.startswith(("/mnt/user-data/outputs", "/home/claude")):
        own = _TO_SHARE.format("/mnt/user-data/outputs" if path.startswith("/mnt") else "/home/claude")
        return f"({own}{'; ' + near if near else ''})\n"
    if near:
        return f"({near})\n"
    if of_chat:
        return _NOT_OF_THE_CHAT
    return _NO_FILES if _OF_A_MACHINE.match(path) else ""


def way_in(message, is_missing=False):
    """Does so for the first such path that words name; they say themselves that it is missing, or `is_missing` does."""
    named = _QUOTED.search(message)
    path = named[1] or named[3].rstrip(",:;") if named else ""
    if path:
        return way_for(path)
    near = near_files.words_in(message) if is_missing or _SAYS_MISSING.search(message) else ""
    return f"({near})\n" if near else ""
