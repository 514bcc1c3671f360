"""Tests what cells leave on the event loop, which stands still between them: a note says so."""

import pytest

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at

SERVER = "import asyncio\nasync def answer(r, w): w.write(b'hi'); w.close()\n"


def stands_still(what, verb="goes", them="it", server=False):
    return (f"{what} of asyncio {verb} on only while a cell awaits: run {them} with background: true, and await {them} there"
            + (" (serve_forever() of a server)" if server else ""))


@pytest.mark.parametrize("opened", ["await asyncio.start_server(answer, '127.0.0.1', 0)", "await asyncio.start_unix_server(answer, 'socket')"])
def test_a_server_that_stands_still(python, opened):
    assert python.run(f"{SERVER}server = {opened}").done["note"] == stands_still("a server", server=True)
    assert "note" not in python.run("server.sockets[0].fileno()").done
    assert "note" not in python.run("await asyncio.sleep(0)").done
    again = python.run(f"{opened}\n1 / 0")
    assert not again.ok and again.done["note"] == stands_still("a server", server=True)
    assert "note" not in python.run("server.close(); await asyncio.sleep(0)").done
    assert python.run("server = " + opened.replace("'socket'", "'other'")).done["note"] == stands_still("a server", server=True)


def test_tasks_that_stand_still(python):
    left = "import asyncio\nn = globals().get('n', 0)\nasync def work():\n    await asyncio.sleep(0.01)\n"
    assert python.run(left + "task = asyncio.create_task(work())\nawait asyncio.sleep(0)").done["note"] == stands_still("a task")
    assert "note" not in python.run("1").done and "note" not in python.run("await asyncio.sleep(0)").done
    more = python.run("more = [asyncio.create_task(work()) for _ in range(3)]\nawait asyncio.sleep(0)")
    assert more.done["note"] == stands_still("3 tasks", "go", "them")
    both = python.run(SERVER + "more.append(asyncio.create_task(work()))\nawait asyncio.start_server(answer, '127.0.0.1', 0);")
    assert both.done["note"] == stands_still("a task and a server", "go", "them", server=True)
    assert "note" not in python.run("await asyncio.gather(task, *more)").done


@pytest.mark.parametrize("code", [
    "await asyncio.gather(asyncio.create_task(asyncio.sleep(0)), asyncio.sleep(0))",
    "task = asyncio.create_task(asyncio.sleep(9))\nawait asyncio.sleep(0)\ntask.cancel()",
    "async with await asyncio.start_server(answer, '127.0.0.1', 0): pass",
    "r, w = await asyncio.open_connection('127.0.0.1', port)",
    "async def main(): task = asyncio.create_task(asyncio.sleep(9))\nasyncio.run(main())",
    "asyncio.all_tasks = None; task = asyncio.create_task(asyncio.sleep(9)); await asyncio.sleep(0)",
])
def test_what_needs_no_note(python, code):
    python.run(SERVER + "import socket\nlistener = socket.create_server(('127.0.0.1', 0)); port = listener.getsockname()[1]")
    ending = python.run(code)
    assert ending.ok and "note" not in ending.done, ending


def test_no_note_of_a_background_run(python):
    ending = python.run(SERVER + "server = await asyncio.start_server(answer, '127.0.0.1', 0)\nt = asyncio.create_task(asyncio.sleep(9))", background=True)
    assert ending.ok and "note" not in ending.done


def test_a_server_still_serves_after_it_was_looked_at(python):
    python.run(SERVER + "server = await asyncio.start_server(answer, '127.0.0.1', 0)")
    code = "r, w = await asyncio.open_connection(*server.sockets[0].getsockname())\nprint(await r.read())"
    assert python.run(code).stdout == "b'hi'\n"


# --- processes -----------------------------------------------------------------------------------


def test_processes_that_go_on_are_told_once_with_their_pids(python):
    begun = python.run("import subprocess\na = subprocess.Popen(['sleep', '60'])\nb = subprocess.Popen(['sleep', '61'])\n(a.pid, b.pid)")
    first, second = eval(begun.text)
    assert begun.done["left_running"] == {"processes": [{"pids": [first], "command": "sleep 60"}, {"pids": [second], "command": "sleep 61"}],
                                          "more": 0, "of_earlier_run": False, "has_objects": True}
    assert "left_running" not in python.run("1").done
    again = python.run("a.kill(); a.wait()\nimport os\nif (c := os.fork()) == 0:\n    import time; time.sleep(60); os._exit(0)\nc")
    assert again.done["left_running"]["processes"] == [{"pids": [int(again.text)], "command": "a fork of this interpreter"}]
    assert "left_running" not in python.run("os.kill(c, 9); os.waitpid(c, 0); b.kill(); b.wait()").done


def test_processes_are_told_of_when_files_can_be_opened_again(python):
    python.run("import resource, subprocess; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); files = []")
    assert not python.run("child = subprocess.Popen(['sleep', '100'])\nwhile True: files.append(open('/dev/null'))").ok
    left = python.run("files.clear()").done["left_running"]
    assert left["of_earlier_run"] and left["processes"][0]["command"] == "sleep 100"
    assert "left_running" not in python.run("try:\n    while True: files.append(open('/dev/null'))\nexcept OSError: pass").done
    assert "left_running" not in python.run("files.clear()").done


