"""A learner that is added: logistic regression, which claims no privacy of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.linear_model import LogisticRegression

from hushpoll_training.learners.learner import Fitted, Learner, Span
from hushpoll_training.learners.parameters import Range


@dataclass(frozen=True)
class Logistic(Learner):
    name = "logistic"
    label = "Logistic regression"
    description = "logistic regression, for a test"
    bounds: ClassVar = {"C": Range(float, 1e-6, 1e6, 1.0, job_limit=100)}
    space: ClassVar = {"C": Span(0.01, 10.0, None)}
    files = ("weights.json",)

    def fit(self, design, options):
        design.check_classes()
        regression = LogisticRegression(C=self.parameters["C"], random_state=options.seed)
        regression.fit(design.table, design.label)
        return Weights(self, regression.coef_[0].tolist(), float(regression.intercept_[0]))

    def load(self, files, names, *, trial=False):
        return Weights(self, **json.loads(files["weights.json"]))


@dataclass(frozen=True)
class Weights(Fitted):
    learner: Logistic
    weights: list
    offset: float

    def scores(self, table, *, threads=1):
        return 1 / (1 + np.exp(-(table @ np.array(self.weights) + self.offset)))

    def save(self):
        document = {"weights": self.weights, "offset": self.offset}
        return {"weights.json": json.dumps(document).encode()}
