"""From support counts to frequencies with their uncertainty (extra ``kernels``).

The truth is the population from which respondents are drawn. A count is then exactly binomial with
success probability pi = q + (p - q) f, so that

    f^ = (c/n - q)/(p - q)

is unbiased (Wang et al., USENIX Security 2017, equation 2), its standard error is
sqrt(pi^ (1 - pi^)/n)/(p - q), and an interval for pi maps to one for f by x -> (x - q)/(p - q).
The interval for pi is Wilson's (JASA 1927): Wald's covers as little as 2 % of the time for rare
categories of a large domain.

Nothing is clipped. An estimate below 0 or above 1 says how noisy it is, and an interval cut to
[0, 1] could be empty. Whoever shows an interval may intersect it with [0, 1] and keep its coverage,
since the truth lies there; see :mod:`hushpoll_protocols.projection` for estimates that are
frequencies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_protocols.oracle import FrequencyOracle

try:
    import numpy as np
    import numpy.typing as npt
except ImportError as error:
    raise MissingExtra("kernels", "estimation") from error


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated proportions with their uncertainty; all arrays have one shape.

    Attributes
    ----------
    frequency : float64 array
        Unbiased; may lie outside [0, 1].
    standard_error : float64 array
        Estimated standard deviation of `frequency`, at least 0.
    lower, upper : float64 array
        Ends of the closed interval; may lie outside [0, 1] and always contain `frequency`.
    n : int
        Number of records, at least 1.
    confidence : float
        Nominal coverage of each interval, in the open interval (0, 1).
    """

    frequency: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    n: int
    confidence: float


def estimate(
    oracle: FrequencyOracle, counts: npt.ArrayLike, n: int, *, confidence: float = 0.95
) -> Estimate:
    """Estimate the frequency of every value of the domain.

    Parameters
    ----------
    oracle : FrequencyOracle
        The protocol that made the records.
    counts : int array, shape (k,)
        Records that support each value, as ``kernels.support_counts`` returns them.
    n : int
        Number of records counted, at least 1.
    confidence : float
        Coverage of each category's own interval, in the open interval (0, 1).

    Returns
    -------
    Estimate
        Arrays of shape (k,).

    Raises
    ------
    InvalidParameter
        A wrong length or dtype, a count outside [0, n], n below 1 or `confidence` outside (0, 1).
    """
    shape = np.shape(counts)
    if shape != (oracle.k,):
        raise InvalidParameter(
            f"counts has shape {shape}; give one count per value of the domain, shape "
            f"({oracle.k},)",
            field="counts",
        )
    return estimate_proportion(counts, n, p=oracle.p, q=oracle.q, confidence=confidence)


def estimate_proportion(
    count: npt.ArrayLike,
    n: int,
    *,
    p: Fraction | float,
    q: Fraction | float,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate proportions of which only a randomised indicator was counted.

    Parameters
    ----------
    count : int or int array
        Indicators that were 1, in [0, n]; any shape.
    n : int
        Number of indicators, at least 1.
    p, q : Fraction or float
        Probability of a 1 where the property holds and where it does not; 0 <= q < p <= 1. Give
        Fractions: p - q cancels in floating point at a small epsilon.
    confidence : float
        In the open interval (0, 1).

    Returns
    -------
    Estimate
        Arrays of the shape of `count`.

    Raises
    ------
    InvalidParameter
        An argument is outside its interval.
    """
    _check_n(n)
    counts = _checked_counts(count, n)
    quantile = normal_quantile(confidence)
    expected, gain = _exact(n, p, q)

    # n * pi^ - n * q, exactly but for the last rounding: the whole part of n * q leaves as an int.
    whole = math.floor(expected)
    rest = float(expected - whole)
    excess = (counts - whole).astype(np.float64) - rest

    hits = counts.astype(np.float64)
    misses = (n - counts).astype(np.float64)
    spread = hits * (misses / n)
    deviation = quantile * np.sqrt(spread + quantile**2 / 4)
    # The smaller root of Wilson's quadratic as a quotient without cancellation; the larger is the
    # smaller one for the misses. So a count of 0 has the lower bound pi = 0 and n the upper pi = 1.
    low = hits * (hits / n) / (hits + quantile**2 / 2 + deviation)
    high = misses * (misses / n) / (misses + quantile**2 / 2 + deviation)
    return Estimate(
        frequency=excess / gain,
        standard_error=np.sqrt(spread) / gain,
        lower=(n * low - whole - rest) / gain,
        upper=(n - n * high - whole - rest) / gain,
        n=n,
        confidence=confidence,
    )


def normal_quantile(confidence: float) -> float:
    """Return z with P(|N(0,1)| <= z) = `confidence`.

    Raises
    ------
    InvalidParameter
        If `confidence` is outside the open interval (0, 1).
    """
    if not 0 < confidence < 1:
        raise InvalidParameter(
            f"confidence is {confidence!r}, outside the open interval (0, 1); give a coverage such "
            "as 0.95",
            field="confidence",
        )
    # From the tail, which stays exact when the confidence is near 1.
    return -NormalDist().inv_cdf((1 - confidence) / 2)


def _exact(n: int, p: Fraction | float, q: Fraction | float) -> tuple[Fraction, float]:
    """Return n*q, and n*(p - q) rounded once."""
    for name, value in (("p", p), ("q", q)):
        if not 0 <= value <= 1:
            raise InvalidParameter(
                f"{name} is {value}, outside [0, 1]; give a probability", field=name
            )
    gain = n * (Fraction(p) - Fraction(q))
    if gain <= 0:
        raise InvalidParameter(
            f"p = {float(p)} is not above q = {float(q)}; the indicator carries no information "
            "about the property: give p > q",
            field="p",
        )
    return n * Fraction(q), float(gain)


def _check_n(n: object) -> None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise InvalidParameter(
            f"n is {n!r}, not an integer of at least 1; estimates need at least one record",
            field="n",
        )


def _checked_counts(count: npt.ArrayLike, n: int) -> npt.NDArray[np.int64]:
    counts = np.asarray(count)
    if counts.dtype.kind not in "iu":
        raise InvalidParameter(
            f"counts has dtype {counts.dtype}; give integers in [0, {n}]", field="counts"
        )
    outside = np.ravel((counts < 0) | (counts > n))
    if outside.any():
        at = int(outside.argmax())
        raise InvalidParameter(
            f"counts[{at}] is {np.ravel(counts)[at]}, outside [0, {n}]; "
            "give the support counts of exactly n records",
            field="counts",
        )
    return counts.astype(np.int64)
