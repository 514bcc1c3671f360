"""Paths that climb out, names that break lines or are no UTF-8: the host is out of reach, nothing is lost."""

import json
import os

import pytest

from hutch_client import Client, ToolError

UP = "../" * 20
BROKEN = "li\nne.txt"
FORGED = "x\nfile 9 2026-01-01T00:00:00Z forged\x1b[2K\x9b1m"

# tool: arguments apart from the path
GOOD = {
    "read_file": {},
    "write_file": {"content": "written"},
    "edit_file": {"old_text": "user", "new_text": "root", "all": True},
    "list_files": {},
    "share_file": {},
}


@pytest.fixture(scope="module")
def server(module_state):
    with Client(module_state) as client:
        client.call("write_file", path="kept.txt", content="kept user")
        client.run("survivor = 1")
        yield client


@pytest.fixture
def prepared(server):
    """The server, which afterwards lives and has lost nothing."""
    yield server
    assert server.alive
    assert server.value("survivor") == "1"
    assert server.call("read_file", path="kept.txt")["content"] == "kept user"
    left = {entry["path"] for entry in server.call("list_files")["entries"]}
    assert left == {"/workspace/kept.txt"}, "a test removes what it makes"


@pytest.fixture
def host_secret(tmp_path):
    """A file of the host's that its user may read and write."""
    secret = tmp_path / "secret.txt"
    secret.write_text("user of the host")
    yield secret
    assert secret.read_text() == "user of the host"
    assert os.listdir(tmp_path) == ["secret.txt"]


def refusal(client, tool, **arguments):
    with pytest.raises(ToolError) as refused:
        client.call(tool, **arguments)
    return str(refused.value)


@pytest.mark.parametrize("tool", ["read_file", "edit_file", "list_files", "share_file"])
@pytest.mark.parametrize("up", [UP, "/workspace/" + UP, "kept.txt/../" + UP, "/mnt/data/" + UP],
                         ids=["relative", "absolute", "through a file", "mnt"])
def test_no_path_climbs_to_a_file_of_the_host(prepared, host_secret, tool, up):
    # The root of the box is where climbing ends, and what is there is the box's.
    assert f"{host_secret}: no such file or directory" in refusal(
        prepared, tool, path=up + str(host_secret).lstrip("/"), **GOOD[tool])


def test_what_is_written_by_climbing_is_written_in_the_box(prepared, host_secret):
    path = UP + str(host_secret).lstrip("/")
    if str(host_secret).startswith("/tmp/"):
        written = prepared.call("write_file", path=path, content="the box's")
        assert written["path"] == str(host_secret) and written["change"] == "created"
        assert prepared.value(f"open({str(host_secret)!r}).read()") == '"the box\'s"'
    else:
        assert "writing is possible in" in refusal(prepared, "write_file", path=path, content="x")


@pytest.mark.parametrize("tool,path,words", [
    ("write_file", "etc/passwd", "writing is possible in /workspace"),
    ("write_file", "usr/new", "writing is possible in /workspace"),
    ("write_file", "root/.bashrc", "writing is possible in /workspace"),
    ("write_file", "etc", "/etc: is a directory; name a file in it"),
    ("write_file", "", "/: is a directory; name a file in it"),
    ("edit_file", "etc/passwd", "writing is possible in /workspace"),
    ("edit_file", "etc", "/etc: is a directory"),
    ("read_file", "etc/shadow", "/etc/shadow: no such file"),
    ("read_file", "", "/: is a directory; use list_files"),
    ("list_files", "root/.ssh", "/root/.ssh: no such file"),
    ("list_files", "proc", "belongs to the kernel"),
    ("share_file", "etc/shadow", "/etc/shadow: no such file"),
    ("share_file", "usr", "more than 10000 entries"),
])
def test_climbing_gets_the_error_of_the_place_it_ends_at(prepared, tool, path, words):
    assert words in refusal(prepared, tool, path=UP + path, **GOOD[tool])


def test_climbing_finds_the_users_of_the_box_not_of_the_host(prepared):
    inside = prepared.run("print(open('/etc/passwd').read(), end='')")["stdout"]
    with open("/etc/passwd") as users:
        assert users.read() != inside
    assert prepared.call("read_file", path=UP + "etc/passwd")["content"] == inside
    shared = prepared.call("share_file", path=UP + "etc/passwd")
    with open(shared["host_path"]) as copy:
        assert copy.read() == inside


