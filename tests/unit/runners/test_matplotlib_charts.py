"""Figures of matplotlib: coordinates as the user gave them, what drawing warns of, large ones."""

import re

import pytest

from runner_client import chart_of

PAIR = "pd.DataFrame({'m': ['jan', 'feb'], 'a': [1, 2], 'b': [3, 4]}).set_index('m')"


def ticks_of(runner, code):
    return chart_of(runner, code)["x"].get("ticks")


def xs_of(chart):
    return [[point[0] for point in element["points"]] for element in chart["elements"]]


def series(frequency):
    return f"pd.Series([1, 2], index=pd.date_range('2024-01-01', periods=2, freq=pd.offsets.{frequency}))"


@pytest.mark.parametrize("frequency, first, second", [
    ("MonthEnd()", "2024-01-01", "2024-02-01"), ("Hour()", "2024-01-01", "2024-01-01T01"),
    ("Week(weekday=6)", "2024-01-01", "2024-01-08"), ("QuarterEnd(startingMonth=12)", "2024-01-01", "2024-04-01"),
    ("YearEnd()", "2024-01-01", "2025-01-01"), ("BDay()", "2024-01-01", "2024-01-02"),
    ("Day(2)", "2024-01-01", "2024-01-03"), ("Minute(15)", "2024-01-01", "2024-01-01T00:15"),
    ("Second()", "2024-01-01", "2024-01-01T00:00:01"),
])
def test_series_with_a_frequency(plotter, frequency, first, second):
    chart = chart_of(plotter, series(frequency) + ".plot()")
    assert chart["x"]["scale"] == "datetime" and all(re.match(r"20\d\d-\d\d-\d\dT", tick) for tick in chart["x"]["ticks"])
    ((one, two),) = xs_of(chart)
    assert one == "2024-01-01T00:00:00" and (first, second) == (one[:len(first)], two[:len(second)])


@pytest.mark.parametrize("code", [
    "pd.Series([1, 2], index=pd.period_range('2024-01', periods=2, freq='M')).plot()",
    "pd.DataFrame({'a': " + series("MonthEnd()") + "}).plot.area()",
    series("MonthEnd()") + ".plot(style='o')",
])
def test_months(plotter, code):
    assert xs_of(chart_of(plotter, code)) == [["2024-01-01T00:00:00", "2024-02-01T00:00:00"]]


def test_dates_beside_a_series_of_pandas(plotter):
    both = f"s = {series('MonthEnd()')}; axes = s.plot(); axes."
    chart = chart_of(plotter, both + "scatter(s.index, s)")
    assert [xs_of(one) for one in chart["elements"][0]["charts"]] == [
        [["2024-01-01T00:00:00", "2024-02-01T00:00:00"]]] * 2
    # matplotlib reads these as days: the picture has them a thousand years apart.
    chart = chart_of(plotter, both + "plot(s.index, s)")
    assert chart["x"]["scale"] == "linear" and xs_of(chart) == [[648, 649], [19753, 19782]]
    chart = chart_of(plotter, f"s = {series('MonthEnd()')}; s.plot().plot([648.5, 649], [1, 2])")
    assert chart["x"]["scale"] == "linear" and xs_of(chart) == [[648, 649], [648.5, 649]]


@pytest.mark.parametrize("frequency", ["MonthEnd()", "Hour()", "BDay()"])
def test_dates_drawn_before_a_series_of_pandas(plotter, frequency):
    chart = chart_of(plotter, f"s = {series(frequency)}; s.plot(ax=plt.scatter(s.index, s).axes)")
    scatter, line = chart["elements"][0]["charts"]
    assert scatter["x"]["scale"] == "linear" and 19700 < xs_of(scatter)[0][0] < 19800
    assert line["x"]["scale"] == "datetime" and xs_of(line)[0][0] == "2024-01-01T00:00:00"


def test_dates_without_a_frequency(plotter):
    chart = chart_of(plotter, "plt.plot(pd.to_datetime(['2024-01-01', None, '2024-01-03']), [1, 2, 3])")
    assert chart["x"]["scale"] == "datetime"
    assert xs_of(chart) == [["2024-01-01T00:00:00+00:00", None, "2024-01-03T00:00:00+00:00"]]
    assert xs_of(chart_of(plotter, series("MonthEnd()") + ".plot(x_compat=True)"))[0][0][:10] == "2024-01-31"


@pytest.mark.parametrize("code, xs", [
    (PAIR + ".plot.area()", [[0, 1], [0, 1]]),
    ("pd.Series(range(12), index=list('abcdefghijkl')).plot()", [list(range(12))]),
    ("plt.plot([5, 6, 7]); plt.xticks([0, 2], ['p', 'q'])", [[0, 1, 2]]),
    ("plt.plot([5, 6, 7]); plt.plot([0, 2], [3, 4]); plt.xticks([0, 2], ['p', 'q'])", [[0, 1, 2], [0, 2]]),
])
def test_names_at_some_places_only(plotter, code, xs):
    chart = chart_of(plotter, code)
    assert chart["x"]["scale"] == "linear" and xs_of(chart) == xs
    assert all(isinstance(tick, float) for tick in chart["x"]["ticks"])


