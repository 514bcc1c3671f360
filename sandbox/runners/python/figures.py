"""matplotlib figures: every one that a run leaves open, or shows, becomes a picture of the run.

matplotlib is never imported from here. Hooks wait until user code has imported it: then show(), pyplot's
and that of a figure, sends figures instead of warning that there is no screen, and what artists do not
tell afterwards is kept.
"""

import sys

from hutch_runner.imports import WhenImported
from hutch_runner.patterns import Pattern
from hutch_runner.plain_json import plain

PICTURE_BYTES_GOOD = 750_000  # larger ones are drawn again with fewer dots
PICTURE_DOTS_MAX = 4_000_000  # in the first drawing: more only takes time and memory
PICTURE_WIDTH_MIN = 400  # dots; below that nobody can read the labels
CHARACTERS_TOLD_MAX = 40
_PYPLOT = "matplotlib.pyplot"
_NO_GLYPH = Pattern(r"Glyph (\d+) ")


class Figures:
    def __init__(self, emit):
        self._emit = emit
        self._sent = []  # pairs of figure and output of this run, which need no second sending
        self._last_shown = None  # by show() of this run, which has closed it
        self._warnings = {}  # matplotlib's about this run's pictures, each once
        WhenImported("matplotlib.axes", watch_drawing)
        WhenImported("matplotlib.figure", self._take_figures)
        WhenImported(_PYPLOT, self._take_pyplot)

    def begin(self):
        self._sent, self._warnings, self._last_shown = [], {}, None

    def forget_but(self, output):
        """Forgets all others: their outputs were cleared."""
        self._sent = [one for one in self._sent if one[1] is output]

    def end(self):
        try:
            self.show_all()
        finally:
            if (pyplot := _pyplot()) is not None:
                pyplot.close("all")  # else the next run would draw into what an interrupt has left
            self._last_shown = None
            self._tell_warnings()

    def _take_pyplot(self, pyplot):
        def show(*_arguments, **_options):
            """Sends all open figures as results of this run, and closes them."""
            self.show_all()

        pyplot.show = show
        save = pyplot.savefig

        def savefig(*arguments, **options):
            """Saves the figure; after show(), which closes it, the one that was shown: else it would be an empty one."""
            if self._last_shown is not None and not pyplot.get_fignums():
                return self._last_shown.savefig(*arguments, **options)
            return save(*arguments, **options)

        pyplot.savefig = savefig

    def _take_figures(self, module):
        def show(figure, *_arguments, **_options):
            """Sends the figure as a result of this run, and closes it."""
            self._show(_pyplot(), figure)

        module.Figure.show = show

    @staticmethod
    def is_figure(value):
        figure = sys.modules.get("matplotlib.figure")
        return figure is not None and isinstance(value, getattr(figure, "Figure", ()))

    def show_all(self):
        """Sends the open figures that have not been sent, in the order they were made."""
        pyplot, failure = _pyplot(), None
        try:
            for number in pyplot.get_fignums() if pyplot is not None else ():
                try:
                    self._show(pyplot, pyplot.figure(number))
                except Exception as error:  # the others can be drawn all the same
                    failure = failure or error
            if failure is not None:
                raise failure
        finally:
            failure = None  # no circle with its own traceback

    def _show(self, pyplot, figure):
        """Sends a figure that is not empty and has not been sent, and closes it."""
        try:
            if figure.axes or figure.texts or figure.images or figure.artists:
                if not any(figure is sent for sent, _ in self._sent):
                    self._emit(*self.output_of(figure, is_main_result=False), figure=figure)
        finally:
            self._last_shown = figure
            if pyplot is not None:  # figures can be made without it
                pyplot.close(figure)

    def output_of(self, figure, is_main_result):
        output = {"is_main_result": is_main_result, "formats": ["text", "png"],
                  "text": _describe(figure)}
        self._sent.append((figure, output))
        picture = self._draw(figure)
        try:
            from hutch_runner import chart_data, charts
            chart = chart_data.bounded(plain(charts.chart_of(figure)))
        except Exception:
            chart = None  # charts are a bonus: no plot may fail for want of one
        if chart is not None:
            output["chart"] = chart
            output["formats"].append("chart")
        return output, picture

    def _draw(self, figure):
        import warnings

        # They would come again with every drawing.
        with warnings.catch_warnings(record=True) as caught:
            try:
                return _picture_of(figure)
            finally:
                self._warnings |= {(str(one.message), one.filename, one.lineno): one for one in caught}

    def _tell_warnings(self):
        told, self._warnings = self._warnings, {}
        lines, missing = [], {}
        for (message, *_place), one in told.items():
            if glyph := _NO_GLYPH.match(message):
                missing[chr(int(glyph[1]))] = None
            else:
                import warnings
                lines.append(warnings.formatwarning(one.message, one.category, one.filename, one.lineno))
        if missing:
            more = "..." if len(missing) > CHARACTERS_TOLD_MAX else ""
            lines.append(f"no font here has {''.join(missing)[:CHARACTERS_TOLD_MAX]}{more}; "
                         "these characters are shown as boxes\n")
        try:
            sys.stderr.write("".join(lines))
        except Exception:  # user code has put anything in its place
            pass


def _pyplot():
    """The module, where user code has imported it as a whole."""
    pyplot = sys.modules.get(_PYPLOT)
    return pyplot if hasattr(pyplot, "get_fignums") else None


def watch_drawing(_axes):
    try:
        from hutch_runner import drawn
        drawn.watch()
    except Exception:
        pass  # an unknown matplotlib: boxes come as lines, bins as bars


def title_of(figure):
    return figure._suptitle.get_text() if getattr(figure, "_suptitle", None) else ""


def title_of_axes(axes):
    """Which have three places for one."""
    return next(filter(None, map(axes.get_title, ("center", "left", "right"))), "")


def _describe(figure):
    titles = list(filter(None, [title_of(figure), *map(title_of_axes, figure.axes)]))
    width, height = figure.get_size_inches()
    text = f"Figure({width:g}x{height:g} in, {len(figure.axes)} axes)"
    return f"{text}: {'; '.join(titles)[:500]}" if titles else text


def _picture_of(figure):
    from io import BytesIO

    width, height = figure.get_size_inches()
    dots = min(float(figure.dpi), (PICTURE_DOTS_MAX / (width * height)) ** 0.5)
    while True:
        buffer = BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight", dpi=dots)  # its own dpi stays
        picture = buffer.getvalue()
        if len(picture) <= PICTURE_BYTES_GOOD or dots * 0.7 * width < PICTURE_WIDTH_MIN:
            return picture
        # Bytes go with the area.
        dots = max(dots * min(0.7, (PICTURE_BYTES_GOOD / len(picture)) ** 0.5), PICTURE_WIDTH_MIN / width)
