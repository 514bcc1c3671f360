"""The zygote: sessions come from it, differ from each other, and never need it."""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import other_build
import zygote
from conftest import needs
from hutch_client import PATIENCE, Client, hutch_binary

SECRET = "hutch-secret-9a41"


@contextlib.contextmanager
def server(state, **environment):
    with Client(state, env={"HUTCH_ZYGOTE": "1", "API_TOKEN": SECRET, **environment}) as client:
        yield client


@pytest.fixture
def warm(state):
    with server(state) as client:
        yield client


@pytest.fixture(scope="module")
def pair(module_state):
    """A server and two of its sessions, all from one zygote."""
    with server(module_state) as client:
        sessions = [forked_session(client) for _ in range(2)]
        yield client, sessions
        for session in sessions:
            client.call("delete_session", session_id=session)


def isolation(client, session):
    shown = subprocess.run([hutch_binary(), "sessions", "show", session, "--json", "--state-dir", client.state],
                           capture_output=True, text=True, timeout=60 * PATIENCE)
    return json.loads(shown.stdout)["isolation"]


def origin_of(client, session):
    return isolation(client, session)["python"]


def said(client, code, session, language="python", **options):
    run = client.run(code, language, session_id=session, **options)
    assert run["status"] == "completed", run
    return run["stdout"].strip()


def new_session(client, **options):
    return client.call("create_session", **options)["session_id"]


def forked_session(client, **options):
    return zygote.made_from_it(lambda: new_session(client, **options), lambda session: origin_of(client, session),
                               lambda session: client.call("delete_session", session_id=session))


def test_a_session_comes_from_it(pair):
    client, sessions = pair
    # Modules that it has imported are not read again, as a start that imports it reads it.
    needs(client.run("import pandas", session_id=sessions[1])["status"] == "completed", "pandas")
    code = ("import sys\nread = []\n"
            "sys.addaudithook(lambda event, what: read.append(what[0]) if event == 'open' else None)\n"
            "import pandas\nprint(sum('/pandas/' in str(name) for name in read))")
    assert said(client, code, sessions[0]) == "0"
    in_a_start = f"import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', {code!r}], text=True))"
    assert int(said(client, in_a_start, sessions[1])) > 100


def test_no_module_is_there_twice(pair):
    """One that is imported again beside its warm self has other classes, and what isinstance() says is wrong."""
    client, sessions = pair
    code = ("import sys\n(stash,) = [finder for finder in sys.meta_path if hasattr(finder, 'when_published')]\n"
            "print([name for name, module in stash._modules.items() if sys.modules.get(name, module) is not module])")
    assert said(client, code, sessions[1]) == "[]"
    assert said(client, "import functools, inspect; print(inspect.functools is functools)", sessions[1]) == "True"


def test_one_of_another_build_is_not_used(state, tmp_path):
    with Client(state, binary=other_build.make(tmp_path), env={"HUTCH_ZYGOTE": "1"}) as theirs:
        forked_session(theirs)
        with Client(state, env={"HUTCH_ZYGOTE": "1"}) as ours:
            assert origin_of(ours, new_session(ours)) != zygote.FORKED


RANDOM = {
    "random": "import random; print(random.random())",
    "numpy": "import numpy; print(numpy.random.rand())",
    "numpy.generator": "import numpy; print(numpy.random.default_rng().random())",
    "uuid1": "import uuid; print(uuid.uuid1())",
    "uuid4": "import uuid; print(uuid.uuid4())",
    "secrets": "import secrets; print(secrets.token_hex())",
    "tempfile": "import tempfile; print(tempfile.mktemp())",
    "multiprocessing": "import multiprocessing; print(bytes(multiprocessing.current_process().authkey).hex())",
}


@pytest.mark.parametrize("what", RANDOM)
def test_children_share_no_randomness(pair, what):
    client, sessions = pair
    if what.startswith("numpy"):
        needs(client.run("import numpy", session_id=sessions[0])["status"] == "completed", "numpy")
    values = [said(client, RANDOM[what], session) for session in sessions]
    # The interpreter of a background run is another copy, of the same init.
    run = client.run(RANDOM[what], session_id=sessions[0], background=True)
    values.append(client.until_ended(run["run_id"])["stdout"].strip())
    assert len(set(values)) == 3, values


