"""Lets root's copy of the tests make namespaces as an ordinary user where AppArmor restricts that, as on Ubuntu 24.04.

The profile that packaging/apparmor installs is for directories that last. This one is for no directory: it
is entered by root, all that is started from there stays in it, and it is gone when the tests are over.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess

RESTRICTION = pathlib.Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
# `hutch doctor` knows its profiles by how their names begin.
PROFILE = "abi <abi/4.0>,\nprofile {name} flags=(unconfined) {{\n  userns,\n}}\n"


def restricts(restriction=RESTRICTION):
    try:
        return restriction.read_text().strip() == "1"
    except OSError:
        return False


@contextlib.contextmanager
def namespaces_allowed(name, restriction=RESTRICTION):
    """Yields what a command of root has to begin with, so that it may drop to a user that makes namespaces."""
    if not restricts(restriction):
        yield []
        return
    assert name.startswith("hutch")
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    programs = [shutil.which(program, path=path) for program in ("apparmor_parser", "aa-exec")]
    if None in programs:
        raise SystemExit("AppArmor lets no ordinary user make namespaces without a profile, and there is no "
                         "apparmor_parser or aa-exec here to load one and enter it: install the package apparmor")
    parser, enter = programs
    profile = PROFILE.format(name=name)
    if failed := _parse(parser, "--add", profile):
        raise SystemExit(failed)
    try:
        yield [enter, "-p", name, "--"]
    finally:
        # That it stays until the next boot takes nothing back of what was tested.
        print(_parse(parser, "--remove", profile), end="")


def _parse(parser, action, profile):
    """Returns what went wrong, or nothing."""
    done = subprocess.run([parser, action], input=profile, text=True, capture_output=True)
    return f"apparmor_parser {action}, of the tests' profile: {done.stderr}\n" if done.returncode else ""
