"""What respondents are told of a draw: all is read, a part is sent, by the law."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console

from hushpoll_client.cli.interview import interview
from hushpoll_client.device.preview import build_preview
from hushpoll_shared import Manifest, Published


def survey(answer: int = 1, **changes: Any) -> Published:
    draft = {
        "name": "habits",
        "version": 1,
        "title": "Habits",
        "epsilon": "3",
        "protocol": "GRR",
        "attributes": [
            {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
            {"name": "age", "role": "sensitive", "range": [1, 4]},
            {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
            {"name": "sleep", "role": "sensitive", "categories": ["bad", "good"]},
        ],
        "draws": [{"name": "rota", "blocks": ["age", "smokes", "sleep"], "answer": answer}],
    }
    return Manifest.from_dict(draft | changes).resolve()


ALL_READ = (
    "Your device reads all of these 3 answers and sends 1 of them, chosen at random by your "
    "device, whatever the answers are. What is not chosen is not sent in any form."
)


def test_the_preview_says_that_all_is_read_and_a_part_is_sent() -> None:
    preview = build_preview(survey(), None)
    assert preview.draws == {"rota": ALL_READ}
    text = str(preview)
    assert text.count(ALL_READ) == 1
    assert text.index("  age; smokes; sleep") < text.index(ALL_READ) < text.index("1 in 3")
    told = {line.name: line.drawn for line in preview.perturbed}
    assert told["gender"] is None
    assert told["age"] == (
        "It is sent with a chance of 1 in 3; the sentences below hold where it is sent."
    )
    assert {line.name: line.epsilon for line in preview.perturbed} == dict.fromkeys(
        told, Decimal("1.5")
    )
    # Nobody is charged more than the draw's epsilon: e^3 is 20.09, rounded up.
    assert "at most a factor of 21." in preview.protection.limit


def test_the_preview_names_groups_of_answers() -> None:
    together = [{"name": "pair", "attributes": ["smokes", "sleep"]}]
    draws = [{"name": "rota", "blocks": ["age", "pair", "gender"], "answer": 2}]
    preview = build_preview(survey(together=together, draws=draws), None)
    assert preview.draws["rota"].startswith(
        "Your device reads all of these 3 answers, some of them groups that are randomised "
        "together, and sends 2 of them, chosen at random"
    )
    # as they stand in the record: the draw stands where gender stands
    assert [line.name for line in preview.perturbed] == ["age", "pair", "gender"]


def test_a_weak_draw_is_named_by_the_epsilon_of_a_chosen_block() -> None:
    from hushpoll_shared.survey.protection import weak_protection

    told = {one.attribute: one.message for one in weak_protection(survey(epsilon="14"))}
    assert set(told) == {None, "gender", "age", "smokes", "sleep"}
    assert "sum to 14" in told[None]
    assert "age is given epsilon 7" in told["age"]


def test_the_terminal_says_which_answers_may_not_be_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    console = Console(width=300, record=True)
    answers = iter(["1", "2", "1", "2"])
    monkeypatch.setattr(console, "input", lambda *_: next(answers))
    interview(survey(), console)
    text = console.export_text()
    line = "Your device sends 1 of 3 such answers, chosen at random, so this one is sent with a"
    assert text.count(line) == 3
