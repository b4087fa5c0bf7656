"""Whether a survey of some size and epsilon would do for what an analyst wants of it.

A width is met by the mean width over the surveys that may come of the plan, everything else by the
chance to find what is wanted, which has to be `POWER`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.expected_audits import SURVEYS, finds, share_of_surveys
from hushpoll_analysis.auditing.power import AuditAssumptions, smallest_gap
from hushpoll_analysis.ordered.scales import scale_of
from hushpoll_analysis.planning.block_outcomes import of_blocks
from hushpoll_analysis.planning.expected_estimates import (
    Side,
    difference_power,
    expected_interval_width,
    smallest_difference,
    smallest_found,
)
from hushpoll_analysis.planning.expected_leads import Pair, lead_sets
from hushpoll_analysis.planning.expected_means import (
    Means,
    mean_gap_sets,
    mean_sets,
)
from hushpoll_analysis.planning.expected_pairs import Groups, association_power, gap_sets
from hushpoll_analysis.planning.expected_slopes import LARGEST, noise, slope_power
from hushpoll_analysis.planning.follow_ups import part_asked, sizes_of_cells
from hushpoll_analysis.planning.goals import (
    SLOPE,
    Goal,
    needs,
    resolved,
    share_behind,
    slope_of,
)
from hushpoll_analysis.records.answering import of_respondents
from hushpoll_analysis.verdicts.needed import POWER
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute
from hushpoll_shared.wire.documents.plans import GoalKind

PRECISE: Final = 6_000
"""Surveys drawn for a power that is shown, whose standard error is then at most .0065."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a survey of some size and epsilon has to say of a goal."""

    met: bool
    """Whether it is enough; True where no value is wanted."""
    value: float | None
    """Mean width, or the chance to find what is wanted; where no value is wanted, the width, or the
    smallest difference or disparity that is found with `POWER`, None if there is none. None for a
    width, too, where some surveys' intervals have no bound."""
    noise: float | None = None
    """Expected standard error for which the regression of a slope will call it too noisy to tell,
    so that nothing is found; None where it will not."""


def outcome(
    goal: Goal,
    published: Published,
    n: int,
    given: AuditAssumptions,
    *,
    in_clear: bool = False,
    surveys: int = SURVEYS,
) -> Outcome:
    """Return what a survey with n respondents has to say of a goal.

    Either version of a change has n respondents, at least 1. Of questions in a draw as many count
    as answer them on average. The gap of `given` plays no part. Answers in clear leave sampling
    alone, and are not for audits. `surveys` are drawn for goals of
    :data:`~hushpoll_analysis.planning.goals.DRAWN`.
    """
    published, n = of_respondents(published, needs(goal, published), n, field="want")
    if goal.kind == "audit":
        return _audit(goal, published, n, given, surveys)
    goal = resolved(goal, published)
    if goal.kind == SLOPE:
        return _slope(goal, published, n, in_clear=in_clear)
    attributes = [published.attribute(name) for name in goal.names]
    cells = sizes_of_cells(published, *goal.names) if len(goal.names) == 2 else None
    plan = PlannedGoal(
        goal, tuple(attributes), n, in_clear, surveys, part_asked(published, goal.names[0]), cells
    )
    in_blocks = not in_clear and any(attribute.block is not None for attribute in attributes)
    if in_blocks or (attributes[0].ask_if is not None and goal.kind != "association"):
        return of_blocks(plan)
    return _OUTCOMES[goal.kind](plan)


@dataclass(frozen=True, slots=True)
class PlannedGoal:
    """A goal with its share, its attributes, and the surveys that will say something of it."""

    goal: Goal
    attributes: tuple[PublishedAttribute, ...]
    n: int
    in_clear: bool
    surveys: int
    part: float = 1.0
    """How many of the people are asked the first question."""
    cells: npt.NDArray[np.float64] | None = None
    """Combinations of the block that both questions are in."""

    @property
    def share(self) -> float:
        """Return that of the category."""
        share = self.goal.share
        assert share is not None  # noqa: S101  (resolved)
        return share

    @property
    def oracle(self) -> FrequencyOracle | None:
        """Protocol of the first attribute; None in clear."""
        return None if self.in_clear else self.attributes[0].oracle

    @property
    def group_sizes(self) -> tuple[float, float]:
        """Parts of the respondents in the smaller group and in the larger one."""
        group, others = self.goal.group or 0.5, self.attributes[-1].k - 1
        return group, (1 - group) / others

    @property
    def sides(self) -> tuple[int, int]:
        """Respondents of both sides of a difference or a change."""
        return sizes(self.goal, self.n)

    @property
    def means(self) -> Means:
        """The mean of the first attribute, among all respondents."""
        attribute = self.attributes[0]
        return Means(attribute, scale_of(attribute), self.n, self.in_clear)

    def drawn(self, precise: int) -> int:
        """Return how many surveys are drawn: `precise` to look for the smallest value."""
        return precise if self.goal.value is None else self.surveys

    def found(self, power: float) -> Outcome:
        """Return the outcome of a power."""
        return Outcome(power >= POWER, power)

    def smallest(self, difference: float | None) -> Outcome:
        """Return the outcome of the smallest difference that is found, where none is wanted."""
        return Outcome(True, difference)

    def by_power(self, power: Callable[[float], float], most: float) -> Outcome:
        """Return the outcome by the power to find a value, which is at most `most`."""
        if self.goal.value is not None:
            return self.found(power(self.goal.value))
        return self.smallest(smallest_found(power, most, POWER))

    def wide(self, width: float) -> Outcome:
        """Return the outcome of a mean width."""
        if math.isinf(width):
            return Outcome(False, None)
        return Outcome(self.goal.value is None or width <= self.goal.value, width)


