"""Charts of the libraries beside matplotlib, and heatmaps; the schema is sandbox/runners/CHARTS.md."""

import itertools
import json
import re

import pytest

BOX = {"label": "g", "min": 1.0, "first_quartile": 2.0, "median": 3.0, "third_quartile": 4.0, "max": 4.0,
       "outliers": [50.0]}
PLOTLY_BOX = {**BOX, "first_quartile": 1.75, "third_quartile": 15.5, "max": 15.5}
ROWS = [{"a": "x", "b": 1, "c": "u", "d": "2024-01-05"}, {"a": "x", "b": 3, "c": "v", "d": "2024-01-20T00:00:00"},
        {"a": "y", "b": 5, "c": "u", "d": "2024-02-05"}]


def main_chart(runner, code):
    ending = runner.run(code)
    assert ending.ok, ending.stderr
    assert ending.main["formats"][-1] == "chart"
    return ending.main["chart"]


@pytest.mark.parametrize("code, elements, ticks", [
    ("plt.imshow([[1, 2], [3, 4]])", [{"x": [0, 1], "y": [0, 1], "values": [[1, 2], [3, 4]]}], None),
    ("plt.imshow([[1, 2], [3, 4]], origin='lower', extent=(0, 2, 0, 4))",
     [{"x": [0.5, 1.5], "y": [1, 3], "values": [[1, 2], [3, 4]]}], None),
    ("plt.pcolormesh([[1, 2, 3]]); plt.colorbar()", [{"x": [0.5, 1.5, 2.5], "y": [0.5], "values": [[1, 2, 3]]}], None),
    ("plt.imshow([[1, float('nan')]]); plt.xticks([0, 1], ['p', 'q'])",
     [{"x": ["p", "q"], "y": [0], "values": [[1, None]]}], ["p", "q"]),
])
def test_matplotlib_heatmaps(python, code, elements, ticks):
    ending = python.run(f"import matplotlib.pyplot as plt\n{code};")
    chart = ending.outputs[0]["chart"]
    assert chart["type"] == "heatmap" and chart["elements"] == elements
    assert ticks is None or chart["x"]["ticks"] == ticks


def test_large_heatmaps_are_thinned_and_colours_are_no_data(python):
    python.run("import matplotlib.pyplot as plt, numpy as np")
    element = python.run("plt.imshow(np.ones((1000, 500)));").outputs[0]["chart"]["elements"][0]
    assert len(element["values"]) == len(element["y"]) and len(element["values"][0]) == len(element["x"])
    assert 4000 < len(element["x"]) * len(element["y"]) <= 10_000 and element["sampled"] is True
    assert "chart" not in python.run("plt.imshow(np.ones((5, 5, 3)));").outputs[0]


def test_stems_are_one_line(python):
    chart = python.run("import matplotlib.pyplot as plt\nplt.stem([1, 2], [3, 4]);").outputs[0]["chart"]
    assert chart["elements"] == [{"label": "", "points": [[1, 3], [2, 4]]}]


@pytest.mark.parametrize("trace, kind, elements", [
    ("go.Scatter(x=[1, 2], y=[3, 4], name='s')", "line", [{"label": "s", "points": [[1, 3], [2, 4]]}]),
    ("go.Scatter(x=[1, 2], y=[3, 4], mode='markers')", "scatter", [{"label": "", "points": [[1, 3], [2, 4]]}]),
    ("go.Bar(x=['p', 'q'], y=[1, 2], name='s')", "bar",
     [{"label": "p", "value": 1, "group": "s"}, {"label": "q", "value": 2, "group": "s"}]),
    ("go.Bar(x=[1, 2], y=['p', 'q'], orientation='h')", "bar", [{"label": "p", "value": 1}, {"label": "q", "value": 2}]),
    ("go.Pie(labels=['p', 'q'], values=[1, 3])", "pie", [{"label": "p", "fraction": 0.25}, {"label": "q", "fraction": 0.75}]),
    ("go.Box(y=[1, 2, 3, 4, 50], name='g')", "box", [PLOTLY_BOX]),
    ("go.Histogram(x=np.array([1, 2, 2, 9.5]), nbinsx=5)", "histogram",
     [{"from": 0, "to": 2, "count": 1}, {"from": 2, "to": 4, "count": 2}, {"from": 4, "to": 6, "count": 0},
      {"from": 6, "to": 8, "count": 0}, {"from": 8, "to": 10, "count": 1}]),
    ("go.Heatmap(z=np.array([[1, 2], [3, 4]]), x=['p', 'q'])", "heatmap",
     [{"x": ["p", "q"], "y": [0, 1], "values": [[1, 2], [3, 4]]}]),
    ("go.Histogram(x=['n', 'n', 's'], y=[10, 20, 5], histfunc='sum', name='r')", "bar",
     [{"label": "n", "value": 30, "group": "r"}, {"label": "s", "value": 5, "group": "r"}]),
    ("go.Histogram(y=['n', 'n', 's'], x=[10, 20, None], histfunc='avg', orientation='h')", "bar", [{"label": "n", "value": 15}]),
    ("go.Histogram(x=['n', 'n', 's'], y=[10, 20, 5], histfunc='max')", "bar", [{"label": "n", "value": 20}, {"label": "s", "value": 5}]),
    ("go.Histogram(x=['n', 'n', 's'], y=[10, 20, 5], name='r')", "histogram",
     [{"from": "n", "to": "n", "count": 2, "group": "r"}, {"from": "s", "to": "s", "count": 1, "group": "r"}]),
    ("go.Histogram(x=[7, 8], y=['p', 'q'], orientation='h')", "histogram",
     [{"from": "p", "to": "p", "count": 1}, {"from": "q", "to": "q", "count": 1}]),
    ("[go.Scatter(x=[1, 2], y=[3, 4], stackgroup='s', name='s'), go.Scatter(x=[1, 2], y=[1, 1], stackgroup='s', name='t')]", "area",
     [{"label": "s", "points": [[1, 3], [2, 4]]},
      {"label": "t", "points": [[1, 1, 3], [2, 1, 4]], "stacked": True, "columns": ["x", "value", "start"]}]),
    ("[go.Bar(x=['p'], y=[1]), go.Bar(x=['p'], y=[2], visible='legendonly')]", "bar", [{"label": "p", "value": 1}]),
    ("go.Box(y=[1, 2, 3, 4, 50], name='g', boxpoints=False)", "box", [{**PLOTLY_BOX, "max": 50, "outliers": []}]),
])
def test_plotly(extras, trace, kind, elements):
    chart = main_chart(extras, "import numpy as np, plotly.graph_objects as go\n"
                               f"go.Figure({trace}).update_layout(title='T', xaxis_title='Time (s)')")
    assert (chart["type"], chart["title"]) == (kind, "T")
    assert chart["elements"] == elements
    assert (chart["x"]["label"], chart["x"]["unit"]) == ("Time (s)", "s")


