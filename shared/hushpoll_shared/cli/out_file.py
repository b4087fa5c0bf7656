"""Files that a command writes (extra ``cli``): ``--out``, replaced only once all is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, BinaryIO, TypeVar, cast

import click

from hushpoll_protocols.errors import InvalidParameter

_Command = TypeVar("_Command", bound=Callable[..., Any])


def out_option(
    help_text: str, *, required: bool = False, check: Callable[[Path], object] | None = None
) -> Callable[[_Command], _Command]:
    """Return what adds ``--out``, a file in a folder that exists; see :func:`replacing`.

    Parameters
    ----------
    help_text : str
        What the option's help says.
    required : bool
        Whether it must be given.
    check : callable, optional
        Called with the path before the command runs; it raises where the path will not do.
    """

    def checked(_ctx: click.Context, _option: click.Parameter, out: Path | None) -> Path | None:
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
    """Open a new file that takes the place of `out` at the end, unless there is an error."""
    with NamedTemporaryFile(dir=out.parent, prefix=out.name, delete=False) as file:
        try:
            yield cast("BinaryIO", file)
            file.flush()
            Path(file.name).replace(out)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
