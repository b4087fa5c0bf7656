"""Logistic regression that is private and penalised for unfairness (extra ``dpsgd``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hushpoll_lab.central.accounting import share_noise
from hushpoll_lab.central.fermi import (
    FermiPlan,
    known_shares,
    private_shares,
    train_fermi,
)
from hushpoll_lab.central.network import Network
from hushpoll_lab.learners.accounted import ACCOUNTANT, AccountedLearner
from hushpoll_lab.learners.groups import (
    categories_of,
    without_columns,
    without_weights,
)
from hushpoll_lab.learners.network_learner import bits_for
from hushpoll_lab.learners.output_perturbation import with_constant
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, Span
from hushpoll_training.learners.parameters import Parameter, Range


@dataclass(frozen=True)
class Fermi(AccountedLearner):
    """Logistic regression by DP-FERMI for statistical parity (Lowy et al., 2023).

    The groups are the categories of the protected attribute; the model never gets its columns. Of
    `epsilon`, `count_epsilon` is spent on the groups' sizes and the rest on the descent, in the
    weights and in the dual variables, which get `ascent_ratio` times the noise, each relative to
    its clipping norm; refuses a `count_epsilon` that leaves nothing to the descent. The number of
    rows is taken to be public. Without privacy it keeps its penalty.
    """

    name: ClassVar[str] = "dp-fermi"
    label: ClassVar[str] = "DP-FERMI"
    needs_groups: ClassVar[bool] = True
    description: ClassVar[str] = (
        "Logistic regression by differentially private min-max descent, with a penalty for groups "
        "whose shares of positive predictions differ"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        "epsilon": Range(float, 2e-2, 64, 3.0),
        "delta": Range(float, 1e-15, 0.1, 1e-5),
        "accountant": ACCOUNTANT,
        "count_epsilon": Range(float, 1e-3, 10, 0.05),
        "fairness": Range(float, 0, 1e3, 1.0),
        "epochs": Range(int, 1, 10_000, 30, job_limit=500),
        "batch_size": Range(int, 1, 1_000_000, 1024),
        "learning_rate": Range(float, 1e-6, 100.0, 1.0),
        "clip": Range(float, 1e-6, 1e6, 1.0),
        "ascent_rate": Range(float, 1e-6, 100.0, 0.1),
        "ascent_clip": Range(float, 1e-6, 1e6, 4.0),
        "ascent_ratio": Range(float, 0.1, 1e3, 5.0),
    }
    space: ClassVar[Mapping[str, Span]] = {"fairness": Span(0.1, 10.0, None)}
    composition: ClassVar[str] = (
        ", for descent and ascent together, and basic composition with the discrete Laplace "
        "mechanism of the groups' sizes"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._descent_epsilon < 0.01:
            raise InvalidParameter(
                f"count_epsilon is {self.parameters['count_epsilon']}; of an epsilon of "
                f"{self.parameters['epsilon']} it must leave at least 0.01 to the descent. Use a "
                "smaller count_epsilon, or a larger epsilon",
                field="count_epsilon",
            )

    def plan(self, rows: int) -> FermiPlan:
        """Return the steps for this many rows, with the noise that the claim needs."""
        names = ("fairness", "learning_rate", "clip", "ascent_rate", "ascent_clip")
        plan = FermiPlan(
            epochs=int(self.parameters["epochs"]),
            batch_size=int(self.parameters["batch_size"]),
            noise=0.0,
            ascent_noise=0.0,
            **{name: float(self.parameters[name]) for name in names},
        )
        together = self.noise([plan.schedule(rows)], self._descent_epsilon)
        first, second = share_noise(together, float(self.parameters["ascent_ratio"]))
        return replace(plan, noise=first, ascent_noise=second)

    def train(self, design: Design, options: FitOptions) -> Network:
        """Return the weights after the last step; refuses what :func:`categories_of` refuses.

        Fewer than two groups whose counts with noise are large enough are refused after
        `count_epsilon` is spent.
        """
        group, columns = categories_of(design, self)
        plan = self.plan(design.label.size)
        groups = columns.stop - columns.start
        if self.noiseless:
            shares = known_shares(np.bincount(group, minlength=groups).astype(np.float64), 0.0)
        else:
            spent = float(self.parameters["count_epsilon"])
            shares = private_shares(group, groups, spent, bits_for(options))
        weights = train_fermi(
            with_constant(without_columns(design.table, columns)), design.label, group, shares,
            plan, rng=np.random.default_rng(_stream(options)),
        )  # fmt: skip
        return without_weights(Network.linear(weights), columns)

    @property
    def _descent_epsilon(self) -> float:
        return float(self.parameters["epsilon"]) - float(self.parameters["count_epsilon"])


def _stream(options: FitOptions) -> list[int] | None:
    """Return a seed other than that of the counts' noise, or None for the system's generator."""
    return None if options.noise_seed is None else [options.noise_seed, 1]
