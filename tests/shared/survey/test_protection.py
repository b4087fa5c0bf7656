from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from hushpoll_shared.survey.protection import (
    Level,
    question_level,
    survey_level,
)
from hushpoll_shared.survey.randomization.budget import (
    total_epsilon,
)

JUST = Decimal("0.000000000001")


@pytest.mark.parametrize(
    ("epsilon", "level"),
    [
        (Decimal("0.000001"), Level.STRONG),
        (Decimal(1), Level.STRONG),
        (1 + JUST, Level.LIMITED),
        (3 - JUST, Level.LIMITED),
        (Decimal(3), Level.WEAK),
        (Decimal(8), Level.WEAK),
        (8 + JUST, Level.HARDLY),
        (Decimal(64), Level.HARDLY),
    ],
)
def test_a_question_has_its_level(epsilon, level):
    assert question_level(epsilon) is level
    # A single question is no better protected because its survey asks nothing else.
    assert survey_level([epsilon]) >= level


@pytest.mark.parametrize(
    ("parts", "level"),
    [
        (["0.5", "0.5"], Level.STRONG),
        (["0.5", "0.500000000001"], Level.LIMITED),
        (["2", "2", "1.999999999999"], Level.LIMITED),
        (["2", "2", "2"], Level.WEAK),
        (["2"] * 8, Level.WEAK),
        (["2"] * 8 + ["0.000001"], Level.HARDLY),
        (["0.1", "3"], Level.WEAK),
        (["0.1", "8.000000000001"], Level.HARDLY),
    ],
)
def test_a_survey_has_the_worst_level_of_its_questions_and_their_sum(parts, level):
    assert survey_level([Decimal(part) for part in parts]) is level


def test_a_sum_is_exact_in_any_decimal_context():
    with localcontext() as context:
        context.prec = 2
        assert total_epsilon([Decimal("15.999999999999"), JUST]) == 16
