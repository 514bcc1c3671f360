"""Figures of matplotlib: bins, bars and boxes; names of series; what has no data."""

import pytest

from runner_client import chart_of

def bins_of(runner, code):
    chart = chart_of(runner, code)
    assert chart["type"] == "histogram"
    return [tuple(one.values()) for one in chart["elements"]]


# --- bins ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dates", ["pd.date_range('2024-01-01', periods=5)",
                                   "[dt.datetime(2024, 1, d) for d in range(1, 6)]"])
@pytest.mark.parametrize("way", ["orientation='vertical'", "orientation='horizontal'", "histtype='step'"])
def test_bins_of_dates(plotter, dates, way):
    chart = chart_of(plotter, f"plt.hist({dates}, bins=2, {way})")
    assert (chart["type"], chart["y" if "horizontal" in way else "x"]["scale"]) == ("histogram", "datetime")
    assert [(one["from"][:10], one["to"][:10], one["count"]) for one in chart["elements"]] == [
        ("2024-01-01", "2024-01-03", 2), ("2024-01-03", "2024-01-05", 3)]


@pytest.mark.parametrize("code, bins", [
    ("plt.hist([1, 2, 2, 5], bins=2)", [(1, 3, 3), (3, 5, 1)]),
    ("plt.hist([1, 2, 2, 5], bins=2, orientation='horizontal')", [(1, 3, 3), (3, 5, 1)]),
    ("plt.hist([1, 2, 2, 5], bins=2, histtype='step')", [(1, 3, 3), (3, 5, 1)]),
    ("plt.hist([1, 2, 2, 5], bins=2, rwidth=0.5, align='left')", [(1, 3, 3), (3, 5, 1)]),
    ("plt.hist([1, 2, 2, 5], bins=[1, 5])", [(1, 5, 4)]),
    ("plt.hist([1, 3], bins=2); plt.xticks([1, 3], ['low', 'high'])", [(1, 2, 1), (2, 3, 1)]),
    ("plt.hist([1, 3], bins=2); plt.cla(); plt.hist([5, 7], bins=1)", [(5, 7, 2)]),
    ("pd.Series([1, 2, 2, 5]).hist(bins=2)", [(1, 3, 3), (3, 5, 1)]),
])
def test_bins(plotter, code, bins):
    assert bins_of(plotter, code) == bins
    assert chart_of(plotter, code)["x"]["scale"] == "linear"


A_AND_B = [(1, 2, 1, "A"), (2, 3, 2, "A"), (1, 2, 2, "B"), (2, 3, 1, "B")]


@pytest.mark.parametrize("code", [
    "plt.hist([1, 2, 3], bins=2, label='A'); plt.hist([1, 1, 3], bins=2, label='B')",
    "plt.hist([[1, 2, 3], [1, 1, 3]], bins=2, label=['A', 'B'])",
    "plt.hist([[1, 2, 3], [1, 1, 3]], bins=2, label=['A', 'B'], stacked=True)",
    "plt.hist([[1, 2, 3], [1, 1, 3]], bins=2, label=['A', 'B'], stacked=True, histtype='step')",
    "plt.hist([[1, 2, 3], [1, 1, 3]], bins=2, label=['A', 'B'], histtype='barstacked', orientation='horizontal')",
    "pd.DataFrame({'A': [1, 2, 3], 'B': [1, 1, 3]}).plot.hist(bins=2)",
    "pd.DataFrame({'A': [1, 2, 3], 'B': [1, 1, 3]}).plot.hist(bins=2, stacked=True)",
    "pd.DataFrame({'A': [1, 2, 3], 'B': [1, 1, 3]}).plot.hist(bins=2, stacked=True, histtype='step')",
])
def test_bins_of_several_series(plotter, code):
    assert bins_of(plotter, code) == A_AND_B