@pytest.mark.parametrize("figure", [
    "go.Figure(go.Histogram(x=[1, 2, 2], histnorm='percent'))", "go.Figure(go.Histogram(x=['p', 'q'], histnorm='probability'))",
    "go.Figure(go.Histogram(x=[1, 2, 2], cumulative_enabled=True))", "px.histogram(x=[1, 2, 3], y=[10, 20, 30], nbins=2)",
    "px.histogram(x=['p', 'q'], color=['s', 't'], barnorm='percent')", "go.Figure(go.Bar(x=['p'], y=[2]), {'barnorm': 'fraction'})",
    "px.histogram(x=['2024-01-01', '2024-01-02', '2024-03-01'])", "go.Figure(go.Histogram(x=['1', '2', '10']))",
    "go.Figure(go.Scatter(x=[1, 2], y=[3, 4], stackgroup='s', groupnorm='percent'))", "go.Figure(go.Bar(x=['p'], y=[2], base=[5]))",
    "go.Figure([go.Scatter(x=[1, 2], y=[3, 4], stackgroup='s'), go.Scatter(x=[2, 3], y=[3, 4], stackgroup='s')])",
    "go.Figure(go.Scatter(y=[3, 4], x0=10, dx=5))", "go.Figure(go.Heatmap(z=[[1, 2], [3, 4]], transpose=True))",
    "go.Figure(go.Box(y=[1], quartilemethod='exclusive'))", "go.Figure(go.Box(q1=[1], median=[2], q3=[3], y=[[1, 2, 3]]))",
    "go.Figure(go.Box(y=[1, 2, 3], sizemode='sd'))",
    *(f"go.Figure(go.{trace}(x=[['p', 'p'], ['s', 't']], y=[1, 2]))" for trace in ("Bar", "Box", "Violin", "Scatter", "Histogram")),
    "go.Figure(go.Bar(x=np.array([['p', 'p'], ['s', 't']]), y=[1, 2]))", "go.Figure(go.Bar(y=[['p', 'p'], ['s', 't']], x=[1, 2], orientation='h'))",
    "go.Figure(go.Heatmap(x=[['p', 'p'], ['s', 't']], z=[[1, 2]]))", "go.Figure(go.Bar(x=['p'], y=[1]), {'xaxis': {'type': 'multicategory'}})",
    "go.Figure(go.Histogram(x=[1, 2, 7], xbins={'start': 0, 'end': 10, 'size': 5}))", "go.Figure(go.Histogram(x=[1, 2, 7], xbins_size=3))",
    "go.Figure(go.Histogram(x=[1, 2, 7], xbins_start=1))", "go.Figure(go.Histogram(y=[1, 2, 7], ybins_end=5))",
    "go.Figure(go.Histogram(x=['p', 'q'], xbins_size=2))"])
def test_plotly_has_no_data_rather_than_those_that_it_does_not_draw(extras, figure):
    ending = extras.run(f"import numpy as np, plotly.express as px, plotly.graph_objects as go\n{figure}")
    assert ending.main["formats"] == ["text", "html", "json"] and "chart" not in ending.main


DRAWN_BINS = """
import numpy as np, plotly.graph_objects as go
from hutch_runner.plotly_charts import chart_of, has_bins
numbers, words = go.Histogram(x=np.array([1, 2, 7]), name='n', xbins_size=3), go.Histogram(x=['p'])
bins = {1: [[0.09999999999999999, 0.30000000000000004, 2], [0.30000000000000004, 0.5, 0]]}
"""


@pytest.mark.parametrize("code, expected", [
    ("chart_of(go.Figure([words, numbers]), bins)['elements'][1:]",
     [{"from": 0.1, "to": 0.3, "count": 2, "group": "n"}, {"from": 0.3, "to": 0.5, "count": 0, "group": "n"}]),
    ("chart_of(go.Figure([numbers, go.Histogram(x=[])]), {0: [[1, 4, 3]]})['elements']", [{"from": 1, "to": 4, "count": 3, "group": "n"}]),
    # One histogram without its bins leaves none of those beside it.
    ("chart_of(go.Figure([words, numbers]), {})", None), ("chart_of(go.Figure([numbers, numbers]), bins)", None), ("chart_of(go.Figure(numbers))", None),
    ("chart_of(go.Figure(words), {})['elements']", [{"from": "p", "to": "p", "count": 1}]),
    ("[has_bins(go.Figure(one)) for one in (numbers, words, [words, numbers], go.Histogram(x=[1], visible='legendonly'), go.Bar(y=[1]), None)]",
     [True, False, True, False, False, False]),
    ("has_bins(go.Figure(go.Histogram(x=np.array(['2024-01-01'], dtype='datetime64[D]'))))", False)])
def test_bins_that_plotly_has_drawn_are_the_charts(extras, code, expected):
    extras.run(DRAWN_BINS)
    assert json.loads(extras.run(f"import json; print(json.dumps({code}))").stdout) == expected


@pytest.mark.parametrize("values, options, quartiles, whiskers, outliers", [
    # The linear rule: the share times the count, less a half, is the place from 0 on.
    ([1, 2, 3, 4, 5, 6, 7, 8], "", (2.5, 4.5, 6.5), (1, 8), []),
    ([1, 2, 3, 4, 5], "quartilemethod='linear'", (1.75, 3, 4.25), (1, 5), []),
    ([5, 1, 4, 2, 3], "quartilemethod='exclusive'", (1.5, 3, 4.5), (1, 5), []),
    ([1, 2, 3, 4, 5], "quartilemethod='inclusive'", (2, 3, 4), (1, 5), []),
    ([1, 2, 3, 4, 5, 6, 7], "quartilemethod='exclusive'", (2, 4, 6), (1, 7), []),
    ([1, 2, 3, 4, 5, 6, 7], "quartilemethod='inclusive'", (2.5, 4, 5.5), (1, 7), []),
    # With an even count all three are the same.
    ([1, 2, 3, 10], "quartilemethod='exclusive'", (1.5, 2.5, 6.5), (1, 10), []),
    ([1, 2, 3, 10], "quartilemethod='inclusive'", (1.5, 2.5, 6.5), (1, 10), []),
    # The box from 2 to 5 reaches 4.5 down and up, to -2.5 and to 9.5.
    ([-3, 2, 3, 4, 5, 9], "", (2, 3.5, 5), (2, 9), [-3.0]),
    # A whisker does not end inside of its box, as it would at 4, the last value below 36.125.
    ([1, 2, 3, 4, 50], "", (1.75, 3, 15.5), (1, 15.5), [50.0]),
    ([7], "", (7, 7, 7), (7, 7), []), ([1, 3], "", (1, 2, 3), (1, 3), []),
    ([0.7], "", (0.7,) * 3, (0.7, 0.7), []), ([0.1] * 3, "", (0.1,) * 3, (0.1, 0.1), []),
    # A value as far as one and a half boxes is within them, whatever 2.5 * 0.3 - 1.5 * 0.1 is in binary.
    ([0.1, 0.1, 0.1, 0.3, 0.3, 0.3, 0.6], "quartilemethod='inclusive'", (0.1, 0.3, 0.3), (0.1, 0.6), [])])
@pytest.mark.parametrize("kind", ["Box", "Violin"])
def test_boxes_of_plotly_are_plotlys(extras, kind, values, options, quartiles, whiskers, outliers):
    (box,) = main_chart(extras, f"import plotly.graph_objects as go; go.Figure(go.{kind}(y={values}, name='g', {options}))")["elements"]
    assert (box["first_quartile"], box["median"], box["third_quartile"]) == pytest.approx(quartiles)
    assert (box["min"], box["max"]) == pytest.approx(whiskers) and box["outliers"] == outliers


