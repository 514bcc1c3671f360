"""What of a Python comes back from its snapshot: kept equal, or named. One table for all kinds of objects."""

import os
import pathlib
import re
import time

import pytest

from conftest import starter
from runner_client import Keeper

pytestmark = pytest.mark.plain_start

# name: code that makes `it`, an expression that is true of what came back
KEPT = {
    "int": ("it = 2 ** 200", "it == 2 ** 200"),
    "float": ("it = float('-inf')", "it == float('-inf')"),
    "complex": ("it = 1 + 2j", "it == 1 + 2j"),
    "bool": ("it = True", "it is True"),
    "none": ("it = None", "it is None"),
    "str": ("it = 'gr\u00fc\u00df \U0001F600'", "it == 'gr\u00fc\u00df \U0001F600'"),
    "big_str": ("it = 'x' * 3_000_000", "len(it) == 3_000_000"),
    "surrogate": ("it = '\\udc80'", "it == '\\udc80'"),
    "bytes": ("it = bytes(range(256))", "it == bytes(range(256))"),
    "bytearray": ("it = bytearray(b'abc')", "it.append(1) is None and it == b'abc\\x01'"),
    "list": ("it = [1, [2, 3]]", "it == [1, [2, 3]]"),
    "tuple": ("it = (1, (2,))", "it == (1, (2,))"),
    "dict": ("it = {'b': 1, 'a': 2}", "list(it) == ['b', 'a']"),
    "set": ("it = {1, 2}", "it == {1, 2}"),
    "frozenset": ("it = frozenset({1})", "it == frozenset({1})"),
    "range": ("it = range(3, 9, 2)", "it == range(3, 9, 2)"),
    "slice": ("it = slice(1, 2)", "it == slice(1, 2)"),
    "ellipsis": ("it = ...", "it is ..."),
    "list_iterator": ("it = iter([1, 2, 3]); next(it)", "list(it) == [2, 3]"),
    "range_iterator": ("it = iter(range(3)); next(it)", "list(it) == [1, 2]"),
    "dict_items": ("it = list({'a': 1}.items())", "it == [('a', 1)]"),
    "enumerate": ("it = enumerate('ab'); next(it)", "list(it) == [(1, 'b')]"),
    "zip": ("it = zip([1], [2])", "list(it) == [(1, 2)]"),
    "map": ("it = map(str, [1])", "list(it) == ['1']"),
    "reversed": ("it = reversed([1, 2])", "list(it) == [2, 1]"),
    "count": ("import itertools\nit = itertools.count(5); next(it)", "next(it) == 6"),
    "exception": ("it = ValueError('why', 3)", "type(it) is ValueError and it.args == ('why', 3)"),
    "type": ("it = dict[str, int]", "it == dict[str, int]"),
    "builtin": ("it = len", "it is len"),
    "method": ("it = [3].append", "it(4) is None and it.__self__ == [3, 4]"),
    "module": ("import json as it", "it.dumps([]) == '[]'"),
    "submodule": ("import os.path as it", "it.join('a', 'b') == 'a/b'"),
    "decimal": ("import decimal\nit = decimal.Decimal('1.10')", "str(it) == '1.10'"),
    "fraction": ("import fractions\nit = fractions.Fraction(1, 3)", "it * 3 == 1"),
    "datetime": ("import datetime\nit = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)", "it.isoformat() == '2026-01-02T00:00:00+00:00'"),
    "zone": ("import zoneinfo\nit = zoneinfo.ZoneInfo('Europe/Paris')", "it.key == 'Europe/Paris'"),
    "path": ("import pathlib\nit = pathlib.Path('a') / 'b'", "str(it) == 'a/b'"),
    "uuid": ("import uuid\nit = uuid.UUID(int=5)", "it.int == 5"),
    "pattern": ("import re\nit = re.compile('a+')", "it.match('aaa').end() == 3"),
    "counter": ("import collections\nit = collections.Counter('aab')", "it['a'] == 2"),
    "defaultdict": ("import collections\nit = collections.defaultdict(list)", "it['x'] == []"),
    "deque": ("import collections\nit = collections.deque([1, 2], maxlen=2)", "it.append(3) is None and list(it) == [2, 3]"),
    "namespace": ("import types\nit = types.SimpleNamespace(a=1)", "it.a == 1"),
    "partial": ("import functools\nit = functools.partial(int, base=2)", "it('101') == 5"),
    "array": ("import array\nit = array.array('d', [1.5])", "it[0] == 1.5"),
    "text_buffer": ("import io\nit = io.StringIO('abc'); it.read(1)", "it.read() == 'bc'"),
    "random": ("import random\nit = random.Random(3); it.random()\nwanted_random = it.getstate()", "it.getstate() == wanted_random"),
    "shared": ("inner = [1]\nit = {'a': inner, 'b': inner}", "it['a'] is it['b'] and it['a'] is inner"),
    "cycle": ("it = []; it.append({'me': it})", "it[0]['me'] is it"),
    "read_file": ("open('lines.txt', 'w').writelines(f'{n}\\n' for n in range(5000))\nit = open('lines.txt'); it.readline(); it.readline()", "it.readline() == '2\\n' and len(it.readlines()) == 4997"),
    "read_bytes": ("it = open('lines.txt', 'rb'); it.read(3)", "it.read(3) == b'\\n2\\n' or it.tell()"),
    "closed_file": ("with open('lines.txt') as it: pass", "it.closed"),
    "standard_stream": ("import sys\nit = sys.stdout", "it is __import__('sys').stdout"),
    "of_random": ("from random import randint as it, seed as seed_of_random", "(seed_of_random(1), it(1, 10**9))[1] == (__import__('random').seed(1), __import__('random').randint(1, 10**9))[1]"),
    "environment": ("from os import environ as it", "it is __import__('os').environ"),
    "big_list": ("it = [str(n) for n in range(100_000)]", "len(it) == 100_000 and it[-1] == '99999'"),
}
DEFINED = {
    "function": ("def it(a, *, b=2): return a + b + offset\noffset = 10", "it(1) == 13"),
    "function_sees_names": ("base = 1\ndef it(): return base", "globals().__setitem__('base', 5) is None and it() == 5"),
    "recursive": ("def it(n): return 1 if n < 2 else n * it(n - 1)", "it(5) == 120"),
    "lambda": ("it = lambda n: n * 2", "it(4) == 8"),
    "closure": ("def make():\n    kept = []\n    def add(n): kept.append(n); return kept\n    return add\nit = make(); it(1)", "it(2) == [1, 2]"),
    "decorator": ("import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(n): return f(f(n))\n    return inner\n@twice\ndef it(n): return n + 1", "it(1) == 3 and it.__name__ == 'it'"),
    "cache": ("import functools\n@functools.cache\ndef it(n): return n + 1\nit(1)", "it(1) == 2"),
    "generator_function": ("def it():\n    yield from range(3)", "list(it()) == [0, 1, 2]"),
    "coroutine_function": ("async def it(): return 7", "await it() == 7"),
    "class": ("class it:\n    shared = []\n    def __init__(self): self.n = 1\n    @property\n    def double(self): return self.n * 2\n    @classmethod\n    def make(cls): return cls()\n    @staticmethod\n    def plain(): return 3", "(it().double, it.make().n, it.plain()) == (2, 1, 3)"),
    "instance": ("class Kind:\n    def __init__(self, n): self.n = n\nit = Kind(4)", "it.n == 4 and type(it) is Kind"),
    "subclass": ("class Base:\n    def name(self): return 'base'\nclass Sub(Base):\n    def name(self): return super().name() + ' sub'\nit = Sub()", "it.name() == 'base sub' and isinstance(it, Base)"),
    "slots": ("class Slotted:\n    __slots__ = ('a',)\nit = Slotted(); it.a = 5", "it.a == 5"),
    "nested": ("class Outer:\n    class Inner:\n        n = 6\nit = Outer.Inner()", "it.n == 6 and type(it) is Outer.Inner"),
    "dataclass": ("import dataclasses\n@dataclasses.dataclass(order=True)\nclass Row:\n    n: int\n    tags: list = dataclasses.field(default_factory=list)\nit = [Row(2), Row(1)]", "sorted(it)[0].n == 1 and it[0] == Row(2)"),
    "enum": ("import enum\nclass Colour(enum.Enum):\n    RED = 1\nit = Colour.RED", "it is Colour.RED and Colour(1) is it"),
    "named_tuple": ("import collections\nPair = collections.namedtuple('Pair', 'a b')\nit = Pair(1, 2)", "it.b == 2 and isinstance(it, Pair)"),
    "typed_tuple": ("import typing\nclass Typed(typing.NamedTuple):\n    a: int = 3\nit = Typed()", "it.a == 3"),
    "own_exception": ("class Mine(Exception): pass\nit = Mine('x')", "isinstance(it, Mine) and str(it) == 'x'"),
    "abstract": ("import abc\nclass Shape(abc.ABC):\n    @abc.abstractmethod\n    def area(self): ...\nclass Square(Shape):\n    def area(self): return 4\nit = Square()", "it.area() == 4 and isinstance(it, Shape)"),
    "metaclass": ("class Meta(type):\n    def __call__(cls, *a): return super().__call__(*a)\nclass WithMeta(metaclass=Meta): pass\nit = WithMeta()", "type(type(it)) is Meta"),
    "bound_method": ("class Has:\n    n = 8\n    def get(self): return self.n\nit = Has().get", "it() == 8"),
    "new_type": ("import typing\nit = typing.NewType('it', int)\ndef takes(u: it): return u\nimport dataclasses\n@dataclasses.dataclass\nclass HasNewType:\n    u: it\nrow_of_new_type = HasNewType(it(3))",
                 "it(5) == 5 and it.__supertype__ is int and takes(2) == 2 and row_of_new_type.u == 3 and HasNewType(1) == HasNewType(1)"),
    "param_spec": ("import typing\nit = typing.ParamSpec('it')", "it.__name__ == 'it'"),
    "type_variable": ("import typing\nit = typing.TypeVar('it')\nclass Holds(typing.Generic[it]): pass", "Holds[int]() is not None"),
    "shared_closure": ("def make_counter():\n    n = 0\n    def inc():\n        nonlocal n; n += 1; return n\n    def get(): return n\n    return inc, get\nit, get_of_counter = make_counter(); it()",
                       "(it(), it(), get_of_counter()) == (2, 3, 3)"),
    "shared_in_class": ("def make_class():\n    n = [0]\n    total = 0\n    class Counts:\n        def add(self):\n            nonlocal total; total += 1; return total\n        def get(self): return total\n    return Counts\nit = make_class(); it().add()",
                        "(it().add(), it().get()) == (2, 2)"),
    "recursive_closure": ("def make_fib():\n    def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n    return fib\nit = make_fib()", "it(10) == 55"),
    "needs_another": ("needed = [2] * 50000\nclass Needs:\n    def __init__(self, v): self.v = v\n    def __hash__(self): return hash(round(self.v, needed[0]))\n    def __eq__(self, other): return self.v == other.v\nit = {Needs(1.2): 1}", "it[Needs(1.2)] == 1"),
    "source": ("def it(n):\n    # says why\n    return n", "'# says why' in __import__('inspect').getsource(it)"),
}
TABLES = {
    "array": ("import numpy as np\nit = np.arange(6).reshape(2, 3)", "it.sum() == 15 and it.__setitem__((0, 0), 9) is None and it[0, 0] == 9"),
    "large_array": ("it = np.ones(2_000_000)\nsame = it", "it is same and it[-1] == 1"),
    "strings": ("it = np.array(['a', 'bc'])", "it.tolist() == ['a', 'bc']"),
    "structured": ("it = np.zeros(2, dtype=[('a', 'i4'), ('b', 'f8')])", "it.dtype.names == ('a', 'b')"),
    "objects": ("it = np.array([{'a': 1}, None], dtype=object)", "it[0] == {'a': 1}"),
    "times": ("it = np.array(['2026-01-02'], dtype='datetime64[D]')", "str(it[0]) == '2026-01-02'"),
    "scalar": ("it = np.float32(1.5)", "it == 1.5 and it.dtype == 'float32'"),
    "dtype": ("it = np.dtype('f4')", "it == np.dtype('f4')"),
    "generator": ("it = np.random.default_rng(3); it.random()\nwanted_rng = it.bit_generator.state", "it.bit_generator.state == wanted_rng"),
    "masked": ("it = np.ma.array([1, 2], mask=[0, 1])", "it.sum() == 1"),
    "frame": ("import pandas as pd\nit = pd.DataFrame({'i': [1, 2], 'f': [1.5, None], 's': ['a', None], 'b': [True, False], 't': pd.to_datetime(['2026-01-01', None]),"
              " 'z': pd.to_datetime(['2026-01-01', None], utc=True), 'd': pd.to_timedelta(['1h', None]), 'c': pd.Categorical(['x', 'y'])})\nwanted_frame = it.copy()",
              "it.equals(wanted_frame) and (it.dtypes == wanted_frame.dtypes).all()"),
    "nullable": ("it = pd.DataFrame({'i': pd.array([1, None], 'Int64'), 'b': pd.array([True, None], 'boolean'), 's': pd.array(['a', None], 'string'), 'f': pd.array([1.5, None], 'Float32')})",
                 "[str(d) for d in it.dtypes] == ['Int64', 'boolean', 'string', 'Float32'] and it.i.isna().sum() == 1"),
    "periods": ("it = pd.DataFrame({'p': pd.period_range('2026-01', periods=2, freq='M'), 'v': pd.IntervalIndex.from_breaks([0, 1, 2])})", "str(it.p[0]) == '2026-01' and 0.5 in it.v[0]"),
    "series": ("it = pd.Series([1, 2], index=['a', 'b'], name='n')", "it['b'] == 2 and it.name == 'n'"),
    "multi_index": ("it = pd.DataFrame({'v': [1, 2]}, index=pd.MultiIndex.from_tuples([('a', 1), ('b', 2)]))", "it.loc[('b', 2), 'v'] == 2"),
    "grouped": ("it = pd.DataFrame({'k': ['a', 'a'], 'v': [1, 2]}).groupby('k')", "it.v.sum()['a'] == 3"),
    "timestamp": ("it = pd.Timestamp('2026-01-02', tz='UTC')", "it.year == 2026 and str(it.tz) == 'UTC'"),
    "frame_written": ("it = pd.DataFrame({'n': range(1000)})", "it.__setitem__('m', 1) is None and it.m.sum() == 1000"),
}
NOT_KEPT = {
    "written_file": ("it = open('written.txt', 'w')", "an open file: open it again"),
    "socket": ("import socket\nit = socket.socket()", "socket.socket"),
    "generator": ("it = (n for n in range(3))", "generator"),
    "lock": ("import threading\nit = threading.Lock()", "_thread.lock"),
    "thread": ("import threading\nit = threading.Thread(target=print)", "threading.Thread"),
    "connection": ("import sqlite3\nit = sqlite3.connect(':memory:')", "sqlite3.Connection"),
    "process": ("import subprocess\nit = subprocess.Popen(['true']); it.wait()", "subprocess.Popen"),
    "frame_of_code": ("import sys\nit = sys._getframe()", "frame"),
    "refuses": ("class Refuses:\n    def __reduce__(self): raise RuntimeError('never')\nit = Refuses()", "Refuses"),
    "memory_view": ("import mmap\nit = mmap.mmap(-1, 10)", "mmap.mmap"),
}


