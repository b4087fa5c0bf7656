from __future__ import annotations

import logging
import traceback
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoded import clear_answers, part_of
from hushpoll_protocols import (
    PROTOCOLS,
    InvalidParameter,
    MalformedRecord,
    ReplayBits,
    SecureBits,
)
from hushpoll_shared import Manifest, Published
from hushpoll_shared.survey.codec import Codes, Layout


class CountingBits:
    """Words 0, 1, 2, ... times a large odd number; remembers how many were drawn."""

    def __init__(self, seed: int) -> None:
        self.drawn = 0
        self.seed = seed

    def word(self) -> int:
        self.drawn += 1
        return (self.seed + self.drawn) * 0x9E3779B97F4A7C15 & 2**64 - 1

    def words(self, count: int) -> list[int]:
        return [self.word() for _ in range(count)]


def survey(*attributes: dict[str, Any], epsilon: str = "8") -> Published:
    return Manifest.from_dict(
        {
            "name": "s",
            "version": 1,
            "title": "S",
            "epsilon": epsilon,
            "attributes": list(attributes),
        }
    ).resolve()


def test_fields_follow_each_other_without_gaps(published: Published) -> None:
    layout = published.layout
    assert [(field.name, field.offset, field.size, field.k) for field in layout.fields] == [
        ("gender", 0, 1, 3),  # SS: 3 bits
        ("age", 1, 10, 74),  # SS: 74 bits
        ("country", 11, 18, 4),  # OLH: a, b, y
        ("education", 29, 1, 3),
        ("postcode", 30, 2, 300),
        ("income", 32, 1, 2),  # GRR: a code
    ]
    assert layout.record_size == 33
    assert layout.fields[-1].end == 33
    assert layout is published.layout
    assert layout == Layout.of(published.attributes, published.blocks)


@pytest.mark.parametrize(("k", "size"), [(256, 1), (257, 2), (65536, 2)])
def test_a_clear_code_takes_one_byte_up_to_256_categories(k: int, size: int) -> None:
    published = survey(
        {"name": "x", "role": "plain", "range": [1, k]},
        {"name": "y", "role": "sensitive", "protocol": "GRR", "range": [0, 1]},
    )
    layout = published.layout
    assert layout.field("x").size == size
    for answer in (1, k):
        record = layout.encode(layout.code_answers({"x": answer, "y": 0}), SecureBits())
        assert part_of(layout, record, "x") == (answer - 1).to_bytes(size, "little")
        assert clear_answers(layout, record) == {"x": str(answer)}


def test_answers_become_codes(published: Published, answers: dict[str, Any]) -> None:
    codes = published.layout.code_answers(answers)
    assert dict(codes) == {
        "gender": 0,
        "age": 17,
        "country": 1,
        "education": 1,
        "postcode": 299,
        "income": 1,
    }
    for absent in (
        {**answers, "gender": None},
        {k: v for k, v in answers.items() if k != "gender"},
    ):
        assert published.layout.code_answers(absent)["gender"] == 2


def test_the_record_is_the_oracles_records_and_the_clear_codes_in_order(
    published: Published, answers: dict[str, Any]
) -> None:
    layout = published.layout
    codes = layout.code_answers(answers)
    record = layout.encode(codes, CountingBits(7))
    bits = CountingBits(7)
    expected = b""
    for attribute in published.attributes:
        code = codes[attribute.name]
        if attribute.oracle is None:
            expected += code.to_bytes(1 if attribute.k <= 256 else 2, "little")
        else:
            expected += attribute.oracle.randomize(code, bits)
    assert record == expected
    assert record[29:32] == b"\x01\x2b\x01"
    layout.check(record)


def test_encoding_without_enough_randomness_is_refused(
    published: Published, answers: dict[str, Any]
) -> None:
    codes = published.layout.code_answers(answers)
    with pytest.raises(InvalidParameter) as caught:
        published.layout.encode(codes, ReplayBits([0]))
    assert caught.value.field == "words"


@given(st.data())
def test_every_record_is_well_formed_and_of_one_size(data: st.DataObject) -> None:
    attributes = []
    for index in range(data.draw(st.integers(1, 4))):
        k = data.draw(st.sampled_from([2, 3, 7, 8, 9, 256, 257]))
        attribute: dict[str, Any] = {"name": f"a{index}", "range": [1, k]}
        attribute |= data.draw(
            st.sampled_from(list(PROTOCOLS)).map(lambda p: {"role": "sensitive", "protocol": p})
            | st.just({"role": "plain"})
            if index
            else st.sampled_from(list(PROTOCOLS)).map(
                lambda p: {"role": "sensitive", "protocol": p}
            )
        )
        attributes.append(attribute)
    published = survey(*attributes)
    answers = {
        attribute["name"]: data.draw(st.integers(1, attribute["range"][1]))
        for attribute in attributes
    }
    layout = published.layout
    record = layout.encode(
        layout.code_answers(answers), CountingBits(data.draw(st.integers(0, 2**64)))
    )
    assert len(record) == layout.record_size
    layout.check(record)
    assert clear_answers(layout, record) == {
        attribute["name"]: str(answers[attribute["name"]])
        for attribute in attributes
        if attribute["role"] == "plain"
    }
    assert b"".join(part_of(layout, record, field.name) for field in layout.fields) == record


