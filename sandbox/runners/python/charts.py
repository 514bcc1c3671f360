"""The data of a matplotlib figure, so that a plot can be drawn anew or reasoned about.

One chart per kind of mark found in an axes; several of them make a `composite`. The schema is in
../CHARTS.md. Everything is read from the artists: nothing here draws or changes a figure.
"""

import functools
import math
import re
import sys

import numpy
from matplotlib import collections, container, contour, dates, image, patches, quiver, ticker
from matplotlib.axes import Axes

from hutch_runner import drawn, rare_marks
from hutch_runner.chart_data import ELEMENTS_MAX, POINTS_MAX, heatmap, kept, series
from hutch_runner.figures import title_of, title_of_axes
from hutch_runner.legends import Legend, label_of

TICKS_MAX = 30
_WITHOUT_DATA = ((quiver.Quiver, "arrows"), (quiver.Barbs, "arrows"), (contour.ContourSet, "contours"),
                 (collections.PathCollection, "contours"), (collections.PolyCollection, "areas"),
                 (collections.LineCollection, "lines of hlines() or vlines()"), (image.AxesImage, "a picture"),
                 (patches.Patch, "shapes"))


def chart_of(figure):
    """A chart for the whole figure, or None when nothing in it is known here."""
    charts = [chart for axes in figure.axes if axes.get_visible() and axes.get_label() != "<colorbar>"
              for chart in _charts_of(axes) or _place_of(axes)]
    if not any("missing" not in chart for chart in charts):
        return None
    title = title_of(figure)
    if len(charts) == 1:
        return {**charts[0], "title": charts[0]["title"] or title}
    return {"type": "composite", "title": title, "elements": [{"charts": charts}]}


def _place_of(axes):
    """A chart without data for axes that show what has none here, beside others that have."""
    kinds = [word for kind, word in _WITHOUT_DATA for mark in (*axes.collections, *axes.patches, *axes.images)
             if isinstance(mark, kind) and mark.get_visible()]
    if not kinds and axes.name != "3d":
        return []
    return [{"type": "composite", "title": title_of_axes(axes), "x": _axis(axes.xaxis, ()), "y": _axis(axes.yaxis, ()),
             "elements": [{"charts": []}], "missing": kinds[0] if axes.name != "3d" else "marks in 3D"}]


def _charts_of(axes):
    if axes.name == "3d":
        return []  # its marks know but where on the picture they are, once they are drawn
    charts, legend, bins = [], Legend(axes), _all_bins(axes)
    boxes, of_boxes = _boxes(axes, legend)
    of_bins = {id(artists) for artists, *_ in bins}
    bars = [c for c in axes.containers if isinstance(c, container.BarContainer) and len(c) and id(c) not in of_bins]
    names, taken = _parts(axes, bars)
    areas, edges = _areas_and_edges(axes, names, taken | of_boxes)
    for kind, elements in (
        ("box", boxes),
        ("pie", [_wedge(axes, wedge, i) for i, wedge in enumerate(p for p in axes.patches if isinstance(p, patches.Wedge))]),
        ("histogram", [e for one in bins if not _words(_axis_of(axes, one)) for e in _bins(axes, legend, *one)]),
        ("bar", [*(e for one in bins if _words(_axis_of(axes, one)) for e in _counts(axes, legend, *one)),
                 *(e for c in bars for e in _bar(axes, c, legend))]),
        ("scatter", [*_all_series(axes, _clouds(axes, legend)), *_hexagons(axes, legend)]),
        ("line", _all_series(axes, [
            (names.get(id(line)) or legend.name_of(line), line.get_xdata(orig=False), line.get_ydata(orig=False))
            for line in axes.lines
            if id(line) not in taken | of_boxes | edges and line.get_transform() == axes.transData
            and len(line.get_xdata())])),
        ("heatmap", _heatmaps(axes)),
        ("area", [_area(axes, legend, *one) for one in areas]),
    ):
        # Areas beside other marks are mostly how sure these are, or are told with their edges.
        if elements and (kind != "area" or edges or not charts):
            charts.append({"type": kind, "title": title_of_axes(axes),
                           "x": _axis(axes.xaxis, _numbers(elements, 0, bins)),
                           "y": _axis(axes.yaxis, _numbers(elements, 1, bins)), "elements": elements})
    return charts


