"""The data of a matplotlib figure, so that a plot can be drawn anew or reasoned about.

One chart per kind of mark found in an axes; several of them make a `composite`. The schema is in
../CHARTS.md. Everything is read from the artists: nothing here draws or changes a figure.
"""

import math
import re
import sys
import weakref

import numpy
from matplotlib import collections, container, dates, patches, ticker
from matplotlib.axes import Axes

from hutch_runner.chart_data import ELEMENTS_MAX, heatmap, series

TICKS_MAX = 30

_boxes = weakref.WeakKeyDictionary()  # axes -> (statistics, the artists drawn for them)


def watch_box_plots():
    """Remembers the figures behind box plots: afterwards they are but lines."""
    original = Axes.bxp
    if hasattr(original, "hutch_original"):
        return

    def bxp(self, bxpstats, *arguments, **options):
        bxpstats = list(bxpstats)  # it may be a generator
        drawn = original(self, bxpstats, *arguments, **options)
        statistics, artists = _boxes.setdefault(self, ([], []))
        vertical = options.get("orientation", "vertical") == "vertical"
        names = options.get("manage_ticks", True)
        statistics += [dict(one, vertical=vertical and options.get("vert") is not False,
                            named=names) for one in bxpstats]
        for group in drawn.values():
            artists += group
        return drawn

    bxp.__doc__ = original.__doc__
    bxp.hutch_original = original
    Axes.bxp = bxp


def chart_of(figure):
    """A chart for the whole figure, or None when nothing in it is known here."""
    charts = [chart for axes in figure.axes if _has_data(axes) for chart in _charts_of(axes)]
    if len(charts) <= 1:
        return charts[0] if charts else None
    title = figure._suptitle.get_text() if getattr(figure, "_suptitle", None) else ""
    return {"type": "composite", "title": title, "elements": [{"charts": charts}]}


def _has_data(axes):
    # Marks in 3D know but where on the picture they are, once they are drawn.
    return axes.get_visible() and axes.get_label() != "<colorbar>" and axes.name != "3d"


def _charts_of(axes):
    charts = []
    statistics, box_artists = _boxes.get(axes, ((), ()))
    taken = {id(artist) for artist in box_artists}
    wedges = [p for p in axes.patches if isinstance(p, patches.Wedge)]
    bars = [c for c in axes.containers if isinstance(c, container.BarContainer) and len(c)]
    for errors in axes.containers:
        if isinstance(errors, container.ErrorbarContainer):
            # The line itself stays; caps and bars are no data.
            taken.update(id(cap) for cap in errors[1])
        elif isinstance(errors, container.StemContainer):
            taken.add(id(errors.baseline))
    for kind, elements in (
        ("box", [_box(axes, one, i) for i, one in enumerate(statistics)]),
        ("pie", [_wedge(axes, wedge, i) for i, wedge in enumerate(wedges)]),
        ("histogram", [e for c in bars if _is_histogram(axes, c) for e in _bins(c)]),
        ("bar", [e for c in bars if not _is_histogram(axes, c) for e in _bar(axes, c)]),
        ("scatter", _all_series(axes, [
            (c, *numpy.ma.filled(c.get_offsets(), numpy.nan).T) for c in axes.collections if _is_cloud(axes, c)])),
        ("line", _all_series(axes, [
            (line, line.get_xdata(orig=False), line.get_ydata(orig=False)) for line in axes.lines
            if id(line) not in taken and line.get_transform() == axes.transData
            and len(line.get_xdata())])),
        ("heatmap", [*(_image(axes, image) for image in axes.images if image.get_array().ndim == 2),
                     *(_mesh(axes, c) for c in axes.collections if isinstance(c, collections.QuadMesh))]),
    ):
        if elements:
            charts.append({"type": kind, "title": axes.get_title(),
                           "x": _axis(axes.xaxis, _numbers(elements, 0)),
                           "y": _axis(axes.yaxis, _numbers(elements, 1)), "elements": elements})
    return charts


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
    elif described["scale"] != "datetime":
        ticks = [float(t) for t in axis.get_majorticklocs() if low <= t <= high]
        described["ticks"] = ticks[:TICKS_MAX]
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


