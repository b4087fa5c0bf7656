"""Draws: blocks of which a device answers some, from the manifest to the record."""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest

from hushpoll_protocols import InvalidParameter, MalformedRecord, ManifestRefused, ReplayBits
from hushpoll_protocols.bits import uniform_subset
from hushpoll_shared import Manifest, Published
from hushpoll_shared.wire.batch import answered, encode_many, malformed_many

DRAFT: dict[str, Any] = {
    "name": "habits",
    "version": 1,
    "title": "Habits",
    "epsilon": "3",
    "protocol": "GRR",
    "attributes": [
        {"name": "town", "role": "plain", "categories": ["a", "b"]},
        {"name": "gender", "role": "sensitive", "categories": ["f", "m"]},
        {"name": "age", "role": "sensitive", "range": [1, 4], "protocol": "OUE"},
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "drinks", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "sleep", "role": "sensitive", "categories": ["bad", "good"]},
    ],
    "together": [{"name": "pair", "attributes": ["smokes", "drinks"]}],
    "draws": [{"name": "rota", "blocks": ["sleep", "pair", "age"], "answer": 2}],
}


def draft(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(DRAFT), **changes}


def published(**changes: Any) -> Published:
    return Manifest.from_dict(draft(**changes)).resolve()


def test_a_draw_and_a_block_outside_share_epsilon_and_chosen_blocks_share_that_of_the_draw() -> (
    None
):
    survey = published()
    assert survey.budget == {"gender": Decimal("1.5"), "rota": Decimal("1.5")}
    epsilons = {block.name: block.oracle.epsilon for block in survey.blocks}
    assert epsilons == dict.fromkeys(("age", "pair", "sleep"), Decimal("0.75")) | {
        "gender": Decimal("1.5")
    }
    assert survey.reach == epsilons
    again = Published.from_json(survey.canonical)
    assert again == survey
    assert again.layout == survey.layout
    assert json.loads(survey.canonical)["draws"] == [
        {"name": "rota", "blocks": ["sleep", "pair", "age"], "answer": 2, "epsilon": "1.5"}
    ]
    assert json.loads(survey.canonical)["format"] == 2


def test_the_epsilon_of_a_chosen_block_is_rounded_down() -> None:
    survey = published(
        epsilon="1",
        together=[],
        draws=[{"name": "rota", "blocks": ["gender", "age", "smokes", "sleep"], "answer": 3}],
        split={"weights": {"rota": 1, "drinks": 2}},
    )
    assert survey.budget == {"rota": Decimal("0.333333333333"), "drinks": Decimal("0.666666666666")}
    third = Decimal("0.111111111111")
    assert {b.oracle.epsilon for b in survey.blocks if b.name != "drinks"} == {third}


def test_the_shorthand_is_one_draw_of_all_blocks_but_always() -> None:
    short = draft(answer=2, always=["gender"])
    del short["draws"]
    manifest = Manifest.from_dict(short)
    assert [draw.to_dict() for draw in manifest.draws] == [
        {"name": "draw", "blocks": ["age", "pair", "sleep"], "answer": 2}
    ]
    assert Manifest.from_dict(manifest.to_dict()) == manifest
    del short["always"]
    assert Manifest.from_dict(short).draws[0].blocks == ("gender", "age", "pair", "sleep")


def test_a_draw_stands_where_the_first_of_its_questions_stands() -> None:
    layout = published().layout
    places = {field.name: (field.offset, field.size) for field in layout.fields}
    assert [(mask.name, mask.offset, mask.size) for mask in layout.masks] == [("rota", 2, 1)]
    assert places == {
        "town": (0, 1),
        "gender": (1, 1),
        "sleep": (3, 1),
        "pair": (4, 1),
        "age": (5, 1),
    }
    assert layout.record_size == 6


