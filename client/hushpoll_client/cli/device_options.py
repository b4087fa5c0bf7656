"""Options of the commands that work with this device's own file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click

from hushpoll_client.config import ClientConfig

_Command = TypeVar("_Command", bound=Callable[..., object])

AT_A_TERMINAL: Final = ClientConfig(
    attempts=2,
    connect_timeout=3.0,
    read_timeout=20.0,
    exchange_timeout=20.0,
    exit_patience=0.0,
    raise_faults=True,
)
"""Somebody is waiting: give up soon, and say what failed."""


def ledger_option(command: _Command) -> _Command:
    """Add ``--ledger``, passed to the command as `path`: a Path."""
    return click.option(
        "--ledger",
        "path",
        envvar="HUSHPOLL_LEDGER",
        type=click.Path(dir_okay=False, path_type=Path),
        default=lambda: Path(click.get_app_dir("hushpoll")) / "ledger.sqlite",
        show_default="in your configuration folder",
        help="File of consents, answers and epsilon spent; readable by you alone.  "
        "[env: HUSHPOLL_LEDGER]",
    )(command)
