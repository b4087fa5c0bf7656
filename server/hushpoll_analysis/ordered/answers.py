"""What ratios of ordered answers are computed from: shares, alone or within groups, and their law.

Of one attribute, the weight of a record in a category is W_v, and shares are the estimates. Within
the groups of a second attribute it is the product of W_v and the weight in the group, and shares
are the cells of the cross-table. Where both are in one block, a combination of an answer and a
group has a weight of its own, and nothing is multiplied.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.joint import (
    Margin,
    RowMoments,
    Side,
    debiased_means,
    joint_frequencies,
)
from hushpoll_analysis.estimates.score_law import RecordLaw
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import cells_of, combinations_of, law_of
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.marginals import AnyLaw, UnevenSets
from hushpoll_protocols.estimation.weights import DEGENERATE, WeightLaw
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.survey.randomization.blocks import Block

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Estimated shares of an attribute's categories within each of some groups."""

    attribute: PublishedAttribute
    n: int
    """Records, at least 1."""
    law: RecordLaw
    scale: float | Array
    """Factor, or f64[groups], by which the error of a mean is smaller than that of the law; 1
    within groups."""
    shares: Array
    """f64[k, groups], of all people, in each category and group; unbiased."""
    overall: Array
    """f64[k], of all people, in each category."""
    mass: Array = field(default_factory=lambda: np.ones(1))
    """f64[groups], of all people, in each group; 1 where nothing is multiplied, since a law is then
    about all."""
    group: PublishedAttribute | None = None
    """Whose categories are the groups; without, the only one has everybody."""
    weight: RowMoments | None = None
    """Moments of the weight in each group, by which those of the answers are multiplied, each
    f64[groups]; None where nothing is multiplied."""
    excess: Array = field(default_factory=lambda: np.zeros(1))
    """f64[groups], of the weight in each group, the part of a record's excess that is taken from
    it."""
    together: bool = False
    """Whether answers and groups are in one block."""
    sizes: Array = field(default_factory=lambda: np.ones((1, 1)))
    """f64[k, groups] or f64[1, 1], combinations of the block with each answer, and in each group; 1
    of a question alone."""

    @classmethod
    def alone(
        cls, attribute: PublishedAttribute, support: npt.NDArray[np.int64], n: int
    ) -> Answers:
        """Return the answers of everybody."""
        shares, scale = _estimated(law_of(attribute), support, n)
        law = RecordLaw.of(attribute.oracle, attribute.k)
        return cls(attribute, n, law, scale, shares[:, None], shares, sizes=_sizes(attribute))

    @classmethod
    def in_groups(
        cls,
        attribute: PublishedAttribute,
        group: PublishedAttribute,
        counts: JointCounts,
        block: Block | None = None,
    ) -> Answers:
        """Return the answers within each category of another attribute; counts have that order."""
        if block is not None:
            return cls._in_block(attribute, group, counts, block)
        first, second = Side.of(law_of(attribute)), Side.of(law_of(group))
        # Kept counts may be a transposed view, whose sums would differ in the last digit.
        counts = replace(counts, both=np.ascontiguousarray(counts.both))
        cells, overall, mass = joint_frequencies(counts, first, second)
        margin = Margin.of(counts.second, counts.n, second)
        return cls(
            attribute,
            counts.n,
            RecordLaw.of(attribute.oracle, attribute.k),
            1.0,
            cells,
            overall,
            mass,
            group,
            margin.moments(),
            margin.shares,
            sizes=_sizes(attribute),
        )

    @classmethod
    def _in_block(
        cls,
        attribute: PublishedAttribute,
        group: PublishedAttribute,
        counts: JointCounts,
        block: Block,
    ) -> Answers:
        sizes, law = cells_of(block, [attribute.name, group.name])
        shares = np.zeros(counts.both.shape)
        shares[sizes > 0], scale = _estimated(law, counts.both[sizes > 0], counts.n)
        return cls(
            attribute,
            counts.n,
            RecordLaw.of(block.oracle, block.k),
            scale,
            shares,
            shares.sum(axis=1),
            np.ones(group.k),
            group,
            together=True,
            sizes=sizes.astype(np.float64),
        )

    @property
    def multiplied(self) -> bool:
        """Whether a weight in a group is multiplied by those of the answers."""
        return self.weight is not None

    @property
    def categories(self) -> int:
        """Number of categories but the missing one and that of who is not asked, the last."""
        return len(self.attribute.categories)

    @property
    def combinations(self) -> Array:
        """Combinations with each answer but the missing one, f64[m, groups] or f64[m, 1]."""
        m = self.categories
        return np.broadcast_to(self.sizes, (self.attribute.k, self.sizes.shape[1]))[:m]

    @property
    def answered(self) -> Array:
        """Share of all people who are in each group and answered, f64[groups]."""
        return np.asarray(self.shares[: self.categories].sum(axis=0))

    @property
    def all_answer(self) -> bool:
        """Whether everybody answers, so that a ratio divides by 1."""
        return self.group is None and self.attribute.k == self.categories


def _estimated(law: AnyLaw | None, support: npt.NDArray[np.int64], n: int) -> tuple[Array, float]:
    """Return estimated shares, and the factor of :attr:`Answers.scale`."""
    if isinstance(law, UnevenSets):
        p, q = float(law.oracle.p), float(law.oracle.q)
        whole = WeightLaw.of(law.oracle)
        excess = (float(support.sum()) / n - law.oracle.k * q) / (p - q) - 1.0
        scale = max(1.0 + whole.slope * excess, DEGENERATE)
        return estimate(law, support, n).frequency, scale
    side = Side.of(law)
    debiased = debiased_means(support, n, side)
    scale = max(1.0 + side.law.slope * side.law.mean_excess(debiased)[0], DEGENERATE)
    return side.law.frequencies(debiased), float(scale)


def _sizes(attribute: PublishedAttribute) -> Array:
    """Return the combinations of its block with each answer, f64[k, 1]; 1 of a question alone."""
    sizes = attribute.set_sizes or (combinations_of(attribute),) * attribute.k
    return np.array(sizes, np.float64)[:, None]
