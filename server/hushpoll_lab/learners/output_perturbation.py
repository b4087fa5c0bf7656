"""Logistic regression that is private: linear models with a certificate, and the first learner.

:class:`OutputPerturbation` adds Gaussian noise to the weights of the best model.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags, hstack

from hushpoll_lab.central.gaussian import gaussian_sigma
from hushpoll_lab.central.logistic import (
    MOST_OFF_BY,
    Matrix,
    Vector,
    minimise,
    perturb_output,
    sensitivity,
)
from hushpoll_lab.central.network import Network
from hushpoll_lab.certificates.distances import ROUNDING, perturbed_distance
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, Learner, Span, UnsoundModel
from hushpoll_training.learners.parameters import Range

WEIGHTS = "weights.npz"


@dataclass(frozen=True)
class LinearLearner(Learner):
    """L2-regularised logistic regression, private in one way or another.

    With the 1 of the intercept, a row's l2 norm is at most `radius`: features that are longer are
    scaled down, which needs no knowledge of other rows. The number of rows is taken to be public.
    """

    noiseless: bool = False
    """Whether the noise is left out, for the NonDP baseline."""

    files: ClassVar[tuple[str, ...]] = (WEIGHTS,)

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

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> LinearModel:
        """Read the weights."""
        del trial  # numpy reads an altered file without harm
        return LinearModel(self, read_network(files[WEIGHTS], len(names)))


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

    def without_privacy(self) -> OutputPerturbation:
        """Return the same regression without noise."""
        return replace(self, noiseless=True)

    def fit(self, design: Design, options: FitOptions) -> LinearModel:
        """Minimise and add noise; refuses no rows, and weights of rows."""
        refuse_no_rows(design)
        refuse_row_weights(design, self)
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
        if options.on_progress is not None:
            options.on_progress(1, 1)
        weights = values.astype(np.float32)
        return LinearModel(self, Network((weights[None, :-1],), (weights[-1:],)))

    def distance(self, rows: int, dimension: int, failure: float) -> float:
        """Return the quantile of the noise's length; see :meth:`LinearLearner.distance`."""
        penalty, radius = (float(self.parameters[name]) for name in ("penalty", "radius"))
        epsilon, delta = (float(self.parameters[name]) for name in ("epsilon", "delta"))
        moved = sensitivity(rows, penalty, radius) + 2 * MOST_OFF_BY
        sigma = 0.0 if self.noiseless else gaussian_sigma(epsilon, delta, moved)
        return perturbed_distance(sigma, dimension, failure)


@dataclass(frozen=True)
class LinearModel(Fitted):
    """Weights of the columns, and an intercept."""

    learner: LinearLearner
    network: Network
    """Of one layer."""

    @property
    def weights(self) -> Vector:
        """The weights of the columns, and last the intercept: f64[m + 1]."""
        (matrix,), (bias,) = self.network.weights, self.network.biases
        intercept = np.zeros(1) if bias is None else bias
        return np.concatenate([matrix[0], intercept]).astype(np.float64)

    def rows(self, table: Table) -> Matrix:
        """Return what the weights are multiplied with: rows within the radius, and their 1."""
        return with_constant(bounded(table, self.learner.feature_radius))

    def distance(self, rows: int, failure: float) -> float:
        """Return :meth:`LinearLearner.distance`, and what keeping the weights as float32 adds."""
        weights = self.weights
        moved = self.learner.distance(rows, weights.size, failure)
        return moved + ROUNDING * (float(np.linalg.norm(weights)) + moved)

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the chance of a positive label per row, f64[n] in [0, 1]."""
        del threads
        return self.network.scores(bounded(table, self.learner.feature_radius))

    def save(self) -> dict[str, bytes]:
        """Return the weights as an NPZ file."""
        return {WEIGHTS: self.network.save()}


def bounded(table: Table, radius: float) -> Matrix:
    """Scale the rows whose l2 norm exceeds `radius` down to it; f64."""
    if isinstance(table, csr_matrix):
        norms = np.sqrt(np.asarray(table.multiply(table).sum(axis=1), np.float64).ravel())
        return csr_matrix(diags(_factors(norms, radius)) @ table, dtype=np.float64)
    rows = np.asarray(table, np.float64)
    return rows * _factors(np.linalg.norm(rows, axis=1), radius)[:, None]


def with_constant(rows: Matrix) -> Matrix:
    """Append a column of ones, for the intercept."""
    ones = np.ones((rows.shape[0], 1))
    if isinstance(rows, csr_matrix):
        return csr_matrix(hstack([rows, ones]))
    return np.hstack([rows, ones])


def refuse_row_weights(design: Design, learner: Learner) -> None:
    """Refuse weights of rows: a weight would multiply what a row can change."""
    if design.weight is not None:
        raise InvalidParameter(
            f"the learner {learner.name} takes no weights of rows: its privacy counts each row "
            "once; leave the weights out, or use the learner lightgbm",
            field="weight",
        )


def refuse_no_rows(design: Design) -> None:
    """Refuse no rows at all, for learners that take the number of rows to be public."""
    if design.label.size == 0:
        raise InvalidParameter(
            "there are 0 rows, and there is nothing to learn from; give some", field="rows"
        )


def read_network(content: bytes, columns: int) -> Network:
    """Read a network that a learner saved.

    Refuses damaged files, and layers that do not fit the columns.
    """
    try:
        return Network.load(content, columns)
    except ValueError as error:
        raise UnsoundModel(WEIGHTS, str(error)) from None


def _factors(norms: npt.NDArray[np.float64], radius: float) -> npt.NDArray[np.float64]:
    return np.minimum(1.0, radius / np.maximum(norms, 1e-300))
