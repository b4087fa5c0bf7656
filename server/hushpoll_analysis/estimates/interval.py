"""An estimate with its confidence set, which may have no bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushpoll_shared.queries.parts import Bound, BoundedEstimate
from hushpoll_shared.spelling.json_values import JsonMembers


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
