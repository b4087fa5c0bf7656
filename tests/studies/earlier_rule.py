"""The rule by which audits were answered before, kept for the coverage study alone.

A metric was given if each denominator was found to be at least 4 of its standard errors above 0,
and withheld otherwise. That picks the surveys whose noise made the denominator large, so what was
given near the threshold did not cover. Nothing but the study may use it; audits use
:mod:`hushpoll_analysis.auditing.sets`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.group_rate import edgeworth, known_limits, product, quantile
from hushpoll_analysis.auditing.moments import PEOPLE, RATE_TERMS, Moments
from hushpoll_analysis.metrics import difference_limits, joined, ratio_limits
from hushpoll_shared.group_metrics import METRICS

ENOUGH = 4.0
"""Standard errors that a denominator had to be above 0."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Gated:
    """One estimate, or one per survey, given where `strength` is at least `ENOUGH`."""

    value: Array
    standard_error: Array
    lower: Array
    upper: Array
    strength: Array


def earlier_metric(moments: Moments, name: str, *, confidence: float) -> Gated:
    """Return a metric of one rate: the ratio R_0/R_1 or the difference R_1 - R_0.

    Raises
    ------
    InvalidParameter
        If confidence is not in (0, `LARGEST_CONFIDENCE`].
    """
    z = quantile(confidence)
    rate = METRICS[name].rates[0].name
    low, high = (_rate(moments, rate, group, z) for group in (0, 1))
    covariance = _covariance(moments, rate, low, high)
    product = low.standard_error * high.standard_error
    correlation = np.clip(covariance / np.where(product > 0, product, 1.0), -1.0, 1.0)
    if METRICS[name].is_ratio:
        return _ratio(low, high, correlation, z)
    lower, upper = difference_limits(
        high.value, (high.lower, high.upper), low.value, (low.lower, low.upper), correlation
    )
    return Gated(
        high.value - low.value,
        joined(high.standard_error, low.standard_error, correlation),
        lower,
        upper,
        np.minimum(low.strength, high.strength),
    )


def earlier_share(moments: Moments, group: int, *, confidence: float) -> Gated:
    """Return the share of a group in an audit, plus or minus normal standard errors.

    Parameters
    ----------
    moments : Moments
        Of one survey, or of many.
    group : {0, 1}
        Unprivileged or privileged.
    confidence : float
        Of the interval, which was always given.

    Raises
    ------
    InvalidParameter
        If confidence is not in (0, `LARGEST_CONFIDENCE`].
    """
    z = quantile(confidence)
    value, error = _mean(moments, group, PEOPLE)
    return Gated(value, error, value - z * error, value + z * error, _in_errors(value, error))


def _ratio(low: Gated, high: Gated, correlation: Array, z: float) -> Gated:
    widest = np.maximum(high.value - high.lower, high.upper - high.value) / z
    strength = np.minimum(np.minimum(low.strength, high.strength), _in_errors(high.value, widest))
    under = np.where(strength >= ENOUGH, high.value, 1.0)
    value = low.value / under
    lower, upper = ratio_limits(
        low.value, (low.lower, low.upper), under, (high.lower, high.upper), correlation
    )
    error = joined(low.standard_error, value * high.standard_error, correlation) / np.abs(under)
    return Gated(value, error, lower, upper, strength)


def _rate(moments: Moments, name: str, group: int, z: float) -> Gated:
    numerator, denominator = RATE_TERMS[name]
    own = slice(4 * group, 4 * group + 4)
    top, _ = _mean(moments, group, numerator)
    weight, weight_error = _mean(moments, group, denominator)
    strength = _in_errors(weight, weight_error)
    # whatever is computed from a denominator of little strength is finite, and never shown
    enough = strength >= ENOUGH
    safe = np.where(enough, weight, 1.0)
    rate = top / safe
    influence = (numerator - rate[..., None] * denominator) / safe[..., None]
    second = moments.second[..., own, own]
    variance = product(second, influence, influence) / moments.n

    def squared(left: Array, right: Array, means: Array) -> Array:
        return z**2 * (product(second, left, right) - means) / moments.n

    a = np.where(enough, weight**2 - squared(denominator, denominator, weight**2), 1.0)
    b = top * weight - squared(numerator, denominator, top * weight)
    c = top**2 - squared(numerator, numerator, top**2)
    half = np.sqrt(np.maximum(b**2 - a * c, 0.0)) / a
    shift, wider, _ = edgeworth(moments, group, influence, variance, z)
    least, lower, upper = known_limits(rate, moments.n * np.maximum(weight, 0.0), z)
    return Gated(
        rate,
        np.sqrt(np.maximum(variance, least)),
        np.minimum(rate - (rate - b / a + half) * wider + shift, lower),
        np.maximum(rate + (b / a + half - rate) * wider + shift, upper),
        strength,
    )


def _covariance(moments: Moments, name: str, low: Gated, high: Gated) -> Array:
    """Covariance of the unprivileged and the privileged group's rate."""
    numerator, denominator = RATE_TERMS[name]
    influences = []
    for group, rate in ((0, low), (1, high)):
        weight, _ = _mean(moments, group, denominator)
        safe = np.where(rate.strength >= ENOUGH, weight, 1.0)
        influences.append((numerator - rate.value[..., None] * denominator) / safe[..., None])
    return product(moments.second[..., :4, 4:], *influences) / moments.n


def _mean(moments: Moments, group: int, combination: Array) -> tuple[Array, Array]:
    """Mean of a combination of a group's terms, and its standard error."""
    own = slice(4 * group, 4 * group + 4)
    mean: Array = moments.mean[..., own] @ combination
    square = product(moments.second[..., own, own], combination, combination)
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0) / moments.n)


def _in_errors(value: Array, error: Array) -> Array:
    """Return value/error; infinite, with the sign of the value, where the error is 0."""
    known = error > 0
    certain = np.where(value > 0, np.inf, -np.inf)
    statistic: Array = np.where(known, value / np.where(known, error, 1.0), certain)
    return statistic
