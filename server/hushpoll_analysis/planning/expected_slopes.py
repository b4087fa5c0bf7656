"""The power to find a slope of a regression, by the information that one record has on average.

A survey with n respondents has a standard error of sqrt(v / n), v the slope's place in the inverse
of the expected information of one record, at the slope that is wanted. Information is the mean of
the products of the scores, which have mean zero. It is averaged over drawn records, with a fixed
seed, of the very likelihood that the regression maximises: outcome and predictors may be perturbed,
in blocks or in clear. The test is that of the regression, two-sided: its distance from 0 is half
by the error at the estimate, half by that at no slope
(:mod:`hushpoll_analysis.regression.variances`), which a rare outcome makes the smaller of the two.
The fit's errors are those at its estimates, which are less their first-order bias. Of a rare
outcome these are nearer to even shares, and the errors up to 8 % smaller than at the truth
(simulated: 5 to 8 %); so both errors are taken at the truth less the bias.

Taken is: predictors are independent of each other, the categories of each are alike but for the
smaller group, the outcome's second answer has the wanted share where the predictor has its first
answer (or, of a number, its mean), and all other slopes are 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.planning.expected_leads import SEED
from hushpoll_analysis.regression.answers import (
    Answers,
    Categories,
    Numbers,
    Unit,
    patterns_of,
)
from hushpoll_analysis.regression.combinations import combinations_of
from hushpoll_analysis.regression.outcomes import LOGIT, family_of
from hushpoll_analysis.regression.survey import checked_formula
from hushpoll_analysis.regression.terms.design import Design, design_of
from hushpoll_analysis.regression.terms.formulas import Formula, formula_of, is_scored
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_protocols.kernels import perturb
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import PublishedAttribute

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]
Codes = Mapping[str, Places]

RECORDS: Final = 100_000
"""Drawn, over which the information is averaged."""
LARGEST: Final = 3.0
"""Slope, in logits: odds 20 times as high. Beyond it chances are so near 0 and 1 that noise hides
how large it is."""
_ROUNDS: Final = 4
"""In which the smallest estimate is found that is told from 0."""
_BEYOND: Final = 2.0
"""Slopes up to which its variance is taken to change as between 0 and the slope."""
_MOVED: Final = 0.5
"""Standard errors, of the drawn records, by which parameters are moved in the direction of bias."""
_MOST_WORK: Final = 1e9
"""Products of an information, of all coefficients, above which a bias takes seconds: it is left."""
_MOST_FALL: Final = 0.25
"""The most fall of the logarithm of a standard error by the bias, which is of first order."""
_LEAST: Final = 0.25
"""The part of the variance if the slope was 0 that it has at least."""


@dataclass(frozen=True)
class Slope:
    """A slope of a logit, and the people who will be asked."""

    digest: str
    """It and the following say what the information depends on."""
    outcome: str
    predictors: tuple[str, ...]
    """The one whose slope it is, and those that are held fixed."""
    value: float
    """In logits: of the predictor's second answer beside its first, or of one more of a number."""
    share: float
    """The share of the outcome's second answer, where the predictor has its first one; in (0,
    1)."""
    group: float
    """Part of the respondents with the predictor's second answer, in (0, 1)."""
    in_clear: bool = False
    published: Published = field(compare=False, kw_only=True)

    def formula(self) -> Formula:
        """Return the formula of the regression."""
        text = formula_of(self.published, self.outcome, self.predictors, family=LOGIT)
        return checked_formula(self.published, text, family=LOGIT)


def slope_power(slope: Slope, n: int, confidence: float) -> float:
    """Return the chance that the interval of a slope leaves out 0."""
    one = _errors_of_one(slope)
    spread = one.at_slope / n**0.5
    z, distance = normal_quantile(confidence), abs(slope.value) / spread
    if not distance:
        return 2 * _normal(-z)
    # what the fit says of an estimate's error is that at the estimates, which are less their bias
    found = spread * math.exp(max(one.slope_falls / n, -_MOST_FALL))
    without = one.at_none / n**0.5 * math.exp(max(one.none_falls / n, -_MOST_FALL))
    # an estimate that is just told from 0 has an error between both
    least, share = z * without, 1.0
    for _ in range(_ROUNDS):
        share = min(least / abs(slope.value), _BEYOND)
        there = max(without**2 + share * (found**2 - without**2), _LEAST * without**2) ** 0.5
        least = 2 * z / (1 / there + 1 / without)
    return _normal(distance - least / spread) + _normal(-distance - least / spread)


