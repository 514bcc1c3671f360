"""read_file, write_file, list_files, share_file with good input; hutch share."""

import base64
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

from hutch_client import PATIENCE, ToolError, hutch_binary


def test_write_read_append_create(client):
    written = client.call("write_file", path="a/b/c.txt", content="one\n")
    assert written.pop("session_id") in written.pop("note"), "the first result of a connection names its session"
    assert written == {"path": "/workspace/a/b/c.txt", "bytes": 4, "change": "created",
                       "sha256": hashlib.sha256(b"one\n").hexdigest()}
    appended = client.call("write_file", path="a/b/c.txt", content="two\n", mode="append")
    assert (appended["bytes"], appended["sha256"]) == (8, hashlib.sha256(b"one\ntwo\n").hexdigest())
    read = client.call("read_file", path="/workspace/a/b/c.txt")
    assert (read["content"], read["total_bytes"], read["encoding"]) == ("one\ntwo\n", 8, "utf-8")
    assert client.call("write_file", path="a/b/c.txt", content="")["change"] == "modified"


def test_the_hash_of_a_large_file_that_grows_is_left_out(client):
    client.run("import os; os.truncate(os.open('large', os.O_CREAT | os.O_RDWR), 64 << 20)")
    assert "sha256" not in client.call("write_file", path="large", content="x", mode="append")
    client.run("import os; os.truncate('large', (64 << 20) - 1)")
    appended = client.call("write_file", path="large", content="x", mode="append")
    assert appended["sha256"] == hashlib.sha256(bytes((64 << 20) - 1) + b"x").hexdigest()


def test_binary_round_trip(client):
    data = bytes(range(256)) * 10
    client.call("write_file", path="x.bin", content=base64.b64encode(data).decode(), encoding="base64")
    read = client.call("read_file", path="x.bin")
    assert read["encoding"] == "base64" and base64.b64decode(read["content"]) == data
    with pytest.raises(ToolError):
        client.call("read_file", path="x.bin", encoding="utf-8")


def test_pictures_are_shown_as_long_as_a_client_takes_them(client):
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00"
    client.run(f"open('p.png', 'wb').write({head!r} + bytes({750_000 - len(head)}))")
    shown = client.result("read_file", path="p.png")
    assert len(base64.b64decode(shown["content"][1]["data"])) == 750_000
    assert len(json.dumps(shown)) < 1 << 20
    client.run("open('p.png', 'ab').write(b'x')")
    with pytest.raises(ToolError) as refused:
        client.call("read_file", path="p.png")
    assert "750001 bytes is too large to be shown" in str(refused.value)
    part = client.call("read_file", path="p.png", encoding="base64", limit=len(head))
    assert base64.b64decode(part["content"]) == head and part["next_offset"] == len(head)
    rest = client.call("read_file", path="p.png", encoding="base64", offset=750_000)
    assert (rest["mime_type"], rest["content"]) == ("image/png", base64.b64encode(b"x").decode())


def test_bytes_that_nobody_has_asked_for_are_few(client):
    client.run("open('b.bin', 'wb').write(bytes(range(256)) * 400)")
    first = client.result("read_file", path="b.bin")
    assert "next_offset 3000; no UTF-8 text: run_code can convert it, share_file gives" in first["content"][0]["text"]
    first = first["structuredContent"]
    assert (first["encoding"], first["bytes"], first["total_bytes"]) == ("base64", 3000, 102_400)
    seen, offset = base64.b64decode(first["content"]), first["next_offset"]
    while offset is not None:
        part = client.call("read_file", path="b.bin", offset=offset)
        seen, offset = seen + base64.b64decode(part["content"]), part.get("next_offset")
    assert seen == bytes(range(256)) * 400
    for asked in ({"encoding": "base64"}, {"limit": 30_000}):
        assert client.call("read_file", path="b.bin", **asked)["bytes"] == 30_000


def test_reading_in_parts_never_splits_a_character(client):
    text = "aé€😀" * 1000
    client.call("write_file", path="t.txt", content=text)
    seen, offset = "", 0
    while offset is not None:
        part = client.call("read_file", path="t.txt", offset=offset, limit=997)
        assert part["encoding"] == "utf-8"
        seen, offset = seen + part["content"], part.get("next_offset")
    assert seen == text


