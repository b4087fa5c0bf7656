"""One group's rate, a ratio of two estimated means, and the values of it that records allow.

R = N/W is a ratio of means, so its influence on a row is (numerator - R denominator)/W. The values
r that are compatible with N - r W = 0 are Fieller's set (JRSS B 16, 1954). It is an interval where
W is more than z of its standard errors above 0; below, it has no bound on at least one side, and
says truly that these records tell nothing of the rate. So there is no need, and no way, to decide
from W whether there is enough data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.limits import edgeworth, known_limits
from hushpoll_analysis.auditing.moments import RATE_TERMS, Moments

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class GroupRate:
    """A rate of one group, with all that a confidence set of it needs.

    Attributes
    ----------
    bounded : bool[...]
        Whether Fieller's set at the level z is an interval. What follows has no meaning elsewhere,
        but is finite.
    value, standard_error : f64[...]
        N/W, not clipped, and the delta method's error, which is not below Wilson's.
    influence : f64[..., 4]
        Coefficients of R's influence on the group's terms.
    means, covariances : tuple of f64[...]
        N and W; Var(N), Cov(N, W) and Var(W), over n.
    size : f64[...]
        People that it is a rate of, as estimated; at least 0.
    bend, alone, of_difference : f64[...]
        Edgeworth's shift over (2z^2+1)/6, and the two factors.
    z : float
        The largest level that :meth:`at` is asked for.
    """

    bounded: npt.NDArray[np.bool_]
    value: Array
    standard_error: Array
    influence: Array
    means: tuple[Array, Array]
    covariances: tuple[Array, Array, Array]
    size: Array
    bend: Array
    alone: Array
    of_difference: Array
    z: float

    @classmethod
    def of(cls, moments: Moments, name: str, group: int, z: float) -> Self:
        """Return a rate of `RATES` in group 0 or 1 from the moments of the rows."""
        numerator, denominator = RATE_TERMS[name]
        own = slice(4 * group, 4 * group + 4)
        second, n = moments.second[..., own, own], moments.n
        top, weight = moments.mean[..., own] @ numerator, moments.mean[..., own] @ denominator
        covariances = (
            (product(second, numerator, numerator) - top**2) / n,
            (product(second, numerator, denominator) - top * weight) / n,
            np.maximum(product(second, denominator, denominator) - weight**2, 0.0) / n,
        )
        bounded = (weight > 0) & (weight**2 > (1 + _ROUNDING) * z**2 * covariances[2])
        safe = np.where(bounded, weight, 1.0)
        value = np.where(bounded, top, 0.0) / safe
        influence = (numerator - value[..., None] * denominator) / safe[..., None]
        variance = np.maximum(product(second, influence, influence), 0.0) / n
        size = n * np.maximum(weight, 0.0)
        least, _, _ = known_limits(value, size, z)
        shift, alone, of_difference = edgeworth(moments, group, influence, variance, z)
        return cls(
            bounded=bounded,
            value=value,
            standard_error=np.sqrt(np.maximum(variance, least)),
            influence=influence,
            means=(top, weight),
            covariances=covariances,
            size=size,
            bend=shift * 6 / (2 * z**2 + 1),
            alone=alone,
            of_difference=of_difference,
            z=z,
        )

    def at(self, level: Array, *, in_difference: bool) -> Array:
        """Return the r at which the studentized N - r W is -level, f64[..., m], corrected.

        It is a root of (N - r W)^2 = level^2 Var(N - r W), moved for skewness and kurtosis, and
        never inside the one that Wilson's statistic has if everybody's group is known.

        Parameters
        ----------
        level : f64[..., m]
            In [-z, z]; negative below the estimate.
        in_difference : bool
            Which of the factors is used.
        """
        (top, weight), value = self.means, self.value[..., None]
        over, both, under = (part[..., None] for part in self.covariances)
        safe = np.where(self.bounded, weight, 1.0)[..., None]
        square = level**2
        a = np.where(self.bounded[..., None], safe**2 - square * under, 1.0)
        b = top[..., None] * safe - square * both
        c = top[..., None] ** 2 - square * over
        root = (b + np.sign(level) * np.sqrt(np.maximum(b**2 - a * c, 0.0))) / a
        factor = self.of_difference if in_difference else self.alone
        bend = self.bend[..., None] * (2 * square + 1) / 6
        root = value + (root - value) * factor[..., None] + bend
        _, lower, upper = known_limits(value, self.size[..., None], np.abs(level))
        found: Array = np.where(level > 0, np.maximum(root, upper), np.minimum(root, lower))
        return found

    def deviation(self, at: Array) -> Array:
        """Return the standard error of N - r W at r, f64[..., m]."""
        over, both, under = (part[..., None] for part in self.covariances)
        found: Array = np.sqrt(np.maximum(over - 2 * at * both + at**2 * under, 0.0))
        return found


def product(second: Array, one: Array, other: Array) -> Array:
    """Return the mean product of two combinations of terms, from that of each pair of terms."""
    found: Array = np.einsum("...ij,...i,...j->...", second, one, other)
    return found
