"""Threads of user code: what they display, and how a background run ends, which waits for them."""

import time
from pathlib import Path

import pytest

from runner_client import PROGRAMS

pytestmark = pytest.mark.plain_start  # the process itself is what is looked at

PYTHONS = ["/usr/bin/python3", *map(str, sorted((Path.home() / ".pyenv/versions").glob("3.1[1-9]*/bin/python3")))]

FOUR = ("import threading\n"
        "def show(letter, size, times):\n    for _ in range(times): display(letter * size)\n"
        "def start(size, times):\n"
        "    threads = [threading.Thread(target=show, args=(c, size, times), daemon=True) for c in 'abcd']\n"
        "    for thread in threads: thread.start()\n    return threads\n")


@pytest.mark.parametrize("size, times", [(5_000, 100), (90_000, 10), (5_000_000, 2)])
def test_what_several_display_stays_whole(python, size, times):
    """Beyond 4 kB a write to a pipe may be cut by another one; the longest come in parts before their output."""
    python.run(FOUR)
    ending = python.run(f"for thread in start({size}, {times}): thread.join()")
    assert ending.ok and len(ending.outputs) == 4 * times
    texts = [parts["text"].decode() if parts else output["text"] for output, parts in zip(ending.outputs, ending.parts)]
    assert sorted(texts) == sorted(repr(letter * size) for letter in "abcd" for _ in range(times))


def test_interrupts_while_others_display(python):
    """The interrupt is the main thread's, whoever sends just then, and what it cuts short keeps no lock."""
    python.run(FOUR)
    for code in ("while True: pass", "while True: display('e' * 90_000)", "import time; time.sleep(60)"):
        for _ in range(5):
            python.start(f"start(90_000, 5)\nprint('on')\n{code}")
            python.wait_for_stdout("on")
            python.interrupt()
            assert python.finish().done["interrupted"]
            assert python.run("for thread in threading.enumerate():\n    if thread.daemon: thread.join()").ok
    assert python.run("display('after')\n1").text == "1"


def test_a_child_of_a_process_whose_thread_displays(python):
    python.run(FOUR)
    ending = python.run("import os, time\nstart(90_000, 50)\nends = []\nfor _ in range(20):\n    pid = os.fork()\n"
                        "    if pid == 0:\n        display('child'); os._exit(7)\n"
                        "    ends.append(os.waitpid(pid, 0)[1] >> 8)\nset(ends)")
    assert ending.ok and ending.text == "{7}"


# --- background runs -------------------------------------------------------------------------------


LATE = "def late():\n    time.sleep(0.3)\n    print('late')\n"


@pytest.mark.parametrize("code", [
    "threading.Thread(target=late).start()",
    "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor().submit(late)",
    "threading.Thread(target=lambda: threading.Thread(target=late).start()).start()",
])
@pytest.mark.parametrize("end", ["", "\nimport sys; sys.exit()"])
def test_a_background_run_ends_with_its_threads(python, code, end):
    ending = python.run(f"import threading, time\n{LATE}{code}\nprint('main'){end}", background=True)
    assert ending.ok and ending.stdout == "main\nlate\n"


@pytest.mark.parametrize("code", ["threading.Thread(target=late, daemon=True).start()", ""])
def test_a_background_run_waits_for_nothing_else(python, code):
    late = "def late():\n    time.sleep(60); print('late')\n"
    ending = python.run(f"import threading, time\n{late}{code}\nprint('main')", background=True)
    assert ending.ok and ending.stdout == "main\n"


def test_a_run_of_the_session_does_not_wait(python):
    began = time.monotonic()
    assert python.run("import threading, time\nthreading.Thread(target=time.sleep, args=(30,)).start()").ok
    assert time.monotonic() - began < 20


