"""The data of a matplotlib figure, so that a plot can be drawn anew or reasoned about.

One chart per kind of mark found in an axes; several of them make a `composite`. The schema is in
../CHARTS.md. Everything is read from the artists: nothing here draws or changes a figure.
"""

import bisect
import datetime
import decimal
import functools
import math
import re
import sys

import numpy
from matplotlib import collections, container, contour, dates, image, patches, quiver, ticker
from matplotlib.axes import Axes

from hutch_runner import drawn, rare_marks
from hutch_runner.chart_data import ELEMENTS_MAX, POINTS_MAX, heatmap, kept, series, unit_of
from hutch_runner.figures import title_of, title_of_axes
from hutch_runner.legends import Legend, is_shown, label_of

TICKS_MAX = 30
_SCALES = ("log", "symlog", "logit", "asinh")
_KINDS_OF_HEIGHTS = ("count", "density", "percent", "probability", "proportion", "frequency")  # so those of bins are called
_FORMATTED = re.compile(r"\s*(?P<sign>[-+]?)\s*\\?[$€£¥₹]?\s*"
                        r"(?P<digits>[0-9][0-9.,'_\s]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+|(?i:nan|inf))\s*(?P<scale>\\?%|[kKM]?)\s*[$€£¥₹]?")
_IN_GROUPS = re.compile(r"[0-9]{1,3}(?P<between>[.,'_\s])[0-9]{3}(?:(?P=between)[0-9]{3})*(?:[.,][0-9]+)?")
_POWERS = {"%": -2, "\\%": -2, "k": 3, "K": 3, "M": 6}
_PLAIN_FORMATTERS = (ticker.ScalarFormatter, ticker.LogFormatter, ticker.LogitFormatter, ticker.EngFormatter, ticker.NullFormatter)
_WITHOUT_DATA = ((quiver.Quiver, "arrows"), (quiver.Barbs, "arrows"), (contour.ContourSet, "contours"),
                 (collections.PathCollection, "contours"), (collections.PolyCollection, "areas"),
                 (collections.LineCollection, "lines of hlines() or vlines()"), (image.AxesImage, "a picture"),
                 (patches.Patch, "shapes"))


def chart_of(figure):
    """A chart for the whole figure, or None when nothing in it is known here."""
    charts = [chart for axes in figure.axes if axes.get_visible() and axes.get_label() != "<colorbar>"
              for chart in _charts_of(axes) or _place_of(axes)]
    if not any(_has_data(chart) for chart in charts):
        return None
    title = title_of(figure)
    if len(charts) == 1:
        return {**charts[0], "title": charts[0]["title"] or title}
    return {"type": "composite", "title": title, "elements": [{"charts": charts}]}


def _has_data(chart):
    return chart["elements"] != [{"charts": []}]


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
    boxes, of_boxes, sideways_boxes = _boxes(axes, legend)
    of_bins = {id(artists) for artists, *_ in bins}
    bars = [c for c in axes.containers if isinstance(c, container.BarContainer) and any(map(is_shown, c)) and id(c) not in of_bins]
    names, taken, error_bars = _parts(axes, bars)
    areas, edges, uncovered = _areas_and_edges(axes, names, taken | of_boxes)
    lines = [line for line in _lines(axes, taken | of_boxes | edges) if len(line.get_xdata())]
    of_lines = [(names.get(id(one)) or legend.name_of(one), one.get_xdata(orig=False), one.get_ydata(orig=False)) for one in lines]
    ways = {one[1] for one in bins}
    ways = {"box": sideways_boxes, "bar": ways | set(map(_sideways, bars)), "histogram": ways}
    for kind, elements in (
        ("box", boxes),
        ("pie", [_wedge(axes, wedge, i) for i, wedge in enumerate(p for p in axes.patches if isinstance(p, patches.Wedge) and is_shown(p))]),
        ("histogram", [e for one in bins if not _words(_axis_of(axes, one)) for e in _bins(axes, legend, *one)]),
        ("bar", [*(e for one in bins if _words(_axis_of(axes, one)) for e in _counts(axes, legend, *one)),
                 *_all_bars(axes, bars, legend)]),
        ("scatter", [*_all_series(axes, _clouds(axes, legend), _has_heights(axes, "scatter")), *_hexagons(axes, legend)]),
        ("line", _all_series(axes, of_lines, _has_heights(axes, "line", lines))),
        ("heatmap", _heatmaps(axes)),
        ("area", [_area(axes, legend, *one) for one in areas]),
    ):
        # Areas beside other marks are mostly how sure these are, or are told with their edges.
        if elements and (kind != "area" or edges or not charts):
            values, numbers = _value_axes(axes, kind, ways.get(kind, ()), lines), [_numbers(elements, place, bins) for place in (0, 1)]
            of_axes = [_axis(axis, found, axis in values or (kind == "heatmap" and bool(found))) for axis, found in zip((axes.xaxis, axes.yaxis), numbers)]
            charts.append({"type": kind, "title": title_of_axes(axes), "x": of_axes[0], "y": of_axes[1], "elements": elements})
            uncovered = [] if kind == "area" else uncovered
    missing = rare_marks.untold(axes, uncovered, error_bars - of_boxes) if charts else ""
    return [{**charts[0], "missing": missing}, *charts[1:]] if missing else charts


