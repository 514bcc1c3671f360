"""Code that misses a package while others, or that one, are being installed."""

import pytest


def while_it_installs(runner, packages, code):
    runner.runs += 1
    runner.send({"type": "run", "run_id": f"run_{runner.runs}", "code": code, "env": {"HUTCH_NETWORK": "1"}, "language": runner.language,
                 "after_interrupt": False, "background": False, "installs": {"run_9": packages}})
    return runner.finish().stderr


@pytest.mark.parametrize("packages, module", [
    ("nosuch", "nosuch"), ("numpy, NoSuch[extra]>=1.0", "nosuch.part"), ("no_such==2", "no_such"), ("pyyaml", "yaml"), ("opencv-python", "cv2"),
    ("git+https://example.com/one", "nosuch"), ("./folder", "nosuch"), ("requirements.txt", "nosuch"), ("nosuch @ https://example.com/a.whl", "nosuch")])
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
    ("https://example.com/a.tgz", "nosuch"), ("owner/repository", "nosuch")])
def test_an_install_that_may_bring_a_package_of_node_is_waited_for(javascript, packages, name):
    said = while_it_installs(javascript, f"npm {packages}", f"require('{name}')")
    assert f"; run_9 installs {packages}: get_run tells when it has ended; then run this again" in said


@pytest.mark.parametrize("packages, name", [("is-odd", "nosuch"), ("nosuchlike@1, @no/such", "nosuch")])
def test_an_install_of_other_packages_of_node_is_told_beside_the_way_to_this_one(javascript, packages, name):
    said = while_it_installs(javascript, f"npm {packages}", f"require('{name}')")
    assert "install_packages with manager npm installs it" in said and "run this again" not in said
    assert f"; meanwhile run_9 installs {packages}: get_run tells when it has ended" in said


@pytest.mark.parametrize("command, awaited", [("pip install nosuch", True), ("uv add nosuch", True), ("pip install -r some.txt", True),
                                              ("pip install numpy", False), ("uv pip install numpy", False)])
def test_an_install_by_hand_is_waited_for_where_it_may_bring_the_module(python, command, awaited):
    program = python.cwd / command.split(" ")[0]
    program.write_text("import sys, time\nprint('on', flush=True)\ntime.sleep(60)\n")
    python.run(f"import subprocess, sys\np = subprocess.Popen([sys.executable, {str(program)!r}, *{command.split(' ')[1:]!r}], stdout=subprocess.PIPE)\n"
               "p.stdout.readline()")
    said = while_it_installs(python, "npm one", "import nosuch")
    python.run("p.kill(); p.wait()")
    assert f"`{command}` is on" in said
    assert ("run this again" in said) == awaited and ("; meanwhile `" in said) != awaited
