"""Logistic regression by the functional mechanism in each group apart, averaged: FairFM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hushpoll_lab.central.functional import (
    coefficients,
    descend_together,
    perturb,
    without_noise,
)
from hushpoll_lab.learners.functional import (
    PURE,
    PolynomialModel,
    bits_for,
    linear_network,
)
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
from hushpoll_training.learners.claim import PrivacyClaim
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, Learner, Span
from hushpoll_training.learners.parameters import Parameter, Range


@dataclass(frozen=True)
class FairFM(Learner):
    """Logistic regression by FairFM (Tran et al., Algorithm 2 of the appendix).

    The groups are the categories of the protected attribute; the model never gets its columns. Each
    group has a polynomial objective of its own, with Laplace noise on all its coefficients, and
    descents on them are averaged after each step. Rows are bounded as for `functional-mechanism`.

    Attributes
    ----------
    noiseless : bool
        Whether the noise is left out, for the NonDP baseline.
    """

    noiseless: bool = False

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

        Raises
        ------
        InvalidParameter
            For weights of rows, columns that do not tell the rows' groups (see
            :func:`categories_of`), or groups whose numbers of rows with noise are all too small;
            then epsilon is spent.
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
