"""Logistic regression that is private: linear models with a certificate, and the first learner.

:class:`OutputPerturbation` adds Gaussian noise to the weights of the best model.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix, hstack

from hushpoll_lab.central.gaussian import gaussian_sigma
from hushpoll_lab.central.logistic import (
    MOST_OFF_BY,
    Matrix,
    minimise,
    perturb_output,
    sensitivity,
)
from hushpoll_lab.central.network import Network
from hushpoll_lab.central.rows import l2_norms, shortened
from hushpoll_lab.certificates.distances import ROUNDING, perturbed_distance
from hushpoll_lab.learners.network_learner import NetworkLearner, PrivateNetwork
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Span
from hushpoll_training.learners.parameters import Range


@dataclass(frozen=True)
class LinearLearner(NetworkLearner):
    """L2-regularised logistic regression, private in one way or another.

    With the 1 of the intercept, a row's l2 norm is at most `radius`: features that are longer are
    scaled down, which needs no knowledge of other rows. The number of rows is taken to be public.
    """

    @property
    def feature_radius(self) -> float:
        """What the l2 norm of a row's features is scaled down to."""
        return math.sqrt(float(self.parameters["radius"]) ** 2 - 1)

    @abstractmethod
    def distance(self, rows: int, dimension: int, failure: float) -> float:
        """Return how far, in l2 norm, the private weights are at most from the best model's.

        The distance is larger with at most the chance `failure`, in (0, 1), over the noise. Rows
        are those that were fitted to; the intercept counts as a dimension.
        """

    def model(self, network: Network) -> LinearModel:
        """Return the model of these weights."""
        return LinearModel(self, network)


@dataclass(frozen=True)
class OutputPerturbation(LinearLearner):
    """L2-regularised logistic regression with output perturbation (Mangold et al., section 4.1).

    The noise is that of the analytic Gaussian mechanism, which holds for every epsilon; the
    paper's needs an epsilon below 1.
    """

    name: ClassVar[str] = "output-perturbation"
    label: ClassVar[str] = "private logistic regression"
    description: ClassVar[str] = (
        "Logistic regression with an l2 penalty and Gaussian noise on its weights"
    )
    bounds: ClassVar[Mapping[str, Range]] = {
        "epsilon": Range(float, 1e-6, 64, 1.0),
        "delta": Range(float, 1e-15, 0.1, 1e-5),
        "penalty": Range(float, 1e-6, 1e3, 0.01),
        "radius": Range(float, 1.01, 1e3, 2.0),
    }
    space: ClassVar[Mapping[str, Span]] = {"penalty": Span(1e-4, 1.0, None)}
    distributions: ClassVar[tuple[str, ...]] = ("scipy",)

    @property
    def claim(self) -> PrivacyClaim:
        """The claim of the weights, for neighbours that differ in one row, which is replaced."""
        if self.noiseless:
            return PrivacyClaim()
        return PrivacyClaim(
            float(self.parameters["epsilon"]),
            float(self.parameters["delta"]),
            "the analytic Gaussian mechanism",
            "replace one row",
        )

    def train(self, design: Design, options: FitOptions) -> Network:
        """Minimise and add noise."""
        penalty, radius = (float(self.parameters[name]) for name in ("penalty", "radius"))
        rows = with_constant(bounded(design.table, self.feature_radius))
        best = minimise(rows, design.label, penalty)
        values = best.weights
        if not self.noiseless:
            values = perturb_output(
                best, count=rows.shape[0], penalty=penalty, radius=radius,
                epsilon=float(self.parameters["epsilon"]), delta=float(self.parameters["delta"]),
                rng=np.random.default_rng(options.noise_seed),
            ).weights  # fmt: skip
        return Network.linear(values)

    def distance(self, rows: int, dimension: int, failure: float) -> float:
        """Return the quantile of the noise's length; see :meth:`LinearLearner.distance`."""
        penalty, radius = (float(self.parameters[name]) for name in ("penalty", "radius"))
        epsilon, delta = (float(self.parameters[name]) for name in ("epsilon", "delta"))
        moved = sensitivity(rows, penalty, radius) + 2 * MOST_OFF_BY
        sigma = 0.0 if self.noiseless else gaussian_sigma(epsilon, delta, moved)
        return perturbed_distance(sigma, dimension, failure)


@dataclass(frozen=True)
class LinearModel(PrivateNetwork):
    """Weights of the columns, and an intercept, of a :class:`LinearLearner`."""

    def inputs(self, table: Table) -> Matrix:
        """Return the rows within the radius."""
        return bounded(table, self.learner.feature_radius)

    def rows(self, table: Table) -> Matrix:
        """Return what the weights are multiplied with: rows within the radius, and their 1."""
        return with_constant(self.inputs(table))

    def distance(self, rows: int, failure: float) -> float:
        """Return :meth:`LinearLearner.distance`, and what keeping the weights as float32 adds."""
        weights = self.network.linear_weights
        moved: float = self.learner.distance(rows, weights.size, failure)
        return moved + ROUNDING * (float(np.linalg.norm(weights)) + moved)


def bounded(table: Table, radius: float) -> Matrix:
    """Scale the rows whose l2 norm exceeds `radius` down to it; f64."""
    return shortened(table, l2_norms(table), radius)


def with_constant(rows: Matrix) -> Matrix:
    """Append a column of ones, for the intercept."""
    ones = np.ones((rows.shape[0], 1))
    if isinstance(rows, csr_matrix):
        return csr_matrix(hstack([rows, ones]))
    return np.hstack([rows, ones])
