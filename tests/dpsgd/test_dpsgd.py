"""DP-SGD on tables: what it learns, what each step does, and what it spends, seen from outside."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from black_box_audit import lower_bound
from hushpoll_lab.central.accounting import Schedule, epsilon_spent
from hushpoll_lab.central.dpsgd import SgdPlan, train_dpsgd
from hushpoll_protocols.errors import InvalidParameter

RUNS = 300


def sample(rows: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 5))
    return features, (features[:, 0] - features[:, 1] + 0.3 * rng.normal(size=rows) > 0).astype(int)


@pytest.mark.parametrize("hidden", [(), (8,)])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_private_network_learns(hidden: tuple[int, ...], optimizer: str) -> None:
    rows, label = sample(4000)
    plan = SgdPlan(
        hidden, epochs=20, batch_size=400, learning_rate=0.5 if optimizer == "sgd" else 0.05,
        noise_multiplier=1.0, optimizer=optimizer,
    )  # fmt: skip
    network = train_dpsgd(csr_matrix(rows), label, plan, noise_seed=1)
    assert np.mean((network.logits(rows) > 0) == label) > 0.85


def test_simulations_are_repeated_by_their_seeds_and_other_runs_are_not() -> None:
    rows, label = sample(100)
    plan = SgdPlan(epochs=2, batch_size=20)
    weights = [
        train_dpsgd(rows, label, plan, seed=3, noise_seed=noise).weights[0] for noise in (5, 5, 6)
    ]
    assert (weights[0] == weights[1]).all()
    assert (weights[0] != weights[2]).any()
    fresh = [train_dpsgd(rows, label, plan, seed=3).weights[0] for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


def test_noise_of_a_step_has_the_planned_size() -> None:
    rows, label = np.zeros((50, 4)), np.zeros(50, int)
    plan = SgdPlan(
        epochs=1, batch_size=50, learning_rate=1.0, clip=0.7, noise_multiplier=3.0,
    )  # fmt: skip
    start = train_dpsgd(rows, label, SgdPlan(epochs=1, batch_size=50, learning_rate=1e-30))
    moved = np.concatenate(
        [
            (train_dpsgd(rows, label, plan, noise_seed=seed).weights[0] - start.weights[0]).ravel()
            for seed in range(300)
        ]
    )
    assert moved.std() == pytest.approx(3.0 * 0.7 / 50, rel=0.06)
    assert moved.mean() == pytest.approx(0, abs=4 * 3.0 * 0.7 / 50 / moved.size**0.5)


def test_empty_batches_take_noisy_steps() -> None:
    rows, label = sample(3)
    plan = SgdPlan(epochs=5, batch_size=1, learning_rate=0.1)
    network = train_dpsgd(np.repeat(rows, 1, axis=0), label, plan, noise_seed=2)
    assert np.isfinite(network.weights[0]).all()


AUDITED = SgdPlan(epochs=2, batch_size=4, learning_rate=0.01, clip=1.0, noise_multiplier=2.0)
DELTA = 1e-2


def audited(plan: SgdPlan, runs: int, *, copies: int = 1, always: bool = False) -> float:
    """Tell an added row, far away from the others, from four rows of zeros."""
    few = np.zeros((4, 1))

    def run(with_row: bool, number: int) -> np.ndarray:
        added = copies if with_row else 0
        network = train_dpsgd(
            np.vstack([few, np.full((added, 1), 50.0)]), np.repeat([0, 1], [4, added]), plan,
            public_rows=4 if always else 8, noise_seed=number,
        )  # fmt: skip
        return np.array([network.weights[0][0, 0], network.biases[0][0]])

    return lower_bound(run, runs, DELTA)


def claimed(plan: SgdPlan, public_rows: int = 8) -> float:
    return epsilon_spent("prv", [plan.schedule(public_rows)], plan.noise_multiplier, DELTA)


def test_black_box_bound_is_below_the_claim() -> None:
    assert audited(AUDITED, RUNS) < claimed(AUDITED)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_black_box_bound_is_below_the_claim_in_ten_thousand_runs(penalty: float) -> None:
    bound = audited(replace(AUDITED, penalty=penalty), 5_000)
    assert claimed(AUDITED) / 4 < bound < claimed(AUDITED)


SIZES = [150, pytest.param(5_000, marks=pytest.mark.slow)]
"""Runs on each of two neighbours, 10,000 in all at full size; a planted fault needs fewer."""


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_a_row_whose_gradient_is_not_clipped(runs: int) -> None:
    """A planted fault: thirty clipped gradients, as if one row's had thirty times the norm."""
    assert audited(AUDITED, runs, copies=30) > claimed(AUDITED)


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_batches_that_are_no_poisson_samples(runs: int) -> None:
    """A planted fault: every row is in every batch, while sampling is claimed."""
    plan = replace(AUDITED, epochs=8, noise_multiplier=1.2)
    sampled = epsilon_spent("prv", [Schedule(0.05, 8)], plan.noise_multiplier, DELTA)
    assert audited(plan, runs, always=True) > sampled


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"hidden": (4, 0)}, r"hidden\[1\] is 0"),
        ({"learning_rate": 0}, "learning_rate is 0; it must be positive"),
        ({"clip": -1}, "clip is -1"),
        ({"noise_multiplier": -0.1}, "noise_multiplier is -0.1"),
        ({"penalty": -1}, "penalty is -1 with sgd; it must be at least 0"),
        ({"penalty": 1, "optimizer": "adam"}, "penalty is 1 with adam"),
        ({"optimizer": "lion"}, "optimizer is 'lion'; it must be sgd or adam"),
    ],
)
def test_bad_plans_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        SgdPlan(**change)  # type: ignore[arg-type]