@pytest.mark.parametrize("trace, elements", [
    ("go.Bar(x=['p', 'q'], y=np.array([1, 2]))", [{"label": "p", "value": 1}, {"label": "q", "value": 2}]),
    ("go.Scatter(x=np.array([1, 2], dtype='uint8'), y=np.array([0.5, 300]))", [{"label": "", "points": [[1, 0.5], [2, 300]]}]),
    ("go.Heatmap(z=np.array([[1, 2, 3], [4, 5, 6]]))", [{"x": [0, 1, 2], "y": [0, 1], "values": [[1, 2, 3], [4, 5, 6]]}])])
@pytest.mark.parametrize("copied", ["copy.deepcopy(figure)", "pio.from_json(figure.to_json())"])
def test_copies_of_plotlys_figures_have_their_numbers(extras, trace, elements, copied):
    """plotly writes arrays as bytes in base64, which a copy, or a figure of a JSON text, keeps."""
    code = f"import copy, numpy as np, plotly.graph_objects as go, plotly.io as pio\nfigure = go.Figure({trace})\n{copied}"
    assert main_chart(extras, code)["elements"] == elements
    assert extras.run("'bdata' in str(copy.deepcopy(figure).data[0])").main["text"] == "True"


COUNTED_LABELS = """
import collections, types
from hutch_runner import plotly_charts

class Label(str):
    asked = 0
    def __eq__(self, other):
        Label.asked += 1
        return str.__eq__(self, other)
    __hash__ = str.__hash__

plotly_charts._values = lambda values: list(values or ())
every = [Label(i % 25_000) for i in range(50_000)]
slices = plotly_charts._pie(types.SimpleNamespace(labels=every, values=None))
(len(slices), slices[7], Label.asked < 1_000_000)
"""


def test_a_pie_compares_each_of_its_labels_a_few_times(start):
    """Each of 50,000 against all others would be more than a thousand million times."""
    runner = start("python")
    assert runner.run(COUNTED_LABELS).main["text"] == "(25000, {'label': '7', 'fraction': 4e-05}, True)"


def test_a_pie_without_values_counts_its_labels(extras):
    chart = main_chart(extras, "import plotly.graph_objects as go; go.Figure(go.Pie(labels=['b', 'a', 'b', 'b']))")
    assert chart["elements"] == [{"label": "b", "fraction": 0.75}, {"label": "a", "fraction": 0.25}]


def test_plotly_figures_are_results(extras):
    ending = extras.run("import plotly.express as px, pandas as pd\nf = px.line(x=pd.to_datetime(['2020-01-01',"
                        " '2020-01-02']), y=[1, 2])\nf.show()\nf")
    shown, main = ending.outputs
    assert shown["formats"] == ["text", "html", "png", "json", "chart"] and len(ending.images) == 1
    assert main["is_main_result"] and main["formats"] == ["text"] and main["text"] == shown["text"]
    assert shown["text"].startswith("Figure(1 trace: scatter); drawn by matplotlib from its data, without plotly's sizes, ")
    assert shown["text"].endswith("this environment has no browser")
    assert shown["chart"]["x"]["scale"] == "datetime"
    assert shown["chart"]["elements"][0]["points"][0][0].startswith("2020-01-01T00:00:00")
    assert "template" not in shown["json"]["layout"] and "plotly" in shown["html"]


def test_slices_of_one_name_are_one(extras):
    chart = main_chart(extras, "import plotly.express as px\npx.pie(names=['a', 'b', 'a', 'b'], values=[1, 2, 3, 4])")
    assert chart["elements"] == [{"label": "a", "fraction": 0.4}, {"label": "b", "fraction": 0.6}]


def test_a_figure_that_has_changed_comes_again(extras):
    ending = extras.run("import plotly.express as px\nf = px.bar(x=['a'], y=[1])\nf.show()\nf.update_layout(title='T')")
    assert len(ending.images) == 2 and "chart" in ending.main["formats"]
    ending = extras.run("import matplotlib.pyplot as plt\nfigure, axes = plt.subplots(); axes.plot([1, 2]); figure.show()\n"
                        "display(figure); axes.plot([2, 1]); display(figure)\nfigure")
    assert len(ending.images) == 2 and ending.main["formats"] == ["text"]
    ending = extras.run("import copy\ndisplay(f); display(copy.deepcopy(f))")
    assert len(ending.images) == 2, "two figures that look the same are two"
    ending = extras.run("from IPython.display import clear_output\nclear_output(wait=True); display(figure)\nfigure")
    assert len(ending.images) == 1


def test_a_picture_of_plotly_leaves_matplotlibs_style_alone(extras):
    extras.run("import io, plotly.express as px, matplotlib.pyplot as plt\nf = px.bar(x=['a'], y=[1])\nbefore = f.to_image()")
    ending = extras.run("plt.style.use('dark_background')\nf.to_image() == before, plt.rcParams['figure.facecolor']")
    assert ending.text == "(True, 'black')"


def test_plotly_saves_pictures_without_a_browser(extras):
    ending = extras.run("import io, plotly.express as px, plotly.io as pio\nfrom PIL import Image\nf = px.bar(x=['a', 'b'], y=[1, 2])\n"
                        "f.write_image('f.png', width=500, height=400, scale=2); pio.write_image(f, 'f.svg'); f.write_image('f.pdf')\n"
                        "heads = [open(f'f.{kind}', 'rb').read(5) for kind in ('svg', 'pdf')]\n"
                        "Image.open('f.png').size, heads, Image.open(io.BytesIO(f.to_image('jpg'))).format")
    assert ending.text == "((1000, 800), [b'<?xml', b'%PDF-'], 'JPEG')" and "drawn by matplotlib" in ending.stderr
    ending = extras.run("px.scatter_3d(x=[1], y=[2], z=[3]).write_image('g.png')")
    assert ending.error["name"] == "ValueError" and "fig.write_html('figure.html') keeps the whole" in ending.error["message"]


def test_an_image_of_plotly_is_not_upside_down(extras):
    extras.run("import io, numpy as np, plotly.express as px\nfrom PIL import Image\n"
               "def dark(figure):\n    picture = np.asarray(Image.open(io.BytesIO(figure.to_image(format='png'))).convert('L'), float)\n"
               "    inner = picture[100:-100, 200:400]\n    return inner[:50].mean() < inner[-50:].mean()")
    assert extras.run("values = [[0, 0], [9, 9]]\ndark(px.imshow(values)), dark(px.imshow(values, origin='lower'))").text == \
        "(np.True_, np.False_)"


def test_plotly_with_several_axes(extras):
    chart = main_chart(extras, "from plotly.subplots import make_subplots\nimport plotly.graph_objects as go\n"
                               "f = make_subplots(1, 2)\nf.add_scatter(y=[1], row=1, col=1)\nf.add_bar(y=[2], row=1, col=2)")
    assert chart["type"] == "composite"
    assert [c["type"] for c in chart["elements"][0]["charts"]] == ["line", "bar"]


def test_stacked_areas_of_plotly_have_their_own_values(extras):
    code = ("import io, numpy as np, pandas as pd, plotly.express as px\nfrom PIL import Image\n"
            "f = px.area(pd.DataFrame({'x': [1, 2, 3] * 3, 'y': [1, 2, 3, 4, 5, 6, 1, 1, 1], 'g': list('aaabbbccc')}), x='x', y='y', color='g')\nf")
    elements = main_chart(extras, code)["elements"]
    assert [[point[1] for point in one["points"]] for one in elements] == [[1, 2, 3], [4, 5, 6], [1, 1, 1]]
    assert [[point[2:] for point in one["points"]] for one in elements] == [[[]] * 3, [[1], [2], [3]], [[5], [7], [9]]]
    drawn = ("from hutch_runner import chart_pictures, plotly_charts\nchart = plotly_charts.chart_of(f)\n"
             "chart['elements'] = chart['elements'][{}:]\npicture = Image.open(io.BytesIO(chart_pictures.draw(chart))).convert('RGB')\n"
             "max(np.argwhere(np.asarray(picture)[:, 300].std(axis=1) > 20)[:, 0]) - min(np.argwhere(np.asarray(picture)[:, 300].std(axis=1) > 20)[:, 0])")
    assert int(extras.run(drawn.format(2)).text.strip("np.int64()")) < 100, "the last is a thin strip, wherever it stands"