@pytest.mark.parametrize("code", [
    "subprocess.run(['true'])", "p = subprocess.Popen(['true']); p.wait()", "os.system('true')",
    "p = subprocess.Popen(['true'])\nos.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)",  # a zombie
])
def test_processes_that_have_ended_are_not(python, code):
    assert "left_running" not in python.run(f"import os, subprocess\n{code};").done


# --- threads -------------------------------------------------------------------------------------


IN_THREADS = "import threading, time\nend = threading.Event()\ndef w(): end.wait()\n"


def goes_on(which, run, they="it prints"):
    return f"{which}; what {they} comes in the output of the run that is on then, marked [thread of {run}], or of the last one, which get_run gives"


@pytest.mark.parametrize("started, name", [
    ("threading.Thread(target=w).start()", "Thread-1 (w)"),
    ("threading.Thread(target=w, daemon=True, name='mine').start()", "mine"),
    ("threading.Timer(60, w).start(); [one for one in threading.enumerate() if isinstance(one, threading.Timer)][0].daemon", "Thread-1"),
    ("class T(threading.Thread):\n    def run(self): w()\nT(name='n' * 99, daemon=True).start()", "n" * 57 + "..."),
    ("import http.server\nserver = http.server.HTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler)\n"
     "threading.Thread(target=server.serve_forever, daemon=True).start()", "Thread-1 (serve_forever)"),
    ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", "Thread-1 (sleep)"),
    ("from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(3); pool.submit(w);", "ThreadPoolExecutor-0_0"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(1); pool.apply_async(w);", "Thread-1 (worker)"),
])
def test_a_thread_that_goes_on_is_told_once(python, started, name):
    assert python.run(IN_THREADS + started).done["note"] == goes_on(f"a thread of this run goes on: {name}", "run_1")
    assert "note" not in python.run("1").done
    assert "note" not in python.run("end.set()\nfor one in threading.enumerate():\n    if isinstance(one, threading.Timer): one.cancel()").done


def test_of_many_threads_some_are_named(python):
    assert "note" not in python.run(IN_THREADS).done
    ending = python.run("for n in range(5): threading.Thread(target=w, name=f'n{n}').start()\n1 / 0")
    assert ending.done["note"] == goes_on("5 threads of this run go on: n0, n1, n2 and 2 more", "run_2", "they print"), "of a failed run as well"
    more = python.run("threading.Thread(target=w, name='another').start()")
    assert more.done["note"] == goes_on("a thread of this run goes on: another", "run_3")
    assert "note" not in python.run("end.set()").done


def test_a_job_of_an_idle_pool_is_of_the_run_that_has_asked_for_it(python):
    code = IN_THREADS + "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1); pool.submit(int).result();"
    assert "note" not in python.run(code).done
    assert python.run("pool.submit(w);").done["note"] == goes_on("a thread of this run goes on: ThreadPoolExecutor-0_0", "run_2")
    assert "note" not in python.run("end.set()").done


@pytest.mark.parametrize("code", [
    "threading.Thread(target=int).start()", "t = threading.Thread(target=w); t.start(); end.set(); t.join()",
    "from multiprocessing.pool import ThreadPool\npool = ThreadPool(2); pool.map(int, '12');",
    "import logging.handlers, queue\nlistener = logging.handlers.QueueListener(queue.Queue()); listener.start()",
    "import asyncio\nawait asyncio.to_thread(int);",
])
def test_threads_of_which_nothing_is_told(python, code):
    ending = python.run(IN_THREADS + code)
    assert ending.ok and "note" not in ending.done, ending.done


LATER = "import sys, threading\ngo = threading.Event(); done = threading.Event()\n"


@pytest.mark.parametrize("started", [
    "threading.Thread(target=late, daemon=True).start()", "threading.Timer(0, late).start()",
    "class T(threading.Thread):\n    def run(self): late()\nT(daemon=True).start()",
    "import functools\nthreading.Thread(target=functools.partial(late)).start()",
    "from functools import partial\nclass Own(partial): pass\nthreading.Timer(0, partial(Own(lambda one, two: late(), 1), 2)).start()",
    "class Works:\n    def __call__(self): late()\nthreading.Thread(target=Works()).start()"])
def test_what_a_thread_of_an_earlier_run_prints_is_marked(python, started):
    assert python.run(LATER + "def late():\n    go.wait(); print('one', 2); print('half', end=' ')\n    print('done\\nthree')\n    done.set()\n" + started).ok
    ending = python.run("print('mine')\ngo.set(); done.wait()\nprint('mine too')")
    mark = "[thread of run_1] "
    assert ending.stdout == f"mine\n{mark}one 2\n{mark}half done\n{mark}three\nmine too\n"
    assert python.run("print('mine')").stdout == "mine\n"


@pytest.mark.parametrize("prepared, said, lines", [
    ("", "print('one', file=sys.stderr); sys.stderr.write('two\\n')", ["one", "two"]),
    ("import logging", "logging.warning('one'); logging.getLogger('of a library').error('two')", ["WARNING:root:one", "ERROR:of a library:two"]),
    ("import logging\nlogging.basicConfig(format='%(message)s', level=logging.INFO)", "logging.info('one\\ntwo')", ["one", "two"]),
    ("import logging\nlogging.getLogger('a').addHandler(logging.StreamHandler())", "logging.getLogger('a').warning('one')", ["one"]),
    ("import logging", "logging.getLogger('nobody has set').warning('one')", ["one"]),
    ("import warnings", "warnings.warn_explicit('one', UserWarning, 'f.py', 3)", ["f.py:3: UserWarning: one"]),
    ("", "sys.__stderr__.write('one\\n')", ["one"]),
])
def test_what_it_writes_to_stderr_and_logs_is_marked(python, prepared, said, lines):
    started = f"{prepared}\ndef late():\n    go.wait()\n    {said}\n    done.set()\nthread = threading.Thread(target=late, daemon=True); thread.start()"
    assert python.run(LATER + started).ok
    ending = python.run("print('mine', file=sys.stderr)\ngo.set(); done.wait()\nprint('mine too', file=sys.stderr)")
    mark = "[thread of run_1] "
    assert ending.stderr.splitlines() == ["mine", *(mark + line for line in lines), "mine too"], ending
    assert python.run("print('mine', file=sys.stderr)").stderr == "mine\n"


def test_what_a_thread_fails_with_is_marked(python):
    assert python.run(LATER + "def late():\n    go.wait(); 1 / 0\nthread = threading.Thread(target=late, daemon=True); thread.start()").ok
    ending = python.run("go.set(); thread.join()")
    assert ending.ok and "ZeroDivisionError" in ending.stderr
    assert all(line.startswith("[thread of run_1] ") for line in ending.stderr.splitlines()), ending


LIBRARIES = "import sys, threading, time, urllib.request\nfrom http.server import *\ngo = threading.Event(); done = threading.Event()\n"
HANDLES = """class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        print('one')
        print('two', file=sys.stderr)
        self.send_response(200); self.end_headers()
    def log_message(self, *_): pass
server = {kind}(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()"""
ASK = "urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}').read()\n"
WAITS = "def waits():\n    go.wait()\n    print('one')\n    print('two', file=sys.stderr)\n    done.set()\n"
FREE = "go.set(); done.wait()\n"
POOL_OF_THREADS = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"


@pytest.mark.parametrize("made, asks", [
    (HANDLES.format(kind="HTTPServer"), ASK),
    (HANDLES.format(kind="ThreadingHTTPServer"), ASK),  # which starts a thread for each request
    (POOL_OF_THREADS + WAITS + "job = pool.submit(waits)", FREE),  # at work when its run ends
    (POOL_OF_THREADS + WAITS + "jobs = [pool.submit(go.wait), pool.submit(waits)]", FREE),  # queued then
    ("import asyncio\n" + WAITS + "_ = asyncio.get_running_loop().run_in_executor(None, waits)\nawait asyncio.sleep(0)", FREE),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(1)\n" + WAITS + "job = pool.apply_async(waits)", FREE),
    (WAITS + "class Worker(threading.Thread):\n    def run(self): inner = threading.Thread(target=waits); go.wait(); inner.start()\nWorker().start()", FREE),
], ids=["server", "threading server", "job", "queued job", "executor of a loop", "pool", "thread of a thread"])
def test_threads_of_libraries_are_marked_too(python, made, asks):
    assert python.run(LIBRARIES + made).ok
    ending = python.run("print('mine')\n" + asks + "print('mine too')")
    mark = "[thread of run_1] "
    assert ending.stdout == f"mine\n{mark}one\nmine too\n" and ending.stderr == f"{mark}two\n", ending


@pytest.mark.parametrize("started", ["threading.Timer(0, list, [said])", "threading.Thread(target=list, args=[said])"])
def test_a_thread_with_a_function_of_pythons_is_marked(python, started):
    assert python.run(f"import queue, threading\nwords = queue.Queue()\nsaid = map(print, iter(words.get, None))\nthread = {started}\nthread.start()").ok
    assert python.run("words.put('late'); words.put(None); thread.join()").stdout == "[thread of run_1] late\n"


def test_the_thread_that_draws_bars_draws_them_for_every_run(start):
    python = start("python", extras=True)
    assert python.run("import time\nfrom tqdm import tqdm\ntqdm.monitor_interval = 0.05\nfor _ in tqdm([1]): pass").ok
    ending = python.run("bar = tqdm(total=9, miniters=9, maxinterval=0.05)\nbar.update(2)\nwhile bar.miniters > 1: time.sleep(0.01)\nbar.close()")
    assert "2/9" in ending.stderr and "[thread of" not in ending.stderr, ending


@pytest.mark.parametrize("pool, submit", [
    ("from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)", "pool.submit({job}).result()"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(1)", "pool.apply({job})"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(1)", "pool.map(lambda _: ({job}), [1])"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(1)", "list(pool.imap(lambda _: ({job}), [1]))"),
    ("from multiprocessing.pool import ThreadPool\npool = ThreadPool(1)", "pool.apply_async(func={job}).get()"),
    ("import asyncio", "await asyncio.to_thread({job})")], ids=["executor", "pool", "map", "imap", "by name", "loop"])
def test_what_a_pool_does_for_a_run_is_of_that_run(python, pool, submit):
    """Beside threads that are another's, and whoever has made the pool."""
    assert python.run(LATER + pool + "\nhold = threading.Thread(target=go.wait, daemon=True); hold.start()").ok
    job = "lambda: print('now')" if "lambda _" not in submit else "print('now')"
    for _ in range(3):
        ending = python.run(submit.format(job=job))
        assert ending.ok and ending.stdout == "now\n", ending
    failed = python.run(submit.format(job="lambda: 1 / 0" if "lambda _" not in submit else "1 / 0"))
    assert "ZeroDivisionError" in failed.stderr and "hutch_runner" not in failed.stderr and "late_threads" not in failed.stderr


@pytest.mark.parametrize("made, used", [
    ("import asyncio, threading\nloop = asyncio.new_event_loop()\nthreading.Thread(target=loop.run_forever, daemon=True).start()\nasync def work(): print('now')",
     "asyncio.run_coroutine_threadsafe(work(), loop).result()"),
    ("from multiprocessing.pool import ThreadPool\nimport threading\npool = ThreadPool(1)\ndone = threading.Event()",
     "pool.apply_async(int, callback=lambda _: (print('now'), done.set())); done.wait()"),
    ("import logging, logging.handlers, queue, sys\nqueue = queue.Queue()\nlistener = logging.handlers.QueueListener(queue, logging.StreamHandler(sys.stdout))\nlistener.start()",
     "queue.put(logging.makeLogRecord({'msg': 'now'})); listener.stop()")], ids=["loop", "callback", "log"])
def test_threads_that_work_for_every_run_are_of_the_run_that_is_on(python, made, used):
    assert python.run(made).ok
    ending = python.run(used)
    assert ending.ok and ending.stdout == "now\n", ending


def test_threads_of_a_class_that_overrides_much_are_no_trouble_and_are_let_go(python):
    assert python.run("import gc, threading, time, weakref\ngo = threading.Event()\nclass W(threading.Thread):\n    is_alive = False\n    def run(self): go.wait()\n"
                      "W(daemon=True).start()\ndef starts():\n    global seen\n    go.wait()\n    one = threading.Thread(target=int); one.start(); one.join(); seen = weakref.ref(one)\n"
                      "starter = threading.Thread(target=starts); starter.start()").ok
    assert python.run("go.set(); starter.join(); gc.collect(); seen() is None").text == "True"


def test_processes_of_a_pool_print_for_the_run_that_is_on(python):
    assert python.run("import multiprocessing as m\npool = m.get_context('fork').Pool(1, maxtasksperchild=1)\nfor word in 'ab': pool.apply(print, word)").ok
    for word in "cd":
        assert python.run(f"pool.apply(print, '{word}')").stdout == f"{word}\n"


def test_a_thread_that_cannot_be_started_says_so(python):
    assert python.run(LATER + "hold = threading.Thread(target=go.wait, daemon=True); hold.start()").ok
    for code, words in (("hold.start()", "threads can only be started once"),
                        ("class Bare(threading.Thread):\n    def __init__(self): pass\nBare().start()", "__init__() not called")):
        ending = python.run(code)
        assert words in ending.stderr and "late_threads" not in ending.stderr, ending
        assert python.run("print('next')").stdout == "next\n"


def test_a_partial_of_itself_holds_up_no_run(python):
    made = ("import functools, threading, time\nclass Own(functools.partial):\n    def __call__(self): time.sleep(60)\n"
            "own = Own(print); own.__setstate__((own, (), {}, {})); threading.Thread(target=own, daemon=True).start()")
    assert python.run(made).ok and python.run("print('next')").stdout == "next\n"


def test_threads_of_pools_print_for_the_run_that_is_on(python):
    made = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\npool.submit(print, 'first').result()"
    assert python.run(made).stdout == "first\n"
    assert python.run("pool.submit(print, 'second').result()").stdout == "second\n"


# --- processes that multiprocessing starts anew ----------------------------------------------------


POOLS = pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
POOL = "import multiprocessing as m\nwith m.get_context('{method}').Pool(2) as pool: print(pool.map({what}, [1, 2]))"


@POOLS
def test_a_pool_has_functions_and_classes_of_cells(python, method):
    python.run("import math\nfrom dataclasses import dataclass\nBASE = 10\nprint('computed once')\n"
               "@dataclass\nclass Point:\n    x: int\n    def up(self): return Point(self.x + BASE)")
    python.run("def f(x):\n    return Point(math.floor(x)).up()\nresult = f(5)")
    ending = python.run(POOL.format(method=method, what="f"))
    assert ending.stdout == "[Point(x=11), Point(x=12)]\n", ending.stderr
    within = python.run("def g(x): return x * BASE\n" + POOL.format(method=method, what="g"))
    assert within.stdout == "[10, 20]\n", within.stderr
    if method != "fork":
        assert "computed once" not in ending.stdout + within.stdout


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_function_that_is_defined_after_its_pool(python, method):
    python.run(f"import multiprocessing as m\npool = m.get_context('{method}').Pool(1)\npool.map(abs, [-1])")
    assert python.run("def later(x): return x + 1").ok
    assert python.run("pool.map(later, [1])").text == "[2]"
    assert python.run("from concurrent.futures import ProcessPoolExecutor as P\n"
                      f"with P(1, mp_context=m.get_context('{method}')) as p: print(list(p.map(later, [5])))").stdout == "[6]\n"


@pytest.mark.parametrize("made, words", [
    ("def maker():\n    def made(x): return x\n    made.__qualname__ = 'made'\n    return made\nmade = maker()", "put it into a file"),
    ("import threading\ntable = dict(a=threading.Lock())\ndef made(x): return table", "name 'table' is not defined"),
    ("def deco(f): return f\nregistry = deco(deco)\n@registry\ndef made(x): return x", "put it into a file")])
def test_what_a_process_cannot_have_is_one_error(python, made, words):
    python.run(made)
    ending = python.run(POOL.format(method="spawn", what="made"))
    assert not ending.ok and words in ending.error["message"].lower()
    assert ("(table is here, but not in the pool's processes" in ending.stderr) == ("table" in words)
    assert ending.stderr.count("Traceback") == 3  # the process's, and where the pool and the cell have heard of it


ANEW = pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=pytest.mark.slow)])  # which starts them by the same code


