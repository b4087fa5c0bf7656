"""What surveys will say of the mean of a scale, alone and in two groups of another question.

The sets are those of :mod:`hushpoll_analysis.ordered.ratios`. Of a survey they need the sums over
the categories of f_v s_v^i, i from 0 to 4, with the shares f_v and the scores s_v, and in groups
the same sums of the cells. All of them follow from means over the records of

    Z_i = sum over v of s_v^i D_v,  the sum of all D_v,  the D of both groups,  and their products,

whose expectations and covariances the law of the protocols gives. These means are drawn as normal,
with a fixed seed, and each survey has its sets by the rule itself. The correlation of the two means
is that which their errors have over the drawn surveys.

Answers are as even as the difference of the two means allows: the shares of the categories are
proportional to exp(t s_v), with one t in the first group and another in the second, and the means
are as far from that of even answers on either side. Everybody else gives even answers, and nobody
is taken to skip the question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.interval import Sets
from hushpoll_analysis.estimates.joint import RowMoments
from hushpoll_analysis.estimates.score_law import RecordLaw
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_analysis.ordered.scales import Scale
from hushpoll_analysis.planning.expected_leads import SEED
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.weights import DEGENERATE, WeightLaw
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]

POWERS = 5
"""Sums of f_v s_v^i that sets need, i from 0 on."""

_BISECTIONS = 60


@dataclass(frozen=True, eq=False)
class Means:
    """A scale, and the people who will be asked."""

    attribute: PublishedAttribute
    scale: Scale
    """An interval counts with its middle."""
    n: int
    in_clear: bool = False

    @property
    def oracle(self) -> FrequencyOracle | None:
        """The protocol of the answers; None in clear."""
        return None if self.in_clear else self.attribute.oracle

    @property
    def half(self) -> float:
        """Half of the distance from the lowest to the highest score."""
        return float(np.ptp(self.scale.middle)) / 2

    @cached_property
    def scores(self) -> Array:
        """The scores within [-1, 1], f64[m]."""
        middle = self.scale.middle
        return np.asarray((middle - (middle.max() + middle.min()) / 2) / self.half)

    @property
    def widest(self) -> float:
        """Difference of two means beyond which no answers are, in the unit of the scale."""
        mean = float(self.scores.mean())
        return 2 * self.half * min(1 - mean, 1 + mean)

    def tilted(self, distance: float) -> Array:
        """Return shares f64[m] with the mean of even answers plus a distance below `widest`/2."""
        wanted = float(self.scores.mean()) + distance / self.half
        low, high = -500.0, 500.0
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._mean_at(middle) < wanted else (low, middle)
        return self._shares_at((low + high) / 2)

    def _shares_at(self, tilt: float) -> Array:
        weights = np.exp(tilt * self.scores - np.abs(tilt))
        return np.asarray(weights / weights.sum())

    def _mean_at(self, tilt: float) -> float:
        return float(self._shares_at(tilt) @ self.scores)


def mean_sets(means: Means, confidence: float, surveys: int) -> Sets:
    """Return the means of drawn surveys with their sets, f64[1, surveys], in units of `half`."""
    own = _Numbers.of_scores(means)
    mean, square = own.moments(means.tilted(0.0))
    drawn = _normal(mean, square - np.outer(mean, mean), means.n, surveys)
    estimated, under = own.powers(drawn[1:-1], drawn[-1] - 1.0)
    law = RecordLaw.of(means.oracle, means.attribute.k)
    answers = Answers(means.attribute, means.n, law, under, estimated, estimated[:, :1])
    p0, p1, p2, p3, p4 = (part[None, :] for part in estimated)
    overall = (p0[:, :1], p1[:, :1], p2[:, :1], p3[:, :1])
    ratios = Ratios(answers, -1.0, 1.0, own.four_sums, (p0, p1, p2, p3, p4), overall)
    return ratios.sets(normal_quantile(confidence)).scaled(means.half)


def mean_gap_sets(
    means: Means,
    group: PublishedAttribute,
    sizes: tuple[float, float],
    gap: float,
    confidence: float,
    surveys: int,
) -> Sets:
    """Return differences of two groups' means in drawn surveys, with their sets, f64[surveys, 1].

    The groups are two categories of another question, with these parts of the respondents; the true
    gap, first minus second, is below `widest`, in the unit of the scale.
    """
    oracle = None if means.in_clear else group.oracle
    own, among = _Numbers.of_scores(means), _Numbers.of_groups(oracle, group.k)
    rest = max(1.0 - sum(sizes), 0.0)
    people = [
        (size, own.moments(shares), among.moments(truth))
        for size, shares, truth in (
            (sizes[0], means.tilted(gap / 2), 0),
            (sizes[1], means.tilted(-gap / 2), 1),
            (rest, means.tilted(0.0), 2),
        )
        if size
    ]
    mean = np.sum([size * np.kron(one[0], other[0]) for size, one, other in people], axis=0)
    square = np.sum([size * np.kron(one[1], other[1]) for size, one, other in people], axis=0)
    rows = len(own.rows) + 1
    drawn = _normal(mean, square - np.outer(mean, mean), means.n, surveys)
    ratios = _ratios_in_groups(means, group, own, among, drawn.reshape(rows, -1, surveys))
    sets = ratios.sets(normal_quantile(confidence))
    true = float(means.scores.mean()) + np.array([gap, -gap]) / (2 * means.half)
    errors = ratios.moments[1] - true * ratios.moments[0]
    correlations = np.asarray(np.corrcoef(errors.T))
    apart = sets.column(0).minus(sets.column(1), float(correlations[0, 1]))
    return apart.scaled(means.half)


def _normal(mean: Array, covariance: Array, n: int, surveys: int) -> Array:
    """Return means over n records, f64[numbers, surveys]."""
    rng = np.random.default_rng(SEED)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0) / n)
    return np.asarray(mean[:, None] + root @ rng.standard_normal((len(mean), surveys)))


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Linear functions of the D of one record: what is known of a question."""

    oracle: FrequencyOracle | None
    """None in clear."""
    rows: Array
    """f64[numbers, k], coefficients; the last row is 1 everywhere."""

    @classmethod
    def of_scores(cls, means: Means) -> _Numbers:
        """Return the sums of s_v^i D_v, and the sum of all D_v."""
        k, m = means.attribute.k, len(means.scores)
        rows = np.zeros((POWERS + 1, k))
        rows[:POWERS, :m] = means.scores[None, :] ** np.arange(POWERS)[:, None]
        rows[POWERS] = 1.0
        return cls(means.oracle, rows)

    @classmethod
    def of_groups(cls, oracle: FrequencyOracle | None, k: int) -> _Numbers:
        """Return the D of the first and of the second category, and the sum of all D_v."""
        rows = np.zeros((3, k))
        rows[0, 0] = rows[1, 1] = 1.0
        rows[2] = 1.0
        return cls(oracle, rows)

    @cached_property
    def law(self) -> WeightLaw:
        """Law of the weights."""
        return WeightLaw.of(self.oracle)

    @property
    def four_sums(self) -> tuple[Array, Array, Array, Array]:
        """Sums of the first four rows over the categories, each f64[1, 1]."""
        s0, s1, s2, s3 = (np.full((1, 1), row.sum()) for row in self.rows[:4])
        return s0, s1, s2, s3

    def moments(self, truths: Array | int) -> tuple[Array, Array]:
        """Return the expectations of (1, the numbers), f64[numbers + 1], and of their products.

        Truths are shares f64[m] of the first m categories, or the category that all have.
        """
        rows = self.rows
        shares = np.zeros(rows.shape[1])
        if isinstance(truths, int):
            # a question of two categories has no third truth, and nobody has it
            shares[min(truths, len(shares) - 1)] = 1.0
        else:
            shares[: len(truths)] = truths
        covariances = WeightCovariances.of(self.oracle)
        m, e = self.law.at_match, self.law.elsewhere
        b, w = covariances.between_others, covariances.with_truth
        total, mean = rows.sum(axis=1), rows @ shares
        own = (rows * shares) @ rows.T
        mixed = np.outer(mean, total) - own
        products = (
            b * np.outer(total, total)
            + (e - b) * rows @ rows.T
            + (w - b) * (mixed + mixed.T)
            + (m - e) * own
            + own
        )
        first = np.concatenate([[1.0], mean])
        square = np.outer(first, first)
        square[1:, 1:] = products
        return first, square

    def powers(self, sums: Array, excess: Array) -> tuple[Array, Array]:
        """Return the sums of f_v times the coefficients, and the denominator of the weights.

        `sums` f64[rows, ...] are those of D_v times the coefficients of the first rows, and
        `excess` is the mean of T.
        """
        law = self.law
        under = np.maximum(1.0 + law.slope * excess, DEGENERATE)
        of_rows = self.rows[: len(sums)].sum(axis=1)[:, None]
        return np.asarray((sums - law.base * of_rows * excess) / under), np.asarray(under)

    def parts(self, estimated: Array) -> Array:
        """Return the sums of c_v times the coefficients of the first rows."""
        of_rows = self.rows[: len(estimated)].sum(axis=1)[:, None]
        return np.asarray(self.law.base * of_rows + self.law.slope * estimated)


