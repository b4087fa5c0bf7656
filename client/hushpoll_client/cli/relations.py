"""``hushpoll relate``: how answers to several questions of a survey depend on each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.options import (
    analyst_command,
    timeout_option,
    version_of,
    version_option,
)
from hushpoll_shared.cli.terminal import emit_answer, rendered, waiting
from hushpoll_shared.spelling.text import printable

confidence_option = click.option(
    "--confidence",
    type=click.FloatRange(0.01, 0.999999),
    default=0.95,
    show_default=True,
    help="Of the intervals.",
)
_simultaneous_option = click.option(
    "--simultaneous",
    is_flag=True,
    help="Widen the intervals so that all of them hold together with this confidence.",
)


@click.command()
@click.argument("name")
@version_option
@click.option("--of", required=True, help="Attribute whose shares are shown.")
@click.option("--given", required=True, help="Attribute whose categories are the groups.")
@click.option("--reference", help="Category of --given: compare every other group with it.")
@confidence_option
@_simultaneous_option
@analyst_command
def shares(
    client: AnalystClient,
    name: str,
    version: int | None,
    of: str,
    given: str,
    reference: str | None,
    confidence: float,
    simultaneous: bool,
    as_json: bool,
) -> None:
    """Show the shares of one attribute's answers within each group of the survey NAME.

    Where a group is so small that the reports cannot tell its shares, the interval has no bound:
    the answer is "cannot conclude".
    """
    answer = client.conditional_shares(
        name,
        version_of(client, name, version),
        of,
        given,
        reference=reference,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    emit_answer(answer, _shares_text, as_json=as_json)


@click.command()
@click.argument("name")
@click.argument("a")
@click.argument("b")
@version_option
@click.option(
    "--alpha",
    type=click.FloatRange(1e-9, 0.5),
    default=0.05,
    show_default=True,
    help="Level of the test.",
)
@analyst_command
def independence(
    client: AnalystClient,
    name: str,
    version: int | None,
    a: str,
    b: str,
    alpha: float,
    as_json: bool,
) -> None:
    """Test whether the attributes A and B of the survey NAME are independent.

    The test allows for the noise of perturbed answers. It has no interval.
    """
    answer = client.independence(name, version_of(client, name, version), a, b, alpha=alpha)
    emit_answer(answer, _independence_text, as_json=as_json)


@click.command()
@click.argument("name")
@click.argument("attribute")
@version_option
@click.option(
    "--since",
    type=click.IntRange(min=1),
    required=True,
    help="Version to compare with.",
)
@click.option("--since-survey", help="Survey of that version.  [default: NAME]")
@click.option("--since-attribute", help="Attribute of that version.  [default: ATTRIBUTE]")
@click.option(
    "--map",
    "mapping",
    multiple=True,
    metavar="CATEGORY=LABEL",
    help="Label of a category of this version; may be repeated.",
)
@click.option(
    "--since-map",
    "since_mapping",
    multiple=True,
    metavar="CATEGORY=LABEL",
    help="Label of a category of the version to compare with; may be repeated.",
)
@confidence_option
@_simultaneous_option
@analyst_command
def change(
    client: AnalystClient,
    name: str,
    attribute: str,
    version: int | None,
    since: int,
    since_survey: str | None,
    since_attribute: str | None,
    mapping: tuple[str, ...],
    since_mapping: tuple[str, ...],
    confidence: float,
    simultaneous: bool,
    as_json: bool,
) -> None:
    """Show how the shares of ATTRIBUTE in the survey NAME have changed since another version.

    Categories are compared by name, or by the labels that --map and --since-map give them.
    """
    answer = client.changes(
        name,
        version_of(client, name, version),
        attribute,
        since_version=since,
        since_survey=since_survey,
        since_attribute=since_attribute,
        mapping=_labels(mapping, "--map"),
        since_mapping=_labels(since_mapping, "--since-map"),
        confidence=confidence,
        simultaneous=simultaneous,
    )
    emit_answer(answer, _change_text, as_json=as_json)


def _labels(pairs: tuple[str, ...], option: str) -> dict[str, str]:
    labels = {}
    for text in pairs:
        category, equals, label = text.partition("=")
        if not equals or not label:
            raise click.UsageError(f"{option} is {text!r}; give CATEGORY=LABEL")
        labels[category] = label
    return labels


def _change_text(answer: Mapping[str, Any]) -> str:
    from rich.table import Table

    shown = Table(title_justify="left")
    shown.add_column("category", overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % interval"
    for column in ("before", "after", "change", level):
        shown.add_column(column, justify="right", no_wrap=True)
    for row in answer["changes"]:
        before, after, difference = (row[name] for name in ("before", "after", "difference"))
        shown.add_row(
            str(row["label"]),
            f"{before['value']:.4f}",
            f"{after['value']:.4f}",
            f"{difference['value']:+.4f}",
            f"{difference['lower']:+.4f} to {difference['upper']:+.4f}",
        )
    spent = answer["epsilon_of_both"]
    return rendered(
        heading(answer["after"]) + ", since " + heading(answer["before"]),
        shown,
        str(answer["intervals"]),
        str(answer["assumption"]),
        f"A person who answered both has spent epsilon {spent['surveys']}, of which "
        f"{spent['attribute']} on this attribute.",
    )


@click.command()
@click.argument("name")
@click.argument("attributes", nargs=-1, required=True)
@version_option
@confidence_option
@click.option(
    "--likelihood/--no-likelihood",
    default=True,
    show_default=True,
    help="Show shares by maximum likelihood as well: never negative, but without an interval.",
)
@timeout_option("Seconds to wait for the worker.")
@analyst_command
def table(
    client: AnalystClient,
    name: str,
    attributes: tuple[str, ...],
    version: int | None,
    confidence: float,
    likelihood: bool,
    timeout: float,
    as_json: bool,
) -> None:
    """Show the joint table of two or three ATTRIBUTES of the survey NAME.

    A running hushpoll worker of the server computes it from the records.
    """
    with waiting(f"table of {name}") as say:
        answer = client.joint_table(
            name,
            version_of(client, name, version),
            attributes,
            confidence=confidence,
            likelihood=likelihood,
            timeout=timeout,
            on_look=lambda job: say(f"{job.get('state')}, job {job.get('id')}"),
        )
    emit_answer(answer, _cells_text, as_json=as_json)


def _cells_text(answer: Mapping[str, Any]) -> str:
    from rich.table import Table

    likely = answer["likelihood"]
    shown = Table(title_justify="left")
    for name in answer["attributes"]:
        shown.add_column(str(name), overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % interval"
    for column in ("estimate", "std. error", level, *(["likelihood"] if likely else [])):
        shown.add_column(column, justify="right", no_wrap=True)
    for cell in answer["cells"]:
        shown.add_row(
            *map(str, cell["categories"]),
            f"{cell['frequency']:.4f}",
            f"{cell['standard_error']:.4f}",
            f"{cell['lower']:.4f} to {cell['upper']:.4f}",
            *([f"{cell['likelihood']:.4f}"] if likely else []),
        )
    parts: list[Table | str] = [heading(answer), shown, str(answer["intervals"])]
    if likely:
        parts.append(str(likely["interval"]))
    return rendered(*parts)


def _shares_text(answer: Mapping[str, Any]) -> str:
    of, given = printable(answer["of"]), printable(answer["given"])
    level = f"{100 * float(answer['confidence']):g} % interval"
    parts: list[Any] = [
        heading(answer),
        _table(f"{of}, given {given}", answer["shares"], level),
    ]
    if answer["differences"] is not None:
        title = f"{of}: share in each group minus share in {printable(answer['reference'])}"
        parts.append(_table(title, answer["differences"], level))
    parts.append(str(answer["intervals"]))
    return rendered(*parts)


def _table(title: str, rows: Sequence[Mapping[str, Any]], level: str) -> Any:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in ("group", "category"):
        table.add_column(column, overflow="fold")
    for column in ("estimate", "std. error", level):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        numbers = ("", "", "cannot conclude")
        if row["value"] is not None:
            numbers = (
                f"{row['value']:.4f}",
                f"{row['standard_error']:.4f}",
                f"{row['lower']:.4f} to {row['upper']:.4f}",
            )
        table.add_row(str(row["group"]), str(row["category"]), *numbers)
    return table


def _independence_text(answer: Mapping[str, Any]) -> str:
    words = (
        f"{printable(answer['a'])} and {printable(answer['b'])}: {answer['conclusion']}, "
        f"p = {float(answer['p_value']):.2g} (chi-square {float(answer['statistic']):.2f} with "
        f"{answer['degrees']} degrees of freedom, level {float(answer['alpha']):g}). "
        "A test has no interval."
    )
    if answer["smallest_detectable"] is not None:
        words += (
            f" With a chance of {float(answer['power']):g} it finds a dependence of "
            f"phi = {float(answer['smallest_detectable']):.3f} of the easiest kind and of "
            f"{float(answer['largest_detectable']):.3f} of the hardest."
        )
    least = answer["smallest_expected"]
    if least is not None and float(least) < 5:
        words += f" The emptiest cell expects {float(least):.2g} people: the p-value is rough."
    return f"{heading(answer)}\n{words}"


def heading(answer: Mapping[str, Any]) -> str:
    """Return the line that says what an answer is about."""
    line = f"{answer['survey']} version {answer['version']}, {answer['n']} reports"
    if answer.get("pending"):
        line += f", {answer['pending']} more pending"
    return line
