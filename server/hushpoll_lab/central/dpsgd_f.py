"""DPSGD-F: DP-SGD with a clipping norm for each group, adapted in every step (extra ``dpsgd``).

Xu, Du and Wu, "Removing Disparate Impact on Model Accuracy in Differentially Private Stochastic
Gradient Descent", KDD 2021, Algorithm 2. A group whose gradients are longer is clipped at a larger
norm, so that clipping takes no more from it than from others.

How many rows of each group are longer than the base norm is counted in each batch, with noise.
Counts and gradients are of the same batch: what they spend together is that of one Gaussian
mechanism (:func:`accounting.share_noise`), which an accountant composes over the steps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_lab.central.accounting import share_noise
from hushpoll_lab.central.dpsgd import (
    SgdPlan,
    inputs,
    tensors,
    to_network,
    torch_network,
)
from hushpoll_lab.central.draws import Draws, import_torch
from hushpoll_lab.central.logistic import Matrix, Vector
from hushpoll_lab.central.network import Network
from hushpoll_protocols.errors import InvalidParameter

MOST_RATIO = 4.0
"""A group's share of long gradients counts as at most this many times that of all rows."""


def group_clips(long: Vector, short: Vector, clip: float) -> Vector:
    """Return the clipping norm of each group, f64[K], from counts with noise.

    C_k = C_0 (1 + (m_k / b_k) / (m / b)): the share of the group's gradients that are longer than
    C_0, over the share of all. The paper does not say what noise may do to a share; here counts (of
    gradients longer than `clip`, and of others, f64[K] each) are taken into their range, and the
    ratio is at most `MOST_RATIO`.
    """
    size = np.maximum(long + short, 1.0)
    above = np.clip(long, 0.0, size)
    overall = above.sum() / size.sum()
    ratio = above / size / overall if overall > 0 else np.ones(size.size)
    return np.asarray(clip * (1 + np.minimum(ratio, MOST_RATIO)))


def train_dpsgd_f(
    rows: Matrix,
    label: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    plan: SgdPlan,
    *,
    groups: int,
    count_ratio: float = 10.0,
    public_rows: int | None = None,
    seed: int = 0,
    noise_seed: int | None = None,
) -> Network:
    """Train a network by DPSGD-F; the groups of rows are int64[n] in [0, K), K public.

    The arguments are those of :func:`dpsgd.train_dpsgd`. The plan's `clip` is C_0, and its
    `noise_multiplier` what counts and gradients have together. `count_ratio` is the noise of the
    counts over that of the gradients, each over its sensitivity, positive: the paper's sigma_1 /
    sigma_2. Refuses groups outside their interval, and another optimizer than sgd.
    """
    torch = import_torch()
    from opacus import GradSampleModule

    if group.size and not 0 <= group.min() <= group.max() < groups:
        raise InvalidParameter(
            f"group has values from {group.min()} to {group.max()}; they must lie in [0, {groups})",
            field="group",
        )
    if plan.optimizer != "sgd" or plan.penalty:
        raise InvalidParameter(
            "DPSGD-F takes steps of plain sgd without a penalty; leave optimizer and penalty out",
            field="optimizer",
        )
    known = rows.shape[0] if public_rows is None else public_rows
    schedule = plan.schedule(known)
    expected = max(1, round(schedule.sample_rate * known))
    gradient_noise, count_noise = share_noise(plan.noise_multiplier, count_ratio)
    table, target = tensors(rows, label)
    member = torch.from_numpy(group)
    draws = Draws(noise_seed)
    network = torch_network(rows.shape[1], plan.hidden, seed)
    module = GradSampleModule(network, loss_reduction="sum")
    loss = torch.nn.BCEWithLogitsLoss(reduction="sum")
    parameters = list(network.parameters())
    for _ in range(schedule.steps):
        batch = draws.sample(len(table), schedule.sample_rate)
        gradients = [torch.zeros((0, *value.shape)) for value in parameters]
        if len(batch):  # an empty batch has no gradient, but its step gets noise like any other
            module.zero_grad()
            loss(module(inputs(table, batch)).squeeze(1), target[batch]).backward()
            gradients = [value.grad_sample for value in parameters]
        norms = torch.stack([part.flatten(1).norm(dim=1) for part in gradients]).norm(dim=0)
        cell = member[batch] + groups * (norms <= plan.clip)
        counts = torch.bincount(cell, minlength=2 * groups).double()
        counts += draws.normal(count_noise, (2 * groups,), double=True)
        long, short = np.split(counts.numpy(), 2)
        clips = group_clips(long, short, plan.clip)
        wanted = torch.from_numpy(clips.astype(np.float32))[member[batch]]
        factors = (wanted / (norms + 1e-12)).clamp(max=1.0)
        deviation = gradient_noise * float(clips.max())
        with torch.no_grad():
            for value, part in zip(parameters, gradients, strict=True):
                total = torch.tensordot(factors, part, dims=1)
                total += draws.normal(deviation, total.shape)
                value -= plan.learning_rate / expected * total
    return to_network(network)