@pytest.mark.parametrize("code, name, heights", [
    ("plt.hist(V, 2, density=True)", "density", [0.375, 0.125]), ("plt.hist(V, 2, None, True)", "density", [0.375, 0.125]),
    ("plt.hist([0.2, 0.7], [0, 1], density=True)", "density", [1]), ("plt.hist(V, 2, density=True, histtype='step')", "density", [0.375, 0.125]),
    ("plt.hist(V, 2, density=True, cumulative=True)", "cumulative_proportion", [0.75, 1]),
    ("plt.hist(V, 2, cumulative=True)", "cumulative_count", [3, 4]), ("plt.hist(V, 2, weights=[0.25] * 4)", "height", [0.75, 0.25]),
    ("plt.hist(V, 2, weights=[25] * 4); plt.ylabel('Percent')", "percent", [75, 25]), ("plt.hist(V, 2, weights=[2] * 4)", "count", [6, 2]),
    ("pd.Series(V).plot.hist(bins=2)", "count", [3, 1]), ("plt.stairs([0.5, 1], [0, 1, 2])", "height", [0.5, 1]),
    ("plt.hist(V, 2, orientation='horizontal', density=True)", "density", [0.375, 0.125]), ("plt.hist(V, 2); plt.ylabel('Anzahl')", "count", [3, 1]),
    ("plt.hist(V, 2, weights=[2] * 4); plt.ylabel('Sales')", "height", [6, 2]),
])
def test_what_the_heights_of_bins_are(plotter, code, name, heights):
    chart = chart_of(plotter, f"V = [1, 2, 2, 5]; {code}")
    assert chart["type"] == "histogram" and [one[name] for one in chart["elements"]] == heights


@pytest.mark.parametrize("stat, heights", [("count", [3, 1]), ("percent", [75, 25]), ("probability", [0.75, 0.25]), ("proportion", [0.75, 0.25]),
                                           ("density", [0.375, 0.125]), ("frequency", [1.5, 0.5])])
def test_what_the_heights_of_seaborns_bins_are(extras, stat, heights):
    extras.run("import matplotlib.pyplot as plt, seaborn as sns")
    chart = chart_of(extras, f"sns.histplot([1, 2, 2, 5], bins=2, stat={stat!r})")
    assert [one[stat] for one in chart["elements"]] == heights


@pytest.mark.parametrize("code, name, heights", [
    ("sns.histplot([1, 1.1, 1.5, 1.6, 1.7, 2], stat='frequency', binwidth=.5)", "frequency", [4, 8]),
    ("sns.histplot([1, 2, 2, 5], bins=2, stat='percent').set_ylabel('Anteil')", "height", [75, 25]),
    ("sns.histplot([1, 2, 2, 5], bins=2, stat='percent').set_ylabel('')", "height", [75, 25]),
    ("sns.histplot([1, 2, 2, 5], bins=2).set_ylabel('COUNT')", "count", [3, 1]),
])
def test_whole_heights_of_seaborns_bins_may_be_no_counts(extras, code, name, heights):
    extras.run("import matplotlib.pyplot as plt, seaborn as sns")
    assert [one[name] for one in chart_of(extras, "drawn = " + code)["elements"]] == heights


def test_bins_of_facets_are_called_as_the_axis_at_the_edge(extras):
    extras.run("import matplotlib.pyplot as plt, pandas as pd, seaborn as sns")
    chart = chart_of(extras, "sns.displot(pd.DataFrame({'v': [1, 2, 2, 5] * 2, 'g': list('ppppqqqq')}), x='v', col='g', bins=2)")
    assert [[one["count"] for one in part["elements"]] for part in chart["elements"][0]["charts"]] == [[3, 1], [3, 1]]


def test_words_are_counted(plotter):
    chart = chart_of(plotter, "plt.hist(['p', 'q', 'p', 'r'])")
    assert (chart["type"], chart["x"]["scale"]) == ("bar", "categorical")
    assert [tuple(one.values()) for one in chart["elements"]] == [("p", 2), ("q", 1), ("r", 1)]
    assert chart_of(plotter, "plt.hist(list('abcdefghijklm'))") is None  # some share a bin


@pytest.mark.parametrize("code, labels", [
    ("plt.bar([2019, 2020, 2021], [1, 2, 3], width=1)", ["2019", "2020", "2021"]),
    ("plt.barh([2019, 2020, 2021], [1, 2, 3], height=1)", ["2019", "2020", "2021"]),
    ("plt.bar([20240101, 20240102], [1, 2], width=1)", ["20240101", "20240102"]),
    ("plt.bar(pd.date_range('2024-01-01', periods=2), [1, 2], width=1)", ["2024-01-01T00:00:00+00:00",
                                                                         "2024-01-02T00:00:00+00:00"]),
])
def test_bars_stay_bars(plotter, code, labels):
    chart = chart_of(plotter, code)
    assert chart["type"] == "bar" and [one["label"] for one in chart["elements"]] == labels


# --- names of bars and boxes -----------------------------------------------------------------------


def labels_of(runner, code):
    return [one["label"] for one in chart_of(runner, code)["elements"]]