@ANEW
@pytest.mark.parametrize("cells, says", [
    (["scale = 1; lookup = {}", "scale = int('50')\nfor k in 'ab': lookup[k] = 7\nscale += 1",
      "def made(x): return x * scale + lookup.get('a', 0)"], "[58, 109]"),
    (["import pandas, datetime\nframe = None", "frame = pandas.DataFrame({'a': [4, 5]}); since = datetime.date.fromisoformat('2024-02-03')",
      "def made(x): return int(frame['a'][x - 1]), since.day"], "[(4, 3), (5, 3)]"),
    (["class Model:\n    scale = 1\nkept = None", "kept = Model(); kept.scale = int('3')", "def made(x): return kept.scale * x, type(kept) is Model"],
     "[(3, True), (6, True)]"),
    (["items = [1]\ndef fill(): items.append(2)", "fill()\ndef made(x): return items"], "[[1, 2], [1, 2]]"),
    (["json = 5; _values = 7; pickle = int('1')", "def made(x): return json * x + _values"], "[12, 17]")])
def test_a_process_has_the_sessions_values_and_not_those_of_before(start, cells, says, method):
    python = start("python", extras="pandas" in cells[0])
    for cell in cells:
        assert python.run(cell).ok
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == says + "\n", ending.stderr


@ANEW
@pytest.mark.parametrize("cells, name", [
    (["import threading\nlookup = {}", "lookup['a'] = threading.Lock()"], "lookup"),
    (["import threading\nitems = other = []", "items.append(threading.Lock())"], "other"),
    (["large = b''", "large = bytes(5_000_000)"], "large"),
    (["import threading\nkept = 1", "if True:\n    with threading.Lock(): kept = threading.Lock()"], "kept"),
    (["import threading\nkept = 1", "for kept in [threading.Lock()]: pass\nlocks = {}"], "kept"),
    (["import threading\nbase = 1\nkept = base", "base = [threading.Lock()]", "kept = base[0]"], "kept"),
    (["import threading\ndata = []\ndef load(): data.extend([1, threading.Lock()])", "load()"], "data"),
    (["import threading\ndata = []\ndef load(): data.extend([1, threading.Lock()])\nload()"], "data"),
    (["data = {}\ndef load():\n    for key in range(9): data[key] = lambda: key", "load()"], "data"),
    (["import threading\nfirst = second = {}\ndef load(table): table['lock'] = threading.Lock()", "load(first)"], "second"),
    (["data = []\ndef load(): data.append(b'1' * 5_000_000)\nload()"], "data"),
    (["handler = None\ndef one(): pass\ndef choose():\n    global handler\n    handler = one", "choose()"], "handler"),
    (["import threading\nkept = 1\ndef choose():\n    global kept\n    kept = threading.Lock()\nchoose()"], "kept")])
