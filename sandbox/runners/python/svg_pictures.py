"""Pictures of SVG by the environment's browser: of scripts whose signs vl_convert sets one over another."""

import json
import re
from binascii import a2b_base64, b2a_base64

from hutch_runner.browser import NoBrowser, Page, is_there

_SECONDS = 20
_SIDE_MAX = 8_000  # pixels
_ALPHABETS = re.compile("[\u0900-\u0dff\u1000-\u109f\u1780-\u17ff]")  # from Devanagari to Sinhala; Burmese; Khmer
_page = Page(lambda: ())


def is_needed(svg):
    return _ALPHABETS.search(svg) is not None and is_there()


def png(svg, scale):
    """NoBrowser says why there is none. Nothing that the SVG names elsewhere is loaded."""
    source = "data:image/svg+xml;base64," + b2a_base64(svg.encode("utf-8", "replace"), newline=False).decode()
    try:
        drawn = _page.evaluate(f"""new Promise((done, failed) => {{
            const image = new Image();
            image.onload = () => {{
                const canvas = document.createElement('canvas');
                canvas.width = Math.min(Math.ceil(image.naturalWidth * {scale}), {_SIDE_MAX});
                canvas.height = Math.min(Math.ceil(image.naturalHeight * {scale}), {_SIDE_MAX});
                canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
                done(canvas.toDataURL('image/png'));
            }};
            image.onerror = () => failed(new Error('this is no SVG that a browser reads'));
            image.src = {json.dumps(source)};
        }})""", _SECONDS)
    finally:
        _page.end()  # it is needed for few charts, and takes memory
    head, _, content = str(drawn).partition(",")
    if head != "data:image/png;base64" or not content:
        raise NoBrowser("the browser has drawn nothing")
    return a2b_base64(content)
