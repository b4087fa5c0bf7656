"""FairDP: what it learns, what it spends, and its certificates against the noise drawn again."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from black_box_audit import lower_bound
from hushpoll_lab.central.accounting import epsilon_spent
from hushpoll_lab.central.fairdp import FairDPPlan, train_fairdp
from hushpoll_lab.certificates.fairdp import (
    empirical,
    positive_chances,
    worst_case,
)
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.run import run_trial
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions


def sample(rows: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    group = np.arange(rows) % 2
    features = rng.normal(size=(rows, 6))
    score = features[:, 0] + 0.8 * (2 * group - 1) + 0.3 * rng.normal(size=rows)
    features[:, 1] += group
    return features, (score > 0).astype(np.int64), group


RUNS = 300
PLAN = FairDPPlan(hidden=(16,), sample_rate=0.05, steps=120)


def test_network_learns_and_its_last_step_is_recorded() -> None:
    rows, label, group = sample()
    result = train_fairdp(rows, label, group, PLAN, noise_seed=1)
    (network,) = result.networks
    assert network.biases[-1] is None
    assert np.mean((network.logits(rows) > 0) == label) > 0.7
    assert np.linalg.norm(result.last_step.before) <= PLAN.last_layer_norm * (1 + 1e-6)
    assert (
        np.linalg.norm(result.last_step.gradient)
        <= result.last_step.batch_rows * PLAN.clip / result.last_step.groups
    )


def test_last_layer_over_many_runs_of_the_last_step_has_the_law_of_equation_2() -> None:
    rows, label, group = sample(400)
    plan = replace(PLAN, steps=1, learning_rate=0.5, sample_rate=1.0, hidden=(3,))
    draws, expected = [], None
    for seed in range(400):
        result = train_fairdp(rows, label, group, plan, seed=4, noise_seed=seed)
        step = result.last_step
        draws.append(result.networks[0].weights[-1][0])
        expected = step.before - step.learning_rate * step.gradient
    deviation = 0.5 * plan.noise_multiplier * plan.clip / 2**0.5
    assert np.mean(draws, axis=0) == pytest.approx(expected, abs=5 * deviation / 20)
    assert np.std(draws, axis=0) == pytest.approx(np.full(3, deviation), rel=0.15)


def test_empirical_certificate_is_the_mean_over_the_noise_and_below_the_worst_case() -> None:
    rows, label, group = sample()
    plan = replace(PLAN, last_learning_rate=1.0, last_sample_rate=0.002)
    result = train_fairdp(rows, label, group, plan, noise_seed=3)
    step, network = result.last_step, result.networks[0]
    hidden = network.hidden(rows)
    tau = empirical(positive_chances(step, hidden), label, group)
    bound = worst_case(step)
    assert max(tau.values()) <= bound < 1
    rng = np.random.default_rng(1)
    deviation = step.learning_rate * step.noise_multiplier * step.clip / step.groups**0.5
    rates = np.zeros(2)
    for _ in range(2000):
        last = step.before - step.learning_rate * step.gradient
        last = last + rng.normal(0, deviation, last.size)
        positive = hidden @ last > 0
        rates += [positive[group == number].mean() for number in (0, 1)]
    assert abs(rates[0] - rates[1]) / 2000 == pytest.approx(tau["demographic_parity"], abs=0.02)


def test_model_proves_its_fairness_in_an_experiment_and_never_after_it_was_saved() -> None:
    method = {"name": "f", "learner": "fairdp", "params": {"steps": 20, "accountant": "rdp"}}
    experiment = MethodsExperiment.from_dict(
        {
            "dataset": "synthetic",
            "options": {"rows": 3000},
            "seeds": [1],
            "methods": [method, {"name": "plain", "learner": "lightgbm"}],
        }
    )
    rows = experiment.source.load()
    ours, plain = (run_trial(experiment, rows, trial) for trial in experiment.trials())
    assert "certificates" not in plain
    train, test = (ours["certificates"][name] for name in ("train", "test"))
    assert 0 < train["tau_demographic_parity_error"] < test["tau_demographic_parity_error"] < 0.1
    gap = abs(train["tau_demographic_parity"] - test["tau_demographic_parity"])
    assert gap < 4 * test["tau_demographic_parity_error"]
    assert ours["metrics"]["parity_gap"] == pytest.approx(test["tau_demographic_parity"], abs=0.3)
    assert train["tau_worst_case"] == test["tau_worst_case"] > train["tau_equalized_odds"]
    design = rows.design()
    fitted = create_learner("fairdp", method["params"]).fit(design, FitOptions(noise_seed=1))
    assert fitted.certificates(design)
    assert set(fitted.save()) == {"weights.npz"}
    again = fitted.learner.load(fitted.save(), design.names)
    assert again.certificates(design) == {}
    assert "last_step" not in repr(fitted)


def test_several_models_share_all_layers_but_the_last() -> None:
    rows, label, group = sample(600)
    result = train_fairdp(rows, label, group, PLAN, models=4, noise_seed=5)
    assert len(result.networks) == 4
    first = result.networks[0]
    for other in result.networks[1:]:
        assert (other.weights[0] == first.weights[0]).all()
        assert (other.weights[-1] != first.weights[-1]).any()


def test_groups_of_several_attributes_are_combinations() -> None:
    rows, label, group = sample(400)
    four = group + 2 * (np.arange(400) // 2 % 2)
    assert train_fairdp(rows, label, four, PLAN, noise_seed=1).last_step.groups == 4


def test_row_that_is_alone_in_its_group_does_not_change_the_number_of_groups() -> None:
    """The neighbour without the row has as many sums with noise, and as much noise in the mean."""
    rows, label, group = sample(200)
    group[-1] = 2
    table = np.hstack([rows, np.eye(4)[group]])
    names = tuple(f"x{number}" for number in range(10))
    learner = create_learner("fairdp", {"steps": 2, "accountant": "rdp", "hidden": 3})
    groups = [
        learner.fit(
            Design(table[:size], label[:size], names, protected=slice(6, 10)),
            FitOptions(noise_seed=1),
        ).last_step.groups
        for size in (200, 199)
    ]
    assert groups == [4, 4]


def test_group_without_rows_takes_steps_of_noise() -> None:
    rows, label, group = sample(60)
    plan = replace(PLAN, steps=1, learning_rate=0.5, sample_rate=1.0, noise_multiplier=1e6)
    moved = [
        np.linalg.norm(
            train_fairdp(rows, label, group, plan, groups=groups, noise_seed=1)
            .networks[0]
            .weights[0]
        )
        for groups in (2, 8)
    ]
    assert moved[1] == pytest.approx(moved[0] / 2, rel=0.3)


AUDITED = FairDPPlan(
    hidden=(4,), sample_rate=0.5, steps=2, clip=1.0, noise_multiplier=2.0, learning_rate=1.0,
    plain_steps=1.0, last_layer_norm=1.0,
)  # fmt: skip
DELTA = 1e-2


SIZES = [RUNS, pytest.param(5_000, marks=pytest.mark.slow)]
"""Runs on each of two neighbours: 10,000 in all at full size."""


def audited(plan: FairDPPlan, runs: int, copies: int = 1) -> float:
    """Tell an added row of group 0 from four rows of zeros."""
    few = np.zeros((4, 1))

    def run(with_row: bool, number: int) -> np.ndarray:
        added = copies if with_row else 0
        result = train_fairdp(
            np.vstack([few, np.full((added, 1), 50.0)]), np.repeat([0, 1], [4, added]),
            np.repeat([0, 1, 0], [2, 2, added]), plan, seed=6, noise_seed=number,
        )  # fmt: skip
        network = result.networks[0]
        return np.concatenate([layer.ravel() for layer in (*network.weights, network.biases[0])])

    return lower_bound(run, runs, DELTA)


def claimed(plan: FairDPPlan) -> float:
    return epsilon_spent("prv", plan.schedules(), plan.noise_multiplier, DELTA)


def test_black_box_bound_is_below_the_claim_of_one_group() -> None:
    assert audited(AUDITED, RUNS) < claimed(AUDITED)


@pytest.mark.slow
def test_black_box_bound_is_below_the_claim_in_ten_thousand_runs() -> None:
    """One step with little noise: with more steps, the audit's best direction finds nothing."""
    sharp = replace(AUDITED, sample_rate=1.0, steps=1, noise_multiplier=0.4)
    assert 0 < audited(sharp, 5_000) < claimed(sharp)


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_too_little_noise(runs: int) -> None:
    assert audited(replace(AUDITED, noise_multiplier=0.1), runs) > claimed(AUDITED)


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_a_row_whose_gradient_is_not_clipped(runs: int) -> None:
    """A planted fault: forty clipped gradients, as if one row's had forty times the norm."""
    assert audited(AUDITED, runs, copies=40) > claimed(AUDITED)


