"""Programs that code has called and that a session has not: how things are here, in the words of all languages.

A failure is explained in its traceback (ways_out.py). Mostly there is none: a shell says that it has not found the program, and
the code goes on. So all that is called is looked at when the run is over.
"""

import functools
import os

from hutch_runner.imports import WhenImported, warm_module
from hutch_runner.patterns import Pattern

_LIST = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "absent_programs.txt")
_SHELLS = {"sh", "bash", "dash", "zsh"}
_CALLS_MAX = 50  # for one run; a loop calls the same again and again
_CHARACTERS_MAX = 4_000
_QUOTED_WORD = Pattern(r"(['\"])([\w./-]+)\1")
_QUOTED = Pattern(r"'[^']*'|\"[^\"]*\"")
_NEXT = Pattern(r"[;|&()\n`]+")
_BEFORE = Pattern(r"(\w+=\S*|-\S*|time|exec|nohup|env|command|then|do|else|if|while|until|!|\{)$")  # such words precede the name


def explanation_of(name):
    """A sentence; empty where nothing is known of the program."""
    with open(_LIST, encoding="utf-8") as file:
        for line in file:
            names, _, sentence = line.rstrip("\n").partition("\t")
            if name in names.split():
                return sentence.replace("%s", name)
    return ""


def programs_of(script):
    """The names of what a shell's script calls, as far as that shows without running it."""
    without_text = _QUOTED.sub("''", _QUOTED_WORD.sub(r"\2", script.partition("<<")[0]))
    for piece in _NEXT.split(without_text):
        word = next((word for word in piece.split() if not _BEFORE.match(word)), "")
        if word:
            yield word


class AbsentPrograms:
    """Made after all else that looks at imports, or the one for libraries would find `subprocess` before this does."""

    def __init__(self):
        self.called = {}  # whatever was called by this run: names, and scripts of a shell
        warm = warm_module("subprocess")
        if warm is None:
            WhenImported("subprocess", self._watch_processes)
        else:
            self._watch_processes(warm)
        system = os.system

        @functools.wraps(system)
        def watched(command):
            self._note(command, is_script=True)
            return system(command)

        watched.__module__ = "os"  # where snapshots find it
        os.system = watched

    def take_note(self, told):
        """Returns what is to be said of this run beyond what `told` has already."""
        called, self.called = self.called, {}
        names = [name for call, is_script in called.items() for name in (programs_of(call) if is_script else [call])]
        said = [explanation_of(os.path.basename(name)) for name in dict.fromkeys(names) if not _is_there(name)]
        return "; ".join(one for one in dict.fromkeys(said) if one and one not in told)

    def _watch_processes(self, subprocess):
        start = subprocess.Popen.__init__

        @functools.wraps(start)
        def watched(process, args, *rest, **options):
            try:
                self._look_at(args, options.get("shell", False))
            except TypeError:
                pass  # no command: it is refused where it is started
            start(process, args, *rest, **options)

        subprocess.Popen.__init__ = watched

    def _look_at(self, args, is_script):
        words = [args] if isinstance(args, (str, bytes, os.PathLike)) else list(args) if isinstance(args, (list, tuple)) else []
        if words and not is_script and os.path.basename(os.fsdecode(words[0])) in _SHELLS:
            words, is_script = words[words.index("-c") + 1:] if "-c" in words else [], True
        if words:
            self._note(words[0], is_script)

    def _note(self, call, is_script):
        if len(self.called) < _CALLS_MAX:
            self.called[os.fsdecode(call)[:_CHARACTERS_MAX]] = is_script


def _is_there(name):
    """Does as shutil.which() without a module whose import takes as long as that of all others here, and whose name a file of the user's may have."""
    folders = [""] if os.path.dirname(name) else os.environ.get("PATH", os.defpath).split(os.pathsep)
    return any(os.path.isfile(path) and os.access(path, os.X_OK) for path in (os.path.join(folder, name) for folder in folders))
