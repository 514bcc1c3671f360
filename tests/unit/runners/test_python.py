"""The Python runner: cells, values, failures."""

import os

import pytest

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at


@pytest.mark.parametrize("code, text", [
    ("1 + 1", "2"),
    ("x = 1\nx + 1", "2"),
    ("'text'", "'text'"),
    ("x = 1", None),
    ("None", None),
    ("5;", None),
    ("(5); # shown? no", None),
    ("'a;b'", "'a;b'"),
    ("5 # not; this", "5"),
    ("", None),
    ("# only a comment", None),
    ("for i in range(3): i", None),
    ("import asyncio\nawait asyncio.sleep(0, 'slept')", "'slept'"),
    ("[i async for i in (lambda: (yield))()] if 0 else 7", "7"),
    ("print('a')\r\n6", "6"),
    ("class A: pass\nimport pickle\npickle.loads(pickle.dumps(A())).__class__ is A", "True"),
    ("import sys\n(sys.path[0], sys.argv, __name__)", "('', [''], '__main__')"),
    ("import inspect\ndef f(): return 1\ninspect.getsource(f)", "'def f(): return 1\\n'"),
    ("import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int = 1\nP()", "P(x=1)"),
])
def test_last_value(python, code, text):
    ending = python.run(code)
    assert ending.ok, ending
    assert ending.text == text


def test_a_session_starts_without_what_few_need(python):
    """OpenSSL alone is 3 MB of each idle session."""
    code = "import sys\nsorted({'_hashlib', 'bz2', 'lzma', 'mmap', 'opcode', 'pickle', 'shutil', 'subprocess', 'typing'} & set(sys.modules))"
    assert python.run(code).text == "[]"


def test_ready(python):
    assert python.ready["language"] == "python"
    assert python.ready["interrupt"] == "signal"
    assert python.ready["version"].startswith("3.")


def test_state_stays(python):
    python.run("import math\ndef f(x): return math.sqrt(x)\nvalue = 16")
    assert python.run("f(value)").text == "4.0"
    assert python.run("_ + 1").text == "5.0"


def test_future_import_holds_for_later_cells(python):
    python.run("from __future__ import annotations")
    assert python.run("def f(x: nowhere): pass\nf.__annotations__").text == "{'x': 'nowhere'}"


def test_tasks_go_on_in_the_next_await(python):
    python.run("import asyncio\nseen = []\nasync def work():\n    await asyncio.sleep(0.01)\n"
               "    seen.append(1)\ntask = asyncio.create_task(work())\nawait asyncio.sleep(0)")
    assert python.run("await task\nseen").text == "[1]"


def test_context_variables_stay(python):
    python.run("import asyncio, contextvars\nc = contextvars.ContextVar('c')\nc.set(3)\nawait asyncio.sleep(0)")
    assert python.run("await asyncio.sleep(0)\nc.get()").text == "3"


WITH_LOOP = "\nawait asyncio.sleep(0)\n"


@pytest.mark.parametrize("first", ["\n", WITH_LOOP])
@pytest.mark.parametrize("then", ["\n", WITH_LOOP, "\nasyncio.run(asyncio.sleep(0))\n"])
def test_context_variables_are_the_same_with_and_without_await(python, first, then):
    python.run("import asyncio, contextvars, decimal\nc = contextvars.ContextVar('c')\nclass Shown:\n"
               "    def __repr__(self): return f'{c.get()} {decimal.getcontext().prec}'")
    python.run(f"token = c.set('set'); decimal.getcontext().prec = 9{first}")
    assert python.run(f"print(Shown()){then}Shown()").text == "set 9"
    assert python.run("async def f(): return repr(Shown()), c.set('inner')\nasyncio.run(f())[0]").text == "'set 9'"
    assert python.run("await asyncio.sleep(0)").ok and python.run("asyncio.get_event_loop().close()").ok
    assert python.run("await asyncio.sleep(0)\nShown()").text == "set 9"
    python.start(f"c.set('later'){then}print('on')\nwhile True: pass")
    python.wait_for_stdout("on")
    python.interrupt()
    assert python.finish().done["interrupted"] and python.run("Shown()").text == "later 9"
    assert python.run(f"c.reset(token){then}c.get(0)").text == "0"


