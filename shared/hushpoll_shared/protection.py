"""How well an epsilon protects: one table of levels for pages, previews and publishing.

The browser SDK has the same table in `protection.js`; tests/vectors/protection.json holds both to
it. A level is about epsilon as it is published, for one question or summed over a survey.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import IntEnum
from typing import Final

from hushpoll_protocols.thresholds import EXACT


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
    """Return the level of one question's epsilon.

    Parameters
    ----------
    epsilon : Decimal
        In (0, 64].
    """
    return _level(epsilon, QUESTION_WEAK_FROM, QUESTION_HARDLY_ABOVE)


def total_level(epsilon: Decimal) -> Level:
    """Return the level of all questions together, from the sum of their epsilons.

    Parameters
    ----------
    epsilon : Decimal
        In (0, 64].
    """
    return _level(epsilon, SURVEY_WEAK_FROM, SURVEY_HARDLY_ABOVE)


def survey_level(epsilons: Iterable[Decimal]) -> Level:
    """Return the level of a survey: the worst of its questions' and of their sum's.

    Parameters
    ----------
    epsilons : iterable of Decimal
        One for each perturbed attribute, at least one.
    """
    parts = tuple(epsilons)
    return max(total_level(total_epsilon(parts)), *(question_level(part) for part in parts))


def total_epsilon(epsilons: Iterable[Decimal]) -> Decimal:
    """Return the exact sum of epsilons, whatever decimal context the host app has set."""
    total = Decimal(0)
    for epsilon in epsilons:
        total = EXACT.add(total, epsilon)
    return total


def _level(epsilon: Decimal, weak_from: Decimal, hardly_above: Decimal) -> Level:
    if epsilon > hardly_above:
        return Level.HARDLY
    if epsilon >= weak_from:
        return Level.WEAK
    return Level.LIMITED if epsilon > STRONG_UP_TO else Level.STRONG
