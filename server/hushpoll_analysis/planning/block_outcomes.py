"""Whether a survey would do for a goal of questions in a block with others, or of follow-ups.

Of a follow-up all is about the people who are asked: shares are ratios, whose intervals are taken
as normal.

Of two questions one at least is in a block with others. Within one block both are read from
the block's own table, whose cells are sums of its weights. In different blocks a cell is the mean
of the product of the weights of either, which are independent given the truth. Either way a sum of
cells has known moments. Estimates are drawn as normal with them, with a fixed seed, and each survey
has Fieller's sets of its two ratios and Newcombe's of their difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.combination_sums import Sums, variance_coefficients
from hushpoll_analysis.estimates.interval import Sets
from hushpoll_analysis.metrics import difference_limits
from hushpoll_analysis.planning.expected_estimates import (
    normal_quantiles,
    other_normal_quantiles,
    smallest_found,
)
from hushpoll_analysis.planning.expected_leads import SEED
from hushpoll_analysis.planning.expected_means import Means
from hushpoll_analysis.planning.follow_ups import (
    answers_of,
    asked_codes,
    over_domain,
    sizes_of,
)
from hushpoll_analysis.planning.goals import share_behind
from hushpoll_analysis.relations import chi_square
from hushpoll_analysis.relations.chi_square import seen_part
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.marginals import UnevenSets
from hushpoll_protocols.estimation.score import score_limits
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.wire.documents.plans import GoalKind

if TYPE_CHECKING:
    from hushpoll_analysis.planning.outcomes import Outcome, PlannedGoal

POINTS = 9
"""Values of an estimate over which the width of its interval is averaged."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Share:
    """Respondents whose share of a set of combinations is estimated from their records."""

    oracle: FrequencyOracle
    k: int
    """Sets."""
    n: int
    frequency: float
    """True share, in [0, 1]."""
    size: int | None = None
    """Combinations of the set; None where all sets have as many."""

    @property
    def deviation(self) -> float:
        """Standard error of the estimate."""
        c0, c1, c2 = variance_coefficients(self.oracle, self.k, self.size)
        f = self.frequency
        return float(np.sqrt(max(c0 + c1 * f + c2 * f * f, 0.0) / self.n))

    def intervals(self, normal: Array, confidence: float) -> tuple[Array, Array, Array]:
        """Return estimates that are so many standard errors from the truth, with their limits."""
        value = self.frequency + self.deviation * normal
        terms = variance_coefficients(self.oracle, self.k, self.size)
        c0, c1, c2 = (np.asarray(term) for term in terms)
        limits = score_limits(value, self.n, variance=(c0, c1, c2), z=normal_quantile(confidence))
        return value, *limits


def share_width(share: Share, confidence: float) -> float:
    """Return the mean width of the interval of a share."""
    places, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    _, lower, upper = share.intervals(places, confidence)
    return float((upper - lower) @ weights / weights.sum())


def shares_power(first: Share, second: Share, confidence: float) -> float:
    """Return the chance that the interval of the difference of independent shares leaves out 0."""
    value, lower, upper = first.intervals(normal_quantiles(), confidence)
    other = second.intervals(other_normal_quantiles(), confidence)
    low, high = difference_limits(
        value[:, None], (lower[:, None], upper[:, None]), other[0], (other[1], other[2])
    )
    return float(((low > 0) | (high < 0)).mean())


def smallest_of_shares(second: Share, n: int, confidence: float, power: float) -> float | None:
    """Return the smallest difference from a second side's share that is found so often."""

    def found(difference: float) -> float:
        frequency = min(second.frequency + difference, 1.0)
        return shares_power(replace(second, n=n, frequency=frequency), second, confidence)

    steps = normal_quantile(confidence) + NormalDist().inv_cdf(power)
    first = replace(second, n=n)
    guess = steps * float(np.hypot(first.deviation, second.deviation))
    return smallest_found(found, 1.0 - second.frequency, power, guess=guess, slope=steps)


Cells = tuple[Array, Array]
"""Coefficients of the categories of either question; those of the cells are their products."""

_NONE: Final = 1e-15


