"""The names of marks: their own labels, or those that the legend has for their colours.

seaborn labels no mark but writes a legend of its own, and `legend(names)` leaves the marks without labels, too.
"""

import numpy
from matplotlib import collections, colors, lines, patches


class Legend:
    def __init__(self, axes):
        self._names = {}  # colour -> name; None where several have it
        own = {label_of(mark) for mark in (*axes.lines, *axes.collections, *axes.containers, *axes.patches) if not _is_empty(mark)}
        legend = axes.get_legend() or next(iter(axes.figure.legends), None)
        handles = (getattr(legend, "legend_handles", None) or getattr(legend, "legendHandles", None) or ()) if legend else ()
        for handle, text in zip(handles, legend.get_texts() if legend else ()):
            name = text.get_text()
            colour = _colour(handle)
            if name and name not in own and colour:
                self._names[colour] = None if self._names.get(colour, name) != name else name

    def name_of(self, mark):
        """Empty for a mark that has none."""
        return label_of(mark) or self._names.get(_colour(mark)) or ""

    def clouds_of(self, collection):
        """Pairs of a name and the points that have it: one pair where the legend does not name each colour."""
        points = numpy.ma.filled(collection.get_offsets(), numpy.nan)
        shades = collection.get_facecolor()
        if label_of(collection) or not self._names or len(shades) != len(points) or len(shades) < 2:
            return [(self.name_of(collection), points)]
        names = numpy.array([self._names.get(_rounded(shade)) or "" for shade in shades])
        if (names == "").any():
            return [(self.name_of(collection), points)]
        return [(str(name), points[names == name]) for name in dict.fromkeys(names)]


def label_of(mark):
    """Its own; what begins with "_" is no label to matplotlib."""
    label = mark.get_label() if hasattr(mark, "get_label") else None
    return "" if label is None or str(label).startswith("_") else str(label)


def is_shown(mark):
    """Whether the picture has it: it is not hidden, not wholly transparent, and has a line, a marker or a colour."""
    if not mark.get_visible() or (not numpy.ndim(alpha := mark.get_alpha()) and alpha == 0):
        return False
    if isinstance(mark, lines.Line2D):
        return not (_is_nothing(mark.get_linestyle()) and _is_nothing(mark.get_marker()))
    if isinstance(mark, patches.Rectangle):
        return mark.get_facecolor()[-1] > 0 or (mark.get_edgecolor()[-1] > 0 and mark.get_linewidth() > 0)
    return True


def _is_nothing(style):
    return style is None or (isinstance(style, str) and style in ("None", "none", "", " "))


def _is_empty(mark):
    """Is true for a mark that seaborn draws for the legend alone."""
    if isinstance(mark, lines.Line2D):
        return not len(mark.get_xdata(orig=False))
    if isinstance(mark, patches.Rectangle):
        return mark.get_width() == mark.get_height() == 0
    if isinstance(mark, collections.PathCollection):
        return not len(mark.get_offsets())
    return isinstance(mark, (tuple, list)) and not len(mark)


def _colour(mark):
    """Red, green and blue of a mark of one colour; None of another."""
    if isinstance(mark, (tuple, list)):  # a container: bars of one series are alike
        mark = mark[0] if len(mark) else None
    if mark is None:
        return None
    if isinstance(mark, lines.Line2D):
        shown = mark.get_markerfacecolor() if _is_nothing(mark.get_linestyle()) else mark.get_color()
        return _rounded(colors.to_rgba(shown))
    if not hasattr(mark, "get_facecolor"):
        return None
    for shades in (mark.get_facecolor(), mark.get_edgecolor()):
        shades = numpy.atleast_2d(shades)
        if shades.size and len(shades) == 1 and shades[0][-1] > 0:
            return _rounded(shades[0])
    return None


def _rounded(rgba):
    return tuple(round(float(part), 3) for part in rgba[:3])
