"""hutch in a directory of its own, where a helper program can be replaced or put under strace.

hutch finds hutch-box, and hutch-box finds hutch-init, beside hutch's own executable; so a copy of
the programs with a script in place of one of them is all it takes.
"""

import os
import pathlib
import shutil
import stat
import time

from boxes import cgroups_of, children_of
from copies import needs_copies_to_start
from hutch_client import PATIENCE, Client, hutch_binary

HELPERS = ("hutch-box", "hutch-init")

# Replaces a helper: starts the real one, under strace when there is a file that says how. The
# tracer is a grandchild (-D): the real program keeps the process id and the parent that it expects.
SCRIPT = """#!/bin/sh
if [ -f {how} ]; then
  read -r options < {how}
  [ ! -f {how}.once ] || rm {how}
  exec {strace} -D -qq -o {log} $options {real}
fi
exec {real}
"""


class Trial:
    def __init__(self, directory):
        needs_copies_to_start()
        self.directory = pathlib.Path(directory)
        built = pathlib.Path(hutch_binary()).parent
        for folder in ("bin", "real", "state"):
            (self.directory / folder).mkdir()
        shutil.copy2(built / "hutch", self.directory / "bin/hutch")
        shutil.copytree(built.parent / "share", self.directory / "share")
        for helper in HELPERS:
            shutil.copy2(built / helper, self.directory / "real" / helper)
            self.replace(helper, SCRIPT.format(
                how=self._how(helper), log=self.log_of(helper), real=self.directory / "real" / helper,
                strace=shutil.which("strace")))
        self.state = str(self.directory / "state")

    def replace(self, helper, script):
        path = self.directory / "bin" / helper
        path.write_text(script)
        path.chmod(0o755)

    def client(self, *arguments, env=None, **more):
        return Client(self.state, *arguments, binary=str(self.directory / "bin/hutch"),
                      env={"HUTCH_ZYGOTE": "0",
                           "HUTCH_SPARE_SESSIONS": "0", **(env or {})}, **more)

    def _how(self, helper):
        return self.directory / f"{helper}.options"

    def log_of(self, helper):
        return self.directory / f"{helper}.log"

    def trace(self, helper, options, once=False):
        """From now on the helper starts under strace with these options, or only its next process does; None: as it is."""
        self._how(helper).unlink(missing_ok=True)
        once_file = self._how(helper).with_suffix(".options.once")
        once_file.unlink(missing_ok=True)
        if once:
            once_file.touch()
        self.log_of(helper).unlink(missing_ok=True)
        if options is not None:
            self._how(helper).write_text(options + "\n")

    def processes(self):
        """Host pids of everything that runs from this directory, or traces it; not the server."""
        found = {}
        mine = str(self.directory)
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                line = (entry / "cmdline").read_bytes().decode(errors="replace").replace("\0", " ")
                if mine + "/bin/hutch " in line:
                    continue
                if mine in line or os.readlink(entry / "exe").startswith(mine):
                    found[int(entry.name)] = line
            except OSError:
                continue
        return found

    def sockets(self):
        return [str(path) for path in (self.directory / "state/sessions").glob("*/*")
                if stat.S_ISSOCK(path.lstat().st_mode)]

    def left(self, server, session_ids):
        """Returns what of these sessions is there beyond their rows and directories."""
        left = [f"process {pid}: {line}" for pid, line in self.processes().items()]
        left += [f"socket {path}" for path in self.sockets()]
        left += [f"child {pid} of the server" for pid in children_of(server)]
        mounts = pathlib.Path("/proc/self/mounts").read_text()
        left += [f"mount of {session}" for session in session_ids if session in mounts]
        left += [f"cgroup {path}" for path in cgroups_of(session_ids)]
        return left

    def until_nothing_is_left(self, server, session_ids, seconds=60):
        deadline = time.monotonic() + seconds * PATIENCE
        while left := self.left(server, session_ids):
            assert time.monotonic() < deadline, left
            time.sleep(0.005)


def descriptors_of(pid):
    """Returns what each is, sorted: two of these lists can be compared."""
    found = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except OSError:
            continue
    return sorted(found)
