"""Logistic regression that is private by noise on its objective, the functional mechanism.

FairFM has such an objective for each group, and averages their descents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hushpoll_lab.central.functional import (
    coefficients,
    descend_together,
    minimise_polynomial,
    perturb,
    within,
    without_noise,
)
from hushpoll_lab.central.logistic import Matrix
from hushpoll_lab.central.network import Network
from hushpoll_lab.learners.groups import (
    categories_of,
    without_columns,
    without_weights,
)
from hushpoll_lab.learners.network_learner import NetworkLearner, PrivateNetwork, bits_for
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Span
from hushpoll_training.learners.parameters import Parameter, Range

PURE = "the discrete Laplace mechanism, once"


@dataclass(frozen=True)
class FunctionalMechanism(NetworkLearner):
    """Logistic regression by the functional mechanism (Zhang et al., 2012).

    Its loss is a polynomial of order two, whose coefficients get noise. With the 1 of the
    intercept, a row's l1 norm is at most `radius`: features that are longer are scaled down, which
    needs no knowledge of other rows. The number of rows is not used.
    """

    name: ClassVar[str] = "functional-mechanism"
    label: ClassVar[str] = "the functional mechanism"
    description: ClassVar[str] = (
        "Logistic regression by a polynomial objective with Laplace noise on its coefficients"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        "epsilon": Range(float, 1e-6, 64, 1.0),
        "radius": Range(float, 1.01, 1e3, 8.0),
        "regularisation": Range(float, 0, 1e6, 1.0),
    }
    space: ClassVar[Mapping[str, Span]] = {"regularisation": Span(0.25, 4.0, None)}
    public_rows: ClassVar[bool] = False
    distributions: ClassVar[tuple[str, ...]] = ("scipy",)
    mechanism: ClassVar[str] = PURE
    neighbours: ClassVar[str] = "add or remove one row"

    @property
    def claim(self) -> PrivacyClaim:
        """The claim of the weights, for neighbours of which one has a row more."""
        if self.noiseless:
            return PrivacyClaim()
        spent = float(self.parameters["epsilon"])
        return PrivacyClaim(spent, None, self.mechanism, self.neighbours)

    def train(self, design: Design, options: FitOptions) -> Network:
        """Add noise to the objective and minimise it."""
        exact = coefficients(design.table, design.label, float(self.parameters["radius"]))
        if self.noiseless:
            objective = without_noise(exact)
        else:
            epsilon = float(self.parameters["epsilon"])
            objective = perturb(exact, epsilon, bits_for(options))
        weights = minimise_polynomial(objective, float(self.parameters["regularisation"]))
        return Network.linear(weights)

    def model(self, network: Network) -> PolynomialModel:
        """Return the model of these weights."""
        return PolynomialModel(self, network)


@dataclass(frozen=True)
class PolynomialModel(PrivateNetwork):
    """Weights of the columns, and an intercept, for rows within the learner's radius."""

    def inputs(self, table: Table) -> Matrix:
        """Return the rows, scaled down where their l1 norms exceed the radius."""
        return within(table, float(self.learner.parameters["radius"]) - 1)


@dataclass(frozen=True)
class FairFM(FunctionalMechanism):
    """Logistic regression by FairFM (Tran et al., Algorithm 2 of the appendix).

    The groups are the categories of the protected attribute; the model never gets its columns. Each
    group has a polynomial objective of its own, with Laplace noise on all its coefficients, and
    descents on them are averaged after each step. Rows are bounded as for `functional-mechanism`. A
    row that changes its group counts as one removed and one added.
    """

    name: ClassVar[str] = "fairfm"
    label: ClassVar[str] = "FairFM"
    needs_groups: ClassVar[bool] = True
    description: ClassVar[str] = (
        "Logistic regression by a noisy polynomial objective for each group, with descents that "
        "are averaged"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        **FunctionalMechanism.bounds,
        "steps": Range(int, 1, 1_000_000, 1000, job_limit=100_000),
        "learning_rate": Range(float, 1e-6, 1.99, 1.0),
    }
    mechanism: ClassVar[str] = f"{PURE} for each group, in parallel over the groups"
    neighbours: ClassVar[str] = "add or remove one row, whose group stays as it is"

    def train(self, design: Design, options: FitOptions) -> Network:
        """Add noise to each group's objective, and descend; see :func:`categories_of`.

        Groups whose numbers of rows with noise are all too small are refused after epsilon is
        spent.
        """
        group, columns = categories_of(design, self)
        table, bits = without_columns(design.table, columns), bits_for(options)
        radius, epsilon = (float(self.parameters[name]) for name in ("radius", "epsilon"))
        objectives = []
        for number in range(columns.stop - columns.start):
            chosen = group == number
            exact = coefficients(table[chosen], design.label[chosen], radius)
            objectives.append(
                without_noise(exact) if self.noiseless
                else perturb(exact, epsilon, bits, counted=True)
            )  # fmt: skip
        weights = descend_together(
            objectives, float(self.parameters["regularisation"]),
            steps=int(self.parameters["steps"]), rate=float(self.parameters["learning_rate"]),
            start=np.random.default_rng(options.seed).normal(0.0, 0.01, table.shape[1] + 1),
        )  # fmt: skip
        return without_weights(Network.linear(weights), columns)