@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_batches_that_are_no_poisson_samples(runs: int) -> None:
    """A planted fault: every row is in every batch, while sampling is claimed."""
    every = replace(AUDITED, sample_rate=1.0, steps=1, noise_multiplier=0.4)
    assert audited(every, runs) > claimed(replace(every, sample_rate=0.01))


@pytest.fixture
def one_group_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a fault: of two groups, whose sums get noise in turn, the first gets none."""
    import torch  # after the other modules: it is large

    normal, calls = torch.normal, itertools.count()
    parameters = 3  # weights and bias of the hidden layer, weights of the last one

    def planted(mean: float, deviation: float, shape: object, *, generator: object) -> object:
        noise = normal(mean, deviation, shape, generator=generator)
        return noise * (next(calls) // parameters % 2)

    monkeypatch.setattr(torch, "normal", planted)


def last_layer_deviation(runs: int) -> float:
    """Return how widely the last layer is spread over runs, over what equation (2) says."""
    rows, label, group = sample(60)
    plan = replace(PLAN, steps=1, learning_rate=0.5, sample_rate=1.0, hidden=(3,))
    draws = [
        train_fairdp(rows, label, group, plan, seed=4, noise_seed=seed).networks[0].weights[-1][0]
        for seed in range(runs)
    ]
    return float(np.std(draws, axis=0).mean()) / (0.5 * plan.noise_multiplier * plan.clip / 2**0.5)


@pytest.mark.usefixtures("one_group_without_noise")
def test_spread_of_the_last_layer_shows_a_group_without_noise() -> None:
    assert last_layer_deviation(RUNS) == pytest.approx(2**-0.5, rel=0.1)


ADAM = replace(
    AUDITED, sample_rate=1.0, noise_multiplier=4.0, plain_steps=0.0, adam_rate=1.0,
    learning_rate=1e-6,
)  # fmt: skip
"""The first of the two steps is Adam's, and the second, a plain one, moves next to nothing."""


