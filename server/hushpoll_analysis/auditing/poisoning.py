"""How far fake reports can move a fairness metric: the exact bound over well-formed records.

A fake gives an audit one row: any record of the protected attribute and of the target that is well
formed, and other answers that have the model predict whatever the attacker likes. Its terms are
products of weights that are linear in the numbers of supported categories, so the mean row of any
number of fakes lies in the convex hull of finitely many extreme rows. With a share f of all reports
fake, the genuine ones alone have the means (all - f fake)/(1 - f), and each group's rate is

    R_a = (N_a - f n_a)/(W_a - f w_a).

On a polytope the extremes of R_1 - R_0 and of R_0/R_1 lie on edges: among the rows of one value of
R_0 the other rate is linear-fractional, hence extreme at a vertex of the polytope's section, and
that is a point of an edge. So it is enough to look at all pairs of extreme rows and, between the
two, at the ends and where the derivative vanishes, which a quadratic equation gives. The largest
of several differences is at most the largest that any of them can be, which some fakes reach.

The predictions and the constants of the weights are the audit's own. What fakes do to a model that
is fitted to them comes on top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.moments import RATE_TERMS
from hushpoll_analysis.estimates.influence import QUOTED_SHARE
from hushpoll_analysis.estimates.weight_law import weights_of_supports
from hushpoll_analysis.metrics import largest_limits
from hushpoll_protocols import FrequencyOracle
from hushpoll_shared.group_metrics import METRICS
from hushpoll_shared.spelling.json_values import JsonMembers

Array = npt.NDArray[np.float64]

MOST_FAKES = 0.5
"""Share of fakes up to which it is asked whether they may have made a conclusion."""

SMALLEST_STEP = 1e-7
"""To how much such a share is found where it is tiny."""


@dataclass(frozen=True, slots=True)
class Poisoned:
    """What the genuine reports alone may have given."""

    fake_share: Fraction
    lowest: float
    """The metric's lowest value; as `highest` infinite if so many fakes can make up a whole group.
    A largest difference may not get as low: its differences are each taken at their lowest."""
    highest: float
    turning_share: float | None = None
    """Share of fakes from which on the audit's conclusion may be their work; see
    :func:`turning_share`. None where it was not asked for, or there is none."""

    def to_dict(self) -> JsonMembers:
        """Return the range as JSON: null where there is no bound."""
        return {
            "fake_share": float(self.fake_share),
            "lowest": self.lowest if np.isfinite(self.lowest) else None,
            "highest": self.highest if np.isfinite(self.highest) else None,
            "turning_share": self.turning_share,
        }


def without_fakes(
    mean: Array,
    rows: Array,
    metric: str,
    *,
    share: Fraction = QUOTED_SHARE,
    answering: Fraction = Fraction(1),
) -> Poisoned:
    """Return what a metric may be without the fakes among the reports.

    `mean` f64[8] is of the audit's terms (:mod:`hushpoll_analysis.auditing.moments`), over all
    reports, and `rows` f64[m, 8] are those of :func:`extreme_rows`; `share` is in [0, 1).
    `answering`, in (0, 1], is the part of the genuine reports that the audit is of: those that
    answer its questions, where these are in a draw. Every fake does.
    """
    compared = METRICS[metric]
    fakes = float(share / (share + (1 - share) * answering))
    ends = [
        _extremes(mean, rows, rate.name, fakes, ratio=compared.is_ratio) for rate in compared.rates
    ]
    if not compared.is_largest:
        return Poisoned(share, *ends[0])
    lower, upper = largest_limits([(np.asarray(low), np.asarray(high)) for low, high in ends])
    return Poisoned(share, float(lower), float(upper))


def turning_share(
    mean: Array,
    rows: Array,
    metric: str,
    *,
    value: float,
    lower: float,
    upper: float,
    answering: Fraction = Fraction(1),
) -> float | None:
    """Return the share of fakes from which on a conclusion may be their work.

    The genuine reports alone may then give a value so far from the one reported that a set as wide
    around it would lead to the other conclusion: it would hold the fair value where a disparity was
    found, and leave it out where none was. With fewer fakes no such value is possible: what a share
    of fakes can do, a larger one can do too, because the mean of all reports is itself one of the
    means that fakes can have.

    It is in (0, 0.5], to four digits, rounded down; None if more than half of the reports would
    have to be fake, if the set is unbounded, or for a largest difference whose set holds 0. The
    other parameters are those of :func:`without_fakes`.
    """
    compared, fair = METRICS[metric], METRICS[metric].fair
    if not np.isfinite([value, lower, upper]).all():
        return None
    # How far the value has to move down, and how far up.
    if fair < lower:
        down, up = lower - fair, np.inf
    elif fair > upper:
        down, up = np.inf, fair - upper
    elif compared.is_largest:
        return None
    else:
        down, up = upper - fair, fair - lower

    def turned(f: float) -> bool:
        range_ = without_fakes(mean, rows, metric, share=Fraction(f), answering=answering)
        return value - range_.lowest >= down or range_.highest - value >= up

    least, most = 0.0, MOST_FAKES
    if not turned(most):
        return None
    while most - least > least / 10_000 + SMALLEST_STEP:
        middle = (least + most) / 2
        least, most = (least, middle) if turned(middle) else (middle, most)
    unit = 10.0 ** (math.ceil(math.log10(most)) - 4)
    return math.floor(most / unit) * unit


def _extremes(mean: Array, rows: Array, rate: str, f: float, *, ratio: bool) -> tuple[float, float]:
    """Return the least and the largest ratio or difference of a rate, a share f being fake."""
    numerator, denominator = RATE_TERMS[rate]
    parts = []
    for group in (0, 1):
        own = slice(4 * group, 4 * group + 4)
        for combination in (numerator, denominator):
            parts.append(mean[own] @ combination - f * (rows[:, own] @ combination))
    _, w0, n1, w1 = parts
    if min(w0.min(), w1.min()) <= 0 or (ratio and n1.min() <= 0):
        return 0.0 if ratio else -np.inf, np.inf
    first, second = np.triu_indices(len(rows))
    ends = [(part[first], part[second] - part[first]) for part in parts]
    at = np.concatenate([_stationary(ends, ratio), np.tile([[0.0], [1.0]], len(first))])
    (a0, b0), (c0, d0), (a1, b1), (c1, d1) = ends
    r0, r1 = (a0 + b0 * at) / (c0 + d0 * at), (a1 + b1 * at) / (c1 + d1 * at)
    value = r0 / r1 if ratio else r1 - r0
    return float(value.min()), float(value.max())


def extreme_rows(
    groups: tuple[FrequencyOracle | None, Sequence[int], Array],
    labels: tuple[FrequencyOracle | None, Sequence[int], Array] | None,
    *,
    each_value: bool = False,
) -> Array:
    """Return rows f64[m, 8] whose convex hull holds the terms of every fake.

    `groups` and `labels` have the protocol of the protected attribute and of the target, the number
    of categories of the unprivileged and the privileged group, or of the negative and the positive
    answers, and of all others if there are others, and the estimated share of each. Without labels
    every row counts as negative. With `each_value` a row has a prediction for each category, so
    that the groups' differ.
    """
    weight = _extreme_weights(*groups)[:, :2]
    label = np.array([[1.0, 0.0]]) if labels is None else _extreme_weights(*labels)[:, :2]
    rows = []
    for (own, chosen), (negative, positive) in product(_chosen(weight, groups, each_value), label):
        of = np.array([positive, negative])
        rows.append(
            np.concatenate([part * of for group in (0, 1) for part in (own[group], chosen[group])])
        )
    return np.unique(np.array(rows), axis=0)


def extreme_rows_of_cells(
    cells: tuple[FrequencyOracle, Sequence[int], Array], *, each_value: bool = False
) -> Array:
    """Return rows f64[m, 8] whose convex hull holds the terms of every fake, of one block.

    `cells` have the protocol of the block that has the protected attribute and the target, how many
    combinations the unprivileged group has with a negative and with a positive label, then the
    privileged group, and of all others if there are others, and the estimated share of each.
    """
    weight = _extreme_weights(*cells)[:, :4]
    least, most = _parts(*cells)
    rows = []
    for number, own in enumerate(weight):
        of_one = [own, np.zeros(4)]
        if each_value:
            ends = ([least[number, cell], most[number, cell]] for cell in range(4))
            of_one = [np.array(chosen) for chosen in product(*ends)]
        for chosen in of_one:
            rows.append(
                np.concatenate(
                    [part[[2 * group + 1, 2 * group]] for group in (0, 1) for part in (own, chosen)]
                )
            )
    return np.unique(np.array(rows), axis=0)


def _chosen(
    weight: Array,
    groups: tuple[FrequencyOracle | None, Sequence[int], Array],
    each_value: bool,
) -> list[tuple[Array, Array]]:
    """Return each extreme weight of the groups with that of those predicted positive in it."""
    if not each_value:
        return [(own, own * predicted) for own in weight for predicted in (0, 1)]
    oracle, sizes, shares = groups
    least, most = _parts(oracle, sizes, shares)
    return [
        (own, np.array(chosen))
        for number, own in enumerate(weight)
        for chosen in product(*([least[number, group], most[number, group]] for group in (0, 1)))
    ]


def _extreme_weights(oracle: FrequencyOracle | None, sizes: Sequence[int], shares: Array) -> Array:
    """Return weights f64[m, sets] of records whose convex hull holds those of all."""
    if oracle is None:
        return np.eye(len(sizes))
    return weights_of_supports(oracle, sizes, shares.tolist(), _extreme_supports(oracle, sizes))


def _extreme_supports(oracle: FrequencyOracle, sizes: Sequence[int]) -> Array:
    """Return the vertices f64[m, sets] of what records can support of each set."""
    if oracle.support_size is None:
        return np.array(list(product(*([0.0, float(size)] for size in sizes))))
    vertices = set()
    for order in permutations(range(len(sizes))):
        left, counts = oracle.support_size, [0.0] * len(sizes)
        for place in order:
            counts[place] = float(min(left, sizes[place]))
            left -= int(counts[place])
        vertices.add(tuple(counts))
    return np.array(sorted(vertices))


def _parts(
    oracle: FrequencyOracle | None, sizes: Sequence[int], shares: Array
) -> tuple[Array, Array]:
    """Return the least and the most that a part of a set's categories can weigh, f64[m, sets].

    A set of one category weighs all or nothing. Of the weights D_v - c_v T of a larger one, D_v
    adds up to at most that of the supported ones, and at least to that of the others; -c_v T to at
    most the whole set's, as no c_v is negative. This is a bound that need not be reached.
    """
    if oracle is None:
        return np.zeros((len(sizes), len(sizes))), np.eye(len(sizes))
    supported, size = _extreme_supports(oracle, sizes), np.asarray(sizes, dtype=np.float64)
    q, gap = float(oracle.q), float(oracle.p - oracle.q)
    weight = weights_of_supports(oracle, sizes, shares.tolist(), supported)
    excess = weight - (supported - size * q) / gap
    most = supported * (1 - q) / gap + np.maximum(excess, 0.0)
    least = (supported - size) * q / gap + np.minimum(excess, 0.0)
    alone = size == 1
    return (
        np.where(alone, np.minimum(weight, 0.0), least),
        np.where(alone, np.maximum(weight, 0.0), most),
    )


def _stationary(ends: Sequence[tuple[Array, Array]], ratio: bool) -> Array:
    """Return f64[2, m] in [0, 1]: where a metric may be extreme between two rows."""
    (a0, b0), (c0, d0), (a1, b1), (c1, d1) = ends
    if ratio:
        # R_0/R_1 = (a0 + b0 t)(c1 + d1 t)/((a1 + b1 t)(c0 + d0 t)): a quadratic over a quadratic
        p, q = (a0 * c1, a0 * d1 + b0 * c1, b0 * d1), (a1 * c0, a1 * d0 + b1 * c0, b1 * d0)
        roots = _roots(
            p[2] * q[1] - p[1] * q[2], 2 * (p[2] * q[0] - p[0] * q[2]), p[1] * q[0] - p[0] * q[1]
        )
    else:
        # the derivatives of R_1 and R_0 are k/(c + d t)^2
        k0, k1 = b0 * c0 - a0 * d0, b1 * c1 - a1 * d1
        roots = _roots(
            k1 * d0**2 - k0 * d1**2,
            2 * (k1 * c0 * d0 - k0 * c1 * d1),
            k1 * c0**2 - k0 * c1**2,
        )
    return np.clip(roots, 0.0, 1.0)


def _roots(a: Array, b: Array, c: Array) -> Array:
    """Return the roots f64[2, m] of a t^2 + b t + c; 0 where there are none."""
    under = np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0))
    far = -(b + np.where(b >= 0, under, -under)) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        roots = np.stack([far / a, c / far])
    return np.nan_to_num(roots, nan=0.0, posinf=0.0, neginf=0.0)
