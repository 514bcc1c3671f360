"""The Python runner: rich results, tables, figures and their charts."""

import re
import subprocess
import time
from json import loads as decode

import pytest


def has(module):
    return subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], capture_output=True).returncode == 0


needs_pandas = pytest.mark.skipif(not has("pandas"), reason="/usr/bin/python3 has no pandas")
needs_matplotlib = pytest.mark.skipif(not has("matplotlib"), reason="/usr/bin/python3 has no matplotlib")
PNG = b"\x89PNG\r\n\x1a\n"


def test_plain_data_comes_as_json(python):
    output = python.run("{'a': [1, None, 2.5, True]}").main
    assert output["formats"] == ["text", "json"]
    assert output["json"] == {"a": [1, None, 2.5, True]}


LARGE, LARGER = 2 ** 53, 2 ** 53 + 1


@pytest.mark.parametrize("code, json", [
    (f"{{'a': {LARGE}, 'b': [{LARGER}, -{LARGER}, True]}}", {"a": LARGE, "b": [str(LARGER), str(-LARGER), True]}),
    (f"[{{'deep': {10 ** 30}}}, -{LARGE}]", [{"deep": str(10 ** 30)}, -LARGE]),
    (f"type('R', (), {{'_repr_json_': lambda self: {{'n': {LARGER}}}}})()", {"n": str(LARGER)}),
])
def test_integers_that_readers_would_round_are_text(python, code, json):
    output = python.run(code).main
    assert output["json"] == json and ("_repr" in code or output["text"] == repr(eval(code)))


@needs_pandas
def test_integers_of_tables_that_readers_would_round_are_text(python):
    table = python.run(f"import pandas as pd\npd.DataFrame({{'a': [{LARGE}, {LARGER}], 'u': pd.array([2 ** 63, None], dtype='UInt64')}}, "
                       f"index=[0, {LARGER}])").main["json"]
    assert table["rows"] == [[0, LARGE, str(2 ** 63)], [str(LARGER), str(LARGER), None]]
    assert [column["type"] for column in table["columns"]] == ["int64", "int64", "UInt64"]


def test_rich_methods(python):
    output = python.run("class R:\n    def _repr_html_(self): return '<b>'\n    def _repr_markdown_(self): return '**'\n"
                        "    def _repr_latex_(self): return '$x$'\n    def _repr_svg_(self): return '<svg/>'\n"
                        "    def _repr_json_(self): return {'n': float('nan')}\nR()").main
    assert output["html"] == "<b>" and output["markdown"] == "**" and output["latex"] == "$x$"
    assert output["svg"] == "<svg/>" and output["json"] == {"n": None}
    assert output["formats"] == ["text", "html", "markdown", "latex", "svg", "json"]


def test_mimebundle(python):
    output = python.run("class M:\n    def _repr_mimebundle_(self, include=None, exclude=None):\n"
                        "        return {'text/html': '<i>', 'application/vnd.x+json': [1]}, {}\nM()").main
    assert output["html"] == "<i>" and output["json"] == [1]


def test_picture_of_an_object(python):
    ending = python.run("class P:\n    def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\nrest'\nP()")
    assert ending.images == [PNG + b"rest"]
    assert "png" in ending.main["formats"]


@pytest.mark.parametrize("code, part", [
    ("class B:\n    def __repr__(self): raise ValueError('bad')\nB()", "its __repr__ raised ValueError: bad"),
    ("class B:\n    def _repr_html_(self): raise ValueError('bad')\n    def __repr__(self): return 'B!'\nB()", "B!"),
    ("class B:\n    def __getattr__(self, name): return lambda *a: 5\n    def __repr__(self): return 'any'\nB()", "any"),
    ("'x' * 1_000_000", "characters left out"),
    ("list(range(200_000))", "<199,980 left out>"),
    ("x = []; x.append(x); x", "[[...]]"),
    ("'\\ud800'", "'\\ud800'"),
    ("type('T', (), {'_repr_html_': lambda self: '<b>'})", "<class '__main__.T'>"),
    ("10 ** 30", "1" + "0" * 30),
    ("{'big': 10 ** 30}", "big"),
])
def test_odd_values(python, code, part):
    ending = python.run(code)
    assert ending.ok and part in ending.text
    assert len(ending.text) < 110_000


