"""How far group fairness can differ between two linear models that are close to each other.

Mangold et al., "Differential Privacy has Bounded Impact on Fairness in Classification", ICML 2023.
A prediction can only differ between two models if its margin is small beside the distance of their
weights. So the difference of a rate is at most the share of rows with so small a margin, and bounds
on rates add up to bounds on fairness. If one model is a private version of the other, the distance
is known with high probability although the other is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from hushpoll_lab.central.logistic import Matrix, Vector
from hushpoll_lab.central.rows import l2_norms
from hushpoll_protocols.errors import InvalidParameter

Tightness: TypeAlias = Literal["markov", "chernoff", "share"]
TIGHTNESS: Final[tuple[Tightness, ...]] = ("markov", "chernoff", "share")


@dataclass(frozen=True, slots=True)
class Margins:
    """How far the weights must move before a row's prediction can change."""

    reach: Vector
    """f64[n], |margin| / Lipschitz constant of each row (Assumption 2.1).

    A model whose weights are closer than this predicts the same for the row. ``inf`` for a row that
    no change of weights moves.
    """
    label: npt.NDArray[np.int64]
    """int64[n] of {0, 1}."""
    group: npt.NDArray[np.int64]
    """int64[n], counted from 0."""


def linear_margins(
    rows: Matrix,
    label: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    weights: Vector,
    other: Vector | None = None,
) -> Margins:
    """Return the margins of a linear model that predicts 1 where weights . row is positive.

    The weights, f64[p], are those of the reference model, private or not. If the other model's are
    known as well, the Lipschitz constant of a row is its component along the difference of the
    weights (appendix G.3), not its length. Refuses shapes that do not fit, and a group without
    rows.
    """
    count, columns = rows.shape
    if weights.shape != (columns,) or label.shape != (count,) or group.shape != (count,):
        raise InvalidParameter(
            f"rows have shape {rows.shape}, but there are {weights.size} weights, {label.size} "
            f"labels and {group.size} groups; give one weight a column, one label and group a row",
            field="rows",
        )
    sizes = np.bincount(group) if count else np.zeros(1)
    if not sizes.all():
        raise InvalidParameter(
            f"group {int(np.flatnonzero(sizes == 0)[0])} has no rows; count the groups from 0 "
            "without a gap",
            field="group",
        )
    margin = np.abs(np.asarray(rows @ weights))
    if other is None:
        constant = l2_norms(rows)
    else:
        distance = float(np.linalg.norm(weights - other))
        along = np.abs(np.asarray(rows @ (weights - other)))
        constant = along / distance if distance > 0 else np.zeros(count)
    reach = np.full(count, np.inf)
    np.divide(margin, constant, out=reach, where=constant > 0)
    return Margins(reach, label, group)


def rate_change(reach: Vector, distance: float, tightness: Tightness = "share") -> float:
    """Bound the change of P(prediction = label) over some rows between models this far apart.

    The bound is in [0, 1], the distance in l2 norm. ``markov``: distance times the mean of
    1 / reach (Theorem 3.1). ``chernoff``: the least over t of exp(t distance) mean(exp(-t reach))
    (Remark B.1). ``share``: the share of rows whose reach is at most the distance. It is what the
    other two bound from above, and what Remarks B.1 and B.2 give together: with large margins left
    out, the least t is 0.
    """
    if distance < 0 or np.isnan(distance):
        raise InvalidParameter(f"distance is {distance}; it must be at least 0", field="distance")
    if tightness not in TIGHTNESS:
        raise InvalidParameter(
            f"tightness is {tightness!r}; it must be one of {', '.join(TIGHTNESS)}",
            field="tightness",
        )
    if reach.size == 0 or distance == 0:
        return 0.0
    if tightness == "share":
        return float(np.mean(reach <= distance))
    if tightness == "markov":
        with np.errstate(divide="ignore", over="ignore"):
            return min(1.0, distance * float(np.mean(1 / reach)))
    finite = reach[np.isfinite(reach)]

    if finite.size == 0:
        return 0.0

    def log_bound(log_t: float) -> float:
        return float(logsumexp(np.exp(log_t) * (distance - finite)) - np.log(reach.size))

    # The bound is convex in t; its least lies where t is about 1 / distance or above.
    scale = np.log(1 / distance)
    least = minimize_scalar(log_bound, bounds=(scale - 12, scale + 12), method="bounded")
    return float(min(1.0, np.exp(min(0.0, least.fun))))


@dataclass(frozen=True, slots=True)
class Notion:
    """A notion of group fairness as sums of conditional accuracies, equation (1)."""

    label: str
    weights: npt.NDArray[np.float64]
    """f64[m, 2, g], C of equation (1).

    For each of m levels, the factor of P(prediction = label | label, group), by label and group.
    """
    constant: Vector
    """f64[m], C^0 of the levels."""
    names: tuple[tuple[int | None, int | None], ...]
    """Label and group that each level is about; None where it is about all."""


