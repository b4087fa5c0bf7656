"""Frequencies shrunk by what the categories have in common (extra ``kernels``).

A projection sets a category to exactly 0 where its estimate is low enough, although noise alone may
have made it low. As a prior, such frequencies rule these categories out, whatever a record says.
Here the categories' frequencies are draws from one unknown distribution G. It is estimated from all
the counts together, and each category gets its posterior mean (Robbins, Berkeley Symposium 1956).
So the noise of the data decides how much is shrunk: at a small epsilon nearly all the way to 1/k,
at a large one hardly at all.

Three kinds of G are weighed against each other. The first has no given form: it maximises the
likelihood over a grid (Kiefer and Wolfowitz, Ann. Math. Stat. 1956; Jiang and Zhang, Ann. Stat.
2009). It fits any population that has few different shares. It puts its weight on some points, and
where the shares are all different, these are too few: it draws together what differs. So the second
is smooth: after each step of expectation-maximisation it is smoothed in the logarithm (Silverman,
Jones, Wilson and Nychka, JRSS B 52, 1990). The third is log-normal with mean 1/k and an unknown
spread, from none to large; the spreads are averaged over by how likely they make the counts.

Each counts in proportion to its likelihood, less the half of ln k nats that Schwarz's criterion
(Ann. Stat. 1978) charges for a parameter. The free one has a place and a weight for each of its
points, and the weights sum to 1; the smooth one is charged as much as two points and a half.

Where the size of the support varies, the posterior means sum to 1 but for noise, which is spread
where the posteriors are wide: each is tilted by e^(t f) with the one t that makes the sum 1. That
is what conditioning independent posteriors on their sum comes to where none dominates the sum.
Dividing by the sum would instead move the large frequencies most, which are known best.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import refusal_of
from hushpoll_protocols.estimation.frequencies import check_chances, checked_counts

_STEPS = 200
"""Points of the grid, equally spaced in the logarithm."""

_LARGEST = 100
"""Estimates that are points of the grid themselves: a frequent category is not rounded."""

_PASSES = 500
"""Steps of expectation-maximisation. More of them sharpen G and hardly move the posterior means:
ten times as many move none of Adult's 74 ages by more than 0.006 at epsilon 0.25, 0.0014 at 1."""

_GAIN = 0.01
"""Nats of log-likelihood below which what is left to gain does not matter."""

_SPREADS = np.concatenate([[0.0], np.geomspace(0.02, 3.0, 40)])
"""Standard deviations of ln f under the log-normal distributions; 0 makes all categories alike."""

_SMOOTHED_PASSES = 200
"""Steps of the smooth distribution, which does not sharpen."""

_BANDWIDTH = 0.3
"""Standard deviation in ln f by which it is smoothed."""

_PARAMETERS = 4
"""With which the smooth distribution is charged."""

_OF_A_CATEGORY = 0.5
"""Part of one category's weight that makes a local maximum of the free distribution a point."""

_TILTS = 60
"""Steps of Newton's method at most; about five are made."""

_SUM = 1e-9
"""Distance of the sum from 1 that is left to the last division."""

_LEAST = 1e-300
"""Likelihood below which a distribution of the frequencies is ruled out anyway."""

Floats = npt.NDArray[np.float64]


def shrunk(count: npt.ArrayLike, n: int, *, p: Fraction | float, q: Fraction | float) -> Floats:
    """Return frequencies f64[k] in (0, 1] that sum to one and shrink noise; they are not unbiased.

    `count`, int[k], are the records that support each category, in [0, n]; p and q are the chances
    that a record supports its own category, and another one, 0 <= q < p <= 1. Give Fractions: p - q
    cancels in floating point at a small epsilon. Refuses arguments outside these intervals.
    """
    counts = checked_counts(count, n, field="count")
    if counts.ndim != 1 or not counts.size:
        raise refusal_of("count")(
            f"has shape {counts.shape}; give one integer per category, shape (k,)"
        )
    check_chances(p, q)
    gap, base = float(p - q), float(q)
    # Categories of one count get one frequency.
    seen, place, categories = np.unique(counts, return_inverse=True, return_counts=True)
    grid = _grid((seen / n - base) / gap, n, len(counts))
    likelihood = _likelihood(seen, n, np.clip(base + gap * grid, 1e-300, 1 - 2.0**-53))
    free = _mixing(likelihood, categories)
    smooth = _smoothed(likelihood, categories, grid)
    mixings = np.column_stack([_log_normal(grid, len(counts)), smooth, free])
    evidence = np.maximum(likelihood @ mixings, _LEAST)
    score = categories @ np.log(evidence)
    score[:-2] -= np.log(len(_SPREADS))
    parameters = np.array([_PARAMETERS, 2 * _points(free, len(counts)) - 1])
    score[-2:] -= parameters / 2 * np.log(len(counts))
    chance = np.exp(score - score.max())
    posterior = likelihood * ((chance / chance.sum() / evidence) @ mixings.T)
    mean = _summing_to_one(posterior, grid, categories)
    frequency: Floats = mean[place] / mean[place].sum()
    return frequency