SHORT = [
    ("list(range(1_000_000))", "8, 9, <999,980 left out>, 999990, 999991,", "[list of 1,000,000 items; to see more, print() a part of it, which is _"),
    ("{i: str(i) for i in range(1_000_000)}", "9: '9', <999,980 left out>, 999990: '999990'", "999999: '999999'}\n\n[dict of 1,000,000 items"),
    ("set(range(1_000_000))", "19, <999,980 left out>}", "[set of"),
    ("frozenset(range(1_000_000))", "frozenset({0, 1,", "<999,980 left out>})"),
    ("tuple(range(700, 5000))", "708, 709, <4,280 left out>, 4990", "4999)"),
    ("from collections import deque; deque(range(5000), maxlen=9000)", "deque([0, 1,", "<4,980 left out>, 4990, 4991, 4992, 4993, 4994, 4995, 4996, 4997, 4998, 4999], maxlen=9000)"),
    ("from collections import Counter; Counter({f'w{i}': i for i in range(3000)})", "Counter({'w2999': 2999, 'w2998': 2998,", "'w2980': 2980, <2,980 left out>})"),
    ("from collections import defaultdict; defaultdict(int, {i: 9 for i in range(3000)})", "defaultdict(<class 'int'>, {0: 9,", "<2,980 left out>, 2990: 9"),
    ("from collections import OrderedDict; OrderedDict((i, 9) for i in range(3000))", "OrderedDict(", "<2,980 left out>"),
    ("dict.fromkeys(range(3000)).keys()", "dict_keys([0, 1,", "<2,980 left out>, 2990, 2991, 2992, 2993, 2994, 2995, 2996, 2997, 2998, 2999])"),
    ("dict.fromkeys(range(3000)).items()", "dict_items([(0, None),", "<2,980 left out>"),
    ("import array; array.array('d', [1.5] * 5000)", "array('d', [1.5, 1.5,", "<4,980 left out>"),
    ("from collections import namedtuple; namedtuple('P', 'x y')([1] * 5000, 2)", "P(x=[1, 1, 1,", "<4,980 left out>, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], y=2)"),
    ("from dataclasses import dataclass\n@dataclass\nclass Made:\n    x: list\n    y: int\nMade([1] * 5000, 2)", "Made(x=[1,", "<4,980 left out>, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], y=2)"),
    ("from types import SimpleNamespace; SimpleNamespace(x=[1] * 5000, y=2)", "namespace(x=[1,", "<4,980 left out>"),
    ("{'users': [{'id': i, 'name': f'user {i}'} for i in range(300)], 'total': 300, 'last': {'of': [3] * 900}}", "{'id': 1, 'name': 'user 1'},", "'total': 300, 'last': {'of': [3, 3,"),
    ("{'text': 'so many words ' * 900, 'n': 5}", "<11,656 characters left out>' many words", "'n': 5}"),
    ("[b'ab' * 5000]", " bytes left out>b'", "]"),
    ("[bytes(200), bytes(400)]", "\\x00'<84 bytes left out>b'\\x00", "'<284 bytes left out>"),
    ("[[i * 1.5 for i in range(100)] for _ in range(100)]", "<86 left out>, 139.5,", "], <91 left out>, [0.0"),
    ("[10 ** 4000, 5]", "[<int of some 4,000 digits>, 5]"),
    ("x = [1] * 3000; x.append(x); x += [{'x': x}]; x", "<2,982 left out>, 1, 1,", "1, [...], {'x': [...]}]"),
    ("x = {i: i for i in range(3000)}; x['x'] = x; x", "2999: 2999, 'x': {...}}", "dict of 3,001 items"),
    ("d = []\nfor _ in range(3000): d = [d]\nd", "[[[[[[", "<1 item>]]]]]]"),
]


@pytest.mark.parametrize("code, parts", [(code, parts) for code, *parts in SHORT])
def test_long_values_are_shown_in_whole_items(python, code, parts):
    begun = time.monotonic()
    text = python.run(code).text
    assert time.monotonic() - begun < 5, "whatever is left out is not looked at"
    assert all(part in text for part in parts), text
    assert len(text) < 1300


@pytest.mark.parametrize("code", [
    "[list(range(60)), {'a': (1,), 'b': set(), 'c': {2}}, None, 1.5, 'x\\'', b'y', 2j, ..., ()]",
    "list(range(420))", "['word'] * 100", "{i: [i] for i in range(100)}", "__import__('collections').Counter('abracadabra')", "__import__('collections').deque([1], 3)",
    "__import__('collections').OrderedDict(a=[1])", "__import__('collections').defaultdict(list, a=[1])", "frozenset({1})", "{1: 2}.items()",
    "__import__('types').SimpleNamespace(a=1)", "__import__('collections').namedtuple('P', 'x')(1)", "type('L', (list,), {})([1])", "type('S', (set,), {})([1])",
    "__import__('dataclasses').make_dataclass('Made', ['x'])([1])", "__import__('types').MappingProxyType({1: 2})", "__import__('collections').ChainMap({1: 2}, {3: 4})",
])
def test_ordinary_values_are_shown_as_they_say_themselves(python, code):
    assert python.run(f"value = {code}\nvalue").text == python.run("print(repr(value))").stdout[:-1] == python.run("[value]").text[1:-1]


