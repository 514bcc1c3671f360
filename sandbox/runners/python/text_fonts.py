"""Text whose font does not have its characters, which PIL, reportlab and OpenCV draw as boxes or question marks without a word.

PIL's own font, which nobody has chosen, has little beyond ASCII: another of the environment's stands in for it. Any other is
the user's choice, and a note after the run names a font that has what it lacks; for several scripts one each.
"""

import functools
import os

from hutch_runner.imports import WhenImported

_OF_PIL = "Aileron"
_ALSO = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
_NOT_ALONE = {"Mn", "Mc", "Me", "Cf", "Cc", "Zs", "Zl", "Zp"}  # categories of what has no shape of its own
_NO_CHARACTER = "\U0010fffd"
_PROBE_SIZE = 16
_TOLD_MAX = 20
_PARTS_MAX = 3
_IN_PICTURES = "{path} has them", "each part in a font of its own: {parts}"
_IN_PDF = ("pdfmetrics.registerFont(TTFont('{name}', '{path}')) makes a font that has them, for fontName='{name}' "
           "(and wordWrap='CJK' in a ParagraphStyle)",
           "pdfmetrics.registerFont(TTFont(NAME, PATH)) makes a font for each part: {parts}")


def files():
    """The paths of fonts that any program can use, the largest first: it has most scripts."""
    folder = os.path.dirname(os.environ.get("FONTCONFIG_FILE", ""))
    names = os.listdir(folder) if os.path.isdir(folder) else []
    paths = [os.path.join(folder, name) for name in names if name.endswith(".ttf") and "Color" not in name]
    return sorted([*paths, _ALSO] if os.path.exists(_ALSO) else paths, key=os.path.getsize, reverse=True)