GRID = "pd.DataFrame({'x': [1, 2] * 4, 'y': range(8), 'g': list('ppqq') * 2, 'h': list('rrrrssss')})"
SUBPLOTS = "from plotly.subplots import make_subplots\nf = make_subplots"


@pytest.mark.parametrize("code, titles", [
    ("px.bar(frame, x='x', y='y', facet_col='g')", ["g=p", "g=q"]),
    ("px.scatter(frame, x='x', y='y', facet_row='h')", ["h=r", "h=s"]),
    ("px.line(frame, x='x', y='y', facet_col='g', facet_row='h')", ["g=p, h=r", "g=q, h=r", "g=p, h=s", "g=q, h=s"]),
    ("px.bar(frame, x='x', y='y', facet_col='y', facet_col_wrap=3)", [f"y={i}" for i in range(8)]),
    (SUBPLOTS + "(2, 2, subplot_titles=('A', '', 'C', 'D'))\nfor i in range(4): f.add_bar(y=[1], row=i // 2 + 1, col=i % 2 + 1)\nf", ["A", "", "C", "D"]),
    (SUBPLOTS + "(2, 1, subplot_titles=('A', ''))\nf.add_bar(y=[1], row=1, col=1); f.add_bar(y=[1], row=2, col=1)\nf", ["A", ""]),
    (SUBPLOTS + "(1, 2, subplot_titles=('A', 'B'), specs=[[{'type': 'domain'}] * 2])\nf.add_pie(values=[1], row=1, col=1); f.add_pie(values=[1], row=1, col=2)\nf",
     ["A", "B"]),
    (SUBPLOTS + "(1, 2)\nf.add_bar(y=[1], row=1, col=1); f.add_bar(y=[1], row=1, col=2)\n_ = f.add_annotation(x=1, y=1, text='peak')\nf", ["", ""]),
])
def test_plots_of_plotly_have_the_titles_at_their_edges(extras, code, titles):
    chart = main_chart(extras, f"import pandas as pd, plotly.express as px\nframe = {GRID}\n{code}")
    assert sorted(one["title"] for one in chart["elements"][0]["charts"]) == sorted(titles)


def test_pies_in_cells_of_a_grid_are_charts_of_their_own(extras):
    pies = main_chart(extras, "import plotly.graph_objects as go\nf = go.Figure(layout={'grid': {'rows': 2, 'columns': 2}})\n"
                      "for i in range(4): f.add_pie(values=[1, i], labels=['a', 'b'], domain={'row': i // 2, 'column': i % 2})\n"
                      "for i, (x, y) in enumerate([(9, 38), (29, 38), (9, 18), (29, 18)]): _ = f.add_annotation(x=x / 38, y=y / 38, text='ABCD'[i], showarrow=False, xref='paper', yref='paper', yanchor='bottom')\n"
                      "f")["elements"][0]["charts"]
    assert [sum(one["fraction"] for one in pie["elements"]) for pie in pies] == [1] * 4
    assert [pie["title"] for pie in pies] == list("ABCD"), "where plotly draws them"
    assert len(main_chart(extras, "go.Figure([go.Pie(values=[1], domain={'column': i}) for i in (0, 1)], {'grid': {'rows': 1, 'columns': 2}})")["elements"][0]["charts"]) == 2
    assert len(main_chart(extras, "go.Figure([go.Pie(values=[1], domain={'x': [i / 2, i / 2 + .5], 'row': 0}) for i in (0, 1)])")["elements"][0]["charts"]) == 2


def test_the_title_of_a_figure_with_one_plot_is_its_own(extras):
    assert main_chart(extras, f"import pandas as pd, plotly.express as px\npx.bar({GRID}, x='x', y='y', title='T', facet_col=['one'] * 8)")["title"] == "T"


@pytest.mark.parametrize("figure, missing", [
    ("px.bar(frame, x='x', y='y', error_y='y')", "error bars"), ("px.line(frame, x='x', y='y', error_x=[.1] * 8)", "error bars"),
    ("go.Figure(go.Scatter(y=[1, 2], error_y={'type': 'percent', 'value': 10}))", "error bars"),
    ("go.Figure(go.Scatter(y=[1, 2], error_y={'array': [1, 1], 'visible': False}))", None),
    ("px.scatter(frame, x='x', y='y', color='y', size='y')", "colours by value, sizes by value"),
    ("px.scatter(frame, x='x', y='y', color='y', symbol='y')", "colours by value"), ("px.bar(frame, x='x', y='y', color='y')", "colours by value"),
    ("px.scatter(frame, x='x', y='y', color='g')", None), ("go.Figure(go.Bar(y=[1, 2], marker_color=['red', 'blue']))", None),
    ("go.Figure(go.Scatter(y=[1, 2], marker_size=9))", None), ("px.pie(names=['a'], values=[1], color_discrete_sequence=['red'])", None),
    ("px.bar(frame, x='x', y='y', animation_frame='h')", "1 of 2 frames"),
    ("px.scatter(frame, x='x', y='y', size='y', animation_frame='y')", "sizes by value, 7 of 8 frames"),
])
def test_plotly_says_what_its_data_leaves_out(extras, figure, missing):
    chart = main_chart(extras, f"import pandas as pd, plotly.express as px, plotly.graph_objects as go\nframe = {GRID}\n{figure}")
    assert chart.get("missing") == missing


