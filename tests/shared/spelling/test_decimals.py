from __future__ import annotations

from decimal import Decimal, localcontext

import pytest

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.spelling.decimals import check_canonical, parse_weight


@pytest.mark.parametrize("text", ["0", "1", "4", "0.25", "10", "100.001", "0.000000000001"])
def test_canonical_decimals(text: str) -> None:
    assert check_canonical(text, field="epsilon") == text


@pytest.mark.parametrize(
    "text",
    ["4.0", "04", ".5", "5.", "+1", "-1", "1e0", "0.10", "", " 1", "1\n", "١", "nan", 1, 0.5, None],
)
def test_other_spellings_are_refused(text: object) -> None:
    with pytest.raises(InvalidParameter, match="superfluous zero") as caught:
        check_canonical(text, field="epsilon")
    assert caught.value.field == "epsilon"


@pytest.mark.parametrize(
    ("value", "weight"),
    [
        (2, "2"),
        ("2.50", "2.5"),
        (0.1, "0.1"),
        (1e-12, "0.000000000001"),
        ("1e3", "1000"),
        (1000000, "1000000"),
        (Decimal("0.30"), "0.3"),
    ],
)
def test_weights_are_read_exactly(value: object, weight: str) -> None:
    with localcontext() as context:
        context.prec = 2
        assert str(parse_weight(value, field="w")) in {weight, f"{Decimal(weight)}"}
        assert parse_weight(value, field="w") == Decimal(weight)


@pytest.mark.parametrize(
    "value",
    [0, -1, "0", "nan", "inf", float("nan"), float("inf"), 1000001, "1e-13", True, None, [1], "1 "],
)
def test_other_weights_are_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match=r"\(0, 1000000\]") as caught:
        parse_weight(value, field="split.weights[age]")
    assert caught.value.field == "split.weights[age]"
