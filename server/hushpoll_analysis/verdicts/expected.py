"""The counts that a survey is expected to have: the answers of every question equally frequent.

Answers to different questions are taken for independent. A query's own function, given these counts
in place of a release's, tells how wide the intervals of its result will be: its rule is written
once, with its levels, scores and groups.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.answering import part_answering
from hushpoll_analysis.records.counts import Cells, Counts, JointCounts, PairCounts, paired_fields
from hushpoll_analysis.records.domains import Domain
from hushpoll_analysis.records.fields import fields_of
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import MemoryNeed, OfCounts, Source
from hushpoll_protocols import FrequencyOracle, create
from hushpoll_shared.survey.codec import Field
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True, slots=True)
class Expected:
    """Counts that so many reports have on average, each to the nearest whole number."""

    published: Published
    n: int
    """Reports, at least 1."""

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts of questions, of a draw those of the part that answers."""
        fields = fields_of(self.published, only)
        return Counts(
            self.n,
            {field.name: self._support(field, self._answering([field])) for field in fields},
            {field.name: self._answering([field]) for field in fields if field.mask is not None},
        )

    def pair(self, a: str, b: str) -> JointCounts:
        """Return the joint counts of two questions, in blocks or not."""
        first, second = (self.published.block_of(name) for name in (a, b))
        both = {name if block is None else block.name for name, block in ((a, first), (b, second))}
        kept = self._pairs([one for one in self.published.layout.fields if one.name in both])
        counts = kept.of_questions(self.published, a, b)
        assert counts is not None  # noqa: S101  (both fields are kept)
        return counts

    def pairs(self) -> PairCounts:
        """Return the counts of all pairs that are kept."""
        whole = self._pairs(paired_fields(self.published))
        return PairCounts(self.questions(), whole.joint, whole.within)

    def _pairs(self, fields: Sequence[Field]) -> PairCounts:
        def met(first: Field, second: Field) -> tuple[int, Cells, Cells]:
            n = self._answering([first, second])
            return n, self._support(first, n), self._support(second, n)

        def joint(first: Field, second: Field) -> Cells:
            n, *pair = met(first, second)
            return np.asarray(np.rint(np.outer(*pair) / max(n, 1)).astype(np.int64))

        def within(first: Field, second: Field) -> Cells:
            n, *pair = met(first, second)
            return np.concatenate([[n], *pair])

        counts = self.questions([field.name for field in fields])
        return PairCounts.over(counts, fields, joint, within)

    def _answering(self, fields: Sequence[Field]) -> int:
        """Return how many of the reports answer some fields of the record."""
        if all(field.mask is None for field in fields):
            return self.n
        names = [field.block.questions[0].name for field in fields if field.block is not None]
        return self._part(names)

    def _part(self, names: Collection[str]) -> int:
        part = part_answering(self.published, names)
        return max(int(self.n * part), 1) if part else 0

    def within(self, domain: Domain) -> Source:
        """Return these counts, whose reports are all in the domain: so many it has."""
        del domain
        return self

    def answering(self, names: Collection[str]) -> Expected:
        """Return the counts of the part of these reports that answers some questions."""
        return Expected(self.published.answering(names), self._part(names))

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Refuse, as counts do that were kept without the records."""
        return OfCounts(self.published, self.pairs()).records(held)

    def _support(self, field: Field, n: int) -> npt.NDArray[np.int64]:
        oracle, k = field.oracle, field.k
        p, q = (1.0, 0.0) if oracle is None else (float(oracle.p), float(oracle.q))
        expected = round(n * (q + (p - q) / k))
        return np.full(k, expected, dtype=np.int64)


def with_epsilon(published: Published, epsilon: Decimal) -> Published:
    """Return a survey as if it had another epsilon, divided among its questions as before."""
    times = Fraction(epsilon) / Fraction(published.epsilon)
    attributes = []
    for one in published.attributes:
        changed = copy(one)
        if one.oracle is not None:
            vars(changed)["oracle"] = _scaled(one.oracle, times)
        attributes.append(changed)
    # A copy, as a survey checks all of its texts when it is made. Nobody is asked it: no digest.
    survey = copy(published)
    vars(survey).update(epsilon=epsilon, attributes=tuple(attributes), digest="")
    for name in ("blocks", "layout"):  # which are computed from the attributes, once
        vars(survey).pop(name, None)
    return survey


@lru_cache(maxsize=4096)
def _scaled(oracle: FrequencyOracle, times: Fraction) -> FrequencyOracle:
    # as budgets are, rounded down to 12 places
    units = int(Fraction(oracle.epsilon) * times * 10**12)
    return create(oracle.name, k=oracle.k, epsilon=Decimal(max(units, 10**6)).scaleb(-12))
