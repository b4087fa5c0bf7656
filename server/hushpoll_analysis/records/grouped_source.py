"""A source for readers who may not export: it has the counts of groups that they may see.

Every query goes through it, and none knows of it. What cannot be answered of such groups is refused
here, in words that say what a reader can do.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NoReturn

import numpy as np

from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts, paired_fields
from hushpoll_analysis.records.domains import FIELD, Domain
from hushpoll_analysis.records.hidden_groups import ClearGroups
from hushpoll_analysis.records.merging import merged_cells, merged_support
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import MemoryNeed, Source
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published


@dataclass(frozen=True)
class OfGroups:
    """The counts of another source, of all reports or of a domain, of groups that may be seen."""

    whole: Source
    groups: ClearGroups

    @property
    def published(self) -> Published:
        """The survey as it may be seen."""
        return self.groups.shown

    def questions(self, only: Collection[str] | None = None) -> Counts:
        """Return the support counts of questions; raises as the other source."""
        asked = None if only is None else [name for name in only if name not in self.groups.hidden]
        return self._counts(self.whole.questions(asked))

    def pair(self, a: str, b: str) -> JointCounts:
        """Return joint counts of two questions; refuses cells in clear of too few reports."""
        for name in (a, b):
            self.groups.require(name, field="attribute")
        if not self.groups.meets(a, b):
            raise InvalidParameter(
                f"{self.groups.no_table(a, b)}; {self.groups.remedy}", field="attribute"
            )
        counts = self.whole.pair(a, b)
        rows, columns = self.groups.places.get(a), self.groups.places.get(b)
        return JointCounts(
            counts.n,
            counts.first if rows is None else merged_support(counts.first, rows),
            counts.second if columns is None else merged_support(counts.second, columns),
            merged_cells(counts.both, rows, columns),
        )

    def pairs(self) -> PairCounts:
        """Return the counts of all pairs; refuses cells in clear of too few reports."""
        kept = self.whole.pairs()
        joint, within = {}, {}
        for first, second in combinations(paired_fields(self.published), 2):
            a, b = first.name, second.name
            if not self.groups.meets(a, b):
                raise InvalidParameter(
                    f"all pairs are asked for, and {self.groups.no_table(a, b)}; ask for single "
                    "pairs, or ask an administrator for the role analyst in "
                    f"{self.published.name}, which may export the records",
                    field="where",
                )
            counts = kept.of_pair(a, b)
            if counts is not None:
                places = self.groups.places
                joint[a, b] = merged_cells(counts.both, places.get(a), places.get(b))
                if (a, b) in kept.within:
                    sides = ((counts.first, places.get(a)), (counts.second, places.get(b)))
                    merged = [one if to is None else merged_support(one, to) for one, to in sides]
                    within[a, b] = np.concatenate([[counts.n], *merged])
        return PairCounts(self._counts(kept.counts), joint, within)

    def records(self, held: MemoryNeed) -> AbstractContextManager[Records | RecordStream]:
        """Refuse: a record has the answers in clear as they were given."""
        raise InvalidParameter(
            f"{held.field} is {held.value!r}, which reads the records themselves, and records of "
            f"{self.published.name} have answers in clear; {self.groups.remedy}, or choose another "
            f"{held.field}",
            field=held.field,
        )

    def within(self, domain: Domain) -> OfGroups:
        """Return the source of groups of one attribute; refuses conditions on several."""
        if len(domain.codes) > 1:
            self._refuse_several(domain)
        ((name, mask),) = domain.codes.items()
        inside = self.whole.within(Domain(domain.words, {name: self.groups.codes_of(name, mask)}))
        return OfGroups(inside, self.groups.within())

    def answering(self, names: Collection[str]) -> OfGroups:
        """Return the source of the reports that answer all of some questions."""
        groups = replace(self.groups, published=self.groups.published.answering(names))
        return OfGroups(self.whole.answering(names), groups)

    def _refuse_several(self, domain: Domain) -> NoReturn:
        raise InvalidParameter(
            f"{FIELD} has conditions on {', '.join(domain.codes)}; readers without the right to "
            "export have conditions on one attribute, because several together can leave few "
            f"reports: give one, or {self.groups.remedy}",
            field=FIELD,
        )

    def _counts(self, counts: Counts) -> Counts:
        places = self.groups.places
        return Counts(
            counts.n,
            {
                name: merged_support(support, places[name]) if name in places else support
                for name, support in counts.support.items()
                if name not in self.groups.hidden
            },
            counts.answered,
        )
