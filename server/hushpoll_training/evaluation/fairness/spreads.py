"""The widest spread over all groups: how far apart the two that differ most are.

Its names are those of the literature (:attr:`hushpoll_shared.group_metrics.GroupMetric.spread`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushpoll_analysis.auditing.report import Withheld
from hushpoll_analysis.metrics.group_counts import GroupCounts
from hushpoll_analysis.metrics.intervals import level_of_each, spread_limits
from hushpoll_shared.group_metrics import METRICS, GroupMetric, Rate
from hushpoll_training.evaluation.fairness.estimates import Bounds, Spread


def spreads(
    counts: GroupCounts, names: Sequence[str], *, confidence: float, smallest: int
) -> dict[str, Spread | Withheld]:
    """Return the spread of every metric, over the groups that have enough rows for its rates.

    Parameters
    ----------
    counts : GroupCounts
        Of one sample.
    names : sequence of str
        Of the groups.
    confidence : float
        Of each interval, in (0, 1).
    smallest : int
        Rows that a group must have.
    """
    return {
        metric.spread: _spread(counts, names, metric, confidence, smallest)
        for metric in METRICS.values()
    }


def _spread(
    counts: GroupCounts, names: Sequence[str], metric: GroupMetric, confidence: float, smallest: int
) -> Spread | Withheld:
    parts = []
    for rate in metric.rates:
        part = _of_rate(
            counts,
            names,
            rate,
            level_of_each(metric, confidence),
            smallest,
            ratio=metric.is_ratio,
        )
        if isinstance(part, Withheld):
            return part
        parts.append(part)
    widest = max(parts, key=lambda part: part.value)
    limits = Bounds(
        max(part.limits.lower for part in parts), max(part.limits.upper for part in parts)
    )
    return Spread(widest.value, limits, widest.lowest, widest.highest)


def _of_rate(
    counts: GroupCounts,
    names: Sequence[str],
    rate: Rate,
    confidence: float,
    smallest: int,
    *,
    ratio: bool,
) -> Spread | Withheld:
    large = np.flatnonzero(counts.rows(rate) >= smallest)
    if len(large) < 2:
        return Withheld(
            "not-enough-data", f"fewer than two groups have at least {smallest} {rate.rows_of}"
        )
    hits, rows = counts.hits(rate)[large], counts.rows(rate)[large]
    if ratio and not hits.any():
        return Withheld("undefined", f"no {rate.row} of any group {rate.hit}")
    value = hits / rows
    least, most = float(value.min()), float(value.max())
    return Spread(
        least / most if ratio else most - least,
        Bounds(*spread_limits(hits, rows, confidence, ratio=ratio)),
        names[large[int(value.argmin())]],
        names[large[int(value.argmax())]],
    )
