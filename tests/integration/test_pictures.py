"""Pictures as their own libraries draw them: plotly's by a browser, text in any script, photos as large as phones make them."""

import base64
import io
import json

import pytest
from PIL import Image

import environments
from conftest import needs
from hutch_client import Client, ToolError

SCRIPTS = "销售 データ 매출 बिक्री ยอดขาย 🎉"


@pytest.fixture(scope="module")
def client(module_state):
    needs(environments.python().exists(), environments.MISSING)
    with Client(module_state, env={"HUTCH_ENVIRONMENTS_DIR": str(environments.directory())}) as client:
        client.run("import plotly.express as px, plotly.graph_objects as go\nbar = px.bar(x=['a', 'b'], y=[1, 3])")
        yield client


def pictures(client, code, **options):
    """The outputs of a run, and its pictures as they were drawn."""
    run = client.run(code, **options)
    assert run["status"] == "completed" and not run["stderr"], run
    paths = [output["image_path"] for output in run["outputs"] if "image_path" in output]
    return run["outputs"], [picture_of(client.result("read_file", path=path)) for path in paths]


def picture_of(result):
    (block,) = [block for block in result["content"] if block["type"] == "image"]
    return Image.open(io.BytesIO(base64.b64decode(block["data"]))).convert("RGB")


def share_of(picture, is_such):
    counted = picture.resize((140, 100)).getcolors(140 * 100)
    return sum(count for count, pixel in counted if is_such(pixel)) / (140 * 100)


@pytest.mark.parametrize("figure", [
    "px.scatter_3d(x=[1, 2, 3], y=[1, 4, 9], z=[3, 1, 2], size=[30, 40, 50])",
    pytest.param("px.choropleth(locations=['USA', 'BRA', 'CHN', 'AUS', 'CAN'], color=[1, 2, 3, 4, 5])", marks=pytest.mark.slow),
    "px.scatter_geo(lat=[50], lon=[8], size=[50]).update_geos(resolution=50)",
    "go.Figure(go.Sankey(node={'label': ['A', 'B', 'C']}, link={'source': [0, 1], 'target': [2, 2], 'value': [3, 4]}))",
    "go.Figure(go.Candlestick(open=[1, 2], high=[4, 5], low=[0, 1], close=[3, 1]))",
    "go.Figure(go.Indicator(mode='gauge+number', value=270))", "px.sunburst(names=['a', 'b'], parents=['', 'a'], values=[2, 1])",
    "px.bar(x=['a'], y=[1]).update_layout(template='plotly_dark')"])
def test_figures_that_matplotlib_cannot_draw(client, figure):
    (output,), (picture,) = pictures(client, figure)
    assert picture.size == (700, 500) and "matplotlib" not in output["text"]
    assert share_of(picture, lambda pixel: pixel != (255, 255, 255)) > 0.02


def test_a_picture_has_the_figures_own_size_axes_and_words(client):
    """The chart's data has nothing of a second axis or of a ground: only plotly itself draws them."""
    code = ("f = go.Figure([go.Scatter(y=[1, 2]), go.Scatter(y=[20, 10], yaxis='y2')])\n"
            "f.update_layout(width=640, height=360, yaxis2={'overlaying': 'y', 'side': 'right'}, paper_bgcolor='rgb(0,128,0)',\n"
            "                title={'text': 'Sales of a year', 'subtitle': {'text': 'in thousands'}}, xaxis_title='the month', yaxis2_title='the other')\n"
            "_ = f.add_annotation(x=1, y=2, text='the peak')\nf")
    _, (picture,) = pictures(client, code)
    assert picture.size == (640, 360) and picture.getpixel((5, 5)) == (0, 128, 0)
    svg = client.run("print(f.to_image('svg').decode())")["stdout"]
    assert "overaxes-above" in svg and "y2tick" in svg
    for words in ("Sales of a year", "in thousands", "the month", "the other", "the peak"):
        assert f">{words}</text>" in svg, words


def test_a_picture_has_the_figures_own_theme(client):
    grounds = {"plotly_dark": "(17, 17, 17)", "ggplot2": "(237, 237, 237)", "plotly": "(229, 236, 246)"}
    for theme, ground in grounds.items():
        _, (picture,) = pictures(client, f"go.Figure(go.Scatter(x=[0, 4], y=[0, 4]), {{'template': '{theme}', 'xaxis': {{'dtick': 1}}}})")
        assert share_of(picture, lambda pixel: str(pixel) == ground) > 0.3, theme
        svg = client.run(f"print(px.bar(x=['a'], y=[1], template='{theme}').to_image('svg').decode())")["stdout"]
        assert "rgb" + ground in svg, theme


