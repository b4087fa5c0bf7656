"""What ordered answers come to: mean, quantiles, share at or above a threshold, NPS.

All are about those who answered: the missing category has no score. Answers that are intervals of
numbers are counted with the middle of their interval. What the mean would be if all of them lay at
the lower ends, or at the upper ends, stands beside it, apart from the sampling interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.quantiles import (
    Distribution,
    check_interpolation,
    check_quantiles,
)
from hushpoll_analysis.ordered.results import GroupDifference, GroupSummary, OrderedSummary
from hushpoll_analysis.ordered.scales import Scale, scale_of
from hushpoll_analysis.ordered.statistics import Statistics, of_group, statistic_names
from hushpoll_analysis.records.counts import count
from hushpoll_analysis.records.pairs import joint_counts, pair
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.relations.conditional import group_place
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.spelling.scores import Score
from hushpoll_shared.survey.published import Published

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of ordered answers; all of it is checked before any record is read.

    Attributes
    ----------
    attribute : str
        Whose answers are summarised.
    scores : sequence of float or (float, float), optional
        See :func:`hushpoll_analysis.ordered.scales.scale_of`.
    quantiles : tuple of float
        Each in (0, 1).
    threshold : float, optional
        Above the lowest score, at most the highest.
    given : str, optional
        Another attribute, whose categories are the groups.
    interpolation : {"none", "linear"}
        Of quantiles within intervals.
    confidence : float
        Of each interval, or of all together if `simultaneous`; in (0, 1).
    reference : str, optional
        Category of `given` that the other groups are compared with.
    simultaneous : bool
        Whether all intervals hold at once.
    """

    attribute: str
    scores: Sequence[Score] | None = None
    quantiles: tuple[float, ...] = QUARTILES
    threshold: float | None = None
    given: str | None = None
    interpolation: str = "none"
    confidence: float = 0.95
    reference: str | None = None
    simultaneous: bool = False

    def scale(self, published: Published) -> Scale:
        """Return the scale, once all of the question has been checked.

        Raises
        ------
        InvalidParameter
            See :func:`ordered_summary`.
        """
        attribute = published.attribute(self.attribute)
        if self.given is not None:
            pair(published, self.attribute, self.given, ("attribute", "given"))
        self.place(published)
        scale = scale_of(attribute, self.scores)
        if self.threshold is not None:
            scale.at_least(self.threshold)
        check_quantiles(self.quantiles)
        check_interpolation(scale, self.interpolation)
        normal_quantile(self.confidence)
        return scale

    def place(self, published: Published) -> int | None:
        """Return the code of the reference; None without one.

        Raises
        ------
        InvalidParameter
            For a reference that is no category of `given`, or without `given`.
        """
        if self.reference is None:
            return None
        if self.given is None:
            raise InvalidParameter(
                f"reference is {self.reference!r}, and there are no groups; name the attribute "
                "whose categories are the groups (given), or leave the reference out",
                field="reference",
            )
        return group_place(published.attribute(self.given), self.reference)


def ordered_summary(
    records: Records | RecordStream,
    attribute: str,
    *,
    scores: Sequence[Score] | None = None,
    quantiles: Sequence[float] = QUARTILES,
    threshold: float | None = None,
    given: str | None = None,
    interpolation: str = "none",
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
    question = Question(
        attribute,
        scores,
        tuple(quantiles),
        threshold,
        given,
        interpolation,
        confidence,
        reference,
        simultaneous,
    )
    question.scale(records.published)
    return summary_of(question, records.published, answers_of(records, attribute, given))


def answers_of(records: Records | RecordStream, attribute: str, given: str | None) -> Answers:
    """Return the answers of an attribute, alone or within groups, from records.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, or no records.
    """
    published = records.published
    if given is not None:
        counts = joint_counts(records, attribute, given)
        require_rows(counts.n)
        return Answers.in_groups(published.attribute(attribute), published.attribute(given), counts)
    counted = count(records, only=[attribute])
    require_rows(counted.n)
    return Answers.alone(published.attribute(attribute), counted.support[attribute], counted.n)


def summary_of(question: Question, published: Published, answers: Answers) -> OrderedSummary:
    """Estimate from the shares of the attribute; see :func:`ordered_summary`."""
    scale, reference = question.scale(published), question.place(published)
    group = None if question.given is None else published.attribute(question.given)
    names: tuple[str | None, ...] = (None,) if group is None else group.domain
    level = question.confidence
    if question.simultaneous:
        statistics = len(statistic_names(scale, question.threshold))
        shown = (statistics + len(question.quantiles)) * len(names)
        shown += 0 if reference is None else statistics * (len(names) - 1)
        level = 1 - (1 - level) / shown
    z = normal_quantile(level)
    curve = Distribution(answers, scale, z)
    how = check_interpolation(scale, question.interpolation)
    columns = [curve.quantiles(q, how) for q in question.quantiles]
    found, apart = Statistics.of(answers, scale, question.threshold).estimates(z, reference)
    return OrderedSummary(
        attribute=question.attribute,
        given=question.given,
        scale=scale,
        n=answers.n,
        confidence=question.confidence,
        simultaneous=question.simultaneous,
        threshold=question.threshold,
        interpolation=how,
        groups=tuple(
            GroupSummary(
                group=name,
                **of_group(found, place),
                quantiles=tuple(column[place] for column in columns),
            )
            for place, name in enumerate(names)
        ),
        reference=question.reference,
        differences=None
        if apart is None or group is None
        else tuple(
            GroupDifference(group=name, **of_group(apart, place))
            for place, name in enumerate(group.domain)
            if place != reference
        ),
    )