# Bad answers


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"gender": "Purple"}, "gender", "'Female', 'Male', 'Prefer not to say'"),
        ({"age": 16}, "age", "answer with one of '17'"),
        ({"age": None}, "age", "no category for a missing one"),
        ({"age": ...}, "age", "no category for a missing one"),
        ({"education": "phd"}, "education", "'none', 'school', 'university'"),
        ({"sex": "Purple"}, "sex", "have 'sex', which is no attribute"),
        ({"Purple": 1}, "answers", "something of type str, which is no attribute"),
        ({3: 1}, "answers", "something of type int, which is no attribute"),
    ],
)
def test_bad_answers_are_refused_and_never_shown(
    published: Published,
    answers: dict[Any, Any],
    changes: dict[Any, Any],
    field: str,
    says: str,
) -> None:
    changed = {k: v for k, v in {**answers, **changes}.items() if v is not ...}
    with pytest.raises(InvalidParameter) as caught:
        published.layout.code_answers(changed)
    assert caught.value.field == field
    assert says in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "Purple" not in shown
    assert "phd" not in shown
    assert caught.value.__context__ is None


@pytest.mark.parametrize("code", [-1, 2, 31337, True, 0.0, "0", None])
@pytest.mark.parametrize("name", ["income", "education"])
def test_bad_codes_are_refused_and_never_shown(
    published: Published, answers: dict[str, Any], name: str, code: Any
) -> None:
    if name == "education" and code == 2:
        code = 3
    codes = {**published.layout.code_answers(answers), name: code}
    with pytest.raises(InvalidParameter) as caught:
        published.layout.encode(codes, SecureBits())
    assert caught.value.field == name
    assert "31337" not in str(caught.value)


@pytest.mark.parametrize("answers", [None, ["Female"], "Female", 3])
def test_answers_that_are_no_mapping_are_refused_and_never_shown(
    published: Published, answers: Any
) -> None:
    with pytest.raises(InvalidParameter, match="give a mapping of attribute to category") as caught:
        published.layout.code_answers(answers)
    assert caught.value.field == "answers"
    assert type(answers).__name__ in str(caught.value)
    assert "Female" not in str(caught.value)


@pytest.mark.parametrize("change", [{"sex": 1}, {"age": None}])
def test_codes_name_exactly_the_attributes(
    published: Published, answers: dict[str, Any], change: dict[str, Any]
) -> None:
    codes = dict(published.layout.code_answers(answers)) | change
    if change == {"age": None}:
        del codes["age"]
    with pytest.raises(InvalidParameter, match="not exactly the survey's") as caught:
        published.layout.encode(codes, SecureBits())
    assert caught.value.field == "codes"


# Malformed records


def spoiled(record: bytes, offset: int, value: int) -> bytes:
    return record[:offset] + bytes([value]) + record[offset + 1 :]


@pytest.mark.parametrize(
    ("offset", "value", "field", "reason"),
    [
        (0, 0b0000_0111, "gender", "popcount"),
        (0, 0b0000_1000, "gender", "padding"),
        (10, 0b0000_0100, "age", "padding"),
        (28, 1, "country", "range"),
        (29, 3, "education", "range"),
        (31, 2, "postcode", "range"),
        (32, 2, "income", "range"),
        (32, 255, "income", "range"),
    ],
)
def test_a_malformed_field_is_named(
    published: Published,
    answers: dict[str, Any],
    offset: int,
    value: int,
    field: str,
    reason: str,
) -> None:
    record = published.layout.encode(published.layout.code_answers(answers), SecureBits())
    with pytest.raises(MalformedRecord) as caught:
        published.layout.check(spoiled(record, offset, value))
    assert (caught.value.field, caught.value.reason) == (field, reason)
    assert str(caught.value).startswith(f"{field}: ")


def test_a_clear_code_is_not_shown_when_it_is_out_of_range(
    published: Published, answers: dict[str, Any]
) -> None:
    record = published.layout.encode(published.layout.code_answers(answers), SecureBits())
    with pytest.raises(MalformedRecord) as caught:
        published.layout.check(spoiled(record, 29, 173))
    assert "173" not in str(caught.value)
    assert "0xad" not in str(caught.value)


@pytest.mark.parametrize("length", [0, 32, 34])
def test_a_record_of_another_length_is_malformed(
    published: Published, answers: dict[str, Any], length: int
) -> None:
    record = published.layout.encode(published.layout.code_answers(answers), SecureBits())
    wrong = (record + b"\x00")[:length]
    with pytest.raises(MalformedRecord, match=rf"has {length} bytes") as caught:
        published.layout.check(wrong)
    assert caught.value.reason == "length"
    assert caught.value.field is None
    assert "33" in str(caught.value)


def test_an_unknown_field_is_refused(published: Published) -> None:
    with pytest.raises(InvalidParameter, match="gender, age, country"):
        published.layout.field("sex")


# Nothing leaks


def test_codes_do_not_show_in_text_or_logs(
    published: Published, answers: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    codes = published.layout.code_answers(answers)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("app").debug("codes: %s %r", codes, codes)
    for shown in (repr(codes), str(codes), f"{codes}", caplog.text, repr([codes])):
        assert "299" not in shown
        assert "gender" not in shown
    assert isinstance(codes, Codes)
    assert repr(codes) == "<codes of 6 attributes, not shown>"
