"""Formulas that openpyxl and xlsxwriter have written: until a spreadsheet program has computed them they have no values, and pandas reads 0 or NaN."""

import functools

from hutch_runner.imports import WhenImported

_NO_VALUES = (0, None, "")  # the first is what xlsxwriter writes where it is given none


class WorkbookFormulas:
    def __init__(self):
        self.count = 0  # in this run
        self._read = []  # notes of workbooks that were read in this run
        self._told = set()
        self._is_told = False  # to this interpreter's user, who need not read that with each workbook
        WhenImported("openpyxl.worksheet._writer", self._watch_openpyxl)
        WhenImported("xlsxwriter.worksheet", self._watch_xlsxwriter)
        WhenImported("pandas.io.excel._base", self._watch_pandas)

    def take_note(self):
        count, self.count = self.count, 0
        read, self._read = self._read, []
        if not count or self._is_told:
            return "; ".join(read)
        from hutch_runner.uncomputed_formulas import in_words
        self._is_told = True
        return f"{in_words(count)}: pandas reads 0 or NaN"

    def _watch_openpyxl(self, module):
        write = module.write_cell

        @functools.wraps(write)
        def write_cell(file, sheet, cell, *arguments, **options):
            if cell.data_type == "f":
                self.count += 1
            return write(file, sheet, cell, *arguments, **options)

        module.write_cell = write_cell

    def _watch_pandas(self, module):
        parse = module.ExcelFile.parse

        @functools.wraps(parse)
        def parse_and_look(book, sheet_name=0, *arguments, **options):
            read = parse(book, sheet_name, *arguments, **options)
            try:
                self._look_at(book, read if isinstance(read, dict) else {sheet_name: read})
            except Exception:  # whatever was read, it has been read
                pass
            return read

        module.ExcelFile.parse = parse_and_look

    def _look_at(self, book, frames):
        from os import PathLike

        from hutch_runner import uncomputed_formulas

        path = str(book.io) if isinstance(book.io, (str, PathLike)) else ""
        for sheet, frame in frames.items() if path else ():
            sheet = book.sheet_names[sheet] if isinstance(sheet, int) else sheet
            note = uncomputed_formulas.note(path, sheet, frame) if (path, sheet) not in self._told else ""
            if note:
                self._told.add((path, sheet))
                self._read.append(f"{path}: {note}: NaN or 0 here")

    def _watch_xlsxwriter(self, module):
        write, kinds = module.Worksheet._write_cell, (module.CellFormulaTuple, module.CellArrayFormulaTuple)

        @functools.wraps(write)
        def write_cell(sheet, row, column, cell, *arguments, **options):
            if isinstance(cell, kinds) and cell.value in _NO_VALUES:
                self.count += 1
            return write(sheet, row, column, cell, *arguments, **options)

        module.Worksheet._write_cell = write_cell
