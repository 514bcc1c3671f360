"""Text in scripts that the usual fonts of PIL, reportlab and OpenCV do not have."""

import pytest

from conftest import EXTRAS

FONTS = EXTRAS.parent.parent / "share/fonts"
PREPARE = """
from PIL import Image, ImageDraw, ImageFont
def written(text, size=24, font=None):
    image = Image.new('L', (40 + size * len(text), 3 * size), 255)
    ImageDraw.Draw(image).text((5, 5), text, fill=0, font=font or ImageFont.load_default(size))
    return image.tobytes()
def by(name, text, size=24): return written(text, font=ImageFont.truetype(f'%s/{name}_400Regular.ttf', size))
""" % FONTS


@pytest.fixture
def pil(start):
    if not FONTS.is_dir():
        pytest.skip("the environment has no fonts")
    python = start("python", extras=True, extra_env={"FONTCONFIG_FILE": str(FONTS / "fonts.conf")})
    assert python.run(PREPARE).ok
    return python


@pytest.mark.parametrize("text, name", [("销售额 Total", "NotoSansSC"), ("売上", "NotoSansSC"), ("매출", "NotoSansKR"), ("สวัสดี", "NotoSansThai"),
                                        ("→ Привет", "NotoSansSC"), ("😀", "NotoEmoji"), ("データ", "NotoSansSC"),
                                        ("बिक्री", "NotoSansDevanagari"), ("한국어", "NotoSansKR")])
def test_pils_own_font_writes_other_scripts(pil, text, name):
    ending = pil.run(f"written({text!r}) == by({name!r}, {text!r})")
    assert ending.text == "True" and "note" not in ending.done, ending


@pytest.mark.parametrize("name, text", [("NotoSansDevanagari", "बक"), ("NotoSansThai", "กข"), ("NotoSansKR", "매출"), ("NotoSansSC", "デ売")])
@pytest.mark.parametrize("font", ["None", "ImageFont.truetype('%s/{name}_400Regular.ttf' % FONTS, 24)"])
def test_each_character_has_a_shape_of_its_own(pil, name, text, font):
    """And none is the box that stands for what a font has not."""
    box = "written('\U0010fffd', font=ImageFont.truetype('%s/%s_400Regular.ttf' % (FONTS, {name!r}), 24))"
    ending = pil.run(f"FONTS = {str(FONTS)!r}\nfirst, second = (written(one, font={font.format(name=name)}) for one in {text!r})\n"
                     f"box = {box.format(name=name)}\n[first != second, box != first, box != second]")
    assert ending.text == "[True, True, True]" and "\U0010fffd" not in text, ending


def test_what_is_measured_is_what_is_drawn(pil):
    code = ("font, other = ImageFont.load_default(24), ImageFont.truetype('%s/NotoSansSC_400Regular.ttf', 24)\n"
            "d = ImageDraw.Draw(Image.new('L', (9, 9)))\n[font.getbbox('销售') == other.getbbox('销售'), font.getlength('销售') == other.getlength('销售'),"
            " d.textbbox((0, 0), '销售', font) == d.textbbox((0, 0), '销售', other), d.textlength('销售', font) == other.getlength('销售')]")
    assert pil.run(code % FONTS).text == "[True, True, True, True]"


def test_latin_text_stays_as_pil_writes_it(pil):
    assert pil.run("ImageFont.load_default(24).getlength('Total') != ImageFont.truetype('%s/NotoSansSC_400Regular.ttf', 24).getlength('Total')" % FONTS).text == "True"


@pytest.mark.parametrize("code, lacks, way", [
    ("written('销售额', font=ImageFont.truetype('%s/NotoSansThai_400Regular.ttf', 20));", "Noto Sans Thai has no 销售额, which", "NotoSansSC_400Regular.ttf has them"),
    ("written('销售额매출');", "Noto Sans SC has no 매출, which",
     ": each part in a font of its own: 销售额: %s/NotoSansSC_400Regular.ttf; 매출: %s/NotoSansKR_400Regular.ttf"),
    ("written('\U00013000');", "has no \U00013000, which", "no font here has them"),
    ("written('销\U00013000');", "Noto Sans SC has no \U00013000, which", "no font here has them"),
    ("written('销售报告हिनदी');", "Noto Sans SC has no हनद, which",
     ": each part in a font of its own: 销售报告: %s/NotoSansSC_400Regular.ttf; हनद: %s/NotoSansDevanagari_400Regular.ttf"),
    ("written('销售报告हिनदी', font=ImageFont.truetype('%s/NotoSansThai_400Regular.ttf', 20));", "Noto Sans Thai has no 销售报告हनद, which",
     ": each part in a font of its own: 销售报告: %s/NotoSansSC_400Regular.ttf; हनद: %s/NotoSansDevanagari_400Regular.ttf"),
    ("written('销售\U00013000', font=ImageFont.truetype('%s/NotoSansThai_400Regular.ttf', 20));", "Noto Sans Thai has no 销售\U00013000, which",
     ": each part in a font of its own: 销售: %s/NotoSansSC_400Regular.ttf; no font here has \U00013000"),
    ("written('销售报告हिनदीกขค매출');", "Noto Sans SC has no हनदกขค매출, which",
     ": each part in a font of its own: 销售报告: %s/NotoSansSC_400Regular.ttf; हनद: %s/NotoSansDevanagari_400Regular.ttf; "
     "กขค: %s/NotoSansThai_400Regular.ttf"),
])
def test_boxes_are_told(pil, code, lacks, way):
    note = pil.run(code.replace("%s", str(FONTS))).done["note"]
    assert lacks in note and note.endswith(way.replace("%s", str(FONTS))), note
    assert "note" not in pil.run("1").done


