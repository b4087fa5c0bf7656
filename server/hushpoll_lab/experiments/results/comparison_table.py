"""A comparison of results with a reference as a table, a row for each mean."""

from __future__ import annotations

import math

from hushpoll_lab.experiments.results.comparison import Comparison
from hushpoll_shared.tables.result_table import ResultTable, columns

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
    """Return all means of a comparison; a number that is not finite is an empty cell.

    Parameters
    ----------
    comparison : Comparison
        A comparison of results with a reference.
    """
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
