"""Numbers of a fairness report: with intervals, or with the reason why there are none.

The widest spread over all groups says how far apart the two that differ most are. Its names are
those of the literature (:attr:`hushpoll_shared.group_metrics.GroupMetric.spread`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushpoll_analysis.auditing.report import Withheld
from hushpoll_analysis.metrics import GroupCounts, level_of_each, spread_limits
from hushpoll_shared.group_metrics import METRICS, GroupMetric, Rate
from hushpoll_training.evaluation.documents import LimitsDocument, NumberDocument


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval; `upper` is infinite where the data bounds nothing."""

    lower: float
    upper: float

    def to_dict(self) -> LimitsDocument:
        """Return the limits as JSON, which has no infinity: null where there is no bound."""
        return {"lower": self.lower, "upper": self.upper if math.isfinite(self.upper) else None}


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """A rate of a group, or a comparison of two groups.

    Attributes
    ----------
    value, standard_error : float
        The delta method's error.
    closed_form : Bounds
        See :mod:`hushpoll_analysis.metrics`.
    bootstrap : Bounds or Withheld
        See :mod:`hushpoll_training.evaluation.fairness.bootstrap`.
    """

    value: float
    standard_error: float
    closed_form: Bounds
    bootstrap: Bounds | Withheld

    def to_dict(self) -> NumberDocument:
        """Return the estimate as JSON."""
        bootstrap = self.bootstrap
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "closed_form": self.closed_form.to_dict(),
            "bootstrap": LimitsDocument(withheld=bootstrap.code, reason=bootstrap.reason)
            if isinstance(bootstrap, Withheld)
            else bootstrap.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """How far apart the groups are that differ most.

    Attributes
    ----------
    value : float
        max - min or min / max.
    limits : Bounds
        Simultaneous over all pairs of groups, hence conservative.
    lowest, highest : str
        The two groups.
    """

    value: float
    limits: Bounds
    lowest: str
    highest: str

    def to_dict(self) -> NumberDocument:
        """Return the spread as JSON."""
        return {
            "value": self.value,
            "closed_form": self.limits.to_dict(),
            "lowest": self.lowest,
            "highest": self.highest,
        }


UNVARIED = Withheld(
    "undefined",
    "every resample gives the same value or none, and what never happened cannot be resampled; the "
    "closed form stands",
)
ONE_CONSTANT = Withheld(
    "undefined",
    "one of the groups has no such row, or only such rows, so that none of its resamples differs "
    "from another and the interval would know of the other group alone; the closed form stands",
)
NOT_REGULAR = Withheld(
    "undefined",
    "no bootstrap covers the largest of several differences where groups are alike; the closed "
    "form stands",
)
NOT_RESAMPLED = Withheld("undefined", "no resamples were asked for")


def spreads(
    counts: GroupCounts, names: Sequence[str], *, confidence: float, smallest: int
) -> dict[str, Spread | Withheld]:
    """Return the spread of every metric, over the groups that have enough rows for its rates.

    Parameters
    ----------
    counts : GroupCounts
        The counts of one sample.
    names : sequence of str
        The groups' names.
    confidence : float
        Level of each interval, in (0, 1).
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
