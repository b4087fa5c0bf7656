"""Comparison of results with a reference: how many standard errors each mean is away.

The standard error of the difference of two means is sd * sqrt(1/n + 1/m), sd being the reference's
deviation over its m seeds; for 20 seeds each that is sd * sqrt(2/20). Where both ran the same seeds
on the same splits, what the split contributes is common to both, so the distances come out smaller
than that of independent runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from scipy.stats import t as student

from hushpoll_lab.experiments.results.summaries import Place, Summaries, Summary
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.tables.result_table import ResultTable, columns
from hushpoll_training.evaluation.metrics import FAIRNESS, UTILITY

COMPARED: Final = tuple(name for name in (*UTILITY, *FAIRNESS) if name != "roc_auc")
"""The metrics that the paper's published runs have (their auc is balanced accuracy)."""

STANDARD_ERRORS: Final = 3.0
SHARE: Final = 0.95
ROUNDING: Final = 1e-5
"""A mean that is published with five decimals differs by less than this from the exact one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One metric of one cell, beside the reference's."""

    place: Place
    metric: str
    ours: Summary
    reference: Summary

    @property
    def standard_error(self) -> float:
        """The standard error of the difference of the two means."""
        return self.reference.sd * math.sqrt(1 / self.reference.runs + 1 / self.ours.runs)

    @property
    def distance(self) -> float:
        """Our mean minus the reference's, in standard errors; infinite if there is no error."""
        difference = self.ours.mean - self.reference.mean
        if abs(difference) <= ROUNDING and not self.standard_error > ROUNDING:
            return 0.0
        return difference / self.standard_error if self.standard_error else math.inf


@dataclass(frozen=True, slots=True)
class Comparison:
    """All rows, in the order of the reference's cells and of `COMPARED`."""

    rows: tuple[Row, ...]
    missing: tuple[Place, ...]
    """Cells of the reference that have no results."""
    limit: float = STANDARD_ERRORS
    """Standard errors that a mean may be away."""

    @property
    def misses(self) -> tuple[Row, ...]:
        """The rows that are farther away than the limit, the farthest first."""
        far = [row for row in self.rows if not abs(row.distance) <= self.limit]
        return tuple(sorted(far, key=lambda row: -abs(row.distance)))

    @property
    def share(self) -> float:
        """Share of the rows within the limit, in [0, 1]."""
        return 1 - len(self.misses) / len(self.rows)

    @property
    def expected(self) -> float:
        """How many means chance alone would put outside, were both sides drawn independently.

        A distance is then a draw of Student's t with one degree of freedom less than the reference
        has runs, since the deviation is estimated from those.
        """
        return float(sum(2 * student.sf(self.limit, row.reference.runs - 1) for row in self.rows))

    @property
    def spread(self) -> float:
        """Root mean square of the distances: 1 if both are drawn alike and independently."""
        return math.sqrt(sum(row.distance**2 for row in self.rows) / len(self.rows))


def compare(
    ours: Summaries,
    reference: Summaries,
    *,
    metrics: Sequence[str] = COMPARED,
    limit: float = STANDARD_ERRORS,
) -> Comparison:
    """Set results beside a reference, for metrics that it has.

    Refuses results without a common cell.
    """
    rows = tuple(_rows(ours, reference, metrics))
    if not rows:
        raise InvalidParameter(
            "the results and the reference have no cell in common, so there is nothing to compare; "
            "give results of the same protocols, splits and epsilons",
            field="reference",
        )
    missing = tuple(sorted((place for place in reference if place not in ours), key=Place.order))
    return Comparison(rows, missing, limit)


def _rows(ours: Summaries, reference: Summaries, metrics: Sequence[str]) -> Iterable[Row]:
    for place in sorted((place for place in reference if place in ours), key=Place.order):
        for metric in metrics:
            mine, theirs = ours[place].get(metric), reference[place].get(metric)
            if mine and theirs and mine.runs and theirs.runs:
                yield Row(place, metric, mine, theirs)


_SHAPE = columns(
    protocol="text",
    split="text",
    epsilon="text",
    metric="text",
    ours="number",
    ours_sd="number",
    ours_runs="whole",
    reference="number",
    reference_sd="number",
    reference_runs="whole",
    standard_error="number",
    distance="number",
    within="text",
)


def comparison_table(comparison: Comparison) -> ResultTable:
    """Return all means of a comparison; a number that is not finite is an empty cell."""
    far = set(map(id, comparison.misses))
    entries = (
        {
            "protocol": row.place.protocol,
            "split": row.place.split,
            "epsilon": f"{row.place.epsilon:g}",
            "metric": row.metric,
            "ours": _finite(row.ours.mean),
            "ours_sd": _finite(row.ours.sd),
            "ours_runs": row.ours.runs,
            "reference": _finite(row.reference.mean),
            "reference_sd": _finite(row.reference.sd),
            "reference_runs": row.reference.runs,
            "standard_error": _finite(row.standard_error),
            "distance": _finite(row.distance),
            "within": "no" if id(row) in far else "yes",
        }
        for row in comparison.rows
    )
    about = {
        "standard errors that a mean may be away": comparison.limit,
        "share within": comparison.share,
        "not run": ", ".join(map(str, comparison.missing)) or None,
        "standard error": "sd * sqrt(1/n + 1/m), with the reference's sd over its m seeds",
    }
    return ResultTable.of("comparison with a reference", _SHAPE, entries, about)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
