"""DPSGD-F: clipping norms of groups, what it learns, and what it spends, seen from outside."""

from dataclasses import replace

import numpy as np
import pytest

from black_box_audit import lower_bound
from hushpoll_lab.central.accounting import Schedule, epsilon_spent, share_noise
from hushpoll_lab.central.dpsgd import SgdPlan, train_dpsgd
from hushpoll_lab.central.dpsgd_f import MOST_RATIO, group_clips, train_dpsgd_f
from hushpoll_lab.central.gaussian import gaussian_delta
from hushpoll_protocols.errors import InvalidParameter

RUNS = 200
SIZES = [RUNS, pytest.param(5_000, marks=pytest.mark.slow)]
"""Runs on each of two neighbours: 10,000 in all at full size."""
DELTA = 1e-2
AUDITED = SgdPlan(epochs=2, batch_size=4, learning_rate=0.01, clip=1.0, noise_multiplier=2.0)


def test_clipping_norms_follow_the_shares_of_long_gradients() -> None:
    clips = group_clips(np.array([10.0, 30.0]), np.array([30.0, 10.0]), 2.0)
    assert clips == pytest.approx([2 * (1 + 0.25 / 0.5), 2 * (1 + 0.75 / 0.5)])


def test_clipping_norms_stay_in_their_range_whatever_the_noise_does() -> None:
    rng = np.random.default_rng(1)
    for _ in range(500):
        long, short = rng.normal(0, 20, (2, 3))
        clips = group_clips(long, short, 1.0)
        assert ((clips >= 1) & (clips <= 1 + MOST_RATIO)).all()
    assert group_clips(np.array([-3.0, -1.0]), np.array([9.0, 9.0]), 1.0).tolist() == [2, 2]


@pytest.mark.parametrize("ratio", [0.3, 1.0, 10.0])
def test_two_shared_noises_spend_what_one_would(ratio: float) -> None:
    """Without sampling, both are Gaussian, and the l2 length of what they see is known."""
    first, second = share_noise(1.7, ratio)
    assert second == pytest.approx(ratio * first)
    seen = np.hypot(1 / first, 1 / second)
    assert gaussian_delta(1.0, 1.5, seen) == pytest.approx(gaussian_delta(1.7, 1.5, 1.0))


def test_network_learns_and_a_simulation_is_repeated_by_its_seed() -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(2000, 5))
    label = (rows[:, 0] - rows[:, 1] > 0).astype(np.int64)
    group = (rng.random(2000) < 0.2).astype(np.int64)
    plan = SgdPlan((8,), epochs=10, batch_size=200, learning_rate=0.5, noise_multiplier=1.0)
    first, again = (
        train_dpsgd_f(rows, label, group, plan, groups=3, noise_seed=1) for _ in range(2)
    )
    assert np.mean((first.logits(rows) > 0) == label) > 0.85
    assert (first.weights[0] == again.weights[0]).all()


def test_without_long_gradients_and_noise_it_is_dpsgd() -> None:
    rows = np.random.default_rng(3).normal(size=(60, 3))
    label = (rows[:, 0] > 0).astype(np.int64)
    plan = SgdPlan(epochs=3, batch_size=60, learning_rate=0.3, clip=50.0, noise_multiplier=0.0)
    ours = train_dpsgd_f(rows, label, label * 0, plan, groups=1)
    theirs = train_dpsgd(rows, label, plan)
    assert ours.weights[0] == pytest.approx(theirs.weights[0], abs=1e-6)


def audited(
    plan: SgdPlan, runs: int, *, copies: int = 1, ratio: float = 10.0, always: bool = False
) -> float:
    """Tell an added row of group 1, far away from the others, from four rows of group 0."""

    def run(with_row: bool, number: int) -> np.ndarray:
        added = copies if with_row else 0
        network = train_dpsgd_f(
            np.vstack([np.zeros((4, 1)), np.full((added, 1), 50.0)]),
            np.repeat([0, 1], [4, added]), np.repeat([0, 1], [4, added]), plan,
            groups=2, count_ratio=ratio, public_rows=4 if always else 8, noise_seed=number,
        )  # fmt: skip
        return np.array([network.weights[0][0, 0], network.biases[0][0]])

    return lower_bound(run, runs, DELTA)