def test_a_cell_that_refuses_its_end_keeps_no_context_from_the_next(python):
    python.start("import asyncio\nwhile True:\n    try:\n        print('on')\n        await asyncio.sleep(60)\n"
                 "    except asyncio.CancelledError: print('no')")
    for said in ("on\n", "no\non\n"):
        python.wait_for_stdout(said)
        python.wait_until_idle()
        python.interrupt()
    assert python.finish().done["interrupted"]
    ending = python.run("loop = asyncio.get_event_loop()\nfor task in asyncio.all_tasks(loop): task.cancel()\n"
                        "loop.run_until_complete(asyncio.sleep(0.1))")
    assert ending.ok and ending.stdout == "no\non\n" and ending.stderr == "", ending.stderr


def test_asyncio_run_works_between(python):
    code = "import asyncio\nasync def f(): return 4\nasyncio.run(f())"
    assert python.run(code).text == "4"
    assert python.run("await f()").text == "4"
    assert python.run(code).text == "4"


@pytest.mark.parametrize("code, text", [
    ("task = asyncio.create_task(f(21)); 1", "1"), ("from asyncio import ensure_future\ntask = ensure_future(f(21))\n2", "2"),
    ("task = asyncio.get_running_loop().create_task(f(21))\n'made'", "'made'"), ("asyncio.get_running_loop().is_running()", "True"),
    ("tasks = [asyncio.create_task(f(n)) for n in range(3)]\nlen(tasks)", "3"),
    # They have a loop of their own, or none, and are run as before.
    ("async def main(): return await asyncio.create_task(f(4))\nasyncio.run(main())", "4"),
    ("loop = asyncio.new_event_loop(); loop.run_until_complete(loop.create_task(f(5)))", "5"),
    ("try:\n    loop = asyncio.get_running_loop()\nexcept RuntimeError:\n    loop = None\nasyncio.run(f(6)) if loop is None else loop", "6"),
    ("def create_task(title): return asyncio.run(f(title))\ncreate_task('milk')", "'milk'")])
def test_cells_that_make_tasks_have_a_loop(python, code, text):
    python.run("import asyncio\nasync def f(x): return x")
    ending = python.run(code)
    assert ending.ok and ending.text == text, ending.stderr
    if "task = " in code:
        assert python.run("await task").text == "21"


def test_a_cell_that_makes_tasks_ends_as_others_do(python):
    python.run("import asyncio\nasync def tick(n):\n    print('tick'); await asyncio.sleep(0.01); return n")
    ending = python.run("task = asyncio.create_task(tick(7))\nprint('made'); 1 / 0")
    assert ending.error["name"] == "ZeroDivisionError" and "cell 2, line 2" in ending.stderr and "runners" not in ending.stderr
    assert python.run("await task").text == "7"
    python.start("task = asyncio.create_task(tick(8))\nprint('on')\nwhile True: pass")
    python.wait_for_stdout("on")
    python.interrupt()
    assert python.finish().done["interrupted"] and python.run("await task").text == "8"


@pytest.mark.parametrize("code", ["def start(): return asyncio.create_task(f(21))\nstart()", "(lambda: asyncio.get_running_loop())()"])
def test_cells_without_a_loop_say_when_there_is_one(python, code):
    python.run("import asyncio\nasync def f(x): return x")
    ending = python.run(code)
    assert ending.error["message"] == "no running event loop"
    assert "add `await ...` to this one" in ending.error["traceback"].splitlines()[-1]
    assert "/runners/" not in ending.stderr and "of_figures" not in ending.stderr
    assert ("coroutine 'f' was never awaited" in ending.stderr) == ("f(21)" in code)
    assert python.run(f"{code}\nawait asyncio.sleep(0)").ok
    in_thread = python.run("await asyncio.to_thread(asyncio.get_running_loop)")
    assert in_thread.error["message"] == "no running event loop" and "add `await" not in in_thread.stderr


def test_coroutines_that_nobody_awaits_are_told_of(python):
    assert python.run("async def f(): pass\nf()").stderr == ""
    ending = python.run("1")  # in place of the coroutine as the last value
    assert ending.stderr.startswith("RuntimeWarning: coroutine 'f' was never awaited\n") and "runners" not in ending.stderr
    assert python.run("f()\n2").stderr.startswith("<cell-3>:1: RuntimeWarning: coroutine 'f' was never awaited\n  f()\n")


