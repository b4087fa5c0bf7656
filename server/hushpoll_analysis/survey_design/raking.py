"""Factors by which cells are multiplied so that they have known margins, and their residuals.

Iterative proportional fitting (Deming and Stephan, Annals of Mathematical Statistics 11, 1940)
multiplies the cells of each margin in turn until all margins agree. With one margin it is
post-stratification and needs one round. With bounds a cell's factor is the product of its margins'
factors, cut to the bounds (the truncated method of Deville and Särndal, JASA 87, 1992).

To first order a calibrated mean has the error of the mean of its residuals: those of the regression
of the outcome on the margins, weighted by the calibrated cells (the same paper, section 3). Cells
at a bound do not move and have no part in the regression.

Cells may be estimates from perturbed records, and then some may be below 0. The sums over each
margin's categories must be above 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import HushpollError

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

TOLERANCE = 1e-9
"""Largest difference of a margin's share at which the rounds end."""

ROUNDS = 2000
"""Most rounds over all margins."""

_LARGEST_FACTOR = 1e12


class NotCalibrated(HushpollError):
    """No factors give the cells these margins.

    `reason` is "empty" where a category of a margin has no cells, "apart" where the rounds do not
    end; `margin` and `category` are places, of the category that is empty or farthest from its
    share, and `apart` is by how much that share is missed; of an empty one the share itself.
    """

    def __init__(
        self, reason: Literal["empty", "apart"], margin: int, category: int, apart: float
    ) -> None:
        super().__init__(f"margin {margin}, category {category}: {reason} by {apart:.3g}")
        self.reason = reason
        self.margin = margin
        self.category = category
        self.apart = apart


@dataclass(frozen=True, slots=True)
class Grouping:
    """A margin: to which of its categories each cell belongs, and the shares.

    Attributes
    ----------
    places : int64[cells]
        In [0, categories).
    shares : f64[categories]
        At least 0, summing to 1.
    """

    places: Places
    shares: Array

    def sums(self, cells: Array) -> Array:
        """Return the sums of f64[cells] over each category."""
        return np.asarray(np.bincount(self.places, cells, len(self.shares)))


@dataclass(frozen=True, slots=True)
class Factors:
    """What cells are multiplied by."""

    factor: Array
    """f64[cells], at least 0; 0 where a margin's share is 0."""
    moving: npt.NDArray[np.bool_]
    """bool[cells], whether the factor is inside the bounds."""
    rounds: int


def rake(
    cells: Array, margins: Sequence[Grouping], bounds: tuple[float, float] | None = None
) -> Factors:
    """Return the factors that give the cells all margins.

    Shares of cells sum to 1; bounds are the least and the most of a factor, around 1. It raises
    `NotCalibrated` if a category with a share above 0 has no cells (their sum is not above 0), or
    if the margins are still apart after `ROUNDS` rounds.
    """
    low, high = (0.0, np.inf) if bounds is None else bounds
    by_category = [np.where(margin.shares > 0, 1.0, 0.0) for margin in margins]
    used = np.ones(len(cells), dtype=np.bool_)
    for margin, factor in zip(margins, by_category, strict=True):
        used &= factor[margin.places] > 0
    for number, margin in enumerate(margins):
        sums = margin.sums(np.where(used, cells, 0.0))
        empty = (margin.shares > 0) & (sums <= 0)
        if empty.any():
            place = int(np.argmax(np.where(empty, margin.shares, -1.0)))
            raise NotCalibrated("empty", number, place, float(margin.shares[place]))

    def factors() -> tuple[Array, Array]:
        product = used.astype(np.float64)
        for margin, factor in zip(margins, by_category, strict=True):
            product = product * factor[margin.places]
        return product, np.where(used, np.clip(product, low, high), 0.0)

    rounds = 0
    while True:
        _, factor = factors()
        gaps = [np.abs(margin.sums(factor * cells) - margin.shares) for margin in margins]
        if max(float(gap.max()) for gap in gaps) <= TOLERANCE:
            product, factor = factors()
            return Factors(factor, used & (product >= low) & (product <= high), rounds)
        if rounds == ROUNDS:
            number = int(np.argmax([gap.max() for gap in gaps]))
            place = int(np.argmax(gaps[number]))
            raise NotCalibrated("apart", number, place, float(gaps[number][place]))
        rounds += 1
        for number, margin in enumerate(margins):
            _, factor = factors()
            sums = margin.sums(factor * cells)
            wanted = margin.shares > 0
            if (wanted & (sums <= 0)).any():
                place = int(np.argmax(wanted & (sums <= 0)))
                raise NotCalibrated("apart", number, place, float(margin.shares[place]))
            ratio = np.where(wanted, margin.shares / np.where(wanted, sums, 1.0), 0.0)
            by_category[number] = np.minimum(by_category[number] * ratio, _LARGEST_FACTOR)


def fitted(cells: Array, outcome: Array, margins: Sequence[Grouping], factors: Factors) -> Array:
    """Return the outcome that the margins explain in each cell, f64[cells, k].

    `cells` are the shares before they are multiplied, and `outcome` f64[cells, k] those of the
    respondents in each cell and in each category of the outcome.
    """
    weight = np.where(factors.moving, factors.factor, 0.0)
    starts = np.cumsum([0, *(len(margin.shares) for margin in margins)]).tolist()
    normal = np.zeros((starts[-1], starts[-1]))
    right = np.zeros((starts[-1], outcome.shape[1]))
    for first, margin in enumerate(margins):
        rows = slice(starts[first], starts[first + 1])
        np.add.at(right[rows], margin.places, weight[:, None] * outcome)
        for second, other in enumerate(margins):
            columns = slice(starts[second], starts[second + 1])
            width = len(other.shares)
            pairs = np.bincount(
                margin.places * width + other.places,
                weight * cells,
                len(margin.shares) * width,
            )
            normal[rows, columns] = pairs.reshape(-1, width)
    slopes = np.linalg.lstsq(normal, right, rcond=1e-10)[0]
    explained: Array = np.zeros(outcome.shape)
    for first, margin in enumerate(margins):
        explained += slopes[starts[first] : starts[first + 1]][margin.places]
    return explained
