"""Follow-ups: from the manifest to the record, in their router's block and out of it."""

from __future__ import annotations

import copy
import itertools
import json
import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hushpoll_protocols import InvalidParameter, MalformedRecord, ManifestRefused, SecureBits
from hushpoll_shared import Manifest, Published
from hushpoll_shared.survey.questions.follow_ups import NOT_ASKED
from hushpoll_shared.survey.randomization.blocks import Block
from hushpoll_shared.wire.batch import encode_many, malformed_many

SMOKES: dict[str, Any] = {
    "name": "smokes",
    "role": "sensitive",
    "categories": ["no", "yes"],
    "missing": "not said",
}
AMOUNT: dict[str, Any] = {
    "name": "amount",
    "role": "sensitive",
    "categories": ["up to 20", "more than 20"],
    "ask_if": {"smokes": ["yes"]},
}
BRAND: dict[str, Any] = {
    "name": "brand",
    "role": "sensitive",
    "categories": ["a", "b"],
    "ask_if": {"amount": ["more than 20"]},
}


def draft(*attributes: dict[str, Any], **changes: Any) -> dict[str, Any]:
    whole = {"name": "s", "version": 1, "title": "S", "epsilon": "2", "protocol": "GRR"}
    return {**whole, "attributes": copy.deepcopy(list(attributes)), **changes}


def published(*attributes: dict[str, Any], **changes: Any) -> Published:
    return Manifest.from_dict(draft(*attributes, **changes)).resolve()


def together(*names: str) -> list[dict[str, Any]]:
    return [{"name": "block", "attributes": list(names)}]


def possible(survey: Published) -> list[dict[str, int]]:
    """Return all answers that respondents can give, as codes, from the manifest's words alone."""
    found = []
    for codes in itertools.product(*(range(one.k) for one in survey.attributes)):
        answers = dict(zip((one.name for one in survey.attributes), codes, strict=True))
        words = {one.name: one.domain[answers[one.name]] for one in survey.attributes}
        fits = True
        for one in survey.attributes:
            condition = one.to_dict().get("ask_if")
            if condition:
                ((router, categories),) = condition.items()
                fits &= (words[one.name] != "not asked") == (words[router] in categories)
        if fits:
            found.append(answers)
    return found


def test_a_follow_up_has_one_more_category_the_last_and_is_published_in_format_2() -> None:
    survey = published(SMOKES, AMOUNT)
    amount = survey.attribute("amount")
    assert amount.domain == ("up to 20", "more than 20", NOT_ASKED)
    assert (amount.k, amount.answers) == (3, amount.categories)
    document = json.loads(survey.canonical)
    assert document["format"] == 2
    assert "together" not in document
    assert document["attributes"][1]["ask_if"] == {"smokes": ["yes"]}
    assert Published.from_json(survey.canonical) == survey
    again = Manifest.from_dict(draft(SMOKES, AMOUNT))
    assert Manifest.from_dict(again.to_dict()) == again


def test_a_survey_without_follow_ups_stays_in_format_1() -> None:
    plain = {key: value for key, value in AMOUNT.items() if key != "ask_if"}
    survey = published(SMOKES, plain)
    assert json.loads(survey.canonical)["format"] == 1
    assert survey == published(SMOKES, {**plain, "ask_if": None})
    with pytest.raises(ManifestRefused, match="published in format 1") as caught:
        Published.from_json({**survey.to_dict(), "format": 2})
    assert caught.value.field == "together"