def test_warnings_are_told_anew_in_every_cell(python):
    code = "import warnings\nfor _ in range(3): warnings.warn('again')"
    for number in (1, 2):
        ending = python.run(code)
        assert ending.stderr.startswith(f"<cell-{number}>:2: UserWarning: again") and ending.stderr.count("UserWarning") == 1
    python.run("def f(): warnings.warn('of the caller', stacklevel=2)\ndef g(): warnings.warn('own')")
    for _ in range(2):
        stderr = python.run("for _ in range(3): f(), g()").stderr
        assert stderr.count("of the caller\n") == 1 and stderr.count("UserWarning: own") == 1


def test_traceback_names_cell_and_line(python):
    python.run("def inner(x):\n    return 1 / x")
    ending = python.run("def outer():\n    return inner(0)\n\nouter()")
    assert not ending.ok and ending.done["exit_code"] == 1
    assert ending.error["name"] == "ZeroDivisionError"
    trace = ending.error["traceback"]
    assert "cell 2, line 4, in <module>" in trace
    assert "cell 1, line 2, in inner" in trace
    assert "return 1 / x" in trace
    assert "runners" not in trace and "session.py" not in trace
    assert trace == ending.stderr


def test_library_frames_are_folded(python):
    trace = python.run("import json\njson.loads('{')").error["traceback"]
    assert "frames in libraries" in trace
    assert "cell 1, line 2" in trace
    assert "raw_decode" in trace


def test_syntax_error_has_a_caret(python):
    ending = python.run("x = 1\ny = = 2")
    assert ending.error["name"] == "SyntaxError"
    assert "cell 1, line 2" in ending.stderr
    assert "    y = = 2\n        ^" in ending.stderr
    assert "Traceback" not in ending.stderr


@pytest.mark.parametrize("code, line", [
    ("x = 1\nfor i in range(2):\n    pass\nreturn x", "return x"), ("x = 1\nyield x", "yield x"), ("def f(a, a): pass", "def f(a, a): pass"),
    ("def f():\n    x = 1\n    global x", "global x"), ("break", "break"),
])
def test_what_the_compiler_refuses_after_the_parser_shows_its_line(python, code, line):
    ending = python.run(code)
    assert ending.error["name"] == "SyntaxError" and f"\n    {line}\n" in ending.stderr, ending.stderr


@pytest.mark.parametrize("code, name", [
    ("def f(): f()\nf()", "RecursionError"),
    ("class E(Exception):\n    def __str__(self): 1/0\nraise E()", "E"),
    ("raise ExceptionGroup('g', [ValueError(1), KeyError(2)])", "ExceptionGroup"),
    ("try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('v') from e", "ValueError"),
    ("assert False, 'why'", "AssertionError"),
    ("import json; json.loads('')", "json.decoder.JSONDecodeError"),
    ("'\\ud800'.encode()", "UnicodeEncodeError"),
    ("eval('\\x00')", "SyntaxError"),
    ("input('name? ')", "EOFError"),
    ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    ("raise GeneratorExit", "GeneratorExit"),
])
def test_failures(python, code, name):
    ending = python.run(code)
    assert not ending.ok
    assert ending.error["name"] in (name, "ValueError" if name == "SyntaxError" else name)
    assert python.run("'alive'").text == "'alive'"


@pytest.mark.parametrize("code, exit_code", [
    ("import sys; sys.exit(3)", 3), ("exit()", 0), ("raise SystemExit('why')", 1), ("quit(0)", 0),
])
def test_exit_ends_the_run_only(python, code, exit_code):
    python.run("kept = 1")
    ending = python.run(code)
    assert (ending.ok, ending.done["exit_code"]) == (exit_code == 0, exit_code)
    if exit_code:
        assert ending.error["name"] == "SystemExit"
    assert python.run("kept").text == "1"


def test_exit_text_goes_to_stderr(python):
    assert python.run("import sys; sys.exit('the reason')").stderr == "the reason\n"