@pytest.mark.parametrize("make, encoding", [
    ("'aé' * 700_000", "utf-8"), ("'\\\\\\n\"' * 500_000", "utf-8"), ("'\\x01' * 300_000", "utf-8"),
    ("os.urandom(1_000_001)", "base64")])
def test_a_result_stays_below_what_clients_take(client, make, encoding):
    client.run(f"""
import os
data = {make}
open('large', 'wb').write(data if isinstance(data, bytes) else data.encode())
digest = __import__('hashlib').sha256(open('large', 'rb').read()).hexdigest()""")
    digest = client.value("digest")[1:-1]
    whole, offset = b"", 0
    while offset is not None:
        result = client.result("read_file", path="large", offset=offset, limit=4 << 20, encoding=encoding)
        assert len(json.dumps(result, ensure_ascii=False).encode()) < 1 << 20
        part = result["structuredContent"]
        content = part["content"]
        whole += base64.b64decode(content) if encoding == "base64" else content.encode()
        assert len(whole) == offset + part["bytes"] and part["bytes"] > 0
        offset = part.get("next_offset")
    assert len(whole) == part["total_bytes"] and hashlib.sha256(whole).hexdigest() == digest


def test_code_and_tools_see_the_same_files(client):
    client.run("open('from_code.txt','w').write('c')\nimport os\nos.makedirs('/home/user/d')\n"
               "open('/tmp/t.txt','w').write('t')")
    assert client.call("read_file", path="from_code.txt")["content"] == "c"
    assert client.call("read_file", path="/tmp/t.txt")["content"] == "t"
    client.call("write_file", path="/home/user/d/from_tool.txt", content="t")
    assert client.value("open('/home/user/d/from_tool.txt').read()") == "'t'"
    assert client.value("os.stat('/home/user/d/from_tool.txt').st_uid == os.getuid()") == "True"
    client.run("open('/home/user/d/from_tool.txt','a').write('more')")
    assert client.call("read_file", path="/home/user/d/from_tool.txt")["content"] == "tmore"


def test_list(client):
    client.run("import os\nos.makedirs('d/e')\nopen('d/e/f','w').write('123')\nos.symlink('d','l')")
    flat = client.call("list_files")
    assert [(e["path"], e["type"]) for e in flat["entries"]] == [
        ("/workspace/d", "directory"), ("/workspace/l", "symlink")]
    deep = client.call("list_files", recursive=True)
    assert ("/workspace/d/e/f", 3) in [(e["path"], e["bytes"]) for e in deep["entries"]]
    assert len(deep["entries"]) == 4


def test_the_text_of_a_list_says_what_there_is(client):
    client.run("import os\nos.makedirs('d/e')\nopen('d/e/f','w').write('123')\nos.symlink('d','l')")
    title, *lines = client.result("list_files", recursive=True)["content"][0]["text"].splitlines()
    assert title == "/workspace: 4 entries" and lines[:2] == ["d/", "d/e/"], lines
    assert re.fullmatch(r"3 [-0-9]{10}T[:0-9]{8}Z d/e/f", lines[2]) and re.fullmatch(r"symlink \d+ \S+Z l", lines[3]), lines


def test_the_name_of_a_directory_looks_like_no_other_line_of_a_list(client):
    client.run("import os\nfor name in ('3 2026-01-01T00:00:00Z f', 'note: all is well'): os.mkdir(name)")
    _, *lines = client.result("list_files")["content"][0]["text"].splitlines()
    assert lines == ["directory 3 2026-01-01T00:00:00Z f/", "directory note: all is well/"], lines


def test_the_text_of_a_write_is_short(client):
    client.run("1")  # some words are said once, about the session
    assert client.result("write_file", path="a", content="one")["content"][0]["text"] == "created /workspace/a (3 bytes)"
    edited = client.result("edit_file", path="a", old_text="n", new_text="r")["content"][0]["text"]
    assert edited == "edited /workspace/a: 1 replaced, in line 1 (3 bytes)"