def test_threads_of_blas_work_after_the_fork(state):
    with server(state) as client:
        session = new_session(client, limits={"cpus": 2})
        needs(client.run("import numpy", session_id=session)["status"] == "completed", "numpy")
        code = ("import numpy, os\na = numpy.ones((600, 600))\nassert (a @ a == 600).all()\n"
                "print(len(os.listdir('/proc/self/task')))")
        from_zygote = said(client, code, session)
        plain = said(client, "import subprocess, sys\n"
                     f"print(subprocess.check_output([sys.executable, '-c', {code!r}], text=True))", session)
        assert from_zygote == plain
        assert said(client, "import numpy, threading\nresults = []\n"
                    "def work(): results.append(float((numpy.eye(300) @ numpy.eye(300)).sum()))\n"
                    "ts = [threading.Thread(target=work) for _ in range(4)]\n"
                    "[t.start() for t in ts]; [t.join() for t in ts]\nprint(results)", session) == str([300.0] * 4)


def test_it_is_as_a_plain_start(pair):
    client, sessions = pair
    code = ("import sys, os, signal, locale, warnings, site, json, time\nprint(json.dumps([sys.path, sys.argv, sys.orig_argv,"
            "list(sys.flags), sorted(os.environ.items()), os.getcwd(), site.USER_SITE, site.USER_BASE,"
            "locale.setlocale(locale.LC_CTYPE), sys.executable, sys.prefix, time.tzname, __name__, sys.stdin.fileno(),"
            "str(signal.getsignal(signal.SIGPIPE)), str(signal.getsignal(signal.SIGTERM)), os.umask(0o22), os.getpgid(0) == os.getpid(),"
            "sorted(n for n in sys.modules if n.partition('.')[0] in ('numpy', 'pandas', 'matplotlib', 'stash', 'child', 'preload', 'ctypes'))]))")
    first = json.loads(said(client, code, new_session(client)))
    with Client(client.state, env={"HUTCH_ZYGOTE": "0"}) as plain:
        session = new_session(plain)
        assert origin_of(plain, session) == "started"
        assert json.loads(said(plain, code, session)) == first


@pytest.mark.parametrize("broken", ['{"a":1}\n{bad\n', '{"a":1,}'])
def test_files_that_are_not_json_are_told_of(pair, broken):
    client, sessions = pair
    client.call("write_file", path="broken.jsonl", content=broken, session_id=sessions[0])
    message = client.run('SELECT * FROM "broken.jsonl"', "sql", session_id=sessions[0])["error"]["message"]
    assert "broken.jsonl, line" in message and "not JSON" in message


def test_what_was_kept_of_the_host_is_not_there(pair):
    client, sessions = pair
    code = "import platform, os; print(platform.node(), platform.uname().node, os.path.expanduser('~'))"
    assert said(client, code, sessions[0]) == "hutch hutch /home/user"


@pytest.mark.parametrize("environment", [{"PYTHONHASHSEED": "7"}, {"TZ": "Asia/Tokyo"}, {"PYTHONPATH": "/workspace/lib"},
                                         {"OPENBLAS_NUM_THREADS": "1"}], ids=lambda e: next(iter(e)))
def test_variables_that_only_a_start_reads_count(pair, environment):
    client, _ = pair
    session = forked_session(client, env=environment)
    code = "import sys, time, os; print(hash('a'), time.tzname, sys.path[1], os.environ['OPENBLAS_NUM_THREADS'])"
    run = said(client, code, session)
    in_a_start = said(client, f"/usr/bin/python3 -c {json.dumps(code)}", session, "bash")
    if "PYTHONHASHSEED" in environment:
        assert run == in_a_start
    else:
        assert run.split()[1:] == in_a_start.split()[1:]


def test_modules_of_the_workspace_go_first(pair):
    client, _ = pair
    session = new_session(client)
    client.call("write_file", path="random.py", content="mine = 'of the workspace'", session_id=session)
    assert said(client, "import random; print(random.mine)", session) == "of the workspace"
    client.call("write_file", path="statistics/__init__.py", content="mine = 'a package'", session_id=session)
    assert said(client, "import statistics; print(statistics.mine)", session) == "a package"
    client.call("write_file", path="csv/notes.txt", content="no module", session_id=session)
    assert said(client, "import csv; print(csv.reader.__name__)", session) == "reader"


