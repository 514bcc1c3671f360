"""Comments are sentences. How many begin in a way that a sentence seldom does may only fall."""

import pathlib
import re

TREE = pathlib.Path(__file__).parents[2]
FOLDERS = ("mcp", "sandbox", "sessions", "share", "tools")
OPENING = re.compile(r"(Of|What|Those|The same)\b")
MOST = 0


def openings():
    """Of each block of lines that are comments alone, the words behind its first slashes."""
    for folder in FOLDERS:
        for path in sorted((TREE / folder).rglob("*")):
            if path.suffix not in (".cc", ".h"):
                continue
            before = ""
            for number, line in enumerate(path.read_text().splitlines(), 1):
                text = line.strip()
                if text.startswith("//") and not before.startswith("//"):
                    yield f"{path.relative_to(TREE)}:{number}", text.lstrip("/").strip()
                before = text


def test_comments_begin_as_sentences_do():
    found = list(openings())
    assert len(found) > 2000
    wrong = [f"{place}: {text}" for place, text in found if OPENING.match(text)]
    assert len(wrong) <= MOST, f"{len(wrong)} comments begin with Of, What, Those or The same; {MOST} are the most:\n" + "\n".join(wrong[-20:])
    assert len(wrong) > MOST - 20, f"there are {len(wrong)} now: lower MOST to that"
