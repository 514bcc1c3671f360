"""Tests what install_packages says of pip and npm: pip.py and npm.mjs with programs that say and do what a test wants."""

import os
import re
import shutil
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


def test_warnings_after_an_install_are_few(tmp_path):
    lines = [f"package{i} 1.0 requires numpy<2, but you have numpy 2.1 which is incompatible." for i in range(40)]
    lines += ["WARNING: The scripts are not on PATH.", "WARNING: The scripts are not on PATH.", "Successfully installed numpy-2.1"]
    ending = install(tmp_path, "\n".join(lines), 0)
    assert ending.returncode == 0 and len(ending.stderr.splitlines()) == 6, ending.stderr
    assert ending.stderr.endswith("(41 warnings; the whole of what pip has said is in /tmp/install_packages.log)\n")


def test_a_line_of_pips_is_no_page(tmp_path):
    versions = ", ".join(f"1.{minor}" for minor in range(2_000))
    for status, line in ((1, f"ERROR: Could not find a version (from versions: {versions})"), (0, f"WARNING: {versions}")):
        (folder := tmp_path / str(status)).mkdir()
        ending = install(folder, line, status)
        assert len(ending.stderr) < 600 and " ...\n(" in ending.stderr and "/tmp/install_packages.log" in ending.stderr, ending.stderr


def test_what_is_installed_is_named(tmp_path):
    ending = install(tmp_path, "Installing collected packages: numpy\nSuccessfully installed numpy-2.1.0", 0)
    assert ending.returncode == 0 and ending.stdout.startswith("Installed numpy 2.1.0 in ")


def script_of(tmp_path, name, **constants):
    """A copy of what install_packages runs, with other constants."""
    text = (RUNNERS / "install" / name).read_text()
    for constant, value in constants.items():
        text, changed = re.subn(rf"^((?:const )?{constant} = )[^;\n]*?(;?)(?= //|  #|$)", lambda found: found[1] + value + found[2], text, flags=re.MULTILINE)
        assert changed == 1, constant
    script = tmp_path / name
    script.write_text(text)
    return script


LOG = ["Collecting numpy", "  Downloading numpy-2.1.0-cp311-manylinux.whl (16.3 MB)",
       "Progress 0 of 16300000", "Progress 8000000 of 16300000", "Progress 16300000 of 16300000",
       "Collecting contourpy>=1 (from numpy)", "  Downloading contourpy-1.3.whl (0.3 MB)", "Progress 300000 of 300000",
       *(f"Requirement already satisfied: part{n} in /environment/lib (1.{n})" for n in range(40)),
       "Installing collected packages: contourpy, numpy", "  Attempting uninstall: numpy", "    Found existing installation: numpy 1.26.4",
       "Successfully installed contourpy-1.3 numpy-2.1.0"]


def run_pip(tmp_path, lines, **constants):
    package = tmp_path / "pip"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(f"for line in {lines!r}: print(line, flush=True)\n")
    script = script_of(tmp_path, "pip.py", LOG=repr(str(tmp_path / "log")), **constants)
    return subprocess.run([sys.executable, str(script), "numpy"], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True)


def test_pip_is_progress_and_then_few_lines(tmp_path):
    ending = run_pip(tmp_path, LOG, QUIET_SECONDS="-1.0", NEWEST_EVERY_SECONDS="-1.0")
    *progress, end = ending.stdout.decode().split("\r")
    assert end.splitlines()[0].startswith("Installed contourpy 1.3, numpy 2.1.0 (was 1.26.4) in ") and end.splitlines()[0].endswith(" s, 16.6 MB"), end
    assert len(end.splitlines()) <= 3 and "\n" not in "".join(progress)
    assert progress[0] == "" and "Collecting numpy" in progress and "numpy-2.1.0-cp311-manylinux.whl: 8.0 MB of 16.3 MB" in progress
    assert "Installing collected packages: contourpy, numpy" in progress and not any("already satisfied" in one for one in progress)
    assert "Progress 8000000" in (tmp_path / "log").read_text() and "part39" in (tmp_path / "log").read_text(), "the log has all"


def test_pip_that_is_soon_over_shows_no_progress(tmp_path):
    ending = run_pip(tmp_path, LOG)
    assert b"\r" not in ending.stdout and ending.stdout.startswith(b"Installed contourpy 1.3, numpy 2.1.0 (was 1.26.4) in ")