def test_what_a_process_cannot_be_given_is_missed_rather_than_old(python, cells, name, method):
    for cell in [*cells, f"def made(x): return bool({name})"]:
        assert python.run(cell).ok
    ending = python.run(POOL.format(method=method, what="made"))
    assert not ending.ok and ending.error["message"] == f"name '{name}' is not defined"
    assert f"({name} is here, but not in the pool's processes" in ending.stderr


@ANEW
@pytest.mark.parametrize("forget", ["del kept", "def forget():\n    global kept\n    del kept\nforget()", "globals().pop('kept')"])
def test_what_the_session_has_deleted_is_not_there(python, forget, method):
    assert python.run("kept = 1; other = 2\ndef made(x): return other, 'kept' in globals()").ok
    assert python.run(forget).ok
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == "[(2, False), (2, False)]\n", ending.stderr


@ANEW
def test_what_comes_later_in_the_cell_of_the_pool_is_there(python, method):
    cell = (f"import multiprocessing as m\npool = m.get_context('{method}').Pool(1)\nlimits = {{'a': lambda: 4}}\n"
            "def made(x): return x + limits['a']()\nprint(pool.map(made, [1])); pool.terminate()")
    for turn in range(2):  # the second time those of the first are there when the pool starts
        ending = python.run(cell)
        assert ending.stdout == "[5]\n", ending.stderr