@pytest.mark.parametrize("code", [
    "while True: pass",
    "import time; time.sleep(60)",
    "import asyncio\nawait asyncio.sleep(60)",
    "import asyncio\nawait asyncio.Event().wait()",
    "import asyncio\nasync def spin():\n    while True: pass\nawait spin()",
    "class R:\n    def __repr__(self):\n        while True: pass\nprint('started', flush=True)\nR()",
    "import subprocess; subprocess.run(['sleep', '60'])",
    "import threading; threading.Event().wait()",
    "while True: display(1)",
])
def test_interrupt_keeps_variables(python, code):
    python.run("kept = [1]")
    python.start("print('started', flush=True)\n" + code)
    python.wait_for_stdout("started")
    python.interrupt()
    ending = python.finish()
    assert ending.done["interrupted"] and not ending.ok, ending
    assert ending.error["name"] == "KeyboardInterrupt"
    assert python.run("kept").text == "[1]"


def test_interrupt_between_runs_is_ignored(python):
    python.run("1")
    for _ in range(5):
        python.interrupt()
        python.wait_until_idle()
    assert python.run("'unharmed'").text == "'unharmed'"


def test_interrupt_right_behind_the_run(python):
    for _ in range(100):  # each also right behind the end of the one before
        python.start("while True: pass")
        python.interrupt()
        assert python.finish().done["interrupted"]
    assert python.run("1").text == "1"


def test_interrupts_around_the_end(python):
    for _ in range(50):
        python.start("1")
        python.interrupt()
        ending = python.finish()
        assert ending.ok or ending.done["interrupted"]
    python.wait_until_idle()  # a late signal and a run that is there already cannot be told apart
    assert python.run("'alive'").text == "'alive'"


def test_own_signal_handler_does_not_outlive_the_run(python):
    python.run("import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)")
    python.start("print('started')\nwhile True: pass")
    python.wait_for_stdout("started")
    python.interrupt()
    assert python.finish().done["interrupted"]


def test_output_is_live(python):
    python.start("import time\nprint('first')\ntime.sleep(60)")
    python.wait_for_stdout("first\n")
    python.interrupt()
    python.finish()


def test_streams_are_whole_and_apart(python):
    ending = python.run("import sys\nprint('x' * 3_000_000)\nprint('e', file=sys.stderr)\nprint('end', end='')")
    assert len(ending.stdout) == 3_000_004 and ending.stdout.endswith("end")
    assert ending.stderr == "e\n"


@pytest.mark.parametrize("code", [
    "import sys; sys.stdout.close(); sys.stderr.close()",
    "import sys; sys.stdout = None; sys.stderr = 5",
    "import os; os.close(1); os.close(2)",
    "import os; n = os.open('/dev/null', os.O_WRONLY); os.dup2(n, 1)",
    "import sys; sys.stdout.detach()",
    "import json, os, builtins; json.dumps = json.loads = os.write = os.read = None",
    "import sys; sys.modules.clear()",
    "import os; os.environ = {}",
    "import gc, sys; sys.setrecursionlimit(60)",
    "del __builtins__",
    "import linecache; linecache.clearcache()",
])
def test_nothing_broken_stays_broken(python, code):
    python.run(code)
    ending = python.run("print('still here')\n'value'")
    assert ending.stdout == "still here\n" and ending.text == "'value'"


def test_environment_is_undone(python):
    os_environ = "import os\n(os.environ.get('RUN_VAR'), os.environ['HOME'] == '/elsewhere')"
    assert python.run(os_environ, env={"RUN_VAR": "v", "HOME": "/elsewhere"}).text == "('v', True)"
    assert python.run(os_environ).text == "(None, False)"


def test_forked_child_does_not_speak(python):
    ending = python.run("import os\npid = os.fork()\nif pid == 0:\n    display('child')\n    raise ValueError('in child')\n"
                        "os.waitpid(pid, 0)[1] >> 8")
    assert ending.ok and ending.text == "1"
    assert len(ending.outputs) == 1
    assert "in child" in ending.stderr
    assert python.run("'alone'").text == "'alone'"


def test_multiprocessing_of_user_functions(python):
    code = ("import multiprocessing\ndef square(x): return x * x\n"
            "with multiprocessing.get_context('fork').Pool(2) as pool: r = pool.map(square, [1, 2, 3])\nr")
    assert python.run(code).text == "[1, 4, 9]"