TWO_BOXES = "f, ax = plt.subplots(); drawn = ax.boxplot([[1, 2, 3], [2, 3, 4]]{})"


@pytest.mark.parametrize("code, labels", [
    (TWO_BOXES.format("") + "; ax.set_xticklabels(['vor', 'nach'])", ["vor", "nach"]),
    (TWO_BOXES.format(", vert=False") + "; ax.set_yticklabels(['vor', 'nach'])", ["vor", "nach"]),
    (TWO_BOXES.format(", positions=[3, 7]") + "; ax.set_xticks([3, 7], ['vor', 'nach'])", ["vor", "nach"]),
    (TWO_BOXES.format(", labels=['a', 'b']"), ["a", "b"]),
    (TWO_BOXES.format(", labels=['a', 'b']") + "; ax.set_xticks([])", ["a", "b"]),
    (TWO_BOXES.format("") + "; ax.set_xticklabels(['2023', '2024'])", ["2023", "2024"]),
    (TWO_BOXES.format(""), ["1", "2"]),
    ("pd.DataFrame({'v': [1, 2, 3, 4], 'g': list('xxyy')}).boxplot(column='v', by='g')", ["x", "y"]),
    ("pd.DataFrame({'v': [1, 2, 3, 4], 'g': [5, 5, 6, 6]}).boxplot(column='v', by='g')", ["5", "6"]),
    ("pd.DataFrame({'v': [1, 2], 'g': [5, 5]}).boxplot()", ["v", "g"]),
    ("pd.DataFrame({'v': [1, 2], 'g': [5, 5]}).plot.box()", ["v", "g"]),
])
def test_names_of_boxes(plotter, code, labels):
    chart = chart_of(plotter, code)
    assert chart["type"] == "box" and [one["label"] for one in chart["elements"]] == labels


@pytest.mark.parametrize("code, labels", [
    ("pd.Series([1, 2], index=[2019, 2020]).plot.bar()", ["2019", "2020"]),
    ("pd.DataFrame({'a': [1, 2], 'b': [3, 4]}, index=[2019, 2020]).plot.barh()", ["2019", "2020"] * 2),
    ("pd.DataFrame({'a': [1, 2], 'b': [3, 4]}).plot.bar(stacked=True)", ["0", "1"] * 2),
    ("plt.bar([0, 1], [3, 4]); plt.xticks([0, 1], ['2019', '2020'])", ["2019", "2020"]),
    ("plt.bar([1000, 2000], [3, 4], width=100); plt.xticks([1000, 2000])", ["1000", "2000"]),
    ("plt.bar([.1, .2, .3], [1, 2, 3], width=.05); plt.xticks([.1, .3], ['low', 'high'])", ["low", "0.2", "high"]),
    ("for x in (.1, .2, .3):\n    plt.bar(x, 1, width=.05)\nplt.xticks([.1, .3], ['low', 'high'])", ["low", "0.2", "high"]),
    ("plt.bar([1000, 2000], [3, 4], width=300); plt.bar([1300, 2300], [3, 4], width=300); plt.xticks([1150, 2150], ['p', 'q'])", ["p", "q"] * 2),
    ("pd.DataFrame({'a': [1], 'b': [2], 'c': [3], 'd': [4]}, index=['p']).plot.bar()", ["p"] * 4),
    ("pd.DataFrame({name: [1, 2] for name in 'abcd'}, index=['p', 'q']).plot.bar()", ["p", "q"] * 4),
])
def test_names_of_bars(plotter, code, labels):
    assert labels_of(plotter, code) == labels


def test_many_marks_take_no_square_of_their_time(plotter):
    timed = "import time; from hutch_runner import charts; f, ax = plt.subplots(figsize=(2, 2))\n{}\nf.canvas.draw(); t = time.perf_counter()\n" \
            "made = charts.chart_of(f); plt.close(f); [len(made['elements']), time.perf_counter() - t]"
    bars = "for i in range(300):\n    ax.bar(i, i + 1)\nax.set_xticks(range(300), [f'n{i}' for i in range(300)])"
    count, seconds = plotter.run(timed.format(bars)).main["json"]
    assert count == 300 and seconds < 1
    areas = "x = np.arange(9.)\nfor i in range(200):\n    ax.plot(x, x + i); ax.fill_between(x, x + i, x + i + 1)"
    count, seconds = plotter.run(timed.format(areas)).main["json"]
    assert count == 200 and seconds < 1


