"""Results as tables to publish: a CSV of every mean and deviation, and a page to read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from hushpoll_lab.experiments.results.comparison import Comparison
from hushpoll_lab.experiments.results.results import csv_text
from hushpoll_lab.experiments.results.summaries import Place, Summaries, Summary, most_runs
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_training.evaluation.metrics import FAIRNESS, METRICS, UTILITY

SHOWN: Final = (*UTILITY, *FAIRNESS)
"""The metrics of the page; the CSV has all."""

_DIGITS: Final = 5
_NOTHING: Final = Summary(math.nan, math.nan, 0)


def summary_csv(summaries: Summaries) -> str:
    """Return a row per cell: seeds, and mean and deviation of every metric."""
    columns = [f"{metric}_{what}" for metric in METRICS for what in ("mean", "sd")]
    rows = []
    for place, metrics in summaries.items():
        numbers: list[object] = []
        for metric in METRICS:
            summary = metrics.get(metric, _NOTHING)
            numbers += [_text(summary.mean), _text(summary.sd)]
        rows.append([*_names(place), most_runs(metrics), *numbers])
    return csv_text(["protocol", "split", "epsilon", "runs", *columns], rows)


def comparison_csv(comparison: Comparison) -> str:
    """Return a row per cell and metric: both means, and the distance in standard errors."""
    rows = [
        [
            *_names(row.place),
            row.metric,
            row.ours.runs,
            _text(row.ours.mean),
            _text(row.ours.sd),
            row.reference.runs,
            _text(row.reference.mean),
            _text(row.reference.sd),
            f"{row.distance:.3f}",
        ]
        for row in comparison.rows
    ]
    header = "protocol split epsilon metric runs mean sd reference_runs reference_mean reference_sd"
    return csv_text([*header.split(), "distance"], rows)


def page(
    title: str,
    summaries: Summaries,
    *,
    comparison: Comparison | None,
    description: JsonObject | None,
    made_by: Sequence[str],
    notes: str,
) -> str:
    """Return the page, in Markdown, with the commands that gave the results, one a line."""
    agreed = [] if comparison is None else _agreement(comparison)
    parts = page_head(title, made_by, description, agreed, notes)
    parts += ["## Means over seeds ± standard deviation", ""]
    parts += markdown_table(
        ["protocol", "split", "ε", "seeds", *SHOWN],
        (
            [
                *_names(place),
                str(most_runs(metrics)),
                *(_plus_minus(metrics.get(name, _NOTHING)) for name in SHOWN),
            ]
            for place, metrics in summaries.items()
        ),
    )
    return "\n".join([*parts, ""])


def page_head(
    title: str,
    made_by: Sequence[str],
    description: JsonObject | None,
    agreement: Sequence[str],
    notes: str,
) -> list[str]:
    """Return the lines of a page's head: its title, commands and origin, what agrees, notes."""
    parts = [f"# {title}", ""]
    if made_by:
        parts += ["Made by", "", "```sh", *made_by, "```", ""]
    if description is not None:
        parts += [*origin(description), ""]
    if agreement:
        parts += [*agreement, ""]
    if notes.strip():
        parts += [notes.strip(), ""]
    return parts


def agreement(comparison: Comparison) -> str:
    """Return in words how many means agree, and how many would not by chance."""
    within = len(comparison.rows) - len(comparison.misses)
    return (
        f"{within} of {len(comparison.rows)} means ({comparison.share:.1%}) are within "
        f"{comparison.limit:g} standard errors of the reference's; independent draws alone would "
        f"put {comparison.expected:.1f} outside. The distances' root mean square is "
        f"{comparison.spread:.2f}."
    )


def misses(comparison: Comparison) -> list[list[str]]:
    """Return a row of text per mean outside the limit, the farthest first."""
    return [
        [
            *_names(row.place),
            row.metric,
            f"{_text(row.ours.mean)} ± {_text(row.ours.sd)}",
            f"{_text(row.reference.mean)} ± {_text(row.reference.sd)}",
            f"{row.distance:+.2f}",
        ]
        for row in comparison.misses
    ]


def _agreement(comparison: Comparison) -> list[str]:
    lines = ["## Beside the reference", "", agreement(comparison)]
    if comparison.missing:
        names = ", ".join(map(str, comparison.missing))
        lines += ["", f"Not run: {names}."]
    if not comparison.misses:
        return [*lines, "", "No mean is farther away."]
    header = ["protocol", "split", "ε", "metric", "ours", "reference", "distance"]
    return [*lines, "", "Farther away:", "", *markdown_table(header, misses(comparison))]


def origin(description: Mapping[str, Any]) -> list[str]:
    """Return a line on the data and the versions of a run."""
    data, used = description.get("data", {}), description.get("versions", {})
    versions = ", ".join(f"{name} {version}" for name, version in used.items())
    return [
        f"Data: {data.get('rows')} rows, SHA-256 `{data.get('sha256')}`. Versions: {versions}.",
    ]


def _names(place: Place) -> list[str]:
    return [place.protocol, place.split, f"{place.epsilon:g}"]


def _text(number: float) -> str:
    return "" if math.isnan(number) else f"{number:.{_DIGITS}f}"


def _plus_minus(summary: Summary) -> str:
    if not summary.runs:
        return "undefined"
    spread = "" if math.isnan(summary.sd) else f" ± {summary.sd:.4f}"
    return f"{summary.mean:.4f}{spread}"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [
        "| " + " | ".join(header) + " |",
        "|" + "---|" * len(header),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]
