"""``hushpoll demo``: the command that runs the demonstration, and removes what it made."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import NoReturn

import click

from hushpoll_client import InvalidParameter
from hushpoll_fleet.demo.story import tell
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors


@click.command()
@click.option(
    "--respondents",
    type=click.IntRange(min=500),
    default=5000,
    show_default=True,
    help="People who answer.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Seed of the people and the training; their noise is never repeated.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep database, records, answers and model in this directory (new or empty).",
)
@click.option(
    "--look",
    is_flag=True,
    help="Afterwards keep the server running until Ctrl-C, with a user for its dashboard.",
)
@json_option
@reports_errors
def demo(respondents: int, seed: int, keep: Path | None, look: bool, as_json: bool) -> None:
    """Play a whole survey on this machine, from publishing to a fairness table.

    Starts a server on a free port, lets simulated people answer through the real client, compares
    the estimates with the truth, and trains a classifier with and without randomised answers. Every
    command is printed as it runs. Nothing is left behind unless --keep is given.
    """
    began = time.monotonic()
    with _ended_in_order(), _directory(keep) as directory:
        document = tell(
            directory,
            respondents=respondents,
            seed=seed,
            say=lambda line: click.echo(line, err=as_json),
            wait=_interrupted if look else None,
        )
    document["seconds"] = round(time.monotonic() - began, 1)
    kept = f" Everything is in {keep}." if keep is not None else ""
    if not look:
        kept += "\nSee such estimates in a browser:  scripts/demo --look  (or hushpoll demo --look)"
    emit(document, f"\nDone in {document['seconds']} s.{kept}", as_json=as_json)


def _interrupted() -> None:
    """Return once the person at the terminal presses Ctrl-C."""
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(3600)


@contextmanager
def _directory(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with TemporaryDirectory(prefix="hushpoll-demo-") as name:
            yield Path(name)
        return
    keep.mkdir(parents=True, exist_ok=True)
    if any(keep.iterdir()):
        raise InvalidParameter(
            f"--keep {keep} is not empty; give a new or an empty directory", field="keep"
        )
    yield keep.resolve()


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Turn SIGTERM into an exception, so that the server ends with this process."""

    def leave(number: int, _frame: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
