"""Tests what of a Python comes back from its snapshot: kept equal, or named. One table for all kinds of objects."""

import re

import pytest

from conftest import starter
from woken import WokenPython, named

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
    "read_bytes": ("it = open('lines.txt', 'rb'); it.read(3)", "it.read(3) == b'\\n2\\n'"),
    "written_file": ("it = open('written.txt', 'w'); it.write('ab\\n')", "(it.write('c'), it.flush(), open('written.txt').read(), it.name, it.mode) == (1, None, 'ab\\nc', 'written.txt', 'w')"),
    "appended_file": ("open('log.txt', 'w').write('old ')\nit = open('log.txt', 'a'); it.write('new ')", "(it.write('last'), it.flush(), open('log.txt').read()) == (4, None, 'old new last')"),
    "updated_file": ("open('both.txt', 'w').write('one\\ntwo\\nthree\\n')\nit = open('both.txt', 'r+'); it.readline()", "(it.readline(), it.write('more'), it.flush(), open('both.txt').read()) == ('two\\n', 4, None, 'one\\ntwo\\nthree\\nmore')"),
    "new_file": ("import os\nit = open(f'fresh.{os.getpid()}', 'x', encoding='utf-16'); it.write('a')", "(it.write('b'), it.flush(), open(it.name, encoding='utf-16').read()) == (1, None, 'ab')"),
    "written_bytes": ("it = open('bytes.bin', 'wb'); it.write(b'abcd'); it.seek(1)", "(it.write(b'X'), it.flush(), open('bytes.bin', 'rb').read(), it.mode) == (1, None, b'aXcd', 'wb')"),
    "updated_bytes": ("open('both.bin', 'wb').write(b'abcd')\nit = open('both.bin', 'r+b'); it.read(2)", "(it.read(1), it.write(b'X'), it.flush(), open('both.bin', 'rb').read()) == (b'c', 1, None, b'abcX')"),
    "unbuffered": ("open('raw.bin', 'wb').close()\nit = open('raw.bin', 'ab', buffering=0); it.write(b'ab')", "(it.write(b'c'), open('raw.bin', 'rb').read(), type(it).__name__) == (1, b'abc', 'FileIO')"),
    "line_by_line": ("it = open('lines.log', 'w', buffering=1)", "(it.write('a\\n'), open('lines.log').read(), it.line_buffering) == (2, 'a\\n', True)"),
    "file_of_two": ("it = open('two.txt', 'w')\nlist_of_file = [it]", "list_of_file[0] is it"),
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
    "lambdas_in_a_line": ("it = [lambda n: n + 1, lambda n: n + 2, lambda n: n * 3]", "[f(5) for f in it] == [6, 7, 15]"),
    "default": ("def it(a, *rest, b=[1], **named): return (a, rest, b, named)", "it(1, 2, c=3) == (1, (2,), [1], {'c': 3})"),
    "context_manager": ("import contextlib\n@contextlib.contextmanager\ndef it(n):\n    yield n + 1", "it(1).__enter__() == 2"),
    "frozen_row": ("import dataclasses\n@dataclasses.dataclass(frozen=True, order=True)\nclass Frozen:\n    n: int\n    m: int = 5\nit = Frozen(1)", "(it == Frozen(1), hash(it) == hash(Frozen(1)), it < Frozen(2), repr(it)) == (True, True, True, 'Frozen(n=1, m=5)')"),
    "row_with_slots": ("import dataclasses\n@dataclasses.dataclass(slots=True)\nclass WithSlots:\n    n: int\n    m: list = dataclasses.field(default_factory=list)\nit = WithSlots(1)", "(it.n, it.m, WithSlots(2).n, repr(it)) == (1, [], 2, 'WithSlots(n=1, m=[])')"),
    "row_of_a_row": ("import dataclasses\n@dataclasses.dataclass\nclass BaseRow:\n    n: int\n    def double(self): return self.n * 2\n@dataclasses.dataclass\nclass SubRow(BaseRow):\n    m: int = 3\n    def __post_init__(self): self.m += 1\nit = SubRow(1)", "(it.double(), it.m, SubRow(4).m, repr(it)) == (2, 4, 4, 'SubRow(n=1, m=4)')"),
    "source_of_lambda": ("it = lambda n: n  # says why", "'# says why' in __import__('inspect').getsource(it)"),
    "source_of_class": ("class it:\n    # says why\n    def get(self): return 1", "'# says why' in __import__('inspect').getsource(it)"),
    "source_of_plain_class": ("class it:\n    n = 1  # says why", "'# says why' in __import__('inspect').getsource(it)"),
    "source_of_closure": ("def make_sourced(n):\n    def inner():  # says why\n        return n\n    return inner\nit = make_sourced(1)", "'# says why' in __import__('inspect').getsource(it)"),
    "source_of_method": ("class HasSource:\n    def get(self):  # says why\n        return 1\nit = HasSource().get", "'# says why' in __import__('inspect').getsource(it)"),
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
    "integers": ("it = pd.DataFrame({d: pd.array([1, 2, None], d) for d in ('Int8', 'Int16', 'Int32', 'Int64', 'UInt8', 'UInt16', 'UInt32', 'UInt64', 'Float32', 'Float64')})",
                 "(it.dtypes.astype(str) == it.columns).all() and it.isna().sum().eq(1).all() and it.sum().eq(3).all()"),
    "plain_numbers": ("it = pd.DataFrame({d: np.array([0, 1], d) for d in ('int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'float16', 'float32', 'float64', 'complex64', 'complex128', 'bool')})",
                      "(it.dtypes.astype(str) == it.columns).all() and it.iloc[1].eq(1).all()"),
    "sparse": ("it = pd.DataFrame({'f': pd.arrays.SparseArray([0.0, 0.0, 1.5]), 'i': pd.arrays.SparseArray([0, 7, 0], fill_value=0), 'n': pd.Series([None, 2.0, None], dtype='Sparse[float]')})\nwanted_sparse = it.copy()",
               "it.equals(wanted_sparse) and [str(d) for d in it.dtypes] == ['Sparse[float64, nan]', 'Sparse[int64, 0]', 'Sparse[float64, nan]'] and it.f.sparse.npoints == 3 and it.i.sparse.npoints == 1 and it.i.sum() == 7"),
    "arrow_strings": ("it = pd.Series(['gr\u00fc\u00df', None, ''], dtype='string[pyarrow]')\nwanted_strings = it.copy()", "it.equals(wanted_strings) and it.dtype == wanted_strings.dtype and it.dtype.storage == 'pyarrow' and it.isna().tolist() == [False, True, False] and it.str.len()[0] == 4"),
    "arrow_numbers": ("it = pd.DataFrame({d: pd.Series([1, None, 3], dtype=d) for d in ('int64[pyarrow]', 'uint8[pyarrow]', 'double[pyarrow]', 'bool[pyarrow]')})\nwanted_numbers = it.copy()",
                      "it.equals(wanted_numbers) and [str(d) for d in it.dtypes] == list(it.columns) and it['int64[pyarrow]'].sum() == 4 and it.isna().sum().eq(1).all()"),
    "arrow_others": ("import datetime, decimal, pyarrow as pa\nit = pd.DataFrame({'l': pd.Series([[1], None], dtype=pd.ArrowDtype(pa.list_(pa.int64()))), 's': pd.Series([{'a': 1}, None], dtype=pd.ArrowDtype(pa.struct([('a', pa.int64())]))),"
                     " 't': pd.Series([pd.Timestamp('2026-01-02', tz='UTC'), None], dtype=pd.ArrowDtype(pa.timestamp('us', 'UTC'))), 'd': pd.Series([datetime.date(2026, 1, 2), None], dtype='date32[pyarrow]'),"
                     " 'm': pd.Series([decimal.Decimal('1.20'), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), 'c': pd.Series(['x', 'y'], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))})\nwanted_others = it.copy()",
                     "it.equals(wanted_others) and (it.dtypes == wanted_others.dtypes).all() and it.l[0][0] == 1 and it.s[0] == {'a': 1} and str(it.m[0]) == '1.20' and it.c[1] == 'y' and it.t[0].year == 2026"),
    "categories": ("it = pd.DataFrame({'o': pd.Categorical(['low', 'high', None], ['low', 'mid', 'high'], ordered=True), 'n': pd.Categorical([3, 1, 3]), 't': pd.Categorical(pd.to_datetime(['2026-01-01'] * 3))})\nwanted_categories = it.copy()",
                   "it.equals(wanted_categories) and (it.dtypes == wanted_categories.dtypes).all() and it.o.cat.ordered and it.o.min() == 'low' and list(it.o.cat.categories) == ['low', 'mid', 'high']"),
    "moments": ("it = pd.DataFrame({u: pd.Series(['2026-03-29T00:30', None]).astype(f'datetime64[{u}]') for u in ('s', 'ms', 'us', 'ns')} | {'z': pd.to_datetime(['2026-03-29 03:30', None]).tz_localize('Europe/Berlin'),"
                " 'fixed': pd.to_datetime(['2026-03-29', None]).tz_localize('+02:00'), 'd': pd.to_timedelta(['1 day 2h', None]).astype('timedelta64[s]')})\nwanted_moments = it.copy()",
                "it.equals(wanted_moments) and (it.dtypes == wanted_moments.dtypes).all() and str(it.z.dt.tz) == 'Europe/Berlin' and it.z[0].utcoffset().total_seconds() == 7200 and it.isna().sum().eq(1).all()"),
    "period_kinds": ("it = pd.DataFrame({f: pd.PeriodIndex(['2026-01-02', None], freq=f) for f in ('D', 'M', 'Q', 'W')})\nwanted_periods = it.copy()",
                     "it.equals(wanted_periods) and (it.dtypes == wanted_periods.dtypes).all() and str(it.Q[0]) == '2026Q1'"),
    "intervals": ("it = pd.DataFrame({'l': pd.arrays.IntervalArray.from_breaks([0, 1, 2], closed='left'), 'b': pd.arrays.IntervalArray.from_tuples([(0.5, 1.5), None], closed='both'), 't': pd.IntervalIndex.from_breaks(pd.date_range('2026', periods=3))})\nwanted_intervals = it.copy()",
                  "it.equals(wanted_intervals) and (it.dtypes == wanted_intervals.dtypes).all() and it.l[0].closed == 'left' and it.b[0].closed == 'both'"),
    "objects_of_frame": ("it = pd.DataFrame({'o': [[1], {'a': 2}], 'b': [b'x', None], 'm': [1, 'x']})\nwanted_objects = it.copy()", "it.equals(wanted_objects) and (it.dtypes == wanted_objects.dtypes).all() and it.o[1] == {'a': 2}"),
    "indices": ("it = {k: pd.DataFrame({'v': [1, 2]}, index=i) for k, i in dict(range=pd.RangeIndex(2, 6, 2), zone=pd.date_range('2026', periods=2, tz='UTC', name='t'), delta=pd.timedelta_range('1h', periods=2), period=pd.period_range('2026', periods=2, freq='Y'),"
                " category=pd.CategoricalIndex(['a', 'b']), interval=pd.interval_range(0, 2), arrow=pd.Index([1, 2], dtype='int64[pyarrow]')).items()}\nwanted_indices = {k: v.copy() for k, v in it.items()}",
                "all(v.equals(wanted_indices[k]) and type(v.index) is type(wanted_indices[k].index) and v.index.dtype == wanted_indices[k].index.dtype for k, v in it.items()) and it['zone'].index.name == 't' and it['zone'].index.freq == 'D'"),
    "periods": ("it = pd.DataFrame({'p': pd.period_range('2026-01', periods=2, freq='M'), 'v': pd.IntervalIndex.from_breaks([0, 1, 2])})", "str(it.p[0]) == '2026-01' and 0.5 in it.v[0]"),
    "series": ("it = pd.Series([1, 2], index=['a', 'b'], name='n')", "it['b'] == 2 and it.name == 'n'"),
    "multi_index": ("it = pd.DataFrame({'v': [1, 2]}, index=pd.MultiIndex.from_tuples([('a', 1), ('b', 2)]))", "it.loc[('b', 2), 'v'] == 2"),
    "grouped": ("it = pd.DataFrame({'k': ['a', 'a'], 'v': [1, 2]}).groupby('k')", "it.v.sum()['a'] == 3"),
    "timestamp": ("it = pd.Timestamp('2026-01-02', tz='UTC')", "it.year == 2026 and str(it.tz) == 'UTC'"),
    "frame_written": ("it = pd.DataFrame({'n': range(1000)})", "it.__setitem__('m', 1) is None and it.m.sum() == 1000"),
}
# name: code that makes `it`, its type, and what the note says is to be done
NOT_KEPT = {
    "deleted_file": ("import os\nit = open('gone.txt', 'w'); os.unlink('gone.txt')", "_io.TextIOWrapper", "an open file: open it again"),
    "packed_file": ("import gzip\ngzip.open('a.gz', 'wt').write('abc')\nit = gzip.open('a.gz', 'rt'); it.read(1)", "_io.TextIOWrapper", "an open file: open it again"),
    "file_in_a_list": ("it = [open('in_a_list.txt', 'w')]", "list", "an open file: open it again"),
    "socket": ("import socket\nit = socket.socket()", "socket.socket", "connect it again"),
    "generator": ("it = (n for n in range(3))", "generator", "call again what made it"),
    "coroutine": ("async def wait(): pass\nit = wait()", "coroutine", "call again what made it"),
    "reader": ("import csv\nit = csv.reader(['a,b'])", "_csv.reader", "make it again, over its file"),
    "lock": ("import threading\nit = threading.Lock()", "_thread.lock", "make it again"),
    "event": ("import threading\nit = threading.Event()", "threading.Event", "make it again"),
    "thread": ("import threading\nit = threading.Thread(target=print)", "threading.Thread", "start it again"),
    "queue": ("import queue\nit = queue.Queue()", "queue.Queue", "make it again, with what was in it"),
    "executor": ("from concurrent.futures import ThreadPoolExecutor\nit = ThreadPoolExecutor(1)", "concurrent.futures.thread.ThreadPoolExecutor", "make it again"),
    "connection": ("import sqlite3\nit = sqlite3.connect(':memory:')", "sqlite3.Connection", "open it again"),
    "cursor": ("import sqlite3\nit = sqlite3.connect(':memory:').execute('select 1')", "sqlite3.Cursor", "run its query again"),
    "process": ("import subprocess\nit = subprocess.Popen(['true']); it.wait()", "subprocess.Popen", "start it again"),
    "loop": ("import asyncio\nit = asyncio.new_event_loop()", "asyncio.unix_events._UnixSelectorEventLoop", "get it again: asyncio.get_event_loop()"),
    "task": ("import asyncio\nit = asyncio.ensure_future(asyncio.sleep(0)); await it", "_asyncio.Task", "start it again"),
    "tls": ("import ssl\nit = ssl.create_default_context()", "ssl.SSLContext", "make it again"),
    "weak": ("import weakref\nclass Held: pass\nheld = Held()\nit = weakref.ref(held)", "", "make it again"),
    "frame_of_code": ("import sys\nit = sys._getframe()", "frame", "it went with the run that it was of"),
    "memory_map": ("import mmap\nit = mmap.mmap(-1, 10)", "mmap.mmap", "map it again"),
    "view": ("it = memoryview(b'abc')", "memoryview", "take it again of what it shows"),
    "holds_a_lock": ("import threading\nclass Worker:\n    def __init__(self): self.lock = threading.Lock()\nit = Worker()", "Worker", "it has a lock, which ends with its process: make it again"),
    "holds_a_generator": ("it = {'a': [n for n in range(3)], 'b': iter(n for n in ())}", "dict", "it has a generator, which ends with its process: make it again"),
    "no_kind_of_the_table": ("import zlib\nit = zlib.compressobj()", "zlib.Compress", "values of this type end with their process: make it again"),
    "refuses": ("class Refuses:\n    def __reduce__(self): raise RuntimeError('never')\nit = Refuses()", "Refuses", "storing it failed (RuntimeError: never): make it again"),
    "too_deep": ("it = []\nfor _ in range(100_000): it = [it]", "list", "it is nested too deep to be stored: make it again"),
}


