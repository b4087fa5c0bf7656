"""Weighted and clustered fits of answers in clear are those of R's survey."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.miscmodels.ordinal_model import OrderedModel

from hushpoll_analysis.regression.answers import Answers, Categories, Numbers
from hushpoll_analysis.regression.model import fit

N = 600
A, LEVELS = ("p", "q", "r"), ("low", "mid", "top")
R = """
library(survey)
d <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
fine <- glm.control(epsilon = 1e-14, maxit = 100)
out <- function(name, model) {
  keep <- coef(summary(model))
  cat(paste(name, sprintf("%.12g", keep[, 1]), sprintf("%.12g", keep[, 2])), sep = "\\n")
  cat("\\n")
}
for (clusters in c("each", "school")) {
  ids <- if (clusters == "each") ~1 else ~school
  design <- svydesign(ids = ids, weights = ~w, data = d)
  logit <- svyglm(yes ~ a + x, design, family = quasibinomial(), control = fine)
  out(paste(clusters, "logit"), logit)
  out(paste(clusters, "linear"), svyglm(number ~ a + x, design))
}
"""


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(31)
    a, x = rng.integers(0, 3, N), rng.normal(size=N).round(2)
    score = 0.4 * (a == 1) - 0.7 * (a == 2) + 0.5 * x + rng.logistic(size=N)
    clear = {
        "a": Categories("a", a, A),
        "x": Numbers("x", x),
        "y": Categories("y", np.digitize(score, [-0.8, 0.4]), LEVELS),
        "yes": Categories("yes", (score > 0).astype(np.int64), ("no", "yes")),
        "number": Numbers("number", score.round(3)),
    }
    return Answers(N, clear, (), rng.integers(1, 5, N) / 2.0, np.arange(N) // 10)


def given(rows, clusters):
    return rows if clusters == "school" else Answers(N, rows.clear, (), rows.weights)


def test_logit_and_linear_regression(rows, tmp_path):
    table, script = tmp_path / "rows.csv", tmp_path / "fit.R"
    columns = [
        np.array(column.domain)[column.codes] if isinstance(column, Categories) else column.values
        for column in rows.clear.values()
    ]
    lines = zip(*columns, rows.weights, rows.clusters, strict=True)
    header = [*rows.clear, "w", "school"]
    table.write_text("\n".join(",".join(map(str, line)) for line in [header, *lines]) + "\n")
    script.write_text(R)
    done = subprocess.run(
        ["Rscript", str(script), str(table)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    wanted: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for line in filter(None, done.stdout.splitlines()):
        clusters, family, estimate, error = line.split()
        wanted.setdefault((clusters, family), []).append((float(estimate), float(error)))
    assert len(wanted) == 4
    outcomes = {"logit": "yes", "linear": "number"}
    for (clusters, family), figures in wanted.items():
        formula = f"{outcomes[family]} ~ a + x"
        found = fit(formula, given(rows, clusters), family=family, effects=False).coefficients
        for one, (estimate, error) in zip(found, figures, strict=True):
            name = clusters, family, one.name
            assert one.estimate == pytest.approx(estimate, rel=1e-6), name
            assert one.standard_error == pytest.approx(error, rel=1e-6), name


def sandwich(score, bend, of):
    """Return survey's standard errors, of the rows' scores f64[n, q] and the information."""
    sums = np.zeros((of.max() + 1, score.shape[1]))
    np.add.at(sums, of, score)
    bread = np.linalg.inv(bend)
    return np.sqrt(np.diag(bread @ (sums.T @ sums) @ bread) * len(sums) / (len(sums) - 1))


@pytest.mark.parametrize("clusters", ["each", "school"])
@pytest.mark.parametrize("family", ["multinomial", "ordered"])
def test_several_categories_by_the_formula_of_survey(rows, clusters, family):
    """Of scores by complex steps, which are exact, and of statsmodels' estimates."""
    y, weights = rows.clear["y"].codes, rows.weights
    a, x = rows.clear["a"].codes, rows.clear["x"].values
    X = np.column_stack([np.ones(N), a == 1, a == 2, x]).astype(float)
    # whole numbers of rows, for a peer that takes no weights
    repeated = np.repeat(np.arange(N), (2 * weights).astype(int))

    def log_chance(b):
        if family == "multinomial":
            eta = X @ b.reshape(2, 4).T
            return np.column_stack([0 * eta[:, :1], eta])[np.arange(N), y] - np.log(
                1 + np.exp(eta).sum(axis=1)
            )
        below = 1 / (1 + np.exp(X[:, 1:] @ b[:3, None] - b[3:]))
        edges = np.column_stack([0 * below[:, :1], below, 1 + 0 * below[:, :1]])
        return np.log(np.diff(edges, axis=1)[np.arange(N), y])

    def score(b):
        steps = 1e-30j * np.eye(len(b))
        return np.column_stack([log_chance(b + step).imag for step in steps]) / 1e-30

    found = fit("y ~ a + x", given(rows, clusters), family=family, effects=False).coefficients
    b = np.array([one.estimate for one in found])
    if family == "multinomial":
        peer = sm.MNLogit(y[repeated], X[repeated]).fit(disp=0, method="newton", tol=1e-12)
        estimates = peer.params.ravel(order="F")
    else:
        peer = OrderedModel(y[repeated], X[repeated, 1:], distr="logit")
        peer = peer.fit(method="bfgs", disp=0, gtol=1e-9)
        estimates = np.append(
            peer.params[:3], peer.model.transform_threshold_params(peer.params)[1:3]
        )
    assert b == pytest.approx(estimates, rel=1e-6, abs=1e-9)
    bend = [(weights @ (score(b - e) - score(b + e))) / 2e-5 for e in 1e-5 * np.eye(len(b))]
    of = rows.clusters if clusters == "school" else np.arange(N)
    wanted = sandwich(score(b) * weights[:, None], np.array(bend), of)
    assert [one.standard_error for one in found] == pytest.approx(wanted, rel=1e-6)