@ANEW
@pytest.mark.parametrize("cell, name", [
    ("data = []\ndef load(): data.append(7)\nload()", "data"), ("count = 0\ndef load():\n    global count\n    count += 1\nload()", "count")])
def test_what_functions_change_after_the_start_of_the_pool_is_missed_rather_than_old(python, cell, name, method):
    python.run(f"import multiprocessing as m\npool = m.get_context('{method}').Pool(1)\npool.map(abs, [-1])")
    assert python.run(f"limits = {{'a': 4, 'b': [5]}}; names = ['x']\ndef made(x):\n    names = []\n    names.append(limits.get('a'))\n    return names").ok
    assert python.run("pool.map(made, [1])").text == "[[4]]"
    assert python.run(cell).ok
    ending = python.run(f"def told(x): return {name}\npool.map(told, [1])")
    assert not ending.ok and ending.error["message"] == f"name '{name}' is not defined"


@ANEW
@pytest.mark.parametrize("cell, why", [
    ("import threading\ndata = []\ndef load(): data.append(threading.Lock())\nload()", "it has a _thread.lock"),
    ("import threading\ndata = None\ndef load():\n    global data\n    data = threading.Lock()\nload()", "it is a _thread.lock"),
    ("data = []\ndef load(): data.append(b'1' * 5_000_000)\nload()", "it is too large: a value may have 1 MiB, and all have 2")])
