"""``hushpoll results``: publish results of a survey to everybody, withdraw them, list."""

from __future__ import annotations

from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import analyst_command, version_of, version_option
from hushpoll_client.cli.reporting.report import choice_options, chosen_tables
from hushpoll_shared.cli.terminal import agreed, emit_answer

_NAME = click.argument("name")


@click.command()
@_NAME
@version_option
@choice_options
@click.option(
    "--so-far",
    is_flag=True,
    help="Publish results of a survey that still runs: of randomised questions alone.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@analyst_command
def publish(
    client: AnalystClient,
    name: str,
    version: int | None,
    attributes: tuple[str, ...],
    crosses: tuple[str, ...],
    estimator: str | None,
    confidence: float | None,
    fairness: bool,
    so_far: bool,
    trend: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Publish results of the survey NAME: everybody may read them, without sign-in.

    The survey is closed, or with --so-far it still runs.

    The page and its files are kept as they are now. Results that are published already give way.
    The command warns of tables with a group of fewer than 10 reports in clear.
    """
    number = version_of(client, name, version)
    results = "results so far" if so_far else "results"
    _confirm(f"Show the {results} of {name} version {number} to everybody?", yes)
    given = {"estimator": estimator, "confidence": confidence}
    answer = client.publish_results(
        name,
        number,
        attributes=attributes,
        cross_tables=chosen_tables(crosses),
        fairness=fairness,
        so_far=so_far,
        trend=trend,
        **{key: value for key, value in given.items() if value is not None},  # type: ignore[arg-type]
    )
    emit_answer(answer, lambda told: _published(told, client.url), as_json=as_json)


def _published(told: dict[str, Any], server: str) -> str:
    page = server + told["address"]
    lines = [f"The results of {told['survey']} version {told['version']} are public: {page}"]
    # A server of an earlier release gives none.
    lines += [f"Warning: {warning}." for warning in told.get("warnings", [])]
    return "\n".join(lines)


@click.command()
@_NAME
@version_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@analyst_command
def withdraw(
    client: AnalystClient, name: str, version: int | None, yes: bool, as_json: bool
) -> None:
    """Take the published results of the survey NAME back; their files are deleted.

    From then on their address says that they were taken back. Who has saved them keeps them.
    """
    number = version_of(client, name, version)
    _confirm(f"Take the published results of {name} version {number} back?", yes)
    client.take_results_back(name, number)
    emit_answer(
        {"survey": name, "version": number, "state": "taken-back"},
        lambda told: f"The results of {told['survey']} version {told['version']} are taken back.",
        as_json=as_json,
    )


@click.command("list")
@_NAME
@version_option
@analyst_command
def list_publications(client: AnalystClient, name: str, version: int | None, as_json: bool) -> None:
    """List the publications of the survey NAME, also those that were taken back."""
    number = version_of(client, name, version)
    emit_answer({"publications": client.public_results(name, number)}, _listed, as_json=as_json)


def _confirm(question: str, yes: bool) -> None:
    if not yes:
        agreed(question)


def _listed(answer: dict[str, Any]) -> str:
    return "\n".join(map(_line, answer["publications"])) or "No results were published."


def _line(told: dict[str, Any]) -> str:
    back = told["taken_back_at"]
    state = "public" if back is None else f"taken back {back}"
    tables = "".join(f"  {' by '.join(pair)}" for pair in told["cross_tables"])
    return (
        f"{told['address']}  {state}  published {told['published_at']} by "
        f"{told['published_by']}  {', '.join(told['attributes'])}{tables}"
    )