@pytest.mark.parametrize("when", ["before the interpreter", "among many", "while it runs"])
def test_packages_of_the_user_go_first(pair, when):
    client, _ = pair
    session = new_session(client)
    if when == "while it runs":
        assert said(client, "print('started')", session) == "started"
    said(client, "d=$(python3 -c 'import site; print(site.getusersitepackages())')\nmkdir -p $d/pandas $d/own_thing\n"
         "echo 'mine = \"of the user\"' | tee $d/pandas/__init__.py > $d/own_thing/__init__.py", session, "bash")
    if when == "among many":
        said(client, "cd $(python3 -c 'import site; print(site.getusersitepackages())') && touch other{1..600}.py", session, "bash")
    code = "import pandas; print(pandas.mine)"
    if when == "while it runs":  # as in a plain start: the folder was not there
        code = "import site, sys; sys.path.insert(1, site.getusersitepackages()); " + code
    else:
        assert said(client, "import own_thing; print(own_thing.mine)", session) == "of the user"
    assert said(client, code, session) == "of the user"


def test_figures_are_drawn_from_warm_libraries(pair):
    client, sessions = pair
    needs(client.run("import matplotlib", session_id=sessions[0])["status"] == "completed", "matplotlib")
    run = client.run("import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4]); plt.show()", session_id=sessions[0])
    assert run["status"] == "completed" and run["outputs"][0]["chart"]["type"] == "line", run
    assert said(client, "import matplotlib; print(matplotlib.get_backend().lower(), matplotlib.get_configdir())",
                sessions[0]) == "agg /home/user/.config/matplotlib"


@pytest.mark.parametrize("before", ["%matplotlib inline", "import pandas as pd; pd.Series([1]).plot().figure.clear()"])
def test_each_shown_figure_is_one(pair, before):
    client, _ = pair
    session = forked_session(client)
    for module in ("matplotlib", "pandas", "IPython"):
        found = said(client, f"import importlib.util; print(importlib.util.find_spec('{module}') is not None)", session)
        needs(found == "True", module)
    run = client.run(f"{before}\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('A'); plt.show()\n"
                     "plt.hist([1, 2, 2, 3]); plt.title('B'); plt.show()", session_id=session)
    assert [output["chart"]["title"] for output in run["outputs"]] == ["A", "B"], run


MULTIPLE = {
    "fork": "import multiprocessing as m\nwith m.get_context('fork').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    "spawn": "import multiprocessing as m\nwith m.get_context('spawn').Pool(2) as p: print(p.map(abs, [-1, -2]))",
    "subprocess": "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print([1, 2])'], text=True))",
    "futures": "from concurrent.futures import ThreadPoolExecutor as E\nwith E() as e: print(list(e.map(abs, [-1, -2])))",
    "asyncio": "import asyncio\nprint(await asyncio.gather(*[asyncio.sleep(0.01, i) for i in (1, 2)]))",
    "fork by hand": "import os\npid = os.fork()\nif pid == 0: os._exit(7)\nprint([1, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) - 5])",
    "what it is": "import os, sys\nown = os.readlink('/proc/self/exe') == os.path.realpath(sys.executable)\n"
                  "print([int(open('/proc/self/exe', 'rb').read(4) == b'\\x7fELF'), own + 1])",
}


@pytest.mark.parametrize("how", MULTIPLE)
def test_what_forks_and_threads_do_works(pair, how):
    client, sessions = pair
    assert said(client, MULTIPLE[how], sessions[0]) == "[1, 2]"


def test_sql_comes_from_it_too(pair):
    client, sessions = pair
    run = client.run("SELECT 6 * 7 AS answer", "sql", session_id=sessions[0])
    assert run["outputs"][0]["json"]["rows"] == [[42]], run


def test_it_holds_nothing_of_anybody(state):
    with server(state) as client:
        (pid,) = zygote.pids(state)
        session = new_session(client, env={"MINE": "of-this-session"})
        said(client, "print('marker-' + 'of-the-code')", session)
        kinds = sorted(os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0].replace(str(zygote.directory_of(state)), "")
                       for fd in os.listdir(f"/proc/{pid}/fd"))
        assert kinds == ["", "/dev/null", "/dev/null", "/zygote.lock", "/zygote.log", "socket", "socket"], kinds
        assert len(os.listdir(f"/proc/{pid}/task")) == 1
        memory = memory_of(pid)
        for word in (SECRET, "API_TOKEN", session, "of-this-session", "marker-of-the-code"):
            assert word.encode() not in memory, word
        assert b"hutch_runner" in memory  # it can be read at all


