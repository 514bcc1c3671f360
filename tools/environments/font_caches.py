"""Caches of an environment's fonts: made once, in a box of hutch, where the fonts have the paths that sessions know them by.

Each fontconfig has a format of its own, so that the host's, the browser's and matplotlib's are made by these themselves
(font_caches_inside.py). The box gives back data: of it only what has the name of a cache is taken. A cache is good for as
long as its directory has the time that it had: the host's fonts may change, and sessions then make caches of their own.
"""

import base64
import json
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
INSIDE = "font_caches_inside.py"
TEMPLATE = "fonts"
BYTES_MAX = 64_000_000  # as it comes out of the box
_SECONDS = 300
_TAKEN = {"fontconfig": re.compile(r"[0-9a-f]{32}-[a-z0-9]+\.cache-[0-9]+"),
          "matplotlib": re.compile(r"fontlist-v[0-9.]+\.json|directories\.json")}


class Unavailable(Exception):
    """No box could be had, or what ran in it failed; the words say why."""


def make(made, hutch):
    """Puts them into share/fontconfig and share/matplotlib of the environment `made`, which has to be complete; `hutch` is the
    program. Gives back what could not be made, in words, or nothing."""
    for folder, _, _ in os.walk(os.path.join(made, "share/fonts")):
        _drop_nanoseconds(folder)
    staging = os.path.dirname(made)
    os.symlink(os.path.basename(made), os.path.join(staging, TEMPLATE))
    box = _Box(hutch, staging)
    answer = os.path.join(staging, "fonts.json")
    try:
        said = box("run", "--session", TEMPLATE, "--timeout", str(_SECONDS), os.path.join(HERE, INSIDE))
        box("cp", f"{TEMPLATE}:/workspace/fonts.json", answer)
    finally:
        box("sessions", "rm", TEMPLATE, has_to=False)
    _take(answer, os.path.join(made, "share"))
    return said


def are_missing(made):
    """Whether an environment has fonts and no caches of them, since no box could be had when it was built."""
    there = [os.path.isdir(os.path.join(made, "share", folder)) for folder in ("fonts", *_TAKEN)]
    return there[0] and not any(there[1:])


class _Box:
    """A session of a state directory of its own, without the settings of whoever builds."""

    def __init__(self, hutch, staging):
        settings = os.path.join(staging, "no-settings.toml")
        open(settings, "w").close()
        self._command = [hutch, "--config", settings, "--state-dir", os.path.join(staging, "state")]
        self._variables = {name: value for name, value in os.environ.items() if not name.startswith("HUTCH_")}
        self._variables |= {"HUTCH_ENVIRONMENTS_DIR": staging, "HUTCH_TEMPLATE": TEMPLATE, "HUTCH_ZYGOTE": "0"}

    def __call__(self, *arguments, has_to=True):
        try:
            ended = subprocess.run([*self._command, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                   errors="replace", env=self._variables, timeout=2 * _SECONDS)
        except (OSError, subprocess.TimeoutExpired) as failure:
            raise Unavailable(str(failure)) from failure
        if has_to and ended.returncode != 0:
            raise Unavailable((ended.stderr.strip() or ended.stdout.strip())[-500:])
        return ended.stdout.strip()


def _drop_nanoseconds(folder):
    """A cache has the time of its directory, of which archives, as those of container images, keep whole seconds."""
    seconds = int(os.stat(folder).st_mtime)
    os.utime(folder, (seconds, seconds))


def _take(answer, share):
    """All or none: code of packages has run in the box, so that the answer may be anything."""
    try:
        if os.path.getsize(answer) > BYTES_MAX:
            raise Unavailable("the caches are larger than any of fonts")
        with open(answer, encoding="utf-8") as file:
            caches = {path: base64.b64decode(text, validate=True) for path, text in json.load(file).items()}
        for path, content in caches.items():
            kind, _, name = path.partition("/")
            if kind in _TAKEN and _TAKEN[kind].fullmatch(name):
                os.makedirs(os.path.join(share, kind), exist_ok=True)
                with open(os.path.join(share, path), "wb") as file:
                    file.write(content)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as failure:
        for kind in _TAKEN:
            shutil.rmtree(os.path.join(share, kind), ignore_errors=True)
        raise Unavailable(f"what came of them cannot be kept: {failure}") from failure