def test_every_kind_of_file(client):
    heads = client.value("import io\nfrom PIL import Image\nfor kind in ('pdf', 'svg', 'webp', 'jpg', 'png'): bar.write_image(f'a.{kind}', width=300, height=200, scale=2)\n"
                         "import plotly.io as pio\npio.write_images([bar, bar], ['x.png', 'y.jpeg'])\n"
                         "[open(f'a.{k}', 'rb').read(4) for k in ('pdf', 'svg')], [Image.open(f).size for f in ('a.webp', 'a.jpg', 'a.png', 'x.png', 'y.jpeg')]")
    assert heads == "([b'%PDF', b'<svg'], [(600, 400), (600, 400), (600, 400), (700, 500), (700, 500)])"
    run = client.run("bar.write_image('a.eps')")
    assert run["status"] == "completed" and "a browser draws no eps" in run["stderr"]


BROWSERS = """
def browsers():
    found = []
    for process in filter(str.isdigit, os.listdir('/proc')):
        with contextlib.suppress(OSError):
            if b'/browser/chromium' in open(f'/proc/{process}/cmdline', 'rb').read(): found.append(process)
    return found
import contextlib, os, time
while len(browsers()) > 1: time.sleep(0.05)  # those before it are ending
try: os.wait()
except ChildProcessError: print(*browsers())
"""


@pytest.mark.slow
def test_the_browser_is_kept_and_is_nobodys_child(client):
    assert len(pictures(client, "bar")[1]) == 1
    browser = client.run(BROWSERS)["stdout"]
    assert browser.strip().isdigit() and len(pictures(client, "bar")[1]) == 1 and client.run(BROWSERS)["stdout"] == browser
    client.run(f"import signal; os.kill({browser}, signal.SIGKILL)")
    outputs, drawn = pictures(client, "bar.update_layout(title='after')")
    assert len(drawn) == 1 and "the browser has ended" in outputs[0]["text"], "told, and drawn by matplotlib"
    outputs, drawn = pictures(client, "bar")
    assert "matplotlib" not in outputs[0]["text"] and drawn[0].size == (700, 500)


@pytest.mark.slow
def test_copies_of_the_interpreter_have_a_browser_of_their_own(client):
    """Which only a browser can draw: no other program does it instead."""
    code = ("import os\nsolid, ended = px.scatter_3d(x=[1], y=[2], z=[3]), []\nfor _ in range(2):\n    if (pid := os.fork()) == 0:\n"
            "        os._exit(solid.to_image()[1:4] != b'PNG')\n    ended.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
            "ended, solid.to_image()[:4]")
    assert client.value("bar.to_image()[:4]") == "b'\\x89PNG'"
    assert client.value(code) == "([0, 0], b'\\x89PNG')"


@pytest.mark.slow
def test_failed_starts_leave_nothing_and_are_not_tried_for_each_figure(client):
    client.call("write_file", path="no-browser", content="#!/bin/sh\nexit 1\n")
    code = ("import hutch_runner.browser as browser, hutch_runner.plotly_pictures as drawing, os\nos.chmod('no-browser', 0o755)\n"
            "drawing._page._end(); before = len(os.listdir('/proc/self/fd'))\nbrowser.PROGRAM, program = '/workspace/no-browser', browser.PROGRAM\n"
            "def why():\n    try: drawing.picture(bar.to_json())\n    except browser.NoBrowser as failure: return str(failure)\n"
            "said = why(), why()\nbrowser.PROGRAM = program; drawing._page._failed_at = None\nsaid, len(os.listdir('/proc/self/fd')) - before")
    assert client.value(code) == "(('the browser has ended', 'the browser did not start a moment ago'), 0)"
    client.run("browser.ROOM_BYTES_MIN, room = 10 ** 15, browser.ROOM_BYTES_MIN")
    assert "MB of memory left" in client.value("why()")
    client.run("browser.ROOM_BYTES_MIN = room")
    assert len(pictures(client, "bar")[1]) == 1


def test_variables_of_a_run_are_none_of_the_browsers(client):
    run = client.run("import hutch_runner.plotly_pictures as drawing; drawing._page._end(); bar.to_image()", env={"MY_KEY": "secret"})
    assert run["status"] == "completed", run
    assert client.run(BROWSERS + "print(b'secret' in open(f'/proc/{browsers()[0]}/environ', 'rb').read())")["stdout"].endswith("\nFalse\n")


@pytest.mark.slow
def test_a_stopped_run_leaves_no_half_answer(client):
    run = client.run("import plotly.io as pio\nwhile True: bar.to_image()", timeout_seconds=2)
    assert run["status"] == "timed_out" and run["error"]["survived"].startswith("variables kept")
    outputs, drawn = pictures(client, "bar.update_layout(title='again')")
    assert "matplotlib" not in outputs[0]["text"] and len(drawn) == 1


