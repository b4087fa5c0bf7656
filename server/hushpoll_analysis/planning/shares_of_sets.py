"""What surveys will say of the shares of sets of a block's combinations.

The sets are those of :mod:`hushpoll_analysis.estimates.combination_sums`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.combination_sums import variance_coefficients
from hushpoll_analysis.metrics.intervals import difference_limits
from hushpoll_analysis.planning.expected_estimates import (
    normal_quantiles,
    other_normal_quantiles,
    smallest_found,
)
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.score import score_limits

POINTS = 9
"""Values of an estimate over which the width of its interval is averaged."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """Respondents whose share of a set of combinations is estimated from their records."""

    oracle: FrequencyOracle
    k: int
    """Sets."""
    n: int
    frequency: float
    """True share, in [0, 1]."""
    size: int | None = None
    """Combinations of the set; None where all sets have as many."""

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
    """Return the smallest difference from a second side's share that is found so often."""

    def found(difference: float) -> float:
        frequency = min(second.frequency + difference, 1.0)
        return shares_power(replace(second, n=n, frequency=frequency), second, confidence)

    steps = normal_quantile(confidence) + NormalDist().inv_cdf(power)
    first = replace(second, n=n)
    guess = steps * float(np.hypot(first.deviation, second.deviation))
    return smallest_found(found, 1.0 - second.frequency, power, guess=guess, slope=steps)
