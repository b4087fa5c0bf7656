"""Whether a survey would do for a goal of questions in a block with others, or of follow-ups.

Of a follow-up all is about the people who are asked: shares are ratios, whose intervals are taken
as normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.combination_sums import Sums
from hushpoll_analysis.planning.blocks.follow_ups import (
    answers_of,
    asked_codes,
    over_domain,
    sizes_of,
)
from hushpoll_analysis.planning.blocks.pairs import (
    Setting,
    Table,
    association_power,
    ratios_power,
)
from hushpoll_analysis.planning.blocks.shares_of_sets import (
    Share,
    share_width,
    shares_power,
    smallest_of_shares,
)
from hushpoll_analysis.planning.expected_means import Means
from hushpoll_analysis.planning.goals import Kind, share_behind
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols.estimation.frequencies import normal_quantile

if TYPE_CHECKING:
    from hushpoll_analysis.planning.outcomes import Asked, Outcome

Array = npt.NDArray[np.float64]

SURVEYS: Final = 6_000
"""Drawn where no value is wanted."""


def of_blocks(asked: Asked) -> Outcome:
    """Return the outcome of a goal of one or two questions, one of which is in a block."""
    return _OUTCOMES[asked.goal.kind](asked)


def _share_of(asked: Asked, n: int, frequency: float) -> Share:
    """Return a share of all people; of categories of different sizes one that is known worst."""
    (attribute, *_) = asked.attributes
    assert attribute.oracle is not None  # noqa: S101  (questions of blocks are perturbed)
    shares = [
        Share(attribute.oracle, attribute.k, n, frequency, int(size))
        for size in np.unique(sizes_of(attribute))
    ]
    return max(shares, key=lambda share: share.deviation)


def _error_among(asked: Asked, n: int, row: Array, contrast: Array) -> float:
    """Return the standard error of a sum of shares among those asked.

    Parameters
    ----------
    n : int
        Respondents.
    row : f64[answers]
        Shares of those asked.
    contrast : f64[k]
        Coefficients of the categories.
    """
    attribute, part = asked.attributes[0], asked.part
    influence = contrast
    if attribute.ask_if is not None:
        influence = contrast - float(row @ contrast[:-1]) * asked_codes(attribute)
    sums = Sums(asked.oracle, over_domain(attribute, part, row), sizes_of(attribute))
    return math.sqrt(max(sums.covariance(influence, influence), 0.0) / n) / part


def _share_error(asked: Asked, n: int, frequency: float) -> float:
    attribute = asked.attributes[0]
    own, k = np.zeros(attribute.k), answers_of(attribute)
    own[0] = 1.0
    return _error_among(asked, n, _with_share(k, frequency), own)


def _width(asked: Asked) -> Outcome:
    confidence = asked.goal.confidence
    if asked.attributes[0].ask_if is not None:
        half = normal_quantile(confidence) * _share_error(asked, asked.n, asked.share)
        return asked.wide(2 * half)
    share = _share_of(asked, asked.n, asked.share)
    return asked.wide(share_width(share, confidence))


def _difference_among(asked: Asked) -> Outcome:
    goal, (first, second) = asked.goal, asked.sides
    behind, z = _share_error(asked, second, asked.share), normal_quantile(goal.confidence)

    def power(difference: float) -> float:
        ahead = _share_error(asked, first, min(asked.share + difference, 1.0))
        return _normal_power(difference, math.hypot(ahead, behind), z)

    return asked.by_power(power, 1 - asked.share)


def _difference(asked: Asked) -> Outcome:
    goal, (first, second) = asked.goal, asked.sides
    if asked.attributes[0].ask_if is not None:
        return _difference_among(asked)
    behind = _share_of(asked, second, asked.share)
    if goal.value is None:
        return asked.smallest(smallest_of_shares(behind, first, goal.confidence, POWER))
    ahead = _share_of(asked, first, min(asked.share + goal.value, 1.0))
    return asked.found(shares_power(ahead, behind, goal.confidence))


def _lead(asked: Asked) -> Outcome:
    goal, (attribute, *_) = asked.goal, asked.attributes
    z, k = normal_quantile(goal.confidence), answers_of(attribute)

    def deviation(lead: float) -> float:
        share = share_behind(goal, attribute, lead)
        shares = np.full(k, max(1 - 2 * share - lead, 0.0) / max(k - 2, 1))
        shares[:2] = share + lead, share
        contrast = np.zeros(attribute.k)
        contrast[:2] = 1.0, -1.0
        return _error_among(asked, asked.n, shares / shares.sum(), contrast)

    def power(lead: float) -> float:
        return _normal_power(lead, deviation(lead), z)

    if goal.kind == "lead-width":
        return asked.wide(2 * z * deviation(0.0))
    return asked.by_power(power, 1.0 if goal.share is None else 1 - 2 * goal.share)


def _normal_power(distance: float, deviation: float, z: float) -> float:
    steps, law = distance / max(deviation, 1e-12), NormalDist()
    return law.cdf(steps - z) + law.cdf(-steps - z)


def _groups(asked: Asked) -> tuple[Array, Array]:
    first, second = np.zeros((2, asked.attributes[1].k))
    first[0] = second[1] = 1.0
    return first, second


def _parts(asked: Asked) -> Array:
    """Return parts of the respondents f64[k] in each group."""
    small, other = asked.group_sizes
    parts = np.full(asked.attributes[1].k, other)
    parts[0] = small
    return parts


def _gap(asked: Asked) -> Outcome:
    (of, given), surveys = asked.attributes, asked.drawn(SURVEYS)
    own = np.zeros(of.k)
    own[0] = 1.0

    k, among = answers_of(of), asked_codes(of)

    def power(gap: float) -> float:
        rows = [_with_share(k, share) for share in (min(asked.share + gap, 1.0), asked.share)]
        table = _table(asked, [rows[0], *[rows[1]] * (given.k - 1)])
        setting = Setting(asked.n, asked.goal.confidence, surveys)
        return ratios_power(table, (own, among), _groups(asked), setting)

    return asked.by_power(power, 1 - asked.share)


def _table(asked: Asked, among: list[Array]) -> Table:
    """Return the people of each group, by their shares among those asked."""
    of, given = asked.attributes
    people = over_domain(of, asked.part, np.stack(among, axis=1)) * _parts(asked)
    return Table(of, given, people, asked.cells, asked.in_clear)


def _with_share(k: int, share: float) -> Array:
    row = np.full(k, (1 - share) / (k - 1))
    row[0] = share
    return row


def _association(asked: Asked) -> Outcome:
    goal, (first, second) = asked.goal, asked.attributes

    def power(phi: float) -> float:
        return association_power(
            first, second, asked.n, phi, alpha=1 - goal.confidence, cells=asked.cells
        )

    return asked.by_power(power, math.sqrt(min(first.k, second.k) - 1))


def _scored(means: Means) -> tuple[Array, Array]:
    """Return the scores of all codes, 0 where a code has none, and which codes have one."""
    scores, answered = np.zeros((2, means.attribute.k))
    scores[: len(means.scores)] = means.scores
    answered[: len(means.scores)] = 1.0
    return scores, answered


def _mean(asked: Asked) -> Outcome:
    means = asked.means
    scores, answered = _scored(means)
    middle = float(means.scores.mean())
    attribute, k = asked.attributes[0], answers_of(asked.attributes[0])
    people = over_domain(attribute, asked.part, answered[:k] / answered.sum())
    sums = Sums(asked.oracle, people, sizes_of(attribute))
    influence = scores - middle * answered
    error = math.sqrt(sums.covariance(influence, influence) / asked.n) / asked.part
    return asked.wide(2 * normal_quantile(asked.goal.confidence) * means.half * error)


def _mean_gap(asked: Asked) -> Outcome:
    means, (of, given), surveys = asked.means, asked.attributes, asked.drawn(SURVEYS)
    of_means = _scored(means)

    def shares(distance: float) -> Array:
        padded = np.zeros(answers_of(of))
        padded[: len(means.scores)] = means.tilted(distance)
        return padded

    def power(gap: float) -> float:
        rows = [shares(gap / 2), shares(-gap / 2), *[shares(0.0)] * (given.k - 2)]
        setting = Setting(asked.n, asked.goal.confidence, surveys)
        return ratios_power(_table(asked, rows), of_means, _groups(asked), setting)

    return asked.by_power(power, (1 - 1e-3) * means.widest)


_OUTCOMES: Final[Mapping[Kind, Callable[[Asked], Outcome]]] = {
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