@pytest.fixture(scope="module")
def module_start(tmp_path_factory, request):
    yield from starter(tmp_path_factory.mktemp("snapshots"), request)


@pytest.fixture(scope="module")
def of_plain(module_start, tmp_path_factory):
    return WokenPython(module_start, tmp_path_factory.mktemp("plain"), KEPT)


@pytest.fixture(scope="module")
def of_extras(module_start, tmp_path_factory):
    return WokenPython(module_start, tmp_path_factory.mktemp("extras"), {**KEPT, **DEFINED, **TABLES}, extras=True)


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


@pytest.mark.parametrize("extras", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NOT_KEPT)
def test_what_is_not_kept_is_named(start, tmp_path, name, extras):
    code, kind, to_do = NOT_KEPT[name]
    python = WokenPython(start, tmp_path, {name: (f"{code}\nother = 5", None)}, extras=extras)
    assert re.search(rf"\bit_{name} \({re.escape(kind)}.*{re.escape(to_do)}\)", python.note), python.note
    assert "pickle" not in python.note
    assert python.python.run("other").text == "5"


def test_without_cloudpickle_what_cells_define_is_named(start, tmp_path):
    hidden = "import sys; sys.modules['cloudpickle'] = None\n"
    python = WokenPython(start, tmp_path, {"f": (hidden + "def it(): return 1\nclass Kind: pass\nkind = Kind(); plain = 3", None)})
    for name in ("it_f (function", "Kind (type", "kind (Kind"):
        assert name in python.note, python.note
    assert "needs cloudpickle" in python.note
    assert python.python.run("plain").text == "3"
