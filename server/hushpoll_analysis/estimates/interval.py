"""An estimate with its confidence set, which may have no bound, and arrays of such estimates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.metrics import difference_limits
from hushpoll_shared.queries.parts import Bound, BoundedEstimate
from hushpoll_shared.spelling.json_values import JsonMembers

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its confidence set.

    Attributes
    ----------
    value, standard_error : float
        Not projected, so a rate may fall outside [0, 1]; nan where the denominator may be 0.
    lower, upper : float
        Infinite where the set has no bound.
    """

    value: float
    standard_error: float
    lower: float
    upper: float

    @property
    def bound(self) -> Bound:
        """What the set lacks, in words: ``bounded``, ``no upper bound`` or ``no bound``."""
        if math.isfinite(self.upper):
            return "bounded" if math.isfinite(self.lower) else "no lower bound"
        return "no upper bound" if math.isfinite(self.lower) else "no bound"

    def to_dict(self) -> JsonMembers:
        """Return the estimate as JSON: null for what there is not, and `bound` says why."""
        return {**self.numbers(), "bound": self.bound}

    def numbers(self) -> dict[str, float | None]:
        """Return the four numbers by name; None for what there is not."""
        names = ("value", "standard_error", "lower", "upper")
        return {name: _number(getattr(self, name)) for name in names}

    def estimate(self) -> BoundedEstimate:
        """Return the estimate as a row of a result."""
        return BoundedEstimate(**self.numbers(), bound=self.bound)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Sets:
    """Estimates with confidence sets, unbiased and not projected."""

    value: Array
    """f64[...], as are the others; nan where a set has no bound."""
    standard_error: Array
    lower: Array
    """Infinite where there is no bound."""
    upper: Array

    def interval(self, *place: int) -> Interval:
        """Return one of them; of a single set the one."""
        return Interval(*(float(part[place]) for part in self._parts()))

    def known(self, bounded: Mask) -> Sets:
        """Return these sets where they are bounded; elsewhere they say nothing."""
        nothing = (np.nan, np.nan, -np.inf, np.inf)
        parts = zip(self._parts(), nothing, strict=True)
        return Sets(*(np.where(bounded, part, none) for part, none in parts))

    def scaled(self, factor: float) -> Sets:
        """Return the sets of the estimates times a number above 0."""
        return Sets(*(part * factor for part in self._parts()))

    def row(self, place: int) -> Sets:
        """Return the sets of one row, f64[columns]."""
        return Sets(*(part[place] for part in self._parts()))

    def rows(self, places: list[int]) -> Sets:
        """Return some rows, in their order."""
        return Sets(*(part[places] for part in self._parts()))

    def column(self, place: int) -> Sets:
        """Return the sets of one column, f64[rows, 1]."""
        return Sets(*(part[:, place : place + 1] for part in self._parts()))

    def where(self, possible: Mask) -> Sets:
        """Return these sets where there can be anything but 0, and the number 0 elsewhere."""
        return Sets(*(np.where(possible, part, 0.0) for part in self._parts()))

    def mean_width(self) -> float:
        """Return the mean width; infinite where one has no bound."""
        return float((self.upper - self.lower).mean())

    def share_without_zero(self) -> float:
        """Return the share of the sets that leave out 0."""
        return float(((self.lower > 0) | (self.upper < 0)).mean())

    def minus(self, other: Sets, correlation: Array | float, itself: Mask | bool = False) -> Sets:
        """Return the differences to other sets; they have no bound where either set has none.

        The distances of both estimates from their limits are combined, with their correlation
        (Newcombe, Statistics in Medicine 17, 1998, method 10, and Donner and Zou, Statistical
        Methods in Medical Research 21, 2012).

        Where both are the same (`itself`) their difference is exactly 0.
        """
        known = np.isfinite(self.value) & np.isfinite(other.value)
        first, second = (
            Sets(*(np.where(known, part, 0.0) for part in each._parts())) for each in (self, other)
        )
        lower, upper = difference_limits(
            first.value, (first.lower, first.upper), second.value, (second.lower, second.upper),
            correlation,
        )  # fmt: skip
        own, theirs = first.standard_error, second.standard_error
        square = own**2 - 2 * correlation * own * theirs + theirs**2
        error = np.sqrt(np.maximum(square, 0.0))
        apart = Sets(first.value - second.value, error, lower, upper).known(known)
        return apart.where(~np.asarray(itself))

    def _parts(self) -> tuple[Array, Array, Array, Array]:
        return self.value, self.standard_error, self.lower, self.upper


def correlation_of(covariance: Array, scale: Array) -> Array:
    """Return a covariance over the product of both deviations, in [-1, 1]; 0 where that is 0."""
    known = scale > 0
    correlation = np.where(known, covariance, 0.0) / np.where(known, scale, 1.0)
    return np.asarray(np.clip(correlation, -1.0, 1.0))
