"""The widest spread over all groups: how far apart the two that differ most are.

The names are those of the literature: the demographic parity difference and ratio, the equal
opportunity difference, the equalized odds difference (the larger of the spreads of true and false
positive rates; Hardt, Price and Srebro, NIPS 2016) and the accuracy difference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushpoll_analysis.auditing.report import Withheld
from hushpoll_training.evaluation.fairness import closed_form
from hushpoll_training.evaluation.fairness.counts import ROWS_OF, GroupCounts
from hushpoll_training.evaluation.fairness.estimates import Limits, Spread

_DIFFERENCES = {
    "demographic_parity_difference": "P",
    "equal_opportunity_difference": "TPR",
    "false_positive_rate_difference": "FPR",
    "accuracy_difference": "ACC",
}


def spreads(
    counts: GroupCounts, names: Sequence[str], *, confidence: float, smallest: int
) -> dict[str, Spread | Withheld]:
    """Return every spread, over the groups that have enough rows for its rate.

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
    found = {
        name: _difference(counts, names, rate, confidence, smallest)
        for name, rate in _DIFFERENCES.items()
    }
    found["demographic_parity_ratio"] = _ratio(counts, names, confidence, smallest)
    # of two spreads at once, so that the larger one is covered
    halved = 1 - (1 - confidence) / 2
    parts = [_difference(counts, names, rate, halved, smallest) for rate in ("TPR", "FPR")]
    found["equalized_odds_difference"] = _larger(parts[0], parts[1])
    return found


def _large(counts: GroupCounts, rate: str, smallest: int) -> list[int]:
    return [int(at) for at in np.flatnonzero(counts.rows(rate) >= smallest)]


def _difference(
    counts: GroupCounts, names: Sequence[str], rate: str, confidence: float, smallest: int
) -> Spread | Withheld:
    large = _large(counts, rate, smallest)
    if len(large) < 2:
        return _too_few(rate, smallest)
    hits, rows = counts.hits(rate)[large], counts.rows(rate)[large]
    lower, upper, _, _ = closed_form.spread(hits, rows, confidence)
    value = hits / rows
    return Spread(
        float(value.max() - value.min()),
        Limits(lower, upper),
        names[large[int(value.argmin())]],
        names[large[int(value.argmax())]],
    )


def _ratio(
    counts: GroupCounts, names: Sequence[str], confidence: float, smallest: int
) -> Spread | Withheld:
    large = _large(counts, "P", smallest)
    if len(large) < 2:
        return _too_few("P", smallest)
    hits, rows = counts.hits("P")[large], counts.rows("P")[large]
    if not hits.any():
        return Withheld("undefined", "no row of any group is predicted positive")
    _, _, least, most = closed_form.spread(hits, rows, confidence)
    value = hits / rows
    return Spread(
        float(value.min() / value.max()),
        Limits(least, most),
        names[large[int(value.argmin())]],
        names[large[int(value.argmax())]],
    )


def _larger(one: Spread | Withheld, other: Spread | Withheld) -> Spread | Withheld:
    if isinstance(one, Withheld):
        return one
    if isinstance(other, Withheld):
        return other
    widest = one if one.value >= other.value else other
    limits = Limits(
        max(one.limits.lower, other.limits.lower), max(one.limits.upper, other.limits.upper)
    )
    return Spread(widest.value, limits, widest.lowest, widest.highest)


def _too_few(rate: str, smallest: int) -> Withheld:
    return Withheld(
        "not-enough-data", f"fewer than two groups have at least {smallest} {ROWS_OF[rate]}"
    )
