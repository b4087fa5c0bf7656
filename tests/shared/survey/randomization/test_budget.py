from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_protocols import InvalidParameter
from hushpoll_shared.survey.randomization.budget import UNIFORM, Split, split_budget

ADULT = {"gender": 2, "race": 5, "native-country": 41, "age": 74}


def test_uniform_gives_equal_parts() -> None:
    assert split_budget(Decimal(4), ADULT, "uniform") == dict.fromkeys(ADULT, Decimal(1))


def test_k_based_gives_the_parts_of_the_paper() -> None:
    # 4 * k / 122, cut at 12 places.
    assert split_budget(Decimal(4), ADULT, "k-based") == {
        "gender": Decimal("0.065573770491"),
        "race": Decimal("0.163934426229"),
        "native-country": Decimal("1.344262295081"),
        "age": Decimal("2.426229508196"),
    }


def test_weights_give_proportional_parts() -> None:
    split = Split.parse(
        {"weights": {"age": 1, "race": "2.0", "gender": 0.5, "native-country": 0.5}}
    )
    assert split_budget(Decimal(4), ADULT, split) == {
        "gender": Decimal("0.5"),
        "race": Decimal(2),
        "native-country": Decimal("0.5"),
        "age": Decimal(1),
    }


def test_parts_are_rounded_down_whatever_the_host_app_set() -> None:
    with localcontext() as context:
        context.prec = 3
        parts = split_budget(Decimal(1), {"a": 2, "b": 2, "c": 2}, UNIFORM)
    assert [str(part) for part in parts.values()] == ["0.333333333333"] * 3


@given(
    st.decimals(Decimal("0.01"), 64, places=12),
    st.lists(st.integers(2, 65536), min_size=1, max_size=20),
    st.sampled_from(["uniform", "k-based"]),
)
def test_parts_never_sum_to_more_than_the_total(
    epsilon: Decimal, sizes: list[int], kind: str
) -> None:
    domain = {f"a{i}": k for i, k in enumerate(sizes)}
    try:
        parts = split_budget(epsilon, domain, kind)
    except InvalidParameter:
        assert kind == "k-based"
        smallest = Fraction(epsilon) * min(sizes) / sum(sizes)
        assert smallest < Fraction(1, 10**6)
        return
    total = sum(Fraction(part) for part in parts.values())
    assert total <= Fraction(epsilon)
    # Rounding loses less than one unit of the twelfth place per attribute.
    assert Fraction(epsilon) - total < Fraction(len(sizes), 10**12)
    for name, part in parts.items():
        share = Fraction(1, len(sizes)) if kind == "uniform" else Fraction(domain[name], sum(sizes))
        assert 0 <= Fraction(epsilon) * share - Fraction(part) < Fraction(1, 10**12)


def test_a_part_under_one_millionth_names_the_attribute() -> None:
    with pytest.raises(InvalidParameter) as caught:
        split_budget(Decimal("0.00001"), ADULT, "k-based")
    assert caught.value.field == "attributes[gender].epsilon"
    message = str(caught.value)
    assert "0.000000163934" in message
    assert "[1e-6, 64]" in message
    assert "raise epsilon" in message


def test_a_part_of_one_millionth_is_kept() -> None:
    parts = split_budget(Decimal("0.000002"), {"a": 2, "b": 2}, "uniform")
    assert parts == {"a": Decimal("0.000001"), "b": Decimal("0.000001")}


def test_a_part_rounded_to_zero_is_refused() -> None:
    split = Split.parse({"weights": {"a": 1000000, "b": "0.000000000001"}})
    with pytest.raises(InvalidParameter, match="leaves b with 0,"):
        split_budget(Decimal(1), {"a": 2, "b": 2}, split)


def test_nothing_to_protect_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="protect nothing"):
        split_budget(Decimal(1), {}, "uniform")


@pytest.mark.parametrize(
    "value",
    [
        "kbased",
        "weights",
        None,
        3,
        [],
        {},
        {"weights": None},
        {"weights": {1: 2}},
        {"weights": {"a": 1}, "other": 1},
    ],
)
def test_other_splits_are_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="uniform, k-based") as caught:
        Split.parse(value)
    assert caught.value.field == "split"


@pytest.mark.parametrize("weight", [0, -1, "nan", float("inf"), True, None, "1/2"])
def test_a_weight_that_is_no_positive_number_is_refused(weight: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        Split.parse({"weights": {"age": weight}})
    assert caught.value.field == "split.weights[age]"


def test_weights_name_exactly_the_perturbed_attributes() -> None:
    with pytest.raises(InvalidParameter, match="no weight") as caught:
        Split.parse({"weights": {"a": 1}}).shares({"a": 2, "b": 2})
    assert caught.value.field == "split.weights[b]"
    with pytest.raises(InvalidParameter, match="not a perturbed attribute") as caught:
        Split.parse({"weights": {"a": 1, "c": 1}}).shares({"a": 2})
    assert caught.value.field == "split.weights[c]"


def test_the_published_form_reads_back_and_is_canonical() -> None:
    split = Split.parse({"weights": {"b": "2.50", "a": 1}})
    assert split.to_json() == {"weights": {"a": "1", "b": "2.5"}}
    assert Split.parse(split.to_json(), canonical=True) == split
    assert Split.parse(split) is split
    assert UNIFORM.to_json() == "uniform"
    for weight in (1, "1.0", "01"):
        with pytest.raises(InvalidParameter):
            Split.parse({"weights": {"a": weight}}, canonical=True)