@pytest.mark.parametrize("code, xs", [
    ("plt.plot([5, 6]); plt.xticks([0, 1], ['p', 'q'])", [["p", "q"]]),
    ("pd.Series([1, 2], index=pd.MultiIndex.from_tuples([('x', 1), ('x', 2)])).plot(xticks=[0, 0.5, 1])",
     [["(x, 1)", "(x, 2)"]]),
    ("plt.plot(['p', 'q'], [1, 2])", [["p", "q"]]),
    ("plt.scatter([0, 0.9], [1, 2]); plt.xticks([0, 1], ['p', 'q'])", [[0, 0.9]]),  # jitter
])
def test_names_at_all_places(plotter, code, xs):
    chart = chart_of(plotter, code)
    assert chart["x"]["scale"] == "categorical" and xs_of(chart) == xs
    assert len(chart["x"]["ticks"]) == 2 and all(chart["x"]["ticks"])


def test_heatmaps_with_names_at_some_places(plotter):
    code = "plt.imshow([[1, 2, 3, 4]]); plt.xticks({}, list({}))"
    chart = chart_of(plotter, code.format("[0, 3]", "'pq'"))
    assert chart["elements"][0]["x"] == [0, 1, 2, 3] and chart["x"]["scale"] == "linear"
    chart = chart_of(plotter, code.format("[0, 1, 2, 3]", "'pqrs'"))
    assert chart["elements"][0]["x"] == ["p", "q", "r", "s"] and chart["x"]["scale"] == "categorical"


def test_ticks_without_a_text_are_none(plotter):
    assert ticks_of(plotter, "plt.bar([0, 1, 2], [1, 2, 3]); plt.xticks([0, 1, 2], ['p', '', 'q'])") == ["p", "q"]


def test_marks_in_3d_have_no_data(plotter):
    code = "f = plt.figure(); axes = f.add_subplot({}projection='3d'); axes.scatter([1, 2], [3, 4], [5, 6])"
    assert chart_of(plotter, code.format("")) is None
    chart = chart_of(plotter, code.format("1, 2, 1, ") + "; f.add_subplot(1, 2, 2).plot([1, 2])")
    place, line = chart["elements"][0]["charts"]
    assert (place["missing"], place["elements"], line["type"]) == ("marks in 3D", [{"charts": []}], "line")


@pytest.mark.parametrize("code", [
    "plt.tricontour([0, 1, 1], [0, 0, 1], [1, 2, 3])", "plt.tricontourf([0, 1, 1], [0, 0, 1], [1, 2, 3]); plt.colorbar()",
    "plt.contour([[1, 2], [1, 2]], [[1, 1], [2, 3]], [[1, 2], [3, 4]])", "plt.contour([[1, 2], [3, 4]], extent=(0, 1, 0, 1))",
])
def test_contours_beside_a_grid_have_no_data(plotter, code):
    assert chart_of(plotter, code) is None
    cloud = chart_of(plotter, code + "; plt.scatter([5], [6], transform=plt.gca().transData)")
    assert (cloud["type"], cloud["elements"]) == ("scatter", [{"label": "", "points": [[5, 6]]}])


def test_characters_without_a_font_are_told_once(plotter):
    code = "for _ in range(2):\n    plt.figure(); plt.plot([1]); plt.title('売上'); plt.xlabel('円'); plt.show()"
    for _ in range(2):
        assert plotter.run(code).stderr == "no font here has 売上円; these characters are shown as boxes\n"
    assert plotter.run("import warnings; warnings.simplefilter('ignore')\n" + code).stderr == ""
    assert plotter.run("warnings.resetwarnings(); plt.plot([1]);").stderr == ""


def test_warnings_of_drawing_name_the_cell_only(plotter):
    ending = plotter.run("import matplotlib.artist, warnings\nclass A(matplotlib.artist.Artist):\n    def draw(self, renderer):\n"
                        "        warnings.warn('mine')\nplt.figure().add_artist(A());\nplt.plot([1]); plt.show()")
    assert ending.stderr == "<cell-%d>:4: UserWarning: mine\n  warnings.warn('mine')\n" % plotter.runs


@pytest.mark.parametrize("size, dpi", [("(20, 15)", 400), ("(3, 3)", 5000), ("(60, 60)", 100)])
def test_pictures_of_very_many_dots_are_never_drawn(plotter, size, dpi):
    code = f"f = plt.figure(figsize={size}, dpi={dpi}); most = []\nshow = f.canvas.print_figure\n"
    ending = plotter.run(code + "def watched(*a, **o):\n    most.append(o['dpi']); return show(*a, **o)\n"
                        "f.canvas.print_figure = watched; plt.plot([1, 2]); plt.show()\n"
                        "[float(max(most) ** 2 * f.get_figwidth() * f.get_figheight()), f.dpi]")
    dots, own = ending.main["json"]
    assert 3_900_000 < dots <= 4_000_001 and own == dpi
    width, height = (int.from_bytes(ending.images[0][i:i + 4], "big") for i in (16, 20))
    assert 400 <= width and width * height <= 4_200_000


def test_names_that_only_the_legend_has(plotter):
    chart = chart_of(plotter, "plt.plot([1, 2]); plt.plot([3, 4]); plt.legend(['a', 'b'])")
    assert [element["label"] for element in chart["elements"]] == ["a", "b"]
    # A mark that has a label of its own names no other of its colour.
    chart = chart_of(plotter, "plt.plot([1, 2], color='red', label='a'); plt.plot([3, 4], color='red'); plt.legend()")
    assert [element["label"] for element in chart["elements"]] == ["a", ""]
    chart = chart_of(plotter, "plt.plot([1, 2], color='red'); plt.plot([3, 4], color='red'); plt.legend(['a', 'b'])")
    assert [element["label"] for element in chart["elements"]] == ["", ""], "one colour of two"