def _records(survey: Published, codes: dict[str, int]) -> Iterator[tuple[bytes, Fraction]]:
    """Yield every record that a device can send of these codes, with its probability."""
    layout = survey.layout
    outcomes: list[list[tuple[bytes, Fraction]]] = []
    for field in layout.fields:
        assert field.oracle is not None
        oracle, code = field.oracle, field.code(codes)
        sent = []
        for number in range(1 << 8 * field.size):
            record = number.to_bytes(field.size, "little")
            try:
                oracle.check(record)
            except MalformedRecord:
                continue
            sent.append((record, oracle.probability(record, code)))
        assert sum(chance for _, chance in sent) == 1
        outcomes.append(sent)
    choices = [
        [
            (mask, set(chosen))
            for chosen in itertools.combinations(mask.draw.blocks, mask.draw.answer)
        ]
        for mask in layout.masks
    ]
    for chosen in itertools.product(*choices):
        left_out = {
            name for mask, names in chosen for name in mask.draw.blocks if name not in names
        }
        chance = Fraction(1)
        record = bytearray(layout.record_size)
        for mask, names in chosen:
            chance /= comb(len(mask.draw.blocks), mask.draw.answer)
            bits = sum(1 << at for at, name in enumerate(mask.draw.blocks) if name in names)
            record[mask.offset : mask.end] = bits.to_bytes(mask.size, "little")
        parts = [
            [(bytes(field.size), Fraction(1))] if field.name in left_out else sent
            for field, sent in zip(layout.fields, outcomes, strict=True)
        ]
        for combination in itertools.product(*parts):
            whole, probability = bytearray(record), chance
            for field, (part, each) in zip(layout.fields, combination, strict=True):
                whole[field.offset : field.end] = part
                probability *= each
            yield bytes(whole), probability


SMALL: dict[str, Any] = {
    "epsilon": "1.2",
    "attributes": [
        {"name": "a", "role": "sensitive", "categories": ["0", "1"]},
        {"name": "b", "role": "sensitive", "categories": ["0", "1", "2"], "protocol": "SS"},
        {"name": "c", "role": "sensitive", "categories": ["0", "1"], "protocol": "OUE"},
        {"name": "d", "role": "sensitive", "categories": ["0", "1"]},
        {
            "name": "e",
            "role": "sensitive",
            "categories": ["0", "1"],
            "ask_if": {"a": ["1"]},
        },
    ],
    "together": [],
}


@pytest.mark.parametrize(
    ("blocks", "answer"), [(["a", "b", "c", "e"], 2), (["b", "e"], 1), (["d", "a", "c"], 1)]
)
def test_the_law_of_the_whole_record_keeps_epsilon(blocks: Sequence[str], answer: int) -> None:
    """The router of e is in its draw, outside of it, or in another place than e."""
    survey = published(**SMALL, draws=[{"name": "rota", "blocks": blocks, "answer": answer}])
    law: dict[tuple[int, ...], dict[bytes, Fraction]] = {}
    for a, b, c, d in itertools.product(range(2), range(3), range(2), range(2)):
        for e in (0, 1) if a == 1 else (2,):
            codes = {"a": a, "b": b, "c": c, "d": d, "e": e}
            law[a, b, c, d, e] = dict(_records(survey, codes))
    tables = list(law.values())
    assert all(sum(table.values()) == 1 for table in tables)
    assert all(table.keys() == tables[0].keys() for table in tables)
    for record in tables[0]:
        survey.layout.check(record)
    worst = max(
        max(table[record] for table in tables) / min(table[record] for table in tables)
        for record in tables[0]
    )
    spent = Decimal(worst.numerator).ln() - Decimal(worst.denominator).ln()
    assert spent <= Decimal("1.2")
    # Of the router alone the odds change as far as the blocks that tell of it and go together.
    widest = max(
        max(
            law[0, b, c, d, 2][r] / law[1, b, c, d, e][r],
            law[1, b, c, d, e][r] / law[0, b, c, d, 2][r],
        )
        for b, c, d, e in itertools.product(range(3), range(2), range(2), range(2))
        for r in tables[0]
    )
    assert Decimal(widest.numerator).ln() - Decimal(widest.denominator).ln() <= survey.reach["a"]


