"""Threads of user code: what they display, and how long a background run waits for them."""

import time
from pathlib import Path

import pytest

from runner_client import PROGRAMS

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
    ending = python.run(f"import threading, time\n{LATE}{code}\nprint('main')", background=True)
    assert ending.ok and ending.stdout == "main\n"


def test_a_run_of_the_session_does_not_wait(python):
    began = time.monotonic()
    assert python.run("import threading, time\nthreading.Thread(target=time.sleep, args=(30,)).start()").ok
    assert time.monotonic() - began < 20


def test_what_went_wrong_is_told_before_the_wait(python):
    python.start("import threading\ngo = threading.Event()\ndef serve():\n    go.wait(60); print('served')\n"
                 "threading.Thread(target=serve).start()\ntimer = threading.Timer(0.5, go.set); timer.start()\n"
                 "display('shown'); print('part', end='')\n1 / 0", background=True)
    python.wait_for_stdout("part")
    python.wait_for_stderr("ZeroDivisionError")
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


def test_a_warm_python_waits_too(start):
    from test_import_hooks import WARM
    ending = start("python", program=WARM).run(f"import threading, time\n{LATE}threading.Thread(target=late).start()", background=True)
    assert ending.ok and ending.stdout == "late\n"
