"""Pages name what is there: links lead somewhere, paths are in the tree, the walk of the map is the code's."""

import pathlib
import re

import pytest

TREE = pathlib.Path(__file__).parents[2]
FOLDERS = ("base", "docs", "examples", "mcp", "packaging", "sandbox", "sessions", "share", "tests", "tools")
# These look like paths of the tree: methods of MCP, and what lies in installations and state directories.
OTHERS = re.compile(r"tools/(call|list)$|share/hutch(/|$)|sessions/(\*|SESSION_ID)/")
PATH = re.compile(r"[\w.*-]+(/[\w.*-]+)*/?$")
SOURCE = re.compile(r"(?!(curl|httplib|magic|seccomp|sqlite3)\.h$)[\w-]+\.(cc|h)$")  # but for libraries' headers
MAP_BYTES_MAX = 6144
HOPS_MAX = 45
HEADINGS = ("Added", "Changed", "Fixed", "Security")


def pages():
    found = [TREE / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
    found += sorted(TREE.glob("docs/*.md")) + sorted(TREE.glob("docs/decisions/*.md"))
    return found + [path for folder in FOLDERS if folder != "docs" for path in sorted((TREE / folder).rglob("README.md"))]


def prose(text):
    """The page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text):
    """Returns what links to headings are called, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        if not path.exists():
            yield target
        elif anchor and path.suffix == ".md" and anchor not in anchors(text if path == page else path.read_text()):
            yield target


def named_paths(page, text):
    """The words in backticks that are paths of the tree, from its top or from beside the page."""
    tops = set(FOLDERS) | {path.name for path in page.parent.iterdir() if path.is_dir() and page.parent != TREE}
    for span in re.findall(r"`([^`\n]+)`", prose(text)):
        for word in span.split():
            word = word.partition("::")[0]
            is_path = "/" in word and PATH.match(word) and not OTHERS.match(word)
            if SOURCE.match(word) or (is_path and word.split("/")[0] in tops):
                yield word


def is_there(page, path):
    if SOURCE.match(path):
        return any(next((TREE / folder).rglob(path), None) for folder in FOLDERS)
    return any(next(top.glob(path.rstrip("/")), None) for top in (TREE, page.parent))


def hops(text):
    """Yields the number of each hop of the map's walk, its function, and the files that may have it."""
    for item in re.split(r"^- ", text.partition("\n## One `run_code` call")[2], flags=re.MULTILINE)[1:]:
        first, said = re.match(r"`([^`]+)`[^:]*:(.*)", item, re.DOTALL).groups()
        parts = re.split(r"\b(\d+)\*?\s+(?=`)", said)
        for number, words in zip(parts[1::2], parts[2::2]):
            named = re.findall(r"\(`([^`]+\.\w+)`\)", words)
            files = [name if "/" in name else f"{pathlib.PurePath(first).parent}/{name}" for name in named]
            yield int(number), re.match(r"`([^`]+)`", words)[1].rstrip("()"), [first, *files]


def defines(source, function):
    """Whether the text of a file defines the function, which may be named with its class."""
    owner, _, name = function.replace(".", "::").rpartition("::")
    if re.search(rf"^\s*(async )?def {name}\(", source, re.MULTILINE):
        return not owner or re.search(rf"^class {owner}\b", source, re.MULTILINE) is not None
    qualified = rf"{owner}::" if owner else r"(\w+::)*"
    begins = rf"^(?! *(co_)?return )[\w:<>,*&\[\] ]+[ *&]{qualified}{name}\("
    is_member = rf"^ *\w+\.{name} = \["  # a lambda that a struct holds
    return re.search(f"{begins}|{is_member}", source, re.MULTILINE) is not None


def wrong_headings(text):
    """Headings of a version that are none of the four, or stand twice."""
    for version in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        headings = re.findall(r"^### (.*)$", version, re.MULTILINE)
        for heading in headings:
            if heading not in HEADINGS or headings.count(heading) > 1:
                yield f"{version.splitlines()[0]}: {heading}"


def lacks(record):
    """Returns what every record of a decision has, and this one has not."""
    parts = {"Since": r"^Since: \d{4}-\d{2}-\d{2}", "Context": r"^\*\*Context\.\*\* \S", "Decision": r"^\*\*Decision\.\*\* \S"}
    return [part for part, begins in parts.items() if not re.search(begins, record, re.MULTILINE)]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(TREE)))
