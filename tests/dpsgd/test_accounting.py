"""Epsilon of DP-SGD: against the mechanism's own delta and the papers' settings."""

import pytest

from hushpoll_lab.central.accounting import (
    ACCOUNTANTS,
    PRV_ERROR,
    Schedule,
    accounted_claim,
    epsilon_spent,
    noise_for,
)
from hushpoll_lab.central.gaussian import gaussian_delta
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.claim import privacy_sentence


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


def test_noise_of_gdp_spends_more_than_it_says_by_an_exact_count() -> None:
    """A single step without sampling is one Gaussian mechanism, for which GDP is exact; with
    sampling it says too little: its noise for 3 spends more by PRV, less PRV's own error."""
    schedule = [Schedule(1024 / 20_000, 50 * 20)]
    noise = noise_for("gdp", schedule, 3.0, 1e-5)
    assert epsilon_spent("prv", schedule, noise, 1e-5) - PRV_ERROR > 3.05
    assert noise < noise_for("prv", schedule, 3.0, 1e-5) < noise_for("rdp", schedule, 3.0, 1e-5)


def test_claim_names_the_accountant_and_says_that_gdp_is_no_bound() -> None:
    claims = {name: accounted_claim(name, 3.0, 1e-5) for name in ACCOUNTANTS}
    assert [claims[name].proven for name in ("prv", "rdp", "gdp")] == [True, True, False]
    assert claims["rdp"].accountant == "the RDP (moments) accountant of Opacus"
    said = {name: privacy_sentence(claim.to_json()) for name, claim in claims.items()}
    assert "is (3, 1e-05)-differentially private" in said["prv"]
    assert "no upper bound: the true epsilon can be larger" in said["gdp"]


def test_gdp_takes_one_sampling_rate_and_prv_several() -> None:
    parts = [Schedule(0.05, 100), Schedule(0.01, 100)]
    with pytest.raises(InvalidParameter, match="takes one sampling rate"):
        epsilon_spent("gdp", parts, 1.0, 1e-5)
    alike = [Schedule(0.05, 60), Schedule(0.05, 40)]
    assert epsilon_spent("gdp", alike, 1.0, 1e-5) == epsilon_spent("gdp", parts[:1], 1.0, 1e-5)
    both = epsilon_spent("prv", parts, 1.0, 1e-5)
    assert epsilon_spent("prv", parts[:1], 1.0, 1e-5) < both