def notions(margins: Margins) -> dict[str, Notion]:
    """Return the notions of Corollary 3.3, with the rows' own shares as factors (appendix A).

    The desired outcome, of equal opportunity and demographic parity, is 1.
    """
    groups = int(margins.group.max()) + 1
    joint = np.zeros((2, groups))
    np.add.at(joint, (margins.label, margins.group), 1)
    joint /= joint.sum()
    of_label = joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
    of_group = joint / joint.sum(axis=0, keepdims=True)
    odds = np.zeros((2, groups, 2, groups))
    parity = np.zeros((groups, 2, groups))
    demographic = np.zeros((groups, 2, groups))
    constant = np.zeros(groups)
    for group in range(groups):
        for label in (0, 1):
            odds[label, group, label] = -of_label[label]
            odds[label, group, label, group] += 1
        parity[group] = -joint
        parity[group, :, group] += of_group[:, group]
        demographic[group] = -joint
        demographic[group, :, group] += of_group[:, group]
        demographic[group, 0] *= -1  # P(predicted 1 | label 0) is 1 - P(predicted 0 | label 0)
        constant[group] = of_group[0, group] - joint[0].sum()
    every = tuple((label, group) for label in (0, 1) for group in range(groups))
    one_a_group = tuple((None, group) for group in range(groups))
    return {
        "equal_opportunity": Notion(
            "equality of opportunity", odds[1], np.zeros(groups),
            tuple((1, group) for group in range(groups)),
        ),
        "equalized_odds": Notion(
            "equalized odds", odds.reshape(-1, 2, groups), np.zeros(2 * groups), every
        ),
        "demographic_parity": Notion("demographic parity", demographic, constant, one_a_group),
        "accuracy_parity": Notion("accuracy parity", parity, np.zeros(groups), one_a_group),
        "accuracy": Notion("accuracy", joint[None], np.zeros(1), ((None, None),)),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is known of another model's fairness, given one model's."""

    level: Vector
    """f64[m], F_k of the reference model on the rows, as equation (1) signs it.

    Positive where the group does better than all rows.
    """
    change: Vector
    """f64[m]: the other's level differs by at most this, on the same rows (Theorem 3.2)."""
    lower: Vector
    """f64[m]: the other model's level is not below.

    No farther from `level` than `change`, and nearer where a rate would have to leave [0, 1].
    """
    upper: Vector
    """f64[m], the same for above."""
    vacuous: npt.NDArray[np.bool_]
    """bool[m], whether a level may be anything that rates in [0, 1] allow."""
    names: tuple[tuple[int | None, int | None], ...]
    """Label and group of each level."""
    distance: float
    """Between the weights, in l2 norm, that the bound holds for."""

    @property
    def mean_change(self) -> float:
        """The bound on the mean of the absolute levels, equation (2), averaged over the levels."""
        return float(self.change.mean())


def certify(
    margins: Margins,
    predicted: npt.NDArray[np.int64],
    distance: float,
    tightness: Tightness = "share",
) -> Mapping[str, Certificate]:
    """Bound a model's fairness by notion, whose weights are at most this far from the reference's.

    Theorem 3.2, and Theorem 4.4 where the distance is the quantile of the noise of a private model.
    The statement is about the rows: their empirical rates, not the population's. Margins and
    predictions, int64[n] of {0, 1}, are the reference model's; for the tightness see
    :func:`rate_change`.
    """
    groups = int(margins.group.max()) + 1
    changes = np.zeros((2, groups))
    correct = np.zeros((2, groups))
    for label in (0, 1):
        for group in range(groups):
            chosen = (margins.label == label) & (margins.group == group)
            if chosen.any():
                changes[label, group] = rate_change(margins.reach[chosen], distance, tightness)
                correct[label, group] = float(np.mean(predicted[chosen] == label))
    least, most = np.maximum(0, correct - changes), np.minimum(1, correct + changes)
    return {
        name: _certificate(notion, correct, changes, least, most, distance)
        for name, notion in notions(margins).items()
    }


def _certificate(
    notion: Notion,
    correct: npt.NDArray[np.float64],
    changes: npt.NDArray[np.float64],
    least: npt.NDArray[np.float64],
    most: npt.NDArray[np.float64],
    distance: float,
) -> Certificate:
    up, down = np.maximum(notion.weights, 0), np.minimum(notion.weights, 0)

    def total(positive: npt.NDArray[np.float64], negative: npt.NDArray[np.float64]) -> Vector:
        return np.asarray(
            notion.constant + (up * positive).sum(axis=(1, 2)) + (down * negative).sum(axis=(1, 2))
        )

    used = notion.weights != 0
    unknown = (least <= 0) & (most >= 1)
    return Certificate(
        total(correct, correct),
        (np.abs(notion.weights) * changes).sum(axis=(1, 2)),
        total(least, most),
        total(most, least),
        (unknown | ~used).all(axis=(1, 2)),
        notion.names,
        distance,
    )
