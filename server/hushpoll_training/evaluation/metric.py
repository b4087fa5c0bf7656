"""One measured number, or the reason why there is none.

A group without positives has no true positive rate. A zero or a nan in its place would flow into
means and tables unnoticed, so an undefined value carries its reason and refuses to be a number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Metric:
    """A defined value, or an undefined one with its reason; never a silent 0 or nan.

    Attributes
    ----------
    value : float or None
        The finite value, or None where the metric is undefined.
    reason : str
        Why it is undefined, in words; empty where it is defined.

    Raises
    ------
    ValueError
        If both or neither of value and reason are given.
    """

    value: float | None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError(
                f"a metric has a value or a reason, never both or neither: {self.value!r}, "
                f"{self.reason!r}"
            )

    @classmethod
    def ratio(cls, numerator: float, denominator: float, reason: str) -> Metric:
        """`numerator / denominator`, undefined for `reason` where the denominator is 0."""
        if denominator == 0:
            return cls(None, reason)
        return cls(float(numerator) / float(denominator))

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def number(self) -> float:
        """Return the value.

        Raises
        ------
        ValueError
            If the metric is undefined; the message is its reason.
        """
        if self.value is None:
            raise ValueError(f"undefined: {self.reason}")
        return self.value

    def minus(self, other: Metric) -> Metric:
        """Difference of two metrics; undefined, for the first reason, if either is."""
        if self.value is None:
            return self
        if other.value is None:
            return other
        return Metric(self.value - other.value)

    def over(self, other: Metric, reason: str) -> Metric:
        """Ratio of two metrics; undefined if either is, or for `reason` where `other` is 0."""
        if self.value is None:
            return self
        if other.value is None:
            return other
        return Metric.ratio(self.value, other.value, reason)

    def to_json(self) -> Any:
        """Return the number, or ``{"undefined": reason}``."""
        return {"undefined": self.reason} if self.value is None else self.value

    def __str__(self) -> str:
        return "undefined" if self.value is None else f"{self.value:.4f}"
