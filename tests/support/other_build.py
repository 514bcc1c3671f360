"""The programs under test once more, as another build of hutch."""

import pathlib
import re
import shutil
import subprocess

from copies import needs_copies_to_start
from hutch_client import PATIENCE, hutch_binary


def build_id():
    said = subprocess.run([hutch_binary(), "version"], capture_output=True, text=True, timeout=60 * PATIENCE).stdout
    return re.search("^build ([0-9a-f]{64})$", said, re.MULTILINE)[1]


def make(place):
    """The path of its `hutch`. In `place`, which is an empty directory; only its build id is another."""
    needs_copies_to_start()
    built = pathlib.Path(hutch_binary()).resolve().parent
    shutil.copytree(built.parent / "share", place / "share")
    (place / "bin").mkdir()
    ours = build_id().encode()
    for name in ("hutch", "hutch-box", "hutch-init", "hutch-zygote.so"):
        program = (built / name).read_bytes()
        assert program.count(ours) == (name != "hutch-init"), name
        (place / "bin" / name).write_bytes(program.replace(ours, bytes(reversed(ours))))
        (place / "bin" / name).chmod(0o755)
    return str(place / "bin" / "hutch")
