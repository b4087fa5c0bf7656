"""Networks that are private by DP-SGD with a clipping norm for each group (extra ``dpsgd``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from hushpoll_lab.central.dpsgd_f import train_dpsgd_f
from hushpoll_lab.learners.dpsgd import DPSGD, PrivateNetwork
from hushpoll_lab.learners.groups import categories_of
from hushpoll_lab.learners.output_perturbation import (
    refuse_no_rows,
    refuse_row_weights,
)
from hushpoll_training.learners.design import Design
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.parameters import Parameter, Range


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

    def fit(self, design: Design, options: FitOptions) -> PrivateNetwork:
        """Train; refuses no rows, weights of rows, and what :func:`categories_of` refuses."""
        refuse_no_rows(design)
        refuse_row_weights(design, self)
        group, columns = categories_of(design, self)
        network = train_dpsgd_f(
            design.table, design.label, group, self.plan(design.label.size),
            groups=columns.stop - columns.start,
            count_ratio=float(self.parameters["count_ratio"]),
            seed=options.seed, noise_seed=options.noise_seed,
        )  # fmt: skip
        if options.on_progress is not None:
            options.on_progress(1, 1)
        return PrivateNetwork(self, network)
