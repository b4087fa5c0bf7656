"""Statistical parity by post-processing: exact on finite populations, for any pair of rates."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_lab.postprocessing.parity import (
    ParityRule,
    PositiveRates,
    parity_rule,
    positive_rates,
    private_rates,
)
from hushpoll_protocols.errors import InvalidParameter
from studies.parity_bounds import (
    UTILITY_FACTOR,
    bounds_in_expectation,
    bounds_with_probability,
    fewest_changes,
)


def population(positive: tuple[int, int], sizes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    groups = np.repeat([0, 1], sizes)
    predictions = np.concatenate(
        [np.arange(size) < count for count, size in zip(positive, sizes, strict=True)]
    ).astype(np.int64)
    return predictions, groups


def shares(chances: np.ndarray, groups: np.ndarray) -> tuple[float, float]:
    return float(chances[groups == 0].mean()), float(chances[groups == 1].mean())


group = st.integers(1, 60).flatmap(lambda size: st.tuples(st.integers(0, size), st.just(size)))


@given(group, group)
def test_algorithm_1_has_no_gap_and_fewest_changes_on_finite_populations(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    predictions, groups = population((first[0], second[0]), (first[1], second[1]))
    rates = positive_rates(predictions, groups)
    rule = parity_rule(rates)
    chances = rule.chances(predictions, groups)
    share_0, share_1 = shares(chances, groups)
    assert share_0 == pytest.approx(share_1, abs=1e-12)
    assert share_0 == pytest.approx(sum(rates.rates) / 2, abs=1e-12)
    changes = sum(shares(rule.flip[groups, predictions], groups))
    assert changes == pytest.approx(fewest_changes(*rates.rates), abs=1e-12)


@pytest.mark.parametrize(("alpha", "beta"), list(product([0.0, 1.0, 0.4], repeat=2)))
def test_rates_of_zero_and_one_give_chances_in_range_and_parity(alpha: float, beta: float) -> None:
    flip = parity_rule(PositiveRates((alpha, beta), (10, 10))).flip
    assert ((flip >= 0) & (flip <= 1)).all()
    result = [
        rate * (1 - flip[group, 1]) + (1 - rate) * flip[group, 0]
        for group, rate in enumerate((alpha, beta))
    ]
    assert result[0] == pytest.approx(result[1])


rate = st.floats(0, 1)


@given(rate, rate, rate, rate)
def test_gap_and_changes_grow_no_faster_than_the_errors_of_the_rates(
    alpha: float, beta: float, measured_alpha: float, measured_beta: float
) -> None:
    """The two steps of Theorem 3 that every one of its bounds rests on, for any errors."""
    flip = parity_rule(PositiveRates((measured_alpha, measured_beta), (10, 10))).flip
    error = abs(alpha - measured_alpha) + abs(beta - measured_beta)
    result = [
        true * (1 - flip[group, 1]) + (1 - true) * flip[group, 0]
        for group, true in enumerate((alpha, beta))
    ]
    gap = abs(result[0] - result[1])
    assert gap <= error + 1e-9
    changes = sum(
        true * flip[group, 1] + (1 - true) * flip[group, 0]
        for group, true in enumerate((alpha, beta))
    )
    assert changes - fewest_changes(alpha, beta, gap) <= UTILITY_FACTOR * error + 1e-9


def test_coins_are_tossed_row_by_row_with_the_rules_chances() -> None:
    predictions, groups = population((3000, 9000), (10_000, 10_000))
    rule = parity_rule(positive_rates(predictions, groups))
    drawn = rule.draw(predictions, groups, np.random.default_rng(1))
    assert set(np.unique(drawn)) == {0, 1}
    for member in (0, 1):
        assert drawn[groups == member].mean() == pytest.approx(0.6, abs=0.025)


def test_private_rates_divide_by_the_size_of_their_own_group() -> None:
    predictions, groups = population((30, 450), (100, 900))
    rates = private_rates(predictions, groups, ("64", "64"))
    assert rates.rates == (0.3, 0.5)
    assert rates.epsilon == 128


def test_private_rates_are_integers_over_sizes_and_clipped() -> None:
    predictions, groups = population((0, 7), (7, 7))
    seen = [private_rates(predictions, groups, ("0.2", "0.2")).rates for _ in range(200)]
    assert {Fraction(rate).limit_denominator(7) for pair in seen for rate in pair} <= {
        Fraction(count, 7) for count in range(8)
    }
    assert {0.0, 1.0} <= {rate for pair in seen for rate in pair}


def test_theorem_3_and_proposition_4_hold_in_simulation() -> None:
    rng = np.random.default_rng(5)
    alpha, beta, sizes, epsilons, failure = 0.35, 0.15, (400, 250), (0.05, 0.1), 0.1
    gaps = []
    for _ in range(400):
        predictions = np.concatenate(
            [rng.random(size) < share for size, share in zip(sizes, (alpha, beta), strict=True)]
        ).astype(np.int64)
        rates = private_rates(predictions, np.repeat([0, 1], sizes), epsilons)
        flip = parity_rule(rates).flip
        result = [
            share * (1 - flip[member, 1]) + (1 - share) * flip[member, 0]
            for member, share in enumerate((alpha, beta))
        ]
        gaps.append(abs(result[0] - result[1]))
    exceeded = np.mean(np.array(gaps) > bounds_with_probability(sizes, epsilons, failure).gap)
    assert exceeded <= failure
    assert np.mean(gaps) <= bounds_in_expectation(sizes, epsilons).gap


def test_bounds_are_those_of_the_paper_where_its_noise_is_nearly_the_same() -> None:
    sizes, epsilons, failure = (5000, 2500), (0.05, 0.05), 0.01
    paper = sum(
        np.log(4 / failure) / (size * epsilon) + np.sqrt(np.log(8 / failure) / (2 * size))
        for size, epsilon in zip(sizes, epsilons, strict=True)
    )
    ours = bounds_with_probability(sizes, epsilons, failure)
    assert ours.gap == pytest.approx(paper, rel=0.01)
    assert ours.excess_changes == pytest.approx(2.5 * ours.gap)
    assert not ours.vacuous
    assert bounds_with_probability((5, 5), epsilons, failure).vacuous


def test_rule_is_read_back_as_written() -> None:
    rule = parity_rule(PositiveRates((0.2, 0.7), (5, 5)))
    assert (ParityRule.from_json(rule.to_json()).flip == rule.flip).all()
    for damaged in ([[0, 0]], [[0, 2], [0, 0]], [[0, float("nan")], [0, 0]]):
        with pytest.raises(ValueError, match="chances"):
            ParityRule.from_json({"flip": damaged})


@pytest.mark.parametrize(
    ("predictions", "groups", "message"),
    [
        ([0, 1], [0, 0], "group 1 has no rows"),
        ([], [], "group 0 has no rows"),
        ([0, 2], [0, 1], "predictions has the value 2; give 0 or 1"),
        ([0, 1], [0, -1], "groups has the value -1; give 0 or 1"),
        ([0, 1, 1], [0, 1], "one value of each for every row"),
    ],
)
def test_bad_rows_are_refused(predictions: list[int], groups: list[int], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        positive_rates(np.array(predictions, np.int64), np.array(groups, np.int64))


def test_bad_bounds_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="failure is 1; it must lie in"):
        bounds_with_probability((1, 1), (1, 1), 1)
    with pytest.raises(InvalidParameter, match="each needs at least 1"):
        bounds_in_expectation((0, 1), (1, 1))