@pytest.mark.parametrize(
    "members",
    [
        ("smokes", "amount"),
        ("amount", "smokes"),
        ("brand", "smokes", "amount"),
        ("smokes", "brand"),
        ("amount", "brand"),
        ("wine", "beer"),
        ("beer", "smokes", "wine"),
    ],
)
def test_the_domain_of_a_block_is_what_respondents_can_answer_in_mixed_radix_order(
    members: tuple[str, ...],
) -> None:
    drinks = {"name": "drinks", "role": "sensitive", "categories": ["no", "yes", "now and then"]}
    wine = {**SMOKES, "name": "wine", "ask_if": {"drinks": ["yes"]}}
    beer = {**wine, "name": "beer", "ask_if": {"drinks": ["yes", "now and then"]}}
    survey = published(SMOKES, drinks, AMOUNT, wine, beer, BRAND, together=together(*members))
    block = next(block for block in survey.blocks if block.name == "block")
    expected = sorted({tuple(codes[name] for name in members) for codes in possible(survey)})
    assert block.k == len(expected)
    assert [block.part(place) for place in range(block.k)] == expected
    assert [block.join(codes) for codes in expected] == list(range(block.k))
    for place, name in enumerate(members):
        assert list(block.codes_of(name)) == [codes[place] for codes in expected]
    others = set(itertools.product(*(range(size) for size in block.sizes))) - set(expected)
    for codes in others:
        with pytest.raises(InvalidParameter, match="do not go together"):
            block.join(codes)


def test_a_tree_may_be_small_where_all_combinations_would_be_too_many() -> None:
    chain: list[dict[str, Any]] = [{"name": "q0", "role": "sensitive", "categories": ["n", "y"]}]
    for number in range(1, 40):
        chain.append({**chain[0], "name": f"q{number}", "ask_if": {f"q{number - 1}": ["y"]}})
    survey = published(*chain, together=together(*(one["name"] for one in chain)))
    (block,) = survey.blocks
    assert block.k == 41
    codes = survey.layout.code_answers({"q0": "y", "q1": "y", "q2": "n"})
    assert survey.layout.fields[0].code(codes) == block.join(list(codes.values()))
    columns = {name: np.array([code, code]) for name, code in codes.items()}
    assert len(encode_many(survey, columns, np.random.default_rng(1))) == 2
    wide = [{**SMOKES, "name": f"w{n}", "ask_if": {"q0": ["y"]}} for n in range(12)]
    too_wide = draft(chain[0], *wide, together=together(*(one["name"] for one in wide)))
    with pytest.raises(InvalidParameter, match=r"block\] has more than 65536 combinations"):
        Manifest.from_dict(too_wide)


GOOD: list[tuple[dict[str, Any], list[int]]] = [
    ({"smokes": "no"}, [0, 2, 2]),
    ({}, [2, 2, 2]),
    ({"smokes": "no", "amount": "not asked", "brand": None}, [0, 2, 2]),
    ({"smokes": "yes", "amount": "up to 20"}, [1, 0, 2]),
    ({"smokes": "yes", "amount": "more than 20", "brand": "b"}, [1, 1, 1]),
]


@pytest.mark.parametrize("blocks", [[], together("smokes", "amount")], ids=["apart", "together"])
def test_answers_become_codes_and_nobody_can_send_what_does_not_go_together(
    blocks: list[dict[str, Any]],
) -> None:
    survey = published(SMOKES, AMOUNT, BRAND, together=blocks)
    for answers, codes in GOOD:
        coded = survey.layout.code_answers(answers)
        assert list(coded.values()) == codes
        survey.layout.check(survey.layout.encode(coded, SecureBits()))
    for answers, field in (
        ({"smokes": "no", "amount": "more than 20"}, "amount"),
        ({"amount": "up to 20"}, "amount"),
        ({"smokes": "yes", "amount": "up to 20", "brand": "a"}, "brand"),
        ({"smokes": "yes", "amount": "not asked"}, "amount"),
    ):
        with pytest.raises(InvalidParameter, match="do not go together") as caught:
            survey.layout.code_answers(answers)
        assert caught.value.field == field
        codes = {
            one.name: one.domain.index(answers.get(one.name, one.domain[-1]))
            for one in survey.attributes
        }
        with pytest.raises(InvalidParameter, match="do not go together"):
            survey.layout.encode(codes, SecureBits())
        columns = {name: np.array([code]) for name, code in codes.items()}
        with pytest.raises(InvalidParameter, match="do not go together"):
            encode_many(survey, columns, np.random.default_rng(1))
    with pytest.raises(InvalidParameter, match="brand has no answer") as caught:
        survey.layout.code_answers({"smokes": "yes", "amount": "more than 20"})
    assert NOT_ASKED not in str(caught.value)


