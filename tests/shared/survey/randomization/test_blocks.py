"""Blocks: questions that are randomised together, from the manifest to the record."""

from __future__ import annotations

import copy
import itertools
import json
from array import array
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hushpoll_protocols import InvalidParameter, MalformedRecord, ManifestRefused, ReplayBits
from hushpoll_shared import Manifest, Published
from hushpoll_shared.survey.randomization.blocks import Block
from hushpoll_shared.wire.batch import encode_many, malformed_many

DRAFT: dict[str, Any] = {
    "name": "habits",
    "version": 1,
    "title": "Habits",
    "epsilon": "3",
    "protocol": "GRR",
    "attributes": [
        {"name": "town", "role": "plain", "categories": ["a", "b"]},
        {"name": "gender", "role": "sensitive", "categories": ["f", "m"], "missing": "none"},
        {"name": "age", "role": "sensitive", "range": [1, 4]},
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "job", "role": "target", "categories": ["no", "yes"]},
    ],
    "together": [{"name": "pair", "attributes": ["smokes", "gender"], "protocol": "SS"}],
}


def draft(**changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(DRAFT), **changes}


def published(**changes: Any) -> Published:
    return Manifest.from_dict(draft(**changes)).resolve()


def pair(survey: Published) -> Block:
    return next(block for block in survey.blocks if block.name == "pair")


def test_a_block_maps_combinations_with_the_first_question_slowest() -> None:
    block = pair(published())
    assert (block.k, block.sizes, block.strides) == (6, (2, 3), (3, 1))
    combinations = list(itertools.product(range(2), range(3)))
    assert [block.part(code) for code in range(6)] == combinations
    assert [block.join(codes) for codes in combinations] == list(range(6))
    assert block.codes_of("smokes") == array("H", [0, 0, 0, 1, 1, 1])
    assert block.codes_of("gender") == array("H", [0, 1, 2, 0, 1, 2])
    with pytest.raises(InvalidParameter, match="'age' is no question of the block pair"):
        block.codes_of("age")


def test_codes_of_the_largest_block_are_those_of_its_parts() -> None:
    attributes = [
        {"name": name, "role": "sensitive", "range": [1, k]}
        for name, k in (("a", 16), ("b", 256), ("c", 16))
    ]
    together = [{"name": "all", "attributes": ["a", "b", "c"], "protocol": "OLH"}]
    (block,) = published(attributes=attributes, together=together).blocks
    assert block.k == 65536
    columns = [np.frombuffer(block.codes_of(name), np.uint16) for name in "abc"]
    for code in (0, 15, 16, 4095, 4096, 65535):
        assert tuple(int(column[code]) for column in columns) == block.part(code)
    assert np.array_equal(
        sum(
            column.astype(int) * stride
            for column, stride in zip(columns, block.strides, strict=True)
        ),
        np.arange(65536),
    )


def test_every_question_is_in_one_block_and_a_question_alone_is_its_own() -> None:
    survey = published()
    assert [(block.name, block.alone) for block in survey.blocks] == [
        ("pair", False),
        ("age", True),
    ]
    assert survey.block_of("gender") == survey.block_of("smokes") == pair(survey)
    assert survey.block_of("town") is None
    assert [one.name for one in survey.perturbed] == ["gender", "age", "smokes"]


def test_the_record_has_a_field_for_a_block_where_its_first_question_stands() -> None:
    layout = published().layout
    assert [(field.name, field.offset, field.size, field.k) for field in layout.fields] == [
        ("town", 0, 1, 2),
        ("pair", 1, 1, 6),
        ("age", 2, 1, 4),
        ("job", 3, 1, 2),
    ]
    with pytest.raises(InvalidParameter, match=r"gender has no field of its own.*block pair"):
        layout.field("gender")


