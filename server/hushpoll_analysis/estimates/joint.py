"""Shares of the population in each pair of categories of two attributes, with intervals.

Let W = W1 W2 be the product of a row's weights for two *different* attributes
(:mod:`hushpoll_protocols.estimation.weights`). They are randomised in different blocks, so E[W]
is the share of the population in both categories. The weights of a row sum to 1 in each attribute.
So the cells of one line of the table sum to the estimate of its category, and all cells sum to 1.
Each weight is D_v - c_v T, so the mean of W follows from the support counts of each attribute and
from the joint counts: if J has the means of D1 D2, its column and line sums give the means of T1
D2, D1 T2 and T1 T2. No array of n products is formed.

Given c and the marginal frequencies, the law of the protocols gives the variance of W as a linear
function of the joint frequency f, minus f^2; the third moments follow in the same way. The interval
is the score interval with both (:mod:`hushpoll_protocols.estimation.score`), at the marginal
estimates. The standard error includes the draw of the respondents from their population and the
noise of their records.

In one block that product would be biased, as one record answers both: there a cell is a set of the
block's combinations, and has the estimate of a set
(:mod:`hushpoll_protocols.estimation.marginals`). A cell without a combination, such as an answer to
a question that was not asked, has the share 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.influence import (
    Influence,
    TableInfluence,
    influence,
    influence_of,
    table_influence,
)
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.laws import cells_of, law_of
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols.estimation.frequencies import (
    Estimator,
    debiased_mean,
    debiased_sets,
    estimate,
    normal_quantile,
)
from hushpoll_protocols.estimation.marginals import AnyLaw, Marginal, UnevenSets
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.randomization.blocks import Block

Array = npt.NDArray[np.float64]

CELLS_AT_A_TIME = 1 << 16
"""Cells whose limits are computed at a time, so that a large table takes bounded memory."""


@dataclass(frozen=True, slots=True)
class JointEstimate:
    """Shares of the population in each pair of categories."""

    frequency: npt.NDArray[np.float64]
    """f64[k1, k2]. Unbiased, so it may fall outside [0, 1]."""
    standard_error: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    first: npt.NDArray[np.float64]
    """f64[k1], the estimates of one attribute alone, to which the lines sum."""
    second: npt.NDArray[np.float64]
    """f64[k2], to which the columns sum."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two attributes."""

    channel: Channel
    """Law of an indicator."""
    law: WeightLaw
    most: int = 1
    """Combinations with one category that a record can support; 1 but in a block with others."""
    sets: UnevenSets | None = None
    """Where its categories are sets of combinations of different sizes."""

    @classmethod
    def of(cls, oracle: AnyLaw | None, *, estimator: Estimator = "weighted") -> Side:
        """Return the side of an attribute with this protocol, or a block's part; None in clear."""
        if oracle is None or estimator == "weighted":
            law = WeightLaw.of(oracle)
        else:
            law = WeightLaw.of_raw(oracle)
        most = oracle.members if isinstance(oracle, Marginal | UnevenSets) else 1
        sets = oracle if isinstance(oracle, UnevenSets) else None
        return cls(Channel.of(oracle), law, most, sets)

    @property
    def perturbed(self) -> bool:
        """Whether the attribute is perturbed."""
        return self.channel.p - self.channel.q < 1


