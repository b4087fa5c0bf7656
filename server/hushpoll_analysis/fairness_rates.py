"""Group rates and fairness metrics from moments: estimates, standard errors, intervals.

R_a = N_a/W_a is a ratio of means, so its influence on a row is (numerator - R_a denominator)/W_a.
The mean square of the difference of two influences, over n, is the variance of the difference of
two rates. Both denominators are estimated, and the intervals know it (Cochran, Sampling Techniques,
1977, chapter 6; influence functions: Hampel et al., Robust Statistics, 1986, section 2.1).

Intervals are built per group and then combined. A group's is Fieller's (1954): the values r that
are compatible with N_a - r W_a = 0, corrected for skewness and kurtosis, and never inside the one
that known groups would give (:mod:`hushpoll_analysis.fairness_limits`). A difference combines the
distances from each estimate to its limits like standard errors, with the correlation of the two
(Zou and Donner, Statistics in Medicine 27, 2008), and DI = R_0/R_1 likewise solves R_0 - d R_1 = 0
for d (Donner and Zou, Statistical Methods in Medical Research 21, 2012). Symmetric intervals missed
on one side up to ten times as often as on the other, and the one through log DI covered as little
as 63 % where few are predicted positive: docs/explanation/fairness-without-the-attribute.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.fairness_limits import edgeworth, wilson
from hushpoll_analysis.fairness_moments import RATES, Moments
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation import normal_quantile

ENOUGH = 4.0
"""Standard errors that a denominator must be above 0: below, ratios have no useful distribution."""

LARGEST_CONFIDENCE = 0.999
"""Of intervals: a denominator of `ENOUGH` standard errors bounds Fieller's only below 0.9999."""