def test_why_a_process_has_no_value_is_told(python, cell, why, method):
    assert python.run(cell + "\ndef made(x=0): return len(data)").ok
    ending = python.run(POOL.format(method=method, what="made"))
    assert f"values that are plain and small, and {why}: give it" in ending.stderr
    alone = python.run(f"p = m.get_context('{method}').Process(target=made); p.start(); p.join(); p.exitcode")
    assert alone.text == "1" and "NameError: name 'data' is not defined in this process" in alone.stderr, alone.stderr
    assert alone.stderr.endswith(f"started anew: {why}\n")


@ANEW
def test_each_process_has_the_values_of_its_start(python, method):
    python.run(f"import multiprocessing as m\ncontext = m.get_context('{method}')\nturn = 0\nanswers = context.SimpleQueue()\n"
               "def tell(queue): queue.put(turn)")
    python.run("started = []\nfor turn in range(3):\n    started.append(context.Process(target=tell, args=[answers])); started[-1].start()")
    ending = python.run("print(sorted(answers.get() for one in started))")
    assert ending.stdout == "[0, 1, 2]\n", ending.stderr


@ANEW
def test_what_no_cell_changes_is_there_however_it_is_used(python, method):
    python.run("import math, threading\nnames = ['a', 'b']; handlers = {'up': lambda x: x + 1}; lock = threading.Lock()\nnote: int\nhandlers")
    python.run("print(len(names), [names for names in 'ab'], names[0].upper(), math.floor(2.5), handlers['up'](1))\nnote: int")
    python.run("def made(x): return handlers['up'](x), names, math.floor(x)")
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == "[(2, ['a', 'b'], 1), (3, ['a', 'b'], 2)]\n", ending.stderr


LIBRARY = """import sys, types
class Lazy(types.ModuleType): pass
class Kind: __slots__ = ()
sys.modules[__name__].__class__ = Lazy
kind, calls = Kind(), {}
"""


@ANEW
@pytest.mark.parametrize("made, used", [
    ("import enum\nclass Mode(enum.Enum):\n    FAST = object()\nCONFIG = {'mode': Mode.FAST, 'lock': threading.Lock}", "CONFIG['mode'].name"),
    ("import signal\nSIGNALS = {signal.SIGTERM: lambda: 'ended'}", "SIGNALS[signal.SIGTERM]()"),
    ("from typing import *\nGrid = List[List[int]]; Maybe = Optional[Grid] | str; Pair = tuple[int, 'Grid']", "Grid, Maybe, Pair"),
    ("import random\nseed = random.seed; draw = {'by': random.random}", "seed(1), draw['by']() < 1"),
    ("import os, sys\nhome = os.environ; error = [sys.stderr]", "home['HOME'], error[0].fileno()"),
    ("import library\nbackend = [library]; kind = {'kind': library.kind}", "backend[0].calls, type(kind['kind']).__name__"),
])
def test_what_objects_of_libraries_stand_in_is_there(python, made, used, method):
    (python.cwd / "library.py").write_text(LIBRARY)
    assert python.run(f"import threading\n{made}").ok
    there = python.run(f"def made(x): return str(({used}))\nmade(1)").text
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == f"[{there}, {there}]\n", ending.stderr


@pytest.mark.slow
@ANEW
def test_objects_of_large_libraries_are_there(extras, method):
    extras.run("from scipy import stats; import matplotlib.pyplot as plt, sympy\n"
               "density = stats.norm.pdf; shown = {'map': plt.cm.viridis, 'n': 3}; ratio = [sympy.pi]")
    assert extras.run("def made(x): return round(float(density(0)), 3), shown['map'].name, str(ratio[0])").ok
    ending = extras.run(POOL.format(method=method, what="made"))
    assert ending.stdout == f"{[(0.399, 'viridis', 'pi')] * 2}\n", ending.stderr


