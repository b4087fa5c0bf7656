"""Support counts, and joint counts of two attributes: all that estimates need of the records.

Support counts say how many records support each category, joint counts how many support two
categories of different attributes. Of questions that are randomised together the combinations of
answers are counted, under the name of their block; how often a record supports the combinations of
one answer follows from these. Counts add up: those of old records and of new ones together are
the counts of all, so a server that keeps them never reads a record twice. In the count of all pairs
each category is a string of bits, one per record; two categories meet where both have a one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as declared
from functools import partial
from itertools import combinations
from threading import Lock
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.fields import fields_of, over_others
from hushpoll_analysis.records.laws import refuse_draw
from hushpoll_analysis.records.records import CELLS, Records, RecordStream
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, support_counts
from hushpoll_protocols.kernels.blocks import run, spans
from hushpoll_shared.survey.codec import Field
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.wire.batch import answered


class Support(dict[str, npt.NDArray[np.int64]]):
    """Support counts by field of the record; a question that is randomised with others has none."""

    def __missing__(self, name: str) -> NoReturn:
        raise InvalidParameter(
            f"there are no counts of {name} alone: it is randomised in a block with other "
            "questions; name the block, or ask for its estimates",
            field="attribute",
        )


@dataclass(frozen=True, slots=True)
class Counts:
    """How many records support each category; add two to join their rows.

    Attributes
    ----------
    n : int
        Records counted.
    support : mapping of str to int64[k]
        Per field of the record, in its order: of an attribute that is in no block with others, or
        of a block's combinations of answers.
    answered : mapping of str to int
        Per block of a draw, in the same order: how many of the records answer it. All records
        answer what is not here.
    """

    n: int
    support: Mapping[str, npt.NDArray[np.int64]]
    answered: Mapping[str, int] = declared(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "support", Support(self.support))

    def __add__(self, other: Counts) -> Counts:
        if self.support.keys() != other.support.keys():
            raise InvalidParameter(
                f"counts of {', '.join(self.support)} and of {', '.join(other.support)} are of "
                "different surveys; add counts of one published version only",
                field="counts",
            )
        return Counts(
            self.n + other.n,
            {name: support + other.support[name] for name, support in self.support.items()},
            {name: n + other.answered[name] for name, n in self.answered.items()},
        )

    def answering(self, published: Published, name: str) -> Counts:
        """Return the counts of one question's block, of the records that answer it.

        They go with ``published.answering([name])``.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute.
        """
        attribute = published.attribute(name)
        if attribute.draw is None:
            return self
        block = attribute.block or name
        return Counts(self.answered[block], {block: self.support[block]})

    def of(self, published: Published, name: str) -> npt.NDArray[np.int64]:
        """Return the support of a question's categories, int64[k].

        Of a question in a block with others, unless its own support is here: how many combinations
        with each category the records support, all records together, which may be more than n.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute, or it is in a draw: see :meth:`answering`.
        """
        refuse_draw(published.attribute(name))
        block = published.block_of(name)
        if name in self.support or block is None:
            return self.support[name]
        return over_others(self.support[block.name], block, [name])

    def of_several(self, published: Published, names: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the support of one attribute, or of cells of several questions of one block.

        Raises
        ------
        InvalidParameter
            If the survey has no such attribute.
        """
        refuse_draw(published.attribute(names[0]))
        block = published.block_of(names[0])
        if block is None or block.alone:
            return self.of(published, names[0])
        return over_others(self.support[block.name], block, names)

    @classmethod
    def none(cls, published: Published, only: Collection[str] | None = None) -> Counts:
        """Return the counts of no record, of all attributes or of those named only."""
        fields = fields_of(published, only)
        return cls(
            0,
            {field.name: np.zeros(field.k, np.int64) for field in fields},
            {field.name: 0 for field in fields if field.mask is not None},
        )


