"""C++ is laid out as .clang-format says, by the version that tests/requirements.txt names."""

import pathlib
import subprocess
import sys

TREE = pathlib.Path(__file__).parents[2]
FOLDERS = ("base", "mcp", "sandbox", "sessions", "share", "tools", "tests")


def clang_format(*arguments, text=None):
    return subprocess.run([pathlib.Path(sys.executable).with_name("clang-format"), "--dry-run", "--Werror",
                           *arguments], cwd=TREE, input=text, capture_output=True, text=True, timeout=60)


def test_the_sources_are_formatted():
    sources = [path for folder in FOLDERS for suffix in ("cc", "h") for path in (TREE / folder).rglob(f"*.{suffix}")]
    assert len(sources) > 400
    said = clang_format(*sources)
    assert said.returncode == 0, f"build/venv/bin/clang-format -i mends these:\n{said.stderr[:4000]}"


def test_what_is_not_formatted_is_found():
    said = clang_format("--assume-filename=sandbox/one.cc", text="int  one( ) { return 1 ; }\n")
    assert said.returncode != 0 and "one.cc:1:4" in said.stderr, said.stderr
