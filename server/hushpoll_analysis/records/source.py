"""Where the counts of a query come from: records, counts that are kept, or a release of a server.

A function that answers a query asks its source and never the records, so it is written once. Only
the source knows which counts belong together; nothing is counted before it is asked for.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts, count, count_pairs
from hushpoll_analysis.records.domains import FIELD, Domain
from hushpoll_analysis.records.fields import fields_of
from hushpoll_analysis.records.pairs import joint_counts
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """The value of a parameter for which all records are held, and read many times."""

    field: str
    """The parameter's name, which a refusal names with its value."""
    value: str
    widest: int
    """Numbers of one byte that are held for each record."""


class Source(Protocol):
    """The records of one survey version, as counts."""

    @property
    def published(self) -> Published:
        """The survey."""

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts of all fields, or at least of those that hold the named."""

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two different questions, which the caller has checked.

        Where either is in a block with others, or both are in one, what they say depends on the
        blocks: see :class:`~hushpoll_analysis.records.counts.JointCounts` and
        :func:`hushpoll_analysis.estimates.joint.estimate_table`.
        """

    def pairs(self) -> PairCounts:
        """Return the support counts, and the joint counts of all pairs that are kept."""

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Let the block hold the records themselves."""

    def within(self, domain: Domain) -> Source:
        """Return the source of the records of a domain."""

    def answering(self, names: Collection[str]) -> Source:
        """Return the source of the records that answer some questions, all of them.

        Without it, counts of questions in draws are refused.
        """


@dataclass(frozen=True, slots=True)
class OfRecords:
    """Counts of records in memory, or of a stream that is read once."""

    given: Records | RecordStream

    @property
    def published(self) -> Published:
        """The survey."""
        return self.given.published

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Count the support of questions."""
        return count(self.given, only=only)

    def pair(self, a: str, b: str) -> JointCounts:
        """Count two questions, in blocks or not."""
        return joint_counts(self.given, a, b)

    def pairs(self) -> PairCounts:
        """Count all pairs that a server would keep."""
        return count_pairs(self.given)

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Return the records."""
        del held
        return nullcontext(self.given)

    def within(self, domain: Domain) -> OfRecords:
        """Return the source of the records that are in a domain."""
        given = self.given
        inside = domain.records_in(given) if isinstance(given, Records) else domain.stream(given)
        return OfRecords(inside)

    def answering(self, names: Collection[str]) -> OfRecords:
        """Return the source of the records that answer all of some questions."""
        return OfRecords(self.given.answering(names))


@dataclass(frozen=True, slots=True)
class OfCounts:
    """Counts that were kept or simulated, without the records."""

    published: Published
    all_pairs: PairCounts

    @classmethod
    def alone(cls, published: Published, counts: Counts) -> OfCounts:
        """Return the source of support counts without those of pairs."""
        return cls(published, PairCounts(counts, {}))

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts; refuses a domain whose counts are not kept."""
        counts = counts_of(self.published, self.all_pairs, only)
        if counts is None:
            raise InvalidParameter(
                "the counts of this domain do not follow from those that are kept; compute them "
                "from the records",
                field=FIELD,
            )
        return counts

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, in blocks or not; refuses what is not kept."""
        counts = self.all_pairs.of_questions(self.published, a, b)
        if counts is None:
            raise InvalidParameter(
                f"the joint counts of {a} and {b} are not kept; compute them from the records",
                field="records",
            )
        return counts

    def pairs(self) -> PairCounts:
        """Return all counts."""
        return self.all_pairs

    def within(self, domain: Domain) -> OfCounts:
        """Return the source of the counts of a domain; refuses one of several attributes."""
        counts = domain.counted(self.all_pairs)
        if counts is None:
            raise InvalidParameter(
                f"{FIELD} has conditions on {', '.join(domain.codes)}; the counts that are kept "
                "are of two attributes: give one condition, or the records",
                field=FIELD,
            )
        return OfCounts(self.published, counts)

    def answering(self, names: Collection[str]) -> OfCounts:
        """Return the source of the counts of the records that answer all of some questions."""
        counts = self.all_pairs.answering(self.published, names)
        if counts is None:
            raise InvalidParameter(
                f"the counts of those who answer {', '.join(names)} are not kept; compute them "
                "from the records",
                field="records",
            )
        return OfCounts(self.published.answering(names), counts)

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Refuse: there are counts alone."""
        raise InvalidParameter(
            f"{held.field} is {held.value!r}, which needs the records themselves, and there are "
            "counts alone; give the records",
            field=held.field,
        )


def counts_of(
    published: Published, pairs: PairCounts, only: Collection[str] | None = None
) -> Counts | None:
    """Return support counts of all questions, or of those named, where all of these are kept."""
    fields = fields_of(published, only)
    return pairs.counts if all(field.name in pairs.counts.support for field in fields) else None
