"""Frequencies shrunk by what the categories have in common (extra ``kernels``).

A projection sets a category to exactly 0 where its estimate is low enough, although noise alone may
have made it low. As a prior, such frequencies rule these categories out, whatever a record says.
Here the categories' frequencies are draws from one unknown distribution G. It is estimated from all
the counts together, and each category gets its posterior mean (Robbins, Berkeley Symposium 1956).
G has no given form: it maximises the likelihood over a grid (Kiefer and Wolfowitz, Ann. Math. Stat.
1956; Jiang and Zhang, Ann. Stat. 2009). So the noise of the data decides how much is shrunk: at a
small epsilon nearly all the way to 1/k, at a large one hardly at all.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
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

Floats = npt.NDArray[np.float64]


def shrunk(count: npt.ArrayLike, n: int, *, p: Fraction | float, q: Fraction | float) -> Floats:
    """Return frequencies that are positive, sum to one, and shrink noise.

    Parameters
    ----------
    count : int array, shape (k,)
        Records that support each category, in [0, n]; k at least 1.
    n : int
        Number of records, at least 1.
    p, q : Fraction or float
        Probability that a record supports its own category, and another one; 0 <= q < p <= 1. Give
        Fractions: p - q cancels in floating point at a small epsilon.

    Returns
    -------
    float64 array, shape (k,)
        In (0, 1], summing to 1 up to rounding. No unbiased estimates.

    Raises
    ------
    InvalidParameter
        An argument is outside its interval.
    """
    counts = checked_counts(count, n, field="count")
    if counts.ndim != 1 or not counts.size:
        raise InvalidParameter(
            f"count has shape {counts.shape}; give one integer per category, shape (k,)",
            field="count",
        )
    check_chances(p, q)
    gap, base = float(p - q), float(q)
    # Categories of one count get one frequency.
    seen, place, categories = np.unique(counts, return_inverse=True, return_counts=True)
    grid = _grid((seen / n - base) / gap, n, len(counts))
    likelihood = _likelihood(seen, n, np.clip(base + gap * grid, 1e-300, 1 - 2.0**-53))
    weights = _mixing(likelihood, categories)
    mean = (likelihood @ (weights * grid)) / (likelihood @ weights)
    # The mean of G is free above, so that the sum is near one only.
    frequency: Floats = mean[place] / mean[place].sum()
    return frequency


def _grid(estimated: Floats, n: int, k: int) -> Floats:
    """Return the points of G, positive and ascending."""
    # Far below the shares that n records can tell from 0, and far below an equal share.
    lowest = min(0.01 / k, 0.1 / n)
    highest = min(max(float(estimated.max()), 1 / k), 1.0)
    own = np.clip(np.sort(estimated)[-_LARGEST:], lowest, 1)
    return np.unique(np.concatenate([np.geomspace(lowest, highest, _STEPS), own]))


def _likelihood(seen: npt.NDArray[np.int64], n: int, chance: Floats) -> Floats:
    """Return the binomial likelihood of each count at each point, up to a factor per count."""
    logarithm = np.multiply.outer(seen, np.log(chance))
    logarithm += np.multiply.outer(n - seen, np.log1p(-chance))
    logarithm -= logarithm.max(axis=1, keepdims=True)
    likelihood: Floats = np.exp(logarithm)
    return likelihood


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
