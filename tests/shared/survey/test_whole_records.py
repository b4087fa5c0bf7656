"""The law of whole records where blocks, trees, numbers, select-alls and draws meet.

Everything that a respondent can answer is turned into codes as on a device, and every record that
can be sent is listed with its exact probability: the part of each block, what a number's anchors
are drawn as, and which blocks of a draw are answered. No formula of a ratio is used.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from math import comb, prod
from typing import Any

import pytest

from hushpoll_protocols import FrequencyOracle, MalformedRecord
from hushpoll_shared import Manifest, Published
from hushpoll_shared.survey.codec import Field

Law = dict[bytes, Fraction]

EPSILON = "1.3"
SMOKES = {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]}
AMOUNT = {
    "name": "amount",
    "role": "sensitive",
    "categories": ["few", "many"],
    "ask_if": {"smokes": ["yes"]},
}
AGE = {"name": "age", "role": "sensitive", "range": [1, 3]}
SEX = {"name": "sex", "role": "sensitive", "categories": ["f", "m"]}
RENT = {
    "name": "rent",
    "role": "sensitive",
    "number": {"low": 0, "high": 4, "anchors": [0, 1, 4]},
}
NEWS = {
    "name": "news",
    "role": "sensitive",
    "categories": ["paper", "radio"],
    "select": {},
    "want": "shares",
}
TREE = {"name": "habit", "attributes": ["smokes", "amount"]}
PAIR = {"name": "pair", "attributes": ["smokes", "sex"]}

SURVEYS: dict[str, dict[str, Any]] = {
    "a block beside a number": {"attributes": [SMOKES, SEX, RENT], "together": [PAIR]},
    "a tree beside a select-all": {"attributes": [SMOKES, AMOUNT, NEWS], "together": [TREE]},
    "a block in a draw": {
        "attributes": [SMOKES, SEX, AGE],
        "together": [PAIR],
        "draws": [{"name": "rota", "blocks": ["pair", "age"], "answer": 1}],
    },
    "a tree in a draw, a question outside": {
        "attributes": [SEX, SMOKES, AMOUNT, AGE],
        "together": [TREE],
        "draws": [{"name": "rota", "blocks": ["age", "habit"], "answer": 1}],
    },
    "a follow-up in another draw than its router": {
        "attributes": [SMOKES, SEX, AMOUNT, AGE],
        "draws": [
            {"name": "first", "blocks": ["smokes", "sex"], "answer": 1},
            {"name": "second", "blocks": ["amount", "age"], "answer": 1},
        ],
    },
    "a number in a draw": {
        "attributes": [RENT, SEX, AGE],
        "draws": [{"name": "rota", "blocks": ["rent", "sex", "age"], "answer": 2}],
    },
    "a select-all in a draw": {
        "attributes": [NEWS, AGE],
        "draws": [{"name": "rota", "blocks": ["news", "age"], "answer": 1}],
    },
    "a select-all with limits in a draw with a block": {
        "attributes": [SMOKES, SEX, NEWS | {"select": {"at_least": 1}, "want": "pairs"}],
        "together": [PAIR],
        "draws": [{"name": "rota", "blocks": ["news", "pair"], "answer": 1}],
    },
    "a number that is a follow-up in a draw": {
        "attributes": [SMOKES, RENT | {"ask_if": {"smokes": ["yes"]}}, SEX],
        "draws": [{"name": "rota", "blocks": ["rent", "sex"], "answer": 1}],
    },
    "items of a matrix in a draw": {
        "attributes": [
            SEX,
            {
                "name": "drinks",
                "role": "sensitive",
                "question": "How often?",
                "categories": ["never", "often"],
                "items": [
                    {"name": "wine", "question": "Wine"},
                    {"name": "beer", "question": "Beer"},
                ],
            },
        ],
        "draws": [{"name": "rota", "blocks": ["wine", "beer"], "answer": 1}],
    },
}


def published(survey: Mapping[str, Any], protocol: str) -> Published:
    top = {"name": "s", "version": 1, "title": "S", "epsilon": EPSILON, "protocol": protocol}
    return Manifest.from_dict(top | survey).resolve()


def answers_of(survey: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield everything that a respondent can answer."""
    options = [_options(attribute) for attribute in survey["attributes"]]
    for chosen in itertools.product(*options):
        given = {name: value for part in chosen for name, value in part.items()}
        conditions = [
            (one["name"], *next(iter(one["ask_if"].items())))
            for one in survey["attributes"]
            if "ask_if" in one
        ]
        if all((given[name] is not None) == (given[r] in yes) for name, r, yes in conditions):
            yield {name: value for name, value in given.items() if value is not None}


