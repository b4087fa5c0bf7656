"""How often the bounds of Theorem 4.4 (Mangold et al.) hold, and how tight they are.

Each setting trains private models many times on the same rows. A draw holds if every level of every
notion moved by no more than the bound, seen from the best model and from the private one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

from hushpoll_lab.central.dpsgd import train_dpsgd
from hushpoll_lab.central.logistic import Vector, minimise, perturb_output
from hushpoll_lab.certificates.margins import Certificate, certify, linear_margins
from hushpoll_lab.learners.output_perturbation import LinearLearner, LinearModel
from hushpoll_training.learner_registry import create_learner
from hushpoll_training.learners.learner import Learner
from studies.private_models.problem import RADIUS, Part, Problem

FAILURE = 0.01


@dataclass(frozen=True, slots=True)
class Setting:
    """A mechanism with its parameters, on one data set.

    Attributes
    ----------
    data : str
        Name of a problem.
    learner : str
        ``output-perturbation`` or ``penalised-dpsgd``.
    parameters : mapping
        Of the learner, but the radius.
    rows : int, optional
        How many to train on; all by default.
    """

    data: str
    learner: str
    parameters: Mapping[str, float]
    rows: int | None = None

    def create(self) -> LinearLearner:
        """Return the learner."""
        made: Learner = create_learner(self.learner, {"radius": RADIUS, **self.parameters})
        assert isinstance(made, LinearLearner)
        return made

    @property
    def text(self) -> str:
        """The setting in words."""
        values = ", ".join(f"{name} {value:g}" for name, value in self.parameters.items())
        return f"{self.learner}, {values}" + (f", {self.rows} rows" if self.rows else "")


_SGD = {"penalty": 1.0, "epsilon": 1.0, "learning_rate": 0.45}
SETTINGS = (
    *(
        Setting(data, "output-perturbation", {"penalty": penalty, "epsilon": epsilon})
        for data, penalties in (("Adult", (1.0, 0.01)), ("ACSCoverage", (0.1, 0.01)))
        for penalty in penalties
        for epsilon in (0.5, 2.0)
    ),
    *(
        Setting("Adult", "penalised-dpsgd", {**_SGD, "epochs": epochs, "batch_size": size}, 5_000)
        for epochs, size in ((12, 5_000), (3, 1_250))
    ),
)


def draws(setting: Setting, problem: Problem, count: int) -> Iterator[Vector]:
    """Yield weights of private models, each from noise of its own."""
    learner, train = setting.create(), problem.train.first(setting.rows)
    if setting.learner == "output-perturbation":
        values = {name: float(value) for name, value in learner.parameters.items()}
        best = minimise(train.rows, train.label, values["penalty"])
        for seed in range(count):
            yield perturb_output(
                best, count=train.label.size, penalty=values["penalty"], radius=RADIUS,
                epsilon=values["epsilon"], delta=values["delta"], rng=np.random.default_rng(seed),
            ).weights  # fmt: skip
        return
    plan = learner.plan(train.label.size)  # type: ignore[attr-defined]
    for seed in range(count):
        network = train_dpsgd(train.rows[:, :-1], train.label, plan, seed=seed, noise_seed=seed)
        yield LinearModel(learner, network).weights


def measure(setting: Setting, problem: Problem, count: int) -> dict[str, Any]:
    """Return how many draws hold, and the refined bound over the largest difference seen.

    Returns
    -------
    dict
        JSON: ``data``, ``setting``, ``delta``, ``draws``, ``held_from_best`` and
        ``held_from_private`` (draws whose every level stayed within the bound), ``needed`` (what
        99 % less the binomial error gives), ``distance``, ``farthest`` (drawn), and by notion
        ``seen`` (largest difference of a level), ``bound`` and ``refined``, which knows both
        models, of the farthest draw.
    """
    learner, test = setting.create(), problem.test
    train = problem.train.first(setting.rows)
    size, dimension = train.label.size, problem.dimension
    penalty = float(learner.parameters["penalty"])
    best = minimise(train.rows, train.label, penalty).weights
    distance = learner.distance(size, dimension, FAILURE)
    reference = _certificates(test, best, distance)
    held = np.zeros(2, np.int64)
    seen = dict.fromkeys(reference, 0.0)
    farthest, length = best, 0.0
    for weights in draws(setting, problem, count):
        private = _certificates(test, weights, distance)
        differences = {
            name: np.abs(private[name].level - known.level) for name, known in reference.items()
        }
        for side, bounds in enumerate((reference, private)):
            held[side] += all(
                (differences[name] <= bounds[name].change + 1e-12).all() for name in bounds
            )
        for name, moved in differences.items():
            seen[name] = max(seen[name], float(moved.max()))
        if np.linalg.norm(weights - best) > length:
            farthest, length = weights, float(np.linalg.norm(weights - best))
    refined = _certificates(test, best, length * (1 + 1e-12), farthest)
    return {
        "data": setting.data,
        "setting": setting.text,
        "delta": float(learner.parameters["delta"]),
        "draws": count,
        "held_from_best": int(held[0]),
        "held_from_private": int(held[1]),
        "needed": needed(count),
        "distance": distance,
        "farthest": length,
        "notions": {
            name: {
                "seen": seen[name],
                "bound": float(known.change.max()),
                "refined": float(refined[name].change.max()),
            }
            for name, known in reference.items()
        },
    }


def needed(count: int) -> int:
    """Return how many of the draws must hold: 99 % less three binomial standard errors."""
    return math.floor(count * (1 - FAILURE) - 3 * float(binom.std(count, FAILURE)))


def study(
    load: Callable[[str], Problem],
    count: int,
    settings: Sequence[Setting] = SETTINGS,
    on_setting: Callable[[dict[str, Any]], None] | None = None,
) -> list[dict[str, Any]]:
    """Measure all settings; each data set is read once."""
    loaded: dict[str, Problem] = {}
    results = []
    for setting in settings:
        if setting.data not in loaded:
            loaded[setting.data] = load(setting.data)
        results.append(measure(setting, loaded[setting.data], count))
        if on_setting is not None:
            on_setting(results[-1])
    return results


def _certificates(
    part: Part, weights: Vector, distance: float, other: Vector | None = None
) -> Mapping[str, Certificate]:
    margins = linear_margins(part.rows, part.label, part.group, weights, other)
    predicted = (np.asarray(part.rows @ weights) > 0).astype(np.int64)
    return certify(margins, predicted, distance)