def _lines(axes, without):
    return [line for line in axes.lines if id(line) not in without and is_shown(line) and line.get_transform() == axes.transData]


def _value_axes(axes, kind, sideways, lines):
    """The axes along which marks of that kind have their values, whatever a few of its ticks are called; `sideways` are the ways they are drawn."""
    if len(sideways) == 1:
        return [axes.xaxis if is_sideways else axes.yaxis for is_sideways in sideways]
    return [axes.yaxis] if _has_heights(axes, kind, lines) else []


def _has_heights(axes, kind, lines=()):
    """Whether the y of such marks are values: of areas, of lines, and of points where the names at the axis do not count 0, 1, 2, or from 1 on.

    Lines are rows of named things where each lies at such a name, or goes from mark to mark and no name is a number.
    """
    if kind == "area":
        return True
    drawn_lines = [line for line in lines if line.get_linestyle() != "None"] if kind == "line" else []
    places = _categories(axes.yaxis) if kind in ("line", "scatter") else {}
    if not any(set(places) == set(range(first, first + len(places))) for first in (0, 1)):
        return bool(places or drawn_lines)
    return not all(_is_row(line, places) for line in drawn_lines)


def _is_row(line, places):
    heights = numpy.unique(numpy.asarray(line.get_ydata(orig=False), dtype=float))
    heights = heights[numpy.isfinite(heights)]
    if not set(heights.tolist()) <= set(places):
        return False
    return len(heights) < 2 or (line.get_marker() not in (None, "None", "", " ") and not any(map(_is_number, places.values())))


def _parts(axes, bars):
    """The names of lines that are parts of what has one, the ids of those that are no data, and of those that are seaborn's error bars."""
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
    error_bars = _error_bars_of_seaborn(axes, bars)
    return names, taken | error_bars, error_bars


def _boxes(axes, legend):
    """Elements, the ids of the artists that they are made of, and whether they lie: a set of both for some that do."""
    of_boxplot, of_seaborn = drawn.boxes(axes), list(rare_marks.violins_of_seaborn(axes))
    elements = [_box(axes, one, artists, legend, i) for i, (one, artists) in enumerate(of_boxplot)]
    sideways = {_lies(artists) for _, artists in of_boxplot}
    for one, body, is_sideways, place in drawn.violins(axes):
        sideways.add(is_sideways)
        elements.append(_box_at(axes, one, is_sideways, place, legend.name_of(body), len(elements)))
    for _, one, is_sideways, place in of_seaborn:
        sideways.add(is_sideways)
        elements.append(_box_at(axes, one, is_sideways, place, "", len(elements)))
    artists = [artist for _, drawn_of_one in of_boxplot for group in drawn_of_one.values() for artist in numpy.ravel(group)]
    artists += [line for lines, *_ in of_seaborn for line in lines]
    return elements, set(map(id, artists)), sideways


# --- axes ------------------------------------------------------------------------------------------


def _axis(axis, numbers, has_values=False):
    """`numbers` are the coordinates that stayed numbers; of an axis that `has_values` these are no names."""
    label = axis.get_label_text()
    described = {"label": label, "scale": _scale(axis, numbers, has_values)}
    # The unit is that of the numbers at the axis: who writes these his way may have divided them.
    if (unit := unit_of(label)) and (described["scale"] in ("categorical", "datetime") or _is_plain(axis)):
        described["unit"] = unit
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