def test_a_line_break_in_the_path_of_a_file_that_is_written_and_edited(prepared):
    path = "/workspace/" + BROKEN
    assert prepared.call("write_file", path=BROKEN, content="one")["path"] == path
    edited = prepared.call("edit_file", path=BROKEN, old_text="one", new_text="two")
    assert edited["path"] == path and edited["replacements"] == 1
    assert prepared.value(f"open({BROKEN!r}).read()") == "'two'"
    prepared.run(f"import os; os.remove({BROKEN!r})")


def test_a_line_break_in_a_name_forges_no_line_of_an_edit(prepared):
    prepared.call("write_file", path=FORGED, content="one")
    result = prepared.result("edit_file", path=FORGED, old_text="one", new_text="two")
    prepared.run(f"import os; os.remove({FORGED!r})")
    text = result["content"][0]["text"]
    assert not result["isError"] and "x\\nfile 9" in text and "forged\\x1B[2K\\x9B1m" in text
    assert len(text.splitlines()) == 1 and "\x1b" not in text and "\x9b" not in text


@pytest.mark.parametrize("tool", GOOD)
def test_a_name_forges_no_line_of_an_error(prepared, tool):
    above = "kept.txt/" if tool == "write_file" else ""
    said = refusal(prepared, tool, path=above + FORGED, **GOOD[tool])
    assert "kept.txt" in said if above else "no such file" in said
    assert len(said.splitlines()) == 1, said
    assert "\x1b" not in said and "\x9b" not in said


def test_a_name_forges_no_line_of_an_error_about_text_that_is_not_there(prepared):
    prepared.call("write_file", path=FORGED, content="one")
    said = refusal(prepared, "edit_file", path=FORGED, old_text="two", new_text="three")
    prepared.run(f"import os; os.remove({FORGED!r})")
    assert "old_text is not in the file" in said and "x\\nfile 9" in said
    assert len(said.splitlines()) == 1, said


@pytest.mark.parametrize("name", ["two\nlines", "end\n", "\n", "tab\t", "escape\x1b[2K"])
def test_a_session_name_is_one_line_of_plain_characters(prepared, name):
    before = prepared.call("list_sessions")["sessions"]
    assert "a session name has at most 100 letters, digits, spaces" in refusal(
        prepared, "create_session", name=name)
    assert [s["session_id"] for s in prepared.call("list_sessions")["sessions"]] == \
        [s["session_id"] for s in before]


def test_a_shared_file_is_named_without_its_line_breaks(prepared):
    result = prepared.result("share_file", path="kept.txt", filename="a/" + BROKEN)
    shared = result["structuredContent"]
    assert shared["filename"] == "li_ne.txt"
    assert os.path.basename(shared["host_path"]) == "li_ne.txt"
    with open(shared["host_path"]) as copy:
        assert copy.read() == "kept user"
    assert BROKEN not in json.dumps(result, ensure_ascii=False)
    assert result["content"][0]["text"].splitlines()[0].startswith("shared li_ne.txt (")


@pytest.mark.parametrize("arguments", [
    b'{"path":"kept.txt%s","old_text":"kept","new_text":"lost"}',
    b'{"path":"kept.txt","old_text":"kept","new_text":"lost%s"}',
    b'{"path":"kept.txt","old_text":"kept%s","new_text":"lost"}',
    b'{"path":"kept.txt%s"}', b'{"path":"kept.txt","filename":"bad%s"}',
], ids=["edit path", "edit new", "edit old", "share path", "share name"])
@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xc0\x80", b"\xed\xa0\x80", b"\xed\xa0\x80\\ud800"],
                         ids=["byte", "half", "overlong", "surrogate", "both"])
def test_bytes_that_are_no_utf8_are_refused_with_the_message(prepared, arguments, bad):
    tool = b"edit_file" if b"old_text" in arguments else b"share_file"
    seen = len(prepared.stray)
    prepared.send_raw(b'{"jsonrpc":"2.0","id":"bytes","method":"tools/call","params":{"name":"' + tool +
                      b'","arguments":' + arguments % bad + b"}}\n")
    error = prepared.wait_for_stray(seen + 1)[-1]["error"]
    assert error == {"code": -32700, "message": "message is not JSON in UTF-8"}


@pytest.mark.parametrize("language,code", [("python", "print('a\\ud83d', len('\\ude00'))"), ("javascript", "console.log('a\\ud83d', 1)"),
                                           ("bash", "echo 'a\\ud83d' 1")])
