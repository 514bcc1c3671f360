"""All that is around a Python's values comes back with its snapshot, or is named: settings, and what goes with the process."""

import pytest

from runner_client import Keeper
from woken import WokenPython, store

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


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_settings_come_back(start, tmp_path, name):
    code, look, extras = SURROUNDINGS[name]
    python = WokenPython(start, tmp_path, {name: (code + "\nkept = 1", None)}, extras=extras)
    looked = python.python.run(look)
    assert looked.text == "True", (looked.text, looked.error, python.note)


@pytest.mark.parametrize("code,said", [
    ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True, name='waits').start()", "1 threads that ran (waits)"),
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