def test_no_number_and_no_key_is_cut(python):
    python.run("import random; random.seed(4)\ndef number(): return random.choice([random.random(), random.randrange(10 ** 9), -1, 10 ** 25])")
    whole = ("[number() for _ in range(SIZE)]", "{f'key{number()}': number() for _ in range(SIZE)}", "[{'id': number(), 'at': (number(), number())} for _ in range(SIZE)]",
             "{'a': [number() for _ in range(SIZE)], 'b': {number(): number() for _ in range(SIZE)}}", "{'t': ' '.join(str(number()) for _ in range(SIZE))}")
    for size in (3, 40, 90, 130, 400, 3000):
        for code in whole:
            text = python.run(f"value = {code.replace('SIZE', str(size))}\nvalue").text.split("\n\n[")[0]
            words = set(re.findall(r"[\w.+-]+", python.run("print(value)").stdout))
            shown = re.sub(r"<[\d,]+ (?:left out|items?|characters left out)>", " ", text)
            assert set(re.findall(r"[\w.+-]+", shown)) <= words, text


@pytest.mark.parametrize("words", [1, 40, 150, 600])
@pytest.mark.parametrize("count", [15, 90, 5000])
@pytest.mark.parametrize("kind", ["list", "dict", pytest.param("array", marks=pytest.mark.slow), pytest.param("within", marks=pytest.mark.slow)])
def test_what_is_left_out_is_not_asked_for_its_words(python, words, count, kind):
    python.run(f"asked = 0\nclass Mine:\n    def __repr__(self):\n        global asked\n        asked += 1\n        return 'M(' + 'x' * {words} + ')'\n"
               f"many = [Mine() for _ in range({count})]")
    value = {"list": "many", "dict": "dict(enumerate(many))", "within": "{'a': 1, 'b': {'c': many}}", "array": "__import__('numpy').array(many)"}[kind]
    if kind == "array" and not has("numpy"):
        pytest.skip("/usr/bin/python3 has no numpy")
    text = python.run(value).text
    shown = text.count("M(x") + text.count("<Mine: ")
    asked = int(python.run("asked").text)
    assert shown > 0 and asked <= shown + {"array": 20, "within": 20}.get(kind, 0), text


SHORTENED = r"""
import random
from hutch_runner import short_values
random.seed(7)
LETTERS = ['ab c,.', '\n\t', '\x00\x1b', '\'"\\', 'é', '\U0001f600\U000e0001', 'word']
def text():
    kinds = random.sample(LETTERS, random.randint(1, 3))
    return ''.join(random.choice(random.choice(kinds)) for _ in range(random.choice([3, 12, 13, 40, 200, 400, 3000])))
wrong = []
for _ in range(4000):
    value, room = text(), random.choice([40, 43, 100, 160, 500, 1000])
    if random.random() < 0.5: value = random.choice([bytes, bytearray])(value.encode())
    shown = short_values._short_text(value, room)
    if shown == repr(value): continue
    first, left_out, last = __import__('re').fullmatch(r'(?s)(.*)<([\d,]+) (?:characters|bytes) left out>(.*)', shown).groups()
    first, last, count = eval(first), eval(last), int(left_out.replace(',', ''))
    if count < 1 or len(first) + count + len(last) != len(value) or not value.startswith(first) or not value.endswith(last): wrong.append((value, room, shown))
wrong[:2]
"""


def test_the_ends_of_a_text_are_two_parts_of_it(python):
    """Whatever has to be escaped in it, and however little room there is."""
    assert python.run(SHORTENED).text == "[]"


def test_types_with_words_of_their_own_keep_them(python):
    python.run("class Own(list):\n    def __repr__(self): return f'Own with {len(self)}'\nclass Long(dict):\n    def __repr__(self): return 'L' * 30_000\n"
               "class Broken:\n    def __repr__(self): raise ValueError('bad')")
    assert python.run("Own(range(5000))").text == "Own with 5000"
    assert python.run("[Own(range(5000)), 1]").text == "[Own with 5000, 1]"
    assert python.run("Long()").text == "L" * 30_000
    assert python.run("[Long(), 1]").text.startswith("[<Long: 30,000 characters>, 1]")
    assert python.run("[Broken(), 1]").text == "[<Broken object; its __repr__ raised ValueError: bad>, 1]"


