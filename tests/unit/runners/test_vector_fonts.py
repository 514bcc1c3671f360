"""Lists of fonts in SVG end with one that is always found."""

import pytest

FAMILIES = [
    ('<text font-family="Arial">', '<text font-family="Arial, sans-serif">'),
    ("<text font-family='Times New Roman'>", "<text font-family='Times New Roman, serif'>"),
    ('<text font-family="Georgia, serif">', '<text font-family="Georgia, serif">'),
    ('<text font-family="Open Sans-Serif Pro">', '<text font-family="Open Sans-Serif Pro, sans-serif">'),
    ('<text font-family="Courier New">', '<text font-family="Courier New, monospace">'),
    ('<text style="fill: red; font-family: \'Open Sans\'; x: 1">', '<text style="fill: red; font-family: \'Open Sans\', sans-serif; x: 1">'),
    ("<text style='font-family:Lato'>", "<text style='font-family:Lato, sans-serif'>"),
    ("<style>text { font: bold 12px Verdana }</style>", "<style>text { font: bold 12px Verdana, sans-serif}</style>"),
    ("<style>text { font-family: Arial !important; }</style>", "<style>text { font-family: Arial, sans-serif !important; }</style>"),
    ("<style>text { font-family: var(--own); font-size: 12px }</style>", "<style>text { font-family: var(--own); font-size: 12px }</style>"),
    ("<text style='font-family: &quot;Open Sans&quot;; x: 1'>", "<text style='font-family: &quot;Open Sans&quot;, sans-serif; x: 1'>"),
    ("<text>font: none font-family='Arial'</text>", "<text>font: none font-family='Arial'</text>"),
    ('<text font-family="inherit" font-size="9">', '<text font-family="inherit" font-size="9">'),
]


@pytest.fixture(scope="module")
def completed():
    import sys

    from runner_client import RUNNERS

    sys.path.insert(0, str(RUNNERS / "python"))
    import vector_fonts

    yield vector_fonts.with_fonts_that_are_here
    sys.path.remove(str(RUNNERS / "python"))


@pytest.mark.parametrize("written,drawn", FAMILIES)
def test_a_list_of_fonts_ends_with_one_that_is_here(completed, written, drawn):
    assert completed(written) == drawn


def test_pictures_are_called_for_as_before(completed):
    import types

    from vector_fonts import take

    module = types.SimpleNamespace(**{f"{language}_to_svg": lambda vl_spec, theme=None: f"<svg>{vl_spec}{theme}</svg>" for language in ("vega", "vegalite")},
                                   **{f"{language}_to_{kind}": lambda vl_spec, version=None, scale=None: (vl_spec, version, scale)
                                      for language in ("vega", "vegalite") for kind in ("png", "jpeg", "pdf")},
                                   **{f"svg_to_{kind}": lambda svg, scale=None, ppi=None: (svg, scale) for kind in ("png", "jpeg", "pdf")})
    take(module)
    drawn = '<svg font-family="sans-serif">1dark</svg>'
    assert module.vegalite_to_png(1, theme="dark", scale=2) == module.vegalite_to_png(vl_spec=1, theme="dark", scale=2) == (drawn, 2)
    assert module.vegalite_to_png(1, "v5", 2) == (1, "v5", 2)
    take(other := types.SimpleNamespace(svg_to_png=print))
    assert other.svg_to_png is print, "a module that is another one is left alone"


def test_text_without_a_font_has_one(completed):
    assert completed("<?xml version='1.0'?><svg width='9'><svg/></svg>") == "<?xml version='1.0'?><svg font-family=\"sans-serif\" width='9'><svg/></svg>"
    assert completed("<svg font-family='serif'>") == "<svg font-family='serif'>"
