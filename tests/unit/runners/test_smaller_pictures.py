"""Pictures of PIL as PNG: every mode, and what is lost where they are too large to be read."""

import pytest

PREPARE = """
import functools, io, time
import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont, ImageStat
from hutch_runner import pictures
random = np.random.default_rng(1)
y, x = np.mgrid[0:800, 0:1200]
def made(points, noise): return Image.fromarray(np.clip(points + random.normal(0, noise, points.shape), 0, 255).astype(np.uint8))
smooth = np.dstack([x / 1200 * 255, y / 800 * 255, (x + y) / 2000 * 255])
spots = np.asarray(Image.fromarray(random.integers(0, 256, (25, 38, 3), dtype=np.uint8)).resize((1200, 800), Image.BICUBIC)).astype(float)
page = Image.new('RGB', (1200, 800), 'white')
for line in range(46):
    ImageDraw.Draw(page).text((30, 10 + 17 * line), 'The quick brown fox jumps over the lazy dog, 0123456789. ' * 2, fill=(20, 20, 20), font=ImageFont.load_default(13))
written = made(np.asarray(page).astype(float) * (0.65 + 0.35 * (x + y) / 2000)[..., None], 7)
beside = made(spots, 10); beside.paste(page.crop((0, 0, 700, 800)), (500, 0))
heat = random.random((450, 1200, 1))
chart = page.copy(); chart.paste(made(np.dstack([heat * 255, 255 * (1 - heat), 128 + 100 * heat]), 0), (0, 350))
values = {'smooth': made(smooth, 4), 'photo': made(spots, 10), 'written': written, 'beside': beside, 'chart': chart,
          'noise': Image.fromarray(random.integers(0, 256, (800, 1200, 3), dtype=np.uint8))}
@functools.cache
def seen(name):
    png = pictures.fit(pictures.png_of(values[name]))
    return len(png), Image.open(io.BytesIO(png)).convert('RGB')
def loss(name, radius=1):
    shown = seen(name)[1]
    both = [picture.resize((1200 // radius, 800 // radius), Image.BOX if radius > 1 else Image.BICUBIC) for picture in (values[name], shown.resize((1200, 800)))]
    return sum(ImageStat.Stat(ImageChops.difference(*both)).mean) / 3
"""


@pytest.fixture(scope="module")
def large(extras):
    assert extras.run(PREPARE).ok
    return extras


@pytest.mark.parametrize("name, least, most", [("smooth", 600, 3), ("photo", 600, 8), ("written", 1200, 4), ("beside", 1200, 8), ("noise", 1000, 40), ("chart", 1200, 3)])
def test_of_a_photo_points_or_colours_are_lost_whichever_is_less(large, name, least, most):
    """A page keeps the points that its letters need; a sky its colours."""
    ending = large.run(f"size, shown = seen({name!r})\n(shown.width >= {least}, loss({name!r}) < {most}, size <= 750_000)")
    assert ending.text == "(True, True, True)", large.run(f"size, shown.size, loss({name!r})").text


def test_no_patches_beside_a_page(large):
    """Over eight points a side the mean is that of the picture; it would be more than 6 away with the nearest of 256 colours."""
    assert large.run("loss('beside', radius=8) < 2.5").text == "True", large.run("loss('beside', radius=8)").text


@pytest.mark.parametrize("name, told", [("smooth", "(drawn smaller: "), ("noise", " pixels, in 256 colours)"), ("written", "(drawn in 256 colours)"), ("chart", "(drawn in 256 colours)")])
def test_what_is_lost_is_told(large, name, told):
    assert told in large.run(f"values[{name!r}]").text


def test_what_is_kept_is_not_told(large):
    assert "drawn" not in large.run("page").text and "drawn" not in large.run("page.quantize(256)").text


def test_a_picture_is_made_smaller_soon(large):
    """Its processor's time: others work beside the tests."""
    ending = large.run("png = pictures.png_of(values['smooth'])\ntimes = []\nfor again in range(2):\n    started = time.process_time(); pictures.shrink(png)\n"
                       "    times.append(time.process_time() - started)\nmin(times)")
    assert float(ending.text) < 1, ending


def test_a_thin_picture_is_as_small_as_can_be(large):
    assert large.run("png = pictures.png_of(values['noise'].resize((1500, 400)).crop((0, 0, 1500, 205)))\n"
                     "large = len(png) > pictures.BYTES_GOOD, len(pictures.shrink(png)) <= pictures.BYTES_GOOD; large").text == "(True, True)"


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "LAB", "I", "F", "I;16", "RGBX", "RGBa", "PA"])
def test_each_mode_is_shown(large, mode):
    """From black to white, as the picture is."""
    ending = large.run("grey = Image.linear_gradient('L').convert('RGB')\n"
                       f"value = grey.convert('P').convert('PA') if {mode!r} == 'PA' else grey.convert('RGBA').convert('RGBa') if {mode!r} == 'RGBa' "
                       f"else grey.convert('L').convert({mode!r}) if {mode!r} in ('I', 'F', 'I;16', 'LA') else grey.convert({mode!r})\nvalue")
    assert ending.ok and "png" in ending.main["formats"] and "no rich form" not in ending.text, ending
    assert large.run("shown = Image.open(io.BytesIO(pictures.of_pil(value))).convert('L' if value.mode != 'I;16' else 'I')\nshown.getpixel((9, 255)) - shown.getpixel((9, 0)) > 245").text == "True"


@pytest.mark.parametrize("values", ["[[0, .5, 1]], dtype='float32'", "[[-3e6, 0, 3e6]], dtype='float32'", "[[-7, 0, 7]], dtype='int32'", "[[70000, 80000, 90000]], dtype='int32'"])
def test_numbers_are_shown_from_black_to_white(large, values):
    assert large.run(f"shown = Image.open(io.BytesIO(pictures.of_pil(Image.fromarray(np.array({values})))))\n"
                     "[shown.getpixel((0, 0)), 120 < shown.getpixel((1, 0)) < 135, shown.getpixel((2, 0))]").text == "[0, True, 255]"


@pytest.mark.parametrize("size, told", [((1200, 800), "1200 800 1200 800 1"), ((1600, 800), "1568 784 1600 800 1")])
def test_how_large_both_are_is_printed(large, size, told):
    ending = large.run(f"Image.new('RGB', {size}).save('a.png')\npictures.draw_smaller('a.png', 'b.jpg', 750_000)")
    assert ending.ok and ending.stdout == told + "\n", ending
    large.run("Image.new('RGB', (30, 20)).save('a.gif', save_all=True, append_images=[Image.new('RGB', (30, 20), 'red')])")
    assert large.run("pictures.draw_smaller('a.gif', 'b.jpg', 750_000)").stdout == "30 20 30 20 2\n"