def claimed(plan: SgdPlan) -> float:
    return epsilon_spent("prv", [plan.schedule(8)], plan.noise_multiplier, DELTA)


def test_black_box_bound_is_below_the_claim() -> None:
    assert audited(AUDITED, RUNS) < claimed(AUDITED)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [1.0, 10.0])
def test_black_box_bound_is_below_the_claim_in_ten_thousand_runs(ratio: float) -> None:
    assert 0 < audited(AUDITED, 5_000, ratio=ratio) < claimed(AUDITED)


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_a_row_whose_gradient_is_not_clipped(runs: int) -> None:
    """A planted fault: forty clipped gradients, as if one row's had forty times the norm."""
    assert audited(AUDITED, runs, copies=40) > claimed(AUDITED)


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_batches_that_are_no_poisson_samples(runs: int) -> None:
    """A planted fault: every row is in every batch, while sampling is claimed."""
    plan = replace(AUDITED, epochs=4, noise_multiplier=0.8)
    spent = epsilon_spent("prv", [Schedule(0.05, 4)], plan.noise_multiplier, DELTA)
    assert audited(plan, runs, always=True) > spent


def audited_lengths(runs: int) -> float:
    """Tell the row by how far one step goes in 40 columns: the noise follows the largest norm."""
    plan = replace(AUDITED, epochs=1)
    start = train_dpsgd_f(
        np.zeros((1, 40)), np.zeros(1, int), np.zeros(1, int), replace(plan, learning_rate=1e-30),
        groups=2,
    )  # fmt: skip

    def run(with_row: bool, number: int) -> np.ndarray:
        added = int(with_row)
        network = train_dpsgd_f(
            np.vstack([np.zeros((4, 40)), np.full((added, 40), 50.0)]),
            np.repeat([0, 1], [4, added]), np.repeat([0, 1], [4, added]), plan,
            groups=2, count_ratio=1.0, public_rows=4, noise_seed=number,
        )  # fmt: skip
        return np.array([np.linalg.norm(network.weights[0] - start.weights[0])])

    return lower_bound(run, runs, DELTA)


ONE_STEP = [Schedule(1.0, 1)]


@pytest.mark.parametrize("runs", SIZES)
def test_lengths_of_a_step_tell_no_more_than_the_claim(runs: int) -> None:
    spent = epsilon_spent("prv", ONE_STEP, AUDITED.noise_multiplier, DELTA)
    assert audited_lengths(runs) < spent


@pytest.mark.parametrize("runs", SIZES)
def test_audit_of_a_training_catches_counts_without_noise(
    runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault: the gradients alone have noise, and its size tells the counts."""
    module = "hushpoll_lab.central.dpsgd_f.share_noise"
    monkeypatch.setattr(module, lambda noise, ratio: (share_noise(noise, ratio)[0], 0.0))
    assert audited_lengths(runs) > epsilon_spent("prv", ONE_STEP, AUDITED.noise_multiplier, DELTA)


def test_audit_catches_norms_of_counts_without_noise() -> None:
    """A planted fault: the norms that follow from counts of one batch tell the row at once."""

    def run(with_row: bool, number: int, noise: float) -> np.ndarray:
        rng = np.random.default_rng(number)
        counts = np.array([0.0, float(with_row), 4.0, 0.0]) + noise * rng.normal(size=4)
        return group_clips(counts[:2], counts[2:], 1.0)

    spent = epsilon_spent("prv", [AUDITED.schedule(8)], AUDITED.noise_multiplier, DELTA)
    _, noise = share_noise(AUDITED.noise_multiplier, 1.0)
    assert lower_bound(lambda *at: run(*at, noise=0.0), RUNS, DELTA) > spent
    assert lower_bound(lambda *at: run(*at, noise=noise), RUNS, DELTA) < spent


def test_bad_arguments_are_refused() -> None:
    rows, label = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    with pytest.raises(InvalidParameter, match=r"from 0 to 1; they must lie in \[0, 1\)"):
        train_dpsgd_f(rows, label, label, AUDITED, groups=1)
    with pytest.raises(InvalidParameter, match="steps of plain sgd"):
        train_dpsgd_f(rows, label, label, replace(AUDITED, optimizer="adam"), groups=2)
