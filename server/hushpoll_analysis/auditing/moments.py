"""The numbers that each row gives to an audit: their weights, their means and their products.

A row's weights in the categories of an attribute are those of the estimates
(:mod:`hushpoll_protocols.estimation.weights`), so that audits and estimates give the same shares.
The respondent's other records say nothing of the excess T either, so the weights stay unbiased when
predictions and labels are multiplied in.

Per group a (0 unprivileged, 1 privileged) a row gives, D_a being its weight in the group, y and
1 - y its label and yhat its prediction,

    D_a y,  D_a (1 - y),  yhat D_a y,  yhat D_a (1 - y).

Every group rate is a ratio of two fixed linear combinations of their means. Label and prediction
may be estimates themselves: y the weight of a perturbed label, and yhat D_a the sum of yhat_v D_v
over the categories v of the group, where yhat_v is what is predicted if the answer is v. Records of
different attributes are perturbed independently, so each product has the truth as its expectation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.records import Channel
from hushpoll_shared.group_metrics import RATES, Cells

TERMS = 8
"""Numbers per row: four per group, the unprivileged group first."""


def _over_terms(cells: Cells) -> npt.NDArray[np.float64]:
    """Return weights over a group's four terms, from those of its four counts."""
    true_negative, false_positive, false_negative, true_positive = cells
    return np.array(
        [
            float(false_negative),
            true_negative,
            true_positive - false_negative,
            false_positive - true_negative,
        ]
    )


RATE_TERMS: Mapping[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]] = {
    name: (_over_terms(rate.hits), _over_terms(rate.rows)) for name, rate in RATES.items()
}
"""Numerator and denominator of each rate over a group's four terms."""

PEOPLE = RATE_TERMS["P"][1]
"""Combination of a group's terms whose mean is the share of the people in it."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Means of the terms and of their products; add two to join their rows.

    Leading axes, where there are any, are separate surveys of n rows each.
    """

    n: int
    mean: npt.NDArray[np.float64]
    """f64[..., 8], of each term."""
    second: npt.NDArray[np.float64]
    """f64[..., 8, 8], of each product of two terms."""
    third: npt.NDArray[np.float64]
    """f64[..., 2, 4, 4, 4], of each product of three terms of one group: what the skewness of its
    rates needs."""
    fourth: npt.NDArray[np.float64]
    """f64[..., 2, 16, 16], of each product of four, by pairs of terms: what their kurtosis
    needs."""

    @classmethod
    def none(cls) -> Moments:
        """Return the moments of no row."""
        return cls(
            0,
            np.zeros(TERMS),
            np.zeros((TERMS, TERMS)),
            np.zeros((2, 4, 4, 4)),
            np.zeros((2, 16, 16)),
        )

    @classmethod
    def of(cls, terms: npt.NDArray[np.float64]) -> Moments:
        """Return the moments of rows f64[n, 8], n at least 1."""
        return cls.weighed(terms, np.full(len(terms), 1.0 / len(terms)), len(terms))

    @classmethod
    def weighed(
        cls, terms: npt.NDArray[np.float64], share: npt.NDArray[np.float64], n: int
    ) -> Moments:
        """Return the moments of n rows of m kinds: terms f64[..., m, 8], shares f64[..., m]."""
        weighed = terms * share[..., None]
        third, fourth = [], []
        for own in (slice(0, 4), slice(4, 8)):
            part = terms[..., own]
            pairs = (part[..., :, None] * part[..., None, :]).reshape(*part.shape[:-1], 16)
            triples = np.swapaxes(weighed[..., own], -1, -2) @ pairs
            third.append(triples.reshape(*triples.shape[:-1], 4, 4))
            fourth.append(np.swapaxes(pairs * share[..., None], -1, -2) @ pairs)
        return cls(
            n,
            weighed.sum(axis=-2),
            np.swapaxes(weighed, -1, -2) @ terms,
            np.stack(third, axis=-4),
            np.stack(fourth, axis=-3),
        )

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        ours, theirs = self.n / max(n, 1), other.n / max(n, 1)
        return Moments(
            n,
            ours * self.mean + theirs * other.mean,
            ours * self.second + theirs * other.second,
            ours * self.third + theirs * other.third,
            ours * self.fourth + theirs * other.fourth,
        )


def row_terms(
    weights: npt.NDArray[np.float64],
    predicted: npt.NDArray[np.int8],
    groups: tuple[Sequence[int], Sequence[int]],
    positive: npt.NDArray[np.float64],
    negative: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return the terms f64[..., 8] of rows.

    `weights` f64[..., k] are those of the row in each category of the protected attribute, such as
    its debiased indicator; `predicted` is 0 or 1, or has one for each category that the answer may
    be; `groups` have the codes of the unprivileged and of the privileged one. `positive` and
    `negative` are y and 1 - y, or weights with those expectations; both 0 where the target has no
    answer.
    """
    each = predicted if predicted.ndim == weights.ndim else predicted[..., None]
    chosen = weights * each
    labels = np.stack([positive, negative], axis=-1)
    parts = [
        part[..., list(codes)].sum(axis=-1)[..., None] * labels
        for codes in groups
        for part in (weights, chosen)
    ]
    return np.concatenate(parts, axis=-1)


def row_terms_of_cells(
    cells: npt.NDArray[np.float64],
    predicted: npt.NDArray[np.int8],
    groups: tuple[Sequence[int], Sequence[int]],
) -> npt.NDArray[np.float64]:
    """Return terms f64[..., 8] by weights f64[..., k, 2] in cells of positive, negative labels."""
    each = predicted if predicted.ndim == cells.ndim - 1 else predicted[..., None]
    chosen = cells * each[..., None]
    parts = [part[..., list(codes), :].sum(axis=-2) for codes in groups for part in (cells, chosen)]
    return np.concatenate(parts, axis=-1)


def weights(
    indicators: npt.NDArray[np.uint8], channel: Channel, shares: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return D_v - c_v T, f64[..., k]: its expectation given the truth is the one-hot truth."""
    debiased = channel.debias(indicators)
    if not shares.any():
        return debiased
    excess = debiased.sum(axis=-1, keepdims=True) - 1.0
    return np.asarray(debiased - shares * excess)