def _parts(axes, bars):
    """The names of lines that are parts of what has one, and the ids of those that are no data."""
    names, taken = {}, set()
    for whole in axes.containers:
        if isinstance(whole, container.ErrorbarContainer):
            # The line itself stays; caps and bars are no data.
            taken.update(id(cap) for cap in whole[1])
        elif isinstance(whole, container.StemContainer):
            taken.add(id(whole.baseline))
        else:
            continue
        names[id(whole[0])] = label_of(whole)
    return names, taken | _error_bars_of_seaborn(axes, bars)


def _boxes(axes, legend):
    """Elements, and the ids of the artists that they are made of."""
    of_boxplot, of_seaborn = drawn.boxes(axes), list(rare_marks.violins_of_seaborn(axes))
    elements = [_box(axes, one, artists, legend, i) for i, (one, artists) in enumerate(of_boxplot)]
    for one, body, is_sideways, place in drawn.violins(axes):
        elements.append(_box_at(axes, one, is_sideways, place, legend.name_of(body), len(elements)))
    for _, one, is_sideways, place in of_seaborn:
        elements.append(_box_at(axes, one, is_sideways, place, "", len(elements)))
    artists = [artist for _, drawn_of_one in of_boxplot for group in drawn_of_one.values() for artist in numpy.ravel(group)]
    artists += [line for lines, *_ in of_seaborn for line in lines]
    return elements, set(map(id, artists))


# --- axes ------------------------------------------------------------------------------------------


def _axis(axis, numbers):
    """`numbers` are the coordinates that stayed numbers."""
    label = axis.get_label_text()
    described = {"label": label, "scale": _scale(axis, numbers)}
    unit = re.search(r"[(\[]([^()\[\]]+)[)\]]\s*$", label)
    if unit:
        described["unit"] = unit.group(1)
    low, high = sorted(axis.get_view_interval())
    if described["scale"] == "categorical":
        categories = _categories(axis)
        counted = _is_counted(categories)
        described["ticks"] = [name for place, name in categories.items()
                              if counted or low <= place <= high][:TICKS_MAX]
    else:
        ticks = [float(t) for t in axis.get_majorticklocs() if low <= t <= high][:TICKS_MAX]
        value = _values_of(axis, ticks) if described["scale"] == "datetime" else float
        described["ticks"] = [value(tick) for tick in ticks]
    return described


def _scale(axis, numbers=()):
    categories = _categories(axis)
    # Numbers are jitter where the named ticks are counted from 0; else the names are of other places.
    is_jitter = _is_counted(categories) and set(map(round, numbers)) <= set(categories)
    if categories and (is_jitter or not numbers):
        return "categorical"
    if not categories and not numbers and _is_dates(axis):
        return "datetime"
    return "log" if axis.get_scale() == "log" else "linear"


def _numbers(elements, place, bins):
    """The coordinates in series, heatmaps and along bins that are neither dates nor words."""
    along = [sideways for _, sideways, *_ in bins[:1]] == [place == 1]
    return [value for element in elements
            for value in element.get("xy"[place]) or [p[place] for p in element.get("points", ())]
            or [element[key] for key in ("from", "to") if along and key in element]
            if isinstance(value, float) and math.isfinite(value)]


def _is_counted(categories):
    return set(categories) == set(range(len(categories)))


def _is_dates(axis):
    converter = axis.get_converter() if hasattr(axis, "get_converter") else axis.converter
    # pandas counts months, hours, ... where it knows the frequency of a series. Dates that were plotted
    # beside it without pandas are days, and nobody can tell one from the other.
    if bool(_frequency(axis)) != (type(converter).__name__ == "PeriodConverter"):
        return False
    return (isinstance(converter, (dates.DateConverter, dates._SwitchableDateConverter))
            or isinstance(axis.get_major_formatter(), (dates.AutoDateFormatter, dates.DateFormatter,
                                                       dates.ConciseDateFormatter)))


def _frequency(axis):
    return getattr(axis, "freq", None)  # set by pandas


def _words(axis):
    """Position -> word, where words were plotted."""
    mapping = getattr(axis.units, "_mapping", None)  # matplotlib.category.UnitData
    return {position: str(name) for name, position in (mapping or {}).items()}


def _categories(axis):
    """Position -> name, of an axis whose values are words, or have names."""
    words = _words(axis)
    if words:
        return words
    if isinstance(axis.get_major_locator(), ticker.FixedLocator) and not _is_dates(axis):
        # xticks(places, names), set_xticklabels(names); the texts are there once it was drawn.
        names = [label.get_text() for label in axis.get_majorticklabels()]
        if any(not _is_number(name) for name in names if name):
            places = map(float, axis.get_majorticklocs())
            return {place: name for place, name in zip(places, names) if name}
    return {}


