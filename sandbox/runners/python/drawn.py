"""Keeps what boxplot(), violinplot(), hist(), stackplot() and contours got or computed: afterwards there are but lines, areas and bars.

Kept at the axes themselves, so that it goes with them, into a pickle too.
"""

import functools

import numpy
from matplotlib import cbook, container
from matplotlib.axes import Axes

_KEPT = "hutch_drawn"
_ENDS_MAX = 500
_ends = {}  # extremes of the values that boxplot_stats() was given last, by what it has found


def watch():
    _replace("bxp", _with_boxes)
    _replace("hist", _with_bins)
    _replace("violinplot", _with_violins)
    _replace("stackplot", _with_stack)
    _replace("contour", _with_grid)
    _replace("contourf", _with_grid)
    _keep_ends()


def boxes(axes):
    """Pairs of the statistics of a box and its artists, those that are still there."""
    present = set(map(id, axes.lines))
    return [(one, artists) for one, artists in _kept(axes, "boxes") if id(artists["medians"]) in present]


def histograms(axes):
    """Returns `(artists, is_sideways, edges, heights, what they are)` for each series that is still there."""
    present = set(map(id, axes.patches))
    return [one for one in _kept(axes, "bins") if len(one[0]) and id(one[0][0]) in present]


def violins(axes):
    """Returns `(statistics, body, is_sideways, place)` for each violin that is still there."""
    present = set(map(id, axes.collections))
    return [one for one in _kept(axes, "violins") if id(one[1]) in present]


def stacks(axes):
    """Returns the areas that stackplot() drew, also such as are there no more."""
    return _kept(axes, "stacks")


def contours(axes):
    """Returns `(set, xs, ys, values)` for each set of contours that is still there."""
    present = set(map(id, axes.collections))
    return [one for one in _kept(axes, "grids")
            if {id(one[0]), *map(id, getattr(one[0], "collections", None) or ())} & present]


def ends_of(*statistics):
    """The least and the greatest of the values that have these whiskers, quartiles and median; or None, as in another process."""
    return _ends.get(statistics)


def _keep_ends():
    original = cbook.boxplot_stats
    if hasattr(original, "hutch_original"):
        return

    @functools.wraps(original)
    def boxplot_stats(*arguments, **options):
        found = original(*arguments, **options)
        try:
            for one in found[-_ENDS_MAX:]:
                known = tuple(float(one[name]) for name in ("whislo", "q1", "med", "q3", "whishi"))
                values = [*known, *map(float, one["fliers"])]
                _ends.pop(known, None)  # the newest goes last
                _ends[known] = min(values), max(values)
            while len(_ends) > _ENDS_MAX:
                del _ends[next(iter(_ends))]
        except Exception:
            pass  # an unknown matplotlib, or no numbers
        return found

    boxplot_stats.hutch_original = original
    cbook.boxplot_stats = boxplot_stats


def _replace(name, make):
    original = getattr(Axes, name)
    if hasattr(original, "hutch_original"):
        return
    method = functools.wraps(original)(make(original))
    method.hutch_original = original
    setattr(Axes, name, method)


def _with_boxes(original):
    def bxp(self, bxpstats, *arguments, **options):
        bxpstats = list(bxpstats)  # it may be a generator
        drawn = original(self, bxpstats, *arguments, **options)
        for i, one in enumerate(bxpstats):
            own = {"medians": drawn["medians"][i], "boxes": drawn["boxes"][i] if drawn["boxes"] else None}
            _kept(self, "boxes").append((dict(one), {**drawn, **own}))
        return drawn
    return bxp


def _with_bins(original):
    def hist(self, *arguments, **options):
        result = original(self, *arguments, **options)
        try:
            _kept(self, "bins").extend(_bins(*result, options, _kind_of(arguments, options)))
        except Exception:
            pass  # an unknown matplotlib: these are bars
        return result
    return hist


def _kind_of(arguments, options):
    """Returns what the heights of hist() are; nothing where weights make them anything."""
    given = {**dict(zip(("x", "bins", "range", "density", "weights", "cumulative"), arguments)), **options}
    if given.get("weights") is not None:
        return ""
    if not given.get("cumulative"):
        return "density" if given.get("density") else "count"
    return "cumulative_proportion" if given.get("density") else "cumulative_count"


def _bins(heights, edges, artists, options, kind):
    if numpy.ndim(heights[0]) == 0:
        heights, artists = [heights], [artists]
    below = 0
    for height, drawn in zip(heights, artists):
        sideways = options.get("orientation") == "horizontal"
        if isinstance(drawn, container.BarContainer):
            counts = [bar.get_width() if sideways else bar.get_height() for bar in drawn]
        else:  # an outline; of stacked ones each height has those below in it
            counts = numpy.asarray(height) - below
            below = height if options.get("stacked") or options.get("histtype") == "barstacked" else 0
        yield drawn, sideways, [float(edge) for edge in edges], [float(count) for count in counts], kind


def _with_violins(original):
    def violinplot(self, dataset, positions=None, *arguments, **options):
        result = original(self, dataset, positions, *arguments, **options)
        try:
            _kept(self, "violins").extend(_violins(dataset, positions, result["bodies"], options))
        except Exception:
            pass  # an unknown matplotlib, or no numbers: these are areas
        return result
    return violinplot


def _violins(dataset, positions, bodies, options):
    is_sideways = options.get("orientation") == "horizontal" or options.get("vert") is False
    places = range(1, len(bodies) + 1) if positions is None else positions
    for values, body, place in zip(cbook._reshape_2D(dataset, "dataset"), bodies, places):
        low, first, median, third, high = map(float, numpy.percentile(numpy.asarray(values, dtype=float), (0, 25, 50, 75, 100)))
        yield {"whislo": low, "q1": first, "med": median, "q3": third, "whishi": high}, body, is_sideways, float(place)


def _with_stack(original):
    def stackplot(self, *arguments, **options):
        areas = original(self, *arguments, **options)
        _kept(self, "stacks").extend(areas)
        return areas
    return stackplot


def _with_grid(original):
    def contour(self, *arguments, **options):
        result = original(self, *arguments, **options)
        try:
            _kept(self, "grids").extend((result, *grid) for grid in _grids(self, arguments, options))
        except Exception:
            pass  # an unknown matplotlib: these are contours
        return result
    return contour


def _grids(axes, arguments, options):
    """The grid of contours, if its lines run along the axes."""
    values = numpy.ma.asarray(arguments[2 if len(arguments) > 2 else 0])
    if values.ndim != 2 or options.get("origin") is not None or options.get("extent") is not None:
        return
    if len(arguments) < 3:
        xs, ys = map(numpy.arange, reversed(values.shape))
    else:
        xs, ys = numpy.asarray(axes.convert_xunits(arguments[0])), numpy.asarray(axes.convert_yunits(arguments[1]))
    if xs.ndim == 2 and (xs == xs[:1]).all():
        xs = xs[0]
    if ys.ndim == 2 and (ys == ys[:, :1]).all():
        ys = ys[:, 0]
    if xs.ndim == ys.ndim == 1:
        yield xs.astype(float), ys.astype(float), values


def _kept(axes, kind):
    return axes.__dict__.setdefault(_KEPT, {}).setdefault(kind, [])