def test_a_value_that_changes_while_it_is_shown(python):
    python.run("many = {i: i for i in range(30)}\nclass Adds:\n    def __repr__(self):\n        many[len(many)] = 1\n        return 'adds'\nmany[5] = Adds()")
    assert python.run("many").ok


def test_the_whole_text_of_data_goes_into_a_file(python):
    ending = python.run("numbers = list(range(5000)); numbers")
    assert ending.parts[0]["text"].decode() == repr(list(range(5000))) and ending.text.endswith("4998, 4999]")
    assert python.run("class Mine: pass\nnumbers + [Mine()]").parts == [{}], "who has a class of the user's in it is not asked"
    display = python.run("display(numbers + [Mine()])").outputs[0]["text"]
    assert display.endswith("[list of 5,001 items; to see more, print() a part of it]")


needs_numpy = pytest.mark.skipif(not has("numpy"), reason="/usr/bin/python3 has no numpy")


@needs_numpy
def test_long_arrays_are_shown_by_their_ends(python):
    python.run("import numpy as np")
    ending = python.run("np.arange(1000) / 7")
    assert "..." in ending.text and "142.71428571" in ending.text and len(ending.text) < 700 and len(ending.parts[0]["text"]) > 9000
    python.run("with np.printoptions(threshold=5000): display(np.arange(1000) / 7)")
    assert "..." not in python.run("with np.printoptions(threshold=5000): display(np.arange(1000) / 7)").outputs[0]["text"], "as the code asked for it"
    assert python.run("np.arange(12).reshape(3, 4)").text == python.run("print(repr(np.arange(12).reshape(3, 4)))").stdout[:-1]
    long = python.run("np.array(['x' * 500] * 300 + [7], dtype=object)").text
    assert " characters left out>" in long and "..." in long and ", 7]" in long.replace("\n      ", "") and len(long) < 1500
    for letters, quoted in (("'x' * 500", "'xxx"), ("b'x' * 500", "b'xxx")):
        names = python.run(f"np.array([{letters}, {letters[0] if letters[0] == 'b' else ''}'short'] * 300)").text
        assert quoted in names and " left out>" in names and "'short'" in names and "of shape" not in names and len(names) < 1500, names
    assert python.run("[np.str_('x' * 3000), 1]").text.startswith("[<str_: 3,0"), "of no shape"
    assert len(python.run("{'a': np.random.rand(800), 'b': [np.zeros((30, 30))] * 40}").text) < 1300


def test_deep_data_stays_within_the_frame(python):
    assert python.run("d = {}\nfor _ in range(500): d = {'d': d}\nd").ok


def test_display(python):
    ending = python.run("display(1, 'two')\n3")
    assert [o["text"] for o in ending.outputs] == ["1", "'two'", "3"]
    assert [o["is_main_result"] for o in ending.outputs] == [False, False, True]


@needs_pandas
def test_dataframe(python):
    output = python.run("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': ['x', None], "
                        "'t': pd.to_datetime(['2024-01-02', None])})").main
    assert output["formats"] == ["text", "html", "json"]
    assert output["json"]["columns"][0] == {"name": "a", "type": "int64"}
    assert output["json"]["rows"] == [[1, "x", "2024-01-02T00:00:00"], [2, None, None]]
    assert output["json"]["row_count"] == 2 and not output["json"]["truncated"]
    assert "<table" in output["html"]


@needs_pandas
def test_a_printed_dataframe_has_the_columns_that_its_value_has(python):
    frame = "import pandas as pd\nd = pd.DataFrame({f'column_number_{i}': ['some words here'] * 3 for i in range(COLUMNS)})\nprint(d)"
    assert "..." not in python.run(frame.replace("COLUMNS", "8")).stdout
    many = python.run(frame.replace("COLUMNS", "40")).stdout
    assert "..." in many and max(map(len, many.splitlines())) <= 200, many
    narrow = python.run("import os\nos.environ['COLUMNS'] = '60'\nprint(d)").stdout
    assert max(map(len, narrow.splitlines()[:-1])) <= 60, narrow


@needs_pandas
def test_long_dataframe_is_cut(python):
    output = python.run("import pandas as pd\npd.DataFrame({'a': range(5000)})").main
    assert len(output["json"]["rows"]) == 1000 and output["json"]["truncated"]
    assert output["json"]["row_count"] == 5000
    assert "[5000 rows x 1 columns; 20 shown]" in output["text"]
    assert len(output["text"].splitlines()) < 60


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    from runner_client import RunnerClient
    with RunnerClient("python", tmp_path_factory.mktemp("tables")) as client:
        client.run("import pandas as pd\nlong = pd.DataFrame({'a': range(5000)})\n"
                   "wide = pd.DataFrame([range(60)], columns=[f'c{i}' for i in range(60)])")
        yield client


