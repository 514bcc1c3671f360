"""Tells of formulas in a workbook that no spreadsheet program has computed yet: readers give NaN for them, or 0."""

import re
from posixpath import join, normpath

_SHEET_BYTES_MAX = 8 << 20
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_FORMULA = re.compile(rb"<c(?P<cell>(?: [^>]*)?)>\s*<f(?: [^>]*)?(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>(?P<value>0?)</v>)?\s*</c>")


def note(path, sheet, frame):
    """Says how many the sheet has, which was read as that DataFrame, or nothing."""
    count = _count(path, sheet) if _may_have_some(frame) else 0
    return in_words(count) if count else ""


def in_words(count):
    return ("1 formula has no value until a spreadsheet program computes it" if count == 1 else
            f"{count} formulas have no values until a spreadsheet program computes them")


def _may_have_some(frame):
    """Empty cells, or columns that are 0 throughout as some programs write them; all else needs no look into the file."""
    return frame.isna().any(axis=None) or any((frame.iloc[:, i] == 0).all() for i in range(frame.shape[1]))


def _count(path, sheet):
    """How many the beginning of a sheet has; 0 where the file is no .xlsx."""
    import zipfile
    from xml.etree import ElementTree

    try:
        with zipfile.ZipFile(path) as book:
            root = ElementTree.fromstring(book.read("xl/workbook.xml"))
            relations = {one.get("Id"): one.get("Target") for one in ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))}
            target = next(relations[one.get(_RELATION)] for one in root.iter() if one.tag.endswith("}sheet") and one.get("name") == sheet)
            with book.open(normpath(join("/xl", target)).lstrip("/")) as file:
                cells = file.read(_SHEET_BYTES_MAX)
    except (OSError, EOFError, KeyError, StopIteration, ValueError, NotImplementedError, zipfile.BadZipFile, ElementTree.ParseError):
        return 0
    is_to_be_computed = any(one.get("fullCalcOnLoad") in ("1", "true") for one in root.iter() if one.tag.endswith("}calcPr"))
    return sum(_lacks_value(found, is_to_be_computed) for found in _FORMULA.finditer(cells))


def _lacks_value(found, is_to_be_computed):
    """Some programs write 0 until it is computed; a text that is empty has been."""
    return b't="str"' not in found["cell"] and (found["value"] != b"0" or is_to_be_computed)
