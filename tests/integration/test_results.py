"""Large results through the real server: bounded, in order, and the whole in files that the code can read."""

import base64
import json
import re

import pytest

from boxes import until
from conftest import needs
from hutch_client import Client, ToolError

WHOLE = 60_000  # characters of structuredContent and of the text


def characters(value):
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def run_result(client, code, language="python", **arguments):
    """The run, after what holds for every result."""
    result = client.result("run_code", code=code, language=language, **arguments)
    run, text = result["structuredContent"], result["content"][0]["text"]
    assert characters(run) <= WHOLE and len(text) <= WHOLE
    assert len(run["stdout"]) + len(run["stderr"]) <= 30_000
    images = [base64.b64decode(block["data"]) for block in result["content"] if block["type"] == "image"]
    assert sum(map(len, images)) <= 750_000
    assert characters(result) < 1 << 20, "the official Python client ends the connection"
    for output in run["outputs"]:
        for form in ("text", "html", "json"):
            assert form not in output or characters(output[form]) <= 20_100
        for where in output.get("truncated", {}).values():
            assert where["file"].startswith(f"/runs/{run['run_id']}/") and where["file"] in text
    return run, text, images


def content_of(client, path, session_id=None):
    """As the code sees it: of a file that belongs to the host."""
    named = {"session_id": session_id} if session_id else {}
    length = client.run(f"whole = open({path!r}, encoding='utf-8', newline='').read(); len(whole)", **named)
    assert length["status"] == "completed", length
    return int(length["outputs"][-1]["text"])


HTML = "class Wide:\n    def __repr__(self): return 'wide'\n    def _repr_html_(self): return '<b>' + 'é' * {} + '</b>'\n"


@pytest.mark.parametrize("letters", [12_000, 3_000_000])  # in a message, and in parts
def test_long_markup_is_whole_in_its_file(shared, letters):
    run, _, _ = run_result(shared, HTML.format(letters) + "Wide()")
    output = run["outputs"][0]
    assert output["text"] == "wide" and "html" not in output and "html" in output["formats"]
    where = output["truncated"]["html"]
    assert where["total_bytes"] == 2 * letters + 7 and where["file"].endswith("/1.html")
    assert content_of(shared, where["file"]) == letters + 7
    read = shared.call("read_file", path=where["file"], offset=where["total_bytes"] - 6, limit=100)
    assert read["content"] == "é</b>" and read["total_bytes"] == where["total_bytes"]
    denied = shared.run(f"open({where['file']!r}, 'a')")
    assert denied["error"]["name"] in ("OSError", "PermissionError"), denied


@pytest.mark.parametrize("language,code,count", [
    ("python", "'A' + 'x' * 3_000_000 + 'Z'", 3_000_004),
    ("javascript", "'A' + 'x'.repeat(3_000_000) + 'Z'", 3_000_004)])
def test_long_values_are_head_and_tail_and_a_file(shared, language, code, count):
    run, _, _ = run_result(shared, code, language)
    output = run["outputs"][0]
    assert output["text"].startswith("'Ax") and output["text"].endswith("xZ'") and "left out" in output["text"]
    assert output["is_main_result"] and output["truncated"]["text"]["total_bytes"] == count
    assert content_of(shared, output["truncated"]["text"]["file"]) == count


def test_a_large_table_is_short_here_and_whole_as_csv(shared):
    needs(shared.run("import pandas, numpy")["status"] == "completed", "pandas")
    shared.run("table = pandas.DataFrame({'a': numpy.arange(1_000_000), 'b': 1.5, 'c': 'word'})")
    run, text, _ = run_result(shared, "table")
    output = run["outputs"][0]
    assert "[1000000 rows x 3 columns; 20 shown; 1000 in the JSON, all in the DataFrame alone]" in output["text"] and output["text"] in text
    head = json.loads(shared.call("read_file", path=output["truncated"]["json"]["file"])["content"]) \
        if "json" in output.get("truncated", {}) else output["json"]
    assert head["row_count"] == 1_000_000 and len(head["rows"]) == 1000 and head["truncated"]
    run, _, _ = run_result(shared, "table[:5000]")
    where = run["outputs"][0]["truncated"]["csv"]
    assert where["file"].endswith("/1.csv")
    assert shared.value(f"len(pandas.read_csv({where['file']!r}))") == "5000"
    run, _, _ = run_result(shared, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000) "
                           "SELECT i, 'word' AS w FROM n", "sql")
    where = run["outputs"][-1]["truncated"]["csv"]
    assert shared.value(f"pandas.read_csv({where['file']!r}).i.sum()") == "np.int64(800020000)" or \
        shared.value(f"int(pandas.read_csv({where['file']!r}).i.sum())") == "800020000"


