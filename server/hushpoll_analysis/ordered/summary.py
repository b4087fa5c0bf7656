"""What ordered answers come to: mean, quantiles, share at or above a threshold, NPS.

All are about those who answered: the missing category has no score. Answers that are intervals of
numbers are counted with the middle of their interval. What the mean would be if all of them lay at
the lower ends, or at the upper ends, stands beside it, apart from the sampling interval.
"""

from __future__ import annotations

from collections.abc import Sequence

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.tables import common_block
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.quantiles import (
    Distribution,
    Interpolation,
    check_interpolation,
    check_quantiles,
)
from hushpoll_analysis.ordered.results import GroupDifference, GroupSummary, OrderedSummary
from hushpoll_analysis.ordered.scales import Scale, scale_of
from hushpoll_analysis.ordered.statistics import Statistics, of_group, statistic_names
from hushpoll_analysis.records.answering import of_those_who_answer
from hushpoll_analysis.records.domains import FIELD, asked_group
from hushpoll_analysis.records.pairs import pair
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.relations.conditional import group_place
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import foreseen
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.qualifying.verdict import Reach
from hushpoll_shared.queries.ordered_answers import Ordered as Query
from hushpoll_shared.spelling.scores import Score
from hushpoll_shared.survey.published import Published


def checked_scale(query: Query, published: Published) -> Scale:
    """Return the scale, once all of the query has been checked.

    Raises
    ------
    InvalidParameter
        See :func:`ordered_summary`.
    """
    attribute = published.attribute(query.attribute)
    if query.given is not None:
        pair(published, query.attribute, query.given, ("attribute", "given"))
    group = asked_group(query.where, published)
    if group is not None:
        pair(published, query.attribute, group[0], ("attribute", FIELD))
    reference_place(query, published)
    scale = scale_of(attribute, query.scores)
    if query.threshold is not None:
        scale.at_least(query.threshold)
    check_quantiles(tuple(query.quantiles))
    check_interpolation(scale, query.interpolation)
    normal_quantile(query.confidence)
    return scale


def reference_place(query: Query, published: Published) -> int | None:
    """Return the code of the reference; None without one.

    Raises
    ------
    InvalidParameter
        For a reference that is no category of `given`, or without `given`.
    """
    if query.reference is None:
        return None
    if query.given is None:
        raise InvalidParameter(
            f"reference is {query.reference!r}, and there are no groups; name the attribute "
            "whose categories are the groups (given), or leave the reference out",
            field="reference",
        )
    return group_place(published.attribute(query.given), query.reference)


def ordered_summary(
    records: Records | RecordStream,
    attribute: str,
    *,
    scores: Sequence[Score] | None = None,
    quantiles: Sequence[float] = (0.25, 0.5, 0.75),
    threshold: float | None = None,
    given: str | None = None,
    interpolation: Interpolation = "none",
    confidence: float = 0.95,
    reference: str | None = None,
    simultaneous: bool = False,
) -> OrderedSummary:
    """Estimate mean, quantiles, share at or above a threshold and NPS of ordered answers.

    Assumptions: respondents are drawn independently from their population, and their devices follow
    the protocol. All results are about those who answered; those who skipped the question may have
    answered differently.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    attribute : str
        Perturbed or in clear.
    scores : sequence of float or (float, float), optional
        What each category stands for, in code order and without the missing one: a number, or the
        ends of an interval. By default the categories' labels are read as numbers or intervals.
    quantiles : sequence of float
        Each in the open interval (0, 1); by default the quartiles.
    threshold : float, optional
        For the share at or above it: above the lowest score, at most the highest, and not inside
        of an interval.
    given : str, optional
        Another attribute: everything is estimated within each of its categories.
    interpolation : {"none", "linear"}
        ``linear`` spreads the answers of an interval evenly over it, for quantiles alone.
    confidence : float
        In (0, 1).
    reference : str, optional
        A category of `given`: the differences of every other group to it are given as well, but
        for quantiles, of which no interval is known here.
    simultaneous : bool
        Whether all intervals together hold with this confidence (Bonferroni), or each by itself.

    Returns
    -------
    OrderedSummary
        Intervals may reach beyond the lowest and the highest score, where the truth cannot be.

    Raises
    ------
    InvalidParameter
        For an unknown attribute; labels that are no numbers, without scores; bad scores, quantiles,
        threshold, interpolation, confidence or reference; or no records.

    References
    ----------
    Fieller, JRSS B 16, 1954; for differences Newcombe, Statistics in Medicine 17, 1998, method 10,
    with the correlation of :mod:`hushpoll_analysis.ordered.correlations`; see
    :mod:`hushpoll_analysis.ordered.ratios` and :mod:`hushpoll_analysis.ordered.quantiles`.
    """
    query = Query(
        attribute=attribute,
        scores=scores,
        quantiles=tuple(quantiles),
        threshold=threshold,
        given=given,
        interpolation=interpolation,
        confidence=confidence,
        reference=reference,
        simultaneous=simultaneous,
    )
    return summary(query, OfRecords(records))


