"""The law of shares within groups, of two questions that are in one block.

A cell (a, b) of their table is a set of the block's combinations, with the weight W_ab. The share r
of a within group b is a ratio of N = W_ab and W, the sum of W_ab over all a, so that N - r W is one
sum over the block's weights, with the number 1 - r at (a, b), -r at the other cells of b, and 0
elsewhere. Its moments are those of :mod:`hushpoll_analysis.estimates.score_law` if r is the truth.
The second one is a quadratic in r.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.score_law import Measure, RecordLaw, Sums
from hushpoll_analysis.estimates.tables import common_block, estimate_table
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.fields import over_others
from hushpoll_shared.survey.published import Published

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BlockSharesLaw:
    """What the sets are computed from; rows are groups, columns categories.

    Attributes
    ----------
    n : int
        Records.
    law : RecordLaw
        Of the block.
    joint : f64[groups, columns]
        Of all people, in both.
    sizes : f64[groups, columns]
        Combinations of the block in each cell; 0 where nobody can be.
    """

    n: int
    law: RecordLaw
    joint: Array
    sizes: Array

    @classmethod
    def of(cls, published: Published, counts: JointCounts, of: str, given: str) -> BlockSharesLaw:
        """Return what the sets of one survey are computed from.

        Parameters
        ----------
        counts : JointCounts
            Of the question whose shares are asked for, and of the groups; in this order.
        of, given : str
            Both, of one block.
        """
        block = common_block(published, of, given)
        assert block is not None  # noqa: S101  (the caller has found it)
        cells = estimate_table(published, counts, of, given, confidence=0.95).frequency
        sizes = over_others(np.ones(block.k), block, [of, given])
        return cls(counts.n, RecordLaw.of(block.oracle, block.k), cells.T, sizes.T)

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
        own1, own2, _ = self._sums(r)
        their1, their2 = (part[reference] for part in self._sums(s)[:2])
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
        """Return sums over a group's combinations, of the number of each, its square and cube."""
        own = self.sizes
        others = own.sum(axis=1, keepdims=True) - own
        match = 1 - r
        return (
            own * match - others * r,
            own * match**2 + others * r**2,
            own * match**3 - others * r**3,
        )

    def _spread(self, r: Array) -> Array:
        """Return the mean square over all people if r is the truth, f64[groups, columns]."""
        return np.clip(self.weight, 0.0, 1.0) * r * (1 - r)