A = {"field": "a", "type": "nominal"}
B = {"field": "b", "type": "quantitative"}
VEGA = [
    ({"mark": "bar", "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"aggregate": "mean", "field": "b", "type": "quantitative"}}},
     "bar", [{"label": "x", "value": 2}, {"label": "y", "value": 5}]),
    ({"mark": {"type": "line"}, "encoding": {"x": {"field": "b", "type": "quantitative"}, "y": {"field": "b", "type": "quantitative"},
                                             "color": {"field": "c", "type": "nominal"}}},
     "line", [{"label": "u", "points": [[1, 1], [5, 5]]}, {"label": "v", "points": [[3, 3]]}]),
    ({"mark": "point", "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "b", "type": "quantitative"}}},
     "scatter", [{"label": "", "points": [["x", 1], ["x", 3], ["y", 5]]}]),
    ({"mark": "arc", "encoding": {"theta": {"aggregate": "count"}, "color": {"field": "a", "type": "nominal"}}},
     "pie", [{"label": "x", "fraction": 0.666667}, {"label": "y", "fraction": 0.333333}]),
    ({"mark": "bar", "encoding": {"x": {"field": "b", "bin": {"maxbins": 3}, "type": "quantitative"}, "y": {"aggregate": "count"}}},
     "histogram", [{"from": 0, "to": 2, "count": 1}, {"from": 2, "to": 4, "count": 1}, {"from": 4, "to": 6, "count": 1}]),
    ({"mark": "rect", "encoding": {"x": {"field": "a", "type": "nominal"}, "y": {"field": "c", "type": "nominal"},
                                   "color": {"aggregate": "sum", "field": "b", "type": "quantitative"}}},
     "heatmap", [{"x": ["x", "y"], "y": ["u", "v"], "values": [[1, 5], [3, None]]}]),
    ({"mark": "boxplot", "data": {"values": [{"g": "g", "v": v} for v in (1, 2, 3, 4, 50)]},
      "encoding": {"x": {"field": "g", "type": "nominal"}, "y": {"field": "v", "type": "quantitative"}}}, "box", [BOX]),
    ({"mark": "bar", "transform": [{"filter": "datum.b > 1"}], "encoding": {}}, None, None),
    ({"mark": "bar", "encoding": {"x": {"field": "d", "timeUnit": "yearmonth", "type": "temporal"}, "y": {**B, "aggregate": "sum"}}},
     "bar", [{"label": "2024-01-01", "value": 4}, {"label": "2024-02-01", "value": 5}]),
    ({"mark": "line", "encoding": {"x": {"field": "d", "timeUnit": "year", "type": "temporal"}, "y": {**B, "aggregate": "max"}}},
     "line", [{"label": "", "points": [["2024-01-01", 5]]}]),
    ({"mark": "bar", "encoding": {"x": {"field": "d", "timeUnit": "month", "type": "ordinal"}, "y": {**B, "aggregate": "sum"}}}, None, None),
    ({"mark": "bar", "encoding": {"x": A, "y": {**B, "aggregate": "sum"}, "color": {"field": "d", "timeUnit": "quarter", "type": "nominal"}}},
     None, None),
    ({"mark": "line", "encoding": {"x": {"field": "d", "timeUnit": "yearmonth", "type": "temporal"}, "y": {**B, "aggregate": "sum"},
                                   "tooltip": [{"field": "d", "type": "temporal"}]}}, None, None),
    ({"mark": "bar", "encoding": {"x": {**B, "bin": True}, "y": {**B, "aggregate": "mean"}}}, None, None),
    *(({"mark": "bar", "encoding": {"x": {**B, "bin": options}, "y": {"aggregate": "count"}}}, None, None) for options in (
        {"extent": [0, 2]}, {"anchor": 1}, {"steps": [1, 2]}, {"divide": [3]})),
    *(({"mark": "bar", "encoding": {"x": {**B, "bin": True}, "y": {"aggregate": "count"}, **other}}, None, None) for other in (
        {"color": {**B, "aggregate": "count"}}, {"color": B}, {"color": {"condition": {**A, "param": "p"}, "value": "grey"}}, {"detail": A},
        {"color": A, "tooltip": {"field": "c", "type": "nominal"}}, {"fill": A})),
    ({"mark": "bar", "encoding": {"x": {**A, "bin": True}, "y": {"aggregate": "count"}}}, None, None),
    ({"mark": "bar", "encoding": {"x": {"aggregate": "count"}, "y": {**B, "bin": {}}, "color": {"value": "red"}, "tooltip": {"aggregate": "count"}}},
     "histogram", [
        {"from": 1, "to": 1.5, "count": 1}, {"from": 1.5, "to": 2, "count": 0}, {"from": 2, "to": 2.5, "count": 0}, {"from": 2.5, "to": 3, "count": 0},
        {"from": 3, "to": 3.5, "count": 1}, {"from": 3.5, "to": 4, "count": 0}, {"from": 4, "to": 4.5, "count": 0}, {"from": 4.5, "to": 5, "count": 1}]),
    ({"mark": "bar", "encoding": {"x": {**B, "bin": {"step": 4}}, "y": {"aggregate": "count", "stack": None}, "color": A, "tooltip": [A]}},
     "histogram", [{"from": 0, "to": 4, "count": 2, "group": "x"}, {"from": 4, "to": 8, "count": 0, "group": "x"},
                   {"from": 0, "to": 4, "count": 0, "group": "y"}, {"from": 4, "to": 8, "count": 1, "group": "y"}]),
    ({"mark": "line", "encoding": {"x": {**B, "bin": True}, "y": {"aggregate": "count"}}}, None, None),
    ({"mark": "rect", "encoding": {"x": {**B, "bin": True}, "y": A, "color": {"aggregate": "count"}}}, None, None),
    ({"mark": "bar", "encoding": {"x": A, "y": {**B, "stack": "normalize"}, "color": {"field": "c", "type": "nominal"}}}, None, None),
    ({"mark": "line", "encoding": {"x": A, "y": {**B, "impute": {"value": 0}}}}, None, None),
    ({"mark": "bar", "encoding": {"x": A, "y": B, "color": {**B, "aggregate": "mean"}}}, None, None),
    ({"mark": "point", "encoding": {"x": {**B, "aggregate": "mean"}, "y": {**B, "aggregate": "max"}, "color": A}}, None, None),
    ({"mark": "point", "encoding": {"x": {**B, "aggregate": "mean"}, "y": B}}, None, None),
    ({"mark": "rect", "encoding": {"x": A, "y": {"field": "c", "type": "nominal"}, "color": {**B, "aggregate": "stdev"}}}, None, None),
    ({"mark": "bar", "encoding": {"x": A, "y": {**B, "aggregate": "mean"}, "column": {"field": "c", "type": "nominal"}}}, None, None),
    ({"mark": "bar", "encoding": {"x": A, "y": {**B, "aggregate": "mean"}, "detail": [{"field": "c", "type": "nominal"}]}}, None, None),
    ({"mark": "bar", "encoding": {"x": A, "y": B, "y2": {"field": "b"}}}, None, None),
    ({"mark": "bar", "encoding": {"x": A, "y": {"field": "b.c", "type": "quantitative"}}}, None, None),
    ({"mark": {"type": "boxplot", "extent": "min-max"}, "encoding": {"x": A, "y": B}}, None, None),
    ({"mark": "bar", "encoding": {"x": A, "y": {**B, "aggregate": "sum"}, "tooltip": [A, {**B, "aggregate": "sum"}]}},
     "bar", [{"label": "x", "value": 4}, {"label": "y", "value": 5}]),
]


def vega_lite(part):
    return {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "title": "T", "data": {"values": ROWS}, **part}


NOT_DRAWN = [({"mark": "bar", "encoding": {"x": {**B, "bin": options}, "y": {"aggregate": "count"}}}, None, None) for options in (
    {"maxbins": 0}, {"step": "2"}, {"step": 1e-5}, {"base": 2}, {"binned": True}, "binned")]  # in part since vega takes minutes for them


@pytest.mark.parametrize("part, kind, elements", VEGA + NOT_DRAWN)
def test_vega_lite_from_javascript(shared_javascript, part, kind, elements):
    output = shared_javascript.run(f"({json.dumps(vega_lite(part))})").main
    check_vega(output, kind, elements)


@pytest.mark.parametrize("part, kind, elements", VEGA)
def test_altair(extras, part, kind, elements):
    output = extras.run(f"import altair as alt\nnull, true = None, True\nalt.Chart.from_dict({json.dumps(vega_lite(part))})").main
    check_vega(output, kind, elements)
    assert "html" in output["formats"]


ALTAIR = """
import io, altair as alt, pandas as pd, vl_convert
from PIL import Image
frame = pd.DataFrame({'k': list('dabcabe'), 'v': [5, 10, 100, 5, 2, 3, 5], 'c': list('xyyzxyz'), 'Umsatz.2024': range(1, 8), 'b [€]': range(1, 8), "it's": range(1, 8)})
def has_marks(chart):
    try: picture = Image.open(io.BytesIO(vl_convert.vegalite_to_png(chart.to_dict()))).convert('RGB')
    except ValueError: return False
    return any(max(colour) - min(colour) > 60 for _, colour in picture.getcolors(1 << 20))
bar = alt.Chart(frame).mark_bar()
log, C = alt.Scale(type='log'), alt.Color('c', legend=None)
"""


@pytest.fixture
def altair(extras):
    assert extras.run(ALTAIR).ok
    return extras


@pytest.mark.parametrize("field", ["Umsatz.2024", "b [€]", "it's"])
def test_fields_that_vega_takes_for_paths_are_told_and_not_as_data(altair, field):
    altair.run(f"chart = bar.encode(x='k', y={field!r})")
    lost = altair.run("chart").main
    assert "chart" not in lost and f"for Vega {field!r} is a path into a value" in lost["text"]
    advised = re.search(r"write ('.*:Q') ", lost["text"])[1]
    assert altair.run(f"has_marks(chart), has_marks(bar.encode(x='k', y={advised}))").text == "(False, True)"
    drawn = altair.run(f"bar.encode(x='k', y={advised})").main
    assert "Vega" not in drawn["text"] and [one["value"] for one in drawn["chart"]["elements"]] == list(range(1, 8))


@pytest.mark.parametrize("encoded, is_drawn", [
    ("y=alt.Y('v', scale=log)", False), ("y=alt.Y('v', scale=log), color=C", False), ("y=alt.Y('sum(v)', scale=log), color=C", False),
    ("y=alt.Y('v', scale=log, stack='zero')", False), ("y=alt.Y('v', scale=log, stack=None)", True), ("y=alt.Y('sum(v)', scale=log)", True),
    ("y=alt.Y('v', scale=alt.Scale(type='symlog'))", True)])
def test_stacks_on_a_logarithmic_axis_are_not_drawn_and_not_told(altair, encoded, is_drawn):
    for mark in ("bar", "area"):
        altair.run(f"chart = alt.Chart(frame).mark_{mark}().encode(x='k', {encoded})")
        output = altair.run("chart").main
        assert altair.run("has_marks(chart)").text == str(is_drawn), mark
        assert ("chart" in output, "logarithmic axis" in output["text"]) == (is_drawn, not is_drawn), mark


@pytest.mark.parametrize("mark, encoded, is_drawn", [
    ("area", "x=alt.X('v', scale=log), y='b'", True), ("bar", "x=alt.X('v', scale=log), y='b'", True), ("bar", "x='b', y=alt.Y('v', scale=log)", False),
    ("area", "x=alt.X('b', scale=log), y='sum(v)', color=C", True), ("bar", "x=alt.X('sum(v)', scale=log), y='b', color=C", False),
    ("bar", "x=alt.X('v', scale=log), y='b', color=C", True), ("bar(orient='horizontal')", "x=alt.X('v', scale=log), y='b'", False),
    ("area(orient='horizontal')", "x='b', y=alt.Y('v', scale=log)", True), ("bar", "x=alt.X('v', scale=log, stack='zero'), y='b'", True),
    ("bar(orient='horizontal')", "x=alt.X('v', scale=log, stack='zero'), y='b'", False),
    ("bar", "x=alt.X('v', scale=log), y='k'", False), ("bar", "x=alt.X('v', scale=log, bin=True), y='count()'", None),
    ("bar", "x='c', y=alt.Y('mean(v)', scale=log), color=C", True), ("bar", "x='c', y=alt.Y('mean(v)', scale=log), color=C, detail='k'", False),
    ("bar", "x='k', y=alt.Y('mean(v)', scale=log), color=C, xOffset='c'", True), ("bar", "x='k', y=alt.Y('mean(v)', scale=log), color='mean(v)'", True),
    ("bar", "x='c', y=alt.Y('v', scale=log), color=C", False)])
def test_only_the_axis_along_which_vega_stacks_loses_by_its_logarithms(altair, mark, encoded, is_drawn):
    altair.run("log, C = alt.Scale(type='log'), alt.Color('c', legend=None)\nframe['b'] = range(1, 8)")
    altair.run(f"chart = alt.Chart(frame).mark_{mark if '(' in mark else mark + '()'}.encode({encoded})")
    ending = altair.run("chart")
    if is_drawn is not None:
        assert altair.run("has_marks(chart)").text == str(is_drawn)
        assert ("logarithmic axis" in ending.main["text"]) != is_drawn


def test_charts_of_altair_that_have_no_data_beside_others_are_named(altair):
    altair.run("good = bar.encode(x='k', y='v')\nhours = alt.Chart(pd.DataFrame({'t': pd.to_datetime(['2024-01-01 10:00']), 'v': [1]})).mark_line()\n"
               "rest = [hours.encode(x='hours(t):O', y='v'), alt.Chart(frame).mark_errorbar().encode(x='k', y='v'), bar.encode(x='k', y=alt.Y('v', stack='normalize')),\n"
               "        good.facet('c')]")
    chart = altair.run("alt.concat(good, good.mark_point(), *rest)").main["chart"]
    assert chart["missing"] == "4 of 6 charts (line of hours(t), errorbar, normalized bar, faceted bar)"
    assert altair.run("good & rest[1]").main["chart"]["missing"] == "1 of 2 charts (errorbar)"
    assert altair.run("(good | rest[1]) & (good + rest[1])").main["chart"]["missing"] == "1 of 3 charts (errorbar)"
    assert "missing" not in altair.run("good | good").main["chart"] and "chart" not in altair.run("rest[1] | rest[2]").main


def test_bars_are_told_in_the_order_in_which_they_are_drawn(altair):
    altair.run("import re\ndef names(chart): return re.findall('>([a-e])</text>', re.search('X-axis.*?role-axis-label.*?</g>', vl_convert.vegalite_to_svg(chart.to_dict()), re.S)[0])")
    for sort, value, color in itertools.product(("'-y'", "'y'", "'descending'", "['b', 'e', 'c']"), ("v", "sum(v)", "count()", "max(v)", "mean(v)"), ("", ", color='c'")):
        altair.run(f"chart = bar.encode(x=alt.X('k', sort={sort}), y={value!r}{color})")
        drawn = altair.run("names(chart)").text
        assert drawn == str(altair.run("chart").main["chart"]["x"]["ticks"]), (sort, value, color)


@pytest.mark.parametrize("names, values", [
    (["d", None, "a", "b", "Z", "ä", "a", "_", None], [5, 4, 1, 2, 8, 7, -3, 9, 6]), ([10, 9, None, 100, 2.5], [1, 3, 2, 5, 4]), ([None, "a"], [2, 1]), ([None], [1]),
    (["d", None, "a", "b", "a", "d", "e"], [5, 4, None, 2, 8, None, -3]), (["a", "b", "a", "b", "c"], [10, 6, None, 6, -1])])
def test_bars_with_missing_names_or_values_are_told_in_their_order(altair, names, values):
    altair.run("import re\ndef all_names(chart): return re.findall('>([^<>\\n]+)</text>', re.search('X-axis.*?role-axis-label.*?</g>', vl_convert.vegalite_to_svg(chart), re.S)[0])")
    rows = [{"k": name, "v": value} for name, value in zip(names, values)]
    for sort, value in itertools.product(("ascending", "descending", "y", "-y"), ({}, {"aggregate": "sum"}, {"aggregate": "mean"}, {"aggregate": "min"}, {"aggregate": "count"})):
        encoding = {"x": {"field": "k", "type": "nominal", "sort": sort}, "y": {"field": "v", "type": "quantitative", **value}}
        altair.run(f"chart = {({'data': {'values': rows}, 'mark': 'bar', 'encoding': encoding})!r}")
        drawn = altair.run("all_names(chart)").text
        chart = altair.run("alt.Chart.from_dict(chart)").main["chart"]
        told = ["null" if one["label"] in ("", "None", None) else str(one["label"]) for one in chart["elements"]]
        assert drawn == str(list(dict.fromkeys(told))), (sort, value)


def test_altair_draws_the_files_of_its_parts(altair):
    altair.run("frame.to_csv('f.csv', index=False); frame.to_csv('g.csv', index=False)\nbars = lambda file: alt.Chart(file).mark_bar().encode(x='k:N', y='v:Q')")
    for shown in ("bars('f.csv') | bars('g.csv')", "bars('f.csv') & (bars('g.csv') | bars('f.csv'))", "bars('f.csv') + bars('g.csv')"):
        ending, empty = altair.run(shown), altair.run(shown.replace("f.csv", "none.csv"))
        assert "file" not in ending.main["text"] and ".csv" not in ending.main["html"] and ending.images != empty.images, shown
        assert empty.main["text"].endswith("(there is no file 'none.csv', so the picture has no marks of it)") and "g.csv" not in empty.main["html"], shown
    both = altair.run("bars('none.csv') | bars('https://example.org/f.csv')").main["text"]
    assert "no file 'none.csv'" in both and "its data comes from a URL" in both


def test_altair_draws_the_files_of_the_session(altair):
    altair.run("frame.to_csv('f.csv', index=False); frame.to_csv('f.tsv', index=False, sep='\\t'); frame.to_json('f.json', orient='records'); open('f.dat', 'w').close()\n"
               "bars = lambda file: alt.Chart(file).mark_bar().encode(x='k:N', y='v:Q')")
    empty = altair.run("bars('none.csv')")
    assert "(there is no file 'none.csv', so the picture has no marks)" in empty.main["text"]
    for shown in ("bars('f.csv')", "bars('f.tsv')", "bars('f.json')", "bars('f.csv') + bars('f.csv')", "bars('f.csv') | bars('f.csv')"):
        ending = altair.run(shown)
        assert "file" not in ending.main["text"] and len(ending.images[0]) > 1.2 * len(empty.images[0]) and "f.csv" not in ending.main["html"], shown
    assert "write alt.Chart(pd.read_csv('f.dat'))" in altair.run("bars('f.dat')").main["text"]
    assert "its data comes from a URL" in altair.run("bars('https://example.org/f.csv')").main["text"]


def test_vega_lite_tells_the_ends_of_a_large_heatmap(shared_javascript):
    cells = [{"a": i, "c": j, "b": 5 if (i, j) == (7, 3) else 0} for i in range(9) for j in range(9)]
    part = {"mark": "rect", "data": {"values": cells}, "encoding": {
        "x": {"field": "a", "type": "ordinal"}, "y": {"field": "c", "type": "ordinal"}, "color": {"field": "b", "type": "quantitative"}}}
    grid = shared_javascript.run(f"({json.dumps(vega_lite(part))})").main["chart"]["elements"][0]
    assert grid["highest"] == {"x": 7, "y": 3, "value": 5} and grid["lowest"]["value"] == 0


def check_vega(output, kind, elements):
    assert "json" in output["formats"] and output["json"]["$schema"]
    if kind is None:
        assert "chart" not in output
        return
    assert output["chart"]["type"] == kind and output["chart"]["title"] == "T"
    assert output["chart"]["elements"] == elements
    assert "unit" not in output["chart"].get("x", {})


VEGA_BINS = [
    (range(100), {"maxbins": 4}), ([1, 1.5, 3, 4.99, 5, 10], {"step": 2}), ([1, 1.5, 3, 4.99, 5, 10], {"step": 0.3}), (range(7), True), (range(11), True),
    ([0.1, 0.2, 0.3, 0.7, 0.8, 1.1], True), ([-3.7, -1, 0, 0.5, None, 2], True), ([1e6, 1.5e6, 3.21e6], {"maxbins": 30}), ([5, 5, 5], True), ([0], True),
    ([-2, -2], {"maxbins": 3}), (range(3), {"minstep": 1}), ([3.3, 4.1, 17.9], {"nice": False}), ([3.3, 4.1, 17.9], {"nice": False, "step": 5}),
    (range(0, 1000, 9), {"maxbins": 50}), (range(0, 1000, 7), {"maxbins": 100}), ([0.001, 0.0015, 0.0042], {"maxbins": 2}),
    ([i * 0.1 for i in range(40)], {"maxbins": 20, "minstep": 0.25}), ([1e-7, 3e-7, 9e-7], True)]
DRAWN_BARS = """
import json, re, vl_convert

def bars(mark):
    if isinstance(mark, dict) and mark.get("marktype") == "rect":
        yield from (item["description"] for item in mark["items"] if "description" in item)
    for part in mark.values() if isinstance(mark, dict) else mark if isinstance(mark, list) else ():
        yield from bars(part)

def drawn(spec):
    words = (one.replace("\u2212", "-") for one in bars(vl_convert.vega_to_scenegraph(vl_convert.vegalite_to_vega(spec))))
    found = (re.fullmatch("v .binned.: (.*) \u2013 (.*); n: (.*); g: (.*)", one).groups() for one in words)
    return json.dumps([[float(start), float(end), int(count), group] for start, end, count, group in found])
"""


@pytest.mark.parametrize("values, options", VEGA_BINS)
def test_bins_are_those_that_vega_draws(shared_javascript, extras, values, options):
    values = list(values)
    rows = [{"v": value, "g": "pqr"[i * i % 3]} for i, value in enumerate(values)]
    spec = json.dumps(vega_lite({"mark": "bar", "data": {"values": rows}, "encoding": {
        "x": {"field": "v", "type": "quantitative", "bin": options}, "y": {"aggregate": "count", "title": "n"}, "color": {"field": "g", "type": "nominal"}}}))
    chart = extras.run(f"import altair as alt, json\nalt.Chart.from_dict(json.loads({spec!r}))").main["chart"]
    assert shared_javascript.run(f"({spec})").main["chart"] == chart
    counted = [(one["from"], one["to"], one["count"], one["group"]) for one in chart["elements"] if one["count"]]
    extras.run(DRAWN_BARS)
    drawn = sorted(json.loads(extras.run(f"print(drawn(json.loads({spec!r})))").stdout))
    assert len(drawn) == len(counted) and sum(one[2] for one in drawn) == len([value for value in values if value is not None])
    for bar, one in zip(drawn, sorted(counted)):
        assert bar[:2] == pytest.approx(one[:2], rel=1e-9, abs=1e-12) and tuple(bar[2:]) == one[2:]
    for group in {one["group"] for one in chart["elements"]}:
        own = [one for one in chart["elements"] if one["group"] == group]
        assert [one["from"] for one in own[1:]] == [one["to"] for one in own[:-1]]


@pytest.mark.parametrize("how, label", [({"timeUnit": "yearmonth"}, "d (year-month)"), ({"timeUnit": "year"}, "d (year)")])
def test_an_axis_of_vega_lite_is_called_as_it_is_drawn(javascript, extras, how, label):
    spec = json.dumps(vega_lite({"mark": "bar", "encoding": {"x": {"field": "d", "type": "temporal", **how}, "y": {**B, "aggregate": "sum"}}}))
    for output in (javascript.run(f"({spec})").main, extras.run(f"import altair as alt\nalt.Chart.from_dict({spec})").main):
        assert output["chart"]["x"] == {"label": label, "scale": "datetime"}


def test_altair_shows(extras):
    ending = extras.run("import altair as alt, pandas as pd\nc = alt.Chart(pd.DataFrame({'a': [1], 'b': [2]})).mark_line()"
                        ".encode(x='a', y='b')\n(c | c).show()")
    assert ending.outputs[0]["chart"]["type"] == "composite"


@pytest.mark.parametrize("config, kind, elements", [
    ("{type: 'line', data: {labels: ['p', 'q'], datasets: [{label: 's', data: [1, 2]}]}}", "line",
     [{"label": "s", "points": [["p", 1], ["q", 2]]}]),
    ("{type: 'scatter', data: {datasets: [{data: [{x: 1, y: 2}]}]}}", "scatter", [{"label": "", "points": [[1, 2]]}]),
    ("{type: 'bar', data: {labels: ['p'], datasets: [{label: 's', data: [1]}, {label: 't', data: [2]}]}}", "bar",
     [{"label": "p", "value": 1, "group": "s"}, {"label": "p", "value": 2, "group": "t"}]),
    ("{type: 'doughnut', data: {labels: ['p', 'q'], datasets: [{data: [1, 3]}]}}", "pie",
     [{"label": "p", "fraction": 0.25}, {"label": "q", "fraction": 0.75}]),
    ("{type: 'boxplot', data: {labels: ['g'], datasets: [{data: [[1, 2, 3, 4, 50]]}]}}", "box", [BOX]),
])
def test_chart_js(shared_javascript, config, kind, elements):
    chart = main_chart(shared_javascript, f"({{...{config}, options: {{plugins: {{title: {{text: 'T'}}}}, "
                                   "scales: {x: {title: {text: 'Time (s)'}}}}})")
    assert (chart["type"], chart["title"], chart["x"]["unit"]) == (kind, "T", "s")
    assert chart["elements"] == elements


def test_mixed_chart_js(shared_javascript):
    chart = main_chart(shared_javascript, "({type: 'bar', data: {labels: ['p'], datasets: [{data: [1]}, {type: 'line', data: [2]}]}})")
    assert [c["type"] for c in chart["elements"][0]["charts"]] == ["bar", "line"]


@pytest.mark.parametrize("value", [
    "{type: 'line', data: 5}", "{type: 'line', data: {datasets: [5, null]}}", "{type: 'line', data: {datasets: [{data: 1n}]}}",
    "{type: 'bar', get data() { throw new Error('no'); }}", "{$schema: 'vega-lite', data: {values: [1, null]}, mark: 'bar'}",
])
def test_objects_like_charts_that_are_none_fail_nothing(javascript, value):
    ending = javascript.run(f"({value})")
    assert ending.ok and "chart" not in ending.main


@pytest.mark.parametrize("code", [
    "import plotly.graph_objects as go; go.Figure(go.Scatter(x=[2 ** 60, 2 ** 61], y=[1, 2]))",
    "import altair as alt, pandas as pd; alt.Chart(pd.DataFrame({'x': [2 ** 60, 2 ** 61], 'y': [1, 2]})).mark_line().encode(x='x:Q', y='y:Q')",
    "import matplotlib.pyplot as plt; plt.plot([2 ** 60, 2 ** 61], [1, 2]);",
])
def test_large_integers_are_numbers_in_charts(extras, code):
    (output,) = extras.run(code).outputs
    assert output["chart"]["elements"][0]["points"] == [[2 ** 60, 1], [2 ** 61, 2]]
    assert output["chart"]["x"]["scale"] == "linear"
    assert "plt" in code or "1.152921504606847e+18" in json.dumps(output["json"])


def test_large_pictures_are_drawn_smaller(python, javascript):
    ending = python.run("import numpy as np\nfrom PIL import Image\nnoise = np.random.rand(900, 900, 3) * 255\n"
                        "picture = Image.fromarray(noise.astype('uint8'))\npicture.save('large.png')\npicture")
    assert ending.ok, ending.stderr
    assert len(ending.images[0]) <= 750_000 and ending.images[0].startswith(b"\x89PNG")
    ending = javascript.run("require('fs').readFileSync('large.png')")
    assert len(ending.images[0]) <= 750_000 and ending.images[0].startswith(b"\x89PNG")


def test_tables_name_their_rows(python):
    table = python.run("import pandas as pd\npd.DataFrame({'a': [1, 2]}, index=pd.Index(['x', 'y'], name='k'))").main["json"]
    assert table["columns"] == [{"name": "k", "type": "object", "index": True}, {"name": "a", "type": "int64"}]
    assert table["rows"] == [["x", 1], ["y", 2]]
    table = python.run("pd.Series([1, 2], name='v')").main["json"]
    assert table == {"columns": [{"name": "v", "type": "int64"}], "rows": [[1], [2]], "row_count": 2, "truncated": False}


MANY = 120_000  # points of a series, with one high and one low among them


@pytest.mark.parametrize("make", [
    "import matplotlib.pyplot as plt; plt.plot(ys);",
    "import matplotlib.pyplot as plt; plt.scatter(range(len(ys)), ys);",
    "import plotly.graph_objects as go; go.Figure(go.Scattergl(y=ys))",
    pytest.param("import plotly.graph_objects as go; go.Figure(go.Scatter(x=list(range(len(ys))), y=ys.tolist()))", marks=pytest.mark.slow)])
def test_long_series_keep_their_ends_and_extremes(start, make):
    python = start("python", extras="plotly" in make)
    python.run(f"import numpy as np\nys = np.zeros({MANY}); ys[70_001] = 8; ys[90_007] = -8")
    ending = python.run(make)
    assert ending.ok, ending.error
    (series,) = ending.outputs[0]["chart"]["elements"]
    points = series["points"]
    assert series["sampled"] is True and 40_000 < len(points) <= 50_000 and points == sorted(points)
    for point in ([0, 0], [70_001, 8], [90_007, -8], [MANY - 1, 0]):
        assert point in points


def test_all_series_of_a_figure_are_bounded_together(python):
    ending = python.run("import matplotlib.pyplot as plt, numpy as np\n_, axes = plt.subplots(2)\n"
                        "for i in range(40): axes[i % 2].plot(np.random.rand(4000))\nplt.show()")
    (one,) = ending.outputs[0]["chart"]["elements"]
    series = [element for chart in one["charts"] for element in chart["elements"]]
    assert len(series) == 40 and all(900 < len(element["points"]) <= 1250 for element in series)


def test_long_series_of_javascript(javascript):
    ending = javascript.run(
        "({ type: 'line', data: { datasets: [{ label: 'a', data: Array.from({ length: 120000 }, (_, x) =>"
        " ({ x, y: x === 70001 ? 8 : x === 90007 ? -8 : 0 })) }] } })")
    (series,) = ending.main["chart"]["elements"]
    assert series["sampled"] is True and 40_000 < len(series["points"]) <= 50_000
    for point in ([0, 0], [70_001, 8], [90_007, -8], [119_999, 0]):
        assert point in series["points"]
    assert len(json.loads(ending.parts[-1]["json"])["data"]["datasets"][0]["data"]) == 120_000
