"""What charts are drawn from: rows of JSON answers, with the members that charts read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypedDict

Specification: TypeAlias = Mapping[str, object]
"""A Vega-Lite specification, which the drawing process and downloads take as it is."""


class Share(TypedDict):
    """The share of a category; without ends where the estimator has no interval."""

    category: str
    frequency: float
    lower: float | None
    upper: float | None


class Unknown(TypedDict):
    """A category whose share the reports cannot tell."""

    category: str
    frequency: None
    lower: None
    upper: None


class BoundedShare(TypedDict):
    """A share, or a difference of two, whose interval has both ends."""

    category: str
    frequency: float
    lower: float
    upper: float


class Cell(TypedDict):
    """The share of two categories; None where the reports cannot tell it."""

    a: str
    b: str
    frequency: float | None
    lower: float | None
    upper: float | None


class BoundedCell(TypedDict):
    """The share of two categories that the reports can tell."""

    a: str
    b: str
    frequency: float
    lower: float
    upper: float


class Difference(TypedDict):
    """A difference of two shares; None where there is none, or no bound."""

    label: str
    value: float | None
    lower: float | None
    upper: float | None


class Metric(TypedDict):
    """A group metric with its set, and what is concluded of it."""

    label: str
    value: float | None
    lower: float | None
    upper: float | None
    conclusion: str


class CurvePoint(TypedDict):
    """A metric at one epsilon; without a mean where there is no run, without ends for one run."""

    line: str
    epsilon: float
    mean: float | None
    lower: float | None
    upper: float | None


class CurveMean(TypedDict):
    """A point of a curve that has a mean."""

    line: str
    epsilon: float
    mean: float
    lower: float | None
    upper: float | None


class RefusedDay(TypedDict):
    """Reports that were refused on a day, YYYY-MM-DD."""

    day: str
    reports: int


class ReleasedDay(TypedDict):
    """Reports that were released on a day, YYYY-MM-DD, and by the end of it."""

    day: str
    added: int
    reports: int
