"""DP-FERMI: what sampled steps spend by an accountant, seen from outside."""

import numpy as np
import pytest

from black_box_audit import lower_bound
from hushpoll_lab.central.accounting import Schedule, epsilon_spent, share_noise
from hushpoll_lab.central.fermi import FermiPlan, train_fermi
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learner_registry import create_learner

RUNS, DELTA, TOGETHER = 400, 1e-2, 0.8


SIZES = [RUNS, pytest.param(10_000, marks=pytest.mark.slow)]


def audited(public_rows: int, epochs: int, runs: int) -> float:
    """Tell an added row from six others, with batches of four rows of so many, expected."""
    first, second = share_noise(TOGETHER, 1.0)
    plan = FermiPlan(
        epochs=epochs, batch_size=4, ascent_rate=3.0, ascent_clip=1.0, noise=first,
        ascent_noise=second,
    )  # fmt: skip

    def run(with_row: bool, number: int) -> np.ndarray:
        added = int(with_row)
        rows = np.vstack([np.tile([0.0, 1.0], (6, 1)), np.tile([9.0, 1.0], (added, 1))])
        label = np.repeat([0, 1, 1], [3, 3, added])
        return train_fermi(
            rows, label, label, np.array([0.5, 0.5]), plan,
            rng=np.random.default_rng(number), public_rows=public_rows,
        )  # fmt: skip

    return lower_bound(run, runs, DELTA)


@pytest.mark.parametrize("runs", SIZES)
def test_black_box_bound_of_sampled_steps_is_below_the_claim(runs: int) -> None:
    assert audited(16, 1, runs) < epsilon_spent("prv", [Schedule(0.25, 4)], TOGETHER, DELTA)


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_batches_that_are_no_poisson_samples(runs: int) -> None:
    """A planted fault: every row is in all of four batches, while a chance of 0.05 is claimed."""
    assert audited(4, 4, runs) > epsilon_spent("prv", [Schedule(0.05, 4)], TOGETHER, DELTA)


def test_descent_and_counts_spend_what_is_claimed() -> None:
    learner = create_learner("dp-fermi", {"epsilon": 2.0, "count_epsilon": 0.5, "epochs": 5})
    plan = learner.plan(4000)
    together = (plan.noise**-2 + plan.ascent_noise**-2) ** -0.5
    assert plan.ascent_noise == pytest.approx(5 * plan.noise)
    assert 1.45 < epsilon_spent("prv", [plan.schedule(4000)], together, 1e-5) <= 1.5
    assert "sizes" in str(learner.claim.accountant)
    with pytest.raises(InvalidParameter, match=r"must leave at least 0\.01 to the descent"):
        create_learner("dp-fermi", {"epsilon": 0.5, "count_epsilon": 0.5})