def test_progress_comes_now_and_then(tmp_path):
    downloads = [f"Progress {n * 1000} of 100000000" for n in range(50_000)]
    ending = run_pip(tmp_path, ["  Downloading big.whl (100 MB)", *downloads, "Successfully installed big-1"], QUIET_SECONDS="-1.0", NEWEST_EVERY_SECONDS="1000.0")
    assert ending.stdout.count(b"\r") == 2, "one that was begun, and the end"


NPM = """#!/usr/bin/env node
const fs = require('node:fs');
fs.writeFileSync('ran-in', process.cwd() + ' ' + process.argv.slice(2).join(' '));
for (let n = 0; n < 300; n++) console.log('npm http fetch GET 200 https://registry/' + n);
const add = (name, version) => {
  fs.mkdirSync(`node_modules/${name}`, { recursive: true });
  fs.writeFileSync(`node_modules/${name}/package.json`, JSON.stringify({ name, version, main: 'index.js' }));
  fs.writeFileSync(`node_modules/${name}/index.js`, `module.exports = '${name} ${version}'`);
};
const end = () => {
  if (process.env.FAILS) { console.error('npm error code E404\\nnpm error 404 Not Found\\n' + 'npm error more\\n'.repeat(50)); process.exit(1); }
  add('lodash', '4.17.21'); add('@scope/kit', '1.0.0'); for (let n = 0; n < 30; n++) add('needed' + n, '2.' + n);
  fs.writeFileSync('package.json', JSON.stringify({ dependencies: { lodash: '^4', '@scope/kit': '^1' } }));
};
const wait = () => process.env.WAITS_FOR && !fs.existsSync(process.env.WAITS_FOR) ? setTimeout(wait, 5) : end();
wait();
"""


@pytest.fixture
def npm(tmp_path):
    """npm(**variables): what install_packages runs, with an npm of the test's own, begun in another folder than it installs into."""
    if not shutil.which("node", path="/usr/bin"):
        pytest.skip("no /usr/bin/node on this machine")
    for folder in ("bin", "workspace", "elsewhere"):
        (tmp_path / folder).mkdir()
    (tmp_path / "bin/npm").write_text(NPM)
    (tmp_path / "bin/npm").chmod(0o755)
    script = script_of(tmp_path, "npm.mjs", FOLDER=repr(str(tmp_path / "workspace")), LOG=repr(str(tmp_path / "log")), QUIET_MS="0", NEWEST_EVERY_MS="5")

    def start(**variables):
        environment = {**os.environ, "PATH": f"{tmp_path}/bin:/usr/bin:/bin", **variables}
        return subprocess.Popen(["/usr/bin/node", str(script), "lodash", "@scope/kit"], cwd=tmp_path / "elsewhere", env=environment, bufsize=0,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    return start


def test_npm_is_progress_and_then_few_lines(npm, tmp_path):
    process = npm(WAITS_FOR=str(tmp_path / "go"))
    assert process.stdout.read(1) == b"\r", "it tells of itself before it is over"
    (tmp_path / "go").touch()
    *progress, end = process.communicate()[0].decode().split("\r")
    assert process.returncode == 0 and all(re.fullmatch(r"npm installs since \d+ s, \d+ packages are there", one) for one in progress) and progress
    lines = end.splitlines()
    # In the order of the folder.
    assert re.fullmatch(rf"Installed @scope/kit 1.0.0, lodash 4.17.21 into {tmp_path}/workspace/node_modules in \d+ s", lines[0]), lines
    assert lines[1].startswith("With needed0 2.0, ") and lines[1].endswith(" and 18 more, which they need") and len(lines) == 2, lines
    assert (tmp_path / "log").read_text().count("\n") == 300
    ran_in = (tmp_path / "workspace/ran-in").read_text()
    assert ran_in.startswith(f"{tmp_path}/workspace install ") and ran_in.endswith(" lodash @scope/kit"), "wherever bash is"


def test_npm_says_what_was_before_and_what_was_there(npm, tmp_path):
    before = tmp_path / "workspace/node_modules/lodash"
    before.mkdir(parents=True)
    (before / "package.json").write_text('{"name": "lodash", "version": "3.0.0"}')
    assert b"lodash 4.17.21 (was 3.0.0)" in npm().communicate()[0]
    assert npm().communicate()[0].decode().rpartition("\r")[2] == f"Nothing was to be done: it is in {tmp_path}/workspace/node_modules already\n"


def test_npms_failure_is_its_first_lines(npm, tmp_path):
    process = npm(FAILS="1")
    said, errors = (part.decode() for part in process.communicate())
    assert process.returncode == 1 and said.rpartition("\r")[2] == "npm has failed\n"
    assert len(errors.splitlines()) == 13 and f"the whole of it is in {tmp_path}/log" in errors
