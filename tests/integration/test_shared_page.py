"""The page of a shared file, in a browser: each kind of file is shown, and what is hostile in one stays text."""

import base64
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
import zlib

import pytest

from http_server import HttpClient, Server
from server_process import PATIENCE

pytestmark = pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium: apt install chromium")
HOSTILE = "<img src=x onerror=window.pwned=1>"
GONE = "This link has expired or was taken back"
CELLS = "[...document.querySelectorAll('tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"


class Chromium:
    """One page of a headless browser, by the DevTools protocol over its pipe."""

    def __init__(self, home):
        self.socket, theirs = socket.socketpair()
        self.socket.settimeout(60 * PATIENCE)
        self.read, self.last_id, self.session, self.said = b"", 0, {}, []
        with theirs:
            pipe = theirs.fileno()
            self.process = subprocess.Popen(
                ["bash", "-c", f'exec "$@" 3<&{pipe} 4>&{pipe}', "-", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
                 "--disable-dev-shm-usage", "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={home}"],
                pass_fds=[pipe], env={"PATH": os.environ["PATH"], "HOME": str(home)}, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = {"sessionId": self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.ask("Page.addScriptToEvaluateOnNewDocument",
                 source="addEventListener('message', ({ data, origin }) => window.told = [data, origin])")

    def ask(self, method, **params):
        self.last_id += 1
        self.socket.sendall(json.dumps({"id": self.last_id, "method": method, "params": params, **self.session}).encode() + b"\0")
        while True:
            while b"\0" not in self.read:
                more = self.socket.recv(1 << 16)
                assert more, "the browser has ended"
                self.read += more
            one, self.read = self.read.split(b"\0", 1)
            message = json.loads(one)
            if message.get("id") == self.last_id:
                assert "error" not in message, message
                return message["result"]
            if message.get("method") in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown"):
                self.said.append(message["params"])

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def until(self, expression):
        deadline = time.monotonic() + 30 * PATIENCE
        while not (value := self.value(expression)):
            assert time.monotonic() < deadline, (expression, self.said, self.value("document.documentElement.outerHTML")[:2000])
            time.sleep(0.02)
        return value

    def open(self, url):
        """The heading of the page, once everything is there."""
        self.ask("Page.navigate", url="about:blank")
        self.said.clear()
        assert "errorText" not in self.ask("Page.navigate", url=url)
        self.until("document.getElementById('main')?.getAttribute('aria-busy') === 'false'")
        return self.text("name")

    def text(self, of="content"):
        return self.value(f"document.getElementById('{of}').textContent")

    def downloaded(self):
        return base64.b64decode(self.value("""fetch(document.getElementById('download').href).then((answer) => answer.arrayBuffer())
            .then((buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))))"""))

    def end(self):
        self.session = {}
        try:
            self.ask("Browser.close")
            self.process.wait(30 * PATIENCE)
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            self.socket.close()


@pytest.fixture(scope="module")
def client(module_state):
    with Server(module_state) as server:
        yield HttpClient(server)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    started = Chromium(tmp_path_factory.mktemp("chromium"))
    yield started
    started.end()


@pytest.fixture
def page(client, browser):
    """Opens the page of a file, for what it says above the preview. No page may complain, nor run what is the file's."""
    def open_page(filename, content):
        encoded = base64.b64encode(content.encode() if isinstance(content, str) else content).decode()
        client.call("write_file", path="f", content=encoded, encoding="base64")
        heading = browser.open(client.call("share_file", path="f", filename=filename)["page_url"])
        assert heading == browser.value("document.title") == filename
        return browser.text("line")
    yield open_page
    assert browser.value("new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(typeof window.pwned))))") == "undefined"
    assert browser.said == []


def test_csv_is_a_table_and_what_is_hostile_is_text(page, browser):
    rows = [["name", "amount", "note"], ["Müller, Söhne", "1,234.50", "two\nlines"], ["b", "-2", 'a "word"'], [HOSTILE, "", "</script>"]]
    content = "\r\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    assert page(f"{HOSTILE} 100% #1?.csv", content) == "3 rows, 3 columns"
    assert browser.value(CELLS) == rows
    assert browser.value("[...document.querySelectorAll('th')].map((head) => head.scope + head.className)") == ["col", "colnumber", "col"]
    assert browser.value("document.querySelectorAll('main img, main script').length") == 0
    assert browser.downloaded() == content.encode()


def test_of_a_long_table_the_beginning_is_shown(page, browser):
    row = "\t".join(str(i) for i in range(60)) + "\n"
    assert page("wide.tsv", row * 2000) == "First 500 rows, first 50 of 60 columns, from the first 256 KB of 332 KB"
    assert page("few.tsv", row * 700) == "First 500 of 699 rows, first 50 of 60 columns"
    assert browser.value(CELLS) == [[str(i) for i in range(50)]] * 501
    page("long.csv", f"{'x' * 1000},end\n" * 300)
    assert browser.value(CELLS) == [["x" * 1000, "end"]] * (256 * 1024 // 1005)
    page("unclosed.csv", 'a,b\n1,"2\n3,4\n')
    assert browser.text() == 'a,b\n1,"2\n3,4\n'


def test_text_and_json(page, browser):
    page("a.json", '{"b": 1.0, "10": 12345678901234567890, "c": [], "d": ["</script>{\\"", true]}')
    assert browser.text() == '{\n  "b": 1.0,\n  "10": 12345678901234567890,\n  "c": [],\n  "d": [\n    "</script>{\\"",\n    true\n  ]\n}'
    for name, content in (("broken.json", "[1, 2"), ("a.py", f"print('{HOSTILE}')\n"), ("a.md", "# </pre>")):
        assert page(name, content) == "" and browser.text() == content
    assert page("a.txt", "€" * 100000) == "The first 256 KB of 293 KB"
    assert browser.text() == "€" * (256 * 1024 // 3)
    page("lines.log", "a whole line\n" * 30000)
    assert browser.text() == "a whole line\n" * (256 * 1024 // 13)


def test_a_picture_is_shown(page, browser):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header, pixels = struct.pack(">IIBBBBB", 3, 2, 8, 0, 0, 0, 0), zlib.compress(b"\0abc" * 2)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    assert page("a.png", png) == "3 × 2 pixels"
    assert browser.value("[...document.images].map((one) => [one.complete, one.naturalWidth, one.alt])") == [[True, 3, "The picture a.png"]]
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="7" height="5"><script>parent.pwned = 1</script></svg>'
    assert page("a.svg", svg) == "7 × 5 pixels"
    page("cut.png", png[:40])
    assert browser.text() == "This browser cannot show this file. Download it to open it."


def test_a_web_page_runs_apart(page, browser):
    page("a.html", "<!DOCTYPE html><script>try { parent.pwned = 1 } catch (error) { parent.postMessage(error.name, '*') }</script>")
    assert browser.until("window.told") == ["SecurityError", "null"]
    assert browser.value("document.querySelector('iframe').sandbox.value") == "allow-scripts"


def test_what_is_not_shown_can_be_downloaded(page, browser):
    for name, content, said in (("a.bin", b"\0\1", "There is no preview for this type of file. Download it to open it."),
                                ("a.csv", b"", "This file is empty.")):
        page(name, content)
        assert browser.text() == said and browser.downloaded() == content


def test_a_link_that_ended_says_so(client, browser):
    client.call("write_file", path="f", content="x")
    brief = client.call("share_file", path="f", expires_in_seconds=1)
    deadline = time.monotonic() + 30 * PATIENCE
    while (heading := browser.open(brief["page_url"])) != GONE:
        assert heading == "f" and time.monotonic() < deadline
    unknown = brief["id"][:-1] + ("a" if brief["id"][-1] != "a" else "b")
    assert browser.open(brief["page_url"].replace(brief["id"], unknown)) == browser.value("document.title") == GONE
    assert browser.value("document.getElementById('download').hidden") is True
    assert all("status of 404" in one["entry"]["text"] for one in browser.said), browser.said


def test_markup_would_not_run_even_if_it_got_there(client, browser):
    client.call("write_file", path="f", content="x")
    browser.open(client.call("share_file", path="f")["page_url"])
    browser.value(f"document.body.insertAdjacentHTML('beforeend', '{HOSTILE}')")
    deadline = time.monotonic() + 30 * PATIENCE
    while "Content Security Policy" not in json.dumps(browser.said):
        assert browser.value("typeof window.pwned") == "undefined" and time.monotonic() < deadline, browser.said
