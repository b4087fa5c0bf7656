"""Logistic regression that is private by Gaussian noise on its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags, hstack

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.central.claim import PrivacyClaim
from hushpoll_training.central.logistic import Matrix, minimise, perturb_output
from hushpoll_training.central.network import Network
from hushpoll_training.learners.learner import (
    Design,
    FitOptions,
    Fitted,
    Learner,
    Span,
    Table,
    UnsoundModel,
)
from hushpoll_training.learners.parameters import Range

WEIGHTS = "weights.npz"


@dataclass(frozen=True)
class OutputPerturbation(Learner):
    """L2-regularised logistic regression with output perturbation (Mangold et al., section 4.1).

    With the 1 of the intercept, a row's l2 norm is at most `radius`: features that are longer are
    scaled down, which needs no knowledge of other rows. The number of rows is taken to be public.
    The noise is that of the analytic Gaussian mechanism, which holds for every epsilon; the
    paper's needs an epsilon below 1.

    Attributes
    ----------
    noiseless : bool
        Whether the noise is left out, for the NonDP baseline.
    """

    noiseless: bool = False

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
    files: ClassVar[tuple[str, ...]] = (WEIGHTS,)
    distributions: ClassVar[tuple[str, ...]] = ("scipy",)

    @property
    def claim(self) -> PrivacyClaim:
        """Of the weights, for neighbours that differ in one row, which is replaced."""
        if self.noiseless:
            return PrivacyClaim()
        return PrivacyClaim(
            float(self.parameters["epsilon"]),
            float(self.parameters["delta"]),
            "the analytic Gaussian mechanism",
            "replace one row",
        )

    @property
    def feature_radius(self) -> float:
        """What the l2 norm of a row's features is scaled down to."""
        return math.sqrt(float(self.parameters["radius"]) ** 2 - 1)

    def without_privacy(self) -> OutputPerturbation:
        """Return the same regression without noise."""
        return replace(self, noiseless=True)

    def fit(self, design: Design, options: FitOptions) -> LinearModel:
        """Minimise and add noise.

        Raises
        ------
        InvalidParameter
            For labels of a single class, for weights of rows, or for too small a penalty.
        """
        design.check_classes()
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

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> LinearModel:
        """Read the weights."""
        del trial  # numpy reads an altered file without harm
        return LinearModel(self, read_network(files[WEIGHTS], len(names)))


@dataclass(frozen=True)
class LinearModel(Fitted):
    """Weights of the columns, and an intercept.

    Attributes
    ----------
    learner : OutputPerturbation
        What made them.
    network : Network
        Of one layer.
    """

    learner: OutputPerturbation
    network: Network

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
    """Refuse weights of rows: a weight would multiply what a row can change.

    Raises
    ------
    InvalidParameter
        If the design has any.
    """
    if design.weight is not None:
        raise InvalidParameter(
            f"the learner {learner.name} takes no weights of rows: its privacy counts each row "
            "once; leave the weights out, or use the learner lightgbm",
            field="weight",
        )


def read_network(content: bytes, columns: int) -> Network:
    """Read a network that a learner saved.

    Raises
    ------
    UnsoundModel
        If the file is damaged, or its layers do not fit the columns.
    """
    try:
        return Network.load(content, columns)
    except ValueError as error:
        raise UnsoundModel(WEIGHTS, str(error)) from None


def _factors(norms: npt.NDArray[np.float64], radius: float) -> npt.NDArray[np.float64]:
    return np.minimum(1.0, radius / np.maximum(norms, 1e-300))
