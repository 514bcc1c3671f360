"""Every tool with every kind of bad input: a clear error, nothing lost, the server alive."""

import pytest

from hutch_client import Client, ToolError

UNKNOWN_SESSION = "session_" + "0" * 32
UNKNOWN_RUN = "run_" + "0" * 32
LONG = "x" * (1 << 20)

# tool: arguments that are good apart from what a case changes
GOOD = {
    "run_code": {"code": "1"},
    "get_run": {"run_id": UNKNOWN_RUN},
    "cancel_run": {"run_id": UNKNOWN_RUN},
    "read_file": {"path": "kept.txt"},
    "write_file": {"path": "other.txt", "content": "x"},
    "edit_file": {"path": "kept.txt", "old_text": "kept", "new_text": "kept"},
    "list_files": {},
    "share_file": {"path": "kept.txt"},
    "share_port": {"port": 3000},
    "install_packages": {"packages": ["six"]},
    "create_session": {},
    "list_sessions": {},
    "pause_session": {"session_id": UNKNOWN_SESSION},
    "resume_session": {"session_id": UNKNOWN_SESSION},
    "delete_session": {"session_id": UNKNOWN_SESSION},
}

# tool, what is changed, words the error must have
CASES = [
    # missing
    ("run_code", {"code": None}, "missing argument code"),
    ("cancel_run", {"run_id": None}, "missing argument run_id"),
    ("read_file", {"path": None}, "missing argument path"),
    ("write_file", {"path": None}, "missing argument path"),
    ("write_file", {"content": None}, "missing argument content"),
    ("edit_file", {"path": None}, "missing argument path"),
    ("edit_file", {"old_text": None}, "missing argument old_text"),
    ("edit_file", {"new_text": None}, "missing argument new_text"),
    ("share_file", {"path": None}, "missing argument path"),
    ("install_packages", {"packages": None}, "missing argument packages"),
    ("share_port", {"port": None}, "missing argument port"),
    ("share_port", {"port": 0}, "from 1 to 65535"),
    ("share_port", {"port": "80"}, "whole number"),
    ("share_port", {}, "nothing listens on port 3000"),
    ("share_port", {"session_id": "session_none"}, "no such session"),
    ("pause_session", {"session_id": None}, "missing argument session_id"),
    ("resume_session", {"session_id": None}, "missing argument session_id"),
    ("delete_session", {"session_id": None}, "missing argument session_id"),
    # empty
    ("run_code", {"code": ""}, "must not be empty"),
    ("read_file", {"path": ""}, "must not be empty"),
    ("delete_session", {"session_id": ""}, "must not be empty"),
    # wrong type
    ("run_code", {"code": 5}, "code must be of type string"),
    ("run_code", {"code": ["1"]}, "code must be of type string"),
    ("run_code", {"background": "yes"}, "background must be of type boolean"),
    ("run_code", {"timeout_seconds": "10"}, "whole number from 1 to 600"),
    ("run_code", {"timeout_seconds": 1.5}, "whole number from 1 to 600"),
    ("run_code", {"env": ["A=b"]}, "env must be of type object"),
    ("run_code", {"env": {"A": 1}}, "strings only"),
    ("get_run", {"run_id": 7}, "run_id must be of type string"),
    ("cancel_run", {"run_id": {}}, "run_id must be of type string"),
    ("get_run", {"wait_seconds": True}, "whole number"),
    ("read_file", {"offset": "0"}, "whole number"),
    ("write_file", {"content": {"a": 1}}, "content must be of type string"),
    ("list_files", {"recursive": 1}, "recursive must be of type boolean"),
    ("share_file", {"expires_in_seconds": "soon"}, "whole number"),
    ("install_packages", {"packages": "six"}, "packages must be of type array"),
    ("install_packages", {"packages": [1]}, "strings only"),
    ("create_session", {"limits": 5}, "limits must be of type object"),
    ("create_session", {"env": {"A": None}}, "strings only"),
    ("list_sessions", {"status": 5}, "status must be of type string"),
    ("pause_session", {"session_id": 5}, "session_id must be of type string"),
    ("resume_session", {"session_id": []}, "session_id must be of type string"),
    ("delete_session", {"session_id": 5}, "session_id must be of type string"),
    ("delete_session", {"session_id": [UNKNOWN_SESSION]}, "session_id must be of type string"),
    # too large
    *[(tool, {"path": "d/" * 2048 + "d"}, "path is 4097 bytes, at most 4096 are allowed")
      for tool in ("read_file", "write_file", "edit_file", "list_files", "share_file")],
    ("list_files", {"changed_since": "r" * 201}, "changed_since is 201 bytes, at most 200 are allowed"),
    ("share_file", {"filename": "n" * 1001}, "filename is 1001 bytes, at most 1000 are allowed"),
    *[(tool, {"run_id": "r" * 201}, "run_id is 201 bytes, at most 200 are allowed")
      for tool in ("get_run", "cancel_run")],
    *[(tool, {"session_id": "s" * 201}, "session_id is 201 bytes, at most 200 are allowed")
      for tool in GOOD if tool not in ("cancel_run", "create_session", "list_sessions")],
    ("install_packages", {"packages": ["six"] * 101}, "packages has 101 entries, at most 100 are allowed"),
    *[(tool, {"env": {f"V{n}": "x" for n in range(201)}}, "env has 201 entries, at most 200 are allowed")
      for tool in ("run_code", "create_session")],
    # outside of its range, or not among the values
    ("run_code", {"language": "ruby"}, "python, javascript, typescript, sql, bash"),
    ("run_code", {"timeout_seconds": 0}, "from 1 to 600"),
    ("run_code", {"timeout_seconds": 601}, "from 1 to 600"),
    ("run_code", {"timeout_seconds": 10 ** 30}, "from 1 to 600"),
    ("run_code", {"code": LONG + "x"}, "1048576"),
    ("get_run", {"wait_seconds": 51}, "from 0 to 50"),
    ("get_run", {"stdout_offset": -1}, "from 0"),
    ("read_file", {"limit": 0}, "from 4"),
    ("read_file", {"offset": 10 ** 12}, "beyond the end"),
    ("read_file", {"encoding": "latin-1"}, "auto, utf-8, base64"),
    ("write_file", {"mode": "truncate"}, "overwrite, append, create"),
    ("write_file", {"mode": "create", "path": "kept.txt"}, "exists already"),
    ("write_file", {"content": "%%%", "encoding": "base64"}, "not valid base64"),
    ("share_file", {"expires_in_seconds": 0}, "from 1"),
    ("install_packages", {"manager": "conda"}, "pip, npm, apt"),
    ("install_packages", {"manager": "apt"}, "hutch environments build NAME --apt"),
    ("create_session", {"limits": {"memory_mb": 1}}, "from 64"),
    ("create_session", {"limits": {"memory_mb": 10 ** 9}}, "from 64 to"),
    ("create_session", {"limits": {"ram": 1}}, "unknown limit"),
    ("create_session", {"limits": {"x" * 3_000_000: 1}}, "limits are: memory_mb"),
    ("create_session", {"limits": {"\u00e9" * 100_000: 1}}, "limits are: memory_mb"),
    ("create_session", {"template": "debian"}, "no template"),
    ("create_session", {"template": "\u00e9" * 50}, "no template"),
    ("create_session", {"network": {"allow": ["pypi.org"]}}, "pypi.org is not allowed here; allowed are: none; whoever runs hutch can"),
    ("create_session", {"network": {"allow": ["packages"]}}, "packages is not allowed here"),
    ("create_session", {"network": {"allow": ["http://a.b/"]}}, "without a scheme"),
    ("create_session", {"network": {"allow": ["*.com"]}}, "allows too much"),
    ("create_session", {"network": {"allow": ["127.0.0.1"]}}, "is an address: hosts are allowed by name"),
    ("create_session", {"network": {"allow": ["a.b:0"]}}, "no port from 1 to 65535"),
    ("create_session", {"network": {"block_outbound": "yes"}}, "block_outbound must be true or false"),
    ("create_session", {"network": {"credentials": ["token"]}}, "token is none that sessions may use here"),
    ("create_session", {"network": {"alow": ["pypi.org"]}}, "unknown key network.alow; there are: allow, block_outbound, credentials"),
    ("create_session", {"network": {"memory_mb": "x"}}, "unknown key network.memory_mb"),
    ("create_session", {"network": {"k" * 500_000: []}}, "there are: allow, block_outbound, credentials"),
    ("create_session", {"network": {"allow": "pypi.org"}}, "network.allow must be an array of strings"),
    ("create_session", {"network": {"allow": ""}}, "network.allow must be an array of strings"),
    ("create_session", {"network": {"allow": [1]}}, "network.allow must be an array of strings"),
    ("create_session", {"network": {"credentials": {}}}, "network.credentials must be an array of strings"),
    ("create_session", {"filesystem": {"read_only": ["/etc"]}}, "filesystem"),
    ("create_session", {"name": "a/b"}, "session name"),
    ("create_session", {"name": "n" * 101}, "at most 100"),
    ("create_session", {"lifetime_seconds": 0}, "from 1"),
    *[(tool, {"env": {name: "c"}}, "is no name of a variable: it has 1 to 200 bytes")
      for tool in ("run_code", "create_session")
      for name in ("", "A=B", "A B", "A\u0000", "A\n", "n" * 201, "n" * 1_000_000)],
    *[(tool, {"env": {"A": "a\u0000b"}}, "holds NUL") for tool in ("run_code", "create_session")],
    *[(tool, {"env": env}, "at most 49152 are allowed, NAME=value and a NUL for each: put what is large into a file")
      for tool in ("run_code", "create_session")
      for env in ({"A": "x" * 200_000}, {f"V{n}": "x" * 1000 for n in range(50)})],
    ("list_sessions", {"status": "asleep"}, "must be one of"),
    ("list_files", {"changed_since": "yesterday"}, "RFC 3339"),
    # unknown ids
    ("run_code", {"session_id": UNKNOWN_SESSION}, "no such session"),
    ("read_file", {"session_id": UNKNOWN_SESSION}, "no such session"),
    ("write_file", {"session_id": UNKNOWN_SESSION}, "no such session"),
    ("list_files", {"session_id": "nobody"}, "no such session"),
    ("share_file", {"session_id": "../../etc"}, "no such session"),
    ("install_packages", {"session_id": UNKNOWN_SESSION}, "no such session"),
    ("pause_session", {}, "no such session"),
    ("resume_session", {}, "no such session"),
    ("delete_session", {}, "no such session"),
    ("get_run", {}, "no such run"),
    ("cancel_run", {}, "no such run"),
    ("get_run", {"run_id": "run_../../../etc/passwd"}, "no such run"),
    ("list_files", {"changed_since": UNKNOWN_RUN}, "no such run"),
    # paths
    ("read_file", {"path": "nothing.txt"}, "no such file"),
    ("read_file", {"path": "/etc/shadow"}, "no such file"),
    ("read_file", {"path": "../../../../root/.bashrc"}, "no such file"),
    ("read_file", {"path": "/workspace"}, "is a directory"),
    ("read_file", {"path": "/proc/uptime"}, "with run_code instead"),
    ("read_file", {"path": "/dev/zero"}, "not a regular file"),
    ("read_file", {"path": "pipe"}, "named pipe"),
    ("read_file", {"path": "loop"}, "link"),
    ("read_file", {"path": "a\u0000b"}, "NUL"),
    ("read_file", {"path": "d/" * 3000}, "4096"),
    ("read_file", {"path": "n" * 256}, "255 bytes"),
    ("read_file", {"path": "kept.txt/below"}, "is a file"),
    ("write_file", {"path": "/usr/bin/new"}, "writing is possible in"),
    ("write_file", {"path": "/etc/passwd"}, "writing is possible in"),
    ("write_file", {"path": "/workspace"}, "is a directory"),
    ("write_file", {"path": "kept.txt/below"}, ""),
    ("write_file", {"path": "pipe"}, "named pipe"),
    ("write_file", {"path": "/runs/x"}, "writing is possible in"),
    ("edit_file", {"old_text": ""}, "must not be empty"),
    ("edit_file", {"old_text": 5}, "old_text must be of type string"),
    ("edit_file", {"all": "yes"}, "all must be of type boolean"),
    ("edit_file", {"new_text": LONG + "x"}, "1048576"),
    ("edit_file", {"old_text": "absent"}, "old_text is not in the file"),
    ("edit_file", {"session_id": UNKNOWN_SESSION}, "no such session"),
    ("edit_file", {"path": "nothing.txt"}, "no such file"),
    ("edit_file", {"path": "/etc/passwd", "old_text": "user"}, "in lines 1, 1"),
    ("edit_file", {"path": "/etc/passwd", "old_text": "user", "all": True}, "writing is possible in"),
    ("edit_file", {"path": "../../../../root/.bashrc"}, "no such file"),
    ("run_code", {"restart": True, "background": True}, "a fresh one of its own"),
    ("run_code", {"restart": 1}, "restart must be of type boolean"),
    ("get_run", {"run_id": None, "session_id": UNKNOWN_SESSION}, "no such session"),
    ("list_files", {"path": "kept.txt"}, "is not a directory"),
    ("list_files", {"path": "/proc"}, "belongs to the kernel"),
    ("list_files", {"path": "absent"}, "no such file"),
    ("share_file", {"path": "/etc/hostname.absent"}, "no such file"),
    ("share_file", {"path": "/dev/null"}, "not a regular file"),
    ("share_file", {"path": "/"}, "the folder has more than 10000 entries: take a part of it"),
    # arguments nobody knows
    *[(tool, {"sesion_id": "x"}, "unknown argument") for tool in GOOD],
]


