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


MONTHS = "pd.date_range('2024-01-01', periods=2, freq='MS', tz='Europe/Berlin')"
STARTS = ["2024-01-01T00:00:00+01:00", "2024-02-01T00:00:00+01:00"]


@pytest.mark.parametrize("code, xs", [
    (f"plt.plot({MONTHS}, [1, 2])", STARTS), (f"plt.scatter({MONTHS}, [1, 2])", STARTS), (f"plt.bar({MONTHS}, [1, 2])", STARTS),
    (f"plt.hist({MONTHS}, bins=1)", STARTS), (f"plt.plot({MONTHS}, [1, 2]); plt.xticks({MONTHS}, ['p', 'q'])", STARTS),
    ("zone = dt.timezone(dt.timedelta(hours=1)); plt.plot([dt.datetime(2024, 1, 1, tzinfo=zone), dt.datetime(2024, 2, 1, tzinfo=zone)], [1, 2])", STARTS),
    (f"pd.Series([1, 2], {MONTHS}).plot(x_compat=True)", STARTS),
    # The axis says what the picture shows, whatever the data are in.
    (f"plt.plot({MONTHS}, [1, 2]); import matplotlib.dates; plt.gca().xaxis.set_major_formatter(matplotlib.dates.DateFormatter('%d.%m.'))",
     ["2023-12-31T23:00:00+00:00", "2024-01-31T23:00:00+00:00"]),
])
def test_dates_are_in_the_zone_of_their_axis(plotter, code, xs):
    chart = chart_of(plotter, code)
    found = [value for one in chart["elements"] for value in ([one["label"]] if chart["type"] == "bar" else
             [one["from"], one["to"]] if "from" in one else [point[0] for point in one["points"]])]
    assert chart["x"]["scale"] == "datetime" and found == xs
    assert all(tick.endswith(xs[0][-6:]) for tick in chart["x"]["ticks"])


def test_dates_of_seaborn_are_in_the_zone_of_their_axis(extras):
    extras.run("import matplotlib.pyplot as plt, pandas as pd, seaborn as sns")
    assert xs_of(chart_of(extras, f"sns.lineplot(x={MONTHS}, y=[1, 2])")) == [STARTS]


@pytest.mark.parametrize("label, unit", [
    ("Time (s)", "s"), ("U [V] ", "V"), ("Sales (Mio €)", "Mio €"), ("v [kg m/s]", "kg m/s"), ("[s]", None), ("Price (with taxes)", None),
    ("Preis (ohne MwSt)", None), ("Preis (siehe Fußnote)", None), ("Length (of the longest)", None)])
def test_units(plotter, label, unit):
    assert chart_of(plotter, f"plt.plot([1, 2]); plt.ylabel({label!r})")["y"].get("unit") == unit


@pytest.mark.parametrize("code, unit", [
    ("gca().yaxis.set_major_formatter(lambda value, _: f'{value / 1e6}')", None), ("yticks([1e6, 2e6], ['1', '2'])", None),
    ("gca().yaxis.set_major_formatter('{x:.0%}')", None), ("gca().yaxis.set_major_formatter('{x:,.0f}')", "k€"),
    ("yscale('log')", "k€"), ("ticklabel_format(style='plain')", "k€"), ("yticks([1e6, 2e6])", "k€"),
    ("yticks([1e6, 2e6], ['1000000', '2e6'])", "k€"), ("yticks([1e6, 2e6], ['1,000,000', '2,000,000'])", "k€"), ("yticks([1e6, 2e6], ['1M', '2M'])", None)])
def test_what_is_written_otherwise_has_no_unit(plotter, code, unit):
    assert chart_of(plotter, f"plt.plot([1e6, 2e6]); plt.ylabel('Sales [k€]'); plt.{code}")["y"].get("unit") == unit


def test_a_title_in_brackets_is_no_unit(plotter):
    code = "pd.DataFrame({'v': [1, 2, 3, 4], 'g': list('xxyy')}).boxplot(column='v', by='g'); plt.xlabel('[g]')"
    assert "unit" not in chart_of(plotter, code)["x"]


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


NAMED = "f, ax = plt.subplots(); ax.{}; ax.set_xticks({}, {})"