FAN = "x = np.array([1, 2, 3]); drawn = [plt.fill_between(x, x + low, x + low + 1) for low in (1, 2, 3)]"


def test_a_fan_is_no_stack(plotter):
    chart = chart_of(plotter, FAN)
    assert (chart["type"], [one["columns"] for one in chart["elements"]]) == ("area", [["x", "high", "low"]] * 3)
    assert chart["elements"][1]["points"] == [[1, 4, 3], [2, 5, 4], [3, 6, 5]]
    chart = chart_of(plotter, FAN + "; plt.plot(x, x + 3, label='median')")
    assert chart["elements"] == [{"label": "median", "points": [[1, 4], [2, 5], [3, 6]]}] and chart["missing"] == "areas"


def test_the_top_of_a_stack_is_told_once(plotter):
    stack = "x = [1, 2]; drawn = plt.stackplot(x, [1, 2], [3, 4]); plt.plot(x, {})"
    assert chart_of(plotter, stack.format("[4, 6]"))["type"] == "area"
    assert chart_of(plotter, stack.format("[3, 3], label='p'"))["elements"] == [{"label": "p", "points": [[1, 3], [2, 3]]}]
    code = "x = [1, 2]; plt.fill_between(x, [1, 2], [4, 6]); plt.fill_between(x, [1, 2])"  # the upper one first
    assert [one["points"][0] for one in chart_of(plotter, code)["elements"]] == [[1, 3, 1], [1, 1]]


@pytest.mark.parametrize("code, starts", [
    ("plt.barh(['a', 'b'], [3, 4], left=[0, 2])", [None, 2]),
    ("plt.bar(['a', 'b'], [3, -4], bottom=[1, 2])", [1, 2]),
    ("plt.bar(['a', 'b'], [3, -4])", [None, None]),
    ("plt.barh(['a'], [dt.timedelta(days=3)], left=[dt.datetime(2024, 1, 2)])", ["2024-01-02T00:00:00+00:00"]),
    ("pd.DataFrame({'p': [1], 'q': [5]}).plot.bar(stacked=True)", [None, 1]),
])
def test_where_bars_begin(plotter, code, starts):
    chart = chart_of(plotter, code)
    assert [one.get("start") for one in chart["elements"]] == starts
    assert [abs(one["value"]) for one in chart["elements"]] in ([3, 4], [3], [1, 5])


# --- nothing is left out without a word ------------------------------------------------------------


@pytest.mark.parametrize("code", ["errorbar([1, 2], [3, 4], yerr=1, label='n')", "stem([1, 2], [3, 4], label='n')",
                                  "errorbar([1, 2], [3, 4], fmt='o', xerr=1, label='n')"])
def test_lines_have_the_name_of_the_whole(plotter, code):
    chart = chart_of(plotter, f"plt.{code}; plt.plot([5, 6], label='other')")
    assert chart["elements"] == [{"label": "n", "points": [[1, 3], [2, 4]]}, {"label": "other", "points": [[0, 5], [1, 6]]}]


@pytest.mark.parametrize("code, title", [
    ("f.suptitle('S')", "S"), ("ax.set_title('L', loc='left')", "L"), ("ax.set_title('R', loc='right')", "R"),
    ("f.suptitle('S'); ax.set_title('A')", "A"),
])
def test_titles(plotter, code, title):
    ending = plotter.run(f"f, ax = plt.subplots(); ax.plot([1, 2]); {code};")
    assert ending.outputs[0]["chart"]["title"] == title and ending.outputs[0]["text"].endswith(title)


@pytest.mark.parametrize("code, missing", [
    ("fill_betweenx([1, 2], [3, 4], [4, 5])", "areas"), ("broken_barh([(1, 2)], (3, 4))", "areas"),
    ("tricontourf([0, 1, 1], [0, 0, 1], [1, 2, 3])", "contours"), ("tricontour([0, 1, 1], [0, 0, 1], [1, 2, 3])", "contours"),
    ("imshow(np.ones((2, 2, 3)))", "a picture"), ("quiver([1], [2], [3], [4])", "arrows"),
    ("stairs([1, 2], baseline=[0, 1])", "shapes"), ("hlines([1, 2], 3, 4)", "lines of hlines() or vlines()"),
])
def test_axes_without_data_keep_their_place(plotter, code, missing):
    assert chart_of(plotter, f"plt.{code}") is None
    chart = chart_of(plotter, f"f, (a, b, c) = plt.subplots(1, 3); a.set_title('A'); drawn = a.{code}; b.plot([1, 2])")
    place, line = chart["elements"][0]["charts"]  # there is nothing to say of the empty one
    assert (place["type"], place["title"], place["missing"]) == ("composite", "A", missing)
    assert line["type"] == "line" and "missing" not in line


