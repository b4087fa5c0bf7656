from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.canonical import InvalidJson, canonical_json, parse_json, sha256_hex

# RFC 8785, appendix B: the double by its bits, and how it is written.
APPENDIX_B = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(("bits", "written"), APPENDIX_B.items())
def test_numbers_of_rfc_8785_appendix_b(bits: str, written: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical_json(number) == written.encode()


def test_example_of_rfc_8785_section_3_2_2() -> None:
    text = (
        '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        '"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/",'
        '"literals":[null,true,false]}'
    )
    assert (
        canonical_json(parse_json(text))
        == (
            '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
            '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
        ).encode()
    )


def test_keys_sort_by_utf_16_as_in_rfc_8785_section_3_2_3() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\xf6"]
    written = canonical_json(dict.fromkeys(keys, 0))
    order = list(json.loads(written))
    # U+1F600 comes before U+FB33: its first UTF-16 unit is D83D.
    assert order == ["\r", "1", "\x80", "\xf6", "\u20ac", "\U0001f600", "\ufb33"]


def test_control_characters_are_escaped_in_their_one_way() -> None:
    assert canonical_json("\b\t\n\f\r\x00\x1f\x7f\u2028/") == (
        '"\\b\\t\\n\\f\\r\\u0000\\u001f\x7f\u2028/"'.encode()
    )


@given(JSON)
def test_written_json_reads_back_and_is_written_alike(value: object) -> None:
    written = canonical_json(value)
    read = parse_json(written)
    assert canonical_json(read) == written
    assert read == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_exactly(value: float) -> None:
    assert float(canonical_json(value)) == value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        -float("inf"),
        2**53 + 1,
        -(2**53) - 1,
        "\ud800",
        {"\udfff": 1},
        {1: 2},
        b"bytes",
        {1, 2},
        object(),
    ],
)
def test_value_without_a_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        canonical_json(value)
    assert caught.value.field == "json"


def test_the_largest_integers_are_written() -> None:
    assert canonical_json([2**53, -(2**53), True, 0]) == (
        b"[9007199254740992,-9007199254740992,true,0]"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b'{"a":1,"a":1}', "same key twice"),
        (b'{"a":1,"\\u0061":2}', "same key twice"),
        (b"[NaN]", "NaN is not JSON"),
        (b"[-Infinity]", "-Infinity is not JSON"),
        (b"1e400", "too large for a double"),
        (b"9007199254740993", "outside"),
        (b"-9007199254740993", "outside"),
        (b"9" * 100_000, "outside"),
        (b'"\\ud800"', "surrogate"),
        (b'{"\\udc00":1}', "surrogate"),
        (b'"\xff"', "not UTF-8"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"", "not JSON"),
        (b"{}{}", "not JSON"),
        (b"{'a':1}", "not JSON"),
        (b"[1,]", "not JSON"),
        (b"[01]", "not JSON"),
        (b'"\x01"', "not JSON"),
        (b"[" * 65 + b"]" * 65, "nested deeper than 64"),
        (b"[" * 200_000 + b"]" * 200_000, "nested deeper than 64"),
    ],
)
def test_ambiguous_or_broken_json_is_refused(text: bytes, says: str) -> None:
    with pytest.raises(InvalidJson, match=says) as caught:
        parse_json(text)
    assert caught.value.field == "json"


def test_the_error_holds_no_text_of_the_document() -> None:
    with pytest.raises(InvalidJson) as caught:
        parse_json('{"answer": "Female"')
    assert "Female" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_numbers_are_one_type_as_in_ecmascript() -> None:
    read = parse_json("[1.0, 1e0, -0.0, 1.5, 9007199254740992.0]")
    assert read == [1, 1, 0, 1.5, 2**53]
    assert [type(value) for value in read] == [int, int, int, float, int]


def test_a_large_integer_reads_only_as_a_double_is_spelled() -> None:
    assert parse_json("295147905179352830000") == 295147905179352830000.0
    assert parse_json("-9007199254740994") == -9007199254740994.0
    with pytest.raises(InvalidJson):
        parse_json("295147905179352830001")


def test_64_levels_are_the_deepest() -> None:
    deepest = b"[" * 64 + b"]" * 64
    assert canonical_json(parse_json(deepest)) == deepest
    value: object = []
    for _ in range(64):
        value = {"a": value}
    with pytest.raises(InvalidParameter, match="nested deeper than 64"):
        canonical_json(value)


def test_escaped_pairs_are_characters() -> None:
    assert parse_json('"\\ud83d\\ude00"') == "\U0001f600"


def test_sha256_of_the_standard_example() -> None:
    # FIPS 180-2, appendix B.1.
    assert sha256_hex(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