@pytest.mark.slow
def test_charts_are_sampled_and_whole_in_a_file(shared):
    needs(shared.run("import matplotlib.pyplot as plt, numpy as np")["status"] == "completed", "matplotlib, numpy")
    run, text, images = run_result(
        shared, "y = np.zeros(30_000); y[17_001] = 5; y[21_003] = -3; plt.plot(y); plt.title('spikes');")
    output = run["outputs"][0]
    chart = output["chart"]
    points = chart["elements"][0]["points"]
    assert chart["sampled"] is True and 80 < len(points) <= 100
    for point in ([0, 0], [29_999, 0], [17_001, 5], [21_003, -3]):
        assert point in points
    assert points == sorted(points) and len(images) == 1 and '"spikes"' in text
    shared.run(f"import json; whole = json.load(open({output['truncated']['chart']['file']!r}))")
    assert shared.value("len(whole['elements'][0]['points'])") == "30000"
    run, _, _ = run_result(shared, "plt.plot(np.arange(2_000_000) % 1000);")
    chart = run["outputs"][0]["chart"]
    assert chart["sampled"] is True and chart["elements"][0]["points"][-1] == [1_999_999, 999]


@pytest.mark.slow
def test_many_series_share_the_room(shared):
    needs(shared.run("import matplotlib.pyplot as plt, numpy as np")["status"] == "completed", "matplotlib, numpy")
    run, _, _ = run_result(shared, "for i in range(30): plt.plot(np.random.rand(3000), label=str(i))\nplt.show()")
    output = run["outputs"][0]
    elements = output["chart"]["elements"]
    assert [one["label"] for one in elements] == [str(i) for i in range(30)]
    assert all(len(one["points"]) >= 4 for one in elements) and output["truncated"]["chart"]["total_bytes"] > 500_000


@pytest.mark.slow
def test_every_open_figure_is_kept_in_order(shared):
    needs(shared.run("import matplotlib.pyplot as plt")["status"] == "completed", "matplotlib")
    run, text, images = run_result(
        shared, "for i in range(50):\n    plt.figure(figsize=(2, 1)); plt.plot([0, i]); plt.title(f'figure {i}')\nplt.show()\n'end'")
    figures, last = run["outputs"][:-1], run["outputs"][-1]
    assert last["is_main_result"] and last["text"] == "'end'" and len(figures) == 50
    assert 0 < len(images) < 50 and f"{50 - len(images)} of 50 images are left out" in run["note"]
    for number, output in enumerate(figures):
        assert f"figure {number}" in output["text"] and "png" in output["formats"]
        assert output["image_path"] == f"/runs/{run['run_id']}/{number + 1}.png" and output["image_path"] in text
    assert shared.value(f"open('{figures[49]['image_path']}', 'rb').read(4)") == "b'\\x89PNG'"
    read = shared.result("read_file", path=figures[49]["image_path"])
    assert [block["mimeType"] for block in read["content"] if block["type"] == "image"] == ["image/png"]


def test_a_picture_for_read_file_is_as_large_as_a_result_may_show(client):
    for size, shown in ((750_000, True), (750_001, False)):
        client.run("head = b'\\x89PNG\\r\\n\\x1a\\n\\0\\0\\0\\rIHDR\\0\\0\\0\\1\\0\\0\\0\\1\\x08\\2\\0\\0\\0'\n"
                   f"open('p.png', 'wb').write(head.ljust({size}, b'x'))")
        result = client.result("read_file", path="p.png")
        assert result["isError"] is not shown
        assert len(result["content"]) == (2 if shown else 1), result["content"][0]
    assert "750000 at most" in result["content"][0]["text"]


