"""Change of a mean, of a share at a threshold or of the NPS between versions, waves and surveys.

Each side has its own records. The two groups of respondents are taken for independent, as for the
change of shares (:mod:`hushpoll_analysis.relations.changes`), and a difference combines the
distances of both statistics from their limits (Newcombe, Statistics in Medicine 17, 1998, method
10). Nothing compares the two scales: that both are in one unit is for the analyst to know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.frames.tabular import Tabular
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
from hushpoll_analysis.records.counts import count
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.relations.changes import ASSUMPTION, Wave, epsilon_of_both
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.spelling.intervals import DIFFERENCES_HOLD_TOGETHER, how_to_read
from hushpoll_shared.spelling.scores import Score
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class OrderedChange(Tabular):
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
    """

    statistic_name: ClassVar[str] = "ordered-changes"

    before: Wave
    after: Wave
    scales: tuple[Scale, Scale]
    threshold: float | None
    confidence: float
    simultaneous: bool
    statistics: Mapping[str, tuple[Bounded, Bounded, Bounded]]

    def to_dict(self) -> dict[str, Any]:
        """Return the change as the API and ``--json`` give it."""
        return {
            "before": {**self.before.to_dict(), "scale": self.scales[0].to_list()},
            "after": {**self.after.to_dict(), "scale": self.scales[1].to_list()},
            "threshold": self.threshold,
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "intervals": DIFFERENCES_HOLD_TOGETHER
            if self.simultaneous
            else how_to_read(3 * len(self.statistics), self.confidence),
            "assumption": ASSUMPTION,
            "epsilon_of_both": epsilon_of_both(self.before, self.after),
            "changes": [
                {
                    "statistic": name,
                    "before": before.to_dict(),
                    "after": after.to_dict(),
                    "difference": difference.to_dict(),
                }
                for name, (before, after, difference) in self.statistics.items()
            ],
        }


@dataclass(frozen=True, slots=True)
class ChangeQuestion:
    """What is asked of two sides; all of it is checked before any record is read.

    Attributes
    ----------
    scores, before_scores : sequence of float or (float, float), optional
        See :func:`ordered_change`.
    threshold : float, optional
        On both scales.
    confidence : float
        In (0, 1).
    simultaneous : bool
        Whether all differences hold at once.
    """

    scores: Sequence[Score] | None = None
    before_scores: Sequence[Score] | None = None
    threshold: float | None = None
    confidence: float = 0.95
    simultaneous: bool = False

    def scales(
        self, before: tuple[Published, str], after: tuple[Published, str]
    ) -> tuple[Scale, Scale]:
        """Return the scales before and after of (survey, attribute), once all has been checked.

        Raises
        ------
        InvalidParameter
            See :func:`ordered_change`.
        """
        earlier = self.scores if self.before_scores is None else self.before_scores
        old, new = (
            scale_of(published.attribute(name), scores)
            for (published, name), scores in ((before, earlier), (after, self.scores))
        )
        if self.threshold is not None:
            for scale in (old, new):
                scale.at_least(self.threshold)
        normal_quantile(self.confidence)
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
    old = attribute if before_attribute is None else before_attribute
    question = ChangeQuestion(scores, before_scores, threshold, confidence, simultaneous)
    question.scales((before.published, old), (after.published, attribute))
    return ordered_change_of_waves(
        Wave(before.published, count(before, only=[old]), old, {}),
        Wave(after.published, count(after, only=[attribute]), attribute, {}),
        question,
    )


def ordered_change_of_waves(before: Wave, after: Wave, question: ChangeQuestion) -> OrderedChange:
    """Estimate from the support counts of both sides; see :func:`ordered_change`."""
    sides = before, after
    scales = question.scales(*((side.published, side.attribute) for side in sides))
    names = [name for name in NAMES if _is_of(name, scales)]
    shown = len(names) + (question.threshold is not None)
    level = 1 - (1 - question.confidence) / (shown if question.simultaneous else 1)
    z, found = normal_quantile(level), []
    for side, scale in zip(sides, scales, strict=True):
        require_rows(side.counts.n)
        attribute = side.published.attribute(side.attribute)
        answers = Answers.alone(attribute, side.counts.support[attribute.name], side.counts.n)
        statistics = Statistics.of(answers, scale, question.threshold, names)
        found.append({name: groups[0] for name, groups in statistics.estimates(z)[0].items()})
    old, new = found
    return OrderedChange(
        before,
        after,
        scales,
        question.threshold,
        question.confidence,
        question.simultaneous,
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