def test_what_a_page_names_is_there(page):
    text = page.read_text()
    assert not list(dead_links(page, text)), "links that lead nowhere"
    assert not [path for path in named_paths(page, text) if not is_there(page, path)], "paths that are not in the tree"


def test_the_pages_name_much():
    assert sum(len(list(named_paths(page, page.read_text()))) for page in pages()) > 400


def test_the_map_is_small_and_its_walk_is_the_code_s():
    page = TREE / "docs/map.md"
    assert page.stat().st_size <= MAP_BYTES_MAX, "it is read first: say it in fewer words"
    text = page.read_text()
    walk = list(hops(text))
    said = int(re.search(r"^## One `run_code` call, (\d+) hops$", text, re.MULTILINE)[1])
    assert [number for number, _, _ in walk] == list(range(1, said + 1)) and said <= HOPS_MAX
    lost = [f"{number}: {function} in none of {files}" for number, function, files in walk
            if not any(defines((TREE / file).read_text(), function) for file in files)]
    assert not lost, "\n".join(lost)


def test_each_decision_says_why_what_and_since_when():
    records = sorted((TREE / "docs/decisions").glob("[0-9]*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1)), "numbers without a gap"
    for record in records:
        text = record.read_text()
        assert text.startswith(f"# {record.name[:4]}: ") and not lacks(text), (record.name, lacks(text))
    listed = re.findall(r"\]\((\d{4}-[^)]+)\)", (TREE / "docs/decisions/README.md").read_text())
    assert sorted(listed) == [record.name for record in records], "docs/decisions/README.md lists each once"


def test_changes_stand_under_four_headings():
    assert not list(wrong_headings((TREE / "CHANGELOG.md").read_text()))


def test_what_is_wrong_in_a_page_is_found():
    page = TREE / "docs/map.md"
    text = "# A map\n[a](gone.md) [b](map.md) [c](#a-map) [d](#b) [e](https://x.org/gone) [f](processes.md#none)\n```\n[g](no.md) `base/no.h`\n```\n"
    assert list(dead_links(page, text)) == ["gone.md", "#b", "processes.md#none"]
    text = "`base/fd.h`, `base/gone.cc --fast`, `gone.cc`, `tools/list`, `/mcp`, `tests/gone_*.py::test_it`, `tests/tidy/test_*.py`, `sandbox/gone/`"
    assert [path for path in named_paths(page, text) if not is_there(page, path)] == ["base/gone.cc", "gone.cc", "tests/gone_*.py", "sandbox/gone/"]
    readme = TREE / "tests/README.md"
    assert [path for path in named_paths(readme, "`tidy/test_pages.py`, `tidy/gone.py`") if not is_there(readme, path)] == ["tidy/gone.py"]


def test_a_hop_that_the_code_has_not_is_found():
    walk = "\n## One `run_code` call, 3 hops\n\nNot 9 `this`.\n\n- `a/b.cc`, in `c`: 1* `C::d` is `e` (`f.cc`); 2 `g()`. Only now 1 ends\n- `h.py`: 4 `I.j`\n"
    assert list(hops(walk)) == [(1, "C::d", ["a/b.cc", "a/f.cc"]), (2, "g", ["a/b.cc"]), (4, "I.j", ["h.py"])]
    source = "void C::d(int x) {\n  return g(x);\n}\n  one.l = [] {\nclass I:\n    def j(self):\n"
    assert [defines(source, function) for function in ("C::d", "d", "l", "I.j", "j")] == [True] * 5
    assert [defines(source, function) for function in ("g", "B::d", "K.j", "dd")] == [False] * 4


def test_a_record_or_a_heading_that_is_wrong_is_found():
    assert lacks("# 1\n\nSince: soon\n\n**Context.** It was so.\n") == ["Since", "Decision"]
    text = "# Changelog\n\n## 2\n\n### Added\n\n### Fixed\n\n### Further\n\n### Added\n\n## 1\n\n### Added\n"
    assert list(wrong_headings(text)) == ["2: Added", "2: Further", "2: Added"]
