"""The distance of an estimate from a value, where its variance depends on the value.

The information falls as a slope grows away from 0, so the standard error at the estimate is large
where the estimate has erred far, and Wald's test that divides by it refuses too rarely (Hauck and
Donner, JASA 1977). With the standard error at the value that is tested, as a score test has it, it
refuses too often. The mean of both distances is that on the scale on which the variance is the same
everywhere, by the trapezoid rule. All parameters move to the value along the least favourable line,
a row of the inverse information. The variance is known at the estimate and at `REACH` standard
errors to its sides; it is taken as a parabola between, and level beyond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.fitting import covariance_of
from hushpoll_analysis.regression.likelihood import Likelihood

Array = npt.NDArray[np.float64]

REACH: Final = 2.5
"""Standard errors from an estimate at which its variance is computed, too."""
_MOST: Final = 4.0
"""By how much a variance is taken to change: so far no value is nearer than one between."""
_HALVINGS: Final = 50
"""Halvings of the place where an end is looked for."""


@dataclass(frozen=True)
class Variance:
    """An estimate, and its variance if a parameter had another value."""

    estimate: float
    error: float
    """The standard error there, positive."""
    below: float = 1.0
    """Variance at `REACH` standard errors below, and `above` above, to that at the estimate."""
    above: float = 1.0

    def distance(self, value: float = 0.0) -> float:
        """Return by how many standard errors the estimate is above a value."""
        return -self._steps_of((value - self.estimate) / self.error)

    def end(self, quantile: float, side: int) -> float:
        """Return the value at a distance of a quantile, below (-1) or above (1) the estimate."""
        low, high = quantile / 2, quantile * 2
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            inside = abs(self._steps_of(side * middle)) < quantile
            low, high = (middle, high) if inside else (low, middle)
        return self.estimate + side * high * self.error

    @property
    def _parabola(self) -> tuple[float, float]:
        return (
            (self.above - self.below) / (2 * REACH),
            (self.above + self.below - 2) / (2 * REACH**2),
        )

    def _steps_of(self, plain: float) -> float:
        """Return a distance, given that by the error at the estimate."""
        slope, bend = self._parabola
        near = min(max(plain, -REACH), REACH)
        return float(plain * (1 + (1 + slope * near + bend * near * near) ** -0.5) / 2)


def changes(likelihood: Likelihood, parameters: Array, inverse: Array) -> Array:
    """Return f64[outcome_size, 2]: by how much the variances change to both sides of estimates."""
    found = np.ones((likelihood.outcome_size, 2))
    for place, ends in enumerate(found):
        error = np.sqrt(inverse[place, place])
        if not error > 0:
            continue
        for number, side in enumerate((-1, 1)):
            moved = parameters + side * REACH * inverse[place] / error
            known = covariance_of(likelihood.at(moved, complete=False).observed)
            ends[number] = _MOST if known is None else known[place, place] / inverse[place, place]
    return np.clip(found, 1 / _MOST, _MOST)
