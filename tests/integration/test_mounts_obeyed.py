"""Tests what clients, git and editors of the host obey in a folder that sessions may write to, and the work beside it."""

import os
import pathlib
import re

from test_mounts import errno_of, folder, own, server  # noqa: F401
from test_mounts_hostile import repository, start_second  # noqa: F401

OBEYED = (".husky/pre-commit", ".devcontainer/devcontainer.json", ".github/copilot-instructions.md", ".github/hooks/h.json",
          ".gemini/settings.json", ".qwen/settings.json", ".kiro/settings/mcp.json", ".zed/settings.json", ".windsurf/rules/r.md",
          ".opencode/plugin/p.js", "opencode.json", ".clinerules/r.md", ".goosehints", ".cursorrules", "AGENTS.md", "CLAUDE.md")
WORK = ("package.json", ".npmrc", ".github/workflows/ci.yml", ".github/dependabot.yml", "Makefile", ".gitignore", ".env")


def test_what_clients_and_hooks_obey_stays_and_the_work_goes_on(state, folder):  # noqa: F811
    for name in OBEYED + WORK:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("of the host")
    (folder / "sub/.qwen").mkdir()
    (folder / "GEMINI.md").symlink_to("AGENTS.md")
    own(folder)
    with server(state, f"{folder}:rw") as client:
        assert "read-only" not in client.run("1").get("note", ""), "a text that is a link makes nothing read-only"
        for name in OBEYED:
            assert errno_of(client, f"open('/mnt/project/{name}', 'w')") in ("EROFS", "EACCES"), name
            assert errno_of(client, f"os.unlink('/mnt/project/{name}')") in ("EROFS", "EACCES", "EBUSY"), name
        assert errno_of(client, "open('/mnt/project/sub/.qwen/settings.json', 'w')") == "EROFS"
        for name in WORK:
            assert errno_of(client, f"open('/mnt/project/{name}', 'w').write('of the box')") == "done", name
        assert errno_of(client, "open('/mnt/project/.github/workflows/new.yml', 'w')") == "done"
        assert errno_of(client, "os.rename('/mnt/project/package.json', '/mnt/project/package.old')") == "done"
    assert all((folder / name).read_text() == "of the host" for name in OBEYED)
    assert (folder / ".npmrc").read_text() == "of the box"


def test_what_a_run_makes_of_it_is_told(state, folder):  # noqa: F811
    (folder / "AGENTS.md").write_text("of the host")
    own(folder)
    with server(state, f"{folder}:rw") as client:
        work = client.run("open('/mnt/project/package.json', 'w').close()")
        assert "obey" not in work.get("note", ""), work
        made = client.run("open('/mnt/project/.mcp.json', 'w').close()")
        assert ("made /mnt/project/.mcp.json, which programs of this machine obey: look at it before you use it"
                in made["note"]), made
        assert "obey" not in client.run("1").get("note", ""), "told once"
        shell = client.run("mkdir -p /mnt/project/.husky /mnt/project/.github/hooks", "bash")
        assert "made /mnt/project/.github/hooks, /mnt/project/.husky, which" in shell["note"], shell


def test_all_that_could_be_protected_is_though_code_has_made_all_of_it(state, repository):  # noqa: F811
    listed = pathlib.Path(__file__).parents[2] / "sandbox/box/obeyed_files.h"
    names = re.findall(r'^ {4}\{"([^"]+)", "', listed.read_text().split("kSharedDirectory")[0], re.MULTILINE)
    assert len(names) > 50
    with server(state, f"{repository}:rw") as client:
        made = client.run(f"import os\nos.chdir('/mnt/project')\nos.makedirs('.github')\nfor name in {names!r}:\n"
                          "    if name not in ('.git', '.github'):\n        open(name, 'w').close()\n"
                          "for name in ('hooks', 'prompts'):\n    os.mkdir('.github/' + name)")
        assert made["status"] == "completed", made["stderr"]
        assert start_second(client)["status"] == "completed"
        open_ones = client.run(f"""
import os
for name in {names!r} + ['.github/hooks/h', '.github/prompts/p']:
    try:
        open('/mnt/project/' + name + ('/config' if name == '.git' else ''), 'a').close()
        print(name)
    except OSError:
        pass
""", session_id="second")
        assert open_ones["stdout"] == "", open_ones


def test_a_closed_directory_of_much_work_does_not_uncover_what_is_obeyed_in_it(state, repository):  # noqa: F811
    (repository / ".github/hooks").mkdir(parents=True)
    own(repository)
    with server(state, f"{repository}:rw") as client:
        assert errno_of(client, "os.chmod('/mnt/project/.github', 0)") == "done"
        assert start_second(client)["status"] == "completed"
        assert errno_of(client, "open('/mnt/project/free', 'w')", session_id="second") == "done", "the rest is writable"
        assert errno_of(client, "os.chmod('/mnt/project/.github', 0o755)") == "done"
        assert errno_of(client, "open('/mnt/project/.github/hooks/h', 'w')", session_id="second") == "EROFS"
        assert errno_of(client, "open('/mnt/project/.github/free', 'w')") == "done"
