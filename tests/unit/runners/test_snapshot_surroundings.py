"""All that is around a Python's values comes back with its snapshot, or is named: settings, and what goes with the process."""

import os
import re

import pytest

from runner_client import Keeper
from woken import WokenPython, store, wish

pytestmark = pytest.mark.plain_start


def test_what_is_around_the_values_comes_back(start, tmp_path):
    (tmp_path / "workspace" / "sub").mkdir(parents=True)
    python = WokenPython(start, tmp_path, {"around": (
        "from __future__ import annotations\nimport os, sys, random\nos.chdir('sub'); sys.path.append('/somewhere')\n"
        "random.seed(5); random.random()\nstate = random.getstate()", None)}).python
    assert python.run("def f(a: nowhere): pass\nf.__annotations__['a']").text == "'nowhere'"
    assert python.run("import os, sys; os.getcwd().endswith('/sub') and '/somewhere' in sys.path").text == "True"
    assert python.run("random.getstate() == state").text == "True"


SURROUNDINGS = {
    "environment": ("import os\nos.environ['MINE'] = 'gr\u00fcn'; del os.environ['HOME']", "(os.environ['MINE'], 'HOME' in os.environ) == ('gr\u00fcn', False)", False),
    "warnings": ("import warnings\nwarnings.simplefilter('error', FutureWarning)", "warnings.filters[0][:3:2] == ('error', FutureWarning)", False),
    "decimal": ("import decimal\ndecimal.getcontext().prec = 4", "str(decimal.Decimal(1) / 3) == '0.3333'", False),
    "recursion": ("import sys\nsys.setrecursionlimit(3333)", "sys.getrecursionlimit() == 3333", False),
    "own_warning": ("import warnings\nclass Mine(UserWarning): pass\nwarnings.simplefilter('error', Mine)", "warnings.filters[0][2] is Mine", False),
    "mask_of_files": ("import os\nos.umask(0o027) and None", "__import__('os').umask(0o022) == 0o027", False),
    "locale": ("import locale\nlocale.setlocale(locale.LC_ALL, 'C')", "locale.setlocale(locale.LC_ALL) == 'C'", False),
    "errors_of_numpy": ("import numpy as np\nnp.seterr(divide='raise')", "np.geterr()['divide'] == 'raise'", True),
    "numpy": ("import numpy as np\nnp.random.seed(4); np.random.rand(); wanted = np.random.get_state()[1].tolist(); np.set_printoptions(precision=3)",
              "(np.random.get_state()[1].tolist() == wanted, np.get_printoptions()['precision']) == (True, 3)", True),
    "pandas": ("import pandas as pd\npd.set_option('display.max_rows', 7); pd.options.mode.copy_on_write",
               "pd.get_option('display.max_rows') == 7", True),
    "formats_of_pandas": ("import pandas as pd\npd.options.display.float_format = lambda n: f'<{n:.1f}>'", "'<1.5>' in str(pd.Series([1.5]))", True),
    "matplotlib": ("import matplotlib.pyplot as plt\nplt.rcParams['lines.linewidth'] = 4.5", "plt.rcParams['lines.linewidth'] == 4.5", True),
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if name.endswith("s_of_numpy") or name.endswith("s_of_pandas") else []) for name in SURROUNDINGS])
def test_settings_come_back(start, tmp_path, name):
    code, look, extras = SURROUNDINGS[name]
    python = WokenPython(start, tmp_path, {name: (code + "\nkept = 1", None)}, extras=extras)
    looked = python.python.run(look)
    assert looked.text == "True", (looked.text, looked.error, python.note)