def test_much_that_is_printed_is_head_and_tail(shared):
    run, text, _ = run_result(shared, "import sys\nprint('BEGIN' + 'é' * 9_000_000 + 'END')\nsys.stderr.write('e' * 40_000)")
    assert run["stdout"].startswith("BEGINé") and run["stdout"].endswith("éEND\n")
    assert 4_800 < len(run["stdout"]) <= 5_000 and 4_800 < len(run["stderr"]) <= 5_000
    assert len(run["stdout"].split("\n... ")[0]) < 2_000, "four tenths are the beginning"
    assert run["truncated"]["stdout"] == {"total_bytes": 18_000_009, "file": f"/runs/{run['run_id']}/stdout"}
    assert run["truncated"]["stderr"]["total_bytes"] == 40_000 and f"/runs/{run['run_id']}/stderr" in text
    pieces, offset = b"", 17_940_001  # in the midst of a character
    while offset < 18_000_009:
        part = shared.call("get_run", run_id=run["run_id"], stdout_offset=offset)
        assert part["stdout_next_offset"] > offset
        pieces += part["stdout"].encode()
        offset = part["stdout_next_offset"]
    assert pieces.decode().endswith("ééEND\n")


@pytest.mark.parametrize("code", ["print('\\0' * 60_000)", "print('\"' * 60_000)", "print('\\n' * 60_000)",
                                  "import sys; sys.stdout.buffer.write(b'\\xff' * 60_000)",
                                  "'\\1' * 60_000", "raise ValueError('\\1' * 90_000)",
                                  "def f(n): raise ValueError('x' * 9000) from RuntimeError('y' * 9000)\nf(1)"])
def test_whatever_it_holds_a_result_is_bounded(shared, code):
    run, _, _ = run_result(shared, code)
    assert len(run.get("error", {}).get("traceback", "")) <= 8_000


def test_many_outputs_and_files_share_a_result(client):
    run, text, _ = run_result(client, "for i in range(60): display('t' * 5000 + str(i))\n"
                              "for i in range(230): open(f'file_{i:03}.txt', 'w').close()\n'the last value'")
    assert run["files_changed_total"] == 230 and len(run["files_changed"]) == 200
    assert "230 files changed in all" in text
    main = run["outputs"][-1]
    assert main["is_main_result"] and main["text"] == "'the last value'"
    cut = [output for output in run["outputs"][:-1] if "truncated" in output]
    assert len(run["outputs"]) == 61 and cut, run["outputs"]
    for output in (cut[0], cut[-1]):
        where = output["truncated"]["text"]
        assert where["total_bytes"] in (5003, 5004)
        if not where["file"].endswith("/record.json"):
            assert content_of(client, where["file"]) == where["total_bytes"]
            continue
        # An output that the box has not put into a file of its own is in the run's record.
        code = f"import json; print(len(json.load(open('{where['file']}'))['outputs'][{run['outputs'].index(output)}]['text']))"
        assert client.run(code)["stdout"] == f"{where['total_bytes']}\n"


def test_what_outputs_keep_is_bounded_by_the_session(state):
    with Client(state) as client:
        session = client.call("create_session", limits={"output_mb": 1})["session_id"]
        run, text, _ = run_result(client, HTML.format(2_000_000) + "Wide()", session_id=session)
        assert run["status"] == "completed" and run["outputs"][0]["text"] == "wide"
        assert run["outputs"][0]["formats"] == ["text"] and "was dropped" in run["note"] and "was dropped" in text
        listed = client.call("list_files", path=f"/runs/{run['run_id']}", session_id=session)
        assert not any(entry["path"].endswith(".html") for entry in listed["entries"])


def test_the_first_result_names_the_session_and_earlier_ones_with_files(state):
    with Client(state) as client:
        client.call("write_file", path="work.txt", content="1")
        named = client.call("create_session", name="project")["session_id"]
        client.call("write_file", path="a", content="1", session_id=named)
        client.call("write_file", path="b", content="1", session_id=named)
        empty = client.call("create_session", name="empty")["session_id"]
        first = client.run("1")["session_id"]
    with Client(state) as client:
        result = client.result("write_file", path="new", content="1")
        said = result["structuredContent"]["note"]
        assert said in result["content"][0]["text"]
        own = result["structuredContent"]["session_id"]
        assert own in said and own not in (first, named)
        assert re.search(r'"project" \(20\d\d-\d\d-\d\d, 2\)', said) and first in said and empty not in said and '"empty"' not in said
        assert said.index(first) < said.index("project"), "the one that was used last comes first"
        again = client.result("run_code", code="1")
        assert "note" not in again["structuredContent"] and "project" not in again["content"][0]["text"]
        assert again["structuredContent"]["session_id"] == own
        assert client.run("open('a').read()", session_id="project")["outputs"][0]["text"] == "'1'"


