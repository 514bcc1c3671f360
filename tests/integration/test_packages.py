"""pip and npm in sessions that may reach the package indexes: by install_packages and from code, kept with the session."""

import json
import subprocess

import pytest

import environments
from conftest import needs
from boxes import until
from hutch_client import Client, ToolError, hutch_binary

NAME = "code_interpreter"


@pytest.fixture(scope="module")
def open_session(module_state):
    needs(environments.python().exists(), environments.MISSING)
    with Client(module_state, "--packages", env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
        yield client


def install(client, *packages, **arguments):
    run = client.call("install_packages", packages=list(packages), **arguments)
    return client.until_ended(run["run_id"]) if run["status"] in ("queued", "running") else run


def test_a_package_is_there_at_once_and_for_every_language(open_session):
    assert open_session.value("import importlib.util; importlib.util.find_spec('humanize') is None") == "True"
    run = install(open_session, "humanize>=4,<5")
    assert run["status"] == "completed", run
    assert run["network"]["allowed"] and "refused" not in run["network"] and run["network"]["bytes"] > 10_000
    assert open_session.value("import humanize; humanize.naturalsize(10**9)") == "'1.0 GB'"
    assert open_session.run("python3 -c 'import humanize; print(humanize.__file__)'", "bash")["stdout"].startswith("/home/user/")


def test_from_code_another_version_than_the_environment_has(open_session):
    run = open_session.run("pip install --quiet tabulate==0.8.10 && python3 -c 'import tabulate; print(tabulate.__version__)'",
                           "bash", timeout_seconds=300)
    assert run["stdout"] == "0.8.10\n", run


def test_a_newer_version_of_what_was_imported_is_told(open_session):
    session = open_session.call("create_session")["session_id"]
    assert "note" not in open_session.run("import tabulate, idna", session_id=session)
    open_session.run("pip install --quiet --no-deps tabulate==0.8.10 humanize", "bash", session_id=session, timeout_seconds=300)
    run = open_session.run("tabulate.__version__", session_id=session)
    assert run["note"] == "tabulate 0.8.10 was installed after import, and what runs is the code from before: a run with restart: true takes it up"
    assert "note" not in open_session.run("1", session_id=session)
    run = open_session.run("import tabulate; print(tabulate.__version__)", session_id=session, restart=True)
    assert run["stdout"] == "0.8.10\n" and "installed after import" not in run.get("note", ""), run


BASH = {
    "venv": "python3 -m venv --without-pip v && source v/bin/activate", "target": "export PIP_TARGET=/workspace/there", "prefix": "export PIP_PREFIX=/workspace/there",
    "home": "export HOME=/workspace PYTHONUSERBASE=/workspace/base PYTHONNOUSERSITE=1", "python": "export PYTHONHOME=/nowhere PATH=/workspace:$PATH; python3() { echo no; }",
    "dry": "export PIP_DRY_RUN=1 PIP_USER=0", "strict": "set -e; cd /tmp; trap 'echo ended' EXIT; alias python3=false; shopt -s expand_aliases"}


@pytest.mark.parametrize("way", [pytest.param(way, marks=() if way in ("venv", "target", "python") else pytest.mark.slow) for way in BASH])
def test_what_bash_has_set_redirects_no_install(open_session, way):
    """Into the session's own Python, where cells look; bash stays as it was."""
    session = open_session.call("create_session")["session_id"]
    open_session.run(BASH[way], "bash", session_id=session)
    run = install(open_session, "humanize==4.9.0", session_id=session)
    assert run["status"] == "completed" and run["stdout"].startswith("Installed humanize 4.9.0 in "), run
    run = open_session.run("import humanize; print(humanize.__file__)", session_id=session)
    assert run["stdout"].startswith("/home/user/.local/lib/python3"), run
    if way == "venv":
        assert open_session.run("which python", "bash", session_id=session)["stdout"] == "/workspace/v/bin/python\n"


def test_an_index_that_bash_has_set_is_meant(open_session):
    session = open_session.call("create_session")["session_id"]
    open_session.run("export PIP_INDEX_URL=https://index.example/simple", "bash", session_id=session)
    run = install(open_session, "humanize==4.9.0", session_id=session)
    assert run["status"] == "failed" and "Looking in indexes: https://index.example/simple" in run["stderr"], run


@pytest.mark.parametrize("setting", ["npm_config_global=true", "npm_config_prefix=/workspace/there", "npm_config_dry_run=true NODE_ENV=production", "NODE_OPTIONS=--nosuch"])
def test_what_bash_has_set_redirects_no_install_of_npms(open_session, setting):
    session = open_session.call("create_session")["session_id"]
    open_session.call("write_file", path="/workspace/mine/package.json", content='{"name": "mine", "version": "1.0.0"}', session_id=session)
    open_session.call("write_file", path="/workspace/mine/index.js", content="module.exports = 'of mine'", session_id=session)
    open_session.run(f"export {setting}; node() {{ echo no; }}", "bash", session_id=session)
    run = install(open_session, "--save-dev", "/workspace/mine", manager="npm", session_id=session)
    assert run["status"] == "completed", run
    assert open_session.run("require('mine')", "javascript", session_id=session)["outputs"][0]["text"] == "'of mine'", run


WAYS = {"shell": "!pip install --quiet {0}", "magic": "%pip install --quiet {0}",
        "subprocess": "import subprocess, sys; subprocess.run([sys.executable, '-m', 'pip', 'install', '--quiet', '{0}'], check=True)"}


@pytest.mark.parametrize("way", [pytest.param(way, marks=() if way == "shell" else pytest.mark.slow) for way in WAYS])
def test_an_import_in_the_cell_that_installs(open_session, way):
    """One package nobody has, the other the environment has in another version."""
    session = open_session.call("create_session")["session_id"]
    cell = (f"try: import humanize\nexcept ImportError: print('not there')\n{WAYS[way].format('humanize==4.9.0')}\n"
            f"{WAYS[way].format('tabulate==0.8.10')}\nimport humanize, tabulate\nfrom importlib.metadata import version\n"
            "print(humanize.__version__, version('humanize'), tabulate.__version__)")
    run = open_session.run(cell, session_id=session, timeout_seconds=300)
    assert run["status"] == "completed" and run["stdout"].splitlines()[0] == "not there", run
    assert run["stdout"].splitlines()[-1] == "4.9.0 4.9.0 0.8.10", run
    assert "installed after import" not in open_session.run("humanize", session_id=session).get("note", "")


@pytest.mark.slow
def test_an_import_of_what_is_installed_by_its_folder(open_session):
    session = open_session.call("create_session")["session_id"]
    for path, content in (("mine/src/own/__init__.py", "answer = 42"), ("mine/setup.py", (
            "from setuptools import setup\nsetup(name='own', version='1', package_dir={'': 'src'}, packages=['own'])"))):
        open_session.call("write_file", path=path, content=content, session_id=session)
    run = open_session.run("!pip install --quiet --editable mine\nimport own; print(own.answer, own.__file__)", session_id=session, timeout_seconds=300)
    assert run["stdout"] == "42 /workspace/mine/src/own/__init__.py\n", run


@pytest.mark.slow
def test_what_a_session_has_installed_is_replaced_and_removed(open_session):
    session = open_session.call("create_session")["session_id"]

    def bash(code):
        return open_session.run(code, "bash", session_id=session, timeout_seconds=300)
    bash("pip install --quiet --user humanize==4.8.0")
    assert "was 4.8.0" in install(open_session, "humanize==4.9.0", session_id=session)["stdout"]
    seen = "ls ~/.local/lib/python*/site-packages | grep -c humanize.*info; pip list | grep -i humanize; python3 -c 'import humanize as h; print(h.__version__)'"
    assert bash(seen)["stdout"].split() == ["1", "humanize", "4.9.0", "4.9.0"]
    assert "Successfully installed humanize-4.1" in bash("pip install -U 'humanize<4.12'")["stdout"]
    assert bash("pip uninstall --quiet --yes humanize; python3 -c 'import humanize'")["stderr"].endswith("No module named 'humanize'\n")
    run = bash("pip uninstall --yes tabulate")
    assert run["status"] == "failed" and "tabulate 0.10.0 is the environment's, which nobody changes from a session" in run["stderr"], run
    bash("pip install --quiet tabulate==0.8.10 && pip uninstall --quiet --yes tabulate")
    assert bash("python3 -c 'import tabulate; print(tabulate.__version__)'")["stdout"] == "0.10.0\n"


@pytest.mark.slow
def test_an_install_says_in_a_few_words_what_is_there(open_session):
    session = open_session.call("create_session")["session_id"]
    run = install(open_session, "rich==13.9.4", session_id=session)
    assert run["stdout"].startswith("Installed rich 13.9.4 in ") and len(run["stdout"].splitlines()) <= 3 and run["stderr"] == "", run
    assert install(open_session, "rich", session_id=session)["stdout"] == "Already there: rich 13.9.4\n"
    run = install(open_session, "is-odd@3.0.1", manager="npm", session_id=session)
    assert run["stdout"].startswith("Installed is-odd 3.0.1 into /workspace/node_modules in ") and "With is-number 6.0.0" in run["stdout"], run
    run = install(open_session, "no-such-package-of-hutch-tests", manager="npm", session_id=session)
    assert run["status"] == "failed" and "404" in run["stderr"] and len(run["stderr"]) < 1500, run


LAUNCH = """
from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    browser = playwright.chromium.launch()
    page = browser.new_page()
    page.set_content("<title>Sums</title><p id=a>21</p>")
    print(page.title(), page.evaluate("document.getElementById('a').textContent * 2"))
    page.screenshot(path="page.png")
    browser.close()
"""


@pytest.mark.slow
def test_playwright_starts_the_environments_browser(open_session):
    """Its launch() without arguments, in a cell and in a program: the version of today has its revision linked."""
    needs((environments.directory() / NAME / "bin/chromium").exists(), "the environment's browser")
    session = open_session.call("create_session")["session_id"]
    run = install(open_session, "playwright", session_id=session)
    assert run["status"] == "completed", run
    run = open_session.run(LAUNCH, session_id=session, timeout_seconds=300)
    assert run["stdout"] == "Sums 42\n", run
    assert any(change["path"] == "/workspace/page.png" for change in run["files_changed"]), run
    open_session.call("write_file", path="launch.py", content=LAUNCH, session_id=session)
    seen = open_session.run("python3 launch.py && cd ~/.cache/ms-playwright && find . -type l | xargs readlink | sort -u", "bash",
                            session_id=session, timeout_seconds=300)
    assert seen["stdout"] == "Sums 42\n/environment/bin/chromium\n", f"no browser was downloaded: {seen}"


@pytest.mark.slow
def test_what_is_being_installed_is_waited_for(open_session):
    """Queued by the tool, and by hand in the background."""
    session = open_session.call("create_session")["session_id"]
    held = open_session.start_tool("run_code", code="touch on; while [ ! -e go ]; do sleep 0.05; done", language="bash", session_id=session)
    open_session.run("import os, time\nwhile not os.path.exists('on'): time.sleep(0.01)", session_id=session)
    queued = open_session.start_tool("install_packages", packages=["humanize==4.9.0"], session_id=session)

    def waiting():
        return [run["run_id"] for run in open_session.call("get_run", session_id=session)["runs"] if run["status"] == "queued"]
    until(waiting, what="an install that waits")
    (run_id,) = waiting()
    said = open_session.run("import humanize", session_id=session)["stderr"]
    assert f"{run_id} installs humanize==4.9.0: get_run tells when it has ended; then run this again" in said, said
    assert "install_packages with manager npm" in open_session.run("require('humanize')", "javascript", session_id=session)["stderr"]
    open_session.run("open('go', 'w').close()", session_id=session)
    open_session.reply(held)
    open_session.reply(queued, timeout=300)
    assert open_session.run("import humanize; print(humanize.__version__)", session_id=session)["stdout"] == "4.9.0\n"
    open_session.run("printf '#!/bin/sh\\ntouch on2; while [ ! -e go2 ]; do sleep 0.05; done' > pip; chmod +x pip", "bash", session_id=session)
    by_hand = open_session.run("./pip install nosuch", "bash", session_id=session, background=True)
    open_session.run("while not os.path.exists('on2'): time.sleep(0.01)", session_id=session)
    assert "`pip install nosuch` is on; then run this again" in open_session.run("import nosuch", session_id=session)["stderr"]
    # An import that nobody can look for any more fails as it would have.
    run = open_session.run("held = []\ntry:\n    while True: held.append(os.open('/dev/null', 0))\nexcept OSError: pass\nimport nosuch2", session_id=session)
    assert "ModuleNotFoundError" in run["stderr"] and open_session.run("for one in held: os.close(one)", session_id=session)["status"] == "completed"
    open_session.run("open('go2', 'w').close()", session_id=session)
    open_session.until_ended(by_hand["run_id"])
    # npm gives itself a title of one piece.
    titled = open_session.run("node -e 'process.title = \"npm install nosuch\"; fs.writeFileSync(\"on3\", \"\"); setTimeout(() => {}, 1e6)'", "bash",
                              session_id=session, background=True)
    open_session.run("while not os.path.exists('on3'): time.sleep(0.01)", session_id=session)
    assert "`npm install nosuch` is on; then run this again" in open_session.run("require('nosuch')", "javascript", session_id=session)["stderr"]
    open_session.call("cancel_run", run_id=titled["run_id"])
    assert "install_packages installs it" in open_session.run("import nosuch", session_id=session)["stderr"]


@pytest.mark.slow  # for the five seconds in which an install says nothing
def test_an_install_that_goes_on_says_how_many_bytes_are_there(open_session):
    """By a pip of the test's own."""
    session = open_session.call("create_session", env={"PYTHONPATH": "/workspace/own"})["session_id"]
    pip = ("import os, time\nprint('Collecting much\\n  Downloading much-2.0-py3-none-any.whl (16.3 MB)')\n"
           "while not os.path.exists('/workspace/go'): print('Progress 8000000 of 16300000', flush=True); time.sleep(0.1)\n")
    for name, text in (("__init__.py", ""), ("__main__.py", pip)):
        open_session.call("write_file", path=f"/workspace/own/pip/{name}", content=text, session_id=session)
    installing = open_session.start_tool("install_packages", packages=["much"], session_id=session)

    def running():
        return [run["run_id"] for run in open_session.call("get_run", session_id=session)["runs"] if run["status"] == "running"]
    until(running, what="an install that runs")
    (run_id,) = running()
    until(lambda: open_session.call("get_run", run_id=run_id)["stdout"] == "much-2.0-py3-none-any.whl: 8.0 MB of 16.3 MB",
          what="the bytes that are there")
    open_session.call("write_file", path="/workspace/go", content="", session_id=session)
    open_session.reply(installing)


@pytest.mark.slow
def test_a_virtual_environment_of_ones_own(open_session):
    run = open_session.run("python3 -m venv .venv && .venv/bin/pip install --quiet humanize && "
                           ".venv/bin/python -c 'import humanize; print(humanize.__file__)'", "bash", timeout_seconds=300)
    assert run["stdout"].startswith("/workspace/.venv/"), run


@pytest.mark.slow
def test_where_pip_is_told_to_install(module_state):
    """With the machine's own pip, which nothing may keep from it."""
    with Client(module_state, "--packages", env={"HUTCH_TEMPLATE": "host"}) as client:
        run = client.run("python3 -m venv v && v/bin/pip install --quiet humanize && v/bin/python -c 'import humanize; print(humanize.__file__)'\n"
                         "python3 -m pip install --quiet --target there humanize && ls -d there/humanize\n"
                         "python3 -m pip install --quiet humanize && python3 -c 'import humanize; print(humanize.__file__)'", "bash",
                         timeout_seconds=300)
    where = run["stdout"].split()
    assert [path.split("/lib/")[0] for path in where] == ["/workspace/v", "there/humanize", "/home/user/.local"], run


def test_what_the_environment_has_needs_no_network(module_state):
    with Client(module_state, "--session", "without", env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
        for packages, said in ((["numpy"], "numpy "), (["NumPy", "pandas>=1"], "numpy "), (["numpy>1", "python_dateutil"], "python_dateutil ")):
            run = install(client, *packages)
            assert run["status"] == "completed" and run["stdout"].startswith("Already there: ") and said.strip() in run["stdout"].lower().replace("-", "_"), run
        run = install(client, "numpy>=99")
        assert run["status"] == "failed" and "No matching distribution found for numpy>=99" in run["stderr"] and "no network" in run["note"], run
        for packages in (["numpy", "humanize"], ["--upgrade numpy"], ["numpy[extra]"]):
            with pytest.raises(ToolError, match="hutch stdio --packages"):
                client.call("install_packages", packages=packages)


def test_packages_that_a_session_is_allowed_later(module_state):
    with Client(module_state, "--session", "later", env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
        with pytest.raises(ToolError, match="hutch stdio --packages"):
            client.call("install_packages", packages=["humanize"])
        client.run("1")
        subprocess.run([hutch_binary(), "--state-dir", module_state, "sessions", "allow", "later", "packages"], check=True, capture_output=True)
        assert install(client, "humanize")["status"] == "completed"


def test_a_file_of_requirements(open_session):
    session = open_session.call("create_session")["session_id"]
    open_session.call("write_file", path="needs these.txt", content="humanize==4.9.0\n", session_id=session)
    run = install(open_session, "-r needs these.txt", "tabulate==0.8.10", session_id=session)
    assert run["status"] == "completed", run
    run = open_session.run("from importlib.metadata import version\nprint(version('humanize'), version('tabulate'))", session_id=session)
    assert run["stdout"] == "4.9.0 0.8.10\n", run


def test_options_stand_among_the_packages(open_session):
    session = open_session.call("create_session")["session_id"]
    open_session.call("write_file", path="needs.txt", content="humanize==4.9.0\n", session_id=session)
    assert "humanize 4.9.0" in install(open_session, "-r", "needs.txt", session_id=session)["stdout"]
    assert "(was 4.9.0)" in install(open_session, "--upgrade", "humanize", session_id=session)["stdout"]
    assert "4.9.0 (was " in install(open_session, "--force-reinstall humanize==4.9.0", session_id=session)["stdout"]
    assert "(was 4.9.0)" in install(open_session, "-U humanize tabulate", session_id=session)["stdout"]
    assert "Already there: humanize " in install(open_session, "humanize, tabulate", session_id=session)["stdout"]
    assert "Already there: humanize " in install(open_session, "--upgrade --pre humanize[nosuch,other]", session_id=session)["stdout"]
    assert install(open_session, "--save-dev", "is-odd@3", manager="npm", session_id=session)["status"] == "completed"
    assert "devDependencies" in open_session.run("cat package.json", "bash", session_id=session)["stdout"]


def test_npm_installs_where_javascript_looks(open_session):
    session = open_session.call("create_session")["session_id"]
    open_session.run("mkdir app && cd app", "bash", session_id=session)
    assert install(open_session, "is-odd@3", manager="npm", session_id=session)["status"] == "completed"
    assert open_session.run("require('is-odd')(3)", "javascript", session_id=session)["outputs"][0]["text"] == "true"
    run = open_session.run("pwd; node -e 'console.log(require(\"is-odd\")(3))'", "bash", session_id=session)
    assert run["stdout"] == "/workspace/app\ntrue\n", run
    # By hand it goes where bash is, and JavaScript says where that was.
    open_session.run("echo '{}' > package.json; npm install --silent is-even@1", "bash", session_id=session, timeout_seconds=300)
    run = open_session.run("require('is-even')", "javascript", session_id=session)
    assert '/workspace/app has it: process.chdir("/workspace/app") lets it be found' in run["stderr"], run
    run = open_session.run("process.chdir('/workspace/app'); require('is-even')(2)", "javascript", session_id=session)
    assert run["outputs"][0]["text"] == "true", run


@pytest.mark.parametrize("load", ["require('mine')", "(await import('mine')).default", "(await import('esm')).default"])
def test_a_newer_version_of_what_javascript_has_loaded_is_told(open_session, load):
    session = open_session.call("create_session")["session_id"]
    package = "esm" if "esm" in load else "mine"

    def update(version):
        source = f"export default '{version}'" if package == "esm" else f"module.exports = '{version}'"
        kind = ', "type": "module"' if package == "esm" else ""
        code = (f"mkdir -p /workspace/node_modules/{package} && cd /workspace/node_modules/{package} && rm -f *\n"
                f"echo '{{\"name\": \"{package}\", \"version\": \"{version}\", \"main\": \"index.js\"{kind}}}' > package.json; echo \"{source}\" > index.js; cd")
        assert open_session.run(code, "bash", session_id=session)["status"] == "completed"

    def run(code, **arguments):
        done = open_session.run(code, "javascript", session_id=session, **arguments)
        return done["outputs"][0]["text"], done.get("note", "")
    update("1.2.0")
    assert run(load) == ("'1.2.0'", "")
    update("1.2.0")
    assert run(load) == ("'1.2.0'", ""), "installed again as it was"
    update("1.3.0")
    told = f"{package} 1.3.0 was installed after import, and what runs is the code from before: a run with restart: true takes it up"
    assert run(load) == ("'1.2.0'", told)
    assert run(load) == ("'1.2.0'", ""), "once"
    value, note = run(load, restart=True)
    assert value == "'1.3.0'" and "after import" not in note
    update("1.4.0")
    if load.startswith("require"):
        assert run("for (const file in require.cache) delete require.cache[file]; require('mine')") == ("'1.4.0'", ""), "loaded anew"


def test_the_program_of_a_package_is_called_by_npx(open_session):
    session = open_session.call("create_session")["session_id"]

    def bash(code):
        return open_session.run(code, "bash", session_id=session)["stderr"]
    assert "npx" not in bash("mytool hi")
    bash("mkdir -p node_modules/.bin app/node_modules/.bin; printf '#!/bin/sh\\necho mine' | tee node_modules/.bin/mytool app/node_modules/.bin/other; chmod +x */.bin/* app/*/.bin/*")
    assert bash("mytool hi") == "bash: line 1: mytool: command not found\nhutch: `npx mytool` runs it\n"
    assert bash("cd app; mytool hi").endswith("hutch: `npx mytool` runs it in /workspace\n")
    assert bash("other hi").endswith("hutch: `npx other` runs it\n")
    assert open_session.run("npx mytool; cd /workspace; npx mytool", "bash", session_id=session)["stdout"].endswith("mine\n")
    assert "npx" not in bash("cd /tmp; ./mytool; third")


REQUIRES = "node -e 'console.log(require(\"mine\"))'; echo 'console.log(require(\"mine\"))' > program.cjs; node program.cjs"


@pytest.mark.parametrize("where", [
    ("bash", "mkdir -p app/deep && cd app/deep"), ("javascript", "process.chdir('/tmp')"), *(pytest.param(where, marks=pytest.mark.slow) for where in (
        ("bash", "cd /tmp"), ("bash", "cd"), ("javascript", "require('fs').mkdirSync('/workspace/sub'); process.chdir('sub')"), None))])
def test_javascript_and_bash_agree_on_what_npm_installed(open_session, where):
    """Wherever each of them is; the package is a folder, for which npm asks nobody."""
    session = open_session.call("create_session")["session_id"]
    for name, text in (("package.json", '{"name": "mine", "version": "1.0.0"}'), ("index.js", "module.exports = 'of mine'")):
        open_session.call("write_file", path=f"/workspace/packages/mine/{name}", content=text, session_id=session)
    if where:
        language, code = where
        assert open_session.run(code, language, session_id=session)["status"] == "completed"
    run = install(open_session, "/workspace/packages/mine", manager="npm", session_id=session)
    assert run["status"] == "completed" and "into /workspace/node_modules" in run["stdout"], run
    child = f"require('child_process').execSync({json.dumps(REQUIRES)}).toString()"
    for code, text in (("require('mine')", "'of mine'"), ("(await import('mine')).default", "'of mine'"), (child, "'of mine\\nof mine\\n'")):
        run = open_session.run(code, "javascript", session_id=session)
        assert [output["text"] for output in run["outputs"]] == [text], run
    assert open_session.run(REQUIRES, "bash", session_id=session)["stdout"] == "of mine\n" * 2


def test_npm(open_session):
    run = install(open_session, "is-odd@3", manager="npm")
    assert run["status"] == "completed", run
    assert open_session.value("require('is-odd')(3)", "javascript") == "true"
    assert open_session.value("(await import('is-odd')).default(4)", "javascript") == "false"


@pytest.mark.slow
def test_packages_with_native_code_and_the_second_session(open_session):
    """Work in one session; the next one has their files from the door's own copy."""
    packages = ["scikit-learn==1.6.*", "pyarrow<22", "pillow<12"]
    use = ("import io, PIL.Image, pyarrow, sklearn.linear_model as m\nimage = io.BytesIO(); PIL.Image.new('RGB', (3, 2)).save(image, 'PNG')\n"
           "print(m.LinearRegression().fit([[1], [2]], [2, 4]).predict([[3]]).round(3), pyarrow.array([1, 2]).sum(), PIL.Image.open(image).size, "
           "all(m.__file__.startswith('/home/user/') for m in (pyarrow, PIL, m)))")
    for _ in range(2):
        session = open_session.call("create_session")["session_id"]
        run = install(open_session, *packages, session_id=session)
        assert run["status"] == "completed", run
        run = open_session.run(use, session_id=session, timeout_seconds=300)
        assert run["stdout"] == "[6.] 3 (3, 2) True\n", run
    done = subprocess.run([hutch_binary(), "--state-dir", open_session.state, "audit", "--json", "-n", "1000"], capture_output=True, text=True, timeout=60)
    wheels = [entry for entry in map(json.loads, done.stdout.splitlines()) if entry["session_id"] == session and entry["path"].endswith(".whl")]
    assert len(wheels) >= 3 and all(entry["from_cache"] for entry in wheels), wheels


def test_a_failed_install_changes_nothing(open_session):
    session = open_session.call("create_session")["session_id"]
    run = install(open_session, "humanize==4.8.0", "no-such-package-of-hutch-tests", session_id=session)
    assert run["status"] == "failed", run
    run = open_session.run("find /home/user -name 'humanize*' | wc -l", "bash", session_id=session)
    assert run["stdout"] == "0\n", run


@pytest.mark.parametrize("packages,says", [
    ([""], "is no name of a package"), (["a\nb"], "is no name of a package"), (["x" * 501], "is no name of a package"),
    ([], "at least one"), (["-r"], "-r names no file"), (["-U --target=x numpy"], "--target=x is no package"), (["--upgrade=yes"], "--upgrade=yes is no package"), (["numpy", "--target=x"], "--target=x is no package, and of pip's options these can stand here: -r, .* calls pip itself"),
])
def test_what_is_no_package(open_session, packages, says):
    with pytest.raises(ToolError, match=says):
        open_session.call("install_packages", packages=packages)


def test_words_of_bash_stay_words(open_session):
    run = install(open_session, "humanize'; echo BROKEN; '$(echo BROKEN)")
    assert run["status"] == "failed" and "BROKEN\n" not in run["stdout"], run


def test_what_is_not_there_is_told(open_session):
    run = install(open_session, "no-such-package-of-hutch-tests")
    assert run["status"] == "failed" and "No matching distribution found" in run["stderr"], run


def test_a_missing_import_names_the_tool(open_session):
    assert "install_packages installs it" in open_session.run("import nosuch")["stderr"]
    session = open_session.call("create_session", network={"block_outbound": True})["session_id"]
    for code, language in (("import nosuch", "python"), ("require('nosuch')", "javascript")):
        said = open_session.run(code, language, session_id=session)["stderr"]
        assert 'in a session that create_session makes with network {"allow":' in said and "packages" in said and "stdio" not in said, said
    session = open_session.call("create_session", network={"allow": ["registry.npmjs.org:443"]})["session_id"]
    assert '{"allow": ["packages"]}' in open_session.run("import nosuch", session_id=session)["stderr"]
    assert "network policy allows" in open_session.run("require('nosuch')", "javascript", session_id=session)["stderr"]
    assert install(open_session, "is-odd@3", manager="npm", session_id=session)["status"] == "completed"


@pytest.mark.slow
def test_a_session_that_asked_for_nothing_is_refused(open_session):
    session = open_session.call("create_session", network={"block_outbound": True})["session_id"]
    with pytest.raises(ToolError, match="create_session with network .* has it; this session: .* sessions allow"):
        open_session.call("install_packages", packages=["humanize"], session_id=session)
