"""The estimators of a distribution by name, what each is good for, and why most have no interval.

Both sides read this table: the command line for its options and its sentences, the analysis for the
names that it computes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class EstimatorTerms:
    """What is said of one estimator."""

    name: str
    summary: str
    """What its estimates are, in one sentence."""
    no_interval: str | None = None
    """The sentence that says that there is no interval and why; None if there is one."""
    needs_records: bool = False
    """Whether the kept counts are not enough."""


UNBIASED: Final = "unbiased"

CONFIDENCES: Final = (0.01, 0.999999)
"""Smallest and largest confidence of an interval that may be asked for."""

_ASK_UNBIASED: Final = "ask for the estimator unbiased to have one"

_TERMS: Final = (
    EstimatorTerms(
        UNBIASED,
        "Right on average, with an interval; a rare answer's estimate may lie below 0.",
    ),
    EstimatorTerms(
        "projected",
        "The nearest shares to the unbiased estimates that are not negative and sum to 1.",
        "Projected estimates have no interval: no estimate can fall below 0, so rare answers are "
        f"set to exactly 0 or kept too high; {_ASK_UNBIASED}.",
    ),
    EstimatorTerms(
        "likelihood",
        "The shares under which the records are likeliest.",
        "Maximum likelihood estimates have no interval: many of them are 0 where an answer is "
        f"rare, and no known interval covers there; {_ASK_UNBIASED}.",
        needs_records=True,
    ),
    EstimatorTerms(
        "shrunk",
        "Mostly nearest to the whole distribution: noise is shrunk, by as much as the data "
        "call for.",
        "Shrunk estimates have no interval: each is drawn towards the other answers of its "
        f"question, by an unknown amount; {_ASK_UNBIASED}.",
    ),
)

ESTIMATOR_TERMS: Final[Mapping[str, EstimatorTerms]] = MappingProxyType(
    {terms.name: terms for terms in _TERMS}
)
"""By name; the first is the default."""