def test_a_device_draws_the_mask_first_and_nothing_for_blocks_that_are_left_out() -> None:
    survey = published()
    codes = {"town": 1, "gender": 0, "age": 2, "smokes": 1, "drinks": 0, "sleep": 1}
    # gender, then two words of the mask (indices 1 and 2), then pair and age
    keep = (1 << 64) - 1
    bits = ReplayBits([keep, 1, 2, keep, keep, keep, keep, keep])
    record = survey.layout.encode(codes, bits)
    assert bits.consumed == 3 + 1 + 4
    assert record == bytes([1, 0, 0b110, 0, 2, 0])
    survey.layout.check(record)
    (mask,) = survey.layout.masks
    assert mask.drawn_blocks(record) == ("pair", "age")


def test_each_subset_is_as_likely_and_refused_words_are_drawn_again() -> None:
    counts = Counter(
        tuple(sorted(uniform_subset(4, 2, ReplayBits([a, b])))) for a in range(3) for b in range(4)
    )
    assert set(counts.values()) == {2}
    assert len(counts) == 6
    top = (1 << 64) - 1  # not below the largest multiple of 3
    assert uniform_subset(3, 1, ReplayBits([top, 2])) == {2}


def test_arrays_draw_the_records_that_a_device_could_send() -> None:
    survey = published()
    n = 6000
    codes = {one.name: np.full(n, one.k - 1) for one in survey.attributes}
    records = encode_many(survey, codes, np.random.default_rng(5))
    bad, rows = malformed_many(survey, records)
    assert not bad.any()
    assert rows == []
    for row in records[:50]:
        survey.layout.check(row.tobytes())
    share = {field.name: answered(records, field).mean() for field in survey.layout.fields}
    assert share["gender"] == 1
    for name in ("age", "pair", "sleep"):
        assert abs(share[name] - 2 / 3) < 0.05
    masks = Counter(records[:, 2].tolist())
    assert set(masks) == {0b011, 0b101, 0b110}


