"""Select-alls in a terminal and in a preview: asked as one question, within the limits."""

from __future__ import annotations

import json
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hushpoll_client.cli.interview import interview
from hushpoll_client.device.preview import build_preview
from hushpoll_client.device.randomization import randomize
from hushpoll_shared import Published

VECTORS = Path(__file__).parents[1] / "vectors" / "refusals.json"
ANSWERS: dict[str, Any] = {
    "drugs": ["Cannabis"],
    "sex": "f",
    "news": ["Web"],
    "sports": [],
    "colours": ["Red", "Blue"],
}


@pytest.fixture(scope="module")
def survey() -> Published:
    return Published.from_json(json.loads(VECTORS.read_text("utf-8"))["sound_selects"])


class Typing(Console):
    """A terminal at which these lines are typed."""

    def __init__(self, *lines: str) -> None:
        self.printed = StringIO()
        super().__init__(file=self.printed, width=100)
        self._lines = iter(lines)

    def input(self, *_: Any, **__: Any) -> str:
        return next(self._lines)


def test_a_terminal_asks_for_several_numbers_until_they_fit(survey: Published) -> None:
    console = Typing("1,2,3", "", "9", "2, 4", "1", "4", "", "1 3")
    answers = interview(survey, console, survey.wording("de"))
    assert answers == {
        "drugs": ["Cocaine", "Other"],
        "sex": "f",
        "news": ["Web"],
        "sports": [],
        "colours": ["Red", "Blue"],
    }
    printed = console.printed.getvalue()
    assert printed.count("Please select 1 to 2 of them.") == 2
    assert "Please type numbers from 1 to 4" in printed
    assert "1 of 5. Was haben Sie genommen?" in printed
    assert "1  Hanf" in printed
    assert "at most 2; Enter for none of them" in printed
    randomize(survey, answers)


def test_a_preview_says_all_options_together(survey: Published) -> None:
    preview = build_preview(survey, ANSWERS)
    lines = {line.name: line for line in preview.perturbed}
    assert list(lines) == ["drugs", "sex", "news", "sports"]
    assert lines["news"].epsilon == Decimal("2")  # of its draw
    assert lines["news"].protection.limit.endswith("at most a factor of 7.4.")
    assert lines["news"].truth.startswith("For each of these answers by itself: What is sent")
    assert lines["drugs"].title == (
        "Which have you taken? These 4 answers together (drugs): Cannabis, Cocaine, Heroin, Other"
    )
    assert [(line.name, line.answer) for line in preview.clear] == [("colours", "Red, Blue")]
    assert build_preview(survey, {**ANSWERS, "colours": []}).clear[0].answer == "none of these"