@pytest.mark.parametrize("code, xs", [
    (NAMED.format("plot([0, 1, 2], [5, 6, 7])", "[0, 1, 2]", "[2020, 2021, 2022]"), ["2020", "2021", "2022"]),
    (NAMED.format("scatter([0, 1], [5, 6])", "[0, 1]", "['1', '0']"), ["1", "0"]),
    (NAMED.format("plot([0, 1], [5, 6])", "[0, 1]", "[1.5, 'nan']"), ["1.5", "nan"]),
    # Labels that say where they are, as they are written, are no names.
    (NAMED.format("plot([0, 1, 2], [5, 6, 7])", "[0, 1, 2]", "[0, 1, 2]"), [0, 1, 2]),
    (NAMED.format("plot([-0.25, 1.04], [5, 6])", "[-0.25, 1.04]", "['\N{MINUS SIGN}0.2', '1.0']"), [-0.25, 1.04]),
    (NAMED.format("plot([0, 1, 2], [5, 6, 7])", "[0, 2]", "[2020, 2022]"), [0, 1, 2]),
    (NAMED.format("semilogx([1, 1000], [5, 6])", "[1, 1000]", "['1', '1k']"), [1, 1000]),
    ("plt.plot([1e6, 2e6], [5, 6]); plt.xticks([1e6, 2e6])", [1e6, 2e6]),
    # Nor are numbers that are written for people.
    (NAMED.format("plot([1000, 2000, 4000], [5, 6, 7], 'o-')", "[1000, 2000, 4000]", "['1,000', '2,000', '4,000']"), [1000, 2000, 4000]),
    (NAMED.format("plot([1000, 2e6], [5, 6])", "[1000, 2e6]", "['1.000', '2 000 000 €']"), [1000, 2e6]),
    (NAMED.format("plot([1000, 2500], [5, 6])", "[1000, 2500]", "['1k', '$2.5k']"), [1000, 2500]),
    (NAMED.format("plot([0.1, 0.25], [5, 6])", "[0.1, 0.25]", "['10%', '25 %']"), [0.1, 0.25]),
    (NAMED.format("plot([10, 25], [5, 6])", "[10, 25]", "['10%', '25%']"), [10, 25]),
    (NAMED.format("plot([-5, 10], [5, 6])", "[-5, 10]", "['-$5', '$10']"), [-5, 10]),
    (NAMED.format("plot([1.5, 2.5], [5, 6])", "[1.5, 2.5]", "['1,5', '2,5']"), [1.5, 2.5]),
    (NAMED.format("plot([0, 1], [5, 6])", "[0, 1]", "['0%', '50%']"), ["0%", "50%"]),
    (NAMED.format("plot([0, 1], [5, 6])", "[0, 1]", "['$5', '$10']"), ["$5", "$10"]),
    (NAMED.format("plot([0, 1], [5, 6])", "[0, 1]", "['5m', '10m']"), ["5m", "10m"]),
])
def test_numbers_as_names(plotter, code, xs):
    chart = chart_of(plotter, code)
    assert xs_of(chart) == [xs] and chart["x"]["scale"] == ("categorical" if isinstance(xs[0], str) else "log" if "log" in code else "linear")


@pytest.mark.parametrize("code", ["plt.imshow(CELLS); plt.xticks([0, 1], [2023, 2024])", "plt.pcolormesh(CELLS); plt.xticks([0.5, 1.5], [2023, 2024])"])
def test_heatmaps_with_numbers_as_names(plotter, code):
    chart = chart_of(plotter, code.replace("CELLS", "[[1, 2], [3, 4]]"))
    assert chart["elements"][0]["x"] == chart["x"]["ticks"] == ["2023", "2024"]


def test_heatmaps_of_seaborn_with_numbers_as_names(extras):
    extras.run("import matplotlib.pyplot as plt, pandas as pd, seaborn as sns")
    (grid,) = chart_of(extras, "sns.heatmap(pd.DataFrame([[1, 2, 3], [3, 9, 5]], index=[2023, 2024], columns=[10, 11, 12]))")["elements"]
    assert (grid["x"], grid["y"]) == (["10", "11", "12"], ["2023", "2024"])
    assert chart_of(extras, "sns.heatmap(pd.DataFrame([[1, 2], [3, 9]]))")["elements"][0]["x"] == ["0", "1"]


WORDS = "ax.set_{}ticks([10, 1000], ['ten', 'thousand'])"