WITH_FONT = ("from reportlab.pdfgen import canvas\nfrom reportlab.pdfbase import pdfmetrics\nfrom reportlab.pdfbase.ttfonts import TTFont\n"
             f"pdfmetrics.registerFont(TTFont('Mine', '{FONTS}/NotoSansSC_400Regular.ttf')); c = canvas.Canvas('a.pdf')\n%s\nc.save()")


@pytest.mark.parametrize("code, told", [
    ("from reportlab.pdfgen import canvas\nc = canvas.Canvas('a.pdf'); c.drawString(9, 9, '销 é'); c.save()", "PDF's Helvetica has no 销, which became boxes"),
    ("from reportlab.platypus import SimpleDocTemplate, Paragraph, Table\nfrom reportlab.lib.styles import getSampleStyleSheet\n"
     "SimpleDocTemplate('b.pdf').build([Paragraph('销', getSampleStyleSheet()['Title']), Table([['售', 'a']])])", "PDF's Helvetica-Bold, Helvetica have no 销售, which"),
    ("from reportlab.pdfgen import canvas\nc = canvas.Canvas('a.pdf'); c.drawString(9, 9, 'é € –'); c.save()", None),
    (WITH_FONT % "c.setFont('Mine', 20); c.drawString(9, 9, '销é\\xa0售हि')", "PDF's Mine has no ह, which became boxes: pdfmetrics.registerFont(TTFont(NAME, PATH)) makes"),
    (WITH_FONT % "from reportlab.platypus import SimpleDocTemplate, Paragraph\nfrom reportlab.lib.styles import ParagraphStyle\n"
     "SimpleDocTemplate('b.pdf').build([Paragraph('ก', ParagraphStyle('a', fontName='Mine'))])",
     "PDF's Mine has no ก, which became boxes: pdfmetrics.registerFont(TTFont('NotoSansThai', '"),
    (WITH_FONT % "c.setFont('Mine', 20); c.drawString(9, 9, '销é\\xa0售')", None),
    ("import cv2, numpy as np\ncv2.putText(np.zeros((40, 90)), '销售a', (5, 30), cv2.FONT_HERSHEY_SIMPLEX, 1, 255);", "so 销售 became question marks: PIL's"),
])
def test_pdf_and_opencv(pil, code, told):
    note = pil.run(code).done.get("note", "")
    assert (told in note) if told else not note, note


def test_a_font_that_has_the_accent_and_not_the_letter_is_none_for_pdf(pil):
    """PIL makes ź of z and an accent, reportlab does not."""
    text = "Привет 日本語 Łódź €"
    parts = f"makes a font for each part: Привет日本語€: {FONTS}/NotoSansSC_400Regular.ttf; Łóź: /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
    assert pil.run(WITH_FONT % f"c.drawString(9, 9, {text!r})").done["note"].endswith(parts)
    note = pil.run(WITH_FONT % f"c.setFont('Mine', 20); c.drawString(9, 9, {text!r})").done["note"]
    assert note.startswith("PDF's Mine has no Łź, which") and note.endswith(parts)
    each = "".join(f"pdfmetrics.registerFont(TTFont('{name}', '{path}')); c.setFont('{name}', 9); c.drawString(9, 9, '{part}'); "
                   for name, (part, path) in zip("PQ", (one.split(": ") for one in parts.partition("part: ")[2].split("; "))))
    assert "note" not in pil.run(WITH_FONT % each).done


def test_the_advice_for_pdf_holds(pil):
    note = pil.run("from reportlab.pdfgen import canvas\nfrom reportlab.pdfbase import pdfmetrics\nfrom reportlab.pdfbase.ttfonts import TTFont\n"
                   "c = canvas.Canvas('a.pdf'); c.drawString(9, 9, '销'); c.save()").done["note"]
    advice = note[note.index("pdfmetrics.registerFont("):note.index(" makes a font")]
    ending = pil.run(f"{advice}\nc = canvas.Canvas('a.pdf'); c.setFont('NotoSansSC', 20); c.drawString(9, 9, '销'); c.save()")
    assert ending.ok and "note" not in ending.done, ending


@pytest.mark.parametrize("code", ["ImageFont.truetype('arial.ttf', 20)", "from reportlab.pdfbase.ttfonts import TTFont; TTFont('A', 'arial.ttf')",
                                  "import matplotlib.pyplot as plt\nfrom matplotlib.font_manager import FontProperties\n"
                                  "plt.title('a', fontproperties=FontProperties(fname='C:/Windows/Fonts/simhei.ttf')); plt.show()"])
def test_fonts_of_other_machines(pil, code):
    assert "(fonts that are here: NotoSansSC_400Regular.ttf, " in pil.run(code).stderr
    assert "fonts" not in pil.run("open('nosuchfile.txt')").stderr