def _is_plain(axis):
    """Whether it has its numbers written as they are."""
    formatter = axis.get_major_formatter()
    if _are_given(axis):
        return all(_is_number(name) and _says(name, place, as_it_is=True) for place, name in _tick_texts(axis).items())
    pattern = getattr(formatter, "fmt", "%%")
    is_pattern = isinstance(formatter, (ticker.StrMethodFormatter, ticker.FormatStrFormatter)) and "%}" not in pattern and "%%" not in pattern
    return is_pattern or isinstance(formatter, _PLAIN_FORMATTERS)


def _scale(axis, numbers, has_values):
    categories = _words(axis) if has_values else _categories(axis)
    # Numbers are jitter where the named ticks are counted from 0; else the names are of other places.
    is_jitter = _is_counted(categories) and set(map(round, numbers)) <= set(categories)
    if categories and (is_jitter or not numbers):
        return "categorical"
    if not categories and not numbers and _is_dates(axis):
        return "datetime"
    return axis.get_scale() if axis.get_scale() in _SCALES else "linear"


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
    """Position -> name, of an axis whose values are words, or have names: texts, or other numbers than where these stand."""
    words = _words(axis)
    if words or axis.get_scale() != "linear":
        return words
    names, are_given = _tick_texts(axis), _are_given(axis)
    is_named = any(not _is_number(name) or (are_given and not _says(name, place)) for place, name in names.items())
    return names if is_named else {}


def _tick_names(axis):
    """As _categories(), also where the names are the numbers at which bars and boxes stand."""
    return _words(axis) or (_tick_texts(axis) if _are_given(axis) else _categories(axis))


def _tick_texts(axis):
    """Position -> text, of xticks(places, names) and set_xticklabels(names); the texts are there once it was drawn."""
    if not isinstance(axis.get_major_locator(), ticker.FixedLocator) or _is_dates(axis):
        return {}
    names = [label.get_text() for label in axis.get_majorticklabels()]
    return {float(place): name for place, name in zip(axis.get_majorticklocs(), names) if name}


def _are_given(axis):
    formatter = axis.get_major_formatter()
    return (isinstance(formatter, ticker.FixedFormatter)  # and what set_xticklabels(names) makes
            or isinstance(getattr(formatter, "func", None), functools.partial))


def _is_number(text):
    return _is_formula(text) or bool(_readings(text))


def _says(text, place, as_it_is=False):
    """Whether a text that is a number is that of the place, rounded as it is written; `as_it_is` not as so many percent or thousands."""
    if _is_formula(text):
        return True
    # Cells of a heatmap are counted at their edges and so half a step away.
    return any(abs(float(number) - place) < (0.501 if last < 0 else 0.499) * 10.0 ** last
               for number, is_scaled in _readings(text) if number.is_finite() and not (as_it_is and is_scaled)
               for last in [number.as_tuple().exponent])  # the power of ten of its last digit


def _is_formula(text):
    """Whether it is a power of ten, as matplotlib writes it."""
    return str(text).startswith("$") and str(text).count("$") > 1


def _readings(text):
    """The numbers that a text may be, each with whether it is scaled: without separators of groups, a currency's sign, percent or thousands."""
    found = _FORMATTED.fullmatch(str(text).replace("\N{MINUS SIGN}", "-"))
    if not found:
        return []
    sign, digits, power = found["sign"], found["digits"].strip(), _POWERS.get(found["scale"], 0)
    ways = {digits, digits.replace(",", ".")} if digits.count(",") == 1 else {digits}
    if _IN_GROUPS.fullmatch(digits):
        separator = re.search(r"\D", digits).group()
        ways.add(digits.replace(separator, "").replace(",", "."))
    numbers = []
    for way in ways:
        try:
            numbers.append(decimal.Decimal(sign + way))
        except decimal.InvalidOperation:
            continue
    scaled = [(number.scaleb(power), True) for number in numbers if power and number.is_finite()]
    # An axis may count in percent too; in thousands it says so elsewhere.
    return scaled + [(number, bool(power)) for number in numbers if power <= 0]