class TextFonts:
    def __init__(self):
        self.has_to_tell = False
        self._of_opencv = {}
        self._of_pictures, self._of_pdf = {}, {}  # by the name of a font, a pair of what it lacks of this run's texts and all their letters, in order
        self._missing = functools.lru_cache(50_000)(self._look_for)
        self._probes = {}
        self._draw = None  # FreeTypeFont.getmask2, as PIL has it
        WhenImported("PIL.ImageFont", self._watch_pictures)
        WhenImported("reportlab.pdfgen.textobject", self._watch_pdf)
        WhenImported("reportlab.pdfbase.ttfonts", self._watch_fonts_of_pdf)
        WhenImported("cv2", self._watch_opencv)

    def take_note(self):
        self.has_to_tell = False
        of_pictures, of_pdf = self._of_pictures, self._of_pdf
        self._of_pictures, self._of_pdf = {}, {}
        told = [f"the font {name} has no {_shown(lacks)}, which became boxes: {self._way(lacks, letters, *_IN_PICTURES)}"
                for name, (lacks, letters) in of_pictures.items()]
        if of_pdf:
            lacks, letters = ({char: None for pair in of_pdf.values() for char in pair[place]} for place in (0, 1))
            has = "has" if len(of_pdf) == 1 else "have"
            told.append(f"PDF's {', '.join(of_pdf)} {has} no {_shown(lacks)}, which became boxes: {self._way(lacks, letters, *_IN_PDF, self._fonts_alone)}")
        lacks, self._of_opencv = self._of_opencv, {}
        if lacks:
            told.append(f"cv2.putText() has ASCII only, so {_shown(lacks)} became question marks: PIL's ImageDraw writes them (Image.fromarray(image))")
        return "; ".join(told)

    def _way(self, lacks, letters, in_one, in_parts, fonts=None):
        """Also for the letters beside those that are lacking: a font that has those alone would be no better."""
        fonts = self._fonts if fonts is None else fonts
        parts, rest = self._parts(letters, fonts)
        nowhere = {char: None for char in rest if char in lacks}
        for font in fonts:
            nowhere = self._lacks_of(font, nowhere)
        if not parts or len(nowhere) == len(lacks):
            return "no font here has them"
        if len(parts) == 1 and not rest:
            (_, path), = parts
            return in_one.format(path=path, name=os.path.basename(path).partition(".")[0].partition("_")[0])
        way = in_parts.format(parts="; ".join(f"{_shown(chars)}: {path}" for chars, path in parts))
        return f"{way}; no font here has {_shown(nowhere)}" if nowhere else way

    def _parts(self, letters, fonts):
        """Pairs of characters and the path of a font that has them, and the characters that are in none of these."""
        found, rest = [], letters
        while rest and len(found) < _PARTS_MAX and (best := self._best(rest, fonts)) is not None:
            left = self._lacks_of(best, rest)
            if len(left) == len(rest):
                break
            found.append(best)
            rest = left
        scripts, parts = {}, {font: {} for font in found}
        for char in (char for char in letters if char not in rest):
            scripts.setdefault(_script_of(char), []).append(char)
        for chars in scripts.values():  # A word whose letters are in one of the fonts is not torn apart.
            fullest = sorted(found, key=lambda font: len(self._lacks_of(font, chars)))
            for char in chars:
                parts[next(font for font in fullest if not self._lacks_of(font, char))][char] = None
        return [(chars, font.path) for font, chars in parts.items() if chars], rest

    def _watch_pictures(self, module):
        kind = module.FreeTypeFont
        self._draw = kind.getmask2
        for name in ("getmask2", "getbbox", "getlength"):
            setattr(kind, name, self._with_a_font_for_it(getattr(kind, name)))

    def _with_a_font_for_it(self, method):
        @functools.wraps(method)
        def with_a_font_for_it(font, text, *arguments, **options):
            if isinstance(text, str) and not text.isascii():
                try:
                    font = self._font_for(font, text)
                except Exception:
                    pass  # a font of the user's making: PIL says what is wrong with it
            return method(font, text, *arguments, **options)

        return with_a_font_for_it

    def _font_for(self, font, text):
        lacks = self._lacks_of(font, text)
        if lacks and font.getname()[0] == _OF_PIL:
            best = self._best(text)
            if best is not None and len(best_lacks := self._lacks_of(best, text)) < len(lacks):
                font, lacks = best.font_variant(size=font.size), best_lacks
        if lacks:
            self._note(self._of_pictures, font.getname()[0] or "without a name", lacks, text)
        return font

    def _note(self, of_fonts, name, lacks, text):
        self.has_to_tell = True
        for known, chars in zip(of_fonts.setdefault(name, ({}, {})), (lacks, (char for char in text if not char.isascii() and _has_shape(char)))):
            known.update(dict.fromkeys(chars))

    def _best(self, text, fonts=None):
        """The font that has most of it."""
        return min(fonts or self._fonts, key=lambda font: len(self._lacks_of(font, text)), default=None)

    @functools.cached_property
    def _fonts(self):
        from PIL import ImageFont
        return [ImageFont.truetype(path, _PROBE_SIZE) for path in files()]

    @functools.cached_property
    def _fonts_alone(self):
        """The fonts as a PDF has them: PIL makes an accented letter of a letter and an accent, where it can."""
        from PIL import ImageFont
        return [ImageFont.truetype(path, _PROBE_SIZE, layout_engine=ImageFont.Layout.BASIC) for path in files()]

    def _lacks_of(self, font, text):
        key = (*font.getname(), font.path if isinstance(font.path, str) else "", getattr(font, "layout_engine", None))
        if key not in self._probes:
            probe = font.font_variant(size=_PROBE_SIZE)
            self._probes[key] = probe, self._picture(probe, _NO_CHARACTER)
        return {char: None for char in dict.fromkeys(text) if not char.isascii() and self._missing(key, char)}

    def _look_for(self, key, char):
        probe, nothing = self._probes[key]
        return _has_shape(char) and self._picture(probe, char) == nothing

    def _picture(self, font, char):
        mask, _ = self._draw(font, char, "L")
        return mask.size, bytes(mask)

    def _watch_opencv(self, module):
        write = module.putText

        @functools.wraps(write)
        def watched(image, text, *arguments, **options):
            if isinstance(text, str) and not text.isascii():
                self.has_to_tell = True
                self._of_opencv.update((char, None) for char in text if not char.isascii())
            return write(image, text, *arguments, **options)

        module.putText = watched

    def _watch_pdf(self, module):
        split = module.pdfmetrics_unicode2T1

        @functools.wraps(split)
        def watched(text, fonts):
            if isinstance(text, str) and not text.isascii():
                lacks = {char: None for char in text if not any(_is_in(font, char) for font in fonts)}
                if lacks:
                    self._note(self._of_pdf, fonts[0].fontName, lacks, text)
            return split(text, fonts)

        module.pdfmetrics_unicode2T1 = watched

    def _watch_fonts_of_pdf(self, module):
        split = module.TTFont.splitString

        @functools.wraps(split)
        def watched(font, text, *arguments, **options):
            if isinstance(text, str) and not text.isascii():
                glyphs = font.face.charToGlyph
                lacks = {char: None for char in text if ord(char) not in glyphs and not char.isascii() and _has_shape(char)}
                if lacks:
                    self._note(self._of_pdf, font.fontName, lacks, text)
            return split(font, text, *arguments, **options)

        module.TTFont.splitString = watched


def _shown(lacks):
    text = "".join(lacks)
    return text if len(text) <= _TOLD_MAX else f"{text[:_TOLD_MAX]}… ({len(text)} characters)"


def _has_shape(char):
    from unicodedata import category  # which nothing else needs

    return category(char) not in _NOT_ALONE


def _script_of(char):
    """Roughly: the first word of its name, for letters of alphabets."""
    from unicodedata import category, name

    first = name(char, "").partition(" ")[0]
    return first if category(char) in ("Lu", "Ll") else char


def _is_in(font, char):
    if not _has_shape(char) or "UCS-2" in font.encName:
        return True
    try:
        char.encode(font.encName)
    except UnicodeEncodeError:
        return False
    return True
