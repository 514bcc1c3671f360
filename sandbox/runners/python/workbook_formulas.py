"""Formulas that openpyxl and xlsxwriter have written: until a spreadsheet program has computed them they have no values, and pandas reads 0 or NaN."""

import functools

from hutch_runner.imports import WhenImported

_NO_VALUES = (0, None, "")  # the first is what xlsxwriter writes where it is given none


class WorkbookFormulas:
    def __init__(self):
        self.count = 0  # in this run
        self._is_told = False  # to this interpreter's user, who need not read that with each workbook
        WhenImported("openpyxl.worksheet._writer", self._watch_openpyxl)
        WhenImported("xlsxwriter.worksheet", self._watch_xlsxwriter)

    def take_note(self):
        count, self.count = self.count, 0
        if not count or self._is_told:
            return ""
        self._is_told = True
        these = "1 formula has no value" if count == 1 else f"{count} formulas have no values"
        return f"{these} until a spreadsheet program computes {'it' if count == 1 else 'them'}: pandas reads 0 or NaN"

    def _watch_openpyxl(self, module):
        write = module.write_cell

        @functools.wraps(write)
        def write_cell(file, sheet, cell, *arguments, **options):
            if cell.data_type == "f":
                self.count += 1
            return write(file, sheet, cell, *arguments, **options)

        module.write_cell = write_cell

    def _watch_xlsxwriter(self, module):
        write, kinds = module.Worksheet._write_cell, (module.CellFormulaTuple, module.CellArrayFormulaTuple)

        @functools.wraps(write)
        def write_cell(sheet, row, column, cell, *arguments, **options):
            if isinstance(cell, kinds) and cell.value in _NO_VALUES:
                self.count += 1
            return write(sheet, row, column, cell, *arguments, **options)

        module.Worksheet._write_cell = write_cell