@pytest.mark.parametrize("code, axis, values", [
    ("ax.plot([1, 2], [10, 1000]); " + WORDS.format("y"), "y", [10, 1000]),
    ("ax.plot([1, 2], [10, 1000]); ax.set_yticks([10, 1000], [1, 100])", "y", [10, 1000]),
    ("ax.plot([1, 2], [0, 1]); ax.set_yticks([0, 1], ['off', 'on'])", "y", [0, 1]),
    ("ax.scatter([1, 2], [10, 1000]); " + WORDS.format("y"), "y", [10, 1000]),
    ("ax.stackplot([1, 2], [10, 1000]); " + WORDS.format("y"), "y", [10, 1000]),
    ("ax.plot([1, 2], [0, 1], 'o'); ax.set_yticks([0, 1], ['p', 'q'])", "y", ["p", "q"]),
    ("ax.plot([1, 2], ['p', 'q'])", "y", ["p", "q"]),
    ("ax.plot([3, 5], [0, 1], 'o-'); ax.set_yticks([0, 1], ['p', 'q'])", "y", ["p", "q"]),
    ("ax.plot([3, 5], [0, 1], 'o-'); ax.set_yticks([0, 1], ['0%', '50%'])", "y", [0, 1]),
])
def test_values_keep_their_numbers(plotter, code, axis, values):
    chart = chart_of(plotter, "f, ax = plt.subplots(); " + code)
    assert [point[1] for point in chart["elements"][0]["points"]] == values
    assert chart[axis]["scale"] == ("categorical" if isinstance(values[0], str) else "linear") and chart[axis]["ticks"] == values


@pytest.mark.parametrize("marks", ["plot([1, 4], [i, i])", "plot([1, 4], [i, i], 'o-')", "plot([1, 4], [i, i], lw=9); plt.plot([1], [i], 'o')"])
@pytest.mark.parametrize("first", [0, 1])
def test_rows_have_names(plotter, marks, first):
    code = f"for i in range({first}, {first + 3}):\n    plt.{marks}\nplt.yticks(range({first}, {first + 3}), ['design', 'build', 'test'])"
    chart = chart_of(plotter, code)
    assert chart["y"]["scale"] == "categorical" and chart["y"]["ticks"] == ["design", "build", "test"]
    assert {point[1] for one in chart["elements"] for point in one["points"]} == {"design", "build", "test"}


def test_lines_beside_their_names_keep_numbers(plotter):
    chart = chart_of(plotter, "plt.plot([1, 2], [0, 0]); plt.plot([1, 2, 3], [0.3, 0.9, 0.1]); plt.yticks([0, 1], ['off', 'on'])")
    assert chart["y"]["scale"] == "linear" and chart["elements"][1]["points"][1] == [2, 0.9]


@pytest.mark.parametrize("code, axis", [
    ("bar(['a', 'b'], [10, 1000], bottom=[10, 1000]); ", "y"), ("barh(['a', 'b'], [10, 1000], left=[10, 1000]); ", "x"),
    ("hist([1, 2]); ", "y"), ("boxplot([1, 2, 10]); ", "y"), ("boxplot([1, 2, 10], vert=False); ", "x"), ("violinplot([1, 2, 10]); ", "y")])
def test_axes_of_values_have_numbers(plotter, code, axis):
    chart = chart_of(plotter, "f, ax = plt.subplots(); ax." + code + WORDS.format(axis))
    assert chart[axis]["scale"] == "linear" and chart[axis]["ticks"] == [10, 1000]
    assert [one.get("start") for one in chart["elements"]] in ([10, 1000], [None] * len(chart["elements"]))


@pytest.mark.parametrize("scale", ["log", "symlog", "logit", "asinh"])
def test_scales(plotter, scale):
    assert chart_of(plotter, f"plt.plot([1, 2], [0.1, 0.2]); plt.yscale('{scale}')")["y"]["scale"] == scale


def test_heatmaps_with_names_at_some_places(plotter):
    code = "plt.imshow([[1, 2, 3, 4]]); plt.xticks({}, list({}))"
    chart = chart_of(plotter, code.format("[0, 3]", "'pq'"))
    assert chart["elements"][0]["x"] == [0, 1, 2, 3] and chart["x"]["scale"] == "linear"
    chart = chart_of(plotter, code.format("[0, 1, 2, 3]", "'pqrs'"))
    assert chart["elements"][0]["x"] == ["p", "q", "r", "s"] and chart["x"]["scale"] == "categorical"


def test_two_cells_have_not_one_name(plotter):
    chart = chart_of(plotter, "plt.imshow([list(range(10))], extent=(0, 1, 0, 1)); plt.xticks([0, 1], ['lo', 'hi'])")
    assert chart["x"]["scale"] == "linear" and chart["elements"][0]["x"] == pytest.approx([i / 10 + 0.05 for i in range(10)])
    chart = chart_of(plotter, "plt.imshow([[1, 2]], extent=(0, 2000, 0, 1)); plt.xticks([500, 1500], ['lo', 'hi'])")
    assert chart["x"]["scale"] == "categorical" and chart["elements"][0]["x"] == ["lo", "hi"]


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
