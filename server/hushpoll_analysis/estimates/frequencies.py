"""Frequencies of an attribute's categories: unbiased value, standard error, interval.

The truth is the population that respondents are drawn from. An attribute in clear has Wilson's
interval for a proportion, a perturbed one that of
:func:`hushpoll_protocols.estimation.frequencies.estimate`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.poisoning.influence import Influence, influence
from hushpoll_analysis.records.counts import Counts, count
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_protocols import format_epsilon
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import estimate, estimate_proportion
from hushpoll_shared.survey.attributes import PublishedAttribute
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class AttributeEstimate:
    """The estimated distribution of one attribute.

    Attributes
    ----------
    name, role : str
        As in the manifest.
    protocol, epsilon : str or None
        How it was perturbed; None in clear. Epsilon is what a respondent was charged.
    categories : tuple of str
        In code order, the missing one last.
    n : int
        Records behind it.
    confidence : float
        Of the intervals.
    frequency, standard_error, lower, upper : f64[k]
        Unbiased and not projected: a frequency may fall outside [0, 1]. They sum to 1.
    poisoning : Influence
        What one fake report can count as; no interval knows of fakes.
    """

    name: str
    role: str
    protocol: str | None
    epsilon: str | None
    categories: tuple[str, ...]
    n: int
    confidence: float
    frequency: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    poisoning: Influence

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as the API and ``--json`` give it."""
        columns = (
            self.categories,
            self.frequency.tolist(),
            self.standard_error.tolist(),
            self.lower.tolist(),
            self.upper.tolist(),
        )
        names = ("category", "frequency", "standard_error", "lower", "upper")
        return {
            "name": self.name,
            "role": self.role,
            "protocol": self.protocol,
            "epsilon": self.epsilon,
            "categories": [
                dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)
            ],
            "poisoning": self.poisoning.to_dict(),
        }


def frequencies(
    records: Records | RecordStream, *, confidence: float = 0.95
) -> list[AttributeEstimate]:
    """Estimate every attribute of a survey from its records.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    confidence : float
        In (0, 1).

    Raises
    ------
    InvalidParameter
        If there are no records.
    """
    return frequencies_from_counts(records.published, count(records), confidence=confidence)


def frequencies_from_counts(
    published: Published, counts: Counts, *, confidence: float = 0.95
) -> list[AttributeEstimate]:
    """Estimate every attribute from support counts; see :func:`frequencies`."""
    require_rows(counts.n)
    return [
        _estimate(attribute, counts.support[attribute.name], counts.n, confidence)
        for attribute in published.attributes
    ]


def require_rows(n: int) -> None:
    """Refuse to estimate from nothing.

    Raises
    ------
    InvalidParameter
        If n is 0.
    """
    if n == 0:
        raise InvalidParameter(
            "there are 0 records, and an estimate needs at least 1; wait for reports to arrive",
            field="records",
        )


def _estimate(
    attribute: PublishedAttribute, support: npt.NDArray[np.int64], n: int, confidence: float
) -> AttributeEstimate:
    if attribute.oracle is None:
        estimated = estimate_proportion(support, n, p=1, q=0, confidence=confidence)
    else:
        estimated = estimate(attribute.oracle, support, n, confidence=confidence)
    return AttributeEstimate(
        name=attribute.name,
        role=attribute.role,
        protocol=None if attribute.oracle is None else attribute.oracle.name,
        epsilon=None if attribute.oracle is None else format_epsilon(attribute.oracle.epsilon),
        categories=attribute.domain,
        n=n,
        confidence=confidence,
        frequency=estimated.frequency,
        standard_error=estimated.standard_error,
        lower=estimated.lower,
        upper=estimated.upper,
        poisoning=influence(attribute.oracle),
    )


_SHAPE = " The test of the reports' shape then goes wrong more often in the same way."


def how_to_read(intervals: int, confidence: float, *, shape: bool = False) -> str:
    """Return what many intervals and many looks do to their coverage, in words.

    Parameters
    ----------
    intervals : int
        Shown together, at least 1.
    confidence : float
        Of each, in (0, 1).
    shape : bool
        Whether the test of the reports' shape stands beside them; it holds for one look as well.
    """
    missed = intervals * (1 - confidence)
    many = f"{missed:.1f}" if missed >= 0.1 else f"{missed:.2g}"
    return (
        f"Each interval holds by itself: of these {intervals:,} at {100 * confidence:g} %, {many} "
        "are expected to miss. They hold for one look at the results, decided on beforehand: if "
        "you look again and again while data arrive, or stop when a result pleases you, more of "
        "them miss." + (_SHAPE if shape else "")
    )