def memory_of(pid):
    parts = []
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            place, rights, _, _, _, *name = line.split()
            # All but what is mapped of the files of packages; of files that were deleted, too.
            if not rights.startswith("r") or (name and name[0].startswith(("/usr/", "/lib/")) and rights[1] != "w"):
                continue
            start, end = (int(number, 16) for number in place.split("-"))
            memory.seek(start)
            with contextlib.suppress(OSError):  # guard pages, the kernel's own
                parts.append(memory.read(end - start))
    return b"".join(parts)


def test_no_box_reaches_it(pair):
    client, sessions = pair
    directory = zygote.directory_of(client.state)
    assert (directory / "zygote.sock").stat().st_mode & 0o777 == 0o600
    assert said(client, f"import os; print(os.path.exists({str(directory)!r}))", sessions[0]) == "False"


def test_when_it_is_killed_a_new_one_comes(state):
    with server(state) as client:
        session = new_session(client)
        said(client, "kept = 7", session)
        (first,) = zygote.pids(state)
        os.kill(first, signal.SIGKILL)
        zygote.wait_until(lambda: not zygote.pids(state), "it does not die")
        assert said(client, "print(kept)", session) == "7"  # who comes from it lives on
        begin = time.monotonic()
        while not zygote.is_warm(state):
            other = new_session(client)
            assert said(client, "print(1)", other) == "1"
            client.call("delete_session", session_id=other)
            assert time.monotonic() < begin + zygote.PATIENCE, zygote.log(state)
        zygote.wait_until(lambda: zygote.accepts(state), "it does not listen")
        forked_session(client)


def test_when_it_is_stopped_sessions_start_without_it(state):
    with server(state) as client:
        (pid,) = zygote.pids(state)
        os.kill(pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            session = new_session(client)
            assert time.monotonic() - begin < 30 * PATIENCE
            assert origin_of(client, session) == "started"
            assert said(client, "print(1)", session) == "1"
        finally:
            os.kill(pid, signal.SIGCONT)
        # All that was asked of it meanwhile has come to nothing.
        zygote.wait_until(lambda: not zygote.children(pid), "it has made a box for nobody")
        forked_session(client)


def test_two_servers_share_one_and_it_goes_with_the_last(state):
    with server(state) as first:
        (pid,) = zygote.pids(state)
        with server(state) as second:
            assert zygote.pids(state) == [pid]
            forked_session(second)
            first.close()
            session = forked_session(second, name="stays")
        zygote.wait_until(lambda: not zygote.pids(state), "it stays without a server")
    assert not (zygote.directory_of(state) / "zygote.sock").exists()
    # The box that came from it is still there, and is ended by whoever comes next.
    with Client(state) as later:
        assert said(later, "print(2)", session) == "2"


def test_it_can_be_switched_off(state, tmp_path):
    config = tmp_path / "config.toml"
    config.write_text("zygote = false\n")
    with Client(state, "--config", str(config), env={"HUTCH_ZYGOTE": "0"}) as client:
        assert origin_of(client, new_session(client)) == "started"
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    server = subprocess.Popen([hutch_binary(), "stdio", "--state-dir", state, "--config", str(config)], env=environment,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    server.communicate(timeout=60 * PATIENCE)
    assert not pathlib.Path(zygote.directory_of(state), "zygote.log").exists()
    wrong = subprocess.run([hutch_binary(), "doctor", "--state-dir", state], env={**environment, "HUTCH_ZYGOTE": "no"},
                           capture_output=True, text=True)
    assert wrong.returncode == 2 and "HUTCH_ZYGOTE must be 0 or 1" in wrong.stderr


def test_doctor_says_whether_it_works(state):
    told = subprocess.run([hutch_binary(), "doctor", "--json", "--state-dir", state], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "HOME": "/"}, timeout=120 * PATIENCE)
    findings = {finding["layer"]: finding for finding in json.loads(told.stdout)}
    assert findings["zygote"]["state"] == "good", findings["zygote"]
