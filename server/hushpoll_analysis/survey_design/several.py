"""Weighted shares of several attributes, from one set of records with one design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy.typing as npt

from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.survey_design.design import SurveyDesign, checked
from hushpoll_analysis.survey_design.estimation import weighted_shares
from hushpoll_analysis.survey_design.shares import ASSUMPTION, WeightedShares
from hushpoll_analysis.survey_design.verdicts import verdict_on
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class SeveralWeightedShares(Tabular):
    """Weighted shares of several attributes.

    Attributes
    ----------
    results : tuple of WeightedShares
        One per attribute, with the same design and confidence.
    verdict : Verdict or None
        Whether they can tell anything; each attribute is a part of it.
    """

    statistic_name: ClassVar[str] = "weighted-shares"

    results: tuple[WeightedShares, ...]
    verdict: Verdict | None = None

    def to_dict(self) -> JsonMembers:
        """Return the shares as the job and ``--json`` give them."""
        first = self.results[0]
        shown = sum(result.intervals for result in self.results)
        return {
            "verdict": to_json(self.verdict),
            "n": max(result.n for result in self.results),
            "confidence": first.confidence,
            "intervals": how_to_read(shown, first.confidence),
            "assumption": ASSUMPTION,
            "attributes": [result.to_dict() for result in self.results],
        }


def weighted_shares_of_several(
    records: Records,
    attributes: Sequence[str],
    design: SurveyDesign | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
    on_attribute: Callable[[int, int], object] | None = None,
) -> SeveralWeightedShares:
    """Estimate the shares of several attributes in the population.

    Assumptions, parameters and errors are those of
    :func:`hushpoll_analysis.survey_design.estimation.weighted_shares`.

    Parameters
    ----------
    records, design, weights, confidence
        See there.
    attributes : sequence of str
        One or several different ones, none of which a margin or the strata name.
    on_attribute : callable, optional
        Called with the numbers of attributes that are done and of all, before each and at the end.
    """
    check_outcomes(records.published, attributes, design or SurveyDesign())
    results = []
    for done, attribute in enumerate(attributes):
        if on_attribute is not None:
            on_attribute(done, len(attributes))
        results.append(
            weighted_shares(records, attribute, design, weights=weights, confidence=confidence)
        )
    if on_attribute is not None:
        on_attribute(len(attributes), len(attributes))
    plan = checked(design or SurveyDesign(), records.published, attributes[0])
    return SeveralWeightedShares(
        tuple(results), verdict_on(records.published, plan, results, len(records))
    )


def check_outcomes(published: Published, attributes: Sequence[str], design: SurveyDesign) -> None:
    """Refuse what no weighted share can be computed of.

    Raises
    ------
    InvalidParameter
        For no attribute, one that is named twice, or a design that does not fit one of them.
    """
    if not attributes or len(set(attributes)) < len(attributes):
        raise InvalidParameter(
            f"the attributes are {', '.join(attributes) or '(none)'}; name one or several "
            "different ones",
            field="attributes",
        )
    for attribute in attributes:
        checked(design, published, attribute)
