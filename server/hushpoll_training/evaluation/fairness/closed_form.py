"""Intervals without resampling, for rates of groups that do not overlap.

A rate's interval is Wilson's (1927). Two groups' rates are independent, so a difference combines
the distances of each rate from its limits like standard errors (Newcombe, Statistics in Medicine
17, 1998, method 10), and a ratio solves p0 - d p1 = 0 for d in the same way (Donner and Zou,
Statistical Methods in Medical Research 21, 2012). Both hold where the symmetric intervals of the
delta method fail: small groups and rates near 0 and 1. Standard errors are the delta method's.

The spread over many groups, max - min, is a maximum of differences, of which no central limit
theorem holds where groups are alike, and a bootstrap does not cover either (Andrews, Econometrica
68, 2000). So all pairwise intervals are made simultaneous (Bonferroni), and the spread lies between
the largest lower and the largest upper limit. That is conservative: it covers at least as often as
it says.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.estimation.frequencies import normal_quantile

Array = npt.NDArray[np.float64]


def wilson(
    hits: npt.NDArray[np.generic], rows: npt.NDArray[np.generic], z: float
) -> tuple[Array, Array]:
    """Return Wilson's limits of hits/rows; 0 and 1 where there are no rows."""
    x, n = np.asarray(hits, np.float64), np.asarray(rows, np.float64)
    rate = np.where(n > 0, x / np.maximum(n, 1), 0.5)
    centre = (n * rate + z**2 / 2) / (n + z**2)
    half = z * np.sqrt(n * rate * (1 - rate) + z**2 / 4) / (n + z**2)
    # exact at the ends, where rounding would leave 1e-17
    lower = np.where((n > 0) & (x == 0), 0.0, centre - half)
    upper = np.where((n > 0) & (x == n), 1.0, centre + half)
    return np.clip(lower, 0, 1), np.clip(upper, 0, 1)


def difference(
    one: Array, one_limits: tuple[Array, Array], other: Array, other_limits: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return limits of ``one - other``, two independent rates, from the limits of each."""
    gap = one - other
    below = np.sqrt((one - one_limits[0]) ** 2 + (other_limits[1] - other) ** 2)
    above = np.sqrt((one_limits[1] - one) ** 2 + (other - other_limits[0]) ** 2)
    return gap - below, gap + above


def ratio(
    over: Array, over_limits: tuple[Array, Array], under: Array, under_limits: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return limits of ``over / under``, two independent rates; ``under`` is above 0.

    Each limit is a root of (over - d under)^2 = (distance of over's limit)^2 + d^2 (of under's)^2.
    """
    b = over * under
    a = under_limits[1] * (2 * under - under_limits[1])
    c = over_limits[0] * (2 * over - over_limits[0])
    # c/(b + root) is the lower root and, unlike (b - root)/a, holds for an a of 0 or below
    below = b + np.sqrt(np.maximum(b**2 - a * c, 0.0))
    lower = np.where(below > 0, c / np.where(below > 0, below, 1.0), 0.0)
    a = under_limits[0] * (2 * under - under_limits[0])
    c = over_limits[1] * (2 * over - over_limits[1])
    upper = (b + np.sqrt(np.maximum(b**2 - a * c, 0.0))) / np.where(a > 0, a, 1.0)
    return np.maximum(lower, 0.0), np.where(a > 0, upper, np.inf)


def spread(
    hits: npt.NDArray[np.int64], rows: npt.NDArray[np.int64], confidence: float
) -> tuple[float, float, float, float]:
    """Return limits of max - min and of min / max over groups of at least one row each.

    Parameters
    ----------
    hits, rows : int64[groups]
        At least two groups.
    confidence : float
        That both spreads lie within, each by itself, at least.

    Returns
    -------
    lower, upper : float
        Of max - min, within [0, 1].
    least, most : float
        Of min / max, within [0, 1].
    """
    pairs = len(hits) * (len(hits) - 1) / 2
    z = normal_quantile(1 - (1 - confidence) / pairs)
    rate, (low, high) = hits / rows, wilson(hits, rows, z)
    one, other = np.triu_indices(len(hits), 1)
    first = np.concatenate([one, other])
    second = np.concatenate([other, one])
    lower, upper = difference(
        rate[first], (low[first], high[first]), rate[second], (low[second], high[second])
    )
    known = rate[second] > 0
    first, second = first[known], second[known]
    least, most = ratio(
        rate[first], (low[first], high[first]), rate[second], (low[second], high[second])
    )
    if not known.any():
        least, most = np.zeros(1), np.ones(1)
    return (
        float(max(lower.max(), 0.0)),
        float(min(upper.max(), 1.0)),
        float(min(least.min(), 1.0)),
        float(min(most.min(), 1.0)),
    )
