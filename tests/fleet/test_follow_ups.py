"""Fleets answer follow-ups where they are asked: populations, files, functions, and the audit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hushpoll_fleet.audit import SDKS, audit, survey_of
from hushpoll_fleet.population.population import Population
from hushpoll_fleet.population.respondents import BadRows, from_function, read_respondents
from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many, malformed_many

DRAFT: dict[str, Any] = {
    "name": "s",
    "version": 1,
    "title": "S",
    "epsilon": "2",
    "protocol": "GRR",
    "attributes": [
        {"name": "town", "role": "plain", "categories": ["a", "b"]},
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"], "missing": "none"},
        {
            "name": "amount",
            "role": "sensitive",
            "categories": ["few", "many"],
            "ask_if": {"smokes": ["yes"]},
        },
        {
            "name": "brand",
            "role": "sensitive",
            "categories": ["x", "y"],
            "missing": "none",
            "ask_if": {"amount": ["many"]},
        },
    ],
    "together": [{"name": "habits", "attributes": ["smokes", "amount"]}],
    "population": {
        "town": {"weights": {"a": 3, "b": 1}},
        "smokes": {"weights": {"no": 5, "yes": 4, "none": 1}},
        "amount": {"logit": {"category": "many", "intercept": 0, "effects": {"town": {"a": 1}}}},
        "brand": {"weights": "uniform"},
    },
}
MANIFEST = Manifest.from_dict(DRAFT)


def test_a_population_answers_a_follow_up_exactly_where_it_is_asked() -> None:
    population = Population.from_manifest(MANIFEST)
    codes = population.sample(4_000, np.random.default_rng(1))
    asked = codes["smokes"] == 1
    assert ((codes["amount"] == 2) == ~asked).all()
    assert ((codes["brand"] == 3) == (codes["amount"] != 1)).all()
    joint = population.joint("smokes", "amount")
    assert joint is not None
    many = 0.75 * (1 + np.tanh(0.5)) / 2 + 0.25 / 2
    expected = [[0, 0, 0.5], [0.4 * (1 - many), 0.4 * many, 0], [0, 0, 0.1]]
    assert np.allclose(joint, expected)
    published = MANIFEST.resolve()
    records = encode_many(published, codes, np.random.default_rng(2))
    assert not malformed_many(published, records)[0].any()


def test_a_population_may_describe_a_follow_up_given_its_router() -> None:
    given = {"given": "smokes", "weights": {"yes": {"few": 3, "many": 1}, "*": {"not asked": 1}}}
    population = Population.read(MANIFEST.attributes, {**DRAFT["population"], "amount": given})
    joint = population.joint("smokes", "amount")
    assert np.allclose(joint, [[0, 0, 0.5], [0.3, 0.1, 0], [0, 0, 0.1]])
    nobody = {"given": "smokes", "weights": {"*": {"not asked": 1}}}
    with pytest.raises(InvalidParameter, match=r"population\[amount\] gives people who are asked"):
        Population.read(MANIFEST.attributes, {**DRAFT["population"], "amount": nobody})


def test_a_file_leaves_empty_what_is_not_asked_and_nothing_else_fits(tmp_path) -> None:
    path = tmp_path / "respondents.csv"
    path.write_text("town,smokes,amount,brand\na,no,,\nb,yes,many,\nb,yes,few,\na,,not asked,\n")
    rows = list(read_respondents(path, MANIFEST.attributes).answers())
    assert [(row["amount"], row["brand"]) for row in rows] == [
        ("not asked", "not asked"),
        ("many", "none"),
        ("few", "not asked"),
        ("not asked", "not asked"),
    ]
    path.write_text("town,smokes,amount,brand\na,no,many,\nb,yes,,x\nb,perhaps,few,\n")
    with pytest.raises(BadRows) as caught:
        read_respondents(path, MANIFEST.attributes)
    found = [(bad.row, bad.column, bad.value) for bad in caught.value.values]
    assert found == [(1, "amount", "many"), (2, "amount", ""), (3, "smokes", "perhaps")]
    path.write_text("town,smokes,amount\na,no,\n")
    with pytest.raises(InvalidParameter, match="no column 'brand', a follow-up"):
        read_respondents(path, MANIFEST.attributes)


def test_a_function_gives_no_answer_to_what_is_not_asked(tmp_path, monkeypatch) -> None:
    (tmp_path / "answering.py").write_text(
        "def sound(number, rng):\n"
        "    return {'town': 'a', 'smokes': 'no'}\n\n"
        "def odd(number, rng):\n"
        "    return {'town': 'a', 'smokes': 'no', 'amount': 'many'}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    respondents = from_function(MANIFEST, "answering:sound", 2, seed=1)
    assert [row["amount"] for row in respondents.answers()] == ["not asked"] * 2
    with pytest.raises(InvalidParameter, match="do not go together"):
        from_function(MANIFEST, "answering:odd", 1, seed=1)


def test_the_audit_reaches_the_epsilon_of_a_follow_up_and_does_not_pass_it() -> None:
    """The kernels stand in for a device: they draw by the same law, and fast."""
    rng = np.random.default_rng(3)

    def fast(published, answers, times):
        codes = published.layout.code_answers(answers)
        columns = {name: np.full(times, code) for name, code in codes.items()}
        return encode_many(published, columns, rng).tobytes()

    finding = audit(fast, "SS", "1", sdk="kernels", draws=200_000, kind="follow-up")
    assert not finding.overspends
    assert finding.share > 0.9


@pytest.mark.parametrize("sdk", SDKS)
def test_each_sdk_answers_a_question_and_its_follow_up_as_the_audit_asks(sdk: str) -> None:
    published = survey_of("GRR", "40", "follow-up")
    (block,) = published.blocks
    assert [block.part(value) for value in range(block.k)] == [(0, 3), (1, 0), (1, 1), (1, 2)]
    for value in range(4):
        data = SDKS[sdk](
            published,
            {
                question.name: question.domain[code]
                for question, code in zip(block.questions, block.part(value), strict=True)
            },
            20,
        )
        # A lie has a chance of under 1e-15.
        assert {block.oracle.support(data[at : at + 1]) for at in range(20)} == {(value,)}