def test_of_many_earlier_sessions_two_are_named(state):
    with Client(state) as client:
        ids = []
        for number in range(5):
            ids.append(client.call("create_session", name=f"s{number}")["session_id"])
            client.call("write_file", path="f", content="1", session_id=ids[-1])
        client.call("delete_session", session_id=ids[4])
    with Client(state) as client:
        said = client.run("1")["note"]
        assert [name for name in ("s0", "s1", "s2", "s3", "s4") if f'"{name}"' in said] == ["s2", "s3"]
        assert client.call("run_code", code="1", session_id="s0").get("note") is None


def test_lines_that_were_written_over_are_told_of(client):
    table = client.run("import sys; sys.stdout.write('id,name\\r1,ann\\r2,bob\\r')")
    assert table["stdout"] == "2,bob\r"
    assert f"/runs/{table['run_id']}/stdout has all" in table["note"], table
    whole = client.call("read_file", path=f"/runs/{table['run_id']}/stdout")
    assert whole["content"] == "id,name\r1,ann\r2,bob\r"
    assert "note" not in client.run("print('a\\r')")


COLOURED = """import IPython.core.ultratb, pygments, sys
from pygments.formatters import TerminalFormatter
from pygments.lexers import PythonLexer
class Shown:
    def __repr__(self): return pygments.highlight('def f(x): return x', PythonLexer(), TerminalFormatter())
def coloured():
    try: 1 / 0
    except ZeroDivisionError: return IPython.core.ultratb.AutoFormattedTB(mode='Context', **colours).text(*sys.exc_info())
import inspect
named = inspect.signature(IPython.core.ultratb.AutoFormattedTB.__init__).parameters
colours = {'theme_name': 'linux'} if 'theme_name' in named else {'color_scheme': 'Linux'}
'\\x1b[' in coloured(), '\\x1b[' in repr(Shown())"""


def test_colours_of_values_and_failures_are_not_sent(shared):
    """Nobody's model sees them; the record has what was written."""
    made = shared.run(COLOURED)
    needs(made["status"] == "completed", "IPython and Pygments")
    assert made["outputs"][0]["text"] == "(True, True)", made
    run, text, _ = run_result(shared, "display(Shown())\nShown()")
    assert [output["text"].strip() for output in run["outputs"]] == ["def f(x): return x"] * 2 and "\x1b" not in text, run
    run, text, _ = run_result(shared, "print('\\x1b[33mwarned\\x1b[0m', file=sys.stderr)\nraise RuntimeError(coloured())")
    assert "\x1b" not in json.dumps(run, ensure_ascii=False) + text and run["error"]["message"] in run["stderr"], run
    assert "traceback" not in run["error"] and "Traceback (most recent call last):\n  cell" not in run["stderr"], run
    assert text.count("ZeroDivisionError: division by zero") == run["stderr"].count("ZeroDivisionError: division by zero") == 1, text
    record = shared.call("read_file", path=f"/runs/{run['run_id']}/record.json")["content"]
    assert "\x1b[" in json.loads(record)["error"]["message"]


def test_a_plain_answer_costs_a_model_few_tokens(state):
    with Client(state) as client:
        first, second = (client.result("run_code", code="1+1") for _ in range(2))
        text = first["content"][0]["text"]
        assert len(text) <= 160 and first["structuredContent"]["session_id"] in text, text
        text = second["content"][0]["text"]
        assert text == f"completed, {second['structuredContent']['run_id']}\nresult:\n2\n"
        other = client.call("create_session")["session_id"]
        named = client.result("run_code", code="raise SystemExit(3)", session_id=other)["content"][0]["text"]
        assert named.startswith("failed, exit code 3, ") and f" in {other}\n" in named, named
        again = client.result("get_run", run_id=second["structuredContent"]["run_id"])["content"][0]["text"]
        assert again == text


def test_the_text_alone_says_where_all_of_a_chart_is(client):
    code = ("import matplotlib.pyplot as plt\nfig, axes = plt.subplots({0}, {0}, squeeze=False)\n"
            "for i, one in enumerate(axes.flat): one.plot(range({1}), [j * 1.37 + i for j in range({1})], label='series %d' % i)")
    for panels, points in ((1, 60), (3, 30)):
        result = client.result("run_code", code=code.format(panels, points))
        text, record = result["content"][0]["text"], f"/runs/{result['structuredContent']['run_id']}/record.json"
        assert "structuredContent" not in text and f"in {record}" in text, text
        assert "series 0" in client.call("read_file", path=record)["content"]
        assert client.run(f"import json; len(json.load(open('{record}'))['outputs'])")["outputs"][0]["text"] == "1"


