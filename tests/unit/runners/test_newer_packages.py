"""Packages that are installed over what was imported: the run that has installed them says so."""

import ast
from pathlib import Path

import pytest

# As pip does it: the modules, the folder that says what they are, and the list of its files at last.
INSTALL = """
import os, site, time
def install(name, version, is_whole=True):
    folder = site.getusersitepackages()
    info = f"{folder}/{name}-{version}.dist-info"
    os.makedirs(info)
    with open(f"{folder}/{name}.py", "w") as file: file.write(f"version = {version!r}\\n")
    if is_whole: finish(name, version)
def finish(name, version):
    with open(f"{site.getusersitepackages()}/{name}-{version}.dist-info/RECORD", "w") as file: file.write(f"{name}.py,,\\n")
"""


def told(version):
    return f"emoted {version} was installed after import, and what runs is the code from before: a run with restart: true takes it up"


@pytest.fixture
def installer(python):
    assert python.run(INSTALL + "install('emoted', '5.0')").ok
    return python


@pytest.mark.parametrize("imported", ["", "import emoted"])
def test_the_run_that_installs_a_newer_one_tells_so(installer, imported):
    assert "note" not in installer.run(imported).done
    assert installer.run("import emoted\nold = emoted.version\ninstall('emoted', '6.1')").done["note"] == told("6.1")
    after = installer.run("old, emoted.version")
    assert after.text == "('5.0', '5.0')" and "note" not in after.done


def test_a_run_that_fails_tells_so_too(installer):
    ending = installer.run("import emoted\ninstall('emoted', '6.1')\n1 / 0")
    assert not ending.ok and ending.done["note"] == told("6.1")


@pytest.mark.parametrize("cell", [
    "install('emoted', '6.1')\nimport emoted", "import emoted\ninstall('emoted', '6.1')\nimport importlib; importlib.reload(emoted)",
    "import emoted, sys\ninstall('emoted', '6.1')\ndel sys.modules['emoted']\nimport emoted",
    "import emoted, sys\ninstall('emoted', '6.1')\ntry: import emoted_too\nexcept ImportError: pass\ndel sys.modules['emoted']; import emoted"])
def test_what_is_imported_anew_in_the_same_run_is_not_told(installer, cell):
    ending = installer.run(cell)
    assert ending.ok and "note" not in ending.done, ending.done
    again = installer.run("emoted.version")
    assert again.text == "'6.1'" and "note" not in again.done


def test_an_install_that_ends_after_a_run_is_told_by_the_next(installer):
    assert "note" not in installer.run("import emoted\ninstall('emoted', '6.1', is_whole=False)").done
    assert "note" not in installer.run("1").done
    assert installer.run("finish('emoted', '6.1')").done["note"] == told("6.1")
    assert "note" not in installer.run("1").done


def test_one_that_ends_between_runs_is_told_by_the_next(installer):
    folder = Path(ast.literal_eval(installer.run("site.getusersitepackages()").text))
    assert "note" not in installer.run("import emoted\ninstall('emoted', '6.1', is_whole=False)").done
    (folder / "emoted-6.1.dist-info/RECORD").write_text("emoted.py,,\n")
    assert installer.run("1").done["note"] == told("6.1")
