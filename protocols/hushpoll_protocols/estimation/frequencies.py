"""From support counts to frequencies with their uncertainty (extra ``kernels``).

The truth is the population from which respondents are drawn. A count is then exactly binomial with
success probability pi = q + (p - q) f, so that

    D = (c/n - q)/(p - q)

is unbiased (Wang et al., USENIX Security 2017, equation 2). This is the estimator ``raw``.

Where every record supports as many categories (GRR, SS, an attribute in clear), it is the estimate:
its standard error is sqrt(pi^ (1 - pi^)/n)/(p - q), and an interval for pi maps to one for f by
x -> (x - q)/(p - q). The interval for pi is Wilson's (JASA 1927): Wald's covers as little as 2 % of
the time for rare categories of a large domain.

Elsewhere the estimate weighs each record so that its weights sum to one
(:mod:`hushpoll_protocols.estimation.weights`): for a question of two answers it has half the
variance of D at epsilon 1, and never more than D, and the estimates of an attribute sum to 1. Its
interval is the score interval with the variance and the skewness that the law gives these weights
(:mod:`hushpoll_protocols.estimation.score`), Wilson's way of thinking. Its bias is of the order of
n^-2.

Nothing is clipped. An estimate below 0 or above 1 says how noisy it is, and an interval cut to
[0, 1] could be empty. An interval may be intersected with [0, 1] when it is shown, and keeps its
coverage, since the truth lies there; see :mod:`hushpoll_protocols.estimation.projection` for
estimates that are frequencies.

Each interval holds by itself, and for one look: of 74 at 95 %, 3.7 are expected to miss, and the
more often results are looked at while reports arrive, the more of the looks miss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter, refusal_of
from hushpoll_protocols.estimation.marginals import AnyLaw, Marginal, UnevenSets
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_protocols.estimation.weights import DEGENERATE, WeightLaw

Estimator: TypeAlias = Literal["weighted", "raw"]
ESTIMATORS: tuple[Estimator, ...] = ("weighted", "raw")
"""Weights that sum to one, which is the default everywhere; the debiased indicators alone."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimated proportions with their uncertainty; all arrays have one shape.

    Attributes
    ----------
    frequency : float64 array
        Unbiased (to the order of n^-2); may lie outside [0, 1].
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
    oracle: AnyLaw,
    counts: npt.ArrayLike,
    n: int,
    *,
    confidence: float = 0.95,
    estimator: Estimator = "weighted",
) -> Estimate:
    """Estimate the frequency of every value of the domain.

    Parameters
    ----------
    oracle : FrequencyOracle, Marginal or UnevenSets
        The protocol that made the records; or what it says of sets of values.
    counts : int array, shape (k,)
        Records that support each value, as ``kernels.support_counts`` returns them; of a set the
        sum over its values.
    n : int
        Number of records counted, at least 1.
    confidence : float
        Coverage of each category's own interval, in the open interval (0, 1).
    estimator : {"weighted", "raw"}
        Weights that sum to one, or D. They are the same where all supports have one size.

    Returns
    -------
    Estimate
        Arrays of shape (k,).

    Raises
    ------
    InvalidParameter
        A wrong length or dtype, a count outside [0, n], n below 1, `confidence` outside (0, 1) or
        another estimator.
    """
    if estimator not in ESTIMATORS:
        raise refusal_of("estimator")(
            f"is {estimator!r}; it must be one of {', '.join(ESTIMATORS)}"
        )
    shape = np.shape(counts)
    if shape != (oracle.k,):
        raise refusal_of("counts")(
            f"has shape {shape}; give one count per value of the domain, shape ({oracle.k},)"
        )
    if isinstance(oracle, UnevenSets):
        return _estimate_uneven(oracle, np.asarray(counts), n, confidence, estimator)
    law = WeightLaw.of(oracle)
    if isinstance(oracle, Marginal) and not oracle.counts_one:
        return _estimate_sets(oracle, law, counts, n, confidence, estimator)
    raw = estimate_proportion(counts, n, p=oracle.p, q=oracle.q, confidence=confidence)
    if estimator == "raw" or not law.varies:
        return raw
    return weighted(law, raw)


