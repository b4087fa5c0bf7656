"""``hushpoll fairness survey NAME``: its server estimates the fairness of a collected survey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import (
    analyst_command,
    out_option,
    replacing,
    timeout_option,
    version_of,
    version_option,
)
from hushpoll_shared.cli.fairness_options import cross_fitting_options
from hushpoll_shared.cli.fairness_text import fairness_text
from hushpoll_shared.cli.given_parameters import given_parameters
from hushpoll_shared.cli.terminal import check_answer, emit_answer, waiting


@click.command()
@click.argument("name")
@version_option
@cross_fitting_options
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    default=0,
    show_default=True,
    help="Of the folds and of the learner.",
)
@click.option("--learner", metavar="NAME", help="The training algorithm.  [default: the server's]")
@click.option(
    "--encoding", metavar="NAME", help="How records become features.  [default: the server's]"
)
@timeout_option("Seconds to wait for the worker.")
@out_option("Write the report as JSON into this file as well.")
@analyst_command
def survey(
    client: AnalystClient,
    name: str,
    version: int | None,
    params: tuple[str, ...],
    expect: tuple[str, ...],
    timeout: float,
    out: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Estimate a classifier's group fairness from the randomised answers of the survey NAME.

    Group metrics, such as DI and SPD, and the group rates behind them, with intervals. The
    protected attribute is not needed in clear. A running hushpoll worker of the server cross-fits
    the models, so that each record is predicted by a model that never saw it. Where the records
    cannot tell, the answer says so. The token needs the scopes train and read.
    """
    if settings["reference"] is not None and settings["groups"] is None:
        raise click.UsageError("--reference needs --groups, the attribute that it is a category of")
    with waiting(f"fairness of {name}") as say:
        report = client.fairness(
            name,
            version_of(client, name, version),
            parameters=given_parameters(params),
            expected=given_parameters(expect) or None,
            timeout=timeout,
            on_look=lambda job: say(f"{job.get('state')}, job {job.get('id')}"),
            **settings,
        )
    check_answer(report, fairness_text)  # an unusable answer must not replace the user's file
    if out is not None:
        with replacing(out) as file:
            file.write(json.dumps(report, indent=2, ensure_ascii=False).encode())
    saved = "" if out is None else f"\nThe report is in {out}."
    emit_answer(report, lambda answer: fairness_text(answer) + saved, as_json=as_json)
