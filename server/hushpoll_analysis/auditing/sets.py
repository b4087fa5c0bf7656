"""Confidence sets of the fairness metrics: all values that a test does not reject.

For a pair of rates (r_0, r_1) let t_a be the studentized N_a - r_a W_a of group a, corrected as in
:mod:`hushpoll_analysis.auditing.group_rate`, and rho their correlation at that pair. The pairs with

    (t_0^2 - 2 rho t_0 t_1 + t_1^2)/(1 - rho^2) <= z^2

are a region of the plane, and a value d of R_1 - R_0 is in the set if the line r_1 - r_0 = d meets
the region: the test of R_1 - R_0 = d that leaves the nuisance rate free (Fieller's set for two
ratios; in econometrics the Anderson-Rubin test of a subset, whose size is not above the nominal one
where the nuisance rate is weakly identified: Guggenberger, Kleibergen, Mavroeidis and Chen,
Econometrica 80, 2012). DI = R_0/R_1 likewise takes the rays that meet the region. The two ends are
the extremes of d over the region's boundary, an ellipse in (t_0, t_1), which one angle runs along.

The region is bounded if and only if both W_a are more than z standard errors above 0, and DI has an
upper bound if moreover no pair of the region has r_1 = 0. Otherwise the set is unbounded, which is
an answer: these records cannot tell. Such sets count as answers wherever coverage is measured. A
rule that leaves out surveys by their estimates of W keeps the lucky ones instead, and its
intervals do not cover: docs/explanation/fairness-without-the-attribute.md.

The set of the largest of several differences follows from the sets of each, at a level at which
they hold at once (:mod:`hushpoll_analysis.metrics`).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.group_rate import GroupRate, product, quantile
from hushpoll_analysis.auditing.moments import RATE_TERMS, Moments
from hushpoll_analysis.estimates.interval import Sets, correlation_of
from hushpoll_analysis.metrics import largest_limits, level_of_each
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.group_metrics import LARGEST_CONFIDENCE, METRICS

ANGLES = 12
"""Around the boundary, where an extreme is looked for."""

NEAR = 7
"""Between the neighbours of the best of them; a parabola through the best of these ends it."""

_HALVINGS = 10
"""After so many the logarithm of a p-value is known to 1 %."""

_ROUNDS = 3
"""How often the correlation, which depends on the pair, is computed again."""

Array = npt.NDArray[np.float64]


def metric_set(moments: Moments, name: str, *, confidence: float) -> Sets:
    """Return a metric with its set; the error is that of the difference which is the largest."""
    parts = [_set_of(region) for region in _regions(moments, name, confidence)]
    if not METRICS[name].is_largest:
        return parts[0]
    value = np.stack([part.value for part in parts])
    error = np.stack([part.standard_error for part in parts])
    # not a number where one of the differences is none
    largest = np.argmax(np.abs(np.nan_to_num(value)), axis=0)[None]
    lower, upper = largest_limits([(part.lower, part.upper) for part in parts])
    known = ~np.isnan(value).any(axis=0)
    return Sets(
        np.where(known, np.abs(np.take_along_axis(value, largest, axis=0)[0]), np.nan),
        np.where(known, np.take_along_axis(error, largest, axis=0)[0], np.nan),
        lower,
        upper,
    )


def found_disparate(moments: Moments, name: str, *, confidence: float) -> npt.NDArray[np.bool_]:
    """Return what :func:`disparate` says of :func:`metric_set`, bool[...], from one end of it."""
    metric, decided, bounded = METRICS[name], [], []
    for region in _regions(moments, name, confidence):
        above = region.value > metric.fair
        end = region.largest(np.where(above, -1, 1))
        out = np.where(above, -end > metric.fair, end < metric.fair)
        if metric.is_ratio:
            out &= region.above_zero()
        decided.append(out & np.isfinite(end))
        bounded.append(region.bounded)
    # one difference that leaves out 0 is enough, but the set is bounded only if all of them are
    return np.asarray(np.any(decided, axis=0) & np.all(bounded, axis=0))


def p_value(moments: Moments, name: str) -> float:
    """Return the smallest level at which the set of a metric leaves out the fair value.

    It is at least 1 - `LARGEST_CONFIDENCE`, since the corrections of sets do not hold further out;
    as a p-value it errs on the large side there. Of several surveys, the first is meant.
    """
    least = 1 - LARGEST_CONFIDENCE

    def found(alpha: float) -> bool:
        return bool(found_disparate(moments, name, confidence=1 - alpha))

    if found(least):
        return least
    low, high = math.log(least), 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if found(min(math.exp(middle), 1 - least)):
            high = middle
        else:
            low = middle
    return math.exp(high)


def conclusive(estimated: Sets, name: str) -> npt.NDArray[np.bool_]:
    """Return whether a set is bounded, and not all that the metric can be: "cannot conclude"."""
    least, most = METRICS[name].range
    bounded = np.isfinite(estimated.lower) & np.isfinite(estimated.upper)
    return np.asarray(bounded & ~((estimated.lower <= least) & (estimated.upper >= most)))


def disparate(estimated: Sets, name: str) -> npt.NDArray[np.bool_]:
    """Return whether a set is conclusive and leaves out the fair value, bool[...]."""
    fair = METRICS[name].fair
    out = (estimated.lower > fair) | (estimated.upper < fair)
    return np.asarray(conclusive(estimated, name) & out)


def _regions(moments: Moments, name: str, confidence: float) -> list[_Region]:
    """Return the region of each rate of a metric, at a level at which they hold at once."""
    metric, z = METRICS[name], quantile(confidence)
    if len(metric.rates) > 1:
        z = normal_quantile(level_of_each(metric, confidence))
    return [_Region(moments, rate.name, z, ratio=metric.is_ratio) for rate in metric.rates]


def _set_of(region: _Region) -> Sets:
    """Return the ratio R_0/R_1 or the difference R_1 - R_0 of a region's rates."""
    lower, upper = -region.largest(-1), region.largest(1)
    value, error, known = region.value, region.standard_error, region.bounded
    if region.ratio:
        # a ratio of two rates is at least 0: where there is no upper bound, the set is cut there
        cut = np.where(np.isfinite(lower), np.maximum(lower, 0.0), 0.0)
        lower = np.where(np.isfinite(upper), lower, cut)
        known = known & region.divisible
    return Sets(
        np.where(known, value, np.nan),
        np.where(known, error, np.nan),
        np.where(region.bounded, lower, 0.0 if region.ratio else -np.inf),
        np.where(region.bounded, upper, np.inf),
    )