def test_epsilon_is_divided_over_blocks() -> None:
    assert published().budget == {"pair": Decimal("1.5"), "age": Decimal("1.5")}
    weighted = published(split={"weights": {"pair": 2, "age": 1}})
    assert weighted.budget == {"pair": Decimal(2), "age": Decimal(1)}
    optimal = published(split="optimal")
    assert optimal.split.kind == "weights"
    assert {name for name, _ in optimal.split.weights} == {"pair", "age"}
    assert sum(optimal.budget.values()) <= 3


@pytest.mark.parametrize("split", ["uniform", "optimal", {"weights": {"pair": 3, "age": 1}}])
def test_the_published_form_is_read_back_to_the_same_digest(split: Any) -> None:
    survey = published(split=split)
    document = json.loads(survey.canonical)
    assert document["format"] == 2
    assert document["together"][0].keys() == {
        *("name", "attributes", "protocol", "epsilon", "parameters", "thresholds"),
    }
    gender = document["attributes"][1]
    assert gender.keys() == {"name", "role", "categories", "missing"}
    again = Published.from_json(survey.canonical)
    assert (again, again.digest) == (survey, survey.digest)
    assert Manifest.from_dict(Manifest.from_dict(draft()).to_dict()) == Manifest.from_dict(draft())


def test_a_survey_without_blocks_stays_in_format_1() -> None:
    alone = published(together=[])
    assert json.loads(alone.canonical)["format"] == 1
    assert alone == published(together=None)
    assert [block.name for block in alone.blocks] == ["gender", "age", "smokes"]
    assert all(block.alone for block in alone.blocks)


def test_the_law_of_a_record_never_passes_epsilon() -> None:
    """Every answer to every question, and every record that it can become."""
    survey = published(
        attributes=DRAFT["attributes"][1:4], split={"weights": {"pair": 2, "age": 1}}
    )
    records = list(itertools.product(*map(_records, survey.blocks)))
    worst = Fraction(0)
    for record in records:
        chances = [
            _chance(survey, record, dict(zip(("gender", "age", "smokes"), answer, strict=True)))
            for answer in itertools.product(range(3), range(4), range(2))
        ]
        worst = max(worst, max(chances) / min(chances))
    realized = sum(block.oracle.realized_epsilon for block in survey.blocks)
    assert realized <= survey.epsilon
    ratio = Fraction(1)
    for block in survey.blocks:
        ratio *= block.oracle.likelihood_ratio
    assert worst == ratio
    for answer in itertools.product(range(3), range(4), range(2)):
        codes = dict(zip(("gender", "age", "smokes"), answer, strict=True))
        assert sum(_chance(survey, record, codes) for record in records) == 1


def _records(block: Block) -> list[bytes]:
    """Return every well-formed record of a block of one byte."""
    assert block.oracle.record_size == 1
    found = []
    for value in range(256):
        try:
            block.oracle.check(bytes([value]))
        except MalformedRecord:
            continue
        found.append(bytes([value]))
    return found


def _chance(survey: Published, record: tuple[bytes, ...], codes: dict[str, int]) -> Fraction:
    chance = Fraction(1)
    for block, part in zip(survey.blocks, record, strict=True):
        code = block.join([codes[question.name] for question in block.questions])
        chance *= block.oracle.probability(part, code)
    return chance


def test_an_answer_for_each_question_becomes_one_combination() -> None:
    survey = published()
    answers = {"town": "a", "gender": None, "age": 2, "smokes": "yes", "job": "no"}
    codes = survey.layout.code_answers(answers)
    assert dict(codes) == {"town": 0, "gender": 2, "age": 1, "smokes": 1, "job": 0}
    keep = [0, 0, 0, 0, 2**64 - 1]
    record = survey.layout.encode(codes, ReplayBits(keep))
    survey.layout.check(record)
    assert pair(survey).oracle.support(record[1:2]) == (5,)
    with pytest.raises(InvalidParameter, match="smokes has no answer"):
        survey.layout.code_answers({**answers, "smokes": None})


