"""hutch on a host that lacks something: in a mount namespace of its own, with other things mounted.

An ordinary user is root of a user namespace for that, as in a rootless container.
"""

import os
import pathlib
import shlex
import subprocess

from hutch_client import hutch_binary

UNSHARE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]


def why_not():
    """Returns what keeps this host from being changed so; empty when nothing does."""
    return subprocess.run([*UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True).stderr


def changed_hutch(directory, *commands):
    """The path of a program that is hutch, started after the shell commands were run in its namespace."""
    program = pathlib.Path(directory, "hutch-elsewhere")
    steps = " && ".join([*commands, f'exec {shlex.quote(hutch_binary())} "$@"'])
    program.write_text(f"#!/bin/sh\nexec {shlex.join(UNSHARE)} sh -c {shlex.quote(steps)} hutch \"$@\"\n")
    program.chmod(0o755)
    return str(program)
