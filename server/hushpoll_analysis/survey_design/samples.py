"""What a weighted estimate needs of a sample: its cells, and the variance of residuals.

A cell is a combination of categories of the attributes whose margins are known. Where such an
attribute is perturbed, no record says in which cell it is; the record then counts in each cell by
the product of its unbiased weights (:mod:`hushpoll_protocols.estimation.weights`), which has the
one-hot truth as its expectation. In clear the product is the one-hot truth itself. So sums over
records of these products are unbiased for the sums over the true cells, also with a third factor
for the outcome, whose noise is independent.

A sample is read from its records, with any weights, or from the counts that a server keeps
(:mod:`hushpoll_analysis.survey_design.count_samples`). Variances from records are those of the
residuals themselves, so they need no law.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.records.counts import count
from hushpoll_analysis.records.records import CELLS, Records
from hushpoll_analysis.survey_design.raking import Factors, Grouping, Places
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]

LARGEST_TABLE = 1 << 18
"""Most cells, times the categories of the outcome."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Sums over the records; C cells, k categories of the outcome.

    Weights a are scaled to sum to 1.

    Attributes
    ----------
    cells, outcome : f64[C], f64[C, k]
        Sums of a in each cell, and in each category of it; unbiased for the sums over truths.
    square_cells, square_outcome : f64[C], f64[C, k]
        The same of a^2.
    weight : float
        Sum of the weights before they were scaled.
    total_error : f64[k] or None
        Standard errors of the sums of unscaled weights in each category, of n records drawn
        independently.
    """

    cells: Array
    outcome: Array
    square_cells: Array
    square_outcome: Array
    weight: float
    total_error: Array | None


class Sample(Protocol):
    """A sample whose cells and residuals can be summed."""

    @property
    def n(self) -> int:
        """Records."""

    @property
    def attributes(self) -> tuple[PublishedAttribute, ...]:
        """Attributes of the cells, in the order of the axes."""

    @property
    def tables(self) -> Tables:
        """Sums over the records."""

    def counts(self, cells: Places, groups: int) -> Array:
        """Return the records in each group of cells in clear, f64[groups]."""

    def errors(self, margin: Grouping) -> Array:
        """Return standard errors of the share of each category of a margin, f64[categories]."""

    def variance(
        self, factors: Factors, fitted: Array, cells: Places, groups: int
    ) -> tuple[Array, Array]:
        """Return sums of squared and of plain residuals in each group of cells, f64[groups, k]."""


@dataclass(frozen=True)
class RecordSample:
    """Records with a weight each.

    Attributes
    ----------
    records : Records
        Read several times.
    outcome : PublishedAttribute
        That is estimated.
    attributes : tuple of PublishedAttribute
        Of the cells: those in clear first (:func:`ordered`).
    weights : f64[n]
        At least 0, not all 0.
    """

    records: Records
    outcome: PublishedAttribute
    attributes: tuple[PublishedAttribute, ...]
    weights: Array

    @cached_property
    def _row_weights(self) -> dict[str, RowWeights]:
        published = self.records.published
        names = [self.outcome.name, *(attribute.name for attribute in self.attributes)]
        counts = count(self.records, only=names)
        return {
            name: RowWeights.of(published, [name], counts.of(published, name), counts.n)
            for name in names
        }

    @property
    def n(self) -> int:
        """Records."""
        return len(self.records)

    @property
    def _clear(self) -> tuple[PublishedAttribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.oracle is None)

    @property
    def _perturbed(self) -> tuple[PublishedAttribute, ...]:
        return tuple(attribute for attribute in self.attributes if attribute.oracle is not None)

    @property
    def _shape(self) -> tuple[int, int]:
        """Cells in clear, and cells of perturbed attributes in each of them."""
        clear, hidden = (
            math.prod(attribute.k for attribute in part) for part in (self._clear, self._perturbed)
        )
        return clear, hidden

    def _scores(self, block: Records, attribute: PublishedAttribute) -> Array:
        """Return the unbiased weights of an attribute's categories, f64[rows, k]."""
        return self._row_weights[attribute.name].rows(block)

    def _parts(self) -> Iterator[tuple[int, Array, Array, Array]]:
        """Yield parts with one cell in clear: its place, weights a, scores of cells, of outcome."""
        clear, hidden = self._clear, self._perturbed
        shape, start = self._shape, 0
        scale = self.weights.sum()
        for block in self.records.blocks(CELLS // (8 * (shape[1] + self.outcome.k))):
            weights = self.weights[start : start + len(block)] / scale
            start += len(block)
            place = np.zeros(len(block), np.int64)
            for attribute in clear:
                place = place * attribute.k + block.codes(attribute.name)
            scores = np.ones((len(block), 1))
            for attribute in hidden:
                product = scores[:, :, None] * self._scores(block, attribute)[:, None, :]
                scores = product.reshape(len(block), -1)
            outcome = self._scores(block, self.outcome)
            order = np.argsort(place, kind="stable")
            for rows in np.split(order, np.flatnonzero(np.diff(place[order])) + 1):
                if len(rows):
                    yield int(place[rows[0]]), weights[rows], scores[rows], outcome[rows]

    @cached_property
    def tables(self) -> Tables:
        """Sums over the records."""
        shape, k = self._shape, self.outcome.k
        cells, squares = np.zeros(shape), np.zeros(shape)
        outcome, outcome_squares = np.zeros((*shape, k)), np.zeros((*shape, k))
        plain, square = np.zeros(k), np.zeros(k)
        for place, weight, scores, answers in self._parts():
            once = weight[:, None] * scores
            twice = weight[:, None] * once
            cells[place] += once.sum(axis=0)
            squares[place] += twice.sum(axis=0)
            outcome[place] += once.T @ answers
            outcome_squares[place] += twice.T @ answers
            weighted = weight[:, None] * answers
            plain += weighted.sum(axis=0)
            square += np.square(weighted).sum(axis=0)
        size, scale = shape[0] * shape[1], float(self.weights.sum())
        spread = np.maximum(square - np.square(plain) / self.n, 0.0) * self.n / max(self.n - 1, 1)
        return Tables(
            cells.reshape(size),
            outcome.reshape(size, k),
            squares.reshape(size),
            outcome_squares.reshape(size, k),
            scale,
            scale * np.sqrt(spread),
        )

    def counts(self, cells: Places, groups: int) -> Array:
        """Return the records in each group of cells in clear, f64[groups]."""
        found, of_clear = np.zeros(groups), cells.reshape(self._shape)[:, 0]
        for place, weight, _, _ in self._parts():
            found[of_clear[place]] += len(weight)
        return found

    def errors(self, margin: Grouping) -> Array:
        """Return standard errors of the share of each category of a margin, f64[categories]."""
        number = len(margin.shares)
        places = margin.places.reshape(self._shape)
        shares = margin.sums(self.tables.cells)
        total = np.zeros(number)
        for place, weight, scores, _ in self._parts():
            belongs = (places[place][:, None] == np.arange(number)).astype(np.float64)
            total += np.square(weight[:, None] * (scores @ belongs - shares)).sum(axis=0)
        return np.sqrt(total)

    def variance(
        self, factors: Factors, fitted: Array, cells: Places, groups: int
    ) -> tuple[Array, Array]:
        """Return sums of squared and of plain residuals in each group of cells, f64[groups, k]."""
        shape, k = self._shape, self.outcome.k
        factor, explained = factors.factor.reshape(shape), fitted.reshape(*shape, k)
        of_clear = cells.reshape(shape)[:, 0]
        squares, sums = np.zeros((groups, k)), np.zeros((groups, k))
        for place, weight, scores, answers in self._parts():
            scaled = scores * factor[place]
            residual = scaled.sum(axis=1, keepdims=True) * answers - scaled @ explained[place]
            residual *= weight[:, None]
            squares[of_clear[place]] += np.square(residual).sum(axis=0)
            sums[of_clear[place]] += residual.sum(axis=0)
        return squares, sums


def ordered(attributes: Sequence[PublishedAttribute]) -> tuple[PublishedAttribute, ...]:
    """Return the attributes of cells, those in clear first."""
    return tuple(sorted(attributes, key=lambda attribute: attribute.oracle is not None))


def require_size(attributes: Sequence[PublishedAttribute], outcome: PublishedAttribute) -> None:
    """Refuse a table that is too large.

    Raises
    ------
    InvalidParameter
        Naming its attributes.
    """
    size = outcome.k * math.prod(attribute.k for attribute in attributes)
    if size > LARGEST_TABLE:
        raise InvalidParameter(
            f"the margins of {', '.join(attribute.name for attribute in attributes)} and "
            f"{outcome.name} make a table of {size} cells, and it may have {LARGEST_TABLE}: give "
            "fewer margins, or attributes with fewer categories",
            field="margins",
        )