def test_simulated_records_are_written_by_block() -> None:
    survey = published(epsilon="60")
    rng = np.random.default_rng(1)
    codes = {one.name: rng.integers(0, one.k, 200) for one in survey.attributes}
    records = encode_many(survey, codes, np.random.default_rng(2))
    assert not malformed_many(survey, records)[0].any()
    supported = [pair(survey).oracle.support(row.tobytes())[0] for row in records[:, 1:2]]
    assert supported == (codes["smokes"] * 3 + codes["gender"]).tolist()


def test_a_malformed_field_is_refused_by_the_block() -> None:
    survey = published()
    codes = {one.name: np.zeros(3, int) for one in survey.attributes}
    records = encode_many(survey, codes, np.random.default_rng(3))
    records[1, 1] = 0xFF
    bad, rows = malformed_many(survey, records)
    assert bad.tolist() == [False, True, False]
    assert rows[0].field == "pair"
    with pytest.raises(MalformedRecord, match="pair:") as caught:
        survey.layout.check(records[1].tobytes())
    assert caught.value.field == "pair"


def _members(*names: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": "pair", "attributes": list(names), **more}]


def _with_protocol(name: str, protocol: str) -> list[dict[str, Any]]:
    return [
        {**one, "protocol": protocol} if one["name"] == name else one
        for one in copy.deepcopy(DRAFT["attributes"])
    ]


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no list": ({"together": {"pair": ["a", "b"]}}, "together", "it is a list of blocks"),
    "no mapping": ({"together": ["pair"]}, "together[0]", "it is a mapping"),
    "no attributes": ({"together": [{"name": "pair"}]}, "together[pair].attributes", "add it"),
    "an unknown key": ({"together": _members("age", "gender", k=2)}, "together[pair].k", "remove"),
    "a block of one": ({"together": _members("gender")}, "together[pair].attributes", "add one"),
    "an unknown attribute": (
        {"together": _members("gender", "colour")},
        "together[pair].attributes",
        "'colour', which is no attribute",
    ),
    "a question twice": (
        {"together": _members("gender", "gender")},
        "together[pair].attributes",
        "gender twice",
    ),
    "a question in two blocks": (
        {"together": [*_members("gender", "age"), {**_members("age", "smokes")[0], "name": "b"}]},
        "together[b].attributes",
        "age, which is in the block pair too",
    ),
    "a plain question": (
        {"together": _members("gender", "town")},
        "together[pair].attributes",
        "town, a plain attribute.*make its role sensitive",
    ),
    "a target in clear": (
        {"together": _members("gender", "job")},
        "together[pair].attributes",
        "job, a target attribute.*give the target the protocol",
    ),
    "k-based": ({"split": "k-based"}, "split", "choose uniform, optimal or weights"),
    "the weight of a question": (
        {"split": {"weights": {"gender": 1, "age": 1}}},
        "split.weights[gender]",
        "give it to pair",
    ),
    "no weight of the block": (
        {"split": {"weights": {"age": 1}}},
        "split.weights[pair]",
        "gives pair no weight",
    ),
    "the name of an attribute": (
        {"together": [{"name": "age", "attributes": ["gender", "smokes"]}]},
        "together[age].name",
        "the name of an attribute.*rename the block",
    ),
    "the name of another block": (
        {"together": [*_members("gender", "age"), *_members("gender", "smokes")]},
        "together[pair].name",
        "the name of another block",
    ),
    "a bad name": (
        {"together": [{"name": "A", "attributes": ["a", "b"]}]},
        "together[0].name",
        "a name is 1 to",
    ),
    "a protocol of block and question": (
        {"attributes": _with_protocol("gender", "OUE")},
        "attributes[gender].protocol",
        "gender names the protocol OUE, and its block pair names SS",
    ),
    "an unknown protocol": (
        {"together": _members("gender", "smokes", protocol="MAGIC")},
        "together[pair].protocol",
        "a protocol is one of",
    ),
    "too many combinations": (
        {
            "attributes": [
                {"name": name, "role": "sensitive", "range": [1, 300]} for name in ("a", "b")
            ],
            "together": _members("a", "b", protocol="OLH"),
        },
        "together[pair].attributes",
        "300 [*] 300 = 90000 combinations.*at most 65536",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_block_is_refused_with_field_and_remedy(case: str) -> None:
    changes, field, message = BAD[case]
    with pytest.raises(InvalidParameter, match=message) as caught:
        Manifest.from_dict(draft(**changes))
    assert caught.value.field == field


def test_a_block_of_two_protocols_or_of_none_is_refused() -> None:
    attributes = _with_protocol("gender", "OUE")
    attributes[3]["protocol"] = "SS"
    with pytest.raises(InvalidParameter, match="name it at the block"):
        Manifest.from_dict(draft(attributes=attributes, together=_members("gender", "smokes")))
    attributes = _with_protocol("age", "GRR")
    with pytest.raises(InvalidParameter, match="the block pair names no protocol") as caught:
        Manifest.from_dict(
            draft(attributes=attributes, together=_members("gender", "smokes"), protocol=None)
        )
    assert caught.value.field == "together[pair].protocol"


def test_a_target_with_a_protocol_can_be_in_a_block_with_the_protected_attribute() -> None:
    survey = published(
        attributes=_with_protocol("job", "OUE"),
        together=_members("gender", "job"),
        protected={"attribute": "gender", "privileged": ["m"], "unprivileged": ["f"]},
    )
    assert pair(survey).oracle.name == "OUE"
    again = Published.from_json(survey.canonical)
    assert again.target is not None
    assert again.target.perturbed
    assert again == survey


def test_a_record_over_1024_bytes_is_refused_with_blocks_alone() -> None:
    wide = [
        {"name": name, "role": "sensitive", "protocol": "OUE", "range": [1, 5000]}
        for name in ("a", "b")
    ]
    assert published(attributes=wide, together=[]).layout.record_size == 1250
    two = [{"name": name, "role": "sensitive", "range": [1, 100]} for name in ("c", "d")]
    together = _members("c", "d", protocol="OUE")
    with pytest.raises(InvalidParameter, match=r"1250 bytes.*1024: give pair.*OLH") as caught:
        published(attributes=two, together=together)
    assert caught.value.field == "together"
    fine = published(attributes=two, together=_members("c", "d", protocol="OLH"))
    assert fine.layout.record_size == 18


def _set(document: dict[str, Any], *path: Any, value: Any) -> None:
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value


LIES: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "epsilon": (lambda one: _set(one, "together", 0, "epsilon", value="1"), "together[pair]"),
    "thresholds": (
        lambda one: _set(one, "together", 0, "thresholds", "P", value="f" * 16),
        "together[pair].thresholds",
    ),
    "parameters": (
        lambda one: _set(one, "together", 0, "parameters", value={"g": 2}),
        "together[pair].parameters",
    ),
    "a claim of the question": (
        lambda one: _set(one, "attributes", 1, "protocol", value="GRR"),
        "attributes[gender].protocol",
    ),
    "a plain question": (
        lambda one: _set(one, "attributes", 1, "role", value="plain"),
        "together[pair].attributes",
    ),
    "another domain": (
        lambda one: _set(one, "attributes", 1, "categories", value=["f", "m", "x"]),
        "together[pair]",
    ),
    "no block": (lambda one: _set(one, "together", value=[]), "together"),
    "null": (lambda one: _set(one, "together", value=None), "together"),
    "format 1": (lambda one: _set(one, "format", value=1), "together"),
    "no claim": (lambda one: one["together"][0].pop("thresholds"), "together[pair].thresholds"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_about_a_block_is_refused_by_field(lie: str) -> None:
    document = json.loads(published().canonical)
    change, field = LIES[lie]
    change(document)
    with pytest.raises(ManifestRefused) as caught:
        Published.from_json(document)
    assert str(caught.value.field).startswith(field), caught.value


def test_a_later_format_is_refused_with_the_word_update() -> None:
    document = json.loads(published().canonical) | {"format": 3, "draws": []}
    with pytest.raises(ManifestRefused, match=r"reads the formats 1 and 2: update hushpoll"):
        Published.from_json(document)