@ANEW
@pytest.mark.parametrize("made", [
    "import sys\ndata = [sys.stderr]\ndef choose(): data[0] = sys.stdout",
    "import sys\ndata = sys.stderr\ndef choose():\n    global data\n    data = sys.stdout",
    "import enum, threading\nclass Mode(enum.Enum): FAST, SLOW = threading.Lock(), threading.RLock()\ndata = [Mode.FAST]\n"
    "def put(rows): rows[0] = Mode.SLOW\ndef choose(): put(data)",
    pytest.param("data = [None] * 1_500_000\ndef put(rows): rows[5] = 'new'\ndef choose(): put(data)", marks=pytest.mark.slow),
    pytest.param("data = [[1]] * 700_000\ndef choose():\n    for row in data[:1]: row[0] = 2", marks=pytest.mark.slow),
    "data = [lambda: 1] * 3000\ndef put(rows): rows[5] = max\ndef choose(): put(data)",
    "data = [lambda: 1] * 3000\ndef choose(): data[5] = max",
    "data = [[0, lambda: 1]] * 3000\ndef choose():\n    for row in data: row[0] = 1",
    "data = [[0, lambda: 1]] * 3000\ndef choose(): [row.append(at) for at, row in enumerate(data)]",
    "data = {'a': [[0, lambda: 1]] * 3000}\ndef choose():\n    for rows in data.values(): rows[0] = 1",
    "data = {'a': [[0, lambda: 1]] * 3000}\ndef choose():\n    row = data['a'][5]\n    row[0] = 1"])
def test_what_functions_may_have_changed_is_missed_where_shapes_do_not_tell_all(python, made, method):
    assert python.run(f"{made}\nchoose()\ndef made(x): return bool(data)").ok
    ending = python.run(POOL.format(method=method, what="made"))
    assert not ending.ok and ending.error["message"] == "name 'data' is not defined"


@ANEW
@pytest.mark.parametrize("made, used", [
    ("data = [True] * 2_000_000", "sum(data)"), ("data = [0.0] * 300_000\ndef show(rows): return rows[0]\nshow(data)", "len(data)"),
    ("data = {'a': [lambda: 1] * 3000}\nprint(len(data))", "data['a'][0]()"), ("data = 'ab' * 1_000_000", "data.count('a')"),
    ("data = [lambda: 1, 'a'] * 3000\ndef show(): return [str(one) for one in data[:9]], max(map(str, reversed(data)))\nshow()", "data[1]"),
    ("data = [('a', lambda: 1)] * 3000\nfor name, one in data: pass\nlast = data[-1]", "len(data)"),
    ("data = " + "[" * 60 + "lambda: 1" + "]" * 60, "len(data)"), ("data = {lambda: 1, NUMBERS}", "len(data)"),
    ("data = [{'a', 'b', 'c', 'd', 'e', 'f'}, 'x' * 1_100_000, [NUMBERS]]", "sorted(data[0])")])
def test_what_is_too_large_is_there_where_nothing_changes_it(python, made, used, method):
    made = made.replace("NUMBERS", ", ".join(map(str, range(3000))))
    assert python.run(f"{made}\ndef made(x): return {used}").ok
    there = python.run("made(1)").text
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == f"[{there}, {there}]\n", ending.stderr


@ANEW
def test_a_pool_starts_beside_what_is_nested_deeply(python, method):
    python.run("deep = {1: lambda: 1}\nfor turn in range(400): deep = {1: deep}\ndef made(x): return x")
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == "[1, 2]\n", ending.stderr


@ANEW
def test_a_pool_that_is_kept_has_what_functions_only_read(python, method):
    python.run(f"import multiprocessing as m\npool = m.get_context('{method}').Pool(1)\npool.map(abs, [-1])")
    python.run("CONFIG = {'sep': '-'}; STOP = {'a', 'b'}; TABLE = {1: ' x '}; rows = ['global']\n"
               "def made(x):\n    found = STOP.intersection('bc') | STOP.union('a')\n    return CONFIG['sep'].join(sorted(found)), TABLE[x].strip(), rows\n"
               "def other():\n    rows = []\n    def more(): rows.append(1)\n    return more")
    assert python.run("pool.map(made, [1])").text == "[('a-b', 'x', ['global'])]"
    python.run("class Kept:\n    lines = []\n    def more(self): lines.append(1)\nlines = []\nKept().more()")  # a class's names are not its methods'
    ending = python.run("def told(x): return lines\npool.map(told, [1])")
    assert not ending.ok and ending.error["message"] == "name 'lines' is not defined"


@ANEW
@pytest.mark.parametrize("rebind", ["def choose():\n    global process\n    process = fast\nchoose()", "globals().update(process=fast)",
                                    "1 / 0\ndef process(x): return 'never defined'"])
