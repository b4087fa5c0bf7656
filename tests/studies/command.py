"""The command of a study that draws surveys: its options, and its rows as Markdown or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

import click

from hushpoll_shared.cli.terminal import emit, json_option, reports_errors


def study_command(
    run_study: Callable[..., Sequence[Any]],
    markdown: Callable[[Sequence[Any]], str],
    *,
    help: str,
    seed: int,
    surveys: int = 500,
    parts: Sequence[str] = (),
    cells: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> click.Command:
    """Return the command of a study.

    Parameters
    ----------
    run_study : callable
        Takes `surveys` and `seed` and returns the rows, which are dataclasses.
    markdown : callable
        Takes the rows and returns their table.
    help : str
        What the study measures, in a sentence.
    seed, surveys : int
        Defaults of the options.
    parts : sequence of str
        Of which ``--part`` runs one; `run_study` then takes `part`, None for all.
    cells : mapping of str to sequence of str
        What else `run_study` takes some of, such as `statistics`: an option by the name without its
        s, which may be given several times; without it all are taken.
    """

    @click.command(help=help)
    @click.option("--surveys", type=click.IntRange(min=2), default=surveys, show_default=True)
    @click.option("--seed", type=click.IntRange(min=0), default=seed, show_default=True)
    @json_option
    @reports_errors
    def main(surveys: int, seed: int, as_json: bool, **chosen: Any) -> None:
        for name in cells:
            chosen[name] = chosen[name] or cells[name]
        rows = run_study(surveys=surveys, seed=seed, **chosen)
        document = {"surveys": surveys, "seed": seed, "rows": [asdict(row) for row in rows]}
        emit(document, lambda: markdown(rows), as_json=as_json)

    for name, known in cells.items():
        option = click.option(
            f"--{name.removesuffix('s')}",
            name,
            multiple=True,
            type=click.Choice(list(known)),
            metavar="NAME",
            help=f"Only these {name}.",
        )
        main = option(main)
    if parts:
        return click.option("--part", type=click.Choice(list(parts)), help="Only this one.")(main)
    return main