@dataclass(frozen=True, eq=False)
class Table:
    """The people by their answers to two questions."""

    of: PublishedAttribute
    given: PublishedAttribute
    people: Array
    """f64[k of `of`, k of `given`], summing to 1."""
    cells: Array | None = None
    """f64[k of `of`, k of `given`], combinations of the block that both are in; None in different
    blocks, and in one whose cells all have as many."""
    in_clear: bool = False

    @property
    def together(self) -> bool:
        """Whether both are in one block."""
        return self.of.block is not None and self.of.block == self.given.block

    def covariance(self, first: Cells, second: Cells) -> float:
        """Return n times the covariance of two sums of cells."""
        own, theirs = self._oracle(self.of), self._oracle(self.given)
        if self.together:
            cells = None if self.cells is None else self.cells.ravel()
            flat = Sums(own, self.people.ravel(), cells)
            return flat.covariance(np.outer(*first).ravel(), np.outer(*second).ravel())
        left = Sums(own, self.people.sum(axis=1), sizes_of(self.of))
        right = Sums(theirs, self.people.sum(axis=0), sizes_of(self.given))
        products = left.products(first[0], second[0]), right.products(first[1], second[1])
        both = float(products[0] @ self.people @ products[1])
        return both - self.mean(first) * self.mean(second)

    def _oracle(self, attribute: PublishedAttribute) -> FrequencyOracle | None:
        return None if self.in_clear else attribute.oracle

    def mean(self, cells: Cells) -> float:
        """Return the true sum of cells."""
        return float(cells[0] @ self.people @ cells[1])


def ratios_power(
    table: Table, of: tuple[Array, Array], groups: tuple[Array, Array], setting: Setting
) -> float:
    """Return the chance that the interval of the difference of two groups' ratios leaves out 0.

    `of` has the coefficients f64[k] of numerator and denominator, `groups` those of both groups.
    """
    drawn, covariance = _drawn(table, [(part, group) for group in groups for part in of], setting)
    z = normal_quantile(setting.confidence)
    first, second = (
        _fieller(drawn[place : place + 2], covariance[place : place + 2, place : place + 2], z)
        for place in (0, 2)
    )
    r, s = (np.where(np.isfinite(each.value), each.value, 0.0) for each in (first, second))
    c = covariance
    mixed = c[0, 2] - s * c[0, 3] - r * c[1, 2] + r * s * c[1, 3]
    own = c[0, 0] - 2 * r * c[0, 1] + r**2 * c[1, 1]
    theirs = c[2, 2] - 2 * s * c[2, 3] + s**2 * c[3, 3]
    correlation = np.clip(mixed / np.sqrt(np.maximum(own * theirs, _NONE)), -1.0, 1.0)
    return first.minus(second, correlation).share_without_zero()


@dataclass(frozen=True, slots=True)
class Setting:
    """How many will be asked, and how it is predicted."""

    n: int
    confidence: float
    """In (0, 1)."""
    surveys: int


def _drawn(table: Table, cells: list[Cells], setting: Setting) -> tuple[Array, Array]:
    """Return drawn estimates f64[sums, surveys] and their covariance f64[sums, sums]."""
    covariance = (
        np.array([[table.covariance(one, other) for other in cells] for one in cells]) / setting.n
    )
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(SEED).standard_normal((len(cells), setting.surveys))
    return np.array([table.mean(one) for one in cells])[:, None] + root @ normal, covariance


def _fieller(sums: Array, covariance: Array, z: float) -> Sets:
    """Return ratios of two sums with their sets, f64[surveys]; no bound where a set has none."""
    (top, under), square = sums, z * z
    a = under**2 - square * covariance[1, 1]
    b = top * under - square * covariance[0, 1]
    c = top**2 - square * covariance[0, 0]
    bounded = (a > 0) & (under > 0)
    safe = np.where(bounded, a, 1.0)
    half = np.sqrt(np.maximum(b**2 - safe * c, 0.0))
    value = top / np.where(bounded, under, 1.0)
    spread = covariance[0, 0] - 2 * value * covariance[0, 1] + value**2 * covariance[1, 1]
    error = np.sqrt(np.maximum(spread, 0.0)) / np.where(bounded, under, 1.0)
    return Sets(value, error, (b - half) / safe, (b + half) / safe).known(bounded)


def association_power(
    of: PublishedAttribute,
    given: PublishedAttribute,
    n: int,
    phi: float,
    *,
    alpha: float,
    cells: Array | None = None,
) -> float:
    """Return the chance that the test of independence rejects; all answers are as frequent.

    Where answers have different numbers of combinations, kinds of dependence differ in how well
    they are seen, and one of the middle is meant.

    `phi` is above 0: the root of Pearson's statistic of the population over n. `cells` are the
    combinations f64[k, k] of the block that both are in.
    """
    if cells is not None:
        seen = _efficiency(of.oracle, cells.ravel())
    else:
        seen = math.prod(_efficiency(one.oracle, sizes_of(one)) for one in (of, given))
    return chi_square.power(n * phi**2 * seen, (of.k - 1) * (given.k - 1), alpha)


