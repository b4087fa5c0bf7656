"""Confidence sets of means over those who answered: ratios of two sums of shares.

Let s_v be the scores of the categories, d_v be 1 for an answer and 0 for the missing category, and
f_v the shares. The mean score of those who answered is r = sum s_v f_v/sum d_v f_v. A value r is
compatible with the records if the mean of A = sum over v of (s_v - r d_v) W_v is within z standard
errors of 0: Fieller's set (JRSS B 16, 1954). The variance is that of the law if r is the truth
(:mod:`hushpoll_analysis.estimates.score_law`), and z is corrected for skewness as in
:mod:`hushpoll_protocols.estimation.score`. Within a group, W_v is multiplied by the weight in it;
in one block with the groups, it is the weight of the answer in that group.

The law needs the second and third moment of s - r among those who answered, if r is their mean.
They are the estimated ones, moved until the mean is 0: each share in proportion to the distance of
its score from the mean, as far as none turns negative, and then by a part of all who give the
lowest, or the highest, answer. With two scores that is exact: the set of a share is then its score
interval, and in clear Wilson's.
Moments are kept possible for scores between the lowest and the highest. One more respondent, half
at either end of the scale, is added to them, so that a set is no point where all have given the
same answer.

A set is given where the share of those who answered is more than z of its standard errors above 0.
Otherwise it has no bound. A set may reach beyond the lowest or the highest score; one that holds
all between them says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.interval import Sets
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_protocols.estimation.score import corrected_quantile

Array = npt.NDArray[np.float64]

LOOKS = 9
"""Values at which a side of a set is looked at before its end is bisected."""

STEPS = 24
"""Bisections of an end."""

TOGETHER = 4
"""So many are looked at together where the means are few."""

FEW = 256
"""Means at most: of more, numpy takes longer for the values than for the calls."""

_LEAST = 1e-300


@dataclass(frozen=True, eq=False)
class Ratios:
    """Means of scores in [low, high] among those who answered; rows are scores, columns groups."""

    answers: Answers
    low: float
    high: float
    sums: tuple[Array, Array, Array, Array]
    """f64[rows, 1] or f64[rows, groups], over the categories but the missing one, or their
    combinations: of 1, of s_v, of its square and of its cube."""
    moments: tuple[Array, Array, Array, Array, Array]
    """f64[rows, groups], sums of f_v s_v^i over the same categories, i from 0 to 4."""
    overall: tuple[Array, Array, Array, Array]
    """f64[rows, 1], the same over everybody, i from 0 to 3."""
    skewed: bool = True
    """Whether quantiles are corrected for skewness."""

    @classmethod
    def of_scores(cls, answers: Answers, scores: Array) -> Ratios:
        """Return the means of f64[rows, m] scores in [-1, 1] of all but the missing category."""
        m = answers.categories
        powers = [scores**power for power in range(5)]
        groups, everybody = answers.shares[:m], answers.overall[:m, None]
        sizes = answers.combinations
        s0, s1, s2, s3 = (
            (power[:, :, None] * sizes).sum(axis=1)
            if sizes.shape[1] > 1
            else (power * sizes[:, 0]).sum(axis=1, keepdims=True)
            for power in powers[:4]
        )
        p0, p1, p2, p3, p4 = (power @ groups for power in powers)
        o0, o1, o2, o3 = (power @ everybody for power in powers[:4])
        return cls(answers, -1.0, 1.0, (s0, s1, s2, s3), (p0, p1, p2, p3, p4), (o0, o1, o2, o3))

    @classmethod
    def of_sets(cls, answers: Answers, sizes: Array, shares: Array, overall: Array) -> Ratios:
        """Return the shares of sets of categories, the missing one in none of them.

        `sizes` are the combinations in each set, f64[rows, groups] or f64[rows, 1]; `shares`,
        f64[rows, groups], and `overall`, f64[rows], sums of those of the answers over each set.
        """
        whole = np.broadcast_to(answers.combinations.sum(axis=0), sizes.shape)
        answered = np.broadcast_to(answers.answered, shares.shape)
        total = np.full((len(sizes), 1), float(answers.overall[: answers.categories].sum()))
        rest = overall[:, None]
        # As the estimates: without a missing category, Wilson's interval where supports are fixed.
        skewed = answers.law.law.varies or not answers.all_answer
        return cls(
            answers,
            0.0,
            1.0,
            (whole, sizes, sizes, sizes),
            (answered, shares, shares, shares, shares),
            (total, rest, rest, rest),
            skewed,
        )

    def rows(self, places: list[int]) -> Ratios:
        """Return the ratios of some rows, in their order."""
        (s0, s1, s2, s3), (o0, o1, o2, o3) = (
            [part[places] for part in parts] for parts in (self.sums, self.overall)
        )
        p0, p1, p2, p3, p4 = (part[places] for part in self.moments)
        return replace(
            self,
            sums=(s0, s1, s2, s3),
            moments=(p0, p1, p2, p3, p4),
            overall=(o0, o1, o2, o3),
        )

    @property
    def value(self) -> Array:
        """The estimated means, f64[rows, groups]; nan where nobody seems to have answered."""
        under = self.moments[0]
        known = under > 0
        return np.asarray(np.where(known, self.moments[1], np.nan) / np.where(known, under, 1.0))

    def sets(self, z: float) -> Sets:
        """Return the means with their sets, f64[rows, groups], at a normal quantile above 0."""
        known = self.bounded(z)
        value = np.where(known, self.value, (self.low + self.high) / 2)
        at = np.clip(value, self.low, self.high)
        deviation, _ = self.error(at)
        under = np.where(known, self.moments[0], 1.0)
        lower, upper = self._ends(z, at)
        limits = np.minimum(lower, value), np.maximum(upper, value)
        return Sets(value, deviation / under, *limits).known(known)

    def bounded(self, z: float) -> npt.NDArray[np.bool_]:
        """Return where enough people have answered for a set with bounds, bool[rows, groups]."""
        answers, answered = self.answers, self.moments[0]
        if answers.all_answer:
            return np.ones(answered.shape, dtype=np.bool_)
        number, none = self.sums[0], np.zeros(answered.shape)
        # if nobody in the group had answered
        silent = none
        if answers.attribute.k > answers.categories or answers.together:
            silent = np.clip(answers.mass, 0.0, 1.0) + none
        everybody = np.clip(self.overall[0], 0.0, 1.0) if answers.multiplied else none
        variance, third = self._moments(
            (number, number, number),
            np.asarray(everybody),
            (silent, none, none, none),
            (np.ones_like(none), *(np.asarray(everybody + none),) * 3),
        )
        deviation = np.sqrt(np.maximum(variance, _LEAST) / answers.n) / answers.scale
        quantile = corrected_quantile(z, _skewness(variance, third, answers.n))
        return np.asarray((answered > 0) & (answered > quantile * deviation))

    def compatible(self, z: float, r: Array, sign: Array | int) -> npt.NDArray[np.bool_]:
        """Return where r, f64[..., rows, groups], is within z standard errors on one side.

        `sign` is -1 for values below the estimate, 1 for those above; values on the other side are
        compatible.
        """
        return np.asarray(self._surplus(z, r, sign) <= 0)

    def _surplus(self, z: float, r: Array, sign: Array | int) -> Array:
        """Return by how much r is beyond the end of the set, in standard errors times p_0."""
        return np.asarray(-sign * (self.moments[1] - r * self.moments[0]) - self._half(z, r, sign))

    def _half(self, z: float, r: Array, sign: Array | int) -> Array:
        """Return the distance of the end from the estimate, times p_0, if r is the end."""
        deviation, skewness = self.error(np.clip(r, self.low, self.high))
        if not self.skewed:
            return z * deviation
        return corrected_quantile(z, -sign * skewness) * deviation

    def _ends(self, z: float, at: Array) -> Array:
        """Return the ends of each set, f64[2, rows, groups], below and above the estimate.

        An end is the farthest compatible value that is seen; `at` is the estimate within the scale.
        Many values are looked at together: what costs is the number of looks, not their size.
        """
        sign = np.array([-1.0, 1.0])[:, None, None]
        far = np.where(sign < 0, self.low, self.high) + np.zeros(at.shape)
        under = np.where(self.moments[0] > 0, self.moments[0], 1.0)
        places = np.arange(LOOKS) / (LOOKS - 1)
        seen = far + (at - far) * places[:, None, None, None]
        seen[0] = far
        fits = self.compatible(z, seen, sign)
        beyond, decided = fits[0], fits.any(axis=0)
        first = np.argmax(fits, axis=0)[None]
        inner = np.take_along_axis(seen, first, axis=0)[0]
        outer = np.take_along_axis(seen, np.maximum(first - 1, 0), axis=0)[0]
        left = STEPS
        while left:
            levels = min(left, TOGETHER if at.size <= FEW else 1)
            outer, inner = self._nearer(z, outer, inner, sign, levels)
            left -= levels
        # beyond the scale the variance is that of its end
        edge = np.where(beyond, far, at)
        straight = (self.moments[1] + sign * self._half(z, edge, sign)) / under
        return np.asarray(np.where(beyond | ~decided, straight, inner))

    def _nearer(
        self, z: float, outer: Array, inner: Array, sign: Array, levels: int
    ) -> tuple[Array, Array]:
        """Halve the interval in which an end lies, `levels` times.

        All values at which it may be halved are looked at together: a tree, whose root halves the
        interval and in which what follows place i stands at 2 i + 1 if i is incompatible, else at
        2 i + 2.
        """
        number = 2**levels - 1
        middles, bounds = np.empty((number, *outer.shape)), [(outer, inner)]
        for place in range(number):
            far, near = bounds[place]
            middles[place] = (far + near) / 2
            bounds += [(middles[place], near), (far, middles[place])]
        fits = self.compatible(z, middles, sign)
        at = np.zeros(outer.shape, dtype=np.int64)
        for _ in range(levels):
            inside = np.take_along_axis(fits, at[None], axis=0)[0]
            middle = np.take_along_axis(middles, at[None], axis=0)[0]
            outer, inner = np.where(inside, outer, middle), np.where(inside, middle, inner)
            at = 2 * at + 1 + inside
        return outer, inner

    def error(self, r: Array) -> tuple[Array, Array]:
        """Return the standard deviation of the mean of A, and its skewness, if r is the truth."""
        answers = self.answers
        answered = np.clip(self.moments[0], 0.0, 1.0)
        second, third = self._at_truth(r)
        none = np.zeros(r.shape)
        group = (
            np.clip(np.maximum(answers.mass, answered), 0.0, 1.0) + none,
            none,
            answered * second,
            answered * third,
        )
        everybody = (np.ones_like(none), none, group[2], group[3])
        if answers.multiplied:
            o0, o1, o2, o3 = self.overall
            everybody = (
                np.ones_like(none),
                o1 - r * o0,
                o2 - 2 * r * o1 + r**2 * o0,
                o3 - 3 * r * o2 + 3 * r**2 * o1 - r**3 * o0,
            )
        s0, s1, s2, s3 = self.sums
        sums = (
            s1 - r * s0,
            s2 - 2 * r * s1 + r**2 * s0,
            s3 - 3 * r * s2 + 3 * r**2 * s1 - r**3 * s0,
        )
        variance, cube = self._moments(sums, everybody[1], group, everybody)
        deviation = np.sqrt(np.maximum(variance, 0.0) / answers.n) / answers.scale
        return np.asarray(deviation), _skewness(variance, cube, answers.n)

    def _moments(
        self,
        sums: tuple[Array, Array, Array],
        mean: Array,
        group: tuple[Array, Array, Array, Array],
        everybody: tuple[Array, Array, Array, Array],
    ) -> tuple[Array, Array]:
        """Return the second and the third moment of A times the weight in the group."""
        law, weight = self.answers.law, self.answers.weight
        if weight is None:
            return law.moments(sums, mean, [group])[0]
        inside, outside = law.moments(sums, mean, [group, everybody])
        return (
            np.asarray((weight.second - weight.other) * inside[0] + weight.other * outside[0]),
            np.asarray(
                (weight.third - weight.other_third) * inside[1] + weight.other_third * outside[1]
            ),
        )

    @cached_property
    def _raw(self) -> tuple[Array, Array, Array, Array]:
        """Return moments of s among those who answered that scores of the scale can have."""
        one = 0.5 / self.answers.n
        p0, p1, p2, p3, p4 = self.moments
        under = np.maximum(p0, 0.0) + 2 * one
        q1, q2, q3, q4 = (
            (part + one * (self.low**power + self.high**power)) / under
            for power, part in enumerate((p1, p2, p3, p4), start=1)
        )
        least = one / under
        q1 = np.clip(q1, self.low + least, self.high - least)
        q2 = np.clip(q2, q1**2 + least**2, (self.low + self.high) * q1 - self.low * self.high)
        return q1, q2, np.clip(q3, -q2, q2), np.clip(q4, q2**2, q2)

    def _at_truth(self, r: Array) -> tuple[Array, Array]:
        """Return the second and third moment of s - r if r is the mean of those who answered."""
        below, above = self.low - r, self.high - r
        if self.low == 0.0:
            moved = -below * above
            return np.asarray(moved), np.asarray(moved * (below + above))
        q1, q2, q3, q4 = self._raw
        mean, second = q1 - r, q2 - 2 * r * q1 + r**2
        third = q3 - 3 * r * q2 + 3 * r**2 * q1 - r**3
        fourth = q4 - 4 * r * q3 + 6 * r**2 * q2 - 4 * r**3 * q1 + r**4
        spread = np.maximum(second - mean**2, 0.25 / self.answers.n**2)
        # shares change in proportion to the score's distance from the mean, while none is negative
        reach = spread / np.maximum(self.high - q1, q1 - self.low)
        slope = np.clip(-mean, -reach, reach) / spread
        moved = mean + slope * (second - mean**2)
        moved2 = second + slope * (third - second * mean)
        moved3 = third + slope * (fourth - third * mean)
        # and then some of all respondents give the lowest or the highest answer
        end = np.where(moved > 0, below, above)
        part = np.clip(moved / np.where(moved == end, 1.0, moved - end), 0.0, 1.0)
        moved2 = np.clip((1 - part) * moved2 + part * end**2, 0.0, -below * above)
        moved3 = (1 - part) * moved3 + part * end**3
        return np.asarray(moved2), np.asarray(np.clip(moved3, below * moved2, above * moved2))


def _skewness(variance: Array, third: Array, n: int) -> Array:
    known = variance > 0
    safe = np.where(known, variance, 1.0)
    return np.asarray(np.where(known, third / (safe * np.sqrt(safe)) / np.sqrt(n), 0.0))
