"""Tests what packages start hutch with: the words that clients are told to start it by, and a bundle's settings as its arguments."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

PACKAGING = pathlib.Path(__file__).parents[2] / "packaging"


@pytest.fixture
def program():
    """In hutch's place: tells what it was given."""
    def make(path):
        path.parent.mkdir(parents=True)
        path.write_text('#!/bin/sh\nprintf "%s\\n" "${HUTCH_LAUNCHER:-}" "${HUTCH_ALLOW:-}" "$@"\n')
        path.chmod(0o755)
    return make


def said(*words, **variables):
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, env={"PATH": os.environ["PATH"], **variables})
    assert done.returncode == 0, done
    return done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("asked,launcher", [("^0.1.0", "npx -y hutch-mcp"), ("0.1.0", "npx -y hutch-mcp"), ("file:../hutch-mcp-0.1.0.tgz", "none")])
def test_what_npx_has_fetched(tmp_path, program, asked, launcher):
    fetched = tmp_path / "_npx/0123"
    package = fetched / "node_modules/hutch-mcp"
    program(package / "tree/bin/hutch")
    (fetched / "package.json").write_text(json.dumps({"dependencies": {"hutch-mcp": asked}}))
    shutil.copy(PACKAGING / "npm/start.js", package)
    assert said("node", str(package / "start.js"), "setup")[0] == [launcher, "", "setup"]


def test_what_npm_has_installed(tmp_path, program):
    program(tmp_path / "tree/bin/hutch")
    shutil.copy(PACKAGING / "npm/start.js", tmp_path)
    assert said("node", str(tmp_path / "start.js"), "stdio")[0] == ["", "", "stdio"]


@pytest.mark.parametrize("place,is_file,launcher", [("archive-v0/x", False, "uvx hutch-mcp"), ("archive-v0/x", True, "none"), ("venv", True, "")])
def test_the_wheel(tmp_path, program, place, is_file, launcher):
    packages = tmp_path / place
    program(packages / "hutch_mcp/tree/bin/hutch")
    for helper in ("hutch-box", "hutch-egress", "hutch-init"):
        (packages / "hutch_mcp/tree/bin" / helper).touch()
    for source in (PACKAGING / "wheel/hutch_mcp").glob("*.py"):
        shutil.copy(source, packages / "hutch_mcp")
    if is_file:
        (packages / "hutch_mcp-0.1.0.dist-info").mkdir()
        (packages / "hutch_mcp-0.1.0.dist-info/direct_url.json").touch()
    assert said(sys.executable, "-m", "hutch_mcp", "stdio", PYTHONPATH=str(packages))[0] == [launcher, "", "stdio"]


def test_the_bundle(tmp_path, program):
    program(tmp_path / "hutch/bin/hutch")
    for name in ("hutch", "hutch-box", "hutch-egress", "hutch-init"):
        (tmp_path / "hutch/bin" / name).touch()
        (tmp_path / "hutch/bin" / name).chmod(0o644)  # as some unpack it
    shutil.copy(PACKAGING / "mcpb/start.sh", tmp_path)
    for folder in ("a/tables", "b/tables", "my files", "data"):
        (tmp_path / folder).mkdir(parents=True)
    folders = [f"{tmp_path}/{name}" for name in ("a/tables", "b/tables", "my files", "data", "gone")]
    words, told = said("sh", str(tmp_path / "start.sh"), *folders, "${user_config.folders}", "", HUTCH_BUNDLE_WRITABLE="true",
                       HUTCH_BUNDLE_PACKAGES="true", HUTCH_ALLOW="${user_config.hosts}")
    mounts = [f"{name}={folder}:rw" for name, folder in zip(("tables", "tables-2", "my-files", "data-2"), folders)]
    assert words == ["", "", "stdio", *(word for mount in mounts for word in ("--mount", mount)), "--packages"]
    assert told == f"hutch: {tmp_path}/gone is not there any more, and is left out\n"
    assert said("sh", str(tmp_path / "start.sh"), HUTCH_ALLOW="a.example, b.example")[0] == ["", "a.example, b.example", "stdio"]
