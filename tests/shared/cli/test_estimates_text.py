"""Estimates of some questions are judged by what is left of them."""

from __future__ import annotations

import pytest

from hushpoll_shared.cli.statistic_texts import judge_again


@pytest.mark.parametrize(
    ("kept", "says", "sentence", "noisy"),
    [
        (["age"], "informative", "The reports can tell what is shown here.", []),
        (
            ["age", "drugs"],
            "informative",
            "The reports cannot tell drugs. Of all questions: They can tell 2 of 3.",
            ["drugs"],
        ),
        (
            ["drugs"],
            "too noisy to tell",
            "The reports cannot tell drugs. Of all questions: They can tell 2 of 3.",
            ["drugs"],
        ),
    ],
)
def test_verdict_is_about_the_questions_that_are_shown(kept, says, sentence, noisy):
    verdict = {"says": "informative", "sentence": "They can tell 2 of 3.", "too_noisy": ["drugs"]}
    answer = {"n": 50, "verdict": verdict | {"respondents": 900, "epsilon": "2"}}
    judge_again(answer, [{"name": name} for name in kept])
    told = answer["verdict"]
    assert (told["says"], told["sentence"], told["too_noisy"]) == (says, sentence, noisy)
    assert told["respondents"] == (900 if noisy else None)
