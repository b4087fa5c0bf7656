"""The statistics of a scale that are ratios: means, the share at a threshold, the NPS.

All of them are means of scores among those who answered, so their sets are those of
:mod:`hushpoll_analysis.ordered.ratios`, in the unit of the scale. Differences to a group are those
of two such means, with their correlation.

Where groups are perturbed, every record has a weight in each of them, so the estimates of two
groups depend on each other. Let A be the sum over v of (x_v - r d_v) W_v of a record, as in
:mod:`hushpoll_analysis.ordered.ratios`, and U_b its weight in group b. The set of group b is about
the mean of A U_b. Given the truth, answers and groups have independent noise, so that for another
group c with scores y and B, the sum over v of (y_v - s d_v) W_v,

    Cov(A U_b, B U_c) = sum over truths g of Cov(U_b, U_c | g) E[A B; g],

because nobody is in both groups, and both means are 0 if r and s are the truth. With

    A B = ((A + B)/2)^2 - ((A - B)/2)^2

the second moments of the law (:mod:`hushpoll_analysis.estimates.score_law`) suffice.

Where answers and groups are in one block, A and B are sums over different combinations of it, and
E[A B] follows from second moments in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.interval import Interval, Sets, correlation_of
from hushpoll_analysis.estimates.score_law import Measure
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.ordered.answers import Answers
from hushpoll_analysis.ordered.ratios import Ratios
from hushpoll_analysis.ordered.scales import Scale
from hushpoll_analysis.records.laws import law_of
from hushpoll_shared.queries.ordered_answers import STATISTICS
from hushpoll_shared.queries.parts import SummaryEstimate

Array = npt.NDArray[np.float64]


def correlations(
    first: tuple[Ratios, Array, Array], second: tuple[Ratios, Array, Array], reference: int
) -> Array:
    """Return the correlation of each group's mean with a mean of one group, f64[rows, groups].

    Either side has ratios, their scores f64[rows, m], and their estimates f64[rows, groups], nan
    where there is none; such a correlation means nothing.
    """
    answers = first[0].answers
    alone = slice(reference, reference + 1)
    r, s = (_within(ratios, value) for ratios, _, value in (first, second))
    deviations = first[0].error(r)[0], second[0].error(s)[0][:, alone]
    s = s[:, alone]
    if answers.together:
        covariance = _in_block(first[0], r, second[0], s, alone)
        return correlation_of(covariance, answers.n * deviations[0] * deviations[1])
    half_sum = Ratios.of_scores(answers, (first[1] + second[1]) / 2), (r + s) / 2
    half_difference = Ratios.of_scores(answers, (first[1] - second[1]) / 2), (r - s) / 2
    own, theirs, everybody = (
        _square(*half_sum, people) - _square(*half_difference, people)
        for people in (slice(None), alone, None)
    )
    law = None if answers.group is None else law_of(answers.group)
    at_own, at_theirs, elsewhere = WeightCovariances.of(law).given_truth(
        answers.excess, answers.excess[reference], reference
    )
    covariance = at_own * own + at_theirs * theirs + elsewhere * (everybody - own - theirs)
    return correlation_of(covariance, answers.n * deviations[0] * deviations[1])


def _in_block(first: Ratios, r: Array, second: Ratios, s: Array, reference: slice) -> Array:
    """Return E[A B] of sums over the combinations of each group, and of one other group."""
    answers = first.answers
    of_first, of_second = _centred(first, r, slice(None)), _centred(second, s, reference)
    none = np.zeros(r.shape)
    squares: list[Array] = []
    for sign in (1.0, -1.0):
        # the two sums are over different combinations, so that no product of scores is in a square
        sums = (
            (of_first[0] + sign * of_second[0]) / 2 + none,
            (of_first[1] + of_second[1]) / 4 + none,
            none,
        )
        people = (np.ones_like(none), none, (of_first[2] + of_second[2]) / 4 + none, none)
        squares.append(answers.law.moments(sums, none, [people])[0][0])
    return np.asarray(squares[0] - squares[1])


def _centred(ratios: Ratios, t: Array, groups: slice) -> tuple[Array, Array, Array]:
    """Return sums of x_v - t d_v, of its square, and of that over people; its mean is 0 at t."""
    s0, s1, s2 = (part[:, groups] if part.shape[1] > 1 else part for part in ratios.sums[:3])
    p0, p1, p2 = (part[:, groups] for part in ratios.moments[:3])
    spread = np.maximum(p2 - 2 * t * p1 + t**2 * p0, 0.0)
    return s1 - t * s0, s2 - 2 * t * s1 + t**2 * s0, spread


def _within(ratios: Ratios, value: Array) -> Array:
    middle = (ratios.low + ratios.high) / 2
    return np.clip(np.where(np.isfinite(value), value, middle), ratios.low, ratios.high)


def _square(ratios: Ratios, t: Array, groups: slice | None) -> Array:
    """Return E[(sum over v of (x_v - t d_v) W_v)^2] over people of groups, or over everybody."""
    answers, none = ratios.answers, np.zeros(t.shape)
    o0, o1, o2, _ = ratios.overall
    mean = o1 - t * o0
    people: Measure = (np.ones(t.shape), mean, o2 - 2 * t * o1 + t**2 * o0, none)
    if groups is not None:
        p0, p1, p2 = (part[:, groups] for part in ratios.moments[:3])
        mass = np.clip(np.maximum(answers.mass[groups], p0), 0.0, 1.0)
        spread = np.maximum(p2 - 2 * t * p1 + t**2 * p0, 0.0)
        people = (mass + none, p1 - t * p0 + none, spread, none)
    s0, s1, s2, _ = ratios.sums
    sums = (s1 - t * s0, s2 - 2 * t * s1 + t**2 * s0, none)
    return np.asarray(answers.law.moments(sums, mean, [people])[0][0])


NAMES: Final = STATISTICS
"""The statistics, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Bounded(Interval):
    """An estimate with its set, and the interval of numbers in which the truth lies for certain."""

    least: float
    """The least that the truth can be, such as 0 and 1 of a share."""
    most: float

    @property
    def says_nothing(self) -> bool:
        """Whether the set holds every value that there can be: these records cannot conclude."""
        return self.lower <= self.least and self.most <= self.upper

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON."""
        return {**Interval.to_dict(self), "says_nothing": self.says_nothing}

    def summary(self) -> SummaryEstimate:
        """Return the estimate as a row of a result."""
        return SummaryEstimate(**self.numbers(), bound=self.bound, says_nothing=self.says_nothing)


def bounded_share(share: Interval) -> Bounded:
    """Return a share with its bounds 0 and 1."""
    return bounded(share, 0.0, 1.0)


ByGroup = Mapping[str, list[Bounded]]
"""A statistic of each group, by the statistic's name."""