def test_who_does_not_know_a_run_is_told_how_runs_are_listed(client):
    for tool in ("get_run", "cancel_run"):
        with pytest.raises(ToolError, match="no such run; get_run without run_id lists a session's runs"):
            client.call(tool, run_id="run_nosuch")
    made = client.run("1")
    assert made["run_id"] in [run["run_id"] for run in client.call("get_run", session_id=made["session_id"])["runs"]]


def test_what_tools_keep_for_themselves_is_counted_not_listed(client):
    run = client.result("run_code", code="import os\nos.makedirs('p/.git/objects')\n"
                        "for i in range(30): open(f'p/.git/objects/{i}', 'w').write('x')\nopen('p/mine.txt', 'w').write('y')")
    text = run["content"][0]["text"]
    assert "created /workspace/p/mine.txt (1 bytes)" in text and "/objects/" not in text, text
    assert "changed in /workspace/p/.git\n" in text, text
    git, mine = run["structuredContent"]["files_changed"]
    assert git == {"path": "/workspace/p/.git", "change": "modified", "bytes": 30, "files": 30} and mine["path"].endswith("/mine.txt")
    removed = client.result("run_code", code="os.remove('p/mine.txt')")["content"][0]["text"]
    assert "deleted /workspace/p/mine.txt\n" in removed, removed


def test_a_restart_says_what_it_cost(client):
    client.run("x = 1")
    run = client.run("x", restart=True)
    assert run["error"]["name"] == "NameError" and "fresh interpreter, as asked" in run["note"], run
    assert "note" not in client.run("1")


def test_a_background_run_that_is_cancelled_at_once_leaves_no_crash(client):
    for _ in range(3):
        run = client.run("import time; time.sleep(60)", background=True)
        client.call("cancel_run", run_id=run["run_id"])
        ended = client.until_ended(run["run_id"])
        assert ended["status"] == "cancelled" and (ended["stderr"] == "" or ended["stderr"].endswith("\nKeyboardInterrupt\n")), ended


def test_a_result_names_its_own_session(state):
    with Client(state) as client:
        with pytest.raises(ToolError):
            client.call("read_file", path="nothing")  # whose reply does not name the connection's session
        made = client.call("create_session", name="other")
        assert "default session: " in made["note"] and made["session_id"] not in made["note"]
        listed = {one.get("name"): one["session_id"] for one in client.call("list_sessions")["sessions"]}
        assert made["session_id"] == listed["other"]


@pytest.mark.slow
@pytest.mark.parametrize("language,flood,stop", [
    ("python", "import threading, time\nstop = threading.Event()\ndef flood():\n    time.sleep(1)\n"
               "    while not stop.is_set(): print('x' * 10_000, flush=True)\n"
               "threading.Thread(target=flood, daemon=True).start()", "stop.set()"),
    ("javascript", "var t; setTimeout(() => { t = setInterval(() => console.log('x'.repeat(10_000)), 0) }, 1000).unref(); 0",
     "clearInterval(t)")])
def test_what_floods_between_runs_takes_no_later_output_away(client, language, flood, stop):
    session = client.call("create_session", limits={"output_mb": 1})["session_id"]
    run = client.run(flood, language, session_id=session)
    assert run["status"] == "completed"
    until(lambda: client.result("read_file", path=f"/runs/{run['run_id']}/stdout", limit=4, session_id=session)
          .get("structuredContent", {}).get("total_bytes") == 1 << 20, what="the flood")
    # The flooding run may be at the limit of this run before its code begins: then that is interrupted.
    until(lambda: client.run(stop, language, session_id=session)["status"] == "completed", what="the end of the flood")
    heard = {"python": "print('heard')", "javascript": "console.log('heard')"}[language]
    assert client.run(heard, language, session_id=session)["stdout"] == "heard\n"


def test_a_table_of_html_is_text(shared):
    run, text, _ = run_result(shared, "class Styled:\n    def _repr_html_(self): return '<table><tr><th>name<th>share<tr><td>a<td>25%</table>'\nStyled()")
    output = run["outputs"][0]
    assert [line.split() for line in output["text"].splitlines()] == [["name", "share"], ["a", "25%"]], output
    assert "html" in output["formats"] and "html" not in output and "25%" in text