def test_what_has_no_browser_says_what_its_picture_lacks(client):
    outputs, drawn = pictures(client, "import os, hutch_runner.browser as browser\nbrowser.PROGRAM, program = '/nowhere', browser.PROGRAM\nbar")
    assert len(drawn) == 1
    assert outputs[0]["text"].endswith("; drawn by matplotlib from its data, without plotly's sizes, second axes and themes: this environment has no browser")
    outputs, drawn = pictures(client, "px.scatter_3d(x=[1], y=[2], z=[3])")
    assert not drawn and outputs[0]["text"].endswith("; no picture: this environment has no browser")
    client.run("browser.PROGRAM = program")
    outputs, drawn = pictures(client, "px.scatter_map(lat=[50], lon=[8])")
    assert not drawn and "; no picture: " in outputs[0]["text"], "its tiles need a network"


@pytest.mark.parametrize("style", ["", "import seaborn; seaborn.set_theme()", "plt.style.use('ggplot')", "plt.rcParams['font.family'] = 'monospace'"])
def test_matplotlib_writes_any_script(client, style):
    """There is no box for each character that the font of a style has not, and no warning for each."""
    code = f"import matplotlib.pyplot as plt; plt.rcdefaults(); {style or 'pass'}\nplt.title('%s'); plt.plot([1, 2]); plt.show()"
    assert len(pictures(client, code % SCRIPTS)[1]) == 1
    first, second = (pictures(client, code % text)[1][0].tobytes() for text in ("销", "售"))
    assert first != second, "no boxes"


@pytest.mark.parametrize("text", ["बिक्री", "ยอดขาย", "매출", "データ", "売上"])
@pytest.mark.parametrize("place", ["plt.title(T)", *(pytest.param(place, marks=pytest.mark.slow) for place in (
    "plt.xlabel(T)", "plt.plot([1, 2], label=T); plt.legend()", "plt.xticks([0, 1], [T, T])", "plt.annotate(T, (0.5, 0.5))", "plt.bar([T], [3])",
    "plt.title(T, weight='bold', style='italic')"))])
def test_matplotlib_draws_the_glyphs_of_each_script(client, text, place):
    """Without a warning, which pictures() would not let pass; a text of as many boxes looks otherwise."""
    code = f"import matplotlib.pyplot as plt; plt.rcdefaults(); plt.figure(figsize=(3, 2)); T = TEXT; {place}; plt.show()"
    (drawn,) = pictures(client, code.replace("TEXT", repr(text)))[1]
    other = client.run(code.replace("TEXT", repr("\U0010fffd" * len(text))))
    (boxes,) = [picture_of(client.result("read_file", path=output["image_path"])) for output in other["outputs"]]
    assert "shown as boxes" in other["stderr"] and drawn.tobytes() != boxes.tobytes()


@pytest.mark.parametrize("text", [r"温度 ($^\circ$C)", *(pytest.param(text, marks=pytest.mark.slow) for text in (
    r"$R^2$ 매출", r"ยอด $x_1$", r"$\alpha$ ब", r"🎉 $\sqrt{2}$", r"$\frac{データ}{2}$", r"$\mathrm{相关}$", "总额: $1,200 vs $900 元"))])
@pytest.mark.parametrize("place", ["plt.title(T)", *(pytest.param(place, marks=pytest.mark.slow) for place in (
    "plt.rcParams['mathtext.fontset'] = 'cm'; plt.ylabel(T)", "plt.rcParams['mathtext.fontset'] = 'stix'; plt.plot([1, 2], label=T); plt.legend()"))])
def test_formulas_have_the_glyphs_of_each_script(client, text, place):
    """A formula of what no font has looks otherwise, and has one word for all of it."""
    code = f"import matplotlib.pyplot as plt; plt.rcdefaults(); plt.figure(figsize=(3, 2)); T = TEXT; {place}; plt.show()"
    (drawn,) = pictures(client, code.replace("TEXT", repr(text)))[1]
    other = client.run(code.replace("TEXT", repr("".join("\U00013000" if char > "\u0900" else char for char in text))))
    (boxes,) = [picture_of(client.result("read_file", path=output["image_path"])) for output in other["outputs"]]
    assert other["stderr"].strip() == "no font here has \U00013000; these characters are shown as boxes" and drawn.tobytes() != boxes.tobytes()