def _estimate_sets(
    sets: Marginal,
    law: WeightLaw,
    counts: npt.ArrayLike,
    n: int,
    confidence: float,
    estimator: Estimator,
) -> Estimate:
    """Estimate the frequencies of sets, of whose values a record supports any number."""
    # at most so many values of one set
    most = min(sets.members, sets.support_size or sets.members)
    frequency = debiased_mean(counts, n, p=sets.p, q=sets.q, most=most)
    none = np.full_like(frequency, np.nan)
    raw = Estimate(frequency, none, none, none, n=n, confidence=confidence)
    # weights of D alone, where each counts as it is
    return weighted(WeightLaw.of_raw(sets) if estimator == "raw" else law, raw)


def weighted(law: WeightLaw, raw: Estimate) -> Estimate:
    """Return the estimate by weights that sum to one.

    The arrays of `raw` are f64[..., k]: of one survey, or of many of n records. Its frequency is
    read alone.
    """
    frequency = law.frequencies(raw.frequency)
    return _with_limits(law, frequency, law.mean_excess(raw.frequency), raw)


def _estimate_uneven(
    sets: UnevenSets,
    counts: npt.NDArray[np.int64],
    n: int,
    confidence: float,
    estimator: Estimator,
) -> Estimate:
    """Estimate the frequencies of sets of any sizes; those of one size have one law."""
    none = np.full(sets.k, np.nan)
    raw = Estimate(debiased_sets(sets, counts, n), none, none, none, n=n, confidence=confidence)
    whole = weighted(WeightLaw.of(sets) if estimator == "weighted" else WeightLaw.of_raw(sets), raw)
    if not sets.counts_one:
        return whole
    sizes = np.array(sets.sizes)
    for size in sorted(set(sets.sizes)):
        alike, law = sizes == size, sets.of_size(size)
        found = estimate_proportion(counts[alike], n, p=law.p, q=law.q, confidence=confidence)
        for part in ("frequency", "standard_error", "lower", "upper"):
            getattr(whole, part)[alike] = getattr(found, part)
    return whole


def debiased_sets(
    sets: UnevenSets, counts: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.float64]:
    """Return the means of the D of sets of any sizes, f64[k], from the support counts of n."""
    sizes, debiased = np.array(sets.sizes), np.empty(sets.k)
    for size in sorted(set(sets.sizes)):
        alike, law = sizes == size, sets.of_size(size)
        most = min(size, law.support_size or size)
        debiased[alike] = debiased_mean(counts[alike], n, p=law.p, q=law.q, most=most)
    return debiased


def _with_limits(
    law: WeightLaw,
    frequency: npt.NDArray[np.float64],
    excess: npt.NDArray[np.float64],
    raw: Estimate,
) -> Estimate:
    """Return estimates of one law with their errors and limits, at the mean excess f64[..., 1]."""
    # estimate - f is this factor smaller than the mean whose law is known
    scale = np.maximum(1.0 + law.slope * excess, DEGENERATE)
    c0, c1, c2 = law.variance_coefficients()
    lower, upper = score_limits(
        frequency,
        raw.n,
        variance=(np.asarray(c0), np.asarray(c1), np.asarray(c2)),
        z=normal_quantile(raw.confidence),
        scale=scale,
        third=law.third_moment,
    )
    # The variance is a concave parabola that the law gives for [0, 1]; where the estimate is
    # outside, that of the nearest frequency is nearest the truth.
    inside = np.clip(frequency, 0.0, 1.0)
    variance = np.maximum(c0 + c1 * inside + c2 * inside**2, 0.0)
    return Estimate(
        frequency=frequency,
        standard_error=np.sqrt(variance / raw.n) / scale,
        lower=lower,
        upper=upper,
        n=raw.n,
        confidence=raw.confidence,
    )


def estimate_proportion(
    count: npt.ArrayLike,
    n: int,
    *,
    p: Fraction | float,
    q: Fraction | float,
    confidence: float = 0.95,
) -> Estimate:
    """Estimate proportions of which only a randomised indicator was counted, of any shape.

    `count` of n indicators were 1; p and q are the chances of a 1 where the property holds and
    where it does not, 0 <= q < p <= 1. Give Fractions: p - q cancels in floating point at a small
    epsilon. Refuses counts outside [0, n], n below 1 and a confidence outside (0, 1).
    """
    counts = checked_counts(count, n)
    quantile = normal_quantile(confidence)
    check_chances(p, q)
    excess, whole, rest, gain = _excess(counts, n, p, q)

    hits, misses = counts.astype(np.float64), (n - counts).astype(np.float64)
    low, high = _wilson(hits, misses, n, quantile)
    spread = hits * (misses / n)
    return Estimate(
        frequency=excess / gain,
        standard_error=np.sqrt(spread) / gain,
        lower=(n * low - whole - rest) / gain,
        upper=(n - n * high - whole - rest) / gain,
        n=n,
        confidence=confidence,
    )


