"""Code that misses a package while others, or that one, are being installed."""

import subprocess
import sys

import pytest


def while_it_installs(runner, packages, code):
    runner.runs += 1
    runner.send({"type": "run", "run_id": f"run_{runner.runs}", "code": code, "env": {"HUTCH_NETWORK": "1"}, "language": runner.language,
                 "after_interrupt": False, "background": False, "installs": {"run_9": packages}})
    return runner.finish().stderr


@pytest.mark.parametrize("packages, module", [
    ("nosuch", "nosuch"), ("numpy, NoSuch[extra]>=1.0", "nosuch.part"), ("no_such==2", "no_such"), ("pyyaml", "yaml"), ("opencv-python", "cv2"),
    ("git+https://example.com/one", "nosuch"), ("./folder", "nosuch"), ("requirements.txt", "nosuch"), ("nosuch @ https://example.com/a.whl", "nosuch"),
    ("-r some.in", "nosuch"), ("--requirement=some.in", "nosuch"), ("numpy, pan, ...", "nosuch")])
def test_an_install_that_may_bring_a_module_is_waited_for(python, packages, module):
    said = while_it_installs(python, f"pip {packages}", f"import {module}")
    if "ModuleNotFoundError" not in said:
        pytest.skip(f"{module} is here")
    assert said.endswith(f"yet: run_9 installs {packages}: get_run tells when it has ended; then run this again)\n")


@pytest.mark.parametrize("packages, module", [("numpy", "nosuch"), ("numpy, nosuchlike==1", "nosuch"), ("pandas>=2", "no_such.part")])
def test_an_install_of_other_packages_is_told_beside_the_way_to_this_one(python, packages, module):
    said = while_it_installs(python, f"pip {packages}", f"import {module}")
    assert f"no {module.partition('.')[0]}: install_packages installs it" in said and "run this again" not in said
    assert said.endswith(f"; meanwhile run_9 installs {packages}: get_run tells when it has ended)\n")
    assert "meanwhile" not in while_it_installs(python, "npm nosuch", "import nosuch2")


@pytest.mark.parametrize("packages, name", [
    ("nosuch", "nosuch"), ("one, @no/such@1.2", "@no/such/part"), ("nosuch@latest", "nosuch"), ("./folder", "nosuch"),
    ("https://example.com/a.tgz", "nosuch"), ("owner/repository", "nosuch"), ("is-odd, is-, ...", "nosuch")])
def test_an_install_that_may_bring_a_package_of_node_is_waited_for(javascript, packages, name):
    said = while_it_installs(javascript, f"npm {packages}", f"require('{name}')")
    assert f"; run_9 installs {packages}: get_run tells when it has ended; then run this again" in said


@pytest.mark.parametrize("packages, name", [("is-odd", "nosuch"), ("nosuchlike@1, @no/such", "nosuch")])
def test_an_install_of_other_packages_of_node_is_told_beside_the_way_to_this_one(javascript, packages, name):
    said = while_it_installs(javascript, f"npm {packages}", f"require('{name}')")
    assert "install_packages with manager npm installs it" in said and "run this again" not in said
    assert f"; meanwhile run_9 installs {packages}: get_run tells when it has ended" in said


@pytest.fixture
def beside():
    """beside(runner, command, code): what the code says while a program of that command's name, which only waits, is on."""
    programs = []

    def say(runner, command, code):
        name, *arguments = command.split(" ")
        program = runner.cwd / name
        program.write_text("import sys\nprint('on', flush=True)\nsys.stdin.read()\n")
        programs.append(subprocess.Popen([sys.executable, program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert programs[0].stdout.readline() == b"on\n"
        return while_it_installs(runner, "cargo one", code)

    yield say
    for program in programs:
        program.communicate(timeout=60)


@pytest.mark.parametrize("command, awaited", [
    *((command, True) for command in (
        "pip install nosuch", "uv add nosuch", "pip3.12 install nosuch", "uv --quiet --directory app pip install nosuch",
        "pip install -r some.txt", "pip install -rsome.in", "pip install -qUr some.in", "pip install --requirement=some.in", "pip install -e.",
        "pip install --editable=.", "pip install -q --group dev", "uv pip install --group=dev", "uv pip install -q --requirements some.in",
        "uv sync", "uv sync --frozen", "uv sync --extra numpy", "uv pip sync some.in")),
    *((command, False) for command in (
        "pip install numpy", "uv pip install numpy", "pip install --index-url https://example.com/simple -c limits.txt --upgrade numpy",
        "pip install --require-hashes numpy", "uv pip install --reinstall -p 3.12 numpy"))])
def test_an_install_by_hand_is_waited_for_where_it_may_bring_the_module(python, beside, command, awaited):
    said = beside(python, command, "import nosuch")
    assert f"`{command}` is on" in said
    assert ("run this again" in said) == awaited and ("; meanwhile `" in said) != awaited


@pytest.mark.parametrize("command", ["pip show install", "uv tool install nosuch", "uv run app.py sync", "uv run --quiet -- install", "uv pip list"])
def test_what_installs_nothing_for_this_python_is_not_waited_for(python, beside, command):
    said = beside(python, command, "import nosuch")
    assert "no nosuch: install_packages installs it" in said and f"`{command}` is on" not in said


@pytest.mark.parametrize("command, awaited", [
    *((command, True) for command in (
        "npm install nosuch", "npm install", "npm i", "npm ci", "npm ci --omit=dev", "npm ci --omit dev", "npm install --production",
        "npm install --prefix app", "npm --loglevel error --prefix app install", "npm clean-install --ignore-scripts", "pnpm install --frozen-lockfile",
        "pnpm --filter app install", "yarn install --immutable", "npm install -D ./folder")),
    *((command, False) for command in (
        "npm install is-odd", "npm install --save-dev is-odd", "npm --registry https://example.com/ i is-odd --omit dev", "pnpm add -D is-odd"))])
def test_an_install_by_hand_is_waited_for_where_it_may_bring_the_package_of_node(javascript, beside, command, awaited):
    said = beside(javascript, command, "require('nosuch')")
    assert f"`{command}` is on" in said
    assert ("run this again" in said) == awaited and ("; meanwhile `" in said) != awaited


@pytest.mark.parametrize("command", ["npm run install", "npm run i", "npm view nosuch"])
def test_what_installs_no_package_of_node_is_not_waited_for(javascript, beside, command):
    said = beside(javascript, command, "require('nosuch')")
    assert "with manager npm installs it" in said and f"`{command}` is on" not in said
