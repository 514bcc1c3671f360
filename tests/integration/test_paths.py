"""create_session.filesystem for paths of the session's own tree: read-only, there from the start, hidden."""

import pytest

from hutch_client import Client, ToolError

RULES = {"read_only": ["/workspace/data"], "read_write": ["/workspace/output/deep"], "blocked": ["/etc", "/root", "/workspace/secret", "/nothing"]}


@pytest.fixture
def client(state):
    with Client(state) as started:
        yield started


def test_code_cannot_write_and_the_client_can(client):
    made = client.call("create_session", name="s", filesystem=RULES)
    assert {key: sorted(paths) for key, paths in made["filesystem"].items()} == {key: sorted(paths) for key, paths in RULES.items()}
    for path, shown in [("data/a.csv", "/workspace/data/a.csv"), ("/workspace/data/deep/b", "/workspace/data/deep/b")]:
        assert client.call("write_file", session_id="s", path=path, content="1")["path"] == shown
    assert client.call("read_file", session_id="s", path="data/a.csv")["content"] == "1"
    for attempt in ("echo x > data/a.csv", "touch data/new", "rm data/a.csv", "rm -r data", "mv data other", "chmod 0 data", "mkdir data/d",
                    "ln data/a.csv hard && echo x > hard", "(cd data && echo x > ../data/a.csv)", "python3 -c \"open('data/a.csv', 'r+')\"",
                    "echo x > /mnt/data/data/a.csv", "echo x > /proc/self/cwd/data/a.csv", "truncate -s 0 data/a.csv"):
        run = client.run(attempt, "bash", session_id="s")
        assert run["status"] == "failed", (attempt, run)
    assert client.run("cat data/a.csv data/deep/b", "bash", session_id="s")["stdout"] == "11"
    assert client.run("echo kept > output/deep/f && cat output/deep/f", "bash", session_id="s")["stdout"] == "kept\n"
    # No link leads a client's write out of there.
    client.run("ln -s /workspace/data/a.csv link", "bash", session_id="s")
    with pytest.raises(ToolError, match="read-only"):
        client.call("write_file", session_id="s", path="link", content="2")


def test_what_is_blocked_reads_as_empty_in_every_language(client):
    client.call("create_session", name="s", filesystem=RULES)
    look = {"python": "import os; print(os.listdir('/etc'), os.listdir('/workspace/secret'))",
            "bash": "ls -A /etc /workspace/secret | wc -w", "javascript": "require('fs').readdirSync('/etc').length"}
    assert client.run(look["python"], session_id="s")["stdout"] == "[] []\n"
    assert client.run(look["bash"], "bash", session_id="s")["stdout"].strip() == "2"  # the two headings
    assert client.run(look["javascript"], "javascript", session_id="s")["outputs"][0]["text"] == "0"
    for attempt in ("touch /etc/x", "touch secret/x", "rmdir secret", "mv secret s", "umount /etc", "cat /etc/passwd"):
        assert client.run(attempt, "bash", session_id="s")["status"] == "failed", attempt
    with pytest.raises(ToolError, match="read-only"):
        client.call("write_file", session_id="s", path="secret/x", content="x")


def test_rules_hold_after_a_restart(state):
    with Client(state) as client:
        client.call("create_session", name="s", filesystem=RULES)
        client.call("write_file", session_id="s", path="data/a", content="1")
        client.call("pause_session", session_id="s")
        client.call("resume_session", session_id="s")
        assert client.run("touch data/b", "bash", session_id="s")["status"] == "failed"
    with Client(state) as client:
        for line in ("touch data/b", "touch secret/b", "cat /etc/passwd"):
            assert client.run(line, "bash", session_id="s")["status"] == "failed", line
        assert client.run("cat data/a", "bash", session_id="s")["stdout"] == "1"
        listed = client.call("list_sessions")["sessions"]
        assert "/etc" in next(one for one in listed if one.get("name") == "s")["filesystem"]["blocked"]


@pytest.mark.parametrize("asked, words", [
    ({"read_only": ["/workspace"]}, "no entry of /workspace"), ({"read_only": ["/workspace/a/b"]}, "no entry of /workspace"),
    ({"read_only": ["/workspacex"]}, "no entry of /workspace"), ({"read_only": ["/workspace/../etc"]}, "plain path"),
    ({"blocked": ["/"]}, "plain path"), ({"blocked": ["/usr/bin"]}, "cannot be blocked.*/usr"), ({"blocked": ["/proc"]}, "cannot be blocked"),
    ({"blocked": ["/home/user"]}, "cannot be blocked"), ({"blocked": ["/workspace"]}, "none of the entries"), ({"blocked": ["/etc//x"]}, "plain path"),
    ({"read_only": ["/workspace/a"], "blocked": ["/workspace/a"]}, "named twice"), ({"read_only": ["/workspace/a", "/workspace/a/"]}, "named twice"),
    ({"read_only": ["/workspace/a"], "read_write": ["/workspace/a/b"]}, "named too"), ({"read_write": ["/srv/x"]}, "not granted"),
    ({"blocked": [f"/workspace/{number}" for number in range(17)]}, "at most 16")])
def test_rules_that_cannot_be_kept_are_refused(client, asked, words):
    with pytest.raises(ToolError, match=words):
        client.call("create_session", filesystem=asked)


def test_a_tilde_is_the_home_directory(client):
    client.call("create_session", name="s")
    assert client.call("write_file", session_id="s", path="~/notes/a.txt", content="1")["path"] == "/home/user/notes/a.txt"
    assert client.run("cat ~/notes/a.txt", "bash", session_id="s")["stdout"] == "1"
    assert client.call("read_file", session_id="s", path="~/notes/a.txt")["content"] == "1"
    assert "notes" in str(client.call("list_files", session_id="s", path="~")["entries"])
    assert client.call("write_file", session_id="s", path="~backup", content="2")["path"] == "/workspace/~backup"
    client.run("mkdir '~'; echo 3 > '~/own'", "bash", session_id="s")
    assert client.call("read_file", session_id="s", path="./~/own")["content"] == "3\n"
