"""``hushpoll relate together`` and ``all``: many answers of a survey at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import analyst_command, version_of, version_option
from hushpoll_client.cli.relations import confidence_option, heading
from hushpoll_shared.cli.terminal import emit_answer, rendered


@click.command()
@click.argument("name")
@version_option
@click.option("--attribute", help="Only this one, with narrower intervals.")
@click.option(
    "--method",
    type=click.Choice(["max-t", "bonferroni", "anytime"]),
    default="max-t",
    show_default=True,
    help="anytime: they hold at all looks together, however often you look.",
)
@confidence_option
@analyst_command
def together(
    client: AnalystClient,
    name: str,
    version: int | None,
    attribute: str | None,
    method: str,
    confidence: float,
    as_json: bool,
) -> None:
    """Show estimates of the survey NAME whose intervals all hold together."""
    answer = client.simultaneous_estimates(
        name,
        version_of(client, name, version),
        attribute=attribute,
        method=method,
        confidence=confidence,
    )
    emit_answer(answer, _estimates_text, as_json=as_json)


@click.command("all")
@click.argument("name")
@version_option
@click.option(
    "--rate",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.05,
    show_default=True,
    help="Part of the discoveries that is expected to be false, at most.",
)
@analyst_command
def dependencies(
    client: AnalystClient, name: str, version: int | None, rate: float, as_json: bool
) -> None:
    """Test which attributes of the survey NAME depend on each other.

    All pairs of attributes with few categories are tested, and the false discoveries among them are
    bounded by the method of Benjamini and Yekutieli. A test has no interval.
    """
    answer = client.dependencies(name, version_of(client, name, version), rate=rate)
    emit_answer(answer, _dependencies_text, as_json=as_json)


def _estimates_text(answer: Mapping[str, Any]) -> str:
    from rich.table import Table

    parts: list[Table | str] = [heading(answer)]
    level = f"{100 * float(answer['confidence']):g} % together"
    for attribute in answer["attributes"]:
        shown = Table(title=str(attribute["name"]), title_justify="left")
        shown.add_column("category", overflow="fold")
        for column in ("estimate", "std. error", level):
            shown.add_column(column, justify="right", no_wrap=True)
        for row in attribute["categories"]:
            shown.add_row(
                str(row["category"]),
                f"{row['frequency']:.4f}",
                f"{row['standard_error']:.4f}",
                f"{row['lower']:.4f} to {row['upper']:.4f}",
            )
        parts.append(shown)
    return rendered(*parts, str(answer["intervals"]))


def _dependencies_text(answer: Mapping[str, Any]) -> str:
    from rich.table import Table

    shown = Table(title_justify="left")
    for column in ("a", "b"):
        shown.add_column(column, overflow="fold")
    for column in ("p", "adjusted p", "conclusion"):
        shown.add_column(column, justify="right", no_wrap=True)
    for row in answer["pairs"]:
        shown.add_row(
            str(row["a"]),
            str(row["b"]),
            f"{row['p_value']:.2g}",
            f"{row['adjusted_p_value']:.2g}",
            str(row["conclusion"]),
        )
    reading = str(answer["reading"]).replace("`rate`", f"{float(answer['rate']):g}")
    return rendered(heading(answer), shown, reading)
