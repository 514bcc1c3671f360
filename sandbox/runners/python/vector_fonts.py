"""Text of SVG and of altair's charts in a font that is not here: vl_convert leaves it out without a word, where browsers take another font."""

import functools
import re

_ATTRIBUTE = re.compile(r"""(\bfont-family\s*=\s*)(["'])(.*?)\2""", re.DOTALL)
_PROPERTY = re.compile(r"""(\bfont(?:-family)?\s*:\s*)((?:"[^"<>]*"|'[^'<>]*'|&#?\w+;|[^;}<>"'&])+)""")
_STYLE = re.compile(r"""\bstyle\s*=\s*(?:"[^"]*"|'[^']*')|<style\b.*?</style>""", re.DOTALL)
_TAG = re.compile(r"<style\b.*?</style>|<[^<>]+>", re.DOTALL)
_ROOT = re.compile(r"<svg\b(?![^>]*\sfont-family\s*=)")
_IS_HERE = re.compile(r"(?:sans-serif|serif|monospace|inherit|initial|unset)\s*(?:!important)?\s*$|\)\s*$")
_MONOSPACE = re.compile(r"mono|courier|consol|menlo|code", re.IGNORECASE)
_SERIF = re.compile(r"(?<!sans-)(?<!sans )serif|times|georgia|garamond|cambria|roman|palatino", re.IGNORECASE)
_OF_SVG = ("svg_to_png", "svg_to_jpeg", "svg_to_pdf")
_OF_VEGA = ("vega_to_png", "vega_to_jpeg", "vega_to_pdf")
_OF_VEGA_LITE = ("vegalite_to_png", "vegalite_to_jpeg", "vegalite_to_pdf")
_SIZES = ("scale", "ppi", "quality")


def take(module):
    """Has the module's pictures drawn with a font that is here, behind those that are asked for."""
    names = (*_OF_SVG, *_OF_VEGA, *_OF_VEGA_LITE, "vega_to_svg", "vegalite_to_svg")
    if not all(callable(getattr(module, name, None)) for name in names):
        return  # it is another version, or another module of that name
    if hasattr(module.svg_to_png, "__wrapped__"):
        return  # in an environment, where it is done for scripts, too (user_site.py)
    for of_svg, of_vega, of_vega_lite in zip(_OF_SVG, _OF_VEGA, _OF_VEGA_LITE):
        draw = getattr(module, of_svg)
        draw = _by_browser_where_needed(draw) if of_svg == "svg_to_png" else draw
        setattr(module, of_svg, _with_fonts(draw))
        setattr(module, of_vega, _by_way_of_svg(getattr(module, of_vega), module.vega_to_svg, draw))
        setattr(module, of_vega_lite, _by_way_of_svg(getattr(module, of_vega_lite), module.vegalite_to_svg, draw))


def _with_fonts(draw):
    @functools.wraps(draw)
    def with_fonts(svg, *arguments, **options):
        return draw(with_fonts_that_are_here(svg) if isinstance(svg, str) else svg, *arguments, **options)

    return with_fonts


def _by_browser_where_needed(draw):
    @functools.wraps(draw)
    def by_browser_where_needed(svg, *arguments, **options):
        try:
            from hutch_runner import svg_pictures
            if isinstance(svg, str) and not arguments and svg_pictures.is_needed(svg):
                return svg_pictures.png(svg, (options.get("scale") or 1) * (options.get("ppi") or 72) / 72)
        except Exception:
            pass  # as well as it can be drawn without
        return draw(svg, *arguments, **options)

    return by_browser_where_needed


def _by_way_of_svg(draw, to_svg, draw_svg):
    @functools.wraps(draw)
    def by_way_of_svg(*arguments, **options):
        if len(arguments) > 1:  # by its own order, which may change
            return draw(*arguments, **options)
        sizes = {name: options.pop(name) for name in _SIZES if name in options}
        return draw_svg(with_fonts_that_are_here(to_svg(*arguments, **options)), **sizes)

    return by_way_of_svg


def with_fonts_that_are_here(svg):
    """The SVG, in which each list of fonts ends with one of the three that are always found."""
    svg = _TAG.sub(lambda tag: _with_completed_lists(tag[0]) if "font" in tag[0] else tag[0], svg)
    return _ROOT.sub('<svg font-family="sans-serif"', svg, count=1)


def _with_completed_lists(tag):
    tag = _ATTRIBUTE.sub(lambda found: f"{found[1]}{found[2]}{_completed(found[3])}{found[2]}", tag)
    return _STYLE.sub(lambda style: _PROPERTY.sub(lambda found: found[1] + _completed(found[2]), style[0]), tag)


def _completed(families):
    named = families.rstrip()
    if not named or _IS_HERE.search(named):
        return families
    important = " !important" if named.endswith("!important") else ""
    named = named.removesuffix("!important").rstrip()
    return f"{named}, {'monospace' if _MONOSPACE.search(named) else 'serif' if _SERIF.search(named) else 'sans-serif'}{important}"
