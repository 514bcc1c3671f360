"""Threads of user code."""

import pytest

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