def noise(slope: Slope, n: int) -> float | None:
    """Return the expected standard error for which a regression calls a slope too noisy to tell.

    It is known before any answer: that of the slope itself, where it is above `NOISY`, or that of
    another one, beside which the regression tells none. None where the slope is told.
    """
    from hushpoll_analysis.regression.inference import NOISY, TRUSTED

    one = _errors_of_one(slope)
    own, largest = (float(error / math.sqrt(n)) for error in (one.expected, one.largest))
    if one.hidden and largest > TRUSTED:
        return largest
    return own if own > NOISY else None


@dataclass(frozen=True)
class _Errors:
    """Standard errors times the root of respondents."""

    at_slope: float
    """The slope's; `at_none` is that if it was 0."""
    at_none: float
    slope_falls: float
    """By how much its logarithm changes where the outcome's parameters are less their bias, times
    respondents; `none_falls` for `at_none`."""
    none_falls: float
    expected: float
    """The slope's if nothing depended on anything, and `largest` of all: by these a regression says
    beforehand what it can tell."""
    largest: float
    hidden: bool
    """Whether a predictor is perturbed."""


@lru_cache(maxsize=256)
def _errors_of_one(slope: Slope) -> _Errors:
    """Return the standard errors of a slope, times the root of respondents."""
    # numba and scipy are loaded where a likelihood is computed, and nowhere else
    from hushpoll_analysis.regression.bias import first_order_bias
    from hushpoll_analysis.regression.fitting import covariance_of
    from hushpoll_analysis.regression.inference import expected_of_slopes
    from hushpoll_analysis.regression.likelihood import Likelihood

    formula = slope.formula()
    rng = np.random.default_rng(SEED)
    attributes = {name: slope.published.attribute(name) for name in formula.variables}
    shares = {name: _shares(slope, attributes[name]) for name in slope.predictors}
    drawn = {name: rng.choice(len(p), RECORDS, p=p) for name, p in shares.items()}
    codes = dict(_possible(slope.published, drawn, rng))
    number, middle = _scores(attributes[slope.predictors[0]], shares[slope.predictors[0]])
    base = math.log(slope.share / (1 - slope.share)) - slope.value * middle
    eta = base + slope.value * number[codes[slope.predictors[0]]]
    codes[slope.outcome] = (rng.random(RECORDS) < 1 / (1 + np.exp(-eta))).astype(np.int64)
    answers = _answers(slope, codes, rng)
    design = design_of(formula, answers)
    domain = attributes[slope.outcome].domain
    family = family_of(LOGIT, domain, design.columns)
    unit = answers.unit_of(slope.outcome)
    outcome = codes[slope.outcome] if unit is None else unit
    likelihood = Likelihood(design, family, answers, outcome, slope.outcome, np.arange(2))
    place = _place(design, slope.predictors[0])
    truth = np.zeros(likelihood.size)
    truth[next(at for at, column in enumerate(design.columns) if not column.parts)] = base
    truth[place] = slope.value
    truth[likelihood.outcome_size :] = _mixing(design, slope, shares)
    crossed = likelihood.crossed(truth)
    size = np.sqrt(np.diag(crossed))
    root, hidden = math.sqrt(RECORDS), likelihood.c > 1
    expected = expected_of_slopes(likelihood, likelihood)
    before = expected[place] * root, max(expected.values()) * root, hidden
    if not (size > 0).all():
        return _Errors(math.inf, math.inf, 0.0, 0.0, *before)
    inverse = np.linalg.pinv(crossed / np.outer(size, size), hermitian=True) / np.outer(size, size)
    found = float(inverse[place, place])
    without = truth - slope.value * inverse[place] / found
    bias = np.zeros(likelihood.size)
    work = len(likelihood.rows.group) * likelihood.size**2 * likelihood.outcome_size
    if work <= _MOST_WORK and any(unit.patterns.of_protocol for unit in likelihood.units):
        bias[: likelihood.outcome_size] = first_order_bias(likelihood, truth, inverse)
    biggest = float(np.abs(bias / np.sqrt(np.diag(inverse))).max())

    def variance(at: Array) -> float | None:
        known = covariance_of(likelihood.observed_and_crossed(at)[0])
        return None if known is None else float(known[place, place])

    def falls(at: Array, base: float | None) -> float:
        """Return the change of the logarithm of an error per bias, times respondents."""
        if not biggest:
            return 0.0
        times = _MOVED / biggest
        there = variance(at - times * bias)
        if base is None or there is None:
            return 0.0
        return math.log(there / base) / 2 / times * RECORDS

    least = variance(without)
    return _Errors(
        math.sqrt(found) * root,
        math.sqrt(found if least is None else least) * root,
        falls(truth, variance(truth)),
        falls(without, least),
        *before,
    )


