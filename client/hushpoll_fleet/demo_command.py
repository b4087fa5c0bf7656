"""``hushpoll demo``: options, cleaning up, and the tables at the end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.table import Table

from hushpoll_client import InvalidParameter
from hushpoll_fleet.demo import SHOWN, Outcome, tell
from hushpoll_shared.terminal import emit, json_option, reports_errors


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
    help="Of the people and the training; their noise is never repeated.",
)
@click.option(
    "--keep",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep database, records, answers and model in this directory (new or empty).",
)
@json_option
@reports_errors
def demo(respondents: int, seed: int, keep: Path | None, as_json: bool) -> None:
    """Play a whole survey on this machine, from publishing to a fairness table.

    Starts a server on a free port, lets simulated people answer through the real client, compares
    the estimates with the truth, and trains a classifier with and without randomised answers. Every
    command is printed as it runs. Nothing is left behind unless --keep is given.
    """
    began = time.monotonic()
    with _ended_in_order(), _directory(keep) as directory:
        outcome = tell(
            directory,
            respondents=respondents,
            seed=seed,
            say=lambda line: click.echo(line, err=as_json),
        )
    document = {
        "account": outcome.account,
        "estimates": {
            name: [
                {
                    "category": one.category,
                    "truth": one.truth,
                    "estimate": one.estimate,
                    "lower": one.lower,
                    "upper": one.upper,
                    "covered": one.covered,
                }
                for one in rows
            ]
            for name, rows in outcome.comparisons.items()
        },
        "training": outcome.training,
        "seconds": round(time.monotonic() - began, 1),
    }
    emit(document, lambda: _tables(outcome, document["seconds"], keep), as_json=as_json)


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


def _tables(outcome: Outcome, seconds: object, keep: Path | None) -> str:
    console = Console(width=96, color_system=None, highlight=False)
    with console.capture() as capture:
        _print_estimates(console, outcome)
        _print_training(console, outcome.training)
        console.print(f"Done in {seconds} s." + (f" Everything is in {keep}." if keep else ""))
    return capture.get().rstrip("\n")


def _print_estimates(console: Console, outcome: Outcome) -> None:
    rows = outcome.comparisons[SHOWN]
    table = Table(title=f"{SHOWN}: truth, and what the randomised records say")
    table.add_column("category")
    for heading in ("truth", "estimate", "95 % interval", "covers"):
        table.add_column(heading, justify="right")
    for one in rows:
        table.add_row(
            one.category,
            f"{one.truth:.3f}",
            f"{one.estimate:.3f}",
            f"{one.lower:.3f} to {one.upper:.3f}",
            "yes" if one.covered else "no",
        )
    console.print()
    console.print(table)
    console.print(f"{sum(one.covered for one in rows)} of {len(rows)} intervals cover the truth.")
    every = [one for rows in outcome.comparisons.values() for one in rows]
    console.print(
        f"Over all {len(outcome.comparisons)} randomised attributes: "
        f"{sum(one.covered for one in every)} of {len(every)}; 95 of 100 are expected."
    )


def _print_training(console: Console, training: Mapping[str, Any]) -> None:
    table = Table(title="Utility and fairness on 3000 people in clear, without and with LDP")
    console.print()
    console.print(table)
