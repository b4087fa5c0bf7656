"""What a weighted estimate needs of a sample: its cells, and the variance of residuals.

A cell is a combination of categories of the attributes whose margins are known. Where such an
attribute is perturbed, no record says in which cell it is; the record then counts in each cell by
the product of its unbiased weights (:mod:`hushpoll_protocols.estimation.weights`), which has the
one-hot truth as its expectation. In clear the product is the one-hot truth itself. So sums over
records of these products are unbiased for the sums over the true cells, also with a third factor
for the outcome, whose noise is independent.

A sample is read from its records, with any weights, or from the counts that a server keeps.
Variances from records are those of the residuals themselves, so they need no law.

Joint counts are of the outcome and one attribute, which has a margin, strata or weights, or there
is none of these. It may be perturbed, and then all records have one weight. The counts give the
unbiased joint shares. The variance of a residual follows from them and from the law of the weights:
noise in the outcome and in the attribute is independent given the truth, so the second moment of a
product is the product of second moments, summed over the truths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.joint import Margin, RowMoments, Side, joint_frequencies
from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.records.counts import JointCounts, count
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.records.records import CELLS, Records
from hushpoll_analysis.survey_design.raking import Factors, Grouping, Places
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]

LARGEST_TABLE = 1 << 18
"""Most cells, times the categories of the outcome."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Sums over the records by C cells and k categories, with weights a that sum to 1."""

    cells: Array
    """f64[C], sums of a in each cell."""
    outcome: Array
    """f64[C, k], in each category of it; both are unbiased for the sums over truths."""
    square_cells: Array
    """f64[C], and `square_outcome` f64[C, k]: the same of a^2."""
    square_outcome: Array
    weight: float
    """Sum of the weights before they were scaled."""
    total_error: Array | None
    """f64[k], standard errors of the sums of unscaled weights in each category, of n records drawn
    independently."""


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
    """Records with a weight each."""

    records: Records
    """Read several times."""
    outcome: PublishedAttribute
    attributes: tuple[PublishedAttribute, ...]
    """The cells' attributes, those in clear first (:func:`ordered`)."""
    weights: Array
    """f64[n], at least 0, not all 0."""

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
    """Refuse a table that is too large."""
    size = outcome.k * math.prod(attribute.k for attribute in attributes)
    if size > LARGEST_TABLE:
        raise InvalidParameter(
            f"the margins of {', '.join(attribute.name for attribute in attributes)} and "
            f"{outcome.name} make a table of {size} cells, and it may have {LARGEST_TABLE}: give "
            "fewer margins, or attributes with fewer categories",
            field="margins",
        )


