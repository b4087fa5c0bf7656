"""A caller's mistake raises, and says which field, which value, what is allowed and what to do."""

from __future__ import annotations

import logging
import traceback
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_protocols import (
    PROTOCOLS,
    FrequencyOracle,
    InvalidParameter,
    MalformedRecord,
    SecureBits,
    create,
    format_epsilon,
    parse_epsilon,
)

HUGE = 10**5000


def _is_huge(value: object) -> bool:
    return isinstance(value, int) and abs(value) == HUGE


def _id(value: object) -> str:
    return "huge" if _is_huge(value) else ascii(value)[:30]


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize(
    "k",
    [1, 0, -1, 65537, HUGE, -HUGE, True, 2.0, "3", None, np.int64(3), Fraction(3), [3]],
    ids=_id,
)
def test_k_outside_its_interval_is_refused(name: str, k: object) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        create(name, k=k, epsilon="1")  # type: ignore[arg-type]
    assert refusal.value.field == "k"
    message = str(refusal.value)
    assert message.startswith("k is ")
    shown = "a value of type int that is too large to show" if _is_huge(k) else repr(k)
    assert shown in message
    assert "[2, 65536]" in message
    assert "give the number of categories" in message


@pytest.mark.parametrize(
    ("epsilon", "problem"),
    [
        (0, "outside"),
        ("0", "outside"),
        (0.0, "outside"),
        (-0.0, "outside"),
        ("-1", "outside"),
        (-1.5, "outside"),
        (65, "outside"),
        ("65", "outside"),
        ("64.000000000001", "outside"),
        ("1e-7", "outside"),
        (1e-7, "outside"),
        ("0.000000999999", "outside"),
        ("1e9999", "outside"),
        (HUGE, "outside"),
        (-HUGE, "outside"),
        ("9" * 10_000, "outside"),
        (float("nan"), "not a number"),
        (float("inf"), "not a number"),
        (float("-inf"), "not a number"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("Infinity", "not a number"),
        (Decimal("NaN"), "not a number"),
        (Decimal("sNaN"), "not a number"),
        (Decimal("-Infinity"), "not a number"),
        ("1e99999", "not a number"),
        (True, "not a number"),
        (False, "not a number"),
        (None, "not a number"),
        ("", "not a number"),
        ("one", "not a number"),
        ("1,5", "not a number"),
        (" 1", "not a number"),
        ("1\n", "not a number"),
        ("1_0", "not a number"),
        ("0x1", "not a number"),
        ("١", "not a number"),
        (1 + 0j, "not a number"),
        (Fraction(1, 2), "not a number"),
        ([1], "not a number"),
        (b"1", "not a number"),
        ("1.0000000000001", "more than 12 decimal places"),
        ("0.0000010000001", "more than 12 decimal places"),
        (0.1234567890123, "more than 12 decimal places"),
        (Decimal("1.0000000000001"), "more than 12 decimal places"),
        # A digit so far out that rounding to any precision loses it.
        ("1." + "0" * 70 + "1", "more than 12 decimal places"),
        ("63." + "9" * 70, "more than 12 decimal places"),
    ],
    ids=_id,
)
def test_epsilon_outside_its_interval_is_refused(epsilon: object, problem: str) -> None:
    for field, attempt in (
        ("epsilon", lambda: create("GRR", k=3, epsilon=epsilon)),
        ("epsilon of gender", lambda: parse_epsilon(epsilon, "epsilon of gender")),
    ):
        with pytest.raises(InvalidParameter) as refusal:
            attempt()
        assert refusal.value.field == field
        message = str(refusal.value)
        assert message.startswith(f"{field} is ")
        assert problem in message
        assert "in [1e-6, 64] with at most 12 decimal places" in message
        if not _is_huge(epsilon) and len(repr(epsilon)) <= 80:
            assert repr(epsilon) in message
        assert len(message) < 400


@pytest.mark.parametrize(
    ("epsilon", "exact"),
    [
        ("0.000001", "0.000001"),
        ("1e-6", "0.000001"),
        (1e-6, "0.000001"),
        (0.1, "0.1"),
        (64, "64"),
        ("64.0000", "64"),
        ("6.4e1", "64"),
        ("+2.", "2"),
        (".5", "0.5"),
        ("0.000001000001", "0.000001000001"),
        ("1." + "0" * 500, "1"),
        (Decimal("1.10"), "1.1"),
        (np.float64(0.25), "0.25"),
    ],
)
def test_epsilon_is_read_exactly(epsilon: object, exact: str) -> None:
    assert parse_epsilon(epsilon) == Decimal(exact)
    assert str(parse_epsilon(epsilon)) == str(parse_epsilon(exact))


@pytest.mark.parametrize(
    ("epsilon", "spelled"),
    [("1e-6", "0.000001"), ("64", "64"), ("60", "60"), ("1.50", "1.5"), ("0.123456789012",) * 2],
)
def test_epsilon_is_spelled_in_plain_notation(epsilon: str, spelled: str) -> None:
    assert format_epsilon(parse_epsilon(epsilon)) == spelled
    assert parse_epsilon(format_epsilon(parse_epsilon(epsilon))) == parse_epsilon(epsilon)


@pytest.mark.parametrize("name", ["grr", "XYZ", "", None, 3, ["GRR"], "GRR " * 100])
def test_unknown_protocol_is_refused_with_the_known_ones(name: object) -> None:
    with pytest.raises(InvalidParameter, match="choose one of GRR, BLH, OLH, RAPPOR") as refusal:
        create(name, k=3, epsilon="1")  # type: ignore[arg-type]
    assert refusal.value.field == "protocol"
    assert repr(name)[:60] in str(refusal.value)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("parameter", ["g", "omega", "theta", "gamma"])
def test_parameter_of_another_protocol_is_refused(name: str, parameter: str) -> None:
    own = PROTOCOLS[name].oracle.parameter_names
    if parameter in own:
        return
    with pytest.raises(InvalidParameter, match=f"{name} does not take {parameter}") as refusal:
        create(name, k=3, epsilon="1", **{parameter: 2})
    assert refusal.value.field == parameter
    assert "(= 2)" in str(refusal.value)
    assert f"it takes {', '.join(own) or 'no parameters'}" in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "parameter", "value", "interval"),
    [
        *(("OLH", "g", g, "[2, 65536]") for g in (1, 0, -3, 65537, 2.0, "3", True, HUGE)),
        *(("SS", "omega", omega, "[1, 4]") for omega in (0, 5, -1, 2.0, "2", True, HUGE)),
        *(
            ("THE", "theta", theta, "(0.5, 1)")
            for theta in (
                *("0.5", "0.5000", "1", "1.0", "0.4999", "0", "-0.6", "0.67741", "nan", "inf"),
                *("", "0.6_774", " 0.6774", "0.6774\n", "٠.٦", "6.774e-1", ".6774"),
                *(0.6774, 0.75, 1, True, Decimal("0.67741"), Decimal("NaN"), Decimal("sNaN"), [0]),
            )
        ),
    ],
    ids=_id,
)
def test_parameter_outside_its_interval_is_refused(
    name: str, parameter: str, value: object, interval: str
) -> None:
    with pytest.raises(InvalidParameter) as refusal:
        create(name, k=5, epsilon="1", **{parameter: value})
    assert refusal.value.field == parameter
    message = str(refusal.value)
    assert message.startswith(f"{parameter} is ")
    assert interval in message
    assert "; give" in message
    if not _is_huge(value):
        assert repr(value) in message