def _efficiency(oracle: FrequencyOracle | None, sizes: Array) -> float:
    """Return the variance in clear over that from the records, of contrasts of even cells."""
    k = len(sizes)
    if oracle is not None and len(set(sizes.tolist())) > 1:
        return seen_part(UnevenSets(oracle, tuple(int(size) for size in sizes)), k)
    contrast = np.zeros(k)
    contrast[:2] = 1.0, -1.0
    return 2 / k / Sums(oracle, np.full(k, 1 / k)).covariance(contrast, contrast)


SURVEYS: Final = 6_000
"""Drawn where no value is wanted."""


def of_blocks(plan: PlannedGoal) -> Outcome:
    """Return the outcome of a goal of one or two questions, one of which is in a block."""
    return _OUTCOMES[plan.goal.kind](plan)


def _share_of(plan: PlannedGoal, n: int, frequency: float) -> Share:
    """Return a share of all people; of categories of different sizes one that is known worst."""
    (attribute, *_) = plan.attributes
    assert attribute.oracle is not None  # noqa: S101  (questions of blocks are perturbed)
    shares = [
        Share(attribute.oracle, attribute.k, n, frequency, int(size))
        for size in np.unique(sizes_of(attribute))
    ]
    return max(shares, key=lambda share: share.deviation)


def _error_among(plan: PlannedGoal, n: int, row: Array, contrast: Array) -> float:
    """Return the standard error of a sum of shares f64[answers] times a contrast f64[k]."""
    attribute, part = plan.attributes[0], plan.part
    influence = contrast
    if attribute.ask_if is not None:
        influence = contrast - float(row @ contrast[:-1]) * asked_codes(attribute)
    sums = Sums(plan.oracle, over_domain(attribute, part, row), sizes_of(attribute))
    return math.sqrt(max(sums.covariance(influence, influence), 0.0) / n) / part


def _share_error(plan: PlannedGoal, n: int, frequency: float) -> float:
    attribute = plan.attributes[0]
    own, k = np.zeros(attribute.k), answers_of(attribute)
    own[0] = 1.0
    return _error_among(plan, n, _with_share(k, frequency), own)


def _width(plan: PlannedGoal) -> Outcome:
    confidence = plan.goal.confidence
    if plan.attributes[0].ask_if is not None:
        half = normal_quantile(confidence) * _share_error(plan, plan.n, plan.share)
        return plan.wide(2 * half)
    share = _share_of(plan, plan.n, plan.share)
    return plan.wide(share_width(share, confidence))


def _difference_among(plan: PlannedGoal) -> Outcome:
    goal, (first, second) = plan.goal, plan.sides
    behind, z = _share_error(plan, second, plan.share), normal_quantile(goal.confidence)

    def power(difference: float) -> float:
        ahead = _share_error(plan, first, min(plan.share + difference, 1.0))
        return _normal_power(difference, math.hypot(ahead, behind), z)

    return plan.by_power(power, 1 - plan.share)


def _difference(plan: PlannedGoal) -> Outcome:
    goal, (first, second) = plan.goal, plan.sides
    if plan.attributes[0].ask_if is not None:
        return _difference_among(plan)
    behind = _share_of(plan, second, plan.share)
    if goal.value is None:
        return plan.smallest(smallest_of_shares(behind, first, goal.confidence, POWER))
    ahead = _share_of(plan, first, min(plan.share + goal.value, 1.0))
    return plan.found(shares_power(ahead, behind, goal.confidence))


def _lead(plan: PlannedGoal) -> Outcome:
    goal, (attribute, *_) = plan.goal, plan.attributes
    z, k = normal_quantile(goal.confidence), answers_of(attribute)

    def deviation(lead: float) -> float:
        share = share_behind(goal, attribute, lead)
        shares = np.full(k, max(1 - 2 * share - lead, 0.0) / max(k - 2, 1))
        shares[:2] = share + lead, share
        contrast = np.zeros(attribute.k)
        contrast[:2] = 1.0, -1.0
        return _error_among(plan, plan.n, shares / shares.sum(), contrast)

    def power(lead: float) -> float:
        return _normal_power(lead, deviation(lead), z)

    if goal.kind == "lead-width":
        return plan.wide(2 * z * deviation(0.0))
    return plan.by_power(power, 1.0 if goal.share is None else 1 - 2 * goal.share)


