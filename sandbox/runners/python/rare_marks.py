"""Marks of matplotlib that are not read from lines, bars and clouds: areas, events, hexagons, outlines of bins, contours, violins."""

import sys

import numpy
from matplotlib import artist, collections, container, patches, quiver

from hutch_runner import drawn
from hutch_runner.legends import is_shown, label_of


def areas(axes):
    """Returns `(collection, rows)` for each area; a row is an x, where the area begins there, and where it ends."""
    found = ((one, _rows_of(one)) for one in axes.collections if isinstance(one, collections.PolyCollection) and is_shown(one))
    return [(one, rows) for one, rows in found if len(rows)]


def upright(axes, areas):
    """Returns `(collection, rows, is_stacked)` for each area: one of a stack begins at 0 throughout, or where one below it ends.

    Rows of these are turned where they must be. What stackplot() draws is a stack wherever it begins.
    """
    stackplots = set(map(id, drawn.stacks(axes)))
    beside, starts = {}, {}
    for i, (_, rows) in enumerate(areas):
        for column in (1, 2):
            beside.setdefault(edge(rows, column), []).append((i, column))
    found = [(i, 1) for i, (one, _) in enumerate(areas) if id(one) in stackplots]
    found += [(i, column) for i, (_, rows) in enumerate(areas) for column in (1, 2) if not rows[:, column].any()]
    for i, column in found:  # grows while it is walked
        if i not in starts:
            starts[i] = column
            found.extend(beside.pop(edge(areas[i][1], 3 - column), ()))
    return [(one, rows[:, [0, 2, 1]] if starts.get(i) == 2 else rows, i in starts) for i, (one, rows) in enumerate(areas)]


def edge(rows, column):
    return (rows[:, [0, column]] + 0.0).tobytes()  # -0.0 becomes 0.0


def _rows_of(collection):
    """The corners that fill_between() makes run along one side and back along the other; others are of another shape."""
    rows = []
    for path in collection.get_paths():
        corners = path.vertices
        count = (len(corners) - 3) // 2
        there, back = corners[1:count + 1], corners[count + 2:2 * count + 2][::-1]
        if count < 1 or len(there) != len(back) or not numpy.array_equal(there[:, 0], back[:, 0]):
            return []
        rows.append(numpy.column_stack((there, back[:, 1])))
    return numpy.concatenate(rows) if rows and collection.get_transform().contains_branch(collection.axes.transData) else []


def events(axes):
    """Yields `(collection, xs, ys)` for each row of eventplot()."""
    for one in axes.collections:
        if isinstance(one, collections.EventCollection) and is_shown(one):
            places = numpy.asarray(one.get_positions(), dtype=float)
            beside = numpy.full(len(places), float(one.get_lineoffset()))
            yield (one, places, beside) if one.is_horizontal() else (one, beside, places)


def hexagons(axes):
    """Yields `(collection, rows)` for each hexbin(); a row is the middle of a hexagon, and its value."""
    for one in axes.collections:
        values = one.get_array() if isinstance(one, collections.PolyCollection) and is_shown(one) else None
        if values is not None and len(one.get_paths()) == 1 and len(one.get_offsets()) == len(values) > 0:
            known = numpy.ma.filled(numpy.ma.asarray(values, dtype=float), numpy.nan)
            yield one, numpy.column_stack((one.get_offsets(), known))[known != 0]


def outlines(axes):
    """Yields `(artists, is_sideways, edges, counts)` for each stairs() that begins at 0, as hist() has it."""
    for one in axes.patches:
        if isinstance(one, patches.StepPatch) and is_shown(one):
            counts, edges, baseline = one.get_data()
            if baseline is None or numpy.all(numpy.asarray(baseline) == 0):
                yield [one], one.orientation == "horizontal", list(map(float, edges)), list(map(float, counts))


def contours(axes):
    """The grids, `(xs, ys, values)`, of contours that are still there, each once."""
    seen = []
    for _, xs, ys, values in drawn.contours(axes):
        if not any(values.shape == one.shape and (values == one).all() for one in seen):
            seen.append(values)
            yield xs, ys, values


def violins_of_seaborn(axes):
    """Finds violins with a box: `(lines, statistics, is_sideways, place)`: a line to the whiskers, one along the box, and the median.

    The statistics lack the ends where these are not known.
    """
    if "seaborn" not in sys.modules:
        return
    lines = [(line, *map(numpy.asarray, line.get_data(orig=False))) for line in axes.lines if not label_of(line)]
    for median in (one for one in lines if len(one[1]) == 1):
        for across, along in ((1, 2), (2, 1)):
            beside = [one for one in lines if len(one[1]) == 2 and (one[across] == median[across][0]).all()]
            if len(beside) != 2:
                continue
            box, whiskers = sorted(beside, key=lambda one: numpy.ptp(one[along]))
            low, high = map(float, whiskers[along])
            first, third = map(float, box[along])
            if low <= first <= median[along][0] <= third <= high:
                statistics = {"q1": first, "med": float(median[along][0]), "q3": third}
                ends = drawn.ends_of(low, *statistics.values(), high)  # its whiskers are those of a box
                if ends:
                    statistics.update(whislo=ends[0], whishi=ends[1])
                yield [median[0], box[0], whiskers[0]], statistics, along == 1, float(median[across][0])
                break


def untold(axes, areas, error_bars):
    """Names what stands beside the data of axes and is not told with it; `areas` and `error_bars`, ids of lines, are such."""
    wholes = [one for one in axes.containers if isinstance(one, container.ErrorbarContainer)]
    spans = (axes.get_xaxis_transform(), axes.get_yaxis_transform())  # along one axis, whatever the other shows
    found = {
        "error bars": any(one[2] for one in wholes) or any(
            id(line) in error_bars and line.get_transform() == axes.transData and numpy.isfinite(line.get_xydata()).all() for line in axes.lines),
        "areas": bool(areas),
        "spans": any(artist.Artist.get_transform(one) in spans and is_shown(one) for one in axes.patches),
        "lines of hlines() or vlines()": any(map(_is_of_lines, _free_lines(axes, wholes))),
        "arrows": any(isinstance(one, (quiver.Quiver, quiver.Barbs)) and is_shown(one) for one in axes.collections),
        "an inset": any(one.get_visible() and (one.lines or one.collections or one.patches or one.images) for one in axes.child_axes),
    }
    return ", ".join(name for name, is_there in found.items() if is_there)


def _free_lines(axes, wholes):
    """Collections of lines that are no parts of error bars, stems or violins."""
    if drawn.violins(axes):
        return []
    parts = {id(part) for one in wholes for part in one[2]}
    parts |= {id(one.stemlines) for one in axes.containers if isinstance(one, container.StemContainer)}
    return [one for one in axes.collections if isinstance(one, collections.LineCollection) and id(one) not in parts and is_shown(one)
            and not isinstance(one, collections.EventCollection) and one.get_transform() == axes.transData]


def _is_of_lines(collection):
    """Whether its lines run along an axis, as those of hlines() do and the edges of a graph do not."""
    segments = collection.get_segments()
    return bool(segments) and all(len(one) == 2 and (one[0] == one[1]).any() for one in segments)