METRICS: Mapping[str, str] = {"DI": "P", "SPD": "P", "EOD": "TPR", "OAD": "ACC"}
"""Each fairness metric and the rate that it compares."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimated:
    """One estimate, or one per survey.

    Attributes
    ----------
    value, standard_error, lower, upper : f64[...]
        Not projected: a rate may fall outside [0, 1]. Of no meaning where `strength` is below
        `ENOUGH`.
    strength : f64[...]
        The weakest denominator behind it, in its own standard errors; infinite without noise.
    """

    value: Array
    standard_error: Array
    lower: Array
    upper: Array
    strength: Array


def shares(moments: Moments, *, confidence: float) -> tuple[Estimated, Estimated]:
    """Return the share of the rows that are in the unprivileged and in the privileged group.

    Rows without an answer to the target are in neither.

    Raises
    ------
    InvalidParameter
        If confidence is not in (0, `LARGEST_CONFIDENCE`].
    """
    z = _quantile(confidence)
    found = []
    for group in (0, 1):
        value, error = _mean(moments, group, RATES["P"][1])
        found.append(
            Estimated(value, error, value - z * error, value + z * error, _in_errors(value, error))
        )
    return found[0], found[1]


def rates(moments: Moments, name: str, *, confidence: float) -> tuple[Estimated, Estimated]:
    """Return a rate of `RATES` in the unprivileged and in the privileged group.

    Raises
    ------
    InvalidParameter
        If confidence is not in (0, `LARGEST_CONFIDENCE`].
    """
    z = _quantile(confidence)
    return _rate(moments, name, 0, z), _rate(moments, name, 1, z)


def metric(moments: Moments, name: str, *, confidence: float) -> Estimated:
    """Return a metric of `METRICS`: the ratio R_0/R_1 for DI, else the difference R_1 - R_0.

    Raises
    ------
    InvalidParameter
        If confidence is not in (0, `LARGEST_CONFIDENCE`].
    """
    z = _quantile(confidence)
    low, high = rates(moments, METRICS[name], confidence=confidence)
    covariance = _covariance(moments, METRICS[name], low, high)
    product = low.standard_error * high.standard_error
    correlation = np.clip(covariance / np.where(product > 0, product, 1.0), -1.0, 1.0)
    if name == "DI":
        return _ratio(low, high, correlation, z)
    return Estimated(
        high.value - low.value,
        _joined(high.standard_error, low.standard_error, correlation),
        high.value
        - low.value
        - _joined(high.value - high.lower, low.upper - low.value, correlation),
        high.value
        - low.value
        + _joined(high.upper - high.value, low.value - low.lower, correlation),
        np.minimum(low.strength, high.strength),
    )


def _joined(one: Array, other: Array, correlation: Array) -> Array:
    """Length of a difference whose two parts have these lengths."""
    found: Array = np.sqrt(np.maximum(one**2 - 2 * correlation * one * other + other**2, 0.0))
    return found


def _ratio(low: Estimated, high: Estimated, correlation: Array, z: float) -> Estimated:
    below, above = high.value - high.lower, high.upper - high.value
    widest = np.maximum(below, above) / z
    strength = np.minimum(np.minimum(low.strength, high.strength), _in_errors(high.value, widest))
    enough = strength >= ENOUGH
    under = np.where(enough, high.value, 1.0)
    value = low.value / under

    def root(over_length: Array, under_length: Array, sign: int) -> Array:
        # opens upwards: R_1 is at least ENOUGH > z of (length/z) above 0
        a = np.where(enough, under**2 - under_length**2, 1.0)
        b = low.value * under - correlation * over_length * under_length
        c = low.value**2 - over_length**2
        found: Array = (b + sign * np.sqrt(np.maximum(b**2 - a * c, 0.0))) / a
        return found

    return Estimated(
        value,
        _joined(low.standard_error, value * high.standard_error, correlation) / np.abs(under),
        root(low.value - low.lower, above, -1),
        root(low.upper - low.value, below, 1),
        strength,
    )


def _rate(moments: Moments, name: str, group: int, z: float) -> Estimated:
    numerator, denominator = RATES[name]
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
    variance = _product(second, influence, influence) / moments.n

    def squared(one: Array, other: Array, means: Array) -> Array:
        return z**2 * (_product(second, one, other) - means) / moments.n

    a = np.where(enough, weight**2 - squared(denominator, denominator, weight**2), 1.0)
    b = top * weight - squared(numerator, denominator, top * weight)
    c = top**2 - squared(numerator, numerator, top**2)
    half = np.sqrt(np.maximum(b**2 - a * c, 0.0)) / a
    shift, wider = edgeworth(moments, group, influence, variance, z)
    least, lower, upper = wilson(rate, moments.n * np.maximum(weight, 0.0), z)
    return Estimated(
        rate,
        np.sqrt(np.maximum(variance, least)),
        np.minimum(rate - (rate - b / a + half) * wider + shift, lower),
        np.maximum(rate + (b / a + half - rate) * wider + shift, upper),
        strength,
    )


def _covariance(moments: Moments, name: str, low: Estimated, high: Estimated) -> Array:
    """Covariance of the unprivileged and the privileged group's rate."""
    numerator, denominator = RATES[name]
    influences = []
    for group, found in ((0, low), (1, high)):
        weight, _ = _mean(moments, group, denominator)
        safe = np.where(found.strength >= ENOUGH, weight, 1.0)
        influences.append((numerator - found.value[..., None] * denominator) / safe[..., None])
    return _product(moments.second[..., :4, 4:], *influences) / moments.n


def _mean(moments: Moments, group: int, combination: Array) -> tuple[Array, Array]:
    """Mean of a combination of a group's terms, and its standard error."""
    own = slice(4 * group, 4 * group + 4)
    mean: Array = moments.mean[..., own] @ combination
    square = _product(moments.second[..., own, own], combination, combination)
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0) / moments.n)


def _product(second: Array, one: Array, other: Array) -> Array:
    found: Array = np.einsum("...ij,...i,...j->...", second, one, other)
    return found


def _in_errors(value: Array, error: Array) -> Array:
    """Return value/error; infinite, with the sign of the value, where the error is 0."""
    known = error > 0
    certain = np.where(value > 0, np.inf, -np.inf)
    found: Array = np.where(known, value / np.where(known, error, 1.0), certain)
    return found


def _quantile(confidence: float) -> float:
    if confidence > LARGEST_CONFIDENCE:
        raise InvalidParameter(
            f"confidence is {confidence}; a fairness audit takes one in (0, {LARGEST_CONFIDENCE}]: "
            "use 0.95",
            field="confidence",
        )
    return normal_quantile(confidence)