def test_a_function_is_the_one_that_the_session_has(python, rebind, method):
    python.run("def fast(x): return 'fast'\ndef process(x): return 'fast'")
    python.run("def process(x): return 'slow'" if "fast" in rebind else "pass")
    python.run(rebind)
    assert python.run("def made(x): return process(x)\nmade(1)").text == "'fast'"
    within = python.run("def process(x): return 'slow'\ndef choose():\n    global process\n    process = fast\nchoose()\n"
                        "def made(x): return process(x)\n" + POOL.format(method=method, what="made")) if "global" in rebind else None
    assert not within or within.stdout == "['fast', 'fast']\n", within.stderr
    for what in ("made", "process"):
        ending = python.run(POOL.format(method=method, what=what))
        assert ending.stdout == "['fast', 'fast']\n", ending.stderr


@ANEW
def test_a_function_that_no_cell_defines_is_missed_rather_than_another(python, method):
    python.run("def maker():\n    def made(): return 'made'\n    return made\ndef process(): return 'slow'\n"
               "def choose():\n    global process\n    process = maker()\nchoose()")
    ending = python.run("def told(x): return process()\n" + POOL.format(method=method, what="told"))
    assert not ending.ok and ending.error["message"] == "name 'process' is not defined"


@ANEW
def test_classes_have_the_data_that_functions_have_set(python, method):
    assert python.run("import enum\nclass Config:\n    rate = 1; table = {'a': 1}; many = set(); _own = 1\n    def up(self): return self.rate\n"
                      "class Mode(enum.IntEnum): FAST = 1\n"
                      "def tune(r): Config.rate = r; Config.table['b'] = 2; Config.many |= set(range(3000)); Config.more = 'more'\ntune(5)\n"
                      "def made(x): return Config().up() * x, Config.table, len(Config.many), Config.more, Mode.FAST").ok
    there = python.run("[made(1), made(2)]").text
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == there + "\n", ending.stderr


@ANEW
def test_classes_have_nothing_old(python, method):
    assert python.run("import fractions, logging, threading\nclass Base: hook = 'old'\nclass Config(Base):\n"
                      "    rate = 1; model = None; hook = None; lock = None; large = b''; gone = 1; kept = {'a': lambda: 1}; table = list(range(500_000))\n"
                      "    log = logging.getLogger('a'); NOTHING = object()\n    def get(self, x=NOTHING): return x is Config.NOTHING\n"
                      "def tune():\n    Config.rate = fractions.Fraction(5, 2); Config.model = [threading.Lock()]; Config.hook = tune\n"
                      "    Config.lock = threading.Lock(); Config.large = bytes(5_000_000); del Config.gone\ntune()").ok
    assert python.run("Alias = Config\ndef made(x):\n    missed = [name for name in ('model', 'hook', 'lock', 'large', 'gone') if not hasattr(Alias, name)]\n"
                      "    return str(Config.rate), len(missed), Config.kept['a'](), len(Config.table), Config.log.name, Config().get()").ok
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == f"{[('5/2', 5, 1, 500_000, 'a', True)] * 2}\n", ending.stderr
    ending = python.run("def told(x): return Config.model\n" + POOL.format(method=method, what="told"))
    assert ending.error["message"] == ("Config.model is not there in this process, which multiprocessing has started anew (spawn, forkserver): "
                                       "it has a _thread.lock")


@ANEW
def test_classes_that_cannot_be_set_and_enums_stay(python, method):
    assert python.run("import enum, threading\nfrom dataclasses import dataclass\nfrom typing import NamedTuple\n"
                      "class Fixed(type):\n    def __setattr__(cls, name, value): raise TypeError(name)\n    __delattr__ = None\n"
                      "class Config(metaclass=Fixed): parts = [threading.Event()]\nclass Mode(enum.Enum): FAST = [threading.Event()]\n"
                      "@dataclass(slots=True)\nclass Point: x: object = threading.Event\n@dataclass\nclass Line: x: object = (threading.Event(),)\n"
                      "class Pair(NamedTuple):\n    one: int = 1").ok
    assert python.run("def made(x): return len(Config.parts), Mode.FAST.name, Point().x is threading.Event, len(Line().x), Pair().one").ok
    ending = python.run(POOL.format(method=method, what="made"))
    assert ending.stdout == f"{[(1, 'FAST', True, 1, 1)] * 2}\n", ending.stderr


@ANEW
def test_a_class_is_as_its_cell_defines_it_anew(python, method):
    for rate in (1, 2):
        ending = python.run(f"import multiprocessing as m\npool = m.get_context('{method}').Pool(1)\nclass Config:\n    rate = {rate}\n    old_{rate} = 0\n"
                            f"def made(x): return Config.rate, Config.old_{rate}\nprint(pool.map(made, [1])); pool.terminate()")
        assert ending.stdout == f"[({rate}, 0)]\n", ending.stderr
    for start in ("", "import asyncio\nawait asyncio.sleep(0)\n"):  # this comes before the pool is there, and has been tuned
        ending = python.run(f"{start}class Config: rate = 1\ndef tune(): Config.rate = 5\ntune()\ndef made(x): return Config.rate\n"
                            + POOL.format(method=method, what="made"))
        assert ending.stdout == "[5, 5]\n", ending.stderr


def test_scripts_of_processes_that_have_begun_do_not_pile_up(python, tmp_path):
    python.run("import multiprocessing as m\nfrom multiprocessing import spawn\n"
               "for turn in range(40): spawn.get_preparation_data('one')")
    assert len(list((tmp_path / "state").glob("cells-*.py"))) == 16
