"""``hushpoll plan``: what a survey will be able to say, for every protocol and split."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import click

from hushpoll_analysis.planning.planner import plan
from hushpoll_analysis.planning.power import AuditAssumptions
from hushpoll_shared.cli.terminal import emit, json_option, reports_errors
from hushpoll_shared.group_metrics import DIFFERENCES, METRICS
from hushpoll_shared.survey.manifest import load_manifest


@click.command("plan")
@click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--n", type=click.IntRange(min=1), required=True, help="Respondents.")
@click.option(
    "--gap", type=float, default=0.1, show_default=True, help="Difference of rates to be found."
)
@click.option(
    "--positive",
    type=float,
    default=0.3,
    show_default=True,
    help="Share predicted positive in the unprivileged group.",
)
@click.option(
    "--unprivileged", type=float, default=0.5, show_default=True, help="Share of that group."
)
@click.option(
    "--base", type=float, default=0.3, show_default=True, help="Share with a positive label."
)
@click.option(
    "--recall",
    type=float,
    help="Share of them predicted positive, in the unprivileged group.  [default: 0.4 above the "
    "rate of false positives, or as far as the other shares allow]",
)
@click.option(
    "--metric",
    type=click.Choice(list(METRICS)),
    default="SPD",
    show_default=True,
    help="Whose gap the recommended option has to find.",
)
@json_option
@reports_errors
def plan_command(manifest: Path, n: int, metric: str, as_json: bool, **assumed: Any) -> None:
    """Compare protocols and splits for the draft MANIFEST, before anybody answers.

    Per attribute: the expected width of a category's 95 % interval and, after the slash, the
    smallest difference between two halves of the respondents found with power 0.8 (none, if there
    is none). Categories are taken as equally frequent. Audit: the chances that an audit from the
    records alone finds --gap between the protected groups, by metric; DI has that of SPD.
    """
    document = plan(load_manifest(manifest), n, AuditAssumptions(**assumed), metric=metric)
    emit(document, lambda: _text(document), as_json=as_json)


def _text(document: dict[str, Any]) -> str:
    from rich.console import Console
    from rich.table import Table

    possible = [option for option in document["options"] if "error" not in option]
    table = Table()
    names = [attribute["name"] for attribute in possible[0]["attributes"]] if possible else []
    for heading in ("protocol", "split", *names, "variance", f"audit: {' / '.join(DIFFERENCES)}"):
        table.add_column(heading, overflow="fold")
    for option in document["options"]:
        if "error" in option:
            table.add_row(option["protocol"], option["split"], *["-"] * (len(names) + 2))
            continue
        powers = option["audit_power"] or {}
        table.add_row(
            option["protocol"],
            option["split"],
            *(f"{row['width']:.3f} / {_difference(row)}" for row in option["attributes"]),
            f"{option['total_variance']:.4g}",
            " / ".join(_share(powers.get(metric)) for metric in DIFFERENCES),
        )
    buffer = StringIO()
    Console(file=buffer, width=140, color_system=None).print(table)
    chosen = document["recommended"]
    lines = [f"{document['survey']}, {document['n']} respondents", buffer.getvalue().rstrip("\n")]
    if chosen:
        lines.append(
            f"Recommended: protocol {chosen['protocol']}, split {chosen['split']}: "
            f"{document['reason']}."
        )
    gains = document["optimal_gain"]
    if gains:
        less = ", ".join(f"{gain:.0%} less than {name}" for name, gain in gains.items())
        lines.append(f"With the draft's protocols the split optimal has a total variance {less}.")
    lines += sorted(
        {
            f"Note: {text}."
            for option in possible
            for text in option["warnings"]
            if option["split"] == "own"
        }
    )
    return "\n".join(lines)


def _difference(row: dict[str, Any]) -> str:
    return "none" if row["detectable"] is None else f"{row['detectable']:.3f}"


def _share(power: float | None) -> str:
    return "-" if power is None else f"{power:.2f}"
