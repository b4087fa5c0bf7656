"""Sheets of a workbook that a person brings: XLSX, XLS, or one CSV file with all sheets in it.

Such a file may be anything. Its size is bounded before and while it is unpacked, nothing in it is
run or fetched, and cells beyond the bounds are refused, not left out.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.reading.text_files import text_of, word

MOST_BYTES: Final = 10 * 1024 * 1024
"""The largest file."""
MOST_UNPACKED: Final = 64 * 1024 * 1024
"""The largest workbook when it is unpacked."""
MOST_PARTS: Final = 1000
MOST_ROWS: Final = 20_000
"""That have something in them."""
MOST_PLACES: Final = 2**22
"""Rows of all sheets, also empty ones: some programs write all 2^20 that a sheet can have."""
MOST_COLUMNS: Final = 2_000
MOST_CELLS: Final = 500_000
MOST_CHARACTERS: Final = 32_767
FIELD: Final = "file"
SAVE_AGAIN: Final = "open it in the program that made it, and save it as XLSX or CSV"
ARCHIVE: Final = b"PK\x03\x04"
OLD_WORKBOOK: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
"""In the folder of an encrypted XLSX, which has the form of an old workbook."""

_BLANK: Final[list[str]] = []
_COMMENTS: Final = ("xl/comments", "xl/threadedcomments/", "xl/persons/")
_FORMULA: Final = re.compile(
    rb"<c\b(?![^>]*\bt=\"str\")[^>]*>\s*<f\b[^>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>"
)
"""A cell with a formula and without the value that a program would have kept of it."""
_READ: Final = ("survey", "choices", "settings")


@dataclass(frozen=True)
class Sheets:
    """What a workbook has in it."""

    rows: Mapping[str, list[list[str]]]
    """Of cells of each sheet, by its name in small letters; an empty cell is an empty text."""
    notes: tuple[str, ...] = ()
    """What of the workbook is in none of its cells, as sentences."""


def read_sheets(content: bytes, *, name: str) -> Sheets:
    """Return the cells of a workbook as texts, by its first bytes; refuses macros and encryption.

    A whole number is written without a fraction, true and false in small letters, and a date as ISO
    8601 has it.
    """
    if content.startswith(ARCHIVE):
        comments, formulas = _check_archive(content, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of extensions and dates that openpyxl does not know
            rows = _counted(_of_xlsx(content, name), name)
            if formulas:
                _refuse_formulas(content, rows, name)
        told = ("Comments on cells of the workbook are left out.",) if comments else ()
        return Sheets(rows, told)
    if content.startswith(OLD_WORKBOOK):
        return Sheets(_counted(_of_xls(content, name), name))
    return Sheets(_counted(_of_csv(text_in(content, name)), name))


def text_in(content: bytes, name: str) -> str:
    """Return the text of a file in UTF-8 that is no workbook; refuses PDF, which may be text."""
    if content.startswith(b"%PDF-"):
        raise refused(name, "is a PDF file", "give the form itself, as XLSX, XLS, CSV or JSON")
    what = f"the file {word(name)}"
    return text_of(content, name=what, field=FIELD, remedy=SAVE_AGAIN)


def refused(name: str, fault: str, remedy: str = SAVE_AGAIN) -> InvalidParameter:
    """Return the error that a file cannot be read as a questionnaire."""
    return InvalidParameter(f"the file {word(name)} {fault}; {remedy}", field=FIELD)


def _counted(
    sheets: Iterable[tuple[str, Iterable[list[str]]]], name: str
) -> dict[str, list[list[str]]]:
    """Return all rows, or refuse those that have something for their number."""
    found: dict[str, list[list[str]]] = {}
    cells = filled = places = 0
    for title, rows in sheets:
        kept: list[list[str]] = []
        for row in rows:
            while row and not row[-1]:
                row.pop()
            cells += len(row)
            filled += bool(row)
            places += 1
            if filled > MOST_ROWS or places > MOST_PLACES:
                most = MOST_ROWS if filled > MOST_ROWS else MOST_PLACES
                raise refused(name, f"has more than {most:,} rows in the sheet {title!r}")
            if len(row) > MOST_COLUMNS or cells > MOST_CELLS:
                raise refused(
                    name,
                    f"has more than {MOST_COLUMNS:,} columns in the sheet {title!r}"
                    if len(row) > MOST_COLUMNS
                    else f"has more than {MOST_CELLS:,} cells",
                )
            kept.append(row or _BLANK)
        while kept and not kept[-1]:
            kept.pop()
        key, number = title.strip().lower(), 2
        while key in found:
            key, number = f"{title.strip().lower()} ({number})", number + 1
        found[key] = kept
    return found


def _of_xlsx(content: bytes, name: str) -> Iterator[tuple[str, Iterator[list[str]]]]:
    book = _opened(content, name, values=True)
    try:
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # a file may state any number of rows
            yield sheet.title, _rows_of_xlsx(sheet.iter_rows(values_only=True), sheet.title, name)
    finally:
        book.close()


def _refuse_formulas(content: bytes, rows: Mapping[str, list[list[str]]], name: str) -> None:
    """Refuse a formula in a sheet that is read, where its value was not kept."""
    book = _opened(content, name, values=False)
    try:
        for sheet in book.worksheets:
            title = sheet.title.strip().lower()
            if title not in _READ and len(rows) > 1:
                continue
            sheet.reset_dimensions()
            for number, row in enumerate(sheet.iter_rows(values_only=True)):
                known = rows[title][number] if number < len(rows[title]) else _BLANK
                for place, cell in enumerate(row):
                    kept = known[place] if place < len(known) else ""
                    if isinstance(cell, str) and cell.startswith("=") and not kept:
                        raise refused(
                            name,
                            f"has a formula without its value in the cell {letters(place)}"
                            f"{number + 1} of the sheet {sheet.title!r}",
                            "open it in a program of spreadsheets, which computes it, and save it",
                        )
    except InvalidParameter:
        raise
    except Exception as error:
        raise refused(name, "is damaged in a formula") from error
    finally:
        book.close()


def letters(place: int) -> str:
    """Return what spreadsheets call a column by its place, from 0: A, B, ..., Z, AA."""
    text = ""
    place += 1
    while place:
        place, left = divmod(place - 1, 26)
        text = chr(65 + left) + text
    return text


def _opened(content: bytes, name: str, *, values: bool) -> Any:
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtra("import", "reading a workbook") from error
    try:
        return openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=values)
    except Exception as error:  # whatever a damaged workbook makes its reader raise
        raise refused(name, "is a damaged workbook, or none") from error


def _rows_of_xlsx(rows: Iterator[tuple[object, ...]], title: str, name: str) -> Iterator[list[str]]:
    while True:
        try:
            row = next(rows, None)
        except Exception as error:
            raise refused(name, f"is damaged in the sheet {title!r}") from error
        if row is None:
            return
        yield [_text(cell) for cell in row]


def _check_archive(content: bytes, name: str) -> tuple[bool, bool]:
    """Refuse a workbook that unpacks to too much, has macros, or declares entities.

    What is unpacked is counted, since an archive may state any size. Whether cells have comments is
    returned, and whether some have formulas without a value.
    """
    comments = formulas = False
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            if len(parts) > MOST_PARTS:
                raise refused(name, f"has {len(parts):,} parts, more than {MOST_PARTS:,}")
            if not any(part.filename == "xl/workbook.xml" for part in parts):
                raise refused(name, "is an archive, but no workbook of the format XLSX")
            left = MOST_UNPACKED
            for part in parts:
                if part.filename.lower().endswith("vbaproject.bin"):
                    raise refused(name, "has macros", "save it as XLSX, which has none")
                with archive.open(part) as stream:
                    unpacked = stream.read(left + 1)
                left -= len(unpacked)
                if left < 0:
                    raise refused(
                        name,
                        f"unpacks to more than {MOST_UNPACKED // 1024**2} MB",
                        "give a workbook with the questionnaire alone",
                    )
                xml = part.filename.lower().endswith((".xml", ".rels"))
                if xml and (b"<!DOCTYPE" in unpacked or b"<!ENTITY" in unpacked):
                    raise refused(name, f"declares entities in {part.filename!r}")
                if xml and b"\0" in unpacked[:200]:
                    raise refused(name, f"has {part.filename!r}, which is not in UTF-8")
                comments |= part.filename.lower().startswith(_COMMENTS)
                formulas |= xml and b"<f" in unpacked and _FORMULA.search(unpacked) is not None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise refused(name, "is a damaged or encrypted workbook") from error
    except Exception as error:
        if isinstance(error, InvalidParameter):
            raise
        raise refused(name, "is a damaged workbook") from error  # zlib's and lzma's own errors
    return comments, formulas


def _of_xls(content: bytes, name: str) -> Iterator[tuple[str, Iterator[list[str]]]]:
    if _ENCRYPTED in content:
        raise refused(name, "is protected by a password", "take the password off, and save it")
    try:
        import xlrd
    except ImportError as error:
        raise MissingExtra("import", "reading an old workbook (XLS)") from error
    try:
        book = xlrd.open_workbook(
            file_contents=content, logfile=io.StringIO(), ragged_rows=True, on_demand=False
        )
        sheets = book.sheets()
    except Exception as error:
        raise refused(name, "is no workbook of the format XLS, is damaged or encrypted") from error
    for sheet in sheets:
        yield (
            sheet.name,
            (_row_of_xls(sheet.row(row), xlrd.XL_CELL_BOOLEAN) for row in range(sheet.nrows)),
        )


def _row_of_xls(row: Iterable[object], boolean: int) -> list[str]:
    return [
        _text(bool(cell.value) if cell.ctype == boolean else cell.value)  # type: ignore[attr-defined]
        for cell in row
    ]


def _of_csv(text: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Read one table of questions, or sheets whose names stand in the first column."""
    given = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    usual = csv.field_size_limit(MOST_BYTES)  # of the whole process, so that it is put back
    try:
        rows = [[cell.strip() for cell in row] for row in given]
    finally:
        csv.field_size_limit(usual)
    first = next((row for row in rows if any(row)), [])
    if first and first[0] and (not any(first[1:]) or first[0].lower() in _READ):
        title = ""
        kept: list[list[str]] = []
        for row in rows:
            if row and row[0]:
                if title:
                    yield title, kept
                title, kept = row[0], [row[1:]] if any(row[1:]) else []
            elif title:
                kept.append(row[1:])
        yield title, kept
    else:
        yield "survey", rows


def _delimiter(text: str) -> str:
    """Return what stands between the cells of the first line that has the columns type or name."""
    for line in text.splitlines()[:50]:
        for mark in ",;\t":
            cells = {cell.strip(' "').lower() for cell in line.split(mark)}
            if "name" in cells and {"type", "list_name", "list name"} & cells:
                return mark
    return ","


def _text(cell: object) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case float() if cell.is_integer() and abs(cell) < 2**53:
            return str(int(cell))
        case datetime() | date() | time():
            return cell.isoformat()
    text = str(cell).strip()
    return text[:MOST_CHARACTERS]
