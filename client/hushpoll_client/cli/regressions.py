"""``hushpoll regress survey NAME``: a worker of the server fits a regression, by a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.kept_results import delete_command, job_line, list_command
from hushpoll_client.cli.options import (
    analyst_command,
    looking,
    timeout_option,
    version_of,
    version_option,
)
from hushpoll_shared.cli.model_options import regression_options
from hushpoll_shared.cli.out_file import save_table
from hushpoll_shared.cli.regression_text import regression_text
from hushpoll_shared.cli.result_text import NO_QUESTIONS
from hushpoll_shared.cli.terminal import emit_answer, usable, waiting
from hushpoll_shared.reading.pairs import read_pair
from hushpoll_shared.survey.option_texts import question_texts
from hushpoll_shared.tables.regressions import regression_table
from hushpoll_shared.wire.regression_documents import RegressionEntry


@click.command()
@click.argument("name")
@version_option
@regression_options
@click.option(
    "--for-readers",
    is_flag=True,
    help="Keep to the groups in clear that readers without the right to export may see.",
)
@timeout_option("Seconds to wait for the worker.")
@analyst_command
def survey(
    client: AnalystClient,
    name: str,
    version: int | None,
    stated: tuple[str, ...],
    out: Path | None,
    timeout: float,
    as_json: bool,
    **asked: Any,
) -> None:
    """Fit a regression to the records of the survey NAME.

    Attributes are named as in the manifest, perturbed or in clear; of perturbed ones the law is
    known. A running hushpoll worker of the server fits it. The token needs the scope read.
    """
    values = dict(read_pair(text, field="--at", form="NAME=VALUE") for text in stated)
    number = version_of(client, name, version)
    with waiting(f"regression of {name}") as say:
        answer = client.regression(
            name, number, at=values or None, timeout=timeout, on_look=looking(say), **asked
        )
    if out is not None:
        usable(lambda: save_table(answer, lambda: regression_table(answer), out))
    questions = NO_QUESTIONS if as_json else question_texts(client.show(name, number))
    emit_answer(answer, lambda found: regression_text(found, questions), as_json=as_json)
    if out is not None and not as_json:
        click.echo(f"\nThe table is in {out}.")


def _regression(entry: RegressionEntry) -> str:
    line, found = job_line(entry["job"]), entry.get("regression")
    if not found:
        return line
    words = (found["formula"], f"{found['n']:,} reports; {found['verdict']}", *found["sentences"])
    return "\n  ".join((line, *words))


list_regressions = list_command(
    "regression",
    "regressions",
    AnalystClient.regressions,
    _regression,
    "List the regressions of the survey NAME, and what they found.",
)
delete_regression = delete_command("regression", AnalystClient.delete_regression)
