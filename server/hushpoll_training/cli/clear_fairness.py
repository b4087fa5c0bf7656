"""``hushpoll fairness --predictions``: fairness of predictions on rows in clear."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hushpoll_shared.cli.terminal import emit
from hushpoll_training.data.predictions_file import read_predictions
from hushpoll_training.evaluation.fairness import fairness_report, partition_by
from hushpoll_training.evaluation.fairness.report import RESAMPLES, SMALLEST
from hushpoll_training.reports.fairness_page import fairness_page
from hushpoll_training.reports.fairness_text import report_text
from hushpoll_training.runs.record import versions

OPTIONS = (
    click.option(
        "--groups",
        multiple=True,
        metavar="COLUMN[,COLUMN]",
        help="With --predictions: what tells groups apart, crossed if several; may be repeated. "
        "With --records: one attribute, each category of which is compared with the reference.",
    ),
    click.option(
        "--reference",
        metavar="GROUP",
        help="With --predictions: COLUMN=CATEGORY[, ...]; else the largest. With --records: a "
        "category; else the privileged ones.",
    ),
    click.option(
        "--label", metavar="COLUMN", help="With --predictions: the truth.  [default: label]"
    ),
    click.option("--predicted", metavar="COLUMN", help="Likewise.  [default: predicted]"),
    click.option("--positive", metavar="CATEGORY", help="Likewise: what is 1.  [default: 1]"),
    click.option(
        "--resamples", type=click.IntRange(min=0), help=f"Likewise.  [default: {RESAMPLES}]"
    ),
    click.option(
        "--smallest-group",
        type=click.IntRange(min=1),
        help=f"Likewise: rows that a rate needs.  [default: {SMALLEST}]",
    ),
    click.option(
        "--out",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Likewise: an HTML file to write as well.",
    ),
)
"""Options of the command that go with --predictions alone."""

NAMES = (
    *("groups", "reference", "label", "predicted", "positive", "resamples", "smallest_group"),
    "out",
)
"""What they are called."""


def report_predictions(
    path: Path, given: Mapping[str, Any], *, confidence: float, seed: int, as_json: bool
) -> None:
    """Read predictions, report on each grouping, and print or write the reports.

    Raises
    ------
    click.UsageError
        If no grouping is given, or one reference for several.
    InvalidParameter
        For a file or a group that will not do.
    """
    groupings = [tuple(name.strip() for name in one.split(",")) for one in given["groups"]]
    if not groupings:
        raise click.UsageError("--predictions needs --groups, the columns that tell groups apart")
    if given["reference"] is not None and len(groupings) > 1:
        raise click.UsageError("--reference goes with one --groups; leave one of them out")
    rows = read_predictions(
        path,
        label=given["label"] or "label",
        predicted=given["predicted"] or "predicted",
        positive=given["positive"] or "1",
        groups=list(dict.fromkeys(name for one in groupings for name in one)),
    )
    reports = [
        fairness_report(
            rows.label,
            rows.predicted,
            partition_by({name: rows.columns[name] for name in one}, reference=given["reference"]),
            confidence=confidence,
            resamples=RESAMPLES if given["resamples"] is None else given["resamples"],
            seed=seed,
            smallest=given["smallest_group"] or SMALLEST,
        ).to_dict()
        for one in groupings
    ]
    document = {
        "kind": "fairness reports",
        "setting": "on rows in clear",
        "reports": reports,
        "inputs": {"predictions": path.name},
        "versions": versions(),
    }
    out: Path | None = given["out"]
    if out is not None:
        introduction = (
            f"Predictions of {path.name} beside the truth, in clear. Intervals are about other "
            "people drawn like these, with the same model."
        )
        out.write_text(fairness_page("Fairness report", introduction, reports), encoding="utf-8")
    emit(document, lambda: _text(reports, out), as_json=as_json)


def _text(reports: Sequence[Mapping[str, Any]], out: Path | None) -> str:
    parts = [report_text(one) for one in reports]
    return "\n\n".join(parts) + ("" if out is None else f"\nThe report is in {out}.")