def test_what_went_wrong_is_told_before_the_wait(python):
    python.start("import os, threading, time\ndef serve():\n    while not os.path.exists('go'): time.sleep(0.01)\n"
                 "    print('served')\nthreading.Thread(target=serve).start()\n"
                 "display('shown'); print('part', end='')\n1 / 0", background=True)
    python.wait_for_stdout("part")
    python.wait_for_stderr("ZeroDivisionError")
    (python.cwd / "go").touch()
    ending = python.finish()
    assert ending.error["name"] == "ZeroDivisionError" and len(ending.outputs) == 1
    assert ending.stdout.endswith("served\n")


def test_the_wait_has_the_environment_of_the_run_and_can_be_interrupted(python):
    python.start("import os, threading, time\ndef serve():\n    time.sleep(0.2); print(os.environ['PORT']); time.sleep(60)\n"
                 "threading.Thread(target=serve).start()\nprint('on')", env={"PORT": "8080"}, background=True)
    python.wait_for_stdout("8080")
    python.interrupt()
    ending = python.finish()
    assert ending.done["interrupted"] and ending.done["exit_code"] == 130
    assert "runners/" not in ending.stderr and "KeyboardInterrupt" in ending.stderr


@pytest.fixture(params=PYTHONS, ids=lambda program: program.split("/")[-3])
def any_python(start, request):
    return start("python", program=[request.param, *PROGRAMS["python"][1:]])


def test_the_wait_can_be_interrupted_in_every_python(any_python):
    any_python.start("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nprint('on')", background=True)
    any_python.wait_for_stdout("on")
    any_python.wait_until_idle()
    any_python.interrupt()
    ending = any_python.finish()
    assert ending.done["interrupted"] and ending.done["exit_code"] == 130
    assert "runners/" not in ending.stderr and ending.stderr.count("KeyboardInterrupt") == 1


def test_an_interrupt_of_the_wait_counts_when_its_exception_is_lost(python):
    """As in Python 3.13, whose threading writes it and returns."""
    python.start("import threading, time\ndef wait():\n    print('on')\n    try: time.sleep(60)\n"
                 "    except KeyboardInterrupt: pass\nthreading._shutdown = wait", background=True)
    python.wait_for_stdout("on")
    python.interrupt()
    ending = python.finish()
    assert ending.done["interrupted"] and ending.done["exit_code"] == 130
    assert "KeyboardInterrupt" in ending.stderr and "runners/" not in ending.stderr


def test_a_warm_python_waits_and_cleans_up_too(start):
    python = start("python", copied=True)
    ending = python.run(f"import threading, time\n{LATE}threading.Thread(target=late).start()\n{LEFT}", background=True)
    assert ending.ok and ending.stdout == "late\nend\n" and ending.stderr == ""
    assert (python.cwd / "left.csv").read_text() == "1,2\n"


# A script leaves this to its end.
LEFT = ("import atexit, csv\natexit.register(print, 'end')\n"
        "writer = csv.writer(open('left.csv', 'w'), lineterminator='\\n'); writer.writerow([1, 2])\n")


@pytest.mark.parametrize("code, ok", [
    ("", True), ("import sys; sys.exit()", True), ("1 / 0", False), ("writer", True), ("await __import__('asyncio').sleep(0)", True),
    ("class Own: pass\nown = Own(); own.self, own.writer = own, writer; del writer", True),
    ("held = [writer]; del writer\ndef f(): return held\nf()", True),
])
def test_a_background_run_ends_as_a_script(python, code, ok):
    ending = python.run(LEFT + code, background=True)
    assert ending.ok == ok and ending.stdout == "end\n" and ending.stderr.count("Error") == (not ok)
    assert (python.cwd / "left.csv").read_text() == "1,2\n"


def test_a_run_of_the_session_does_not_end_as_a_script(python):
    assert python.run(LEFT).stdout == "" and python.run("writer.writerow([3, 4])").ok
    assert (python.cwd / "left.csv").read_text() == ""