@pytest.mark.parametrize("code,said", [
    ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True, name='waits').start()", "1 thread that ran then (waits)"),
    ("import asyncio\nasync def wait(): await asyncio.sleep(60)\nasyncio.create_task(wait()).done(); await asyncio.sleep(0)", "1 tasks of asyncio that waited"),
    ("import logging\nlogging.basicConfig(level=logging.DEBUG)", "how logging was set up"),
    ("import signal\nsignal.signal(signal.SIGUSR1, lambda *_: None) and None", "handlers of signals"),
    ("open('count.py', 'w').write('n = 0\\ndef up():\\n    global n; n += 1\\n')\nimport count\ncount.up()", "what was changed in the modules count"),
    ("open('mine.py', 'w').write('seen = []')\nimport mine\nmine.seen.append(1)", "what was changed in the modules mine"),
    ("import warnings\ndef make():\n    class Mine(UserWarning):\n        held = (n for n in ())\n    return Mine\nwarnings.simplefilter('error', make())",
     "the settings of warnings (TypeError)"),
    ("import random\ndef fails(): raise RuntimeError\nrandom.getstate = fails", "what was put into random.getstate, the settings of random (RuntimeError)"),
    ("import threading\nthreading.enumerate = lambda: [threading.main_thread(), 5]", "perhaps threads"),
    ("import os\nfd = os.open('log.txt', os.O_CREAT | os.O_RDWR)", "1 open descriptors ("),
    ("import os\nends = os.pipe()", "2 open descriptors ("),
    ("import json\njson.dumps = lambda o: 'patched'", "what was put into json.dumps"),
    ("import argparse\nargparse.Namespace.twice = lambda self: 2", "what was put into argparse.Namespace.twice"),
])
def test_what_is_no_value_and_goes_with_the_process_is_told(start, tmp_path, code, said):
    note = WokenPython(start, tmp_path, {"it": (code + "\nkept = 1", None)}).note
    assert f"gone with the one before: {said}" in note, note


def test_threads_are_told_once(start, tmp_path):
    """The process that has heard of them ends before it has written anything itself."""
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("import threading, time\nfor n in range(4): threading.Thread(target=time.sleep, args=(60,), daemon=True, name=f'n{n}').start()")
    store(first, keeper)
    first.close_channel()
    second = start("python", keeper=keeper)
    assert "gone with the one before: 4 threads that ran then (n0, n1, n2 and 1 more)" in second.run("n").done["note"]
    second.close_channel()
    assert "gone with" not in start("python", keeper=keeper).run("n").done["note"]


def test_idle_threads_of_pools_are_none_of_the_users(start, tmp_path):
    pool = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1); pool.submit(int).result()\nkept = 1"
    python = WokenPython(start, tmp_path, {"it": (pool, None)})
    assert "not kept: pool (" in python.note and "gone with" not in python.note, python.note


def test_a_note_has_whole_items_and_counts_the_others(start, tmp_path):
    made = "".join(f"number{n} = (n for n in ())\n" for n in range(40))
    note = WokenPython(start, tmp_path, {"it": (made + "kept = 1", None)}).note
    found = re.search(r"; not kept: (number0 \(.+make it again\)|number0 \(.+made it\)) and (\d+) more: `hutch sessions show`$", note)
    assert found and found[1].count("number") + int(found[2]) == 40 and 230 < len(note) <= 300, note
    long = WokenPython(start, tmp_path, {"it": (f"{'n' * 400} = (n for n in ())\nkept = 1", None)}).note
    assert len(long) <= 300 and "; not kept: nnn" in long and long.endswith("..."), long