def test_half_a_character_in_code_is_run_as_the_replacement_character(prepared, language, code):
    """As JavaScript's clients send an emoji that was cut in two."""
    seen = len(prepared.stray)
    prepared.send_raw(b'{"jsonrpc":"2.0","id":"half","method":"tools/call","params":{"name":"run_code","arguments":{"language":"%s","code":"%s"}}}\n'
                      % (language.encode(), code.encode()))
    result = prepared.wait_for_stray(seen + 1)[-1]["result"]["structuredContent"]
    assert result["stdout"] == "a\ufffd 1\n" and "U+FFFD" in result["note"]


def call_with_half(client, tool, arguments):
    """The whole answer to a call in whose arguments HALF stands for a lone surrogate."""
    seen = len(client.stray)
    message = json.dumps({"jsonrpc": "2.0", "id": "half", "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
    client.send_raw(message.replace("HALF", "\\ud83d").encode() + b"\n")
    return client.wait_for_stray(seen + 1)[-1]


@pytest.mark.parametrize("tool, arguments, name", [
    ("write_file", {"path": "half.txt", "content": "a HALF"}, "content"), ("run_code", {"code": "1", "env": {"A": "HALF"}}, "env"),
    ("run_code", {"code": "SELECT 'HALF' AS a", "language": "sql"}, "code"), ("run_code", {"code": "const a: string = 'HALF'; a", "language": "typescript"}, "code"),
    ("edit_file", {"path": "kept.txt", "old_text": "user", "new_text": "HALFuser"}, "new_text"), ("create_session", {"env": {"A": "HALF"}}, "env")])
def test_half_a_character_in_content_is_taken_and_told(prepared, tool, arguments, name):
    result = call_with_half(prepared, tool, arguments)["result"]
    assert not result["isError"], result
    told = f"{name} has U+FFFD in place of half a character (a lone surrogate)"
    assert told in result["structuredContent"]["note"] and told in result["content"][0]["text"], result
    if tool == "write_file":
        assert prepared.call("read_file", path="half.txt")["content"] == "a \ufffd"
        found = call_with_half(prepared, "edit_file", {"path": "half.txt", "old_text": "HALF", "new_text": "b"})["result"]
        assert found["structuredContent"]["replacements"] == 1, found
        prepared.run("rm half.txt", "bash")
    elif tool == "edit_file":
        assert prepared.call("read_file", path="kept.txt")["content"] == "kept \ufffduser"
        prepared.call("edit_file", path="kept.txt", old_text="\ufffd", new_text="")
    elif arguments.get("language"):
        assert "\ufffd" in json.dumps(result["structuredContent"]["outputs"], ensure_ascii=False)
    elif tool == "create_session":
        prepared.call("delete_session", session_id=result["structuredContent"]["session_id"])


def test_half_a_character_that_is_not_found_is_told(prepared):
    result = call_with_half(prepared, "edit_file", {"path": "kept.txt", "old_text": "HALF", "new_text": "x"})["result"]
    assert result["isError"] and "is not in the file" in result["content"][0]["text"]
    assert "old_text has U+FFFD in place of half a character" in result["content"][0]["text"], result


def test_a_replacement_character_that_was_sent_is_not_told(prepared):
    run = prepared.run("print('\ufffd')")
    assert run["stdout"] == "\ufffd\n" and "U+FFFD" not in run.get("note", ""), run


@pytest.mark.parametrize("tool, arguments, name", [
    *((tool, {**arguments, "path": "aHALF"}, "path") for tool, arguments in GOOD.items()), ("run_code", {"code": "1", "session_id": "HALF"}, "session_id"),
    ("run_code", {"code": "1", "env": {"HALF": "A"}}, "env"), ("run_code", {"code": "1", "language": "HALF"}, "language"), ("share_file", {"path": "kept.txt", "filename": "HALF"}, "filename"),
    ("create_session", {"name": "HALF"}, "name"), ("create_session", {"filesystem": {"blocked": ["/HALF"]}}, "filesystem"),
    ("create_session", {"network": {"HALF": []}}, "network"), ("install_packages", {"packages": ["HALF"]}, "packages"), ("cancel_run", {"run_id": "HALF"}, "run_id")])
def test_half_a_character_in_a_name_is_refused_by_that_argument(prepared, tool, arguments, name):
    result = call_with_half(prepared, tool, arguments)["result"]
    said = result["content"][0]["text"]
    assert result["isError"] and said.startswith(name) and "half a character (a lone surrogate" in said, result


def test_half_a_character_elsewhere_is_no_message(prepared):
    seen = len(prepared.stray)
    for message in (rb'{"jsonrpc":"2.0","id":"\ud83d","method":"ping"}', rb'{"jsonrpc":"2.0","id":1.5,"method":"tools/\ud83d"}',
                    rb'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"\ud83d","arguments":{}}}'):
        prepared.send_raw(message + b"\n")
        seen += 1
        assert prepared.wait_for_stray(seen)[-1]["error"]["message"] == "message is not JSON in UTF-8"


def test_a_file_whose_name_is_no_utf8_is_edited_and_shared_by_the_name_shown(prepared):
    run = prepared.run("open(b'odd\\xff', 'w').write('one')")
    shown = run["files_changed"][0]["path"]
    assert shown == "/workspace/odd\\xFF"
    assert prepared.call("edit_file", path=shown, old_text="one", new_text="two")["path"] == shown
    assert prepared.value("open(b'odd\\xff').read()") == "'two'"
    shared = prepared.call("share_file", path=shown)
    prepared.run("import os; os.remove(b'odd\\xff')")
    assert shared["filename"] == "odd_xFF" and "\\" not in shared["host_path"]
    with open(shared["host_path"]) as copy:
        assert copy.read() == "two"


@pytest.mark.parametrize("language,write,read", [
    ("python", "_ = open({path!r}, 'w').write('seen')", "print(open({path!r}).read(), end='')"),
    ("bash", "printf seen > {path}", "cat {path}"),
], ids=["python", "bash"])
@pytest.mark.parametrize("there,here", [("/mnt/data", "/workspace"), ("/workspace", "/mnt/data")],
                         ids=["mnt", "workspace"])
def test_mnt_data_is_workspace(prepared, language, write, read, there, here):
    run = prepared.run(write.format(path=there + "/both.txt"), language)
    assert run["files_changed"] == [{"path": "/workspace/both.txt", "bytes": 4, "change": "created"}]
    assert prepared.run(read.format(path=here + "/both.txt"), language)["stdout"] == "seen"
    listed = prepared.call("list_files", path=here)["entries"]
    assert {os.path.basename(entry["path"]) for entry in listed} == {"both.txt", "kept.txt"}
    gone = prepared.run(f"rm {here}/both.txt", "bash")
    assert gone["files_changed"] == [{"path": "/workspace/both.txt", "bytes": 0, "change": "deleted"}]


def test_the_tools_read_write_and_edit_in_mnt_data(prepared):
    prepared.call("write_file", path="/mnt/data/in/tool.txt", content="one")
    assert prepared.value("open('/workspace/in/tool.txt').read()") == "'one'"
    prepared.call("edit_file", path="/mnt/data/in/tool.txt", old_text="one", new_text="two")
    assert prepared.call("read_file", path="/workspace/in/tool.txt")["content"] == "two"
    shared = prepared.call("share_file", path="/mnt/data/in/tool.txt")
    with open(shared["host_path"]) as copy:
        assert copy.read() == "two"
    gone = prepared.run("rm -r /mnt/data/in", "bash")
    assert {"path": "/workspace/in/tool.txt", "bytes": 0, "change": "deleted"} in gone["files_changed"]


@pytest.mark.parametrize("listed", ["/workspace", "/mnt/data"])
@pytest.mark.parametrize("written", ["/workspace", "/mnt/data"])
@pytest.mark.parametrize("how", ["tool", "code"])
def test_what_is_new_is_created_by_either_name_of_its_place(prepared, how, written, listed):
    name = f"new-{how}-{written.count('/')}{listed.count('/')}.txt"  # no other case's
    since = prepared.run("import time; time.sleep(0.05)")["run_id"]  # file times are coarse; not what is tested here
    if how == "tool":
        prepared.call("write_file", path=f"{written}/{name}", content="new")
    else:
        prepared.run(f"_ = open('{written}/{name}', 'w').write('new')")
    entries = prepared.call("list_files", path=listed, changed_since=since)["entries"]
    prepared.run(f"import os; os.remove({name!r})")
    assert {os.path.basename(entry["path"]): entry["change"] for entry in entries}[name] == "created"


def test_what_is_written_right_after_a_run_has_changed_since_it(prepared):
    # Runs of a few milliseconds, which is less than the times of files can tell apart.
    missing = []
    for n in range(20):
        since = prepared.run("1")["run_id"]
        prepared.call("write_file", path=f"right-after-{n}.txt", content="new")
        entries = prepared.call("list_files", changed_since=since)["entries"]
        if f"/workspace/right-after-{n}.txt" not in [entry["path"] for entry in entries]:
            missing.append(n)
    prepared.run("rm right-after-*.txt", "bash")
    assert missing == []