def test_list_changed_since_a_run(client):
    client.call("write_file", path="before.txt", content="1")
    time.sleep(0.05)  # file times are coarse; this is the distance being tested
    run = client.run("open('after.txt','w').close()")
    listed = client.call("list_files", changed_since=run["run_id"])
    assert [(e["path"], e["change"]) for e in listed["entries"]] == [("/workspace/after.txt", "created")]
    assert "change" not in client.call("list_files")["entries"][0]
    told = client.result("list_files", changed_since=run["run_id"])["content"][0]["text"].splitlines()[1]
    assert told.split()[0::3] == ["file", "created"] and told.endswith(" created after.txt"), told


def test_a_time_without_an_offset_and_a_day_are_utc(client):
    client.call("write_file", path="new.txt", content="1")
    [entry] = client.call("list_files")["entries"]
    written = datetime.datetime.fromisoformat(entry["modified_at"])
    for seconds, listed in ((-60, 1), (60, 0)):
        since = (written + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
        for text in (since, since + ".5", since + "Z"):
            assert len(client.call("list_files", changed_since=text)["entries"]) == listed, text
    for days, listed in ((0, 1), (1, 0)):
        day = (written + datetime.timedelta(days=days)).strftime("%Y-%m-%d")
        assert len(client.call("list_files", changed_since=day)["entries"]) == listed, day
    for wrong in ("2026-01", "09:00:00", "2026-01-31x", "2026-01-31T12:00:00ZZ"):
        with pytest.raises(ToolError, match=r"or 2026-01-31 \(UTC\)"):
            client.call("list_files", changed_since=wrong)


def pages(client, **arguments):
    """The entries of each answer until there is no more."""
    while True:
        result = client.result("list_files", **arguments)
        text, listed = result["content"][0]["text"], result["structuredContent"]
        assert max(len(json.dumps(listed, separators=(",", ":"))), len(text)) <= 60_000
        yield [entry["path"] for entry in listed["entries"]]
        if "truncated" not in listed:
            assert "truncated" not in text and "next_after" not in listed
            return
        arguments["after"] = listed["next_after"]
        assert f"(truncated: go on with after \"{listed['next_after']}\")" in text.splitlines()[0]


@pytest.mark.parametrize("arguments", [{}, {"path": "/workspace"}, {"path": "."}, {"path": "/workspace", "recursive": True}])
def test_a_long_list_goes_on(client, arguments):
    client.run("for i in range(1500): open(f'f{i:04}', 'w').close()")
    listed = list(pages(client, **arguments))
    assert len(listed) >= 3 and [path for page in listed for path in page] == [f"/workspace/f{i:04}" for i in range(1500)]


def test_a_large_directory_is_one_entry_with_a_count(client):
    client.run("import os\nos.makedirs('many/deep'); os.mkdir('few')\nfor i in range(1500): open(f'many/{i:04}', 'w').close()\n"
               "for i in range(200): open(f'few/{i:03}', 'w').close()\nfor i in range(201): open(f'many/deep/{i}', 'w').close()")
    result = client.result("list_files", recursive=True)
    listed, text = result["structuredContent"], result["content"][0]["text"]
    folded = {entry["path"]: entry["entries"] for entry in listed["entries"] if "entries" in entry}
    assert folded == {"/workspace/many": 1500 + 1 + 201}, "few has no more than 200"
    assert len(listed["entries"]) == 202 and "truncated" not in listed
    assert "\nmany/ with 1702 entries\n" in text and text.endswith("list_files with the path of a directory shows what is in it\n"), text[-300:]
    whole = [path for page in pages(client, path="many", recursive=True) for path in page]
    assert whole == sorted([f"/workspace/many/{i:04}" for i in range(1500)] + ["/workspace/many/deep"]
                           + [f"/workspace/many/deep/{i}" for i in range(201)])
    everything = [path for page in pages(client, path="/workspace", recursive=True) for path in page]
    assert len(everything) == 1702 + 202 and len(set(everything)) == len(everything)


def test_what_is_folded_and_cut_says_how_to_list_all(client):
    client.run("import os\nos.mkdir('many')\nfor i in range(300): open(f'many/{i:03}', 'w').close()\nfor i in range(1500): open(f'n{i:04}', 'w').close()")
    result = client.result("list_files", recursive=True)
    assert result["structuredContent"]["truncated"] is True and "next_after" not in result["structuredContent"]
    assert '(truncated: with path "/workspace" all is listed)' in result["content"][0]["text"].splitlines()[0]


def test_a_list_that_lacks_some_between_names_nothing_to_go_on_behind(client):
    """The tree is deeper than lists go, and what is in it comes before the files."""
    client.run("import os\nfor _ in range(4100):\n    os.mkdir('d'); os.chdir('d')\nos.chdir('/workspace')")
    before = client.run("1")["run_id"]
    client.run("for i in range(1500): open(f'f{i:04}', 'w').close()")
    result = client.result("list_files", path="/workspace", recursive=True, changed_since=before)
    assert result["structuredContent"]["truncated"] is True and "next_after" not in result["structuredContent"]
    assert "(truncated: list a directory below, or with changed_since)" in result["content"][0]["text"].splitlines()[0]
    assert sum(len(page) for page in pages(client, path="/workspace", changed_since=before)) == 1500


def test_a_list_goes_on_behind_a_path_that_cannot_be_opened(client):
    client.run("import os\nfor i in range(900): open(f'a{i:04}'.encode() + b'\\xff', 'w').close()\nfor i in range(900): open(f'b{i:04}', 'w').close()")
    listed = client.call("list_files")
    assert listed["next_after"].endswith("\\xFF")
    client.run("import os\nfor name in os.listdir(b'.'): name.endswith(b'\\xff') and os.unlink(name)")
    rest = [path for page in pages(client, after=listed["next_after"]) for path in page]
    assert rest == [f"/workspace/b{i:04}" for i in range(900)]
    assert client.call("list_files", after="/workspace/" + "b/" * 6000 + "x" * 6000)["entries"][0]["path"] == "/workspace/b0000"


def test_deep_trees_do_not_hurt(client):
    client.run("import os\nfor _ in range(1000):\n    os.mkdir('d'); os.chdir('d')\nos.chdir('/workspace')")
    entries = client.call("list_files", recursive=True)["entries"]
    assert len(entries) + sum(entry.get("entries", 0) for entry in entries) == 1000 and len(entries) < 300
    assert client.call("list_files", path="/workspace", recursive=True)["truncated"] is True
    assert client.run("1")["status"] == "completed"


def test_links_stay_inside(client):
    client.run("import os\nos.symlink('/etc', 'etc')\nos.symlink('/etc/passwd', 'pw')\n"
               "os.symlink('../../../../../..', 'up')")
    assert "user:x:1000" in client.call("read_file", path="pw")["content"]
    assert "root:" not in client.call("read_file", path="up/etc/passwd")["content"]
    with pytest.raises(ToolError):
        client.call("read_file", path="etc/shadow")
    with pytest.raises(ToolError):
        client.call("write_file", path="pw", content="x")


def test_writing_through_a_link_writes_its_target(client):
    client.run("import os\nopen('real','w').close()\nos.symlink('real', 'link')")
    client.call("write_file", path="link", content="through")
    assert client.value("open('real').read(), os.path.islink('link')") == "('through', True)"


def test_share(client, state):
    client.call("write_file", path="table.csv", content="a,b\n1,2\n")
    result = client.result("share_file", path="table.csv", filename="result table.csv")
    shared = result["structuredContent"]
    assert shared["mime_type"] == "text/csv" and shared["bytes"] == 8
    assert shared["sha256"] == hashlib.sha256(b"a,b\n1,2\n").hexdigest()
    assert open(shared["host_path"]).read() == "a,b\n1,2\n"
    link = next(block for block in result["content"] if block["type"] == "resource_link")
    assert link["uri"].startswith("file:///") and "%20" in link["uri"]
    assert link["mimeType"] == "text/csv" and link["size"] == 8
    # The copy is a copy.
    client.run("open('table.csv','w').write('changed')")
    assert open(shared["host_path"]).read() == "a,b\n1,2\n"
    stored = pathlib.Path(state, "shared", shared["id"], "result table.csv")
    assert stored.read_text() == "a,b\n1,2\n" and stored.stat().st_mode & 0o777 == 0o600


def test_share_outlives_its_session_and_is_read_by_the_command(client, state, tmp_path):
    session = client.call("create_session")["session_id"]
    client.call("write_file", path="f.bin", content="AAEC", encoding="base64", session_id=session)
    shared = client.call("share_file", path="f.bin", session_id=session)
    client.call("delete_session", session_id=session)
    listed = json.loads(subprocess.run([hutch_binary(), "share", "ls", "--json", "--state-dir", state],
                                       capture_output=True, check=True).stdout)
    assert [s["id"] for s in listed] == [shared["id"]]
    stored = pathlib.Path(listed[0]["stored_path"])
    assert stored == pathlib.Path(state, "shared", shared["id"], "f.bin") and stored.read_bytes() == b"\x00\x01\x02"
    assert "host_path" not in listed[0], "that is the copy which is the person's"
    heading, row = subprocess.run([hutch_binary(), "share", "ls", "--state-dir", state], capture_output=True,
                                  check=True, text=True).stdout.splitlines()
    assert heading.split() == ["ID", "BYTES", "TYPE", "EXPIRES", "NAME"]
    assert row.split() == [shared["id"], "3", shared["mime_type"], shared["expires_at"], "f.bin"], row
    target = tmp_path / "out.bin"
    subprocess.run([hutch_binary(), "share", "get", shared["id"], "-o", str(target), "--state-dir", state],
                   check=True, capture_output=True, umask=0o027)
    assert target.read_bytes() == b"\x00\x01\x02"
    assert target.stat().st_mode & 0o777 == 0o640, "as the user's other files"
    again = subprocess.run([hutch_binary(), "share", "get", shared["id"], "-o", str(target),
                            "--state-dir", state], capture_output=True)
    assert again.returncode == 1, "an existing file is never replaced"


def test_expired_shares_are_gone(client, state):
    client.call("write_file", path="f", content="x")
    shared = client.call("share_file", path="f", expires_in_seconds=1)
    deadline = time.monotonic() + 60 * PATIENCE
    while True:
        got = subprocess.run([hutch_binary(), "share", "get", shared["id"], "-o", "-", "--state-dir", state],
                             capture_output=True)
        if got.returncode != 0:
            break
        assert time.monotonic() < deadline
    # The one that did not find it may have swept a moment before it was over.
    subprocess.run([hutch_binary(), "share", "ls", "--state-dir", state], capture_output=True, check=True)
    assert not os.path.exists(os.path.join(state, "shared", shared["id"])), "the sweep at start removes it"
    assert open(shared["host_path"]).read() == "x", "but not what is the user's"


@pytest.mark.slow
def test_expired_shares_are_gone_while_the_server_stays(client, state):
    client.call("write_file", path="f", content="x")
    shared = client.call("share_file", path="f", expires_in_seconds=1)
    stored = os.path.join(state, "shared", shared["id"])
    assert os.path.exists(stored)
    deadline = time.monotonic() + 150  # it sweeps every minute
    while os.path.exists(stored):
        assert time.monotonic() < deadline
        time.sleep(1)
    assert open(shared["host_path"]).read() == "x"


def test_too_large_to_share(client):
    client.run("open('big','wb').truncate(101 << 20)")
    with pytest.raises(ToolError) as refused:
        client.call("share_file", path="big")
    assert "100 MiB" in str(refused.value)


def test_sparse_file_of_a_tebibyte_is_read_in_bounds(client):
    run = client.run("import os\nf = open('/workspace/sparse','wb')\n"
                     "try:\n    f.truncate(1 << 30)\nexcept OSError as e:\n    print(e)")
    assert run["status"] == "completed"
    read = client.call("read_file", path="sparse", offset=1 << 29, limit=16)
    assert read["bytes"] == 16


@pytest.mark.parametrize("charset, text", [("shift_jis", "日本語のファイルです"), ("gb18030", "这是一个中文文件"), ("cp949", "한국어 파일입니다"), ("big5", "這是一個中文檔案")])
def test_text_in_a_charset_that_nobody_knows_is_told_how_to_read(client, charset, text):
    client.run(f"open('east.txt', 'w', encoding={charset!r}).write({text!r} * 3);")
    read = client.call("read_file", path="east.txt")
    assert read["encoding"] == "base64" and charset in read["note"] and "encoding=" in read["note"], read
    assert client.run(f"open('/workspace/east.txt', encoding={charset!r}).read(9)")["outputs"][0]["text"] == repr((text * 3)[:9])
    client.run("open('noise.bin', 'wb').write(bytes(range(256)));")
    assert "note" not in client.call("read_file", path="noise.bin")


@pytest.mark.parametrize("charset, encoding", [("cp1252", "cp1252"), ("utf-16", "utf-16le"), ("utf-16-be", "utf-16be"), ("utf-16-le", "utf-16le")])
def test_text_in_another_charset_is_text(client, charset, encoding):
    text = "Café über 5 €, naïve words\n" * 3000
    mark = "\ufeff" if charset == "utf-16-be" else ""
    client.run(f"data = ({mark!r} + {text!r}).encode({charset!r}); open('other.txt', 'wb').write(data);")
    shown, offset = "", 0
    while offset is not None:
        part = client.call("read_file", path="other.txt", offset=offset)
        assert part["encoding"] == encoding, part
        shown += part["content"]
        offset = part.get("next_offset")
    assert shown == text
    raw = client.call("read_file", path="other.txt", encoding="base64", limit=10)
    assert raw["encoding"] == "base64" and raw["bytes"] == 10


def test_ascii_in_utf_16_without_a_mark_is_text(client):
    client.run("open('wide.txt', 'wb').write('id;name\\n7;seven\\n'.encode('utf-16-be'));")
    read = client.call("read_file", path="wide.txt")
    assert (read["encoding"], read["content"]) == ("utf-16be", "id;name\n7;seven\n"), read
    assert client.call("read_file", path="wide.txt", offset=2)["content"] == "d;name\n7;seven\n"


def test_letters_that_come_after_pages_of_ascii_are_text(client):
    text = "id;city;amount\n" * 2700 + "1;Café;5 €\n" + "id;city;amount\n" * 2700
    client.run(f"open('late.csv', 'wb').write({text!r}.encode('cp1252'));")
    shown, offset, encodings = "", 0, []
    while offset is not None:
        part = client.call("read_file", path="late.csv", offset=offset)
        encodings.append(part["encoding"])
        shown += part["content"]
        offset = part.get("next_offset")
    assert shown == text and encodings == ["utf-8", "cp1252", "utf-8"]


@pytest.mark.parametrize("name, head, words", [
    ("report.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PdfReader"), ("letters.pdf", b"%PDF-1.4\nGau`R@stream ASCII85\n", "PdfReader"),
    ("data.parquet", b"PAR1\x15\x04\x15", "read_parquet"), ("book.xlsx", None, "read_excel"), ("text.docx", None, "docx.Document"),
    ("talk.pptx", None, "Presentation"), ("notes.rtf", b"{\\rtf1\\ansi Hello\\par}\n", "striprtf"),
    ("photo.heic", b"\0\0\0\x1cftypheic\0\0\0\0mif1heicmiaf", "pillow-heif")])
def test_documents_say_what_reads_them(client, name, head, words):
    if head is None:
        kind = {"xlsx": ("xl/workbook.xml", "spreadsheetml.sheet.main"), "docx": ("word/document.xml", "wordprocessingml.document.main"),
                "pptx": ("ppt/presentation.xml", "presentationml.presentation.main")}[name.rpartition(".")[2]]
        client.run("import zipfile\nwith zipfile.ZipFile(%r, 'w') as z:\n"
                   "    z.writestr('[Content_Types].xml', '<Types/>'); z.writestr('_rels/.rels', '<R/>'); z.writestr(%r, '<w/>')" % (name, kind[0]))
    else:
        client.run(f"open({name!r}, 'wb').write({head!r} * 50);")
    read = client.result("read_file", path=name)
    note = read["structuredContent"]["note"]
    assert note.startswith("run_code reads it: ") and words in note and f'"/workspace/{name}"' in note, read
    assert note in read["content"][0]["text"]
    assert read["structuredContent"]["encoding"] == "base64" and len(read["structuredContent"]["content"]) <= 400


def test_an_office_file_whose_parts_lie_in_another_order_is_one(client):
    client.run("import zipfile\nwith zipfile.ZipFile('odd.xlsx', 'w') as z: z.writestr('zz', 'x' * 9000); z.writestr('[Content_Types].xml', '<Types/>')")
    assert "read_excel" in client.call("read_file", path="odd.xlsx")["note"]
