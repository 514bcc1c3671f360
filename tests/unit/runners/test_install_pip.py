"""Tests what install_packages says of pip and npm: pip.py and npm.mjs with programs that say and do what a test wants."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest
from runner_client import RUNNERS

PIP = RUNNERS / "install" / "pip.py"


def in_shell(*command, does=":"):
    """A shell that starts the command after something of its own, as bash starts what install_packages runs."""
    return ["/bin/bash", "--norc", "-c", f'{does}\n"$@"\nexit $?', "bash", *map(str, command)]


def make_pip(tmp_path, code):
    package = tmp_path / "pip"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(code)


def install(tmp_path, lines, status):
    make_pip(tmp_path, f"import sys\nprint({lines!r})\nsys.exit({status})\n")
    return subprocess.run(in_shell(sys.executable, PIP, "numpy"), env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)


def test_pip_has_the_sessions_own_places_and_bashs_indexes(tmp_path):
    make_pip(tmp_path, "import json, os\nopen('seen', 'w').write(json.dumps(dict(os.environ)))\n")
    own = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path), "PIP_BREAK_SYSTEM_PACKAGES": "1", "PIP_TARGET": "of-session"}
    moved = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON", "PIP_DRY_RUN", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONUSERBASE",
             "PYTHONNOUSERSITE", "HOME", "XDG_CONFIG_HOME")
    kept = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONSTRAINT", "CFLAGS", "https_proxy")
    does = f"export {' '.join(f'{name}=/by/bash' for name in (*moved, *kept))}; export PATH=/by/bash:$PATH; unset PIP_BREAK_SYSTEM_PACKAGES"
    command = in_shell(sys.executable, "-E", PIP, "numpy", does=does)
    assert subprocess.run(command, env=own, cwd=tmp_path, capture_output=True).returncode == 0
    seen = json.loads((tmp_path / "seen").read_text())
    assert {name: seen.get(name) for name in own} == own
    assert [name for name in moved if name not in own and name in seen] == []
    assert [seen.get(name) for name in kept] == ["/by/bash"] * len(kept)


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


FRAMES = [f'        File "/tmp/pip-build-env/lib/mesonpy/__init__.py", line {n}, in _proc' for n in range(30)]


@pytest.mark.parametrize("cause", [
    "      ../../meson.build:41:0: ERROR: Unknown compiler(s): [['gfortran'], ['flang']]",
    "      foo.c:3:10: fatal error: mysql.h: No such file or directory",
    "      error: command 'x86_64-linux-gnu-gcc' failed: No such file or directory",
    "      ModuleNotFoundError: No module named 'Cython'",
    "      Exception: pg_config executable not found",
    "      /bin/sh: 1: cmake: not found",
    "      /usr/bin/ld: cannot find -lblas: No such file or directory",
    "      CMake Error at CMakeLists.txt:5 (project):",
    "      cargo, the Rust package manager, is not installed or is not on PATH."])
def test_a_failed_build_names_its_cause(tmp_path, cause):
    """Wherever in what the build says it stands."""
    end = ["      subprocess.CalledProcessError: Command '['meson']' returned non-zero exit status 1.", "      [end of output]",
           "  note: This error originates from a subprocess, and is likely not a problem with pip.", "ERROR: Failed to build 'scipy'"]
    ending = install(tmp_path, "\n".join(["  error: subprocess-exited-with-error", *FRAMES, cause, *FRAMES, *end]), 1)
    assert cause in ending.stderr and "ERROR: Failed to build 'scipy'" in ending.stderr and len(ending.stderr.splitlines()) <= 13, ending.stderr
    assert "the whole of it is in /tmp/install_packages.log" in ending.stderr


def test_of_many_errors_the_first_are_told(tmp_path):
    errors = [f"      a.c:{n}: error: unknown type {n}" for n in range(100)]
    ending = install(tmp_path, "\n".join([*errors, *FRAMES, "ERROR: Failed to build"]), 1)
    assert ending.stderr.startswith(errors[0]) and errors[-1] in ending.stderr and len(ending.stderr.splitlines()) <= 13, ending.stderr


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
    make_pip(tmp_path, f"for line in {lines!r}: print(line, flush=True)\n")
    script = script_of(tmp_path, "pip.py", LOG=repr(str(tmp_path / "log")), **constants)
    return subprocess.run(in_shell(sys.executable, script, "numpy"), env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True)


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
console.error(process.env.WARNS ?? '');
fs.writeFileSync('environment', JSON.stringify(process.env));
const end = () => {
  if (process.env.FAILS) { console.error('npm error code E404\\nnpm error 404 Not Found\\n' + 'npm error more\\n'.repeat(50) + (process.env.CAUSE ?? '')); process.exit(1); }
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

    def start(does=":", **variables):
        environment = {**os.environ, "PATH": f"{tmp_path}/bin:/usr/bin:/bin", **variables}
        return subprocess.Popen(in_shell("/usr/bin/node", script, "lodash", "@scope/kit", does=does), cwd=tmp_path / "elsewhere", env=environment, bufsize=0,
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
    assert (tmp_path / "log").read_text().count("\n") == 301
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
    assert len(errors.splitlines()) < 13 and errors.startswith("npm error code E404\nnpm error 404 Not Found\n") and f"the whole of it is in {tmp_path}/log" in errors


@pytest.mark.parametrize("cause", [
    "npm error gyp ERR! find Python Python is not set", "npm error ../src/a.c:1:10: fatal error: cairo.h: No such file or directory",
    "npm error /bin/sh: 1: make: not found", "npm error gyp ERR! stack Error: not found: make"])
def test_a_failed_build_of_npms_names_its_cause(npm, cause):
    assert f"{cause}\n" in npm(FAILS="1", CAUSE=cause).communicate()[1].decode()


def test_npm_has_the_sessions_own_places_and_bashs_registry(npm, tmp_path):
    moved = ("npm_config_prefix", "NPM_CONFIG_GLOBAL", "npm_config_location", "npm_config_dry_run", "NPM_CONFIG_OMIT", "PREFIX", "NODE_ENV", "NODE_PATH", "HOME")
    kept = ("npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_cafile", "https_proxy")
    process = npm(f"export {' '.join(f'{name}=/by/bash' for name in (*moved, *kept))}; PATH=/by/bash:$PATH", HOME=str(tmp_path), npm_config_prefix="/own")
    assert process.communicate()[1] == b"" and process.returncode == 0
    seen = json.loads((tmp_path / "workspace/environment").read_text())
    assert {name: seen[name] for name in moved if name in seen} == {"npm_config_prefix": "/own", "HOME": str(tmp_path)}
    assert [seen.get(name) for name in kept] == ["/by/bash"] * len(kept) and "/by/bash" not in seen["PATH"]


ENGINES = """npm warn EBADENGINE Unsupported engine {
npm warn EBADENGINE   package: 'better-sqlite3@13.2.0',
npm warn EBADENGINE   required: { node: '>=22' },
npm warn EBADENGINE   current: { node: 'v20.20.2', npm: '10.8.1' }
npm warn EBADENGINE }
npm WARN EBADENGINE Unsupported engine {
npm WARN EBADENGINE   package: '@scope/kit@1.0.0-rc.1',
npm WARN EBADENGINE   required: { node: '^18.18.0 || >=22', npm: '>= 11' },
npm WARN EBADENGINE   current: { node: 'v20.20.2', npm: '10.8.1' }
npm WARN EBADENGINE }"""


@pytest.mark.parametrize("fails", ["", "1"])
def test_npms_warnings_that_matter_are_told(npm, fails):
    warnings = f"npm warn deprecated glob@7: old\n{ENGINES}\nnpm warn ERESOLVE overriding peer dependency\nnpm notice New version\n"
    lines = npm(WARNS=warnings, FAILS=fails).communicate()[1].decode().splitlines()
    assert [line for line in lines if not line.startswith(("npm error", "npm notice", "(from what"))] == [
        "better-sqlite3 13.2.0 asks for node >=22; this is node 20.20.2",
        "@scope/kit 1.0.0-rc.1 asks for node ^18.18.0 || >=22, npm >= 11; this is node 20.20.2, npm 10.8.1",
        "npm warn ERESOLVE overriding peer dependency"]
    assert bool(fails) == any("E404" in line for line in lines)


def test_a_package_that_was_there_is_not_warned_of_again(npm, tmp_path):
    before = tmp_path / "workspace/node_modules/better-sqlite3"
    before.mkdir(parents=True)
    (before / "package.json").write_text('{"name": "better-sqlite3", "version": "13.2.0"}')
    errors = npm(WARNS=ENGINES).communicate()[1].decode()
    assert errors.startswith("@scope/kit 1.0.0-rc.1 asks for node") and errors.count("\n") == 1


def test_of_many_warnings_few_are_told(npm):
    warnings = "\n".join([ENGINES.replace("13.2.0", f"13.2.{n}") for n in range(40)] + [f"npm warn tar {n}" for n in range(40)])
    assert len(npm(WARNS=warnings).communicate()[1].splitlines()) == 13 + 6