def test_what_is_not_seen_is_no_data(plotter):
    chart = chart_of(plotter, "plt.plot([1, 2]); plt.plot([3, 4], visible=False); plt.plot([3, 4], alpha=0); plt.plot([3, 4], ls='', marker='')")
    assert chart["elements"] == [{"label": "", "points": [[0, 1], [1, 2]]}]
    others = ("bar([1], [2], visible=False)", "bar([1], [2], alpha=0)", "bar([1], [2], color='none')", "scatter([1], [2], alpha=0)", "hist([1], visible=False)",
              "imshow([[1]], visible=False)", "pcolormesh([[1]], alpha=0)", "fill_between([1, 2], [3, 4], visible=False)", "stairs([1], visible=False)",
              "eventplot([1], alpha=0)", "hexbin([1, 2], [1, 2], visible=False)", "bar([1], [2]).patches[0].set_visible(False)")
    for one in others:
        assert chart_of(plotter, f"drawn = plt.{one}") is None, one
        assert chart_of(plotter, f"plt.plot([1, 2]); drawn = plt.{one}")["type"] == "line", one
    assert chart_of(plotter, "plt.bar([1], [2], fill=False)")["type"] == chart_of(plotter, "plt.bar([1], [2], alpha=0.1)")["type"] == "bar"


@pytest.mark.parametrize("code, missing", [
    ("bar([1, 2], [3, 4], yerr=[1, 1])", "error bars"), ("errorbar([1, 2], [3, 4], xerr=1)", "error bars"), ("errorbar([1, 2], [3, 4])", None),
    ("plot([1, 2]); plt.fill_between([0, 1], [0, 1], [2, 3])", "areas"), ("plot([1, 2]); plt.fill_between([0, 1], [1, 2])", None),
    ("stackplot([1, 2], [3, 4], [5, 6])", None), ("plot([1, 2]); plt.axhspan(1, 2)", "spans"), ("plot([1, 2]); plt.axvspan(1, 2)", "spans"),
    ("plot([1, 2]); plt.gca().inset_axes([0.5, 0.5, 0.2, 0.2]).plot([3, 4])", "an inset"), ("plot([1, 2]); plt.gca().secondary_xaxis('top')", None),
    ("scatter([1], [2]); plt.hlines([1], 0, 2)", "lines of hlines() or vlines()"), ("plot([1, 2]); plt.quiver([1], [1], [1], [1])", "arrows"),
    ("errorbar([1, 2], [3, 4], yerr=1); plt.axhspan(1, 2)", "error bars, spans"), ("stem([1, 2], [3, 4])", None), ("violinplot([1, 2, 3])", None),
    ("boxplot([1, 2, 3])", None), ("eventplot([1, 2])", None), ("plot([1, 2]); plt.axhline(1)", None), ("hexbin([1, 2], [1, 2])", None)])
def test_what_stands_beside_the_data_is_named(plotter, code, missing):
    assert chart_of(plotter, f"drawn = plt.{code}").get("missing") == missing


@pytest.mark.parametrize("code, missing", [
    ("sns.barplot(x=list('aabb'), y=[1, 2, 3, 4])", "error bars"), ("sns.barplot(x=list('ab'), y=[1, 2])", None),
    ("sns.pointplot(x=list('aabb'), y=[1, 2, 3, 4])", "error bars"), ("sns.lineplot(x=[1, 1, 2, 2], y=[1, 2, 3, 4])", "areas"),
    ("sns.violinplot(x=list('aabb'), y=[1, 2, 3, 4])", None), ("sns.boxplot(x=list('aabb'), y=[1, 2, 3, 4])", None),
    ("sns.kdeplot([1, 2, 3], fill=True)", None), ("sns.histplot([1, 2, 3], kde=True).axhline(1)", None)])
def test_what_seaborn_draws_beside_the_data_is_named(extras, code, missing):
    extras.run("import matplotlib.pyplot as plt, seaborn as sns")
    chart = chart_of(extras, f"drawn = {code}")
    parts = chart["elements"][0]["charts"] if chart["type"] == "composite" else [chart]
    assert [one.get("missing") for one in parts] == [missing] + [None] * (len(parts) - 1)