@dataclass(frozen=True)
class CountSample:
    """The joint counts of the outcome and of one attribute, or of the outcome alone."""

    joint: JointCounts
    """Without an attribute, `both` has a single column of all records."""
    outcome: PublishedAttribute
    attribute: PublishedAttribute | None
    weights: Array | None = None
    """f64[C], weight of a respondent in each cell, of an attribute in clear."""

    @classmethod
    def alone(
        cls, support: npt.NDArray[np.int64], n: int, outcome: PublishedAttribute
    ) -> CountSample:
        """Return the sample from the outcome's support counts, all records in one cell."""
        everybody = np.array([n], np.int64)
        return cls(JointCounts(n, support, everybody, support[:, None]), outcome, None)

    @property
    def n(self) -> int:
        """Records."""
        return self.joint.n

    @property
    def attributes(self) -> tuple[PublishedAttribute, ...]:
        """Attributes of the cells, in the order of the axes."""
        return () if self.attribute is None else (self.attribute,)

    @property
    def _margins(self) -> tuple[Margin, Margin]:
        """What the records tell of the outcome, and of their cells."""
        laws = law_of(self.outcome), None if self.attribute is None else law_of(self.attribute)
        return Margin.of_both(self.joint, *(Side.of(law) for law in laws))

    @cached_property
    def _unweighted(self) -> tuple[Array, Array]:
        outcome, cells = self._margins
        joint, _, shares = joint_frequencies(self.joint, outcome.side, cells.side)
        return shares, joint.T

    @property
    def _moments(self) -> RowMoments:
        return self._margins[0].moments()

    @cached_property
    def tables(self) -> Tables:
        """Sums over the records."""
        cells, outcome = self._unweighted
        weights = np.ones(len(cells)) if self.weights is None else self.weights
        mean = float(weights @ cells)
        once, twice = weights / mean, np.square(weights / mean) / self.n
        total_error = None
        if self.weights is not None:
            law = self._moments
            square = np.square(weights) @ cells * law.other
            square = square + np.square(weights) @ outcome * (law.second - law.other)
            spread = np.maximum(square - np.square(weights @ outcome), 0.0)
            total_error = np.sqrt(spread * self.n * self.n / max(self.n - 1, 1))
        return Tables(
            once * cells,
            once[:, None] * outcome,
            twice * cells,
            twice[:, None] * outcome,
            mean * self.n,
            total_error,
        )

    def counts(self, cells: Places, groups: int) -> Array:
        """Return the records in each group of cells in clear, f64[groups]."""
        # Whole numbers, since a stratum of one record is refused: n times a share is none exactly.
        return np.asarray(np.rint(np.bincount(cells, self.n * self._unweighted[0], groups)))

    def errors(self, margin: Grouping) -> Array:
        """Return standard errors of the share of each category of a margin, f64[categories]."""
        law = self._margins[1].moments()
        share = np.clip(margin.sums(self.tables.cells), 0.0, 1.0)
        square = law.other + (law.second - law.other) * share
        return np.asarray(np.sqrt(np.maximum(square - np.square(share), 0.0) / self.n))

    def variance(
        self, factors: Factors, fitted: Array, cells: Places, groups: int
    ) -> tuple[Array, Array]:
        """Return sums of squared and of plain residuals in each group of cells, f64[groups, k]."""
        law, tables = self._moments, self.tables
        cells_law = None if self.attribute is None else law_of(self.attribute)
        # E[W^2] of the outcome where the truth is in the cell
        square = tables.square_outcome * (law.second - law.other)
        square += law.other * tables.square_cells[:, None]
        factor = factors.factor[:, None]
        pull = factor * fitted
        forms = _forms(
            WeightCovariances.of(cells_law), self._excess(cells_law is not None), factor, pull
        )
        by_cell = square * forms[0] - 2 * tables.square_outcome * forms[1]
        by_cell += tables.square_cells[:, None] * forms[2]
        squares = np.zeros((groups, len(self.outcome.domain)))
        np.add.at(squares, cells, by_cell)
        residuals = factor * tables.outcome - pull * tables.cells[:, None]
        sums = np.zeros_like(squares)
        np.add.at(sums, cells, residuals)
        return np.maximum(squares, 0.0), sums

    def _excess(self, perturbed: bool) -> Array:
        if not perturbed:
            return np.zeros(len(self._unweighted[0]))
        return self._margins[1].shares


def _forms(
    covariances: WeightCovariances, excess: Array, first: Array, second: Array
) -> tuple[Array, Array, Array]:
    """Return E[(x'W)(y'W) | truth t] for (x, y) = (d, d), (d, e) and (e, e), each f64[C, k].

    Given the truth t, W has the mean e_t and the noise (I - c 1') eps, of which eps has the
    variances M at t and E elsewhere and the covariances of :class:`WeightCovariances`.

    `excess` f64[C] are the constants c of the cells' attribute, `first` f64[C, 1] is d and `second`
    f64[C, k] is e.
    """
    law = covariances.law
    # sets of m values have the sums of what two values have
    m = np.ones(1) if covariances.sizes is None else covariances.sizes[:, None]
    match, elsewhere = (
        np.broadcast_to(part, excess.shape)[:, None] for part in (law.at_match, law.elsewhere)
    )
    apart, touching = (
        covariances.between_others,
        covariances.with_truth - covariances.between_others,
    )

    def form(x: Array, y: Array) -> Array:
        u, v = (values - excess @ values if law.varies else values for values in (x, y))
        own = match - elsewhere - 2 * m * touching
        of_u, of_v = (m * u).sum(axis=0), (m * v).sum(axis=0)
        noise = ((elsewhere - m**2 * apart) * u * v).sum(axis=0) + own * u * v
        noise = noise + apart * of_u * of_v
        noise = noise + touching * (u * of_v + v * of_u)
        return np.asarray(x * y + noise)

    return form(first, first), form(first, second), form(second, second)