def count(records: Records | RecordStream, *, only: Collection[str] | None = None) -> Counts:
    """Count the support of every category, in a block of every combination.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    only : collection of str, optional
        Attributes to count, or blocks; by default all.
    """
    total = Counts.none(records.published, only)
    for block in records.blocks(CELLS // records.published.layout.record_size):
        total = total + _count_block(block, only)
    return total


def _count_block(records: Records, only: Collection[str] | None) -> Counts:
    support: dict[str, npt.NDArray[np.int64]] = {}
    answered: dict[str, int] = {}
    for field in fields_of(records.published, only):
        if field.oracle is None:
            support[field.name] = np.bincount(records.codes(field.name), minlength=field.k)
        else:
            part = records.answers_of(field)
            support[field.name] = support_counts(field.oracle, part)
            if field.mask is not None:
                answered[field.name] = len(part)
    return Counts(len(records), support, answered)


PAIRED_CATEGORIES = 1024
"""Categories of all attributes together whose joint counts are kept: at most 2^19 cells, 4 MiB."""

ROWS = 1 << 14
"""Rows counted at a time: a bit per category, so that Adult's 270 take 540 KiB of the cache."""

Cells = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class JointCounts:
    """How often indicators were 1, alone and together; add two to join their rows."""

    n: int
    first: npt.NDArray[np.int64]
    """int64[k1], support counts."""
    second: npt.NDArray[np.int64]
    """int64[k2], support counts."""
    both: npt.NDArray[np.int64]
    """int64[k1, k2], rows in which both indicators were 1. Of questions in blocks with others,
    where a row supports several combinations: the products of both numbers, summed; in one block,
    how often the combinations of both answers are supported."""

    def __add__(self, other: JointCounts) -> JointCounts:
        return JointCounts(
            self.n + other.n,
            self.first + other.first,
            self.second + other.second,
            self.both + other.both,
        )

    @classmethod
    def of(cls, first: npt.NDArray[Any], second: npt.NDArray[Any]) -> JointCounts:
        """Count the matrices [n, k1] and [n, k2] of one chunk, whose sums are below 2^24."""
        # float32 goes through BLAS and is exact for counts below 2^24
        both = first.astype(np.float32).T @ second.astype(np.float32)
        return cls(
            first.shape[0],
            first.sum(axis=0, dtype=np.int64),
            second.sum(axis=0, dtype=np.int64),
            both.astype(np.int64),
        )


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Support counts, and the joint counts of pairs; add two to join their rows."""

    counts: Counts
    joint: Mapping[tuple[str, str], Cells]
    """int64[k1, k2], rows in which both indicators were 1, for each pair of :func:`paired_fields`,
    in the order of the record."""
    within: Mapping[tuple[str, str], Cells] = declared(default_factory=dict)
    """int64[1 + k1 + k2] for each of these pairs with a block of a draw: the rows that answer both,
    and the support of either in these."""

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(
            self.counts + other.counts,
            {pair: cells + other.joint[pair] for pair, cells in self.joint.items()},
            {pair: cells + other.within[pair] for pair, cells in self.within.items()},
        )

    def answering(self, published: Published, names: Collection[str]) -> PairCounts | None:
        """Return the counts of the records that answer some questions; None: they are not kept.

        They go with ``published.answering(names)``, and have the blocks of the questions alone.
        """
        if all(published.attribute(name).draw is None for name in names):
            return self
        fields = [field.name for field in fields_of(published, names)]
        if len(fields) == 1:
            (name,) = fields
            n = self.counts.answered.get(name, self.counts.n)
            return PairCounts(Counts(n, {name: self.counts.support[name]}), {})
        pair = self.of_pair(fields[0], fields[1]) if len(fields) == 2 else None
        if pair is None:
            return None
        support = dict(zip(fields, (pair.first, pair.second), strict=True))
        return PairCounts(Counts(pair.n, support), {(fields[0], fields[1]): pair.both})

    @classmethod
    def none(cls, published: Published) -> PairCounts:
        """Return the counts of no record."""
        return cls.over(
            Counts.none(published),
            paired_fields(published),
            lambda first, second: np.zeros((first.k, second.k), np.int64),
            lambda first, second: np.zeros(1 + first.k + second.k, np.int64),
        )

    @classmethod
    def over(
        cls,
        counts: Counts,
        fields: Sequence[Field],
        joint: Callable[[Field, Field], Cells],
        within: Callable[[Field, Field], Cells],
    ) -> PairCounts:
        """Return the counts of all pairs of some fields, from what gives those of two."""
        pairs = {(one.name, other.name): (one, other) for one, other in combinations(fields, 2)}
        return cls(
            counts,
            {names: joint(*pair) for names, pair in pairs.items()},
            {
                names: within(*pair)
                for names, pair in pairs.items()
                if any(field.mask is not None for field in pair)
            },
        )

    def of_questions(self, published: Published, a: str, b: str) -> JointCounts | None:
        """Return what a cross-table of two questions outside of draws needs; None: not kept."""
        for name in (a, b):
            refuse_draw(published.attribute(name))
        if (a, b) in self.joint or (b, a) in self.joint:
            both = self.joint[a, b] if (a, b) in self.joint else self.joint[b, a].T
            return self._of(published, a, b, np.ascontiguousarray(both))
        first, second = published.block_of(a), published.block_of(b)
        counts = self.counts
        if first is not None and first is second:
            both = over_others(counts.support[first.name], first, [a, b])
        else:
            fields = (a if first is None else first.name, b if second is None else second.name)
            of_fields = self.of_pair(*fields)
            if of_fields is None:
                return None
            both = of_fields.both
            if first is not None:
                both = over_others(both, first, [a])
            if second is not None:
                both = np.ascontiguousarray(over_others(both.T, second, [b]).T)
        return self._of(published, a, b, both)

    def _of(self, published: Published, a: str, b: str, both: Cells) -> JointCounts:
        counts = self.counts
        return JointCounts(counts.n, counts.of(published, a), counts.of(published, b), both)

    def of_pair(self, a: str, b: str) -> JointCounts | None:
        """Return the counts of two fields, in draws of those who answer both; None: not kept."""
        if (a, b) in self.joint:
            both = self.joint[a, b]
        elif (b, a) in self.joint:
            both = np.ascontiguousarray(self.joint[b, a].T)
        else:
            return None
        for names, turned in (((a, b), False), ((b, a), True)):
            if names in self.within:
                n, rest = self.within[names][0], self.within[names][1:]
                one, other = np.split(rest, [self.joint[names].shape[0]])
                first, second = (other, one) if turned else (one, other)
                return JointCounts(int(n), first, second, both)
        support = self.counts.support
        return JointCounts(self.counts.n, support[a], support[b], both)

    def pack(self) -> tuple[bytes, bytes]:
        """Return supports, joint counts and, in draws, `within` as int64, little-endian."""
        answered = np.array(list(self.counts.answered.values()), np.int64)
        support = _packed({**self.counts.support, "": answered})
        return support, _packed(self.joint) + _packed(self.within)

    @classmethod
    def unpack(cls, published: Published, n: int, support: bytes, joint: bytes) -> PairCounts:
        """Read what :meth:`pack` wrote of `n` rows; refuses bytes of other surveys or pairs."""
        empty = cls.none(published)
        names = list(empty.counts.answered)
        shapes = {**empty.counts.support, "": np.zeros(len(names), np.int64)}
        supports = _unpacked(shapes, support)
        answered = dict(zip(names, supports.pop("").tolist(), strict=True))
        pairs = {(pair, False): cells for pair, cells in empty.joint.items()}
        pairs |= {(pair, True): cells for pair, cells in empty.within.items()}
        kept = _unpacked(pairs, joint)
        return cls(
            Counts(n, supports, answered),
            {pair: kept[pair, False] for pair in empty.joint},
            {pair: kept[pair, True] for pair in empty.within},
        )


def paired_fields(published: Published) -> tuple[Field, ...]:
    """Return the fields of the record whose joint counts are kept, in its order.

    Those with the fewest categories, as many as have ``PAIRED_CATEGORIES`` together; of two with
    as many, the first of the record. Of any other pair a cross-table reads the records.
    """
    chosen: set[str] = set()
    left = PAIRED_CATEGORIES
    for field in sorted(published.layout.fields, key=lambda field: field.k):
        if field.k > left:
            break
        left -= field.k
        chosen.add(field.name)
    return tuple(field for field in published.layout.fields if field.name in chosen)


def paired(published: Published) -> tuple[PublishedAttribute, ...]:
    """Return the attributes whose joint counts are kept, or those of their block, in order."""
    kept = [field.name for field in paired_fields(published)]
    return tuple(
        one for one in published.attributes if fields_of(published, [one.name])[0].name in kept
    )


def count_pairs(records: Records | RecordStream) -> PairCounts:
    """Count the support of every category and of every pair of categories that is kept."""
    total = PairCounts.none(records.published)
    for block in records.blocks(CELLS // records.published.layout.record_size):
        total = total + _count_block_in_pairs(block)
    return total


def _count_block_in_pairs(records: Records) -> PairCounts:
    # They need numba, which is slow to import; a server starts without it.
    from hushpoll_analysis.records.pair_kernels import count_bits

    published = records.published
    together = paired_fields(published)
    # One more column says which records answer a block in a draw.
    widths = [field.k + (field.mask is not None) for field in together]
    starts = np.cumsum([0, *widths]).tolist()
    places = {
        field.name: slice(start, start + field.k)
        for field, start in zip(together, starts, strict=False)
    }
    width = starts[-1]
    # Where the columns of the field after each column's own begin.
    later = np.repeat(starts[1:], widths)
    support, joint = np.zeros(width, np.int64), np.zeros((width, width), np.int64)
    adding = Lock()

    def block(rows: slice) -> None:
        bits = np.zeros((width, -(-(rows.stop - rows.start) // 64)), np.uint64)
        part = records.take(rows)
        for field in together:
            if field.mask is None:
                _set_bits(part, field, bits[places[field.name]])
            else:
                end = places[field.name].stop
                _set_answers(part, field, bits[places[field.name].start : end + 1])
        ones, both = np.zeros(width, np.int64), np.zeros((width, width), np.int64)
        count_bits(bits, later, ones, both)
        with adding:
            np.add(support, ones, out=support)
            np.add(joint, both, out=joint)

    run(partial(block, rows) for rows in spans(len(records), ROWS))
    counted = published.layout.fields
    alone = {field.name for field in counted} - set(places)
    others = count(records, only=alone) if alone else Counts(len(records), {})
    support_of = {
        field.name: others.support[field.name]
        if field.name in alone
        else support[places[field.name]]
        for field in counted
    }
    answered_of = {
        field.name: others.answered[field.name]
        if field.name in alone
        else int(support[places[field.name].stop])
        for field in counted
        if field.mask is not None
    }
    return PairCounts.over(
        Counts(len(records), support_of, answered_of),
        together,
        lambda first, second: joint[places[first.name], places[second.name]],
        lambda first, second: _within(first, second, places, support, joint),
    )


def _within(
    first: Field, second: Field, places: Mapping[str, slice], support: Cells, joint: Cells
) -> Cells:
    """Return how many records answer both fields, and the support of either in these."""
    one, other = places[first.name], places[second.name]
    if second.mask is None:
        return np.concatenate([[support[one.stop]], support[one], joint[one.stop, other]])
    if first.mask is None:
        return np.concatenate([[support[other.stop]], joint[one, other.stop], support[other]])
    both = joint[one.stop, other.stop]
    return np.concatenate([[both], joint[one, other.stop], joint[one.stop, other]])


def _set_bits(records: Records, field: Field, bits: Bits) -> None:
    """Set bit i of row v of `bits` where record i supports category v."""
    from hushpoll_analysis.records import pair_kernels as kernels

    if field.oracle is None:
        kernels.set_codes(records.codes(field.name), bits)
    else:
        kernels.set_indicators(indicators(field.oracle, records.of_field(field)), bits)


def _set_answers(records: Records, field: Field, bits: Bits) -> None:
    """Set the same of the records that answer a block of a draw, and which these are last."""
    from hushpoll_analysis.records import pair_kernels as kernels

    chosen = answered(records.rows, field)
    supported = np.zeros((len(records), field.k + 1), np.uint8)
    assert field.oracle is not None  # noqa: S101  (blocks are perturbed)
    supported[chosen, :-1] = indicators(field.oracle, records.answers_of(field))
    supported[:, -1] = chosen
    kernels.set_indicators(supported, bits)


def _packed(arrays: Mapping[Any, Cells]) -> bytes:
    return b"".join(cells.astype("<i8").tobytes() for cells in arrays.values())


def _unpacked(shapes: Mapping[Any, Cells], data: bytes) -> dict[Any, Cells]:
    expected = 8 * sum(cells.size for cells in shapes.values())
    if len(data) != expected:
        raise InvalidParameter(
            f"the stored counts have {len(data)} bytes, and those of this survey {expected}; "
            "count its segments again",
            field="counts",
        )
    values = np.frombuffer(data, "<i8").astype(np.int64)
    ends = np.cumsum([cells.size for cells in shapes.values()])
    return {
        key: values[end - cells.size : end].reshape(cells.shape)
        for (key, cells), end in zip(shapes.items(), ends, strict=True)
    }