TAMPERED: dict[str, tuple[Callable[[bytearray], None], str, str]] = {
    "no bit": (lambda one: one.__setitem__(2, 0), "rota", "popcount"),
    "too many bits": (lambda one: one.__setitem__(2, 7), "rota", "popcount"),
    "a pad bit": (lambda one: one.__setitem__(2, one[2] | 8), "rota", "padding"),
    "a block that was not chosen": (lambda one: one.__setitem__(3, 1), "sleep", "padding"),
    "another block chosen": (lambda one: one.__setitem__(2, 0b011), "age", "padding"),
    "a code of a chosen block": (lambda one: one.__setitem__(4, 9), "pair", "range"),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_a_malformed_draw_is_refused_alike_one_by_one_and_in_arrays(case: str) -> None:
    survey = published()
    record = bytearray([1, 0, 0b110, 0, 2, 1])
    survey.layout.check(bytes(record))
    change, field, reason = TAMPERED[case]
    change(record)
    with pytest.raises(MalformedRecord) as caught:
        survey.layout.check(bytes(record))
    assert (caught.value.field, caught.value.reason) == (field, reason)
    bad, rows = malformed_many(survey, np.frombuffer(record, np.uint8).reshape(1, -1))
    assert bad.tolist() == [True]
    assert (rows[0].field, rows[0].reason) == (field, reason)


def _draws(*entries: tuple[str, list[str], object]) -> dict[str, Any]:
    return {"draws": [{"name": n, "blocks": b, "answer": s} for n, b, s in entries]}


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "a block in two draws": (
        _draws(("one", ["sleep", "age"], 1), ("two", ["age", "gender"], 1)),
        "draws[two].blocks",
        "has age, which is in the draw one too",
    ),
    "a block twice": (_draws(("one", ["age", "age"], 1)), "draws[one].blocks", "age twice"),
    "answer 0": (_draws(("one", ["age", "sleep"], 0)), "draws[one].answer", "is 0; of 2 blocks"),
    "answer d": (
        _draws(("one", ["age", "sleep"], 2)),
        "draws[one].answer",
        "of 2 blocks a device answers 1:",
    ),
    "answer a text": (_draws(("one", ["age", "sleep"], "1")), "draws[one].answer", "'1'"),
    "answer true": (_draws(("one", ["age", "sleep"], True)), "draws[one].answer", "True|true"),
    "no such block": (
        _draws(("one", ["age", "slep"], 1)),
        "draws[one].blocks",
        "'slep', which is no block of the survey; its blocks are gender, age, pair, sleep",
    ),
    "a question of a block": (
        _draws(("one", ["age", "smokes"], 1)),
        "draws[one].blocks",
        "name the block that it is in",
    ),
    "in clear": (_draws(("one", ["age", "town"], 1)), "draws[one].blocks", "leaves in clear"),
    "one block": (_draws(("one", ["age"], 1)), "draws[one].blocks", "from two blocks on"),
    "a name that is taken": (_draws(("pair", ["age", "sleep"], 1)), "draws[pair].name", "a block"),
    "the same name": (
        _draws(("one", ["age", "sleep"], 1), ("one", ["gender", "pair"], 1)),
        "draws[one].name",
        "another draw",
    ),
    "no list": ({"draws": {"name": "one"}}, "draws", "it is a list of draws"),
    "an entry that is none": ({"draws": ["age"]}, "draws[0]", "it is a mapping"),
    "k-based": (
        {"split": "k-based", "together": []} | _draws(("one", ["age", "sleep"], 1)),
        "split",
        "draw one",
    ),
    "a weight of a block": (
        {"split": {"weights": {"gender": 1, "age": 1, "rota": 1}}},
        "split.weights[age]",
        "give it to rota",
    ),
    "always without answer": ({"draws": None, "always": ["age"]}, "always", "there is no answer"),
    "always with draws": ({"always": ["age"], "answer": 1}, "answer", "lists draws"),
    "an unknown always": ({"draws": None, "always": ["agee"], "answer": 1}, "always", "no block"),
    "always twice": ({"draws": None, "always": ["age", "age"], "answer": 1}, "always", "twice"),
    "too many answers": (
        {"draws": None, "always": ["age"], "answer": 3},
        "answer",
        "answer is 3, and 3 blocks are not in always; of them a device answers 1 to 2: correct",
    ),
    "nothing to draw": (
        {"draws": None, "always": ["age", "pair", "sleep"], "answer": 1},
        "answer",
        "two of them at least",
    ),
    "too little epsilon": (
        {"epsilon": "0.000003"},
        "draws[rota].answer",
        "raise epsilon, or answer fewer",
    ),
    "a record too large": (
        {
            "attributes": [
                {"name": name, "role": "sensitive", "range": [1, 5000]} for name in ("x", "y")
            ],
            "together": [],
            "protocol": "OUE",
        }
        | _draws(("one", ["x", "y"], 1)),
        "draws",
        r"1251 bytes; with draws it has at most 1024: give [xy].*OLH",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_draw_is_refused_with_field_and_remedy(case: str) -> None:
    changes, field, message = BAD[case]
    with pytest.raises(InvalidParameter, match=message) as caught:
        published(**changes)
    assert caught.value.field == field


LIES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "epsilon": (lambda one: one["draws"][0].update(epsilon="1.6"), "draws[rota].epsilon"),
    "a number": (lambda one: one["draws"][0].update(epsilon=1.5), "draws[rota].epsilon"),
    "more answers": (lambda one: one["draws"][0].update(answer=1), "attributes[age].epsilon"),
    "no claim": (lambda one: one["draws"][0].pop("epsilon"), "draws[rota].epsilon"),
    "no draw": (lambda one: one.pop("draws"), "attributes[gender].epsilon|epsilon"),
    "empty": (lambda one: one.update(draws=[]), "draws"),
    "null": (lambda one: one.update(draws=None), "draws"),
    "format 1": (lambda one: one.update(format=1), "draws|together"),
    "shorthand": (lambda one: one.update(answer=2), "answer"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_about_a_draw_is_refused_by_field(lie: str) -> None:
    document = json.loads(published().canonical)
    change, fields = LIES[lie]
    change(document)
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(document)
    assert caught.value.field in fields.split("|"), caught.value


def test_the_optimal_split_weighs_a_draw_by_how_few_answer_each_of_its_blocks() -> None:
    survey = published(split="optimal")
    weights = dict(survey.split.weights)
    assert set(weights) == {"gender", "rota"}
    # As many questions for everybody would each have less than the draw of three has.
    assert weights["rota"] > weights["gender"]