def _normal_power(distance: float, deviation: float, z: float) -> float:
    steps, law = distance / max(deviation, 1e-12), NormalDist()
    return law.cdf(steps - z) + law.cdf(-steps - z)


def _groups(plan: PlannedGoal) -> tuple[Array, Array]:
    first, second = np.zeros((2, plan.attributes[1].k))
    first[0] = second[1] = 1.0
    return first, second


def _parts(plan: PlannedGoal) -> Array:
    """Return parts of the respondents f64[k] in each group."""
    small, other = plan.group_sizes
    parts = np.full(plan.attributes[1].k, other)
    parts[0] = small
    return parts


def _gap(plan: PlannedGoal) -> Outcome:
    (of, given), surveys = plan.attributes, plan.drawn(SURVEYS)
    own = np.zeros(of.k)
    own[0] = 1.0

    k, among = answers_of(of), asked_codes(of)

    def power(gap: float) -> float:
        rows = [_with_share(k, share) for share in (min(plan.share + gap, 1.0), plan.share)]
        table = _table(plan, [rows[0], *[rows[1]] * (given.k - 1)])
        setting = Setting(plan.n, plan.goal.confidence, surveys)
        return ratios_power(table, (own, among), _groups(plan), setting)

    return plan.by_power(power, 1 - plan.share)


def _table(plan: PlannedGoal, among: list[Array]) -> Table:
    """Return the people of each group, by their shares among those asked."""
    of, given = plan.attributes
    people = over_domain(of, plan.part, np.stack(among, axis=1)) * _parts(plan)
    return Table(of, given, people, plan.cells, plan.in_clear)


def _with_share(k: int, share: float) -> Array:
    row = np.full(k, (1 - share) / (k - 1))
    row[0] = share
    return row


def _association(plan: PlannedGoal) -> Outcome:
    goal, (first, second) = plan.goal, plan.attributes

    def power(phi: float) -> float:
        return association_power(
            first, second, plan.n, phi, alpha=1 - goal.confidence, cells=plan.cells
        )

    return plan.by_power(power, math.sqrt(min(first.k, second.k) - 1))


def _scored(means: Means) -> tuple[Array, Array]:
    """Return the scores of all codes, 0 where a code has none, and which codes have one."""
    scores, answered = np.zeros((2, means.attribute.k))
    scores[: len(means.scores)] = means.scores
    answered[: len(means.scores)] = 1.0
    return scores, answered


def _mean(plan: PlannedGoal) -> Outcome:
    means = plan.means
    scores, answered = _scored(means)
    middle = float(means.scores.mean())
    attribute, k = plan.attributes[0], answers_of(plan.attributes[0])
    people = over_domain(attribute, plan.part, answered[:k] / answered.sum())
    sums = Sums(plan.oracle, people, sizes_of(attribute))
    influence = scores - middle * answered
    error = math.sqrt(sums.covariance(influence, influence) / plan.n) / plan.part
    return plan.wide(2 * normal_quantile(plan.goal.confidence) * means.half * error)


def _mean_gap(plan: PlannedGoal) -> Outcome:
    means, (of, given), surveys = plan.means, plan.attributes, plan.drawn(SURVEYS)
    of_means = _scored(means)

    def shares(distance: float) -> Array:
        padded = np.zeros(answers_of(of))
        padded[: len(means.scores)] = means.tilted(distance)
        return padded

    def power(gap: float) -> float:
        rows = [shares(gap / 2), shares(-gap / 2), *[shares(0.0)] * (given.k - 2)]
        setting = Setting(plan.n, plan.goal.confidence, surveys)
        return ratios_power(_table(plan, rows), of_means, _groups(plan), setting)

    return plan.by_power(power, (1 - 1e-3) * means.widest)


_OUTCOMES: Final[Mapping[GoalKind, Callable[[PlannedGoal], Outcome]]] = {
    "width": _width,
    "difference": _difference,
    "change": _difference,
    "lead": _lead,
    "lead-width": _lead,
    "gap": _gap,
    "association": _association,
    "mean": _mean,
    "mean-gap": _mean_gap,
}