def _options(attribute: Mapping[str, Any]) -> list[dict[str, Any]]:
    name = attribute["name"]
    if "items" in attribute:
        items = [item["name"] for item in attribute["items"]]
        given = itertools.product(attribute["categories"], repeat=len(items))
        return [dict(zip(items, one, strict=True)) for one in given]
    values: list[Any]
    if "select" in attribute:
        options, least = attribute["categories"], attribute["select"].get("at_least", 0)
        sizes = range(least, len(options) + 1)
        values = [list(one) for size in sizes for one in itertools.combinations(options, size)]
    elif "number" in attribute:
        values = list(range(attribute["number"]["low"], attribute["number"]["high"] + 1))
    elif "range" in attribute:
        values = list(range(attribute["range"][0], attribute["range"][1] + 1))
    else:
        values = list(attribute["categories"])
    return [{name: value} for value in [*values, *([None] if "ask_if" in attribute else [])]]


def _records(oracle: FrequencyOracle, size: int) -> list[bytes]:
    found = []
    for value in range(1 << 8 * size):
        record = value.to_bytes(size, "little")
        try:
            oracle.check(record)
        except MalformedRecord:
            continue
        found.append(record)
    return found


def part_law(
    survey: Published, field: Field, given: Mapping[str, Any], codes: Mapping[str, int]
) -> Law:
    """Return the law of one field, given the answers."""
    assert field.oracle is not None
    alone = field.block is None or field.block.alone
    anchors = survey.attribute(field.name).anchors if alone else ()
    standing = {field.code(codes): Fraction(1)}
    if anchors and field.name in given:
        value = given[field.name]
        above = next(place for place, anchor in enumerate(anchors) if anchor >= value)
        standing = {above: Fraction(1)}
        if anchors[above] != value:
            low, high = anchors[above - 1], anchors[above]
            up = Fraction(value - low, high - low)
            standing = {above - 1: 1 - up, above: up}
    elif anchors:
        standing = {field.k - 1: Fraction(1)}  # not asked
    records = _records(field.oracle, field.size)
    return {
        record: sum(
            (share * field.oracle.probability(record, code) for code, share in standing.items()),
            Fraction(0),
        )
        for record in records
    }


def record_law(survey: Published, given: Mapping[str, Any]) -> Law:
    """Return every record that a device can send of these answers, with its probability."""
    layout = survey.layout
    codes = layout.code_answers(given)
    parts = {field.name: part_law(survey, field, given, codes) for field in layout.fields}
    assert all(sum(part.values()) == 1 for part in parts.values())
    choices = [
        list(itertools.combinations(mask.draw.blocks, mask.draw.answer)) for mask in layout.masks
    ]
    law: Law = {}
    for chosen in itertools.product(*choices):
        start = bytearray(layout.record_size)
        chance, silent = Fraction(1), set()
        for mask, names in zip(layout.masks, chosen, strict=True):
            chance /= comb(len(mask.draw.blocks), mask.draw.answer)
            bits = sum(1 << at for at, name in enumerate(mask.draw.blocks) if name in names)
            start[mask.offset : mask.end] = bits.to_bytes(mask.size, "little")
            silent |= set(mask.draw.blocks) - set(names)
        sent = [field for field in layout.fields if field.name not in silent]
        for values in itertools.product(*(parts[field.name].items() for field in sent)):
            record = bytearray(start)
            for field, (part, _) in zip(sent, values, strict=True):
                record[field.offset : field.end] = part
            law[bytes(record)] = chance * prod(each for _, each in values)
    return law


@pytest.mark.parametrize("protocol", ["GRR", "SS"])
@pytest.mark.parametrize("case", SURVEYS)
def test_no_answers_make_a_record_more_likely_than_epsilon_allows(case: str, protocol: str) -> None:
    survey = published(SURVEYS[case], protocol)
    laws = [record_law(survey, given) for given in answers_of(SURVEYS[case])]
    assert len(laws) > 3
    assert all(sum(law.values()) == 1 for law in laws)
    assert all(law.keys() == laws[0].keys() for law in laws)
    for record in laws[0]:
        survey.layout.check(record)
    worst = max(
        max(law[record] for law in laws) / min(law[record] for law in laws) for record in laws[0]
    )
    spent = Decimal(worst.numerator).ln() - Decimal(worst.denominator).ln()
    assert spent <= Decimal(EPSILON)
    # and not much less: a law that was wrong on the safe side would be found, too
    assert spent > Decimal("0.4") * Decimal(EPSILON)
    assert sum(survey.budget.values()) <= Decimal(EPSILON)


def test_a_number_is_in_no_block() -> None:
    """So what is listed above of numbers is all that there is of them."""
    with pytest.raises(ValueError, match="answered by a number; a number is randomised alone"):
        published(
            {
                "attributes": [SEX, RENT],
                "together": [{"name": "both", "attributes": ["sex", "rent"]}],
            },
            "GRR",
        )
