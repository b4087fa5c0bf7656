"""Intervals in closed form: of a rate, and of the difference, ratio or spread of several rates.

A rate's interval is Wilson's (1927). A difference combines the distances of each rate from its
limits like standard errors (Newcombe, Statistics in Medicine 17, 1998, method 10), and a ratio
solves p0 - d p1 = 0 for d in the same way (Donner and Zou, Statistical Methods in Medical Research
21, 2012). Both hold where the symmetric intervals of the delta method fail: small groups and rates
near 0 and 1.

The largest of several differences lies between the largest of their lower and the largest of their
upper limits, without signs, if all of these intervals hold at once. So each is computed at a level
that makes them simultaneous (Bonferroni), and the result covers at least as often as it says. The
same serves the spread over many groups, max - min: no central limit theorem holds for it where
groups are alike, and a bootstrap does not cover it either (Andrews, Econometrica 68, 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile, wilson_limits
from hushpoll_shared.group_metrics import GroupMetric, Rate

Array = npt.NDArray[np.float64]
Limits = tuple[Array, Array]


def combined(metric: GroupMetric, low: Sequence[Array], high: Sequence[Array]) -> Array:
    """Return a metric of its rates in both groups, f64[...]; nan where it divides by 0."""
    if metric.is_ratio:
        defined = high[0] > 0
        return np.asarray(np.where(defined, low[0] / np.where(defined, high[0], 1.0), np.nan))
    differences = [upper - lower for lower, upper in zip(low, high, strict=True)]
    if metric.is_largest:
        return np.asarray(np.max(np.abs(differences), axis=0))
    return np.asarray(differences[0])


def level_of_each(metric: GroupMetric, confidence: float) -> float:
    """Return the confidence of each rate's intervals, so that all hold at once (Bonferroni)."""
    return 1 - (1 - confidence) / len(metric.rates)


def rate_limits(hits: npt.NDArray[np.generic], rows: npt.NDArray[np.generic], z: float) -> Limits:
    """Return Wilson's limits of hits/rows; 0 and 1 where there are no rows."""
    x, n = np.asarray(hits, np.float64), np.asarray(rows, np.float64)
    lower, upper = wilson_limits(x, np.maximum(n, 1.0), z)
    return np.where(n > 0, lower, 0.0), np.where(n > 0, upper, 1.0)


def difference_limits(
    first: Array,
    first_limits: Limits,
    second: Array,
    second_limits: Limits,
    correlation: Array | float = 0.0,
) -> Limits:
    """Return limits of ``first - second``, two rates with this correlation, from those of each."""
    gap = first - second
    below = joined(first - first_limits[0], second_limits[1] - second, correlation)
    above = joined(first_limits[1] - first, second - second_limits[0], correlation)
    return gap - below, gap + above


def ratio_limits(
    over: Array,
    over_limits: Limits,
    under: Array,
    under_limits: Limits,
    correlation: Array | float = 0.0,
) -> Limits:
    """Return limits of ``over / under``, two rates; ``under`` is above 0.

    Each limit d is a root of (over - d under)^2 = x^2 - 2 d r x y + d^2 y^2, where x and y are the
    distances of the two rates from their limits, and r is their correlation.
    """
    distance = correlation * (over - over_limits[0]) * (under_limits[1] - under)
    b = over * under - distance
    a = under_limits[1] * (2 * under - under_limits[1])
    c = over_limits[0] * (2 * over - over_limits[0])
    # c/(b + root) is the lower root and, unlike (b - root)/a, holds for an a of 0 or below
    below = b + np.sqrt(np.maximum(b**2 - a * c, 0.0))
    lower = np.where(below > 0, c / np.where(below > 0, below, 1.0), 0.0)
    b = over * under - correlation * (over_limits[1] - over) * (under - under_limits[0])
    a = under_limits[0] * (2 * under - under_limits[0])
    c = over_limits[1] * (2 * over - over_limits[1])
    upper = (b + np.sqrt(np.maximum(b**2 - a * c, 0.0))) / np.where(a > 0, a, 1.0)
    return np.maximum(lower, 0.0), np.where(a > 0, upper, np.inf)