def _tick_names(axis):
    """As _categories(), also where the names are numbers: what bars and boxes stand at."""
    formatter = axis.get_major_formatter()
    given = (isinstance(formatter, ticker.FixedFormatter)  # and what set_xticklabels(names) makes
             or isinstance(getattr(formatter, "func", None), functools.partial))
    if _words(axis) or _is_dates(axis) or not given or not isinstance(axis.get_major_locator(), ticker.FixedLocator):
        return _categories(axis)
    names = [label.get_text() for label in axis.get_majorticklabels()]
    return {float(place): name for place, name in zip(axis.get_majorticklocs(), names) if name}


def _is_number(text):
    if str(text).startswith("$"):  # a power of ten, as matplotlib writes it
        return True
    try:
        float(str(text).replace("\N{MINUS SIGN}", "-"))
    except ValueError:
        return False
    return True


def _values_of(axis, positions):
    """Makes coordinates what the user gave: numbers, dates or words, and all of a chart alike."""
    categories = _categories(axis)
    if not categories and not _is_dates(axis):
        return float
    places = numpy.unique(positions)
    places = places[numpy.isfinite(places)]
    value = categories.__getitem__ if categories else _date_of(axis, places)
    try:
        for place in places if categories else places[[0, -1]] if len(places) else ():
            value(float(place))
    except Exception:  # a place without a name, or out of the range of dates
        return float
    return lambda number: value(float(number)) if math.isfinite(number) else None


def _date_of(axis, places):
    frequency = _frequency(axis)
    if not frequency:
        return lambda number: dates.num2date(number).isoformat()
    low, high = sorted(axis.get_view_interval())
    # Places out of sight were drawn before pandas came, and are in days.
    if (places != places.round()).any() or not ((low <= places) & (places <= high)).any():
        return float
    period = sys.modules["pandas"].Period
    return lambda number: period(ordinal=int(number), freq=frequency).to_timestamp().isoformat()


# --- heatmaps --------------------------------------------------------------------------------------


def _image(axes, image):
    rows, columns = image.get_array().shape
    left, right, bottom, top = image.get_extent()
    # The first row is at the top; extents go from edge to edge, cells have a middle.
    xs = [left + (i + 0.5) * (right - left) / columns for i in range(columns)]
    ys = [top + (i + 0.5) * (bottom - top) / rows for i in range(rows)]
    return _heatmap(axes, xs, ys if image.origin == "upper" else ys[::-1], image.get_array())


def _mesh(axes, mesh):
    corners = mesh.get_coordinates()  # one more each way than there are cells
    values = mesh.get_array()
    values = values.reshape(corners.shape[0] - 1, corners.shape[1] - 1) if values.size != 0 else values
    xs, ys = corners[0, :, 0], corners[:, 0, 1]
    return _heatmap(axes, (xs[:-1] + xs[1:]) / 2, (ys[:-1] + ys[1:]) / 2, values)


def _heatmaps(axes):
    return [*(_image(axes, image) for image in axes.images if image.get_array().ndim == 2),
            *(_mesh(axes, c) for c in axes.collections if isinstance(c, collections.QuadMesh)),
            *(_heatmap(axes, *grid) for grid in rare_marks.contours(axes))]


def _heatmap(axes, xs, ys, values):
    values = values.astype(float)
    values = values.filled(float("nan")) if hasattr(values, "filled") else values  # masked cells
    return heatmap(_nearest_values(axes.xaxis, xs), _nearest_values(axes.yaxis, ys), values.tolist(), _ends_of(values))


def _ends_of(values):
    known = numpy.where(numpy.isfinite(values), values, numpy.nan)
    if numpy.isnan(known).all():
        return []
    return [tuple(map(int, numpy.unravel_index(find(known), known.shape))) for find in (numpy.nanargmax, numpy.nanargmin)]


def _nearest_values(axis, positions):
    categories = _categories(axis)
    names = [_nearest_name(categories, position) for position in positions]
    return names if all(names) else list(map(_values_of(axis, positions), positions))


def _nearest_name(categories, position):
    """Bars of a group stand beside the tick that names them."""
    nearest = min(categories, key=lambda tick: abs(tick - position), default=None)
    return categories[nearest] if nearest is not None and abs(nearest - position) <= 0.5 else None


# --- marks -----------------------------------------------------------------------------------------


