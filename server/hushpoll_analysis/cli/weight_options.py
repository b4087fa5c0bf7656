"""The options of a command that takes a weight for each record of a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def weights_of_records(command: _Command) -> _Command:
    """Add the options that give a weight for each record of a file."""
    column = click.option(
        "--weight-column",
        default="weight",
        show_default=True,
        help="Its column with the weights.",
    )
    file = click.option(
        "--weights",
        "weights_file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="CSV or Parquet with a row for each record of FILE, in the same order.",
    )
    return file(column(command))