def _grid(estimated: Floats, n: int, k: int) -> Floats:
    """Return the points of G, positive and ascending."""
    # Far below the shares that n records can tell from 0, and far below an equal share.
    lowest = min(0.01 / k, 0.1 / n)
    highest = min(max(float(estimated.max()), 1 / k), 1.0)
    own = np.clip(np.sort(estimated)[-_LARGEST:], lowest, 1)
    return np.unique(np.concatenate([np.geomspace(lowest, highest, _STEPS), own, [1 / k]]))


def _log_normal(grid: Floats, k: int) -> Floats:
    """Return the weights of the grid's points f64[points, spreads] under log-normal laws."""
    logarithm = np.log(grid * k)
    widths = np.gradient(logarithm)
    weights = np.zeros((len(grid), len(_SPREADS)))
    # A spread far below the grid's step has its whole weight at the point next to the mean.
    weights[np.abs(logarithm).argmin(), 0] = 1.0
    spread = _SPREADS[1:]
    exponent = -np.square((logarithm[:, None] + spread**2 / 2) / spread) / 2
    weights[:, 1:] = widths[:, None] * np.exp(exponent - exponent.max(axis=0))
    shares: Floats = weights / weights.sum(axis=0)
    return shares


def _likelihood(seen: npt.NDArray[np.int64], n: int, chance: Floats) -> Floats:
    """Return the binomial likelihood of each count at each point, up to a factor per count."""
    logarithm = np.multiply.outer(seen, np.log(chance))
    logarithm += np.multiply.outer(n - seen, np.log1p(-chance))
    logarithm -= logarithm.max(axis=1, keepdims=True)
    likelihood: Floats = np.exp(logarithm)
    return likelihood


def _summing_to_one(posterior: Floats, grid: Floats, categories: npt.NDArray[np.int64]) -> Floats:
    """Return the means f64[counts] of posteriors tilted so that those of all categories sum to 1.

    `posterior`, f64[counts, points], are weights of the ascending grid's points given each count,
    up to a factor per count; `categories` is how many categories have each count.
    """
    with np.errstate(divide="ignore"):
        logarithm = np.log(posterior)

    def means(tilt: float) -> tuple[Floats, float]:
        exponent = logarithm + tilt * grid
        weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        mean = weights @ grid
        variance = weights @ np.square(grid) - np.square(mean)
        return mean, float(categories @ np.maximum(variance, 0.0))

    low, high, tilt = -np.inf, np.inf, 0.0
    for _ in range(_TILTS):
        mean, slope = means(tilt)
        short = 1.0 - float(categories @ mean)
        if abs(short) < _SUM or slope == 0.0:
            break
        low, high = (tilt, high) if short > 0 else (low, tilt)
        step = tilt + short / slope
        # Newton's step, unless it leaves what is known to hold the root.
        tilt = step if low < step < high else (low + high) / 2
    return mean


def _mixing(likelihood: Floats, categories: npt.NDArray[np.int64]) -> Floats:
    """Return the weights of the grid's points, by expectation-maximisation."""
    k = categories.sum()
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_PASSES):
        multipliers = (categories / (likelihood @ weights)) @ likelihood / k
        weights *= multipliers
        # The bound of Cover on what is left to gain; see maximum likelihood.
        if k * np.log(multipliers.max()) < _GAIN:
            break
    return weights


def _points(weights: Floats, k: int) -> int:
    """Return on how many points a distribution puts its weight, at least 1.

    Expectation-maximisation leaves a point spread over some of the grid's, so these are its local
    maxima, each with what lies nearer to it than to the next.
    """
    around = np.concatenate([[0.0], weights, [0.0]])
    tops = np.flatnonzero((weights > around[:-2]) & (weights >= around[2:]))
    starts = np.concatenate([[0], (tops[:-1] + tops[1:] + 1) // 2]).astype(np.int64)
    return max(1, int((np.add.reduceat(weights, starts) > _OF_A_CATEGORY / k).sum()))


def _smoothed(likelihood: Floats, categories: npt.NDArray[np.int64], grid: Floats) -> Floats:
    """Return the weights of the grid's points, smoothed after each step."""
    logarithm = np.log(grid)
    kernel = np.exp(-np.square((logarithm[:, None] - logarithm) / _BANDWIDTH) / 2)
    kernel *= np.gradient(logarithm)[:, None]
    kernel /= kernel.sum(axis=0)
    k = categories.sum()
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_SMOOTHED_PASSES):
        mixed = np.maximum(likelihood @ weights, _LEAST)
        weights = kernel @ (weights * ((categories / mixed) @ likelihood) / k)
        weights /= weights.sum()
    return weights
