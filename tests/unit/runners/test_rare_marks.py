"""Figures of matplotlib: areas, violins, events, hexagons, outlines, contours, and what large heatmaps keep when they are sampled."""

import pytest

from runner_client import chart_of


def marks_of(runner, code):
    chart = chart_of(runner, code)
    return chart["type"], chart["elements"]


# --- areas -----------------------------------------------------------------------------------------


STACKED = ("area", [{"label": "a", "points": [[1, 3], [2, 4]]},
                    {"label": "b", "points": [[1, 1, 3], [2, 2, 4]], "stacked": True, "columns": ["x", "value", "start"]}])
BAND = {"columns": ["x", "high", "low"]}


@pytest.mark.parametrize("code, marks", [
    ("plt.stackplot([1, 2], [3, 4], [1, 2], labels=['a', 'b'])", STACKED),
    ("pd.DataFrame({'a': [3, 4], 'b': [1, 2]}, index=[1, 2]).plot.area()", STACKED),
    ("plt.fill_between([1, 2], [3, 4], label='a'); plt.fill_between([1, 2], [3, 4], [4, 6], label='b')", STACKED),
    ("plt.fill_between([1, 2], [3, 4], label='a'); plt.fill_between([1, 2], [4, 6], [3, 4], label='b')", STACKED),
    ("plt.stackplot([1, 2], [2, 4], [.1, .2], baseline='sym')", ("area", [
        {**STACKED[1][1], "label": "", "points": [[1, 2, -1.05], [2, 4, -2.1]]},
        {**STACKED[1][1], "label": "", "points": [[1, 0.1, 0.95], [2, 0.2, 1.9]]}])),
    ("pd.DataFrame({'a': [-3, -4], 'b': [-1, -2]}, index=[1, 2]).plot.area()", ("area", [
        {"label": "a", "points": [[1, -3], [2, -4]]}, {**STACKED[1][1], "points": [[1, -1, -3], [2, -2, -4]]}])),
    ("plt.fill_between([1, 2], [3, -4])", ("area", [{"label": "", "points": [[1, 3], [2, -4]]}])),
    ("plt.fill_between([1, 2, 3], [5, 6, 7], [1, 7, 2])", ("area", [{"label": "", "points": [[1, 5, 1], [2, 7, 6], [3, 7, 2]], **BAND}])),
    ("plt.fill_between([1, 2], [5, 6], [1, 2]); plt.fill_between([1, 2], [4, 5], [2, 3])", ("area", [
        {"label": "", "points": [[1, 5, 1], [2, 6, 2]], **BAND}, {"label": "", "points": [[1, 4, 2], [2, 5, 3]], **BAND}])),
    ("plt.plot([1, 2], [3, 4], label='p'); plt.fill_between([1, 2], [2, 3], [4, 5])", ("line", [{"label": "p", "points": [[1, 3], [2, 4]]}])),
    ("plt.plot([1, 2], [3, 4], label='p'); plt.fill_between([1, 2], [3, 4], alpha=.3)", ("line", [{"label": "p", "points": [[1, 3], [2, 4]]}])),
    ("pd.DataFrame({'a': [3, 4]}, index=[1, 2]).plot.area()", ("line", [{"label": "a", "points": [[1, 3], [2, 4]]}])),
    ("pd.DataFrame({'a': [3, 4], 'b': [1, 2]}, index=[1, 2]).plot.area(stacked=False)",
     ("line", [{"label": "a", "points": [[1, 3], [2, 4]]}, {"label": "b", "points": [[1, 1], [2, 2]]}])),
])
def test_areas(plotter, code, marks):
    assert marks_of(plotter, code) == marks


def test_areas_over_dates(plotter):
    chart = chart_of(plotter, "plt.stackplot(pd.date_range('2024-01-01', periods=2), [1, 2], [3, 4])")
    assert chart["x"]["scale"] == "datetime"
    assert [one["points"][1][0][:10] for one in chart["elements"]] == ["2024-01-02", "2024-01-02"]


# --- violins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("code, labels", [
    ("plt.violinplot([DATA, DATA])", ["1", "2"]), ("plt.violinplot([DATA, DATA], [3, 5], showmedians=True)", ["1", "2"]),
    ("plt.violinplot([DATA, DATA], orientation='horizontal'); plt.yticks([1, 2], ['p', 'q'])", ["p", "q"]),
    ("plt.violinplot(np.column_stack([DATA, DATA]), showextrema=False); plt.gca().set_xticks([1, 2], labels=['p', 'q'])", ["p", "q"]),
])
def test_violins_are_boxes(plotter, code, labels):
    plotter.run("DATA = [1, 2, 3, 4, 9]")
    if "orientation" in code and plotter.run("import inspect; 'orientation' in inspect.signature(plt.violinplot).parameters").text == "False":
        code = code.replace("orientation='horizontal'", "vert=False")
    one = {"min": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "max": 9, "outliers": []}
    assert marks_of(plotter, code) == ("box", [{"label": label, **one} for label in labels])


@pytest.mark.parametrize("axes", ["x='g', y='v'", "x='v', y='g'", "x='g', y='v', hue='g'"])
def test_violins_of_seaborn(extras, axes):
    extras.run("import matplotlib.pyplot as plt, pandas as pd, seaborn as sns\nd = pd.DataFrame({'g': list('ababab'), 'v': [1, 2, 3, 4, 5, 9]})")
    kind, elements = marks_of(extras, f"sns.violinplot(data=d, {axes})")
    assert kind == "box" and [(one["label"], one["median"], one["max"]) for one in elements] == [("a", 3, 5), ("b", 4, 9)]


