"""edit_file: one text in place of another, or a clear word on why not."""

import hashlib

import pytest

from hutch_client import ToolError

CODE = "import math\n\ndef area(r):\n    return math.pi * r\n\ndef double(r):\n    return 2 * r\n"


def test_one_place(client):
    client.call("write_file", path="shapes.py", content=CODE)
    edited = client.call("edit_file", path="shapes.py", old_text="math.pi * r", new_text="math.pi * r ** 2")
    expected = CODE.replace("math.pi * r", "math.pi * r ** 2")
    assert edited == {"path": "/workspace/shapes.py", "bytes": len(expected), "replacements": 1,
                      "sha256": hashlib.sha256(expected.encode()).hexdigest()}
    assert client.call("read_file", path="/mnt/data/shapes.py")["content"] == expected
    assert client.value("from shapes import area; round(area(2), 2)") == "12.57"


def test_edits_at_the_same_time_are_all_there(client):
    words = [f"<{i}>" for i in range(24)]
    client.call("write_file", path="words", content=" ".join(words))
    requests = [client.start_tool("edit_file", path="words", old_text=word, new_text=word.upper() + "!") for word in words]
    replies = [client.reply(request)["result"] for request in requests]
    assert not any(reply.get("isError") for reply in replies), replies
    assert client.call("read_file", path="words")["content"] == " ".join(f"{word}!" for word in words)


def test_what_is_there_more_than_once_names_the_lines(client):
    client.call("write_file", path="shapes.py", content=CODE)
    with pytest.raises(ToolError, match="2 times, in lines 3, 6; take in more of the text around it, or set all"):
        client.call("edit_file", path="shapes.py", old_text="(r)", new_text="(radius)")
    assert client.call("read_file", path="shapes.py")["content"] == CODE, "nothing was written"
    edited = client.call("edit_file", path="shapes.py", old_text="return", new_text="yield", all=True)
    assert edited["replacements"] == 2
    assert client.call("read_file", path="shapes.py")["content"] == CODE.replace("return", "yield")


def test_what_is_not_there_says_where_its_first_line_is(client):
    client.call("write_file", path="shapes.py", content=CODE)
    with pytest.raises(ToolError, match="its first line alone is in line 3"):
        client.call("edit_file", path="shapes.py", old_text="  def area(r):\n  yield", new_text="")
    with pytest.raises(ToolError, match="is not in the file; read_file shows"):
        client.call("edit_file", path="shapes.py", old_text="nowhere", new_text="")


def test_what_differs_in_blanks_or_letter_case_is_found_all_the_same(client):
    client.call("write_file", path="shapes.py", content="\n  \n" + CODE)
    for wanted, lines in (("Return Math.PI*r", "line 6"), ("return  2 * R", "line 9"), ("RETURN", "lines 6, 9"),
                          ("def area( r ):\n\treturn math.pi * r", "line 5"), ("def area(r):\r\n    return", "line 5")):
        with pytest.raises(ToolError, match=f"but for blanks and letter case it is there, from {lines} on"):
            client.call("edit_file", path="shapes.py", old_text=wanted, new_text="")
    with pytest.raises(ToolError, match="its first line alone is, but for blanks and letter case, in line 8"):
        client.call("edit_file", path="shapes.py", old_text="def Double( r ):\n    return 3", new_text="")
    with pytest.raises(ToolError, match="is not in the file; read_file shows"):
        client.call("edit_file", path="shapes.py", old_text=" \n\t\n ", new_text="")


def test_lines_keep_the_ends_that_they_have_in_the_file(client):
    client.call("write_file", path="windows.txt", content="alpha\r\nbeta\r\ngamma\r\n")
    client.call("edit_file", path="windows.txt", old_text="alpha\nbeta\n", new_text="one\ntwo\nthree\n")
    client.call("edit_file", path="windows.txt", old_text="gamma", new_text="gamma\ndelta")
    assert client.call("read_file", path="windows.txt")["content"] == "one\r\ntwo\r\nthree\r\ngamma\r\ndelta\r\n"
    client.call("write_file", path="mixed.txt", content="alpha\r\nbeta\n")
    client.call("edit_file", path="mixed.txt", old_text="beta\n", new_text="b\nc\n")
    assert client.call("read_file", path="mixed.txt")["content"] == "alpha\r\nb\nc\n"


def test_deleting_lines_bytes_and_the_mode_are_kept(client):
    client.run("open('run.sh', 'wb').write(b'#!/bin/sh\\r\\n# gone\\r\\necho \\xff\\n'); import os; os.chmod('run.sh', 0o750)")
    client.call("edit_file", path="run.sh", old_text="# gone\r\n", new_text="")
    assert client.value("open('run.sh', 'rb').read(), oct(os.stat('run.sh').st_mode & 0o777)") == \
        "(b'#!/bin/sh\\r\\necho \\xff\\n', '0o750')"


def test_what_would_become_too_large_is_refused_before_it_is_made(client):
    client.run("open('many.txt', 'w').write('x' * (4 << 20))")
    with pytest.raises(ToolError, match="would have 4398046511104 bytes, at most 16777216"):
        client.call("edit_file", path="many.txt", old_text="x", new_text="y" * (1 << 20), all=True)
    assert client.value("import os; os.path.getsize('many.txt')") == "4194304"


def test_overlapping_places_are_counted_once(client):
    client.call("write_file", path="a.txt", content="aaaa")
    assert client.call("edit_file", path="a.txt", old_text="aa", new_text="b", all=True)["replacements"] == 2
    assert client.call("read_file", path="a.txt")["content"] == "bb"


def test_what_is_nearly_there_everywhere_is_looked_for_in_no_time(client):
    """Comparing anew at each place would take minutes."""
    client.run("open('many', 'w').write('a' * (16 << 20))")
    with pytest.raises(ToolError) as refused:
        client.call("edit_file", path="many", old_text="a" * ((1 << 20) - 1) + "b", new_text="")
    assert "old_text is not in the file" in str(refused.value)


def test_text_in_another_encoding_is_told_apart_from_text_that_is_not_there(client):
    client.run("open('latin.txt', 'w', encoding='latin-1').write('café\\n')")
    with pytest.raises(ToolError) as refused:
        client.call("edit_file", path="latin.txt", old_text="café", new_text="tea")
    assert "the file is no UTF-8 text: edit it with run_code" in str(refused.value)
