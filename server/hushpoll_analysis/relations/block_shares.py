"""The law of shares within groups, of two questions that are in one block.

A cell (a, b) of their table is a set of the block's combinations, with the weight W_ab. The share r
of a within group b is a ratio of N = W_ab and W, the sum of W_ab over all a, so that N - r W is one
sum over the block's weights, with the number 1 - r at (a, b), -r at the other cells of b, and 0
elsewhere. Its moments are those of :mod:`hushpoll_analysis.ordered.record_law` if r is the truth.
The second one is a quadratic in r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.joint import Side, debiased_means
from hushpoll_analysis.ordered.record_law import Measure, RecordLaw, Sums
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import law_of_cells
from hushpoll_shared.survey.blocks import Block

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BlockSharesLaw:
    """What the sets are computed from; rows are groups, columns categories.

    Attributes
    ----------
    n : int
        Records.
    law : RecordLaw
        Of the table's cells.
    joint : f64[groups, columns]
        Of all people, in both.
    """

    n: int
    law: RecordLaw
    joint: Array

    @classmethod
    def of(cls, block: Block, counts: JointCounts) -> BlockSharesLaw:
        """Return what the sets of one survey are computed from.

        Parameters
        ----------
        block : Block
            That both questions are in.
        counts : JointCounts
            Of the question whose shares are asked for, and of the groups; in this order.
        """
        law = law_of_cells(block, counts.both.size)
        side = Side.of(law)
        cells = side.law.frequencies(debiased_means(counts.both.ravel(), counts.n, side))
        return cls(counts.n, RecordLaw.of(law, law.k), cells.reshape(counts.both.shape).T)

    @property
    def weight(self) -> Array:
        """Share of all people in each group, f64[groups, 1]."""
        return np.asarray(self.joint.sum(axis=1, keepdims=True))

    def variance(self) -> tuple[Array, Array, Array]:
        """Return the coefficients of V(r)."""
        none, one, minus = (
            self._moments(np.full(self.joint.shape, at))[0] for at in (0.0, 1.0, -1.0)
        )
        return none, (one - minus) / 2, (one + minus) / 2 - none

    def third(self, r: Array) -> Array:
        """Return the third moment of N - r W if r is the truth."""
        return self._moments(r)[1]

    def correlation(self, r: Array, s: Array, reference: int) -> Array:
        """Return the correlation of each group's N - r W with that of the reference, of s."""
        (own1, own2, _), (their1, their2, _) = self._sums(r), self._sums(s)
        people = self._spread(r) + self._spread(s)[reference]
        none = np.zeros(r.shape)
        # A B is a difference of squares, and no combination is in both groups
        plus, less = (
            self.law.moments(
                ((own1 + sign * their1) / 2, (own2 + their2) / 4, none),
                none,
                [(np.ones_like(none), none, people / 4, none)],
            )[0][0]
            for sign in (1.0, -1.0)
        )
        v0, v1, v2 = self.variance()
        own = np.maximum(v0 + v1 * r + v2 * r**2, 0.0)
        theirs = np.maximum(v0 + v1 * s + v2 * s**2, 0.0)[reference]
        scale = np.sqrt(own * theirs)
        known = scale > 0
        correlation = np.where(known, plus - less, 0.0) / np.where(known, scale, 1.0)
        return np.asarray(np.clip(correlation, -1.0, 1.0))

    def _moments(self, r: Array) -> tuple[Array, Array]:
        spread = self._spread(r)
        people: Measure = (np.ones_like(r), np.zeros_like(r), spread, spread * (1 - 2 * r))
        return self.law.moments(self._sums(r), np.zeros_like(r), [people])[0]

    def _sums(self, r: Array) -> Sums:
        """Return sums over the cells of a group, of the number of each, its square and its cube."""
        others = self.joint.shape[1] - 1
        own = 1 - r
        return own - others * r, own**2 + others * r**2, own**3 - others * r**3

    def _spread(self, r: Array) -> Array:
        """Return the mean square over all people if r is the truth, f64[groups, columns]."""
        return np.clip(self.weight, 0.0, 1.0) * r * (1 - r)