def _all_series(axes, marks):
    """`marks` are names, each with its coordinates."""
    if not marks:
        return []
    _, xs, ys = zip(*marks)
    x_value = _values_of(axes.xaxis, numpy.concatenate(xs))
    y_value = _values_of(axes.yaxis, numpy.concatenate(ys))
    return [series(name, xs, ys, x_value, y_value) for name, xs, ys in marks]


def _clouds(axes, legend):
    """Returns the points of scatter(), and of each row of eventplot()."""
    return [*((name, *points.T) for c in axes.collections if _is_cloud(axes, c) for name, points in legend.clouds_of(c)),
            *((legend.name_of(row), xs, ys) for row, xs, ys in rare_marks.events(axes))]


def _hexagons(axes, legend):
    return [_with_third(axes, legend.name_of(one), rows, lambda number: number) for one, rows in rare_marks.hexagons(axes)]


def _areas_and_edges(axes, names, taken):
    """Areas, and the ids of lines that are the ends of those that stand on others. A line without a name has that of its area."""
    areas, edges = rare_marks.areas(axes), set()
    lines = [line for line in axes.lines if id(line) not in taken and line.get_transform() == axes.transData]
    for line in lines:
        corners = numpy.column_stack(line.get_data(orig=False))
        for area, rows in areas:
            if numpy.array_equal(rows[:, [0, 2]], corners) or numpy.array_equal(rows[:, [0, 1]], corners):
                names.setdefault(id(line), label_of(line) or label_of(area))
                edges.add(id(line))
    stand_on_others = any(rows[:, 1:].all(axis=1).any() for _, rows in areas)
    return areas, edges if stand_on_others and len(edges) == len(lines) else set()


def _area(axes, legend, area, rows):
    ends = numpy.sort(rows[:, 1:], axis=1)[:, ::-1]  # whichever way round they were given
    return _with_third(axes, legend.name_of(area), numpy.column_stack((rows[:, 0], ends)), _values_of(axes.yaxis, ends.ravel()))


def _with_third(axes, label, rows, third_value):
    """A series whose points have one more number, where that is not 0 for all of them."""
    x_value, y_value = _values_of(axes.xaxis, rows[:, 0]), _values_of(axes.yaxis, rows[:, 1])
    places = kept(rows[:, 1], POINTS_MAX)
    has_third = (rows[:, 2] != 0).any()
    made = {"label": label, "points": [
        [x_value(x), y_value(y), third_value(float(third))] if has_third else [x_value(x), y_value(y)] for x, y, third in rows[places]]}
    return made if len(places) == len(rows) else {**made, "sampled": True}


def _is_cloud(axes, collection):
    # The levels of contour() are such collections too, in matplotlib 3.6: at no place of their own.
    return (isinstance(collection, collections.PathCollection) and len(collection.get_offsets())
            and collection.get_offset_transform().contains_branch(axes.transData))


def _sideways(bars):
    return getattr(bars, "orientation", "vertical") == "horizontal"


def _error_bars_of_seaborn(axes, bars):
    """The ids of lines: it draws each as two points, from above a mark to below it, or at no place for a bar of one value."""
    if "seaborn" not in sys.modules:
        return set()
    lines = [(id(line), *line.get_data(orig=False)) for line in axes.lines[:ELEMENTS_MAX] if not label_of(line)]
    upright = {number: (xs, ys) for number, xs, ys in lines if len(xs) == 2 and (xs[0] == xs[1]) != (ys[0] == ys[1])}
    if not upright:
        return set()
    ends = [(b.get_x() + b.get_width() / 2, b.get_y() + b.get_height()) if not _sideways(c) else
            (b.get_x() + b.get_width(), b.get_y() + b.get_height() / 2) for c in bars for b in c[:ELEMENTS_MAX]]
    points = [numpy.column_stack((xs, ys))[:ELEMENTS_MAX] for number, xs, ys in lines if number not in upright]
    marks = numpy.concatenate([numpy.array(ends, dtype=float).reshape(-1, 2), *points])[:ELEMENTS_MAX]
    return {number for number, (xs, ys) in upright.items()
            if not numpy.isfinite([xs, ys]).all() or ((abs(marks[:, 0] - xs.mean()) <= abs(xs[1] - xs[0]) / 2 + 1e-9)
                                                      & (abs(marks[:, 1] - ys.mean()) <= abs(ys[1] - ys[0]) / 2 + 1e-9)).any()}


