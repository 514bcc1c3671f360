"""What can be set stands where people look for it: keys in the example, variables in the operators' page."""

import pathlib
import re

TREE = pathlib.Path(__file__).parents[2]


def test_the_example_has_every_key():
    keys = set(re.findall(r'name == "(\w+)"', (TREE / "tools/cli/config_file.cc").read_text()))
    assert len(keys) > 40
    shown = set(re.findall(r"^(?:# )?(?:\[(?:\w+\.)?)?(\w+)(?:\]| = )", (TREE / "packaging/config.toml").read_text(), re.M))
    assert not keys - shown, "give these a line with their default in packaging/config.toml"


def test_the_page_has_every_variable():
    said = "".join((TREE / "tools/cli" / name).read_text() for name in ("settings.cc", "command_line.cc"))
    variables = set(re.findall(r'environment\("(HUTCH_\w+)"\)', said))
    assert len(variables) > 10
    shown = set(re.findall(r"`(HUTCH_\w+)`", (TREE / "docs/operators.md").read_text()))
    assert not variables - shown, "docs/operators.md lists the variables"
