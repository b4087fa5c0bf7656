"""Tables that people bring as CSV: read strictly, by the one reader of every command and page.

A number that is read from the wrong row, or with a comma for a point, is wrong without a word. So a
table has one form: UTF-8 (a byte order mark is dropped), commas between cells, quotes as in
RFC 4180, a header of different names, and as many cells in each row. What is not so is refused with
the file, the row and the remedy, and nothing is guessed. The apostrophe that hushpoll's own files
have before a text that a spreadsheet would run (:mod:`hushpoll_shared.spelling.csv_cells`) is taken
back.

An empty line of a table with one column is a row whose cell is empty; with several columns it is no
row.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple, TextIO

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.decimal_texts import (
    doubtful_point,
    has_doubtful_point,
    parse_number,
)
from hushpoll_shared.reading.text_files import MARK, first_bad_byte, not_utf8, word
from hushpoll_shared.spelling.csv_cells import unescaped
from hushpoll_shared.spelling.text import show

SAVE_AS_CSV: Final = (
    "save it as CSV in UTF-8 with commas between the cells; a spreadsheet calls it "
    "“CSV UTF-8 (comma delimited)”"
)
_OTHER_SEPARATORS: Final = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_CELL: Final = r'(?:"[^"]*+(?:""[^"]*+)*+"|[^",\r\n]*+)'
_ROW: Final = re.compile(rf"{_CELL}(?:,{_CELL})*+(?:\r?\n|\r)?")
_BEGIN: Final = 8


class Row(NamedTuple):
    """One row of a table."""

    number: int
    """From 1; the header is not counted."""
    line: int | None
    """Of the file, from 1, where the row begins; None in a file without lines."""
    cells: list[str]

    @property
    def place(self) -> str:
        """The row in a message."""
        return f"row {self.number}" + ("" if self.line is None else f" (line {self.line})")


Faults = Callable[[Row, str], None]
"""What is told of a row of another length, and the remedy, where reading shall go on."""


@dataclass(frozen=True, slots=True)
class TableReader:
    """A table whose header is read and whose rows are to be read once."""

    name: str
    """What errors call it, quoted for a shell."""
    field: str
    """What it was given as, for the errors' field."""
    header: tuple[str, ...]
    """Names of the columns, all different."""
    lines: Iterable[tuple[int | None, list[str]]]
    """The line on which a row begins, and its cells."""

    def rows(self, faults: Faults | None = None) -> Iterator[Row]:
        """Yield the rows; one of another length goes to `faults`, and is refused without."""
        width, number = len(self.header), 0
        for line, cells in self.lines:
            if not cells:
                if width > 1:
                    continue
                cells = [""]
            number += 1
            row = Row(number, line, cells)
            if len(cells) == width:
                yield row
            elif faults is not None:
                faults(row, f"the header names {_counted(width, 'column')}: give as many values")
            else:
                raise self.refusal(
                    f"{row.place} has {_counted(len(cells), 'value')}, and the header names "
                    f"{_counted(width, 'column')}; give one value per column, put a text with a "
                    "comma into quotes, and write a number with a point"
                )

    def number(self, row: Row, position: int, *, beyond: bool = False) -> float:
        """Return the number of a cell; see :func:`~.decimal_texts.parse_number`."""
        try:
            return parse_number(row.cells[position], beyond=beyond)
        except ValueError as error:
            raise self.refused(row, self.header[position], str(error)) from None

    def refused(self, row: Row, column: str, why: str) -> InvalidParameter:
        """Return the refusal of a cell: file, row, column, and what is wrong with its value."""
        return self.refusal(f"{row.place}, column {word(column)}: {why}")

    def refusal(self, fault: str) -> InvalidParameter:
        """Return the refusal of the file, whose name begins the message, for a fault."""
        return InvalidParameter(f"{self.name} {fault}", field=self.field)


class NumberColumn:
    """A column of numbers, whose points mark decimals: one of them may have to settle that.

    ``0.8``, ``1.25`` and ``1250`` do. With ``1.000`` and ``2.000`` alone nobody can tell.
    """

    def __init__(self, table: TableReader, position: int) -> None:
        self._table = table
        self._position = position
        self._settled = False
        self._doubtful: Row | None = None

    def number(self, row: Row) -> float:
        """Return the number of a row; raises as :meth:`TableReader.number`."""
        number = self._table.number(row, self._position)
        text = row.cells[self._position]
        if has_doubtful_point(text):
            self._doubtful = self._doubtful or row
        elif "." in text or len(text.lstrip("+-")) > 3:
            self._settled = True
        return number

    def check(self) -> None:
        """Refuse the column, after its last row, if its points may separate thousands."""
        row = self._doubtful
        if row is not None and not self._settled:
            why = doubtful_point(row.cells[self._position])
            raise self._table.refused(row, self._table.header[self._position], why)