def test_formulas_of_scripts_are_saved_in_each_format(client):
    code = "import matplotlib.pyplot as p; p.title(r'温度 $^\\circ$C'); p.savefig('t.pdf'); p.savefig('t.svg'); p.savefig('t.png')"
    run = client.run(f"python3 -W error -c \"{code}\" && ls t.???", "bash")
    assert run["status"] == "completed" and not run["stderr"] and run["stdout"].split() == ["t.pdf", "t.png", "t.svg"], run
    run = client.run("printf '%s\n' 'import matplotlib.pyplot as p' \"p.title('\U0010fffd \\$x\\$')\" \"p.savefig('t.png')\" > none.py; python3 none.py", "bash")
    assert run["stderr"].startswith("/workspace/none.py:3: UserWarning: Glyph 1114109 ") and run["stderr"].count("Glyph") == 1, run


SAVE = "hutch: a script shows no figures: save it ({}) and read_file shows it, or run the script in a cell: %run FILE"


@pytest.mark.parametrize("code, how", [
    ("import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show(); plt.plot([1]); plt.show()", "plt.savefig('figure.png')"),
    pytest.param("from pylab import *\nplot([1, 2]); show(block=True)", "plt.savefig('figure.png')", marks=pytest.mark.slow),
    pytest.param("import plotly.graph_objects as go\ngo.Figure().show(); go.Figure().show()", "fig.write_image('figure.png')", marks=pytest.mark.slow),
    pytest.param("import matplotlib.pyplot as plt\nplt.plot([1]); plt.savefig('f.png'); plt.figure(2); plt.figure(1); plt.show(); assert plt.gcf().number == 1",
                 "plt.savefig('figure.png')", marks=pytest.mark.slow),
    ("import matplotlib.pyplot as plt\nplt.show(); plt.plot([1, 2]); plt.savefig('f.png'); plt.show()", None)])
def test_scripts_that_show_figures_are_told_to_save_them(client, code, how):
    client.call("write_file", path="show.py", content=code)
    run = client.run("python3 show.py", "bash")
    assert run["status"] == "completed" and run["stderr"].strip() == (SAVE.format(how) if how else ""), run
    run = client.run("%run show.py")
    assert "script shows" not in run["stderr"] and run["outputs"] or not how, run


OF_OTHER_LIBRARIES = {
    "plotly": "go.Figure(layout={'width': 300, 'height': 200, 'title': T})",
    "altair": "alt.Chart(pd.DataFrame({'x': [1]}), title=T).mark_point().encode(x='x')",
    "svg": "SVG(f'<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"300\" height=\"60\"><text x=\"9\" y=\"30\">{T}</text></svg>')"}


@pytest.mark.parametrize("font", ["Arial", *(
    pytest.param(font, marks=pytest.mark.slow) for font in ("Helvetica Neue", "Times New Roman", "Comic Sans MS, cursive", "Georgia, serif", "Fira Code"))])
def test_charts_of_altair_have_their_text_in_any_font(client, font):
    client.run("import altair as alt, io, numpy as np, pandas as pd, vl_convert\nfrom IPython.display import SVG\nfrom PIL import Image\n"
               "def dark(file): return bool((np.array(Image.open(file).convert('L')) < 100).sum() > 100)\n"
               "def chart(font): return alt.Chart(pd.DataFrame({'x': ['one'], 'y': [1]}), title='Title').mark_bar(color='white').encode(x='x', y='y').configure(font=font)")
    _, (picture,) = pictures(client, f"chart({font!r})")
    assert share_of(picture, lambda pixel: max(pixel) < 128) > 0.0005
    assert client.value(f"chart({font!r}).save('saved.png'); chart({font!r}).save('twice.png', scale_factor=2); [dark(f) for f in ('saved.png', 'twice.png')], "
                        "Image.open('twice.png').width / Image.open('saved.png').width") == "([True, True], 2.0)"
    client.call("write_file", path="c.py", content=f"import altair as alt\nalt.Chart(alt.Data(values=[{{'x': 1}}]), title='Title').mark_bar().encode(x='x:Q').configure(font={font!r}).save('s.png')")
    assert client.run("python3 c.py", "bash")["status"] == "completed" and client.value("dark('s.png')") == "True"


@pytest.mark.parametrize("text", ["<text {at} font-family='Arial'>Words</text>", "<text {at}>Words</text>", '<text {at} style="font-family: \'Open Sans\'">Words</text>',
                                  '<style>text {{ font: bold 12px Verdana }}</style><text {at}>Words</text>', "<g font-family='Nunito'><text {at}>Words</text></g>"])
def test_svg_has_its_text_in_any_font(client, text):
    svg = "<svg xmlns='http://www.w3.org/2000/svg' width='300' height='60'>" + text.format(at="x='9' y='30'") + "</svg>"
    _, (picture,) = pictures(client, f"from IPython.display import SVG\nSVG({svg!r})")
    assert share_of(picture, lambda pixel: max(pixel) < 128) > 0.0005


