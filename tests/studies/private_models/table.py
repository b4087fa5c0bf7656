"""Table 1 and Fig. 1 of Mangold et al.: the bounds on each data set, and along rows and epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from hushpoll_lab.central.logistic import Vector, minimise, perturb_output
from hushpoll_lab.certificates.margins import Certificate, certify, linear_margins
from hushpoll_training.learner_registry import create_learner
from studies.private_models.classical import classical_sigma, noise_norm_bound
from studies.private_models.problem import RADIUS, Part, Problem

FAILURE = 0.01
PENALTIES = (1.0, 0.1)
"""The paper's, and a weaker one: with 1, the best model of ACSCoverage predicts "no" for all."""

FIGURE_PENALTY = {"Adult": 1.0, "ACSCoverage": 0.1, "drawn": 1.0}
NOTIONS = (
    "equal_opportunity",
    "equalized_odds",
    "demographic_parity",
    "accuracy_parity",
    "accuracy",
)
PAPER: Mapping[str, tuple[float, ...]] = {
    "celebA, 182,339 rows": (0.1044, 0.0975, 0.0975, 0.0975, 0.0487),
    "folktables, 1,498,050 rows": (0.0017, 0.0026, 0.0026, 0.0026, 0.0013),
}
"""Table 1 of the paper, in the order of `NOTIONS`."""

FIGURE_NOTIONS = ("equal_opportunity", "accuracy")
POINTS = 12
MODELS = 100


def bounds(problem: Problem, penalty: float) -> dict[str, Any]:
    """Return a row of Table 1 for each way to bound, with epsilon 1 and delta 1 / n^2.

    ``paper`` is the paper's noise, quantile and Chernoff bound; ``here`` the analytic Gaussian
    mechanism, its exact quantile and the share of small margins. Both are means over the levels.
    """
    train = problem.train
    count = train.label.size
    best = minimise(train.rows, train.label, penalty).weights
    delta = 1 / count**2
    sigma = classical_sigma(1.0, delta, 2 * RADIUS / (penalty * count))
    distances = {
        "paper": noise_norm_bound(sigma, problem.dimension, FAILURE),
        "here": _learner_distance(problem, penalty, count, 1.0, delta),
    }
    found = {
        name: _certificates(problem.test, best, distance, tightness)
        for (name, distance), tightness in zip(
            distances.items(), ("chernoff", "share"), strict=True
        )
    }
    return {
        "data": problem.name,
        "rows": count,
        "dimension": problem.dimension,
        "penalty": penalty,
        "positive": float(np.mean(np.asarray(problem.test.rows @ best) > 0)),
        "distances": distances,
        "bounds": {
            name: {notion: certificates[notion].mean_change for notion in NOTIONS}
            for name, certificates in found.items()
        },
    }


def curves(problem: Problem, *, points: int = POINTS, models: int = MODELS) -> dict[str, Any]:
    """Return Fig. 1: levels of the best and of private models, and three bounds.

    Along the rows of the training with epsilon 1, and along epsilon with all rows.
    """
    count = problem.train.label.size
    rows = np.unique(np.geomspace(300, count, points).astype(int)).tolist()
    epsilons = np.geomspace(0.01, 10, points).tolist()
    penalty = FIGURE_PENALTY[problem.name]
    return {
        "data": problem.name,
        "penalty": penalty,
        "models": models,
        "rows": [_point(problem, penalty, size, 1.0, models) for size in rows],
        "epsilon": [_point(problem, penalty, count, epsilon, models) for epsilon in epsilons],
    }


