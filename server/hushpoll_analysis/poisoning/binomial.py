"""P-values of counts that are larger than chance allows, from exact tails.

No p-value rests on a normal approximation, which is worst in the tails.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt


def upper_tail(count: int, n: int, probability: float) -> float:
    """Return Pr[X >= count] for X binomial(n, probability), or 1 where count is below the mean.

    Parameters
    ----------
    count, n : int
        0 <= count <= n.
    probability : float
        In [0, 1].
    """
    if count <= n * probability:
        return 1.0
    from scipy.special import bdtrc  # slow to import, and a server starts without it

    return float(bdtrc(count - 1, n, probability))


def largest_excess(
    counts: npt.NDArray[np.int64], law: npt.NDArray[np.float64]
) -> tuple[float, int]:
    """Return a p-value for the cell of a multinomial that is fullest beyond chance, and the cell.

    Parameters
    ----------
    counts : int64[m]
        Of each cell.
    law : f64[m]
        Probability of each cell.

    Returns
    -------
    (float, int)
        The smallest exact tail over the cells times their number (Bonferroni): under the law it is
        at most x with probability at most x.
    """
    n = int(counts.sum())
    if n == 0:
        return 1.0, 0
    # Chernoff's bound is at least the tail, so only the cells with the lowest bounds are summed.
    share = counts / n
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(counts > 0, share * np.log(share / law), 0.0)
        miss = np.where(counts < n, (1 - share) * np.log((1 - share) / (1 - law)), 0.0)
    exponent = np.where(share > law, n * (hit + miss), 0.0)
    best, cell = 1.0, int(exponent.argmax())
    for at in np.argsort(-exponent)[:_SUMMED].tolist():
        tail = upper_tail(int(counts[at]), n, float(law[at]))
        if tail < best:
            best, cell = tail, at
    return min(1.0, best * len(counts)), cell


_SUMMED = 8
"""Cells whose tails are summed; the order of the bounds is that of the tails, nearly."""


def uniform_distance(counts: npt.NDArray[np.int64], law: npt.NDArray[np.float64]) -> float:
    """Return a p-value for the largest distance of two distribution functions.

    It is Massart's constant in the inequality of Dvoretzky, Kiefer and Wolfowitz: valid for every n
    and for a law of steps.
    """
    n = int(counts.sum())
    if n == 0:
        return 1.0
    distance = float(np.abs(np.cumsum(counts / n - law)).max())
    return min(1.0, 2 * math.exp(-2 * n * distance**2))


def bernoulli_plus_binomial(p: float, n: int, q: float) -> npt.NDArray[np.float64]:
    """Return the law f64[n + 2] of B + X, B Bernoulli(p) and X binomial(n, q), q in (0, 1)."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, n + 1)))])
    hits = np.arange(n + 1)
    law = np.exp(logs[n] - logs - logs[::-1] + hits * math.log(q) + (n - hits) * math.log1p(-q))
    total = np.zeros(n + 2)
    total[:-1] += (1 - p) * law
    total[1:] += p * law
    return np.asarray(total / total.sum())