def of_group(found: ByGroup, place: int) -> dict[str, Any]:
    """Return the statistics of one group by name; None for those that the scale lacks."""
    return {name: found[name][place] if name in found else None for name in NAMES}


def statistic_names(scale: Scale, threshold: float | None) -> list[str]:
    """Return the names of the statistics that a scale has."""
    there = {
        "least": scale.has_intervals,
        "greatest": scale.has_intervals,
        "at_least": threshold is not None,
        "nps": scale.is_net_promoter,
    }
    return [name for name in NAMES if there.get(name, True)]


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of a scale in each group."""

    blocks: tuple[Block, ...]
    """The means, and the share at a threshold if there is one."""

    @classmethod
    def of(
        cls,
        answers: Answers,
        scale: Scale,
        threshold: float | None,
        names: Sequence[str] | None = None,
    ) -> Statistics:
        """Return the statistics of answers; of the means by default those that the scale has."""
        blocks = [Block.of_means(answers, scale, names or statistic_names(scale, None))]
        if threshold is not None:
            blocks.append(Block.of_share(answers, scale.at_least(threshold)))
        return cls(tuple(blocks))

    def estimates(self, z: float, reference: int | None = None) -> tuple[ByGroup, ByGroup | None]:
        """Return the statistics of each group, and their differences to one group, if any."""
        found: dict[str, list[Bounded]] = {}
        differences: dict[str, list[Bounded]] = {}
        for block in self.blocks:
            sets = block.ratios.sets(z)
            found |= block.bounded(sets)
            if reference is not None:
                differences |= block.differences(sets, reference)
        return found, None if reference is None else differences


@dataclass(frozen=True, slots=True)
class Block:
    """Ratios, and how each row becomes a number of its statistic: shift + factor times ratio."""

    names: tuple[str, ...]
    ratios: Ratios
    scores: Array
    """f64[rows, m], within the ends of the ratios."""
    shift: Array
    """f64[rows, 1]"""
    factor: Array
    """f64[rows, 1]"""

    @classmethod
    def of_means(cls, answers: Answers, scale: Scale, names: Sequence[str]) -> Block:
        """Return the means of a scale."""
        rows = {"mean": scale.middle, "least": scale.low, "greatest": scale.high}
        if "nps" in names:
            rows["nps"] = 100.0 * (scale.low >= 9) - 100.0 * (scale.low <= 6)
        chosen = {name: rows[name] for name in rows if name in names}
        scores = np.stack(list(chosen.values()))
        least, most = (end[:, None] for end in (scores.min(axis=1), scores.max(axis=1)))
        centre, half = (least + most) / 2, (most - least) / 2
        scaled = (scores - centre) / half
        return cls(tuple(chosen), Ratios.of_scores(answers, scaled), scaled, centre, half)

    @classmethod
    def of_share(cls, answers: Answers, chosen: npt.NDArray[np.bool_]) -> Block:
        """Return the share of the chosen categories."""
        m = answers.categories
        ratios = Ratios.of_sets(
            answers,
            answers.combinations[chosen].sum(axis=0)[None, :],
            answers.shares[:m][chosen].sum(axis=0)[None, :],
            np.array([answers.overall[:m][chosen].sum()]),
        )
        scores = chosen[None, :].astype(np.float64)
        return cls(("at_least",), ratios, scores, np.zeros((1, 1)), np.ones((1, 1)))

    def bounded(self, sets: Sets) -> dict[str, list[Bounded]]:
        """Return the statistics from the sets of the ratios."""
        return self._named(self._in_unit(sets), *self._ends())

    def differences(self, sets: Sets, reference: int) -> dict[str, list[Bounded]]:
        """Return each group's statistics minus those of one group."""
        rows = [self.names.index(opposite(name)) for name in self.names]
        low, high = self._ends()
        ratios = self.ratios.rows(rows)
        correlation = correlations(
            (self.ratios, self.scores, sets.value),
            (ratios, self.scores[rows], sets.value[rows]),
            reference,
        )
        numbers = self._in_unit(sets)
        apart = numbers.minus(numbers.rows(rows).column(reference), correlation)
        return self._named(apart, low - high[rows], high - low[rows])

    def _ends(self) -> tuple[Array, Array]:
        low, high = (self.shift + self.factor * end for end in (self.ratios.low, self.ratios.high))
        return low, high

    def _in_unit(self, sets: Sets) -> Sets:
        ends = (self.shift + self.factor * part for part in (sets.value, sets.lower, sets.upper))
        value, lower, upper = ends
        return Sets(value, self.factor * sets.standard_error, lower, upper)

    def _named(self, sets: Sets, low: Array, high: Array) -> dict[str, list[Bounded]]:
        return {
            name: [
                bounded(sets.interval(row, group), float(low[row, 0]), float(high[row, 0]))
                for group in range(sets.value.shape[1])
            ]
            for row, name in enumerate(self.names)
        }


def opposite(name: str) -> str:
    """Return which statistic is subtracted: the greatest mean from the least one, and reversely.

    So the true difference lies between the two, wherever answers lie within their intervals.
    """
    return {"least": "greatest", "greatest": "least"}.get(name, name)


def bounded(one: Interval, least: float, most: float) -> Bounded:
    """Return an estimate with the bounds of the truth."""
    return Bounded(one.value, one.standard_error, one.lower, one.upper, least, most)


def difference_of(first: Bounded, second: Bounded) -> Bounded:
    """Return the difference of two independent estimates; without a bound where one has none."""
    one, other = (
        Sets(*np.array([each.value, each.standard_error, each.lower, each.upper])[:, None, None])
        for each in (first, second)
    )
    apart = one.minus(other, 0.0).interval(0, 0)
    return bounded(apart, first.least - second.most, first.most - second.least)
