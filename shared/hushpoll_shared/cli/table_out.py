"""``--out`` of a command that shows a table (extra ``cli``): the table as CSV, XLSX or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from hushpoll_shared.cli.out_file import out_option, replacing
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.tables.table_files import format_of


def is_json(out: Path) -> bool:
    """Return whether a file's ending names the JSON form."""
    return out.suffix.lower() == ".json"


def _check_ending(out: Path) -> None:
    if not is_json(out):
        format_of(out, others=("json",))


table_out_option: Final = out_option(
    "Write the table into this file as well; its ending says how: .csv, .xlsx, or .json.",
    check=_check_ending,
)
"""Adds ``--out``; refuses another ending before the command runs."""


def table_bytes(
    document: Mapping[str, object], table: Callable[[], ResultTable], out: Path
) -> bytes:
    """Return the file that a result becomes by the ending of its name.

    Parameters
    ----------
    document : mapping
        The result's JSON form, written where the file ends in ``.json``.
    table : callable
        Gives its table.
    out : Path
        Ends in ``.csv``, ``.xlsx`` or ``.json``.

    Raises
    ------
    InvalidParameter
        For another ending, or a table that its format does not hold.
    MissingExtra
        For XLSX without XlsxWriter.
    """
    if is_json(out):
        return json.dumps(document, indent=2, ensure_ascii=False).encode()
    return format_of(out).encode(table())


def save_table(document: Mapping[str, object], table: Callable[[], ResultTable], out: Path) -> None:
    """Write a result into a file, which is replaced once all is written; see `table_bytes`."""
    content = table_bytes(document, table, out)
    with replacing(out) as file:
        file.write(content)
