"""Arrays of estimates with confidence sets, and the differences of two such arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.metrics import difference_limits

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sets:
    """Estimates with confidence sets; nan and infinite where a set has no bound."""

    value: Array
    """f64[rows, columns], as are the others."""
    standard_error: Array
    lower: Array
    upper: Array

    def interval(self, row: int, column: int) -> Interval:
        """Return one of them."""
        parts = (self.value, self.standard_error, self.lower, self.upper)
        return Interval(*(float(part[row, column]) for part in parts))

    def row(self, place: int) -> Sets:
        """Return the sets of one row, f64[columns]."""
        return Sets(*(part[place] for part in self._parts()))

    def rows(self, places: list[int]) -> Sets:
        """Return some rows, in their order."""
        return Sets(*(part[places] for part in self._parts()))

    def column(self, place: int) -> Sets:
        """Return the sets of one column, f64[rows, 1]."""
        return Sets(*(part[:, place : place + 1] for part in self._parts()))

    def where(self, possible: npt.NDArray[np.bool_]) -> Sets:
        """Return these sets where there can be anything but 0, and the number 0 elsewhere."""
        return Sets(*(np.where(possible, part, 0.0) for part in self._parts()))

    def mean_width(self) -> float:
        """Return the mean width; infinite where one has no bound."""
        return float((self.upper - self.lower).mean())

    def share_without_zero(self) -> float:
        """Return the share of the sets that leave out 0."""
        return float(((self.lower > 0) | (self.upper < 0)).mean())

    def minus(
        self, other: Sets, correlation: Array | float, itself: npt.NDArray[np.bool_] | bool = False
    ) -> Sets:
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
        parts = (
            (first.value - second.value, np.nan),
            (np.sqrt(np.maximum(square, 0.0)), np.nan),
            (lower, -np.inf),
            (upper, np.inf),
        )
        return Sets(*(np.where(itself, 0.0, np.where(known, part, none)) for part, none in parts))

    def _parts(self) -> tuple[Array, Array, Array, Array]:
        return self.value, self.standard_error, self.lower, self.upper