class _Region:
    """The pairs of values of a rate that the records allow, and their ratio or difference."""

    def __init__(self, moments: Moments, rate: str, z: float, *, ratio: bool) -> None:
        numerator, denominator = RATE_TERMS[rate]
        low, high = (GroupRate.of(moments, rate, group, z) for group in (0, 1))
        across = moments.second[..., :4, 4:]
        self._low, self._high, self.ratio = low, high, ratio
        self._shared = {
            (i, j): (
                product(across, (numerator, denominator)[i], (numerator, denominator)[j])
                - low.means[i] * high.means[j]
            )[..., None]
            / moments.n
            for i in (0, 1)
            for j in (0, 1)
        }
        self._estimated = self._correlation(low.value[..., None], high.value[..., None])
        self.bounded = low.bounded & high.bounded
        self.divisible = high.value > 0
        # the derivatives of the metric by the two rates, times their standard errors
        below, above = low.standard_error, high.standard_error
        if self.ratio:
            under = np.where(self.divisible, high.value, 1.0)
            self.value = low.value / under
            self._slopes = below / under, -self.value * above / under
        else:
            self.value = high.value - low.value
            self._slopes = -below, above

    @property
    def standard_error(self) -> Array:
        """Return that of the metric, by the delta method, f64[...]."""
        low_slope, high_slope = self._slopes
        square = low_slope**2 + 2 * self._estimated[..., 0] * low_slope * high_slope + high_slope**2
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    def _correlation(self, r0: Array, r1: Array) -> Array:
        part = self._shared
        covariance = part[0, 0] - r1 * part[0, 1] - r0 * part[1, 0] + r0 * r1 * part[1, 1]
        return correlation_of(covariance, self._low.deviation(r0) * self._high.deviation(r1))

    def _metric(self, angle: Array) -> Array:
        """Return the metric at angles f64[..., m] of the boundary; nan where it is not defined."""
        z = self._low.z
        along, beside = np.cos(angle), np.sin(angle)
        r0 = self._low.at(z * along, in_difference=True)
        rho = self._estimated
        r1 = r0
        for _ in range(_ROUNDS):
            r1 = self._high.at(z * (rho * along + np.sqrt(1 - rho**2) * beside), in_difference=True)
            rho = self._correlation(r0, r1)
        if not self.ratio:
            return r1 - r0
        return np.where(r1 > 0, r0 / np.where(r1 > 0, r1, 1.0), np.nan)

    def largest(self, sign: int | npt.NDArray[np.int64]) -> Array:
        """Return the largest metric times a sign, f64[...]; -infinite if no ratio is defined."""
        low_slope, high_slope = self._slopes
        correlation = self._estimated[..., 0]
        # where the extreme is if both rates are normal
        start = np.arctan2(
            sign * np.sqrt(1 - correlation**2) * high_slope,
            sign * (low_slope + correlation * high_slope),
        )
        step = 2 * np.pi / ANGLES
        angle = start[..., None] + step * np.arange(ANGLES)
        signs = np.asarray(sign)[..., None]
        value = self._signed(angle, signs)
        best = np.take_along_axis(angle, value.argmax(axis=-1)[..., None], axis=-1)
        near = best + step * np.linspace(-1, 1, NEAR)
        close = self._signed(near, signs)
        # the top of the parabola through the highest point and its neighbours
        at = np.clip(close.argmax(axis=-1), 1, NEAR - 2)[..., None]
        left, top, right = (np.take_along_axis(close, at + by, axis=-1) for by in (-1, 0, 1))
        with np.errstate(invalid="ignore"):
            bend = left - 2 * top + right
            shift = np.where(bend < 0, (left - right) / np.where(bend < 0, 2 * bend, 1.0), 0.0)
        shift = np.nan_to_num(np.clip(shift, -1, 1), nan=0.0)
        last = np.take_along_axis(near, at, axis=-1) + shift * 2 * step / (NEAR - 1)
        tried = (value, close, self._signed(last, signs))
        return np.asarray(np.maximum.reduce([values.max(axis=-1) for values in tried]))

    def _signed(self, angle: Array, sign: npt.NDArray[np.int64]) -> Array:
        value = sign * self._metric(angle)
        if not self.ratio:
            return value
        # next to an r_1 of 0 a ratio is as large as can be, and none of them is the smallest
        return np.where(np.isnan(value), np.where(sign > 0, np.inf, -np.inf), value)

    def above_zero(self) -> npt.NDArray[np.bool_]:
        """Return whether R_1 is above 0 all over the region, so that the ratio has a bound."""
        lowest = self._high.at(np.array([-self._low.z]), in_difference=True)[..., 0]
        return np.asarray(lowest > 0)
