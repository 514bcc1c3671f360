"""Tests what is much, by E2B's own Python SDK: long results, many commands at once, many files in one request."""

import asyncio
import json

import pytest
import requests
from e2b import CommandExitException, PtySize, RateLimitException
from e2b_code_interpreter import AsyncSandbox

from hutch_client import PATIENCE
from e2b_sandbox import options, sandbox, server  # noqa: F401

@pytest.mark.parametrize("form, code", [
    ("html", "HTML('x ' * 20000)"),
    ("markdown", "Markdown('*a* ' * 10000)"),
    ("latex", "Latex('$' + 'y' * 40000 + '$')"),
    ("svg", "SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"><!--' + 'z' * 40000 + '--></svg>')"),
    ("svg", "SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"><circle r=\"1\"/></svg>')"),
    ("json", "JSON({'rows': list(range(5000))})"),
    ("json", "JSON({'rows': list(range(100000))})"),
])
def test_each_form_of_a_result_is_whole(sandbox, form, code):
    ran = sandbox.run_code(f"from IPython.display import HTML, JSON, Latex, Markdown, SVG\nshown = {code}\nshown")
    found = ran.results[0][form]
    assert found is not None and ran.logs.stderr == [], (ran.error, ran.logs)
    sent = found if isinstance(found, str) else json.dumps(found)
    sandbox.files.write("/tmp/found", sent)
    same = "json.load(open('/tmp/found')) == shown.data" if form == "json" else "open('/tmp/found').read() == shown.data"
    assert sandbox.run_code(f"import json\n{same}").text == "True", (len(sent), sent[:100])


def test_tables_are_whole(sandbox):
    table = sandbox.run_code("import pandas as pd\npd.DataFrame({c: range(800) for c in 'abcde'})").results[0]
    assert table.data == {c: list(range(800)) for c in "abcde"} and table.json["row_count"] == 800
    assert table.html.startswith("<table") and table.html.endswith("</table>")
    styled = sandbox.run_code("pd.DataFrame({c: range(300) for c in 'abcde'}).style.background_gradient()").results[0]
    assert "<style" in styled.html and styled.html.rstrip().endswith("</table>")


def test_a_long_text_is_whole(sandbox):
    value = [{"id": n, "name": "user"} for n in range(60_000)]
    ran = sandbox.run_code("import json\njson.dumps([{'id': n, 'name': 'user'} for n in range(60_000)])")
    assert len(ran.text) > 1 << 20 and json.loads(ran.text) == value


def test_a_long_chart_has_all_its_points(sandbox):
    drawn = sandbox.run_code("import matplotlib.pyplot as plt\nplt.plot(range(5000), range(5000)); plt.show()").results[0]
    assert len(drawn.chart.elements[0].points) == 5000


def test_what_is_too_long_is_told(sandbox):
    ran = sandbox.run_code("from IPython.display import HTML, display\ndisplay(HTML('x' * (17 << 20)))\n'y' * (17 << 20)")
    page, text = ran.results
    assert page.html is None and len(text.text) < 30_000
    told = "".join(ran.logs.stderr)
    assert told.count("\n") == 2 and "html of result 1" in told and "text of result 2" in told and "16 MiB" in told, told
    path = told[told.index("/runs/"):told.index(")")]
    assert sandbox.commands.run(f"wc -c < {path}").stdout.strip() == str(17 << 20)


def test_what_a_run_may_not_keep_is_told(sandbox):
    ran = sandbox.run_code("from IPython.display import HTML, display\nfor n in range(120): display(HTML(str(n)))")
    assert len(ran.results) == 100 and "was dropped" in "".join(ran.logs.stderr)


def test_many_commands_at_once(options):
    async def work():
        sandbox = await AsyncSandbox.create(timeout=3600, **options)
        try:
            ran = await asyncio.gather(*[sandbox.commands.run(f"sleep .5; echo {n}", timeout=60 * PATIENCE) for n in range(24)])
            assert [one.stdout for one in ran] == [f"{n}\n" for n in range(24)]
            held = await asyncio.gather(*[sandbox.commands.run("sleep 600", background=True, timeout=0) for n in range(62)])
            terminals = [await sandbox.pty.create(PtySize(24, 80), on_data=lambda data: None) for _ in range(2)]
            with pytest.raises(RateLimitException, match="64 .*commands.kill") as refused:
                await sandbox.commands.run("true")
            assert "cancel_run" not in str(refused.value) and "background runs" not in str(refused.value)
            with pytest.raises(RateLimitException, match="commands.kill"):
                await sandbox.files.rename((await sandbox.files.write("/tmp/one", "1")).path, "/tmp/two")
            assert await sandbox.pty.kill(terminals[0].pid) and await held[0].kill()
            assert (await sandbox.commands.run("echo again")).stdout == "again\n"
        finally:
            await sandbox.kill()
    asyncio.run(work())


def test_a_command_that_is_killed_says_so(sandbox):
    """As their envd says of SIGKILL: it is told as Go tells of a process."""
    handle = sandbox.commands.run("echo begun; sleep 600", background=True)
    assert handle.kill()
    with pytest.raises(CommandExitException) as ended:
        handle.wait()
    assert (ended.value.exit_code, ended.value.error) == (-1, "signal: killed")
    with pytest.raises(CommandExitException) as failed:
        sandbox.commands.run("exit 3")
    assert (failed.value.exit_code, failed.value.error) == (3, "exit status 3")
    assert sandbox.commands.run("true").error is None


def test_many_files_in_one_request(server, sandbox):
    written = sandbox.files.write_files([{"path": f"/tmp/many/{n}", "data": str(n)} for n in range(1500)])
    assert len(written) == 1500 and written[-1].path == "/tmp/many/1499" and sandbox.files.read("/tmp/many/1499") == "1499"
    assert len(sandbox.files.list("/tmp/many")) == 1500
    url = sandbox.upload_url("/tmp/none")
    refused = requests.post(url, files=[("file", ("x", b"1")) for _ in range(10_001)], timeout=60 * PATIENCE)
    assert refused.status_code == 413 and "more than 10000 files in one request" in refused.json()["message"], refused.text
    assert not sandbox.files.exists("/tmp/none")


def test_a_file_that_is_too_large_is_told_what_helps(server, sandbox):
    """Its client sends all of it before it reads why not."""
    for mebibytes in (101, 300):
        refused = requests.post(sandbox.upload_url("/tmp/large"), data=b"x" * (mebibytes << 20), timeout=60 * PATIENCE)
        says = refused.json()["message"]
        assert refused.status_code in (413, 507) and "104857600" in says, refused.text
        if mebibytes == 300:
            assert refused.status_code == 413 and "hutch cp" in says and "--mount" in says, says
    assert not sandbox.files.exists("/tmp/large")


def test_a_text_says_its_charset_where_it_is_one(sandbox):
    def fetched(path):
        return requests.get(sandbox.download_url(path), timeout=60 * PATIENCE)

    sandbox.files.write("/tmp/a.txt", "hällo")
    assert fetched("/tmp/a.txt").text == "hällo"
    sandbox.files.write("/tmp/b.csv", "ü" * 100_000)
    assert fetched("/tmp/b.csv").headers["Content-Type"] == "text/csv; charset=utf-8"
    sandbox.files.write("/tmp/c.txt", "hällo".encode("latin-1"))
    assert fetched("/tmp/c.txt").headers["Content-Type"] == "text/plain"
    sandbox.files.write("/tmp/d.txt", "caf\xe9".encode("latin-1"))
    assert fetched("/tmp/d.txt").headers["Content-Type"] == "text/plain", "a character that begins at the end is none"
    sandbox.files.write("/tmp/e.json", '"ü"')
    assert fetched("/tmp/e.json").headers["Content-Type"] == "application/json"
