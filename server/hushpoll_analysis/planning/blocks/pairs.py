"""What surveys will say of two questions, one of which at least is in a block with others.

Within one block both are read from the block's own table, whose cells are sums of its weights. In
different blocks a cell is the mean of the product of the weights of either, which are independent
given the truth. Either way a sum of cells has known moments. Estimates are drawn as normal with
them, with a fixed seed, and each survey has Fieller's sets of its two ratios and Newcombe's of
their difference.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.estimates.combination_sums import Sums
from hushpoll_analysis.planning.blocks.follow_ups import sizes_of
from hushpoll_analysis.planning.expected_leads import SEED
from hushpoll_analysis.relations import chi_square
from hushpoll_analysis.relations.confidence_sets import Sets
from hushpoll_analysis.relations.powers import seen_part
from hushpoll_protocols import FrequencyOracle
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.estimation.marginals import UnevenSets
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]
Cells = tuple[Array, Array]
"""Coefficients of the categories of either question; those of the cells are their products."""

_NONE: Final = 1e-15


@dataclass(frozen=True, eq=False)
class Table:
    """The people by their answers to two questions.

    Attributes
    ----------
    of, given : PublishedAttribute
        The questions.
    people : f64[k of `of`, k of `given`]
        Their shares, summing to 1.
    cells : f64[k of `of`, k of `given`] or None
        Combinations of the block that both are in; None in different blocks, and in one whose cells
        all have as many.
    in_clear : bool
        Whether answers are taken as unperturbed.
    """

    of: PublishedAttribute
    given: PublishedAttribute
    people: Array
    cells: Array | None = None
    in_clear: bool = False

    @property
    def together(self) -> bool:
        """Whether both are in one block."""
        return self.of.block is not None and self.of.block == self.given.block

    def covariance(self, first: Cells, second: Cells) -> float:
        """Return n times the covariance of two sums of cells."""
        own, theirs = self._oracle(self.of), self._oracle(self.given)
        if self.together:
            cells = None if self.cells is None else self.cells.ravel()
            flat = Sums(own, self.people.ravel(), cells)
            return flat.covariance(np.outer(*first).ravel(), np.outer(*second).ravel())
        left = Sums(own, self.people.sum(axis=1), sizes_of(self.of))
        right = Sums(theirs, self.people.sum(axis=0), sizes_of(self.given))
        products = left.products(first[0], second[0]), right.products(first[1], second[1])
        both = float(products[0] @ self.people @ products[1])
        return both - self.mean(first) * self.mean(second)

    def _oracle(self, attribute: PublishedAttribute) -> FrequencyOracle | None:
        return None if self.in_clear else attribute.oracle

    def mean(self, cells: Cells) -> float:
        """Return the true sum of cells."""
        return float(cells[0] @ self.people @ cells[1])


def ratios_power(
    table: Table, of: tuple[Array, Array], groups: tuple[Array, Array], setting: Setting
) -> float:
    """Return the chance that the interval of the difference of two groups' ratios leaves out 0.

    Parameters
    ----------
    table : Table
        The people.
    of : (f64[k], f64[k])
        Coefficients of the categories in the numerator and in the denominator.
    groups : (f64[k], f64[k])
        Coefficients of the categories of both groups.
    setting : Setting
        Respondents, confidence, and surveys to be drawn.
    """
    drawn, covariance = _drawn(table, [(part, group) for group in groups for part in of], setting)
    z = normal_quantile(setting.confidence)
    first, second = (
        _fieller(drawn[place : place + 2], covariance[place : place + 2, place : place + 2], z)
        for place in (0, 2)
    )
    r, s = (np.where(np.isfinite(each.value), each.value, 0.0) for each in (first, second))
    c = covariance
    mixed = c[0, 2] - s * c[0, 3] - r * c[1, 2] + r * s * c[1, 3]
    own = c[0, 0] - 2 * r * c[0, 1] + r**2 * c[1, 1]
    theirs = c[2, 2] - 2 * s * c[2, 3] + s**2 * c[3, 3]
    correlation = np.clip(mixed / np.sqrt(np.maximum(own * theirs, _NONE)), -1.0, 1.0)
    gap = first.minus(second, correlation)
    return float(((gap.lower > 0) | (gap.upper < 0)).mean())


@dataclass(frozen=True, slots=True)
class Setting:
    """How many will be asked, and how it is predicted.

    Attributes
    ----------
    n : int
        Respondents, at least 1.
    confidence : float
        Of the intervals, in (0, 1).
    surveys : int
        Drawn.
    """

    n: int
    confidence: float
    surveys: int


def _drawn(table: Table, cells: list[Cells], setting: Setting) -> tuple[Array, Array]:
    """Return drawn estimates f64[sums, surveys] and their covariance f64[sums, sums]."""
    covariance = (
        np.array([[table.covariance(one, other) for other in cells] for one in cells]) / setting.n
    )
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    normal = np.random.default_rng(SEED).standard_normal((len(cells), setting.surveys))
    return np.array([table.mean(one) for one in cells])[:, None] + root @ normal, covariance


def _fieller(sums: Array, covariance: Array, z: float) -> Sets:
    """Return ratios of two sums with their sets, f64[surveys]; no bound where a set has none."""
    (top, under), square = sums, z * z
    a = under**2 - square * covariance[1, 1]
    b = top * under - square * covariance[0, 1]
    c = top**2 - square * covariance[0, 0]
    bounded = (a > 0) & (under > 0)
    safe = np.where(bounded, a, 1.0)
    half = np.sqrt(np.maximum(b**2 - safe * c, 0.0))
    value = top / np.where(bounded, under, 1.0)
    spread = covariance[0, 0] - 2 * value * covariance[0, 1] + value**2 * covariance[1, 1]
    error = np.sqrt(np.maximum(spread, 0.0)) / np.where(bounded, under, 1.0)
    return Sets(
        np.where(bounded, value, np.nan),
        np.where(bounded, error, np.nan),
        np.where(bounded, (b - half) / safe, -np.inf),
        np.where(bounded, (b + half) / safe, np.inf),
    )


def association_power(
    of: PublishedAttribute,
    given: PublishedAttribute,
    n: int,
    phi: float,
    *,
    alpha: float,
    cells: Array | None = None,
) -> float:
    """Return the chance that the test of independence rejects; all answers are as frequent.

    Where answers have different numbers of combinations, kinds of dependence differ in how well
    they are seen, and one of the middle is meant.

    Parameters
    ----------
    of, given : PublishedAttribute
        Two questions.
    n : int
        Respondents, at least 1.
    phi : float
        Root of Pearson's statistic of the population over n, above 0.
    alpha : float
        Level of the test, in (0, 1).
    cells : f64[k of `of`, k of `given`], optional
        Combinations of the block that both are in.
    """
    if cells is not None:
        seen = _efficiency(of.oracle, cells.ravel())
    else:
        seen = math.prod(_efficiency(one.oracle, sizes_of(one)) for one in (of, given))
    return chi_square.power(n * phi**2 * seen, (of.k - 1) * (given.k - 1), alpha)


def _efficiency(oracle: FrequencyOracle | None, sizes: Array) -> float:
    """Return the variance in clear over that from the records, of contrasts of even cells."""
    k = len(sizes)
    if oracle is not None and len(set(sizes.tolist())) > 1:
        return seen_part(UnevenSets(oracle, tuple(int(size) for size in sizes)), k)
    contrast = np.zeros(k)
    contrast[:2] = 1.0, -1.0
    return 2 / k / Sums(oracle, np.full(k, 1 / k)).covariance(contrast, contrast)
