"""Weighted shares of an attribute, from records with a design or from the counts that are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.records.answering import part_of_all, require_answered
from hushpoll_analysis.records.counts import JointCounts, count
from hushpoll_analysis.records.pairs import joint_counts
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.survey_design.calibrated import estimated
from hushpoll_analysis.survey_design.count_samples import CountSample
from hushpoll_analysis.survey_design.design import CheckedDesign, SurveyDesign, Target, checked
from hushpoll_analysis.survey_design.samples import (
    RecordSample,
    ordered,
    require_size,
)
from hushpoll_analysis.survey_design.shares import WeightedShares
from hushpoll_analysis.survey_design.verdicts import verdict_on
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]


def weighted_shares(
    records: Records,
    attribute: str,
    design: SurveyDesign | None = None,
    *,
    weights: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> WeightedShares:
    """Estimate the shares of an attribute's categories in the population.

    Assumptions: respondents are drawn independently within their stratum; within each cell of the
    weights and margins those who answered are like those who did not; devices follow the protocol.
    The attribute, and those of the margins, may be perturbed or in clear. Where some are in a draw,
    all is of the records that answer all of them.

    Parameters
    ----------
    records : Records
        Read several times, in blocks.
    attribute : str
        That is estimated.
    design : SurveyDesign, optional
        Margins, strata, weights of clear cells, population.
    weights : f64[n], optional
        Of each record, at least 0 and not all 0: people for whom the respondent stands. They must
        not depend on perturbed records. Not together with the design's weights of cells.
    confidence : float
        Of each interval, in (0, 1).

    Returns
    -------
    WeightedShares
        With `totals` where there is a population, or where weights without margins count people; of
        questions in a draw only with a population, since the weights of those who answer count few.

    Raises
    ------
    InvalidParameter
        As :func:`hushpoll_analysis.survey_design.design.checked`; for weights of another length,
        negative or all 0; a population smaller than the sample; a category in clear that has a
        share and no respondent; margins that no factors (within the bounds) give; a table that is
        too large; a bad confidence; or no records.
    """
    published = records.published
    plan = checked(design or SurveyDesign(), published, attribute)
    require_rows(len(records))
    given = None if weights is None else _record_weights(weights, len(records))
    needed = (attribute, *plan.attributes())
    if published.draws:
        require_answered(published, needed)
        given = None if given is None else given[records.answer(needed)]
        records = records.answering(needed)
        published = records.published
        require_rows(len(records))
        if given is not None and not given.sum() > 0:
            raise _no_weight()
    outcome = published.attribute(attribute)
    if given is not None and plan.weights is not None:
        raise InvalidParameter(
            "there are weights of records and weights of cells; give one of them", field="weights"
        )
    names = plan.attributes()
    if given is None and len(names) <= 1 and attribute not in names:
        counts = count(records, only=[attribute])
        joint = joint_counts(records, attribute, names[0]) if names else None
        return shares_from_counts(
            published, counts.of(published, attribute), len(records), joint, plan, attribute,
            confidence=confidence,
        )  # fmt: skip
    cells = ordered(
        [published.attribute(name) for target in plan.targets for name in target.attributes]
    )
    cells = tuple(dict.fromkeys(cells))
    require_size(cells, outcome)
    if given is None:
        given = np.ones(len(records)) if plan.weights is None else _of_cells(records, plan.weights)
    weighted = weights is not None or plan.weights is not None
    sample = RecordSample(records, outcome, cells, given)
    support = count(records, only=[attribute]).of(published, attribute)
    found = estimated(sample, outcome, support, plan, confidence, weighted=weighted)
    return _told(found, published, plan)


def _told(found: WeightedShares, published: Published, plan: CheckedDesign) -> WeightedShares:
    """Return shares with their verdict, and without totals that are those of who answers alone."""
    if part_of_all(published, (found.attribute, *plan.attributes())) and plan.population is None:
        found = replace(found, totals=None)
    return replace(found, verdict=verdict_on(published, plan, [found]))


def needs_records(plan: CheckedDesign, attribute: str) -> bool:
    """Return whether the joint counts of one pair of attributes do not suffice for a design."""
    names = plan.attributes()
    return len(names) > 1 or attribute in names


def shares_from_counts(
    published: Published,
    support: npt.NDArray[np.int64],
    n: int,
    joint: JointCounts | None,
    plan: CheckedDesign,
    attribute: str,
    *,
    confidence: float = 0.95,
) -> WeightedShares:
    """Estimate from counts, of a design with one attribute or none; see :func:`weighted_shares`.

    Parameters
    ----------
    published : Published
        The survey; of questions in a draw as it is of those who answer all of them.
    support, n
        Support counts of the attribute, and records.
    joint : JointCounts or None
        Of the attribute and of the design's one; None where it has none.
    plan : CheckedDesign
        For which :func:`needs_records` is false.
    attribute, confidence
        See :func:`weighted_shares`.
    """
    require_rows(n)
    outcome, names = published.attribute(attribute), plan.attributes()
    if joint is None:
        sample = CountSample.alone(support, n, outcome)
    else:
        cells = published.attribute(names[0])
        weights = None if plan.weights is None else plan.weights.shares
        if weights is not None and not (weights * joint.second).sum() > 0:
            raise _no_weight()
        sample = CountSample(joint, outcome, cells, weights)
        require_size([cells], outcome)
    weighted = plan.weights is not None
    found = estimated(sample, outcome, support, plan, confidence, weighted=weighted)
    return _told(found, published, plan)


def _record_weights(weights: npt.ArrayLike, n: int) -> Array:
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n,):
        raise InvalidParameter(
            f"weights has shape {array.shape}, and there are {n} records; give one weight a record",
            field="weights",
        )
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InvalidParameter(
            f"weights[{place}] is {array[place]}; a weight is a finite number that is at least 0: "
            "give each record one, or drop the records without",
            field="weights",
        )
    if not array.sum() > 0:
        raise _no_weight()
    return array


def _no_weight() -> InvalidParameter:
    return InvalidParameter(
        "all weights are 0, so no record counts; give some records a weight above 0",
        field="weights",
    )


def _of_cells(records: Records, weights: Target) -> Array:
    places = tuple(records.codes(name) for name in weights.attributes)
    return _record_weights(weights.shares[places], len(records))
