"""Maximum likelihood against exact likelihoods, closed forms and an independent optimiser."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from hushpoll_protocols import PROTOCOLS, InvalidParameter, MalformedRecord, create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.likelihood import NotConverged, maximum_likelihood
from hushpoll_protocols.kernels import indicators, perturb, support_counts


def log_likelihood(oracle, records, frequency) -> float:
    """Log-likelihood up to a constant, from the oracle's exact law record by record."""
    total = 0.0
    for record in records:
        likelihoods = [float(oracle.probability(record.tobytes(), v)) for v in range(oracle.k)]
        total += math.log(np.dot(likelihoods, frequency)) - math.log(min(likelihoods))
    return total


def survey(name, k, epsilon, n, seed=2):
    oracle = create(name, k=k, epsilon=epsilon)
    rng = np.random.default_rng(seed)
    truth = np.arange(k, 0, -1) ** 2.0
    truth /= truth.sum()
    return oracle, truth, perturb(oracle, rng.choice(k, n, p=truth), rng)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("epsilon", ["0.2", "1", "5"])
def test_no_other_frequency_of_two_is_likelier(name, epsilon):
    oracle, _, records = survey(name, 2, epsilon, 120)
    best = log_likelihood(oracle, records, maximum_likelihood(oracle, records))
    grid = np.linspace(0, 1, 101)
    others = [log_likelihood(oracle, records, [f, 1 - f]) for f in grid]
    assert best >= max(others) - 1e-4
    assert best <= max(others) + 0.05


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_an_independent_optimiser_finds_nothing_better(name, epsilon):
    oracle, truth, records = survey(name, 4, epsilon, 60)
    frequency = maximum_likelihood(oracle, records)
    gained = log_likelihood(oracle, records, frequency) - log_likelihood(oracle, records, truth)
    assert gained > 0
    supported = indicators(oracle, records).astype(float)
    gain = float(oracle.likelihood_ratio - 1)

    def loss(frequency):
        return -np.log1p(gain * supported @ frequency).sum()

    assert loss(truth) - loss(frequency) == pytest.approx(gained, abs=1e-9)
    other = optimize.minimize(
        loss,
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda frequency: frequency.sum() - 1},
        options={"ftol": 1e-12},
    )
    assert loss(frequency) <= other.fun + 1e-4


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_inside_the_simplex_randomized_response_gives_the_unbiased_estimate(epsilon):
    oracle, _, records = survey("GRR", 5, epsilon, 200_000)
    unbiased = estimate(oracle, support_counts(oracle, records), len(records))
    assert (unbiased.frequency > 0).all()
    frequency = maximum_likelihood(oracle, records, tolerance=1e-9)
    assert frequency == pytest.approx(unbiased.frequency, abs=1e-6)


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("k", [2, 64, 65])
@pytest.mark.parametrize("epsilon", ["0.000001", "0.1", "1", "8", "64"])
def test_every_protocol_converges_to_frequencies(name, k, epsilon):
    oracle, truth, records = survey(name, k, epsilon, 2000)
    frequency = maximum_likelihood(oracle, records)
    assert frequency.shape == (k,)
    assert frequency.dtype == np.float64
    assert (frequency >= 0).all()
    assert frequency.sum() == pytest.approx(1, abs=1e-12)
    supported = indicators(oracle, records).astype(float)
    gain = float(oracle.likelihood_ratio - 1)
    assert (
        np.log1p(gain * supported @ frequency).sum()
        >= np.log1p(gain * supported @ truth).sum() - 1e-4
    )


def test_it_approaches_the_truth():
    oracle, truth, records = survey("OLH", 8, "2", 200_000)
    assert maximum_likelihood(oracle, records) == pytest.approx(truth, abs=0.01)


@pytest.mark.parametrize("name", ["GRR", "SS"])
def test_records_that_agree_give_a_corner(name):
    oracle = create(name, k=4, epsilon="3")
    record = perturb(oracle, np.array([2]), np.random.default_rng(1))
    value = int(oracle.support(record[0].tobytes())[0])
    frequency = maximum_likelihood(oracle, np.repeat(record, 50, axis=0))
    assert frequency[value] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_repeated_records_only_weigh_more(name):
    oracle, _, records = survey(name, 6, "1", 300)
    once = maximum_likelihood(oracle, records, tolerance=1e-7)
    thrice = maximum_likelihood(oracle, np.tile(records, (3, 1)), tolerance=1e-7)
    assert thrice == pytest.approx(once, abs=1e-3)


def test_threads_and_blocks_do_not_change_the_result(monkeypatch):
    oracle, _, records = survey("RAPPOR", 70, "1", 3000)
    whole = maximum_likelihood(oracle, records)
    monkeypatch.setattr("hushpoll_protocols.estimation.likelihood.CELLS_PER_BLOCK", 70)
    assert maximum_likelihood(oracle, records) == pytest.approx(whole, abs=1e-4)


def test_reaching_the_cap_is_an_error_that_carries_the_result():
    oracle, _, records = survey("OUE", 12, "0.5", 2000)
    with pytest.raises(NotConverged, match="max_iterations") as caught:
        maximum_likelihood(oracle, records, max_iterations=4)
    assert caught.value.iterations == 4
    assert caught.value.deficit > 1e-4
    assert caught.value.frequency.sum() == pytest.approx(1, abs=1e-12)
    best = maximum_likelihood(oracle, records)
    supported = indicators(oracle, records).astype(float)
    gain = float(oracle.likelihood_ratio - 1)

    def log_likelihood_of(frequency):
        return np.log1p(gain * supported @ frequency).sum()

    missing = log_likelihood_of(best) - log_likelihood_of(caught.value.frequency)
    assert -1e-4 <= missing <= caught.value.deficit + 1e-9


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tolerance": 0}, "tolerance"),
        ({"tolerance": -1}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance"),
        ({"max_iterations": 0}, "max_iterations"),
    ],
)
def test_options_outside_their_interval_are_named(options, field):
    oracle, _, records = survey("GRR", 3, "1", 10)
    with pytest.raises(InvalidParameter) as caught:
        maximum_likelihood(oracle, records, **options)
    assert caught.value.field == field


@pytest.mark.parametrize("name", ["GRR", "OLH"])
def test_no_records_have_no_likelihood(name):
    oracle, _, records = survey(name, 3, "1", 10)
    with pytest.raises(InvalidParameter, match="at least one record") as caught:
        maximum_likelihood(oracle, records[:0])
    assert caught.value.field == "records"


def test_a_malformed_record_is_refused():
    oracle, _, records = survey("GRR", 3, "1", 10)
    records[4] = 3
    with pytest.raises(MalformedRecord, match=r"records\[4\]"):
        maximum_likelihood(oracle, records)
