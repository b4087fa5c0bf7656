"""Sums of a block's weights over sets of combinations, and what surveys will say of them.

A question of a block has a set of combinations for each of its categories, and so has a table of
questions for each of its cells; all sets of one question or table have one size m, unless a
follow-up in the block leaves combinations out. The weight by which a record counts in a set is the
sum of the weights of its combinations. Given the truth, its second moments follow from the protocol
alone (:mod:`hushpoll_analysis.estimates.weight_law`); here they are linear in the number of sets,
since a table may have tens of thousands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.metrics.intervals import difference_limits
from hushpoll_analysis.planning.expected_estimates import (
    normal_quantiles,
    other_normal_quantiles,
    smallest_found,
)
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_protocols.estimation.weights import WeightLaw

POINTS = 9
"""Of an estimate, over which the width of its interval is averaged."""


Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sums:
    """The weights of the sets of a question or of a table.

    Attributes
    ----------
    oracle : FrequencyOracle or None
        The block's; None in clear.
    shares : f64[k]
        Of the respondents whose truth is in each set, summing to 1.
    sizes : f64[k] or None
        Combinations of each set; None where all have as many.
    """

    oracle: FrequencyOracle | None
    shares: Array
    sizes: Array | None = None

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
    """Return c0, c1 and c2: n times the variance of the share of a set is c0 + c1 f + c2 f^2.

    Parameters
    ----------
    oracle : FrequencyOracle
        The block's.
    k : int
        Sets.
    size : int, optional
        Combinations of the set; by default all sets have as many.
    """
    law = WeightLaw.of(oracle)
    size = oracle.k // k if size is None else size
    if law.varies or size == 1:
        return law.variance_coefficients(size)
    both = Sums(oracle, np.full(2, 0.5), np.array([size, oracle.k - size], np.float64))
    own = np.array([1.0, 0.0])
    given = both.products(own, own)
    return float(given[1]), float(given[0] - given[1]), -1.0


@dataclass(frozen=True, slots=True)
class Share:
    """Respondents whose share of a set of combinations is estimated from their records.

    Attributes
    ----------
    oracle : FrequencyOracle
        The block's.
    k : int
        Sets.
    n : int
        Respondents, at least 1.
    frequency : float
        True share, in [0, 1].
    size : int or None
        Combinations of the set; None where all sets have as many.
    """

    oracle: FrequencyOracle
    k: int
    n: int
    frequency: float
    size: int | None = None

    @property
    def deviation(self) -> float:
        """Standard error of the estimate."""
        c0, c1, c2 = variance_coefficients(self.oracle, self.k, self.size)
        f = self.frequency
        return float(np.sqrt(max(c0 + c1 * f + c2 * f * f, 0.0) / self.n))

    def intervals(self, normal: Array, confidence: float) -> tuple[Array, Array, Array]:
        """Return estimates that are so many standard errors from the truth, with their limits."""
        value = self.frequency + self.deviation * normal
        terms = variance_coefficients(self.oracle, self.k, self.size)
        c0, c1, c2 = (np.asarray(term) for term in terms)
        limits = score_limits(value, self.n, variance=(c0, c1, c2), z=normal_quantile(confidence))
        return value, *limits


def share_width(share: Share, confidence: float) -> float:
    """Return the mean width of the interval of a share."""
    places, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    _, lower, upper = share.intervals(places, confidence)
    return float((upper - lower) @ weights / weights.sum())


def shares_power(first: Share, second: Share, confidence: float) -> float:
    """Return the chance that the interval of the difference of independent shares leaves out 0."""
    value, lower, upper = first.intervals(normal_quantiles(), confidence)
    other = second.intervals(other_normal_quantiles(), confidence)
    low, high = difference_limits(
        value[:, None], (lower[:, None], upper[:, None]), other[0], (other[1], other[2])
    )
    return float(((low > 0) | (high < 0)).mean())


def smallest_of_shares(second: Share, n: int, confidence: float, power: float) -> float | None:
    """Return the smallest difference of a share between two sides that is found so often.

    Parameters
    ----------
    second : Share
        The side with the smaller share.
    n : int
        Respondents of the first side.
    confidence, power : float
        Of the interval, and what is enough; in (0, 1).
    """

    def found(difference: float) -> float:
        frequency = min(second.frequency + difference, 1.0)
        return shares_power(replace(second, n=n, frequency=frequency), second, confidence)

    steps = normal_quantile(confidence) + NormalDist().inv_cdf(power)
    first = replace(second, n=n)
    guess = steps * float(np.hypot(first.deviation, second.deviation))
    return smallest_found(found, 1.0 - second.frequency, power, guess=guess, slope=steps)
