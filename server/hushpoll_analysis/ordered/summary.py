"""What ordered answers come to: mean, quantiles, share at or above a threshold, NPS.

All are about those who answered: the missing category has no score. Answers that are intervals of
numbers are counted with the middle of their interval. What the mean would be if all of them lay at
the lower ends, or at the upper ends, stands beside it, apart from the sampling interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.report import Interval
from hushpoll_analysis.estimates.cross_table import joint_counts, pair
from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.quantiles import (
    Distribution,
    Quantile,
    check_interpolation,
    check_quantiles,
)
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_analysis.ordered.scales import Scale, scale_of
from hushpoll_analysis.records.counts import count
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.scores import Score
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Bounded(Interval):
    """An estimate with its set, and the interval of numbers in which the truth lies for certain.

    Attributes
    ----------
    least, most : float
        Of the truth, such as 0 and 1 of a share.
    """

    least: float
    most: float

    @property
    def says_nothing(self) -> bool:
        """Whether the set holds every value that there can be: these records cannot conclude."""
        return self.lower <= self.least and self.most <= self.upper

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON."""
        return {**Interval.to_dict(self), "says_nothing": self.says_nothing}


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """What the ordered answers of one group, or of everybody, come to.

    Attributes
    ----------
    group : str or None
        None for everybody.
    mean : Bounded
        Of the scores of those who answered, in their unit; intervals count with their middle.
    least, greatest : Bounded or None
        The mean if all answers lay at the lower, or at the upper, end of their interval. None
        where every category is a number.
    at_least : Bounded or None
        Share of those who answered at or above the threshold.
    nps : Bounded or None
        Promoters (9 and 10) minus detractors (0 to 6), in [-100, 100]; of the scale 0 to 10 alone.
    quantiles : tuple of Quantile
        In the order asked for.
    """

    group: str | None
    mean: Bounded
    least: Bounded | None
    greatest: Bounded | None
    at_least: Bounded | None
    nps: Bounded | None
    quantiles: tuple[Quantile, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON."""
        parts = {name: getattr(self, name) for name in ("mean", "least", "greatest")}
        parts |= {"at_least": self.at_least, "nps": self.nps}
        return {
            "group": self.group,
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
            "quantiles": [quantile.to_dict() for quantile in self.quantiles],
        }


@dataclass(frozen=True, slots=True)
class OrderedSummary(Tabular):
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
        Of each interval.
    threshold : float or None
        Of the share at or above it.
    interpolation : str
        Of quantiles: ``none`` or ``linear``.
    groups : tuple of GroupSummary
        One per category of `given`, or one of everybody.
    """

    statistic_name: ClassVar[str] = "ordered-answers"

    attribute: str
    given: str | None
    scale: Scale
    n: int
    confidence: float
    threshold: float | None
    interpolation: str
    groups: tuple[GroupSummary, ...]

    @property
    def intervals(self) -> int:
        """How many intervals it shows."""
        first = self.groups[0]
        parts = (first.mean, first.least, first.greatest, first.at_least, first.nps)
        shown = sum(part is not None for part in parts) + len(first.quantiles)
        return shown * len(self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as the API and ``--json`` give it."""
        return {
            "attribute": self.attribute,
            "given": self.given,
            "n": self.n,
            "confidence": self.confidence,
            "intervals": how_to_read(self.intervals, self.confidence),
            "threshold": self.threshold,
            "interpolation": self.interpolation,
            "scale": self.scale.to_list(),
            "groups": [group.to_dict() for group in self.groups],
        }


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
        Of each interval, in (0, 1).
    """

    attribute: str
    scores: Sequence[Score] | None = None
    quantiles: tuple[float, ...] = QUARTILES
    threshold: float | None = None
    given: str | None = None
    interpolation: str = "none"
    confidence: float = 0.95

    def scale(self, published: Published) -> Scale:
        """Return the scale, once all of the question has been checked.

        Raises
        ------
        InvalidParameter
            See :func:`ordered_summary`.
        """
        attribute = published.attribute(self.attribute)
        if self.given is not None:
            pair(published, self.attribute, self.given)
        scale = scale_of(attribute, self.scores)
        if self.threshold is not None:
            scale.at_least(self.threshold)
        check_quantiles(self.quantiles)
        check_interpolation(scale, self.interpolation)
        normal_quantile(self.confidence)
        return scale


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
        Of each interval, in (0, 1).

    Returns
    -------
    OrderedSummary
        Intervals may reach beyond the lowest and the highest score, where the truth cannot be.

    Raises
    ------
    InvalidParameter
        For an unknown attribute; labels that are no numbers, without scores; bad scores, quantiles,
        threshold, interpolation or confidence; or no records.

    References
    ----------
    Fieller, JRSS B 16, 1954; see :mod:`hushpoll_analysis.ordered.ratios` and
    :mod:`hushpoll_analysis.ordered.quantiles`.
    """
    question = Question(
        attribute, scores, tuple(quantiles), threshold, given, interpolation, confidence
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
    scale, z = question.scale(published), normal_quantile(question.confidence)
    group = None if question.given is None else published.attribute(question.given)
    names: tuple[str | None, ...] = (None,) if group is None else group.domain
    curve = Distribution(answers, scale, z)
    how = check_interpolation(scale, question.interpolation)
    columns = [curve.quantiles(q, how) for q in question.quantiles]
    parts = _means(answers, scale, z)
    if question.threshold is not None:
        above = scale.at_least(question.threshold)
        parts["at_least"] = _share(answers, above, z)
    return OrderedSummary(
        attribute=question.attribute,
        given=question.given,
        scale=scale,
        n=answers.n,
        confidence=question.confidence,
        threshold=question.threshold,
        interpolation=how,
        groups=tuple(
            GroupSummary(
                group=name,
                mean=parts["mean"][place],
                least=parts["least"][place] if "least" in parts else None,
                greatest=parts["greatest"][place] if "greatest" in parts else None,
                at_least=parts["at_least"][place] if "at_least" in parts else None,
                nps=parts["nps"][place] if "nps" in parts else None,
                quantiles=tuple(column[place] for column in columns),
            )
            for place, name in enumerate(names)
        ),
    )


def _means(answers: Answers, scale: Scale, z: float) -> dict[str, list[Bounded]]:
    """Return the means of the scale by name, for each group."""
    rows = {"mean": scale.middle}
    if scale.has_intervals:
        rows |= {"least": scale.low, "greatest": scale.high}
    if scale.is_net_promoter:
        rows["nps"] = 100.0 * (scale.low >= 9) - 100.0 * (scale.low <= 6)
    scores = np.stack(list(rows.values()))
    least, most = scores.min(axis=1), scores.max(axis=1)
    centre, half = (least + most) / 2, (most - least) / 2
    middles, halves = centre.tolist(), half.tolist()
    sets = Ratios.of_scores(answers, (scores - centre[:, None]) / half[:, None]).sets(z)
    return {
        name: [
            _unscaled(sets.interval(row, group), middles[row], halves[row])
            for group in range(answers.shares.shape[1])
        ]
        for row, name in enumerate(rows)
    }


def _unscaled(mean: Interval, middle: float, half: float) -> Bounded:
    """Return a mean of scores in [-1, 1] in the unit of the scale, and the scale's ends."""
    return Bounded(
        middle + half * mean.value,
        half * mean.standard_error,
        middle + half * mean.lower,
        middle + half * mean.upper,
        middle - half,
        middle + half,
    )


def _share(answers: Answers, chosen: npt.NDArray[np.bool_], z: float) -> list[Bounded]:
    """Return the share of the chosen categories among those who answered, for each group."""
    m = answers.categories
    ratios = Ratios.of_sets(
        answers,
        np.array([float(chosen.sum())]),
        answers.shares[:m][chosen].sum(axis=0)[None, :],
        np.array([answers.overall[:m][chosen].sum()]),
    )
    sets = ratios.sets(z)
    return [bounded_share(sets.interval(0, group)) for group in range(sets.value.shape[1])]


def bounded_share(share: Interval) -> Bounded:
    """Return a share with its bounds 0 and 1."""
    parts = share.value, share.standard_error, share.lower, share.upper
    return Bounded(*parts, 0.0, 1.0)
