"""How well an epsilon protects: one table of levels for pages, previews and publishing.

The browser SDK has the same table in `protection.js`; tests/vectors/protection.json holds both to
it. A level is about epsilon as it is published, for one question or summed over a survey.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from hushpoll_shared.survey.randomization.budget import total_epsilon

if TYPE_CHECKING:
    from hushpoll_shared.survey.published import Published


class Level(IntEnum):
    """How well answers are protected; a larger number is worse."""

    STRONG = 0
    LIMITED = 1
    WEAK = 2
    HARDLY = 3


STRONG_UP_TO: Final = Decimal(1)
"""Largest epsilon, of a question or of a survey, that is called strong: odds change 2.8 times."""

QUESTION_WEAK_FROM: Final = Decimal(3)
QUESTION_HARDLY_ABOVE: Final = Decimal(8)
SURVEY_WEAK_FROM: Final = Decimal(6)
SURVEY_HARDLY_ABOVE: Final = Decimal(16)


def question_level(epsilon: Decimal) -> Level:
    """Return the level of one question's epsilon, in (0, 64]."""
    return _level(epsilon, QUESTION_WEAK_FROM, QUESTION_HARDLY_ABOVE)


def total_level(epsilon: Decimal) -> Level:
    """Return the level of all questions together, from the sum of their epsilons, in (0, 64]."""
    return _level(epsilon, SURVEY_WEAK_FROM, SURVEY_HARDLY_ABOVE)


def survey_level(epsilons: Iterable[Decimal], reach: Iterable[Decimal] = ()) -> Level:
    """Return the worst level of questions' epsilons, of their `Published.reach` and of the sum."""
    parts = tuple(epsilons)
    of_questions = (question_level(part) for part in (*parts, *reach))
    return max(total_level(total_epsilon(parts)), *of_questions)


def _level(epsilon: Decimal, weak_from: Decimal, hardly_above: Decimal) -> Level:
    if epsilon > hardly_above:
        return Level.HARDLY
    if epsilon >= weak_from:
        return Level.WEAK
    return Level.LIMITED if epsilon > STRONG_UP_TO else Level.STRONG


@dataclass(frozen=True)
class WeakProtection:
    """One epsilon of a survey that protects weakly or hardly."""

    attribute: str | None
    """Whose epsilon it is; None for the sum over all questions."""
    level: Level
    """``HARDLY`` is published only on request."""
    message: str
    """What the author should know, with the remedy."""


def weak_protection(published: Published) -> tuple[WeakProtection, ...]:
    """Return every epsilon of a survey that protects weakly or hardly, the sum first."""
    own = {block.name: block.oracle.epsilon for block in published.blocks}
    total = total_epsilon(published.budget.values())
    levels: list[tuple[str | None, Level, str, str]] = [
        (
            None,
            total_level(total),
            f"the epsilons of all questions sum to {total:f}",
            f"from {SURVEY_WEAK_FROM} in all protection is weak, above {SURVEY_HARDLY_ABOVE} there "
            "is hardly any; lower epsilon, or ask less",
        )
    ]
    levels += [
        (
            name,
            question_level(epsilon),
            f"{name} is given epsilon {epsilon:f}"
            if epsilon == own[name]
            else f"{name} and its follow-ups, which tell whether they were asked, are given "
            f"epsilon {epsilon:f} together",
            f"from {QUESTION_WEAK_FROM} for a question protection is weak, above "
            f"{QUESTION_HARDLY_ABOVE} there is hardly any; lower epsilon, or split it otherwise",
        )
        for name, epsilon in published.reach.items()
    ]
    return tuple(
        WeakProtection(name, level, f"{fact}, and respondents are told so: {rule}")
        for name, level, fact, rule in levels
        if level >= Level.WEAK
    )
