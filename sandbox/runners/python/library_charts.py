"""Figures of plotly and altair as results: picture, chart, HTML and the library's own JSON.

Both would open a browser in show(); here that is a result of the run.
"""

import sys
from json import JSONDecoder

from hutch_runner import chart_pictures
from hutch_runner.channel import INLINE_CHARACTERS, EncodedJson
from hutch_runner.imports import WhenImported
from hutch_runner.plain_json import plain


def watch(display):
    """Makes show() of the libraries a display(), once user code imports them."""
    def take_plotly(module):
        module.BaseFigure.show = lambda self, *_arguments, **_options: display(self)

    def take_altair(module):
        mixin = getattr(module, "TopLevelMixin", None) or module.Chart
        mixin.show = mixin.display = lambda self, *_arguments, **_options: display(self)

    def take_plotly_images(module):
        if not module.kaleido_available():
            module.kaleido_available, module.to_image = lambda: True, _plotly_image

    for name, take in (("plotly.basedatatypes", take_plotly), ("plotly.io._kaleido", take_plotly_images), ("altair", take_altair)):
        WhenImported(name, take)


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
    from hutch_runner import plotly_charts
    text = figure.to_json()
    if len(text) > 2 * INLINE_CHARACTERS:
        spec = EncodedJson(text)
    else:
        spec = JSONDecoder().decode(text)
        spec.get("layout", {}).pop("template", None)  # how plotly draws anyway, in seven kilobytes
        spec = plain(spec, large=float)  # for plotly they are numbers
    chart = _chart(plotly_charts.chart_of, figure)
    # Its own pictures take a browser.
    return {"text": _words_for(figure), "png": _picture(lambda drawn: chart_pictures.draw(drawn, downwards=_goes_down(figure)), chart),
            "html": figure.to_html(include_plotlyjs="cdn", full_html=False), "json": spec, "chart": chart}


def _goes_down(figure):
    return str(figure.layout.yaxis.autorange).startswith(("reversed", "max reversed", "min reversed"))


def _plotly_image(figure, format=None, width=None, height=None, scale=None, validate=True, **_options):
    """What to_image() and write_image() of plotly make of kaleido, and so of a browser."""
    from hutch_runner import plotly_charts
    if isinstance(figure, dict):
        figure = sys.modules["plotly.graph_objects"].Figure(figure)
    chart = _chart(plotly_charts.chart_of, figure)
    picture = None if chart is None else chart_pictures.draw(
        chart, (format or "png").lower(), width, height, scale, _goes_down(figure))
    if picture is None:
        raise ValueError("no picture of this figure: plotly draws with a browser, which is not here, and without one only usual charts "
                         "of two dimensions can be drawn; fig.write_html('figure.html') keeps the whole")
    import warnings
    warnings.warn("drawn by matplotlib from the figure's data, since plotly's own pictures take a browser: "
                  "fig.write_html() keeps the figure as it is", stacklevel=2)
    return picture


def _altair(chart):
    from hutch_runner import vega_charts
    spec = chart.to_dict()
    return {"png": _picture(_draw_vega_lite, spec), "html": chart.to_html(), "json": plain(spec, large=float), "chart": _chart(vega_charts.chart_of, spec)}


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
