"""Pictures small enough to be read: PNG of at most 750 kB where that can be had."""

BYTES_GOOD = 750_000
BYTES_MAX = 20 << 20  # the host's own bound
SIDE_MIN = 200


def bytes_of(content):
    """Bytes, also of the base64 text that IPython's Image gives."""
    if isinstance(content, str):
        from base64 import b64decode
        return b64decode(content)
    return bytes(content) if isinstance(content, (bytes, bytearray)) else None


def as_png(picture):
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    Image.open(BytesIO(picture)).save(buffer, format="PNG")
    return buffer.getvalue()


def of_svg(svg):
    """Drawn by the library that altair's charts are drawn by; None without it."""
    from importlib.util import find_spec

    if find_spec("vl_convert") is None:
        return None
    import vl_convert
    return vl_convert.svg_to_png(svg, scale=1.5)


def fit(png):
    """The picture, drawn smaller when it is too large; None when it is that and cannot be."""
    if len(png) <= BYTES_GOOD:
        return png
    try:
        return shrink(png)
    except Exception:  # no PIL, or nothing that it can read
        return png if len(png) <= BYTES_MAX else None


def shrink(png):
    from io import BytesIO

    from PIL import Image

    picture = Image.open(BytesIO(png))
    picture.load()
    while True:
        # Bytes go with the area; a little less, so that twice is mostly enough.
        factor = min(0.9, (BYTES_GOOD / len(png)) ** 0.5 * 0.95)
        size = [max(1, round(side * factor)) for side in picture.size]
        if min(size) < SIDE_MIN:
            return png
        buffer = BytesIO()
        picture = picture.resize(size)
        picture.save(buffer, format="PNG")
        png = buffer.getvalue()
        if len(png) <= BYTES_GOOD:
            return png


if __name__ == "__main__":  # for ../javascript/pictures.mjs
    import sys
    sys.stdout.buffer.write(shrink(sys.stdin.buffer.read()))
