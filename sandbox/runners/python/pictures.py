"""Pictures small enough to be read: PNG of at most 750 kB where that can be had.

As a program it makes them smaller: without arguments the PNG from its stdin, to stdout; else the file PATH (its bytes in
hexadecimal, since names may be no text), of any kind, as a JPEG of at most BYTES in the file TARGET, whose folder is its own.
"""

import contextlib
import os
import sys
import time

PNG = b"\x89PNG\r\n\x1a\n"
BYTES_GOOD = 750_000
BYTES_MAX = 20 << 20  # the host's own bound
SIDE_MIN = 200
SIDE_SHOWN = 1568  # models see no more of a larger one
COLOURS = 256
LOSS_SMALL = 3  # so much, of 255, is not seen
KEPT_SECONDS = 600
ORIENTATION = 0x0112  # a tag of EXIF
_MODES_OF_PNG = ("1", "L", "LA", "I;16", "P", "RGB", "RGBA")
JPEG_POINTS_MAX = 400_000_000  # it is read in a part of its size; of what is not, Pillow's own bound holds


def bytes_of(content):
    """Bytes, also of the base64 text that IPython's Image gives."""
    if isinstance(content, str):
        from base64 import b64decode
        return b64decode(content)
    return bytes(content) if isinstance(content, (bytes, bytearray)) else None


def as_png(picture):
    from io import BytesIO

    from PIL import Image

    return png_of(Image.open(BytesIO(picture)))


def png_of(picture):
    """Returns a picture of PIL as PNG: no larger than a model sees."""
    if max(picture.size) > SIDE_SHOWN:
        picture = picture.copy()
        picture.thumbnail((SIDE_SHOWN, SIDE_SHOWN))
    if picture.mode in ("I", "F"):
        picture = _in_grey(picture)
    elif picture.mode not in _MODES_OF_PNG:
        picture = picture.convert("RGBA" if picture.mode in ("RGBa", "La", "PA") else "RGB")
    return _saved(picture)


def _saved(picture):
    from io import BytesIO

    buffer = BytesIO()
    picture.save(buffer, format="PNG")
    return buffer.getvalue()


def of_pil(value):
    """The PNG of a value that is a picture of PIL; None for any other value."""
    module = sys.modules.get("PIL.Image")
    return png_of(value) if module is not None and isinstance(value, getattr(module, "Image", ())) else None


def size_of(png):
    """Width and height, as the header says them."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def has_palette(png):
    return png[25] == 3


def loss_of(png, size, had_palette):
    """In words, for a picture that was so large; empty where it has all its points and colours."""
    words = "{} x {} pixels".format(*size_of(png)) if size_of(png) != size else ""
    if has_palette(png) and not had_palette:
        words += f"{', ' if words else ''}in {COLOURS} colours"
    return f" (drawn {'smaller: ' if size_of(png) != size else ''}{words})" if words else ""


def frames_of(picture):
    """In words, for a picture of PIL that is one of several of its file; else empty.

    They are counted in the file: counting in the picture itself reads it anew, without what has been drawn on it."""
    path = getattr(picture, "filename", None)
    try:
        if not path or not isinstance(path, (str, bytes, os.PathLike)) or not os.path.isfile(path):
            return ""
        from PIL import Image

        with Image.open(path) as again:
            return _words_for_frame(picture.tell(), again) if again.format == picture.format else ""
    except Exception:  # closed, or cut off
        return ""


def _words_for_frame(at, picture):
    count = getattr(picture, "n_frames", 1)
    if count <= max(at, 1) or picture.format == "MPO":  # a photo, with a smaller one of itself
        return ""
    return f" (frame {at + 1} of {count})" if at else f" (the first of {count} frames)"


def frames_in(content):
    """Likewise for the bytes of a picture that PIL reads."""
    from io import BytesIO

    from PIL import Image

    try:
        with Image.open(BytesIO(content)) as picture:
            return _words_for_frame(0, picture)
    except Exception:  # cut off
        return ""


def of_svg(svg):
    """Drawn by the library that altair's charts are drawn by; None without it."""
    from importlib.util import find_spec

    if find_spec("vl_convert") is None:
        return None
    import vl_convert
    png = vl_convert.svg_to_png(svg, scale=1.5)
    if find_spec("PIL") is None:
        return png
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    on_white(Image.open(BytesIO(png))).save(buffer, format="PNG")
    return buffer.getvalue()


def on_white(picture):
    """A picture in RGB. Black lines on no ground of their own are black on black for some who look."""
    from PIL import Image

    if picture.mode == "F" or picture.mode.startswith("I"):
        picture = _in_grey(picture)
    if not picture.has_transparency_data:
        return picture.convert("RGB")
    picture = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture).convert("RGB")


def _in_grey(picture):
    """From black to white what has more bits a pixel: converted as they are, nearly all of them would be white."""
    low, high = picture.getextrema()
    factor = 255 / ((high - low) or 1)
    return picture.convert("F").point(lambda value: value * factor - low * factor).convert("L")


def fit(png):
    """The picture, drawn smaller when it is too large; None when it is that and cannot be."""
    if len(png) <= BYTES_GOOD:
        return png
    try:
        return shrink(png)
    except Exception:  # no PIL, or nothing that it can read
        return png if len(png) <= BYTES_MAX else None


