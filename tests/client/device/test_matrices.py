"""Matrices in the preview and in the terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from hushpoll_client.cli.interview import interview
from hushpoll_client.device.preview import build_preview
from hushpoll_shared import Manifest

DRAFT: dict[str, Any] = {
    "name": "drinks",
    "version": 1,
    "title": "Drinks",
    "epsilon": "3",
    "protocol": "SS",
    "language": "en",
    "attributes": [
        {
            "name": "drinks",
            "role": "sensitive",
            "categories": ["never", "weekly"],
            "question": "How often do you drink this?",
            "items": [{"name": "wine", "question": "Wine"}, {"name": "beer", "question": "Beer"}],
            "together": True,
        },
        {
            "name": "town",
            "role": "plain",
            "categories": ["no", "yes"],
            "items": [{"name": "tram", "question": "A tram"}, {"name": "pool", "question": "Pool"}],
        },
    ],
    "translations": {
        "de": {
            "title": "Getränke",
            "attributes": {
                "drinks": {"question": "Wie oft?", "categories": ["nie", "wöchentlich"]},
                "wine": {"question": "Wein"},
                "beer": {"question": "Bier"},
                "tram": {"question": "Straßenbahn"},
                "pool": {"question": "Bad"},
            },
        }
    },
}
SURVEY = Manifest.from_dict(DRAFT).resolve()
ANSWERS = {"wine": "never", "beer": "weekly", "tram": "yes", "pool": "no"}


class Typing(Console):
    """A terminal in which these lines are typed."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(file=StringIO(), width=200)
        self.lines = iter(lines)

    def input(self, *args: Any, **options: Any) -> str:
        return next(self.lines)


def test_preview_says_the_common_question_before_each_item():
    text = str(build_preview(SURVEY, ANSWERS))
    wine, beer = (f"{one.lower()} (How often do you drink this? {one})" for one in ("Wine", "Beer"))
    assert f"These 2 answers together (drinks): {wine}, {beer}" in text
    # A matrix without a question is called by its name, which says nothing to a respondent.
    assert "tram (A tram): yes" in text
    assert "wine (Wie oft? Wein)" in str(build_preview(SURVEY, ANSWERS, "de"))


def test_terminal_prints_the_common_question_once_and_asks_item_by_item():
    console = Typing(["1", "2", "yes", "no"])
    assert interview(SURVEY, console) == ANSWERS
    shown = console.file.getvalue()
    assert shown.count("How often do you drink this?") == 1
    places = [shown.index(part) for part in ("How often", "1 of 4. Wine", "2 of 4. Beer", "town")]
    assert places == sorted(places)


def test_terminal_draws_the_order_of_rows_and_says_help_and_ends():
    drinks, town = DRAFT["attributes"]
    more = {"scale": "ordinal", "ends": ["least", "most"], "help": "Think of May.", "shuffle": {}}
    survey = Manifest.from_dict(
        {**DRAFT, "attributes": [{**drinks, **more}, town], "translations": None}
    ).resolve()
    console = Typing(["weekly", "never", "yes", "no"])
    assert interview(survey, console, shuffle=lambda places: places.reverse()) == ANSWERS
    shown = console.file.getvalue()
    parts = (
        "How often",
        "Think of May.",
        "1 of 4. Beer",
        "never: least; weekly: most",
        "2 of 4. Wine",
    )
    places = [shown.index(part) for part in parts]
    assert places == sorted(places)
    assert shown.count("Think of May.") == 1


def test_terminal_asks_in_another_language_and_gives_the_survey_s_own_answers():
    console = Typing(["nie", "wöchentlich", "2", "1"])
    assert interview(SURVEY, console, SURVEY.wording("de")) == ANSWERS
    assert "Wie oft?" in console.file.getvalue()
