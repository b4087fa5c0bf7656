"""Likelihoods of every protocol: enumerated laws, and derivatives as differences give them."""

import numpy as np
import pytest

from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Unit,
    patterns_of,
)
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.outcomes import family_of
from hushpoll_analysis.regression.terms.design import design_of
from hushpoll_analysis.regression.terms.formulas import read_formula
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.kernels import perturb

N = 60


def unit(name, sizes, values, protocol, epsilon, rng):
    oracle = create(protocol, k=int(np.prod([k for _, k in sizes])), epsilon=epsilon)
    patterns, places = patterns_of(oracle, perturb(oracle, values, rng))
    questions = tuple(Question(one, tuple("abcdef"[:k])) for one, k in sizes)
    return Unit(name, questions, patterns, places)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_likelihood_of_records_is_the_enumerated_law_up_to_a_factor(protocol):
    rng = np.random.default_rng(4)
    oracle = create(protocol, k=5, epsilon="1.5")
    records = perturb(oracle, rng.integers(0, 5, N), rng)
    patterns, places = patterns_of(oracle, records)
    found = patterns.likelihood(places)
    law = [[float(oracle.probability(bytes(one), v)) for v in range(5)] for one in records]
    assert found / found.sum(1, keepdims=True) == pytest.approx(
        np.array(law) / np.sum(law, axis=1, keepdims=True)
    )
    if oracle.names_one_value:
        assert found == pytest.approx(np.array(law))


@pytest.mark.parametrize("family", ["multinomial", "ordered"])
@pytest.mark.parametrize("block", [False, True])
def test_derivatives_are_those_of_differences(family, block):
    rng = np.random.default_rng(5)
    x, z = rng.integers(0, 2, N), rng.normal(size=N).round(1)
    g, w, y = (rng.integers(0, k, N) for k in (2, 3, 3))
    units = [unit("g", [("g", 2)], g, "OUE", "2", rng)]
    if block:
        units.append(unit("both", [("w", 3), ("y", 3)], 3 * w + y, "OLH", "3", rng))
    else:
        units.append(unit("w", [("w", 3)], w, "GRR", "2", rng))
        units.append(unit("y", [("y", 3)], y, "SS", "2", rng))
    clear = {"x": Categories("x", x, ("p", "q")), "z": Numbers("z", z)}
    answers = Answers(N, clear, tuple(units))
    design = design_of(read_formula("y ~ x*g + z + w"), answers)
    model = family_of(family, tuple("abc"), design.columns)
    likelihood = Likelihood(design, model, answers, answers.unit_of("y"), "y", np.arange(3))
    at = 0.1 * rng.normal(size=likelihood.size)
    at[: likelihood.outcome_size] += model.start(np.full(3, 1 / 3))
    slopes = likelihood.at(at)
    steps = 1e-5 * np.eye(len(at))
    gradient = [(likelihood.value(at + e) - likelihood.value(at - e)) / 2e-5 for e in steps]
    assert slopes.gradient == pytest.approx(gradient, abs=1e-6)
    rise = [
        likelihood.at(at + e, derivatives=1).gradient
        - likelihood.at(at - e, derivatives=1).gradient
        for e in steps
    ]
    assert slopes.observed == pytest.approx(-np.array(rise) / 2e-5, abs=1e-5)
    crossed = likelihood.at(at, derivatives=1, crossed=True).crossed
    alone = Answers(N, clear, tuple(units), None, np.arange(N))
    rows = Likelihood(design, model, alone, alone.unit_of("y"), "y", np.arange(3))
    assert rows.at(at, derivatives=1, crossed=True).crossed == pytest.approx(crossed, abs=1e-9)
