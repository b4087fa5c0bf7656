"""DP-FERMI: logistic regression by a private min-max descent that is penalised for unfairness.

Lowy, Gupta and Razaviyayn, "Stochastic Differentially Private and Fair Learning", ICLR 2023, for
statistical parity. The penalty is the exponential Renyi mutual information of prediction and group,
0 where they are independent. It is the maximum over matrices W of the mean over rows of

    psi_i(W) = -Tr(W diag(F(x_i)) W') + 2 Tr(W F(x_i) s_i' P^(-1/2)) - 1,

with F(x) = (1 - p(x), p(x)) the chances of the two predictions, s_i the one-hot group and P the
diagonal matrix of the groups' shares. So descent takes steps in the weights and ascent in W.

Differences from the paper, for privacy with respect to all columns: the gradients of each row are
clipped, in the weights and in W, since the accountant needs a bound on what a row adds; batches are
Poisson samples; both noisy sums of a step are accounted together (:func:`accounting.share_noise`);
and the groups' shares come from counts with noise, whose epsilon is added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from hushpoll_lab.central.accounting import Schedule
from hushpoll_lab.central.discrete_laplace import noisy_count, quantile
from hushpoll_lab.central.logistic import Matrix, Vector
from hushpoll_lab.central.plans import check_plan, epochs_schedule
from hushpoll_lab.central.rows import l2_norms
from hushpoll_protocols.bits import Bits
from hushpoll_protocols.errors import InvalidParameter

SMALL_BY_CHANCE: Final = 1e-6
"""A group whose count noise alone would exceed with at least this chance is taken for empty."""


@dataclass(frozen=True, slots=True)
class FermiPlan:
    """How the descent is done."""

    fairness: float = 1.0
    """lambda, the weight of the penalty, at least 0."""
    epochs: int = 50
    """Expected passes over the rows, at least 1."""
    batch_size: int = 1024
    """Expected rows of a step's batch, at least 1."""
    learning_rate: float = 0.5
    """The rate of the steps in the weights, positive."""
    ascent_rate: float = 0.1
    """The rate of the steps in W, positive."""
    clip: float = 1.0
    """The l2 norm that a row's gradient in the weights is clipped to, positive."""
    ascent_clip: float = 4.0
    """The same of the gradient in W."""
    noise: float = 1.0
    """Standard deviation of the noise over `clip`, at least 0; 0 is not private."""
    ascent_noise: float = 1.0
    """The same over `ascent_clip`."""

    def __post_init__(self) -> None:
        positive = ("learning_rate", "ascent_rate", "clip", "ascent_clip")
        unsigned = ("fairness", "noise", "ascent_noise")
        check_plan(
            counts={"epochs": self.epochs, "batch_size": self.batch_size},
            positive={name: getattr(self, name) for name in positive},
            unsigned={name: getattr(self, name) for name in unsigned},
        )

    def schedule(self, rows: int) -> Schedule:
        """Return sampling rate and steps for this many rows, as an accountant needs them."""
        return epochs_schedule(rows, epochs=self.epochs, batch_size=self.batch_size)


def private_shares(group: npt.NDArray[np.int64], groups: int, epsilon: float, bits: Bits) -> Vector:
    """Return the groups' shares from counts with discrete Laplace noise, f64[K] with the sum 1.

    The groups of rows are int64[n] in [0, K), K public. An added or removed row changes one count
    by 1, so the counts together spend epsilon, in (0, 64]. A group whose count could be noise alone
    has share 0; refuses fewer than two larger ones.
    """
    counts = np.bincount(group, minlength=groups)
    noisy = np.array([noisy_count(int(count), epsilon, bits) for count in counts], np.float64)
    return known_shares(noisy, quantile(epsilon, SMALL_BY_CHANCE))


def known_shares(counts: Vector, least: float) -> Vector:
    """Return the shares of the counts above `least`, and 0 for the others; see above."""
    kept = np.where(counts > least, counts, 0.0)
    if np.count_nonzero(kept) < 2:
        raise InvalidParameter(
            f"fewer than two groups have more than {least:g} rows, which noise alone can reach; "
            "give more rows of each group, or a larger count_epsilon",
            field="count_epsilon",
        )
    return np.asarray(kept / kept.sum())


def train_fermi(
    rows: Matrix,
    label: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    shares: Vector,
    plan: FermiPlan,
    *,
    rng: np.random.Generator,
    public_rows: int | None = None,
) -> Vector:
    """Return the weights of logistic regression after the last step, f64[p], from weights of 0.

    Rows are [n, p] with a constant column, where an intercept is wanted; labels int64[n] of {0, 1},
    groups int64[n] in [0, K). Rows of a group whose :func:`private_shares` is 0 have no part in the
    penalty. `rng` draws batches and noise; do not seed it outside of simulations: noise that can be
    drawn again is no protection. `public_rows` is as for :func:`dpsgd.train_dpsgd`.
    """
    known = rows.shape[0] if public_rows is None else public_rows
    schedule = plan.schedule(known)
    expected = schedule.sample_rate * known
    length = l2_norms(rows)
    counted = shares > 0
    root = np.divide(1.0, np.sqrt(shares), out=np.zeros(shares.size), where=counted)
    # W* has columns P^(-1/2) q with q a distribution over the groups: its norm is at most this.
    farthest = math.sqrt(2) * float(root.max())
    weights = np.zeros(rows.shape[1])
    # The maximiser where predictions tell nothing about the group.
    dual = np.sqrt(shares)[:, None] * np.ones((1, 2))
    for _ in range(schedule.steps):
        batch = np.flatnonzero(rng.random(rows.shape[0]) < schedule.sample_rate)
        part, member = rows[batch], group[batch]
        positive = expit(part @ weights)
        chances = np.column_stack([1 - positive, positive])
        inside = counted[member]
        unfair = 2 * root[member] * (dual[member, 1] - dual[member, 0])
        unfair += (dual[:, 0] ** 2).sum() - (dual[:, 1] ** 2).sum()
        slope = positive - label[batch]
        slope = slope + plan.fairness * inside * positive * (1 - positive) * unfair
        slope *= np.minimum(1.0, plan.clip / np.maximum(np.abs(slope) * length[batch], 1e-300))
        rising = -2 * dual[None] * chances[:, None, :]
        rising[np.arange(batch.size), member] += 2 * root[member][:, None] * chances
        rising *= inside[:, None, None]
        size = np.sqrt((rising**2).sum(axis=(1, 2)))
        rising *= np.minimum(1.0, plan.ascent_clip / np.maximum(size, 1e-300))[:, None, None]
        descent = part.T @ slope + rng.normal(0.0, plan.noise * plan.clip, weights.size)
        ascent = rising.sum(axis=0)
        ascent = ascent + rng.normal(0.0, plan.ascent_noise * plan.ascent_clip, dual.shape)
        weights = weights - plan.learning_rate / expected * descent
        dual = dual + plan.ascent_rate / expected * ascent
        dual *= min(1.0, farthest / max(float(np.linalg.norm(dual)), 1e-300))
    return weights