def debiased_mean(
    count: npt.ArrayLike,
    n: int,
    *,
    p: Fraction | float,
    q: Fraction | float,
    most: int = 1,
) -> npt.NDArray[np.float64]:
    """Return (count/n - q)/(p - q), the mean of n debiased numbers, f64 of the shape of `count`.

    `count` is the sum of n numbers in [0, most], expected to be p where the property holds and q <
    p elsewhere; refuses counts outside [0, most * n], and n below 1.
    """
    checked_counts(0, n)
    counts = checked_counts(count, n * most)
    excess, _, _, gain = _excess(counts, n, p, q)
    frequency: npt.NDArray[np.float64] = excess / gain
    return frequency


def _excess(
    counts: npt.NDArray[np.int64], n: int, p: Fraction | float, q: Fraction | float
) -> tuple[npt.NDArray[np.float64], int, float, float]:
    """Return counts - n q, its subtrahend's whole part and rest, and n (p - q)."""
    expected, gain = n * Fraction(q), float(n * (Fraction(p) - Fraction(q)))
    # n * pi^ - n * q, exactly but for the last rounding: the whole part of n * q leaves as an int.
    whole = math.floor(expected)
    rest = float(expected - whole)
    return (counts - whole).astype(np.float64) - rest, whole, rest, gain


def wilson_limits(
    hits: npt.NDArray[np.float64],
    n: npt.NDArray[np.float64] | float,
    z: npt.NDArray[np.float64] | float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return Wilson's limits (JASA 22, 1927) of hits/n, f64[...], at the quantile z >= 0.

    Hits in [0, n] and trials above 0 may be estimates, so neither has to be whole.
    """
    lower, above = _wilson(hits, n - hits, n, z)
    return lower, 1.0 - above


def _wilson(
    hits: npt.NDArray[np.float64],
    misses: npt.NDArray[np.float64],
    n: npt.NDArray[np.float64] | float,
    z: npt.NDArray[np.float64] | float,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the lower limit of hits/n, and that of misses/n.

    It is the smaller root of Wilson's quadratic as a quotient without cancellation; the larger is
    the smaller one for the misses. So 0 hits have the lower limit 0, and n hits the upper one 1.
    """
    deviation = z * np.sqrt(hits * (misses / n) + z**2 / 4)
    low, high = (
        part * (part / n) / np.maximum(part + z**2 / 2 + deviation, 1e-300)
        for part in (hits, misses)
    )
    return low, high


def normal_quantile(confidence: float) -> float:
    """Return z with P(|N(0,1)| <= z) = `confidence`; refuses one outside (0, 1)."""
    if not 0 < confidence < 1:
        raise refusal_of("confidence")(
            f"is {confidence!r}, outside the open interval (0, 1); give a coverage such as 0.95"
        )
    # From the tail, which stays exact when the confidence is near 1.
    return -NormalDist().inv_cdf((1 - confidence) / 2)


def check_chances(p: Fraction | float, q: Fraction | float) -> None:
    """Refuse chances of an indicator that are no probabilities, or from which nothing follows."""
    for name, value in (("p", p), ("q", q)):
        if not 0 <= value <= 1:
            raise refusal_of(name)(f"is {value}, outside [0, 1]; give a probability")
    if Fraction(p) <= Fraction(q):
        raise refusal_of("p")(
            f"= {float(p)} is not above q = {float(q)}; the indicator carries no information about "
            "the property: give p > q"
        )


def checked_counts(count: npt.ArrayLike, n: int, *, field: str = "counts") -> npt.NDArray[np.int64]:
    """Return the counts as int64 if they are integers in [0, n], and n is at least 1."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise refusal_of("n")(
            f"is {n!r}, not an integer of at least 1; estimates need at least one record"
        )
    counts = np.asarray(count)
    if counts.dtype.kind not in "iu":
        raise refusal_of(field)(f"has dtype {counts.dtype}; give integers in [0, {n}]")
    outside = np.ravel((counts < 0) | (counts > n))
    if outside.any():
        at = int(outside.argmax())
        raise InvalidParameter(
            f"{field}[{at}] is {np.ravel(counts)[at]}, outside [0, {n}]; "
            "give the support counts of exactly n records",
            field=field,
        )
    return counts.astype(np.int64)