@pytest.fixture(scope="module")
def prepared(module_state):
    with Client(module_state) as client:
        client.call("write_file", path="kept.txt", content="kept")
        client.run("mkfifo pipe; ln -s loop loop", "bash")
        client.run("survivor = 1")
        yield client


@pytest.mark.parametrize("tool,change,words", CASES,
                         ids=[f"{n}-{t}" for n, (t, _, _) in enumerate(CASES)])
def test_bad_input_is_a_clear_error(prepared, tool, change, words):
    arguments = {**GOOD[tool], **change}
    arguments = {k: v for k, v in arguments.items() if v is not None}
    with pytest.raises(ToolError) as refused:
        prepared.call(tool, **arguments)
    assert words in str(refused.value)
    assert len(str(refused.value)) < 2000
    assert prepared.alive


def test_every_tool_is_tried(prepared):
    assert {tool["name"] for tool in prepared.request("tools/list")["tools"]} == GOOD.keys()


def test_nothing_was_lost(prepared):
    assert prepared.value("survivor") == "1"
    assert prepared.call("read_file", path="kept.txt")["content"] == "kept"
    listed = prepared.call("list_files")["entries"]
    assert {e["path"] for e in listed} == {"/workspace/kept.txt", "/workspace/pipe",
                                           "/workspace/loop"}