@pytest.mark.parametrize("runs", SIZES)
def test_audit_of_a_step_of_adam_is_below_the_claim(runs: int) -> None:
    assert audited(ADAM, runs) < claimed(ADAM)


@pytest.mark.usefixtures("one_group_without_noise")
@pytest.mark.parametrize("runs", SIZES)
def test_audit_catches_a_group_without_noise(runs: int) -> None:
    """In a mean of plain steps the other group's noise would protect the row.

    Adam's first step has one length, whatever the noise: the other group's noise cannot hide it.
    """
    assert audited(ADAM, runs) > claimed(ADAM)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": ()}, "at least one hidden layer"),
        ({"clip": 0}, "clip is 0; it must be positive"),
        ({"noise_multiplier": -1}, "noise_multiplier is -1; it must be at least 0"),
        ({"sample_rate": 1.5}, r"sample_rate is 1.5; it must lie in \(0, 1\]"),
        ({"steps": 0}, "steps is 0; it must be at least 1"),
        ({"plain_steps": 2}, r"plain_steps is 2; it must lie in \[0, 1\]"),
    ],
)
def test_bad_plans_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        FairDPPlan(**change)  # type: ignore[arg-type]


def test_bad_groups_are_refused() -> None:
    rows, label, _ = sample(10)
    with pytest.raises(InvalidParameter, match="two groups or more"):
        train_fairdp(rows, label, np.zeros(10, np.int64), PLAN)
    with pytest.raises(InvalidParameter, match=r"up to 1; they must lie in \[0, 1\)"):
        train_fairdp(rows, label, np.arange(10) % 2, PLAN, groups=1)
    with pytest.raises(InvalidParameter, match="models is 0"):
        train_fairdp(rows, label, np.arange(10) % 2, PLAN, models=0)