def named(name, code):
    """Each kind has a name of its own."""
    return re.sub(r"\bit\b", f"it_{name}", code)


class Woken:
    """A Python that has read the snapshot of another one, in which all kinds were made."""

    def __init__(self, first, keeper, second, kinds):
        for name, (code, _) in kinds.items():
            made = first.run(named(name, code))
            assert made.ok, (name, made.error)
        # The first may be of a moment between two cells.
        first.run("the_end = True")
        while b"the_end" not in (keeper.take() or b""):
            pass
        first.close_channel()
        self.python = second()
        self.note = self.python.run("1").done.get("note", "")


def woken(start, tmp_path, kinds, **options):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper, **options)
    return Woken(first, keeper, lambda: start("python", keeper=keeper, **options), kinds)


@pytest.fixture(scope="module")
def module_start(tmp_path_factory, request):
    yield from starter(tmp_path_factory.mktemp("snapshots"), request)


@pytest.fixture(scope="module")
def of_plain(module_start, tmp_path_factory):
    return woken(module_start, tmp_path_factory.mktemp("plain"), KEPT)


@pytest.fixture(scope="module")
def of_extras(module_start, tmp_path_factory):
    return woken(module_start, tmp_path_factory.mktemp("extras"), {**KEPT, **DEFINED, **TABLES}, extras=True)


