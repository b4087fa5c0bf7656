"""Which counts the results of a report need: a source that notes what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import combinations

from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts, paired
from hushpoll_analysis.records.domains import Domain
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import MemoryNeed, Source
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.survey_reports.sources.answers import ReportAnswers
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True)
class Needed:
    """A source of counts that keeps the pairs that it was asked for.

    Parameters
    ----------
    counts : Counts
        Of all its questions.
    count_pair, count_pairs : callable
        Give the joint counts of two questions, in draws of those who answer both, and of all pairs.
    joint : dict
        By pair; those that a report has anyway, and those that were asked for.
    """

    published: Published
    counts: Counts
    count_pair: Callable[[str, str], JointCounts]
    count_pairs: Callable[[], PairCounts]
    joint: dict[tuple[str, str], JointCounts] = field(default_factory=dict)

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts, which a report has of all questions."""
        del only
        return self.counts

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, and note them."""
        counts = self.joint.get((a, b))
        if counts is None:
            counts = self.count_pair(a, b)
            if (b, a) not in self.joint:
                self.joint[a, b] = counts
        return counts

    def pairs(self) -> PairCounts:
        """Return the joint counts of all pairs, and note them."""
        counts = self.count_pairs()
        for first, second in combinations(paired(self.published), 2):
            if self.published.share_answering([first.name, second.name]):
                self.pair(first.name, second.name)
        return counts

    def answered_by_both(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, of those who answer both, and note them."""
        return self.pair(a, b)

    def within(self, domain: Domain) -> Source:
        """Refuse: a report keeps no counts of a part of the reports.

        Raises
        ------
        InvalidParameter
            Always.
        """
        raise InvalidParameter(
            f"results asks for the reports where {domain.words}, and a report is about all of "
            "them; leave out where",
            field="results",
        )

    def answering(self, names: Collection[str]) -> Source:
        """Return the source of the records that answer one question or two."""
        return ReportAnswers(self, tuple(names))

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Refuse: a report is made from counts alone.

        Raises
        ------
        InvalidParameter
            Always.
        """
        raise InvalidParameter(
            f"results asks for {held.field} {held.value!r}, which reads the records themselves, "
            f"and a report is made from counts; choose another {held.field}",
            field="results",
        )
