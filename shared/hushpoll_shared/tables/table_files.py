"""Files of tables: CSV (RFC 4180) and XLSX, chosen by name or by a file's ending.

No text becomes a formula or a link. In CSV a text that a spreadsheet would take for a formula has
an apostrophe before it (:mod:`hushpoll_shared.spelling.csv_cells`); in XLSX a text is a text.
Numbers are numbers in both, and a number that there is not is an empty cell. The sheet of methods
has what a survey promised its respondents.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePath
from types import MappingProxyType
from typing import Final

from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import InvalidParameter, MissingExtra, refusal_of
from hushpoll_protocols.odds import odds_factor
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published
from hushpoll_shared.tables.result_table import Cell, ResultTable

MOST_ROWS: Final = (1 << 20) - 1
"""Rows of a sheet beneath its header."""

MOST_CHARACTERS: Final = 32_767
"""The longest text in a sheet's cell."""

_WIDTH: Final = 22
"""The width of columns, in characters."""


def csv_bytes(table: ResultTable) -> bytes:
    """Return a table as CSV: UTF-8, every text in quotes and no number, lines end in CR LF."""
    lines = [[column.name for column in table.columns], *table.rows]
    return "".join(",".join(map(_csv_cell, line)) + "\r\n" for line in lines).encode()


def _csv_cell(cell: Cell) -> str:
    # The csv module would write a number that there is not as an empty text.
    if cell is None:
        return ""
    return '"' + escaped(cell).replace('"', '""') + '"' if isinstance(cell, str) else repr(cell)


def xlsx_bytes(table: ResultTable) -> bytes:
    """Return a table as a workbook of results and methods; refuses more than a sheet holds."""
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise MissingExtra("cli", "a file of the format XLSX") from error
    if len(table.rows) > MOST_ROWS:
        raise InvalidParameter(
            f"the table has {len(table.rows)} rows, and a sheet holds at most {MOST_ROWS}; ask for "
            "CSV, or for fewer categories",
            field="format",
        )
    file = io.BytesIO()
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    methods = [("statistic", table.title), *table.methods]
    header = [column.name for column in table.columns]
    for cell in (*header, *(cell for row in (*table.rows, *methods) for cell in row)):
        if isinstance(cell, str):
            cell.encode()  # the library would notice too late, with the file half written
    with Workbook(file, options) as book:
        bold = book.add_format({"bold": True})
        for title, head, rows in (
            ("results", header, table.rows),
            ("methods", ["about", "value"], methods),
        ):
            sheet = book.add_worksheet(title)
            sheet.freeze_panes(1, 0)
            for place, name in enumerate(head):
                sheet.write_string(0, place, name, bold)
            for number, row in enumerate(rows, start=1):
                for place, cell in enumerate(row):
                    if isinstance(cell, str):
                        sheet.write_string(number, place, _fitting(cell))
                    elif cell is not None:
                        sheet.write_number(number, place, cell)
            sheet.set_column(0, len(head) - 1, _WIDTH)
    return file.getvalue()


def _fitting(text: str) -> str:
    if len(text) > MOST_CHARACTERS:
        raise InvalidParameter(
            f"a text has {len(text)} characters, and a cell of a sheet holds at most "
            f"{MOST_CHARACTERS}; ask for CSV",
            field="format",
        )
    return text


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A kind of file; its name is also its ending."""

    name: str
    media_type: str
    """In HTTP."""
    encode: Callable[[ResultTable], bytes]
    has_methods: bool = False
    """Whether the file has the lines about the methods beside the rows."""


TABLE_FORMATS: Final[Mapping[str, TableFormat]] = MappingProxyType(
    {
        form.name: form
        for form in (
            TableFormat("csv", "text/csv", csv_bytes),
            TableFormat(
                "xlsx",
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                xlsx_bytes,
                has_methods=True,
            ),
        )
    }
)
"""By name."""


def format_of(file: PurePath, *, others: Sequence[str] = ()) -> TableFormat:
    """Return the format that a file's ending names; a refusal names those of `others`, too."""
    form = TABLE_FORMATS.get(file.suffix.lower().removeprefix("."))
    if form is None:
        endings = " or ".join(f".{name}" for name in (*TABLE_FORMATS, *others))
        raise refusal_of("out")(
            f"is {show(str(file))}, whose ending names no table; give a file that ends in {endings}"
        )
    return form


def guarantee(published: Published) -> dict[str, str]:
    """Return the guarantee of a survey version: all answers together, then each attribute."""
    total = Decimal(published.epsilon)
    lines = {
        "survey": f"{published.name} version {published.version}, digest {published.digest}",
        "epsilon": f"{format_epsilon(total)}, of all perturbed answers of a respondent together",
        "odds": "All of them together change the odds of anything about their respondent by at "
        f"most the factor {odds_factor(total, 10) / 10:g}.",
    }
    for attribute in published.attributes:
        how = "sent in clear"
        if attribute.oracle is not None:
            how = f"{attribute.oracle.name}, epsilon {format_epsilon(attribute.oracle.epsilon)}"
        if attribute.block is not None:
            how += f", of the block {attribute.block} of several questions together"
        lines[f"attribute {attribute.name}"] = how
    return {f"guarantee: {name}": value for name, value in lines.items()}