def _width(plan: PlannedGoal) -> Outcome:
    side = Side(plan.oracle, plan.n, plan.share)
    return plan.wide(expected_interval_width(side, plan.goal.confidence))


def sizes(goal: Goal, n: int) -> tuple[int, int]:
    """Return the respondents of both sides of a difference or a change."""
    if goal.kind == "change":
        return n, n
    small = max(round((goal.group or 0.5) * n), 1)
    return small, max(n - small, 1)


def _difference(plan: PlannedGoal) -> Outcome:
    goal, oracle, share = plan.goal, plan.oracle, plan.share
    both = plan.sides
    if goal.value is None:
        return plan.smallest(smallest_difference(oracle, share, both, goal.confidence, POWER))
    power = difference_power(
        Side(oracle, both[0], min(share + goal.value, 1.0)),
        Side(oracle, both[1], share),
        goal.confidence,
    )
    return plan.found(power)


def _lead(plan: PlannedGoal) -> Outcome:
    goal, (attribute,) = plan.goal, plan.attributes

    def pair(lead: float) -> Pair:
        share = share_behind(goal, attribute, lead)
        return Pair(attribute, plan.n, share + lead, share, plan.in_clear)

    if goal.kind == "lead-width":
        return plan.wide(lead_sets(pair(0.0), goal.confidence, plan.surveys).mean_width())
    surveys = plan.drawn(PRECISE)

    def power(lead: float) -> float:
        return lead_sets(pair(lead), goal.confidence, surveys).share_without_zero()

    return plan.by_power(power, 1.0 if goal.share is None else 1 - 2 * goal.share)


def _gap(plan: PlannedGoal) -> Outcome:
    (of, given), surveys = plan.attributes, plan.drawn(PRECISE)

    def power(gap: float) -> float:
        shares = min(plan.share + gap, 1.0), plan.share
        groups = Groups(of, given, plan.n, plan.group_sizes, shares, plan.in_clear)
        return gap_sets(groups, plan.goal.confidence, surveys).share_without_zero()

    return plan.by_power(power, 1 - plan.share)


def _association(plan: PlannedGoal) -> Outcome:
    goal, (first, second) = plan.goal, plan.attributes

    def power(phi: float) -> float:
        return association_power(
            first, second, plan.n, phi, alpha=1 - goal.confidence, in_clear=plan.in_clear
        )

    return plan.by_power(power, math.sqrt(min(first.k, second.k) - 1))


def _mean(plan: PlannedGoal) -> Outcome:
    return plan.wide(mean_sets(plan.means, plan.goal.confidence, plan.surveys).mean_width())


def _mean_gap(plan: PlannedGoal) -> Outcome:
    confidence, means, surveys = plan.goal.confidence, plan.means, plan.drawn(PRECISE)

    def power(gap: float) -> float:
        given = plan.attributes[1]
        sets = mean_gap_sets(means, given, plan.group_sizes, gap, confidence, surveys)
        return sets.share_without_zero()

    # answers that all lie at one end have no tilt
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


def told_at_all(goal: Goal, published: Published, n: int) -> bool:
    """Whether the regression of a slope with n respondents will tell it, however large it is."""
    published, n = of_respondents(published, needs(goal, published), n, field="want")
    return noise(slope_of(resolved(goal, published), published, 0.0), n) is None


def _slope(goal: Goal, published: Published, n: int, *, in_clear: bool) -> Outcome:
    def power(value: float) -> float:
        slope = slope_of(goal, published, value, in_clear=in_clear)
        return slope_power(slope, n, goal.confidence)

    much = noise(slope_of(goal, published, goal.value or 0.0, in_clear=in_clear), n)
    if much is not None:
        return Outcome(False, None, much)
    if goal.value is not None:
        found = power(goal.value)
        return Outcome(found >= POWER, found)
    return Outcome(True, smallest_found(power, LARGEST, POWER))


def _audit(
    goal: Goal, published: Published, n: int, given: AuditAssumptions, surveys: int
) -> Outcome:
    name, level = goal.subject, goal.confidence
    if goal.value is None:
        return Outcome(True, smallest_gap(published, n, given, name, confidence=level))
    population = given.with_gap(goal.value, name) if goal.value < 1 else None
    if population is None:
        raise InvalidParameter(
            f"{goal} wants a disparity of {goal.value}, for which a share predicted positive of "
            f"{given.positive:g} and the other rates leave no room; want less, or give other rates",
            field="want",
        )
    power = share_of_surveys(
        finds, published, n, population, (name,), confidence=level, surveys=surveys
    )[name]
    return Outcome(power >= POWER, power)
