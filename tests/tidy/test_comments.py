"""Comments are sentences: none begins as one seldom does."""

import ast
import io
import pathlib
import re
import tokenize

import pytest

TREE = pathlib.Path(__file__).parents[2]
PRODUCT = ("base", "mcp", "sandbox", "sessions", "share", "tools")
NO_SUBJECT = re.compile(r"(Of|What|Those|The same)\b")
# A comment behind code is often lower-case.
NO_SUBJECT_BEHIND = re.compile(NO_SUBJECT.pattern, re.IGNORECASE)
MARKS = {".cc": "//", ".h": "//", ".mjs": "//", ".js": "//", ".ts": "//"}  # elsewhere "#"
CPP = (".cc", ".h")
SCRIPTS = (".py", ".mjs", ".js", ".ts", ".sh", ".toml", "")
# Each has folders, suffixes, whether behind code, how many comments at least, and how many wrong ones: that only falls.
KINDS = {
    "blocks": (PRODUCT, CPP, (False,), 3000, 0),
    "behind code": (PRODUCT, CPP, (True,), 1500, 0),
    "scripts": (("sandbox", "tools", "packaging"), SCRIPTS, (False, True), 1500, 0),
    "tests": (("tests",), CPP, (False, True), 800, 0),
    "scripts of tests": (("tests", "examples"), SCRIPTS, (False, True), 1500, 0),
}


def comments_of(text, mark):
    """Yields the number, text and place of each comment: a block's first line, or one behind code."""
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith(mark):
            if not before.startswith(mark):
                yield number, stripped.lstrip("/#").strip(), False
        elif behind := re.search(rf"\s{mark} (.*)$", line):
            yield number, behind[1].strip(), True
        before = stripped


def comments_of_python(text):
    """Yields what comments_of() does, by Python's own reading, and the first lines of docstrings."""
    before = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        number, column = token.start
        is_behind = bool(token.line[:column].strip())
        if is_behind or before != number - 1:
            yield number, token.string.lstrip("#").strip(), is_behind
        before = 0 if is_behind else number
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            if said := ast.get_docstring(node):
                yield node.body[0].lineno, said.splitlines()[0], False


def comments_in(text, suffix):
    """Yields all comments of a file with this suffix, as comments_of() does."""
    if suffix == ".py":
        yield from comments_of_python(text)
    else:
        yield from comments_of(text, MARKS.get(suffix, "#"))


def is_wrong(text, is_behind):
    """Returns whether a comment begins as no sentence does."""
    return bool((NO_SUBJECT_BEHIND if is_behind else NO_SUBJECT).match(text))


def files(folders, suffixes):
    """Yields the files below these folders with one of these suffixes; without one, those that a shell reads."""
    for folder in folders:
        for path in sorted((TREE / folder).rglob("*")):
            if path.is_file() and path.suffix in suffixes and "node_modules" not in path.parts:
                if path.suffix or path.read_bytes().startswith(b"#!"):
                    yield path


def wrong_comments(folders, suffixes, places):
    """Returns how many comments stand at these places, behind code or not, and the wrong ones among them."""
    count = 0
    wrong = []
    for path in files(folders, suffixes):
        for number, text, is_behind in comments_in(path.read_text(), path.suffix):
            if is_behind in places:
                count += 1
                if is_wrong(text, is_behind):
                    wrong.append(f"{path.relative_to(TREE)}:{number}: {text}")
    return count, wrong


@pytest.mark.parametrize("kind", KINDS)
def test_comments_begin_as_sentences_do(kind):
    *where, least, bound = KINDS[kind]
    count, wrong = wrong_comments(*where)
    assert count > least
    assert len(wrong) <= bound, (
        "give these a subject and a verb, and say what is returned and when it fails:\n" + "\n".join(wrong)
    )
    assert len(wrong) == bound, f"the bound can fall to {len(wrong)}"


@pytest.mark.parametrize(
    "suffix, text, line",
    [
        (".h", "int a = 0;\n// Of each line.\n// More.\nint b = 0;\n", 2),
        (".h", "int a = 0;  // good\nint b = 0;   // of the file\n", 2),
        (".cc", 'get("https://of.example");\nrun();  // What it does is lost\n', 2),
        (".mjs", "// Sets it.\nset(); // those that are there\n", 2),
        (".js", "  // The same, later.\n", 1),
        (".sh", "#!/bin/sh\nset -eu\n\n# Those that are there.\nls\n", 4),
        (".toml", "a = 1 # of each\n", 1),
        (".py", 'name = "# of no comment"\n# What is there.\n# Of these.\n', 2),
        (".py", "a = 1  # the same\n", 1),
        (".py", 'def f():\n    """Of each line: what it says.\n\n    More.\n    """\n', 2),
    ],
)
def test_a_comment_that_is_no_sentence_is_found(suffix, text, line):
    found = [number for number, said, is_behind in comments_in(text, suffix) if is_wrong(said, is_behind)]
    assert found == [line]


@pytest.mark.parametrize("suffix, text", [
    (".h", "// Office hours.\nint a = 0;  // offset in it\n"), (".py", "a = '# of it'\n# Often.\n")])
def test_a_comment_that_is_one_is_not(suffix, text):
    assert not [said for _, said, is_behind in comments_in(text, suffix) if is_wrong(said, is_behind)]