def test_a_network_of_nothing_is_what_there_is(prepared):
    for nothing in ({}, {"allow": []}, {"allow": [], "credentials": []}, {"allow": None}, {"block_outbound": True}):
        session = prepared.call("create_session", network=nothing)
        assert "network" not in session
        prepared.call("delete_session", session_id=session["session_id"])


@pytest.mark.parametrize("language,code", [("bash", "echo ${#LARGE} ${#OTHER}"), ("python", "import os; print("
                         "len(os.environ['LARGE']), len(os.environ['OTHER']))")])
def test_the_largest_environments_of_a_session_and_a_run_start_together(prepared, language, code):
    # Names count most: a shell is told those of its run once more.
    names = {"n" * 190 + str(n): "" for n in range(199)}
    left = 49152 - sum(len(name) + 2 for name in names)
    session = prepared.call("create_session", env={"LARGE": "x" * (49152 - len("LARGE") - 2)})["session_id"]
    env = {**names, "OTHER": "y" * (left - len("OTHER") - 2)}
    ended = prepared.run(code, language, session_id=session, env=env)
    assert ended.get("stdout") == f"{49152 - len('LARGE') - 2} {left - len('OTHER') - 2}\n", ended
    prepared.call("delete_session", session_id=session)


def test_null_counts_as_absent(prepared):
    assert prepared.call("list_files", path=None, recursive=None)["path"] == "/workspace"


