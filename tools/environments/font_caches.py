"""Caches of an environment's fonts: made once, in a box of hutch, where the fonts have the paths that sessions know them by.

Each fontconfig has a format of its own, so that the host's, the browser's and matplotlib's are made by these themselves
(font_caches_inside.py). The box gives back data: of it only what has the name of a cache is taken. A cache is good for as
long as its directory has the time that it had: the host's fonts may change, and sessions then make caches of their own.
"""

import os
import re
import subprocess
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
INSIDE = "font_caches_inside.py"
TEMPLATE = "fonts"
FILES_MAX = 1000
BYTES_MAX = 16_000_000  # of a file
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
    archive = os.path.join(staging, "fonts.tar")
    try:
        said = box("run", "--session", TEMPLATE, "--timeout", str(_SECONDS), os.path.join(HERE, INSIDE))
        box("cp", f"{TEMPLATE}:/workspace/fonts.tar", archive)
    finally:
        box("sessions", "rm", TEMPLATE, has_to=False)
    _take(archive, os.path.join(made, "share"))
    return said


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
                                   env=self._variables, timeout=2 * _SECONDS)
        except (OSError, subprocess.TimeoutExpired) as failure:
            raise Unavailable(str(failure)) from failure
        if has_to and ended.returncode != 0:
            raise Unavailable((ended.stderr.strip() or ended.stdout.strip())[-500:])
        return ended.stdout.strip()


def _drop_nanoseconds(folder):
    """A cache has the time of its directory, of which archives, as those of container images, keep whole seconds."""
    seconds = int(os.stat(folder).st_mtime)
    os.utime(folder, (seconds, seconds))


def _take(archive, share):
    taken = 0
    with tarfile.open(archive) as members:
        for member in members:
            kind, _, name = member.name.partition("/")
            if not member.isfile() or kind not in _TAKEN or not _TAKEN[kind].fullmatch(name):
                continue
            taken += 1
            if taken > FILES_MAX or member.size > BYTES_MAX:
                raise Unavailable("the caches are larger than any of fonts")
            os.makedirs(os.path.join(share, kind), exist_ok=True)
            with open(os.path.join(share, kind, name), "wb") as file:
                file.write(members.extractfile(member).read())
