"""Conditional shares P(A = a | B = b), and their differences between the groups of B.

P(A = a | B = b) is a ratio of two means: N of the weight product W1_a W2_b, and W of W2_b. A value
r is compatible with the records if N - r W is within z standard errors of 0: Fieller's set (JRSS B
16, 1954). The variance is the one that the law gives if r is the truth, Wilson's way of thinking;
with f1 and f2 the shares of a and b and m, e the second moments of a weight where its category is
the truth and elsewhere,

    V(r) = f2 m2 (r m1 + (1-r) e1 - r^2) + e2 ((f1 - r f2)(m1 - e1 - 2r) + (1 - f2)(e1 + r^2)).

With both attributes in clear the set is Wilson's interval for the people of group b. The quantile
is corrected for skewness as in :mod:`hushpoll_protocols.estimation.score`. The set is an interval
where W is more than z of its standard errors above 0. Below, it has no bound: these records cannot
tell the share of so small a group, and that is the answer.

A difference of two groups combines the distances of both shares from their limits, with their
correlation (Newcombe, Statistics in Medicine 17, 1998, method 10, and Donner and Zou, Statistical
Methods in Medical Research 21, 2012). It has no bound where either share has none.

All of it needs the joint counts alone, so a server answers from the aggregates that it keeps.

Where both questions are in one block, a cell (a, b) of their table is a set of the block's
combinations, with the weight W_ab. The share r of a within group b is a ratio of N = W_ab and W,
the sum of W_ab over all a, so that N - r W is one sum over the block's weights, with the number 1 -
r at (a, b), -r at the other cells of b, and 0 elsewhere. Its moments are those of
:mod:`hushpoll_analysis.estimates.score_law` if r is the truth. The second one is a quadratic in r.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.frequencies import require_rows
from hushpoll_analysis.estimates.interval import Sets, correlation_of
from hushpoll_analysis.estimates.joint import (
    Margin,
    RowMoments,
    Side,
    common_block,
    estimate_table,
    joint_frequencies,
)
from hushpoll_analysis.estimates.score_law import Measure, RecordLaw, Sums
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.frames.tabular import ArrayResult, filled
from hushpoll_analysis.records.answering import of_those_who_answer
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.fields import over_others
from hushpoll_analysis.records.laws import law_of
from hushpoll_analysis.records.pairs import pair
from hushpoll_analysis.records.records import Records, RecordStream
from hushpoll_analysis.records.source import OfRecords, Source
from hushpoll_analysis.verdicts.judging import judged
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.score import corrected_quantile
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.conditional_shares import ConditionalShares as Query
from hushpoll_shared.queries.conditional_shares import GroupEstimate, SharesInGroups
from hushpoll_shared.spelling.intervals import HOLD_TOGETHER, how_to_read
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BlockSharesLaw:
    """What the sets are computed from; rows are groups, columns categories."""

    n: int
    """Records."""
    law: RecordLaw
    joint: Array
    """f64[groups, columns], shares of all people."""
    sizes: Array
    """f64[groups, columns], combinations of the block in each cell; 0 where nobody can be."""

    @classmethod
    def of(cls, published: Published, counts: JointCounts, of: str, given: str) -> BlockSharesLaw:
        """Return what the sets of one survey are computed from; counts are of `of` and `given`."""
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
        return correlation_of(plus - less, np.sqrt(own * theirs))

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


STEPS = 22
"""Bisections of a corrected quantile."""

_NEAR = 0.999
"""Limits are looked for below this part of the quantile at which a set loses its bound."""


@dataclass(frozen=True, slots=True)
class ConditionalShares(ArrayResult):
    """The distribution of one attribute within each category of another.

    Attributes
    ----------
    of, given : str
        The two attributes: P(of | given).
    categories, groups : tuple of str
        Of `of` and of `given`, in code order.
    n : int
        Records behind it.
    confidence : float
        Of each set, or of all together if `simultaneous`.
    simultaneous : bool
        Whether all sets hold at once (Bonferroni).
    shares : Sets
        Not projected: a share may fall outside [0, 1].
    reference : str or None
        The group that the others are compared with.
    differences : Sets or None
        Share in the group minus share in the reference; the reference's own row is 0.
    verdict : Verdict or None
        Whether it can tell anything.
    """

    of: str
    given: str
    categories: tuple[str, ...]
    groups: tuple[str, ...]
    n: int
    confidence: float
    simultaneous: bool
    shares: Sets
    reference: str | None
    differences: Sets | None
    verdict: Verdict | None = None

    @property
    def intervals(self) -> int:
        """How many sets it shows."""
        compared = 0 if self.differences is None else len(self.groups) - 1
        return len(self.categories) * (len(self.groups) + compared)

    def result(self) -> SharesInGroups:
        """Return the shares group by group."""
        return filled(
            SharesInGroups,
            self,
            intervals=HOLD_TOGETHER
            if self.simultaneous
            else how_to_read(self.intervals, self.confidence),
            shares=self._rows(self.shares, self.groups),
            differences=None
            if self.differences is None
            else self._rows(self.differences, self.groups, but=self.reference),
        )

    def _rows(
        self, sets: Sets, groups: tuple[str, ...], but: str | None = None
    ) -> tuple[GroupEstimate, ...]:
        cells = (
            (group, category, sets.interval(row, column))
            for row, group in enumerate(groups)
            if group != but
            for column, category in enumerate(self.categories)
        )
        return tuple(
            GroupEstimate(**one.numbers(), bound=one.bound, group=group, category=category)
            for group, category, one in cells
        )


def conditional_shares(
    records: Records | RecordStream,
    of: str,
    given: str,
    *,
    reference: str | None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> ConditionalShares:
    """Estimate P(of = a | given = b) for all categories of two different attributes.

    Assumptions: respondents are drawn independently from their population, and their devices follow
    the protocol. Each attribute may be perturbed or in clear.

    Parameters
    ----------
    records : Records or RecordStream
        Read in blocks.
    of, given : str
        Names of two different attributes; `given` makes the groups.
    reference : str, optional
        A category of `given`: differences of every other group to it are given as well.
    confidence : float
        In (0, 1).
    simultaneous : bool
        Whether all sets together hold with this confidence (Bonferroni), or each by itself.

    Raises
    ------
    InvalidParameter
        As :func:`hushpoll_analysis.estimates.cross_table.cross_table`, and for an unknown
        reference.
    """
    query = Query(
        of=of, given=given, reference=reference, confidence=confidence, simultaneous=simultaneous
    )
    return shares_in_groups(query, OfRecords(records))


@of_those_who_answer
@judged
def shares_in_groups(query: Query, source: Source) -> ConditionalShares:
    """Estimate P(of | given) from joint counts; see :func:`conditional_shares`."""
    outcome, group = pair(source.published, query.of, query.given, ("of", "given"))
    place = None if query.reference is None else group_place(group, query.reference)
    counts = source.pair(query.of, query.given)
    require_rows(counts.n)
    level = query.confidence
    if query.simultaneous:
        shown = outcome.k * (group.k + (0 if place is None else group.k - 1))
        normal_quantile(level)  # it refuses a confidence outside (0, 1)
        level = 1 - (1 - level) / shown
    law: LawOfShares
    if common_block(source.published, query.of, query.given) is None:
        law, possible = SharesLaw.of(outcome, group, counts), None
    else:
        law = BlockSharesLaw.of(source.published, counts, query.of, query.given)
        possible = law.sizes > 0
    sets = sets_of(law, normal_quantile(level))
    if possible is not None:
        # no answer is possible there: the share is 0, and known
        sets = sets.where(possible)
    return filled(
        ConditionalShares,
        query,
        categories=outcome.domain,
        groups=group.domain,
        n=counts.n,
        shares=sets,
        differences=None if place is None else differences_of(law, sets, place),
    )


def group_place(group: PublishedAttribute, reference: str) -> int:
    """Return the code of a reference category; refuses what is none."""
    if reference not in group.domain:
        raise InvalidParameter(
            f"reference is {reference!r}, no category of {group.name}; give one of "
            f"{', '.join(group.domain[:12])}",
            field="reference",
        )
    return group.domain.index(reference)


class LawOfShares(Protocol):
    """What sets of shares are computed from; rows are groups, columns categories or surveys."""

    @property
    def n(self) -> int:
        """Records."""

    @property
    def joint(self) -> Array:
        """Return the share of all people in both, f64[groups, columns]."""

    @property
    def weight(self) -> Array:
        """Return the share of all people in the group, f64[groups, 1] or f64[groups, columns]."""

    def variance(self) -> tuple[Array, Array, Array]:
        """Return the coefficients of V(r)."""

    def third(self, r: Array) -> Array:
        """Return the third moment of N - r W of a record if r is the truth."""

    def correlation(self, r: Array, s: Array, reference: int) -> Array:
        """Return the correlation of each group's N - r W with that of the reference, of s."""