@contextmanager
def open_table(
    source: Path | bytes, *, field: str, name: str | None = None
) -> Iterator[TableReader]:
    """Open a table of CSV in UTF-8 and read its header; refuses separators other than commas.

    Errors call it `name`, by default its path.
    """
    called = word(source) if name is None and isinstance(source, Path) else name or "the table"
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        # Not "utf-8-sig": its errors do not say where the bad byte is.
        stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
        lines = _Lines(stream, file, called, field)
        _, header = next(iter(lines), (1, None))
        if not header:
            what = "begins with an empty line" if lines.text else "is empty"
            raise InvalidParameter(
                f"{called} {what}; give a header of names and one row for each entry", field=field
            )
        yield TableReader(called, field, _checked(header, lines.text, called, field), lines)


def checked_header(header: Sequence[str], name: str, field: str) -> tuple[str, ...]:
    """Return the names of columns; refuses one without a name, and two of the same."""
    for place, column in enumerate(header):
        if not column.strip():
            raise InvalidParameter(
                f"{name} has no name for its column {place + 1}; give each column a name, or "
                "remove the column",
                field=field,
            )
        if column in header[:place]:
            raise InvalidParameter(
                f"{name} has the column {show(column)} twice; remove one", field=field
            )
    return tuple(header)


def column_place(header: Sequence[str], column: str, path: Path, field: str, remedy: str) -> int:
    """Return the place of a column in the header of a file; refuses one that is not there."""
    if column not in header:
        raise InvalidParameter(
            f"{word(path)} has no column {show(column)}; its columns are "
            f"{columns_named(header)}: {remedy}",
            field=field,
        )
    return header.index(column)


def columns_named(header: Sequence[str]) -> str:
    """Return the first names of a header, in words."""
    return ", ".join(map(word, header[:12])) + (" ..." if len(header) > 12 else "")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _checked(header: list[str], text: str, name: str, field: str) -> tuple[str, ...]:
    unquoted = re.sub(r'"(?:[^"]|"")*"', "", text)
    for separator, noun in _OTHER_SEPARATORS.items():
        if unquoted.count(separator) > unquoted.count(","):
            raise InvalidParameter(
                f"{name} has {noun} between its cells, and a table has commas; {SAVE_AS_CSV}",
                field=field,
            )
    if text.startswith("sep="):
        raise InvalidParameter(
            f"{name} begins with the line {show(text.strip())}, which is no header; remove it",
            field=field,
        )
    return checked_header(header, name, field)


class _Lines:
    """The cells of each row and the line on which it begins; an empty line has no cells."""

    def __init__(self, stream: TextIO, file: IO[bytes], name: str, field: str) -> None:
        self.text = ""
        self._name, self._field, self._file = name, field, file
        self._stream = stream
        self._read: list[str] = []
        self._end: str | None = None
        self._next = 1
        self._rows = csv.reader(self._lines_without_mark(), strict=True)

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> tuple[int, list[str]]:
        line = self._next
        try:
            cells = next(self._rows)
        except csv.Error as error:
            raise self._unquoted(line, str(error)) from None
        except UnicodeDecodeError:
            raise self._undecoded() from None
        read = self._read
        self.text = text = read[0] if len(read) == 1 else "".join(read)
        self._next += len(read)
        read.clear()
        if "\0" in text:
            raise self._undecoded()
        # A quote that is left in a cell was written twice, or stood where none may.
        if '"' in text and '"' in "".join(cells) and not _ROW.fullmatch(text):
            raise self._unquoted(line, "a quote in the middle of a cell")
        if "'" in text:
            cells = [unescaped(cell) if cell.startswith("'") else cell for cell in cells]
        if text[-1:] != self._end:
            self._check_end(line, text)
        return line, cells

    def _lines_without_mark(self) -> Iterator[str]:
        for line in self._stream:
            # The mark is the file's, and no row's.
            given = line if self._next > 1 or self._read else line.removeprefix(MARK)
            self._read.append(given)
            yield given

    def _check_end(self, line: int, text: str) -> None:
        """Refuse lines that end in CR alone beside others: half of them would be empty rows."""
        if not text.endswith(("\r", "\n")):
            return
        end = "\r" if text.endswith("\r") else "\n"
        self._end = self._end or end
        if end != self._end:
            raise InvalidParameter(
                f"{self._name} line {line} ends in another way than the lines before it, with a "
                "carriage return (CR) alone in one place and a line feed (LF) in the other; save "
                "it with line feeds",
                field=self._field,
            )

    def _unquoted(self, line: int, why: str) -> InvalidParameter:
        text = "".join(self._read) or self.text
        if "\0" in text:
            return self._undecoded()
        if '"' not in text:
            return InvalidParameter(
                f"{self._name} line {line} is no CSV: {why}; give shorter texts", field=self._field
            )
        return InvalidParameter(
            f"{self._name} line {line} is no CSV: the quotes of the row that begins there are not "
            f"closed, or stand inside a cell ({why}); correct the quotes: put the whole cell into "
            "quotes, and write a quote inside it twice",
            field=self._field,
        )

    def _undecoded(self) -> InvalidParameter:
        self._file.seek(0)
        begin = self._file.read(_BEGIN)
        at, byte = first_bad_byte(self._file) or (0, begin[0] if begin else 0)
        return not_utf8(
            begin, at, byte, name=self._name, field=self._field, remedy=SAVE_AS_CSV
        )  # fmt: skip
