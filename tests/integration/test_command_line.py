"""Tests what the commands say at a shell: languages by suffix, JSON, usage errors, files that are there."""

import json
import subprocess

import pytest

from hutch_client import Client, hutch_binary
from server_process import PATIENCE


@pytest.fixture
def hutch(state, tmp_path):
    """Runs one command in a directory of its own, beside the state."""
    directory = tmp_path / "here"
    directory.mkdir()

    def run(*arguments):
        return subprocess.run([hutch_binary(), *arguments, "--state-dir", state], cwd=directory,
                              capture_output=True, text=True, timeout=60 * PATIENCE, input="")

    run.directory = directory
    return run


@pytest.fixture
def shared_file(state):
    with Client(state) as client:
        client.call("write_file", path="report.txt", content="shared")
        return client.call("share_file", path="report.txt")["id"]


@pytest.mark.parametrize("name,code,printed", [
    ("a.py", "print('py')", "py\n"),
    ("A.D/code", "print('none')", "none\n"),
    ("a.cjs", "console.log(typeof require)", "function\n"),
    ("a.mjs", "import { sep } from 'node:path'; console.log(sep)", "/\n"),
    ("a.mts", "const n: number = 1; console.log(n)", "1\n"),
    ("a.cts", "const n: number = 2; console.log(n)", "2\n"),
    ("a.sh", "echo sh", "sh\n")])
def test_the_suffix_of_a_file_says_its_language(hutch, name, code, printed):
    file = hutch.directory / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(code)
    ended = hutch("run", name)
    assert (ended.returncode, ended.stdout) == (0, printed), ended.stderr


@pytest.mark.parametrize("short,code,printed", [
    ("py", "print('py')", "py\n"), ("js", "console.log('js')", "js\n"),
    ("ts", "const n: number = 1; console.log(n)", "1\n"), ("sh", "echo sh", "sh\n")])
def test_languages_have_short_names_which_beat_the_suffix(hutch, short, code, printed):
    (hutch.directory / "code.txt").write_text(code)
    ended = hutch("run", "-l", short, "code.txt")
    assert (ended.returncode, ended.stdout) == (0, printed), ended.stderr


@pytest.mark.parametrize("name", ["code.txt", "code.rb", "code.jsx", "code."])
def test_an_unknown_suffix_is_no_guess(hutch, name):
    (hutch.directory / name).write_text("print(1)")
    ended = hutch("run", name)
    assert ended.returncode == 2 and ended.stdout == ""
    suffix = name[len("code"):]
    assert ended.stderr.startswith(f"hutch: no language is known by the suffix {suffix}: give -l LANGUAGE\n")
    wrong = hutch("run", "-l", "ruby", name)
    assert wrong.returncode == 2 and wrong.stderr.startswith("hutch: --language must be python (py), javascript (js),")


def test_what_has_no_network_or_not_this_host_says_what_run_has(hutch):
    (hutch.directory / "get.sh").write_text("curl -sS https://nowhere.test/")
    ended = hutch("run", "get.sh")
    assert "it had no network: --allow HOST gives it that host" in ended.stderr and "session_" not in ended.stderr
    ended = hutch("run", "--allow", "other.test", "get.sh")
    assert "hutch: nowhere.test was refused: --allow nowhere.test allows it\n" in ended.stderr, ended.stderr


def test_a_timeout_says_what_run_has(hutch):
    (hutch.directory / "slow.py").write_text("import time; time.sleep(60)")
    ended = hutch("run", "-t", "1", "slow.py")
    assert ended.returncode == 124
    assert "the run took longer than 1 seconds; --timeout SECONDS gives it more\n" in ended.stderr
    assert "timeout_seconds" not in ended.stderr and "background" not in ended.stderr


def test_all_that_is_done_to_sessions_is_told_as_json(hutch, state):
    with Client(state) as client:
        session = client.call("create_session", name="kept")["session_id"]
        for action, status, tier in (("pause", "paused", "frozen"), ("resume", "ready", None)):
            told = json.loads(hutch("sessions", action, "kept", "--json").stdout)
            assert (told["session_id"], told["status"], told.get("tier")) == (session, status, tier)
            assert "note" in told, told
        assert hutch("sessions", "pause", "kept").stdout.startswith(f"{session} \"kept\" paused, tier frozen, "), "text without --json"
        heading, line = hutch("sessions", "ls").stdout.splitlines()
        assert heading.split() == ["SESSION", "NAME", "STATUS", "TIER", "ACTIVE", "LAST", "USED"]
        assert line.split()[:5] == [session, "kept", "paused", "frozen", "0"]
        told = json.loads(hutch("sessions", "rm", "kept", "--json").stdout)
        assert told == {"session_id": session, "status": "destroyed"}
    gone = hutch("sessions", "rm", "kept", "--json")
    assert gone.returncode == 1 and gone.stdout == "" and gone.stderr.startswith("hutch: no such session")


