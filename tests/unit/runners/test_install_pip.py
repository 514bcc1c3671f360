"""What install_packages says of pip: pip.py with a pip that says and does what a test wants."""

import os
import subprocess
import sys

import pytest
from runner_client import RUNNERS

PIP = RUNNERS / "install" / "pip.py"


def install(tmp_path, lines, status):
    package = tmp_path / "pip"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(f"import sys\nprint({lines!r})\nsys.exit({status})\n")
    return subprocess.run([sys.executable, str(PIP), "numpy"], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)


@pytest.mark.parametrize("lines", [
    "Collecting nosuch\nERROR: No matching distribution found for nosuch",
    "Collecting broken\n  Installing build dependencies: started\n  Installing collected packages: setuptools\nERROR: Failed building wheel for broken"])
def test_a_failure_before_anything_is_installed_says_so(tmp_path, lines):
    ending = install(tmp_path, lines, 1)
    assert ending.returncode == 1 and ending.stdout == "pip has installed nothing\n"
    assert "ERROR: " in ending.stderr


@pytest.mark.parametrize("lines", [
    "Collecting numpy\nInstalling collected packages: numpy, torch\nERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
    "Installing collected packages: numpy, torch\n  Attempting uninstall: torch\nERROR: Operation cancelled by user"])
def test_a_failure_in_the_midst_does_not_say_that_nothing_is_installed(tmp_path, lines):
    ending = install(tmp_path, lines, 2)
    assert ending.returncode == 2 and "nothing" not in ending.stdout
    assert "some of these may be there now (numpy, torch)" in ending.stdout
    assert "ERROR: " in ending.stderr


def test_what_is_installed_is_named(tmp_path):
    ending = install(tmp_path, "Installing collected packages: numpy\nSuccessfully installed numpy-2.1.0", 0)
    assert ending.returncode == 0 and ending.stdout.startswith("Installed numpy 2.1.0 in ")