def _numbers(elements, place):
    """The coordinates in series and heatmaps that are neither dates nor words."""
    return [value for element in elements
            for value in element.get("xy"[place]) or [p[place] for p in element.get("points", ())]
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


def _categories(axis):
    """Position -> name, of an axis whose values are words."""
    mapping = getattr(axis.units, "_mapping", None)  # matplotlib.category.UnitData
    if mapping:
        return {position: str(name) for name, position in mapping.items()}
    if isinstance(axis.get_major_locator(), ticker.FixedLocator) and not _is_dates(axis):
        # xticks(places, names), set_xticklabels(names); the texts are there once it was drawn.
        names = [label.get_text() for label in axis.get_majorticklabels()]
        if any(not _is_number(name) for name in names if name):
            places = map(float, axis.get_majorticklocs())
            return {place: name for place, name in zip(places, names) if name}
    return {}


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
    # What stands out of sight was drawn before pandas came, and is in days.
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


def _heatmap(axes, xs, ys, values):
    values = values.astype(float)
    values = values.filled(float("nan")) if hasattr(values, "filled") else values  # masked cells
    return heatmap(_nearest_values(axes.xaxis, xs), _nearest_values(axes.yaxis, ys), values.tolist())


def _nearest_values(axis, positions):
    categories = _categories(axis)
    names = [_nearest_name(categories, position) for position in positions]
    return names if all(names) else list(map(_values_of(axis, positions), positions))


def _nearest_name(categories, position):
    """Bars of a group stand beside the tick that names them."""
    nearest = min(categories, key=lambda tick: abs(tick - position), default=None)
    return categories[nearest] if nearest is not None and abs(nearest - position) <= 0.5 else None


# --- marks -----------------------------------------------------------------------------------------


def _name(artist, fallback=""):
    label = str(artist.get_label())
    return fallback if label.startswith("_") else label


def _all_series(axes, marks):
    """`marks` are artists, each with its coordinates."""
    if not marks:
        return []
    _, xs, ys = zip(*marks)
    x_value = _values_of(axes.xaxis, numpy.concatenate(xs))
    y_value = _values_of(axes.yaxis, numpy.concatenate(ys))
    return [series(_name(artist), xs, ys, x_value, y_value) for artist, xs, ys in marks]


def _is_cloud(axes, collection):
    # The levels of contour() are such collections too, in matplotlib 3.6: at no place of their own.
    return (isinstance(collection, collections.PathCollection) and len(collection.get_offsets())
            and collection.get_offset_transform().contains_branch(axes.transData))


def _sideways(bars):
    return getattr(bars, "orientation", "vertical") == "horizontal"


def _bar(axes, bars):
    elements = []
    for bar in bars:
        if _sideways(bars):
            axis, middle, value = axes.yaxis, bar.get_y() + bar.get_height() / 2, bar.get_width()
        else:
            axis, middle, value = axes.xaxis, bar.get_x() + bar.get_width() / 2, bar.get_height()
        element = {"label": str(_bar_name(axis, middle)), "value": float(value)}
        if _name(bars):
            element["group"] = _name(bars)
        elements.append(element)
    return elements


def _bar_name(axis, position):
    value = _nearest_name(_categories(axis), position) or _values_of(axis, [position])(position)
    return f"{value:g}" if isinstance(value, float) else value


def _is_histogram(axes, bars):
    """Bars that touch, over an axis of numbers. (Bars of bar() leave gaps, unless asked not to.)"""
    sideways = _sideways(bars)
    if len(bars) < 2 or _categories(axes.yaxis if sideways else axes.xaxis):
        return False
    spans = [(b.get_y(), b.get_height()) if sideways else (b.get_x(), b.get_width()) for b in bars]
    return all(abs(start + size - following) <= 1e-6 * max(abs(size), 1e-300)
               for (start, size), (following, _) in zip(spans, spans[1:]))


def _bins(bars):
    if _sideways(bars):
        return [{"from": float(b.get_y()), "to": float(b.get_y() + b.get_height()),
                 "count": float(b.get_width())} for b in bars]
    return [{"from": float(b.get_x()), "to": float(b.get_x() + b.get_width()),
             "count": float(b.get_height())} for b in bars]


def _wedge(axes, wedge, number):
    return {"label": _name(wedge, str(number + 1)),
            "fraction": round((wedge.theta2 - wedge.theta1) / 360, 6)}


def _box(axes, one, number):
    outliers = [float(value) for value in one.get("fliers", ())]
    return {"label": str(one.get("label") or number + 1), "min": float(one["whislo"]),
            "first_quartile": float(one["q1"]), "median": float(one["med"]),
            "third_quartile": float(one["q3"]), "max": float(one["whishi"]),
            "outliers": outliers[:ELEMENTS_MAX]}
