"""Logistic regression with an l2 penalty that is private by DP-SGD (extra ``dpsgd``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from hushpoll_lab.central.dpsgd import SgdPlan, train_dpsgd
from hushpoll_lab.central.network import Network
from hushpoll_lab.certificates.distances import ROUNDING, Descent
from hushpoll_lab.learners.accounted import ACCOUNTANT, AccountedLearner
from hushpoll_lab.learners.output_perturbation import (
    LinearLearner,
    bounded,
)
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, Span
from hushpoll_training.learners.parameters import Parameter, Range


@dataclass(frozen=True)
class PenalisedSgd(LinearLearner, AccountedLearner):
    """L2-regularised logistic regression by DP-SGD (Mangold et al., section 4.1).

    Unlike the learner ``dpsgd``, it has a known distance to the best model: rows are no longer than
    the radius, which is the clipping norm, so no gradient is clipped, and with the penalty every
    step leads towards one minimiser. The noise is the least that `accountant` allows.
    """

    name: ClassVar[str] = "penalised-dpsgd"
    label: ClassVar[str] = "DP-SGD with an l2 penalty"
    description: ClassVar[str] = (
        "Logistic regression with an l2 penalty, by differentially private gradient descent"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        "epsilon": Range(float, 1e-2, 64, 1.0),
        "delta": Range(float, 1e-15, 0.1, 1e-5),
        "accountant": ACCOUNTANT,
        "penalty": Range(float, 1e-6, 1e3, 0.1),
        "radius": Range(float, 1.01, 1e3, 2.0),
        "epochs": Range(int, 1, 10_000, 50, job_limit=500),
        "batch_size": Range(int, 1, 10_000_000, 4096),
        "learning_rate": Range(float, 1e-6, 100.0, 1.0),
    }
    space: ClassVar[Mapping[str, Span]] = {"penalty": Span(1e-3, 1.0, None)}

    def plan(self, rows: int) -> SgdPlan:
        """Return the steps for this many rows, with the noise that the claim needs."""
        values = {
            name: float(value) for name, value in self.parameters.items() if name != "accountant"
        }
        plan = SgdPlan(
            epochs=int(values["epochs"]),
            batch_size=int(values["batch_size"]),
            learning_rate=values["learning_rate"],
            clip=values["radius"] * (1 + ROUNDING),
            noise_multiplier=0.0,
            penalty=values["penalty"],
        )
        return replace(plan, noise_multiplier=self.noise([plan.schedule(rows)]))

    def train(self, design: Design, options: FitOptions) -> Network:
        """Return the weights after the last step."""
        return train_dpsgd(
            bounded(design.table, self.feature_radius), design.label, self.plan(design.label.size),
            seed=options.seed, noise_seed=options.noise_seed,
        )  # fmt: skip

    def distance(self, rows: int, dimension: int, failure: float) -> float:
        """Return the bound of :meth:`Descent.distance`; see :meth:`LinearLearner.distance`.

        Refuses a learning rate so large that steps may lead away from the best model.
        """
        plan = self.plan(rows)
        schedule = plan.schedule(rows)
        descent = Descent(
            penalty=plan.penalty, radius=float(self.parameters["radius"]),
            learning_rate=plan.learning_rate, rows=rows, sample_rate=schedule.sample_rate,
            steps=schedule.steps, noise=plan.noise_multiplier * plan.clip, dimension=dimension,
            # PyTorch draws first weights and biases from +- 1 / sqrt(columns).
            start=math.sqrt(dimension / (dimension - 1)),
        )  # fmt: skip
        return descent.distance(failure)