def _ratios_in_groups(
    means: Means, group: PublishedAttribute, own: _Numbers, among: _Numbers, products: Array
) -> Ratios:
    """Return the means of both groups; rows are surveys, columns the groups.

    `products` f64[7, 4, surveys] are means over the records: rows are 1, the sums of s_v^i D_v and
    the sum of all D_v; columns 1, the D of both groups and the sum of all D of theirs.
    """
    excess_own, excess_group = products[-1, 0] - 1.0, products[0, -1] - 1.0
    overall, _ = own.powers(products[1:-1, 0], excess_own)
    sizes, _ = among.powers(products[0, 1:-1], excess_group)
    c_own, c_group = own.parts(overall), among.parts(sizes)
    by_own = products[-1, 1:-1] - products[0, 1:-1]  # mean of T1 D2
    by_group = products[1:-1, -1] - products[1:-1, 0]  # mean of Z T2
    both = products[-1, -1] - products[-1, 0] - products[0, -1] + 1.0
    p0, p1, p2, p3, p4 = (
        (cell - part * (by_own - c_group * both) - c_group * of_group).T
        for cell, part, of_group in zip(products[1:-1, 1:-1], c_own, by_group, strict=True)
    )
    o0, o1, o2, o3, _ = (part[:, None] for part in overall)
    answers = Answers(
        means.attribute,
        means.n,
        RecordLaw.of(means.oracle, means.attribute.k),
        1.0,
        p0.T,
        overall[0],
        sizes.T,
        group,
        RowMoments.at(among.law, sizes.T, c_group.T),
        c_group.T,
    )
    return Ratios(answers, -1.0, 1.0, own.four_sums, (p0, p1, p2, p3, p4), (o0, o1, o2, o3))
