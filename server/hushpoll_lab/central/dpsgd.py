"""DP-SGD for networks on a table of rows, by Opacus (extra ``dpsgd``).

Abadi et al., CCS 2016. Gradients of single rows, their clipping and the noise are Opacus'. The
batches are Poisson samples, as the accountants assume, drawn from the whole table at once; Opacus'
own loader collects them row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hushpoll_lab.central.accounting import Schedule
from hushpoll_lab.central.draws import Draws, import_torch
from hushpoll_lab.central.logistic import Matrix
from hushpoll_lab.central.network import Network, layer_sizes
from hushpoll_lab.central.plans import check_plan, epochs_schedule
from hushpoll_protocols.errors import InvalidParameter

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class SgdPlan:
    """How a network is trained."""

    hidden: tuple[int, ...] = ()
    """Widths of the hidden layers; empty for logistic regression."""
    epochs: int = 50
    """Expected passes over the rows, at least 1."""
    batch_size: int = 1024
    """Expected rows of a step's batch, at least 1."""
    learning_rate: float = 0.01
    clip: float = 1.5
    """The l2 norm that a row's gradient is clipped to, positive."""
    noise_multiplier: float = 1.0
    """Standard deviation of the noise over `clip`, at least 0; 0 is not private."""
    optimizer: str = "sgd"
    """``sgd`` or ``adam``."""
    penalty: float = 0.0
    """mu of the l2 penalty mu / 2 |w|^2 on all weights and biases, at least 0; for ``sgd``.

    It reads no rows, so it is neither clipped nor noisy.
    """

    def __post_init__(self) -> None:
        counts = {"epochs": self.epochs, "batch_size": self.batch_size}
        counts |= {f"hidden[{layer}]": width for layer, width in enumerate(self.hidden)}
        check_plan(
            counts=counts,
            positive={"learning_rate": self.learning_rate, "clip": self.clip},
            unsigned={"noise_multiplier": self.noise_multiplier},
        )
        if self.optimizer not in ("sgd", "adam"):
            raise InvalidParameter(
                f"optimizer is {self.optimizer!r}; it must be sgd or adam", field="optimizer"
            )
        if not self.penalty >= 0 or (self.penalty and self.optimizer != "sgd"):
            raise InvalidParameter(
                f"penalty is {self.penalty} with {self.optimizer}; it must be at least 0, and 0 "
                "unless the optimizer is sgd",
                field="penalty",
            )

    def schedule(self, rows: int) -> Schedule:
        """Return sampling rate and steps for this many rows, as an accountant needs them."""
        return epochs_schedule(rows, epochs=self.epochs, batch_size=self.batch_size)


def train_dpsgd(
    rows: Matrix,
    label: npt.NDArray[np.int64],
    plan: SgdPlan,
    *,
    public_rows: int | None = None,
    seed: int = 0,
    noise_seed: int | None = None,
) -> Network:
    """Train a network by DP-SGD on rows [n, m] and labels, int64[n] of {0, 1}.

    The steps spend :func:`accounting.epsilon_spent` of ``plan.schedule(public_rows)``. The publicly
    known number of rows sets sampling rate and steps; n is taken to be public by default. The seed
    draws the first weights. A noise seed, for simulations alone, draws batches and noise, which
    come from the operating system by default; see :class:`draws.Draws`. Needs the extra ``dpsgd``.
    """
    torch = import_torch()
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    known = rows.shape[0] if public_rows is None else public_rows
    schedule = plan.schedule(known)
    table, target = tensors(rows, label)
    draws = Draws(noise_seed)
    network = torch_network(rows.shape[1], plan.hidden, seed)
    module = GradSampleModule(network)
    kind = torch.optim.SGD if plan.optimizer == "sgd" else torch.optim.Adam

    class Descent(DPOptimizer):  # type: ignore[misc]
        """Opacus' optimizer with the noise of `draws`: PyTorch's generator has too small a seed."""

        def add_noise(self) -> None:
            for parameter in self.params:
                total = parameter.summed_grad
                if self.noise_multiplier:
                    deviation = self.noise_multiplier * self.max_grad_norm
                    total = total + draws.normal(deviation, total.shape)
                parameter.grad = total.view_as(parameter)

    optimizer = Descent(
        kind(module.parameters(), lr=plan.learning_rate, weight_decay=plan.penalty),
        noise_multiplier=plan.noise_multiplier,
        max_grad_norm=plan.clip,
        expected_batch_size=max(1, round(schedule.sample_rate * known)),
    )
    loss = torch.nn.BCEWithLogitsLoss(reduction="mean")
    for _ in range(schedule.steps):
        batch = draws.sample(len(table), schedule.sample_rate)
        optimizer.zero_grad()
        if len(batch) == 0:
            # An empty batch has no gradient, but its step gets noise like any other.
            for parameter in module.parameters():
                parameter.grad_sample = torch.zeros((0, *parameter.shape))
        else:
            loss(module(inputs(table, batch)).squeeze(1), target[batch]).backward()
        optimizer.step()
    return to_network(network)


def tensors(rows: Matrix, label: npt.NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return features and labels as float32 tensors."""
    torch = import_torch()
    dense = rows.toarray() if isinstance(rows, csr_matrix) else rows
    return (
        torch.from_numpy(np.ascontiguousarray(dense, np.float32)),
        torch.from_numpy(label.astype(np.float32)),
    )


def inputs(table: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
    """Return the rows of a batch; they ask for gradients, since Opacus' hooks warn otherwise."""
    return table[batch].requires_grad_()


def torch_network(
    columns: int, hidden: tuple[int, ...], seed: int, *, output_bias: bool = True
) -> Any:
    """Return a network with PyTorch's default first weights, drawn from the seed."""
    torch = import_torch()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[Any] = []
        sizes = layer_sizes(columns, hidden)
        for number, (inputs, outputs) in enumerate(sizes):
            last = number == len(sizes) - 1
            layers.append(torch.nn.Linear(inputs, outputs, bias=output_bias or not last))
            if not last:
                layers.append(torch.nn.ReLU())
        return torch.nn.Sequential(*layers)


def to_network(module: Any) -> Network:
    """Return the weights of a PyTorch network of linear layers."""
    torch = import_torch()
    linear = [layer for layer in module if isinstance(layer, torch.nn.Linear)]
    return Network(
        tuple(layer.weight.detach().numpy().copy() for layer in linear),
        tuple(
            None if layer.bias is None else layer.bias.detach().numpy().copy() for layer in linear
        ),
    )