@pytest.mark.parametrize("figure, bins", [
    ("px.histogram(x=[1, 2, 2, 3, 2, 4])", [(0.5, 1.5, 1), (1.5, 2.5, 3), (2.5, 3.5, 1), (3.5, 4.5, 1)]),
    ("px.histogram(y=[1, 2, 2, 9], nbins=2)", [(-0.5, 4.5, 3), (4.5, 9.5, 1)]),
    ("px.histogram(x=[1, 2, 3, 4, 1, 2], color=['s', 't'] * 3)", [(-0.5, 1.5, 2, "s"), (1.5, 3.5, 1, "s"), (1.5, 3.5, 2, "t"), (3.5, 5.5, 1, "t")]),
    ("go.Figure(go.Histogram(x=[1, 2, 7], xbins={'start': 0, 'end': 10, 'size': 5}))", [(0, 5, 2), (5, 10, 1)]),
    # Its axis has labels so long that plotly draws it twice.
    ("px.histogram(x=[1e9, 1e9 + 1e-3, 1e9 + 0.01])", None), ("px.histogram(x=[1, 2, 3], cumulative=True)", [])])
def test_bins_are_those_that_plotly_draws(client, figure, bins):
    (output,), _ = pictures(client, figure)
    elements = output.get("chart", {"elements": []})["elements"]
    assert "matplotlib" not in output["text"]
    if bins is None:
        assert sum(one["count"] for one in elements) == 3
    else:
        assert [tuple(one[key] for key in ("from", "to", "count", "group") if key in one) for one in elements] == bins


def test_bins_that_plotly_does_not_tell_leave_no_chart(client):
    client.run("histogram = px.histogram(x=[1, 2, 2])")
    client.run("import hutch_runner.plotly_pictures as drawing\ndrawing.CHARACTERS_OF_BINS_MAX, most = 10, drawing.CHARACTERS_OF_BINS_MAX")
    (output,), drawn = pictures(client, "histogram")
    assert len(drawn) == 1 and "chart" not in output and "matplotlib" not in output["text"]
    client.run("drawing.CHARACTERS_OF_BINS_MAX = most")
    assert "chart" in pictures(client, "histogram.update_layout(title='again')")[0][0]


@pytest.mark.parametrize("text,library", [("销售", "plotly"), ("销售", "altair"), ("🎉", "svg"), *(
    pytest.param(text, library, marks=pytest.mark.slow) for library in OF_OTHER_LIBRARIES for text in ("データ", "매출", "बिक्री", "ยอดขาย", "🎉"))])
def test_other_libraries_draw_the_glyphs_of_each_script(client, library, text):
    client.run("import altair as alt, pandas as pd\nfrom IPython.display import SVG")
    drawn, boxes, none = (pictures(client, f"T = {title!r}\n{OF_OTHER_LIBRARIES[library]}")[1][0] for title in (text, "\U0010fffd" * len(text), " "))
    assert drawn.tobytes() not in (boxes.tobytes(), none.tobytes())


WIDTHS_OF_SVG = """
import io, vl_convert
from PIL import Image, ImageFont
font = ImageFont.truetype("/environment/share/fonts/NotoSansDevanagari_400Regular.ttf", 60)
def widths(title):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="120"><text x="10" y="80" font-size="60">{title}</text></svg>'
    left, _, right, _ = Image.open(io.BytesIO(vl_convert.svg_to_png(svg))).getchannel("A").getbbox()
    shaped = font.getbbox(title)
    return right - left, shaped[2] - shaped[0]
"""


def test_signs_of_hindi_stand_beside_one_another_in_svg(client):
    client.run(WIDTHS_OF_SVG)
    for title in ("बिक्री", "हिन्दी", "क्षत्रिय"):
        drawn, shaped = eval(client.value(f"[int(n) for n in widths({title!r})]"))
        assert abs(drawn - shaped) <= 3, (title, drawn, shaped)


def test_a_font_that_is_not_here_is_told_once(client):
    run = client.run(f"import matplotlib.pyplot as plt; plt.rcdefaults(); plt.rcParams['font.sans-serif'] = ['SimHei']\nplt.title('{SCRIPTS}'); plt.show()")
    assert len(run["stderr"]) < 300 and "SimHei" in run["stderr"] and "no font" not in run["stderr"], run
    assert client.run("import matplotlib.pyplot as plt; plt.rcdefaults()")["status"] == "completed"