def test_channel_does_not_reach_subprocesses(python):
    listing = python.run("import subprocess\nsubprocess.run(['readlink', *('/proc/self/fd/%d' % n for n in range(3, 600))], "
                         "capture_output=True, text=True, close_fds=False).stdout").text
    channel = python.run("import os\n' '.join(os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') "
                         "if int(n) >= 500 and os.path.islink(f'/proc/self/fd/{n}') and "
                         "os.fstat(int(n)).st_ino not in (os.fstat(1).st_ino, os.fstat(2).st_ino))").text.strip("'").split()
    assert len([end for end in channel if end.startswith("pipe:")]) == 2, channel
    assert not any(end in listing for end in channel)


def test_threads_print_after_the_cell(python):
    python.run("import threading\ngo = threading.Event()\ndef later():\n    go.wait()\n    print('late')\n"
               "threading.Thread(target=later, daemon=True).start()")
    python.start("go.set()")
    python.wait_for_stdout("late")
    assert python.finish().ok


@pytest.mark.parametrize("frame", [b"\xff" * 64, b"\x04\0\0\0Jnope", b"\x02\0\0\0J[]", b"\x01\0\0\0Xx"])
def test_garbage_ends_the_runner(start, frame):
    client = start("python")
    client.send_bytes(frame)
    assert client.wait_for_end() == 1


def test_end_of_file_ends_the_runner(start):
    client = start("python")
    client.run("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()")
    client.close_channel()
    assert client.wait_for_end() == 0


def test_user_module_named_like_ours(python):
    (python.cwd / "charts.py").write_text("mine = 1\n")
    (python.cwd / "session.py").write_text("mine = 2\n")
    assert python.run("import charts, session\n(charts.mine, session.mine)").text == "(1, 2)"


@pytest.mark.parametrize("code, stdout", [
    ("sys.stdin = io.StringIO('4\\n5\\n'); print(input('n: '), input())", "n: 4 5\n"),
    ("with mock.patch('sys.stdin', io.StringIO('4\\n')): print(input('n: '))", "n: 4\n"),
    ("with mock.patch('sys.stdin', io.StringIO('4\\n')): print(getpass.getpass())", "4\n"),
    ("open('in', 'w').write('4\\n'); sys.stdin = open('in'); print(input())", "4\n"),
    ("open('in', 'w').write('4\\n'); kept = os.dup(0); os.dup2(os.open('in', 0), 0); print(input()); os.dup2(kept, 0);", "4\n")])
def test_input_reads_what_the_code_has_put_in_the_place_of_stdin(python, code, stdout):
    ending = python.run("import io, sys, os, getpass\nfrom unittest import mock\n" + code)
    assert ending.ok and ending.stdout == stdout, ending.stderr
    assert "cannot ask anybody here" in python.run("sys.stdin = sys.__stdin__; input()").error["message"]


@pytest.mark.parametrize("around", ["", "import subprocess; child = subprocess.Popen(['sleep', '100'])", "sys.stdin.close()",
                                    "from multiprocessing import shared_memory; shared = shared_memory.SharedMemory(create=True, size=100)",
                                    "import asyncio; server = await asyncio.start_server(print, '127.0.0.1', 0)"])
def test_it_goes_on_where_nothing_can_be_opened_any_more(python, around):
    python.run("import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); files = []; keep = 1")
    assert python.run(f"open('m2.py', 'w').write('x = 1'); import m2; open('m2.py', 'w').write('x = 22')\n{around}").ok
    ending = python.run("while True: files.append(open('/dev/null'))")
    assert ending.error["message"].startswith("[Errno 24]") and "limits.open_files" in ending.stderr
    for code in ("m2", "1 / 0", "import nosuch", "sys.stdin.close()"):
        python.run(code)
    assert python.run("files.clear(); keep").text == "1"
    assert python.run("input()").error["name"] == "EOFError"


@pytest.mark.parametrize("asks", ["input('name: ')", "__import__('getpass').getpass()", "from getpass import getpass\ngetpass('key: ', echo_char='*')"])
def test_whoever_asks_hears_what_to_do(python, asks):
    ending = python.run(asks)
    assert ending.error["name"] == "EOFError" and "cannot ask anybody here: put the value into the code, or pass it in env" in ending.error["message"]
    assert "termios" not in ending.stderr and python.run("import getpass; getpass.getuser() != ''").text == "True"
