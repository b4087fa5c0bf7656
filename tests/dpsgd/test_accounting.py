"""Epsilon of DP-SGD: against the mechanism's own delta and the papers' settings."""

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.central.accounting import (
    ACCOUNTANTS,
    Schedule,
    accountant_label,
    epsilon_spent,
    noise_for,
)
from hushpoll_training.central.gaussian import gaussian_delta


@pytest.mark.parametrize("noise", [0.8, 2.0, 10.0])
@pytest.mark.parametrize("steps", [1, 50])
def test_bounds_are_above_the_exact_epsilon_of_unsampled_steps(noise: float, steps: int) -> None:
    """Without sampling, T Gaussian steps are one of sensitivity sqrt(T), whose delta is exact."""
    for name in ("prv", "rdp"):
        claimed = epsilon_spent(name, [Schedule(1.0, steps)], noise, 1e-5)
        assert gaussian_delta(noise, claimed, steps**0.5) <= 1e-5 * (1 + 1e-6)
    prv = epsilon_spent("prv", [Schedule(1.0, steps)], noise, 1e-5)
    assert gaussian_delta(noise, prv - 0.03, steps**0.5) > 1e-5


def test_prv_is_no_larger_than_rdp() -> None:
    schedule = [Schedule(0.03, 1500)]
    assert epsilon_spent("prv", schedule, 1.5, 1e-5) < epsilon_spent("rdp", schedule, 1.5, 1e-5)


@pytest.mark.parametrize("accountant", ACCOUNTANTS)
@pytest.mark.parametrize("epsilon", [0.5, 2.9, 8.9])
def test_noise_is_the_least_that_spends_at_most_epsilon(accountant: str, epsilon: float) -> None:
    schedule = [Schedule(0.05, 400)]
    noise = noise_for(accountant, schedule, epsilon, 1e-5)
    assert epsilon_spent(accountant, schedule, noise, 1e-5) <= epsilon
    assert epsilon_spent(accountant, schedule, noise * 0.995, 1e-5) > epsilon


def test_papers_noise_on_credit_card_spends_the_papers_epsilon() -> None:
    """Ghoukasian and Asoodeh: noise 4.44, clipping norm 1.5, 50 epochs of half the 30,000 rows.

    They aim at 3 in all, of which the two rates take .1 each.
    """
    schedule = [Schedule(1024 / 15_000, 50 * 15)]
    assert epsilon_spent("prv", schedule, 4.44 / 1.5, 1e-5) == pytest.approx(2.8, abs=0.1)


def test_values_outside_their_intervals_are_refused() -> None:
    schedule = [Schedule(0.1, 10)]
    with pytest.raises(InvalidParameter, match="accountant is 'best'; it must be one of prv"):
        epsilon_spent("best", schedule, 1, 1e-5)
    with pytest.raises(InvalidParameter, match="without noise there is no epsilon"):
        epsilon_spent("prv", schedule, 0, 1e-5)
    with pytest.raises(InvalidParameter, match="delta is 1"):
        epsilon_spent("prv", schedule, 1, 1)
    with pytest.raises(InvalidParameter, match="epsilon is 0; it must lie in"):
        noise_for("prv", schedule, 0, 1e-5)
    with pytest.raises(InvalidParameter, match="Use a larger epsilon, fewer steps"):
        noise_for("rdp", [Schedule(1.0, 10_000_000)], 1e-3, 1e-9)
    with pytest.raises(InvalidParameter, match="sample_rate is 0"):
        Schedule(0, 1)
    with pytest.raises(InvalidParameter, match="steps is 0"):
        Schedule(0.5, 0)


def test_label_names_the_accountant_and_the_library() -> None:
    assert accountant_label("prv").startswith("PRV accountant, Opacus 1.")
    assert "can understate" in accountant_label("gdp")


def test_gdp_takes_one_sampling_rate_and_prv_several() -> None:
    parts = [Schedule(0.05, 100), Schedule(0.01, 100)]
    with pytest.raises(InvalidParameter, match="takes one sampling rate"):
        epsilon_spent("gdp", parts, 1.0, 1e-5)
    both = epsilon_spent("prv", parts, 1.0, 1e-5)
    assert epsilon_spent("prv", parts[:1], 1.0, 1e-5) < both