def largest_limits(limits: Sequence[Limits]) -> Limits:
    """Return limits of the largest of several differences, from those of each with its sign."""
    # the smallest absolute value in [l, u] is l, -u or, where 0 is inside, 0
    lower = [np.maximum(np.maximum(low, -high), 0.0) for low, high in limits]
    upper = [np.maximum(np.abs(low), np.abs(high)) for low, high in limits]
    return np.asarray(np.max(lower, axis=0)), np.asarray(np.max(upper, axis=0))


def spread_limits(
    hits: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], confidence: float, *, ratio: bool
) -> tuple[float, float]:
    """Return limits within [0, 1] of max - min, or of min / max, over groups int64[groups]."""
    pairs = len(hits) * (len(hits) - 1) / 2
    z = normal_quantile(1 - (1 - confidence) / pairs)
    rate, (low, high) = hits / rows, rate_limits(hits, rows, z)
    pairs_of = np.triu_indices(len(hits), 1)
    first, second = np.concatenate(pairs_of), np.concatenate(pairs_of[::-1])
    if ratio:
        known = rate[second] > 0
        first, second = first[known], second[known]
        if not known.any():
            return 0.0, 1.0
    compare = ratio_limits if ratio else difference_limits
    lower, upper = compare(
        rate[first], (low[first], high[first]), rate[second], (low[second], high[second])
    )
    if ratio:
        return float(min(lower.min(), 1.0)), float(min(upper.min(), 1.0))
    return float(max(lower.max(), 0.0)), float(min(upper.max(), 1.0))


def joined(first: Array, second: Array, correlation: Array | float) -> Array:
    """Return the length of a difference whose two parts have these lengths and correlation."""
    square = first**2 - 2 * correlation * first * second + second**2
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """Rows per group by label and prediction."""

    cells: npt.NDArray[np.int64]
    """int64[..., groups, 4]: true negatives, false positives, false negatives, true positives.
    Leading axes, where there are any, are separate samples."""

    @classmethod
    def of(
        cls,
        label: npt.ArrayLike,
        predicted: npt.ArrayLike,
        group: npt.NDArray[np.int64],
        groups: int,
    ) -> GroupCounts:
        """Count rows by class, 0 or 1, and by group int64[n], where -1 is in none."""
        arrays = {"label": np.asarray(label), "predicted": np.asarray(predicted)}
        for name, values in arrays.items():
            if values.shape != group.shape or not np.isin(values, (0, 1)).all():
                raise InvalidParameter(
                    f"{name} must be {len(group)} values, 0 or 1, one per row; got shape "
                    f"{values.shape}",
                    field=name,
                )
        inside = group >= 0
        code = 4 * group + 2 * arrays["label"] + arrays["predicted"]
        cells = np.bincount(code[inside].astype(np.int64), minlength=4 * groups)
        return cls(cells.reshape(groups, 4))

    @property
    def n(self) -> npt.NDArray[np.int64]:
        """Rows per group, int64[..., groups]."""
        return np.asarray(self.cells.sum(axis=-1))

    def hits(self, rate: Rate) -> npt.NDArray[np.int64]:
        """Return the numerator of a rate per group."""
        return np.asarray(self.cells @ np.array(rate.hits))

    def rows(self, rate: Rate) -> npt.NDArray[np.int64]:
        """Return the denominator of a rate per group."""
        return np.asarray(self.cells @ np.array(rate.rows))

    def rate(self, rate: Rate) -> npt.NDArray[np.float64]:
        """Return a rate per group, nan where a group has no row that it could be a share of."""
        rows = self.rows(rate)
        return np.asarray(np.where(rows > 0, self.hits(rate) / np.maximum(rows, 1), np.nan))
