"""hutch setup: an entry in clients' own configuration files, a run through it, and out again to the byte."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import tomllib

import pytest

from changed_host import changed_hutch, why_not
from conftest import needs
from copies import needs_copies_to_start
from hutch_client import PATIENCE, hutch_binary

CLIENTS = json.loads((pathlib.Path(__file__).parents[2] / "tools/setup/clients.json").read_text())


@pytest.fixture
def home(tmp_path):
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def setup(home, *arguments, text="", **variables):
    return subprocess.run([hutch_binary(), "setup", *arguments], input=text, capture_output=True, text=True, timeout=180, cwd=home,
                          env={"HOME": str(home), "PATH": "/usr/bin:/bin", **variables})


def cursor(home, text=None):
    file = home / ".cursor/mcp.json"
    file.parent.mkdir(exist_ok=True)
    if text is not None:
        file.write_bytes(text.encode())
    return file


def test_from_nothing_to_an_answer_and_back(home):
    file = cursor(home)
    done = setup(home, "--yes", "--packages", "--mount", "/srv:rw")
    assert done.returncode == 0, done
    entry = json.loads(file.read_text())["mcpServers"]["hutch"]
    assert entry["command"] == hutch_binary() and sorted(entry["args"]) == ["--mount", "--packages", "/srv:rw", "stdio"]
    assert '+    "hutch": {' in done.stdout and "/dev/null" in done.stdout
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    again = setup(home, "--yes", "--packages", "--mount", "/srv:rw")
    assert again.returncode == 0 and "has it already" in again.stdout, again
    gone = setup(home, "--remove", "--yes")
    assert gone.returncode == 0 and not file.exists() and not list((home / ".local/state/hutch/setup").iterdir()), gone


def test_a_run_through_the_entry_is_the_proof(home):
    cursor(home)
    done = setup(home, "--yes")
    assert done.returncode == 0 and "Trying it as Cursor will start it... hutch " in done.stdout and "has run code" in done.stdout, done
    assert "\nhutch doctor:\n" in done.stdout and "\nSessions start here" in done.stdout and "   good   " not in done.stdout, done
    with pytest.raises(StopIteration):  # nothing is left of it
        next(path for path in (home / ".local/state/hutch/sessions").iterdir() if (path / "box.sock").exists())


def test_without_python_it_says_what_is_lacking(home, tmp_path):
    needs(not why_not(), f"a mount namespace of our own ({why_not().strip()})")
    (tmp_path / "none").touch(0o644)
    cursor(home)
    done = subprocess.run([changed_hutch(tmp_path, f"mount --bind {tmp_path}/none /usr/bin/python3"), "setup", "--yes"], capture_output=True,
                          text=True, timeout=5 * PATIENCE,  # not the half minute for a zygote that does not come
                          env={"HOME": str(home), "PATH": "/usr/bin:/bin"})
    assert done.returncode == 1 and "install the package python3 on the host; what this machine lacks:\n" in done.stderr, done
    assert "{" not in done.stderr and "as for Python, SQL above" in done.stdout and "a real box       good" in done.stdout, done


@pytest.mark.slow
def test_an_environment_is_offered_and_built_on_request(home):
    cursor(home)
    nowhere = {"HUTCH_ENVIRONMENTS_DIR": "/proc/nothing"}
    done = setup(home, "--yes", **nowhere)
    assert done.returncode == 0 and "`hutch environments build` gives them" in done.stdout, done
    done = setup(home, "--yes", "--environment", **nowhere)
    assert done.returncode == 1 and "has run code" in done.stdout, done
    assert done.stderr.startswith("hutch: this cannot be done in /proc/nothing: No such file or directory") and done.stderr.count("\n") == 1, done


@pytest.mark.slow
def test_where_apparmor_wants_a_profile_it_is_offered(home, tmp_path):
    cursor(home)
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in {"id": "echo 1000", "sudo": f'printf "%s\\n" "$*" > {tmp_path}/asked; shift; exec "$@"', "apparmor_parser": f"cat > {tmp_path}/loaded"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "restriction").write_text("1\n")
    ubuntu = {"PATH": f"{programs}:/usr/bin:/bin", "HUTCH_APPARMOR_INSTALLED": str(tmp_path / "installed"),
              "HUTCH_APPARMOR_RESTRICTION": str(tmp_path / "restriction")}
    done = setup(home, "--yes", **ubuntu)
    assert done.returncode == 0 and "as root: without it" in done.stdout and "until root has loaded hutch's" in done.stdout, done
    directory = str(pathlib.Path(hutch_binary()).parent)
    assert directory in (tmp_path / "loaded").read_text() and (tmp_path / "asked").read_text().startswith("-n sh ")
    assert (tmp_path / "asked").read_text().endswith(f"/apparmor/install.sh {directory}\n")
    assert "until root" not in setup(home, "--yes", **ubuntu).stdout  # it is there now
    (programs / "sudo").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "installed").unlink()
    done = setup(home, "--yes", **ubuntu)
    assert "until root" in done.stdout and "has run code" in done.stdout, done  # this machine needs none


@pytest.mark.slow
def test_the_interpreters_of_a_hutch_of_one_file_are_compiled(home, tmp_path, monkeypatch):
    needs_copies_to_start()
    cursor(home)
    built = pathlib.Path(hutch_binary()).parent
    for part in ("bin", "share/hutch"):
        shutil.copytree(built.parent / part, tmp_path / "one" / part, ignore=shutil.ignore_patterns("__pycache__", "*_tests"))
    monkeypatch.setenv("HUTCH_BINARY", str(tmp_path / "one/bin/hutch"))
    for module in ("compileall.py", "struct.py"):  # modules that lie where it is called are not run
        (home / module).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    done = setup(home, "--yes")
    assert done.returncode == 0 and "has run code" in done.stdout, done
    assert list((tmp_path / "one/share/hutch/runners/python/__pycache__").iterdir()) and not (tmp_path / "ran").exists()


BEFORE = {"json": '{\n  // mine\n  "theme": "dark",\n}\n', "toml": '# mine\nmodel = "x"\n', "yaml": "# mine\nGOOSE_MODEL: x\n"}


@pytest.mark.slow
def test_each_client_by_name(home):
    files = {row["id"]: pathlib.Path(row["file"].replace("~", str(home)).replace("$CONFIG", str(home / ".config"))) for row in CLIENTS}
    for row in CLIENTS:
        files[row["id"]].parent.mkdir(parents=True, exist_ok=True)
        files[row["id"]].write_text(BEFORE[row["format"]])
    names = [word for row in CLIENTS for word in ("--client", row["id"])]
    done = setup(home, *names, "--yes")
    assert done.returncode == 0, done
    for row in CLIENTS:
        text = files[row["id"]].read_text()
        assert row["next"] in done.stdout and "mine" in text and hutch_binary() in text, row
        if row["format"] == "toml":
            assert tomllib.loads(text)["mcp_servers"]["hutch"]["args"] == ["stdio"]
        assert (home / f".local/state/hutch/setup/{row['id']}.before").read_text() == BEFORE[row["format"]]
    assert setup(home, *names, "--remove", "--yes").returncode == 0
    for row in CLIENTS:
        assert files[row["id"]].read_text() == BEFORE[row["format"]], row


@pytest.mark.slow
def test_what_others_wrote_since_stays(home):
    file = cursor(home, '{"mcpServers": {"a": {}}}')
    assert setup(home, "--yes").returncode == 0
    file.write_text(file.read_text().replace('"a": {}', '"a": {}, "b": {}'))
    assert setup(home, "--remove", "--yes").returncode == 0
    assert file.read_text() == '{"mcpServers": {"a": {}, "b": {}}}'


@pytest.mark.slow
@pytest.mark.parametrize("indent", [2, 4, None])
def test_a_client_that_writes_its_file_anew(home, indent):
    file = cursor(home, '{"mcpServers": {"a": {}}}')
    assert setup(home, "--yes").returncode == 0
    written = json.loads(file.read_text())
    file.write_text(json.dumps({"first": 1, **written}, indent=indent))
    assert setup(home, "--remove", "--yes").returncode == 0
    assert json.loads(file.read_text()) == {"first": 1, "mcpServers": {"a": {}}}


@pytest.mark.slow
def test_other_arguments_take_the_place_of_earlier_ones(home):
    file = cursor(home, "{}")
    (home / "tables").mkdir()
    (home / "mine").mkdir()
    assert setup(home, "--yes").returncode == 0
    done = setup(home, "--yes", "--mount", "tables:rw", "--mount", f"own={home}/mine")
    assert done.returncode == 0 and '-      "args": ["stdio"]' in done.stdout, done
    assert json.loads(file.read_text())["mcpServers"]["hutch"]["args"] == ["stdio", "--mount", f"{home}/tables:rw", "--mount", f"own={home}/mine"]
    assert (home / ".local/state/hutch/setup/cursor.before").read_text() == "{}"
    assert setup(home, "--remove", "--yes").returncode == 0 and file.read_text() == "{}"


def test_arguments_that_hutch_refuses_are_not_written(home):
    file = cursor(home, "{}")
    done = setup(home, "--yes", "--mount", "/nothing/there")
    assert done.returncode == 1 and "nothing was written" in done.stderr and "/nothing/there" in done.stderr, done
    assert file.read_text() == "{}"


@pytest.mark.slow
def test_where_a_variable_puts_a_clients_files(home):
    (home / "elsewhere").mkdir()
    (home / ".claude").mkdir()
    assert setup(home, "--client", "claude-code", "--yes", CLAUDE_CONFIG_DIR=str(home / "elsewhere")).returncode == 0
    assert "hutch" in (home / "elsewhere/.claude.json").read_text() and not (home / ".claude.json").exists()


@pytest.mark.parametrize("text,says", [
    ('{"mcpServers": {', "is left as it is"), ("[]", "no map"), ('{"mcpServers": []}', "is no object"),
    ('{"mcpServers": {"hutch": {"command": "other"}}}', "with --replace this one takes its place"),
    ('{\n  "mcpServers": {}}\n}\n', "line 3, column 1"), ('{"a": 1e999}', "is left as it is"),
])
def test_what_cannot_be_changed_is_left_alone(home, text, says):
    file = cursor(home, text)
    done = setup(home, "--yes")
    assert done.returncode == 1 and says in done.stderr and file.read_text() == text, done


@pytest.mark.slow
def test_an_entry_that_was_changed_by_hand_is_not_taken_out(home):
    file = cursor(home, "{}")
    assert setup(home, "--yes").returncode == 0
    file.write_text(changed := file.read_text().replace("stdio", "serve"))
    done = setup(home, "--remove", "--yes")
    assert done.returncode == 1 and "take it out there" in done.stderr and file.read_text() == changed


ADDED_TO_TOML = ["enabled = true\nstartup_timeout_sec = 20\n", '[mcp_servers.hutch.env]\nA = "b"\n',
                 '[mcp_servers.hutch.tools.run_code]\napproval_mode = "approve"\n\n[projects."/x"]\ntrust_level = "trusted"\n']


@pytest.mark.slow
@pytest.mark.parametrize("added", ADDED_TO_TOML)
def test_what_is_added_to_the_entry_goes_with_it_and_stays_with_another_one(home, added):
    file = home / ".codex/config.toml"
    file.parent.mkdir()
    before = 'model = "x"\n\n[projects."/p"]\ntrust_level = "trusted"\n'
    file.write_text(before)
    assert setup(home, "--yes").returncode == 0
    file.write_text(file.read_text() + added)
    written = tomllib.loads(file.read_text())
    done = setup(home, "--yes", "--packages")
    assert done.returncode == 0, done
    written["mcp_servers"]["hutch"]["args"] += ["--packages"]
    assert tomllib.loads(file.read_text()) == written
    assert setup(home, "--remove", "--yes").returncode == 0
    del written["mcp_servers"]
    assert tomllib.loads(file.read_text()) == written and file.read_text().startswith(before)


@pytest.mark.slow
def test_what_is_always_allowed_goes_with_the_entry(home):
    file = cursor(home, '{"mcpServers": {"a": {}}}')
    assert setup(home, "--yes").returncode == 0
    written = json.loads(file.read_text())
    written["mcpServers"]["hutch"]["autoApprove"] = ["run_code"]
    file.write_text(json.dumps(written))
    assert setup(home, "--yes", "--packages").returncode == 0
    assert json.loads(file.read_text())["mcpServers"]["hutch"]["autoApprove"] == ["run_code"]
    assert setup(home, "--remove", "--yes").returncode == 0 and json.loads(file.read_text()) == {"mcpServers": {"a": {}}}


@pytest.mark.parametrize("client,place,before", [
    ("cursor", ".cursor/mcp.json", '{"mcpServers": {\n  "a": {}, // one\n  "hutch": {"url": "http://127.0.0.1:8931/mcp"}\n}, "b": 1}\n'),
    pytest.param("codex", ".codex/config.toml", '[mcp_servers.hutch]\ncommand = "mine"\n\n# of a\n[a]\nb = 1\n', marks=pytest.mark.slow),
])
def test_another_entry_is_replaced_on_request_and_comes_back(home, client, place, before):
    file = home / place
    file.parent.mkdir()
    file.write_text(before)
    assert setup(home, "--yes").returncode == 1 and file.read_text() == before
    assert setup(home, "--yes", "--replace").returncode == 0 and hutch_binary() in file.read_text()
    assert setup(home, "--yes", "--packages").returncode == 0 and (home / f".local/state/hutch/setup/{client}.before").read_text() == before
    assert setup(home, "--remove", "--yes").returncode == 0 and file.read_text() == before


@pytest.mark.slow
def test_each_addition_has_a_copy_of_what_was_there(home):
    file = cursor(home, "{}")
    assert setup(home, "--yes").returncode == 0
    file.write_text('{"mcpServers": {"later": {}}}')  # a client that has lost the entry
    assert setup(home, "--yes").returncode == 0
    assert (home / ".local/state/hutch/setup/cursor.before").read_text() == '{"mcpServers": {"later": {}}}'
    assert setup(home, "--remove", "--yes").returncode == 0 and file.read_text() == '{"mcpServers": {"later": {}}}'


@pytest.mark.slow
def test_a_link_stays_a_link(home):
    (home / "dotfiles").mkdir()
    kept = home / "dotfiles/mcp.json"
    kept.write_text("{}")
    kept.chmod(0o640)
    cursor(home).symlink_to(kept)
    assert setup(home, "--yes").returncode == 0
    assert cursor(home).is_symlink() and "hutch" in kept.read_text() and stat.S_IMODE(kept.stat().st_mode) == 0o640
    assert setup(home, "--remove", "--yes").returncode == 0 and kept.read_text() == "{}"


def test_a_link_to_nothing_is_left(home):
    cursor(home).symlink_to(home / "nowhere/mcp.json")
    done = setup(home, "--yes")
    assert done.returncode == 1 and cursor(home).is_symlink() and not (home / "nowhere").exists(), done


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes what nobody may write")
def test_a_file_that_may_not_be_written(home):
    file = cursor(home, "{}")
    file.chmod(0o400)
    done = setup(home, "--yes")
    assert done.returncode == 1 and str(file) in done.stderr and file.read_text() == "{}"
    assert not (home / ".local/state/hutch/setup/cursor.json").exists()
    file.chmod(0o600)
    assert setup(home, "--yes").returncode == 0
    file.chmod(0o400)
    assert setup(home, "--yes", "--packages").returncode == 1  # and what is known of the first one stays known
    file.chmod(0o600)
    assert setup(home, "--remove", "--yes").returncode == 0 and file.read_text() == "{}"


def test_nobody_is_changed_unasked(home):
    file = cursor(home, "{}")
    done = setup(home)
    assert done.returncode == 1 and "--yes" in done.stderr and file.read_text() == "{}"
    none = setup(home.parent)
    assert none.returncode == 1 and "no MCP client" in none.stderr
    unknown = setup(home, "--client", "emacs")
    assert unknown.returncode == 1 and "claude-code" in unknown.stderr
    listed = setup(home, "--list")
    assert "* cursor" in listed.stdout and "  zed" in listed.stdout


def test_it_works_without_a_terminal_asked_at_one(home):
    """An answer is read from a terminal only."""
    file = cursor(home, "{}")
    done = subprocess.run(["script", "-qec", f"{hutch_binary()} setup", "/dev/null"], input="n\n", capture_output=True, text=True, timeout=60,
                          env={"HOME": str(home), "PATH": "/usr/bin:/bin"})
    assert "Write this? [y/N]" in done.stdout and file.read_text() == "{}", done


@pytest.mark.slow
def test_the_launcher_that_brought_it_is_written(home):
    """As of uvx or npx, which keep no program in one place: that it cannot be started here is told."""
    file = cursor(home, "{}")
    refused = setup(home, "--yes", HUTCH_LAUNCHER="none")
    assert refused.returncode == 1 and "install it first" in refused.stderr and file.read_text() == "{}"
    done = setup(home, "--yes", HUTCH_LAUNCHER="/nowhere/uvx hutch-mcp")
    entry = json.loads(file.read_text())["mcpServers"]["hutch"]
    assert entry == {"command": "/nowhere/uvx", "args": ["hutch-mcp", "stdio"]}
    assert done.returncode == 1 and "/nowhere/uvx" in done.stderr, done