def test_pipes_of_the_runner_are_none_of_the_users(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("numbers = tuple(range(1000))")
    keeper.take()
    store(python, keeper)
    assert keeper.last_end.split()[1] == b"0", start("python", keeper=keeper).run("1").done


WHAT_IS_ALWAYS_THERE = """
import logging, random, subprocess, warnings
import numpy as np, pandas as pd, matplotlib.pyplot as plt, plotly.express as px
warnings.filterwarnings('ignore'); np.random.seed(1); random.seed(1)
with open('data.csv', 'w') as file:
    file.write('a,b\\n1,2')
frame = pd.read_csv('data.csv'); frame.to_parquet('data.parquet'); again = pd.read_parquet('data.parquet')
listed = subprocess.run(['ls'], capture_output=True, text=True).stdout
log = logging.getLogger('mine'); log.info('x')
plt.plot([1, 2]); figure = px.line(x=[1, 2], y=[1, 2])
of_sql = hutch.sql('select 1 as a')
"""


def test_what_libraries_hold_for_themselves_is_not_told(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    for code in (WHAT_IS_ALWAYS_THERE, "%time frame.sum()"):
        ran = python.run(code)
        assert ran.ok, ran.error
    store(python, keeper)
    assert keeper.last_end.split()[1] == b"0", start("python", keeper=keeper, extras=True).run("1").done


@pytest.mark.parametrize("code", [
    "import duckdb\nduckdb.sql('CREATE TABLE bought AS SELECT 1 AS a')",
    "import duckdb\nduckdb.sql('CREATE VIEW bought AS SELECT 1 AS a'); numbers = duckdb.execute('SELECT * FROM range(5)'); first = numbers.fetchone()",
])
def test_tables_in_memory_of_a_library_go_with_the_process(start, tmp_path, code):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    ran = python.run(code)
    assert ran.ok, ran.error
    store(python, keeper)
    assert keeper.last_end.split()[1] != b"0"
    if "numbers" in code:
        assert python.run("numbers.fetchone()").text == "(1,)", "what the user was reading goes on"
    python.close_channel()
    note = start("python", keeper=keeper, extras=True).run("1").done["note"]
    assert "the tables of duckdb's own connection (bought)" in note, note


@pytest.mark.parametrize("code", ["import duckdb\nduckdb.sql('CREATE TABLE bought AS SELECT 1 AS a')",
                                  "from duckdb import sql as query\nquery('CREATE TABLE bought AS SELECT 1 AS a')"])
def test_tables_in_memory_of_a_library_are_told_where_nobody_has_asked_for_a_snapshot(start, tmp_path, code):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    assert python.run(code).ok
    keeper.take()
    python.close_channel()
    note = start("python", keeper=keeper, extras=True).run("1").done["note"]
    assert "the tables of duckdb's own connection (bought)" in note, note


def test_a_look_for_tables_that_fails_is_told(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    assert python.run("import sys, types\nsys.modules['duckdb'] = types.ModuleType('duckdb'); several = [1]").ok
    store(python, keeper)
    assert keeper.last_end.split()[1] != b"0"
    python.close_channel()
    note = start("python", keeper=keeper).run("1").done["note"]
    assert "perhaps tables of duckdb (module 'duckdb' has no attribute 'default_connection')" in note, note


def test_a_library_without_tables_is_not_told(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper, extras=True)
    assert python.run("import duckdb\nfound = duckdb.sql('SELECT 1 AS a').fetchall()").ok
    store(python, keeper)
    assert keeper.last_end.split()[1] == b"0", keeper.last_end


def test_views_become_copies_and_are_told(start, tmp_path):
    woken = WokenPython(start, tmp_path, {"views": (
        "import numpy as np\na = np.zeros(10); view = a[:5]; other = view.reshape(5, 1); same = a; alone = np.arange(3)[1:]; sum_of = a + 1", None)}, extras=True)
    assert "a and view and other are copies now, no views of the same numbers" in woken.note, woken.note
    assert woken.python.run("view[0] = 7\n(a[0], same is a)").text in ("(np.float64(0.0), True)", "(0.0, True)")


@pytest.mark.parametrize("change", ["open('read.txt', 'w').write('other\\nlines\\n')", "import os\nos.utime('read.txt', ns=(1, 1))", "open('read.txt', 'a').write('more')"])
def test_an_open_file_that_has_changed_is_told(start, tmp_path, change):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("open('read.txt', 'w').write('first\\nlines\\n')\nfile = open('read.txt'); first = file.readline()")
    store(python, keeper)
    python.close_channel()
    assert start("python", keeper=keeper).run("file.read()").text == "'lines\\n'"
    python = start("python")
    python.run(change)
    python.close_channel()
    ran = start("python", keeper=keeper).run("first, 'file' in globals()")
    assert ran.text == "('first\\n', False)" and "has changed since it was stored" in ran.done["note"], ran


def test_an_open_file_that_is_gone_is_told_and_not_made_anew(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("open('read.txt', 'w').write('first\\nlines\\n')\nfile = open('read.txt'); first = file.readline()")
    store(python, keeper)
    python.run("import os\nos.unlink('read.txt')")
    python.close_channel()
    ran = start("python", keeper=keeper).run("import os\n(first, 'file' in globals(), os.path.exists('read.txt'))")
    assert ran.text == "('first\\n', False, False)" and "file (" in ran.done["note"], ran


@pytest.mark.parametrize("mode,change,why", [
    *((mode, "os.unlink('out.txt')", "out.txt is gone") for mode in ("w", "a", "x", "wb")),
    *((mode, "os.rename('out.txt', 'was.txt'); open('out.txt', 'w').write('another file')", "out.txt has changed since it was stored: open it again") for mode in ("w", "a")),
    *((mode, "os.truncate('out.txt', 2)", "out.txt is shorter than it was: open it again") for mode in ("w", "ab")),
    *((mode, "open('out.txt', 'a').write('of another')", "") for mode in ("a", "ab")),
    *((mode, "open('out.txt', 'a').write('of another')", "out.txt has changed since it was stored: open it again") for mode in ("w", "r+", "x", "wb")),
    *((mode, "os.utime('out.txt')", "out.txt has changed since it was stored: open it again") for mode in ("w",)),
])
def test_a_file_that_is_written_to_is_neither_created_nor_cut_off(start, tmp_path, mode, change, why):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    assert python.run(("open('out.txt', 'w').close()\n" if mode == "r+" else "") + f"file = open('out.txt', '{mode}'); size = file.write({'b' if 'b' in mode else ''}'first')").ok
    store(python, keeper)
    python.close_channel()
    path = python.cwd / "out.txt"
    assert path.read_text() == "first", "what was written is in the file once"
    exec(change.replace("'out.txt'", "path").replace("'was.txt'", "path.with_name('was.txt')"), {"os": os, "path": path})
    before = path.read_bytes() if path.exists() else None
    python = start("python", keeper=keeper)
    ran = python.run("size, 'file' in globals()")
    assert ran.text == f"(5, {not why})" and why in ran.done["note"], ran.done
    assert (path.read_bytes() if path.exists() else None) == before
    if not why:
        python.run(f"file.write({'b' if 'b' in mode else ''}'+'); file.close()")
        assert path.read_text() == "firstof another+"


def test_a_file_that_the_live_session_went_on_writing_is_not_written_over(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("log = open('log.txt', 'w'); log.write('before\\n')\nboth = open('both.txt', 'w+'); both.write('0123456789'); both.seek(2)\nkept = open('log.txt')")
    store(python, keeper)
    python.run("log.write('after\\n'); log.flush(); both.write('XX'); both.flush()")  # the second leaves the size as it was
    os.kill(int(python.run("import os; os.getpid()").text), 9)
    python = start("python", keeper=keeper)
    ran = python.run("[name in globals() for name in ('log', 'both')]")
    assert ran.text == "[False, False]" and "log.txt has changed since it was stored: open it again" in ran.done["note"], ran.done
    assert (python.cwd / "log.txt").read_text() == "before\nafter\n"


@pytest.mark.parametrize("mode", ["r+", "a+"])
def test_the_place_of_a_file_in_the_midst_of_an_iteration_is_not_guessed(start, tmp_path, mode):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run(f"open('lines.txt', 'w').write(''.join(f'line {{n:06d}}\\n' for n in range(5000)))\nit = open('lines.txt', '{mode}'); it.seek(0)\nfor _ in range(683): next(it)\nkept = 1")
    store(python, keeper)
    assert python.run("next(it)").text == "'line 000683\\n'", "the one that goes on does not notice"
    python.close_channel()
    ran = start("python", keeper=keeper).run("kept, 'it' in globals()")
    assert ran.text == "(1, False)" and "it (_io.TextIOWrapper: an open file: open it again)" in ran.done["note"], ran.done


def test_files_of_one_path_are_kept_as_they_stand_once_all_is_written(start, tmp_path):
    python = WokenPython(start, tmp_path, {"files": ("reads = open('one.txt', 'w+'); reads.close(); reads = open('one.txt'); writes = open('one.txt', 'w'); size = writes.write('first')", None)})
    ran = python.python.run("(reads.read(), writes.write('+'), writes.close(), reads.read())")
    assert ran.text == "('first', 1, None, '+')", (ran, python.note)


def test_the_place_of_a_file_is_that_of_the_moment_of_the_snapshot(start, tmp_path):
    """The child that stores it has the file's place in common with its parent."""
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    # The child's child waits for that.
    python.run("open('read.txt', 'w').write(''.join(f'{n:06d}\\n' for n in range(100_000)))\nfile = open('read.txt'); line = file.readline()\n"
               "import os, time\nparent, forks = os.getpid(), []\ndef wait():\n    forks.append(1)\n    while len(forks) > 1 and not os.path.exists('moved'): time.sleep(0.01)\nos.register_at_fork(after_in_child=wait)")
    wish(python)
    python.run("size = len(file.readlines(350_000)); open('moved', 'w').close()")
    keeper.take()
    while keeper.last_begin != b"7":
        keeper.take()
    os.kill(int(python.run("parent").text), 9)
    ran = start("python", keeper=keeper).run("line, file.readline()")
    assert ran.text == "('000000\\n', '000001\\n')", ran


@pytest.mark.parametrize("thread", ["", "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"])
def test_lines_end_as_they_did_or_the_file_is_named(start, tmp_path, thread):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run(thread + "NEWLINES = [None, '', '\\n', '\\r', '\\r\\n']\n"
               "for number, newline in enumerate(NEWLINES):\n"
               "    open(f'r{number}', 'wb').write(b'a\\nb\\rc\\r\\nd\\n' * 2)\n"
               "    for mode in ('r', 'w', 'r+'):\n"
               "        path = f'r{number}' if mode == 'r' else f'{mode[-1]}{number}'\n"
               "        if mode == 'r+': open(path, 'wb').write('a\\nb\\rc\\r\\nd\\n'.encode('utf-16'))\n"
               "        globals()['file_' + mode[-1] + str(number)] = open(path, mode, newline=newline, encoding='utf-16' if mode == 'r+' else None)\n"
               "open('plain', 'w').write('a\\nb\\n'); plain = open('plain'); plain.readline()\n"
               "[globals()[f'file_r{number}'].readline() for number in range(5)]")
    store(python, keeper)
    python.close_channel()
    python = start("python", keeper=keeper)
    assert python.run("plain.read()").text == "'b\\n'"
    if thread:
        assert python.run("[name for name in globals() if name.startswith('file_')]").text == "[]"
        return
    ran = python.run("import io\n"
                     "def wanted(newline, data, encoding=None): return list(io.TextIOWrapper(io.BytesIO(data), newline=newline, encoding=encoding))\n"
                     "wrong = []\n"
                     "for number, newline in enumerate(NEWLINES):\n"
                     "    if list(globals()[f'file_r{number}']) != wanted(newline, b'a\\nb\\rc\\r\\nd\\n' * 2)[1:]: wrong.append(('r', newline))\n"
                     "    if list(globals()[f'file_+{number}']) != wanted(newline, open(f'+{number}', 'rb').read(), 'utf-16'): wrong.append(('r+', newline))\n"
                     "    file = globals()[f'file_w{number}']; file.write('x\\n'); file.close()\n"
                     "    if open(f'w{number}', 'rb').read() != b'x' + (newline or '\\n').encode(): wrong.append(('w', newline))\n"
                     "wrong")
    assert ran.text == "[]", ran


def test_what_is_written_while_a_snapshot_is_written_is_in_the_file_once(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import threading\nlog = open('log.txt', 'w'); goes_on = True\ndef write():\n    n = 0\n    while goes_on:\n        log.write(f'{n}\\n'); n += 1\n"
               "threading.Thread(target=write, daemon=True).start()")
    for number in range(5):
        python.run(f"x = {number}")
        keeper.take()
    ran = python.run("goes_on = False\nfor one in threading.enumerate():\n    if one is not threading.main_thread(): one.join(5)\nlog.close(); lines = open('log.txt').read().split()\nlines == [str(n) for n in range(len(lines))]")
    assert ran.text == "True", ran


def test_a_disk_without_room_costs_the_place_in_a_file_only(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\nresource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))\n"
               "full = open('full.txt', 'w'); full.write('x' * 20); kept = 1\nNone")
    keeper.take()
    python.run("resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); full.close()")
    python.close_channel()
    ran = start("python", keeper=keeper).run("kept")
    assert ran.text == "1" and "full (_io.TextIOWrapper: an open file: open it again)" in ran.done["note"], ran
    assert (python.cwd / "full.txt").read_text() == "x" * 20
