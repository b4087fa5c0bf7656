"""Designs of the literature as laws, beside a likelihood of each that shares no code with ours.

A yes/no design records yes with the chance c + d P(yes), as GLMMRR writes all of them; of more
answers the law is a matrix. The peer maximises that likelihood by scipy, and its standard errors
come from differences of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.tables import read_answers
from hushpoll_protocols.errors import InvalidParameter

P = 0.7
YES_AND_NO = {
    # name: chance that yes is recorded of who should say no, and of who should say yes
    "Warner": (1 - P, P),
    "forced response": (1 / 6, 1 / 6 + 2 / 3),
    "unrelated question": ((1 - P) * 0.25, P + (1 - P) * 0.25),
    "crosswise": (1 - 0.25, 0.25),
    "triangular": (0.25, 1.0),
    "Mangat": (1 - P, 1.0),
    "Kuk": (0.2, 0.8),
    "disguised response": (1 - P, P),
}


def written(path, header, rows):
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
    return path


SAMPLES = {
    # name: the laws of two samples, whose columns are the true answers
    "Warner with two chances": [[[0.7, 0.3], [0.3, 0.7]], [[0.2, 0.8], [0.8, 0.2]]],
    "asked directly, and by forced response": [[[1, 0], [0, 1]], [[5 / 6, 1 / 6], [1 / 6, 5 / 6]]],
    # no, who admits yes, and who denies it: both samples have Mangat's cards
    "stochastic lie detector": [[[0.8, 0, 1], [0.2, 1, 0]], [[0.3, 0, 1], [0.7, 1, 0]]],
    # no, yes, and who says no whatever the dice say: neither sample alone tells the three apart
    "cheating detection": [[[0.75, 0, 1], [0.25, 1, 0]], [[0.3, 0, 1], [0.7, 1, 0]]],
}


def drawn(law, rng, n=4_000):
    """Return x, z and what is recorded; column j of the law is of the true answer j."""
    x, z = rng.integers(0, 3, n), rng.integers(0, 2, n)
    eta = np.zeros((n, law.shape[1]))
    eta[:, 1] = -0.4 + 0.5 * x - 0.6 * z
    if law.shape[1] > 2:
        eta[:, 2] = 0.3 - 0.4 * x
    true = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
    place = (rng.random(n)[:, None] > np.cumsum(law, axis=0).T[true]).sum(axis=1)
    return x, z, np.minimum(place, len(law) - 1)


def peer(told, x, z):
    """Return estimates and standard errors of all logits against the first answer.

    `told` has the chance of each row's record given each true answer.
    """
    X = np.column_stack([np.ones(len(x)), x, z])
    m = told.shape[1] - 1

    def minus(b):
        eta = np.column_stack([np.zeros(len(x)), X @ b.reshape(m, 3).T])
        p = np.exp(eta - eta.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return -np.log((told * p).sum(axis=1)).sum()

    found = minimize(minus, np.zeros(3 * m), method="BFGS", options={"gtol": 1e-4}).x
    step, size = 1e-3, 3 * m
    bend, e = np.empty((size, size)), step * np.eye(size)
    for i in range(size):
        for j in range(size):
            signs = [(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)]
            total = sum(sign * minus(found + s * e[i] + t * e[j]) for s, t, sign in signs)
            bend[i, j] = total / (4 * step**2)
    return found, np.sqrt(np.diag(np.linalg.inv(bend)))


def check(tmp_path, law, answers, values, formula="card ~ x + z"):
    x, z, recorded = drawn(law, np.random.default_rng(5))
    table = written(
        tmp_path / "people.csv",
        ("card", "x", "z"),
        [(values[card], one, two) for card, one, two in zip(recorded, x, z, strict=True)],
    )
    rows = [(value, *map(float, row)) for value, row in zip(values, law, strict=True)]
    path = written(tmp_path / "law.csv", ("recorded", *answers), rows)
    found = fit(formula, read_answers(table, {"card": path}, formula), effects=False)
    agrees(found, law[recorded], x, z)


def agrees(found, told, x, z):
    estimates, errors = peer(told, x, z)
    assert [one.estimate for one in found.coefficients] == pytest.approx(estimates, abs=2e-3)
    told = [one.standard_error for one in found.coefficients]
    assert told == pytest.approx(errors, rel=0.01)


@pytest.mark.parametrize("name", YES_AND_NO)
def test_design_of_yes_and_no(tmp_path, name):
    no, yes = YES_AND_NO[name]
    law = np.array([[1 - no, 1 - yes], [no, yes]])
    values = ("black", "red") if name in ("Kuk", "disguised response") else ("no", "yes")
    check(tmp_path, law, ("no", "yes"), values)


def test_kuks_cards_drawn_several_times(tmp_path):
    """Three draws: the number of red cards, 0 to 3, of two true answers."""
    from math import comb

    law = np.array([[comb(3, r) * q**r * (1 - q) ** (3 - r) for q in (0.2, 0.8)] for r in range(4)])
    check(tmp_path, law, ("no", "yes"), ("0", "1", "2", "3"))


def test_forced_response_of_three_answers(tmp_path):
    law = 0.7 * np.eye(3) + np.array([0.1, 0.15, 0.05])[:, None]
    check(tmp_path, law, ("never", "once", "often"), ("never", "once", "often"))


def test_hashed_answers(tmp_path):
    """Two recorded values would not tell four answers apart; four of a hash of them do."""
    mixed = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 0, 0]]) * 1.0
    law = 0.6 * mixed / 2 + 0.4 / 4
    check(tmp_path, law / law.sum(axis=0), ("a", "b", "c"), ("s", "t", "u", "v"))


@pytest.mark.parametrize("name", SAMPLES)
def test_two_samples_with_laws_of_their_own(tmp_path, name):
    laws, rng = [np.array(law, float) for law in SAMPLES[name]], np.random.default_rng(8)
    parts = [drawn(law, rng, 3_000) for law in laws]
    x, z, recorded = (np.concatenate(part) for part in zip(*parts, strict=True))
    table = written(
        tmp_path / "people.csv",
        ("card", "x", "z", "form"),
        [
            (("no", "yes")[card], one, two, "AB"[place >= 3_000])
            for place, (card, one, two) in enumerate(zip(recorded, x, z, strict=True))
        ],
    )
    answers = ("no", "yes", "cheats")[: laws[0].shape[1]]
    rows = [
        (form, value, *map(float, row))
        for form, law in zip("AB", laws, strict=True)
        for value, row in zip(("no", "yes"), law, strict=True)
    ]
    law = written(tmp_path / "law.csv", ("form", "recorded", *answers), rows)
    formula = "card ~ x + z"
    given = read_answers(table, {"card": law}, formula, by={"card": "form"})
    found = fit(formula, given, effects=False)
    agrees(found, np.concatenate([laws[0][recorded[:3_000]], laws[1][recorded[3_000:]]]), x, z)
    if laws[0].shape[1] == 2:
        # each row's record has moments; that of a sample that alone tells nothing has none
        debiased = np.concatenate(
            [np.linalg.inv(one)[:, card].T for one, (_, _, card) in zip(laws, parts, strict=True)]
        )
        X = np.column_stack([np.ones(len(x)), x])
        linear = fit("score(card) ~ x", scored(given), family="linear", effects=False)
        wanted = np.linalg.lstsq(X, debiased[:, 1], rcond=None)[0]
        assert [one.estimate for one in linear.coefficients] == pytest.approx(wanted, abs=1e-9)
    else:
        with pytest.raises(InvalidParameter, match="in each group of respondents by itself"):
            fit("x ~ card", given, family="linear")


def scored(answers):
    """Return answers with the randomised ones spelt as numbers."""
    (unit,) = answers.units
    named = replace(unit, questions=(Question(unit.name, ("0", "1")),))
    return replace(answers, units=(named,))


def test_what_a_law_tells_before_any_answer_is_known_is_each_samples(tmp_path):
    """Asked directly, half of the rows tell as much as they do alone; a coin tells nothing."""
    rng, n = np.random.default_rng(4), 2_000
    rows = [(rng.integers(0, 2), round(rng.normal(), 3), "AB"[i % 2]) for i in range(n)]
    table = written(tmp_path / "people.csv", ("y", "x", "form"), rows)
    law = [("A", 0, 1, 0), ("A", 1, 0, 1), ("B", 0, 0.5, 0.5), ("B", 1, 0.5, 0.5)]
    path = written(tmp_path / "law.csv", ("form", "recorded", "no", "yes"), law)
    found = fit("y ~ x", read_answers(table, {"y": path}, "y ~ x", by={"y": "form"}))
    half = written(
        tmp_path / "half.csv", ("y", "x", "form"), [row for row in rows if row[2] == "A"]
    )
    alone = fit("y ~ x", read_answers(half, {}, "y ~ x"))
    for one, other in zip(found.coefficients, alone.coefficients, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-6)
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-6)
    told = found.coefficients[1].expected_standard_error
    assert told == pytest.approx(alone.coefficients[1].expected_standard_error, rel=0.02)


FITTED_IN_R = {
    # yes recorded of a no and of a yes; estimates, standard errors and log-likelihood, by RRreg
    # 0.7.5 (RRlog, fit.n = 3) in R 4.2.2; GLMMRR 0.6.0 gives the last one's, too
    "Triangular": (
        (0.25, 1.0),
        (-0.10287080, 0.46632388, -0.73569036),
        (0.16688438, 0.11144868, 0.18102254),
        -580.98715,
    ),
    "Mangat": (
        (0.3, 1.0),
        (-0.13973569, 0.46382866, -0.71194464),
        (0.17759448, 0.11852214, 0.19155752),
        -573.36442,
    ),
    "FR and DQ": (
        (0.2, 0.9),
        (0.017124474, 0.363975182, -0.807907865),
        (0.15801221, 0.10442565, 0.17121068),
        -601.45671,
    ),
}


@pytest.mark.parametrize("name", FITTED_IN_R)
def test_fits_of_packages_for_r(tmp_path, name):
    (no, yes), estimates, errors, log_likelihood = FITTED_IN_R[name]
    rng, n = np.random.default_rng(25), 900
    x, z = rng.integers(0, 3, n), rng.integers(0, 2, n)
    true = rng.random(n) < 1 / (1 + np.exp(0.4 - 0.5 * x + 0.6 * z))
    recorded, direct = rng.random(n) < np.where(true, yes, no), np.zeros(n, np.bool_)
    if name == "FR and DQ":
        direct = np.arange(n) >= 600
        recorded = np.where(direct, true, recorded)
    form = np.where(direct, "direct", "cards")
    rows = zip(recorded * 1, x, z, form, strict=True)
    table = written(tmp_path / "people.csv", ("y", "x", "z", "form"), rows)
    laws = [("cards", 0, 1 - no, 1 - yes), ("cards", 1, no, yes)]
    laws += [("direct", 0, 1, 0), ("direct", 1, 0, 1)]
    law = written(tmp_path / "law.csv", ("form", "recorded", "no", "yes"), laws)
    found = fit("y ~ x + z", read_answers(table, {"y": law}, "y ~ x + z", by={"y": "form"}))
    assert [one.estimate for one in found.coefficients] == pytest.approx(estimates, abs=1e-4)
    told = [one.standard_error for one in found.coefficients]
    assert told == pytest.approx(errors, rel=1e-3)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-4)
