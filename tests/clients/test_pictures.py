"""The pictures of README and docs/clients.md show what hutch does today."""

import shutil
import subprocess
import sys

import pytest

from conftest import needs
from hutch_client import PATIENCE, ROOT, hutch_binary


@pytest.mark.parametrize("script", ["terminal/record.py", "picture/draw.py"])
def test_is_true(script):
    needs(shutil.which("curl"), "curl")
    done = subprocess.run([sys.executable, ROOT / "examples" / script, hutch_binary(), "--check"], capture_output=True, text=True,
                          timeout=300 * PATIENCE)
    assert done.returncode == 0, done.stderr