@needs_pandas
@pytest.mark.parametrize("part, name, labels", [
    ("long.tail(2)", "index", [4998, 4999]), ("long.iloc[:3:2]", "index", [0, 2]), ("long.iloc[2::-1]", "index", [2, 1, 0]),
    ("long.rename_axis('row').head(2)", "row", [0, 1]), ("long.set_axis(range(1, 5001)).head(2)", "index", [1, 2]),
    ("long.a.tail(1)", "index", [4999]), ("long.head(2)", None, None), ("long.a.head(2)", None, None),
])
def test_what_names_the_rows_is_a_column(tables, part, name, labels):
    table = tables.run(part).main["json"]
    named = [column["name"] for column in table["columns"] if column.get("index")]
    assert named == ([name] if name else [])
    assert [row[0] for row in table["rows"]] == (labels if name else [0, 1])


@needs_pandas
@pytest.mark.parametrize("part, head", [
    ("long", "a"), ("long.iloc[1:]", ",a"), ("long.rename_axis('row')", "row,a"), ("long.iloc[::2]", ",a")])
def test_what_names_the_rows_is_in_the_csv(tables, part, head):
    assert tables.run(part).parts[-1]["csv"].decode().splitlines()[0] == head


@pytest.mark.slow
@needs_pandas
@pytest.mark.parametrize("table, converted, shown", [("broad", 17, 8), ("broad[['seen', 0]]", 1000, 1000)])
def test_no_more_of_a_wide_table_is_made_json_than_there_is_room_for(tables, table, converted, shown):
    tables.run("class Seen:\n    count = 0\n    def isoformat(self):\n        Seen.count += 1\n        return 'a'\n"
               "broad = pd.DataFrame([range(4000)] * 1000).assign(seen=[Seen() for _ in range(1000)])")
    ending = tables.run(f"display({table}.head(1000))\nSeen.count")
    json = ending.outputs[0].get("json") or decode(ending.parts[0]["json"])
    assert ending.text == str(converted) and (len(json["rows"]), json["truncated"]) == (shown, shown < 1000)


@needs_pandas
@pytest.mark.parametrize("options, rows", [
    ("", 20), ("'display.max_rows', None", 5000), ("'display.max_rows', 5", 4), ("'display.max_rows', 1", 1),
    ("'display.max_rows', 100", 100), ("'display.min_rows', 20", 20), ("'display.max_rows', 0", 20),
    ("'display.max_rows', 100, 'display.min_rows', 6", 6), ("'display.max_rows', 10000", 5000),
    ("'display.max_rows', 100, 'display.min_rows', None", 100),
])
def test_rows_that_the_code_asked_for(tables, options, rows):
    context = f"pd.option_context({options})" if options else "__import__('contextlib').nullcontext()"
    output = tables.run(f"with {context}: display(long)")
    parts, (output,) = output.parts[0], output.outputs
    assert f"[5000 rows x 1 columns; {rows} shown]" in output["text"] or rows == 5000 and "; " not in output["text"][-30:]
    html = parts["html"].decode() if "html" in parts else output["html"]
    assert len([row for row in html.split("<tr>") if "<td>" in row and "<td>...</td>" not in row]) == rows


@needs_pandas
def test_sixty_rows_are_shown_whole(tables):
    assert tables.run("long.head(60)").text.endswith("[60 rows x 1 columns]")
    assert tables.run("long.head(61)").text.endswith("[61 rows x 1 columns; 20 shown]")


@needs_pandas
@pytest.mark.parametrize("value, columns", [("None", 60), ("3", 2), ("0", 40), ("55", 54), ("20", 20)])
def test_columns_that_the_code_asked_for(tables, value, columns):
    before = tables.run("pd.get_option('display.max_columns')").text
    output = tables.run(f"pd.set_option('display.max_columns', {value})\nwide").main
    tables.run(f"pd.set_option('display.max_columns', {before})")
    names = [name for name in output["text"].splitlines()[0].split() if name != "..."]
    assert len(names) == columns and output["html"].count("<th>c") == columns


@needs_pandas
@pytest.mark.parametrize("columns, first", [("pd.date_range('2024-01-01', periods=366)", "2024-01-"), ("pd.date_range('2024-01-01', periods=366).strftime('%Y-%m-%d')", "2024-01-"),
                                            ("pd.bdate_range('2024-01-01', periods=300)", "2024-01-"), ("pd.period_range('2000-01', periods=200, freq='M')", "200")])
