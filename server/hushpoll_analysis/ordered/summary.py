"""What ordered answers come to: mean, quantiles, share at or above a threshold, NPS.

All are about those who answered: the missing category has no score. Answers that are intervals of
numbers are counted with the middle of their interval. What the mean would be if all of them lay at
the lower ends, or at the upper ends, stands beside it, apart from the sampling interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.joint import common_block
from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.quantiles import (
    Distribution,
    Interpolation,
    Quantile,
    check_interpolation,
    check_quantiles,
)
from hushpoll_analysis.ordered.scales import Scale, scale_of
from hushpoll_analysis.ordered.statistics import (
    NAMES,
    Bounded,
    Statistics,
    of_group,
    statistic_names,
)
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
from hushpoll_shared.qualifying.verdict import Reach, Verdict
from hushpoll_shared.queries.ordered_answers import GroupDifference as DifferenceRow
from hushpoll_shared.queries.ordered_answers import GroupSummary as SummaryRow
from hushpoll_shared.queries.ordered_answers import Ordered as Query
from hushpoll_shared.queries.ordered_answers import OrderedSummary as Summary
from hushpoll_shared.spelling.intervals import HOLD_TOGETHER, how_to_read
from hushpoll_shared.spelling.scores import Score
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """What the ordered answers of one group, or of everybody, come to."""

    group: str | None
    """None for everybody."""
    mean: Bounded
    """The mean of the scores of those who answered, in their unit; intervals count with their
    middle."""
    least: Bounded | None
    """The mean if all answers lay at the lower, or (`greatest`) at the upper, end of their
    interval. None where every category is a number."""
    greatest: Bounded | None
    at_least: Bounded | None
    """Share of those who answered at or above the threshold."""
    nps: Bounded | None
    """Promoters (9 and 10) minus detractors (0 to 6), in [-100, 100]; of the scale 0 to 10
    alone."""
    quantiles: tuple[Quantile, ...]

    def row(self) -> SummaryRow:
        """Return the summary as a part of a result."""
        quantiles = tuple(quantile.row() for quantile in self.quantiles)
        return SummaryRow(group=self.group, quantiles=quantiles, **_rows(self))


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """What the ordered answers of one group come to, minus those of the reference.

    Quantiles have no difference: their sets are of categories, and no rule here bounds how far two
    of them are apart.
    """

    group: str
    mean: Bounded
    """As of :class:`GroupSummary`; the sets allow for the noise that both groups share."""
    least: Bounded | None
    greatest: Bounded | None
    at_least: Bounded | None
    nps: Bounded | None

    def row(self) -> DifferenceRow:
        """Return the differences as a part of a result."""
        return DifferenceRow(group=self.group, **_rows(self))


def _rows(parts: GroupSummary | GroupDifference) -> dict[str, Any]:
    statistics = {name: getattr(parts, name) for name in NAMES}
    return {name: None if one is None else one.summary() for name, one in statistics.items()}


N_COUNTS_ALL = (
    "Nobody knows which reports are of the respondents with this answer, since it is perturbed: n "
    "counts all reports, and the noise of both questions is in the intervals."
)


@dataclass(frozen=True, slots=True)
class OrderedSummary(ArrayResult):
    """What the ordered answers to one question come to, with intervals.

    Attributes
    ----------
    attribute : str
        The question's.
    given : str or None
        The attribute whose categories are the groups.
    scale : Scale
        The scores that were used.
    n : int
        Records behind it.
    confidence : float
        Of each interval, or of all together if `simultaneous`.
    simultaneous : bool
        Whether all intervals hold at once (Bonferroni).
    threshold : float or None
        Of the share at or above it.
    interpolation : str
        Of quantiles: ``none`` or ``linear``.
    groups : tuple of GroupSummary
        One per category of `given`, or one of everybody.
    reference : str or None
        The group that the others are compared with.
    differences : tuple of GroupDifference or None
        One per other group.
    verdict : Verdict or None
        Whether it can tell anything.
    among : bool
        Whether it is about the respondents with one answer to a perturbed question, of whom nobody
        knows the records: `n` counts all.
    """

    attribute: str
    given: str | None
    scale: Scale
    n: int
    confidence: float
    simultaneous: bool
    threshold: float | None
    interpolation: Interpolation
    groups: tuple[GroupSummary, ...]
    reference: str | None
    differences: tuple[GroupDifference, ...] | None
    verdict: Verdict | None = None
    among: bool = False

    @property
    def intervals(self) -> int:
        """How many intervals it shows."""
        first = self.groups[0]
        statistics = sum(getattr(first, name) is not None for name in NAMES)
        return (statistics + len(first.quantiles)) * len(self.groups) + statistics * len(
            self.differences or ()
        )

    def result(self) -> Summary:
        """Return the summary group by group."""
        return filled(
            Summary,
            self,
            intervals=(
                HOLD_TOGETHER if self.simultaneous else how_to_read(self.intervals, self.confidence)
            )
            + (f" {N_COUNTS_ALL}" if self.among else ""),
            scale=self.scale.rows(),
            rounded=self.scale.rounded,
            groups=tuple(group.row() for group in self.groups),
            differences=None
            if self.differences is None
            else tuple(one.row() for one in self.differences),
        )


def checked_scale(query: Query, published: Published) -> Scale:
    """Return the scale, once all of the query has been checked."""
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
    """Return the code of the reference; None without one."""
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
    with the correlation of :mod:`hushpoll_analysis.ordered.statistics`; see
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
    """Return the answers of an attribute, alone or within groups."""
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
    return filled(
        OrderedSummary,
        query,
        scale=scale,
        n=answers.n,
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
        differences=None
        if apart is None or group is None
        else tuple(
            GroupDifference(group=name, **of_group(apart, place))
            for place, name in enumerate(group.domain)
            if place != reference
        ),
    )
