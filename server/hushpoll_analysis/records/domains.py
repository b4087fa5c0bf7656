"""A domain of records: those that meet conditions on attributes in clear, chosen or counted.

Of a condition on a perturbed attribute nobody knows which records meet it. A statistic within the
groups of another attribute has its law, and takes it as the one group that is asked for:
`asked_group`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.counts import Counts, JointCounts, PairCounts
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.qualifying.domains import Where, where_words
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published

FIELD = "where"
Mask = npt.NDArray[np.bool_]
_Counted = TypeVar("_Counted", Counts, JointCounts, PairCounts)


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """Conditions on attributes in clear, each of which a record must meet."""

    words: str
    """What they say."""
    codes: Mapping[str, Mask]
    """bool[k] by attribute: which of its categories meet the condition."""

    @classmethod
    def of(cls, published: Published, where: Where) -> Domain:
        """Return the domain of conditions."""
        codes: dict[str, Mask] = {}
        for name, categories in where.items():
            domain = published.attribute(name, field=FIELD).domain
            for category in categories:
                if category not in domain:
                    raise InvalidParameter(
                        f"{FIELD} has {show(category)}, which is no category of {name} in "
                        f"{published.name} version {published.version}; give some of "
                        f"{', '.join(domain[:12])}, one with a comma in quotes",
                        field=FIELD,
                    )
            codes[name] = np.isin(np.array(domain, dtype=object), list(categories))
        return cls(where_words(where), codes)

    def perturbed(self, published: Published) -> list[str]:
        """Return the attributes of the conditions whose answers nobody knows."""
        return [name for name in self.codes if published.attribute(name).oracle is not None]

    def records_in(self, records: Records) -> Records:
        """Return the records of the domain; refuses if there is none."""
        found = self._of_block(records)
        self._require(len(found))
        return found

    def stream(self, records: RecordStream) -> RecordStream:
        """Return the records of the domain as a stream; raises as `chosen`, once it was read."""
        return RecordStream(records.published, self._stream(records))

    def counted(self, pairs: PairCounts) -> PairCounts | None:
        """Return those counts of the domain that follow from kept ones; None: nothing does.

        They do where there are no draws, and one attribute makes the domain: support counts of each
        attribute that is kept in a pair with it, and the joint counts of these pairs.
        """
        if len(self.codes) > 1:
            return None
        if pairs.counts.answered:
            # How many of the domain answer a block is not kept.
            return None
        ((name, mask),) = self.codes.items()
        whole = pairs.counts.support
        inside = np.where(mask, whole[name], 0)
        support, joint = {}, {}
        for other in whole:
            pair = None if other == name else pairs.of_pair(name, other)
            if other == name:
                support[name] = inside
            elif pair is not None:
                joint[name, other] = np.where(mask[:, None], pair.both, 0)
                support[other] = joint[name, other].sum(axis=0)
        return self.some(PairCounts(Counts(int(inside.sum()), support), joint))

    def some(self, counts: _Counted) -> _Counted:
        """Return counts of the domain; refuses if they are of no record."""
        self._require(counts.counts.n if isinstance(counts, PairCounts) else counts.n)
        return counts

    def _of_block(self, records: Records) -> Records:
        met = np.ones(len(records), dtype=bool)
        for name, mask in self.codes.items():
            met &= mask[records.codes(name)]
        return records.take(met)

    def _stream(self, records: RecordStream) -> Iterator[Records]:
        found = 0
        for part in records.blocks(1 << 20):
            chosen = self._of_block(part)
            found += len(chosen)
            yield chosen
        self._require(found)

    def _require(self, records: int) -> None:
        if records == 0:
            raise InvalidParameter(
                f"there is no report where {self.words}; ask of more categories, or without a "
                "condition",
                field=FIELD,
            )


def asked_group(where: Where | None, published: Published) -> tuple[str, str] | None:
    """Return the one perturbed attribute and category that conditions name; None where none is."""
    for name, categories in (where or {}).items():
        if published.attribute(name, field=FIELD).oracle is not None:
            return name, categories[0]
    return None
