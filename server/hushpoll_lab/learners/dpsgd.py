"""Networks that are private by DP-SGD (extra ``dpsgd``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hushpoll_lab.central.dpsgd import SgdPlan, train_dpsgd
from hushpoll_lab.central.network import Network
from hushpoll_lab.learners.accounted import ACCOUNTANT, AccountedLearner
from hushpoll_lab.learners.output_perturbation import (
    WEIGHTS,
    read_network,
    refuse_no_rows,
    refuse_row_weights,
)
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, Span
from hushpoll_training.learners.parameters import Parameter, Range


@dataclass(frozen=True)
class DPSGD(AccountedLearner):
    """A network trained by DP-SGD: logistic regression, or one hidden layer.

    The noise is the least that `accountant` allows for epsilon and delta: ``prv`` or ``rdp``, which
    are upper bounds, or ``gdp``, which is none. The number of rows is taken to be public. Defaults
    are those of Ghoukasian and Asoodeh, section IV.
    """

    name: ClassVar[str] = "dpsgd"
    label: ClassVar[str] = "DP-SGD"
    description: ClassVar[str] = "A network trained by differentially private gradient descent"
    bounds: ClassVar[Mapping[str, Parameter]] = {
        "epsilon": Range(float, 1e-2, 64, 3.0),
        "delta": Range(float, 1e-15, 0.1, 1e-5),
        "accountant": ACCOUNTANT,
        "hidden": Range(int, 0, 1024, 0),
        "epochs": Range(int, 1, 10_000, 50, job_limit=500),
        "batch_size": Range(int, 1, 1_000_000, 1024),
        "learning_rate": Range(float, 1e-6, 100.0, 0.01),
        "clip": Range(float, 1e-6, 1e6, 1.5),
    }
    space: ClassVar[Mapping[str, Span]] = {"learning_rate": Span(0.001, 1.0, None)}
    files: ClassVar[tuple[str, ...]] = (WEIGHTS,)

    def plan(self, rows: int) -> SgdPlan:
        """Return the steps for this many rows, with the noise that the claim needs."""
        hidden = int(self.parameters["hidden"])
        plan = SgdPlan(
            (hidden,) if hidden else (),
            epochs=int(self.parameters["epochs"]),
            batch_size=int(self.parameters["batch_size"]),
            learning_rate=float(self.parameters["learning_rate"]),
            clip=float(self.parameters["clip"]),
        )
        return replace(plan, noise_multiplier=self.noise([plan.schedule(rows)]))

    def fit(self, design: Design, options: FitOptions) -> PrivateNetwork:
        """Train; refuses no rows, and weights of rows."""
        refuse_no_rows(design)
        refuse_row_weights(design, self)
        network = train_dpsgd(
            design.table, design.label, self.plan(design.label.size),
            seed=options.seed, noise_seed=options.noise_seed,
        )  # fmt: skip
        if options.on_progress is not None:
            options.on_progress(1, 1)
        return PrivateNetwork(self, network)

    def load(
        self, files: Mapping[str, bytes], names: tuple[str, ...], *, trial: bool = False
    ) -> PrivateNetwork:
        """Read the weights; this needs no extra."""
        del trial  # numpy reads an altered file without harm
        return PrivateNetwork(self, read_network(files[WEIGHTS], len(names)))


@dataclass(frozen=True)
class PrivateNetwork(Fitted):
    """A network and the learner that trained it."""

    learner: Any
    network: Network

    def scores(self, table: Table, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the chance of a positive label per row, f64[n] in [0, 1]."""
        del threads
        return self.network.scores(table)

    def save(self) -> dict[str, bytes]:
        """Return the weights as an NPZ file."""
        return {WEIGHTS: self.network.save()}