def _point(
    problem: Problem, penalty: float, count: int, epsilon: float, models: int
) -> dict[str, Any]:
    train, test = problem.train.first(count), problem.test
    minimiser = minimise(train.rows, train.label, penalty)
    best, delta = minimiser.weights, 1 / count**2
    private = [
        perturb_output(
            minimiser,
            count=count,
            penalty=penalty,
            radius=RADIUS,
            epsilon=epsilon,
            delta=delta,
            rng=np.random.default_rng(seed),
        ).weights
        for seed in range(models)
    ]
    lengths = [float(np.linalg.norm(weights - best)) for weights in private]
    farthest = int(np.argmax(lengths))
    known = {
        "certified": _certificates(
            test, best, _learner_distance(problem, penalty, count, epsilon, delta), "share"
        ),
        "drawn distance": _certificates(test, best, float(np.quantile(lengths, 0.99)), "share"),
        "both models": _certificates(
            test, best, lengths[farthest] * (1 + 1e-12), "share", private[farthest]
        ),
    }
    levels = [_certificates(test, weights, 0.0, "share") for weights in private]
    point: dict[str, Any] = {"rows": count, "epsilon": epsilon}
    for notion in FIGURE_NOTIONS:
        values = [float(np.abs(level[notion].level).mean()) for level in levels]
        point[notion] = {
            "best": float(np.abs(known["certified"][notion].level).mean()),
            "least": min(values),
            "most": max(values),
            "bounds": {name: found[notion].mean_change for name, found in known.items()},
        }
    return point


def _learner_distance(
    problem: Problem, penalty: float, count: int, epsilon: float, delta: float
) -> float:
    parameters = {"penalty": penalty, "radius": RADIUS, "epsilon": epsilon, "delta": delta}
    learner: Any = create_learner("output-perturbation", parameters)
    return float(learner.distance(count, problem.dimension, FAILURE))


def _certificates(
    part: Part, weights: Vector, distance: float, tightness: Any, other: Vector | None = None
) -> Mapping[str, Certificate]:
    margins = linear_margins(part.rows, part.label, part.group, weights, other)
    predicted = (np.asarray(part.rows @ weights) > 0).astype(np.int64)
    return certify(margins, predicted, distance, tightness)


def draw(figure: Mapping[str, Any]) -> bytes:
    """Draw one data set's panels as SVG: notions along the rows above, along epsilon below."""
    titles = {"equal_opportunity": "equality of opportunity", "accuracy": "accuracy"}
    with matplotlib.rc_context(
        {"font.size": 8, "svg.fonttype": "none", "svg.hashsalt": "hushpoll"}
    ):
        drawing = Figure(figsize=(6.8, 5), layout="constrained")
        panels = drawing.subplots(2, 2)
        for row, axis in enumerate(("rows", "epsilon")):
            for panel, notion in zip(panels[row], FIGURE_NOTIONS, strict=True):
                points = figure[axis]
                at = [point[axis] for point in points]
                best = np.array([point[notion]["best"] for point in points])
                panel.fill_between(
                    at,
                    [point[notion]["least"] for point in points],
                    [point[notion]["most"] for point in points],
                    color="#009E73", alpha=0.4, linewidth=0,
                    label=f"{figure['models']} private models",
                )  # fmt: skip
                panel.plot(at, best, color="#D55E00", marker="x", markersize=4,
                           label="without noise")  # fmt: skip
                for name, style in (
                    ("certified", "-"), ("drawn distance", "--"), ("both models", ":"),
                ):  # fmt: skip
                    width = np.array([point[notion]["bounds"][name] for point in points])
                    panel.plot(at, np.minimum(1, best + width), style, color="#0072B2", label=name)
                    panel.plot(at, np.maximum(0, best - width), style, color="#0072B2")
                panel.set_xscale("log")
                panel.set_xlabel("rows to train on, ε = 1" if axis == "rows" else "ε, all rows")
                panel.set_ylabel(titles[notion])
        handles, labels = panels[0][0].get_legend_handles_labels()
        drawing.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
        drawing.suptitle(f"{figure['data']}, penalty {figure['penalty']:g}")
        return _svg(drawing)


def _svg(drawing: Figure) -> bytes:
    from io import BytesIO

    buffer = BytesIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