def test_a_table_with_a_column_for_each_date_names_the_first_and_the_last(tables, columns, first):
    last = tables.run(f"pd.DataFrame([range(len(c))] * 3, columns=c) if [c := {columns}] else None").main["text"].split("\n")[-1]
    assert re.search(rf"; not shown: {first}[-\d: ]+ to [-\d: ]+ \(\d+ of them\)\]$", last), last


@needs_pandas
def test_a_wide_table_names_the_columns_that_do_not_fit(tables):
    output = tables.run("pd.DataFrame([[0.123456] * 40] * 1000, columns=[f'feature_{i}' for i in range(40)])").main
    lines = output["text"].split("\n")
    assert max(map(len, lines[:-1])) <= 200 and "feature_0 " in lines[0] and lines[0].endswith("feature_39")
    shown = set(lines[0].split()) - {"..."}
    first, last = map(int, re.search(r"not shown: feature_(\d+) to feature_(\d+)\]", lines[-1]).groups())
    assert shown == {f"feature_{i}" for i in range(40) if not first <= i <= last}
    assert len(output["text"]) < 4000, "the host would cut through it"
    assert output["html"].count("<th>feature") == len(shown)
    assert "1000 rows x 40 columns; 20 shown" in lines[-1]
    narrow = tables.run("pd.DataFrame({'a': range(3), 'b': ['x' * 150] * 3, 'c': ['y' * 150] * 3})").text
    assert all(name in narrow.split("\n")[0].split() for name in "abc") and "not shown" not in narrow, "long cells are cut, not left out"


def test_headers_of_html_tables_stand_over_their_columns(python):
    html = ("<table><caption>Sales</caption><tr><th class='blank'>&nbsp;</th><th colspan='2'>q</th></tr><tr><th>&nbsp;</th><th>q1</th><th>q2</th></tr>"
            "<tr><th>0</th><td>N</td><td>3.5</td></tr></table>")
    lines = python.run(f"class T:\n    def _repr_html_(self): return {html!r}\nT()").text.split("\n")
    assert lines[-2].index("q1") == lines[-1].index("N") and lines[-2].index("q2") == lines[-1].index("3.5") and lines[0] == "Sales"


def html_lines(python, html):
    text = python.run(f"class T:\n    def _repr_html_(self): return {html!r}\nT()").text
    return [re.split(r"  +", line) for line in text.split("\n")]


@pytest.mark.parametrize("table, lines", [
    ("<tr><th rowspan=2>north<th>one<td>1<tr><th>two<td>2<tr><th>south<th>one<td>3",
     [["north", "one", "1"], ["", "two", "2"], ["south", "one", "3"]]),
    ("<tr><td>a<td rowspan=2 colspan=2>b<td>c</tr><tr><td>d</td><td>e</td></tr><tr><td>f<td>g<td>h<td>i",
     [["a", "b", "c"], ["d", "e"], ["f", "g", "h", "i"]]),
    ("<thead><tr><th rowspan=9>a<th>b</thead><tbody><tr><td>c<td>d", [["a", "b"], ["c", "d"]]),
    ("<tr><td rowspan=0>a<td>b<tr><td>c<tr><td>d", [["a", "b"], ["", "c"], ["", "d"]]),
    ("<tr><td rowspan=-1>a<td rowspan=2x>b<tr><td>c<td>d", [["a", "b"], ["c", "d"]]),
    ("<tr><td>12 <small>34</small><td>1<br>2<td>1<b>2</b><td> x <p>y</p>z", [["12 34", "1 2", "12", "x y z"]])])
def test_cells_of_html_tables_have_their_places_and_their_spaces(python, table, lines):
    assert html_lines(python, f"<table>{table}</table>") == lines


@pytest.mark.slow
def test_spans_and_pieces_of_an_html_table_have_a_bound(python):
    spans = "<tr>" + "<td colspan=99999999999 rowspan=99999999999>a" * 2000 + "<tr><td>b" * 50_000
    for cells in (spans, "<tr><td>" + "<b>x</b> " * 200_000, "<tr><td>" + "<br>" * 200_000):
        begun = time.monotonic()
        assert len(python.run(f"class T:\n    def _repr_html_(self): return {f'<table>{cells}</table>'!r}\nT()").text) <= 20_000
        assert time.monotonic() - begun < 20


@needs_pandas
@pytest.mark.parametrize("rows, columns, footer", [
    (5, 3, ""), (20, 4, ""), (21, 3, "\n\n[21 rows x 3 columns]"), (0, 2, "\n\n[0 rows x 2 columns]"), (3, 30, "\n\n[3 rows x 30 columns; not shown: c"),
    (50, 14, "\n\n[50 rows x 14 columns; 20 shown]"), (60, 3, "\n\n[60 rows x 3 columns]")])
