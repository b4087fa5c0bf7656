"""What surveys will say of two questions together, where either may be perturbed.

The sets of a category's share within two groups, and of their difference, are those of
:mod:`hushpoll_analysis.relations.conditional`. They depend on few numbers of a survey: which of the
category and of the two groups each record supports, and how many other categories it supports of
either question. Surveys are drawn by the law of these numbers, with a fixed seed, and each has its
sets by the rule itself. Which of the three a record supports has eight patterns, whose numbers are
multinomial. The other supports of the records of one pattern, and their products, are sums of many
independent numbers, and are drawn as normal with the moments of their law; where every support has
one size they follow from the pattern.

The power of the test of independence is that of chi-square with the noncentrality that the
dependence has under the law (:mod:`hushpoll_analysis.relations.independence`), all answers being
equally frequent: then no kind of dependence is easier to see than another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.interval import Sets
from hushpoll_analysis.estimates.joint import RowMoments
from hushpoll_analysis.estimates.weight_covariances import WeightCovariances
from hushpoll_analysis.planning.expected_leads import SEED, support_patterns
from hushpoll_analysis.relations import chi_square
from hushpoll_analysis.relations.conditional import SharesLaw, differences_of, sets_of
from hushpoll_analysis.relations.independence import Whitened
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.weights import DEGENERATE, WeightLaw
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Groups:
    """One category of a question within two categories of another, and who will be asked."""

    outcome: PublishedAttribute
    group: PublishedAttribute
    n: int
    sizes: tuple[float, float]
    """Parts of the respondents in the first and in the second group; together at most 1."""
    shares: tuple[float, float]
    """True share of the category in the first group, and in all others."""
    in_clear: bool = False

    @property
    def oracles(self) -> tuple[FrequencyOracle | None, FrequencyOracle | None]:
        """The protocols of both questions; None in clear."""
        return (None, None) if self.in_clear else (self.outcome.oracle, self.group.oracle)


def gap_sets(groups: Groups, confidence: float, surveys: int) -> Sets:
    """Return the differences of drawn surveys with their sets, f64[surveys]."""
    shares = drawn_shares(groups, surveys)
    return differences_of(shares, sets_of(shares, normal_quantile(confidence)), reference=1).row(0)


def association_power(
    first: PublishedAttribute,
    second: PublishedAttribute,
    n: int,
    phi: float,
    *,
    alpha: float,
    in_clear: bool = False,
) -> float:
    """Return the chance that the test of independence rejects at phi (Pearson), answers even."""
    efficiency, degrees = 1.0, 1
    for attribute in (first, second):
        smallest, rank = _seen(None if in_clear else attribute.oracle, attribute.k)
        efficiency *= smallest
        degrees *= rank
    return chi_square.power(n * phi**2 * efficiency, degrees, alpha)


@lru_cache(maxsize=256)
def _seen(oracle: FrequencyOracle | None, k: int) -> tuple[float, int]:
    """Return the smallest efficiency and the rank of a question whose answers are even."""
    side = Whitened.of(oracle, np.full(k, 1 / k))
    return side.efficiency[1], side.rank


def drawn_shares(groups: Groups, surveys: int) -> SharesLaw:
    """Return what the sets of drawn surveys are computed from: two groups, a column a survey."""
    rng = np.random.default_rng(SEED)
    first, second = (
        _Question.of(oracle, attribute.k, marked)
        for oracle, attribute, marked in zip(
            groups.oracles, (groups.outcome, groups.group), (1, 2), strict=True
        )
    )
    sums = _drawn_sums(groups, first, second, surveys, rng) / groups.n
    n_own, n_group = first.sizes[:, None, None], second.sizes[None, :, None]
    own, group, both = sums[1:, 0], sums[0, 1:], sums[1:, 1:]
    joint = (
        both
        - first.q * n_own * group[None, :]
        - second.q * n_group * own[:, None]
        + first.q * second.q * n_own * n_group
    ) / (first.gap * second.gap)
    raw_own, raw_group = first.debiased(own), second.debiased(group)
    excess_own, excess_group = raw_own.sum(axis=0) - 1.0, raw_group.sum(axis=0) - 1.0
    frequency, part = first.weighted(raw_own[:1], excess_own)
    sizes, parts = second.weighted(raw_group[:2], excess_group)
    by_own = joint.sum(axis=0) - raw_group  # mean of T1 D2
    by_group = joint.sum(axis=1) - raw_own  # mean of D1 T2
    of_both = by_own.sum(axis=0) - excess_own  # mean of T1 T2
    cells = joint[0, :2] - part * (by_own[:2] - parts * of_both) - by_group[0] * parts
    return SharesLaw(
        groups.n,
        cells,
        sizes,
        RowMoments.at(first.law, frequency[0], part[0]),
        RowMoments.at(second.law, sizes, parts),
        WeightCovariances.of(groups.oracles[1]),
        parts,
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """A question, of which some categories are marked and all others are counted together."""

    law: WeightLaw
    p: float
    q: float
    gap: float
    sizes: Array
    """f64[marked + 1], categories behind each number: 1 for the marked ones, and the others."""
    patterns: tuple[tuple[int, ...], ...]
    """Which marked categories a record supports."""
    chance: Array
    """f64[truths, patterns], by the truth: a marked category, or, last, another one."""
    mean: Array
    """f64[truths, patterns], expected number of other supports; `square` is that of its square."""
    square: Array

    @classmethod
    def of(cls, oracle: FrequencyOracle | None, k: int, marked: int) -> _Question:
        others = k - marked
        patterns = tuple(product((0, 1), repeat=marked))
        shape = marked + 1, len(patterns)
        chance, mean, variance = (np.zeros(shape) for _ in range(3))
        p, q = (1.0, 0.0) if oracle is None else (float(oracle.p), float(oracle.q))
        size = 1 if oracle is None else oracle.support_size
        # a question with no other category has no such truth
        for truth in range(marked + (others > 0)):
            if size is None:
                given = [q] * marked
                if truth < marked:
                    given[truth] = p
                of_others = [q] * others
                if truth == marked:
                    of_others[0] = p
                for place, pattern in enumerate(patterns):
                    chance[truth, place] = np.prod(
                        [one if on else 1 - one for one, on in zip(given, pattern, strict=True)]
                    )
                mean[truth] = sum(of_others)
                variance[truth] = sum(one * (1 - one) for one in of_others)
                continue
            among = np.array([1, int(marked == 2), 0, others])
            for pattern, part in support_patterns(oracle, k, among, truth if truth < marked else 3):
                place = patterns.index(pattern[:marked])
                chance[truth, place] += part
                mean[truth, place] = size - sum(pattern)
        return cls(
            WeightLaw.of(oracle),
            p,
            q,
            1.0 if oracle is None else float(oracle.p - oracle.q),
            np.array([1.0] * marked + [float(others)]),
            patterns,
            chance,
            mean,
            variance + mean**2,
        )

    def debiased(self, supports: Array) -> Array:
        """Return the means of D of the marked categories and the others from supports a record."""
        return np.asarray((supports - (self.sizes * self.q)[:, None]) / self.gap)

    def weighted(self, debiased: Array, excess: Array) -> tuple[Array, Array]:
        """Return estimates and the parts c of the excess that they take."""
        law = self.law
        if not law.varies:
            return debiased, np.zeros(debiased.shape)
        under = 1.0 + law.slope * excess
        enough = under > DEGENERATE
        frequency = (debiased - law.base * excess) / np.where(enough, under, 1.0)
        part = np.where(enough, law.shares_at(frequency), 1.0 / law.k)
        return debiased - part * excess, part


def _drawn_sums(
    groups: Groups, first: _Question, second: _Question, surveys: int, rng: np.random.Generator
) -> Array:
    """Return sums of products over the records, f64[3, 4, surveys].

    Rows are 1, the category's indicator and the other supports of its question; columns are 1, the
    indicators of both groups and the other supports of theirs.
    """
    people = _people(groups, len(first.chance), len(second.chance))
    cells = [
        (pattern, place, other, there)
        for place, pattern in enumerate(first.patterns)
        for there, other in enumerate(second.patterns)
    ]
    # each cell of patterns has the chance of every pair of truths, with it
    chances = [
        people * first.chance[:, place][:, None] * second.chance[:, there][None, :]
        for _, place, _, there in cells
    ]
    total = np.array([chance.sum() for chance in chances])
    records = rng.multinomial(groups.n, total / total.sum(), size=surveys).astype(np.float64)
    sums = np.zeros((3, 4, surveys))
    for cell, ((on,), place, marks, there) in enumerate(cells):
        if not total[cell]:
            continue
        truths = chances[cell] / total[cell]
        count = records[:, cell]
        own, group, both = _rest(truths, (first, place), (second, there), count, rng)
        in_groups = np.array([count, marks[0] * count, marks[1] * count, group])
        sums[0] += in_groups
        sums[1] += on * in_groups
        sums[2] += np.array([own, marks[0] * own, marks[1] * own, both])
    return sums


def _rest(
    truths: Array,
    own: tuple[_Question, int],
    group: tuple[_Question, int],
    count: Array,
    rng: np.random.Generator,
) -> Array:
    """Return sums over `count` records of the other supports of both and of their products.

    f64[3, surveys]; `own` and `group` are the questions, each with the pattern of the records.
    """
    (first, place), (second, there) = own, group
    m1, s1 = first.mean[:, place][:, None], first.square[:, place][:, None]
    m2, s2 = second.mean[:, there][None, :], second.square[:, there][None, :]
    none = np.zeros(truths.shape)
    mean = np.array([(truths * (part + none)).sum() for part in (m1, m2, m1 * m2)])
    products: Sequence[Sequence[Array]] = (
        (s1 + none, m1 * m2, s1 * m2),
        (m1 * m2, s2 + none, m1 * s2),
        (s1 * m2, m1 * s2, s1 * s2),
    )
    square = np.array([[(truths * part).sum() for part in line] for line in products])
    covariance = square - np.outer(mean, mean)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = root @ rng.standard_normal((3, len(count)))
    return np.asarray(mean[:, None] * count + drawn * np.sqrt(count))


def _people(groups: Groups, own: int, among: int) -> Array:
    """Return shares of the respondents f64[own, among] by their truths."""
    sizes = np.zeros(among)
    sizes[:2] = groups.sizes
    sizes[2] = max(1.0 - sum(groups.sizes), 0.0)
    shares = np.array([groups.shares[0], *([groups.shares[1]] * (among - 1))])
    people = np.zeros((own, among))
    people[0], people[1] = sizes * shares, sizes * (1 - shares)
    return np.asarray(people / people.sum())
