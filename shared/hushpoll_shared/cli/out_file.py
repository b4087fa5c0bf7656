"""Files that a command writes (extra ``cli``): ``--out``, replaced only once all is written.

A command that shows a table writes it as CSV, XLSX or JSON.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryFile
from typing import Any, BinaryIO, Final, TypeVar, cast

import click

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.tables.result_table import ResultTable
from hushpoll_shared.tables.table_files import format_of

_Command = TypeVar("_Command", bound=Callable[..., Any])


def out_option(
    help_text: str, *, required: bool = False, check: Callable[[Path], object] | None = None
) -> Callable[[_Command], _Command]:
    """Return what adds ``--out``, a file in a folder that exists; see :func:`replacing`.

    `check` is called with the path before the command runs, and raises where the path will not do.
    """

    def checked(_ctx: click.Context, _option: click.Parameter, out: Path | None) -> Path | None:
        if out is not None and out.name in ("", "-"):
            raise InvalidParameter(
                f"--out is {out.name!r}, which names no file; give a file's name", field="out"
            )
        if out is not None and not out.parent.is_dir():
            raise InvalidParameter(
                f"--out is {str(out)!r}, and {str(out.parent)!r} is no directory; make it first",
                field="out",
            )
        if out is not None and check is not None:
            check(out)
        return out

    return click.option(
        "--out",
        required=required,
        type=click.Path(dir_okay=False, path_type=Path),
        callback=checked,
        help=help_text,
    )


@contextmanager
def replacing(out: Path) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `out` at the end, unless there is an error.

    A link stays, and the file that it leads to is replaced. A device or a pipe is no file that
    another could take the place of: all is written into it at the end.
    """
    try:
        with _copied_to(out) if _is_no_file(out) else _put_in_place_of(out.resolve()) as file:
            yield file
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(str(out.resolve())):
            error.filename = str(out)
        raise


def _is_no_file(out: Path) -> bool:
    return out.exists() and not out.is_file()


@contextmanager
def _copied_to(device: Path) -> Iterator[BinaryIO]:
    with TemporaryFile() as file:
        yield cast("BinaryIO", file)
        file.seek(0)
        with device.open("wb") as stream:
            shutil.copyfileobj(file, stream)


@contextmanager
def _put_in_place_of(out: Path) -> Iterator[BinaryIO]:
    with NamedTemporaryFile(dir=out.parent, prefix=out.name, delete=False) as file:
        try:
            yield cast("BinaryIO", file)
            file.flush()
            Path(file.name).replace(out)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def write_text(out: Path, text: str) -> None:
    """Write a text into a file, which is replaced once all is written."""
    with replacing(out) as file:
        file.write(text.encode())


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
    """Return the file that a result becomes by its ending: ``.json``, or ``.csv`` and ``.xlsx``."""
    if is_json(out):
        return json.dumps(document, indent=2, ensure_ascii=False).encode()
    return format_of(out).encode(table())


def save_table(document: Mapping[str, object], table: Callable[[], ResultTable], out: Path) -> None:
    """Write a result into a file, which is replaced once all is written; see `table_bytes`."""
    content = table_bytes(document, table, out)
    with replacing(out) as file:
        file.write(content)
