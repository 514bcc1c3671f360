"""Figures of plotly and altair as results: picture, chart, HTML and the library's own JSON.

Both would open a browser in show(); here that is a result of the run.
"""

import sys

from hutch_runner import chart_pictures
from hutch_runner.channel import INLINE_CHARACTERS, EncodedJson
from hutch_runner.imports import WhenImported
from hutch_runner.json_text import decode
from hutch_runner.plain_json import plain

SHOWN_SECONDS = 20  # for a picture that nobody has asked for by name
BINS_SECONDS = 10  # for the bins of its histograms


def watch(display):
    """Makes show() of the libraries a display(), once user code imports them."""
    def take_plotly(module):
        module.BaseFigure.show = lambda self, *_arguments, **_options: display(self)

    def take_altair(module):
        mixin = getattr(module, "TopLevelMixin", None) or module.Chart
        mixin.show = mixin.display = lambda self, *_arguments, **_options: display(self)
        # Its bound is for pages; here the advice that comes with it, to install another program, leads nowhere.
        module.data_transformers.disable_max_rows()

    for name, take in (("plotly.basedatatypes", take_plotly), ("plotly.io._kaleido", take_plotly_images), ("altair", take_altair)):
        WhenImported(name, take)


def take_plotly_images(module):
    """Draws for plotly.io._kaleido, where there is no kaleido: in cells, and in programs that a session starts (user_site.py)."""
    if not module.kaleido_available():
        module.kaleido_available, module.to_image = lambda: True, _plotly_image
        module.write_images = lambda *arguments, **options: _write_images(module, *arguments, **options)


def is_figure(value):
    return _formats_function(value) is not None


def formats_of(value):
    """The formats of a figure of plotly or altair; None for anything else."""
    formats = _formats_function(value)
    return None if formats is None else formats(value)


def _formats_function(value):
    plotly, altair = sys.modules.get("plotly.basedatatypes"), sys.modules.get("altair")
    if plotly is not None and isinstance(value, getattr(plotly, "BaseFigure", ())):
        return _plotly
    if altair is not None and isinstance(value, getattr(altair, "TopLevelMixin", ())):
        return _altair
    return None


def _plotly(figure):
    text = figure.to_json()
    if len(text) > 2 * INLINE_CHARACTERS:
        spec = EncodedJson(text)
    else:
        spec = decode(text)
        spec.get("layout", {}).pop("template", None)  # how plotly draws anyway, in seven kilobytes
        spec = plain(spec, large=float)  # for plotly they are numbers
    picture, lacks, chart = _drawn_by_plotly(figure, text)
    return {"text": _words_for(figure) + lacks, "png": picture, "html": figure.to_html(include_plotlyjs="cdn", full_html=False), "json": spec, "chart": chart}


def run_is_over():
    """Code may have made the browser larger that was started for its pictures."""
    pictures = sys.modules.get("hutch_runner.plotly_pictures")
    if pictures is not None:
        pictures.run_is_over()


def _drawn_by_plotly(figure, figure_json):
    """The picture, or None, what is to be said of it, and the chart, which agrees with it."""
    from hutch_runner import plotly_charts, plotly_pictures
    try:
        picture = plotly_pictures.picture(figure_json, seconds=SHOWN_SECONDS)
        return picture, "", _chart(lambda drawn: plotly_charts.chart_of(drawn, _drawn_bins(drawn, figure_json)), figure)
    except plotly_pictures.NoBrowser as failure:
        reason = str(failure)
    chart = _chart(plotly_charts.chart_of, figure)
    picture = _picture(lambda drawn: chart_pictures.draw(drawn, downwards=_goes_down(figure)), chart)
    if picture is None:
        return None, f"; no picture: {reason}", chart
    return picture, f"; drawn by matplotlib from its data, without plotly's sizes, second axes and themes: {reason}", chart


def _drawn_bins(figure, figure_json):
    """None of its own where the browser fails with them: others would contradict the picture."""
    from hutch_runner import plotly_charts, plotly_pictures
    try:
        return plotly_pictures.bins(figure_json, BINS_SECONDS) if plotly_charts.has_bins(figure) else {}
    except plotly_pictures.NoBrowser:
        return {}


def _goes_down(figure):
    return str(figure.layout.yaxis.autorange).startswith(("reversed", "max reversed", "min reversed"))


def _plotly_image(figure, format=None, width=None, height=None, scale=None, validate=True, **_options):
    """Makes the picture that to_image() and write_image() of plotly get from kaleido, and so from a browser."""
    from hutch_runner import plotly_charts, plotly_pictures
    if isinstance(figure, dict):
        figure = sys.modules["plotly.graph_objects"].Figure(figure)
    kind = (format or "png").lower()
    try:
        return plotly_pictures.picture(figure.to_json(), kind, width, height, scale)
    except plotly_pictures.NoBrowser as failure:
        reason = str(failure)
    chart = _chart(plotly_charts.chart_of, figure)
    picture = None if chart is None else chart_pictures.draw(chart, kind, width, height, scale, _goes_down(figure))
    if picture is None:
        raise ValueError(f"no picture of this figure: {reason}; fig.write_html('figure.html') keeps the whole")
    import warnings
    warnings.warn(f"drawn by matplotlib from the figure's data, since plotly's own pictures take a browser: {reason}; "
                  "fig.write_html() keeps the figure as it is", stacklevel=2)
    return picture


def _write_images(module, fig, file, format=None, scale=None, width=None, height=None, validate=True):
    for one in module.broadcast_args_to_dicts(fig=fig, file=file, format=format, scale=scale, width=width, height=height, validate=validate):
        module.write_image(one.pop("fig"), one.pop("file"), **one)


def _altair(chart):
    from hutch_runner import vega_advice, vega_charts
    spec = chart.to_dict()
    with_file = vega_advice.with_its_file(spec)
    html = chart.to_html() if with_file is spec else sys.modules["altair"].Chart.from_dict(with_file).to_html()
    return {"text": repr(chart) + vega_advice.notes(with_file), "png": _picture(_draw_vega_lite, with_file), "html": html,
            "json": plain(with_file, large=float), "chart": _chart(vega_charts.chart_of, with_file)}


def _words_for(figure):
    """Its own are all of its data."""
    kinds = ", ".join(trace.type for trace in figure.data[:10]) + (", ..." if len(figure.data) > 10 else "")
    title = getattr(figure.layout.title, "text", None)
    return f"Figure({len(figure.data)} {'trace' if len(figure.data) == 1 else 'traces'}: {kinds})" + (
        f": {str(title)[:500]}" if title else "")


def _draw_vega_lite(spec):
    import vl_convert
    return vl_convert.vegalite_to_png(spec, scale=1.5)


def _picture(draw, value):
    try:
        return draw(value)
    except Exception:
        return None  # not installed, or nothing that it can draw; the other forms are there


def _chart(make, value):
    from hutch_runner import chart_data
    try:
        return chart_data.bounded(plain(make(value), large=float))
    except Exception:
        return None  # charts are a bonus: nothing that can be shown may fail for want of one
