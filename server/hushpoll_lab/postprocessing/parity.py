"""Statistical parity by changing as few predictions as possible, for two groups.

Ghoukasian and Asoodeh, "Differentially Private Fair Binary Classifications". Two classifiers, one
for each group, predict the positive class for shares alpha and beta of their groups. Some
predictions are flipped by a coin, so that both groups get the share (alpha + beta) / 2.
:func:`parity_rule` is Algorithm 1, :func:`private_rates` the step that makes it Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from hushpoll_lab.central.discrete_laplace import exact_epsilon, noisy_count
from hushpoll_protocols.bits import Bits, SecureBits
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject

Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PositiveRates:
    """Shares of positive predictions in two groups.

    Attributes
    ----------
    rates : (float, float)
        The rates of group 0 (alpha) and of group 1 (beta), in [0, 1].
    sizes : (int, int)
        Rows that they were counted in; the sizes are taken to be public.
    epsilons : (float, float) or None
        What the two counts spent; None for rates without noise.
    """

    rates: tuple[float, float]
    sizes: tuple[int, int]
    epsilons: tuple[float, float] | None = None

    @property
    def epsilon(self) -> float:
        """What both rates spend, by basic composition as in Theorem 3; 0 without noise.

        It holds for neighbours that differ in one row, its group included, while the groups' sizes
        are public.
        """
        return sum(self.epsilons) if self.epsilons else 0.0


@dataclass(frozen=True, slots=True)
class ParityRule:
    """How predictions are flipped.

    Attributes
    ----------
    flip : f64[2, 2]
        Chance that the prediction of a row is flipped, by group and prediction.
    """

    flip: npt.NDArray[np.float64]

    def chances(self, predictions: Labels, groups: Labels) -> npt.NDArray[np.float64]:
        """Return the chance of a positive prediction after the coin, f64[n].

        Parameters
        ----------
        predictions, groups : int64[n] of {0, 1}
            The classifiers' predictions, and the group of each row.

        Raises
        ------
        InvalidParameter
            For other values, or arrays of different lengths.
        """
        _check_rows(predictions, groups)
        flip = self.flip[groups, predictions]
        return np.where(predictions == 1, 1 - flip, flip)

    def draw(self, predictions: Labels, groups: Labels, rng: np.random.Generator) -> Labels:
        """Toss the coin of each row and return the predictions, int64[n] of {0, 1}."""
        chances = self.chances(predictions, groups)
        return (rng.random(chances.size) < chances).astype(np.int64)

    def to_json(self) -> JsonMembers:
        """Return the rule as saved models hold it."""
        return {"flip": self.flip.tolist()}

    @classmethod
    def from_json(cls, saved: JsonObject) -> ParityRule:
        """Read what :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If it is anything but four chances.
        """
        flip = np.array(saved["flip"], np.float64)
        if flip.shape != (2, 2) or not ((flip >= 0) & (flip <= 1)).all():
            raise ValueError("flip must hold two rows of two chances in [0, 1]")
        return cls(flip)


def positive_rates(predictions: Labels, groups: Labels) -> PositiveRates:
    """Return the shares of positive predictions, without noise (Algorithm 1, line 1).

    Raises
    ------
    InvalidParameter
        For values other than 0 and 1, arrays of different lengths, or an empty group.
    """
    counts, sizes = _count(predictions, groups)
    return PositiveRates((counts[0] / sizes[0], counts[1] / sizes[1]), sizes)


def private_rates(
    predictions: Labels,
    groups: Labels,
    epsilons: tuple[Decimal | str | float, Decimal | str | float],
    bits: Bits | None = None,
) -> PositiveRates:
    """Return the shares of positive predictions with noise (Algorithm 2, lines 1 and 2).

    The paper adds Laplace noise to a mean. Here discrete Laplace noise is added to the count behind
    it, which has sensitivity 1, and the sum is divided by the size of the same group: n theta for
    group 0, n (1 - theta) for group 1. (Line 1 prints n theta for both.)

    Parameters
    ----------
    predictions, groups : int64[n] of {0, 1}
        Those of rows that the classifiers were not trained on.
    epsilons : two of Decimal, str or float
        What the rates of group 0 and of group 1 may spend, each in (0, 64].
    bits : Bits, optional
        The source of randomness; the operating system's by default.

    Raises
    ------
    InvalidParameter
        For values other than 0 and 1, arrays of different lengths, an empty group, or an epsilon
        outside its interval.
    """
    source = SecureBits() if bits is None else bits
    exact = [exact_epsilon(epsilon, f"epsilon_{group}") for group, epsilon in enumerate(epsilons)]
    counts, sizes = _count(predictions, groups)
    noisy = [noisy_count(counts[group], epsilons[group], source) for group in (0, 1)]
    rates = [min(max(noisy[group] / sizes[group], 0.0), 1.0) for group in (0, 1)]
    return PositiveRates((rates[0], rates[1]), sizes, (float(exact[0]), float(exact[1])))


def parity_rule(rates: PositiveRates) -> ParityRule:
    """Return the rule that gives both groups the same share of positive predictions.

    Algorithm 1, lines 2 and 3: in the group with the larger share, positive predictions are flipped
    with chance (high - low) / (2 high); in the other, negative ones with chance
    (high - low) / (2 (1 - low)).
    Where the shares are equal, nothing is flipped; this covers shares of 0 and of 1, for which the
    paper's quotients are 0 / 0.
    """
    flip = np.zeros((2, 2))
    high, low = (0, 1) if rates.rates[0] >= rates.rates[1] else (1, 0)
    gap = rates.rates[high] - rates.rates[low]
    if gap > 0:  # so the high rate is above 0, and the low one below 1
        flip[high, 1] = gap / (2 * rates.rates[high])
        flip[low, 0] = gap / (2 * (1 - rates.rates[low]))
    return ParityRule(flip)


def _count(predictions: Labels, groups: Labels) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return positive predictions and rows of each group."""
    _check_rows(predictions, groups)
    sizes = np.bincount(groups, minlength=2)
    if sizes.min() == 0:
        raise InvalidParameter(
            f"group {int(sizes.argmin())} has no rows; post-processing for parity needs rows of "
            "both groups",
            field="groups",
        )
    counts = np.bincount(groups[predictions == 1], minlength=2)
    return (int(counts[0]), int(counts[1])), (int(sizes[0]), int(sizes[1]))


def _check_rows(predictions: Labels, groups: Labels) -> None:
    for field, values in (("predictions", predictions), ("groups", groups)):
        other = values[(values != 0) & (values != 1)]
        if other.size:
            raise InvalidParameter(f"{field} has the value {other[0]}; give 0 or 1", field=field)
    if predictions.shape != groups.shape or predictions.ndim != 1:
        raise InvalidParameter(
            f"predictions have shape {predictions.shape} and groups {groups.shape}; give one value "
            "of each for every row",
            field="groups",
        )
