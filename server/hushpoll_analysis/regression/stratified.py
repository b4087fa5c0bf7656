"""The adjusted odds ratio of a stratified table, of Mantel and Haenszel: the simplest case.

A stratum has the cells a, b (with and without the outcome, of those who have the predictor) and
c, d (of the others). In clear the ratio is R / S with R = sum of a d / n and S = sum of b c / n
(Mantel and Haenszel, JNCI 1959). Of records, each cell has the debiased indicator x of a record in
place of its 0 or 1, and a d becomes the sum of x_a x_d over pairs of *different* respondents: in
clear that is the same number, and its expectation is the one of the answers, whatever the noise.

R - psi S is then a sum of U-statistics with the kernel q(x, y) = x'M y. Its variance is estimated
without bias by four times the sum over respondents of their squared sums of q, less twice that of
the squared q (Hoeffding 1948, both components), so that it holds for few large strata and for many
small ones. The interval is the set of all psi that it does not refuse, as Fieller's: it may have no
end. In clear the variance is that of Robins, Breslow and Greenland (Biometrics 1986).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from hushpoll_analysis.regression.answers import Answers, Numbers, Unit
from hushpoll_analysis.regression.terms.coding import coded
from hushpoll_analysis.regression.terms.formulas import Factor, Formula

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

ROBINS: Final = "Robins, Breslow and Greenland"
FIELLER: Final = "pairs of records"
_CELLS: Final = 4


@dataclass(frozen=True)
class AdjustedOdds:
    """The odds ratio of one yes/no predictor, with all others held fixed as strata."""

    name: str
    """The predictor and its category."""
    strata: int
    """Combinations of the other predictors that some row has."""
    odds_ratio: float | None
    """None where R or S is not positive: the records are too noisy."""
    lower: float | None
    """None: the interval has no end on that side."""
    upper: float | None
    p_value: float | None
    """The p-value of the null hypothesis that the ratio is 1."""
    method: str
    """Where the variance comes from."""


def adjusted_odds(
    formula: Formula, answers: Answers, *, confidence: float
) -> tuple[AdjustedOdds, ...]:
    """Return the adjusted odds ratio of each predictor with two categories that has one.

    The outcome has two categories; the terms are columns of categories, each alone; all but the
    predictor itself are in clear. Rows drawn together in clusters have none, nor has a law that
    needs several groups of respondents to tell answers apart.
    """
    factors = [term[0] for term in formula.terms if len(term) == 1]
    if len(factors) < sum(bool(term) for term in formula.terms) or answers.clusters is not None:
        return ()
    if not factors or not all(_of_categories(one, answers) for one in (formula.outcome, *factors)):
        return ()
    if not all(unit.patterns.has_moments for unit in answers.units):
        return ()
    hidden = [one for one in factors if answers.unit_of(one.variables[0]) is not None]
    found = []
    for factor in hidden if len(hidden) == 1 else factors if not hidden else []:
        others = [one for one in factors if one is not factor]
        levels = coded(factor, answers).levels
        if levels is None or len(levels) != 2:
            continue
        stratum = np.zeros(answers.n, np.int64)
        for one in others:
            joined = stratum * (int(_codes(one, answers).max()) + 1) + _codes(one, answers)
            stratum = np.unique(joined, return_inverse=True)[1].astype(np.int64)
        name = f"{factor.text}[T.{levels[1]}]"
        cells, clear = _cells(formula.outcome, factor, answers)
        found.append(_ratio(name, cells, stratum, answers.weights, confidence, clear=clear))
    return tuple(found)


def _of_categories(factor: Factor, answers: Answers) -> bool:
    column = answers.clear.get(factor.variables[0])
    return factor.tree is None and (factor.as_categories or not isinstance(column, Numbers))


def _codes(factor: Factor, answers: Answers) -> Places:
    """Return the places of a column in clear among its levels, the reference 0."""
    one, column = coded(factor, answers), answers.clear[factor.variables[0]]
    codes: Any = column.values if isinstance(column, Numbers) else column.codes
    if one.cuts is not None:
        codes = np.searchsorted(one.cuts, codes)
    assert one.order is not None  # noqa: S101  (a column of categories has it)
    return np.asarray(one.order[np.asarray(codes, np.int64)], np.int64)


def _indicators(factor: Factor, answers: Answers) -> Array:
    """Return f64[n, 2]: the indicators of a column in clear, or the debiased ones of its unit."""
    name = factor.variables[0]
    unit = answers.unit_of(name)
    if unit is None:
        return np.asarray(np.eye(2)[_codes(factor, answers)], np.float64)
    return _of_questions(unit, (name,), answers, (factor,))


def _of_questions(
    unit: Unit, names: tuple[str, ...], answers: Answers, factors: tuple[Factor, ...]
) -> Array:
    """Return f64[n, 2 (, 2)]: debiased indicators of one or two questions of a unit."""
    whole, codes = unit.patterns.debiased(unit.places), unit.combinations.codes
    found = np.zeros((len(whole), *(len(answers.question(name).domain) for name in names)))
    for place, column in enumerate(whole.T):
        found[(slice(None), *(codes[name][place] for name in names))] += column
    for axis, factor in enumerate(factors, start=1):
        order = coded(factor, answers).order
        assert order is not None  # noqa: S101
        found = np.take(found, np.argsort(order), axis=axis)
    return np.asarray(found, np.float64)


def _cells(outcome: Factor, predictor: Factor, answers: Answers) -> tuple[Array, bool]:
    """Return the (debiased) indicators of a, b, c and d, f64[n, 4], and whether all is in clear."""
    y, x = answers.unit_of(outcome.variables[0]), answers.unit_of(predictor.variables[0])
    if y is not None and x is not None and y.name == x.name:
        names = (predictor.variables[0], outcome.variables[0])
        both = _of_questions(y, names, answers, (predictor, outcome))
    else:
        both = _indicators(predictor, answers)[:, :, None]
        both = both * _indicators(outcome, answers)[:, None, :]
    a, b, c, d = both[:, 1, 1], both[:, 1, 0], both[:, 0, 1], both[:, 0, 0]
    return np.stack([a, b, c, d], axis=1), y is None and x is None


def _ratio(
    name: str,
    cells: Array,
    stratum: Places,
    weights: Array | None,
    confidence: float,
    *,
    clear: bool,
) -> AdjustedOdds:
    """Return the ratio, with its interval."""
    strata = int(stratum.max()) + 1
    size = np.asarray(np.bincount(stratum, weights, strata), np.float64)
    x = cells if weights is None else cells * weights[:, None]
    sums = [np.bincount(stratum, column, strata) for column in x.T]
    total = np.asarray(np.stack(sums, axis=1), np.float64)
    own = np.stack(
        [np.bincount(stratum, x[:, i] * x[:, j], strata) for i, j in ((0, 3), (1, 2))], axis=1
    )
    r = ((total[:, 0] * total[:, 3] - own[:, 0]) / size).sum()
    s = ((total[:, 1] * total[:, 2] - own[:, 1]) / size).sum()
    z = float(stats.norm.ppf((1 + confidence) / 2))
    ratio = float(r / s) if r > 0 and s > 0 else None
    if clear and weights is None:
        return _in_clear(name, total, size, ratio, z)
    zero, one, less = (_variance(x, stratum, total, size, psi) for psi in (0.0, 1.0, -1.0))
    # the variance of R - psi S is zero + linear psi + square psi^2
    square, linear = (one + less) / 2 - zero, (one - less) / 2
    lower, upper = _fieller(r, s, zero, linear, square, z)
    p_value = float(2 * stats.norm.sf(abs(r - s) / math.sqrt(one))) if one > 0 else None
    return AdjustedOdds(name, strata, ratio, lower, upper, p_value, FIELLER)


def _variance(x: Array, stratum: Places, total: Array, size: Array, psi: float) -> float:
    """Return the estimated variance of R - psi S."""
    m = np.zeros((_CELLS, _CELLS))
    m[0, 3] = m[3, 0] = 0.5
    m[1, 2] = m[2, 1] = -psi / 2
    pulled = x @ m
    alone = (pulled * x).sum(axis=1)
    sums = (pulled * total[stratum]).sum(axis=1) - alone
    products = np.zeros((len(size), _CELLS, _CELLS))
    for i in range(_CELLS):
        for j in range(_CELLS):
            products[:, i, j] = np.bincount(stratum, x[:, i] * x[:, j], len(size))
    squares = np.einsum("ni,nij,nj->n", pulled, products[stratum], pulled) - alone**2
    each = np.bincount(stratum, 4 * sums**2 - 2 * squares, len(size))
    return float((each / size**2).sum())


def _fieller(
    r: float, s: float, zero: float, linear: float, square: float, z: float
) -> tuple[float | None, float | None]:
    """Return the ends of {psi > 0: (r - psi s)^2 <= z^2 variance}, of two parts the outer ones."""
    a, b, c = s * s - z * z * square, -2 * r * s - z * z * linear, r * r - z * z * zero
    inside = b * b - 4 * a * c
    if a <= 0 and inside <= 0:
        return None, None
    if inside <= 0:  # nowhere below: rounding at a variance that is not positive
        return None, None
    roots = sorted((-b + side * math.sqrt(inside)) / (2 * a) for side in (-1, 1))
    if a > 0:
        low, high = roots
        if high <= 0:
            return None, None
        return (low if low > 0 else None), high
    # outside of the roots: from 0 to the first, and from the second on
    if roots[0] > 0:
        return None, None
    return (roots[1] if roots[1] > 0 else None), None


def _in_clear(name: str, total: Array, size: Array, ratio: float | None, z: float) -> AdjustedOdds:
    a, b, c, d = total.T
    r, s = a * d / size, b * c / size
    if ratio is None:
        return AdjustedOdds(name, len(size), None, None, None, None, ROBINS)
    p, q = (a + d) / size, (b + c) / size
    R, S = r.sum(), s.sum()
    variance = float(
        (p * r).sum() / (2 * R**2)
        + (p * s + q * r).sum() / (2 * R * S)
        + (q * s).sum() / (2 * S**2)
    )
    error = math.sqrt(variance)
    log = math.log(ratio)
    low, high = math.exp(log - z * error), math.exp(log + z * error)
    p_value = float(2 * stats.norm.sf(abs(log) / error)) if error else None
    return AdjustedOdds(name, len(size), ratio, low, high, p_value, ROBINS)
