"""What the estimates of a category will be, over all the surveys that may come of a plan.

The interval of a category depends on two numbers of a survey: how many records support the
category, and how many supports there are of the others. The first is binomial. Given it, the second
is a sum of independent numbers and nearly normal. So the mean width is a sum over a few points
with the moments of both laws (Gauss quadrature), and the power of a test a share of pairs of
quantiles. No draw is made: the same plan always has the same numbers.

The interval at the mean count, which was the prediction before, is too wide where a rare category
is hardly perturbed, because the width is a concave function of the count: by 18 % for a share of
1 % under OUE with five categories, epsilon 8 and 200 respondents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.weight_law import binomial_points
from hushpoll_analysis.metrics import difference_limits
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.frequencies import (
    Estimate,
    normal_quantile,
    weighted,
    wilson_limits,
)
from hushpoll_protocols.estimation.weights import WeightLaw

COUNTS = 14
"""Points of the number of records that support the category."""

OTHERS = 3
"""Points of the number of other supports, given the first number."""

QUANTILES = 400
"""A power is counted from so many values of a survey's estimate, all equally likely."""

_GOLDEN = (5**0.5 - 1) / 2
_REACH = 10.0
"""Standard deviations of a binomial law beyond which its chances are nothing."""
_MORE = 60.0
"""Counts that are looked at beyond, since rare successes are not normal."""
_PRECISION = 2e-3
_NEAR = 5e-3
"""So near to the normal quantile of a power, it is within 0.0014 of 0.8."""
_STEPS = 4
"""Relative, of a difference."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Side:
    """Respondents whose share of a category is estimated from their records."""

    oracle: FrequencyOracle | None
    """None in clear."""
    n: int
    frequency: float
    """True share of the category among them, in [0, 1]."""

    @property
    def chance(self) -> float:
        """Chance that a record supports the category."""
        p, q = _chances(self.oracle)
        return q + (p - q) * self.frequency


@lru_cache(maxsize=4096)
def expected_interval_width(side: Side, confidence: float) -> float:
    """Return the mean width of the category's interval, with a confidence in (0, 1)."""
    points = binomial_points(side.n, side.chance, COUNTS)
    count, weight = (np.array(part) for part in zip(*points, strict=True))
    places, chances = np.polynomial.hermite_e.hermegauss(OTHERS)
    if not WeightLaw.of(side.oracle).varies:
        places, chances = np.zeros(1), np.ones(1)
    _, lower, upper = _intervals(side, count[:, None], places[None, :], confidence)
    return float(weight @ (upper - lower) @ chances / chances.sum())


def difference_power(first: Side, second: Side, confidence: float) -> float:
    """Return the chance that the interval of the difference of independent shares leaves out 0."""
    one, other = _quantiles(first, confidence), _quantiles(second, confidence)
    value, lower, upper = (part[:, None] for part in one)
    lower, upper = difference_limits(value, (lower, upper), other[0], (other[1], other[2]))
    return float(((lower > 0) | (upper < 0)).mean())


@lru_cache(maxsize=256)
def _quantiles(side: Side, confidence: float) -> tuple[Array, Array, Array]:
    count = binomial_quantiles(side.n, side.chance, (np.arange(QUANTILES) + 0.5) / QUANTILES)
    return _intervals(side, count, other_normal_quantiles(), confidence)


def binomial_quantiles(n: int, chance: float, levels: Array) -> Array:
    """Return the fewest successes whose chance, with all that are fewer, reaches each level.

    They are those of ``scipy.special.bdtrik``, rounded up; scipy is slow to import, and a plan is
    waited for.

    Levels are f64[m] in (0, 1), at least 1e-6 from both ends; results whole numbers in [0, n].
    """
    if chance <= 0 or chance >= 1:
        return np.full(levels.shape, float(n) if chance >= 1 else 0.0)
    reach = _REACH * math.sqrt(n * chance * (1 - chance)) + _MORE
    least, most = max(0, int(n * chance - reach)), min(n, int(n * chance + reach))
    counts = np.arange(least, most, dtype=np.float64)
    # each chance by the one before it
    steps = np.log((n - counts) / (counts + 1)) + math.log(chance / (1 - chance))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    chances = np.cumsum(np.exp(logs - logs.max()))
    places = np.searchsorted(chances, levels * chances[-1])
    return np.asarray(least + places, dtype=np.float64)


@cache
def normal_quantiles() -> Array:
    """Return quantiles of the standard normal law, all equally likely, f64[QUANTILES]."""
    return _normal(np.asarray((np.arange(QUANTILES) + 0.5) / QUANTILES, dtype=np.float64))


@cache
def other_normal_quantiles() -> Array:
    """Return such quantiles in an order that has nothing to do with the first's."""
    levels = (np.arange(QUANTILES) * _GOLDEN + 0.5 / QUANTILES) % 1
    return _normal(np.asarray(levels, dtype=np.float64))