def _bar(axes, bars, legend):
    elements, name = [], legend.name_of(bars)
    for bar in bars:
        if _sideways(bars):
            axis, middle, value = axes.yaxis, bar.get_y() + bar.get_height() / 2, bar.get_width()
            values, start = axes.xaxis, bar.get_x()
        else:
            axis, middle, value = axes.xaxis, bar.get_x() + bar.get_width() / 2, bar.get_height()
            values, start = axes.yaxis, bar.get_y()
        element = {"label": str(_bar_name(axis, middle)), "value": float(value)}
        if start != 0:
            element["start"] = _values_of(values, [start])(start)
        if name and name != element["label"]:
            element["group"] = name
        elements.append(element)
    return elements


def _bar_name(axis, position):
    value = _nearest_name(_tick_names(axis), position) or _values_of(axis, [position])(position)
    return f"{value:.12g}" if isinstance(value, float) else value


def _all_bins(axes):
    """Returns the bins of hist() and stairs(), and of seaborn's histplot()."""
    found = [*drawn.histograms(axes), *rare_marks.outlines(axes)]
    known = {id(artists) for artists, *_ in found}
    made = (_bins_of_seaborn(c) for c in axes.containers
            if isinstance(c, container.BarContainer) and len(c) and id(c) not in known)
    return found + [one for one in made if one]


def _bins_of_seaborn(bars):
    """Whose mark is that the axis may end at their heights too; else bar() leaves one place, where they stand."""
    sideways, sticky = _sideways(bars), bars[0].sticky_edges
    if len(sticky.x if sideways else sticky.y) != 2:
        return None
    spans = [(b.get_y(), b.get_height(), b.get_width()) if sideways else
             (b.get_x(), b.get_width(), b.get_height()) for b in bars]
    edges = [float(start) for start, _, _ in spans] + [float(sum(spans[-1][:2]))]
    touch = all(abs(start + size - edge) <= 1e-6 * abs(size) for (start, size, _), edge in zip(spans, edges[1:]))
    return (bars, sideways, edges, [float(height) for _, _, height in spans]) if touch else None


def _axis_of(axes, bins):
    return axes.yaxis if bins[1] else axes.xaxis


def _bins(axes, legend, artists, sideways, edges, counts):
    value = _values_of(axes.yaxis if sideways else axes.xaxis, edges)
    places, group = [value(edge) for edge in edges], _group(artists, legend)
    return [{"from": low, "to": high, "count": count, **group}
            for low, high, count in zip(places, places[1:], counts)]


def _group(artists, legend):
    """The series of bars or of bins: hist() gives its label to the first of them."""
    name = label_of(artists) or legend.name_of(artists[0])
    return {"group": name} if name else {}


def _counts(axes, legend, artists, sideways, edges, counts):
    """Bins over words are as many bars as there are words, if each has a bin of its own."""
    words = _words(axes.yaxis if sideways else axes.xaxis)
    bins = [min(max(int(numpy.searchsorted(edges, place, side="right")) - 1, 0), len(counts) - 1) for place in words]
    if len(set(bins)) < len(bins):
        return []
    return [{"label": word, "value": counts[i], **_group(artists, legend)} for word, i in zip(words.values(), bins)]


def _wedge(axes, wedge, number):
    return {"label": label_of(wedge) or str(number + 1),
            "fraction": round((wedge.theta2 - wedge.theta1) / 360, 6)}


def _box(axes, one, artists, legend, number):
    xs, ys = (numpy.asarray(places, dtype=float) for places in artists["medians"].get_data())
    is_sideways = xs[0] == xs[-1]
    group = legend.name_of(artists["boxes"]) if artists["boxes"] else ""
    return _box_at(axes, one, is_sideways, ys.mean() if is_sideways else xs.mean(), group, number)


def _box_at(axes, one, is_sideways, place, group, number):
    # The axis may have got its names after the boxes.
    name = _nearest_name(_tick_names(axes.yaxis if is_sideways else axes.xaxis), place) or str(one.get("label") or number + 1)
    name = f"{name}, {group}" if group and group != name else name
    outliers = [float(value) for value in one.get("fliers", ())]
    box = {"label": name, "min": one.get("whislo"), "first_quartile": one["q1"], "median": one["med"], "third_quartile": one["q3"],
           "max": one.get("whishi")}
    known = {key: value if key == "label" else float(value) for key, value in box.items() if value is not None}
    return {**known, "outliers": outliers[:ELEMENTS_MAX]} if len(known) == len(box) else known
