"""How far private weights are from the best ones, against simulations of both mechanisms."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from hushpoll_lab.central.logistic import minimise
from hushpoll_lab.certificates.distances import Descent, perturbed_distance, sampling_proxy
from hushpoll_protocols.errors import InvalidParameter

ROWS = 400
PLAN = Descent(
    penalty=0.2, radius=2.0, learning_rate=1.0, rows=ROWS, sample_rate=1.0, steps=30, noise=8.0,
    dimension=5, start=1.0,
)  # fmt: skip


def sample() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    rows = np.hstack([rng.normal(size=(ROWS, 4)), np.ones((ROWS, 1))])
    rows *= np.minimum(1, PLAN.radius / np.linalg.norm(rows, axis=1))[:, None]
    return rows, (rows[:, 0] + 0.3 * rng.normal(size=ROWS) > 0).astype(np.int64)


def distances(plan: Descent, draws: int) -> np.ndarray:
    """Run the descent many times side by side."""
    rows, label = sample()
    best = minimise(rows, label, plan.penalty).weights
    rng = np.random.default_rng(2)
    weights = np.tile(np.eye(plan.dimension)[0] * plan.start, (draws, 1))
    for _ in range(plan.steps):
        chosen = rng.random((draws, ROWS)) < plan.sample_rate
        sums = (chosen * (expit(weights @ rows.T) - label)) @ rows
        noisy = sums + rng.normal(0, plan.noise, weights.shape)
        step = noisy / (plan.sample_rate * ROWS) + plan.penalty * weights
        weights = weights - plan.learning_rate * step
    return np.linalg.norm(weights - best, axis=1)


@pytest.mark.parametrize(("rate", "factor"), [(1.0, 2.0), (0.3, 8.0)])
@pytest.mark.parametrize("failure", [0.3, 0.01])
def test_descent_is_farther_away_than_the_bound_no_more_often_than_promised(
    rate: float, factor: float, failure: float
) -> None:
    """The bound is loose by a known factor: without sampling it is close to the quantile."""
    plan = replace(PLAN, sample_rate=rate)
    drawn = distances(plan, 2000)
    bound = plan.distance(failure)
    assert np.mean(drawn > bound) <= failure
    assert bound <= factor * np.quantile(drawn, 1 - failure)


def test_bound_shrinks_with_steps_and_grows_with_noise_and_certainty() -> None:
    short, long = (replace(PLAN, steps=steps, noise=0.0) for steps in (5, 50))
    assert long.distance(0.1) < short.distance(0.1) < 5
    assert PLAN.distance(0.1) < PLAN.distance(0.001) < replace(PLAN, noise=16.0).distance(0.001)
    assert PLAN.distance(0.01) < replace(PLAN, sample_rate=0.5).distance(0.01)


def test_sampling_proxy_bounds_the_moments_of_a_bernoulli_variable() -> None:
    points = np.linspace(-8, 8, 161)
    for rate in (0.01, 0.2, 0.5, 0.7, 1.0):
        moments = rate * np.exp(points * (1 - rate)) + (1 - rate) * np.exp(-points * rate)
        assert (moments <= np.exp(points**2 * sampling_proxy(rate) / 2) * (1 + 1e-12)).all()


def test_noise_of_output_perturbation_exceeds_its_quantile_as_often_as_promised() -> None:
    lengths = np.linalg.norm(np.random.default_rng(3).normal(0, 0.7, (20_000, 6)), axis=1)
    assert np.mean(lengths > perturbed_distance(0.7, 6, 0.05)) == pytest.approx(0.05, abs=0.006)


def test_settings_outside_their_intervals_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"failure is 1; it must lie in \(0, 1\)"):
        perturbed_distance(1.0, 3, 1)
    with pytest.raises(InvalidParameter, match="failure is 0"):
        PLAN.distance(0)
    with pytest.raises(InvalidParameter, match=r"learning_rate is 2; .* only up to 1\.429"):
        replace(PLAN, learning_rate=2)
