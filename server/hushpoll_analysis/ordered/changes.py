"""Change of a mean, of a share at a threshold or of the NPS between versions, waves and surveys.

Each side has its own records. The two groups of respondents are taken for independent, as for the
change of shares (:mod:`hushpoll_analysis.relations.changes`), and a difference combines the
distances of both statistics from their limits (Newcombe, Statistics in Medicine 17, 1998, method
10). Nothing compares the two scales: that both are in one unit is for the analyst to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.scales import Scale, scale_of
from hushpoll_analysis.ordered.statistics import (
    NAMES,
    Bounded,
    Statistics,
    difference_of,
    opposite,
    statistic_names,
)
from hushpoll_analysis.records.answering import of_those_who_answer
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.relations.changes import (
    ASSUMPTION,
    Wave,
    compared_attribute,
    epsilon_of_both,
)
from hushpoll_analysis.verdicts.judging import judged
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.ordered_answers import StatisticName
from hushpoll_shared.queries.ordered_changes import ChangeOfStatistics, ScaledWave, StatisticChange
from hushpoll_shared.queries.ordered_changes import OrderedChange as Query
from hushpoll_shared.spelling.intervals import DIFFERENCES_HOLD_TOGETHER, how_to_read
from hushpoll_shared.spelling.scores import Score
from hushpoll_shared.survey.published import Published

Scales: TypeAlias = tuple[Scale, Scale]
"""Before and after."""


@dataclass(frozen=True, slots=True)
class OrderedChange(ArrayResult):
    """How the statistics of ordered answers have changed.

    Attributes
    ----------
    before, after : Wave
        The two sides.
    scales : (Scale, Scale)
        The scores that were used, before and after.
    threshold : float or None
        Of the share at or above it, on both sides.
    confidence : float
        Of each interval, or of all differences together if `simultaneous`.
    simultaneous : bool
        Whether all differences hold at once (Bonferroni).
    statistics : mapping of str to (Bounded, Bounded, Bounded)
        By name (``mean``, ``least``, ``greatest``, ``at_least``, ``nps``): before, after, and after
        minus before. The difference of ``least`` is the least mean after minus the greatest before,
        and that of ``greatest`` the reverse, so that the true one lies between them.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    before: Wave
    after: Wave
    scales: tuple[Scale, Scale]
    threshold: float | None
    confidence: float
    simultaneous: bool
    statistics: Mapping[StatisticName, tuple[Bounded, Bounded, Bounded]]
    verdict: Verdict | None = None

    def result(self) -> ChangeOfStatistics:
        """Return the change statistic by statistic."""
        before, after = (
            ScaledWave(**side.facts(), scale=scale.rows())
            for side, scale in zip((self.before, self.after), self.scales, strict=True)
        )
        return filled(
            ChangeOfStatistics,
            self,
            before=before,
            after=after,
            intervals=DIFFERENCES_HOLD_TOGETHER
            if self.simultaneous
            else how_to_read(3 * len(self.statistics), self.confidence),
            assumption=ASSUMPTION,
            epsilon_of_both=epsilon_of_both(self.before, self.after),
            changes=tuple(
                StatisticChange(
                    statistic=name,
                    before=old.summary(),
                    after=new.summary(),
                    difference=difference.summary(),
                )
                for name, (old, new, difference) in self.statistics.items()
            ),
        )


def _scales(query: Query, before: tuple[Published, str], after: tuple[Published, str]) -> Scales:
    """Return the scales before and after of (survey, attribute), once all has been checked."""
    # `scores` are of both sides where the earlier one has none of its own.
    given, field = query.scores, "scores"
    if query.since_scores is not None:
        given, field = query.since_scores, "since_scores"
    old = scale_of(before[0].attribute(before[1]), given, field)
    new = scale_of(after[0].attribute(after[1]), query.scores)
    if query.threshold is not None:
        for scale in (old, new):
            scale.at_least(query.threshold)
    normal_quantile(query.confidence)
    return old, new


def ordered_change(
    before: Records | RecordStream,
    after: Records | RecordStream,
    attribute: str,
    *,
    before_attribute: str | None = None,
    scores: Sequence[Score] | None = None,
    before_scores: Sequence[Score] | None = None,
    threshold: float | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> OrderedChange:
    """Estimate how mean, share at a threshold and NPS have changed between two sets of records.

    Assumptions: both groups of respondents are drawn independently, each from its population, and
    devices follow the protocol. All is about those who answered. Quantiles have no difference with
    an interval: their sets are of categories.

    Parameters
    ----------
    before, after : Records or RecordStream
        Of two versions of a survey, or of two surveys; each is read once.
    attribute : str
        Of `after`.
    before_attribute : str, optional
        Of `before`; by default the one of the same name.
    scores, before_scores : sequence of float or (float, float), optional
        What each category of `after` and of `before` stands for; see
        :func:`hushpoll_analysis.ordered.summary.ordered_summary`. `before_scores` are `scores` by
        default.
    threshold : float, optional
        For the share at or above it; it must fit both scales.
    confidence : float
        In (0, 1).
    simultaneous : bool
        Whether all differences together hold with this confidence (Bonferroni), or each by itself.

    Raises
    ------
    InvalidParameter
        For an unknown attribute, labels that are no numbers, without scores, bad scores, threshold
        or confidence, or no records.

    References
    ----------
    Newcombe, Statistics in Medicine 17, 1998, method 10.
    """
    earlier = before.published
    query = Query(
        attribute=attribute,
        since_version=earlier.version,
        since_survey=earlier.name,
        since_attribute=before_attribute,
        scores=scores,
        since_scores=before_scores,
        threshold=threshold,
        confidence=confidence,
        simultaneous=simultaneous,
    )
    return change_of_statistics(query, OfRecords(after), OfRecords(before))


@of_those_who_answer
@judged
def change_of_statistics(query: Query, source: Source, earlier: Source) -> OrderedChange:
    """Estimate from the support counts of both sides; see :func:`ordered_change`."""
    first = compared_attribute(query, source, earlier)
    asked = (earlier.published, first), (source.published, query.attribute)
    scales = _scales(query, *asked)
    before, after = sides = tuple(
        Wave(side.published, side.questions([name]), name, {})
        for side, (_, name) in zip((earlier, source), asked, strict=True)
    )
    names = [name for name in NAMES if _is_of(name, scales)]
    shown = len(names) + (query.threshold is not None)
    level = 1 - (1 - query.confidence) / (shown if query.simultaneous else 1)
    z, found = normal_quantile(level), []
    for side, scale in zip(sides, scales, strict=True):
        require_rows(side.counts.n)
        attribute = side.published.attribute(side.attribute)
        answers = Answers.alone(attribute, side.support, side.counts.n)
        statistics = Statistics.of(answers, scale, query.threshold, names)
        found.append({name: groups[0] for name, groups in statistics.estimates(z)[0].items()})
    old, new = found
    return OrderedChange(
        before,
        after,
        scales,
        query.threshold,
        query.confidence,
        query.simultaneous,
        {
            name: (old[name], new[name], difference_of(new[name], old[opposite(name)]))
            for name in NAMES
            if name in new
        },
    )


def _is_of(name: str, scales: tuple[Scale, Scale]) -> bool:
    """Return whether a mean is compared: where one side has intervals, both have ends."""
    there = [name in statistic_names(scale, None) for scale in scales]
    return all(there) if name == "nps" else any(there)
