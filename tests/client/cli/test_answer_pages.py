"""Sections as pages of the terminal, with a way back; help texts, ends of scales, drawn orders."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from hushpoll_client.cli.interview import interview
from hushpoll_shared import Manifest
from vector_builders.surveys import HELPED, PRESENTED


class _Typing(Console):
    """A terminal at which these lines are typed."""

    def __init__(self, *lines: str) -> None:
        super().__init__(file=io.StringIO(), width=200)
        self._lines = iter(lines)

    def input(self, *_: object, **__: object) -> str:
        return next(self._lines)

    @property
    def shown(self) -> str:
        """All that was printed."""
        return str(self.file.getvalue())  # type: ignore[attr-defined]  # it is a StringIO


def _question(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": "sensitive", "categories": ["no", "yes"], **more}


SECTIONS = Manifest.from_dict(
    {
        "name": "sections",
        "version": 1,
        "title": "Sections",
        "epsilon": "4",
        "protocol": "SS",
        "attributes": [
            _question("a", section="First"),
            _question("b", section="First"),
            _question("c", section="Second"),
            _question("d", section="Second", ask_if={"c": ["yes"]}),
        ],
    }
).resolve()


def test_back_leads_to_the_start_of_a_section_and_then_to_the_section_before() -> None:
    terminal = _Typing("yes", "yes", "yes", "<", "<", "no", "no", "no")
    assert interview(SECTIONS, terminal) == {"a": "no", "b": "no", "c": "no", "d": None}
    headings = [line for line in terminal.shown.splitlines() if " of 2)" in line]
    assert headings == [
        *("First (1 of 2)", "Second (2 of 2)", "Second (2 of 2)"),
        *("First (1 of 2)", "Second (2 of 2)"),
    ]


def test_back_at_the_first_question_asks_it_again() -> None:
    answers = interview(SECTIONS, _Typing("<", "yes", "yes", "no"))
    assert answers == {"a": "yes", "b": "yes", "c": "no", "d": None}


def test_a_question_outside_sections_is_a_page_of_its_own() -> None:
    document = SECTIONS.to_dict()
    survey = Manifest.from_dict(
        {
            **{key: document[key] for key in ("name", "version", "title", "epsilon")},
            "protocol": "SS",
            "attributes": [_question("a"), _question("b"), _question("c")],
        }
    ).resolve()
    terminal = _Typing("yes", "yes", "<", "no", "no")
    assert interview(survey, terminal) == {"a": "yes", "b": "no", "c": "no"}


def test_an_answer_that_is_the_sign_for_back_is_an_answer() -> None:
    survey = Manifest.from_dict(
        {
            **{key: HELPED[key] for key in ("name", "version", "title", "epsilon", "protocol")},
            "attributes": [_question("sign", categories=["<", ">"]), _question("b")],
        }
    ).resolve()
    assert interview(survey, _Typing("<", "yes")) == {"sign": "<", "b": "yes"}


def test_help_texts_stand_below_the_question_in_the_language_of_the_respondent() -> None:
    survey = Manifest.from_dict(HELPED).resolve()
    terminal = _Typing("ja", "1", "A")
    answers = interview(survey, terminal, survey.wording("de"))
    assert answers == {"smokes": "yes", "sports": ["running"], "town": "A"}
    shown = terminal.shown
    assert "1 of 3. Rauchen Sie?\n   Zigaretten.\n   Keine E-Zigaretten.\n   Randomised" in shown
    assert "Welchen Sport treiben Sie?\n   Im letzten Jahr.\n" in shown


def test_answers_in_a_drawn_order_are_those_that_were_meant() -> None:
    survey = Manifest.from_dict(PRESENTED).resolve()
    terminal = _Typing("10", "1", "1")
    answers = interview(survey, terminal, shuffle=list.reverse)
    assert answers == {"satisfied": "10", "party": "South", "sports": ["another"]}
    shown = terminal.shown
    assert "0: not at all; 10: completely" in shown
    assert "   1  South\n   2  North\n   3  another\n" in shown
    assert "   1  another\n   2  swimming\n   3  running\n" in shown


def test_every_order_of_what_moves_is_drawn() -> None:
    survey = Manifest.from_dict(PRESENTED).resolve()
    firsts = set()
    for _ in range(60):
        terminal = _Typing("10", "North", "1")
        answers = interview(survey, terminal)
        assert answers["party"] == "North"
        firsts.add(tuple(answers["sports"] or ()))
    assert firsts == {("running",), ("swimming",), ("another",)}
