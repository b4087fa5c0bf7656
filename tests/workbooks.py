"""Workbooks that tests write: sheets of rows, as XLSX."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import xlsxwriter


def workbook(sheets: Mapping[str, Sequence[Sequence[object]]]) -> bytes:
    """Return the bytes of an XLSX with these cells."""
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        for title, rows in sheets.items():
            sheet = book.add_worksheet(title)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return out.getvalue()


def xlsform(
    survey: Sequence[Sequence[object]],
    choices: Sequence[Sequence[object]] = (),
    header: Sequence[str] = ("type", "name", "label"),
    **settings: str,
) -> bytes:
    """Return an XLSForm; `survey` and `choices` have no header."""
    return workbook(
        {
            "survey": [header, *survey],
            "choices": [("list_name", "name", "label"), *choices],
            "settings": [tuple(settings), tuple(settings.values())],
        }
    )
