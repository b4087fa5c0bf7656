"""The rule that ends a climb, and the information that is expected before any answer is known."""

import numpy as np
import pytest

from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Unit,
    patterns_of,
    patterns_of_law,
)
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.fitting import climb, maximise
from hushpoll_analysis.regression.inference import expected_errors
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.outcomes import family_of
from hushpoll_analysis.regression.starts import with_shares
from hushpoll_analysis.regression.terms.design import design_of
from hushpoll_analysis.regression.terms.formulas import read_formula
from hushpoll_protocols import create
from hushpoll_protocols.kernels import perturb


def unit(name, sizes, values, protocol, epsilon, rng):
    oracle = create(protocol, k=int(np.prod([k for _, k in sizes])), epsilon=epsilon)
    patterns, places = patterns_of(oracle, perturb(oracle, values, rng))
    questions = tuple(Question(one, tuple("abc"[:k])) for one, k in sizes)
    return Unit(name, questions, patterns, places)


def likelihood_of(formula, answers, levels):
    design = design_of(read_formula(formula), answers)
    family = family_of("logit" if levels == 2 else "multinomial", "abc"[:levels], design.columns)
    y = answers.unit_of("y") or answers.clear["y"].codes
    return Likelihood(design, family, answers, y, "y", np.arange(levels))


@pytest.fixture(scope="module")
def hidden():
    """Outcome in clear; x is perturbed, and nobody has its last answer."""
    rng = np.random.default_rng(8)
    n = 1500
    z, x = rng.integers(0, 3, n), rng.integers(0, 2, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-x + 0.5 * z))).astype(np.int64)
    clear = {"z": Numbers("z", z * 1.0), "y": Categories("y", y, ("a", "b"))}
    return likelihood_of(
        "y ~ x + z", Answers(n, clear, (unit("x", [("x", 3)], x, "GRR", "3", rng),)), 2
    )


def test_climb_ends_where_a_rise_of_a_hundred_millionth_is_foreseen(hidden):
    found = climb(hidden, np.zeros(hidden.size))
    assert found.converged
    at = found.parameters
    steps = 1e-4 * np.eye(len(at))
    bend = [
        hidden.at(at - e, derivatives=1).gradient - hidden.at(at + e, derivatives=1).gradient
        for e in steps
    ]
    information = np.array(bend) / 2e-4
    sizes, directions = np.linalg.eigh((information + information.T) / 2)
    gradient = directions.T @ hidden.at(at, derivatives=1).gradient
    told = sizes > 1e-3
    assert told.sum() >= hidden.size - 3  # what nobody has is told by no record
    assert (gradient[told] ** 2 / sizes[told]).sum() / 2 < 1e-8
    assert np.abs(gradient[~told]).max(initial=0) < 1e-3
    # another start, another way, the same height
    other = climb(hidden, with_shares(hidden, np.zeros(hidden.size)))
    assert other.converged
    assert other.slopes.value == pytest.approx(found.slopes.value, abs=1e-6)


def test_climb_that_ends_before_the_maximum_says_so(hidden):
    assert not climb(hidden, np.zeros(hidden.size), most=1).converged


def test_prior_moves_the_slopes_of_the_outcome_by_next_to_nothing(hidden):
    told = [0, 1, 3]  # not the slope of an answer that nobody has
    free = climb(hidden, np.zeros(hidden.size)).parameters[told]
    hidden.prior = 0.01
    try:
        found = climb(hidden, np.zeros(hidden.size))
    finally:
        hidden.prior = 0.0
    assert found.converged
    assert found.parameters[told] == pytest.approx(free, abs=0.05)


@pytest.mark.parametrize("block", [False, True])
def test_expected_information_is_the_mean_of_the_observed_where_all_is_even(block):
    rng = np.random.default_rng(9)
    n = 40_000
    z, x, y = rng.integers(-1, 2, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    if block:
        units = (unit("both", [("x", 3), ("y", 2)], 2 * x + y, "SS", "3", rng),)
    else:
        law = np.array([[0.9, 0.3], [0.1, 0.7]])  # of a table, and not alike for both answers
        recorded = (rng.random(n) < law[1][y]).astype(np.int64)
        own = Unit("y", (Question("y", ("a", "b")),), patterns_of_law(law, "ab", "ab"), recorded)
        units = (unit("x", [("x", 3)], x, "OUE", "3", rng), own)
    likelihood = likelihood_of("y ~ x*z", Answers(n, {"z": Numbers("z", z * 1.0)}, units), 2)
    seen = likelihood.at(np.zeros(likelihood.size)).observed
    expected, _ = likelihood.expected()
    size = np.sqrt(np.diag(expected))
    assert np.abs((seen - expected) / np.outer(size, size)).max() < 0.08
    errors = np.sqrt(np.diag(np.linalg.inv(seen)))[: likelihood.outcome_size]
    assert expected_errors(likelihood) == pytest.approx(errors, rel=0.08)


@pytest.mark.parametrize("seed", [4, 9])
def test_no_combination_that_has_no_share_calls_for_one(seed):
    """Five respondents of a group: a climb that goes too far for them never comes back."""
    rng = np.random.default_rng(seed)
    n = 1200
    place = np.where(np.arange(n) < 5, 2, rng.integers(0, 2, n))
    g, m = rng.integers(0, 3, n), rng.integers(0, 4, n)
    y = (rng.random(n) < 1 / (1 + np.exp(1 - 0.8 * (g == 1)))).astype(np.int64)
    clear = {"place": Categories("place", place, ("n", "s", "m")), "y": Categories("y", y, "ab")}
    units = (
        unit("g", [("g", 3)], g, "GRR", "2", rng),
        unit("m", [("m", 3)], m % 3, "GRR", "2", rng),
    )
    one = likelihood_of("y ~ g + m + place", Answers(n, clear, units), 2)
    found = maximise(one, np.zeros(one.size))
    _, mixing = one.split(found.parameters)
    shares = np.exp(one.shares(mixing, one.design.z))  # [group, combination]
    for group in range(3):
        for combination in range(one.c):
            moved = shares.copy()
            moved[group] *= 0.99
            moved[group, combination] += 0.01
            logits = np.linalg.solve(one.design.z, np.log(moved[:, 1:] / moved[:, :1])).T
            at = np.concatenate([found.parameters[: one.outcome_size], logits.ravel()])
            assert one.value(at) < found.slopes.value + 1e-3
