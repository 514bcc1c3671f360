"""A build tree as an ordinary user can run it: copied where everybody may look, and a uid of nobody.

No account is made: setpriv takes any uid that is free. Where root's tree lies nobody else may enter.
"""

import contextlib
import os
import pathlib
import pwd
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import apparmor
from suites import Tree

SOURCES = ("CMakeLists.txt", "base", "mcp", "sandbox", "sessions", "share", "tools", "tests", "examples", "packaging")
NOT_COPIED = shutil.ignore_patterns("CMakeFiles", "*.a", "generated", ".ninja*", "Testing", "__pycache__")
END_SECONDS = 30
PLACES = (os.environ.get("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm")


@contextlib.contextmanager
def tree_of(top, preset):
    """The tree of `preset` for an ordinary user; afterwards nothing of that user is left."""
    uid = _free_uid()
    place = _place_to_execute(uid)
    copy = place / "main"
    try:
        _copy(top, copy, preset)
        home, temporary = place / "home", place / "tmp"
        for directory in (home, temporary):
            directory.mkdir(mode=0o700)
        subprocess.run(["chown", "-R", f"{uid}:{uid}", str(place)], check=True)
        environments = _show_environments(place)
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8",
                       "TMPDIR": str(temporary), "HUTCH_TEST_ENVIRONMENTS": str(environments)}
        environment |= {name: os.environ[name] for name in ("CI", "HUTCH_TEST_PATIENCE") if name in os.environ}
        with apparmor.namespaces_allowed(place.name) as prefix:
            yield Tree(copy / "build" / preset, user=f"uid {uid}", prefix=[*prefix, *_as_user(uid)],
                       environment=environment)
    finally:
        _end_processes(uid)
        shutil.rmtree(place)


def _as_user(uid):
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]


def _free_uid():
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    running = set(_processes().values())
    return next(uid for uid in iter(lambda: random.randrange(20_000, 60_000), None)
                if uid not in taken and uid not in running)


def _processes():
    """Pid to the uid it runs as; who owns its entry in /proc says less."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            if re.search(r"^State:\s+[ZX]", status, re.M) is None:  # dead, and only not reaped yet
                found[int(pid)] = int(re.search(r"^Uid:\s+(\d+)", status, re.M)[1])
    return found


def _place_to_execute(uid):
    """A directory of one of the usual places where that user may run programs."""
    for candidate in filter(None, PLACES):
        try:
            place = pathlib.Path(tempfile.mkdtemp(prefix="hutch-user-", dir=candidate))
        except OSError:
            continue
        place.chmod(0o755)
        program = place / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        tried = subprocess.run([*_as_user(uid), str(program)], capture_output=True)
        program.unlink()
        if tried.returncode == 0:
            return place
        place.rmdir()
    raise SystemExit(f"no place where uid {uid} may run a program: tried {', '.join(filter(None, PLACES))}")


def _copy(top, copy, preset):
    copy.mkdir()
    for name in SOURCES:
        source = top / name
        if source.is_dir():
            shutil.copytree(source, copy / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, copy / name)
    for name in (preset, "venv"):
        if (top / "build" / name).exists():
            shutil.copytree(top / "build" / name, copy / "build" / name, symlinks=True, ignore=NOT_COPIED)
    # Test files name the directory they were configured in.
    for file in (copy / "build" / preset).rglob("*.cmake"):
        file.write_text(file.read_text().replace(str(top), str(copy)))
    for config in (copy / "build").glob("*/pyvenv.cfg"):
        config.write_text(re.sub(re.escape(str(top)), str(copy), config.read_text()))


def _show_environments(place):
    """Shows those that are built, to be read by everybody; the same files, where that can be."""
    shown = place / "environments"
    built = os.environ.get("HUTCH_TEST_ENVIRONMENTS", "")
    if os.path.isdir(built) and subprocess.run(["cp", "-al", built, str(shown)], capture_output=True).returncode != 0:
        shutil.rmtree(shown, ignore_errors=True)
        subprocess.run(["cp", "-a", built, str(shown)], check=True)
    return shown


def _end_processes(uid):
    """Until there are none: what is being killed may be starting others."""
    deadline = time.monotonic() + END_SECONDS
    while left := [pid for pid, owner in _processes().items() if owner == uid]:
        for pid in left:
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
                if _processes().get(pid) == uid:  # the pid may have come again
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                os.close(handle)
        if time.monotonic() > deadline:
            raise SystemExit(f"processes of uid {uid} do not end: {left}")
        time.sleep(0.05)
