"""Fits: equal to published figures and to statsmodels, and what is refused."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Unit,
    patterns_of,
    patterns_of_law,
)
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.tables import read_answers
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import perturb

RHS = (
    "cov.asset.index + cov.married + I(cov.age/10) + I((cov.age/10)**2) + cov.education"
    " + cov.female"
)
N = 800


def figures(result):
    coefficients = result.coefficients
    return (
        np.array([one.estimate for one in coefficients]),
        np.array([one.standard_error for one in coefficients]),
    )


@pytest.fixture(scope="module")
def clear():
    rng = np.random.default_rng(12)
    a, x = rng.integers(0, 3, N), rng.normal(size=N).round(2)
    score = 0.4 * (a == 1) - 0.7 * (a == 2) + 0.5 * x + rng.logistic(size=N)
    y = np.digitize(score, [-0.8, 0.4])
    clear = {
        "a": Categories("a", a, ("p", "q", "r")),
        "x": Numbers("x", x),
        "y": Categories("y", y, ("low", "mid", "high")),
        "yes": Categories("yes", (score > 0).astype(np.int64), ("no", "yes")),
        "number": Numbers("number", score.round(3)),
    }
    answers = Answers(N, clear, (), rng.integers(1, 5, N) / 2.0, np.arange(N) // 8)
    X = np.column_stack([np.ones(N), a == 1, a == 2, x]).astype(float)
    return answers, X


@pytest.fixture
def law(tmp_path):
    path = tmp_path / "law.csv"
    path.write_text("recorded,0,1\n0,0.8333333333,0.1666666667\n1,0.1666666667,0.8333333333\n")
    return path


@pytest.mark.data
def test_nigeria_survey_agrees_with_the_published_fits(data_dir, law):
    folder = data_dir / "randomized_response"
    wanted = json.loads((folder / "reference_values.json").read_text())
    laws = {"rr.q1": law}
    formula = f"rr.q1 ~ {RHS}"
    answers = read_answers(folder / "nigeria.csv", laws, formula)
    assert answers.n == 2423
    found, reference = fit(formula, answers), wanted["nigeria_rr_outcome_logit"]
    estimate, error = figures(found)
    assert estimate == pytest.approx(reference["estimate"], abs=1e-3)
    assert error == pytest.approx(reference["se"], rel=0.01)
    assert found.log_likelihood == pytest.approx(reference["loglik"], abs=1e-3)
    assert found.converged
    assert found.plain[-1].estimate == pytest.approx(-0.316, abs=1e-3)  # 43 % too small

    formula = f"civic ~ {RHS} + rr.q1"
    answers = read_answers(folder / "nigeria.csv", laws, formula)
    found, reference = fit(formula, answers), wanted["nigeria_rr_predictor_joint_logit"]
    estimate, error = figures(found)
    mixing = [one.estimate for one in found.mixing]
    errors = [one.standard_error for one in found.mixing]
    assert [*mixing, *estimate] == pytest.approx(reference["estimate"], abs=1e-3)
    assert [*errors, *error] == pytest.approx(reference["se"], rel=0.01)
    assert found.log_likelihood == pytest.approx(reference["loglik"], abs=1e-3)


def bare(answers):
    return Answers(answers.n, answers.clear)


def test_fits_in_clear_are_those_of_statsmodels(clear):
    answers, X = clear
    plain = bare(answers)
    columns = answers.clear
    for name, formula, peer in (
        ("yes", "yes ~ a + x", sm.Logit(columns["yes"].codes, X).fit(disp=0)),
        ("y", "y ~ a + x", sm.MNLogit(columns["y"].codes, X).fit(disp=0)),
        ("number", "number ~ a + x", sm.OLS(columns["number"].values, X).fit()),
    ):
        estimate, error = figures(fit(formula, plain, effects=False))
        assert estimate == pytest.approx(np.ravel(peer.params, order="F"), rel=1e-6), name
        assert error == pytest.approx(np.ravel(peer.bse, order="F"), rel=1e-6), name
    found = fit("y ~ a + x", plain, family="ordered", effects=False)
    peer = OrderedModel(columns["y"].codes, X[:, 1:], distr="logit").fit(
        method="bfgs", disp=0, gtol=1e-8
    )
    assert figures(found)[0][:3] == pytest.approx(peer.params[:3], rel=1e-5)
    assert found.log_likelihood == pytest.approx(peer.llf, abs=1e-6)


def test_marginal_effects_are_those_of_statsmodels(clear):
    answers, X = clear
    X = X[:, [0, 3]]
    found = fit("yes ~ x", bare(answers)).effects[0]
    peer = sm.Logit(answers.clear["yes"].codes, X).fit(disp=0).get_margeff()
    assert found.estimate == pytest.approx(peer.margeff[0], rel=1e-5)
    assert found.standard_error == pytest.approx(peer.margeff_se[0], rel=1e-4)


def test_weights_and_clusters_follow_the_formulas_of_survey(clear):
    answers, X = clear
    y, weight, cluster = answers.clear["yes"].codes, answers.weights, answers.clusters
    estimate, error = figures(fit("yes ~ a + x", answers, effects=False))
    peer = sm.GLM(y, X, sm.families.Binomial(), freq_weights=weight).fit(tol=1e-12)
    assert estimate == pytest.approx(peer.params, rel=1e-6)
    # svyglm: bread times the sum over clusters of products of their scores, m / (m - 1) times
    p = peer.fittedvalues
    score = ((y - p) * weight)[:, None] * X
    bread = np.linalg.inv(X.T @ (X * (weight * p * (1 - p))[:, None]))
    for groups, given in (
        (cluster, answers),
        (np.arange(N), Answers(N, answers.clear, (), weight)),
    ):
        m = groups.max() + 1
        total = np.zeros((m, 4))
        np.add.at(total, groups, score)
        wanted = bread @ (total.T @ total) @ bread * m / (m - 1)
        error = figures(fit("yes ~ a + x", given, effects=False))[1]
        assert error == pytest.approx(np.sqrt(np.diag(wanted)), rel=1e-6)


def test_separated_outcome_in_clear_is_refused_by_the_name_of_the_term(clear):
    answers, _ = clear
    yes = answers.clear["yes"].codes
    columns = {**answers.clear, "s": Categories("s", yes, ("u", "v"))}
    with pytest.raises(InvalidParameter, match="the term s separates the outcome yes"):
        fit("yes ~ s + x", Answers(N, columns))


def test_law_that_does_not_tell_answers_apart_is_refused():
    with pytest.raises(InvalidParameter, match="does not tell the true ones apart"):
        patterns_of_law(np.full((2, 2), 0.5), ("0", "1"), ("0", "1"))


def test_too_many_combinations_are_refused_with_the_remedy(clear):
    answers, _ = clear
    rng = np.random.default_rng(1)
    units = []
    for name, k in (("f", 20), ("g", 20)):
        oracle = create("GRR", k=k, epsilon="1")
        patterns, places = patterns_of(oracle, perturb(oracle, rng.integers(0, k, N), rng))
        domain = tuple(map(str, range(k)))
        units.append(Unit(name, (Question(name, domain),), patterns, places))
    with pytest.raises(InvalidParameter, match=r"400 combinations of answers: f \(20\), g \(20\)"):
        fit("yes ~ f + g", Answers(N, answers.clear, tuple(units)))


def test_outcome_that_is_a_predictor_too_is_refused(clear):
    with pytest.raises(InvalidParameter, match="left and right of the tilde"):
        fit("yes ~ yes + x", bare(clear[0]))


def test_result_is_json_and_text_of_80_columns(clear):
    found = fit("y ~ a + x", bare(clear[0]))
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["verdict"]["says"] == "informative"
    assert max(map(len, found.summary().splitlines())) <= 80
