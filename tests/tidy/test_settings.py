"""Tests that what can be set stands where people look for it: keys in the example, variables in the operators' page."""

import pathlib
import re
import tomllib

TREE = pathlib.Path(__file__).parents[2]


def test_the_example_has_every_key():
    keys = set(re.findall(r'name == "(\w+)"', (TREE / "tools/cli/config_file.cc").read_text()))
    assert len(keys) > 40
    shown = set(re.findall(r"^(?:# )?(?:\[(?:\w+\.)?)?(\w+)(?:\]| = )", (TREE / "packaging/config.toml").read_text(), re.M))
    assert not keys - shown, "give these a line with their default in packaging/config.toml"


def test_the_example_has_every_limit_twice():
    rows = re.search(r"kLimitRows\[\] = \{\n(.*?)^\};", (TREE / "sandbox/limits.h").read_text(), re.M | re.DOTALL)
    limits = set(re.findall(r'^    \{"(\w+)", ', rows[1], re.M))
    assert len(limits) >= 8
    example = tomllib.loads((TREE / "packaging/config.toml").read_text())
    for section in ("limits", "max_limits"):
        assert limits == example[section].keys(), f"give these a line in [{section}] of packaging/config.toml"


def test_the_page_has_every_variable():
    said = "".join((TREE / "tools/cli" / name).read_text() for name in ("settings.cc", "command_line.cc"))
    variables = set(re.findall(r'environment\("(HUTCH_\w+)"\)', said))
    assert len(variables) > 10
    shown = set(re.findall(r"`(HUTCH_\w+)`", (TREE / "docs/operators.md").read_text()))
    assert not variables - shown, "docs/operators.md lists the variables"


def commands_of(source):
    """Names of the commands that have no other one above them, but for those in no list."""
    return {name for name, more in re.findall(r'\bapp\.add_subcommand\(\s*"([\w-]+)"(.{,60})', source, re.DOTALL) if '->group("")' not in more}


def flags_of(source, command):
    """Long names of the options that one of these adds."""
    added = re.findall(rf'\b{command}\s*->add_(?:option|flag)\w*(?:<[^>]*>)?\(\s*"([^"]+)"', source)
    return {name for names in added for name in names.split(",") if name.startswith("--")}


def test_the_page_has_every_command_and_all_of_serve():
    sources = "".join(path.read_text() for path in sorted((TREE / "tools/cli").glob("*.cc")))
    page = (TREE / "docs/clients.md").read_text()
    listed = re.search(r"^## Commands\n+```\n(.*?)^```", page, re.M | re.DOTALL)[1]
    commands = commands_of(sources)
    assert len(commands) > 15 and {"serve", "shell", "logs"} <= commands and "manual" not in commands
    assert commands == set(re.findall(r"^hutch (\w+)", listed, re.M)), 'these are below "Commands" of docs/clients.md, or ought to be'
    of_serve = flags_of(sources, "serve") | flags_of(sources, "command")
    assert len(of_serve) > 10 and {"--listen", "--check", "--mount"} <= of_serve
    said = re.search(r"^hutch serve.*?(?=^hutch (?!serve))", listed, re.M | re.DOTALL)[0]
    assert of_serve == set(re.findall(r"(--[\w-]+)", said)), "the lines of hutch serve in docs/clients.md"


def test_a_command_or_a_flag_of_the_source_is_found():
    source = 'app.add_subcommand("one", "x"); sessions->add_subcommand("ls", "x"); app.add_subcommand("two",\n "x")->group("");\n'
    assert commands_of(source) == {"one"}
    source = 'serve\n      ->add_option("-a,--first", x);\n  serve->add_flag("--second", x); other->add_flag("--third", x);'
    assert flags_of(source, "serve") == {"--first", "--second"}