def test_bash_finds_fonts_and_the_browser(client):
    code = f"import matplotlib.pyplot as p; p.title('{SCRIPTS}'); p.savefig('t.png')"
    run = client.run(f"python3 -W error -c \"{code}\" && cat \"$FONTCONFIG_FILE\" | grep -c /environment/share/fonts && \"$CHROME_BIN\" --version", "bash")
    assert run["status"] == "completed" and not run["stderr"] and "Chromium" in run["stdout"], run


@pytest.mark.parametrize("start", ["python3 draw.py", *(
    pytest.param(start, marks=pytest.mark.slow) for start in ("python3 -c \"$(cat draw.py)\"", "python3 - < draw.py"))])
def test_scripts_draw_plotlys_figures_as_cells_do(client, start):
    script = ("import plotly.graph_objects as go\nf = go.Figure(go.Surface(z=[[1, 2], [3, 4]]), {'width': 400, 'height': 300})\n"
              "f.write_image('script.png'); f.write_image('script.pdf')\n")
    client.call("write_file", path="draw.py", content=script)
    run = client.run(f"rm -f script.*; before=$(ls -A /tmp | grep -c hutch-browser); {start} && head -c 4 script.pdf; echo; echo $before; ls -A /tmp | grep -c hutch-browser; :", "bash")
    pdf, before, after = run["stdout"].split()
    assert run["status"] == "completed" and not run["stderr"] and pdf == "%PDF", run
    assert int(after) <= int(before), "its browser has gone with it"
    assert client.value("import os\nfrom PIL import Image\nImage.open('script.png').size") == "(400, 300)"


def test_playwright_finds_the_browser(client):
    """It is where each version looks for the revision that its own list names."""
    browsers = {"browsers": [{"name": "chromium", "revision": "9991"}, {"name": "chromium-headless-shell", "revision": "9992"}, {"name": "webkit", "revision": "1"}]}
    client.call("write_file", path="playwright/driver/package/browsers.json", content=json.dumps(browsers))
    client.call("write_file", path="playwright/__init__.py", content="")
    run = client.run("python3 -c 'import playwright' && cd ~/.cache/ms-playwright && for f in */*/*; do echo $f $($f --version); done", "bash")
    assert [line.split()[0] for line in run["stdout"].splitlines()] == [
        "chromium-9991/chrome-linux/chrome", "chromium-9991/chrome-linux64/chrome",
        "chromium_headless_shell-9992/chrome-headless-shell-linux64/chrome-headless-shell", "chromium_headless_shell-9992/chrome-linux/headless_shell"], run
    assert run["stdout"].count("Chromium") == 4, run
    client.run("cd /workspace; rm -r playwright/* ~/.cache/ms-playwright", "bash")
    assert client.run("cd /workspace; python3 -c 'import playwright; print(playwright.__path__)'", "bash")["status"] == "completed", "a folder of that name"
    client.run("rmdir playwright", "bash")


def test_playwright_of_node_finds_the_browser(client):
    """npm links it once it has put playwright-core into a project."""
    browsers = {"browsers": [{"name": "chromium-headless-shell", "revision": "77"}]}
    client.call("write_file", path="core/browsers.json", content=json.dumps(browsers))
    client.call("write_file", path="core/package.json", content='{"name": "playwright-core", "version": "1.0.0"}')
    code = ("mkdir -p app && cd app && echo '{}' > package.json && npm install --offline --no-audit --silent ../core; echo $?\n"
            "ls -d ~/.cache/ms-playwright/*; echo $PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD; cd /workspace; rm -r app core ~/.cache/ms-playwright")
    assert client.run(code, "bash")["stdout"].split() == ["0", "/home/user/.cache/ms-playwright/chromium_headless_shell-77", "/environment/bin/chromium"]


PHOTO = """
import numpy as np
from PIL import Image
noise = np.random.default_rng(1).integers(0, 256, (3024, 4032, 3), dtype=np.uint8)
noise[:200] = (255, 0, 0)
{save}
import os; os.path.getsize('{name}') > {least}
"""