def sets_of(law: LawOfShares, z: float) -> Sets:
    """Return the shares with their sets at a normal quantile z."""
    v0, v1, v2 = law.variance()
    rows, top, weight = law.n, law.joint, np.broadcast_to(law.weight, law.joint.shape)
    # beyond this quantile the quadratic has no bounded set
    under = np.where(v2 > 0, v2, 1.0)
    most = np.where(v2 > 0, np.sqrt(rows / under) * np.maximum(weight, 0.0), np.inf)
    bounded = (weight > 0) & (most > z)
    safe = np.where(bounded, weight, 1.0)
    value = np.where(bounded, top, 0.5) / safe
    level = v0 * safe**2 + v1 * (value * safe) * safe + v2 * (value * safe) ** 2

    def spread(r: Array) -> Array:
        return np.asarray(np.maximum(v0 + v1 * r + v2 * r**2, 0.0))

    def root(quantile: Array, sign: int) -> Array:
        square = quantile**2
        inside = rows * level + square * (v1**2 / 4 - v0 * v2)
        a = np.where(bounded, rows * safe**2 - square * v2, 1.0)
        b = rows * value * safe**2 + square * v1 / 2
        return np.asarray((b + sign * quantile * np.sqrt(np.maximum(inside, 0.0))) / a)

    def limit(sign: int) -> tuple[Array, npt.NDArray[np.bool_]]:
        def surplus(quantile: Array) -> Array:
            at = np.clip(root(quantile, sign), 0.0, 1.0)
            variance = spread(at)
            deviation = np.where(variance > 0, variance, 1.0)
            skewness = np.where(variance > 0, law.third(at), 0.0) / deviation**1.5
            return quantile - corrected_quantile(z, -sign * skewness / np.sqrt(rows))

        low = np.zeros(value.shape)
        # the correction is of the order of the skewness: twice the quantile is far beyond it
        high = np.where(bounded, np.minimum(2 * z + 2, _NEAR * most), 1.0)
        reached = surplus(high) >= 0
        for _ in range(STEPS):
            middle = (low + high) / 2
            below = surplus(middle) < 0
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return root(high, sign), reached

    (lower, fits_below), (upper, fits_above) = limit(-1), limit(1)
    known = bounded & fits_below & fits_above
    error = np.sqrt(spread(np.clip(value, 0.0, 1.0)) / rows) / safe
    return Sets(value, error, np.minimum(lower, value), np.maximum(upper, value)).known(known)