def test_the_audit_of_a_session_is_shown(hutch, state):
    with Client(state) as client:
        session = client.call("create_session", name="work")["session_id"]
        client.call("write_file", path="f", content="shared", session_id=session)
        shared = client.call("share_file", path="f", session_id=session, filename="a\x85b\x1b[2K\n=c.txt")
        client.call("delete_session", session_id=session)
    told = json.loads(hutch("sessions", "show", session, "--json").stdout)["audit"]
    assert [entry["action"] for entry in told] == ["create_session", "session_ready", "share_file", "session_destroyed"]
    assert told[2]["detail"] == {"share": shared["id"], "filename": shared["filename"], "bytes": 6,
                                 "sha256": shared["sha256"], "expires_at": shared["expires_at"]}
    assert told[3]["detail"] == {"reason": "deleted by its owner"}
    lines = hutch("sessions", "show", session).stdout.splitlines()[-4:]
    for line, entry in zip(lines, told):
        assert line.startswith(f"  {entry['at']}  {entry['action']}") and line.isprintable()
    assert lines[3].endswith('  reason="deleted by its owner"')
    assert f'  sha256="{shared["sha256"]}"' in lines[2] and "  bytes=6  " in lines[2]


@pytest.mark.parametrize("arguments,words", [
    (["bogus"], 'hutch: unknown command "bogus"; there are: stdio, run, serve, '),
    (["sessions", "bogus"], 'hutch: unknown command "bogus"; there are: ls, show, rm, pause, resume, forget-state, allow\n'),
    (["sessions"], "hutch: hutch sessions needs a command; there are: ls, show, "),
    (["b\x1b[2K"], 'hutch: unknown command "b\\x1B[2K"'),
    (["--bogus"], 'hutch: unknown option "--bogus"\n'),
    (["run"], "hutch: file is required\n`hutch run --help` says more.\n"),
    (["run", "--bogus", "-"], "hutch: "),
    (["run", "-t", "0", "-"], "hutch: --timeout: "),
    (["serve", "--listen", ""], "hutch: --listen: must not be empty\n"),
    (["--state-dir", "", "sessions", "ls"], "hutch: --state-dir: must not be empty\n")])
def test_usage_errors_say_what_was_wrong(hutch, arguments, words):
    ended = hutch(*arguments)
    assert ended.returncode == 2 and ended.stdout == ""
    assert ended.stderr.startswith(words), ended.stderr


def test_a_configuration_that_cannot_be_read(hutch):
    (hutch.directory / "bad.toml").write_text("[limits]\nmemory_mb = = 1\n")
    for file, why in (("/nonexistent", "the configuration /nonexistent cannot be read: No such file or directory\n"),
                      (str(hutch.directory), f"the configuration {hutch.directory} cannot be read: Is a directory\n"),
                      (str(hutch.directory / "bad.toml"), f"{hutch.directory}/bad.toml:2: ")):
        ended = hutch("sessions", "ls", "--config", file)
        assert ended.returncode == 2 and ended.stderr.startswith("hutch: " + why), ended.stderr


def test_a_share_is_written_into_a_directory_and_never_over_a_file(hutch, shared_file):
    (hutch.directory / "below").mkdir()
    for target in ("below", "below/", "."):
        place = hutch.directory / target / "report.txt"
        got = hutch("share", "get", shared_file, "-o", target)
        assert got.returncode == 0 and place.read_text() == "shared", got.stderr
        place.write_text("mine")
        again = hutch("share", "get", shared_file, "-o", target)
        assert again.returncode == 1 and place.read_text() == "mine"
        assert "report.txt exists already, and nothing is replaced: give another name with -o" in again.stderr
        place.unlink()
    assert hutch("share", "get", shared_file).stdout == "report.txt\n"
    plain = hutch("share", "get", shared_file)
    assert plain.returncode == 1
    assert plain.stderr == "hutch: report.txt exists already, and nothing is replaced: give another name with -o\n"


def test_the_manual_has_every_command_and_option(hutch):
    page = hutch("manual")
    assert page.returncode == 0 and page.stdout.startswith(".TH HUTCH 1"), page
    text = page.stdout.replace("\\-", "-")
    for said in (".SS hutch stdio\n", ".SS hutch sessions allow", ".SS hutch token create", "\n.B --mount VALUE\n", "\n.B -f, --follow\n"):
        assert said in text, said
    assert "hand-over" not in text and ".SS hutch manual" not in text


@pytest.mark.parametrize("line,among,others", [
    (["hutch", ""], {"stdio", "serve", "doctor", "--config"}, {"--mount", "manual"}),
    (["hutch", "sessions", ""], {"ls", "pause", "allow"}, {"stdio"}),
    (["hutch", "sessions", "ls", "--j"], {"--json"}, {"--config"}),
    (["hutch", "--log-level", "stdio", "--m"], {"--mount"}, {"--listen"}),
])
def test_bash_completes(hutch, line, among, others):
    script = hutch("completion", "bash").stdout
    words = " ".join(f"'{word}'" for word in line)
    done = subprocess.run(["bash", "-c", f"{script}\nCOMP_WORDS=({words}); COMP_CWORD={len(line) - 1}; _hutch; printf '%s\\n' \"${{COMPREPLY[@]}}\""],
                          capture_output=True, text=True, timeout=60)
    offered = set(done.stdout.split())
    assert among <= offered and not others & offered, done


def test_other_shells(hutch):
    assert hutch("completion", "zsh").stdout.startswith("#compdef hutch")
    assert "complete -c hutch" in hutch("completion", "fish").stdout
    refused = hutch("completion", "csh")
    assert refused.returncode == 2 and "csh" in refused.stderr
