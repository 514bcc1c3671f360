"""When a Python's snapshots are written and read, and what disturbs them."""

import os
import pathlib
import signal
import struct
import subprocess
import time

import pytest

from runner_client import PROGRAMS, RUNNERS, Keeper
from woken import WokenPython, store, wish

pytestmark = pytest.mark.plain_start


def test_whoever_asks_for_all_gets_it_and_hears_what_is_missing(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot", bytes_max=4 << 20)
    first = start("python", keeper=keeper)
    first.run("large = bytearray(9 << 20); several = (n for n in ())")
    while keeper.take_bytes() > 4 << 20:
        pass
    assert keeper.last_end.split()[1::2] == [b"2", b"1"], "one of the two is too large"
    first.send({"type": "store", "bytes_max": 64 << 20, "wish": 3})
    assert keeper.take_bytes() > 9 << 20
    assert keeper.last_begin == b"3" and keeper.last_end.split()[1] == b"1"
    assert keeper.last_end.split()[3] == b"0", "what is missing would not be stored with more room"
    first.close_channel()
    assert start("python", keeper=keeper).run("len(large)").text == str(9 << 20)


def test_the_environment_of_a_run_is_not_stored(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("import os\nos.environ['MINE'] = 'kept-value'; token = len(os.environ['OF_' + 'RUN'])", env={"OF_RUN": "secret-value", "HOME": "/secret-home"})
    content = store(first, keeper)
    assert b"kept-value" in content
    assert not any(words in content for words in (b"OF_RUN", b"secret-value", b"secret-home"))
    first.close_channel()
    woken = start("python", keeper=keeper)
    assert woken.run("os.environ['MINE'], os.environ.get('OF_RUN'), os.environ['HOME'] == '/secret-home', token").text == "('kept-value', None, False, 12)"


def test_the_main_module_under_another_name_holds_nothing(start, tmp_path):
    python = WokenPython(start, tmp_path, {"it": ("import sys\nsys.modules['__mp_main__'] = sys.modules['__main__']\nvalues = [1]; text = {'a': values}", None)})
    assert python.python.run("text['a'] is values, values").text == "(True, [1])", python.note


def test_modules_alone_are_not_stored_and_keep_a_session_in_memory(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import json, os")
    assert keeper.take() is None
    python.send({"type": "store", "bytes_max": 64 << 20, "wish": 1})
    assert keeper.packet() == (b"B", b"1") and keeper.packet() == (b"X", b"1 1")
    keeper.answer()
    python.run("os.chdir('/')")
    assert keeper.take(), "a directory that was chosen is worth it"


@pytest.mark.parametrize("code,missing", [
    ("class Needs(Exception):\n    def __init__(self, first, second): super().__init__('one text')\nit = Needs(1, 2)", True),
    ("class Asks:\n    def __new__(cls, n): return super().__new__(cls)\nit = Asks(1)", True),
    ("import enum\nclass Au(enum.Enum):\n    P = (1, 2)\n    def __init__(self, a, b): self.a = a\nit = 1", True),
    ("import json\nit = json.dumps", False),
])
def test_a_pause_knows_what_would_not_come_back(start, tmp_path, code, missing):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run(code)
    keeper.take()
    python.send({"type": "store", "bytes_max": 64 << 20, "wish": 2})
    assert keeper.take()
    python.close_channel()
    count = int(keeper.last_end.split()[1])
    note = start("python", keeper=keeper, extras=True).run("it").done.get("note", "")
    assert (count > 0) == missing and ("not kept" in note) == missing, (count, note)


def test_what_cannot_be_read_back_is_not_everything(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run("class Needs(Exception):\n    def __init__(self, first, second): super().__init__('one text')\nfailed = Needs(1, 2); other = 5")
    keeper.take()
    python.send({"type": "store", "bytes_max": 64 << 20, "wish": 2})
    keeper.take()
    assert keeper.last_begin == b"2" and keeper.last_end.split()[1] == b"1", keeper.last_end


@pytest.mark.parametrize("code", [
    "import json\nclass Own(json.JSONEncoder):\n    def __init__(self, **options): super().__init__(**{**options, 'ensure_ascii': False})\njson.JSONEncoder = Own",
    "import json\njson.JSONEncoder = json.JSONDecoder = None",
    "import hashlib, mmap, opcode\nassert hashlib.own and mmap.own and opcode.own",
])
def test_what_stands_in_place_of_a_library_costs_no_snapshot(start, tmp_path, code):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    for name in ("hashlib", "mmap", "opcode"):
        (first.cwd / f"{name}.py").write_text("own = [1]\n")
    assert first.run(code + "\nkept = 'ü'; large = bytes(2 << 20)").ok and keeper.take()
    first.close_channel()
    ending = start("python", keeper=keeper).run("kept, len(large)")
    assert ending.text == "('ü', 2097152)" and "could not" not in ending.done.get("note", ""), ending


def test_a_directory_that_is_gone_is_told(start, tmp_path):
    folder = tmp_path / "workspace" / "sub"
    folder.mkdir(parents=True)
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("import os; os.chdir('sub'); x = 1")
    keeper.take()
    first.close_channel()
    folder.rmdir()
    note = start("python", keeper=keeper).run("x").done["note"]
    assert "sub is gone" in note


def test_files_are_neither_moved_nor_written_by_the_writer(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("w = open('o', 'w+'); w.write('abc\\n')\nopen('big', 'w').writelines(f'{n}\\n' for n in range(300_000))\nr = open('big'); first = [r.readline() for _ in range(5)]")
    keeper.take()
    ran = python.run("w.write('def\\n'); w.close(); print(repr(open('o').read()), sum(1 for _ in r))")
    assert ran.stdout == "'abc\\ndef\\n' 299995\n", ran


def test_the_writer_holds_nothing_open_that_its_parent_closes(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    slow = "class Slow:\n    def __reduce__(self):\n        import time; time.sleep(5); return int, ()\nslow = Slow()\n"
    python.run(slow + "import subprocess, time\nq = subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)")
    while keeper.packet()[0] != b"B":
        pass
    ran = python.run("began = time.monotonic(); q.stdin.close(); q.wait(); time.monotonic() - began < 3")
    assert ran.text == "True", ran


def test_modules_are_found_where_the_code_has_looked_for_them(start, tmp_path):
    folder = tmp_path / "workspace" / "lib"
    folder.mkdir(parents=True)
    (folder / "helpers.py").write_text("class X:\n    n = 5\ndef f(): return 6\n")
    (tmp_path / "workspace" / "sub").mkdir()
    (tmp_path / "workspace" / "sub" / "other.py").write_text("class Y: pass\n")
    python = WokenPython(start, tmp_path, {"it": ("import os, sys\nsys.path.insert(0, os.path.abspath('lib'))\nimport helpers\nfrom helpers import f\nx = helpers.X()\n"
                                            "os.chdir('sub'); sys.path.insert(0, ''); import other; y = other.Y()", None)})
    looked = python.python.run("(x.n, f(), helpers.X is type(x), type(y) is other.Y, sys.path[0], sys.path[1].endswith('/lib'))")
    assert looked.text == "(5, 6, True, True, '', True)", (looked, python.note)


def test_what_could_not_be_read_stays_stored(start, tmp_path):
    module = tmp_path / "workspace" / "mod.py"
    module.parent.mkdir(parents=True)
    module.write_text("class Kind:\n    pass\n")
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("import mod; x = mod.Kind(); x.n = 4; y = 1; z = [x]; u = v = mod.Kind()")
    keeper.take()
    first.close_channel()
    module.rename(module.with_suffix(".away"))
    second = start("python", keeper=keeper)
    ran = second.run("y = 2; z = 3; u = 4; v = 5")
    assert "x (No module named 'mod')" in ran.done["note"], ran.done
    keeper.take()
    second.run("del u")
    keeper.take()
    second.close_channel()
    module.with_suffix(".away").rename(module)
    third = start("python", keeper=keeper)
    assert third.run("x.n, y, z, 'u' in globals(), v").text == "(4, 2, 3, False, 5)"


def test_names_that_notebooks_use_are_the_users_own(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("In = [1]; Out = {1: In}; _1 = 5; _i = 6; exit = 'way'\nfor _ in range(3): pass")
    keeper.take()
    first.run("import threading; _ = threading.Lock()")
    assert keeper.take() and keeper.last_end.split()[1] == b"0"
    first.close_channel()
    assert start("python", keeper=keeper).run("Out[1] is In, In, _1, _i, exit").text == "(True, [1], 5, 6, 'way')"


@pytest.mark.parametrize("change", ["raise SystemExit(3)", "raise KeyboardInterrupt", "1 / 0", "import os; os.no_such"])
def test_whatever_a_module_does_as_it_is_loaded_costs_only_what_needs_it(start, tmp_path, change):
    module = tmp_path / "workspace" / "mod.py"
    module.parent.mkdir(parents=True)
    module.write_text("class Kind: pass\n")
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("import mod; x = mod.Kind(); y = 1")
    keeper.take()
    first.close_channel()
    module.write_text(change + "\n")
    second = start("python", keeper=keeper)
    ran = second.run("y")
    assert ran.text == "1" and "x (" in ran.done["note"], ran


def test_a_module_of_the_users_in_place_of_a_library_ends_nothing(start, tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir(parents=True)
    (folder / "random.py").write_text("mine = True\n")
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import random; x = 1")
    assert b"x" in keeper.take()
    assert python.run("random.mine, x").text == "(True, 1)"


def test_a_handler_of_ended_children_hears_only_of_the_users(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import os, signal\nheard = []\ndef hear(number, frame):\n    heard.append(os.waitpid(-1, os.WNOHANG)); raise RuntimeError('heard')\n"
               "signal.signal(signal.SIGCHLD, hear)")
    keeper.take()
    assert python.run("heard").text == "[]"


def test_a_limit_of_recursion_that_the_stack_does_not_have_costs_what_is_so_deep(start, tmp_path):
    code = ("import sys\nsys.setrecursionlimit(10**6)\ndeep = []\nfor _ in range(100_000): deep = [deep]\nkept = 1")
    python = WokenPython(start, tmp_path, {"it": (code, None)})
    assert "deep (" in python.note and python.python.run("kept, sys.getrecursionlimit()").text == "(1, 1000000)", python.note


def test_the_collector_of_the_writer_ends_nothing_of_its_parents(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import gc, tempfile, os\ngc.collect(); gc.set_threshold(50_000)\nclass Holds: pass\nholds = Holds(); holds.me = holds; holds.folder = tempfile.TemporaryDirectory(); path = holds.folder.name\n"
               "del holds\nclass Many:\n    def __reduce__(self):\n        x = [[] for _ in range(100_000)]\n        return int, ()\nmany = Many()")
    keeper.take()
    assert python.run("os.path.isdir(path)").text == "True"


def test_an_exit_in_a_value_costs_that_value_only(start, tmp_path):
    python = WokenPython(start, tmp_path, {"it": ("class Leaves:\n    def __reduce__(self): raise SystemExit(2)\nleaves = Leaves(); kept = 1", None)}, extras=True)
    assert "leaves (Leaves" in python.note and python.python.run("kept").text == "1", python.note


def test_names_that_no_longer_share_are_told(start, tmp_path):
    code = ("tried = []\nclass Twice:\n    def __reduce__(self):\n        tried.append(1)\n        if len(tried) > 2: raise ValueError('once')\n        return list, ()\n"
            "inner = Twice(); outer = [inner]")
    python = WokenPython(start, tmp_path, {"it": (code, None)}, extras=True)
    assert "that inner and outer had something in common" in python.note, python.note


def test_hooks_at_fork_that_wait_for_each_other_cost_the_snapshot_only(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import os, threading\nlock = threading.Lock()\nos.register_at_fork(before=lock.acquire, after_in_parent=lock.release)\nx = 1")
    time.sleep(0.5)  # it forks meanwhile
    assert python.run("x").text == "1"


def test_a_wish_is_answered_at_once_where_a_hook_at_fork_waits(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import os, threading\nlock = threading.Lock()\nos.register_at_fork(before=lock.acquire, after_in_parent=lock.release)\nx = 1")
    wish(python)
    assert keeper.packet() == (b"X", b"7")


def test_a_writer_that_is_slow_to_begin_is_waited_for(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    # As on a machine that is busy with others: it has something to do, and no time to do it.
    python.run("import os, time\ndef work():\n    until = time.monotonic() + 1.5\n    while time.monotonic() < until: pass\n"
               "os.register_at_fork(after_in_child=work)\nx = 1")
    wish(python)
    while (packet := keeper.packet())[0] != b"E":
        assert packet[0] in b"BD", packet


def test_a_wish_is_answered_at_once_where_the_writer_dies_and_the_user_hears_of_it(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import os\nclass Dies:\n    def __reduce__(self): os.kill(os.getpid(), 9)\ndies = Dies()")
    wish(python)
    while (packet := keeper.packet()) != (b"X", b"7"):
        assert packet[0] in b"BX", packet
    assert python.run("1").done["note"] == "variables could not be stored: its process has ended"


def written_by_another_version(path):
    """A snapshot whose index has nothing that a runner looks for."""
    code = "import sys; sys.modules['hutch_runner'] = runner = type(sys)('hutch_runner'); runner.__path__ = sys.argv[2:]\n" \
           "from hutch_runner.snapshot_file import Writer\nwith open(sys.argv[1], 'wb') as file: Writer(file.write).end({})"
    subprocess.run(["/usr/bin/python3", "-c", code, path, RUNNERS / "python", RUNNERS / "interpreter"], check=True)


def test_a_wish_is_answered_at_once_where_the_last_snapshot_cannot_be_read(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    written_by_another_version(keeper.path)
    python = start("python", keeper=keeper)
    assert "could not be brought back, and stay stored" in python.run("x = 1").done["note"]
    wish(python)
    assert keeper.packet() == (b"X", b"7")


def test_a_file_that_gets_the_number_of_a_pipe_is_not_written_to(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import os\nmine = os.open('mine', os.O_RDWR | os.O_CREAT)\nfor fd in os.listdir('/proc/self/fd'):\n"
               "    if int(fd) > 500 and os.readlink(f'/proc/self/fd/{fd}').startswith('pipe'): pipes = [*globals().get('pipes', []), int(fd)]\n"
               "os.dup2(mine, sorted(pipes)[-2])")
    time.sleep(0.5)  # in which it would write
    wish(python)
    assert python.run("os.fstat(mine).st_size").text == "0"


def test_a_bit_that_has_turned_in_a_value_is_told(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("x = 'something long enough to be found'; y = 2")
    content = keeper.take()
    first.close_channel()
    keeper.path.write_bytes(content.replace(b"long enough", b"long enouGh", 1))
    ran = start("python", keeper=keeper).run("y")
    assert ran.text == "2" and "x (what was stored of it is damaged: make it again)" in ran.done["note"], ran


def test_modules_alone_are_nothing(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import json, os.path as p\nprint(1)")
    assert keeper.take() is None
    python.run("x = 1")
    assert b"x" in keeper.take()


@pytest.mark.parametrize("damage", [lambda c: c[:-1], lambda c: c[:100], lambda c: b"", lambda c: c[:-80] + bytes([c[-80] ^ 1]) + c[-79:],
                                    lambda c: c + b"more"])
def test_a_damaged_snapshot_is_told_and_harms_nobody(start, tmp_path, damage):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("x = 1")
    content = keeper.take()
    first.close_channel()
    keeper.path.write_bytes(damage(content))
    second = start("python", keeper=keeper)
    ran = second.run("'x' in globals()")
    assert ran.text == "False" and "the snapshot is no good" in ran.done["note"], ran.done


def test_a_snapshot_leaves_no_process_and_takes_no_childs_end(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    for number in range(3):
        python.run(f"x = {number}")
        keeper.take()
    ran = python.run("import os\ntry: os.wait()\nexcept ChildProcessError: print('none')")
    assert ran.stdout == "none\n" and "note" not in ran.done, ran.done
    deadline = time.monotonic() + 10
    while writers_of(keeper) and time.monotonic() < deadline:
        pass
    assert not writers_of(keeper)


def writers_of(keeper):
    """Processes that write snapshots into this pipe."""
    inode = f"pipe:[{os.fstat(keeper.reads).st_ino}]"
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text() == "hutch-snapshot\n" and any(os.readlink(fd) == inode for fd in (process / "fd").iterdir()):
                found.append(process.name)
        except OSError:
            continue
    return found


def test_what_is_too_large_is_named_and_the_rest_is_kept(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot", bytes_max=4 << 20)
    first = start("python", keeper=keeper)
    first.run("small = [1]; large = bytearray(9 << 20)")
    assert keeper.take_bytes() < 4 << 20
    first.close_channel()
    second = start("python", keeper=keeper)
    ran = second.run("small")
    assert ran.text == "[1]" and "large (bytearray: 9 MB, of 4 that are stored in all)" in ran.done["note"], ran.done


@pytest.mark.slow
def test_what_takes_too_long_to_store_is_named_and_the_rest_is_kept(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("class Slow:\n    def __reduce__(self):\n        import time; time.sleep(600); return int, ()\nslow = Slow(); kept = [1]")
    keeper.take()
    assert keeper.last_end.split()[1] == b"1", keeper.last_end
    first.close_channel()
    ran = start("python", keeper=keeper).run("kept")
    assert ran.text == "[1]" and "slow (" in ran.done["note"] and "it took longer than 10 s to store" in ran.done["note"], ran.done


@pytest.mark.parametrize("available_kb, is_asked", [(1000, False), (1000, True), (10 ** 9, False)])
def test_nothing_is_stored_where_less_than_half_of_what_that_may_take_is_free(start, tmp_path, available_kb, is_asked):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: 1000000 kB\nMemAvailable: {available_kb} kB\n")
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import hutch_runner.snapshot_writer as of\nreal = of._open\n"
               f"of._open = lambda path, *rest, real=real: real({str(meminfo)!r} if path == '/proc/meminfo' else path, *rest)\ndel of, real\nx = 1")
    if available_kb > 10 ** 6:
        assert keeper.take() is not None
    elif is_asked:
        wish(python)
        assert keeper.packet() == (b"X", b"7")
    else:
        python.run("x = 2")
        time.sleep(1)  # four times as long as it waits before it stores something
        assert keeper.has_nothing()


def test_code_that_closes_every_descriptor_loses_its_snapshots_only(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import os\nfor fd in range(502, 1000):\n    try: os.close(fd)\n    except OSError: pass")  # all but the channel's
    for number in range(3):
        time.sleep(0.3)  # in which it would write
        assert python.run(f"{number} + 1").text == str(number + 1)


def test_an_array_is_mapped_and_not_shared_with_the_file(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper, extras=True)
    first.run("import numpy as np; a = np.zeros(1_000_000)")
    while keeper.take_bytes() < 8_000_000:
        pass
    first.close_channel()
    before = keeper.large_path.read_bytes()
    second = start("python", keeper=keeper, extras=True)
    own = second.run("import os\n[os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')]")
    assert str(tmp_path / "snapshot") not in own.text, own
    assert second.run("a[:] = 7; float(a.sum())").text == "7000000.0"
    assert before == keeper.large_path.read_bytes()


def with_a_turned_bit(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("numbers", [pytest.param(10_000, marks=pytest.mark.slow), 500_000])
def test_a_bit_that_has_turned_in_an_array_is_told_before_anybody_has_it(start, tmp_path, numbers):
    """A small one lies in the snapshot, and a larger one beside it."""
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run(f"import numpy as np; turned = np.arange({numbers}.0); other = 'x'; same = [turned]")
    keeper.take()
    python.close_channel()
    path = keeper.large_path if keeper.large else keeper.path
    with_a_turned_bit(path, path.read_bytes().index(np_bytes(7000)))
    python = start("python", keeper=keeper, extras=True)
    ran = python.run("other, 'turned' in globals(), 'same' in globals()")
    assert ran.text == "('x', False, False)", ran
    assert "not kept: turned (what was stored of it is damaged: make it again), same (" in ran.done["note"], ran.done
    python.run(f"other = 'y'; turned = np.arange({numbers}.0)")
    keeper.take()
    python.close_channel()
    ran = start("python", keeper=keeper, extras=True).run("other, float(turned[7000])")
    assert ran.text == "('y', 7000.0)" and "damaged" not in ran.done["note"], (ran, "what is damaged is not stored again")


def np_bytes(number):
    return struct.pack("<d", number)


def test_a_bit_that_has_turned_in_a_very_large_array_is_told_as_soon_as_it_is_known(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run("import numpy as np; turned = np.arange(3_000_000.0); kept = np.arange(100.0); large = np.ones(2_500_000)")
    keeper.take()
    python.close_channel()
    with_a_turned_bit(keeper.large_path, keeper.large_path.read_bytes().index(np_bytes(1_500_000)))
    python = start("python", keeper=keeper, extras=True)
    notes, deadline = "", time.monotonic() + 60
    while "damaged" not in notes and time.monotonic() < deadline:
        notes += python.run("1").done.get("note", "")
    assert "not kept: turned (what was stored of it is damaged: make it again, and what has come of it since)" in notes, notes
    assert python.run("'turned' in globals(), float(kept.sum()), float(large.sum())").text == "(False, 4950.0, 2500000.0)"
    python.run("turned = np.arange(3_000_000.0)")  # as it was: what lies there is not taken for it
    store(python, keeper)
    python.close_channel()
    python = start("python", keeper=keeper, extras=True)
    assert python.run("float(turned[1_500_000])").text == "1500000.0"
    while writers_of_any(tmp_path):
        pass
    assert "damaged" not in python.run("1").done.get("note", "")


OF_SNAPSHOTS = "[fd for fd in os.listdir('/proc/self/fd') if os.path.basename(os.path.realpath(f'/proc/self/fd/{fd}')).startswith('snapshot')]"


@pytest.mark.parametrize("closes", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_look_at_very_large_values_that_is_killed_is_made_again(start, tmp_path, closes):
    """Nothing is said of what the code has closed."""
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run("import numpy as np; turned = np.arange(30_000_000.0); small = 5")
    store(python, keeper, 1 << 30)
    python.close_channel()
    with_a_turned_bit(keeper.large_path, keeper.large_path.stat().st_size - (1 << 20))  # which the look comes to last
    python = start("python", keeper=keeper, extras=True)
    looking = writers_of_any(tmp_path)
    for process in looking:
        os.kill(int(process), signal.SIGSTOP)
    if closes:
        python.run(f"import os\nfor fd in {OF_SNAPSHOTS}: os.close(int(fd))")
    for process in looking:
        os.kill(int(process), 9)
    while writers_of_any(tmp_path):
        pass
    if closes:
        assert python.run("small, 'turned' in globals()").text == "(5, True)"
        return
    ran = python.run("small, 'turned' in globals()")
    assert ran.text == "(5, False)", ran
    assert "not kept: turned (what was stored of it is damaged: make it again, and what has come of it since)" in ran.done["note"], ran.done
    assert python.run(f"import os\n{OF_SNAPSHOTS}").text == "[]"


def test_a_wish_does_not_keep_a_run_waiting_for_the_look_at_very_large_values(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run("import numpy as np; large = np.ones(30_000_000)")
    store(python, keeper, 1 << 30)
    python.close_channel()
    python = start("python", keeper=keeper, extras=True)
    stopped = writers_of_any(tmp_path)
    for process in stopped:
        os.kill(int(process), signal.SIGSTOP)
    assert keeper.packet()[0] == b"W"
    wish(python, 1 << 30)
    assert python.run("float(large[3])").text == "1.0"
    if stopped:  # else it has come to its end before
        assert keeper.packet() == (b"X", b"7"), "whoever wished waits for nothing"
        wish(python, 1 << 30)
    for process in stopped:
        os.kill(int(process), signal.SIGCONT)
    keeper.take()
    while keeper.last_begin != b"7":
        keeper.take()


def test_a_large_value_without_buffers_that_was_damaged_is_stored_again(start, tmp_path):
    code = "words = [f'a word that is long {n}' for n in range(100_000)]"
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run(code)
    store(python, keeper)
    python.close_channel()
    with_a_turned_bit(keeper.large_path, keeper.large_path.stat().st_size // 2)
    python = start("python", keeper=keeper)
    assert "words (what was stored of it is damaged: make it again)" in python.run(code).done["note"]
    store(python, keeper)
    python.close_channel()
    assert start("python", keeper=keeper).run("len(words)").text == "100000"


def writers_of_any(folder):
    """Processes that read or write snapshots of a session in this folder."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text() == "hutch-snapshot\n" and os.readlink(process / "cwd").startswith(str(folder)):
                found.append(process.name)
        except OSError:
            continue
    return found


def test_nobody_waits_for_the_look_at_very_large_values(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run("import numpy as np; large = np.ones(4_000_000)")
    keeper.take()
    python.close_channel()
    python = start("python", keeper=keeper, extras=True)
    ran = python.run("import os\ntry: os.wait()\nexcept ChildProcessError: print('none')\nlarge[0] = 5.0")
    assert ran.stdout == "none\n", ran
    store(python, keeper)
    python.close_channel()
    ran = start("python", keeper=keeper, extras=True).run("float(large.sum())")
    assert ran.text == "4000004.0" and "damaged" not in ran.done["note"], "what a session has changed is no damage"


FRAMES = "import numpy as np\nlarge = np.arange(1_000_000.0); other = large[:500_000] * 2; both = [other]"


def kept_at_once(python, keeper, code):
    """Returns what a snapshot adds to the disk after a run, in bytes: of the snapshot and, where they are new, of large values."""
    before = keeper.large
    python.run(code)
    size = len(keeper.take())
    return size, keeper.large_path.stat().st_size if keeper.large != before and keeper.large else 0


def test_large_values_are_written_once_for_as_long_as_they_do_not_change(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    size, large = kept_at_once(python, keeper, FRAMES)
    assert size < 1 << 20 and large > 12_000_000
    for code in ("small = 1", "def f(): return small", "del small"):
        size, large = kept_at_once(python, keeper, code)
        assert size < 1 << 20 and large == 0, code
    size, large = kept_at_once(python, keeper, "other[3] = 7.0")  # the smaller part that changes goes into the snapshot
    assert 4_000_000 < size < 5 << 20 and large == 0
    size, large = kept_at_once(python, keeper, "small = 2")  # as much as the file has was not written beside it yet
    assert 4_000_000 < size < 5 << 20 and large == 0
    size, large = kept_at_once(python, keeper, "small = 3")
    assert size < 1 << 20 and large > 12_000_000, "it was written often enough beside the file"
    size, large = kept_at_once(python, keeper, "small = 4")
    assert size < 1 << 20 and large == 0
    size, large = kept_at_once(python, keeper, "large += 1; more = large + 1")
    assert size < 1 << 20 and large > 20_000_000, "more has changed than not"
    size, large = kept_at_once(python, keeper, "del other, both, more")
    assert size < 1 << 20 and 8_000_000 < large < 9 << 20, "most of it is not needed any more"
    size, large = kept_at_once(python, keeper, "del large")
    assert size < 1 << 20 and not keeper.large_path.exists()


def test_large_values_that_did_not_change_come_back_with_those_that_did(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    kept_at_once(python, keeper, FRAMES)
    kept_at_once(python, keeper, "other[3] = 7.0; word = 'x'")
    python.close_channel()
    python = start("python", keeper=keeper, extras=True)
    assert python.run("float(large.sum()), float(other.sum()), both[0] is other, word").text == "(499999500000.0, 249999500001.0, True, 'x')"
    size, large = kept_at_once(python, keeper, "word = 'y'")
    assert large == 0, "it has not changed by being read"
    python.close_channel()
    python = start("python", keeper=keeper, extras=True)
    assert python.run("float(large.sum()), float(other[3]), word").text == "(499999500000.0, 7.0, 'y')"


def test_what_is_stored_and_has_not_changed_stays_however_little_is_stored_unasked(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    kept_at_once(python, keeper, FRAMES + "; third = large[:800_000] * 3")
    python.close_channel()
    keeper.bytes_max = 7 << 20
    python = start("python", keeper=keeper, extras=True)
    for code in ("word = 'x'", "other[3] = 7.0", "word += 'y'"):
        size, large = kept_at_once(python, keeper, code)
        assert size < 5 << 20 and large == 0 and keeper.last_end.split()[1] == b"0", (code, keeper.last_end)
    kept_at_once(python, keeper, "large[0] = 5.0")
    assert keeper.last_end.split()[1] == b"1", "what has changed has no room"
    python.close_channel()
    python = start("python", keeper=keeper, extras=True)
    reply = python.run("float(third.sum()), float(other[3]), both[0] is other, word, 'large' in globals()")
    assert reply.text == "(959998800000.0, 7.0, True, 'xy', False)", reply
    assert "large (numpy.ndarray: 7 MB, of 7 that are stored in all)" in reply.done["note"], reply.done


def test_large_values_that_somebody_removed_are_written_again_at_once(start, tmp_path):
    """As who forgets what is stored of a session that runs."""
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    kept_at_once(python, keeper, FRAMES)
    for path in (keeper.path, keeper.large_path):
        path.unlink()
    python.run("word = 'x'")
    while keeper.packet()[0] != b"E":
        pass
    keeper.large = 0  # that snapshot is dropped
    keeper.answer()
    assert len(keeper.take()) < 1 << 20 and keeper.large_path.stat().st_size > 12_000_000
    python.close_channel()
    assert start("python", keeper=keeper, extras=True).run("float(large.sum()), word").text == "(499999500000.0, 'x')"


def test_a_wish_is_not_given_up_for_the_answer_to_what_came_before(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import time\nclass Slow:\n    def __reduce__(self):\n        time.sleep(1); return (Slow, ())\nslow = Slow()")
    while keeper.packet()[0] != b"E":
        pass
    wish(python)
    keeper.answer()
    assert b"Slow" in keeper.take() and keeper.last_begin == b"7"


def test_a_snapshot_has_as_much_as_the_last_answer_allows(start, tmp_path):
    """Whoever answers knows what was stored before (kept_state_test.cc)."""
    keeper = Keeper(tmp_path / "snapshot", bytes_max=3 << 20)
    python = start("python", keeper=keeper)
    python.run("small = 1\nfor i in range(150): globals()[f'n{i}'] = bytearray(1 << 16)")
    keeper.bytes_max = 16 << 20  # as it is told when this one is there
    assert keeper.take_bytes() < 3 << 20 and keeper.last_end.split()[1] != b"0"
    size, _ = kept_at_once(python, keeper, "word = 'x'")
    assert size > 9 << 20 and keeper.last_end.split()[1] == b"0", keeper.last_end


@pytest.mark.parametrize("language, first, second", [("python", "x = 1", "y = 2"), ("javascript", "let x = 1", "let y = 2")])
def test_a_hutch_box_that_was_replaced_loses_nothing(start, tmp_path, language, first, second):
    keeper = Keeper(tmp_path / "snapshot")
    keeper.is_older = True
    runner = start(language, keeper=keeper)
    for code in (first, second):
        runner.run(code)
        keeper.take()
    assert start(language, keeper=keeper).run("x + y").text == "3"


def test_a_snapshot_without_its_large_values_has_the_others_and_names_what_is_gone(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    kept_at_once(python, keeper, FRAMES + "; word = 'x'")
    python.close_channel()
    keeper.large_path.write_bytes(b"damaged")
    reply = start("python", keeper=keeper, extras=True).run("word")
    assert reply.text == "'x'" and "large (its large values are gone)" in reply.done["note"], reply.done


def test_large_values_that_there_is_no_room_for_stay_stored(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    kept_at_once(python, keeper, "large = bytearray(150_000_000); word = 'x'")
    python.close_channel()
    python = start("python", keeper=keeper, program=["bash", "-c", 'ulimit -d 100000; exec "$@"', "bash", *PROGRAMS["python"]])
    reply = python.run("'word' in globals()")
    assert reply.text == "False" and "stay stored" in reply.done["note"], reply.done
    assert keeper.packet() == (b"K", b"") and keeper.has_nothing()
    python.close_channel()
    assert start("python", keeper=keeper).run("word, len(large)").text == "('x', 150000000)"


def test_a_file_of_large_values_that_the_host_did_not_keep_is_not_counted_on(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    python.run(FRAMES)
    while keeper.packet()[0] != b"E":
        pass
    keeper.answer()  # no room for it, say: number 0
    size, large = kept_at_once(python, keeper, "small = 1")
    assert size < 1 << 20 and large > 12_000_000


@pytest.mark.parametrize("fails, after", [("fork_quietly", 0), ("high_copy", 0), ("high_copy", 1), ("out_of_the_way", 0)])
def test_a_check_that_cannot_begin_leaves_no_descriptor(python, fails, after):
    """Where there is no place for a process, or for one more descriptor."""
    code = ("import os, types, hutch_runner.snapshot_check as of\nfiles = [open('/proc/self/stat') for _ in range(2)]\n"
            "groups = [types.SimpleNamespace(whole='x', fd=file.fileno(), size=lambda: 1 << 30, places=[]) for file in files]\n"
            f"calls, real = [], of.{fails}\n"
            "def failing(*given):\n    calls.append(1)\n"
            f"    if len(calls) > {after}: raise OSError('no place')\n    return real(*given)\n"
            f"of.{fails} = failing\nbefore = os.listdir('/proc/self/fd')\nbegun = of.begin(groups)\nof.{fails} = real\n"
            "(begun, len(os.listdir('/proc/self/fd')) - len(before))")
    assert python.run(code).text == "(None, 0)"