def _normal(levels: Array) -> Array:
    law = NormalDist()
    found = np.array([law.inv_cdf(level) for level in levels.tolist()])
    found.flags.writeable = False
    return found


def _intervals(
    side: Side, count: Array, deviation: Array, confidence: float
) -> tuple[Array, Array, Array]:
    """Return estimates and limits by the count of the category and the deviation of the others."""
    (p, q), n = _chances(side.oracle), side.n
    law = WeightLaw.of(side.oracle)
    own = (count / n - q) / (p - q)
    if not law.varies:
        lower, upper = wilson_limits(count, float(n), normal_quantile(confidence))
        return own, (lower - q) / (p - q), (upper - q) / (p - q)
    mean, variance = _others(side, count)
    rest = (mean + deviation * np.sqrt(variance)) / n
    debiased = np.stack(np.broadcast_arrays(own, (rest - (law.k - 1) * q) / (p - q)), axis=-1)
    none = np.zeros(debiased.shape)
    estimate = weighted(law, Estimate(debiased, none, none, none, n, confidence))
    # the second entry stands for all other categories together, and is of no interest
    return estimate.frequency[..., 0], estimate.lower[..., 0], estimate.upper[..., 0]


def _others(side: Side, count: Array) -> tuple[Array, Array]:
    """Return mean and variance of the supports of other categories, given the count of one."""
    assert side.oracle is not None  # noqa: S101  (in clear no support varies)
    (p, q), f, k = _chances(side.oracle), side.frequency, side.oracle.k
    # a record differs by whether its truth is the category or another
    means = np.array([(k - 1) * q, p + (k - 2) * q])
    variances = np.array([(k - 1) * q * (1 - q), p * (1 - p) + (k - 2) * q * (1 - q)])
    mean, variance = np.zeros(count.shape), np.zeros(count.shape)
    for records, chances in (
        (count, [f * p, (1 - f) * q]),
        (side.n - count, [f * (1 - p), (1 - f) * (1 - q)]),
    ):
        share = np.array(chances) / max(sum(chances), 1e-300)
        each = float(share @ means)
        mean = mean + records * each
        variance = variance + records * float(share @ (variances + (means - each) ** 2))
    return mean, variance


def _chances(oracle: FrequencyOracle | None) -> tuple[float, float]:
    return (1.0, 0.0) if oracle is None else (float(oracle.p), float(oracle.q))


@lru_cache(maxsize=1024)
def smallest_difference(
    oracle: FrequencyOracle | None,
    frequency: float,
    sizes: tuple[int, int],
    confidence: float,
    power: float,
) -> float | None:
    """Return the smallest difference of a share between two sides that is found so often.

    The first side has the larger share, the second `frequency`, in [0, 1). The difference has three
    digits, and is None if not even a share of 1 is told apart so often.
    """
    second = Side(oracle, sizes[1], frequency)

    def found(difference: float) -> float:
        first = Side(oracle, sizes[0], min(frequency + difference, 1.0))
        return difference_power(first, second, confidence)

    # what a normal law with the mean width of both intervals would have
    z = normal_quantile(confidence)
    widths = (expected_interval_width(Side(oracle, n, frequency), confidence) for n in sizes)
    steps = z + NormalDist().inv_cdf(power)
    guess = steps * math.hypot(*widths) / (2 * z)
    return smallest_found(found, 1.0 - frequency, power, guess=guess, slope=steps)


def smallest_found(
    chance: Callable[[float], float],
    most: float,
    power: float,
    *,
    guess: float | None = None,
    slope: float = 1.0,
) -> float | None:
    """Return the smallest difference that is found so often.

    `chance` rises with a difference in [0, most]. It is looked for first at `guess`, so many
    standard errors (`slope`) large; the result has three digits, None if `most` is not found so
    often.
    """

    def surplus(difference: float) -> float:
        return _probit(chance(difference)) - _probit(power)

    low, high = 0.0, most
    below: float | None = None
    above: float | None = None
    if guess is not None and guess < most:
        near = guess
        for _ in range(_STEPS):
            at = surplus(near)
            if abs(at) < _NEAR:
                return near
            if at < 0:
                low, below = near, at
            else:
                high, above = near, at
            # under a normal law the quantile of the power is straight: z + z_power at the guess
            near = min(max(near - at * guess / slope, low), high)
            if near in (low, high):
                break
    below = surplus(low) if below is None else below
    above = surplus(high) if above is None else above
    if above < 0:
        return None
    while high - low > _PRECISION * high:
        # the power's normal quantile is nearly straight in the difference
        part = min(max(-below / max(above - below, 1e-9), 0.03), 0.97)
        middle = low + part * (high - low)
        at = surplus(middle)
        if at >= 0:
            high, above = middle, at
        else:
            low, below = middle, at
    return high


def _probit(chance: float) -> float:
    return NormalDist().inv_cdf(min(max(chance, 1e-4), 1 - 1e-4))