def _values_of(axis, positions, has_values=False):
    """Makes coordinates what the user gave: numbers, dates or words, and all of a chart alike; of an axis that `has_values` no names of ticks."""
    categories = _words(axis) if has_values else _categories(axis)
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
        zone = _zone_of(axis)
        return lambda number: dates.num2date(number, zone).isoformat()
    low, high = sorted(axis.get_view_interval())
    # Places out of sight were drawn before pandas came, and are in days.
    if (places != places.round()).any() or not ((low <= places) & (places <= high)).any():
        return float
    period = sys.modules["pandas"].Period
    return lambda number: period(ordinal=int(number), freq=frequency).to_timestamp().isoformat()


def _zone_of(axis):
    """The time zone that the axis writes its dates in; None for that of matplotlib."""
    formatter, units = axis.get_major_formatter(), axis.get_units()
    if isinstance(formatter, (dates.AutoDateFormatter, dates.DateFormatter, dates.ConciseDateFormatter)):
        return getattr(formatter, "_tz", None) or getattr(formatter, "tz", None)
    return units if isinstance(units, datetime.tzinfo) else getattr(axis.get_major_locator(), "tz", None)


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
    return [*(_image(axes, image) for image in axes.images if image.get_array().ndim == 2 and is_shown(image)),
            *(_mesh(axes, c) for c in axes.collections if isinstance(c, collections.QuadMesh) and is_shown(c)),
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
    ticks, reach = sorted(categories), _half_step(positions)
    nearest = [_nearest_tick(ticks, position, reach) for position in positions] if ticks else [None]
    if None not in nearest and len(set(nearest)) == len(set(map(float, positions))):
        return [categories[tick] for tick in nearest]
    return list(map(_values_of(axis, positions), positions))


def _half_step(positions, otherwise=0.5):
    """Half of the least distance of places, within which a tick names one of them; `otherwise` where there is but one place."""
    places = numpy.unique(numpy.asarray(positions, dtype=float))
    places = places[numpy.isfinite(places)]
    steps = numpy.diff(places)
    steps = steps[steps > 1e-9 * max(abs(places[0]), abs(places[-1]))] if len(steps) else steps
    return float(steps.min()) / 2 if len(steps) else otherwise


def _nearest_tick(ticks, position, reach):
    """Bars of a group stand beside the tick that names them; `ticks` are sorted."""
    after = bisect.bisect_left(ticks, position)
    nearest = min(ticks[max(after - 1, 0):after + 1], key=lambda tick: abs(tick - position), default=None)
    return nearest if nearest is not None and abs(nearest - position) <= reach + 1e-9 * (abs(position) + reach) else None


def _nearest_name(categories, position):
    return categories.get(_nearest_tick(sorted(categories), position, 0.5))


# --- marks -----------------------------------------------------------------------------------------


def _all_series(axes, marks, has_heights):
    """`marks` are names, each with its coordinates."""
    if not marks:
        return []
    _, xs, ys = zip(*marks)
    x_value = _values_of(axes.xaxis, numpy.concatenate(xs))
    y_value = _values_of(axes.yaxis, numpy.concatenate(ys), has_heights)
    return [series(name, xs, ys, x_value, y_value) for name, xs, ys in marks]


def _clouds(axes, legend):
    """Returns the points of scatter(), and of each row of eventplot()."""
    return [*((name, *points.T) for c in axes.collections if _is_cloud(axes, c) for name, points in legend.clouds_of(c)),
            *((legend.name_of(row), xs, ys) for row, xs, ys in rare_marks.events(axes))]


def _hexagons(axes, legend):
    return [_with_third(axes, legend.name_of(one), rows, lambda number: number) for one, rows in rare_marks.hexagons(axes)]


def _areas_and_edges(axes, names, taken):
    """Areas, the ids of lines that are the ends of those that stand on others, and areas that are no mere ground of a line.

    A line without a name has that of its area.
    """
    areas, edges, grounds, of_edges = rare_marks.upright(axes, rare_marks.areas(axes)), set(), set(), {}
    for one in areas:
        for column in (2, 1):
            of_edges.setdefault(rare_marks.edge(one[1], column), []).append((column, one))
    lines = _lines(axes, taken)
    for line in lines:
        corners = numpy.column_stack(line.get_data(orig=False)).astype(float)
        # A line is first the end of one area, then where another begins.
        for column, (area, rows, is_stacked) in sorted(of_edges.get(rare_marks.edge(corners, 1), ()), key=lambda found: -found[0]):
            names.setdefault(id(line), label_of(line) or label_of(area))
            edges |= {id(line)} if is_stacked and column == 2 else set()
            grounds |= set() if rows[:, 3 - column].any() else {id(area)}
    stand_on_others = any(is_stacked and rows[:, 1:].all(axis=1).any() for _, rows, is_stacked in areas)
    uncovered = [area for area, *_ in areas if id(area) not in grounds]
    return areas, edges if stand_on_others and len(edges) == len(lines) else set(), uncovered


def _area(axes, legend, area, rows, is_stacked):
    """A series of heights and where they start, or of both edges of a band."""
    value = _values_of(axes.yaxis, rows[:, 1:].ravel(), has_values=True)
    is_band = _is_dates(axes.yaxis) or not (is_stacked or not rows[:, 1].any())
    ends = numpy.sort(rows[:, 1:], axis=1)[:, ::-1] if is_band else numpy.column_stack((rows[:, 2] - rows[:, 1], rows[:, 1]))
    made = _with_third(axes, legend.name_of(area), numpy.column_stack((rows[:, 0], ends)), value, are_heights=not is_band)
    if len(made["points"][0]) < 3:
        return made
    return {**made, **({} if is_band else {"stacked": True}), "columns": ["x", "high", "low"] if is_band else ["x", "value", "start"]}


def _with_third(axes, label, rows, third_value, are_heights=False):
    """A series whose points have one more number, where that is not 0 for all of them."""
    x_value = _values_of(axes.xaxis, rows[:, 0])
    y_value = _rounded if are_heights else _values_of(axes.yaxis, rows[:, 1], has_values=True)
    places = kept(rows[:, 1], POINTS_MAX)
    has_third = (rows[:, 2] != 0).any()
    made = {"label": label, "points": [
        [x_value(x), y_value(y), third_value(float(third))] if has_third else [x_value(x), y_value(y)] for x, y, third in rows[places]]}
    return made if len(places) == len(rows) else {**made, "sampled": True}


def _rounded(number):
    """A difference, without what binary fractions leave of it."""
    return float(f"{number:.12g}") if math.isfinite(number) else None


def _is_cloud(axes, collection):
    # The levels of contour() are such collections too, in matplotlib 3.6: at no place of their own.
    return (isinstance(collection, collections.PathCollection) and is_shown(collection) and len(collection.get_offsets())
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


def _all_bars(axes, all_bars, legend):
    """Names are found once for all that lie or stand: there may be a container for each bar."""
    names = {way: _names_of_bars(axes.yaxis if way else axes.xaxis, way, [c for c in all_bars if _sideways(c) == way])
             for way in set(map(_sideways, all_bars))}
    return [element for bars in all_bars for element in _bar(axes, bars, legend, names[_sideways(bars)])]


def _bar(axes, bars, legend, name_at):
    elements, name = [], legend.name_of(bars)
    for bar in filter(is_shown, bars):
        low, size = _span(bar, _sideways(bars))
        if _sideways(bars):
            value, values, start = bar.get_width(), axes.xaxis, bar.get_x()
        else:
            value, values, start = bar.get_height(), axes.yaxis, bar.get_y()
        element = {"label": str(name_at(low + size / 2)), "value": float(value)}
        if start != 0:
            element["start"] = _values_of(values, [start], has_values=True)(start)
        if name and name != element["label"]:
            element["group"] = name
        elements.append(element)
    return elements


def _span(bar, is_sideways):
    return (bar.get_y(), bar.get_height()) if is_sideways else (bar.get_x(), bar.get_width())


def _names_of_bars(axis, is_sideways, all_bars):
    """Returns what names the bar at a place: its tick, if that is nearer than to the next bar of the series; else where it is."""
    names = _tick_names(axis)
    if not names:
        return lambda place: _written(_values_of(axis, [place])(place)) if _is_dates(axis) else _written(float(place))
    spans = [[_span(bar, is_sideways) for bar in bars] for bars in all_bars]
    steps = [_half_step([low + size / 2 for low, size in series], None) for series in spans]
    reach = min((step for step in steps if step is not None), default=None)
    reach = _half_step(_middles_of_groups([span for series in spans for span in series])) if reach is None else reach
    ticks = sorted(names)

    def name_at(place):
        tick = _nearest_tick(ticks, place, reach)
        return _written(float(place)) if tick is None else names[tick]
    return name_at


def _middles_of_groups(spans):
    """The middles of bars that touch, taken together."""
    groups = []
    for low, high in sorted((min(low, low + size), max(low, low + size)) for low, size in spans):
        if groups and low <= groups[-1][1] + 1e-6 * (high - low):
            groups[-1][1] = max(high, groups[-1][1])
        else:
            groups.append([low, high])
    return [(low + high) / 2 for low, high in groups]


def _written(value):
    return f"{value:.12g}" if isinstance(value, float) else value


def _all_bins(axes):
    """Returns the bins of hist() and stairs(), and of seaborn's histplot()."""
    found = [one for one in (*drawn.histograms(axes), *rare_marks.outlines(axes)) if any(map(is_shown, one[0]))]
    known = {id(artists) for artists, *_ in found}
    made = (_bins_of_seaborn(c) for c in axes.containers
            if isinstance(c, container.BarContainer) and any(map(is_shown, c)) and id(c) not in known)
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
    return (bars, sideways, edges, [float(height) for _, _, height in spans], None) if touch else None


def _axis_of(axes, bins):
    return axes.yaxis if bins[1] else axes.xaxis


def _bins(axes, legend, artists, sideways, edges, counts, kind=""):
    value = _values_of(axes.yaxis if sideways else axes.xaxis, edges)
    places, group = [value(edge) for edge in edges], _group(artists, legend)
    name = _name_of_heights(axes.xaxis if sideways else axes.yaxis, counts, kind)
    return [{"from": low, "to": high, name: count, **group}
            for low, high, count in zip(places, places[1:], counts)]


def _name_of_heights(axis, heights, kind):
    """Returns what hist() was asked for; else what the axis is called, as by seaborn; else they are counts if they are whole and no axis says otherwise.

    `kind` is None where whole numbers are no sign of counts.
    """
    label = _label_of_heights(axis)
    if kind or label:
        return kind or (label if label in _KINDS_OF_HEIGHTS else "height")
    return "count" if kind is not None and all(float(height).is_integer() for height in heights) else "height"


def _label_of_heights(axis):
    """The label, mostly; of several axes that share theirs only those at the edge have one."""
    labels = [axis.get_label_text()]
    shared = axis.axes.get_shared_x_axes() if axis is axis.axes.xaxis else axis.axes.get_shared_y_axes()
    labels += [getattr(one, axis.axis_name + "axis").get_label_text() for one in shared.get_siblings(axis.axes)]
    return next((label for label in (one.strip().casefold() for one in labels) if label), "")


def _group(artists, legend):
    """The series of bars or of bins: hist() gives its label to the first of them."""
    name = label_of(artists) or legend.name_of(artists[0])
    return {"group": name} if name else {}


def _counts(axes, legend, artists, sideways, edges, counts, _kind=""):
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
    group = legend.name_of(artists["boxes"]) if artists["boxes"] else ""
    return _box_at(axes, one, _lies(artists), ys.mean() if _lies(artists) else xs.mean(), group, number)


def _lies(artists):
    """Whether the box was drawn sideways."""
    xs = artists["medians"].get_xdata()
    return bool(xs[0] == xs[-1])


def _box_at(axes, one, is_sideways, place, group, number):
    # The axis may have got its names after the boxes.
    name = _nearest_name(_tick_names(axes.yaxis if is_sideways else axes.xaxis), place) or str(one.get("label") or number + 1)
    name = f"{name}, {group}" if group and group != name else name
    outliers = [float(value) for value in one.get("fliers", ())]
    box = {"label": name, "min": one.get("whislo"), "first_quartile": one["q1"], "median": one["med"], "third_quartile": one["q3"],
           "max": one.get("whishi")}
    known = {key: value if key == "label" else float(value) for key, value in box.items() if value is not None}
    return {**known, "outliers": outliers[:ELEMENTS_MAX]} if len(known) == len(box) else known