@pytest.mark.parametrize("name", KEPT)
def test_values_of_the_standard_library_come_back(of_plain, name):
    looked = of_plain.python.run(named(name, f"bool({KEPT[name][1]})"))
    assert looked.text == "True", (looked.text, looked.error)


KINDS = {**KEPT, **DEFINED, **TABLES}


@pytest.mark.parametrize("name", KINDS)
def test_values_functions_and_tables_come_back(of_extras, name):
    looked = of_extras.python.run(named(name, f"bool({KINDS[name][1]})"))
    assert looked.text == "True", (looked.text, looked.error)


def test_the_note_says_how_many_after_which_run(of_extras):
    assert re.fullmatch(r"a new Python has the \d+ names that there were after run_\d+", of_extras.note), of_extras.note


@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize("name", NOT_KEPT)
def test_what_is_not_kept_is_named(start, tmp_path, name, extras):
    code, kind = NOT_KEPT[name]
    python = woken(start, tmp_path, {name: (f"{code}\nother = 5", None)}, extras=extras)
    assert f"it_{name} (" in python.note and kind in python.note, python.note
    assert python.python.run("other").text == "5"


def test_without_cloudpickle_what_cells_define_is_named(start, tmp_path):
    hidden = "import sys; sys.modules['cloudpickle'] = None\n"
    python = woken(start, tmp_path, {"f": (hidden + "def it(): return 1\nclass Kind: pass\nkind = Kind(); plain = 3", None)})
    for name in ("it_f (function", "Kind (type", "kind (Kind"):
        assert name in python.note, python.note
    assert "needs cloudpickle" in python.note
    assert python.python.run("plain").text == "3"