def test_install_packages_names_the_network_policy(prepared):
    session = prepared.call("list_sessions")["sessions"][0]["session_id"]
    for named in ({}, {"session_id": session}):
        with pytest.raises(ToolError) as refused:
            prepared.call("install_packages", packages=["six"], **named)
        assert f"network policy of session {session}" in str(refused.value)


def test_no_session_is_made_only_to_say_that_it_can_install_nothing(state):
    with Client(state) as client:
        with pytest.raises(ToolError, match="network policy of this connection's session"):
            client.call("install_packages", packages=["six"])
        assert client.call("list_sessions")["sessions"] == []


@pytest.mark.parametrize("name", ["line\nbreak.txt", "tab\t.txt", "-dash", "sp ace", "ünïcode", "'\"$"])
def test_odd_names_work(prepared, name):
    written = prepared.call("write_file", path=name, content="odd")
    assert written["path"] == "/workspace/" + name
    assert prepared.call("read_file", path=name)["content"] == "odd"
    assert "/workspace/" + name in [e["path"] for e in prepared.call("list_files")["entries"]]
    shared = prepared.call("share_file", path=name)
    assert open(shared["host_path"]).read() == "odd"
    assert "\n" not in shared["host_path"]
    prepared.run(f"import os; os.remove({name!r})")