def _shares(slope: Slope, attribute: PublishedAttribute) -> Array:
    k = attribute.k
    shares = np.full(k, 1 / k)
    if attribute.name == slope.predictors[0] and not is_scored(attribute.domain):
        shares = np.full(k, (1 - slope.group) / (k - 1))
        shares[1] = slope.group
    return shares


def _scores(attribute: PublishedAttribute, shares: Array) -> tuple[Array, float]:
    """Return the number of each answer, and which of them the outcome's share is of."""
    if is_scored(attribute.domain):
        numbers = np.array([float(text) for text in attribute.domain])
        return numbers, float(shares @ numbers)
    return np.eye(1, attribute.k, 1)[0], 0.0


def _answers(slope: Slope, codes: Codes, rng: np.random.Generator) -> Answers:
    """Return drawn rows with these answers; of other questions of a block, even ones."""
    published = slope.published
    clear: dict[str, Numbers | Categories] = {}
    units: dict[str, Unit] = {}
    for name, drawn in codes.items():
        attribute = published.attribute(name)
        oracle = None if slope.in_clear else attribute.oracle
        if oracle is None:
            numbers = is_scored(attribute.domain)
            clear[name] = (
                Numbers(name, np.array([float(text) for text in attribute.domain])[drawn])
                if numbers and name != slope.outcome
                else Categories(name, drawn, attribute.domain)
            )
            continue
        block = next(one for one in published.blocks if one.name == (attribute.block or name))
        if block.name in units:
            continue
        found, cells = combinations_of(block, set(codes))
        value = _drawn(found.numbered(codes), np.arange(block.k) if cells is None else cells, rng)
        patterns, places = patterns_of(oracle, perturb(oracle, value, rng), cells)
        units[block.name] = Unit(
            block.name, found.questions, patterns, places, oracle, found.numbers, cells
        )
    return Answers(RECORDS, clear, tuple(units.values()))


def _drawn(cell: Places, cells: Places, rng: np.random.Generator) -> Places:
    """Return a value of a block for each row, even among those of the row's cell."""
    sizes, order = np.bincount(cells), np.argsort(cells, kind="stable")
    first = np.cumsum(sizes) - sizes
    return np.asarray(order[first[cell] + rng.integers(0, sizes[cell])], np.int64)


def _possible(published: Published, codes: Codes, rng: np.random.Generator) -> Codes:
    """Return rows whose answers go together, as the survey asks them, in place of the others."""
    whole = np.ones(RECORDS, np.bool_)
    for block in published.blocks:
        found, _ = combinations_of(block, set(codes))
        if found.numbers is not None:
            whole &= found.numbered(codes) >= 0
    if whole.all():
        return codes
    rows = rng.choice(np.flatnonzero(whole), RECORDS)
    return {name: one[rows] for name, one in codes.items()}


def _place(design: Design, predictor: str) -> int:
    """Return the first column of a predictor: its number, or the dummy of its second answer."""
    return next(
        place
        for place, column in enumerate(design.columns)
        if any(predictor in coded.factor.variables for coded, _ in column.parts)
    )


def _mixing(design: Design, slope: Slope, shares: Mapping[str, Array]) -> Array:
    """Return the parameters of perturbed predictors that depend on nothing."""
    hidden = design.hidden
    chance = np.ones(hidden.combinations)
    for name, codes in hidden.codes.items():
        attribute = slope.published.attribute(name)
        even = np.full(attribute.k, 1 / attribute.k)
        chance = chance * shares.get(name, even)[codes.astype(np.int64)]
    found = np.zeros((hidden.combinations - 1, design.z.shape[1]))
    if found.size:
        found[:, 0] = np.log(chance[1:] / chance[0])
    return found.ravel()


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2))


def check_slope(slope: Slope, named: str) -> None:
    """Refuse a slope that the survey has no regression for, with the field ``want``."""
    try:
        for name in (slope.outcome, *slope.predictors):
            slope.published.attribute(name)
        attribute = slope.published.attribute(slope.outcome)
        if attribute.k != 2:
            raise InvalidParameter(
                f"{attribute.name} has {attribute.k} answers; a slope is planned of an outcome "
                "with two: want an association or a mean-gap",
                field="want",
            )
        slope.formula()
    except InvalidParameter as error:
        raise InvalidParameter(f"{named}: {error}", field="want") from None