def test_simulated_records_are_those_that_devices_encode() -> None:
    survey = published(SMOKES, AMOUNT, BRAND, together=together("amount", "smokes"), epsilon="60")
    answers = possible(survey)
    drawn = random.Random(5).choices(answers, k=60)
    columns = {name: np.array([codes[name] for codes in drawn]) for name in drawn[0]}
    records = encode_many(survey, columns, np.random.default_rng(2))
    assert not malformed_many(survey, records)[0].any()
    for codes, record in zip(drawn, records, strict=True):
        # a lie has a chance of less than 1e-12
        for field in survey.layout.fields:
            assert field.oracle is not None
            part = record[field.offset : field.end].tobytes()
            assert field.oracle.support(part) == (field.code(codes),)


def test_answers_in_clear_that_do_not_go_together_are_malformed() -> None:
    job = {"name": "job", "role": "plain", "categories": ["no", "yes"]}
    hours = {"name": "hours", "role": "plain", "range": [1, 3], "ask_if": {"job": ["yes"]}}
    survey = published(job, hours, SMOKES)
    for codes in itertools.product(range(2), range(5), [0]):
        record = bytes(codes)
        bad, rows = malformed_many(survey, np.frombuffer(record, np.uint8).reshape(1, -1))
        sound = codes[:2] in {(0, 3), (1, 0), (1, 1), (1, 2)}
        assert bad.tolist() == [not sound]
        if sound:
            survey.layout.check(record)
            continue
        assert (rows[0].field, rows[0].reason) == ("hours", "range")
        with pytest.raises(MalformedRecord) as caught:
            survey.layout.check(record)
        assert (caught.value.field, caught.value.reason) == ("hours", "range")


def _records(block: Block) -> list[bytes]:
    """Return every well-formed record of a block of one byte."""
    found = []
    for value in range(256):
        try:
            block.oracle.check(bytes([value]))
        except MalformedRecord:
            continue
        found.append(bytes([value]))
    return found


def chances(survey: Published, codes: dict[str, int]) -> dict[tuple[bytes, ...], Fraction]:
    """Return the chance of each record of perturbed questions, given the answers."""
    parts = []
    for block in survey.blocks:
        code = block.join([codes[one.name] for one in block.questions])
        parts.append({part: block.oracle.probability(part, code) for part in _records(block)})
    return {
        record: math.prod((part[byte] for part, byte in zip(parts, record, strict=True)))
        for record in itertools.product(*parts)
    }


