"""Copies of the programs under test in a directory of a test's own."""

import os
import pathlib

from conftest import needs

RESTRICTION = pathlib.Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")


def needs_copies_to_start():
    """AppArmor on Ubuntu 24.04 lets an ordinary user's program make a box by its path, or by what has started it."""
    restricted = os.geteuid() != 0 and RESTRICTION.exists() and RESTRICTION.read_text().strip() == "1"
    needs(not restricted or pathlib.Path("/proc/self/attr/current").read_text().startswith("hutch"),
          "a profile of AppArmor for copies of hutch")
