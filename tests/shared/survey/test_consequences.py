"""The label of consequences against the law of the records, and by the terms of the survey."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from enumerated_law import extremes, facts_about, pairs, tables
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.number_texts import spelled
from hushpoll_shared.survey.consequences import (
    ENGLISH,
    Learns,
    Party,
    SaidLabel,
    factor_number,
    label_of,
    label_text,
    say_label,
)
from hushpoll_shared.survey.published import Published

TOWN = {"name": "town", "role": "plain", "categories": ["Oslo", "Bonn"]}
HINT = re.compile(r"a (?:weak |strong )?hint: odds times ([0-9.,]+) at most")
LIMIT = re.compile(r".*your randomised answers change the odds .* at most a factor of ([0-9.,]+)\.")
SINGLE = re.compile(r"What is sent for one question.* at most a factor of ([0-9.,]+)\.")


def question(name: str, protocol: str = "GRR", k: int = 2) -> dict[str, Any]:
    return {"name": name, "role": "sensitive", "protocol": protocol, "range": [1, k]}


def survey(*attributes: dict[str, Any], **terms: Any) -> Published:
    draft = {"name": "s", "version": 1, "title": "S", "epsilon": "2", "attributes": attributes}
    return Manifest.from_dict(draft | terms).resolve()


def said(published: Published, *, hosted: bool = False) -> SaidLabel:
    return say_label(label_of(published, hosted=hosted), ENGLISH)


def number(pattern: re.Pattern[str], text: str) -> Fraction:
    matched = pattern.match(text)
    assert matched, text
    return Fraction(matched[1].replace(",", ""))


@pytest.mark.parametrize(
    ("first", "second", "epsilon"),
    [("GRR", "OUE", "1"), ("SS", "GRR", "3"), ("RAPPOR", "OLH", "5"), ("GRR", "GRR", "7.5")],
)
def test_the_hint_bounds_what_every_record_does_to_every_belief(
    first: str, second: str, epsilon: str
) -> None:
    """Sums over all records and facts; the odds change by this factor whatever was thought."""
    published = survey(
        question("a", first, 3),
        question("b", second, 2),
        epsilon=epsilon,
        split={"weights": {"a": 1, "b": 2}},
    )
    label = said(published)
    laws = [tables(block.oracle, seeds=3) for block in published.blocks]

    def largest(table: Any, size: int) -> Fraction:
        least, most = extremes(table, facts_about(size))
        return max(most, 1 / least)

    alone = max(
        largest(table, block.oracle.k)
        for block, tables_of in zip(published.blocks, laws, strict=True)
        for table in tables_of
    )
    both = max(largest(pairs(one, other), 6) for one, other in product(*laws))
    hints = {row.randomised for row in label.rows if row.party != ENGLISH["label.household"]}
    (hint,) = hints
    for pattern, text, truth in (
        (HINT, hint, both),
        (LIMIT, label.notes[0], both),
        (SINGLE, label.notes[1], alone),
    ):
        assert truth <= number(pattern, text) <= truth * Fraction(111, 100)


@pytest.mark.parametrize(
    ("terms", "hosted", "why"),
    [
        ({"minimum_batch": 250}, False, {"team": "at least 250 at a time"}),
        ({"release": "end"}, False, {"team": "when the survey is over"}),
        ({"release": "immediate"}, False, {"team": "tell it from the others"}),
        ({"submission": "token"}, False, {"team": "has your token", "operator": "your token"}),
        (
            {"submission": "invited"},
            False,
            {"team": "has your invitation", "operator": "cannot link to your invitation"},
        ),
        ({}, True, {"operator": "scripts that randomise come from this server"}),
    ],
)
def test_the_terms_of_the_survey_decide_the_reasons(
    terms: dict[str, Any], hosted: bool, why: dict[str, str]
) -> None:
    plain, label = said(survey(question("a"))), said(survey(question("a"), **terms), hosted=hosted)
    for party, before, row in zip(Party, plain.rows, label.rows, strict=True):
        if party in why:
            assert why[party] in row.why
            assert why[party] not in before.why
        else:
            assert row == before


def test_answers_in_clear_are_learnt_by_all_but_the_household() -> None:
    label = label_of(survey(question("a"), TOWN))
    assert {row.party: row.clear for row in label.rows} == {
        **dict.fromkeys(Party, Learns.ANSWER),
        Party.HOUSEHOLD: Learns.NOTHING_ONCE_SENT,
    }
    assert {row.clear for row in label_of(survey(question("a"))).rows} == {None}
    assert len(said(survey(question("a"), TOWN)).heads) == 3
    assert "hint at randomised ones" in label_text(survey(question("a"), TOWN))


def test_weaker_protection_has_weaker_words() -> None:
    hints = [
        said(survey(question("a"), question("b"), epsilon=epsilon)).rows[0].randomised
        for epsilon in ("0.5", "3", "10", "14.5", "16.1")
    ]
    assert hints == [
        "a weak hint: odds times 1.65 at most",
        "a hint: odds times 21 at most",
        "a strong hint: odds times 23,000 at most",
        "a strong hint: odds times more than a million",
        "as good as your answer",
    ]


def test_a_page_whose_operator_sends_the_scripts_says_so_in_the_operators_row() -> None:
    label = said(survey(question("a")), hosted=True)
    cells = dict(zip(Party, (row.randomised for row in label.rows), strict=True))
    assert cells[Party.OPERATOR] == f"{cells[Party.TEAM]}; with other scripts, your answer"
    assert label_of(survey(question("a"))).rows[1].randomised is Learns.HINT


def test_one_question_and_a_select_all_are_the_whole() -> None:
    options = {"name": "d", "role": "sensitive", "categories": ["x", "y"], "select": {}}
    options["protocol"] = "GRR"
    assert label_of(survey(question("a"))).single is None
    assert label_of(survey(options)).single is None
    both = survey(options, question("a"))
    assert label_of(both).single == max(
        both.budget["a"], sum(part for name, part in both.budget.items() if name != "a")
    )
    assert [draw.name for draw in both.draws] == ["d"]  # of whose options a device answers one
    pairs = survey(options | {"want": "pairs"}, question("a"))
    assert label_of(pairs).single == max(pairs.budget.values())


@pytest.mark.parametrize(
    ("value", "language", "text"),
    [
        ("3000", "en", "3,000"),
        ("3000", "de", "3.000"),
        ("3000", "fr", "3\u202f000"),
        ("3000", "es", "3000"),
        ("30000", "es", "30.000"),
        ("2.72", "fr", "2,72"),
        ("1.50", "en", "1.5"),
        ("20", "de", "20"),
    ],
)
def test_numbers_are_spelled_by_language(value: str, language: str, text: str) -> None:
    assert spelled(Decimal(value), language) == text


def test_a_factor_beyond_a_million_has_no_number() -> None:
    assert factor_number(Decimal("13.815510557964")) == 1_000_000
    assert factor_number(Decimal("13.815510557965")) is None
