"""Documents: PDF, Word, PowerPoint, pages."""


def pdf_made_and_read(computer):
    """A PDF report with a table, and its text out of it again."""
    out = computer.python("""
        from reportlab.platypus import SimpleDocTemplate, Paragraph, Table
        from reportlab.lib.styles import getSampleStyleSheet
        style = getSampleStyleSheet()["Normal"]
        SimpleDocTemplate("report.pdf").build([Paragraph("Quarterly report", style), Table([["month", "sales"], ["Jan", "10"], ["Feb", "30"]])])
        from pypdf import PdfReader
        reader = PdfReader("report.pdf")
        print(len(reader.pages), "Quarterly report" in reader.pages[0].extract_text())
    """)
    assert out == "1 True"


def tables_out_of_a_pdf(computer):
    """The rows of a table that a PDF draws with lines."""
    out = computer.python("""
        from reportlab.platypus import SimpleDocTemplate, Table
        from reportlab.lib import colors
        SimpleDocTemplate("t.pdf").build([Table([["item", "price"], ["tea", "3.50"], ["cake", "4.00"]], style=[("GRID", (0, 0), (-1, -1), 1, colors.black)])])
        import pdfplumber
        with pdfplumber.open("t.pdf") as pdf:
            print(pdf.pages[0].extract_table())
    """)
    assert out == "[['item', 'price'], ['tea', '3.50'], ['cake', '4.00']]"


def pdfs_joined_and_split(computer):
    """Two PDFs made one, its second page cut out and turned."""
    out = computer.python("""
        from reportlab.pdfgen import canvas
        for name in "ab":
            page = canvas.Canvas(f"{name}.pdf"); page.drawString(100, 700, f"page {name}"); page.save()
        from pypdf import PdfReader, PdfWriter
        writer = PdfWriter()
        for name in "ab": writer.append(f"{name}.pdf")
        writer.pages[1].rotate(90)
        writer.write("both.pdf")
        print([page.extract_text().strip() for page in PdfReader("both.pdf").pages], PdfReader("both.pdf").pages[1].rotation)
    """)
    assert out == "['page a', 'page b'] 90"


def a_page_of_a_pdf_as_a_picture(computer):
    """Show what a PDF looks like."""
    images = computer.images("""
        from reportlab.pdfgen import canvas
        page = canvas.Canvas("a.pdf"); page.drawString(100, 700, "Hello"); page.save()
        import pypdfium2
        pypdfium2.PdfDocument("a.pdf")[0].render(scale=1).to_pil()
    """)
    assert images == 1


def word_in_and_out(computer):
    """A letter with a heading and a table in Word, and its text out of it again."""
    out = computer.python("""
        import docx
        letter = docx.Document()
        letter.add_heading("Offer", 1); letter.add_paragraph("Dear Sir or Madam")
        table = letter.add_table(rows=1, cols=2); table.rows[0].cells[1].text = "12.50"
        letter.save("offer.docx")
        again = docx.Document("offer.docx")
        print([p.text for p in again.paragraphs], again.tables[0].cell(0, 1).text)
    """)
    assert out == "['Offer', 'Dear Sir or Madam'] 12.50"


def slides_with_a_chart(computer):
    """Two slides, one with a chart that PowerPoint can change."""
    out = computer.python("""
        from pptx import Presentation
        from pptx.chart.data import CategoryChartData
        from pptx.enum.chart import XL_CHART_TYPE
        from pptx.util import Inches
        show = Presentation()
        show.slides.add_slide(show.slide_layouts[0]).shapes.title.text = "Results"
        data = CategoryChartData(); data.categories = ["a", "b"]; data.add_series("s", (1, 2))
        show.slides.add_slide(show.slide_layouts[5]).shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(2), Inches(6), Inches(4), data)
        show.save("show.pptx")
        again = Presentation("show.pptx")
        print(len(again.slides), any(shape.has_chart for shape in again.slides[1].shapes))
    """)
    assert out == "2 True"


def a_page_read_from_a_file(computer):
    """Links and a table of a saved web page."""
    computer.write("page.html", "<html><body><h1>Prices</h1><a href='/x'>more</a><table><tr><th>item<th>price<tr><td>tea<td>3</table>")
    out = computer.python("""
        from bs4 import BeautifulSoup
        import pandas as pd
        page = BeautifulSoup(open("page.html"), "lxml")
        (table,) = pd.read_html("page.html")
        print(page.h1.text, [a["href"] for a in page.find_all("a")], table.to_dict("records"))
    """)
    assert out == "Prices ['/x'] [{'item': 'tea', 'price': 3}]"


def xml_by_xpath(computer):
    """A feed asked by XPath."""
    computer.write("feed.xml", "<rss><item><title>one</title></item><item><title>two</title></item></rss>")
    assert computer.python("from lxml import etree; print(etree.parse('feed.xml').xpath('//item/title/text()'))") == "['one', 'two']"


def markdown_to_html(computer):
    """Markdown with a table as HTML, by a template."""
    out = computer.python("""
        import markdown, jinja2
        body = markdown.markdown("# Title\\n\\n|a|b|\\n|-|-|\\n|1|2|", extensions=["tables"])
        print(jinja2.Template("<html>{{ body }}</html>").render(body=body).count("<td>"))
    """)
    assert out == "2"
