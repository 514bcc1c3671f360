"""Pictures of plotly's figures, drawn by plotly itself in the environment's browser."""

import json
import os
import re
import sys
from binascii import a2b_base64

from hutch_runner.browser import NoBrowser, Page, is_there

CHARACTERS_MAX = 30_000_000  # in a figure; drawing one of those takes a browser about a gigabyte
CHARACTERS_OF_BINS_MAX = 6_000_000  # half a million numbers: they take about as long as the picture
_WIDTH, _HEIGHT = 700, 500  # as plotly itself draws what says nothing of its size
_MAPS = "/environment/share/topojson"
_KINDS = ("png", "jpeg", "webp", "svg")
_TILES = re.compile(r'"type":"(?:scatter|choropleth|density)map(?:box)?"')

_page = Page(lambda: (_library(), f"window.PlotlyGeoAssets = {{topojson: {_maps('110m')}}}"))


def run_is_over():
    _page.look()


def end():
    """Ends the browser of a program that does; an interpreter's ends with its session."""
    _page.end()


def picture(figure_json, kind="png", width=None, height=None, scale=None, seconds=60):
    """Bytes of the figure's picture; NoBrowser says why there is none. Sizes in CSS pixels, before `scale`."""
    kind = {"jpg": "jpeg"}.get(kind, kind)
    if kind not in (*_KINDS, "pdf"):
        raise NoBrowser(f"a browser draws no {kind}: {', '.join(_KINDS)} and pdf can be had")
    if not is_there():
        raise NoBrowser("this environment has no browser")
    if len(figure_json) > CHARACTERS_MAX:
        raise NoBrowser(f"a figure of {len(figure_json) / 1e6:.0f} MB is too much for a browser here")
    fine_maps = f"Object.assign(PlotlyGeoAssets.topojson, {_maps('50m')});" if '"resolution":50' in figure_json else ""
    options = {"format": "svg" if kind == "pdf" else kind, "scale": scale or 1, "imageDataOnly": True}
    try:
        content, width, height = _drawn(figure_json, fine_maps, options, width, height, seconds)
    except NoBrowser as failure:
        if _TILES.search(figure_json.partition('"layout":')[0]):  # a template has one of each type
            raise NoBrowser(f"{failure} (the tiles of its map come from a network, where the session may use that; scatter_geo and "
                            "choropleth need none)") from failure
        raise
    if kind == "svg":
        return content.encode()
    return a2b_base64(_page.print_svg(content, width, height, seconds) if kind == "pdf" else content)


def _drawn(figure_json, fine_maps, options, width, height, seconds):
    return _page.evaluate(f"""(async () => {{
        {fine_maps}
        const figure = JSON.parse({json.dumps(figure_json)});
        const own = (name) => figure.layout?.[name] || figure.layout?.template?.layout?.[name];
        const width = {json.dumps(width)} || own('width') || {_WIDTH}, height = {json.dumps(height)} || own('height') || {_HEIGHT};
        return [await Plotly.toImage(figure, {{...{json.dumps(options)}, width, height}}), width, height];
    }})()""", seconds)


def bins(figure_json, seconds=10):
    """The bins in which plotly counts numbers: by the place of the histogram among the traces, a list of [from, to, count] each."""
    if len(figure_json) > CHARACTERS_OF_BINS_MAX:
        raise NoBrowser("a figure of that size is not drawn again for its bins")
    found = _page.evaluate(f"""(async () => {{
        const {{ data, layout }} = JSON.parse({json.dumps(figure_json)});
        const element = document.createElement('div');
        try {{
            await Plotly.newPlot(element, data, {{width: {_WIDTH}, height: {_HEIGHT}, ...layout}}, {{staticPlot: true}});
            return element.calcdata.flatMap((points) => {{
                const trace = points[0]?.trace ?? {{}};
                if (trace.type !== 'histogram' || trace.visible !== true) return [];
                const along = trace.orientation === 'h' ? 'y' : 'x', group = `_${{along}}bingroup`;
                const same = [trace, ...element._fullData.filter((one) => one[group] && one[group] === trace[group])];
                const size = same.map((one) => one[`${{along}}bins`]?.size).find(Number.isFinite); // only the first of a group has it
                if (size === undefined) return [];
                return [[trace.index, points.filter(({{ p, s }}) => isFinite(p + s)).map(({{ p, s }}) => [p - size / 2, p + size / 2, s])]];
            }});
        }} finally {{
            Plotly.purge(element);
        }}
    }})()""", seconds)
    return dict(found)


def _library():
    plotly = sys.modules["plotly"]
    with open(os.path.join(os.path.dirname(plotly.__file__), "package_data", "plotly.min.js")) as file:
        return file.read()


def _maps(resolution):
    """The outlines that plotly would ask its makers' server for, as JavaScript: an object with one for each name."""
    found = []
    for name in os.listdir(_MAPS) if os.path.isdir(_MAPS) else ():
        if name.endswith(f"_{resolution}.json"):
            with open(os.path.join(_MAPS, name)) as file:
                found.append(f"{json.dumps(name[:-5])}: {file.read()}")
    return "{" + ", ".join(found) + "}"
