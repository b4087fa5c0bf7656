"""Networks that are private by DP-SGD, with a clipping norm for all or for each group.

They need the extra ``dpsgd``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from hushpoll_lab.central.dpsgd import SgdPlan, train_dpsgd
from hushpoll_lab.central.dpsgd_f import train_dpsgd_f
from hushpoll_lab.central.network import Network
from hushpoll_lab.learners.accounted import ACCOUNTANT, AccountedLearner
from hushpoll_lab.learners.groups import categories_of
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions, Span
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

    def train(self, design: Design, options: FitOptions) -> Network:
        """Return the weights after the last step."""
        return train_dpsgd(
            design.table, design.label, self.plan(design.label.size),
            seed=options.seed, noise_seed=options.noise_seed,
        )  # fmt: skip


@dataclass(frozen=True)
class GroupClippingSgd(DPSGD):
    """A network trained by DPSGD-F (Xu, Du and Wu, 2021), in all else like the learner ``dpsgd``.

    The groups are the categories of the protected attribute, and only the training needs them; its
    columns are features like any other. `clip` is the base norm, and `count_ratio` how much more
    noise the groups' counts get than the gradients, each relative to its sensitivity.
    """

    name: ClassVar[str] = "dpsgd-f"
    label: ClassVar[str] = "DPSGD-F"
    needs_groups: ClassVar[bool] = True
    description: ClassVar[str] = (
        "A network trained by differentially private gradient descent, with a clipping norm for "
        "each group"
    )
    bounds: ClassVar[Mapping[str, Parameter]] = {
        **DPSGD.bounds,
        "count_ratio": Range(float, 0.1, 1e3, 10.0),
    }
    composition: ClassVar[str] = ", for the groups' counts and the gradients of each batch together"

    def train(self, design: Design, options: FitOptions) -> Network:
        """Return the weights after the last step; refuses what :func:`categories_of` refuses."""
        group, columns = categories_of(design, self)
        return train_dpsgd_f(
            design.table, design.label, group, self.plan(design.label.size),
            groups=columns.stop - columns.start,
            count_ratio=float(self.parameters["count_ratio"]),
            seed=options.seed, noise_seed=options.noise_seed,
        )  # fmt: skip
