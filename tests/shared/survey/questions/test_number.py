"""Numbers: from the draft to the record, the exact law, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from hushpoll_client.device.preview import build_preview
from hushpoll_protocols import PROTOCOLS, InvalidParameter, MalformedRecord, SecureBits
from hushpoll_protocols.thresholds import floor_in_exp
from hushpoll_shared import Manifest, Published
from hushpoll_shared.survey.questions.number import draw_anchor
from hushpoll_shared.wire.batch import encode_many
from protocols.exact_law import law_of_randomize

INCOME: dict[str, Any] = {
    "name": "income",
    "role": "sensitive",
    "protocol": "GRR",
    "number": {"low": 0, "high": 5000, "unit": "euros"},
}


def draft(*attributes: dict[str, Any], **terms: Any) -> dict[str, Any]:
    return {
        "name": "n",
        "version": 1,
        "title": "N",
        "epsilon": "4",
        "attributes": list(attributes),
        **terms,
    }


def published(*attributes: dict[str, Any], **terms: Any) -> Published:
    survey = Manifest.from_dict(draft(*attributes, **terms)).resolve()
    assert Published.from_json(survey.canonical) == survey
    return survey


class _Drawn:
    """What `exact_law` follows: the draw of an anchor, in place of an oracle."""

    def __init__(self, anchors: tuple[int, ...]) -> None:
        self.anchors = anchors

    def randomize(self, value: int, bits: Any) -> bytes:
        return bytes([draw_anchor(self.anchors, value, bits)])


@pytest.mark.parametrize("anchors", [(0, 3, 4, 11), (-7, 0, 20)])
def test_drawn_anchor_is_the_value_on_average_to_the_last_word(anchors: tuple[int, ...]) -> None:
    for value in {anchors[0], anchors[1] - 1, anchors[1], anchors[1] + 1, anchors[-1]}:
        law = law_of_randomize(_Drawn(anchors), value, [])  # type: ignore[arg-type]
        # Rejection goes round: what is abandoned is shared like the rest.
        total = sum(law.probabilities.values())
        mean = sum(anchors[record[0]] * share for record, share in law.probabilities.items())
        assert abs(mean / total - value) <= Fraction(1, 2**40)
        assert total + law.abandoned == 1
        assert law.abandoned < Fraction(1, 2**60)
        places = {record[0] for record, share in law.probabilities.items() if share}
        assert len(places) == (1 if value in anchors else 2)
        assert max(places) - min(places) <= 1


@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE", "RAPPOR", "THE"])
def test_law_of_a_number_is_enumerated_within_epsilon_and_its_sentences(protocol: str) -> None:
    number = {"low": -2, "high": 9, "anchors": [-2, 0, 4, 9]}
    survey = published({**INCOME, "protocol": protocol, "number": number, "missing": "none"})
    (attribute,) = survey.attributes
    oracle = attribute.oracle
    assert oracle is not None
    laws = []
    records = [bytes([byte]) for byte in range(256)]
    for code in range(attribute.answer_codes):
        law: dict[bytes, Fraction] = {}
        for record in records:
            try:
                oracle.check(record)
            except MalformedRecord:
                continue
            law[record] = sum(
                (
                    Fraction(chance).limit_denominator(1000) * oracle.probability(record, place)
                    for place, chance in attribute.standing_for(code)
                ),
                Fraction(0),
            )
        assert sum(law.values()) == 1
        laws.append(law)
    ratio = max(max(law[z] for law in laws) / min(law[z] for law in laws) for z in laws[0])
    assert ratio <= oracle.likelihood_ratio
    assert oracle.realized_epsilon <= 4
    assert ratio * 10**20 <= floor_in_exp(lambda e: e * 10**20, Decimal(4)) + 1
    guess = sum(max(law[z] for law in laws) for z in laws[0]) / len(laws)
    (line,) = build_preview(survey, None).perturbed
    assert 0 <= Fraction(line.best_guess) - guess <= Fraction(3, 10**12)
    assert line.k == len(laws) == 13
    rounded = -(-1000 * guess.numerator // guess.denominator)
    assert f"right with a chance of {rounded / 10:.1f} %; without it, 7.6 %." in line.guess
    assert "13 answers were equally likely" in line.guess
    assert line.number is not None
    assert ": -2, 0, 4, 9, none. An answer in" in line.number
    # The chance that what stands for the answer is supported, whatever the answer is.
    for code in range(attribute.answer_codes):
        supported = sum(
            Fraction(chance).limit_denominator(1000)
            * sum(oracle.probability(z, place) for z in laws[0] if place in set(oracle.support(z)))
            for place, chance in attribute.standing_for(code)
        )
        assert supported == oracle.p
    assert f"{-(-1000 * oracle.p.numerator // oracle.p.denominator) / 10:.1f} %" in line.truth


def test_a_device_takes_the_value_and_sends_an_anchor() -> None:
    follow_up = {
        **INCOME,
        "name": "glasses",
        "number": {"low": 0, "high": 40},
        "missing": "not said",
        "ask_if": {"drinks": ["yes"]},
    }
    drinks = {"name": "drinks", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]}
    survey = published(INCOME, drinks, follow_up, epsilon="60")
    codes = survey.layout.code_answers({"income": 1234, "drinks": "yes", "glasses": "7"})
    assert list(codes.values()) == [1234, 1, 7]
    assert survey.layout.code_answers({"income": "0", "drinks": "no"})["glasses"] == 42
    assert survey.layout.code_answers({"income": 0, "drinks": "yes"})["glasses"] == 41
    for attribute in survey.attributes:
        for code in (0, attribute.answer_codes - 1):
            if attribute.ask_if is None or code == 0:
                assert attribute.code(attribute.answer_of(code)) == code
    for wrong in ({"income": 5001}, {"income": 1.5}, {"income": True}, {"income": None}):
        with pytest.raises(InvalidParameter, match="a whole number from 0 to 5000") as caught:
            survey.layout.code_answers({**wrong, "drinks": "no"})
        assert "5001" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="do not go together"):
        survey.layout.code_answers({"income": 1, "drinks": "no", "glasses": 7})
    record = survey.layout.encode(codes, SecureBits())
    survey.layout.check(record)
    with pytest.raises(InvalidParameter, match=r"income .* integer in \[0, 5000\]"):
        survey.layout.encode({**codes, "income": 5001}, SecureBits())


def test_bulk_draws_the_same_anchors_as_a_device() -> None:
    number = {"low": -5, "high": 10**12, "anchors": [-5, 0, 10, 10**12]}
    survey = published({**INCOME, "number": number, "missing": "none"}, epsilon="60")
    values = [-5, -4, 0, 3, 10, 10**12, 10**12 // 4]
    n = 4000
    rng = np.random.default_rng(20261127)
    (attribute,) = survey.attributes
    for value in values:
        code = attribute.code(value)
        records = encode_many(survey, {"income": np.full(n, code)}, rng)[:, 0]
        for place, chance in attribute.standing_for(code):
            share = float((records == place).mean())
            # Seven standard errors; at epsilon 60 the oracle keeps the anchor.
            assert abs(share - chance) <= 7 * (chance * (1 - chance) / n) ** 0.5 + 1e-12
    records = encode_many(survey, {"income": np.full(5, attribute.answer_codes - 1)}, rng)
    assert set(records[:, 0]) == {4}
    with pytest.raises(InvalidParameter, match="outside"):
        encode_many(survey, {"income": np.array([attribute.answer_codes])}, rng)


def test_a_number_in_clear_is_its_value() -> None:
    children = {"name": "children", "role": "plain", "number": {"low": 0, "high": 12}}
    survey = published(INCOME, children)
    codes = survey.layout.code_answers({"income": 3, "children": 7})
    for _ in range(20):
        assert survey.layout.encode(codes, SecureBits())[-1] == 7
    assert build_preview(survey, {"income": 3, "children": 7}).clear[0].answer == "7"


def test_anchors_are_resolved_at_publication_and_format_1_stays() -> None:
    survey = published(INCOME)
    document = survey.to_dict()
    assert document["format"] == 2
    (entry,) = document["attributes"]
    assert entry["number"] == {"low": 0, "high": 5000, "unit": "euros"}
    assert entry["categories"] == ["0", "1250", "2500", "3750", "5000"]
    named = {**INCOME, "number": {**INCOME["number"], "anchors": [0, 100, 5000]}}
    assert published(named).attributes[0].anchors == (0, 100, 5000)
    quantiles = {**INCOME, "number": {**INCOME["number"], "for": "quantiles"}}
    finer = published(quantiles).attributes[0].anchors
    assert len(finer) > 5
    for anchors in (finer, survey.attributes[0].anchors):
        gaps = [high - low for low, high in pairwise(anchors)]
        assert max(gaps) - min(gaps) <= 1
    for one in (INCOME, named, quantiles):
        manifest = Manifest.from_dict(draft(one))
        assert Manifest.from_dict(manifest.to_dict()) == manifest
    plain = {"name": "a", "role": "sensitive", "protocol": "GRR", "range": [0, 5]}
    assert published(plain).to_dict()["format"] == 1
    # Few values have few anchors, and then nothing is rounded at random.
    few = {**INCOME, "number": {"low": 1, "high": 2}}
    assert published(few, epsilon="20").attributes[0].anchors == (1, 2)
    with pytest.raises(InvalidParameter, match="choose uniform or weights"):
        Manifest.from_dict(draft(INCOME, split="k-based"))
    assert published(named, split="optimal").attributes[0].epsilon == Decimal(4)


def _number(**changes: Any) -> dict[str, Any]:
    return {**INCOME, "number": {**INCOME["number"], **changes}}


PLAIN: dict[str, Any] = {"name": "x", "role": "plain"}

REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no mapping": (draft({**INCOME, "number": 5}), "income].number", "such as {low: 0"),
    "a missing limit": (draft({**INCOME, "number": {"low": 0}}), "income].number.high", "add it"),
    "an unknown key": (draft(_number(step=2)), "income].number.step", "remove"),
    "low above high": (draft(_number(low=6000)), "income].number.high", "low is less than high"),
    "low equals high": (draft(_number(low=5000)), "income].number.high", "low is less than high"),
    "a fraction": (draft(_number(low=0.5)), "income].number.low", "count in whole units"),
    "a text": (draft(_number(high="10")), "income].number.high", "write it in digits alone"),
    "a truth value": (draft(_number(low=True)), "income].number.low", "count in whole units"),
    "too large": (draft(_number(high=10**13)), "income].number.high", "count in a larger unit"),
    "a long unit": (draft(_number(unit="x" * 41)), "income].number.unit", "40"),
    "a unit that is no text": (draft(_number(unit=5)), "income].number.unit", "5"),
    "anchors outside": (
        draft(_number(anchors=[0, 5001, 5000])),
        "income].number.anchors",
        "5001, outside",
    ),
    "anchors that fall": (
        draft(_number(anchors=[0, 30, 20, 5000])),
        "income].number.anchors",
        "20 after 30; anchors increase: sort",
    ),
    "an anchor twice": (draft(_number(anchors=[0, 0, 5000])), "number.anchors", "each once"),
    "anchors without an end": (draft(_number(anchors=[0, 30])), "number.anchors", "add them"),
    "one anchor": (draft(_number(anchors=[0])), "number.anchors", "two or more integers"),
    "anchors of text": (draft(_number(anchors=["0", 5000])), "number.anchors", "two or more"),
    "another aim": (draft(_number(**{"for": "median"})), "number.for", "mean, quantiles"),
    "anchors and an aim": (
        draft(_number(**{"for": "mean", "anchors": [0, 5000]})),
        "number.for",
        "remove one of them",
    ),
    "with categories": (
        draft({**INCOME, "categories": ["a", "b"]}),
        "income].categories",
        "both number and categories",
    ),
    "with a range": (draft({**INCOME, "range": [0, 5]}), "income].range", "both number and range"),
    "with a scale": (draft({**INCOME, "scale": "ordinal"}), "income].scale", "number and scale"),
    "a target": (draft({**INCOME, "role": "target"}), "income].number", "is the target"),
    "missing like a number": (draft({**INCOME, "missing": "7"}), "income].missing", "call it"),
    "in clear with too many values": (
        draft(
            INCOME, {**INCOME, "name": "x", "role": "plain", "number": {"low": 0, "high": 65536}}
        ),
        "x].number",
        "at most 65536: make its role sensitive",
    ),
    "in clear with anchors": (
        draft(
            INCOME, {"name": "x", "role": "plain", "number": _number(anchors=[0, 5000])["number"]}
        ),
        "x].number.anchors",
        "remove anchors",
    ),
    "in a block": (
        draft(
            INCOME, {**INCOME, "name": "x"}, together=[{"name": "b", "attributes": ["income", "x"]}]
        ),
        "together[b].attributes",
        "take it out of the block",
    ),
    "a router": (
        draft(INCOME, {**INCOME, "name": "x", "ask_if": {"income": ["0"]}}),
        "x].ask_if",
        "give income categories",
    ),
    "protected": (
        draft(INCOME, protected={"attribute": "income", "privileged": "0", "unprivileged": "5000"}),
        "protected.attribute",
        "ask for categories",
    ),
    "a translation of values": (
        draft(
            INCOME,
            language="en",
            translations={
                "de": {"title": "Z", "attributes": {"income": {"categories": ["0", "1"]}}}
            },
        ),
        "translations[de].attributes[income].categories",
        "remove it",
    ),
    "a translated unit of none": (
        draft(
            {**INCOME, "number": {"low": 0, "high": 9}},
            language="en",
            translations={"de": {"title": "Z", "attributes": {"income": {"unit": "Euro"}}}},
        ),
        "translations[de].attributes[income].unit",
        "remove it",
    ),
    "a record too large": (
        draft(
            {
                **INCOME,
                "protocol": "OUE",
                "number": {"low": 0, "high": 9000, "anchors": [*range(9001)]},
            }
        ),
        "number",
        "at most 1024",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_number_is_refused_by_field_value_and_remedy(case: str) -> None:
    document, field, words = REFUSED[case]
    for attribute in document["attributes"]:
        if attribute["role"] == "target":
            attribute.pop("protocol", None)
    with pytest.raises(InvalidParameter) as caught:
        Manifest.from_dict(document).resolve()
    assert caught.value.field is not None
    assert caught.value.field.endswith(field)
    assert words in str(caught.value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_takes_a_number(protocol: str) -> None:
    survey = published({**INCOME, "protocol": protocol, "missing": "none"}, epsilon="3")
    for answer in (0, 17, 5000, None):
        codes = survey.layout.code_answers({"income": answer})
        survey.layout.check(survey.layout.encode(codes, SecureBits()))
    (block,) = survey.blocks
    assert block.oracle.realized_epsilon <= 3