def test_a_footer_where_one_does_not_see_how_large_a_table_is(tables, rows, columns, footer):
    text = tables.run(f"pd.DataFrame([[0.123456] * {columns}] * {rows}, columns=[f'c{{i:06}}' for i in range({columns})])").text
    assert footer.removesuffix("]") in text, text
    assert bool(footer) == ("\n\n[" in text) and len(text) < 4000


@needs_pandas
def test_all_rows_have_a_bound(tables):
    ending = tables.run("pd.set_option('display.max_rows', None)\nd = wide.loc[wide.index.repeat(20_000)]\nd")
    tables.run("pd.reset_option('display.max_rows')")
    assert "[20000 rows x 60 columns; 3332 shown; not shown: c20 to c39; " in ending.text
    assert ending.text.endswith("; 858 in the JSON, all in the DataFrame alone]") and len(ending.text) < 21_000


def figures(python, code):
    ending = python.run("import matplotlib.pyplot as plt\n" + code)
    assert ending.ok, ending.stderr
    assert all(image.startswith(PNG) for image in ending.images)
    return ending


@needs_matplotlib
def test_all_open_figures_are_sent_in_order(python):
    ending = figures(python, "for i in range(3):\n    plt.figure(); plt.plot([1, i]); plt.title(f'T{i}')")
    assert len(ending.images) == 3
    assert [o["chart"]["title"] for o in ending.outputs] == ["T0", "T1", "T2"]
    assert python.run("plt.get_fignums()").text == "[]"


@needs_matplotlib
def test_show_sends_at_once_and_only_once(python):
    ending = figures(python, "plt.plot([1, 2])\nplt.show()\ndisplay('after')")
    assert [o["text"][:6] for o in ending.outputs] == ["Figure", "'after"]
    assert ending.stderr == ""


@needs_matplotlib
def test_figure_as_last_value_is_sent_once(python):
    ending = figures(python, "fig, ax = plt.subplots()\nax.plot([3, 4])\nfig")
    assert len(ending.images) == 1 and ending.main["chart"]["type"] == "line"


@needs_matplotlib
def test_figures_of_a_failed_run_are_sent(python):
    ending = python.run("import matplotlib.pyplot as plt\nplt.plot([1])\n1/0")
    assert not ending.ok and len(ending.images) == 1


@needs_matplotlib
@pytest.mark.parametrize("show", ["", "plt.show()"])
def test_a_figure_that_cannot_be_drawn_keeps_no_other_back(python, show):
    python.run("import matplotlib.pyplot as plt")
    bad = r"plt.figure(); plt.plot([1]); plt.title(r'$\frac{1}$'); "
    ending = python.run(f"{bad}plt.figure(); plt.plot([1, 2]); plt.title('good'); {bad}{show}")
    assert ending.error["name"] == "ValueError" and r"\frac{1}" in ending.error["message"]
    assert [output["chart"]["title"] for output in ending.outputs] == ["good"] and len(ending.images) == 1
    ending = python.run("before = plt.get_fignums(); plt.plot([3, 4])\nbefore")
    assert ending.text == "[]" and len(ending.images) == 1 and ending.outputs[-1]["chart"]["title"] == ""


@needs_matplotlib
def test_figures_that_an_interrupt_keeps_from_being_drawn_are_closed(python):
    python.run("import matplotlib.artist, matplotlib.pyplot as plt, time\nclass Slow(matplotlib.artist.Artist):\n"
               "    def draw(self, renderer):\n        print('drawing'); time.sleep(60)")
    python.start("plt.figure().add_artist(Slow()); plt.figure(); plt.plot([1]);")
    python.wait_for_stdout("drawing")
    python.interrupt()
    assert python.finish().done["interrupted"]
    assert python.run("plt.get_fignums()").text == "[]"


@needs_matplotlib
def test_large_picture_gets_fewer_dots(python):
    ending = figures(python, "import random\nfig = plt.figure(figsize=(20, 20), dpi=200)\n"
                     "plt.imshow([[random.random() for _ in range(600)] for _ in range(600)])")
    assert len(ending.images[0]) <= 750_000