@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE"])
@pytest.mark.parametrize("blocks", [[], together("smokes", "amount"), together("brand", "smokes")])
def test_the_law_of_a_whole_record_never_passes_epsilon(
    protocol: str, blocks: list[dict[str, Any]]
) -> None:
    smokes = {key: value for key, value in SMOKES.items() if key != "missing"}
    survey = published(smokes, AMOUNT, BRAND, together=blocks, protocol=protocol)
    laws = [chances(survey, codes) for codes in possible(survey)]
    worst = Fraction(1)
    for record in laws[0]:
        seen = [law[record] for law in laws]
        worst = max(worst, max(seen) / min(seen))
    assert all(sum(law.values()) == 1 for law in laws)
    spent = sum(block.oracle.realized_epsilon for block in survey.blocks)
    assert spent <= survey.epsilon
    # all fields may differ at once: between no, and yes with an answer to both follow-ups
    assert worst == math.prod(block.oracle.likelihood_ratio for block in survey.blocks)


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no mapping": ({"ask_if": ["yes"]}, "amount", "such as smokes: [daily]"),
    "two routers": ({"ask_if": {"smokes": ["yes"], "x": ["y"]}}, "amount", "names 2 questions"),
    "no name": ({"ask_if": {"Do you smoke?": ["yes"]}}, "amount", "no name of an attribute"),
    "unknown router": ({"ask_if": {"drinks": ["yes"]}}, "amount", "correct the name"),
    "itself": ({"ask_if": {"amount": ["up to 20"]}}, "amount", "amount itself"),
    "a later router": ({"ask_if": {"later": ["yes"]}}, "amount", "move amount behind later"),
    "no list": ({"ask_if": {"smokes": "yes"}}, "amount", "give a list"),
    "an empty list": ({"ask_if": {"smokes": []}}, "amount", "nobody would be asked"),
    "unknown category": ({"ask_if": {"smokes": ["daily"]}}, "amount", "'daily', which is no"),
    "no text": ({"ask_if": {"smokes": [True]}}, "amount", "which is no text"),
    "missing category": ({"ask_if": {"smokes": ["not said"]}}, "amount", "skipped or not asked"),
    "twice": ({"ask_if": {"smokes": ["yes", "yes"]}}, "amount", "'yes' twice"),
    "all": ({"ask_if": {"smokes": ["no", "yes"]}}, "amount", "all 2 categories"),
    "target": ({"role": "target", "protocol": "GRR"}, "amount", "is the target and has ask_if"),
    "in clear": ({"role": "plain"}, "amount", "would reveal the answer to smokes"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_follow_up_that_cannot_be_is_refused_with_field_value_and_remedy(what: str) -> None:
    change, name, words = BAD[what]
    later = {"name": "later", "role": "sensitive", "categories": ["no", "yes"]}
    with pytest.raises(InvalidParameter) as caught:
        Manifest.from_dict(draft(SMOKES, {**AMOUNT, **change}, later))
    assert caught.value.field == f"attributes[{name}].ask_if"
    assert words in str(caught.value)


def test_a_cycle_is_refused_as_one() -> None:
    first = {**SMOKES, "ask_if": {"brand": ["a"]}}
    with pytest.raises(InvalidParameter, match="smokes after brand after amount after smokes"):
        Manifest.from_dict(draft(first, AMOUNT, BRAND))


def test_the_label_of_who_is_not_asked_is_taken() -> None:
    with pytest.raises(InvalidParameter, match="every follow-up has"):
        Manifest.from_dict(draft(SMOKES, {**AMOUNT, "missing": "not asked"}))
    attributes = {"smokes": {"missing": "k. A."}, "amount": {"categories": ["bis 20", NOT_ASKED]}}
    words = {"title": "S", "attributes": attributes}
    with pytest.raises(InvalidParameter, match="two answers by one name"):
        Manifest.from_dict(draft(SMOKES, AMOUNT, language="en", translations={"de": words}))


def test_categories_of_a_router_of_numbers_may_be_written_as_numbers() -> None:
    children = {"name": "children", "role": "sensitive", "range": [0, 2]}
    youngest = {**AMOUNT, "ask_if": {"children": [1, 2]}}
    survey = published(children, youngest)
    assert survey.to_dict()["attributes"][1]["ask_if"] == {"children": ["1", "2"]}


def test_a_record_with_a_follow_up_has_at_most_1024_bytes() -> None:
    wide = {**AMOUNT, "categories": [str(n) for n in range(9000)], "protocol": "OUE"}
    with pytest.raises(InvalidParameter, match=r"with ask_if it has at most 1024.*OLH") as caught:
        published(SMOKES, wide)
    assert caught.value.field == "ask_if"


def test_the_reach_of_a_router_counts_each_block_that_tells_whether_a_follow_up_was_asked() -> None:
    survey = published(
        SMOKES, AMOUNT, BRAND, split={"weights": {"smokes": 2, "amount": 1, "brand": 1}}
    )
    assert {name: str(reach) for name, reach in survey.reach.items()} == {
        "smokes": "2.0",
        "amount": "1.0",
        "brand": "0.5",
    }
    block = published(SMOKES, AMOUNT, BRAND, together=together("smokes", "amount"))
    assert {name: str(reach) for name, reach in block.reach.items()} == {"block": "2", "brand": "1"}