@pytest.mark.parametrize("name,save,least,size", [
    ("photo.jpg", "exif = Image.Exif(); exif[0x0112] = 6\nImage.fromarray(noise).save('photo.jpg', quality=90, exif=exif)", 10_000_000, "3024 x 4032"),
    ("huge.jpg", "Image.new('RGB', (16320, 12240), 'white').save('huge.jpg', quality=100)", 1_000_000, "16320 x 12240"),
    ("large.png", "Image.fromarray(noise[:1500, :1500]).save('large.png')", 5_000_000, "1500 x 1500"),
    ("clear.webp", "Image.fromarray(np.dstack([noise, noise[:, :, 0]])[:1000, :1000]).save('clear.webp', lossless=True)", 2_000_000, "1000 x 1000"),
    pytest.param("moving.gif", "Image.fromarray(noise[:900, :900]).save('moving.gif', save_all=True, append_images=[Image.fromarray(noise[200:1100, :900])])",
                 1_000_000, "900 x 900", marks=pytest.mark.slow),
])
def test_a_large_photo_is_shown_smaller(client, name, save, least, size):
    assert client.value(PHOTO.format(save=save, name=name, least=least)) == "True"
    result = client.result("read_file", path=name)
    seen = result["structuredContent"]
    picture = picture_of(result)
    assert seen["bytes"] <= 750_000 and seen["total_bytes"] > least and "(run_" in seen["note"]
    assert seen["note"].startswith(f"drawn as a JPEG of {size} pixels" if size in ("1000 x 1000", "900 x 900") else "drawn smaller: ") and f" of {size}" in seen["note"]
    assert seen["note"] in result["content"][0]["text"] and max(picture.size) <= 1568
    if name == "photo.jpg":
        assert picture.height > picture.width, "upright, as the camera was held"
        assert picture.getpixel((picture.width - 5, picture.height // 2))[0] > 200 > 60 > picture.getpixel((picture.width - 5, picture.height // 2))[1]


def test_a_picture_is_shown_while_bash_is_busy(client):
    client.run("from PIL import Image\nImage.effect_noise((2000, 2000), 99).save('n.png')")
    waiting = client.start_tool("run_code", language="bash", code="until [ -e seen ]; do sleep 0.05; done")
    assert "note" in client.call("read_file", path="n.png") and not client.is_answered(waiting)
    client.call("write_file", path="seen", content="")
    assert client.reply(waiting)["result"]["structuredContent"]["status"] == "completed"


def test_a_photo_of_a_phone_waits_for_no_run(client):
    """Its bytes come where it cannot be drawn, as it cannot beside as many runs as a session may have."""
    session = client.call("create_session")["session_id"]
    client.call("write_file", session_id=session, path="p.heic", content=base64.b64encode(b"\0\0\0\x1cftypheic\0\0\0\0mif1heicmiaf" * 50).decode(), encoding="base64")
    for _ in range(5):
        client.run("until [ -e /workspace/seen ]; do sleep 0.05; done", "bash", session_id=session, background=True)
    waiting = client.start_tool("run_code", session_id=session, language="bash", code="until [ -e seen ]; do sleep 0.05; done")
    read = client.call("read_file", session_id=session, path="p.heic")
    assert read["mime_type"] == "image/heic" and read["encoding"] == "base64" and "pillow-heif" in read["note"], read
    assert not client.is_answered(waiting)
    client.call("write_file", session_id=session, path="seen", content="")
    assert client.reply(waiting)["result"]["structuredContent"]["status"] == "completed"


@pytest.mark.slow
def test_a_photo_as_a_value_is_drawn_as_large_as_can_be_read(client):
    client.run("import numpy as np\nfrom PIL import Image, ImageDraw\nfrom IPython.display import Image as Shown\n"
               "photo = Image.fromarray(np.kron(np.random.default_rng(1).integers(0, 256, (300, 400, 3), dtype=np.uint8), np.ones((10, 10, 1), np.uint8)))\n"
               "photo.save('p.jpg', quality=95)")
    for code in ("photo", "Shown(filename='p.jpg')"):
        (output,), (picture,) = pictures(client, code)
        assert max(picture.size) > 900, picture.size
    (output,), (picture,) = pictures(client, "photo")
    assert "size=4000x3000" in output["text"] and f"(drawn smaller: {max(picture.size)} x " in output["text"]


def test_savefig_after_show_saves_what_was_shown(client):
    code = "import matplotlib.pyplot as plt; plt.rcdefaults()\nplt.plot([1, 3, 2]); plt.title('T'); plt.show(); plt.savefig('s.png')\nimport os; print(os.path.getsize('s.png'))"
    assert int(client.run(code)["stdout"]) > 10_000
    code = "plt.plot([1]); plt.show(); plt.plot([5, 6]); plt.savefig('t.png'); print(open('t.png', 'rb').read() != open('s.png', 'rb').read())"
    assert client.run(code)["stdout"] == "True\n"
    assert int(client.run("plt.savefig('empty.png'); print(os.path.getsize('empty.png'))")["stdout"]) < 10_000, "of another run nothing is saved"


def test_altair_draws_long_tables_and_tells_of_urls(client):
    outputs, drawn = pictures(client, "import altair as alt, pandas as pd\nalt.Chart(pd.DataFrame({'x': range(20_000), 'y': range(20_000)})).mark_line().encode(x='x', y='y')")
    assert len(drawn) == 1 and "vegafusion" not in outputs[0]["text"]
    outputs, _ = pictures(client, "alt.Chart('https://example.invalid/cars.json').mark_point().encode(x='a:Q', y='b:Q')")
    assert "its data comes from a URL" in outputs[0]["text"]


@pytest.mark.parametrize("path", ["/Users/anna/Downloads/sales.csv", "/home/anna/sales.csv", "C:\\\\Users\\\\anna\\\\sales.csv",
                                  "~/Downloads/sales.csv", "/home/user/Desktop/sales.csv"])
def test_a_file_of_the_users_machine_is_told_how_to_come(client, path):
    run = client.run(f"open('{path}')")
    assert "this session sees no files of the user's machine" in run["stderr"] and "--mount NAME=PATH" in run["stderr"]
    for tool in ("read_file", "list_files"):
        with pytest.raises(ToolError, match="--mount NAME=PATH"):
            client.call(tool, path=path.replace("\\\\", "\\"))
    assert "--mount" not in client.run("open('/home/user/none')")["stderr"]


def test_pictures_of_all_kinds_are_upright_and_seen(client):
    """16 bits a pixel are scaled, names need not be text, and who spoils what is read back is told of."""
    client.run("import numpy as np\nramp = np.tile(np.arange(30000, 32000, dtype=np.uint16), (2000, 1)) + np.random.default_rng(1).integers(0, 300, (2000, 2000), dtype=np.uint16)\n"
               "Image.fromarray(ramp).save('deep.png')\nopen(b'odd\\xe4.png', 'wb').write(open('n.png', 'rb').read())")
    picture = picture_of(client.result("read_file", path="deep.png"))
    assert picture.getpixel((5, 700))[0] < 60 and picture.getpixel((picture.width - 5, 700))[0] > 190
    assert "note" in client.call("read_file", path="odd\\xE4.png")
    client.run("mkdir -p ~/.local/bin; printf '#!/bin/bash\\nyes | head -c 100000; touch \"$3\"\\n' > ~/.local/bin/python3; chmod +x ~/.local/bin/python3", "bash")
    with pytest.raises(ToolError) as refused:
        client.call("read_file", path="n.png")
    client.run("rm ~/.local/bin/python3", "bash")
    assert "made no picture of it" in str(refused.value) and len(str(refused.value)) < 500


@pytest.mark.slow
def test_more_pictures_at_once_than_a_session_has_places_in_the_background(client):
    client.run("from PIL import Image\nImage.effect_noise((1200, 1200), 99).save('many.png')")
    asked = [client.start_tool("read_file", path="many.png") for _ in range(8)]
    assert all("note" in client.reply(one)["result"]["structuredContent"] for one in asked)


@pytest.mark.parametrize("code, names", [
    ("sns.barplot(d, x='day', y='v', hue='sex')", {"F", "M"}),
    ("sns.countplot(d, y='day', hue='sex')", {"F", "M"}),
    ("sns.histplot(d, x='v', hue='sex')", {"F", "M"}),
    ("sns.boxplot(d, x='day', y='v', hue='sex')", {"Fri, F", "Sat, F", "Fri, M", "Sat, M"}),
    ("sns.pointplot(d, x='day', y='v', hue='sex')", {"F", "M"}),
    ("sns.scatterplot(d, x='w', y='v', hue='sex')", {"F", "M"}),
    ("sns.lineplot(d, x='w', y='v', hue='sex')", {"F", "M"}),
    ("sns.catplot(d, x='day', y='v', hue='sex', kind='bar')", {"F", "M"}),
])
def test_what_seaborn_names_in_its_legend_alone(client, code, names):
    """One chart, too: error bars are no lines."""
    client.run("import seaborn as sns, pandas as pd, matplotlib.pyplot as plt\n"
               "d = pd.DataFrame({'day': ['Fri', 'Sat'] * 8, 'sex': ['F', 'F', 'M', 'M'] * 4, 'v': [float(i * 7 % 11) for i in range(16)], 'w': range(16)})")
    (output,) = client.run(code + "; plt.show()")["outputs"]
    assert {element.get("group") or element["label"] for element in output["chart"]["elements"]} == names, output["chart"]
    plain = client.run("sns.barplot(d, x='day', y='v'); plt.show()")["outputs"][0]["chart"]
    assert plain["type"] == "bar" and [element["label"] for element in plain["elements"]] == ["Fri", "Sat"]
    single = client.run("sns.barplot(d[:2], x='day', y='v'); plt.show()")["outputs"][0]["chart"]
    assert single["type"] == "bar" and len(single["elements"]) == 2, "bars of one value have error bars at no place"
