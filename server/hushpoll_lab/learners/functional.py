"""Logistic regression that is private by noise on its objective, the functional mechanism.

FairFM has such an objective for each group, and averages their descents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_lab.central.functional import (
    coefficients,
    descend_together,
    minimise_polynomial,
    perturb,
    within,
    without_noise,
)
from hushpoll_lab.central.logistic import Vector
from hushpoll_lab.central.network import Network
from hushpoll_lab.learners.groups import (
    categories_of,
    without_columns,
    without_weights,
)
from hushpoll_lab.learners.output_perturbation import (
    WEIGHTS,
    read_network,
    refuse_row_weights,
)
from hushpoll_protocols.bits import Bits, SecureBits
from hushpoll_protocols.kernels.words import GeneratorBits
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, Learner, Span
from hushpoll_training.learners.parameters import Parameter, Range

PURE = "the discrete Laplace mechanism, once"


@dataclass(frozen=True)
class FunctionalMechanism(Learner):
    """Logistic regression by the functional mechanism (Zhang et al., 2012).

    Its loss is a polynomial of order two, whose coefficients get noise. With the 1 of the
    intercept, a row's l1 norm is at most `radius`: features that are longer are scaled down, which
    needs no knowledge of other rows. The number of rows is not used.
    """

    noiseless: bool = False
    """Whether the noise is left out, for the NonDP baseline."""

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
    files: ClassVar[tuple[str, ...]] = (WEIGHTS,)
    distributions: ClassVar[tuple[str, ...]] = ("scipy",)

    @property
    def claim(self) -> PrivacyClaim:
        """The claim of the weights, for neighbours of which one has a row more."""
        if self.noiseless:
            return PrivacyClaim()
        return PrivacyClaim(float(self.parameters["epsilon"]), None, PURE, "add or remove one row")

    def without_privacy(self) -> FunctionalMechanism:
        """Return the minimiser of the same polynomial without noise."""
        return replace(self, noiseless=True)

    def fit(self, design: Design, options: FitOptions) -> PolynomialModel:
        """Add noise to the objective and minimise it; refuses weights of rows."""
        refuse_row_weights(design, self)
        exact = coefficients(design.table, design.label, float(self.parameters["radius"]))
        if self.noiseless:
            objective = without_noise(exact)
        else:
            epsilon = float(self.parameters["epsilon"])
            objective = perturb(exact, epsilon, bits_for(options))
        weights = minimise_polynomial(objective, float(self.parameters["regularisation"]))
        if options.on_progress is not None:
            options.on_progress(1, 1)
        return PolynomialModel(self, linear_network(weights))

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> PolynomialModel:
        """Read the weights."""
        del trial  # numpy reads an altered file without harm
        return PolynomialModel(self, read_network(files[WEIGHTS], len(names)))


@dataclass(frozen=True)
class PolynomialModel(Fitted):
    """Weights of the columns, and an intercept, for rows within the learner's radius."""

    learner: Any
    """Its parameter `radius` bounds the rows' l1 norms."""
    network: Network
    """Of one layer."""

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the chance of a positive label per row, f64[n] in [0, 1]."""
        del threads
        return self.network.scores(within(table, float(self.learner.parameters["radius"]) - 1))

    def save(self) -> dict[str, bytes]:
        """Return the weights as an NPZ file."""
        return {WEIGHTS: self.network.save()}


def bits_for(options: FitOptions) -> Bits:
    """Return the operating system's generator, or a seeded one for a simulation."""
    if options.noise_seed is None:
        return SecureBits()
    return GeneratorBits(np.random.default_rng(options.noise_seed))


def linear_network(weights: Vector) -> Network:
    """Return the network of one layer with these weights; the last one is the intercept."""
    narrow = weights.astype(np.float32)
    return Network((narrow[None, :-1],), (narrow[-1:],))


@dataclass(frozen=True)
class FairFM(Learner):
    """Logistic regression by FairFM (Tran et al., Algorithm 2 of the appendix).

    The groups are the categories of the protected attribute; the model never gets its columns. Each
    group has a polynomial objective of its own, with Laplace noise on all its coefficients, and
    descents on them are averaged after each step. Rows are bounded as for `functional-mechanism`.
    """

    noiseless: bool = False
    """Whether the noise is left out, for the NonDP baseline."""

    name: ClassVar[str] = "fairfm"
    label: ClassVar[str] = "FairFM"
    needs_groups: ClassVar[bool] = True
    description: ClassVar[str] = (
        "Logistic regression by a noisy polynomial objective for each group, with descents that "
        "are averaged"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        "epsilon": Range(float, 1e-6, 64, 1.0),
        "radius": Range(float, 1.01, 1e3, 8.0),
        "regularisation": Range(float, 0, 1e6, 1.0),
        "steps": Range(int, 1, 1_000_000, 1000, job_limit=100_000),
        "learning_rate": Range(float, 1e-6, 1.99, 1.0),
    }
    space: ClassVar[Mapping[str, Span]] = {"regularisation": Span(0.25, 4.0, None)}
    files: ClassVar[tuple[str, ...]] = (WEIGHTS,)
    distributions: ClassVar[tuple[str, ...]] = ("scipy",)

    @property
    def claim(self) -> PrivacyClaim:
        """The weights' claim. A row that changes its group counts as one removed and one added."""
        if self.noiseless:
            return PrivacyClaim()
        return PrivacyClaim(
            float(self.parameters["epsilon"]),
            None,
            f"{PURE} for each group, in parallel over the groups",
            "add or remove one row, whose group stays as it is",
        )

    def without_privacy(self) -> FairFM:
        """Return the same descents without noise."""
        return replace(self, noiseless=True)

    def fit(self, design: Design, options: FitOptions) -> PolynomialModel:
        """Add noise to each group's objective, and descend.

        Refuses what :func:`categories_of` refuses.

        Groups whose numbers of rows with noise are all too small are refused after epsilon is
        spent.
        """
        refuse_row_weights(design, self)
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
        if options.on_progress is not None:
            options.on_progress(1, 1)
        return PolynomialModel(self, without_weights(linear_network(weights), columns))

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> PolynomialModel:
        """Read the weights."""
        del trial  # numpy reads an altered file without harm
        return PolynomialModel(self, read_network(files[WEIGHTS], len(names)))
