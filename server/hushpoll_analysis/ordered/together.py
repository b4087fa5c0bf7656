"""Means of several ordered attributes, or within groups, whose intervals hold together.

Each of m intervals has the confidence 1 - (1 - c)/m, so all of them hold with the confidence c
(Bonferroni), however the means depend on each other: through the answers of a respondent to
several questions, or through the noise of perturbed groups. The exact covariance would need the
joint counts of all attributes. For means that hardly depend on each other it would make the
intervals 0.3 % narrower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.scales import Scale, doubtful, is_ordered, scale_of
from hushpoll_analysis.ordered.statistics import Bounded, Statistics
from hushpoll_analysis.ordered.summary import answers_of
from hushpoll_analysis.records.answering import answering
from hushpoll_analysis.records.pairs import pair
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.verdicts.judging import judged
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.simultaneous_means import LeftOut, MeanEstimate, MeansTogether, ScaleOf
from hushpoll_shared.queries.simultaneous_means import SimultaneousMeans as Query
from hushpoll_shared.spelling.intervals import HOLD_TOGETHER
from hushpoll_shared.spelling.scores import Score
from hushpoll_shared.survey.published import Published

ScoresOf: TypeAlias = Mapping[str, Sequence[Score]]
"""Scores by attribute."""


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of an attribute in a group, or of everybody."""

    attribute: str
    group: str | None
    """None for everybody."""
    mean: Bounded
    """The mean of those who answered; intervals of numbers count with their middle."""
    n: int | None = None
    """Reports that answer what it is about, where these are fewer."""

    def row(self) -> MeanEstimate:
        """Return the mean as a row of a result."""
        return MeanEstimate(
            attribute=self.attribute, group=self.group, n=self.n, **self.mean.to_dict()
        )


@dataclass(frozen=True, slots=True)
class SimultaneousMeans(ArrayResult):
    """Means whose intervals hold together.

    Attributes
    ----------
    given : str or None
        The attribute whose categories are the groups.
    n : int
        Records behind it.
    confidence : float
        That all intervals hold.
    scales : mapping of str to Scale
        The scores that were used, by attribute.
    means : tuple of Mean
        Attribute by attribute.
    left_out : mapping of str to str
        Why attributes are not among them although their labels are numbers, and what to do.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    given: str | None
    n: int
    confidence: float
    scales: Mapping[str, Scale]
    means: tuple[Mean, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None

    def result(self) -> MeansTogether:
        """Return the means attribute by attribute."""
        return filled(
            MeansTogether,
            self,
            method="bonferroni",
            intervals=HOLD_TOGETHER,
            scales=tuple(
                ScaleOf(attribute=name, scale=scale.rows()) for name, scale in self.scales.items()
            ),
            left_out=tuple(
                LeftOut(attribute=name, reason=reason) for name, reason in self.left_out.items()
            ),
            means=tuple(mean.row() for mean in self.means),
        )


def simultaneous_means(
    records: Records,
    *,
    attributes: Sequence[str] | None = None,
    given: str | None = None,
    scores: ScoresOf | None = None,
    confidence: float = 0.95,
) -> SimultaneousMeans:
    """Estimate means with intervals that hold together, of several attributes or groups.

    Assumptions: respondents are drawn independently from their population, and their devices follow
    the protocol. Each mean is about those who answered its question.

    Parameters
    ----------
    records : Records
        Read once for each attribute.
    attributes : sequence of str, optional
        By default all that have a scale: by `scores`, or by their labels. The fewer, the narrower
        the intervals.
    given : str, optional
        Another attribute: every mean is estimated within each of its categories.
    scores : mapping of str to sequence, optional
        By attribute, what each category stands for; see
        :func:`hushpoll_analysis.ordered.summary.ordered_summary`.
    confidence : float
        That all intervals hold, in (0, 1).

    Raises
    ------
    InvalidParameter
        For an unknown attribute, one that is named twice or is `given`, one without a scale, a
        survey without any, bad scores or confidence, or no records.

    References
    ----------
    Dunn, Journal of the American Statistical Association 56, 1961.
    """
    query = Query(attributes=attributes, given=given, scores=scores, confidence=confidence)
    return means_together(query, OfRecords(records))


@judged
def means_together(query: Query, source: Source) -> SimultaneousMeans:
    """Estimate from counts, each attribute's by itself; see :func:`simultaneous_means`."""
    given, confidence = query.given, query.confidence
    scales = scales_together(source.published, query.attributes, given, query.scores or {})
    normal_quantile(confidence)
    # each of those who answer it, and the question of the groups, where they are in a draw
    answers = {
        name: answers_of(answering(source, [name, *([given] if given else [])]), name, given)
        for name in scales
    }
    n = source.questions([]).n if source.published.draws else None
    means = _means(answers, scales, given, confidence, n)
    return means if query.attributes else replace(means, left_out=_left_out(source, given, scales))


def _left_out(source: Source, given: str | None, scales: Mapping[str, Scale]) -> dict[str, str]:
    reasons = {
        attribute.name: doubtful(attribute)
        for attribute in source.published.attributes
        if attribute.name != given and attribute.name not in scales
    }
    return {name: reason for name, reason in reasons.items() if reason is not None}


def scales_together(
    published: Published,
    attributes: Sequence[str] | None,
    given: str | None,
    scores: ScoresOf,
) -> dict[str, Scale]:
    """Return the scales of the attributes by name, in their order, or in that of the manifest."""
    for name in scores:
        published.attribute(name, field="scores")
        if attributes is not None and name not in attributes:
            raise InvalidParameter(
                f"scores are given for {name}, which is not among the attributes; name it there, "
                "or leave its scores out",
                field="scores",
            )
    chosen = attributes
    if chosen is None:
        chosen = [
            attribute.name
            for attribute in published.attributes
            if attribute.name != given and (attribute.name in scores or is_ordered(attribute))
        ]
    if not chosen or len(set(chosen)) < len(chosen):
        raise InvalidParameter(
            f"the attributes are {', '.join(chosen) or '(none)'}; name one or several different "
            f"ones of {published.name}, with scores where their labels are no numbers",
            field="attributes",
        )
    for name in chosen:
        published.attribute(name, field="attributes")
    if given is not None:
        for name in chosen:
            pair(published, name, given, ("attributes", "given"))
    return {name: scale_of(published.attribute(name), scores.get(name)) for name in chosen}


def _means(
    answers: Mapping[str, Answers],
    scales: Mapping[str, Scale],
    given: str | None,
    confidence: float,
    n: int | None = None,
) -> SimultaneousMeans:
    """Estimate from the answers of each attribute, which some of the n records may have."""
    first = next(iter(answers.values()))
    n = first.n if n is None else n
    groups = (None,) if first.group is None else first.group.domain
    z = normal_quantile(1 - (1 - confidence) / (len(answers) * len(groups)))
    found = []
    for name, of_attribute in answers.items():
        means = Statistics.of(of_attribute, scales[name], None, ["mean"]).estimates(z)[0]["mean"]
        answer = None if of_attribute.n == n else of_attribute.n
        found += [
            Mean(name, group, mean, answer) for group, mean in zip(groups, means, strict=True)
        ]
    return SimultaneousMeans(given, n, confidence, scales, tuple(found))