def differences_of(law: LawOfShares, sets: Sets, reference: int) -> Sets:
    """Return each group's shares minus those of one group."""
    row = sets.row(reference)
    own, theirs = (
        np.clip(np.where(np.isfinite(each.value), each.value, 0.0), 0.0, 1.0)
        for each in (sets, row)
    )
    correlation = law.correlation(own, theirs, reference)
    itself = np.arange(len(sets.value))[:, None] == reference
    return sets.minus(row, correlation, itself)


@dataclass(frozen=True, slots=True)
class SharesLaw:
    """The law where both questions are randomised apart."""

    n: int
    """Records."""
    joint: Array
    """f64[groups, columns], shares of all people."""
    weight: Array
    """f64[groups, 1], or f64[groups, columns]: of all people, in the group."""
    outcome: RowMoments
    """Moments of the weights, f64[columns]; `group` has the form of `weight`."""
    group: RowMoments
    covariances: WeightCovariances
    excess: Array
    """In the form of `weight`: the constants c of the groups."""

    @classmethod
    def of(
        cls, outcome: PublishedAttribute, group: PublishedAttribute, counts: JointCounts
    ) -> SharesLaw:
        """Return what the sets of one survey are computed from."""
        first, second = Side.of(law_of(outcome)), Side.of(law_of(group))
        cells, _, weight = joint_frequencies(counts, first, second)
        of_outcome, of_group = Margin.of_both(counts, first, second)
        return cls(
            counts.n,
            cells.T,
            weight[:, None],
            of_outcome.moments(),
            of_group.moments().rows(slice(None)),
            WeightCovariances.of(law_of(group)),
            of_group.shares[:, None],
        )

    def variance(self) -> tuple[Array, Array, Array]:
        """Return the coefficients of V(r)."""
        a, b = self.outcome, self.group
        rise = a.second - a.other
        return (
            b.frequency * b.second * a.other
            + b.other * (a.frequency * rise + (1 - b.frequency) * a.other),
            b.frequency * (b.second - b.other) * rise - 2 * b.other * a.frequency,
            b.other * (1 + b.frequency) - b.frequency * b.second,
        )

    def third(self, r: Array) -> Array:
        """Return the third moment of W1 W2 - r W2 if r is the truth."""
        a, b = self.outcome, self.group
        match = a.third - 3 * r * a.second + 3 * r**2 - r**3
        other = a.other_third - 3 * r * a.other - r**3
        outside = a.frequency - r * b.frequency
        return np.asarray(
            b.frequency * b.third * (r * match + (1 - r) * other)
            + b.other_third * (outside * (match - other) + (1 - b.frequency) * other)
        )

    def correlation(self, r: Array, s: Array, reference: int) -> Array:
        """Return the correlation of each group's N - r W with that of the reference, of s."""
        a, f = self.outcome, self.group.frequency
        match, other = a.second - r - s + r * s, a.other + r * s

        def mixed(share: Array, frequency: Array) -> Array:
            return np.asarray(share * (match - other) + frequency * other)

        joint = np.clip(r * f, 0.0, 1.0)
        own, theirs = mixed(joint, f), mixed(joint[reference], f[reference])
        rest = mixed(a.frequency, np.ones_like(f)) - own - theirs
        at_own, at_theirs, elsewhere = self.covariances.given_truth(
            self.excess, self.excess[reference], reference
        )
        covariance = at_own * own + at_theirs * theirs + elsewhere * rest
        v0, v1, v2 = self.variance()
        variance = np.maximum(v0 + v1 * r + v2 * r**2, 0.0)
        return correlation_of(covariance, np.sqrt(variance * variance[reference]))
