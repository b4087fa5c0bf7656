"""Bootstrap intervals of statistics of group counts, stratified by group.

Rows are drawn anew with replacement within each group. All that a rate sees of them is the group's
four counts, whose law is multinomial, so the counts are drawn directly: the same bootstrap, at a
cost that does not grow with the rows. Intervals are bias-corrected and accelerated (BCa: Efron,
JASA 82, 1987), of second order as the closed forms are not; the acceleration is that of several
samples (Davison and Hinkley, Bootstrap Methods, 1997, section 5.3.2), by deleting each row in turn,
of which there are four kinds a group.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.metrics import GroupCounts
from hushpoll_protocols.estimation.frequencies import normal_quantile

Statistic = Callable[[GroupCounts], npt.NDArray[np.float64]]
"""From counts [..., groups, 4] to statistics [..., m]; nan where one is undefined."""

USABLE = 0.95
"""Share of the resamples in which a statistic must be defined."""


def resample(counts: GroupCounts, resamples: int, rng: np.random.Generator) -> GroupCounts:
    """Draw the counts of each group anew, int64[resamples, groups, 4]; each has at least a row."""
    drawn = [
        rng.multinomial(int(cells.sum()), cells / cells.sum(), size=resamples)
        for cells in counts.cells
    ]
    return GroupCounts(np.stack(drawn, axis=1))


def bca(
    counts: GroupCounts, resampled: GroupCounts, statistic: Statistic, confidence: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return limits f64[m] of a statistic of one sample's counts, nan where the bootstrap has none.

    A comparison of two groups, one of which does not vary, has limits here that do not cover, and
    :mod:`hushpoll_training.evaluation.fairness.estimates` does not show them. None are given where
    the statistic is undefined in too many resamples, or does not vary: resampling cannot know what
    never happened.
    """
    from scipy.special import ndtr, ndtri

    value, drawn = statistic(counts), statistic(resampled)
    acceleration = _acceleration(counts, statistic)
    z = normal_quantile(confidence)
    lower, upper = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    for at, observed in enumerate(value):
        values = drawn[:, at][np.isfinite(drawn[:, at])]
        if (
            not np.isfinite(observed)
            or len(values) < USABLE * len(drawn)
            or not np.isfinite(acceleration[at])
            or values.min() == values.max()
        ):
            continue
        below = (np.mean(values < observed) + np.mean(values <= observed)) / 2
        bias = ndtri(below)
        if not np.isfinite(bias):
            continue
        shifted = bias + np.array([-z, z])
        place = ndtr(bias + shifted / (1 - acceleration[at] * shifted))
        lower[at], upper[at] = np.quantile(values, place)
    return lower, upper


def _acceleration(counts: GroupCounts, statistic: Statistic) -> npt.NDArray[np.float64]:
    """Return the acceleration f64[m]; nan where deleting a row leaves a statistic undefined."""
    groups = counts.cells.shape[0]
    without = counts.cells[None] - np.eye(4 * groups, dtype=np.int64).reshape(-1, groups, 4)
    times = counts.cells.reshape(-1)
    there = times > 0
    deleted = statistic(GroupCounts(np.maximum(without, 0)))
    square, cube = np.zeros(deleted.shape[-1]), np.zeros(deleted.shape[-1])
    for group in range(groups):
        own = np.zeros(4 * groups, dtype=bool)
        own[4 * group : 4 * group + 4] = True
        own &= there
        n, weight = times[own].sum(), times[own][:, None]
        pseudo = (n - 1) * ((weight * deleted[own]).sum(axis=0) / n - deleted[own])
        square = square + (weight * pseudo**2).sum(axis=0) / n**2
        cube = cube + (weight * pseudo**3).sum(axis=0) / n**3
    spread = np.where(square > 0, square, 1.0) ** 1.5
    known = np.where(square > 0, cube / (6 * spread), 0.0)
    return np.asarray(np.where(np.isnan(square), np.nan, known))
