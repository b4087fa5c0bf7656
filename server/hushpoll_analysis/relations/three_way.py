"""Tables of three attributes, unbiased and with intervals, each perturbed or in clear.

A cell is the mean product of three weights, one of each attribute
(:mod:`hushpoll_protocols.estimation.weights`). They are perturbed independently, so its expectation
is the share of the population in all three categories; the table sums to the cross-table of any two
of its attributes. A weight is linear in the indicators and 1, so the counts of all triples of
indicators, with 1 as one more of each attribute, give the table: they add up over blocks of
records, and no product of weights is formed per record.

The raw moments of the product follow from the law. With s_i = e_i + (m_i - e_i)[truth in cell] the
moment of weight i given the truth, the mean of s_1 s_2 s_3 is linear in the cell's share, given the
estimates of pairs and of single attributes. The interval is the score interval with the variance
and the skewness that these give (:mod:`hushpoll_protocols.estimation.score`).

Of questions that are randomised together the weight is that of the combination of their answers, so
that the table is one of fewer sides: of two as a cross-table, of one as estimates.

Records tell two attributes by independent noise if they are randomised apart. Questions of one
block are told by one record, so that together they are one side, whose categories are the
combinations of their answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any, ClassVar, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.joint import (
    Margin,
    RowMoments,
    Side,
    estimate_joint,
    product_limits,
)
from hushpoll_analysis.frames.tabular import Tabular
from hushpoll_analysis.records.answering import require_answered
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import cells_of, law_of
from hushpoll_analysis.records.numbers import numbers
from hushpoll_analysis.records.records import CELLS, Records, RecordStream
from hushpoll_analysis.verdicts.expected import Expected
from hushpoll_analysis.verdicts.judging import verdict_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import estimate, normal_quantile
from hushpoll_protocols.estimation.marginals import AnyLaw, members_of
from hushpoll_shared.qualifying.verdict import Reach, Verdict, share_tells
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.querying.query import Query
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute


@dataclass(frozen=True, slots=True)
class TableSide:
    """An attribute, or several questions of one block."""

    names: tuple[str, ...]
    k: int
    """Categories, or combinations of answers that can be given together."""
    law: AnyLaw | None
    """None in clear."""
    possible: tuple[bool, ...] | None = None
    """Which combinations of answers can be given together; None if all can."""

    @property
    def most(self) -> int:
        """Combinations of the block with one of the side's that a record can support."""
        return max(members_of(self.law, self.k))

    @property
    def all_cells(self) -> int:
        """Categories, or combinations of answers, with those that cannot be given together."""
        return self.k if self.possible is None else len(self.possible)

    def numbers(self, records: Records) -> npt.NDArray[Any]:
        """Return how many combinations with each category the records support, [n, k]."""
        whole = numbers(records, self.names).reshape(len(records), self.all_cells)
        return whole if self.possible is None else whole[:, list(self.possible)]

    def spread_out(self, table: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """Return a table with a 0 for combinations of answers that cannot be given together."""
        if self.possible is None:
            return table
        whole = np.zeros((self.all_cells, *np.delete(table.shape, axis)), table.dtype)
        whole[list(self.possible)] = np.moveaxis(table, axis, 0)
        return np.moveaxis(whole, 0, axis)


def table_sides(
    published: Published, attributes: Sequence[PublishedAttribute]
) -> tuple[TableSide, ...]:
    """Return the sides of a table of some attributes, in the order of their first ones."""
    sides: dict[str, list[PublishedAttribute]] = {}
    for attribute in attributes:
        block = published.block_of(attribute.name)
        sides.setdefault(attribute.name if block is None else block.name, []).append(attribute)
    return tuple(_side(published, questions) for questions in sides.values())


def as_asked(
    table: npt.NDArray[Any], sides: Sequence[TableSide], attributes: Sequence[PublishedAttribute]
) -> npt.NDArray[Any]:
    """Return a table of sides with an axis for each attribute, in the order of these."""
    table = table.reshape([side.k for side in sides])
    for axis, side in enumerate(sides):
        table = side.spread_out(table, axis)
    sizes = {attribute.name: attribute.k for attribute in attributes}
    held = [name for side in sides for name in side.names]
    axes = table.reshape([sizes[name] for name in held])
    return np.transpose(axes, [held.index(attribute.name) for attribute in attributes])


def _side(published: Published, questions: Sequence[PublishedAttribute]) -> TableSide:
    names = tuple(question.name for question in questions)
    block = published.block_of(names[0])
    if len(questions) == 1 or block is None:
        return TableSide(names, questions[0].k, law_of(questions[0]))
    sizes, law = cells_of(block, names)
    possible = None if sizes.all() else tuple((sizes > 0).ravel().tolist())
    return TableSide(names, int((sizes > 0).sum()), law, possible)


Array = npt.NDArray[np.float64]

LARGEST_TABLE = 1 << 16
"""Most cells of a table of three attributes."""


class TableCell(TypedDict):
    """A cell of a joint table; ``likelihood`` where it was asked for."""

    categories: list[str]
    frequency: float
    standard_error: float
    lower: float
    upper: float
    likelihood: NotRequired[float]


class LikelihoodDocument(TypedDict):
    """How near the maximum the likelihood of a joint table is."""

    interval: str
    deficit: float
    iterations: int


class JointTableDocument(TypedDict):
    """A joint table as the job and ``--json`` give it."""

    verdict: JsonObject | None
    kind: str
    attributes: list[str]
    n: int
    confidence: float
    intervals: str
    cells: list[TableCell]
    likelihood: LikelihoodDocument | None


@dataclass(frozen=True, slots=True)
class UnbiasedTable(Tabular):
    """Estimated shares of the population in each triple, or pair, of categories.

    Attributes
    ----------
    attributes : tuple of str
        In the order of the axes.
    categories : tuple of tuple of str
        Of each attribute, in code order.
    n : int
        Records behind it.
    confidence : float
        Of each interval.
    frequency, standard_error, lower, upper : f64[k1, k2, k3] or f64[k1, k2]
        Unbiased and not projected: a frequency may fall outside [0, 1]. All cells sum to 1.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    statistic_name: ClassVar[str] = "joint-table"

    attributes: tuple[str, ...]
    categories: tuple[tuple[str, ...], ...]
    n: int
    confidence: float
    frequency: Array
    standard_error: Array
    lower: Array
    upper: Array
    verdict: Verdict | None = None

    def cells(self) -> list[TableCell]:
        """Return one entry per cell, the last attribute's categories changing fastest."""
        return [
            {
                "categories": [
                    names[code] for names, code in zip(self.categories, place, strict=True)
                ],
                "frequency": float(self.frequency[place]),
                "standard_error": float(self.standard_error[place]),
                "lower": float(self.lower[place]),
                "upper": float(self.upper[place]),
            }
            for place in np.ndindex(self.frequency.shape)
        ]

    def to_dict(self) -> JointTableDocument:
        """Return the table as the job and ``--json`` give it: one entry per cell."""
        return {
            "verdict": to_json(self.verdict),
            "kind": "joint table",
            "attributes": list(self.attributes),
            "n": self.n,
            "confidence": self.confidence,
            "intervals": how_to_read(self.frequency.size, self.confidence),
            "cells": self.cells(),
            "likelihood": None,
        }


def three_way_table(
    records: Records | RecordStream, a: str, b: str, c: str, *, confidence: float = 0.95
) -> UnbiasedTable:
    """Estimate the table of three different attributes.

    Assumptions: respondents are drawn independently from their population, and their devices follow
    the protocol.

    Parameters
    ----------
    records : Records or RecordStream
        Read once, in blocks.
    a, b, c : str
        Names of three different attributes.
    confidence : float
        In (0, 1).

    Raises
    ------
    InvalidParameter
        For an unknown attribute, one that is named twice, a table of more than `LARGEST_TABLE`
        cells, questions that nobody answers at once, a bad confidence, or no records.
    """
    z = normal_quantile(confidence)
    table_attributes(records.published, (a, b, c))
    require_answered(records.published, (a, b, c))
    records = records.answering((a, b, c))
    attributes = table_attributes(records.published, (a, b, c))
    sides = table_sides(records.published, attributes)
    counts, n = _count(records, sides)
    require_rows(n)
    table, error, lower, upper = (
        as_asked(part, sides, attributes) for part in _estimated(counts, n, sides, z)
    )
    return UnbiasedTable(
        attributes=(a, b, c),
        categories=tuple(attribute.domain for attribute in attributes),
        n=n,
        confidence=confidence,
        frequency=table,
        standard_error=error,
        lower=lower,
        upper=upper,
        verdict=_verdict(Expected(records.published, n), (a, b, c), confidence),
    )


def _estimated(
    counts: npt.NDArray[np.int64], n: int, sides: Sequence[TableSide], z: float
) -> tuple[Array, Array, Array, Array]:
    """Return the cells with their standard errors and limits, from the counts of all tuples."""
    confidence = 2 * NormalDist().cdf(z) - 1
    if len(sides) == 1 and sides[0].law is not None:
        alone = estimate(sides[0].law, counts[:-1], n, confidence=confidence)
        return alone.frequency, alone.standard_error, alone.lower, alone.upper
    if len(sides) == 2:
        pair = JointCounts(n, counts[:-1, -1], counts[-1, :-1], counts[:-1, :-1])
        first, second = (Side.of(side.law) for side in sides)
        cells = estimate_joint(pair, first, second, confidence=confidence)
        return cells.frequency, cells.standard_error, cells.lower, cells.upper
    table, moments = counts.astype(np.float64) / n, []
    for axis, given in enumerate(sides):
        margin = Margin.of(np.moveaxis(counts, axis, 0)[:-1, -1, -1], n, Side.of(given.law))
        moments.append(margin.moments())
        table = np.moveaxis(np.tensordot(_weights(margin), table, (1, axis)), 0, axis)
    perturbed = [given.law is not None for given in sides]
    return table, *_intervals(table, moments, n, z, perturbed)


def _verdict(expected: Expected, names: tuple[str, str, str], confidence: float) -> Verdict:
    """Return the verdict on the table: the intervals' width at the counts that are expected."""

    def foresee(_: Query[Any], sides: Sequence[Expected]) -> list[Reach]:
        (side,) = sides
        asked = [side.published.attribute(name) for name in names]
        of_table = table_sides(side.published, asked)
        counts = side.questions(names)
        tuples = np.full((), float(side.n))
        for part in of_table:
            support = counts.of_several(side.published, part.names).ravel()
            if part.possible is not None:
                support = support[list(part.possible)]
            support = np.append(support, side.n)
            tuples = tuples[..., None] * (support / side.n)
        counted = np.rint(tuples).astype(np.int64)
        lower, upper = _estimated(counted, side.n, of_table, normal_quantile(confidence))[2:]
        what = f"a share of {names[0]}, {names[1]} and {names[2]} together"
        half = float((upper - lower).max()) / 2
        return [Reach(part="cells", what=what, half_width=half, most=share_tells(lower.size))]

    # no query is of three questions: that of two is told apart from it by all their names
    query = CrossTable(a=names[0], b=names[1], confidence=confidence)
    return verdict_of(query, [expected], foresee, names)


def table_attributes(published: Published, names: Sequence[str]) -> list[PublishedAttribute]:
    """Return two or three different attributes; refuses more than `LARGEST_TABLE` cells."""
    if len(names) not in (2, 3):
        raise InvalidParameter(
            f"attributes names {len(names)}; a joint table has two or three", field="attributes"
        )
    attributes = [published.attribute(name, field="attributes") for name in names]
    if len(set(names)) < len(names):
        raise InvalidParameter(
            f"attributes names {', '.join(names)}; a joint table needs different ones, since only "
            "their noise is independent",
            field="attributes",
        )
    size = int(np.prod([attribute.k for attribute in attributes], dtype=np.int64))
    if size > LARGEST_TABLE:
        raise InvalidParameter(
            f"the table of {', '.join(names)} has {size} cells, and a joint table has at most "
            f"{LARGEST_TABLE}: choose attributes with fewer categories",
            field="attributes",
        )
    return attributes


def _count(
    records: Records | RecordStream, sides: Sequence[TableSide]
) -> tuple[npt.NDArray[np.int64], int]:
    """Return how many records support each tuple, int64[k1 + 1, ...], the last of any category."""
    shape = tuple(side.k + 1 for side in sides)
    *first, last = shape
    left, most = math.prod(first), math.prod(side.most for side in sides)
    total, n = np.zeros((left, last), np.int64), 0
    for block in records.blocks(min(CELLS // (left + last), 1 << 20) // most):
        # float32 goes through BLAS and is exact for counts below 2^24
        parts = [
            np.pad(side.numbers(block), ((0, 0), (0, 1)), constant_values=1).astype(np.float32)
            for side in sides
        ]
        both = np.ones((len(block), 1), np.float32)
        for part in parts[:-1]:
            both = (both[:, :, None] * part[:, None, :]).reshape(len(block), -1)
        total += (both.T @ parts[-1]).astype(np.int64)
        n += len(block)
    return total.reshape(shape), n


def _weights(margin: Margin) -> Array:
    """Return the matrix f64[k, k + 1] from indicators and 1 to weights."""
    share, channel = margin.shares, margin.side.channel
    k = len(share)
    debias = np.eye(k + 1) / channel.gap
    debias[:k, k] = -channel.elsewhere / channel.gap
    debias[k] = 0.0
    debias[k, k] = 1.0
    spread = np.hstack([np.eye(k) - share[:, None], share[:, None]])
    return np.asarray(spread @ debias)


def _intervals(
    table: Array, moments: Sequence[RowMoments], n: int, z: float, perturbed: Sequence[bool]
) -> tuple[Array, Array, Array]:
    """Return standard errors and limits of the cells."""
    shares: dict[tuple[int, ...], Array] = {
        axes: np.clip(table.sum(axis=3 - sum(axes), keepdims=True), 0.0, 1.0)
        for axes in combinations(range(3), 2)
    }
    for axis, moment in enumerate(moments):
        shares[axis,] = _along(moment.frequency, axis)
    shares[()] = np.ones((1, 1, 1))

    def mixed(at_match: Sequence[Array], elsewhere: Sequence[Array]) -> tuple[Array, Array]:
        match = [_along(values, axis) for axis, values in enumerate(at_match)]
        other = [_along(values, axis) for axis, values in enumerate(elsewhere)]
        rises = [one - two for one, two in zip(match, other, strict=True)]
        none: Array = np.zeros(table.shape)
        for axes, share in shares.items():
            product = share
            for axis in range(3):
                product = product * (rises[axis] if axis in axes else other[axis])
            none = none + product
        return none, np.asarray(rises[0] * rises[1] * rises[2])

    second = mixed([one.second for one in moments], [one.other for one in moments])
    third = mixed([one.third for one in moments], [one.other_third for one in moments])
    least = np.maximum(shares[0,] + shares[1,] + shares[2,] - 2.0, 0.0)
    return product_limits(table, n, second, third if any(perturbed) else None, least=least, z=z)


def _along(values: Array, axis: int) -> Array:
    shape = [1, 1, 1]
    shape[axis] = -1
    return values.reshape(shape)
