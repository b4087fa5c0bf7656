"""A sample as joint counts of the outcome and one attribute: its cells and residual variances.

The attribute has a margin, strata or weights, or there is none of these. It may be perturbed, and
then all records have one weight. The counts give the unbiased joint shares. The variance of a
residual follows from them and from the law of the weights: noise in the outcome and in the
attribute is independent given the truth, so the second moment of a product is the product of second
moments, summed over the truths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.joint import RowMoments, Side, debiased_means, joint_frequencies
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.survey_design.raking import Factors, Grouping, Places
from hushpoll_analysis.survey_design.samples import Tables
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class CountSample:
    """The joint counts of the outcome and of one attribute, or of the outcome alone.

    Attributes
    ----------
    joint : JointCounts
        Of the outcome and the attribute; without one, `both` has a single column of all records.
    outcome : PublishedAttribute
        That is estimated.
    attribute : PublishedAttribute or None
        Of the cells.
    weights : f64[C] or None
        Weight of a respondent in each cell, of an attribute in clear.
    """

    joint: JointCounts
    outcome: PublishedAttribute
    attribute: PublishedAttribute | None
    weights: Array | None = None

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
    def _side(self) -> Side:
        return Side.of(None if self.attribute is None else law_of(self.attribute))

    @cached_property
    def _unweighted(self) -> tuple[Array, Array]:
        joint, _, cells = joint_frequencies(self.joint, Side.of(law_of(self.outcome)), self._side)
        return cells, joint.T

    @property
    def _moments(self) -> RowMoments:
        side = Side.of(law_of(self.outcome))
        raw = debiased_means(self.joint.first, self.n, side)
        return RowMoments.of(side.law, raw, side.law.excess_shares(raw))

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
        side = self._side
        raw = debiased_means(self.joint.second, self.n, side)
        law = RowMoments.of(side.law, raw, side.law.excess_shares(raw))
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
        side = self._side
        return side.law.excess_shares(debiased_means(self.joint.second, self.n, side))


def _forms(
    covariances: WeightCovariances, excess: Array, first: Array, second: Array
) -> tuple[Array, Array, Array]:
    """Return E[(x'W)(y'W) | truth t] for (x, y) = (d, d), (d, e) and (e, e), each f64[C, k].

    Given the truth t, W has the mean e_t and the noise (I - c 1') eps, of which eps has the
    variances M at t and E elsewhere and the covariances of :class:`WeightCovariances`.

    Parameters
    ----------
    covariances : WeightCovariances
        Of the cells' attribute.
    excess : f64[C]
        Its constants c.
    first, second : f64[C, 1], f64[C, k]
        d and e.
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
