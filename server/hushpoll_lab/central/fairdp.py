"""FairDP: DP-SGD that trains one network per group and averages them after each step.

Tran et al., "FairDP: Certified Fairness with Differential Privacy", Algorithms 1 and 3 (extra
``dpsgd``). Every group has batches, clipping and noise of its own, so a row of one group touches
one noisy sum of a step; the loss of privacy is that of one group's steps (Theorem 3.1, by parallel
composition). That holds for adding or removing a row. Changing a row's group touches two groups.

The last layer has no bias: its weights times the last hidden layer decide, as in equation (3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_lab.central.accounting import Schedule
from hushpoll_lab.central.dpsgd import (
    inputs,
    tensors,
    to_network,
    torch_network,
)
from hushpoll_lab.central.draws import Draws, import_torch
from hushpoll_lab.central.logistic import Matrix, Vector
from hushpoll_lab.central.network import Network
from hushpoll_lab.central.plans import check_plan
from hushpoll_protocols.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class FairDPPlan:
    """How FairDP trains."""

    hidden: tuple[int, ...] = (32,)
    """Widths of the hidden layers, at least one."""
    sample_rate: float = 0.02
    """q, in (0, 1]: chance of each row to be in its group's batch of a step."""
    steps: int = 500
    """T, at least 1."""
    last_layer_norm: float = 0.5
    """M, positive: the last layer's weights are clipped to this l2 norm before each step."""
    clip: float = 0.1
    """C, positive: what the l2 norm of a row's gradient is clipped to."""
    noise_multiplier: float = 2.0
    """sigma, at least 0, and 0 is not private.

    A group's sum of gradients has noise of deviation sigma C.
    """
    learning_rate: float = 0.005
    """eta of the plain steps, positive. Gradients are summed, not averaged."""
    plain_steps: float = 0.1
    """Share of the steps, the last ones and at least one, that are plain.

    The certificate is about the last one. The ones before them are Adam's.
    """
    adam_rate: float = 0.02
    last_sample_rate: float | None = None
    """The rate of the plain steps, where it differs.

    The worst-case certificate needs small batches there and a large learning rate (appendix F).
    """
    last_learning_rate: float | None = None

    def __post_init__(self) -> None:
        positive = ("last_layer_norm", "clip", "learning_rate", "adam_rate")
        check_plan(
            counts={"steps": self.steps},
            positive={name: getattr(self, name) for name in positive},
            unsigned={"noise_multiplier": self.noise_multiplier},
        )
        if not self.hidden or min(self.hidden) < 1:
            raise InvalidParameter(
                f"hidden is {self.hidden}; FairDP needs at least one hidden layer, of width 1 or "
                "more",
                field="hidden",
            )
        if not 0 <= self.plain_steps <= 1:
            raise InvalidParameter(
                f"plain_steps is {self.plain_steps}; it must lie in [0, 1]", field="plain_steps"
            )
        for schedule in self.schedules():
            del schedule  # building it checks the rate

    @property
    def first_plain_step(self) -> int:
        """The first plain step, counted from 0; the last step is always plain."""
        return min(self.steps - 1, round(self.steps * (1 - self.plain_steps)))

    def rate(self, step: int) -> float:
        """Return the sampling rate of a step."""
        plain = step >= self.first_plain_step
        return self.last_sample_rate if plain and self.last_sample_rate else self.sample_rate

    def schedules(self) -> list[Schedule]:
        """Return what one group's accountant composes: Adam's steps and the plain ones."""
        first = self.first_plain_step
        parts = [(self.rate(0), first)] if first else []
        parts.append((self.rate(self.steps - 1), self.steps - first))
        return [Schedule(rate, steps) for rate, steps in parts]


@dataclass(frozen=True, slots=True)
class LastStep:
    """What the certificates need of the last step. It is not private: never publish it."""

    before: Vector
    """f64[width], the last layer's clipped weights before the step, W^(T-1)."""
    gradient: Vector
    """f64[width], mu.

    Mean over groups of the sums of the last layer's clipped gradients, without noise.
    """
    batch_rows: int
    """m: rows in the batches of all groups."""
    groups: int
    """K."""
    learning_rate: float
    noise_multiplier: float
    clip: float
    last_layer_norm: float


@dataclass(frozen=True, slots=True)
class FairDPResult:
    """What FairDP returns."""

    networks: tuple[Network, ...]
    """One, or N of Algorithm 3, which differ in the last layer."""
    last_step: LastStep
    """For the certificates; not private."""


