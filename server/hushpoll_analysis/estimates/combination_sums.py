"""Sums of a block's weights over sets of combinations: second moments, by the protocol alone.

A question of a block has a set of combinations for each of its categories, and so has a table of
questions for each of its cells; all sets of one question or table have one size m, unless a
follow-up in the block leaves combinations out. The weight by which a record counts in a set is the
sum of the weights of its combinations. Given the truth, its second moments follow from the protocol
alone (:mod:`hushpoll_analysis.estimates.weight_law`); here they are linear in the number of sets,
since a table may have tens of thousands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.weights import WeightLaw

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sums:
    """The weights of the sets of a question or of a table."""

    oracle: FrequencyOracle | None
    """The block's; None in clear."""
    shares: Array
    """f64[k], of the respondents whose truth is in each set, summing to 1."""
    sizes: Array | None = None
    """f64[k], combinations of each set; None where all have as many."""

    def products(self, x: Array, y: Array) -> Array:
        """Return E[(sum of x W)(sum of y W)] given that the truth is in each set, f64[k]."""
        oracle, both = self.oracle, x * y
        if oracle is None:
            return np.asarray(both)
        m = np.full(len(x), oracle.k / len(x)) if self.sizes is None else self.sizes
        p, q, gap = float(oracle.p), float(oracle.q), float(oracle.p - oracle.q)
        at, elsewhere = p * (1 - p), q * (1 - q)
        touching = float(oracle.covariances.with_truth)
        others = float(oracle.covariances.between_others)
        # variance of a set's support, without the truth and with it; the covariance of two sets is
        # m m' others, and m' (touching - others) more where the truth is in the first
        own = m * (elsewhere + (m - 1) * others)
        own_true = at + (m - 1) * (elsewhere + 2 * touching + (m - 2) * others)
        sum_x, sum_y = float(m @ x), float(m @ y)
        noise = (
            ((own - m * m * others) * both).sum()
            + others * sum_x * sum_y
            + (own_true - own) * both
            + (touching - others) * (x * (sum_y - m * y) + y * (sum_x - m * x))
        )
        if oracle.support_size is None:
            whole = float(oracle.support_variance)
            taken = (elsewhere * m + (at - elsewhere) * self.shares) / whole
            of_x, of_y = x @ taken, y @ taken
            with_x = elsewhere * sum_x + (at - elsewhere) * x
            with_y = elsewhere * sum_y + (at - elsewhere) * y
            noise = noise - of_x * with_y - of_y * with_x + of_x * of_y * whole
        return np.asarray(noise / gap**2 + both)

    def covariance(self, x: Array, y: Array) -> float:
        """Return n times the covariance of two sums of estimates with these coefficients."""
        return float(self.shares @ self.products(x, y) - (self.shares @ x) * (self.shares @ y))


def variance_coefficients(
    oracle: FrequencyOracle, k: int, size: int | None = None
) -> tuple[float, float, float]:
    """Return c0, c1 and c2: n times the variance of the share of a set is c0 + c1 f + c2 f^2."""
    law = WeightLaw.of(oracle)
    size = oracle.k // k if size is None else size
    if law.varies or size == 1:
        return law.variance_coefficients(size)
    both = Sums(oracle, np.full(2, 0.5), np.array([size, oracle.k - size], np.float64))
    own = np.array([1.0, 0.0])
    given = both.products(own, own)
    return float(given[1]), float(given[0] - given[1]), -1.0