def answers_of(source: Source, attribute: str, given: str | None) -> Answers:
    """Return the answers of an attribute, alone or within groups.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, or no records.
    """
    asked = source.published.attribute(attribute)
    if given is not None:
        joint = source.pair(attribute, given)
        require_rows(joint.n)
        group, block = (
            source.published.attribute(given),
            common_block(source.published, attribute, given),
        )
        return Answers.in_groups(asked, group, joint, block)
    counts = source.questions([attribute])
    require_rows(counts.n)
    return Answers.alone(asked, counts.of(source.published, attribute), counts.n)


def _foresee(query: Query, sides: Sequence[Expected]) -> tuple[Reach, ...]:
    """Return how far the intervals will reach; no verdict is about quantiles."""
    (side,) = sides
    return tuple(_summary(query, side, ()).result().reaches())


@of_those_who_answer
@foreseen(_foresee)
def summary(query: Query, source: Source) -> OrderedSummary:
    """Estimate from support counts or joint counts; see :func:`ordered_summary`."""
    return _summary(query, source, query.quantiles)


def _summary(query: Query, source: Source, quantiles: Sequence[float]) -> OrderedSummary:
    """Estimate without a verdict; of the query's quantiles those that are given."""
    published = source.published
    scale, reference = checked_scale(query, published), reference_place(query, published)
    asked = asked_group(query.where, published)
    given = query.given if asked is None else asked[0]
    answers = answers_of(source, query.attribute, given)
    group = None if given is None else published.attribute(given)
    names: tuple[str | None, ...] = (None,) if group is None else group.domain
    level = query.confidence
    if query.simultaneous:
        statistics = len(statistic_names(scale, query.threshold))
        shown = (statistics + len(query.quantiles)) * (len(names) if asked is None else 1)
        shown += 0 if reference is None else statistics * (len(names) - 1)
        level = 1 - (1 - level) / shown
    z = normal_quantile(level)
    curve = Distribution(answers, scale, z)
    how = check_interpolation(scale, query.interpolation)
    columns = [curve.quantiles(q, how) for q in quantiles]
    found, apart = Statistics.of(answers, scale, query.threshold).estimates(z, reference)
    return OrderedSummary(
        attribute=query.attribute,
        given=query.given,
        scale=scale,
        n=answers.n,
        confidence=query.confidence,
        simultaneous=query.simultaneous,
        threshold=query.threshold,
        interpolation=how,
        groups=tuple(
            GroupSummary(
                group=name if asked is None else None,
                **of_group(found, place),
                quantiles=tuple(column[place] for column in columns),
            )
            for place, name in enumerate(names)
            if asked is None or name == asked[1]
        ),
        among=asked is not None,
        reference=query.reference,
        differences=None
        if apart is None or group is None
        else tuple(
            GroupDifference(group=name, **of_group(apart, place))
            for place, name in enumerate(group.domain)
            if place != reference
        ),
    )