@pytest.mark.parametrize("options", ["x=v", "y=v", "y=v, inner='box', cut=0", "x=v, split=True, hue=['a'] * 6"])
def test_violins_of_seaborn_end_where_the_values_do(extras, options):
    extras.run("import matplotlib.pyplot as plt, pandas as pd, seaborn as sns")
    kind, elements = marks_of(extras, f"v = [1, 2, 3, 4, 5, 100]; sns.violinplot({options})")
    ends = [(one["min"], one["max"], one["outliers"]) for one in elements]
    assert kind == "box" and ends == [(1, 100, [])], elements


@pytest.mark.parametrize("code", ["sns.violinplot(y=v); __import__('hutch_runner.drawn', fromlist=['x'])._ends.clear()", "sns.violinplot(x=v, log_scale=True)"])
def test_ends_that_nobody_knows_are_left_out(extras, code):
    extras.run("import matplotlib.pyplot as plt, seaborn as sns; v = [1, 2, 3, 4, 5, 100]")
    kind, (one,) = marks_of(extras, code)
    assert kind == "box" and set(one) == {"label", "first_quartile", "median", "third_quartile"}, one


# --- others ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code, marks", [
    ("plt.eventplot([[1, 2], [4]])", ("scatter", [{"label": "", "points": [[1, 0], [2, 0]]}, {"label": "", "points": [[4, 1]]}])),
    ("plt.eventplot([1, 2], orientation='vertical', label='p')", ("scatter", [{"label": "p", "points": [[1, 1], [1, 2]]}])),
    ("plt.stairs([3, 4], [0, 5, 10], label='p')",
     ("histogram", [{"from": 0, "to": 5, "count": 3, "group": "p"}, {"from": 5, "to": 10, "count": 4, "group": "p"}])),
    ("plt.contour([10, 20], [1, 2], [[1, 2], [3, 4]])", ("heatmap", [{"x": [10, 20], "y": [1, 2], "values": [[1, 2], [3, 4]]}])),
    ("plt.contourf(*np.meshgrid([10, 20], [1, 2]), [[1, 2], [3, 4]], 3); plt.colorbar()",
     ("heatmap", [{"x": [10, 20], "y": [1, 2], "values": [[1, 2], [3, 4]]}])),
    ("Z = np.array([[1, 2], [3, 4]]); plt.contourf(Z); plt.contour(Z, [2, 3])", ("heatmap", [{"x": [0, 1], "y": [0, 1], "values": [[1, 2], [3, 4]]}])),
    ("plt.contour([[1, 2], [3, 4]]); plt.cla(); plt.plot([5, 6])", ("line", [{"label": "", "points": [[0, 5], [1, 6]]}])),
])
def test_marks(plotter, code, marks):
    assert marks_of(plotter, code) == marks


def test_hexagons_have_the_value_of_each(plotter):
    kind, (cloud,) = marks_of(plotter, "plt.hexbin([1, 1, 1, 9], [1, 1, 1, 9], gridsize=3)")
    assert kind == "scatter" and sorted(value for *_, value in cloud["points"]) == [1, 3]
    assert {value: (round(x), round(y)) for x, y, value in cloud["points"]} == {3: (1, 1), 1: (9, 9)}


# --- the ends of large heatmaps --------------------------------------------------------------------


PEAK = "z = np.zeros((ROWS, COLUMNS)); z[77, 33] = 5; z[3, 3] = -2; z[9, 9] = np.nan; z[9, 8] = np.inf;"


@pytest.mark.parametrize("size", [(80, 90), (301, 203)])
@pytest.mark.parametrize("draw, up", [("imshow(z)", False), ("matshow(z)", False), ("pcolormesh(z)", True), ("contourf(z)", True)])
def test_the_peak_of_a_heatmap_is_told_though_it_is_sampled(plotter, size, draw, up):
    kind, (grid,) = marks_of(plotter, PEAK.replace("ROWS", str(size[0])).replace("COLUMNS", str(size[1])) + f"plt.{draw}")
    half = 0.5 if "mesh" in draw else 0
    assert kind == "heatmap" and grid.get("sampled", False) == (size[0] > 100)
    assert grid["highest"] == {"x": 33 + half, "y": 77 + half, "value": 5} and grid["lowest"]["value"] == -2


def test_the_tone_of_a_spectrogram(plotter):
    _, (grid,) = marks_of(plotter, "t = np.arange(0, 10, 1 / 1000); plt.specgram(np.sin(2 * np.pi * 123 * t), Fs=1000)")
    assert abs(grid["highest"]["y"] - 123) < 4


def test_small_heatmaps_and_empty_ones_tell_no_ends(plotter):
    assert "highest" not in marks_of(plotter, "plt.imshow([[1, 2], [3, 4]])")[1][0]
    assert "highest" not in marks_of(plotter, "plt.imshow(np.full((20, 20), np.nan))")[1][0]


def test_plotly_tells_the_ends_too(extras):
    extras.run("import plotly.graph_objects as go, numpy as np; z = np.zeros((90, 90)); z[77, 33] = 5")
    ending = extras.run("go.Figure(go.Heatmap(z=z))")
    assert ending.main["chart"]["elements"][0]["highest"] == {"x": 33, "y": 77, "value": 5}