def train_fairdp(
    rows: Matrix,
    label: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    plan: FairDPPlan,
    *,
    groups: int | None = None,
    models: int = 1,
    seed: int = 0,
    noise_seed: int | None = None,
    on_step: Callable[[int, int], None] | None = None,
) -> FairDPResult:
    """Train by FairDP on rows [n, m] and labels, int64[n] of {0, 1}.

    Groups, int64[n], are counted from 0; a combination of several protected attributes is one group
    (appendix E). K, `groups`, is public; a group without rows takes steps of noise alone. By
    default it is the groups that occur, all from 0 to the largest; then a row that is alone in its
    group changes K. `models` is N of Algorithm 3: how many last layers the last step draws, each
    from a part of the batch; 1 is Algorithm 1. A row's part is drawn, independent of the other
    rows: parts by the place in the batch would all change with one row. Seeds are those of
    :func:`.dpsgd.train_dpsgd`. Refuses fewer than two groups, others than these, and fewer than one
    model; needs the extra ``dpsgd``.
    """
    torch = import_torch()
    from opacus import GradSampleModule

    sizes = np.bincount(group, minlength=groups or 0)
    if groups is not None and sizes.size != groups:
        raise InvalidParameter(
            f"group has values up to {sizes.size - 1}; they must lie in [0, {groups}), the number "
            "of groups. Count all of them",
            field="group",
        )
    if sizes.size < 2 or (groups is None and not sizes.all()):
        raise InvalidParameter(
            f"the groups have {sizes.tolist()} rows; give two groups or more, counted from 0, each "
            "with rows",
            field="group",
        )
    if models < 1:
        raise InvalidParameter(f"models is {models}; it must be at least 1", field="models")
    table, target = tensors(rows, label)
    members = [torch.from_numpy(np.flatnonzero(group == number)) for number in range(sizes.size)]
    drawn = Draws(noise_seed)
    network = torch_network(rows.shape[1], plan.hidden, seed, output_bias=False)
    scratch = torch_network(rows.shape[1], plan.hidden, seed, output_bias=False)
    per_row = GradSampleModule(scratch, loss_reduction="sum")
    loss = torch.nn.BCEWithLogitsLoss(reduction="sum")
    shared, last = list(network.parameters()), network[-1].weight
    copies = [[value.detach().clone().requires_grad_() for value in shared] for _ in sizes]
    adams = [torch.optim.Adam(values, lr=plan.adam_rate) for values in copies]
    deviation = plan.noise_multiplier * plan.clip

    def noisy(total: Any) -> Any:
        return total + drawn.normal(deviation, total.shape)

    def clipped_gradients(number: int, rate: float) -> list[Any]:
        """Return the clipped gradients of the rows of a batch of one group, by parameter."""
        batch = members[number][drawn.sample(len(members[number]), rate)]
        if len(batch) == 0:
            return [torch.zeros((0, *value.shape)) for value in shared]
        per_row.zero_grad()
        with torch.no_grad():
            for value, source in zip(scratch.parameters(), shared, strict=True):
                value.copy_(source)
        loss(per_row(inputs(table, batch)).squeeze(1), target[batch]).backward()
        gradients = [value.grad_sample for value in scratch.parameters()]
        norms = torch.stack([part.flatten(1).norm(dim=1) for part in gradients]).norm(dim=0)
        factors = (plan.clip / (norms + 1e-12)).clamp(max=1.0)
        return [part * factors.reshape(-1, *[1] * (part.ndim - 1)) for part in gradients]

    for step in range(plan.steps):
        final, plain = step == plan.steps - 1, step >= plan.first_plain_step
        rate = plan.learning_rate
        if plain and plan.last_learning_rate:
            rate = plan.last_learning_rate
        with torch.no_grad():
            last.mul_(min(1.0, plan.last_layer_norm / float(last.norm().clamp(min=1e-30))))
            before = last.detach().clone()
        moved, sums, batch_rows = [], [], 0
        draws: list[list[Any]] = []
        for number in range(sizes.size):
            gradients = clipped_gradients(number, plan.rate(step))
            batch_rows += len(gradients[-1])
            totals = [part.sum(dim=0) for part in gradients]
            sums.append(totals[-1])
            noisy_totals = [noisy(total) for total in totals]
            if final and models > 1:
                parts = drawn.parts(len(gradients[-1]), models)
                draws.append(
                    [
                        before - rate * noisy(gradients[-1][parts == part].sum(dim=0))
                        for part in range(models)
                    ]
                )
            if plain:
                pairs = zip(shared, noisy_totals, strict=True)
                moved.append([value.detach() - rate * total for value, total in pairs])
                continue
            for value, source, total in zip(copies[number], shared, noisy_totals, strict=True):
                value.data.copy_(source.data)
                value.grad = total
            adams[number].step()
            moved.append([value.detach().clone() for value in copies[number]])
        with torch.no_grad():
            for position, value in enumerate(shared):
                value.copy_(torch.stack([values[position] for values in moved]).mean(dim=0))
        if on_step is not None:
            on_step(step + 1, plan.steps)
    mean = torch.stack(sums).mean(dim=0)
    record = LastStep(
        before[0].numpy().astype(np.float64), mean[0].numpy().astype(np.float64),
        batch_rows, sizes.size, rate, plan.noise_multiplier, plan.clip,
        plan.last_layer_norm,
    )  # fmt: skip
    last_layers = [torch.stack(layer).mean(dim=0) for layer in zip(*draws, strict=True)]
    result = to_network(network)
    if not last_layers:
        return FairDPResult((result,), record)
    return FairDPResult(
        tuple(
            Network((*result.weights[:-1], layer.numpy().copy()), result.biases)
            for layer in last_layers
        ),
        record,
    )