@needs_matplotlib
@pytest.mark.parametrize("code, kind, element", [
    ("plt.plot([1, 2], [3, 4], label='l')", "line", {"label": "l", "points": [[1, 3], [2, 4]]}),
    ("plt.scatter([1, 2], [3, 4], label='s')", "scatter", {"label": "s", "points": [[1, 3], [2, 4]]}),
    ("plt.bar(['a', 'b'], [3, 4])", "bar", {"label": "a", "value": 3}),
    ("plt.barh(['a', 'b'], [3, 4], label='g')", "bar", {"label": "a", "group": "g", "value": 3}),
    ("plt.hist([1, 1, 2, 3], bins=2)", "histogram", {"from": 1, "to": 2, "count": 2}),
    ("plt.pie([1, 3], labels=['a', 'b'])", "pie", {"label": "a", "fraction": 0.25}),
    ("plt.boxplot([1, 2, 3, 4, 100])", "box",
     {"label": "1", "min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 4, "outliers": [100]}),
])
def test_charts(plotter, code, kind, element):
    chart = figures(plotter, code + "\nplt.xlabel('Time (s)');").outputs[0]["chart"]
    assert chart["type"] == kind
    assert chart["elements"][0] == element
    assert chart["x"]["label"] == "Time (s)" and chart["x"]["unit"] == "s"


@needs_matplotlib
def test_chart_scales(python):
    chart = figures(python, "plt.loglog([1, 10], [1, 100]);").outputs[0]["chart"]
    assert chart["x"]["scale"] == chart["y"]["scale"] == "log"
    chart = figures(python, "from datetime import datetime as d\nplt.plot([d(2024, 1, 1), d(2024, 1, 2)], [1, 2]);")
    chart = chart.outputs[0]["chart"]
    assert chart["x"]["scale"] == "datetime"
    assert chart["elements"][0]["points"][0][0].startswith("2024-01-01T00:00:00")


@needs_matplotlib
def test_several_axes_are_a_composite(python):
    chart = figures(python, "f, (a, b) = plt.subplots(1, 2)\na.plot([1, 2]); b.bar(['x'], [1]);").outputs[0]["chart"]
    assert chart["type"] == "composite"
    assert [c["type"] for c in chart["elements"][0]["charts"]] == ["line", "bar"]


@needs_matplotlib
def test_a_chart_that_cannot_be_made_fails_nothing(python):
    ending = figures(python, "line, = plt.plot([1, 2])\nline.get_label = None;")
    assert len(ending.images) == 1 and "chart" not in ending.outputs[0]


def test_what_is_too_long_for_a_message_comes_in_parts(python):
    ending = python.run("class H:\n    def __repr__(self): return 'r' * 200_000\n"
                        "    def _repr_html_(self): return 'é' * 5_000_000\nH()")
    assert ending.parts[-1]["html"].decode() == "é" * 5_000_000 and ending.parts[-1]["text"] == b"r" * 200_000
    assert "html" not in ending.main and len(ending.text) < 21_000
    assert ending.main["formats"] == ["text", "html"]
    assert python.run("'short'").parts == [{}]


def test_markup_beyond_all_bounds_is_told_of(python):
    ending = python.run("class H:\n    def _repr_html_(self): return 'h' * 60_000_000\nH()")
    assert "[no html: 60,000,000 characters are too many]" in ending.text and ending.parts == [{}]


@pytest.mark.parametrize("html, text", [
    ("<h1>Title</h1><table><tr><th>a<th>b<tr><td>1<td>2</table><p>end &amp; more", "Title\na  b\n1  2\nend & more"),
    ("<style>.x{}</style><table>" + "".join(f"<tr><td>{i}</td><td>x</td></tr>" for i in range(100)) + "</table>", "... 79 rows more"),
    ("<script>var a = '<table>'</script><table></table>", "<Html object>"),
])
def test_words_and_tables_of_html(python, html, text):
    code = f"class Html:\n    def __repr__(self): return '<Html object>'\n    def _repr_html_(self): return {html!r}\nHtml()"
    shown = python.run(code).main["text"]
    assert shown == text or text.startswith("...") and text in shown, shown


@needs_matplotlib
@pytest.mark.parametrize("kind", ["gif", "webp"])
def test_pictures_of_other_kinds_are_pictures(python, kind):
    made = python.run("from io import BytesIO\nfrom PIL import Image\nb = BytesIO(); Image.new('RGB', (20, 10), 'red').save(b, " + repr(kind) + ")\n"
                      "class Picture:\n    def _repr_mimebundle_(self): return {'image/" + kind + "': b.getvalue()}\nPicture()")
    assert made.images and made.images[0].startswith(PNG), made


def test_a_drawing_is_a_picture_too(python):
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="red"/></svg>'
    ending = python.run(f"class Drawing:\n    def _repr_svg_(self): return {svg!r}\nDrawing()")
    has = python.run("import importlib.util; importlib.util.find_spec('vl_convert') is not None").text == "True"
    assert "svg" in ending.main["formats"] and bool(ending.images) == has
    if has:
        assert ending.images[0].startswith(PNG)