# The first code past the domain, and what else a form may hold.
K = 5466
ANSWERS = [-1, K, 90210, 2**64, True, 3.0, "Prefer not to say", b"90210", None, np.int64(1), [2]]


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: type(answer).__name__)
def test_an_answer_that_is_no_code_is_refused_and_never_shown(
    name: str, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    oracle = create(name, k=K, epsilon="1")
    record = oracle.randomize(0, SecureBits())
    for attempt in (
        lambda: oracle.randomize(answer, SecureBits()),  # type: ignore[arg-type]
        lambda: oracle.probability(record, answer),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidParameter) as refusal:
            attempt()
        error = refusal.value
        assert error.field == "value"
        assert error.__cause__ is None
        assert error.__context__ is None
        texts = f"{error}{error!r}{error.args}{vars(error)}{caplog.text}"
        texts += "".join(traceback.format_exception_only(error))
        for spelled in (str(answer), repr(answer)):
            # "-1" and "3.0" may not occur even as a part; a "1" alone says nothing.
            if spelled not in ("1", "True"):
                assert spelled not in texts
        assert f"[0, {K - 1}]" in str(error)
        assert "give the index of the answer's category" in str(error)


def _refused(oracle: FrequencyOracle, record: bytes, reason: str) -> str:
    for attempt in (
        lambda: oracle.check(record),
        lambda: oracle.support(record),
        lambda: oracle.probability(record, 0),
    ):
        with pytest.raises(MalformedRecord) as refusal:
            attempt()
        assert refusal.value.reason == reason
        assert refusal.value.field is None
        assert "send it exactly as the device made it" in str(refusal.value)
    return str(refusal.value)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("k", [2, 8, 9, 256, 257])
def test_record_one_byte_short_or_long_or_empty_is_refused(name: str, k: int) -> None:
    oracle = create(name, k=k, epsilon="1")
    record = oracle.randomize(0, SecureBits())
    for wrong in (b"", record[:-1], record[1:], record + b"\0", b"\0" + record, record * 2):
        if len(wrong) == len(record):
            continue
        message = _refused(oracle, wrong, "length")
        assert f"has {oracle.record_size} bytes, this one has {len(wrong)}" in message


@pytest.mark.parametrize("name", ["RAPPOR", "OUE", "SS", "THE"])
@pytest.mark.parametrize("k", [2, 7, 9, 15, 74])
def test_any_set_pad_bit_is_refused(name: str, k: int) -> None:
    oracle = create(name, k=k, epsilon="1")
    record = oracle.randomize(0, SecureBits())
    oracle.check(record)
    for pad in range(k, 8 * oracle.record_size):
        number = int.from_bytes(record, "little") | 1 << pad
        message = _refused(oracle, number.to_bytes(len(record), "little"), "padding")
        assert f"past bit {k - 1}" in message


def test_a_subset_of_another_size_is_refused() -> None:
    for k in (2, 8, 9, 17):
        for omega in range(1, k):
            oracle = create("SS", k=k, epsilon="1", omega=omega)
            size = oracle.record_size
            for count in set(range(k + 1)) - {omega}:
                record = ((1 << count) - 1).to_bytes(size, "little")
                message = _refused(oracle, record, "popcount")
                assert f"holds {count} values, not omega = {omega}" in message
            oracle.check(((1 << omega) - 1).to_bytes(size, "little"))


@pytest.mark.parametrize("k", [2, 3, 255, 256, 257, 1000, 65535, 65536])
def test_a_code_out_of_range_is_refused(k: int) -> None:
    oracle = create("GRR", k=k, epsilon="1")
    size = oracle.record_size
    assert size == (1 if k <= 256 else 2)
    oracle.check((k - 1).to_bytes(size, "little"))
    for code in {k, k + 1, 256**size - 1}:
        if k <= code < 256**size:
            message = _refused(oracle, code.to_bytes(size, "little"), "range")
            assert f"code {code}, outside [0, {k - 1}]" in message


@pytest.mark.parametrize(("name", "g"), [("BLH", 2), ("OLH", 2), ("OLH", 3), ("OLH", 65535)])
def test_a_bucket_out_of_range_is_refused(name: str, g: int) -> None:
    parameters = {"g": g} if name == "OLH" else {}
    oracle = create(name, k=5, epsilon="1", **parameters)
    seed = bytes(range(16))
    oracle.check(seed + (g - 1).to_bytes(2, "little"))
    for y in {g, g + 1, 65535}:
        if g <= y <= 65535:
            message = _refused(oracle, seed + y.to_bytes(2, "little"), "range")
            assert f"bucket {y}, outside [0, {g - 1}]" in message
