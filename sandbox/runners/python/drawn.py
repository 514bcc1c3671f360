"""What boxplot() and hist() have computed: afterwards there are but lines and bars.

Kept at the axes themselves, so that it goes with them, into a pickle too.
"""

import functools

import numpy
from matplotlib import container
from matplotlib.axes import Axes

_KEPT = "hutch_drawn"


def watch():
    _replace("bxp", _with_boxes)
    _replace("hist", _with_bins)


def boxes(axes):
    """Pairs of the statistics of a box and its artists, those that are still there."""
    present = set(map(id, axes.lines))
    return [(one, artists) for one, artists in _kept(axes, "boxes") if id(artists["medians"]) in present]


def histograms(axes):
    """Of each series that is still there `(artists, is_sideways, edges, counts)`."""
    present = set(map(id, axes.patches))
    return [one for one in _kept(axes, "bins") if len(one[0]) and id(one[0][0]) in present]


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
            _kept(self, "bins").extend(_bins(*result, options))
        except Exception:
            pass  # an unknown matplotlib: these are bars
        return result
    return hist


def _bins(heights, edges, artists, options):
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
        yield drawn, sideways, [float(edge) for edge in edges], [float(count) for count in counts]


def _kept(axes, kind):
    return axes.__dict__.setdefault(_KEPT, {}).setdefault(kind, [])
