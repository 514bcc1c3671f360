"""Comments are sentences: none begins as one seldom does."""

import pathlib
import re

TREE = pathlib.Path(__file__).parents[2]
FOLDERS = ("base", "mcp", "sandbox", "sessions", "share", "tools")
NO_SUBJECT = re.compile(r"(Of|What|Those|The same)\b")


def openings():
    """Of each block of lines that are comments alone: where it is, and its first line."""
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
    assert len(found) > 3000
    wrong = [f"{place}: {text}" for place, text in found if NO_SUBJECT.match(text)]
    assert not wrong, "give these a subject and a verb, and say what is returned and when it fails:\n" + "\n".join(wrong)