def estimate_joint(
    counts: JointCounts, first: Side, second: Side, *, confidence: float
) -> JointEstimate:
    """Estimate joint frequencies with errors and intervals; Wilson's if both are in clear."""
    z = normal_quantile(confidence)
    one, other = Margin.of_both(counts, first, second)
    frequency = _frequency(counts, one, other)
    law1, law2 = one.moments(), other.moments()
    skewed = first.perturbed or second.perturbed
    error, lower, upper = (np.empty_like(frequency) for _ in range(3))
    step = max(1, CELLS_AT_A_TIME // frequency.shape[1])
    for start in range(0, len(frequency), step):
        rows = slice(start, start + step)
        error[rows], lower[rows], upper[rows] = _intervals(
            frequency[rows], counts.n, law1.rows(rows), law2, z=z, skewed=skewed
        )
    return JointEstimate(frequency, error, lower, upper, one.frequencies, other.frequencies)


def joint_frequencies(counts: JointCounts, first: Side, second: Side) -> tuple[Array, Array, Array]:
    """Return the cells f64[k1, k2] and the estimates of either attribute, without intervals."""
    one, other = Margin.of_both(counts, first, second)
    return _frequency(counts, one, other), one.frequencies, other.frequencies


def debiased_means(support: npt.NDArray[np.int64], n: int, side: Side) -> Array:
    """Return the means of D, f64[k], from the support counts of n records."""
    if side.sets is not None:
        return debiased_sets(side.sets, support, n)
    return debiased_mean(support, n, p=side.channel.p, q=side.channel.q, most=side.most)


@dataclass(frozen=True, slots=True)
class Margin:
    """What records tell of one attribute alone."""

    side: Side
    debiased: Array
    """f64[k], the means of D."""
    shares: Array
    """f64[k], the constants c."""

    @classmethod
    def of(cls, support: npt.NDArray[np.int64], n: int, side: Side) -> Margin:
        """Return it from the support counts of n records."""
        debiased = debiased_means(support, n, side)
        return cls(side, debiased, side.law.excess_shares(debiased))

    @classmethod
    def of_both(cls, counts: JointCounts, first: Side, second: Side) -> tuple[Margin, Margin]:
        """Return those of two attributes."""
        return cls.of(counts.first, counts.n, first), cls.of(counts.second, counts.n, second)

    @property
    def frequencies(self) -> Array:
        """Estimated shares, f64[k]."""
        return self.side.law.frequencies(self.debiased)

    def moments(self) -> RowMoments:
        """Return the moments of a record's weights."""
        return RowMoments.at(self.side.law, self.frequencies, self.shares)


def _frequency(counts: JointCounts, first: Margin, second: Margin) -> Array:
    n, channel1, channel2 = counts.n, first.side.channel, second.side.channel
    q1, q2 = channel1.elsewhere, channel2.elsewhere
    q1 = q1[:, None] if isinstance(q1, np.ndarray) else q1
    pi1, pi2 = (counts.first / n)[:, None], (counts.second / n)[None, :]
    gaps = channel1.gap * channel2.gap
    joint: Array = (counts.both / n - q1 * pi2 - q2 * pi1 + q1 * q2) / gaps
    if not first.side.law.varies and not second.side.law.varies:
        return joint
    by_first = joint.sum(axis=0) - second.debiased  # mean of T1 D2
    by_second = joint.sum(axis=1) - first.debiased  # mean of D1 T2
    excess1 = float(first.debiased.sum()) - 1.0
    both = float(by_first.sum()) - excess1  # mean of T1 T2
    joint -= first.shares[:, None] * (by_first - second.shares * both)
    joint -= by_second[:, None] * second.shares
    return joint


@dataclass(frozen=True, slots=True)
class RowMoments:
    """Marginal frequencies of one attribute, in [0, 1], and raw moments of its weights.

    `second` and `third` are E[W^2] and E[W^3] in the category of the true answer; `other` and
    `other_third` are those in every other category.
    """

    frequency: Array
    second: Array
    other: Array
    third: Array
    other_third: Array

    @classmethod
    def at(cls, law: WeightLaw, frequency: Array, share: Array) -> RowMoments:
        """Return the moments of categories of these frequencies, with their constants c."""
        spread = law.spread(share)
        return cls(
            np.clip(frequency, 0.0, 1.0),
            1.0 + spread.at_match,
            spread.elsewhere,
            1.0 + 3.0 * spread.at_match + spread.third_at_match,
            spread.third_elsewhere,
        )

    def rows(self, rows: slice) -> RowMoments:
        """Return the moments of some categories, as columns."""
        return RowMoments(*(getattr(self, name)[rows, None] for name in self.__slots__))


def _intervals(
    frequency: Array, n: int, row: RowMoments, column: RowMoments, *, z: float, skewed: bool
) -> tuple[Array, Array, Array]:
    """Return standard errors and limits f64[r, k2] of some rows of a table."""
    f1, f2 = row.frequency, column.frequency
    second = product_moments(f1, f2, (row.second, row.other), (column.second, column.other))
    third = product_moments(
        f1, f2, (row.third, row.other_third), (column.third, column.other_third)
    )
    least = np.maximum(f1 + f2 - 1.0, 0.0)
    return product_limits(frequency, n, second, third if skewed else None, least=least, z=z)


def product_limits(
    frequency: Array,
    n: int,
    second: tuple[Array, Array],
    third: tuple[Array, Array] | None,
    *,
    least: Array,
    z: float,
) -> tuple[Array, Array, Array]:
    """Return standard errors and limits of means of products of weights.

    `second` and `third` have a and b with which that raw moment of a product is a + b f; without
    the third there is no correction for skewness. `least` is the smallest f there can be.
    """
    none, rise = second

    def central(f: Array) -> Array:
        none3, rise3 = third or second
        return np.asarray(none3 + rise3 * f - 3 * f * (none + rise * f) + 2 * f**3)

    lower, upper = score_limits(
        frequency,
        n,
        variance=(none, rise, np.asarray(-1.0)),
        z=z,
        third=None if third is None else central,
        least=least,
    )
    # As in `estimate`: an impossible frequency gets the variance of the nearest possible one.
    inside = np.clip(frequency, least, 1.0)
    variance = np.maximum(none + rise * inside - inside**2, 0.0)
    return np.sqrt(variance / n), lower, upper


def product_moments(
    f1: Array, f2: Array, first: tuple[Array, Array], second: tuple[Array, Array]
) -> tuple[Array, Array]:
    """Return a and b such that a moment of W is a + b f.

    `first` and `second` have the moments m in the true category and e in every other category. The
    moment of W is f m1 m2 + (f1 - f) m1 e2 + (f2 - f) e1 m2 + (1 - f1 - f2 + f) e1 e2.
    """
    (m1, e1), (m2, e2) = first, second
    return f1 * (m1 - e1) * e2 + f2 * e1 * (m2 - e2) + e1 * e2, (m1 - e1) * (m2 - e2)


def common_block(published: Published, a: str, b: str) -> Block | None:
    """Return the block that both questions are in, or None."""
    block = published.block_of(a)
    return block if block is not None and block is published.block_of(b) else None


def estimate_table(
    published: Published, counts: JointCounts, a: str, b: str, *, confidence: float
) -> JointEstimate:
    """Estimate the joint frequencies of two different questions, a in rows and b in columns."""
    block = common_block(published, a, b)
    if block is None:
        first, second = (Side.of(law_of(published.attribute(name))) for name in (a, b))
        return estimate_joint(counts, first, second, confidence=confidence)
    sizes, law = cells_of(block, [a, b])
    cells = estimate(law, counts.both[sizes > 0], counts.n, confidence=confidence)
    # nobody can be in a cell that no combination is in
    whole = np.zeros((4, *counts.both.shape))
    whole[:, sizes > 0] = cells.frequency, cells.standard_error, cells.lower, cells.upper
    frequency, error, lower, upper = whole
    return JointEstimate(
        frequency, error, lower, upper, frequency.sum(axis=1), frequency.sum(axis=0)
    )


def influence_on_table(
    published: Published, a: str, b: str, joint: JointEstimate
) -> Influence | TableInfluence:
    """Return what one fake report can count as in a cell of the table of two questions."""
    block = common_block(published, a, b)
    drawn = 1 / published.share_answering([a, b])
    if block is not None:
        alone = influence(block.oracle, targets=int(cells_of(block, [a, b])[0].max()))
        return replace(alone, drawn=drawn)
    first, second = (influence_of(published.attribute(name)) for name in (a, b))
    return replace(table_influence(first, second, (joint.first, joint.second)), drawn=drawn)