def test_what_is_around_the_values_comes_back(start, tmp_path):
    (tmp_path / "workspace" / "sub").mkdir(parents=True)
    python = woken(start, tmp_path, {"around": (
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
    "errors_of_numpy": ("import numpy as np\nnp.seterr(divide='raise')", "np.geterr()['divide'] == 'raise'", True),
    "numpy": ("import numpy as np\nnp.random.seed(4); np.random.rand(); wanted = np.random.get_state()[1].tolist(); np.set_printoptions(precision=3)",
              "(np.random.get_state()[1].tolist() == wanted, np.get_printoptions()['precision']) == (True, 3)", True),
    "pandas": ("import pandas as pd\npd.set_option('display.max_rows', 7); pd.options.mode.copy_on_write",
               "pd.get_option('display.max_rows') == 7", True),
    "matplotlib": ("import matplotlib.pyplot as plt\nplt.rcParams['lines.linewidth'] = 4.5", "plt.rcParams['lines.linewidth'] == 4.5", True),
}


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_settings_come_back(start, tmp_path, name):
    code, look, extras = SURROUNDINGS[name]
    python = woken(start, tmp_path, {name: (code + "\nkept = 1", None)}, extras=extras)
    looked = python.python.run(look)
    assert looked.text == "True", (looked.text, looked.error, python.note)


@pytest.mark.parametrize("code,said", [
    ("import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True, name='waits').start()", "1 threads that ran (waits)"),
    ("import asyncio\nasync def wait(): await asyncio.sleep(60)\nasyncio.create_task(wait()).done(); await asyncio.sleep(0)", "1 tasks of asyncio that waited"),
    ("import logging\nlogging.basicConfig(level=logging.DEBUG)", "how logging was set up"),
    ("import signal\nsignal.signal(signal.SIGUSR1, lambda *_: None) and None", "handlers of signals"),
    ("open('count.py', 'w').write('n = 0\\ndef up():\\n    global n; n += 1\\n')\nimport count\ncount.up()", "what was changed in the modules count"),
    ("open('mine.py', 'w').write('seen = []')\nimport mine\nmine.seen.append(1)", "what was changed in the modules mine"),
])
def test_what_is_no_value_and_goes_with_the_process_is_told(start, tmp_path, code, said):
    note = woken(start, tmp_path, {"it": (code + "\nkept = 1", None)}).note
    assert f"gone with the one before: {said}" in note, note


def test_whoever_asks_for_all_gets_it_and_hears_what_is_missing(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot", bytes_max=4 << 20)
    first = start("python", keeper=keeper)
    first.run("large = bytearray(9 << 20); several = (n for n in ())")
    while len(keeper.take() or b"x") > 4 << 20:
        pass
    first.send({"type": "store", "bytes_max": 64 << 20, "wish": 3})
    assert len(keeper.take()) > 9 << 20
    assert keeper.last_begin == b"3" and keeper.last_end.split()[1] == b"1"
    first.close_channel()
    assert start("python", keeper=keeper).run("len(large)").text == str(9 << 20)


def test_the_main_module_under_another_name_holds_nothing(start, tmp_path):
    python = woken(start, tmp_path, {"it": ("import sys\nsys.modules['__mp_main__'] = sys.modules['__main__']\nvalues = [1]; text = {'a': values}", None)})
    assert python.python.run("text['a'] is values, values").text == "(True, [1])", python.note


def test_modules_alone_are_not_stored_and_keep_a_session_in_memory(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import json, os")
    assert keeper.take() is None
    python.send({"type": "store", "bytes_max": 64 << 20, "wish": 1})
    assert keeper.packet() == (b"B", b"1") and keeper.packet() == (b"X", b"1")
    python.run("os.chdir('/')")
    assert keeper.take(), "a directory that was chosen is worth it"


@pytest.mark.parametrize("code,missing", [
    ("class Needs(Exception):\n    def __init__(self, first, second): super().__init__('one text')\nit = Needs(1, 2)", True),
    ("class Asks:\n    def __new__(cls, n): return super().__new__(cls)\nit = Asks(1)", True),
    ("import enum\nclass Au(enum.Enum):\n    P = (1, 2)\n    def __init__(self, a, b): self.a = a\nit = 1", True),
    ("import json\njson.dumps = lambda o: 'patched'\nit = 1", False),
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
    python = woken(start, tmp_path, {"it": ("import os, sys\nsys.path.insert(0, os.path.abspath('lib'))\nimport helpers\nfrom helpers import f\nx = helpers.X()\n"
                                            "os.chdir('sub'); sys.path.insert(0, ''); import other; y = other.Y()", None)})
    looked = python.python.run("(x.n, f(), helpers.X is type(x), type(y) is other.Y, sys.path[0], sys.path[1].endswith('/lib'))")
    assert looked.text == "(5, 6, True, True, '', True)", (looked, python.note)


def test_what_could_not_be_read_stays_stored(start, tmp_path):
    module = tmp_path / "workspace" / "mod.py"
    module.parent.mkdir(parents=True)
    module.write_text("class Kind:\n    pass\n")
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("import mod; x = mod.Kind(); x.n = 4; y = 1")
    keeper.take()
    first.close_channel()
    module.rename(module.with_suffix(".away"))
    second = start("python", keeper=keeper)
    ran = second.run("y = 2")
    assert "x (No module named 'mod')" in ran.done["note"], ran.done
    keeper.take()
    second.close_channel()
    module.with_suffix(".away").rename(module)
    third = start("python", keeper=keeper)
    assert third.run("x.n, y").text == "(4, 2)"


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
    python = woken(start, tmp_path, {"it": (code, None)})
    assert "deep (" in python.note and python.python.run("kept, sys.getrecursionlimit()").text == "(1, 1000000)", python.note


def test_the_collector_of_the_writer_ends_nothing_of_its_parents(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import gc, tempfile, os\ngc.collect(); gc.set_threshold(50_000)\nclass Holds: pass\nholds = Holds(); holds.me = holds; holds.folder = tempfile.TemporaryDirectory(); path = holds.folder.name\n"
               "del holds\nclass Many:\n    def __reduce__(self):\n        x = [[] for _ in range(100_000)]\n        return int, ()\nmany = Many()")
    keeper.take()
    assert python.run("os.path.isdir(path)").text == "True"


def test_an_exit_in_a_value_costs_that_value_only(start, tmp_path):
    python = woken(start, tmp_path, {"it": ("class Leaves:\n    def __reduce__(self): raise SystemExit(2)\nleaves = Leaves(); kept = 1", None)}, extras=True)
    assert "leaves (Leaves" in python.note and python.python.run("kept").text == "1", python.note


def test_names_that_no_longer_share_are_told(start, tmp_path):
    code = ("tried = []\nclass Twice:\n    def __reduce__(self):\n        tried.append(1)\n        if len(tried) > 2: raise ValueError('once')\n        return list, ()\n"
            "inner = Twice(); outer = [inner]")
    python = woken(start, tmp_path, {"it": (code, None)}, extras=True)
    assert "that inner and outer had something in common" in python.note, python.note


def test_hooks_at_fork_that_wait_for_each_other_cost_the_snapshot_only(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    python = start("python", keeper=keeper)
    python.run("import os, threading\nlock = threading.Lock()\nos.register_at_fork(before=lock.acquire, after_in_parent=lock.release)\nx = 1")
    time.sleep(0.5)  # it forks meanwhile
    assert python.run("x").text == "1"


def test_a_bit_that_has_turned_in_a_value_is_told(start, tmp_path):
    keeper = Keeper(tmp_path / "snapshot")
    first = start("python", keeper=keeper)
    first.run("x = 'something long enough to be found'; y = 2")
    content = keeper.take()
    first.close_channel()
    keeper.path.write_bytes(content.replace(b"long enough", b"long enouGh", 1))
    ran = start("python", keeper=keeper).run("y")
    assert ran.text == "2" and "x (what was stored of it is damaged)" in ran.done["note"], ran


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
    assert len(keeper.take()) < 4 << 20
    first.close_channel()
    second = start("python", keeper=keeper)
    ran = second.run("small")
    assert ran.text == "[1]" and "large (bytearray: 9 MB, of 4 that are stored in all)" in ran.done["note"], ran.done


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
    while len(keeper.take() or b"") < 8_000_000:
        pass
    first.close_channel()
    before = keeper.path.read_bytes()
    second = start("python", keeper=keeper, extras=True)
    own = second.run("import os\n[os.readlink(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')]")
    assert str(keeper.path) not in own.text, own
    assert second.run("a[:] = 7; float(a.sum())").text == "7000000.0"
    assert before == keeper.path.read_bytes()