def shrink(png):
    """With fewer colours where those are nearly as good, as in charts; else with fewer points if that is nearer to the picture."""
    from io import BytesIO

    from PIL import Image

    picture = Image.open(BytesIO(png))
    picture.load()
    if max(picture.size) > SIDE_SHOWN or len(png) > picture.width * picture.height * len(picture.getbands()) * 0.9:  # not compressed, perhaps
        picture.thumbnail((SIDE_SHOWN, SIDE_SHOWN))
        whole = _saved(picture)
    else:
        whole = png
    if len(whole) <= BYTES_GOOD:
        return whole
    if picture.mode not in ("RGB", "RGBA", "L"):
        return _with_fewer_points(picture, whole)[1]
    made = _in_fewer_colours(picture)
    of_colours = made, _saved(made)
    if len(of_colours[1]) > BYTES_GOOD or (loss := _difference(picture, made)) > LOSS_SMALL:
        of_points = _with_fewer_points(picture, whole)
        if len(of_colours[1]) > BYTES_GOOD:
            of_colours = _with_fewer_points(picture, of_colours[1], _in_fewer_colours)
            loss = _difference(picture, of_colours[0])
        if len(of_points[1]) <= max(BYTES_GOOD, len(of_colours[1])) and _difference(picture, of_points[0]) < loss:
            return of_points[1]
        if picture.mode == "RGB" and of_colours[0].size == picture.size:
            dithered = _saved(picture.quantize(palette=made, dither=Image.Dither.FLOYDSTEINBERG))  # no patches where it is smooth
            return dithered if len(dithered) <= BYTES_GOOD else of_colours[1]
    return of_colours[1]


def _in_fewer_colours(picture):
    from PIL import Image

    return picture.quantize(COLOURS, method=Image.Quantize.FASTOCTREE)


def _with_fewer_points(picture, png, changed=lambda smaller: smaller):
    """The picture as it is saved, and that; of one whose PNG is too large."""
    size, made = picture.size, changed(picture)
    while len(png) > BYTES_GOOD:
        # Bytes go with the area; a little less, so that twice is mostly enough.
        factor = min(0.9, (BYTES_GOOD / len(png)) ** 0.5 * 0.95)
        size = [max(1, round(side * factor)) for side in size]
        if min(size) < SIDE_MIN:
            break
        made = changed(picture.resize(size))
        png = _saved(made)
    return made, png


def _difference(picture, other):
    """How far a part of a colour is from that of the other picture, in the mean."""
    from PIL import ImageChops, ImageStat

    mode = "RGBA" if picture.mode == "RGBA" else "RGB"
    other = other.convert(mode)
    if other.size != picture.size:
        other = other.resize(picture.size)
    means = ImageStat.Stat(ImageChops.difference(picture.convert(mode), other)).mean
    return sum(means) / len(means)


def _is_of_a_phone(path):
    """Whether it may be HEIC, which Pillow itself does not read."""
    with open(path, "rb") as file:
        return file.read(8)[4:] == b"ftyp"


def draw_smaller(path, target, bytes_max):
    """A JPEG of the picture, upright, that a model sees as much in; prints width and height of it and of the whole, and how many frames that has."""
    from PIL import Image, ImageOps

    points_max, Image.MAX_IMAGE_PIXELS = 2 * Image.MAX_IMAGE_PIXELS, JPEG_POINTS_MAX
    if _is_of_a_phone(path):
        with contextlib.suppress(ImportError):  # then Pillow says that it is none of its kinds
            from pillow_heif import register_heif_opener

            register_heif_opener()
    with Image.open(path) as picture:
        width, height = picture.size
        if width * height > (JPEG_POINTS_MAX if picture.format in ("JPEG", "MPO") else points_max):
            raise ValueError(f"{width} x {height} pixels are too many")
        if picture.getexif().get(ORIENTATION) in (5, 6, 7, 8):  # it lies on its side
            width, height = height, width
        frames = getattr(picture, "n_frames", 1)
        picture.thumbnail((SIDE_SHOWN, SIDE_SHOWN))  # first of all: a JPEG is then read in a part of its size
        shown = on_white(ImageOps.exif_transpose(picture))
    side = SIDE_SHOWN
    while True:
        shown.thumbnail((side, side))
        shown.save(target, "JPEG", quality=85)
        if os.path.getsize(target) <= bytes_max:
            break
        side = round(max(shown.size) * 0.8)
    print(shown.width, shown.height, width, height, frames)


def main(arguments):
    if not arguments:  # for ../javascript/pictures.mjs
        sys.stdout.buffer.write(shrink(sys.stdin.buffer.read()))
        return
    path, target, bytes_max = arguments
    try:
        clear(os.path.dirname(target))
        draw_smaller(bytes.fromhex(path), target, int(bytes_max))
    except ImportError:
        sys.exit("this session's Python has no Pillow, which would draw it smaller")
    except Exception as failure:
        sys.exit(f"Pillow cannot draw it smaller: {failure}")


def clear(folder):
    """Removes what somebody has read long ago."""
    os.makedirs(folder, exist_ok=True)
    for entry in os.scandir(folder):
        with contextlib.suppress(OSError):  # another one clears it, too
            if entry.stat(follow_symlinks=False).st_mtime < time.time() - KEPT_SECONDS:
                os.unlink(entry)


if __name__ == "__main__":
    main(sys.argv[1:])
