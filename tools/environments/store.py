"""Where environments are, and who uses them.

PLACE/<id>/          one environment, complete and never changed: bin, lib, environment.json
PLACE/<name>         a link to the id that new sandboxes of that name get
PLACE/.building-*/   being made, locked by its maker
PLACE/.uv-*/         what builds them, once it was needed

Each sandbox and each warmed Python of an environment holds a shared lock (flock) on its directory:
what no name leads to and nobody has locked is removed by the next sweep.
"""

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile

BUILDING = ".building-"
_ID = re.compile(r"[0-9a-f]{16}")


class Refused(Exception):
    """The wish cannot be met; the words say what to do."""


def check_name(name):
    if re.fullmatch(r"[a-zA-Z][a-zA-Z0-9_-]{0,63}", name) is None or _ID.fullmatch(name):
        raise Refused(f"{name!r} is no name for an environment: a letter, then letters, digits, - or _, 64 at most")
    if name == "host":
        raise Refused("host is the machine's own Python and node; choose another name")


class Store:
    def __init__(self, directory):
        self.directory = directory

    def path(self, name):
        return os.path.join(self.directory, name)

    def all(self):
        names = {}
        for entry in self._entries():
            if os.path.islink(self.path(entry)):
                names.setdefault(os.readlink(self.path(entry)), []).append(entry)
        return [manifest | {"names": sorted(names.get(manifest["id"], [])), "directory": self.path(manifest["id"])}
                for manifest in filter(None, map(self.manifest, sorted(self._entries())))]

    def _entries(self):
        with contextlib.suppress(FileNotFoundError):
            return os.listdir(self.directory)
        return []

    def manifest(self, identity):
        """Returns the manifest of a complete environment; None for what is none."""
        if _ID.fullmatch(identity) is None:
            return None
        with contextlib.suppress(OSError, ValueError), open(os.path.join(self.path(identity), "environment.json")) as file:
            return json.load(file)
        return None

    @contextlib.contextmanager
    def staging(self):
        """A directory to build in, removed unless it was moved away."""
        os.makedirs(self.directory, exist_ok=True)
        made = tempfile.mkdtemp(prefix=BUILDING, dir=self.directory)
        lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield made
        finally:
            _remove_tree(made)
            os.close(lock)

    def publish(self, staged, name, identity):
        """Gives what is complete its id and its name. A kill leaves the old one of that name or the new one."""
        with self._alone():
            if staged is not None:
                with contextlib.suppress(OSError):
                    os.rename(staged, self.path(identity))
            if self.manifest(identity) is None:
                raise Refused(f"{self.path(identity)} is in the way and is no environment: remove it")
            link = self.path(f"{BUILDING}{name}")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(link)
            os.symlink(identity, link)
            os.replace(link, self.path(name))

    @contextlib.contextmanager
    def _alone(self):
        lock = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def remove(self, name):
        if not os.path.islink(self.path(name)):
            there = ", ".join(sorted(name for one in self.all() for name in one["names"])) or "none"
            raise Refused(f"there is no environment {name}; there are: {there}")
        os.unlink(self.path(name))

    def sweep(self):
        """Removes what nobody uses and no name leads to; the ids of what is still used."""
        if not os.path.isdir(self.directory):
            return []
        with self._alone():
            return self._sweep()

    def _sweep(self):
        used = []
        named = {identity for one in self.all() for identity in [one["id"]] if one["names"]}
        for entry in self._entries():
            path = self.path(entry)
            if entry.startswith(BUILDING) and os.path.islink(path):
                os.unlink(path)  # its maker was killed before it could rename it
            elif entry.startswith(BUILDING) or (_ID.fullmatch(entry) and entry not in named):
                if not self._remove_unused(path):
                    used.append(entry)
        return used

    def _remove_unused(self, path):
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            return True
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            # Away from its name first: what is half removed is no environment.
            away = self.path(f"{BUILDING}{os.path.basename(path).strip('.')}-away")
            with contextlib.suppress(OSError):
                os.rename(path, away)
                path = away
            _remove_tree(path)
            return True
        finally:
            os.close(lock)


def _remove_tree(path):
    shutil.rmtree(path, ignore_errors=True)