def test_names_that_are_no_utf8_are_listed_and_do_not_break_the_reply(prepared):
    prepared.run("open(b'bad\\xff.bin', 'w').close()")
    names = [e["path"] for e in prepared.call("list_files")["entries"]]
    assert "/workspace/bad\\xFF.bin" in names
    prepared.run("import os; os.remove(b'bad\\xff.bin')")


def test_names_that_are_no_utf8_have_one_form_and_are_read_back_by_it(prepared):
    name = "/workspace/a\\\\b\\xFF\\xFE"  # a\\b and two bytes
    run = prepared.run("open(b'a\\\\b\\xff\\xfe', 'w').write('odd')")
    assert [change["path"] for change in run["files_changed"]] == [name]
    assert name in [entry["path"] for entry in prepared.call("list_files")["entries"]]
    since = prepared.call("list_files", changed_since=run["run_id"])["entries"]
    assert {entry["path"]: entry["change"] for entry in since}[name] == "created"
    read = prepared.call("read_file", path=name)
    assert read["content"] == "odd" and read["path"] == name
    assert prepared.call("write_file", path=name, content="new")["path"] == name
    assert prepared.run("print(open(b'a\\\\b\\xff\\xfe').read())")["stdout"] == "new\n"
    # A file that really has the name is meant first.
    prepared.call("write_file", path="plain\\xFF", content="plain")
    prepared.run("open(b'plain\\xff', 'w').write('other')")
    assert prepared.call("read_file", path="plain\\xFF")["content"] == "plain"
    gone = prepared.run("import os\nfor n in (b'a\\\\b\\xff\\xfe', b'plain\\xff', b'plain\\\\xFF'): os.remove(n)")
    assert {"path": name, "change": "deleted", "bytes": 0} in gone["files_changed"]


def test_a_name_forges_no_line(prepared):
    forged = "x\nfile 9 2026-01-01T00:00:00Z forged\x1b[2K\x9b1m"
    run = prepared.start_tool("run_code", code=f"open({forged!r}, 'w').close()")
    shown = [prepared.reply(run)["result"]["content"][0]["text"]]
    for tool, arguments in (("list_files", {}), ("read_file", {"path": forged}),
                            ("write_file", {"path": forged, "content": ""})):
        request = prepared.start_tool(tool, **arguments)
        shown.append(prepared.reply(request)["result"]["content"][0]["text"])
    for text in shown:
        assert "x\\nfile 9" in text and "forged\\x1B[2K\\x9B1m" in text
        assert "\x1b" not in text and "\x9b" not in text
        assert not any(line.startswith("file 9") for line in text.splitlines())
    prepared.run(f"import os; os.remove({forged!r})")


def test_content_of_exactly_the_limit_and_one_more(prepared):
    sixteen = "x" * (16 << 20)
    assert prepared.call("write_file", path="/tmp/big", content=sixteen)["bytes"] == 16 << 20
    with pytest.raises(ToolError) as refused:
        prepared.call("write_file", path="/tmp/big", content=sixteen + "x")
    assert "16777216" in str(refused.value)
    assert prepared.call("read_file", path="/tmp/big", limit=4)["total_bytes"] == 16 << 20


def test_code_of_exactly_the_limit(prepared):
    code = "n = 1 #"
    assert prepared.run(code + "x" * ((1 << 20) - len(code)))["status"] == "completed"
