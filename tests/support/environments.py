"""The environment code_interpreter as tests find it: tests/run.sh builds it where the quickstart does."""

import os
from pathlib import Path

MISSING = "the environment code_interpreter is not built: hutch environments build"


def directory():
    return Path(os.environ.get("HUTCH_TEST_ENVIRONMENTS") or Path.home() / ".local/share/hutch/environments")


def python():
    """Returns the Python of the environment, as this host has it."""
    return directory() / "code_interpreter/bin/python3"