def test_exit_handlers_belong_to_the_run_and_cannot_fail_it(any_python):
    code = ("import atexit, os, sys, tempfile\nfolder = tempfile.TemporaryDirectory(); print(folder.name)\n"
            "def say(): print(os.environ['PORT'], os.path.exists(folder.name)); print('err', file=sys.stderr); display('shown')\n"
            "def fail(): 1 / 0\n"
            "for handler in (lambda: sys.stdout.close(), say, fail, sys.exit): atexit.register(handler)\n'main'")
    ending = any_python.run(code, env={"PORT": "8080"}, background=True)
    name, said = ending.stdout.splitlines()
    assert ending.done["exit_code"] == 0 and said == "8080 True" and not Path(name).exists()
    assert ending.stderr.count("ZeroDivisionError") == 1 and ending.stderr.endswith("err\n")
    assert [output["text"] for output in ending.outputs] == ["'main'", "'shown'"]


def test_finalizers_find_what_they_use(any_python):
    ending = any_python.run("import os\nnames = ['a']\nclass Own:\n    def __del__(self): print(os.path.basename('x/y'), names, type(self) is Own)\n"
                        "one = Own()\nother = Own(); other.self = other\nlast = {1: Own()}\nOwn()", background=True)
    assert ending.ok and ending.stderr == "" and ending.stdout == "y ['a'] True\n" * 4


def test_daemons_keep_what_they_use(python):
    ending = python.run("import threading, time\nbegan = threading.Event()\ncount = [0]\ndef serve():\n"
                        "    while True: count[0] += 1; began.set()\n"
                        "threading.Thread(target=serve, daemon=True).start(); began.wait()\n" + LEFT +
                        "file = open('file', 'w'); file.write('text'); closed = open('file'); closed.close()", background=True)
    assert ending.ok and ending.stderr == "" and (python.cwd / "file").read_text() == "text"


def test_tasks_that_are_left_are_not_complained_of(python):
    ending = python.run("import asyncio\nqueue = asyncio.Queue(); task = asyncio.create_task(queue.get())\nawait asyncio.sleep(0)\n" + LEFT,
                        background=True)
    assert ending.ok and ending.stdout == "end\n" and ending.stderr == ""


def test_an_interrupt_ends_an_exit_handler(any_python):
    any_python.start(LEFT + "import time\n@atexit.register\ndef wait(): print('on'); time.sleep(60)", background=True)
    any_python.wait_for_stdout("on")
    any_python.wait_until_idle()
    any_python.interrupt()
    ending = any_python.finish()
    assert ending.done["interrupted"] and ending.done["exit_code"] == 130 and ending.stdout.endswith("end\n")
    assert ending.stderr.count("KeyboardInterrupt") == 1 and "runners/" not in ending.stderr
    assert (any_python.cwd / "left.csv").read_text() == "1,2\n"


def test_an_interrupt_ends_a_finalizer(any_python):
    any_python.start("import time\nclass Own:\n    def __del__(self): print('on'); time.sleep(60)\nown = Own()", background=True)
    any_python.wait_for_stdout("on")
    any_python.wait_until_idle()
    any_python.interrupt()
    ending = any_python.finish()
    assert ending.done["interrupted"] and ending.stderr.count("KeyboardInterrupt") == 1


@pytest.mark.parametrize("code", ["time.sleep(60)", "threading.Thread(target=time.sleep, args=(60,)).start()"])
def test_a_background_run_that_is_interrupted_ends_as_a_script_too(python, code):
    python.start(f"import threading, time\n{LEFT}print('on'); {code}", background=True)
    python.wait_for_stdout("on")
    python.wait_until_idle()
    python.interrupt()
    ending = python.finish()
    assert ending.done["interrupted"] and ending.stdout == "on\nend\n" and ending.stderr.count("KeyboardInterrupt") == 1
    if "Thread" not in code:
        assert (python.cwd / "left.csv").read_text() == "1,2\n"


def test_a_background_run_with_ipython_ends_as_a_script(start):
    python = start("python", extras=True)
    ending = python.run("%pwd\n" + LEFT, background=True)
    assert ending.ok and ending.stdout == "end\n" and ending.stderr == ""
    assert (python.cwd / "left.csv").read_text() == "1,2\n"
