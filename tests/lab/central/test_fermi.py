"""DP-FERMI: its gradients, what the penalty does, and what both noisy sums spend together."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit

from black_box_audit import lower_bound
from hushpoll_lab.central.accounting import share_noise
from hushpoll_lab.central.fermi import (
    FermiPlan,
    known_shares,
    private_shares,
    train_fermi,
)
from hushpoll_lab.central.gaussian import gaussian_delta
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels.words import GeneratorBits

QUIET = FermiPlan(epochs=1, batch_size=10**6, clip=1e6, ascent_clip=1e6, noise=0, ascent_noise=0)


def sample(rows: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    group = (rng.random(rows) < 0.4).astype(np.int64)
    features = rng.normal(size=(rows, 3))
    features[:, 1] += 3 * group
    label = (0.5 * features[:, 0] + 2 * group + 0.3 * rng.normal(size=rows) > 1).astype(np.int64)
    return np.hstack([features, np.ones((rows, 1))]), label, group


def gap(weights: np.ndarray, rows: np.ndarray, group: np.ndarray) -> float:
    positive = rows @ weights > 0
    return abs(float(positive[group == 1].mean() - positive[group == 0].mean()))


def test_penalty_brings_the_shares_of_the_groups_together() -> None:
    rows, label, group = sample()
    shares = known_shares(np.bincount(group).astype(float), 0)
    plan = replace(QUIET, epochs=150, batch_size=300)
    fits = {
        fairness: train_fermi(
            csr_matrix(rows), label, group, shares, replace(plan, fairness=fairness),
            rng=np.random.default_rng(1),
        )
        for fairness in (0.0, 5.0)
    }  # fmt: skip
    assert np.mean((rows @ fits[0.0] > 0) == label) > 0.85
    assert gap(fits[0.0], rows, group) > 0.5
    assert gap(fits[5.0], rows, group) < 0.25
    assert np.mean((rows @ fits[5.0] > 0) == label) > 0.5


def test_first_step_follows_the_gradient_of_the_objective() -> None:
    """By differences of the objective as it is defined, at the start; every row in the batch."""
    rows, label, group = sample(200)
    shares = np.array([0.55, 0.45])
    dual = np.sqrt(shares)[:, None] * np.ones((1, 2))

    def objective(weights: np.ndarray) -> float:
        positive = expit(rows @ weights)
        chances = np.column_stack([1 - positive, positive])
        hot = np.eye(2)[group]
        root = np.diag(shares**-0.5)
        penalty = [
            -np.trace(dual @ np.diag(f) @ dual.T) + 2 * np.trace(dual @ np.outer(f, s) @ root) - 1
            for f, s in zip(chances, hot, strict=True)
        ]
        score = np.where(label == 1, 1, -1) * (rows @ weights)
        return float(np.mean(np.logaddexp(0, -score) + 2.0 * np.array(penalty)))

    step = 1e-5
    slopes = [(objective(step * unit) - objective(-step * unit)) / (2 * step) for unit in np.eye(4)]
    plan = replace(QUIET, fairness=2.0, learning_rate=1.0)
    moved = train_fermi(rows, label, group, shares, plan, rng=np.random.default_rng(1))
    assert moved == pytest.approx(-np.array(slopes), abs=1e-6)


def test_groups_that_noise_alone_could_make_are_left_out() -> None:
    group = np.repeat([0, 2], [3000, 1000])
    shares = private_shares(group, 4, 1.0, GeneratorBits(np.random.default_rng(1)))
    assert shares == pytest.approx([0.75, 0, 0.25, 0], abs=0.02)
    with pytest.raises(InvalidParameter, match="or a larger count_epsilon"):
        private_shares(group[:3001], 4, 0.1, GeneratorBits(np.random.default_rng(1)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"clip": 0}, "clip is 0; it must be positive"),
        ({"ascent_rate": -1}, "ascent_rate is -1"),
        ({"fairness": -0.5}, "fairness is -0.5; it must be at least 0"),
        ({"ascent_noise": -1}, "ascent_noise is -1"),
    ],
)
def test_bad_plans_are_refused(change: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        replace(QUIET, **change)  # type: ignore[arg-type]


RUNS, DELTA, TOGETHER = 600, 1e-2, 2.0
FIRST, SECOND = share_noise(TOGETHER, 1.0)
AUDITED = FermiPlan(
    fairness=1.0, epochs=3, batch_size=8, learning_rate=1.0, ascent_rate=3.0, clip=1.0,
    ascent_clip=1.0, noise=FIRST, ascent_noise=SECOND,
)  # fmt: skip


def exact(steps: int, noise: float = TOGETHER) -> float:
    """Epsilon of Gaussian steps without sampling, which are one of sensitivity sqrt(steps)."""
    low, high = 0.0, 50.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if gaussian_delta(noise, middle, steps**0.5) > DELTA else (low, middle)
        )
    return high


def audited(plan: FermiPlan, runs: int, *, copies: int = 1, public_rows: int = 8) -> float:
    """Tell an added row of group 1 with a long row of features from six others."""

    def run(with_row: bool, number: int) -> np.ndarray:
        added = copies if with_row else 0
        rows = np.vstack([np.tile([0.0, 1.0], (6, 1)), np.tile([9.0, 1.0], (added, 1))])
        return train_fermi(
            rows, np.repeat([0, 1, 1], [3, 3, added]), np.repeat([0, 1, 1], [3, 3, added]),
            np.array([0.5, 0.5]), plan, rng=np.random.default_rng(number), public_rows=public_rows,
        )  # fmt: skip

    return lower_bound(run, runs, DELTA)


def test_black_box_bound_is_below_the_claim() -> None:
    assert audited(AUDITED, RUNS) < exact(3)


@pytest.mark.slow
def test_black_box_bound_is_below_the_claim_in_ten_thousand_runs() -> None:
    assert exact(3) / 8 < audited(AUDITED, 10_000) < exact(3)


def test_audit_catches_descent_without_noise() -> None:
    assert audited(replace(AUDITED, noise=0.0), RUNS) > exact(3)


def audited_ascent(ascent_noise: float, runs: int) -> float:
    """Tell an added row by what its step in W does to the steps of all other rows.

    The others, half of each group and half of each label, leave W where it is. The added row alone
    moves it, and the penalty carries this to each of them, so that their steps add up.
    """
    others = 200
    plan = replace(
        AUDITED, fairness=50.0, batch_size=others, learning_rate=0.01, ascent_noise=ascent_noise
    )
    rows = np.array([[0.0, 1.0, side] for side in (-1.0, 1.0)] * (others // 2))
    group, label = np.arange(others) % 2, np.arange(others) // 2 % 2

    def run(with_row: bool, number: int) -> np.ndarray:
        added = int(with_row)
        weights = train_fermi(
            np.vstack([rows, np.tile([1e6, 1.0, 1.0], (added, 1))]),
            np.concatenate([label, [1] * added]).astype(np.int64),
            np.concatenate([group, [1] * added]).astype(np.int64),
            np.array([0.5, 0.5]), plan, rng=np.random.default_rng(number), public_rows=others,
        )  # fmt: skip
        return np.abs(weights)

    return lower_bound(run, runs, DELTA)


def test_audit_through_the_ascent_is_below_the_claim() -> None:
    assert audited_ascent(SECOND, RUNS) < exact(3)


def test_audit_catches_ascent_without_noise() -> None:
    """A planted fault: the descent has all its noise, and W alone has none."""
    assert audited_ascent(0.0, RUNS) > exact(3)


@pytest.mark.slow
def test_audits_of_faults_in_ten_thousand_runs() -> None:
    assert audited_ascent(SECOND, 10_000) < exact(3) < audited_ascent(0.0, 10_000)
    assert audited(replace(AUDITED, noise=0.0), 10_000) > exact(3)
    assert audited(AUDITED, 10_000, copies=25) > exact(3)


def test_audit_catches_a_row_that_is_not_clipped() -> None:
    assert audited(AUDITED, RUNS, copies=25) > exact(3)
