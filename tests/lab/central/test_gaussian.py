"""The Gaussian mechanism: its delta, its least noise, and how long the noise is."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from hushpoll_lab.central.gaussian import (
    gaussian_delta,
    gaussian_sigma,
    noise_norm,
)
from hushpoll_protocols.errors import InvalidParameter
from studies.private_models.classical import classical_sigma, noise_norm_bound


@pytest.mark.parametrize(
    ("sigma", "epsilon", "sensitivity"), [(1, 1, 1), (0.3, 4, 1), (40, 0.1, 7)]
)
def test_delta_is_the_integral_of_what_the_privacy_loss_exceeds(
    sigma: float, epsilon: float, sensitivity: float
) -> None:
    def excess(x: float) -> float:
        near = norm.pdf(x, sensitivity, sigma)
        return max(0.0, near - math.exp(epsilon) * norm.pdf(x, 0, sigma))

    start = sigma**2 / sensitivity * epsilon + sensitivity / 2  # above it the loss exceeds epsilon
    integral = quad(excess, start, sensitivity + 40 * sigma, epsabs=0, epsrel=1e-10)[0]
    assert gaussian_delta(sigma, epsilon, sensitivity) == pytest.approx(integral, rel=1e-6)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1, 9, 64])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-12])
def test_sigma_is_the_least_that_is_private(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon, delta, 2.5)
    assert gaussian_delta(sigma, epsilon, 2.5) <= delta
    assert gaussian_delta(sigma * (1 - 1e-6), epsilon, 2.5) > delta


def test_classical_noise_is_private_and_larger() -> None:
    for epsilon in (0.1, 0.5, 1.0):
        classical = classical_sigma(epsilon, 1e-5, 1)
        assert classical > gaussian_sigma(epsilon, 1e-5, 1)
        assert gaussian_delta(classical, epsilon, 1) < 1e-5


def test_noise_exceeds_its_quantile_as_often_as_said() -> None:
    rng = np.random.default_rng(3)
    lengths = np.linalg.norm(rng.normal(0, 0.2, (40_000, 30)), axis=1)
    assert np.mean(lengths > noise_norm(0.2, 30, 0.05)) == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize("dimension", [1, 2, 30, 500])
def test_bound_of_the_paper_is_never_below_the_quantile(dimension: int) -> None:
    for failure in (0.5, 0.01, 1e-6):
        assert noise_norm_bound(1, dimension, failure) >= noise_norm(1, dimension, failure)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity", "field"),
    [(0, 1e-5, 1, "epsilon"), (65, 1e-5, 1, "epsilon"), (math.nan, 1e-5, 1, "epsilon"),
     (1, 0, 1, "delta"), (1, 1, 1, "delta"), (1, 1e-5, 0, "sensitivity"),
     (1, 1e-5, math.inf, "sensitivity")],
)  # fmt: skip
def test_values_outside_their_intervals_are_refused(
    epsilon: float, delta: float, sensitivity: float, field: str
) -> None:
    with pytest.raises(InvalidParameter, match=f"^{field} is"):
        gaussian_sigma(epsilon, delta, sensitivity)
