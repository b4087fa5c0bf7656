"""Numbers of a fairness report: with intervals, or with the reason why there are none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hushpoll_analysis.auditing.report import Withheld


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval; `upper` is infinite where the data bounds nothing."""

    lower: float
    upper: float

    def to_dict(self) -> dict[str, Any]:
        """Return the limits as JSON, which has no infinity: null where there is no bound."""
        return {"lower": self.lower, "upper": self.upper if math.isfinite(self.upper) else None}


@dataclass(frozen=True, slots=True)
class GroupEstimate:
    """A rate of a group, or a comparison of two groups.

    Attributes
    ----------
    value, standard_error : float
        The delta method's error.
    closed_form : Bounds
        See :mod:`hushpoll_analysis.metrics.intervals`.
    bootstrap : Bounds or Withheld
        See :mod:`hushpoll_training.evaluation.fairness.bootstrap`.
    """

    value: float
    standard_error: float
    closed_form: Bounds
    bootstrap: Bounds | Withheld

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON."""
        return {
            "value": self.value,
            "standard_error": self.standard_error,
            "closed_form": self.closed_form.to_dict(),
            "bootstrap": self.bootstrap.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """How far apart the groups are that differ most.

    Attributes
    ----------
    value : float
        max - min or min / max.
    limits : Bounds
        Simultaneous over all pairs of groups, hence conservative.
    lowest, highest : str
        The two groups.
    """

    value: float
    limits: Bounds
    lowest: str
    highest: str

    def to_dict(self) -> dict[str, Any]:
        """Return the spread as JSON."""
        return {
            "value": self.value,
            "closed_form": self.limits.to_dict(),
            "lowest": self.lowest,
            "highest": self.highest,
        }


UNVARIED = Withheld(
    "undefined",
    "every resample gives the same value or none, and what never happened cannot be resampled; the "
    "closed form stands",
)
ONE_CONSTANT = Withheld(
    "undefined",
    "one of the groups has no such row, or only such rows, so that none of its resamples differs "
    "from another and the interval would know of the other group alone; the closed form stands",
)
NOT_REGULAR = Withheld(
    "undefined",
    "no bootstrap covers the largest of several differences where groups are alike; the closed "
    "form stands",
)
NOT_RESAMPLED = Withheld("undefined", "no resamples were asked for")
